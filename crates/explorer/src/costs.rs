//! What the sources say that an algorithm costs, for this many processes.

use crate::wire::{Cost, KindCost};
use bellwether_algorithms::catalogue::{Catalogue, Listed};
use bellwether_sim::compare::{Case, Expected, family_cases_for};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A family and a number of processes.
type Key = (&'static str, u32);

/// The cases of all families that were asked for so far: they are computed once.
#[derive(Debug, Default)]
pub(crate) struct Costs(Mutex<BTreeMap<Key, Arc<Vec<Case>>>>);

impl Costs {
    /// The cases for which a source has a formula. None for larger clusters: they are simulated to
    /// confirm the formulas, and that would take too long.
    pub(crate) fn of(&self, known: &Catalogue, algorithm: &Listed, nodes: usize) -> Vec<Cost> {
        let Ok(nodes) = u32::try_from(nodes) else { return Vec::new() };
        let cases = self.cases(known, (algorithm.entry.family, nodes));
        cases.iter().filter(|case| case.algorithm == algorithm.name()).map(cost).collect()
    }

    fn cases(&self, known: &Catalogue, key: Key) -> Arc<Vec<Case>> {
        let computed = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cases) = computed().get(&key) {
            return cases.clone();
        }
        let cases = Arc::new(compute(known, key));
        computed().insert(key, cases.clone());
        cases
    }
}

fn compute(known: &Catalogue, (family, nodes): Key) -> Vec<Case> {
    let most = match family {
        "deadlock" => 5,
        "agreement" => 7,
        _ => 12,
    };
    match nodes <= most {
        true => family_cases_for(known, family, nodes, None),
        false => Vec::new(),
    }
}

fn cost(case: &Case) -> Cost {
    Cost {
        case: match case.load {
            Some(load) => format!("{}, {load} load", case.case),
            None => case.case.to_owned(),
        },
        formula: case.formula.to_owned(),
        value: rounded(&case.expected),
        judged: judged(&case.expected).to_owned(),
        kinds: case
            .parts
            .iter()
            .map(|part| KindCost {
                kinds: part.kinds.iter().map(|kind| (*kind).to_owned()).collect(),
                formula: part.formula.to_owned(),
                value: rounded(&part.expected),
            })
            .collect(),
    }
}

fn rounded(expected: &Expected) -> u64 {
    // Counts are small and never negative.
    expected.value().round() as u64
}

fn judged(expected: &Expected) -> &'static str {
    match expected {
        Expected::Exact(_) => "exact",
        Expected::AtMost(_) => "at-most",
        Expected::ExactMean { .. } | Expected::Mean { .. } => "mean",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::with_member;

    fn costs(name: &str, nodes: usize) -> Vec<Cost> {
        Costs::default().of(with_member(), with_member().get(name).unwrap(), nodes)
    }

    #[test]
    fn the_bullys_worst_case_is_the_textbooks() {
        let costs = costs("bully", 5);
        let worst = costs.iter().find(|cost| cost.case == "lowest detects").unwrap();
        assert_eq!((worst.formula.as_str(), worst.value), ("n^2-n-1", 19));
        assert_eq!(worst.judged, "exact");
        assert_eq!(worst.kinds[0].kinds, ["ELECTION"]);
        assert_eq!(worst.kinds[0].value, 10);
    }

    #[test]
    fn every_family_has_some_and_large_clusters_have_none() {
        for algorithm in ["peterson", "raymond", "berkeley", "chandy-lamport", "causal-broadcast"] {
            assert!(!costs(algorithm, 4).is_empty(), "{algorithm}");
            assert!(costs(algorithm, 64).is_empty(), "{algorithm}");
        }
    }
}
