//! Who watches over clocks: the referee of the algorithms that keep them together.
//!
//! It looks at all clocks now and then, at one moment of real time, which no process can. It knows
//! nothing of messages and round trips; it hears when a process says that it has set its clock, and
//! how well, and takes it at its word:
//!
//! * `monotone`: no clock goes back, and none stands still from one look to the next. A process
//!   that comes back after a crash begins with the clock of its machine.
//! * `bound`: let a process have said that its clock is right to within b, by a measurement of age
//!   a, with l left to be slewed. From then until the next time that it says so, its clock is within
//!   b + r (a + time since then) + what is left of l. Here r is how fast clocks drift apart: twice
//!   `max-drift` from another clock, once from real time. Clocks are compared
//!   - with the server's, for Cristian;
//!   - with real time, for NTP, as long as most servers are right;
//!   - with each other, for Berkeley, if they were set in the same round: there the errors of both
//!     add up, for each was compared with the master's.

use super::keeping::{list, majority};
use super::offset::{show, show_roughly};
use super::{Offset, Output, Pace, Ppm, Question, Setting};
use crate::referee::{Breach, Clocks, Fact, Picture, Referee};
use bellwether_core::{NodeId, Process, SortedMap, SortedSet, Time, micros};
use serde_json::{Value, json};
use std::time::Duration;

/// What clocks must be close to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Against {
    /// The clock of this process.
    Server(NodeId),
    /// Real time, if most of these servers are right.
    RealTime {
        /// The servers.
        servers: Vec<NodeId>,
        /// How far off a right one may be.
        accuracy: Duration,
    },
    /// Each other.
    EachOther,
}

/// Readings are whole microseconds, and so are halves and means of them.
const ROUNDING: Duration = Duration::from_micros(5);

/// At most this many moments of a run are kept; more are thinned out.
const MOMENTS_MAX: usize = 400; // even
/// The number of them that a summary shows.
const MOMENTS_TOLD: usize = 6;

/// Watches over clocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watch {
    against: Against,
    pace: Pace,
    /// What every clock showed when it was looked at last.
    shown: SortedMap<NodeId, Time>,
    /// What every process said last about its clock.
    reports: SortedMap<NodeId, Report>,
    /// Servers that were seen to be wrong.
    wrong: SortedSet<NodeId>,
    moments: Moments,
    /// The largest error of a clock that was set and slewed, and the one at the last look.
    largest: Option<Error>,
    last: Option<Error>,
    /// Since when all clocks that are to be set are.
    settled: Option<Time>,
    counts: Counts,
}

/// What a process said about its clock, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Report {
    at: Time,
    setting: Setting,
}

/// How far a clock is off, and may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Error {
    error: Duration,
    bound: Duration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Counts {
    settings: u64,
    missed: u64,
    refused: u64,
    rounds: u64,
    outliers: SortedMap<NodeId, u64>,
    falsetickers: SortedSet<NodeId>,
    disagreements: u64,
}

/// How the clocks stood at some moments, evenly spread over the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Moments {
    kept: Vec<Moment>,
    /// The last, if it is not kept.
    last: Option<Moment>,
    /// One of this many is, as a power of two.
    thinned: u32,
    seen: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Moment {
    at: Time,
    spread: Duration,
    off: Vec<(NodeId, Offset)>,
}

impl Report {
    /// How much is not slewed yet. The clock of the machine may be slow by `drift`.
    fn left(&self, now: Time, drift: Ppm) -> Duration {
        let Setting { left, takes, .. } = self.setting;
        let elapsed = now.since(self.at);
        let to_come = micros(takes.saturating_sub(elapsed.saturating_sub(drift.of(elapsed))));
        let left = u128::from(micros(left.size())) * u128::from(to_come);
        let us = left.div_ceil(u128::from(micros(takes).max(1)));
        Duration::from_micros(u64::try_from(us).unwrap_or(u64::MAX))
    }

    fn is_slewed(&self, now: Time, drift: Ppm) -> bool {
        self.left(now, drift).is_zero()
    }

    /// How far off the clock may be, if it drifts at the rate `apart`.
    fn allowed(&self, now: Time, apart: Ppm, drift: Ppm) -> Duration {
        let age = self.setting.age.saturating_add(now.since(self.at));
        let sum = self.setting.bound.saturating_add(apart.of(age));
        sum.saturating_add(self.left(now, drift)).saturating_add(ROUNDING)
    }
}

