//! What agreement costs.
//!
//! Byzantine generals: each of n processes is the commander of its own value, and each takes M(n, m)
//! messages. The counts do not depend on what traitors say, as long as they say something.

use super::measure::{self, Run};
use super::{Case, Claim, Expected, Rank, listed};
use crate::{Action, Scheduled};
use bellwether_algorithms::agreement::byzantine::messages;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{Group, Time};

use Expected::Exact;

/// Runs with more messages than this are left out.
const MESSAGES_MAX: u64 = 200_000;

/// All cases for a group of this size.
pub fn agreement_cases_for(nodes: u32) -> Vec<Case> {
    let Ok(group) = Group::numbered(nodes) else { return Vec::new() };
    let mut cases = Vec::from_iter(letters(&group));
    cases.extend(generals(&group));
    cases.extend(byzantine(&group));
    cases
}

fn settings(options: &[(&str, String)]) -> Settings {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    Settings { options: options.collect(), ..Settings::new(measure::TIMEOUT) }
}

/// Everybody writes a letter. Here the acknowledgement is what is paid for, so it counts.
fn letters(group: &Group) -> Option<Case> {
    const A: &str = "reliable-link";
    let n = group.len() as u64;
    let work = listed(A).input("work")?;
    let script = vec![Scheduled { at: Time::ZERO, action: Action::InputAll(work) }];
    let (mut run, outcome) = measure::count(A, group.clone(), settings(&[]), script, None);
    run.by_kind.extend(outcome.tally.overhead());
    let claim = Claim {
        case: "n letters, nothing lost",
        rank: Rank::Other,
        nodes: n as u32,
        live: n as u32,
        formula: "2n",
        expected: Exact(2 * n),
        parts: vec![(&["LETTER"], "n", Exact(n)), (&["ACK"], "n", Exact(n))],
    };
    Some(claim.judge(A, &[run]))
}

/// The generals are two.
fn generals(group: &Group) -> Vec<Case> {
    if group.len() != 2 {
        return Vec::new();
    }
    let plans = [("K = 0", 0), ("K = 1", 1), ("K = 3", 3), ("K = 8", 8)];
    let case = |(case, confirmations): (&'static str, u64)| {
        let settings = settings(&[("confirmations", confirmations.to_string())]);
        let (run, _) = measure::count("two-generals", group.clone(), settings, Vec::new(), None);
        let claim = Claim {
            case,
            rank: Rank::Other,
            nodes: 2,
            live: 2,
            formula: "K+1",
            expected: Exact(confirmations + 1),
            parts: vec![(&["ORDER"], "1", Exact(1)), (&["CONFIRM"], "K", Exact(confirmations))],
        };
        claim.judge("two-generals", &[run])
    };
    plans.into_iter().map(case).collect()
}

/// OM(m) for every m that n processes bear, without traitors and with as many as they bear, which
/// lie in two ways.
fn byzantine(group: &Group) -> Vec<Case> {
    let n = group.len() as u64;
    let titles = [
        ["m = 0", ""],
        ["m = 1", "m = 1, a traitor"],
        ["m = 2", "m = 2, 2 traitors"],
        ["m = 3", "m = 3, 3 traitors"],
        ["m = 4", "m = 4, 4 traitors"],
    ];
    let mut cases = Vec::new();
    for (m, [honest, treacherous]) in (0..=(n - 1) / 3).zip(titles) {
        let all = messages(n, m).and_then(|each| each.checked_mul(n));
        let Some(all) = all.filter(|all| *all <= MESSAGES_MAX) else { break };
        let claim = |case| Claim {
            case,
            rank: Rank::Other,
            nodes: n as u32,
            live: n as u32,
            formula: "n M(n,m)",
            expected: Exact(all),
            parts: vec![
                (&["VALUE"], "n(n-1)", Exact(n * (n - 1))),
                (&["RELAY"], "n (M(n,m) - (n-1))", Exact(all - n * (n - 1))),
            ],
        };
        let faults = ("faults", m.to_string());
        let run = |options: &[(&str, String)]| -> Run {
            let settings = settings(options);
            measure::count("byzantine", group.clone(), settings, Vec::new(), None).0
        };
        cases.push(claim(honest).judge("byzantine", &[run(std::slice::from_ref(&faults))]));
        if m == 0 {
            continue;
        }
        let liars: Vec<String> = (1..=m).map(|id| id.to_string()).collect();
        let liars = ("traitors", liars.join(","));
        let runs = ["two-faced", "colluding"].map(|strategy| {
            run(&[faults.clone(), liars.clone(), ("strategy", strategy.to_owned())])
        });
        cases.push(claim(treacherous).judge("byzantine", &runs));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_formula_agrees_with_the_simulator() {
        for case in (0..=11).flat_map(agreement_cases_for) {
            assert!(case.agrees, "{case:#?}");
            assert!(!case.contradicts() && case.runs > 0);
        }
    }

    #[test]
    fn the_papers_figures_are_among_them() {
        for (n, case, expected) in [
            (4, "m = 1", 36),
            (4, "m = 1, a traitor", 36),
            (7, "m = 2", 7 * 156),
            (7, "m = 2, 2 traitors", 7 * 156),
            (10, "m = 3", 36_090),
            (10, "m = 3, 3 traitors", 36_090),
            (2, "K = 8", 9),
            (5, "n letters, nothing lost", 10),
        ] {
            let cases = agreement_cases_for(n);
            let found = cases.iter().find(|found| found.case == case).unwrap();
            assert_eq!(found.measured.whole(), Some(expected), "{n} {case}");
        }
        assert!(agreement_cases_for(3).iter().all(|case| !case.case.starts_with("m = 1")));
    }
}
