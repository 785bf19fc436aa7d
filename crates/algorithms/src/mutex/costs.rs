//! What algorithms for mutual exclusion share when they say what they cost: messages for an entry,
//! and the delay between two entries.
//!
//! The formulas count all messages of the algorithm. Under a light load at most one process waits
//! at a time; under a saturated one all processes always want to enter, and the mean is taken over
//! whole rounds.
//!
//! A saturated load means that all hear of a process that leaves and asks again before the next one
//! leaves. It takes sections longer than messages: where they are short and some messages are slow,
//! the holder of the token of a tree enters again before it knows that others wait, and an entry
//! costs less than the formula says.

use crate::cost::Expected::{Exact, ExactMean};
use crate::cost::Load::{Alone, Always};
use crate::cost::{Cost, Entries, Kinds, ROUNDS, Rank};
use crate::rings::{ascending, mixed};

pub(super) const REQUEST: Kinds = &["REQUEST"];
pub(super) const REPLY: Kinds = &["REPLY"];
pub(super) const RELEASE: Kinds = &["RELEASE"];
pub(super) const TOKEN: Kinds = &["TOKEN"];
pub(super) const PRIVILEGE: Kinds = &["PRIVILEGE"];

/// Kinds, a formula, and how many messages it comes to.
pub(super) type Count = (Kinds, &'static str, u64);

/// Each asks when all is quiet, for these messages.
pub(super) fn one_asks(n: u32, formula: &'static str, each: &[Count]) -> Cost {
    Cost::sum("one asks", formula, each, [Entries::new(Alone, mixed(n))]).rank(Rank::Average)
}

/// All want to enter always, for these messages an entry, a hop after another has left.
pub(super) fn all_ask(n: u32, formula: &'static str, each: &[Count]) -> Cost {
    let round = u64::from(n);
    let parts: Vec<Count> =
        each.iter().map(|(kinds, text, count)| (*kinds, *text, count * round)).collect();
    saturated("all ask always", formula, &parts, ("T", round), Entries::new(Always, ascending(n)))
}

/// Whole rounds of entries, for these messages and hops a round.
pub(super) fn saturated(
    case: &'static str,
    formula: &'static str,
    round: &[Count],
    (delay, hops): (&'static str, u64),
    entries: Entries,
) -> Cost {
    let size = entries.ids.len() as u64;
    let mean = |sum| ExactMean { sum: ROUNDS * sum, runs: ROUNDS * size };
    let total = mean(round.iter().map(|(.., count)| count).sum());
    let cost = Cost::new(case, formula, total, [entries])
        .rank(Rank::Worst)
        .parts(round.iter().map(|(kinds, text, count)| (*kinds, *text, mean(*count))));
    // A process that is alone has nothing to wait for.
    if size > 1 { cost.delay(delay, mean(hops)) } else { cost }
}

/// The holder of the token enters for nothing.
pub(super) fn holder_asks(n: u32) -> Cost {
    let again = |id| Entries::new(Alone, [id]).after(&[id]);
    Cost::new("the holder asks", "0", Exact(0), mixed(n).into_iter().map(again)).rank(Rank::Best)
}

/// A process without the token asks all others for it.
pub(super) fn broadcast(n: u32) -> Vec<Cost> {
    if n == 1 {
        return vec![holder_asks(n)];
    }
    let each: [Count; 2] = [(REQUEST, "n-1", u64::from(n) - 1), (TOKEN, "1", 1)];
    // Each is another than the one before.
    let ids = mixed(n);
    let last = &ids[n as usize - 1..];
    let another = [Entries::new(Alone, ids.clone()).after(last)];
    let another = Cost::sum("another asks", "n", &each, another).rank(Rank::Average);
    vec![holder_asks(n), another, all_ask(n, "n", &each)]
}
