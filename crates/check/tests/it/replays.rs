//! Every counterexample is a run of the simulator, and a scenario that passes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::models::listed;
use bellwether_algorithms::catalogue::{Listed, catalogue};
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::referee::Breach;
use bellwether_check::{
    Action, Channels, Counterexample, Faults, Limits, Plain, Replay, Setup, Timing, Verdict, World,
    check, replay, scenario,
};
use bellwether_core::{AnyProcess, Group, NodeId};
use bellwether_sim::scenario::Scenario;
use std::time::Duration;

const T: Duration = Duration::from_millis(100);

fn group(nodes: u32) -> Group {
    Group::new((1..=nodes).map(NodeId::new).collect()).unwrap()
}

/// A cluster in which the largest coordinates and no process watches it.
fn cluster(name: &str, nodes: u32) -> Setup {
    let settings = Settings { coordinator: Some(NodeId::new(nodes)), ..Settings::new(T) };
    Setup::new(&listed(name), group(nodes), settings)
}

fn counterexample(setup: &Setup) -> Counterexample {
    let report = check(&setup.model(), Limits::default(), &mut |_| {});
    match report.verdict {
        Verdict::Violated(found) => found,
        other => panic!("{other:?} after {:?}", report.progress),
    }
}

/// Plays a replay as a scenario: it says what is broken, and that is what happens.
fn plays(replay: &Replay, breach: &Breach) -> String {
    let algorithm = &replay.plan.algorithm;
    let text = scenario(replay, &format!("{} breaks '{}'", algorithm.entry.title, breach.name));
    let read =
        Scenario::parse(&catalogue(), &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let played = read.play();
    assert!(played.mismatches.is_empty(), "{:?}\n{text}", played.mismatches);
    let found = played.outcome.violation.map(|violation| violation.name);
    let missed = *breach == goal(algorithm) && !played.outcome.agreed;
    assert!(found == Some(breach.name) || missed, "{found:?}\n{text}");
    text
}

/// Checks, replays, confirms and plays; the name of what is broken, and the scenario.
fn breaks(setup: &Setup) -> (&'static str, String) {
    let Counterexample { breach, stem, cycle, .. } = counterexample(setup);
    let replay = replay(setup, &stem, &cycle);
    assert!(replay.exact, "{stem:?}\n{}", scenario(&replay, ""));
    replay.confirm(&breach).unwrap_or_else(|outcome| panic!("{breach:?}: {outcome:?}"));
    let other = Breach { name: "something-else", ..breach.clone() };
    replay.confirm(&other).unwrap_err();
    (breach.name, plays(&replay, &breach))
}

#[test]
fn bully_when_time_outs_lie() {
    let setup = Setup {
        timing: Timing::Asynchronous,
        faults: Faults { crashes: 1, ..Faults::default() },
        requests: 1,
        ..cluster("bully", 3)
    };
    let (name, text) = breaks(&setup);
    assert_eq!(name, "one-coordinator");
    // No timer has to lie: it is enough that messages are slow.
    assert!(!text.contains("\ntimer ") && !text.contains(" reorder"), "{text}");
}

#[test]
fn bully_when_a_message_is_lost() {
    let setup = Setup {
        faults: Faults { losses: 1, crashes: 1, ..Faults::default() },
        requests: 1,
        ..cluster("bully", 3)
    };
    assert_eq!(setup.timing, Timing::synchronous(T));
    let (name, text) = breaks(&setup);
    assert_eq!(name, "one-coordinator");
    assert!(text.contains(" lost\n") && !text.contains("\ntimer "), "{text}");
}

#[test]
fn bully_under_partition() {
    let sides = [vec![1], vec![2, 3]].map(|side| side.into_iter().map(NodeId::new).collect());
    let setup = Setup { partition: sides.to_vec(), requests: 1, ..cluster("bully", 3) };
    let (name, text) = breaks(&setup);
    assert_eq!(name, "one-coordinator");
    assert!(text.contains("\npartition 1|2,3 at=0ms\n"), "{text}");
}

#[test]
fn bully_within_bounds_that_are_too_wide() {
    let setup = Setup {
        timing: Timing::Bounded { tick: T / 2, delay: (1, 3) },
        faults: Faults { crashes: 1, ..Faults::default() },
        requests: 1,
        ..cluster("bully", 3)
    };
    let (name, text) = breaks(&setup);
    assert_eq!(name, "one-coordinator");
    assert!(!text.contains("\ntimer "), "{text}");
}

#[test]
fn lamport_without_fifo() {
    let setup = Setup { channels: Channels::Reorder, requests: 1, ..cluster("lamport", 3) };
    let (name, text) = breaks(&setup);
    assert_eq!(name, "one-inside");
    assert!(text.contains(" reorder "), "{text}");
}

#[test]
fn letters_that_arrive_twice() {
    let mut setup = cluster("reliable-link", 2);
    setup.settings.options.set("bare", "");
    setup.faults.duplicates = 1;
    setup.requests = 1;
    let (_, text) = breaks(&setup);
    assert!(text.lines().any(|line| line.starts_with("fate ") && line.contains(',')), "{text}");
}

#[test]
fn snapshots_without_fifo() {
    let mut setup = cluster("chandy-lamport", 2);
    setup.channels = Channels::Reorder;
    setup.asks =
        vec![(NodeId::new(1), "transfer:2:5".to_owned()), (NodeId::new(1), "snapshot".to_owned())];
    breaks(&setup);
}

/// Goes on as `choose` says, until nothing is left to happen or a state comes back: the stem, and
/// what comes again.
fn wander(
    setup: &Setup,
    choose: impl Fn(&[Action]) -> Option<Action>,
) -> (Vec<Action>, Vec<Action>) {
    let model = setup.model();
    let mut plain = Plain { model: &model };
    let mut worlds: Vec<World<Plain<'_, AnyProcess>>> = vec![plain.start()];
    let (mut way, mut actions) = (Vec::new(), Vec::new());
    loop {
        let mut world = worlds.last().unwrap().clone();
        world.actions(&mut plain, &mut actions);
        let Some(action) = choose(&actions) else { return (way, Vec::new()) };
        world.step(&mut plain, action);
        way.push(action);
        if let Some(at) = worlds.iter().position(|other| *other == world) {
            let cycle = way.split_off(at);
            return (way, cycle);
        }
        worlds.push(world);
    }
}

/// That the goal is missed.
fn goal(algorithm: &Listed) -> Breach {
    let goal = algorithm.goal.as_ref().unwrap();
    Breach { name: goal.name, text: goal.text, by: Vec::new() }
}

/// A message is lost, and then the run stops: no process is elected.
#[test]
fn a_goal_is_missed_when_the_run_stops() {
    let mut setup = cluster("chang-roberts", 3);
    setup.settings.coordinator = None;
    setup.faults.losses = 1;
    setup.requests = 1;
    let (stem, cycle) = wander(&setup, |actions| {
        let lose = |action: &&Action| matches!(action, Action::Lose { .. });
        let due = |action: &&Action| match action {
            Action::Input { place } => *place == 2,
            Action::Tick { .. } => false,
            action => action.is_due(),
        };
        actions.iter().find(lose).or_else(|| actions.iter().find(due)).copied()
    });
    assert!(cycle.is_empty(), "{stem:?} {cycle:?}");
    let replay = replay(&setup, &stem, &cycle);
    assert!(replay.exact);
    let outcome = replay.confirm(&goal(&setup.algorithm)).unwrap();
    assert!(!outcome.agreed);
    plays(&replay, &goal(&setup.algorithm));
}

/// The token goes round for ever, and never comes to a process that asks for it: in a
/// world in which the application need not do anything, a cycle is easily found.
#[test]
fn a_cycle_is_played_once_and_its_beginning_is_said() {
    let mut setup = cluster("token-ring", 3);
    setup.settings.textbook = true;
    let (stem, cycle) =
        wander(&setup, |actions| actions.iter().find(|action| action.is_due()).copied());
    assert!(!cycle.is_empty());
    let replay = replay(&setup, &stem, &cycle);
    assert!(replay.exact);
    let from = replay.loops_from.unwrap();
    assert!(from < replay.ends && replay.plan.until >= Some(replay.ends));
    let text = scenario(&replay, "The token goes round.");
    assert!(text.contains(&format!("# From {from} on it goes round")), "{text}");
    let played = Scenario::parse(&catalogue(), &text).unwrap().play();
    assert!(played.mismatches.is_empty(), "{:?}\n{text}", played.mismatches);
}

/// Clocks that show what they must at every moment: a random walk of the member, whose leases end
/// by the clock, is the same in the simulator.
#[test]
fn processes_that_look_at_their_clocks_are_replayed_too() {
    for (timing, seeds) in [
        (Timing::Bounded { tick: T, delay: (0, 1) }, 20),
        (Timing::Drifting { tick: T, apart: 2 }, 20),
    ] {
        let mut setup = cluster("member", 3);
        setup.timing = timing;
        setup.faults = Faults { crashes: 1, recoveries: 1, losses: 2, duplicates: 1 };
        setup.requests = 1;
        for seed in 0..seeds {
            let stem = random_walk(&setup, seed, 120);
            let replay = replay(&setup, &stem, &[]);
            assert!(replay.exact, "{timing:?}, seed {seed}: {}", scenario(&replay, ""));
        }
    }
}

/// Whatever may happen in the world happens in the simulator, step by step.
#[test]
fn random_walks_are_replayed_exactly() {
    for (timing, channels) in [
        (Timing::Asynchronous, Channels::Fifo),
        (Timing::Asynchronous, Channels::Reorder),
        (Timing::Asynchronous, Channels::Causal),
        (Timing::synchronous(T), Channels::Fifo),
        (Timing::Bounded { tick: T / 2, delay: (1, 3) }, Channels::Reorder),
        (Timing::Drifting { tick: T, apart: 2 }, Channels::Fifo),
    ] {
        replay_walks("bully", timing, channels);
        replay_walks("chang-roberts", timing, channels);
        replay_walks("suzuki-kasami", timing, channels);
        replay_walks("token-ring", timing, channels);
    }
}

fn replay_walks(name: &str, timing: Timing, channels: Channels) {
    for seed in 0..25 {
        let mut setup = Setup { timing, channels, requests: 2, ..cluster(name, 3) };
        setup.settings.detection = seed % 2 == 0;
        setup.faults = Faults { crashes: 2, recoveries: 1, losses: 2, duplicates: 1 };
        let stem = random_walk(&setup, seed, 80);
        let replay = replay(&setup, &stem, &[]);
        assert!(replay.exact, "{name}, {timing:?}, {channels:?}, seed {seed}: {stem:?}");
    }
}

/// Random actions, to the first state in which something is broken.
fn random_walk(setup: &Setup, seed: u64, steps: usize) -> Vec<Action> {
    let model = setup.model();
    let mut plain = Plain { model: &model };
    let mut world = plain.start();
    let (mut way, mut actions) = (Vec::new(), Vec::new());
    let mut draw = seed;
    for _ in 0..steps {
        world.actions(&mut plain, &mut actions);
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if actions.is_empty() {
            break;
        }
        let action = actions[((draw >> 33) % actions.len() as u64) as usize];
        world.step(&mut plain, action);
        way.push(action);
    }
    way
}
