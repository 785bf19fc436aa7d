//! Marzullo's intersection ("Maintaining the time in a distributed system", thesis, 1984).
//!
//! Every source says: the true value is in this interval. Some sources are wrong, and it is unknown
//! which. The place that most intervals have in common is the best guess. If at most w sources are
//! wrong, the true value is somewhere between the first and the last point that all but w intervals
//! contain.

use super::Offset;
use std::cmp::Reverse;
use std::time::Duration;

/// From one value to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval {
    /// The first.
    pub low: Offset,
    /// The last; never below the first.
    pub high: Offset,
}

impl Interval {
    /// All that is within `distance` of `middle`.
    pub fn around(middle: Offset, distance: Duration) -> Self {
        let distance = Offset::from(distance);
        Interval { low: middle - distance, high: middle + distance }
    }

    /// Whether a value is in it.
    pub fn contains(&self, value: Offset) -> bool {
        self.low <= value && value <= self.high
    }

    /// Its middle.
    pub fn middle(&self) -> Offset {
        let sum = i128::from(self.low.as_micros()) + i128::from(self.high.as_micros());
        Offset::wide(sum.div_euclid(2))
    }

    /// How far it reaches from a value, to its farther end.
    pub fn reach(&self, from: Offset) -> Duration {
        (self.high - from).size().max((from - self.low).size())
    }

    fn width(&self) -> i128 {
        i128::from(self.high.as_micros()) - i128::from(self.low.as_micros())
    }
}

/// What intervals have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intersection {
    /// What most of them have in common. If there are several such places, the narrowest; of those
    /// the first.
    pub best: Interval,
    /// How many that is.
    pub agree: usize,
    /// From the first to the last value that all but the wrong ones can have in common: the true
    /// value is in there.
    pub span: Interval,
}

/// How many intervals have something in common at most: so few that more must be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew(pub usize);

