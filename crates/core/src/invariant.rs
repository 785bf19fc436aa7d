//! What must hold, said once and used by simulator and checker alike.

use crate::{NodeId, Time};

/// A named predicate over the live processes.
///
/// Its [`Shape`] says which processes it relates, so that a simulator can keep it up to date by
/// looking only at the process that just moved, while a checker looks at all of them.
#[derive(Clone, Debug)]
pub struct Invariant<P> {
    /// What reports call it.
    pub name: &'static str,
    /// What it says, in a sentence.
    pub text: &'static str,
    /// When it is claimed.
    pub validity: Validity,
    /// The predicate.
    pub shape: Shape<P>,
}

/// In which runs an invariant is claimed to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// In every run within the algorithm's assumptions.
    Always,
    /// Only until the first crashed process comes back. The bully of the textbook takes over from
    /// a working coordinator, and for the time of one message there are two.
    UntilRecovery,
}

/// Which processes a predicate relates.
#[derive(Clone, Copy, Debug)]
pub enum Shape<P> {
    /// Every live process satisfies it by itself.
    Each(fn(NodeId, &P) -> bool),
    /// No two live processes hold the same thing; `None` holds nothing.
    AtMostOne(fn(NodeId, &P) -> Option<u64>),
    /// The same for what runs out by itself: no two live processes, each looking at its own clock
    /// at the same moment of real time, hold the same thing.
    AtMostOneNow(fn(NodeId, &P, Time) -> Option<u64>),
    /// Over a whole run, crashes included: a number is held by one process only, and a number that
    /// is held for the first time is larger than all before it.
    Fenced(fn(NodeId, &P, Time) -> Option<u128>),
}

/// What a run comes to, once faults stop: from some moment on it holds for good.
#[derive(Clone, Debug)]
pub struct Goal<P> {
    /// What reports call it.
    pub name: &'static str,
    /// What it says, in a sentence.
    pub text: &'static str,
    /// Whether it is reached only once no message of the algorithm is on the way: not so where
    /// messages go round for ever.
    pub at_rest: bool,
    /// Whether it holds for these live processes.
    pub holds: fn(&mut dyn Iterator<Item = (NodeId, &P)>) -> bool,
}