impl Moments {
    fn push(&mut self, moment: Moment) {
        if self.seen.is_multiple_of(1 << self.thinned) {
            self.kept.push(moment);
            self.last = None;
        } else {
            self.last = Some(moment);
        }
        self.seen += 1;
        if self.kept.len() > MOMENTS_MAX {
            // An odd number, so the last one stays.
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.thinned += 1;
        }
    }

    /// Those that are kept, and the last.
    fn iter(&self) -> impl Iterator<Item = &Moment> {
        self.kept.iter().chain(&self.last)
    }

    /// A handful.
    fn told(&self) -> Vec<&Moment> {
        let all: Vec<&Moment> = self.iter().collect();
        if all.len() <= MOMENTS_TOLD {
            return all;
        }
        let step = |index: usize| index * (all.len() - 1) / (MOMENTS_TOLD - 1);
        (0..MOMENTS_TOLD).filter_map(|index| all.get(step(index)).copied()).collect()
    }
}

impl<P: Process<Output = Output>> Referee<P> for Watch {
    fn hears(&mut self, at: Time, who: NodeId, output: &Output) -> Result<(), Breach> {
        match output {
            Output::Set(setting) => {
                self.counts.settings += 1;
                self.reports.insert(who, Report { at, setting: *setting });
            }
            Output::Missed => self.counts.missed += 1,
            Output::Refused(..) => self.counts.refused += 1,
            Output::Averaged { outliers, .. } => {
                self.counts.rounds += 1;
                for outlier in outliers {
                    *self.counts.outliers.entry(*outlier).or_default() += 1;
                }
            }
            Output::Falsetickers(ids) => self.counts.falsetickers.extend(ids.iter().copied()),
            Output::NoMajority(_) => self.counts.disagreements += 1,
            Output::Election(_) => {}
        }
        Ok(())
    }

    fn crashed(&mut self, _: Time, who: NodeId) {
        self.shown.remove(&who);
        self.reports.remove(&who);
    }

    fn looks_every(&self) -> Option<Duration> {
        Some(self.pace.look())
    }

    fn looks(&mut self, at: Time, right: Time, clocks: &[(NodeId, Time)]) -> Result<(), Breach> {
        self.note(at, right, clocks);
        let judged = self.goes_on(clocks).and_then(|()| self.is_close(at, right, clocks));
        self.shown.extend(clocks.iter().copied());
        judged
    }

    fn claims(&self) -> Vec<&'static str> {
        vec!["monotone", "bound"]
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![self.spread(), self.error()];
        let count = |name, count: u64, one: &str, many: &str| Fact {
            name,
            text: match count {
                0 => "none".to_owned(),
                1 => format!("1 {one}"),
                _ => format!("{count} {many}"),
            },
            value: json!(count),
        };
        let Counts { settings, missed, refused, rounds, disagreements, .. } = self.counts;
        facts.push(count("settings", settings, "time", "times"));
        match self.against {
            Against::Server(_) => facts.push(count("missed", missed, "round", "rounds")),
            Against::RealTime { .. } => {
                facts.push(self.falsetickers());
                facts.push(count("disagreements", disagreements, "round", "rounds"));
            }
            Against::EachOther => {
                facts.push(count("rounds", rounds, "round", "rounds"));
                facts.push(self.outliers());
            }
        }
        facts.push(count("refused", refused, "answer", "answers"));
        facts
    }

    fn pictures(&self) -> Vec<Picture> {
        let mut lines: SortedMap<NodeId, Vec<(Time, i64)>> = SortedMap::new();
        for moment in self.moments.iter() {
            for (id, off) in &moment.off {
                lines.entry(*id).or_default().push((moment.at, off.as_micros()));
            }
        }
        let bound = self.last.map(|last| Offset::from(last.bound).as_micros());
        let bound = self.settled.zip(bound).filter(|_| self.against != Against::EachOther);
        let against = match self.against {
            Against::Server(server) => server.to_string(),
            Against::RealTime { .. } | Against::EachOther => "real time".to_owned(),
        };
        let title = format!("How far each clock is ahead of {against}");
        let lines = lines.into_iter().collect();
        let apart = |moment: &Moment| (moment.at, Offset::from(moment.spread).as_micros());
        let spread = self.moments.iter().map(apart).collect();
        vec![Picture::Clocks(Clocks { title, lines, spread, bound, against })]
    }
}

impl Watch {
    /// Looks at a run of this pace.
    pub fn new(against: Against, pace: Pace) -> Self {
        Watch {
            against,
            pace,
            shown: SortedMap::new(),
            reports: SortedMap::new(),
            wrong: SortedSet::new(),
            moments: Moments::default(),
            largest: None,
            last: None,
            settled: None,
            counts: Counts::default(),
        }
    }

