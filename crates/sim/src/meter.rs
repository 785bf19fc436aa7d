//! Measuring critical sections: who waited how long, and in which order they came in.

use bellwether_algorithms::definition::Milestone;
use bellwether_algorithms::mutex::Refusal;
use bellwether_core::{NodeId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What the critical sections of a run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sections {
    /// How often the section was asked for.
    pub requests: u64,
    /// How often it was entered.
    pub entries: u64,
    /// How many requests and entries died with their process.
    pub lost: u64,
    /// How many requests were granted while one that was made earlier was still waiting.
    pub out_of_order: u64,
    /// How often the token was lost and replaced.
    pub token_regenerations: u64,
    /// How long granted requests had waited.
    pub waits: Waits,
    /// The mean time from a release to the next entry, while a process was waiting; none if that
    /// never happened.
    pub sync_delay: Option<Duration>,
    /// The same in hops: divided by the mean time that a message takes.
    pub sync_delay_hops: Option<f64>,
}

/// Something that a process was asked for and could not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// When.
    pub at: Time,
    /// Who.
    pub node: NodeId,
    /// Why not.
    pub why: Refusal,
}

/// A summary of waiting times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Half waited no longer than this.
    pub p50: Duration,
    /// All but one in a hundred waited no longer than this.
    pub p99: Duration,
    /// No process waited longer.
    pub max: Duration,
}

/// Keeps the books of critical sections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    requests: u64,
    entries: u64,
    lost: u64,
    out_of_order: u64,
    minted: u64,
    /// Those who wait, by place, since when; and the same by time, with the number of the request
    /// where times are equal.
    waiting: BTreeMap<usize, (Time, u64)>,
    line: BTreeSet<(Time, u64)>,
    inside: BTreeSet<usize>,
    waits_us: Vec<u64>,
    /// When the section was last left, if a process waited then.
    left: Option<Time>,
    delays_us: u64,
    delays: u64,
    refusals: Vec<Refused>,
}

impl Meter {
    /// Something happened to the section at a place, where this process stands.
    pub(crate) fn note(&mut self, now: Time, place: usize, node: NodeId, what: Milestone) {
        match what {
            Milestone::Requested => {
                let request = (now, self.requests);
                self.requests += 1;
                self.waiting.insert(place, request);
                self.line.insert(request);
            }
            Milestone::Entered => {
                self.entries += 1;
                self.inside.insert(place);
                if let Some(request) = self.waiting.remove(&place) {
                    self.line.remove(&request);
                    self.waits_us.push(micros_since(now, request.0));
                    // Requests of the same moment have no order.
                    let overtaken = self.line.first().is_some_and(|first| first.0 < request.0);
                    self.out_of_order += u64::from(overtaken);
                }
                if let Some(left) = self.left.take() {
                    self.delays += 1;
                    self.delays_us += micros_since(now, left);
                }
            }
            Milestone::Left => {
                self.inside.remove(&place);
                self.left = (!self.waiting.is_empty()).then_some(now);
            }
            Milestone::Minted => self.minted += 1,
            Milestone::Refused(why) => self.refusals.push(Refused { at: now, node, why }),
        }
    }

    /// What could not be done.
    pub(crate) fn refusals(&self) -> &[Refused] {
        &self.refusals
    }

    /// The process at a place has died.
    pub(crate) fn died(&mut self, place: usize) {
        if let Some(request) = self.waiting.remove(&place) {
            self.line.remove(&request);
            self.lost += 1;
        }
        if self.inside.remove(&place) {
            self.lost += 1;
        }
        if self.waiting.is_empty() {
            self.left = None;
        }
    }

    /// What has come of it, where a message takes so long on average.
    pub(crate) fn sections(&self, hop: Option<Duration>) -> Sections {
        let sync_delay =
            (self.delays > 0).then(|| Duration::from_micros(self.delays_us) / self.delays as u32);
        let hops = |hop: Duration| {
            let mean = self.delays_us as f64 / self.delays as f64;
            mean / hop.as_micros() as f64
        };
        Sections {
            requests: self.requests,
            entries: self.entries,
            lost: self.lost,
            out_of_order: self.out_of_order,
            token_regenerations: self.minted,
            waits: Waits::of(self.waits_us.clone()),
            sync_delay,
            sync_delay_hops: hop.filter(|hop| self.delays > 0 && !hop.is_zero()).map(hops),
        }
    }
}

impl Waits {
    /// By the nearest rank, so that each is a time that a process really waited.
    fn of(mut waits_us: Vec<u64>) -> Self {
        waits_us.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (waits_us.len() * percent).div_ceil(100).max(1);
            Duration::from_micros(waits_us.get(rank - 1).copied().unwrap_or(0))
        };
        Waits { p50: percentile(50), p99: percentile(99), max: percentile(100) }
    }
}

fn micros_since(now: Time, then: Time) -> u64 {
    now.as_micros().saturating_sub(then.as_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    fn note(meter: &mut Meter, at_ms: u64, place: usize, what: Milestone) {
        meter.note(ms(at_ms), place, NodeId::new(place as u32), what);
    }

    #[test]
    fn what_was_refused_is_kept() {
        let mut meter = Meter::default();
        note(&mut meter, 4, 3, Milestone::Refused(Refusal::NotInside));
        let refused = Refused { at: ms(4), node: NodeId::new(3), why: Refusal::NotInside };
        assert_eq!(meter.refusals(), [refused]);
        assert_eq!(meter.sections(None), Sections::default());
    }

    #[test]
    fn waits_delays_and_overtaking_are_counted() {
        let mut meter = Meter::default();
        for (at, place, what) in [
            (0, 1, Milestone::Requested),
            (5, 1, Milestone::Entered),
            (6, 2, Milestone::Requested),
            (7, 3, Milestone::Requested),
            (10, 1, Milestone::Left),
            // P3 asked later than P2 and comes first.
            (30, 3, Milestone::Entered),
            (31, 3, Milestone::Left),
            (41, 2, Milestone::Entered),
            (42, 2, Milestone::Left),
        ] {
            note(&mut meter, at, place, what);
        }
        let sections = meter.sections(Some(Duration::from_millis(10)));
        assert_eq!((sections.requests, sections.entries, sections.lost), (3, 3, 0));
        assert_eq!(sections.out_of_order, 1);
        let span = Duration::from_millis;
        assert_eq!(sections.waits, Waits { p50: span(23), p99: span(35), max: span(35) });
        assert_eq!(sections.sync_delay, Some(span(15)));
        assert_eq!(sections.sync_delay_hops, Some(1.5));
    }

    #[test]
    fn the_dead_wait_no_longer() {
        let mut meter = Meter::default();
        note(&mut meter, 1, 1, Milestone::Requested);
        note(&mut meter, 2, 2, Milestone::Requested);
        meter.died(1);
        note(&mut meter, 3, 2, Milestone::Entered);
        meter.died(2);
        let sections = meter.sections(None);
        assert_eq!((sections.lost, sections.out_of_order), (2, 0));
        assert_eq!((sections.sync_delay, sections.sync_delay_hops), (None, None));
    }
}
