//! Lamport's logical clock ("Time, clocks, and the ordering of events in a distributed system",
//! 1978).

use serde::{Deserialize, Serialize};
use std::fmt;

/// A counter that never runs behind what it has heard: if one event can have caused another, its
/// stamp is smaller.
///
/// Stamps are ordered, but the order says less than a [vector's](super::VectorClock): of two events
/// with different stamps the later cannot have caused the earlier, and that is all. With the number
/// of the process behind it, a stamp gives one order of all events that contradicts no cause.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Lamport(u64);

impl Lamport {
    /// Counts an event of this process and returns its stamp.
    pub fn tick(&mut self) -> Lamport {
        self.0 = self.0.saturating_add(1);
        *self
    }

    /// Counts the receipt of a message that was stamped `theirs`.
    pub fn receive(&mut self, theirs: Lamport) -> Lamport {
        self.0 = self.0.max(theirs.0);
        self.tick()
    }

    /// The counter.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Lamport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_later_than_its_sending_and_than_all_before_it() {
        let (mut sender, mut receiver) = (Lamport(7), Lamport(3));
        let sent = sender.tick();
        let before = receiver.tick();
        let received = receiver.receive(sent);
        assert!(received > sent && received > before);
    }

    #[test]
    fn a_stamp_from_the_end_of_time_does_no_harm() {
        let mut clock = Lamport::default();
        assert_eq!(clock.receive(Lamport(u64::MAX)), Lamport(u64::MAX));
    }
}
