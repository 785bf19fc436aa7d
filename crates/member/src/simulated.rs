//! The member as the simulator sees it: how it is set up, and what must hold.

use crate::config::{Choices, Config, Preempt};
use crate::mandate::Replica;
use crate::member::{Input, Member};
use crate::ranks::Ranks;
use bellwether_algorithms::catalogue::{
    Algorithm, Catalogue, Entry, Registry, Settings, Topology, Visitor,
};
use bellwether_algorithms::election::{Bully, Election, Watched};
use bellwether_core::{Goal, Group, Invariant, NodeId, Process, Shape, Validity};
use std::borrow::Cow;
use std::time::Duration;

impl<E: Election, S: Replica> Algorithm for Member<E, S> {
    const ENTRY: Entry = Entry {
        name: "member",
        family: "member",
        title: "Bellwether's member",
        source: "detector, election and a majority's lease, composed; docs/member.md",
        cost: "election, then 4(n-1) for a mandate; 2(n-1) a heartbeat",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
    };

    const DRIFT_PPM: u32 = SIMULATED_DRIFT_PPM;

    /// Leases end by the clock.
    const READS_CLOCK: bool = true;

    const VERBS: &'static [&'static str] = &["start", "suspect", "step-down", "resign"];

    const KINDS: &'static [&'static str] = Watched::<E>::KINDS;

    /// T is the election's; a heartbeat is as long, and a lease is six of them.
    fn config(settings: &Settings, group: &Group) -> Config {
        let choices = Choices {
            heartbeat: settings.timeout.max(Duration::from_millis(1)),
            lease: (settings.timeout * 6).clamp(Duration::from_millis(6), Duration::from_secs(600)),
            drift_ppm: SIMULATED_DRIFT_PPM,
            ..Choices::default()
        };
        Config::new::<E>(&choices, Ranks::equal(group), group).unwrap_or_else(|unfit| {
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
            Input::Elect | Input::Transfer(_) | Input::Hint(..) => "start",
            Input::StepDown => "step-down",
            Input::Resign => "resign",
        })
    }

    fn coordinator(&self) -> Option<NodeId> {
        self.leader().or_else(|| self.leading().and_then(|_| self.number()))
    }

    fn invariants() -> Vec<Invariant<Self>> {
        vec![
            Invariant {
                name: "one-mandate",
                text: "at most one member believes at any moment that it holds the mandate",
                validity: Validity::Always,
                shape: Shape::AtMostOneNow(|_, member, now| member.holds(now).map(|_| 0)),
            },
            Invariant {
                name: "epochs",
                text: "each epoch has one leader, and epochs only grow, over restarts too",
                validity: Validity::Always,
                shape: Shape::Fenced(|_, member, now| {
                    member.holds(now).map(|epoch| epoch.number().into())
                }),
            },
        ]
    }

    fn goal() -> Goal<Self> {
        Goal {
            name: "leader",
            text: "the strongest live member that may lead holds the mandate, and all follow it",
            at_rest: true,
            holds: |members| {
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
        }
    }

    /// The last fault may leave a lease, a restart's silence and a stuck election behind, one after
    /// the other, and the weaker member that won meanwhile must still hand over.
    fn settles_within(config: &Config, _: &Group, _: u64) -> Duration {
        let round = config.lease + config.amnesia + 2 * config.patience + config.suspect_after.1;
        let hold_off = match config.preempt {
            Preempt::After(span) => span,
            Preempt::Always | Preempt::Never => Duration::ZERO,
        };
        round * 8 + hold_off
    }
}

/// The catalogue and, as `member`, the production member with a bully election.
#[derive(Clone, Copy, Debug)]
pub struct WithMember;

impl Registry for WithMember {
    fn entries() -> Vec<Entry> {
        let mut entries = Catalogue::entries();
        entries.push(<Member<Bully> as Algorithm>::ENTRY);
        entries
    }

    fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
        if name == <Member<Bully> as Algorithm>::ENTRY.name {
            return Some(visitor.visit::<Member<Bully>>());
        }
        Catalogue::visit(name, visitor)
    }
}

/// The bound on clock rates in simulated clusters, unless their configuration says otherwise.
pub const SIMULATED_DRIFT_PPM: u32 = 10_000;
