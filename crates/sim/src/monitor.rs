//! Checking invariants as a run goes, at the cost of one look at the process that moved.

use bellwether_core::{Invariant, NodeId, Shape, Time, Validity};
use std::collections::BTreeMap;
use std::fmt;

/// An invariant that did not hold, or a goal that was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub name: &'static str,
    /// What it says.
    pub text: &'static str,
    /// When it was broken.
    pub at: Time,
    /// By whom.
    pub by: Vec<NodeId>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by: Vec<String> = self.by.iter().map(NodeId::to_string).collect();
        write!(f, "{} at {}: {}", self.name, self.at, self.text)?;
        if by.is_empty() { Ok(()) } else { write!(f, " (here: {})", by.join(", ")) }
    }
}

/// Keeps every invariant up to date.
#[derive(Clone, Debug)]
pub(crate) struct Monitor<P> {
    rules: Vec<Watch<P>>,
    /// Whether a crashed process has come back.
    recovered: bool,
}

#[derive(Clone, Debug)]
struct Watch<P> {
    invariant: Invariant<P>,
    /// For [`Shape::AtMostOne`]: what the process that is about to move holds.
    before: Option<u64>,
    /// For [`Shape::AtMostOne`]: who holds what.
    holders: BTreeMap<u64, Vec<NodeId>>,
}

impl<P> Monitor<P> {
    pub(crate) fn new(invariants: Vec<Invariant<P>>) -> Self {
        let watch = |invariant| Watch { invariant, before: None, holders: BTreeMap::new() };
        Monitor { rules: invariants.into_iter().map(watch).collect(), recovered: false }
    }

    /// A live process is about to move.
    #[inline]
    pub(crate) fn before(&mut self, id: NodeId, process: &P) {
        for watch in &mut self.rules {
            if let Shape::AtMostOne(key) = watch.invariant.shape {
                watch.before = key(id, process);
            }
        }
    }

    /// A process comes to life; it is about to move for the first time.
    pub(crate) fn born(&mut self, recovered: bool) {
        self.recovered |= recovered;
        for watch in &mut self.rules {
            watch.before = None;
        }
    }

    /// It has moved.
    #[inline]
    pub(crate) fn after(&mut self, at: Time, id: NodeId, process: &P) -> Option<Violation> {
        let unchanged = self.rules.iter().all(|watch| match watch.invariant.shape {
            Shape::Each(holds) => holds(id, process),
            Shape::AtMostOne(key) => key(id, process) == watch.before,
        });
        if unchanged { None } else { self.update(at, id, process) }
    }

    /// Does the books after a move that matters, and says what it broke.
    #[cold]
    fn update(&mut self, at: Time, id: NodeId, process: &P) -> Option<Violation> {
        let mut broken = None;
        for watch in &mut self.rules {
            let culprits = match watch.invariant.shape {
                Shape::Each(holds) => (!holds(id, process)).then(|| vec![id]),
                Shape::AtMostOne(key) => {
                    let now = key(id, process);
                    if now == watch.before { None } else { watch.change(id, now) }
                }
            };
            let claimed = watch.invariant.validity == Validity::Always || !self.recovered;
            if let Some(by) = culprits.filter(|_| claimed) {
                let Invariant { name, text, .. } = watch.invariant;
                broken.get_or_insert(Violation { name, text, at, by });
            }
        }
        broken
    }

    /// A process has died.
    pub(crate) fn died(&mut self, id: NodeId, process: &P) {
        for watch in &mut self.rules {
            if let Shape::AtMostOne(key) = watch.invariant.shape {
                watch.before = key(id, process);
                watch.change(id, None);
            }
        }
    }
}

impl<P> Watch<P> {
    /// Moves a process from what it held to what it holds; says who holds that too.
    fn change(&mut self, id: NodeId, now: Option<u64>) -> Option<Vec<NodeId>> {
        if let Some(key) = self.before
            && let Some(holders) = self.holders.get_mut(&key)
        {
            holders.retain(|holder| *holder != id);
            if holders.is_empty() {
                self.holders.remove(&key);
            }
        }
        let holders = self.holders.entry(now?).or_default();
        holders.push(id);
        (holders.len() > 1).then(|| holders.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn monitor() -> Monitor<Option<u64>> {
        Monitor::new(vec![
            Invariant {
                name: "one",
                text: "no two hold the same",
                validity: Validity::UntilRecovery,
                shape: Shape::AtMostOne(|_, process| *process),
            },
            Invariant {
                name: "small",
                text: "everybody is below ten",
                validity: Validity::Always,
                shape: Shape::Each(|_, process| process.is_none_or(|held| held < 10)),
            },
        ])
    }

    fn step(
        monitor: &mut Monitor<Option<u64>>,
        id: u32,
        before: Option<u64>,
        after: Option<u64>,
    ) -> Option<&'static str> {
        let id = NodeId::new(id);
        monitor.before(id, &before);
        monitor.after(Time::ZERO, id, &after).map(|violation| violation.name)
    }

    #[test]
    fn two_holders_are_found_and_a_dead_one_does_not_count() {
        let mut monitor = monitor();
        assert_eq!(step(&mut monitor, 1, None, Some(5)), None);
        assert_eq!(step(&mut monitor, 2, None, Some(6)), None);
        assert_eq!(step(&mut monitor, 1, Some(5), Some(5)), None);
        monitor.died(NodeId::new(1), &Some(5));
        assert_eq!(step(&mut monitor, 2, Some(6), Some(5)), None);
        assert_eq!(step(&mut monitor, 3, None, Some(5)), Some("one"));
    }

    #[test]
    fn each_process_is_checked_by_itself() {
        let mut monitor = monitor();
        assert_eq!(step(&mut monitor, 1, None, Some(11)), Some("small"));
    }

    #[test]
    fn a_claim_until_recovery_ends_with_it() {
        let mut monitor = monitor();
        step(&mut monitor, 1, None, Some(5));
        monitor.born(true);
        assert_eq!(step(&mut monitor, 2, None, Some(5)), None);
        assert_eq!(step(&mut monitor, 2, Some(5), Some(12)), Some("small"));
    }
}
