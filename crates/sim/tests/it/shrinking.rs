//! Shrinking: what remains of a failing run is small, fails in the same way, and could not be
//! smaller.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

use crate::beyond::{Beyond, plan_beyond};
use crate::support::listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyInput, AnyProcess, Group, NodeId, Time};
use bellwether_sim::{
    Action, Cut, CutKind, Latency, Network, Plan, Scheduled, Shrunk, Silent, shrink,
};
use std::time::Duration;

const NAME: &str = "one-coordinator";

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(at_ms: u64, action: Action<AnyInput>) -> Scheduled<AnyInput> {
    Scheduled { at: Time::ZERO + ms(at_ms), action }
}

/// A partition, which matters, and ten faults that do not; with random latencies.
fn noisy() -> Plan<AnyProcess> {
    let p = NodeId::new;
    let cut = CutKind::Partition(vec![vec![p(1), p(2)], vec![p(3), p(4), p(5)]]);
    let network = Network::new(Latency::Uniform(ms(8), ms(12)));
    Plan {
        algorithm: listed("bully").clone(),
        group: Group::numbered(5).unwrap(),
        settings: Settings {
            coordinator: Some(p(5)),
            detection: true,
            acknowledge: true,
            ..Settings::new(ms(40))
        },
        network,
        seed: 7,
        script: vec![
            at(10, Action::Pause(p(1))),
            at(15, Action::Resume(p(1))),
            at(100, Action::Slow(p(2), ms(1))),
            at(150, Action::Slow(p(2), Duration::ZERO)),
            at(200, Action::Pause(p(3))),
            at(210, Action::Resume(p(3))),
            at(250, Action::Clock { node: p(4), offset_us: 5_000, drift_ppm: 10 }),
            at(300, Action::Cut(Cut { name: 1, kind: CutKind::OneWay(vec![p(3)], vec![p(1)]) })),
            at(320, Action::Heal(1)),
            at(1_000, Action::Cut(Cut { name: 0, kind: cut })),
            at(1_500, Action::Crash(p(1))),
            at(2_000, Action::Heal(0)),
        ],
        until: None,
    }
}

fn fails(plan: &Plan<AnyProcess>) -> bool {
    let (outcome, Silent) = plan.run(Silent);
    outcome.violation.is_some_and(|violation| violation.name == NAME)
}

/// Checks that the run fails, and that no piece of it can be removed.
fn assert_minimal(shrunk: &Shrunk<AnyProcess>) {
    let plan = &shrunk.plan;
    assert!(fails(plan), "what is left does not fail: {plan:?}");
    let given = plan.network.fates.len() + plan.network.timers.len();
    assert_eq!(shrunk.pieces_after, plan.script.len() + given);
    for index in 0..plan.script.len() {
        let mut smaller = plan.clone();
        let action = smaller.script.remove(index);
        assert!(!fails(&smaller), "not needed: {action:?} of {plan:?}");
    }
    for message in plan.network.fates.keys() {
        let mut smaller = plan.clone();
        smaller.network.fates.remove(message);
        assert!(!fails(&smaller), "not needed: the fate of {message:?} of {plan:?}");
    }
    for timer in plan.network.timers.keys() {
        let mut smaller = plan.clone();
        smaller.network.timers.remove(timer);
        assert!(!fails(&smaller), "not needed: timer {timer:?} of {plan:?}");
    }
}

#[test]
fn ten_irrelevant_faults_and_all_odd_deliveries_go() {
    let plan = noisy();
    assert!(fails(&plan));
    let shrunk = shrink(&plan, NAME, 5_000).expect("it fails with its fates written down too");
    assert!(shrunk.pieces_before > 50, "{}", shrunk.pieces_before);
    assert_minimal(&shrunk);
    let [Scheduled { action: Action::Cut(cut), .. }] = &shrunk.plan.script[..] else {
        panic!("only the partition matters: {:?}", shrunk.plan);
    };
    assert_eq!(cut.name, 0);
    assert_eq!(shrunk.pieces_after, 1);
}

#[test]
fn a_shrunk_run_leaves_nothing_to_chance() {
    let shrunk = shrink(&noisy(), NAME, 5_000).unwrap();
    assert!(matches!(shrunk.plan.network.latency, Latency::Fixed(_)));
    for seed in 0..20 {
        assert!(fails(&Plan { seed, ..shrunk.plan.clone() }), "only with its own seed: {seed}");
    }
}

#[test]
fn failures_of_random_schedules_shrink_to_a_minimum() {
    let mut shrunken = 0;
    for seed in 0..60 {
        for beyond in [Beyond::Partition, Beyond::Loss, Beyond::Delay] {
            let plan = plan_beyond(listed("bully"), seed, beyond);
            if !fails(&plan) {
                continue;
            }
            let small = shrink(&plan, NAME, 5_000).expect("it fails with its fates too");
            assert!(small.pieces_after <= small.pieces_before);
            assert_minimal(&small);
            shrunken += 1;
        }
    }
    assert!(shrunken > 30, "only {shrunken} schedules failed: this shows little");
}

#[test]
fn a_run_that_does_not_fail_is_not_shrunk() {
    let plan = Plan { script: Vec::new(), ..noisy() };
    assert!(!fails(&plan));
    assert!(shrink(&plan, NAME, 100).is_none());
    assert!(shrink(&noisy(), "no-such-invariant", 100).is_none());
}

#[test]
fn a_budget_is_kept_and_what_is_left_then_fails_still() {
    let shrunk = shrink(&noisy(), NAME, 3).expect("it fails");
    assert!(shrunk.runs <= 4, "{} runs", shrunk.runs);
    assert!(fails(&shrunk.plan));
}

#[test]
fn a_run_that_fails_by_itself_shrinks_to_nothing() {
    // P3 coordinates though there are larger ones: P5 takes over at once.
    let mut plan = Plan { script: Vec::new(), ..noisy() };
    plan.network.latency = Latency::Fixed(ms(10));
    plan.settings.coordinator = Some(NodeId::new(3));
    let shrunk = shrink(&plan, NAME, 100).expect("it fails");
    assert_eq!((shrunk.pieces_before, shrunk.pieces_after), (0, 0));
}

#[test]
fn of_timers_that_lie_the_one_that_matters_is_left() {
    let p = NodeId::new;
    let mut plan = noisy();
    plan.settings.detection = false;
    plan.network.latency = Latency::Fixed(ms(10));
    plan.script = vec![at(0, Action::Input(p(2), plan.algorithm.input("suspect").unwrap()))];
    assert!(!fails(&plan), "no time-out lies");
    // P2 gives up before anybody can answer. P3 and P4 have their answers before these ring.
    plan.network.timers.extend([((p(2), 0), 5_000), ((p(3), 0), 30_000), ((p(4), 0), 30_000)]);
    assert!(fails(&plan));
    let shrunk = shrink(&plan, NAME, 5_000).expect("it fails");
    assert_minimal(&shrunk);
    assert_eq!(shrunk.plan.network.timers.into_iter().collect::<Vec<_>>(), [((p(2), 0), 5_000)]);
    assert_eq!((shrunk.pieces_before, shrunk.pieces_after), (4, 2));
}
