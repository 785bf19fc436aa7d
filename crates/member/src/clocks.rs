//! What a coordinator knows of the members' clocks.
//!
//! Berkeley's algorithm has the master ask every member for its clock, allow for half of the round
//! trip, cast out readings that are far off, and average the rest. Here the questions ride on the
//! heartbeats, and no clock is set: the offsets are only shown. What matters to the mandate
//! is the *rate*: a lease is safe only if no clock gains or loses more than the bound against the
//! others. So the offset is followed over time, and a clock whose rate is beyond the bound for
//! certain, measuring errors allowed for, is said to drift.
//!
//! # Rules
//! * C1 Of all answers within a window the one with the shortest round trip counts: its offset is
//!   known to half of that.
//! * C2 A rate is the change of the offset between two windows, known to the sum of their errors
//!   over the time between.
//! * C3 Offsets and rates are shown against the average of those that lie near the median.
//! * C4 A clock drifts if its rate differs from the median of at least three by more than two clocks
//!   within the bound can, whatever the errors were. It is in order again when the difference may be within it.

use crate::status::ClockStatus;
use bellwether_core::{NodeId, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long answers compete for the shortest round trip.
const WINDOW: Duration = Duration::from_secs(1);
/// Two windows must be this far apart to give a rate.
const SHORTEST_BASE: Duration = Duration::from_secs(4);
/// After this long a rate is measured from a later beginning, so that it follows changes.
const LONGEST_BASE: Duration = Duration::from_secs(120);
/// An offset this far from the median does not count for the average.
const NEAR_US: i64 = 1_000_000;

/// The members' clocks against the coordinator's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clocks {
    tracks: BTreeMap<NodeId, Track>,
    /// The coordinator's own clock drifts, as far as the others tell.
    own_drifts: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Track {
    /// The best answer of the window that is open.
    open: Option<(Time, Sample)>,
    latest: Option<Sample>,
    /// Where the rate is measured from, and where it will be next.
    base: Option<Sample>,
    next_base: Option<Sample>,
    drifts: bool,
}

/// One reading of another's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sample {
    at: Time,
    offset_us: i64,
    error_us: u64,
}

/// A rate and how wrong it may be, in parts per billion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rate {
    ppb: i64,
    error_ppb: i64,
}

/// What came of the last window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This clock is beyond the bound: its rate, in parts per billion.
    Drifts(NodeId, i64),
    /// It is in order again.
    Steady(NodeId),
}

impl Clocks {
    /// C1: a member's clock showed `clock` somewhere between `sent` and `now` on this one.
    /// Whether a window has closed, so that [`Clocks::judge`] may have something to say.
    pub fn read(&mut self, member: NodeId, sent: Time, clock: Time, now: Time) -> bool {
        let error_us = now.since(sent).as_micros() as u64 / 2 + 1;
        let middle = sent.as_micros() + error_us;
        let offset_us = clock.as_micros().wrapping_sub(middle) as i64;
        let sample = Sample { at: now, offset_us, error_us };
        self.tracks.entry(member).or_default().add(sample)
    }

    /// C4: which clocks have gone beyond the bound, or come back.
    pub fn judge(&mut self, me: NodeId, bound_ppm: u32) -> Vec<Verdict> {
        let rates: Vec<(NodeId, Rate)> = self
            .tracks
            .iter()
            .filter_map(|(member, track)| Some((*member, track.rate()?)))
            .chain([(me, Rate { ppb: 0, error_ppb: 0 })])
            .collect();
        if rates.len() < 3 {
            return Vec::new();
        }
        let middle = median(rates.iter().map(|(_, rate)| rate.ppb));
        // The true median lies between these two: on a slow link all others may seem to run off.
        let lowest = median(rates.iter().map(|(_, rate)| rate.ppb - rate.error_ppb));
        let highest = median(rates.iter().map(|(_, rate)| rate.ppb + rate.error_ppb));
        // A clock that is fast by the bound, seen by one that is slow by it.
        let bound =
            2 * i64::from(bound_ppm) * 1_000_000_000 / (1_000_000 - i64::from(bound_ppm)).max(1);
        let mut verdicts = Vec::new();
        for (member, rate) in rates {
            let drifts = match self.tracks.get_mut(&member) {
                Some(track) => &mut track.drifts,
                None => &mut self.own_drifts,
            };
            let off = rate.ppb - middle;
            let beyond = rate.ppb - rate.error_ppb > highest + bound
                || rate.ppb + rate.error_ppb < lowest - bound;
            if std::mem::replace(drifts, beyond) != beyond {
                verdicts.push(match beyond {
                    true => Verdict::Drifts(member, off),
                    false => Verdict::Steady(member),
                });
            }
        }
        verdicts
    }

