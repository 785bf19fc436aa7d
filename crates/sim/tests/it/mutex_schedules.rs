//! Each mutual exclusion algorithm, over thousands of random schedules without faults and as many
//! with crashes and recoveries under views: never two inside, entries numbered in order, grants in
//! the promised order, and every request of a live process granted in bounded virtual time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::beyond::quiet_plan;
use crate::support::{each_of, schedules};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Algorithm;
use bellwether_algorithms::election::ChangRoberts;
use bellwether_algorithms::mutex::{Guarded, SuzukiKasami};
use bellwether_core::AnyProcess;
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{FaultCounts, FaultKind, Plan, Sections, Silent, scenario, shrink};
use std::sync::Arc;

/// What many runs came to.
#[derive(Default)]
struct Total {
    faults: FaultCounts,
    sections: Sections,
}

/// Runs a plan, which must go well.
fn play(plan: &Plan<AnyProcess>, total: &mut Total) -> Sections {
    let (outcome, Silent) = plan.run(Silent);
    total.faults.add(&outcome.faults);
    let name = plan.algorithm.name();
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
fn check_quiet(algorithm: &Listed) {
    let mut total = Total::default();
    for seed in 0..schedules() {
        let sections = play(&quiet_plan(algorithm, seed), &mut total);
        assert_eq!(sections.entries, sections.requests, "{}, seed {seed}", algorithm.name());
    }
    assert!(total.sections.entries > 5 * schedules(), "hardly anybody entered");
}

/// Whether there is a token, of which there is always one.
fn has_token(plan: &Plan<AnyProcess>) -> bool {
    let config = plan.algorithm.config(&plan.settings, &plan.group);
    plan.algorithm.quantity(&config, &plan.group).is_some()
}

/// With crashes and recoveries.
fn check_crashes(algorithm: &Listed) {
    let mut total = Total::default();
    for seed in 0..schedules() {
        play(&random_plan(algorithm, seed), &mut total);
    }
    let counts: Vec<(FaultKind, u64)> = total.faults.iter().collect();
    for kind in [FaultKind::Crash, FaultKind::Recover] {
        let bitten = counts.iter().find(|(other, _)| *other == kind).map_or(0, |(_, count)| *count);
        assert!(bitten > schedules() / 10, "{} hardly ever happened: {counts:?}", kind.name());
    }
    let Sections { entries, lost, token_regenerations, .. } = total.sections;
    assert!(entries > 5 * schedules(), "only {entries} entries");
    assert!(lost > schedules() / 10, "only {lost} died waiting or inside");
    let has_token = has_token(&random_plan(algorithm, 0));
    assert_eq!(
        token_regenerations > schedules() / 10,
        has_token,
        "{token_regenerations} new tokens"
    );
}

#[test]
fn every_algorithm_grants_all_requests_without_faults() {
    each_of("mutex", check_quiet);
}

#[test]
fn every_algorithm_survives_crashes_under_views() {
    each_of("mutex", check_crashes);
}

/// Any election of the catalogue will do.
#[test]
fn views_by_a_ring_election() {
    check_crashes(&Arc::new(Guarded::<SuzukiKasami, ChangRoberts>::definition().erase()));
}
