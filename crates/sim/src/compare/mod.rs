//! Measured costs beside the formulas that the texts give for them.
//!
//! An algorithm's definition [claims](bellwether_algorithms::cost) what its messages come to in some
//! situations, and how to bring them about. A [`Case`] is one of them for one number of processes:
//! it is simulated, its messages are counted by kind, and every count is judged by its formula. What
//! is counted is a run, such as an election, or an entry into a critical section; there the delay
//! between two entries is judged too.

mod measure;
mod plot;
mod sections;

pub use bellwether_algorithms::cost::{Expected, Figure, Rank};
pub use plot::plot;

use crate::workload::Load;
use bellwether_algorithms::catalogue::{Catalogue, Listed};
use bellwether_algorithms::cost::{self, Cost, Trial};
use bellwether_core::Group;
use measure::Run;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::collections::BTreeMap;

/// All cases of a family of this catalogue for n processes, or only those under one load.
pub fn family_cases_for(
    catalogue: &Catalogue,
    family: &str,
    n: u32,
    load: Option<Load>,
) -> Vec<Case> {
    let relatives = catalogue.iter().filter(|listed| listed.entry.family == family);
    let mut cases: Vec<Case> = relatives.flat_map(|listed| cases_for(listed, n, load)).collect();
    cases.sort_by_key(|case| (case.load.map(|load| load as u8), case.rank == Rank::Faulty));
    cases
}

/// The cases of an algorithm for processes 1 to n, or only those under one load. There are none for
/// a number of processes, or settings, that the algorithm cannot do anything with.
pub fn cases_for(algorithm: &Listed, n: u32, load: Option<Load>) -> Vec<Case> {
    let suits = Group::numbered(n).is_ok() && algorithm.nodes.is_none_or(|nodes| nodes == n);
    let costs = algorithm.claimed_costs().filter(|_| suits).map(|costs| costs(n));
    let wanted = |cost: &Cost| load.is_none() || load_of(cost) == load;
    let costs = costs.into_iter().flatten().filter(wanted);
    costs.filter_map(|cost| case(algorithm, n, cost)).collect()
}

/// The load under which a cost is paid, where it is about a critical section.
fn load_of(cost: &Cost) -> Option<Load> {
    match cost.trials.first()? {
        Trial::Script(_) => None,
        Trial::Entries(entries) => Some(match entries.load {
            cost::Load::Alone | cost::Load::Relay => Load::Light,
            cost::Load::Always => Load::Saturated,
        }),
    }
}

/// Measures a cost; nothing if the algorithm refuses what is set.
fn case(algorithm: &Listed, n: u32, cost: Cost) -> Option<Case> {
    let mut runs = Vec::new();
    for trial in &cost.trials {
        match trial {
            Trial::Script(script) => runs.push(measure::run(algorithm, script)?),
            Trial::Entries(entries) => runs.extend(sections::runs(algorithm, n, entries)),
        }
    }
    Some(judge(algorithm.name(), n, cost, &runs))
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
    /// What lies between two entries, where a process waits for the section.
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

/// A formula for what lies between the section's being left and the next entry, in hops: messages
/// that follow upon each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Delay {
    /// As text; T is the time that a message takes.
    pub formula: &'static str,
    /// The same in hops.
    pub expected: Expected,
    /// What was measured; see [`Case::measured`].
    pub measured: Figure,
    /// Whether they agree.
    pub agrees: bool,
}

/// Judges runs of n processes by what they should cost.
fn judge(algorithm: &'static str, n: u32, cost: Cost, runs: &[Run]) -> Case {
    // A claim about the total alone knows all kinds.
    let known = |kind: &str| {
        cost.parts.is_empty() || cost.parts.iter().any(|(kinds, ..)| kinds.contains(&kind))
    };
    let sound = runs.iter().all(|run| run.sound && run.by_kind.keys().all(|kind| known(kind)));
    let totals: Vec<u64> = runs.iter().map(|run| run.by_kind.values().sum()).collect();
    let (expected, mut agrees) = cost.expected.judge(&totals);
    agrees &= sound;
    let (load, live) = (load_of(&cost), n - cost.dead());
    let mut parts = Vec::new();
    for (kinds, formula, promised) in cost.parts {
        let counts: Vec<u64> =
            runs.iter().map(|run| kinds.iter().map(|kind| run.count(kind)).sum()).collect();
        let (expected, holds) = promised.judge(&counts);
        let measured = expected.figure(&counts);
        parts.push(Part { kinds, formula, expected, measured, agrees: holds });
        agrees &= holds;
    }
    let delay = cost.delay.map(|(formula, promised)| {
        // An entry without a delay is one too few, and no mean is exact then.
        let hops: Vec<u64> = runs.iter().filter_map(|run| run.delay).collect();
        let (expected, holds) = promised.judge(&hops);
        let agrees = holds && hops.len() == runs.len();
        Delay { formula, expected, measured: expected.figure(&hops), agrees }
    });
    agrees &= delay.as_ref().is_none_or(|delay| delay.agrees);
    Case {
        algorithm,
        case: cost.case,
        load,
        rank: cost.rank,
        nodes: n,
        live,
        formula: cost.formula,
        expected,
        measured: expected.figure(&totals),
        runs: runs.len() as u64,
        by_kind: by_kind(&expected, &totals, runs),
        parts,
        delay,
        sound,
        agrees,
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

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Delay", 5)?;
        fields.serialize_field("formula", self.formula)?;
        fields.serialize_field("expected_hops", &self.expected)?;
        fields.serialize_field("judged", self.expected.judged())?;
        fields.serialize_field("measured_hops", &self.measured)?;
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
