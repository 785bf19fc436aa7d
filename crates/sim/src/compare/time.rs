//! What keeping clocks together costs: messages for a round.
//!
//! All clocks are off by something, every message takes a hop, and the run ends before the second
//! round begins. The election beside Berkeley is overhead and not counted.

use super::measure::{TIMEOUT, count};
use super::{Case, Claim, Expected, Rank};
use crate::{Action, Scheduled};
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::time::ntp;
use bellwether_core::{Group, NodeId, Time};

use Expected::Exact;

/// The first round begins after T, and the second after 10 s more.
const UNTIL: Time = Time::from_micros(5_000_000);

/// All cases for a group of this size.
pub fn time_cases_for(nodes: u32) -> Vec<Case> {
    let Ok(group) = Group::numbered(nodes) else { return Vec::new() };
    let n = u64::from(nodes);
    let mut cases =
        vec![cristian(&group, n, 1), cristian(&group, n, 4), berkeley(&group, n), ntp(&group, n)];
    cases.extend((nodes > 1).then(|| berkeley_with_one_dead(&group, n)));
    cases
}

/// Settings with the largest as coordinator.
fn settings(group: &Group) -> Settings {
    Settings { coordinator: Some(group.highest()), ..Settings::new(TIMEOUT) }
}

/// Runs a round and judges it.
fn round(
    algorithm: &'static str,
    group: &Group,
    settings: Settings,
    dead: Option<NodeId>,
    claim: Claim,
) -> Case {
    let off = group.ring().iter().zip(1..).map(|(id, number): (&NodeId, i64)| {
        let offset_us = number * 7_000 - 20_000;
        Action::Clock { node: *id, offset_us, drift_ppm: 0 }
    });
    let script = off.chain(dead.map(Action::Crash));
    let script = script.map(|action| Scheduled { at: Time::ZERO, action }).collect();
    let (run, _) = count(algorithm, group.clone(), settings, script, Some(UNTIL));
    claim.judge(algorithm, &[run])
}

/// A claim about some kinds of which each has its own formula and count.
fn claim(
    case: &'static str,
    nodes: u64,
    formula: &'static str,
    kinds: &[(&'static [&'static str], &'static str, u64)],
) -> Claim {
    let part = |(kinds, formula, count): &(_, _, u64)| (*kinds, *formula, Exact(*count));
    Claim {
        case,
        rank: Rank::Other,
        nodes: nodes as u32,
        live: nodes as u32,
        formula,
        expected: Exact(kinds.iter().map(|(_, _, count)| count).sum()),
        parts: kinds.iter().map(part).collect(),
    }
}

fn cristian(group: &Group, n: u64, samples: u64) -> Case {
    let mut settings = settings(group);
    settings.options.set("samples", &samples.to_string());
    let (case, formula, each) = match samples {
        1 => ("a round of one sample", "2(n-1)", "n-1"),
        _ => ("a round of four samples", "8(n-1)", "4(n-1)"),
    };
    let asked = samples * (n - 1);
    let kinds: [(&[&str], _, _); 2] = [(&["REQUEST"], each, asked), (&["TIME"], each, asked)];
    round("cristian", group, settings, None, claim(case, n, formula, &kinds))
}

fn berkeley(group: &Group, n: u64) -> Case {
    let kinds: [(&[&str], _, _); 3] =
        [(&["POLL"], "n-1", n - 1), (&["READING"], "n-1", n - 1), (&["ADJUST"], "n-1", n - 1)];
    round("berkeley", group, settings(group), None, claim("a round", n, "3(n-1)", &kinds))
}

/// It is polled like the others, and that is all.
fn berkeley_with_one_dead(group: &Group, n: u64) -> Case {
    let kinds: [(&[&str], _, _); 3] =
        [(&["POLL"], "n-1", n - 1), (&["READING"], "n-2", n - 2), (&["ADJUST"], "n-2", n - 2)];
    let mut claim = claim("a round, one dead", n, "3n-5", &kinds);
    claim.live -= 1;
    round("berkeley", group, settings(group), group.ascending().next(), claim)
}

fn ntp(group: &Group, n: u64) -> Case {
    let settings = settings(group);
    let servers = ntp::usual_servers(group).len() as u64;
    let polled = servers * (n - servers);
    let kinds: [(&[&str], _, _); 2] =
        [(&["POLL"], "s(n-s)", polled), (&["TIME"], "s(n-s)", polled)];
    round("ntp", group, settings, None, claim("a poll of s servers", n, "2s(n-s)", &kinds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_formula_holds() {
        for nodes in 1..=12 {
            let cases = time_cases_for(nodes);
            assert_eq!(cases.len(), if nodes > 1 { 5 } else { 4 });
            for case in cases {
                assert!(case.agrees && !case.contradicts(), "{case:?}");
            }
        }
        assert_eq!(time_cases_for(0), []);
        let five: Vec<u64> = time_cases_for(5).iter().filter_map(|c| c.measured.whole()).collect();
        assert_eq!(five, [8, 32, 12, 12, 10]);
    }
}
