//! Ours finds as many states, steps and levels as stateright does in the same world.
//!
//! Where nothing is wrong with a world, what must hold is looked after as well, and what is
//! remembered for it is part of the states. Where something is wrong, the
//! properties are not checked: a search that finds a violation stops, and here both must come to the end.

use crate::models::listed;
use crate::peer::Peer;
use bellwether_algorithms::definition::Settings;
use bellwether_check::{Channels, Faults, Limits, Model, Setup, Timing, Verdict, check};
use bellwether_core::{AnyProcess, Group};
use stateright::{Checker as _, Model as _};
use std::time::Duration;

/// A tick: all durations are multiples of it.
const T: Duration = Duration::from_millis(100);

const NONE: Faults = Faults { crashes: 0, recoveries: 0, losses: 0, duplicates: 0 };

/// What an exploration comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    states: u64,
    steps: u64,
    depth: u32,
}

/// Processes that are asked so often each, in the world that the algorithm assumes or in one that
/// differs from it.
fn world(
    name: &str,
    nodes: u32,
    requests: u8,
    differs: impl FnOnce(&mut Setup),
) -> Model<AnyProcess> {
    let group = Group::numbered(nodes).expect("ids 1 to n form a group");
    let settings = Settings { textbook: true, ..Settings::new(T) };
    let mut setup = Setup::new(&listed(name), group, settings);
    setup.requests = requests;
    setup.liveness = false;
    differs(&mut setup);
    setup.model()
}

fn unjudged(model: Model<AnyProcess>) -> Model<AnyProcess> {
    Model { invariants: Vec::new(), referee: None, ..model }
}

/// Both explore this world, ours with one thread and with several.
fn same(model: Model<AnyProcess>) {
    let model: &'static Model<AnyProcess> = Box::leak(Box::new(model));
    // With more threads than one it is not quite breadth first, and its depth is anything.
    let peer = Peer::new(model).checker().threads(1).spawn_bfs().join();
    let theirs = Size {
        states: peer.unique_state_count() as u64,
        // It counts the beginning as a step too.
        steps: peer.state_count() as u64 - 1,
        depth: peer.max_depth() as u32,
    };
    assert!(theirs.states > 500, "there is little to compare: {theirs:?}");
    let explore = |threads, reduce| {
        let report = check(model, Limits { threads, reduce, ..Limits::default() }, &mut |_| {});
        assert_eq!(report.verdict, Verdict::Proved);
        let progress = report.progress;
        Size { states: progress.states, steps: progress.steps, depth: progress.depth }
    };
    let mut reduced = None;
    for threads in [1, 2, 4] {
        assert_eq!(explore(threads, false), theirs, "{threads} threads");
        // Without steps that only differ in their order, it finds the same states as early.
        let fewer = explore(threads, true);
        assert_eq!((fewer.states, fewer.depth), (theirs.states, theirs.depth));
        assert!(fewer.steps <= theirs.steps, "{fewer:?}, {theirs:?}");
        assert_eq!(fewer, *reduced.get_or_insert(fewer), "{threads} threads");
    }
}

#[test]
fn bully_with_crashes_and_recoveries() {
    for channels in [Channels::Reorder, Channels::Fifo] {
        same(world("bully", 3, 0, |setup| {
            setup.settings.detection = true;
            setup.faults = Faults { crashes: 1, recoveries: 1, ..NONE };
            setup.channels = channels;
        }));
    }
}

#[test]
fn bully_with_losses() {
    same(unjudged(world("bully", 3, 1, |setup| {
        setup.faults = Faults { losses: 1, ..NONE };
    })));
}

#[test]
fn chang_roberts() {
    same(world("chang-roberts", 3, 1, |_| {}));
}

#[test]
fn chang_roberts_with_crashes_and_losses() {
    for faults in [Faults { crashes: 1, ..NONE }, Faults { losses: 1, ..NONE }] {
        same(world("chang-roberts", 3, 1, |setup| setup.faults = faults));
    }
}

#[test]
fn ring() {
    same(world("ring", 3, 1, |_| {}));
}

#[test]
fn ricart_agrawala() {
    same(world("ricart-agrawala", 3, 1, |_| {}));
}

/// If nothing were left out, the comparisons above would be of the same thing.
#[test]
fn a_fifth_of_the_steps_only_differ_in_their_order() {
    let model = world("ricart-agrawala", 3, 2, |_| {});
    let steps = |reduce| {
        let report = check(&model, Limits { reduce, ..Limits::default() }, &mut |_| {});
        assert_eq!(report.verdict, Verdict::Proved);
        report.progress.steps
    };
    let (fewer, all) = (steps(true), steps(false));
    assert!(5 * fewer < 4 * all, "{fewer} of {all}");
}

#[test]
fn ricart_agrawala_with_losses_and_duplicates() {
    same(unjudged(world("ricart-agrawala", 3, 1, |setup| {
        setup.faults = Faults { losses: 1, duplicates: 1, ..NONE };
    })));
}

#[test]
fn ricart_agrawala_when_messages_take_a_tick_or_two() {
    same(world("ricart-agrawala", 3, 1, |setup| {
        setup.timing = Timing::Bounded { tick: T, delay: (1, 2) };
    }));
}

#[test]
fn suzuki_kasami() {
    same(world("suzuki-kasami", 3, 2, |_| {}));
}

#[test]
fn suzuki_kasami_with_duplicates() {
    same(world("suzuki-kasami", 3, 1, |setup| {
        setup.faults = Faults { duplicates: 1, ..NONE };
    }));
}

#[test]
fn suzuki_kasami_on_causal_channels() {
    same(world("suzuki-kasami", 3, 2, |setup| setup.channels = Channels::Causal));
}

#[test]
fn suzuki_kasami_on_causal_channels_with_losses_and_duplicates() {
    same(world("suzuki-kasami", 3, 1, |setup| {
        setup.channels = Channels::Causal;
        setup.faults = Faults { losses: 1, duplicates: 1, ..NONE };
    }));
}

#[test]
fn suzuki_kasami_on_clocks_that_drift() {
    same(world("suzuki-kasami", 3, 1, |setup| {
        setup.timing = Timing::Drifting { tick: T, apart: 2 };
    }));
}

#[test]
fn central() {
    same(world("central", 3, 2, |_| {}));
}

#[test]
fn token_ring() {
    same(world("token-ring", 3, 2, |_| {}));
}

#[test]
fn token_ring_when_any_timer_fires_at_any_moment() {
    same(world("token-ring", 3, 2, |setup| setup.timing = Timing::Asynchronous));
}

#[test]
fn raymond() {
    same(world("raymond", 3, 2, |_| {}));
}

#[test]
fn singhal() {
    same(world("singhal", 3, 2, |_| {}));
}

/// What its referee has heard is part of every state.
#[test]
fn causal_broadcast_and_its_referee() {
    same(world("causal-broadcast", 3, 1, |_| {}));
}
