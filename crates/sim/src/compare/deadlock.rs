//! What finding a deadlock costs.
//!
//! There is one cycle over all s = n sites: transaction i is at home at site i, holds the resource
//! there, and asks for that of the next site. Only the detector's own messages count; the locks'
//! and the confirmation's are overhead.

use super::measure::{self, Run, arrangements, ascending, descending, shuffled};
use super::{Case, Claim, Expected, Rank, listed};
use crate::{Action, Scheduled};
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyInput, Group, NodeId, Time};
use std::time::Duration;

use Expected::{Exact, ExactMean};

/// Up to this many sites all arrangements of ids are tried: 720 of them.
const ENUMERATED_MAX: u32 = 7;
/// Above, the mean is taken over this many.
const SAMPLED: u64 = 50;

/// All cases for a group of this size.
pub fn deadlock_cases_for(nodes: u32) -> Vec<Case> {
    if nodes < 2 {
        return Vec::new();
    }
    let mut cases = vec![central(nodes)];
    cases.extend(distributed(nodes));
    cases.extend(edge_chasing(nodes));
    cases
}

/// A cycle of transactions with these numbers, in the order in which they wait for each other, of
/// which each asks so long after the one before.
fn cycle(algorithm: &'static str, numbers: &[u32], apart: Duration) -> Vec<Scheduled<AnyInput>> {
    let sites = numbers.len() as u32;
    let lock = |home: u32, number: u32, site: u32, at: Time| {
        let input = listed(algorithm).input(&format!("lock:T{number}:S{site}.a"))?;
        Some(Scheduled { at, action: Action::Input(NodeId::new(home), input) })
    };
    let hold = (1..).zip(numbers).map(|(home, number)| lock(home, *number, home, Time::ZERO));
    let first = Time::ZERO + measure::TIMEOUT;
    let ask = (1..).zip(numbers).map(|(home, number)| {
        lock(home, *number, home % sites + 1, first + apart.saturating_mul(home - 1))
    });
    hold.chain(ask).flatten().collect()
}

fn run(algorithm: &'static str, numbers: &[u32], apart: Duration) -> Run {
    let Ok(group) = Group::numbered(numbers.len() as u32) else { return Run::default() };
    let mut script = cycle(algorithm, numbers, apart);
    let mut settings = Settings::new(measure::TIMEOUT);
    // Where a coordinator looks, it looks once.
    if let Some(detect) = listed(algorithm).input("detect") {
        settings.options.set("interval", "0");
        let at = Time::ZERO + measure::TIMEOUT.saturating_mul(10);
        script.push(Scheduled { at, action: Action::Input(group.highest(), detect) });
    }
    let (mut run, outcome) = measure::count(algorithm, group, settings, script, None);
    let victims = outcome.facts.iter().find(|fact| fact.name == "transactions");
    run.sound &= victims.is_some_and(|fact| fact.value["aborted"] == 1);
    run
}

fn claim(
    nodes: u32,
    case: &'static str,
    rank: Rank,
) -> impl Fn(&'static str, Expected, Parts) -> Claim {
    move |formula, expected, parts| Claim {
        case,
        rank,
        nodes,
        live: nodes,
        formula,
        expected,
        parts,
    }
}

type Parts = Vec<(&'static [&'static str], &'static str, Expected)>;

/// INITIATE to all others and a GRAPH from each.
fn central(n: u32) -> Case {
    const A: &str = "deadlock-central";
    let others = Exact(u64::from(n) - 1);
    let parts: Parts = vec![(&["INITIATE"], "n-1", others), (&["GRAPH"], "n-1", others)];
    let total = Exact(2 * (u64::from(n) - 1));
    let claim = claim(n, "one look finds a cycle", Rank::Average)("2(n-1)", total, parts);
    claim.judge(A, &[run(A, &ascending(n), Duration::ZERO)])
}

/// The path of each site travels to the site before that of the next larger transaction: as the
/// numbers of Chang and Roberts do, less the last hop of each.
fn distributed(n: u32) -> Vec<Case> {
    const A: &str = "deadlock-distributed";
    let s = u64::from(n);
    let judge = |case, rank, formula, expected, rings: Vec<Vec<u32>>| {
        let runs: Vec<Run> = rings.iter().map(|ring| run(A, ring, Duration::ZERO)).collect();
        let parts: Parts = vec![(&["PATH"], formula, expected)];
        claim(n, case, rank)(formula, expected, parts).judge(A, &runs)
    };
    let (mean, rings) = if n <= ENUMERATED_MAX {
        let factorial: u64 = (1..=s).product();
        let sum = (1..=s).map(|term| factorial / term).sum::<u64>() - factorial;
        (ExactMean { sum, runs: factorial / s }, arrangements(n))
    } else {
        let harmonic: f64 = (1..=n).map(|term| 1.0 / f64::from(term)).sum();
        let mean = Expected::sampled(f64::from(n) * (harmonic - 1.0));
        (mean, shuffled(n, SAMPLED).collect())
    };
    let worst = Exact(s * (s - 1) / 2);
    vec![
        judge("ids rise along the cycle", Rank::Best, "s-1", Exact(s - 1), vec![ascending(n)]),
        judge("all arrangements of ids", Rank::Average, "s(H(s)-1)", mean, rings),
        judge("ids fall along the cycle", Rank::Worst, "s(s-1)/2", worst, vec![descending(n)]),
    ]
}

/// If they ask one after the other, all but the first and the last begin a search that gets no
/// further than one site; the last request begins one of s-1 probes where it waits and one of s
/// where it is waited for. If all ask at once, s searches go all the way round.
fn edge_chasing(n: u32) -> Vec<Case> {
    const A: &str = "deadlock-edge-chasing";
    let s = u64::from(n);
    let judge = |case, rank, formula, expected, apart| {
        let parts: Parts = vec![(&["PROBE"], formula, expected)];
        let runs = [run(A, &ascending(n), apart)];
        claim(n, case, rank)(formula, expected, parts).judge(A, &runs)
    };
    let apart = measure::TIMEOUT.saturating_mul(2);
    vec![
        judge("one asks after the other", Rank::Best, "3(s-1)", Exact(3 * (s - 1)), apart),
        judge("all ask at once", Rank::Worst, "s^2", Exact(s * s), Duration::ZERO),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_formula_agrees_with_the_simulator() {
        for n in 2..=9 {
            for case in deadlock_cases_for(n) {
                assert!(case.agrees, "{case:#?}");
            }
        }
        assert!(deadlock_cases_for(1).is_empty());
    }

    #[test]
    fn over_all_arrangements_both_ends_of_the_range_are_reached_and_none_lies_outside() {
        for n in 2..=6 {
            let s = u64::from(n);
            let counts: Vec<u64> = arrangements(n)
                .iter()
                .map(|ring| run("deadlock-distributed", ring, Duration::ZERO).count("PATH"))
                .collect();
            let range = (counts.iter().min().copied(), counts.iter().max().copied());
            assert_eq!(range, (Some(s - 1), Some(s * (s - 1) / 2)), "{n}: {counts:?}");
        }
    }
}
