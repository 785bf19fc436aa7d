//! The commands of a scenario.

use crate::fault::{CutKind, Steer};
use crate::network::{Latency, Network};
use crate::plan::default_timeout;
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::mutex::Tree;
use bellwether_algorithms::options::Options;
use bellwether_core::{Group, NodeId, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// One line of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Something happens to the cluster: at once, or at its time while it runs.
    Do(Deed, Option<Time>),
    /// Time passes.
    Run(Span),
    /// Something must be true now.
    Expect(Expectation),
}

/// How long a cluster runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Until it is over: nothing is left to happen or, with detection, all agree.
    Over,
    /// For exactly this long.
    For(Duration),
    /// Until it is over, but no longer than to this time.
    Until(Time),
}

/// Which processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// All that are up.
    All,
    /// Those that are named.
    These(Vec<NodeId>),
}

/// Which cuts are mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// All that there are.
    All,
    /// The one of this number, counted from 1.
    Number(u32),
    /// Those that sever just these links.
    Same(CutKind),
}

/// What can be done to a cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// Processes stop.
    Crash(Vec<NodeId>),
    /// A process stops in the middle of sending.
    CrashSending(NodeId, String, u32),
    /// Processes come back.
    Recover(Vec<NodeId>),
    /// Processes stand still.
    Pause(Vec<NodeId>),
    /// Processes go on.
    Resume(Vec<NodeId>),
    /// A process takes this long for every event.
    Slow(NodeId, Duration),
    /// Links are cut.
    Cut(CutKind),
    /// No message is lost or doubled any more.
    Calm,
    /// Cuts are mended.
    Heal(Mend),
    /// A process's clock is off, in microseconds and parts per million.
    Clock(NodeId, i64, i64),
    /// What happens next is chosen: a message arrives, is lost or repeated, or a timer fires.
    Steer(Steer),
    /// Processes are given an input of the algorithm's vocabulary.
    Input(String, Who),
}

/// What a scenario claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// These processes follow this coordinator, or none.
    Coordinator(Who, Option<NodeId>),
    /// This many messages of these kinds were sent, and none of any other kind of the algorithm.
    Messages(BTreeMap<String, u64>),
    /// This many messages of these kinds were sent to find out which processes are alive.
    Overhead(BTreeMap<String, u64>),
    /// A process knows exactly these to be alive.
    Members(NodeId, Vec<NodeId>),
    /// The algorithm's goal holds, or it does not: all live processes follow the largest of them,
    /// or have all that they asked for.
    Agreement(bool),
    /// This invariant was broken, or none.
    Violation(Option<String>),
    /// Exactly these live processes are in the critical section.
    Inside(Vec<NodeId>),
    /// Exactly these live processes have asked for the section and wait.
    Waiting(Vec<NodeId>),
    /// The section was entered so often.
    Entries(u64),
    /// How often the token was lost and replaced.
    Regenerations(u64),
    /// This many requests and releases were refused.
    Refusals(u64),
    /// The summary says this about that.
    Fact(String, String),
}

/// What the `cluster` line and its companions say.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The algorithm.
    pub algorithm: Listed,
    /// Who takes part, in ring order.
    pub group: Group,
    /// The network.
    pub network: Network,
    /// T, if it is not the usual one.
    pub timeout: Option<Duration>,
    /// Who coordinates at the beginning.
    pub coordinator: Option<NodeId>,
    /// Whether processes watch their coordinator by themselves.
    pub detection: bool,
    /// Whether rings acknowledge.
    pub acknowledge: bool,
    /// Whether an algorithm is run just as its paper has it.
    pub textbook: bool,
    /// How long a job keeps the critical section, from and to; T if nothing is said.
    pub section: Option<(Duration, Duration)>,
    /// The shape of the tree, for algorithms on one.
    pub tree: Tree,
    /// What only this algorithm knows about.
    pub options: Options,
    /// Whether the run goes on after an invariant is broken.
    pub keeps_going: bool,
    /// The seed.
    pub seed: u64,
    /// Whether the story shows acknowledgements and the detector's messages.
    pub overhead: bool,
}

impl Setup {
    /// The usual setup of a group: its largest member coordinates, messages take 10 ms, no process
    /// detects anything by itself.
    pub fn new(algorithm: Listed, group: Group) -> Self {
        Setup {
            algorithm,
            network: Network::new(Latency::Fixed(Duration::from_millis(10))),
            timeout: None,
            coordinator: Some(group.highest()),
            detection: false,
            acknowledge: true,
            textbook: false,
            section: None,
            tree: Tree::default(),
            options: Options::default(),
            keeps_going: false,
            seed: 0,
            overhead: false,
            group,
        }
    }

    /// In the algorithm's terms.
    pub fn settings(&self) -> Settings {
        let timeout = self.timeout.unwrap_or_else(|| default_timeout(&self.network));
        Settings {
            timeout,
            coordinator: self.coordinator,
            detection: self.detection,
            acknowledge: self.acknowledge,
            textbook: self.textbook,
            section: self.section.unwrap_or((timeout, timeout)),
            tree: self.tree,
            options: self.options.clone(),
        }
    }
}
