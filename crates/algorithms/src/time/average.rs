//! The mean of the clocks that are close to each other.
//!
//! One clock that is off by an hour must not draw all others after it. So the mean is that of the
//! largest set of clocks of which no two differ by more than gamma. If there are several such sets,
//! it is one with the master's own clock; then the one that is closest together; then the earliest.

use super::Offset;
use std::time::Duration;

/// What clocks come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mean {
    /// The mean of those that count.
    pub mean: Offset,
    /// Whether each one counts.
    pub counts: Vec<bool>,
}

/// Takes the mean of the clocks that are so far ahead; the first is the master's own.
pub fn average(ahead: &[Offset], gamma: Duration) -> Mean {
    let mut order: Vec<(Offset, usize)> = ahead.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut best: Option<(Rank, &[(Offset, usize)])> = None;
    let mut end = 0;
    for start in 0..order.len() {
        let close = |end: usize| (order[end].0 - order[start].0).size() <= gamma;
        while end < order.len() && close(end) {
            end += 1;
        }
        let window = &order[start..end];
        let rank = Rank::of(window);
        if best.as_ref().is_none_or(|(known, _)| rank > *known) {
            best = Some((rank, window));
        }
    }
    let window = best.map_or(&[][..], |(_, window)| window);
    let sum: i128 = window.iter().map(|(ahead, _)| i128::from(ahead.as_micros())).sum();
    let mut counts = vec![false; ahead.len()];
    for (_, index) in window {
        counts[*index] = true;
    }
    Mean { mean: Offset::wide(sum / (window.len().max(1) as i128)), counts }
}

/// How good a set is; the larger, the better. Of equals the first that is found is kept.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    size: usize,
    has_own: bool,
    narrow: std::cmp::Reverse<Duration>,
}

impl Rank {
    fn of(window: &[(Offset, usize)]) -> Self {
        let width = match window {
            [first, .., last] => (last.0 - first.0).size(),
            _ => Duration::ZERO,
        };
        Rank {
            size: window.len(),
            has_own: window.iter().any(|(_, index)| *index == 0),
            narrow: std::cmp::Reverse(width),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(minutes: &[i64]) -> Vec<Offset> {
        minutes.iter().map(|minutes| Offset::from_micros(minutes * 60_000_000)).collect()
    }

    fn hours(hours: u64) -> Duration {
        Duration::from_secs(3_600 * hours)
    }

    #[test]
    fn the_classic_example() {
        let Mean { mean, counts } = average(&minutes(&[0, 25, -10]), hours(1));
        assert_eq!(mean.to_string(), "+5min");
        assert_eq!(counts, [true; 3]);
    }

    #[test]
    fn who_is_far_from_the_rest_does_not_count() {
        let Mean { mean, counts } = average(&minutes(&[0, 4, 90, -4, 8]), hours(1));
        assert_eq!(mean.to_string(), "+2min");
        assert_eq!(counts, [true, true, false, true, true]);
        let wrong_master = average(&minutes(&[0, 100, 102, 104]), hours(1));
        assert_eq!(wrong_master.mean.to_string(), "+102min");
        assert_eq!(wrong_master.counts, [false, true, true, true]);
    }

    #[test]
    fn ties_go_to_the_masters_own_then_to_the_closest_then_to_the_earliest() {
        let counted = |ahead: &[i64]| average(&minutes(ahead), hours(1)).counts;
        assert_eq!(counted(&[0, 100]), [true, false], "no two agree");
        assert_eq!(counted(&[0, -200, -201, 30]), [true, false, false, true]);
        assert_eq!(counted(&[0, 100, 140, 300, 320]), [false, false, false, true, true]);
        assert_eq!(counted(&[0, 100, 120, 300, 320]), [false, true, true, false, false]);
        assert_eq!(average(&[], hours(1)), Mean { mean: Offset::ZERO, counts: vec![] });
    }

    /// Against all sets that there are.
    #[test]
    fn no_set_within_gamma_is_larger() {
        let mut seed = 1u64;
        let mut next = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % bound
        };
        let mut dropped = 0;
        for _ in 0..2_000 {
            let n = next(7) as usize + 1;
            let ahead: Vec<i64> = (0..n).map(|_| next(30) as i64 - 15).collect();
            let gamma = next(20);
            let close = |set: &[i64]| {
                let ends = set.iter().min().zip(set.iter().max());
                ends.is_none_or(|(low, high)| high.abs_diff(*low) <= gamma)
            };
            let pick = |mask: usize| -> Vec<i64> {
                (0..n).filter(|index| mask >> index & 1 == 1).map(|index| ahead[index]).collect()
            };
            let largest = (0..1 << n).map(pick).filter(|set| close(set)).map(|set| set.len()).max();
            let offsets: Vec<Offset> = ahead.iter().copied().map(Offset::from_micros).collect();
            let Mean { mean, counts } = average(&offsets, Duration::from_micros(gamma));
            let mask = counts.iter().rev().fold(0, |mask, counts| mask << 1 | usize::from(*counts));
            let chosen = pick(mask);
            assert!(close(&chosen), "{ahead:?} {gamma}: {chosen:?}");
            assert_eq!(Some(chosen.len()), largest, "{ahead:?} {gamma}");
            assert_eq!(mean.as_micros(), chosen.iter().sum::<i64>() / chosen.len() as i64);
            dropped += n - chosen.len();
        }
        assert!(dropped > 1_000);
    }
}
