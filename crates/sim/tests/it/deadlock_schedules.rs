//! Each deadlock detector over thousands of random schedules: every deadlock found in bounded time,
//! no phantom, one victim for each, and every other job done.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::beyond::quiet_plan;
use crate::support::{each_of, listed, schedules};
use bellwether_algorithms::catalogue::Listed;
use bellwether_core::AnyProcess;
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{FaultKind, Outcome, Plan, Silent, scenario, shrink};

/// What many runs came to.
#[derive(Debug, Default)]
struct Total {
    /// Runs with a deadlock.
    struck: u64,
    formed: u64,
    found: u64,
    aborted: u64,
    gave_up: u64,
    dropped: u64,
}

impl Total {
    fn add(&mut self, outcome: &Outcome) {
        let number = |fact: &str, field: &str| {
            let fact = outcome.facts.iter().find(|other| other.name == fact);
            fact.and_then(|fact| fact.value[field].as_u64()).unwrap_or(0)
        };
        let formed = number("deadlocks", "formed");
        self.struck += u64::from(formed > 0);
        self.formed += formed;
        self.found += number("deadlocks", "found");
        self.aborted += number("transactions", "aborted");
        self.gave_up += number("transactions", "gave_up");
        self.dropped += number("suspicions", "dropped");
    }
}

/// Runs a plan, which must go well.
fn play(plan: &Plan<AnyProcess>, total: &mut Total) {
    let (outcome, Silent) = plan.run(Silent);
    let name = plan.algorithm.name();
    if let Some(violation) = outcome.violation {
        let small = shrink(plan, violation.name, 500).map(|shrunk| scenario::write(&shrunk.plan));
        panic!("{name}, seed {}: {violation}\n{}", plan.seed, small.unwrap_or_default());
    }
    assert!(outcome.agreed, "{name}, seed {}: {outcome:?}", plan.seed);
    total.add(&outcome);
}

/// A random run whose jobs come all at once, with options by the seed.
fn plan(algorithm: &Listed, seed: u64) -> Plan<AnyProcess> {
    let mut plan = quiet_plan(algorithm, seed);
    for scheduled in &mut plan.script {
        scheduled.at = bellwether_core::Time::from_micros(scheduled.at.as_micros() / 20);
    }
    let mut set = |name, value: u64| plan.settings.options.set(name, &value.to_string());
    set("resources", 1 + seed % 2);
    set("locks", 2 + seed / 2 % 3);
    plan
}

/// Without anybody giving up, every suspicion is right.
fn check_quiet(algorithm: &Listed) {
    let mut total = Total::default();
    for seed in 0..schedules() {
        play(&plan(algorithm, seed), &mut total);
    }
    assert!(total.struck > schedules() / 2, "hardly any deadlocks: {total:?}");
    assert_eq!((total.found, total.aborted), (total.formed, total.formed), "{total:?}");
    assert_eq!(total.gave_up, 0);
}

/// The same with jobs of which a quarter lose patience.
fn impatient(algorithm: &Listed, seed: u64) -> Plan<AnyProcess> {
    let mut plan = plan(algorithm, seed);
    let patience = plan.settings.timeout.as_micros() as u64 * (1 + seed % 5) / 3;
    plan.settings.options.set("patience", &format!("{patience}us"));
    plan
}

/// A quarter of the jobs lose patience: what was suspected may be over when it is confirmed.
fn check_impatient(algorithm: &Listed) {
    let mut total = Total::default();
    for seed in 0..schedules() {
        play(&impatient(algorithm, seed), &mut total);
    }
    assert!(total.gave_up > schedules() / 10 && total.found > schedules() / 10, "{total:?}");
    assert!(total.dropped > 0, "nothing was ever refuted: {total:?}");
}

#[test]
fn every_detector_finds_every_deadlock() {
    each_of("deadlock", check_quiet);
}

#[test]
fn every_detector_finds_no_phantom_with_impatient_jobs() {
    each_of("deadlock", check_impatient);
}

/// Sites crash, the coordinator among them. Deadlocks among the living are found all the same.
#[test]
fn central_with_crashes() {
    let mut total = Total::default();
    let mut crashes = 0;
    for seed in 0..schedules() {
        let mut plan = random_plan(listed("deadlock-central"), seed);
        plan.settings.options.set("resources", "1");
        play(&plan, &mut total);
        let (outcome, Silent) = plan.run(Silent);
        let crashed = outcome.faults.iter().find(|(kind, _)| *kind == FaultKind::Crash);
        crashes += crashed.map_or(0, |(_, count)| count);
    }
    assert!(crashes > schedules(), "{crashes} crashes are not much");
    assert!(total.found > schedules() / 10, "{total:?}");
}

/// How many of a thousand runs with impatient jobs cost a victim without a deadlock, if no site asks
/// whether a cycle still stands.
fn phantoms(name: &str) -> u64 {
    let mut phantoms = 0;
    for seed in 0..1_000 {
        let mut plan = impatient(listed(name), seed);
        plan.settings.options.set("unconfirmed", "");
        let (outcome, Silent) = plan.run(Silent);
        phantoms += u64::from(outcome.violation.is_some_and(|found| found.name == "no-phantom"));
    }
    phantoms
}

#[test]
fn without_confirmation_there_are_phantoms() {
    // Under a coordinator they are rarer; the scenarios have one.
    for name in ["deadlock-distributed", "deadlock-edge-chasing"] {
        assert!(phantoms(name) > 0, "{name}");
    }
}
