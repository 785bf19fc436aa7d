//! Vector clocks (Fidge 1988, Mattern 1989).

use serde::{Deserialize, Serialize};

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

impl VectorClock {
    /// A clock for this many processes, at zero.
    pub fn new(processes: usize) -> Self {
        VectorClock(vec![0; processes])
    }

    /// Counts an event of the process at `place`.
    pub fn tick(&mut self, place: usize) {
        self.0[place] += 1;
    }

    /// Learns all that `other` knows.
    pub fn merge(&mut self, other: &VectorClock) {
        debug_assert_eq!(self.0.len(), other.0.len());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// How this stamp relates to another of the same group.
    pub fn compare(&self, other: &VectorClock) -> Causality {
        debug_assert_eq!(self.0.len(), other.0.len());
        let (mut less, mut greater) = (false, false);
        for (mine, theirs) in self.0.iter().zip(&other.0) {
            less |= mine < theirs;
            greater |= mine > theirs;
        }
        match (less, greater) {
            (false, false) => Causality::Equal,
            (true, false) => Causality::Before,
            (false, true) => Causality::After,
            (true, true) => Causality::Concurrent,
        }
    }

    /// The counters by place.
    pub fn counters(&self) -> &[u64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_as_causality_does() {
        let mut a = VectorClock::new(2);
        let mut b = a.clone();
        assert_eq!(a.compare(&b), Causality::Equal);
        a.tick(0);
        assert_eq!(a.compare(&b), Causality::After);
        assert_eq!(b.compare(&a), Causality::Before);
        b.tick(1);
        assert_eq!(a.compare(&b), Causality::Concurrent);
        b.merge(&a);
        assert_eq!(a.compare(&b), Causality::Before);
        assert_eq!(b.counters(), [1, 1]);
    }
}
