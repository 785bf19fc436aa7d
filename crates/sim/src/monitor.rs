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
    /// For [`Shape::AtMostOne`]: who holds what.
    holders: BTreeMap<u64, Vec<NodeId>>,
}

/// Under which invariants a process holds something, one bit each. Nearly all processes hold
/// nothing nearly all the time, and then this is all that has to be looked at.
pub(crate) type Claims = u8;

impl<P> Monitor<P> {
    pub(crate) fn new(invariants: Vec<Invariant<P>>) -> Self {
        assert!(invariants.len() <= Claims::BITS as usize, "one bit of claims for each invariant");
        let watch = |invariant| Watch { invariant, holders: BTreeMap::new() };
        Monitor { rules: invariants.into_iter().map(watch).collect(), recovered: false }
    }

    /// A crashed process has come back.
    pub(crate) fn recovered(&mut self) {
        self.recovered = true;
    }

    /// A process has moved. Its claims are as after its last move, and are brought up to date.
    #[inline]
    pub(crate) fn moved(
        &mut self,
        at: Time,
        id: NodeId,
        process: &P,
        claims: &mut Claims,
    ) -> Option<Violation> {
        let well = self.rules.iter().all(|watch| match watch.invariant.shape {
            Shape::Each(holds) => holds(id, process),
            Shape::AtMostOne(key) => key(id, process).is_none(),
        });
        if well && *claims == 0 { None } else { self.update(at, id, process, claims) }
    }

    /// Does the books after a move that may matter, and says what it broke.
    #[cold]
    fn update(
        &mut self,
        at: Time,
        id: NodeId,
        process: &P,
        claims: &mut Claims,
    ) -> Option<Violation> {
        let mut broken = None;
        for (index, watch) in self.rules.iter_mut().enumerate() {
            let culprits = match watch.invariant.shape {
                Shape::Each(holds) => (!holds(id, process)).then(|| vec![id]),
                Shape::AtMostOne(key) => {
                    let now = key(id, process);
                    *claims = *claims & !(1 << index) | Claims::from(now.is_some()) << index;
                    watch.change(id, now)
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
    pub(crate) fn died(&mut self, id: NodeId, claims: &mut Claims) {
        *claims = 0;
        for watch in &mut self.rules {
            watch.change(id, None);
        }
    }
}

impl<P> Watch<P> {
    /// Notes what a process holds now; says who holds that too, if that is news.
    fn change(&mut self, id: NodeId, now: Option<u64>) -> Option<Vec<NodeId>> {
        let mut news = true;
        self.holders.retain(|key, holders| {
            if Some(*key) == now {
                news = !holders.contains(&id);
            } else {
                holders.retain(|holder| *holder != id);
            }
            !holders.is_empty()
        });
        let holders = self.holders.entry(now?).or_default();
        if news {
            holders.push(id);
        }
        (news && holders.len() > 1).then(|| holders.clone())
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
        claims: &mut Claims,
        after: Option<u64>,
    ) -> Option<&'static str> {
        let violation = monitor.moved(Time::ZERO, NodeId::new(id), &after, claims);
        violation.map(|violation| violation.name)
    }

    #[test]
    fn two_holders_are_found_and_a_dead_one_does_not_count() {
        let mut monitor = monitor();
        let mut claims = [0; 4];
        assert_eq!(step(&mut monitor, 1, &mut claims[1], Some(5)), None);
        assert_eq!(step(&mut monitor, 2, &mut claims[2], Some(6)), None);
        assert_eq!(step(&mut monitor, 1, &mut claims[1], Some(5)), None);
        assert_eq!(claims, [0, 1, 1, 0]);
        monitor.died(NodeId::new(1), &mut claims[1]);
        assert_eq!(step(&mut monitor, 2, &mut claims[2], Some(5)), None);
        assert_eq!(step(&mut monitor, 3, &mut claims[3], Some(5)), Some("one"));
    }

    #[test]
    fn who_lets_go_holds_nothing() {
        let mut monitor = monitor();
        let mut claims = [0; 4];
        assert_eq!(step(&mut monitor, 1, &mut claims[1], Some(5)), None);
        assert_eq!(step(&mut monitor, 1, &mut claims[1], None), None);
        assert_eq!(claims[1], 0);
        assert_eq!(step(&mut monitor, 2, &mut claims[2], Some(5)), None);
    }

    #[test]
    fn each_process_is_checked_by_itself() {
        assert_eq!(step(&mut monitor(), 1, &mut 0, Some(11)), Some("small"));
    }

    #[test]
    fn a_claim_until_recovery_ends_with_it() {
        let mut monitor = monitor();
        let mut claims = [0; 4];
        step(&mut monitor, 1, &mut claims[1], Some(5));
        monitor.recovered();
        assert_eq!(step(&mut monitor, 2, &mut claims[2], Some(5)), None);
        assert_eq!(step(&mut monitor, 2, &mut claims[2], Some(12)), Some("small"));
    }
}
