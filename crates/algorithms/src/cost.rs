//! What an algorithm claims to cost: formulas, and the runs that show whether they are true.
//!
//! A [`Cost`] is one situation for one number of processes. `compare` brings it about in the
//! simulator by the [trials](Trial) that the cost names, counts messages by kind, and judges every
//! count by a formula. Some formulas are exact, for a single run or for the mean over all runs of a
//! set; some are upper bounds; and some are means over more runs than can be tried, of which only a
//! sample can be taken. [`Expected`] says which it is, so that a sample is never passed off as a
//! proof.
//!
//! In every trial each message takes the same time, one hop, and nothing but the algorithm itself
//! moves: no process watches another.

use crate::mutex::Tree;
use serde::{Serialize, Serializer};
use std::time::Duration;

/// Kinds of messages, by their names.
pub type Kinds = &'static [&'static str];

/// A formula for the sum of some kinds: the kinds, the formula as text, and what it comes to.
pub type Part = (Kinds, &'static str, Expected);

/// How many rounds of entries are measured where all ask always.
pub const ROUNDS: u64 = 2;

/// One situation, and what it should cost.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The situation, in a few words.
    pub case: &'static str,
    /// Where in the algorithm's range of costs it lies.
    pub rank: Rank,
    /// What all messages of the algorithm together should come to, as text: `2(n-1)`.
    pub formula: &'static str,
    /// The same for this number of processes.
    pub expected: Expected,
    /// The formulas for single kinds. If there are any, no other kind may be sent.
    pub parts: Vec<Part>,
    /// What should lie between two entries into a critical section, in hops, where a process
    /// waits: as text, and what it comes to.
    pub delay: Option<(&'static str, Expected)>,
    /// What brings the situation about.
    pub trials: Vec<Trial>,
}

impl Cost {
    /// A cost of all messages together.
    pub fn new(
        case: &'static str,
        formula: &'static str,
        expected: Expected,
        trials: impl IntoIterator<Item: Into<Trial>>,
    ) -> Self {
        let trials = trials.into_iter().map(Into::into).collect();
        let (rank, parts, delay) = (Rank::Other, Vec::new(), None);
        Cost { case, rank, formula, expected, parts, delay, trials }
    }

    /// A cost that is the sum of exact counts of some kinds.
    pub fn sum(
        case: &'static str,
        formula: &'static str,
        parts: &[(Kinds, &'static str, u64)],
        trials: impl IntoIterator<Item: Into<Trial>>,
    ) -> Self {
        let total = Expected::Exact(parts.iter().map(|(.., count)| count).sum());
        let exact =
            |(kinds, text, count): &(Kinds, _, u64)| (*kinds, *text, Expected::Exact(*count));
        Cost::new(case, formula, total, trials).parts(parts.iter().map(exact))
    }

    /// The same with this place in the algorithm's range of costs.
    pub fn rank(self, rank: Rank) -> Self {
        Cost { rank, ..self }
    }

    /// The same with formulas for single kinds.
    pub fn parts(self, parts: impl IntoIterator<Item = Part>) -> Self {
        Cost { parts: parts.into_iter().collect(), ..self }
    }

    /// The same with a formula for what lies between two entries.
    pub fn delay(self, formula: &'static str, hops: Expected) -> Self {
        Cost { delay: Some((formula, hops)), ..self }
    }

    /// How many processes are dead in it.
    pub fn dead(&self) -> u32 {
        self.trials.iter().map(Trial::dead).max().unwrap_or(0)
    }
}

/// Where a case lies in its algorithm's range of costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The cheapest that its start allows.
    Best,
    /// The mean over where it starts, or how the ring is arranged.
    Average,
    /// The dearest that its start allows.
    Worst,
    /// A situation besides.
    Other,
    /// A situation with a fault that the source's formula leaves out.
    Faulty,
}

/// Something that is simulated and counted.
#[derive(Clone, Debug)]
pub enum Trial {
    /// A run: all its messages count.
    Script(Script),
    /// Entries into a critical section: each counts by itself.
    Entries(Entries),
}

impl Trial {
    fn dead(&self) -> u32 {
        match self {
            Trial::Script(script) => script.crashed.len() as u32,
            Trial::Entries(_) => 0,
        }
    }
}

impl From<Script> for Trial {
    fn from(script: Script) -> Self {
        Trial::Script(script)
    }
}

impl From<Entries> for Trial {
    fn from(entries: Entries) -> Self {
        Trial::Entries(entries)
    }
}

/// A run from beginning to end, which must reach the algorithm's goal. Where processes read their
/// clocks, all clocks are off by something; where a process is dead, rings acknowledge messages,
/// which is overhead.
#[derive(Clone, Debug)]
pub struct Script {
    /// The processes, in ring order.
    pub ring: Vec<u32>,
    /// The coordinator at the beginning.
    pub coordinator: Option<u32>,
    /// Who is dead from the beginning.
    pub crashed: Vec<u32>,
    /// What is set.
    pub options: Vec<(&'static str, String)>,
    /// What is asked for.
    pub asks: Vec<Ask>,
    /// When it ends, if it would go on for ever.
    pub until: Option<Duration>,
    /// Whether overhead counts, too.
    pub overhead: bool,
    /// A number that the referee's facts must have: the fact, its field, and the number.
    pub finds: Option<(&'static str, &'static str, u64)>,
}

/// A process is asked for something.
#[derive(Clone, Debug)]
pub struct Ask {
    /// After how many time-outs.
    pub at: u32,
    /// Which process.
    pub id: u32,
    /// The verb.
    pub verb: String,
}

impl Script {
    /// Processes 1 to n, of which n is the coordinator.
    pub fn of(n: u32) -> Self {
        Script { coordinator: Some(n), ..Script::on((1..=n).collect()) }
    }

    /// Processes in this order, and no coordinator.
    pub fn on(ring: Vec<u32>) -> Self {
        Script {
            ring,
            coordinator: None,
            crashed: Vec::new(),
            options: Vec::new(),
            asks: Vec::new(),
            until: None,
            overhead: false,
            finds: None,
        }
    }

    /// The same with something asked for at the beginning.
    pub fn ask(self, id: u32, verb: &str) -> Self {
        self.ask_at(0, id, verb)
    }

    /// The same with something asked for after this number of time-outs.
    pub fn ask_at(mut self, at: u32, id: u32, verb: &str) -> Self {
        self.asks.push(Ask { at, id, verb: verb.to_owned() });
        self
    }

    /// The same with several asked for the same thing.
    pub fn ask_all(self, ids: impl IntoIterator<Item = u32>, verb: &str) -> Self {
        ids.into_iter().fold(self, |script, id| script.ask(id, verb))
    }

    /// The same with this process dead.
    pub fn crash(mut self, id: u32) -> Self {
        self.crashed.push(id);
        self
    }

    /// The same with an option set.
    pub fn set(mut self, option: &'static str, value: impl ToString) -> Self {
        self.options.push((option, value.to_string()));
        self
    }
}

/// Entries into a critical section by processes 1 to n, of which n is the coordinator and 1 has the
/// token.
#[derive(Clone, Debug)]
pub struct Entries {
    /// How they follow each other.
    pub load: Load,
    /// Who enters before anything is counted, each alone.
    pub before: Vec<u32>,
    /// Who enters.
    pub ids: Vec<u32>,
    /// The tree, where there is one.
    pub tree: Tree,
}

/// How entries follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Each process asks when all is quiet.
    Alone,
    /// Each asks while the one before is inside; the first is not counted.
    Relay,
    /// All want to be inside all the time. [`ROUNDS`] are counted, in which each enters once.
    Always,
}

impl Entries {
    /// These processes enter in this way, on the usual tree.
    pub fn new(load: Load, ids: impl IntoIterator<Item = u32>) -> Self {
        let (before, tree) = (Vec::new(), Tree::default());
        Entries { load, before, ids: ids.into_iter().collect(), tree }
    }

    /// The same after these have entered.
    pub fn after(self, before: &[u32]) -> Self {
        Entries { before: before.to_vec(), ..self }
    }

    /// The same on this tree.
    pub fn on(self, tree: Tree) -> Self {
        Entries { tree, ..self }
    }
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
    pub fn sampled(value: f64) -> Self {
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
    pub fn judge(self, counts: &[u64]) -> (Expected, bool) {
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
    pub fn figure(&self, counts: &[u64]) -> Figure {
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
    pub fn single(count: u64) -> Self {
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