    /// Writes down how the clocks stand.
    fn note(&mut self, at: Time, right: Time, clocks: &[(NodeId, Time)]) {
        let counts = |id: &NodeId| match &self.against {
            Against::RealTime { servers, .. } => !servers.contains(id),
            Against::Server(_) | Against::EachOther => true,
        };
        let counted = || clocks.iter().filter(|(id, _)| counts(id)).map(|(_, shown)| *shown);
        let ends = counted().min().zip(counted().max());
        let spread = ends.map_or(Duration::ZERO, |(first, last)| last.since(first));
        let reference = match self.against {
            Against::Server(server) => of(clocks, server),
            Against::RealTime { .. } | Against::EachOther => Some(right),
        };
        let off = |reference| {
            clocks.iter().map(move |(id, shown)| (*id, Offset::between(*shown, reference)))
        };
        let off = reference.map(off).into_iter().flatten().collect();
        self.moments.push(Moment { at, spread, off });
    }

    fn goes_on(&self, clocks: &[(NodeId, Time)]) -> Result<(), Breach> {
        let stuck = |(id, shown): &&(NodeId, Time)| {
            self.shown.get(id).is_some_and(|before| shown <= before)
        };
        breach(
            "monotone",
            "no clock ever goes back or stands still",
            clocks.iter().filter(stuck).map(|(id, _)| *id).collect(),
        )
    }

    fn is_close(&mut self, at: Time, right: Time, clocks: &[(NodeId, Time)]) -> Result<(), Breach> {
        let (judged, text) = match self.against.clone() {
            Against::Server(server) => {
                let Some(time) = of(clocks, server) else { return Ok(()) };
                let clients: Vec<_> = clocks.iter().filter(|(id, _)| *id != server).collect();
                (
                    self.judge(at, time, &clients, self.pace.apart()),
                    "a clock that was set is within its bound of the server's",
                )
            }
            Against::RealTime { servers, accuracy } => {
                let is_wrong =
                    |(_, shown): &&(NodeId, Time)| Offset::between(*shown, right).size() > accuracy;
                let served = |(id, _): &&(NodeId, Time)| servers.contains(id);
                let wrong = clocks.iter().filter(served).filter(is_wrong).map(|(id, _)| *id);
                self.wrong.extend(wrong);
                let right_ones = servers.len().saturating_sub(self.wrong.len());
                if right_ones < majority(servers.len() as u32) as usize {
                    return Ok(());
                }
                let clients: Vec<_> = clocks.iter().filter(|clock| !served(clock)).collect();
                (
                    self.judge(at, right, &clients, self.pace.drift),
                    "a clock that was set is within its bound of real time",
                )
            }
            Against::EachOther => (
                self.compare(at, clocks),
                "clocks that were set in the same round are within their bounds of each other",
            ),
        };
        breach("bound", text, judged)
    }

    /// Who is too far from a time.
    fn judge(
        &mut self,
        at: Time,
        time: Time,
        clocks: &[&(NodeId, Time)],
        apart: Ppm,
    ) -> Vec<NodeId> {
        let drift = self.pace.drift;
        let (mut broken, mut slewed) = (Vec::new(), 0);
        self.last = None;
        for (id, shown) in clocks {
            let Some(said) = self.reports.get(id) else { continue };
            let error = Offset::between(*shown, time).size();
            let bound = said.allowed(at, apart, drift);
            if error > bound {
                broken.push(*id);
            }
            if said.is_slewed(at, drift) {
                slewed += 1;
                let of = Error { error, bound };
                self.last = larger(self.last, of);
                self.largest = larger(self.largest, of);
            }
        }
        if !clocks.is_empty() && slewed == clocks.len() {
            self.settled.get_or_insert(at);
        }
        broken
    }

