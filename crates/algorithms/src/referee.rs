//! The referee hears all that the processes of a run say, judges it, and sums it up.
//!
//! An [invariant](bellwether_core::Invariant) looks at states. Some claims are about what
//! happened, at all processes together: that all delivered the same messages in the same order,
//! that the parts of a snapshot fit together, that a reported deadlock is a real one. A [`Referee`]
//! keeps what it needs to know of the past, judges each output as it comes, and at the end has the
//! [facts](Fact) that a summary shows and the [pictures](Picture) that go with them. It hears a
//! simulated run and a real one alike.

use bellwether_core::{NodeId, Process, Time};
use serde_json::Value;
use std::any::Any;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::time::Duration;

/// Hears a run of processes `P`.
///
/// What a referee has heard decides what it will find broken, so to a program that explores all runs it is
/// part of the state of the world: a boxed one can be cloned, compared and hashed. Its author
/// derives `Clone`, `PartialEq`, `Eq` and `Hash`, and the rest is [`AsValue`].
pub trait Referee<P: Process>: AsValue<P> + Debug + Send + Sync {
    /// A process says something, `at` this moment of real time.
    fn hears(&mut self, at: Time, who: NodeId, output: &P::Output) -> Result<(), Breach>;

    /// A process has crashed.
    fn crashed(&mut self, _at: Time, _who: NodeId) {}

    /// How often it wants to look at the clocks; never, if it is not about them.
    fn looks_every(&self) -> Option<Duration> {
        None
    }

    /// What the [clocks](crate::definition::Definition::clock) of all live processes show, `at` this
    /// moment of real time. A right clock shows `right`.
    fn looks(&mut self, _at: Time, _right: Time, _clocks: &[(NodeId, Time)]) -> Result<(), Breach> {
        Ok(())
    }

    /// What must be so when nothing is left to happen, or the goal is reached. A run may go on from
    /// there.
    fn closes(&mut self, _at: Time, _live: &[NodeId]) -> Result<(), Breach> {
        Ok(())
    }

    /// The names of all that it may find broken.
    fn claims(&self) -> Vec<&'static str>;

    /// What there is to say about the run.
    fn facts(&self) -> Vec<Fact>;

    /// What there is to see of it.
    fn pictures(&self) -> Vec<Picture> {
        Vec::new()
    }
}

/// A [`Referee`] as a value, for those who do not know its type. There is nothing to write: every
/// referee that derives `Clone`, `PartialEq`, `Eq` and `Hash` is one.
///
/// These traits cannot be asked of a `dyn Referee` themselves, for they speak of the type that is
/// behind it. Here are the same without it.
pub trait AsValue<P: Process> {
    /// Another one that has heard the same.
    fn boxed(&self) -> Box<dyn Referee<P>>;

    /// Itself, for one that wants to know whether it is of its own type.
    fn as_any(&self) -> &dyn Any;

    /// Whether the other is of the same type and has heard the same, as far as it matters to them.
    fn equals(&self, other: &dyn Referee<P>) -> bool;

    /// Hashes it.
    fn hash_into(&self, hasher: &mut dyn Hasher);
}

impl<P: Process, R: Referee<P> + Clone + Eq + Hash + 'static> AsValue<P> for R {
    fn boxed(&self) -> Box<dyn Referee<P>> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Referee<P>) -> bool {
        other.as_any().downcast_ref::<R>().is_some_and(|other| self == other)
    }

    fn hash_into(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

impl<P: Process> Clone for Box<dyn Referee<P>> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl<P: Process> PartialEq for dyn Referee<P> + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl<P: Process> Eq for dyn Referee<P> + '_ {}

/// With this second way of comparing, a struct that has a boxed referee can derive `PartialEq`.
/// With one way only, the compiler would move the other's box out of it
/// (<https://github.com/rust-lang/rust/issues/31740>).
impl<P: Process> PartialEq<&Self> for Box<dyn Referee<P>> {
    fn eq(&self, other: &&Self) -> bool {
        (**self).equals(&***other)
    }
}

impl<P: Process> Hash for dyn Referee<P> + '_ {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.hash_into(hasher);
    }
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Breach {
    /// The name of what was broken.
    pub name: &'static str,
    /// What that says, in a sentence.
    pub text: &'static str,
    /// By whom.
    pub by: Vec<NodeId>,
}

/// A line of a summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What it is about, in a word: the label for people, the key for programs, and what a
    /// scenario expects.
    pub name: &'static str,
    /// For people.
    pub text: String,
    /// For programs.
    pub value: Value,
}

/// Something to draw.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// How far clocks were off over time.
    Clocks(Clocks),
    /// A graph of who waits for whom, or the like.
    Graph(Graph),
}

/// How far clocks were off over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// What it shows.
    pub title: String,
    /// For each process, when it was looked at and how far ahead it was, in microseconds.
    pub lines: Vec<(NodeId, Vec<(Time, i64)>)>,
    /// How far those that count are apart, in microseconds.
    pub spread: Vec<(Time, i64)>,
    /// How far a clock that was set may be off at most, in microseconds, if that is known: from
    /// when on, and how far.
    pub bound: Option<(Time, i64)>,
    /// What is measured against: `"real time"` or `"P5"`.
    pub against: String,
}

/// A directed graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Graph {
    /// What it shows.
    pub title: String,
    /// Its nodes.
    pub nodes: Vec<Vertex>,
    /// Its edges, between nodes by their index.
    pub edges: Vec<Arc>,
}

/// A node of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vertex {
    /// Its name.
    pub name: String,
    /// What stands below its name; may be empty.
    pub note: String,
    /// Where it belongs, for example a site; nodes of the same group are drawn together.
    pub group: String,
    /// Whether it stands out: a victim.
    pub marked: bool,
}

/// An edge of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Arc {
    /// The index of the node that it leaves.
    pub from: usize,
    /// The index of the node that it enters.
    pub to: usize,
    /// What it says; may be empty.
    pub label: String,
    /// Whether it stands out: an edge of the cycle.
    pub marked: bool,
}

#[cfg(test)]
#[path = "tests/referee.rs"]
mod tests;
