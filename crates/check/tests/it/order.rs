//! Broadcasts in small groups, in every order in which processes can broadcast and messages can
//! arrive. The referees judge what is delivered: nothing that was not broadcast, nothing twice,
//! nothing before its causes, in one order where one is promised, and in the end everything.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::models::{erase, listed};
use crate::mortal::{self, Input, Mortal, Mourner, T};
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::referee::Referee;
use bellwether_check::{Channels, Limits, Model, Report, Setup, Verdict, check};
use bellwether_core::{AnyProcess, Goal, Group, NodeId};
use std::collections::BTreeSet;
use std::iter::repeat_n;

/// Processes that may broadcast this many messages each; the largest is the coordinator.
fn crowd(name: &str, wants: &[u32], options: &[(&str, &str)]) -> Setup {
    let algorithm = listed(name);
    let group = Group::numbered(wants.len() as u32).unwrap();
    let mut settings = Settings::new(T);
    settings.coordinator = Some(group.highest());
    for (option, value) in options {
        settings.options.set(option, value);
    }
    algorithm.check(&settings, &group).unwrap();
    let asks = (1..).zip(wants).flat_map(|(number, wants)| {
        repeat_n((NodeId::new(number), "broadcast".to_owned()), *wants as usize)
    });
    Setup { asks: asks.collect(), ..Setup::new(&algorithm, group, settings) }
}

fn run(model: &Model<AnyProcess>) -> Report {
    check(model, Limits { threads: 2, ..Limits::default() }, &mut |_| {})
}

#[track_caller]
fn behaves(setup: &Setup, at_least: u64) {
    let Report { verdict, progress } = run(&setup.model());
    assert_eq!(verdict, Verdict::Proved);
    assert!(progress.states > at_least, "{progress:?}");
}

#[track_caller]
fn breaks(setup: &Setup, name: &str) {
    match run(&setup.model()).verdict {
        Verdict::Violated(found) => assert_eq!(found.breach.name, name),
        other => panic!("{other:?}"),
    }
}

#[test]
fn causal_broadcast_in_any_order() {
    let crowd = |wants: &[u32]| crowd("causal-broadcast", wants, &[]);
    assert_eq!(crowd(&[1]).channels, Channels::Reorder);
    for (wants, states) in [(&[3][..], 3), (&[3, 3], 100), (&[1, 1, 1], 500), (&[2, 1, 1], 2_000)] {
        behaves(&crowd(wants), states);
    }
    behaves(&crowd(&[2, 2, 1]), 40_000);
}

/// Two chains of answers beside each other.
#[test]
fn causal_broadcast_and_answers() {
    behaves(&crowd("causal-broadcast", &[1, 1, 0], &[("answers", "1")]), 200);
}

#[test]
fn without_order_an_answer_comes_before_its_question() {
    let options = [("answers", "1"), ("unordered", "")];
    breaks(&crowd("causal-broadcast", &[1, 0, 0], &options), "causal");
}

#[test]
fn a_sequencer_in_any_order() {
    let crowd = |wants: &[u32], uniform: bool| {
        crowd("total-order-sequencer", wants, &[("uniform", "")][..usize::from(uniform)])
    };
    assert_eq!(crowd(&[1], false).channels, Channels::Reorder);
    for (wants, uniform, states) in [
        (&[3][..], false, 3),
        (&[2, 2], true, 50),
        (&[1, 1, 1], false, 500),
        (&[2, 1, 1], false, 500),
        (&[1, 1, 0], true, 500),
    ] {
        behaves(&crowd(wants, uniform), states);
    }
}

#[test]
fn lamports_order() {
    for (wants, states) in [(&[3][..], 3), (&[2, 2], 50), (&[1, 1, 0], 500), (&[1, 1, 1], 10_000)] {
        behaves(&crowd("total-order-lamport", wants, &[]), states);
    }
}

#[test]
fn lamports_order_without_fifo_is_two() {
    let crowd = crowd("total-order-lamport", &[1, 1], &[]);
    breaks(&Setup { channels: Channels::Reorder, ..crowd }, "one-order");
}

// The sequencer dies.

fn sequencer(wants: &[u32; 3], uniform: bool) -> Setup {
    crowd("total-order-sequencer", wants, &[("uniform", "")][..usize::from(uniform)])
}

/// The sequencer may die in the middle of anything, after this many broadcasts of its own.
/// This process suspects it then.
fn dies(
    setup: &Setup,
    after: usize,
    heir: u32,
    referee: Box<dyn Referee<AnyProcess>>,
) -> Model<AnyProcess> {
    let model = setup.model();
    let suspect = setup.algorithm.input("suspect").unwrap();
    let mut inputs: Vec<Vec<Input>> = model
        .inputs
        .into_iter()
        .map(|inputs| inputs.into_iter().map(Input::Process).collect())
        .collect();
    let sequencer = inputs.last_mut().unwrap();
    sequencer.truncate(after);
    sequencer.push(Input::Die);
    let goal = model.goal.map(|goal| {
        Goal::<Mortal>::new(goal.name, goal.text, move |live| {
            (goal.holds)(&mut live.filter_map(|(id, mortal)| Some((id, mortal.process()?))))
        })
    });
    let mortal = Model {
        config: mortal::Config {
            process: model.config,
            slow: vec![model.group.highest()],
            heir: Some((NodeId::new(heir), suspect)),
            leaves: |_| false,
        },
        inputs,
        goal,
        group: model.group,
        timing: model.timing,
        channels: model.channels,
        faults: model.faults,
        sides: model.sides,
        invariants: Vec::new(),
        referee: None,
        reads_clock: false,
        clocks: model.clocks,
        horizon: None,
        aging: None,
        spent: None,
    };
    assert!(model.invariants.is_empty(), "there is nothing to be looked at");
    let mourner = Mourner { referee, dead: BTreeSet::new() };
    Model { referee: Some(Box::new(mourner)), ..erase(mortal) }
}

#[test]
fn whenever_the_sequencer_dies_nothing_is_lost_or_doubled_or_out_of_order() {
    for (wants, uniform) in [
        ([1, 1, 0], false),
        ([2, 1, 0], false),
        ([1, 1, 1], false),
        ([0, 2, 2], false),
        ([1, 1, 0], true),
        ([2, 1, 0], true),
        ([1, 1, 1], true),
    ] {
        let setup = sequencer(&wants, uniform);
        for after in 0..=wants[2] as usize {
            for heir in [1, 2] {
                let referee = setup.model().referee.unwrap();
                let Report { verdict, progress } = run(&dies(&setup, after, heir, referee));
                assert_eq!(verdict, Verdict::Proved, "{wants:?}, {uniform}, {after}, {heir}");
                assert!(progress.states > 500, "{progress:?}");
            }
        }
    }
}

/// What the textbooks' order does not promise: that the dead have delivered the same.
#[test]
fn if_not_uniform_a_dead_sequencer_may_have_delivered_otherwise() {
    let wants = [1, 0, 1];
    let uniform = sequencer(&wants, true).model().referee.unwrap();
    match run(&dies(&sequencer(&wants, false), 1, 1, uniform)).verdict {
        Verdict::Violated(found) => assert_eq!(found.breach.name, "one-order"),
        other => panic!("{other:?}"),
    }
}
