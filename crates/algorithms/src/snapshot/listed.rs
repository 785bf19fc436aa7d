//! Snapshots in the catalogue: how they are configured, prompted and judged.

use super::{Auditor, Config, Input, Output, Snapshots, Subject};
use crate::catalogue::{Algorithm, Entry, Milestone, Settings, Topology};
use crate::mutex::Standing;
use crate::options::{BadOption, Opt};
use crate::referee::Referee;
use bellwether_core::{Goal, Group, NodeId, Process, Time};
use std::borrow::Cow;
use std::time::Duration;

impl<P: Algorithm + Subject> Algorithm for Snapshots<P> {
    const ENTRY: Entry = Entry {
        name: "chandy-lamport",
        family: "snapshot",
        title: "Chandy-Lamport snapshots",
        source: "Chandy and Lamport, ACM TOCS 3(1), 1985",
        cost: "n(n-1) a snapshot, n on a ring",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
    };

    const READS_CLOCK: bool = P::READS_CLOCK;

    const OPTIONS: &'static [Opt] = P::OPTIONS;

    const VERBS: &'static [&'static str] =
        &["snapshot", "work", "transfer:TO:AMOUNT", "request", "release", "suspect", "start"];

    const KINDS: &'static [&'static str] = &["MARKER", "TRANSFER", "REQUEST", "TOKEN"];

    fn check(settings: &Settings, group: &Group) -> Result<(), BadOption> {
        P::check(settings, group)
    }

    fn config(settings: &Settings, group: &Group) -> Config<P::Config> {
        Config { routes: P::routes(settings), below: P::config(settings, group) }
    }

    fn input(verb: &str) -> Option<Input<P::Input>> {
        match verb {
            "snapshot" => Some(Input::Snapshot),
            verb => P::input(verb).map(Input::Below),
        }
    }

    fn verb(input: &Input<P::Input>) -> Cow<'static, str> {
        match input {
            Input::Snapshot => Cow::Borrowed("snapshot"),
            Input::Below(input) => P::verb(input),
        }
    }

    fn coordinator(&self) -> Option<NodeId> {
        self.below().coordinator()
    }

    fn members(&self) -> &[NodeId] {
        self.below().members()
    }

    fn goal() -> Goal<Self> {
        Goal {
            name: "recorded",
            text: "every snapshot that was begun is complete, and what runs below has reached its goal",
            at_rest: P::goal().at_rest,
            holds: |processes| {
                let live: Vec<(NodeId, &Self)> = processes.collect();
                live.iter().all(|(_, process)| process.is_complete())
                    && is_at_rest(&live)
                    && (P::goal().holds)(&mut live.iter().map(|(id, p)| (*id, p.below())))
            },
        }
    }

    /// Markers go everywhere at once, or once round.
    fn settles_within(config: &Self::Config, group: &Group, work: u64) -> Duration {
        let below = P::settles_within(&config.below, group, work);
        below.saturating_mul(2).saturating_add(Duration::from_secs(group.len() as u64))
    }

    fn is_work(input: &Input<P::Input>) -> bool {
        match input {
            Input::Snapshot => false,
            Input::Below(input) => P::is_work(input),
        }
    }

    fn section(&self) -> Option<Standing> {
        self.below().section()
    }

    fn milestone(output: &Self::Output) -> Option<Milestone> {
        match output {
            Output::Below(output) => P::milestone(output),
            Output::Cut(_) | Output::Recorded(_) => None,
        }
    }

    fn referee(config: &Self::Config, group: &Group) -> Option<Box<dyn Referee<Self>>> {
        Some(Box::new(Auditor::<P>::new(&config.below, group)))
    }

    fn clock(&self, reading: Time) -> Option<Time> {
        self.below().clock(reading)
    }

    fn lasts(config: &Self::Config) -> Option<Duration> {
        P::lasts(&config.below)
    }
}

/// Whether no message is on the way, where that matters and the driver does not see to it. Where
/// somebody is dead, or was, some never arrive, and nobody can tell.
fn is_at_rest<P: Subject>(live: &[(NodeId, &Snapshots<P>)]) -> bool {
    let mut balance = (0, 0);
    for (_, process) in live {
        let (members, sent, received) = process.moved();
        if members != live.len() || process.is_back || !process.below().rests() {
            return true;
        }
        balance = (balance.0 + sent, balance.1 + received);
    }
    balance.0 == balance.1
}