    /// Whether this member's clock is known to be beyond the bound.
    pub fn drifts(&self, member: NodeId) -> bool {
        self.tracks.get(&member).is_some_and(|track| track.drifts)
    }

    /// C3: a member's clock against the average of all.
    pub fn status(&self, me: NodeId, member: NodeId) -> Option<ClockStatus> {
        let offsets: Vec<i64> = self
            .tracks
            .values()
            .filter_map(|track| Some(track.latest?.offset_us))
            .chain([0])
            .collect();
        let middle = median(offsets.iter().copied());
        let near = offsets.iter().filter(|offset| (**offset - middle).abs() <= NEAR_US);
        let average = near.clone().sum::<i64>() / near.count().max(1) as i64;
        let rates = self.tracks.values().filter_map(|track| Some(track.rate()?.ppb)).chain([0]);
        let common = median(rates);
        if member == me {
            let rate_ppb = self.tracks.values().any(|track| track.rate().is_some());
            return Some(ClockStatus {
                offset_us: -average,
                error_us: 0,
                rate_ppb: rate_ppb.then_some(-common),
                drifts: self.own_drifts,
            });
        }
        let track = self.tracks.get(&member)?;
        let latest = track.latest?;
        Some(ClockStatus {
            offset_us: latest.offset_us - average,
            error_us: latest.error_us,
            rate_ppb: track.rate().map(|rate| rate.ppb - common),
            drifts: track.drifts,
        })
    }
}

impl Track {
    fn add(&mut self, sample: Sample) -> bool {
        let Some((since, best)) = &mut self.open else {
            self.open = Some((sample.at, sample));
            return false;
        };
        if sample.error_us < best.error_us {
            *best = sample;
        }
        if sample.at.since(*since) < WINDOW {
            return false;
        }
        let best = *best;
        self.open = None;
        self.close(best);
        true
    }

    fn close(&mut self, best: Sample) {
        self.latest = Some(best);
        let base = self.base.get_or_insert(best);
        let age = best.at.since(base.at);
        if age >= LONGEST_BASE / 2 {
            self.next_base.get_or_insert(best);
        }
        if age >= LONGEST_BASE {
            self.base = self.next_base.take();
        }
    }

    /// C2.
    fn rate(&self) -> Option<Rate> {
        let (base, latest) = (self.base?, self.latest?);
        let span = latest.at.since(base.at);
        if span < SHORTEST_BASE {
            return None;
        }
        let per_second = |us: i128| (us * 1_000_000_000 / span.as_micros() as i128) as i64;
        let change = i128::from(latest.offset_us) - i128::from(base.offset_us);
        let error = i128::from(latest.error_us) + i128::from(base.error_us);
        Some(Rate { ppb: per_second(change), error_ppb: per_second(error) })
    }
}

