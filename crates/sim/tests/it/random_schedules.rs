//! Each election, over ten thousand random fault schedules inside its stated assumptions: when
//! the faults stop, all live processes agree on the largest live one, in bounded virtual time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::each_of;
use bellwether_algorithms::catalogue::Listed;
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{FaultCounts, FaultKind, Silent, shrink};

const SCHEDULES: u64 = 10_000;

fn check(algorithm: &Listed) {
    let name = algorithm.name();
    let mut faults = FaultCounts::default();
    for seed in 0..SCHEDULES {
        let plan = random_plan(algorithm, seed);
        let (outcome, Silent) = plan.run(Silent);
        faults.add(&outcome.faults);
        if let Some(violation) = outcome.violation {
            let small = shrink(&plan, violation.name, 500).map(|shrunk| shrunk.plan);
            panic!("{name}, seed {seed}: {violation}\n{plan:#?}\nshrunk: {small:#?}");
        }
        assert!(outcome.agreed, "{name}, seed {seed}: {outcome:?}");
    }
    let counts: Vec<(FaultKind, u64)> = faults.iter().collect();
    for kind in [FaultKind::Crash, FaultKind::Recover, FaultKind::Duplicate] {
        let bitten = counts.iter().find(|(other, _)| *other == kind).map_or(0, |(_, count)| *count);
        assert!(bitten > SCHEDULES / 10, "{} hardly ever happened: {counts:?}", kind.name());
    }
}

#[test]
fn every_election_agrees() {
    each_of("election", check);
}
