//! Measured costs beside the formulas that the texts give for them.
//!
//! A [`Case`] is one situation of one algorithm for one number of processes: it is simulated, its
//! messages are counted by kind, and every count is judged against a formula. What is counted is an
//! election, or an entry into a critical section; there the delay between two entries is judged
//! too. Some formulas are
//! exact, for a single run or for the mean over all runs of a set; some are upper bounds; and some
//! are means over more runs than can be tried, where only a sample can be taken. [`Expected`] says
//! which it is, so that a sample is never passed off as a proof.

mod agreement;
mod claimed;
mod deadlock;
mod delay;
mod election;
mod measure;
mod mutex;
mod order;
mod plot;
mod sections;
mod snapshot;
mod time;

pub use agreement::agreement_cases_for;
pub use claimed::claimed_cases_for;
pub use deadlock::deadlock_cases_for;
pub use delay::Delay;
pub use election::{cases_for, election};
pub use mutex::{mutex, mutex_cases_for};
pub use order::order_cases_for;
pub use plot::plot;
pub use snapshot::snapshot_cases_for;
pub use time::time_cases_for;

use crate::workload::Load;
use bellwether_algorithms::catalogue::{Catalogue, Listed, catalogue};
use measure::Run;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The algorithms that the formulas here are for.
fn known() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(catalogue);
    &CATALOGUE
}

/// One of them.
fn listed(name: &str) -> &'static Listed {
    known().get(name).unwrap_or_else(|| unreachable!("the catalogue has {name}"))
}

/// The family of an algorithm, if it is one of them.
fn family_of(name: &str) -> Option<&'static str> {
    known().get(name).map(|listed| listed.entry.family)
}

/// All cases of a family of this catalogue for n processes, or only those under one load.
pub fn family_cases_for(
    catalogue: &Catalogue,
    family: &str,
    n: u32,
    load: Option<Load>,
) -> Vec<Case> {
    let mut cases = match family {
        "election" => cases_for(n),
        "mutex" => mutex_cases_for(n, load),
        "time" => time_cases_for(n),
        "order" => order_cases_for(n),
        "snapshot" => snapshot_cases_for(n),
        "deadlock" => deadlock_cases_for(n),
        "agreement" => agreement_cases_for(n),
        _ => Vec::new(),
    };
    let relatives = catalogue.iter().filter(|listed| listed.entry.family == family);
    cases.extend(relatives.flat_map(|listed| claimed_cases_for(listed, n)));
    cases
}

/// One situation, what it should cost and what it did cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The algorithm's name on the command line.
    pub algorithm: &'static str,
    /// The situation.
    pub case: &'static str,
    /// How many want the critical section, where there is one.
    pub load: Option<Load>,
    /// Where in the algorithm's range of costs it lies.
    pub rank: Rank,
    /// n: how many processes are configured.
    pub nodes: u32,
    /// k: how many of them live.
    pub live: u32,
    /// What all messages of the algorithm together should come to, as text.
    pub formula: &'static str,
    /// The same for these n and k.
    pub expected: Expected,
    /// What they came to: the mean of the runs, or the worst of them where a bound is judged.
    pub measured: Figure,
    /// The same by kind.
    pub by_kind: BTreeMap<&'static str, Figure>,
    /// How many elections were held for it, or how many entries were counted.
    pub runs: u64,
    /// The formulas for single kinds.
    pub parts: Vec<Part>,
    /// What lies between two entries, where somebody waits for the section.
    pub delay: Option<Delay>,
    /// Whether every run went as it should: it came to rest, everybody follows the largest live
    /// process or every request was granted, and no kind of message was sent that the formulas do
    /// not know.
    pub sound: bool,
    /// Whether the runs were sound and all formulas hold.
    pub agrees: bool,
}

/// A formula for some of the kinds.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The kinds whose sum it is for.
    pub kinds: &'static [&'static str],
    /// The formula as text.
    pub formula: &'static str,
    /// The same in numbers.
    pub expected: Expected,
    /// What was measured; see [`Case::measured`].
    pub measured: Figure,
    /// Whether they agree.
    pub agrees: bool,
}

/// Where a case lies in its algorithm's range of costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The cheapest that its start allows.
    Best,
    /// The mean over where the election starts, or how the ring is arranged.
    Average,
    /// The dearest that its start allows.
    Worst,
    /// A situation besides.
    Other,
}

/// What a formula promises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// Exactly this in every run.
    Exact(u64),
    /// Exactly `sum` over all `runs` of an enumerated set, so that the mean is exact as well.
    ExactMean {
        /// Over all runs.
        sum: u64,
        /// How many runs there are.
        runs: u64,
    },
    /// No run costs more.
    AtMost(u64),
    /// A mean over a set that is too large to enumerate. It is compared with a sample, and agrees
    /// if the sample's mean lies within `tolerance`: five times its standard error, as estimated
    /// from the sample. Chance alone exceeds that less than once in a million samples.
    Mean {
        /// The mean.
        value: f64,
        /// How far a sample's mean may lie from it.
        tolerance: f64,
    },
}

