//! What definitions are made of: what is written about an algorithm, what a user can set, and what
//! can be seen of a run.

use crate::mutex::{Refusal, Tree};
use crate::options::Options;
use bellwether_core::{Assumptions, NodeId};
use std::time::Duration;

/// What an algorithm is called, and what is written about it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// The family it belongs to.
    pub family: &'static str,
    /// Its name in a sentence.
    pub title: &'static str,
    /// Who published it, and where.
    pub source: &'static str,
    /// What it costs, in messages.
    pub cost: &'static str,
    /// What the algorithm needs to be right, as it was published. What is put around it may need
    /// more, or bear more: see
    /// [`Definition::assumes`](crate::definition::Definition::assumes).
    pub assumes: Assumptions,
    /// Which processes talk to which, for pictures.
    pub topology: Topology,
    /// The text of its file: the documentation at the head says what it is about and has its rules.
    pub docs: &'static str,
    /// The scenario that introduces it, below `scenarios/`.
    pub example: &'static str,
}

/// The family of algorithms that name none.
pub const OWN_FAMILY: &str = "own";

impl Entry {
    /// An entry with a name and nothing else to say.
    pub const fn new(name: &'static str, assumes: Assumptions) -> Self {
        Entry {
            name,
            family: OWN_FAMILY,
            title: name,
            source: "",
            cost: "",
            assumes,
            topology: Topology::Mesh,
            docs: "",
            example: "",
        }
    }

    /// Whether it is an election and nothing else.
    pub fn elects(&self) -> bool {
        matches!(self.family, "election" | "member")
    }
}

/// Which processes talk to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Every process to every other.
    Mesh,
    /// Each to its neighbours.
    Ring,
    /// Each to its parent and its children.
    Tree,
}

impl Topology {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Topology::Mesh => "mesh",
            Topology::Ring => "ring",
            Topology::Tree => "tree",
        }
    }
}

/// What a user can set, in terms that every family shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// T: an answer that takes longer will not come.
    pub timeout: Duration,
    /// The coordinator at the beginning, if there is one.
    pub coordinator: Option<NodeId>,
    /// Whether processes watch their coordinator. Without it, elections start only where a script
    /// says so, and the textbook's counts are exact.
    pub detection: bool,
    /// Whether a ring's messages are acknowledged, so that dead neighbours are found and skipped.
    pub acknowledge: bool,
    /// Whether an algorithm is run just as its paper has it, without what makes it survive
    /// crashes. Only mutual exclusion makes a difference.
    pub textbook: bool,
    /// How long a job keeps the critical section, from and to.
    pub section: (Duration, Duration),
    /// The shape of the tree, for algorithms on one.
    pub tree: Tree,
    /// What only this algorithm knows about.
    pub options: Options,
}

impl Settings {
    /// The usual settings: no coordinator, no detection, no acknowledgements.
    pub fn new(timeout: Duration) -> Self {
        Settings {
            timeout,
            coordinator: None,
            detection: false,
            acknowledge: false,
            textbook: false,
            section: (timeout, timeout),
            tree: Tree::default(),
            options: Options::default(),
        }
    }
}

/// What happens to a critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// It was asked for.
    Requested,
    /// It was entered.
    Entered,
    /// It was left.
    Left,
    /// Its token was lost and regenerated.
    Minted,
    /// What was asked for cannot be done.
    Refused(Refusal),
}

/// Something of which there is always the same amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantity {
    /// What it is, in a word.
    pub name: &'static str,
    /// Where it is while it is not on the way: `in accounts`.
    pub place: &'static str,
    /// How much of it there is.
    pub total: u64,
}

/// A name, and the text of the file that has its rules.
pub type Docs = (&'static str, &'static str);
