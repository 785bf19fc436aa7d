//! By how much a clock is off, and what a clock shows, in whole microseconds and for people.

use bellwether_core::{Time, micros};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Neg, Sub};
use std::time::Duration;

/// A signed span: how far one clock is ahead of another, or by how much one is to be set forward.
/// Sums stop at what fits, so that no reading from a stranger can do harm.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Offset(i64);

impl Offset {
    /// No difference at all.
    pub const ZERO: Offset = Offset(0);

    /// Microseconds ahead; behind, if it is negative.
    pub const fn from_micros(micros: i64) -> Self {
        Offset(micros)
    }

    /// How far `ahead` is ahead of `behind`.
    pub fn between(ahead: Time, behind: Time) -> Self {
        Self::wide(i128::from(ahead.as_micros()) - i128::from(behind.as_micros()))
    }

    /// From a wider number, cut off at what fits.
    pub(super) fn wide(micros: i128) -> Self {
        let most = i128::from(i64::MAX);
        Offset(i64::try_from(micros.clamp(-most, most)).unwrap_or(i64::MAX))
    }

    /// In microseconds.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Its size, whichever way.
    pub fn size(self) -> Duration {
        Duration::from_micros(self.0.unsigned_abs())
    }

    /// What a clock shows that is ahead by this of one that shows `time`. No clock shows less
    /// than zero.
    pub fn after(self, time: Time) -> Time {
        Time::from_micros(time.as_micros().saturating_add_signed(self.0))
    }
}

impl From<Duration> for Offset {
    fn from(span: Duration) -> Self {
        Offset(i64::try_from(micros(span)).unwrap_or(i64::MAX))
    }
}

impl Add for Offset {
    type Output = Offset;
    fn add(self, other: Offset) -> Offset {
        Offset::wide(i128::from(self.0) + i128::from(other.0))
    }
}

impl Sub for Offset {
    type Output = Offset;
    fn sub(self, other: Offset) -> Offset {
        Offset::wide(i128::from(self.0) - i128::from(other.0))
    }
}

impl Neg for Offset {
    type Output = Offset;
    fn neg(self) -> Offset {
        Offset::ZERO - self
    }
}

/// With its sign: `+5min`, `-20min`, `+1.5s`, `-0.25ms`, `0ms`.
impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.0 {
            0 => "",
            1.. => "+",
            _ => "-",
        };
        write!(f, "{sign}{}", show(self.size()))
    }
}

const SECOND_US: u64 = 1_000_000;

/// A span: whole minutes, or seconds from one on, or milliseconds; all its digits.
pub fn show(span: Duration) -> String {
    let us = micros(span);
    if us > 0 && us.is_multiple_of(60 * SECOND_US) {
        format!("{}min", us / (60 * SECOND_US))
    } else if us >= SECOND_US {
        decimal(us, SECOND_US, "s")
    } else {
        decimal(us, 1_000, "ms")
    }
}

/// A span to three digits, for summaries: `9.83ms`, `1.2s`.
pub fn show_roughly(span: Duration) -> String {
    let us = micros(span);
    let mut unit = 1;
    while us / unit >= 1_000 {
        unit *= 10;
    }
    show(Duration::from_micros(us.saturating_add(unit / 2) / unit * unit))
}

fn decimal(us: u64, unit: u64, name: &str) -> String {
    let width = unit.ilog10() as usize;
    let (whole, fraction) = (us / unit, us % unit);
    let digits = format!("{fraction:0width$}");
    match digits.trim_end_matches('0') {
        "" => format!("{whole}{name}"),
        digits => format!("{whole}.{digits}{name}"),
    }
}

/// What a clock shows, as a time of day: `3:25:00.01`. Clocks begin at midnight.
pub fn clock_face(time: Time) -> String {
    let us = time.as_micros() % (24 * 3_600 * SECOND_US);
    let seconds = us / SECOND_US;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let fraction = format!("{:06}", us % SECOND_US);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{hours}:{minutes:02}:{:02}{point}{fraction}", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_it_without_noise() {
        let shown = |us| Offset::from_micros(us).to_string();
        assert_eq!(shown(300_000_000), "+5min");
        assert_eq!(shown(-1_200_000_000), "-20min");
        assert_eq!(shown(0), "0ms");
        assert_eq!(shown(200_000), "+200ms");
        assert_eq!(shown(-250), "-0.25ms");
        assert_eq!(shown(1_500_001), "+1.500001s");
        assert_eq!(show_roughly(Duration::from_micros(9_826)), "9.83ms");
        assert_eq!(show_roughly(Duration::from_micros(1_234_567)), "1.23s");
        assert_eq!(show_roughly(Duration::from_micros(999_999)), "1s");
        assert_eq!(show_roughly(Duration::from_micros(7)), "0.007ms");
        assert_eq!(show_roughly(Duration::from_micros(u64::MAX)), show_roughly(Duration::MAX));
        let face = |us| clock_face(Time::from_micros(us));
        assert_eq!(face(24 * 3_600_000_000), "0:00:00");
        assert_eq!(face(27 * 3_600_000_000 + 1_500_010_000), "3:25:00.01");
    }

    #[test]
    fn no_reading_overflows() {
        let (early, late) = (Time::ZERO, Time::MAX);
        let far = Offset::between(late, early);
        assert_eq!(Offset::between(early, late), -far);
        assert_eq!(far + far, far);
        assert_eq!(-far - far, -far);
        assert_eq!((-far).after(early), early);
        assert_eq!(far.after(late), late);
    }
}
