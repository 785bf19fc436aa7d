//! Mutual exclusion in the catalogue: how it is configured, prompted and judged.

use super::{Config, Deed, Guarded, Mutex, Opening, Options, Output, Sequence, Standing};
use crate::catalogue::{Algorithm, Entry, Milestone, Settings};
use crate::election::{self, Election, Watched};
use crate::options::Opt;
use crate::views;
use bellwether_core::{Goal, Group, Invariant, NodeId, Shape, Validity};
use std::borrow::Cow;
use std::time::Duration;

impl<M: Mutex, E: Election> Algorithm for Guarded<M, E> {
    const ENTRY: Entry = M::ENTRY;

    const OPTIONS: &'static [Opt] = &[Opt {
        name: "no-epochs",
        value: None,
        help: "Believe messages of views that are over, and see what becomes of tokens",
    }];

    const VERBS: &'static [&'static str] = &["request", "release", "work", "suspect", "start"];

    const KINDS: &'static [&'static str] =
        &["VIEW", "PROPOSE", "REPORT", "REQUEST", "REPLY", "RELEASE", "TOKEN", "OK"];

    fn config(settings: &Settings, group: &Group) -> Config {
        let coordinator = settings.coordinator.unwrap_or_else(|| group.highest());
        let Settings { timeout, textbook, detection, .. } = *settings;
        let options = Options {
            tree: settings.tree,
            bypass: (textbook && settings.acknowledge).then_some(timeout),
            as_printed: textbook,
        };
        Config {
            opening: Opening::first(group, coordinator, options),
            section: settings.section,
            textbook,
            no_epochs: settings.options.is_on("no-epochs"),
            election: <Watched<E> as Algorithm>::config(settings, group),
            views: views::Config {
                timeout,
                watch: (detection && !textbook).then_some(timeout),
                coordinator: settings.coordinator,
            },
        }
    }

    fn input(verb: &str) -> Option<Deed> {
        Some(match verb {
            "request" => Deed::Request,
            "release" => Deed::Release,
            "work" => Deed::Work,
            "suspect" => Deed::Elect(election::Input::Suspect),
            "start" => Deed::Elect(election::Input::Start),
            _ => return None,
        })
    }

    fn verb(deed: &Deed) -> Cow<'static, str> {
        Cow::Borrowed(match deed {
            Deed::Request => "request",
            Deed::Release => "release",
            Deed::Work => "work",
            Deed::Elect(election::Input::Suspect) => "suspect",
            Deed::Elect(election::Input::Start) => "start",
        })
    }

    fn coordinator(&self) -> Option<NodeId> {
        self.election().coordinator()
    }

    fn members(&self) -> &[NodeId] {
        self.views().view().map_or(&[], |view| view.group.ring())
    }

    /// Numbers only grow as long as somebody lives who knows the last one. A process that comes
    /// back when all of them are dead begins below it; a fence that survives that needs a
    /// majority, as the production member has it.
    fn invariants() -> Vec<Invariant<Self>> {
        vec![
            Invariant {
                name: "one-inside",
                text: "at most one live process is in the critical section",
                validity: Validity::Always,
                shape: Shape::AtMostOne(|_, process: &Self| process.is_inside().then_some(0)),
            },
            Invariant {
                name: "sequence",
                text: "each entry has a number of its own, and numbers only grow, over views too",
                validity: Validity::UntilRecovery,
                shape: Shape::Fenced(|_, process: &Self, _| process.fence().map(Sequence::fence)),
            },
            Invariant {
                name: "order",
                text: "requests are granted in the order that the algorithm promises",
                validity: Validity::UntilRecovery,
                shape: Shape::Fenced(|_, process: &Self, _| process.turn()),
            },
        ]
    }

    fn goal() -> Goal<Self> {
        Goal {
            name: "granted",
            text: "every request of a live process is granted, and all live processes are in one view",
            at_rest: !M::RESTLESS,
            holds: |processes| {
                let mut view = None;
                let mut live = 0;
                let mut members = None;
                for (_, process) in processes {
                    live += 1;
                    let running = process.views().running();
                    if !process.is_served()
                        || process.watched
                            && (running.is_none() || *view.get_or_insert(running) != running)
                    {
                        return false;
                    }
                    members = members.or(process.watched.then_some(process.members));
                }
                members.is_none_or(|members| members == live)
            },
        }
    }

    /// After the last fault come an election and a view, perhaps twice; then every entry takes at
    /// most two messages from end to end of a line, and the time inside.
    fn settles_within(config: &Config, group: &Group, work: u64) -> Duration {
        let timeout = config.views.timeout;
        let hops = 2 * group.len() as u32 + 8;
        let entry = timeout.saturating_mul(hops).saturating_add(config.section.1);
        let entries = u32::try_from(work).unwrap_or(u32::MAX).saturating_add(hops);
        <Watched<E> as Algorithm>::settles_within(&config.election, group, 0)
            .saturating_add(timeout.saturating_mul(16))
            .saturating_add(entry.saturating_mul(entries))
    }

    fn is_work(deed: &Deed) -> bool {
        matches!(deed, Deed::Work | Deed::Request)
    }

    fn section(&self) -> Option<Standing> {
        Some(self.standing())
    }

    fn milestone(output: &Output) -> Option<Milestone> {
        match output {
            Output::Requested => Some(Milestone::Requested),
            Output::Entered(_) => Some(Milestone::Entered),
            Output::Left => Some(Milestone::Left),
            Output::Minted => Some(Milestone::Minted),
            Output::Refused(refusal) => Some(Milestone::Refused(*refusal)),
            Output::View { .. } | Output::Election(_) => None,
        }
    }
}

impl<M: Mutex, E: Election> Guarded<M, E> {
    fn fence(&self) -> Option<Sequence> {
        match self.standing() {
            Standing::Inside(sequence) => Some(sequence),
            Standing::Idle | Standing::Waiting => None,
        }
    }

    /// The view, and the place in the order of that view, of the request that is granted now.
    /// While the next view is being agreed upon, whoever is inside stays so by the view before.
    fn turn(&self) -> Option<u128> {
        let view = self.views().epoch()?;
        let entry = self.algorithm().place().filter(|_| self.is_inside())?;
        Some(Sequence { view, entry }.fence())
    }
}

impl Sequence {
    /// As one number.
    pub fn fence(self) -> u128 {
        let (number, by) = (self.view.number(), self.view.by().number());
        u128::from(number) << 96 | u128::from(by) << 64 | u128::from(self.entry)
    }
}