/// Finds what most intervals have in common, if `wrong` of them are wrong at most.
pub fn intersect(intervals: &[Interval], wrong: usize) -> Result<Intersection, TooFew> {
    let enough = intervals.len().saturating_sub(wrong).max(1);
    // Where intervals touch they have a value in common: of equal ends, beginnings come first.
    let begin = intervals.iter().map(|interval| (interval.low, Edge::Begin));
    let end = intervals.iter().map(|interval| (interval.high, Edge::End));
    let mut edges: Vec<(Offset, Edge)> = begin.chain(end).collect();
    edges.sort_unstable();
    let mut open = 0usize;
    let mut best: Option<((usize, Reverse<i128>), Interval)> = None;
    let (mut first, mut last) = (None, None);
    for (index, (value, edge)) in edges.iter().enumerate() {
        match edge {
            Edge::Begin => {
                open += 1;
                // This many are open up to the next edge.
                let until = edges.get(index + 1).map_or(*value, |(next, _)| *next);
                let common = Interval { low: *value, high: until };
                let rank = (open, Reverse(common.width()));
                if best.as_ref().is_none_or(|(known, _)| rank > *known) {
                    best = Some((rank, common));
                }
                if open >= enough {
                    first.get_or_insert(*value);
                }
            }
            Edge::End => {
                if open >= enough {
                    last = Some(*value);
                }
                open -= 1;
            }
        }
    }
    let Some(((agree, _), best)) = best else { return Err(TooFew(0)) };
    match first.zip(last) {
        Some((low, high)) if agree >= enough => {
            Ok(Intersection { best, agree, span: Interval { low, high } })
        }
        _ => Err(TooFew(agree)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Begin,
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: i64, high: i64) -> Interval {
        Interval { low: Offset::from_micros(low), high: Offset::from_micros(high) }
    }

    /// The example of NTP's documentation: 8-12, 11-13 and 14-15 agree by two on 11-12.
    #[test]
    fn the_published_examples() {
        let two = [interval(8, 12), interval(11, 13), interval(14, 15)];
        let found = intersect(&two, 1).unwrap();
        assert_eq!((found.best, found.agree), (interval(11, 12), 2));
        assert_eq!(intersect(&two, 0), Err(TooFew(2)));
        let three = [interval(8, 12), interval(11, 13), interval(10, 12)];
        let found = intersect(&three, 1).unwrap();
        assert_eq!((found.best, found.agree), (interval(11, 12), 3));
        assert_eq!(found.span, interval(10, 12));
        let narrow = [interval(8, 9), interval(8, 12), interval(10, 12)];
        assert_eq!(intersect(&narrow, 1).unwrap().best, interval(8, 9));
        assert_eq!(intersect(&narrow, 1).unwrap().span, interval(8, 12));
    }

    #[test]
    fn what_touches_has_a_value_in_common() {
        let found = intersect(&[interval(0, 5), interval(5, 9)], 0).unwrap();
        assert_eq!(found.best, interval(5, 5));
        assert_eq!(intersect(&[interval(0, 4), interval(5, 9)], 0), Err(TooFew(1)));
        assert_eq!(intersect(&[], 0), Err(TooFew(0)));
        let all = intersect(&[interval(0, 5), interval(4, 9)], 7).unwrap();
        assert_eq!(all.span, interval(0, 9), "any of them may be the only right one");
    }

    #[test]
    fn middles_and_reaches() {
        let around = Interval::around(Offset::from_micros(10), Duration::from_micros(4));
        assert_eq!(around, interval(6, 14));
        assert_eq!(interval(-3, 0).middle(), Offset::from_micros(-2));
        assert_eq!(around.reach(Offset::from_micros(7)), Duration::from_micros(7));
        assert!(around.contains(Offset::from_micros(14)));
        let far = Offset::from_micros(i64::MAX);
        Interval::around(far, Duration::MAX).middle();
    }

    /// Against all points that there are.
    #[test]
    fn all_points_agree_with_it() {
        let mut seed = 7u64;
        let mut next = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % bound
        };
        let (mut found, mut none) = (0, 0);
        for _ in 0..20_000 {
            let n = next(6) as usize + 1;
            let intervals: Vec<Interval> = (0..n)
                .map(|_| {
                    let low = next(24) as i64;
                    interval(low, low + next(9) as i64)
                })
                .collect();
            let enough = next(n as u64) as usize + 1;
            let wrong = n - enough;
            let cover = |value: i64| {
                let value = Offset::from_micros(value);
                intervals.iter().filter(|interval| interval.contains(value)).count()
            };
            let points = || -1..=34i64;
            let most = points().map(cover).max().unwrap();
            match intersect(&intervals, wrong) {
                Err(TooFew(agree)) => {
                    assert_eq!(agree, most);
                    assert!(most < enough);
                    none += 1;
                }
                Ok(Intersection { best, agree, span: hull }) => {
                    assert_eq!(agree, most, "{intervals:?}");
                    let all_covered = |low: i64, high: i64| (low..=high).all(|p| cover(p) == most);
                    let (low, high) = (best.low.as_micros(), best.high.as_micros());
                    assert!(all_covered(low, high), "{intervals:?}: {best:?}");
                    // The same sources, and as far as they reach.
                    let same =
                        intervals.iter().filter(|i| i.contains(best.low)).collect::<Vec<_>>();
                    assert_eq!(same.iter().map(|i| i.low).max(), Some(best.low));
                    assert_eq!(same.iter().map(|i| i.high).min(), Some(best.high));
                    // No other place of as many is narrower.
                    for point in points().filter(|point| cover(*point) == most) {
                        let value = Offset::from_micros(point);
                        let here = || intervals.iter().filter(|i| i.contains(value));
                        let (from, to) =
                            (here().map(|i| i.low).max(), here().map(|i| i.high).min());
                        let width = (to.unwrap() - from.unwrap()).as_micros();
                        assert!(width >= high - low, "{intervals:?}: {best:?} at {point}");
                    }
                    let inside = || points().filter(|point| cover(*point) >= enough);
                    assert_eq!(inside().min(), Some(hull.low.as_micros()));
                    assert_eq!(inside().max(), Some(hull.high.as_micros()));
                    found += 1;
                }
            }
        }
        assert!(found > 5_000 && none > 2_000, "{found} and {none}");
    }
}
