//! One look at another process's clock, by a question and its answer.
//!
//! The question leaves at t0 by the own clock, comes and is answered at t1 and t2 by the other
//! one's, and the answer is here at t3. If both ways took equally long, the other clock is ahead by
//! ((t1-t0) + (t2-t3)) / 2; at worst one way took the whole delay (t3-t0) - (t2-t1), and then this
//! is wrong by half of that. Where every way is known to take some time at least, by that much less.
//! With t1 = t2 it is Cristian's server time + RTT/2 - local time.

use super::offset::show;
use super::{Offset, Ppm};
use bellwether_core::{Time, micros};
use std::fmt;
use std::time::Duration;

/// What a question and its answer say about another clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sample {
    /// How far the other clock is ahead of the own machine's.
    pub ahead: Offset,
    /// How long question and answer were on the way together.
    pub delay: Duration,
    /// When the question was asked, by the own machine's clock.
    pub asked: Time,
}

/// The time stamps of a question and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamps {
    /// t0: the question leaves, by the own clock.
    pub asked: Time,
    /// t1: it arrives, by the other clock.
    pub received: Time,
    /// t2: the answer leaves, by the other clock.
    pub sent: Time,
    /// t3: it arrives, by the own clock.
    pub answered: Time,
}

/// Why stamps say nothing about a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BadSample {
    /// By the own clock, the answer came before the question.
    NegativeRoundTrip(Offset),
    /// By the other clock, the answer left before the question had come; or the other took longer
    /// to answer than both ways and that together.
    NegativeDelay(Offset),
    /// Both ways together took less than they can.
    TooShort {
        /// What they took.
        delay: Duration,
        /// What they take at least.
        least: Duration,
    },
}

impl fmt::Display for BadSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadSample::NegativeRoundTrip(trip) => {
                write!(f, "the answer came before the question: a round trip of {trip}")
            }
            BadSample::NegativeDelay(delay) => {
                write!(f, "answering took longer than all of it: a delay of {delay}")
            }
            BadSample::TooShort { delay, least } => write!(
                f,
                "a round trip of {} is impossible, {} is the least",
                show(*delay),
                show(*least)
            ),
        }
    }
}

impl std::error::Error for BadSample {}

impl Sample {
    /// Reads the stamps of an exchange whose two ways together take `least` at least, by the own
    /// clock.
    pub fn read(stamps: Stamps, least: Duration) -> Result<Sample, BadSample> {
        let Stamps { asked, received, sent, answered } = stamps;
        if answered < asked {
            return Err(BadSample::NegativeRoundTrip(Offset::between(answered, asked)));
        }
        let us = |time: Time| i128::from(time.as_micros());
        let delay = us(answered) - us(asked) - (us(sent) - us(received));
        if delay < 0 || sent < received {
            let negative = if delay < 0 { delay } else { us(sent) - us(received) };
            return Err(BadSample::NegativeDelay(Offset::wide(negative)));
        }
        let delay = Duration::from_micros(u64::try_from(delay).unwrap_or(u64::MAX));
        if delay < least {
            return Err(BadSample::TooShort { delay, least });
        }
        let ahead = Offset::wide((us(received) - us(asked) + us(sent) - us(answered)) / 2);
        Ok(Sample { ahead, delay, asked })
    }

    /// How far off it can be, if each way takes `least` at least and all clocks go right.
    pub fn bound(&self, least: Duration) -> Duration {
        Duration::from_micros(micros(self.delay).div_ceil(2)).saturating_sub(least)
    }

    /// How old it is, by the own machine's clock.
    pub fn age(&self, reading: Time) -> Duration {
        reading.since(self.asked)
    }

    /// How far off it can be at worst by now, if clocks drift apart at this rate.
    pub fn distance(&self, reading: Time, apart: Ppm) -> Duration {
        self.bound(Duration::ZERO).saturating_add(apart.of(self.age(reading)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps([asked, received, sent, answered]: [u64; 4]) -> Stamps {
        let [asked, received, sent, answered] =
            [asked, received, sent, answered].map(Time::from_micros);
        Stamps { asked, received, sent, answered }
    }

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn the_four_stamps_give_offset_and_delay() {
        // The other is 1000 ahead, the ways take 30 and 10, answering takes 5.
        let sample = Sample::read(stamps([100, 1_130, 1_135, 145]), us(20)).unwrap();
        assert_eq!(sample.ahead, Offset::from_micros(1_010), "half the difference of the ways off");
        assert_eq!(sample.delay, us(40));
        assert_eq!(sample.bound(us(10)), us(10), "which is the bound");
        assert_eq!(sample.age(Time::from_micros(150)), us(50));
    }

    #[test]
    fn the_truth_is_never_further_than_the_bound() {
        for (there, back) in (0..40).flat_map(|there| (0..40).map(move |back| (there, back))) {
            for ahead in [-50i64, 0, 7, 1_000] {
                let theirs = 1_000u64.checked_add_signed(ahead).unwrap() + there;
                let stamps = stamps([1_000, theirs, theirs + 3, 1_003 + there + back]);
                let least = us(there.min(back));
                let sample = Sample::read(stamps, 2 * least).unwrap();
                let error = (sample.ahead.as_micros() - ahead).unsigned_abs();
                assert!(us(error) <= sample.bound(least), "{there} {back} {ahead}: {error}");
            }
        }
    }

    #[test]
    fn stamps_that_cannot_be_are_refused() {
        let read = |stamped, least| Sample::read(stamps(stamped), us(least)).unwrap_err();
        let offset = Offset::from_micros;
        assert_eq!(read([200, 50, 50, 190], 0), BadSample::NegativeRoundTrip(offset(-10)));
        assert_eq!(read([200, 50, 90, 230], 0), BadSample::NegativeDelay(offset(-10)));
        assert_eq!(read([200, 50, 40, 230], 0), BadSample::NegativeDelay(offset(-10)));
        let short = BadSample::TooShort { delay: us(30), least: us(32) };
        assert_eq!(read([200, 50, 50, 230], 32), short);
        assert_eq!(short.to_string(), "a round trip of 0.03ms is impossible, 0.032ms is the least");
        let max = u64::MAX;
        assert!(Sample::read(stamps([0, max, max, max]), us(0)).is_ok(), "no overflow");
        assert!(Sample::read(stamps([max, 0, 0, max]), us(0)).is_ok());
    }
}
