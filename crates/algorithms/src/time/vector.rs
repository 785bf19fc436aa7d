//! Vector clocks (Fidge 1988, Mattern 1989).

use serde::{Deserialize, Serialize};
use std::fmt;

/// How two stamps relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Causality {
    /// The first can have caused the second.
    Before,
    /// The second can have caused the first.
    After,
    /// Neither can have caused the other.
    Concurrent,
    /// They are the same.
    Equal,
}

/// One counter per process, by its place in the group: exactly which events of which process an
/// event can have been caused by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VectorClock(Vec<u64>);

/// A stamp of a group of another size: it says nothing here, and nothing was changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherGroup {
    /// How many counters the own clock has.
    pub own: usize,
    /// How many the other has.
    pub other: usize,
}

impl fmt::Display for OtherGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OtherGroup { own, other } = self;
        write!(f, "a stamp of a group of {other} processes means nothing in a group of {own}")
    }
}

impl std::error::Error for OtherGroup {}

impl VectorClock {
    /// A clock for this many processes, at zero.
    pub fn new(processes: usize) -> Self {
        VectorClock(vec![0; processes])
    }

    /// Counts an event of the process at `place`; nothing happens if there is no such place.
    pub fn tick(&mut self, place: usize) {
        if let Some(counter) = self.0.get_mut(place) {
            *counter = counter.saturating_add(1);
        }
    }

    /// Learns all that `other` knows.
    pub fn merge(&mut self, other: &VectorClock) -> Result<(), OtherGroup> {
        self.suits(other)?;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
        Ok(())
    }

    /// How this stamp relates to another of the same group.
    pub fn compare(&self, other: &VectorClock) -> Result<Causality, OtherGroup> {
        self.suits(other)?;
        let (mut less, mut greater) = (false, false);
        for (mine, theirs) in self.0.iter().zip(&other.0) {
            less |= mine < theirs;
            greater |= mine > theirs;
        }
        Ok(match (less, greater) {
            (false, false) => Causality::Equal,
            (true, false) => Causality::Before,
            (false, true) => Causality::After,
            (true, true) => Causality::Concurrent,
        })
    }

    /// The counters by place.
    pub fn counters(&self) -> &[u64] {
        &self.0
    }

    fn suits(&self, other: &VectorClock) -> Result<(), OtherGroup> {
        let (own, other) = (self.0.len(), other.0.len());
        if own == other { Ok(()) } else { Err(OtherGroup { own, other }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_as_causality_does() {
        let mut a = VectorClock::new(2);
        let mut b = a.clone();
        assert_eq!(a.compare(&b), Ok(Causality::Equal));
        a.tick(0);
        assert_eq!(a.compare(&b), Ok(Causality::After));
        assert_eq!(b.compare(&a), Ok(Causality::Before));
        b.tick(1);
        assert_eq!(a.compare(&b), Ok(Causality::Concurrent));
        b.merge(&a).unwrap();
        assert_eq!(a.compare(&b), Ok(Causality::Before));
        assert_eq!(b.counters(), [1, 1]);
    }

    #[test]
    fn a_stamp_of_another_group_changes_nothing() {
        let mut clock = VectorClock::new(3);
        clock.tick(1);
        let before = clock.clone();
        let mut stranger = VectorClock::new(2);
        stranger.tick(0);
        let error = OtherGroup { own: 3, other: 2 };
        assert_eq!(clock.merge(&stranger), Err(error));
        assert_eq!(clock.compare(&stranger), Err(error));
        clock.tick(3);
        assert_eq!(clock, before);
        assert!(error.to_string().contains("a group of 2 processes"), "{error}");
    }
}
