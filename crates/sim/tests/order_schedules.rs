//! Each ordered broadcast, over ten thousand random schedules: what is delivered before what, by
//! whom, and that nothing is lost or delivered twice. And what happens outside what an algorithm
//! assumes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_algorithms::catalogue::{Algorithm, ENTRIES};
use bellwether_algorithms::order::Causal;
use bellwether_sim::chaos::quiet_plan;
use bellwether_sim::{Outcome, Plan, Silent, scenario, shrink};

const SCHEDULES: u64 = 10_000;

/// What many runs came to.
#[derive(Debug, Default)]
struct Total {
    broadcasts: u64,
    deliveries: u64,
    /// The runs in which anything was held back.
    holding: u64,
}

/// The number that a run has for a fact.
fn fact(outcome: &Outcome, name: &str) -> u64 {
    let found = outcome.facts.iter().find(|fact| fact.name == name);
    found.and_then(|fact| fact.value.as_u64()).unwrap()
}

/// Runs a plan, which must go well.
fn play<A: Algorithm>(plan: &Plan<A>, total: &mut Total) -> Outcome {
    let (outcome, Silent) = plan.run(Silent);
    let name = A::ENTRY.name;
    if let Some(violation) = outcome.violation {
        let small = shrink(plan, violation.name, 500).map(|shrunk| scenario::write(&shrunk.plan));
        panic!("{name}, seed {}: {violation}\n{}", plan.seed, small.unwrap_or_default());
    }
    assert!(outcome.agreed, "{name}, seed {}: {outcome:?}", plan.seed);
    total.broadcasts += fact(&outcome, "broadcasts");
    total.deliveries += fact(&outcome, "deliveries");
    total.holding += u64::from(fact(&outcome, "held-back") > 0);
    outcome
}

/// A random run without faults, with answers in two of three.
fn quiet<A: Algorithm>(seed: u64) -> Plan<A> {
    let mut plan = quiet_plan::<A>(seed);
    plan.settings.options.set("answers", &(seed % 3).to_string());
    plan
}

/// Without faults everybody delivers everything.
fn check_quiet<A: Algorithm>() -> Total {
    let mut total = Total::default();
    for seed in 0..SCHEDULES {
        let plan = quiet::<A>(seed);
        let outcome = play(&plan, &mut total);
        let (broadcasts, deliveries) = (fact(&outcome, "broadcasts"), fact(&outcome, "deliveries"));
        let n = plan.group.len() as u64;
        assert_eq!(deliveries, broadcasts * n, "{}, seed {seed}", A::ENTRY.name);
        let asked = plan.script.len() as u64;
        let answers = if n > 1 { seed % 3 } else { 0 };
        assert_eq!(broadcasts, asked * (1 + answers), "{}, seed {seed}", A::ENTRY.name);
    }
    assert!(total.broadcasts > 10 * SCHEDULES, "hardly anything was said: {total:?}");
    assert!(total.holding > SCHEDULES / 10, "hardly anything was held back: {total:?}");
    total
}

/// The names of what these plans violate, and the seeds.
fn violations<A: Algorithm>(
    schedules: u64,
    plan: impl Fn(u64) -> Plan<A>,
) -> Vec<(u64, &'static str)> {
    let violated = |seed| {
        let (outcome, Silent) = plan(seed).run(Silent);
        outcome.violation.map(|violation| (seed, violation.name))
    };
    (0..schedules).filter_map(violated).collect()
}

#[test]
fn causal() {
    check_quiet::<Causal>();
}

/// The same runs without the order: a broadcast by itself, even over FIFO channels, does not keep
/// causes before effects. So there are causes and effects in these runs, and the referee sees them.
#[test]
fn without_hold_back_causality_is_violated() {
    for reorder in [false, true] {
        let plan = |seed| {
            let mut plan = quiet::<Causal>(seed);
            plan.network.reorder = reorder;
            plan.network.duplicate = 0.0;
            plan.settings.options.set("unordered", "");
            plan
        };
        let found = violations(1_000, plan);
        assert!(found.len() > 100, "only {found:?}");
        assert!(found.iter().all(|(_, name)| *name == "causal"), "{found:?}");
    }
}

/// Should the catalogue grow, this list must too.
#[test]
fn all_of_the_family_are_here() {
    let family = ENTRIES.iter().filter(|entry| entry.family == "order").count();
    assert_eq!(family, 1);
}