/// How many standard errors a sample's mean may be off.
const STANDARD_ERRORS: f64 = 5.0;

impl Expected {
    /// A mean to be compared with a sample; the tolerance is known when the sample is.
    fn sampled(value: f64) -> Self {
        Expected::Mean { value, tolerance: 0.0 }
    }

    /// The number that it says.
    pub fn value(&self) -> f64 {
        match *self {
            Expected::Exact(count) | Expected::AtMost(count) => count as f64,
            Expected::ExactMean { sum, runs } => Figure { sum, runs }.value(),
            Expected::Mean { value, .. } => value,
        }
    }

    /// How it is judged, in a word: `exact`, `at-most` or `sampled`.
    pub fn judged(&self) -> &'static str {
        match self {
            Expected::Exact(_) | Expected::ExactMean { .. } => "exact",
            Expected::AtMost(_) => "at-most",
            Expected::Mean { .. } => "sampled",
        }
    }

    /// Whether it is judged by a sample only, so that disagreement proves nothing.
    pub fn is_sampled(&self) -> bool {
        matches!(self, Expected::Mean { .. })
    }

    /// Judges counts, one per run, and fills in what depends on them.
    fn judge(self, counts: &[u64]) -> (Expected, bool) {
        let sum = counts.iter().sum::<u64>();
        let runs = counts.len() as u64;
        let agrees = match self {
            _ if counts.is_empty() => false,
            Expected::Exact(count) => counts.iter().all(|measured| *measured == count),
            Expected::ExactMean { sum: expected, runs: of } => (sum, runs) == (expected, of),
            Expected::AtMost(bound) => counts.iter().all(|measured| *measured <= bound),
            Expected::Mean { value, .. } => {
                let tolerance = STANDARD_ERRORS * standard_error(counts);
                let mean = Figure { sum, runs }.value();
                // An exact hit may have no spread at all; rounding is not a deviation.
                let agrees = (mean - value).abs() <= tolerance + 1e-9 * value;
                return (Expected::Mean { value, tolerance }, agrees);
            }
        };
        (self, agrees)
    }

    /// What to show for counts that were judged by it.
    fn figure(&self, counts: &[u64]) -> Figure {
        match self {
            Expected::AtMost(_) => Figure::single(counts.iter().copied().max().unwrap_or(0)),
            _ => Figure { sum: counts.iter().sum(), runs: counts.len() as u64 },
        }
    }
}

/// The standard error of the mean, estimated from the sample.
fn standard_error(counts: &[u64]) -> f64 {
    let size = counts.len() as f64;
    let mean = counts.iter().sum::<u64>() as f64 / size;
    let squares: f64 = counts.iter().map(|count| *count as f64 - mean).map(|off| off * off).sum();
    if counts.len() < 2 { 0.0 } else { (squares / (size - 1.0) / size).sqrt() }
}

/// A count, or the mean of several: `sum / runs`, kept as a fraction because equality is meant
/// literally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Over all runs.
    pub sum: u64,
    /// How many runs.
    pub runs: u64,
}

impl Figure {
    /// The count of one run.
    fn single(count: u64) -> Self {
        Figure { sum: count, runs: 1 }
    }

    /// The mean.
    pub fn value(&self) -> f64 {
        self.sum as f64 / self.runs.max(1) as f64
    }

    /// The mean, if it is a whole number.
    pub fn whole(&self) -> Option<u64> {
        (self.runs > 0 && self.sum.is_multiple_of(self.runs)).then(|| self.sum / self.runs)
    }
}

/// What a case claims, before it is measured.
struct Claim {
    case: &'static str,
    rank: Rank,
    nodes: u32,
    live: u32,
    formula: &'static str,
    expected: Expected,
    parts: Vec<(&'static [&'static str], &'static str, Expected)>,
}