/// The middle one; of an even number the lower of the two.
fn median(values: impl Iterator<Item = i64>) -> i64 {
    let mut sorted: Vec<i64> = values.collect();
    sorted.sort_unstable();
    sorted.get((sorted.len().max(1) - 1) / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: NodeId = NodeId::new(1);

    /// Requests wait behind others from the fifth second on, and answers do not.
    #[test]
    fn c4_a_coordinator_on_slow_links_does_not_take_its_own_clock_for_wrong() {
        let mut clocks = Clocks::default();
        let mut verdicts = Vec::new();
        for tick in 10..200_u64 {
            let sent = Time::from_micros(tick * 100_000);
            let (there, back) = (if tick < 50 { 1_000 } else { 41_000 }, 1_000);
            for member in 2..=5 {
                let clock = sent + Duration::from_micros(there);
                let now = clock + Duration::from_micros(back);
                if clocks.read(NodeId::new(member), sent, clock, now) {
                    verdicts.extend(clocks.judge(ME, 500));
                }
            }
        }
        assert_eq!(verdicts, []);
    }

    /// Reads clocks with these offsets and rates for a while, by round trips of 2 ms.
    fn watch(seconds: u64, others: &[(u32, i64, i64)]) -> (Clocks, Vec<Verdict>) {
        let mut clocks = Clocks::default();
        let mut verdicts = Vec::new();
        for tick in 0..seconds * 10 {
            let sent = Time::from_micros(86_400_000_000 + tick * 100_000);
            let now = sent + Duration::from_millis(2);
            for (number, offset_us, ppm) in others {
                let gained = (tick as i64 * 100_000) * ppm / 1_000_000;
                let shown = (sent.as_micros() + 1_000) as i64 + offset_us + gained;
                if clocks.read(NodeId::new(*number), sent, Time::from_micros(shown as u64), now) {
                    verdicts.extend(clocks.judge(ME, 500));
                }
            }
        }
        (clocks, verdicts)
    }

    #[test]
    fn c3_the_classic_example_of_three_clocks() {
        // 3:00 at the master, 3:25 and 2:50 at the others: minutes as milliseconds here. The
        // average is 3:05, so the corrections are +5, -20 and +15.
        let (clocks, _) = watch(3, &[(2, 25_000, 0), (3, -10_000, 0)]);
        let correction = |number| -clocks.status(ME, NodeId::new(number)).unwrap().offset_us;
        for (number, expected) in [(1, 5_000), (2, -20_000), (3, 15_000)] {
            let correction = correction(number);
            assert!((correction - expected).abs() <= 2, "P{number}: {correction}");
        }
    }

    #[test]
    fn c3_a_clock_far_off_is_not_averaged() {
        let (clocks, _) = watch(3, &[(2, 3_600_000_000, 0), (3, 100, 0)]);
        let own = clocks.status(ME, ME).unwrap();
        assert!(own.offset_us.abs() <= 51, "{own:?}");
    }

    #[test]
    fn c2_a_rate_is_known_after_some_seconds() {
        let (early, _) = watch(3, &[(2, 0, 100), (3, 0, 0)]);
        assert_eq!(early.status(ME, NodeId::new(2)).unwrap().rate_ppb, None);
        let (late, _) = watch(30, &[(2, 0, 100), (3, 0, 0)]);
        let rate = late.status(ME, NodeId::new(2)).unwrap().rate_ppb.unwrap();
        assert!((rate - 100_000).abs() < 1_000, "{rate}");
    }

    #[test]
    fn c4_a_clock_beyond_the_bound_is_found_and_one_within_is_not() {
        let (clocks, verdicts) = watch(30, &[(2, 0, 5_000), (3, 0, 900), (4, 0, 0)]);
        assert!(
            matches!(verdicts[..], [Verdict::Drifts(member, rate)]
                if member == NodeId::new(2) && (4_000_000..6_000_000).contains(&rate)),
            "{verdicts:?}"
        );
        assert!(clocks.drifts(NodeId::new(2)) && !clocks.drifts(NodeId::new(3)));
    }

    #[test]
    fn c4_two_clocks_at_the_two_ends_of_the_bound_are_within_it() {
        let mut clocks = Clocks::default();
        let mut verdicts = Vec::new();
        // The coordinator is slow by a tenth; the others are fast by a tenth, slow, and slow.
        let (slow, fast) = (90_000, 110_000);
        for tick in 0..300 {
            let sent = Time::from_micros(86_400_000_000 + tick * slow);
            for (number, pace) in [(2, fast), (3, slow), (4, slow)] {
                let shown = Time::from_micros(86_400_001_000 + tick * pace);
                let now = sent + Duration::from_millis(2);
                if clocks.read(NodeId::new(number), sent, shown, now) {
                    verdicts.extend(clocks.judge(ME, 100_000));
                }
            }
        }
        assert!(clocks.status(ME, NodeId::new(2)).unwrap().rate_ppb.unwrap() > 200_000_000);
        assert_eq!(verdicts, []);
    }

    #[test]
    fn c4_a_coordinator_finds_that_its_own_clock_drifts() {
        let (_, verdicts) = watch(30, &[(2, 0, 5_000), (3, 0, 5_000)]);
        assert!(
            matches!(verdicts[..], [Verdict::Drifts(ME, rate)] if rate < -4_000_000),
            "{verdicts:?}"
        );
    }

    #[test]
    fn c4_two_clocks_alone_cannot_tell_who_is_wrong() {
        let (_, verdicts) = watch(30, &[(2, 0, 50_000)]);
        assert_eq!(verdicts, []);
    }
}
