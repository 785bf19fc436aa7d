//! Each mutual exclusion algorithm, over ten thousand random schedules without faults and as many
//! with crashes and recoveries under views: never two inside, entries numbered in order, grants in
//! the promised order, and every request of a live process granted in bounded virtual time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_algorithms::catalogue::{Algorithm, Visitor, visit};
use bellwether_sim::chaos::{quiet_plan, random_plan};
use bellwether_sim::{FaultCounts, FaultKind, Plan, Sections, Silent, scenario, shrink};

const SCHEDULES: u64 = 10_000;

/// What many runs came to.
#[derive(Default)]
struct Total {
    faults: FaultCounts,
    sections: Sections,
}

/// Runs a plan, which must go well.
fn play<A: Algorithm>(plan: &Plan<A>, total: &mut Total) -> Sections {
    let (outcome, Silent) = plan.run(Silent);
    total.faults.add(&outcome.faults);
    let name = A::ENTRY.name;
    if let Some(violation) = outcome.violation {
        let small = shrink(plan, violation.name, 500).map(|shrunk| scenario::write(&shrunk.plan));
        panic!("{name}, seed {}: {violation}\n{}", plan.seed, small.unwrap_or_default());
    }
    assert!(outcome.agreed, "{name}, seed {}: {outcome:?}", plan.seed);
    let sections = outcome.sections.unwrap();
    let ended = sections.entries + sections.lost;
    assert!(ended >= sections.requests, "{name}, seed {}: {sections:?}", plan.seed);
    total.sections.entries += sections.entries;
    total.sections.lost += sections.lost;
    total.sections.token_regenerations += sections.token_regenerations;
    sections
}

/// Without faults, with the cure and as printed.
struct Quiet;

impl Visitor for Quiet {
    type Output = ();

    fn visit<A: Algorithm>(self) {
        let mut total = Total::default();
        for seed in 0..SCHEDULES {
            let plan = quiet_plan::<A>(seed);
            let sections = play(&plan, &mut total);
            assert_eq!(sections.entries, sections.requests, "{}, seed {seed}", A::ENTRY.name);
        }
        assert!(total.sections.entries > 5 * SCHEDULES, "hardly anybody entered");
    }
}

/// With crashes and recoveries.
struct Crashes;

impl Visitor for Crashes {
    type Output = Total;

    fn visit<A: Algorithm>(self) -> Total {
        let mut total = Total::default();
        for seed in 0..SCHEDULES {
            play(&random_plan::<A>(seed), &mut total);
        }
        total
    }
}

fn check(name: &str, has_token: bool) {
    visit(name, Quiet).expect("the catalogue knows it");
    let total = visit(name, Crashes).expect("the catalogue knows it");
    let counts: Vec<(FaultKind, u64)> = total.faults.iter().collect();
    for kind in [FaultKind::Crash, FaultKind::Recover] {
        let bitten = counts.iter().find(|(other, _)| *other == kind).map_or(0, |(_, count)| *count);
        assert!(bitten > SCHEDULES / 10, "{} hardly ever happened: {counts:?}", kind.name());
    }
    let Sections { entries, lost, token_regenerations, .. } = total.sections;
    assert!(entries > 5 * SCHEDULES, "only {entries} entries");
    assert!(lost > SCHEDULES / 10, "only {lost} died waiting or inside");
    assert_eq!(token_regenerations > SCHEDULES / 10, has_token, "{token_regenerations} new tokens");
}

#[test]
fn central() {
    check("central", false);
}

#[test]
fn suzuki_kasami() {
    check("suzuki-kasami", true);
}