    /// Who is too far from another. Each clock is at the middle of what it allows, and two are close
    /// enough if these meet; so it is enough to look at the outermost.
    fn compare(&mut self, at: Time, clocks: &[(NodeId, Time)]) -> Vec<NodeId> {
        let (apart, drift) = (self.pace.apart(), self.pace.drift);
        let mut rounds: SortedMap<(Option<NodeId>, Option<Question>), Vec<Placed>> =
            SortedMap::new();
        for (id, shown) in clocks {
            let Some(said) = self.reports.get(id) else { continue };
            let placed = Placed {
                id: *id,
                shown: *shown,
                allowed: said.allowed(at, apart, drift),
                slewed: said.is_slewed(at, drift),
            };
            rounds.entry((said.setting.of, said.setting.round)).or_default().push(placed);
        }
        let mut broken = Vec::new();
        self.last = None;
        for placed in rounds.values() {
            let low = placed.iter().max_by_key(|clock| clock.from());
            let high = placed.iter().min_by_key(|clock| clock.to());
            if let Some((low, high)) = low.zip(high)
                && low.from() > high.to()
            {
                broken.extend([low.id, high.id]);
            }
            let slewed = || placed.iter().filter(|clock| clock.slewed);
            let first = slewed().min_by_key(|clock| clock.shown);
            let last = slewed().max_by_key(|clock| clock.shown);
            if let Some((first, last)) = first.zip(last)
                && first.id != last.id
            {
                let error = last.shown.since(first.shown);
                let of = Error { error, bound: first.allowed.saturating_add(last.allowed) };
                self.last = larger(self.last, of);
                self.largest = larger(self.largest, of);
            }
        }
        broken
    }

    fn spread(&self) -> Fact {
        let tell =
            |moment: &&Moment| format!("{} at {}", show_roughly(moment.spread), seconds(moment.at));
        let told: Vec<String> = self.moments.told().iter().map(tell).collect();
        let point = |moment: &Moment| json!({ "at_ms": ms(moment.at - Time::ZERO), "spread_ms": ms(moment.spread) });
        let value = Value::Array(self.moments.iter().map(point).collect());
        Fact { name: "spread", text: told.join(", "), value }
    }

    fn error(&self) -> Fact {
        let tell = |error: &Error| {
            format!("{} where {} is allowed", show_roughly(error.error), show_roughly(error.bound))
        };
        let text = match (&self.largest, &self.last) {
            (None, _) => "no clock is set yet".to_owned(),
            (Some(largest), None) => format!("{} at most", tell(largest)),
            (Some(largest), Some(last)) => {
                format!("{} at most, {} at the end", tell(largest), tell(last))
            }
        };
        let value = |error: Option<Error>| match error {
            None => Value::Null,
            Some(Error { error, bound }) => {
                json!({ "error_ms": ms(error), "bound_ms": ms(bound) })
            }
        };
        let value = json!({ "largest": value(self.largest), "last": value(self.last) });
        Fact { name: "error", text, value }
    }

    fn outliers(&self) -> Fact {
        let tell = |(id, count): (&NodeId, &u64)| match count {
            1 => format!("{id} once"),
            _ => format!("{id} {count} times"),
        };
        let told: Vec<String> = self.counts.outliers.iter().map(tell).collect();
        let entry = |(id, count): (&NodeId, &u64)| (id.number().to_string(), json!(count));
        let value = Value::Object(self.counts.outliers.iter().map(entry).collect());
        Fact { name: "outliers", text: or_none(told.join(", ")), value }
    }

    fn falsetickers(&self) -> Fact {
        let ids: Vec<NodeId> = self.counts.falsetickers.iter().copied().collect();
        let value = ids.iter().map(|id| id.number()).collect();
        Fact { name: "falsetickers", text: or_none(list(&ids)), value }
    }
}

/// A clock among those of a round.
struct Placed {
    id: NodeId,
    shown: Time,
    allowed: Duration,
    slewed: bool,
}

impl Placed {
    fn from(&self) -> i128 {
        i128::from(self.shown.as_micros()) - i128::from(micros(self.allowed))
    }

    fn to(&self) -> i128 {
        i128::from(self.shown.as_micros()) + i128::from(micros(self.allowed))
    }
}

fn breach(name: &'static str, text: &'static str, by: Vec<NodeId>) -> Result<(), Breach> {
    if by.is_empty() { Ok(()) } else { Err(Breach { name, text, by }) }
}

fn of(clocks: &[(NodeId, Time)], whose: NodeId) -> Option<Time> {
    clocks.iter().find(|(id, _)| *id == whose).map(|(_, shown)| *shown)
}

fn larger(before: Option<Error>, now: Error) -> Option<Error> {
    Some(before.filter(|before| before.error >= now.error).unwrap_or(now))
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".to_owned() } else { text }
}

fn ms(span: Duration) -> f64 {
    micros(span) as f64 / 1_000.0
}

/// `0s`, `12.5s`.
fn seconds(at: Time) -> String {
    match micros(at - Time::ZERO) {
        us if us.is_multiple_of(1_000_000) => format!("{}s", us / 1_000_000),
        us => show(Duration::from_micros(us)),
    }
}

#[cfg(test)]
#[path = "tests/watch.rs"]
mod tests;
