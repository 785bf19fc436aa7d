//! What the explorer's page and its server say to each other, as JSON.
//!
//! The page's own types are generated from these: a field is written down once, here. Runs carry
//! the events of a [saved trace](mod@bellwether_sim::render::json), so that a page reads a run that
//! was just simulated and one from a file alike.

use bellwether_algorithms::show::Item;
use bellwether_sim::render::json::{Event, Header};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All that can be chosen, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Catalogue {
    /// The version of the program.
    pub version: String,
    /// The families, in the order in which they are taught.
    pub families: Vec<Family>,
    /// The algorithms, by family and within it in the catalogue's order.
    pub algorithms: Vec<Algorithm>,
    /// How large a run may be.
    pub limits: Limits,
}

/// Algorithms for the same purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Family {
    /// Its name on the command line.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What they are for, in a sentence.
    pub about: String,
}

/// What there is to know about an algorithm before it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Algorithm {
    /// Its name on the command line.
    pub name: String,
    /// Its name in a sentence.
    pub title: String,
    /// The name of its family.
    pub family: String,
    /// Who published it, and where.
    pub source: String,
    /// What it costs, in messages, as a formula in words.
    pub cost: String,
    /// Which processes talk to which: `mesh`, `ring` or `tree`.
    pub topology: String,
    /// What it needs to be right, as words.
    pub assumes: Vec<String>,
    /// What it is about, in a few sentences.
    pub about: String,
    /// Its rules, in their order, and those of what stands around it.
    pub rules: Vec<Rule>,
    /// What a process can be asked for: `start`, `transfer:TO:AMOUNT`.
    pub verbs: Vec<String>,
    /// The settings that only it has.
    pub options: Vec<Setting>,
    /// How many processes it is for, where only one number makes sense.
    pub nodes: Option<u32>,
    /// Whether processes take turns in a critical section.
    pub has_section: bool,
    /// A scenario that shows what it does, to begin with.
    pub scenario: String,
}

/// A numbered rule of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Rule {
    /// Its number, as events name it: `R4`.
    pub id: String,
    /// What it says.
    pub text: String,
    /// What it belongs to, where that is not the algorithm itself: `detector`, `views`.
    pub part: Option<String>,
}

/// A setting of the `cluster` line that only one algorithm has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// What its value looks like; absent for one that is given or not.
    pub value: Option<String>,
    /// What it does.
    pub help: String,
}

/// How large a run may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Limits {
    /// Processes.
    pub nodes: u32,
    /// Events.
    pub events: u64,
    /// Bytes of a scenario.
    pub scenario_bytes: usize,
}

/// Runs that are worth looking at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Gallery {
    /// The runs, in the order in which they are shown.
    pub exhibits: Vec<Exhibit>,
}

/// A run that is worth looking at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Exhibit {
    /// Its name in links: `bully-p1-to-p4`.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// What to look for, in two sentences.
    pub look: String,
    /// The algorithm's name.
    pub algorithm: String,
    /// The name of its family.
    pub family: String,
    /// Which stamps stand at the events at first: `lamport` or `vector`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<String>,
    /// Whether it was found by the checker, and shows what is wrong without an assumption.
    pub counterexample: bool,
    /// The scenario.
    pub scenario: String,
}

/// A file that the page was opened with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Opened {
    /// Its name.
    pub name: String,
    /// What is in it: a scenario or a trace.
    pub text: String,
}

/// Asks for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The scenario.
    pub scenario: String,
    /// What is to happen in the middle of it besides, so that it goes another way from there.
    #[serde(default)]
    pub branch: Option<Branch>,
}

/// Where a run is to go another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Right after all events of this microsecond.
    pub after_us: u64,
    /// What happens then: a line of the scenario language, such as `crash 3` or `cut 1>2`, without
    /// a time. Several, separated by semicolons, happen one microsecond after the other.
    pub command: String,
}

/// Asks what could happen next at a moment of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NextRequest {
    /// The scenario.
    pub scenario: String,
    /// The moment: right after all events of this microsecond.
    pub after_us: u64,
}

