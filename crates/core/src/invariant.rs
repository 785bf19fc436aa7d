//! What must hold, said once and used by simulator and checker alike.

use crate::{NodeId, Process, Time};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A named predicate over the live processes.
///
/// Its [`Shape`] says which processes it relates, so that a simulator can keep it up to date by
/// looking only at the process that just moved, while a checker looks at all of them.
#[derive(Clone, Debug)]
pub struct Invariant<P: Process> {
    /// What reports call it.
    pub name: &'static str,
    /// What it says, in a sentence.
    pub text: &'static str,
    /// When it is claimed.
    pub validity: Validity,
    /// The predicate.
    pub shape: Shape<P>,
}

impl<P: Process> Invariant<P> {
    /// An invariant of this shape that always holds.
    pub fn new(name: &'static str, text: &'static str, shape: Shape<P>) -> Self {
        Invariant { name, text, validity: Validity::Always, shape }
    }

    /// Every live process satisfies it by itself.
    pub fn each(
        name: &'static str,
        text: &'static str,
        holds: impl Fn(NodeId, &P) -> bool + Send + Sync + 'static,
    ) -> Self {
        Invariant::new(name, text, Shape::Each(Arc::new(holds)))
    }

    /// No two live processes hold the same thing; `None` holds nothing.
    pub fn at_most_one(
        name: &'static str,
        text: &'static str,
        key: impl Fn(NodeId, &P) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        Invariant::new(name, text, Shape::AtMostOne(Arc::new(key)))
    }

    /// See [`Shape::AtMostOneNow`].
    pub fn at_most_one_now(
        name: &'static str,
        text: &'static str,
        key: impl Fn(NodeId, &P, Time) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        Invariant::new(name, text, Shape::AtMostOneNow(Arc::new(key)))
    }

    /// See [`Shape::Fenced`].
    pub fn fenced(
        name: &'static str,
        text: &'static str,
        key: impl Fn(NodeId, &P, Time) -> Option<u128> + Send + Sync + 'static,
    ) -> Self {
        Invariant::new(name, text, Shape::Fenced(Arc::new(key)))
    }

    /// A predicate over all live processes and all messages in flight. See [`Shape::Whole`] for
    /// what it costs.
    pub fn whole(
        name: &'static str,
        text: &'static str,
        holds: impl Fn(&Cluster<'_, P>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Invariant::new(name, text, Shape::Whole(Arc::new(holds)))
    }

    /// Claimed only until the first crashed process comes back.
    pub fn until_recovery(self) -> Self {
        Invariant { validity: Validity::UntilRecovery, ..self }
    }
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
#[derive(Clone)]
pub enum Shape<P: Process> {
    /// Every live process satisfies it by itself.
    Each(Of<P, bool>),
    /// No two live processes hold the same thing; `None` holds nothing.
    AtMostOne(Of<P, Option<u64>>),
    /// The same for what runs out by itself: no two live processes, each looking at its own clock
    /// at the same moment of real time, hold the same thing.
    AtMostOneNow(OfNow<P, Option<u64>>),
    /// Over a whole run, crashes included: a number is held by one process only, and a process that
    /// takes one takes one that is larger than all before it, unless it is the last of all and its
    /// own.
    Fenced(OfNow<P, Option<u128>>),
    /// All live processes and all messages in flight satisfy it together. A driver has to visit
    /// every process and every message after every event, so a step costs as much as the cluster is
    /// large. Use one of the other shapes where it can say the same.
    Whole(OfCluster<P>),
}

/// What a [`Shape`] asks of one process.
type Of<P, T> = Arc<dyn Fn(NodeId, &P) -> T + Send + Sync>;
/// What a [`Shape`] asks of one process at a reading of its clock.
type OfNow<P, T> = Arc<dyn Fn(NodeId, &P, Time) -> T + Send + Sync>;
/// What a [`Shape`] asks of all processes.
type OfCluster<P> = Arc<dyn Fn(&Cluster<'_, P>) -> bool + Send + Sync>;

impl<P: Process> fmt::Debug for Shape<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shape::Each(_) => "Each",
            Shape::AtMostOne(_) => "AtMostOne",
            Shape::AtMostOneNow(_) => "AtMostOneNow",
            Shape::Fenced(_) => "Fenced",
            Shape::Whole(_) => "Whole",
        })
    }
}

