//! What an ordered broadcast costs: how many messages are sent until everybody has delivered one
//! message of the application.
//!
//! Acknowledgements count where the order is made of them: in Lamport's form, and for the sequencer
//! where the order is uniform. What tells the sequencer now and then what may be forgotten is
//! overhead.

use super::measure::{self, Run, ascending};
use super::{Case, Claim, Expected, Rank, listed};
use crate::{Action, Scheduled};
use Expected::Exact;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{Group, NodeId, Time};

/// All cases for a group of this size.
pub fn order_cases_for(nodes: u32) -> Vec<Case> {
    if nodes == 0 {
        return Vec::new();
    }
    let mut cases = causal(nodes);
    cases.extend(sequencer(nodes));
    cases.extend(lamport(nodes));
    cases
}

/// The kinds of messages that a formula is for, the formula, and what it comes to.
type Part = (&'static [&'static str], &'static str, u64);

/// These broadcast a message each, at the same moment, and it costs so much.
fn case(
    algorithm: &'static str,
    nodes: u32,
    (name, rank, formula): (&'static str, Rank, &'static str),
    senders: &[u32],
    options: &[&str],
    parts: &[Part],
) -> Case {
    let claim = Claim {
        case: name,
        rank,
        nodes,
        live: nodes,
        formula,
        expected: Exact(parts.iter().map(|(.., count)| count).sum()),
        parts: parts.iter().map(|(kinds, text, count)| (*kinds, *text, Exact(*count))).collect(),
    };
    claim.judge(algorithm, &run(algorithm, nodes, senders, options).into_iter().collect::<Vec<_>>())
}

/// The run, if there can be one. The largest is the sequencer, where there is one.
fn run(algorithm: &'static str, nodes: u32, senders: &[u32], options: &[&str]) -> Option<Run> {
    let group = Group::new(ascending(nodes).into_iter().map(NodeId::new).collect()).ok()?;
    let broadcast = listed(algorithm).input("broadcast")?;
    let mut settings =
        Settings { coordinator: Some(NodeId::new(nodes)), ..Settings::new(measure::TIMEOUT) };
    for option in options {
        settings.options.set(option, "");
    }
    let act = |id: &u32| Scheduled {
        at: Time::ZERO,
        action: Action::Input(NodeId::new(*id), broadcast.clone()),
    };
    let (run, _) =
        measure::count(algorithm, group, settings, senders.iter().map(act).collect(), None);
    Some(run)
}

fn causal(n: u32) -> Vec<Case> {
    let k = u64::from(n);
    let kinds: &[&str] = &["CBCAST"];
    vec![
        case(
            "causal-broadcast",
            n,
            ("one broadcasts", Rank::Best, "n-1"),
            &[1],
            &[],
            &[(kinds, "n-1", k - 1)],
        ),
        case(
            "causal-broadcast",
            n,
            ("all broadcast", Rank::Other, "n(n-1) for n"),
            &ascending(n),
            &[],
            &[(kinds, "n(n-1)", k * (k - 1))],
        ),
    ]
}

fn sequencer(n: u32) -> Vec<Case> {
    let others = u64::from(n) - 1;
    let order: Part = (&["ORDER"], "n-1", others);
    let publish: Part = (&["PUBLISH"], "1", 1);
    let nothing: Part = (&["PUBLISH"], "0", 0);
    let ack: Part = (&["ACK"], "n-1", others);
    let stable: Part = (&["STABLE"], "n-1", others);
    let own = ("the sequencer broadcasts", Rank::Best, "n-1");
    let mut cases = vec![case("total-order-sequencer", n, own, &[n], &[], &[nothing, order])];
    if n > 1 {
        let member = ("a member broadcasts", Rank::Worst, "1 + (n-1)");
        let uniform = ("uniform, a member broadcasts", Rank::Other, "1 + 3(n-1)");
        cases.push(case("total-order-sequencer", n, member, &[1], &[], &[publish, order]));
        let parts = [publish, order, ack, stable];
        cases.push(case("total-order-sequencer", n, uniform, &[1], &["uniform"], &parts));
    }
    cases
}

fn lamport(n: u32) -> Vec<Case> {
    let (k, others) = (u64::from(n), u64::from(n) - 1);
    vec![
        case(
            "total-order-lamport",
            n,
            ("one broadcasts", Rank::Best, "n(n-1)"),
            &[1],
            &[],
            &[(&["MESSAGE"], "n-1", others), (&["ACK"], "(n-1)^2", others * others)],
        ),
        case(
            "total-order-lamport",
            n,
            ("all broadcast", Rank::Other, "n^2(n-1) for n"),
            &ascending(n),
            &[],
            &[(&["MESSAGE"], "n(n-1)", k * others), (&["ACK"], "n(n-1)^2", k * others * others)],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_formula_agrees_with_the_simulator() {
        for case in (1..=16).chain([64]).flat_map(order_cases_for) {
            assert!(case.agrees, "{case:#?}");
            assert!(!case.contradicts());
            assert_eq!(case.runs, 1);
        }
    }

    #[test]
    fn all_three_are_compared_and_the_numbers_for_five_are_known() {
        let cases = order_cases_for(5);
        let names: BTreeSet<_> = cases.iter().map(|case| case.algorithm).collect();
        assert_eq!(names.len(), 3);
        let measured: Vec<u64> = cases.iter().map(|case| case.measured.whole().unwrap()).collect();
        assert_eq!(measured, [4, 20, 4, 5, 13, 20, 100]);
        assert!(order_cases_for(0).is_empty());
        assert!(order_cases_for(1).iter().all(|case| case.measured.sum == 0));
    }

    #[test]
    fn a_wrong_formula_is_reported() {
        let parts: [Part; 1] = [(&["CBCAST"], "n", 5)];
        let wrong =
            case("causal-broadcast", 5, ("one broadcasts", Rank::Best, "n"), &[1], &[], &parts);
        assert!(!wrong.agrees && wrong.contradicts());
    }
}
