//! Each mutual exclusion algorithm, over ten thousand random schedules without faults and as many
//! with crashes and recoveries under views: never two inside, entries numbered in order, grants in
//! the promised order, and every request of a live process granted in bounded virtual time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_algorithms::catalogue::{Algorithm, ENTRIES};
use bellwether_algorithms::election::ChangRoberts;
use bellwether_algorithms::mutex::{
    Central, Guarded, Lamport, Mutex, Raymond, RicartAgrawala, RicartAgrawalaToken, Singhal,
    SuzukiKasami, TokenRing,
};
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

/// Without faults.
fn check_quiet<A: Algorithm>() {
    let mut total = Total::default();
    for seed in 0..SCHEDULES {
        let sections = play(&quiet_plan::<A>(seed), &mut total);
        assert_eq!(sections.entries, sections.requests, "{}, seed {seed}", A::ENTRY.name);
    }
    assert!(total.sections.entries > 5 * SCHEDULES, "hardly anybody entered");
}

/// With crashes and recoveries.
fn check_crashes<A: Algorithm>(has_token: bool) {
    let mut total = Total::default();
    for seed in 0..SCHEDULES {
        play(&random_plan::<A>(seed), &mut total);
    }
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

/// Named types and not the catalogue's visitor, so that only these are compiled here.
fn check<M: Mutex>() {
    check_quiet::<Guarded<M>>();
    check_crashes::<Guarded<M>>(M::TOKEN);
}

#[test]
fn central() {
    check::<Central>();
}

#[test]
fn lamport() {
    check::<Lamport>();
}

#[test]
fn ricart_agrawala() {
    check::<RicartAgrawala>();
}

#[test]
fn token_ring() {
    check::<TokenRing>();
}

#[test]
fn ricart_agrawala_token() {
    check::<RicartAgrawalaToken>();
}

#[test]
fn suzuki_kasami() {
    check::<SuzukiKasami>();
}

#[test]
fn raymond() {
    check::<Raymond>();
}

#[test]
fn singhal() {
    check::<Singhal>();
}

/// Any election of the catalogue will do.
#[test]
fn views_by_a_ring_election() {
    check_crashes::<Guarded<SuzukiKasami, ChangRoberts>>(true);
}

/// Should the catalogue grow, this list must too.
#[test]
fn all_of_the_family_are_here() {
    let family = ENTRIES.iter().filter(|entry| entry.family == "mutex").count();
    assert_eq!(family, 8);
}
