//! When everything happens: moments in an order, such that timers take as long as they say.
//!
//! Each wish is about the difference of two moments: so much later at least. The earliest moments
//! that fulfil all of them are longest paths (Bellman and Ford); there are none if a circle of
//! wishes would have to be later than itself. Then a wish has to go.

use super::walk::{End, Moment, Walk};
use crate::model::Timing;
use bellwether_core::{Process, micros};

/// So far apart are two moments at least, in microseconds: the first with which all wishes come
/// true.
const GAPS: [u64; 4] = [10_000, 1_000, 100, 10];
/// And so far, if they come true with none of them.
const GAP: u64 = 1_000;
/// Nothing takes longer, in microseconds: sums of all that happens must not overflow.
const LONGEST: u64 = 1 << 40;

/// One moment is so much later than another.
#[derive(Clone, Copy, Debug)]
struct Later {
    than: Moment,
    moment: Moment,
    by: i64,
}

/// When the moments of a run are, in microseconds.
#[derive(Debug)]
pub(super) struct Moments {
    /// The moments.
    pub(super) at: Vec<u64>,
    /// So far are they apart at least.
    pub(super) gap: u64,
}

/// Chooses the moments of a run: such that timers are honest, or else evenly within a second.
pub(super) fn choose<P: Process>(walk: &Walk<P>, timing: Timing, honest: bool) -> Moments {
    if !honest {
        let fits = |gap: &u64| walk.last as u64 * gap < 1_000_000;
        let gap = GAPS.into_iter().find(fits).unwrap_or(1);
        let at = (0..=walk.last as u64).map(|moment| moment * gap).collect();
        return Moments { at, gap };
    }
    let wishes = wishes(walk, timing);
    let all: Vec<Later> = wishes.iter().flatten().copied().collect();
    for gap in GAPS {
        if let Some(at) = solve(walk.last, gap, &all) {
            return Moments { at, gap };
        }
    }
    let mut kept = Vec::new();
    let mut best = solve(walk.last, GAP, &kept).unwrap_or_default();
    for wish in wishes {
        let before = kept.len();
        kept.extend(wish);
        match solve(walk.last, GAP, &kept) {
            Some(at) => best = at,
            None => kept.truncate(before),
        }
    }
    Moments { at: best, gap: GAP }
}

/// Everything that should take as long as it says: first timers, then messages.
fn wishes<P: Process>(walk: &Walk<P>, timing: Timing) -> Vec<Vec<Later>> {
    let mut wishes = Vec::new();
    for setting in &walk.settings {
        let (low, high) = (span(setting.low), span(setting.high));
        let set = setting.set;
        // What has not fired is to fire later, and later than when the run is over.
        wishes.push(match setting.end {
            End::Fires(fires) => vec![after(fires, set, low), within(fires, set, high)],
            End::Stops(stops) if stops > set => vec![within(stops, set, high - 2)],
            End::Stops(_) => continue,
            End::Waits => vec![within(walk.last, set, high - 2)],
        });
    }
    let Timing::Bounded { tick, delay: (least, most) } = timing else { return wishes };
    let tick = micros(tick);
    let least = span(tick.saturating_mul(least.into()));
    let most = match most {
        // No time at all means: little, compared to a tick.
        0 => span(tick) - 1,
        _ => span(tick.saturating_mul(most.into())),
    };
    for letter in &walk.letters {
        let arrivals = letter.arrivals.iter();
        wishes.extend(
            arrivals.map(|at| vec![after(*at, letter.sent, least), within(*at, letter.sent, most)]),
        );
    }
    wishes
}

fn span(micros: u64) -> i64 {
    micros.min(LONGEST) as i64
}

fn after(moment: Moment, than: Moment, by: i64) -> Later {
    Later { than, moment, by }
}

fn within(moment: Moment, after: Moment, span: i64) -> Later {
    Later { than: moment, moment: after, by: -span }
}

/// The earliest moments that are as wished, the first at 0; if there are any.
fn solve(last: Moment, gap: u64, wishes: &[Later]) -> Option<Vec<u64>> {
    let gap = span(gap);
    let mut at: Vec<i64> = (0..=last as i64).map(|moment| moment * gap).collect();
    // Every round settles one more moment, if it can be settled at all.
    for _ in 0..=last + 1 {
        let before = at.clone();
        for moment in 1..=last {
            at[moment] = at[moment].max(at[moment - 1] + gap);
        }
        for Later { than, moment, by } in wishes {
            at[*moment] = at[*moment].max(at[*than] + by);
        }
        if at[0] > 0 {
            return None;
        }
        if at == before {
            return Some(at.into_iter().map(|at| at.unsigned_abs()).collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_as_early_as_wishes_allow() {
        // 1 sets a timer of 100 that fires at 3; 2 sets one of 100 that does not fire before 4.
        let wishes = [after(3, 1, 100), within(3, 1, 100), within(4, 2, 99)];
        assert_eq!(solve(4, 10, &wishes), Some(vec![0, 10, 21, 110, 120]));
    }

    #[test]
    fn two_timers_of_one_length_cannot_overtake_each_other() {
        let wishes = [after(4, 1, 100), within(4, 1, 100), after(3, 2, 100), within(3, 2, 100)];
        assert_eq!(solve(4, 10, &wishes[..2]), Some(vec![0, 10, 20, 30, 110]));
        assert_eq!(solve(4, 10, &wishes), None);
    }
}
