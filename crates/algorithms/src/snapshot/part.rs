//! What one process contributes to a snapshot.

use super::Carried;
use crate::time::VectorClock;
use bellwether_core::{NodeId, SortedMap, SortedSet};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which snapshot: the process that began it, and how many that process had begun with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SnapshotId {
    /// Who began it.
    pub initiator: NodeId,
    /// Its number among those of this process, from 1.
    pub count: u64,
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.initiator, self.count)
    }
}

/// A part of a snapshot: the state of a process and of the channels that lead to it. Vectors are
/// by place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part<P, M> {
    /// Of which snapshot.
    pub snapshot: SnapshotId,
    /// The state of the process.
    pub state: P,
    /// Its vector clock at that moment.
    pub clock: VectorClock,
    /// How many messages it had sent to each.
    pub sent: Vec<u64>,
    /// Which messages it had received from each, by their numbers.
    pub received: Vec<Numbers>,
    /// What was on the way to it, by sender. Who has nothing on the way is left out.
    pub channels: SortedMap<NodeId, Vec<Carried<M>>>,
}

impl<P, M> Part<P, M> {
    /// How many messages were on the way to it.
    pub fn on_the_way(&self) -> usize {
        self.channels.values().map(Vec::len).sum()
    }
}

/// How many messages of a channel are shown.
const SHOWN: usize = 4;

impl<P, M: fmt::Display> fmt::Display for Part<P, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "completes its part of snapshot {}", self.snapshot)?;
        let mut before = "; on the way from";
        for (from, messages) in &self.channels {
            write!(f, "{before} {from}: ")?;
            for (index, carried) in messages.iter().take(SHOWN).enumerate() {
                let comma = if index > 0 { ", " } else { "" };
                write!(f, "{comma}{}", carried.body)?;
            }
            if messages.len() > SHOWN {
                write!(f, " and {} more", messages.len() - SHOWN)?;
            }
            before = "; from";
        }
        Ok(())
    }
}

/// Which of the numbers 1, 2, 3, ... there were. On a FIFO channel they are the first ones, and
/// this is one number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Numbers {
    /// All up to this one.
    upto: u64,
    /// And these.
    beyond: SortedSet<u64>,
}

impl Numbers {
    /// Adds one; says whether it is new. There is no number 0.
    pub fn add(&mut self, number: u64) -> bool {
        if self.contains(number) || number == 0 {
            return false;
        }
        if number - 1 != self.upto {
            return self.beyond.insert(number);
        }
        self.upto = number;
        while let Some(next) = self.upto.checked_add(1)
            && self.beyond.remove(&next)
        {
            self.upto = next;
        }
        true
    }

    /// Whether a number is among them.
    pub fn contains(&self, number: u64) -> bool {
        number != 0 && number <= self.upto || self.beyond.contains(&number)
    }

    /// Whether all up to this one are among them.
    pub fn reaches(&self, number: u64) -> bool {
        number <= self.upto
    }

    /// Which of the numbers from 1 to this one are not among them.
    pub fn missing(&self, last: u64) -> impl Iterator<Item = u64> + '_ {
        let first = self.upto.saturating_add(1);
        (first..=last).filter(|number| !self.beyond.contains(number))
    }

    /// The largest of them; 0 if there are none.
    pub fn largest(&self) -> u64 {
        self.beyond.last().copied().unwrap_or(self.upto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_a_set_whatever_their_order() {
        let mut numbers = Numbers::default();
        assert!(numbers.reaches(0) && !numbers.contains(0) && !numbers.add(0));
        for number in [1, 4, 2, 6] {
            assert!(numbers.add(number));
            assert!(!numbers.add(number));
        }
        assert!(numbers.reaches(2) && !numbers.reaches(3));
        assert_eq!(numbers.missing(7).collect::<Vec<_>>(), [3, 5, 7]);
        assert_eq!(numbers.largest(), 6);
        assert!(numbers.add(3) && numbers.reaches(4) && !numbers.reaches(5));
        assert!(numbers.add(5) && numbers.reaches(6));
        let mut in_order = Numbers::default();
        (1..=6).for_each(|number| assert!(in_order.add(number)));
        assert_eq!(numbers, in_order);
        assert!(in_order.add(u64::MAX) && in_order.missing(7).eq([7]));
    }
}
