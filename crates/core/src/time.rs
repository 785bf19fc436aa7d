//! Points in time, in whole microseconds.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A reading of a clock: microseconds since that clock's own beginning.
///
/// Whole ticks keep arithmetic exact, so that a run is the same on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(u64);

impl Time {
    /// The beginning.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const MAX: Time = Time(u64::MAX);

    /// The point this many microseconds after the beginning.
    pub const fn from_micros(micros: u64) -> Self {
        Time(micros)
    }

    /// Microseconds since the beginning.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(micros(span)))
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

/// Milliseconds, with the fraction only where there is one: `110ms`, `0.25ms`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / 1000, self.0 % 1000);
        let text = match fraction {
            0 => format!("{whole}ms"),
            _ => {
                let digits = format!("{fraction:03}");
                format!("{whole}.{}ms", digits.trim_end_matches('0'))
            }
        };
        f.pad(&text)
    }
}

/// A span in whole microseconds, cut off below and capped at what fits.
pub fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_milliseconds_without_noise() {
        assert_eq!(Time::from_micros(110_000).to_string(), "110ms");
        assert_eq!(Time::from_micros(1_250).to_string(), "1.25ms");
        assert_eq!(Time::from_micros(7).to_string(), "0.007ms");
        assert_eq!(format!("{:<7}|", Time::ZERO), "0ms    |");
    }

    #[test]
    fn arithmetic_stays_in_range() {
        assert_eq!(Time::MAX + Duration::from_secs(1), Time::MAX);
        assert_eq!(Time::ZERO - Time::from_micros(5), Duration::ZERO);
    }
}
