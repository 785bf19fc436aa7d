//! Hybrid logical clocks (Kulkarni, Demirbas, Madappa, Avva and Leone, "Logical physical clocks",
//! 2014).
//!
//! A logical clock orders events and says nothing about when they were; a machine's clock says when
//! and may order them wrongly. A hybrid clock does both: its stamp is never behind the machine's
//! clock, never behind what it has heard, and as near to the machine's clock as that allows. It has
//! the size of two numbers, whatever the size of the group.
//!
//! # Rules
//! * HLC1 An event of this process: if the machine's clock is ahead of the stamp's time, take it
//!   and begin to count at 0; if not, count one more.
//! * HLC2 A receipt: take the latest of the own stamp, the message's and the machine's clock, and
//!   count one more than the largest count of a stamp with this very time.
//! * HLC3 A message from further ahead of the machine's clock than clocks can be apart is refused,
//!   and changes nothing: one wrong clock must not carry all others away.

use bellwether_core::{Time, micros};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A stamp of a hybrid clock; also the clock itself, which is its last stamp. Stamps are ordered by
/// time, then by count, and an event's stamp is larger than those of all that can have caused it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Hybrid {
    time: Time,
    count: u32,
}

/// A stamp from further ahead than clocks can be apart. Nothing was changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFarAhead {
    /// How far ahead of the machine's clock it is.
    pub ahead: Duration,
    /// How far it may be.
    pub allowed: Duration,
}

impl fmt::Display for TooFarAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ahead, allowed] =
            [self.ahead, self.allowed].map(|span| Time::from_micros(micros(span)));
        write!(f, "the stamp is {ahead} ahead of the own clock; at most {allowed} are allowed")
    }
}

impl std::error::Error for TooFarAhead {}

impl Hybrid {
    /// Counts an event of this process, whose machine's clock shows `now`, and returns its stamp.
    pub fn tick(&mut self, now: Time) -> Hybrid {
        // HLC1
        *self = if now > self.time { Hybrid { time: now, count: 0 } } else { self.next() };
        *self
    }

    /// Counts the receipt of a message that was stamped `theirs`, which must not be `allowed` ahead
    /// of the machine's clock.
    pub fn receive(
        &mut self,
        now: Time,
        theirs: Hybrid,
        allowed: Duration,
    ) -> Result<Hybrid, TooFarAhead> {
        // HLC3
        let ahead = theirs.time.since(now);
        if ahead > allowed {
            return Err(TooFarAhead { ahead, allowed });
        }
        // HLC2
        let latest = (*self).max(theirs);
        *self = if now > latest.time { Hybrid { time: now, count: 0 } } else { latest.next() };
        Ok(*self)
    }

    /// The time of the stamp: never behind the machine's clock of its event.
    pub fn time(self) -> Time {
        self.time
    }

    /// How many events have had this time before.
    pub fn count(self) -> u32 {
        self.count
    }

    fn next(self) -> Hybrid {
        match self.count.checked_add(1) {
            Some(count) => Hybrid { count, ..self },
            None => Hybrid { time: self.time + Duration::from_micros(1), count: 0 },
        }
    }
}

impl fmt::Display for Hybrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.time, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_micros(us)
    }

    #[test]
    fn follows_the_machine_s_clock_and_counts_where_it_stands_still() {
        let mut clock = Hybrid::default();
        assert_eq!(clock.tick(at(10)), Hybrid { time: at(10), count: 0 });
        assert_eq!(clock.tick(at(10)), Hybrid { time: at(10), count: 1 });
        assert_eq!(clock.tick(at(4)), Hybrid { time: at(10), count: 2 }, "it never goes back");
        assert_eq!(clock.tick(at(11)), Hybrid { time: at(11), count: 0 });
    }

    #[test]
    fn a_receipt_is_later_than_its_sending_also_by_a_slow_clock() {
        let (mut fast, mut slow) = (Hybrid::default(), Hybrid::default());
        let sent = fast.tick(at(100));
        let received = slow.receive(at(90), sent, Duration::from_micros(10)).unwrap();
        assert_eq!(received, Hybrid { time: at(100), count: 1 });
        assert!(received > sent);
    }

    #[test]
    fn a_stamp_from_too_far_ahead_changes_nothing() {
        let mut clock = Hybrid::default();
        clock.tick(at(50));
        let before = clock;
        let theirs = Hybrid { time: at(200), count: 0 };
        let error = clock.receive(at(60), theirs, Duration::from_micros(100)).unwrap_err();
        assert_eq!(clock, before);
        assert_eq!(error.ahead, Duration::from_micros(140));
        assert_eq!(
            error.to_string(),
            "the stamp is 0.14ms ahead of the own clock; at most 0.1ms are allowed"
        );
    }

    #[test]
    fn a_count_that_is_used_up_goes_on_in_the_next_microsecond() {
        let mut clock = Hybrid { time: at(7), count: u32::MAX };
        assert_eq!(clock.tick(at(7)), Hybrid { time: at(8), count: 0 });
    }
}