/// What could happen next, whatever the network and the timers would do by themselves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Next {
    /// The messages on their way, in the order of sending, and then the timers that are set.
    pub choices: Vec<Choice>,
}

/// Something that is on its way or set, and what can be chosen for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Choice {
    /// The process to which it happens.
    pub node: u32,
    /// The process that sent the message; absent for a timer.
    pub from: Option<u32>,
    /// The message or the timer, as the algorithm shows it.
    pub text: String,
    /// The commands that choose it: branches of the run.
    pub commands: Vec<String>,
}

/// What could go wrong from a moment on, as far as a bounded search can tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Wrong {
    /// What was found, in a sentence.
    pub text: String,
    /// The branch of the run that shows it: commands, separated by semicolons. Absent if nothing
    /// was found.
    pub command: Option<String>,
    /// How many states were looked at.
    pub states: u64,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Run {
    /// The scenario that it is a run of; with a branch, that with the branch in it.
    pub scenario: String,
    /// What ran.
    pub header: Header,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What came of it.
    pub outcome: Outcome,
    /// Where it went otherwise than the scenario says, in words.
    pub remarks: Vec<String>,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Outcome {
    /// Virtual time at the end, in microseconds.
    pub us: u64,
    /// How many messages of each kind were sent.
    pub messages: Vec<Count>,
    /// Whether all agree in the end, or have what they asked for.
    pub agreed: bool,
    /// What that means for this algorithm, in a sentence.
    pub goal: String,
    /// What was broken, if anything.
    pub violation: Option<Violation>,
    /// Whom each live process takes for the coordinator in the end.
    pub coordinators: BTreeMap<u32, Option<u32>>,
    /// What there is to say besides.
    pub facts: Vec<Fact>,
    /// How far clocks were off over time, where the run is about clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClockChart>,
    /// What the referee draws of the run: deadlocks that were found, snapshots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<GraphPicture>,
    /// The situations for which the sources have a formula, with as many processes as ran.
    pub costs: Vec<Cost>,
}

/// How far clocks were off over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ClockChart {
    /// What is measured against: `real time` or `P5`.
    pub against: String,
    /// For each process, when it was looked at and how far it was ahead, both in microseconds.
    pub lines: BTreeMap<u32, Vec<[i64; 2]>>,
    /// When, and how far those that count were apart, in microseconds.
    pub spread: Vec<[i64; 2]>,
    /// From when on a clock may be off by how much at most, in microseconds, if that is known.
    pub bound: Option<[i64; 2]>,
}

/// A graph that the referee draws.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct GraphPicture {
    /// What it shows.
    pub title: String,
    /// Its nodes and edges. A node is an item without a target; its note stands below its name.
    pub items: Vec<Item>,
}

/// How many messages of a kind were sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Count {
    /// The paper's word.
    pub kind: String,
    /// `protocol`, `repeat` or `overhead`; see the messages of a trace.
    pub role: String,
    /// How many.
    pub sent: u64,
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Violation {
    /// Its name: `one-coordinator`.
    pub name: String,
    /// What should have been true.
    pub text: String,
    /// When it was broken, in microseconds.
    pub us: u64,
    /// By whom.
    pub by: Vec<u32>,
}

/// A line of a summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Fact {
    /// What it is about.
    pub name: String,
    /// What there is to say.
    pub text: String,
}

/// What the sources say that a situation costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Cost {
    /// The situation: `lowest detects`.
    pub case: String,
    /// All messages together: `n^2-n-1`.
    pub formula: String,
    /// The same in numbers, rounded.
    pub value: u64,
    /// Whether that is `exact`, `at-most` or a `mean`.
    pub judged: String,
    /// The same for single kinds.
    pub kinds: Vec<KindCost>,
}

/// What the sources say that a situation costs in messages of some kinds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct KindCost {
    /// The kinds whose sum it is.
    pub kinds: Vec<String>,
    /// The formula.
    pub formula: String,
    /// The same in numbers, rounded.
    pub value: u64,
}
