//! Each election, over ten thousand random fault schedules inside its stated assumptions: when
//! the faults stop, all live processes agree on the largest live one, in bounded virtual time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_algorithms::catalogue::{Algorithm, ENTRIES};
use bellwether_algorithms::election::{
    ActiveList, Bully, ChangRoberts, HirschbergSinclair, Peterson, Ring, Watched,
};
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{FaultCounts, FaultKind, Silent, shrink};

const SCHEDULES: u64 = 10_000;

/// Named types and not the catalogue's visitor, so that only these are compiled here.
fn check<A: Algorithm>() {
    let mut faults = FaultCounts::default();
    for seed in 0..SCHEDULES {
        let plan = random_plan::<A>(seed);
        let (outcome, Silent) = plan.run(Silent);
        faults.add(&outcome.faults);
        if let Some(violation) = outcome.violation {
            let small = shrink(&plan, violation.name, 500).map(|shrunk| shrunk.plan);
            panic!("{}, seed {seed}: {violation}\n{plan:#?}\nshrunk: {small:#?}", A::ENTRY.name);
        }
        assert!(outcome.agreed, "{}, seed {seed}: {outcome:?}", A::ENTRY.name);
    }
    let counts: Vec<(FaultKind, u64)> = faults.iter().collect();
    for kind in [FaultKind::Crash, FaultKind::Recover, FaultKind::Duplicate] {
        let bitten = counts.iter().find(|(other, _)| *other == kind).map_or(0, |(_, count)| *count);
        assert!(bitten > SCHEDULES / 10, "{} hardly ever happened: {counts:?}", kind.name());
    }
}

#[test]
fn bully() {
    check::<Watched<Bully>>();
}

#[test]
fn ring() {
    check::<Watched<Ring>>();
}

#[test]
fn active_list() {
    check::<Watched<ActiveList>>();
}

#[test]
fn chang_roberts() {
    check::<Watched<ChangRoberts>>();
}

#[test]
fn hirschberg_sinclair() {
    check::<Watched<HirschbergSinclair>>();
}

#[test]
fn peterson() {
    check::<Watched<Peterson>>();
}

/// Should the catalogue grow, this list must too.
#[test]
fn every_election_is_here() {
    let elections = ENTRIES.iter().filter(|entry| entry.family == "election").count();
    assert_eq!(elections, 6);
}
