//! What a snapshot costs: a marker on every channel, whatever else is on the way.

use super::measure::{TIMEOUT, count};
use super::{Case, Claim, Expected, Rank, listed};
use crate::{Action, Scheduled};
use bellwether_algorithms::definition::Settings;
use bellwether_core::{Group, NodeId, Time};

use Expected::Exact;

const A: &str = "chandy-lamport";

/// All cases for a group of this size.
pub fn snapshot_cases_for(n: u32) -> Vec<Case> {
    let channels = u64::from(n) * u64::from(n.saturating_sub(1));
    let hops = if n > 1 { u64::from(n) } else { 0 };
    let claim = |case, rank, formula, markers, of_markers, transfers| {
        let (marked, paid) = (Exact(markers), Exact(transfers));
        Claim {
            case,
            rank,
            nodes: n,
            live: n,
            formula,
            expected: Exact(markers + transfers),
            parts: vec![(&["MARKER"], of_markers, marked), (&["TRANSFER"], "payments", paid)],
        }
    };
    let one = claim("one snapshot", Rank::Worst, "n(n-1)", channels, "n(n-1)", 0);
    let two = claim("two at once", Rank::Other, "2n(n-1)", 2 * channels, "2n(n-1)", 0);
    // The only one of a group of one has nobody to pay.
    let paying = claim("while all pay", Rank::Other, "n^2", channels, "n(n-1)", hops);
    let ring = claim("one snapshot, on a ring", Rank::Best, "n", hops, "n", 0);
    let cases = [
        measure(one, n, &[("snapshot", 1)], false),
        measure(two, n, &[("snapshot", 1), ("snapshot", n)], false),
        measure(
            paying,
            n,
            &(1..=n).map(|id| ("work", id)).chain([("snapshot", 1)]).collect::<Vec<_>>(),
            false,
        ),
        measure(ring, n, &[("snapshot", 1)], true),
    ];
    cases.into_iter().flatten().collect()
}

/// Asks these processes for these things, all at once, and counts.
fn measure(claim: Claim, n: u32, asked: &[(&str, u32)], ring: bool) -> Option<Case> {
    let group = Group::numbered(n).ok()?;
    let mut settings = Settings::new(TIMEOUT);
    if ring {
        settings.options.set("channels", "ring");
    }
    let mut script = Vec::new();
    for (verb, id) in asked {
        let action = Action::Input(NodeId::new(*id), listed(A).input(verb)?);
        script.push(Scheduled { at: Time::ZERO, action });
    }
    let (run, _) = count(A, group, settings, script, None);
    Some(claim.judge(A, &[run]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_costs_a_marker_per_channel() {
        assert!(snapshot_cases_for(0).is_empty());
        for n in 1..=12 {
            let cases = snapshot_cases_for(n);
            assert_eq!(cases.len(), 4);
            for case in cases {
                assert!(case.agrees && !case.contradicts(), "{case:#?}");
            }
        }
        let totals: Vec<_> =
            snapshot_cases_for(5).iter().map(|case| case.measured.whole().unwrap()).collect();
        assert_eq!(totals, [20, 40, 25, 5]);
    }
}
