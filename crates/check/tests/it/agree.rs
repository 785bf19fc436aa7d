//! What is found of erased processes is found of the processes themselves.
//!
//! Not only the verdict: the same states, in the same order, so that counterexamples are the same
//! step by step.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::models::{listed, typed};
use bellwether_algorithms::definition::{Algorithm, Definition, Settings};
use bellwether_algorithms::election::{Bully, Watched};
use bellwether_algorithms::mutex::{Guarded, Singhal};
use bellwether_algorithms::order::Causal;
use bellwether_algorithms::snapshot::{Bank, snapshots};
use bellwether_algorithms::time::Cristian;
use bellwether_check::{Channels, Counterexample, Faults, Limits, Setup, Timing, Verdict, check};
use bellwether_core::{Erasable, Group, NodeId};
use std::sync::Arc;
use std::time::Duration;

const T: Duration = Duration::from_millis(100);

fn cluster(name: &str, nodes: u32) -> Setup {
    let settings = Settings { textbook: true, ..Settings::new(T) };
    Setup::new(&listed(name), Group::numbered(nodes).unwrap(), settings)
}

/// Checks both, with and without what may be left out, and says what was found.
fn agree<P: Erasable>(setup: &Setup, definition: Definition<P>, states: u64) -> Verdict {
    let (erased, typed) = (setup.model(), typed(setup, definition));
    let asked = usize::from(setup.requests) * setup.group.len() + setup.asks.len();
    assert_eq!(erased.inputs.iter().map(Vec::len).sum::<usize>(), asked);
    assert_eq!(typed.inputs.iter().map(Vec::len).sum::<usize>(), asked);
    let mut found = None;
    for reduce in [true, false] {
        let limits = Limits { reduce, ..Limits::default() };
        let (ours, theirs) =
            (check(&erased, limits, &mut |_| {}), check(&typed, limits, &mut |_| {}));
        assert_eq!(ours.verdict, theirs.verdict);
        assert_eq!(ours.progress, theirs.progress);
        assert!(ours.progress.states >= states, "only {:?}", ours.progress);
        found = Some(ours.verdict);
    }
    found.unwrap()
}

fn violated(verdict: Verdict) -> Counterexample {
    match verdict {
        Verdict::Violated(found) => found,
        other => panic!("{other:?}"),
    }
}

fn asks(asks: &[(u32, &str)]) -> Vec<(NodeId, String)> {
    asks.iter().map(|(who, verb)| (NodeId::new(*who), (*verb).to_owned())).collect()
}

#[test]
fn bully_and_its_counterexample() {
    let mut setup = cluster("bully", 3);
    setup.settings.coordinator = Some(NodeId::new(3));
    setup.settings.detection = true;
    setup.faults = Faults { crashes: 1, recoveries: 1, ..Faults::default() };
    let verdict = agree(&setup, Watched::<Bully>::definition(), 5_000);
    assert_eq!(verdict, Verdict::Proved);
    setup.timing = Timing::Asynchronous;
    let found = violated(agree(&setup, Watched::<Bully>::definition(), 10));
    assert_eq!(found.breach.name, "one-coordinator");
}

/// A goal is missed: a stem, and a round if there is one.
#[test]
fn singhal_as_printed_and_who_starves() {
    let mut setup = cluster("singhal", 3);
    setup.timing = Timing::Asynchronous;
    setup.channels = Channels::Fifo;
    setup.requests = 2;
    let found = violated(agree(&setup, Guarded::<Singhal>::definition(), 10_000));
    assert!(found.missed);
}

#[test]
fn causal_broadcast_and_its_referee() {
    let setup = Setup { requests: 1, ..cluster("causal-broadcast", 3) };
    assert_eq!(agree(&setup, Causal::definition(), 500), Verdict::Proved);
}

/// The catalogue's snapshots are of an erased bank.
#[test]
fn snapshots_of_a_bank_and_one_of_no_moment() {
    let definition = || snapshots(Arc::new(Bank::definition()));
    let mut setup = cluster("chandy-lamport", 2);
    setup.asks = asks(&[(1, "snapshot"), (1, "transfer:2:5"), (2, "transfer:1:5")]);
    assert_eq!(agree(&setup, definition(), 30), Verdict::Proved);
    setup.channels = Channels::Reorder;
    assert_eq!(violated(agree(&setup, definition(), 30)).breach.name, "channel-contents");
}

#[test]
fn cristian_who_looks_at_clocks() {
    let mut setup = cluster("cristian", 2);
    setup.settings.options.set("samples", "2");
    setup.timing = Timing::Bounded { tick: T / 4, delay: (0, 1) };
    setup.horizon = Some(12);
    setup.offsets = vec![(NodeId::new(1), 70_000)];
    assert_eq!(agree(&setup, Cristian::definition(), 100), Verdict::Proved);
}
