//! What elections share when they say what they cost.
//!
//! The formulas count all messages of the algorithm, the announcement included, because only so
//! can algorithms be compared; where a source counts a kind by itself, a part of the cost does too.
//! n processes are configured, and k of them live.

use crate::cost::Expected::{AtMost, Exact, ExactMean, Mean};
use crate::cost::{Cost, Expected, Kinds, Rank, Script};

/// A bound is tried on this many random rings, besides the extreme ones.
pub(super) const BOUND_RINGS: u64 = 10;

/// The largest, which was the coordinator, has died, and these notice.
pub(super) fn orphaned(n: u32, detectors: impl IntoIterator<Item = u32>) -> Script {
    Script::of(n).crash(n).ask_all(detectors, "suspect")
}

/// No process is dead, and this one starts.
pub(super) fn one_starts(ring: Vec<u32>, starter: u32) -> Script {
    Script::on(ring).ask(starter, "start")
}

/// No process is dead, and all start.
pub(super) fn all_start(ring: Vec<u32>) -> Script {
    Script::on(ring.clone()).ask_all(ring, "start")
}

/// An election among k live processes that is a race of some kinds of message, after which
/// ELECTED goes round once.
pub(super) struct Race {
    pub(super) k: u32,
    pub(super) kinds: Kinds,
}

impl Race {
    /// A cost with the formulas for the race and for all messages.
    pub(super) fn cost(
        &self,
        case: &'static str,
        rank: Rank,
        [race, total]: [&'static str; 2],
        expected: Expected,
        trials: impl IntoIterator<Item = Script>,
    ) -> Cost {
        let k = u64::from(self.k);
        let with_elected = match expected {
            Exact(count) => Exact(count + k),
            ExactMean { sum, runs } => ExactMean { sum: sum + k * runs, runs },
            AtMost(count) => AtMost(count + k),
            Mean { value, .. } => Expected::sampled(value + k as f64),
        };
        let parts = [(self.kinds, race, expected), (&["ELECTED"], "k", Exact(k))];
        Cost::new(case, total, with_elected, trials).rank(rank).parts(parts)
    }
}