impl Claim {
    /// Judges runs by it.
    fn judge(self, algorithm: &'static str, runs: &[Run]) -> Case {
        // A claim about the total alone knows all kinds.
        let known = |kind: &str| {
            self.parts.is_empty() || self.parts.iter().any(|(kinds, ..)| kinds.contains(&kind))
        };
        let sound = runs.iter().all(|run| run.sound && run.by_kind.keys().all(|kind| known(kind)));
        let totals: Vec<u64> = runs.iter().map(|run| run.by_kind.values().sum()).collect();
        let (expected, mut agrees) = self.expected.judge(&totals);
        agrees &= sound;
        let mut parts = Vec::new();
        for (kinds, formula, promised) in self.parts {
            let counts: Vec<u64> =
                runs.iter().map(|run| kinds.iter().map(|kind| run.count(kind)).sum()).collect();
            let (expected, holds) = promised.judge(&counts);
            let measured = expected.figure(&counts);
            parts.push(Part { kinds, formula, expected, measured, agrees: holds });
            agrees &= holds;
        }
        Case {
            algorithm,
            case: self.case,
            load: None,
            rank: self.rank,
            nodes: self.nodes,
            live: self.live,
            formula: self.formula,
            expected,
            measured: expected.figure(&totals),
            runs: runs.len() as u64,
            by_kind: by_kind(&expected, &totals, runs),
            parts,
            delay: None,
            sound,
            agrees,
        }
    }
}

/// The kinds of the runs that the total is shown for: of all, or of the worst.
fn by_kind(expected: &Expected, totals: &[u64], runs: &[Run]) -> BTreeMap<&'static str, Figure> {
    let worst = totals.iter().zip(runs).max_by_key(|(total, _)| **total).map(|(_, run)| run);
    let shown: Vec<&Run> = match expected {
        Expected::AtMost(_) => worst.into_iter().collect(),
        _ => runs.iter().collect(),
    };
    let mut figures = BTreeMap::new();
    for (kind, count) in shown.iter().flat_map(|run| &run.by_kind) {
        let figure = figures.entry(*kind).or_insert(Figure { sum: 0, runs: shown.len() as u64 });
        figure.sum += count;
    }
    figures
}

impl Case {
    /// Whether something that is claimed for every run failed: an exact formula, a bound, or the
    /// algorithm itself. A sampled mean that is off does not count.
    pub fn contradicts(&self) -> bool {
        let delay = self.delay.iter().map(|delay| (delay.agrees, &delay.expected));
        let claims =
            || self.parts.iter().map(|part| (part.agrees, &part.expected)).chain(delay.clone());
        let parts = claims().any(|(agrees, expected)| !agrees && !expected.is_sampled());
        // The total can only disagree by itself if no part is to blame.
        let total = !self.agrees && claims().all(|(agrees, _)| agrees);
        !self.sound || parts || total && !self.expected.is_sampled()
    }

    /// By how many per cent the measured figure lies above what was expected.
    pub fn deviation_percent(&self) -> f64 {
        let (measured, expected) = (self.measured.value(), self.expected.value());
        if measured == expected { 0.0 } else { (measured / expected - 1.0) * 100.0 }
    }
}

/// A whole number where it is one, else a decimal.
impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.whole() {
            Some(count) => serializer.serialize_u64(count),
            None => serializer.serialize_f64(self.value()),
        }
    }
}

/// Only the number; [`Expected::judged`] stands beside it.
impl Serialize for Expected {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Expected::Exact(count) | Expected::AtMost(count) => serializer.serialize_u64(count),
            Expected::ExactMean { sum, runs } => Figure { sum, runs }.serialize(serializer),
            Expected::Mean { value, .. } => serializer.serialize_f64(value),
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Part", 6)?;
        fields.serialize_field("kinds", self.kinds)?;
        fields.serialize_field("formula", self.formula)?;
        fields.serialize_field("expected", &self.expected)?;
        fields.serialize_field("judged", self.expected.judged())?;
        fields.serialize_field("measured", &self.measured)?;
        fields.serialize_field("agrees", &self.agrees)?;
        fields.end()
    }
}

impl Serialize for Case {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tolerance = match self.expected {
            Expected::Mean { tolerance, .. } => Some(tolerance),
            _ => None,
        };
        // Only a case with a load is about a critical section.
        let more = if self.load.is_some() { 2 } else { 0 };
        let mut fields = serializer.serialize_struct("Case", 14 + more)?;
        fields.serialize_field("algorithm", self.algorithm)?;
        fields.serialize_field("case", self.case)?;
        if let Some(load) = &self.load {
            fields.serialize_field("load", &load.to_string())?;
        }
        fields.serialize_field("nodes", &self.nodes)?;
        fields.serialize_field("live", &self.live)?;
        fields.serialize_field("formula", self.formula)?;
        fields.serialize_field("expected", &self.expected)?;
        fields.serialize_field("judged", self.expected.judged())?;
        fields.serialize_field("tolerance", &tolerance)?;
        fields.serialize_field("measured", &self.measured)?;
        fields.serialize_field("runs", &self.runs)?;
        fields.serialize_field("by_kind", &self.by_kind)?;
        fields.serialize_field("parts", &self.parts)?;
        if self.load.is_some() {
            fields.serialize_field("delay", &self.delay)?;
        }
        fields.serialize_field("sound", &self.sound)?;
        fields.serialize_field("agrees", &self.agrees)?;
        fields.end()
    }
}

#[cfg(test)]
mod tests;
