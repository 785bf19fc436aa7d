//! The member as the simulator sees it: how it is set up, and what must hold.

use crate::config::{Choices, Config, Preempt};
use crate::member::{Input, Member};
use crate::ranks::Ranks;
use bellwether_algorithms::definition::{Algorithm, Definition, Entry, Settings, Topology};
use bellwether_algorithms::election::any::Choice;
use bellwether_algorithms::election::{self, Bully, Watched};
use bellwether_algorithms::options::{BadOption, Opt};
use bellwether_algorithms::show::ProcessView;
use bellwether_core::{Goal, Group, Invariant, NodeId, Process};
use bellwether_log::Portable;
use std::borrow::Cow;
use std::time::Duration;

impl<M: Portable> Algorithm for Member<M> {
    fn definition() -> Definition<Self> {
        Definition::new(Self::ENTRY, Self::config)
            .beside(&[("log", bellwether_log::DOCS), election::DOCS])
            .options(Self::OPTIONS)
            .checks(|settings, _| election(settings).map(|_| ()))
            // Leases end by the clock.
            .reads_clock(SIMULATED_DRIFT_PPM)
            .verbs(Self::VERBS, Self::input, Self::verb)
            .kinds(Watched::<Bully>::definition().kinds)
            .invariants(Self::invariants())
            .goal(Self::goal())
            .settles_within(Self::settles_within)
            .coordinator(Self::coordinator)
            .view(|member, _, _| member.view())
    }
}

impl<M: Portable> Member<M> {
    const ENTRY: Entry = Entry {
        name: "member",
        family: "member",
        title: "Bellwether's member",
        source: "detector, election, leader lease and replicated log, composed; docs/member.md",
        cost: "election, then 6(n-1) to lead; 2(n-1) a heartbeat",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
        docs: bellwether_algorithms::essay!("member.rs"),
        example: "member/take-over.txt",
    };

    const OPTIONS: &'static [Opt] = &[Opt {
        name: "election",
        value: Some("NAME"),
        help: "the election that the members hold; bully if not given",
    }];

    const VERBS: &'static [&'static str] = &["start", "suspect", "step-down", "resign"];

    /// T is the election's; a heartbeat is as long, and a lease is six of them.
    fn config(settings: &Settings, group: &Group) -> Config {
        let choices = Choices {
            election: election(settings).unwrap_or_default(),
            heartbeat: settings.timeout.max(Duration::from_millis(1)),
            lease: (settings.timeout * 6).clamp(Duration::from_millis(6), Duration::from_secs(600)),
            drift_ppm: SIMULATED_DRIFT_PPM,
            ..Choices::default()
        };
        Config::new(&choices, Ranks::equal(group), group).unwrap_or_else(|unfit| {
            unreachable!("six heartbeats within ten minutes are enough for a lease: {unfit}")
        })
    }

    fn input(verb: &str) -> Option<Input> {
        match verb {
            "start" | "suspect" => Some(Input::Elect),
            "step-down" => Some(Input::StepDown),
            "resign" => Some(Input::Resign),
            _ => None,
        }
    }

    fn verb(input: &Input) -> Cow<'static, str> {
        Cow::Borrowed(match input {
            Input::Elect | Input::Transfer(_) | Input::Hint(..) | Input::Ended(..) => "start",
            Input::StepDown => "step-down",
            Input::Resign => "resign",
        })
    }

    /// Its part in the majority: whether it leads, asks for votes, or has given its vote.
    fn view(&self) -> ProcessView {
        let log = self.log();
        let phase = match (log.leads(), log.asks()) {
            (Some(term), _) => format!("leads in term {term}"),
            (None, Some((term, true))) => format!("asks for votes in term {term}"),
            (None, Some((term, false))) => format!("asks who would vote in term {term}"),
            (None, None) => String::new(),
        };
        let (term, vote) = log.promise();
        ProcessView::new(phase)
            .text_of("vote", vote.map(|vote| format!("{vote} in term {term}")))
            .text_of("entries committed", log.state().map(|(position, _)| position.index))
    }

    fn coordinator(&self) -> Option<NodeId> {
        self.leader().or_else(|| self.number().filter(|_| self.leads()))
    }

    fn invariants() -> Vec<Invariant<Self>> {
        vec![
            Invariant::<Self>::at_most_one_now(
                "one-mandate",
                "at most one member believes at any moment that it holds the mandate",
                |_, member, now| member.serving(now).map(|_| 0),
            ),
            Invariant::<Self>::fenced(
                "terms",
                "each term has one leader, and terms only grow, over restarts too",
                |_, member, now| member.serving(now).map(|term| term.number().into()),
            ),
        ]
    }

    fn goal() -> Goal<Self> {
        Goal::<Self>::new(
            "leader",
            "the strongest live member that may lead holds the mandate, and all follow it",
            |members| {
                let members: Vec<_> = members.collect();
                let strongest = members.iter().max_by_key(|(_, member)| member.rank());
                let Some((strongest, first)) = strongest.filter(|(_, m)| m.rank().is_some()) else {
                    return true;
                };
                let leader = first.coordinator();
                let wanted = leader == Some(*strongest) || first.is_appointed();
                wanted
                    && leader.is_some()
                    && members.iter().all(|(_, member)| member.coordinator() == leader)
            },
        )
    }

    /// The last fault may leave a lease, a restart's silence and a stuck election behind, one after
    /// the other, and the weaker member that won meanwhile must still hand over.
    fn settles_within(config: &Config, _: &Group, _: u64) -> Duration {
        let round = config.log.leases.lease + 2 * config.patience + config.suspect_after.1;
        let hold_off = match config.preempt {
            Preempt::After(span) => span,
            Preempt::Always | Preempt::Never => Duration::ZERO,
        };
        round * 8 + hold_off
    }
}

/// The election of the option `election`.
fn election(settings: &Settings) -> Result<Choice, BadOption> {
    let choice = settings.options.read("election", |name| {
        let all = || format!("there is no election '{name}'; use {}", Choice::NAMES.join(", "));
        Choice::named(name).ok_or_else(all)
    })?;
    Ok(choice.unwrap_or_default())
}

/// The bound on clock rates in simulated clusters, unless their configuration says otherwise.
pub const SIMULATED_DRIFT_PPM: u32 = 10_000;