/// What a predicate of [`Shape::Whole`] looks at.
#[derive(Debug)]
pub struct Cluster<'a, P: Process> {
    /// The live processes, in ring order.
    pub live: &'a [(NodeId, &'a P)],
    /// The messages that were sent and have not arrived, in no particular order.
    pub in_flight: &'a [InFlight<'a, P>],
}

/// A message that was sent and has not arrived.
#[derive(Debug)]
pub struct InFlight<'a, P: Process> {
    /// Its sender.
    pub from: NodeId,
    /// Its receiver, which may be down.
    pub to: NodeId,
    /// The message.
    pub msg: &'a P::Msg,
}

/// What [`Shape::Fenced`] has to know of a run. Numbers that were let go are forgotten but for the
/// last: they are smaller than it, and that is enough to know that no process may take them again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fence {
    /// Who holds what now.
    held: BTreeMap<NodeId, u128>,
    /// The largest number of all so far, and who took it.
    last: Option<(u128, NodeId)>,
}

impl Fence {
    /// A process holds this number now, or none. Says whose right that breaks: who holds the
    /// number too, or else who took the largest.
    pub fn hold(&mut self, id: NodeId, number: Option<u128>) -> Option<NodeId> {
        let Some(number) = number else {
            self.held.remove(&id);
            return None;
        };
        if self.held.insert(id, number) == Some(number) {
            return None;
        }
        let Some((largest, owner)) = self.last.filter(|(largest, _)| *largest >= number) else {
            self.last = Some((number, id));
            return None;
        };
        let holder = self.held.iter().find(|(other, held)| **other != id && **held == number);
        let rival = holder.map_or(owner, |(other, _)| *other);
        (rival != id || number != largest).then_some(rival)
    }
}

/// What a run comes to, once faults stop: from some moment on it holds for good.
#[derive(Clone)]
pub struct Goal<P> {
    /// What reports call it.
    pub name: &'static str,
    /// What it says, in a sentence.
    pub text: &'static str,
    /// Whether it is reached only once no message of the algorithm is on the way; not where
    /// messages go round for ever.
    pub at_rest: bool,
    /// Whether it holds for these live processes.
    pub holds: Holds<P>,
}

/// Whether a goal holds for these live processes.
pub type Holds<P> = Arc<dyn Fn(&mut dyn Iterator<Item = (NodeId, &P)>) -> bool + Send + Sync>;

impl<P> Goal<P> {
    /// A goal that is reached only once no message of the algorithm is on the way.
    pub fn new(
        name: &'static str,
        text: &'static str,
        holds: impl Fn(&mut dyn Iterator<Item = (NodeId, &P)>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Goal { name, text, at_rest: true, holds: Arc::new(holds) }
    }

    /// Whether it is reached only once no message of the algorithm is on the way.
    pub fn at_rest(self, at_rest: bool) -> Self {
        Goal { at_rest, ..self }
    }
}

impl<P> fmt::Debug for Goal<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Goal({}: {})", self.name, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P1: NodeId = NodeId::new(1);
    const P2: NodeId = NodeId::new(2);

    #[test]
    fn a_number_has_one_owner_and_numbers_grow() {
        let mut fence = Fence::default();
        assert_eq!(fence.hold(P1, Some(5)), None);
        assert_eq!(fence.hold(P1, Some(5)), None, "it goes on");
        assert_eq!(fence.hold(P2, Some(6)), None);
        assert_eq!(fence.hold(P1, Some(5)), None, "who was first may stay");
        assert_eq!(fence.hold(P2, Some(5)), Some(P1), "5 is P1's");
        assert_eq!(fence.hold(P2, Some(4)), Some(P2), "4 comes after its own 6");
    }

    #[test]
    fn the_last_number_may_be_taken_again_and_no_other() {
        let mut fence = Fence::default();
        fence.hold(P1, Some(5));
        fence.hold(P1, None);
        assert_eq!(fence.hold(P2, Some(5)), Some(P1), "5 was P1's");
        fence.hold(P2, None);
        assert_eq!(fence.hold(P1, Some(5)), None);
        fence.hold(P1, None);
        fence.hold(P2, Some(6));
        assert_eq!(fence.hold(P1, Some(5)), Some(P2), "too late");
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let run = |order: [NodeId; 2]| {
            let mut fence = Fence::default();
            for (id, number) in order.into_iter().zip(1..) {
                fence.hold(id, Some(number));
                fence.hold(id, None);
            }
            fence.hold(P1, Some(3));
            fence
        };
        assert_eq!(run([P1, P2]), run([P2, P1]));
    }
}
