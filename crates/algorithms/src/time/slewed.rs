//! A clock that is set without ever being turned back.
//!
//! Programs order their files and their log lines by the clock of their machine. A clock that is
//! set back shows the same time twice, and one that is set forward at a stroke skips alarms. So a
//! correction is *slewed*: until it is made, the clock goes a little faster or slower than the one
//! of the machine. At 5 %, 200 ms take 4 s.
//!
//! Corrections are measured against what the clock is [due](Slewed::due) to show, which is the
//! machine's clock and all corrections, made or not. So a measurement that is taken while the clock
//! is being slewed is as good as any other, and a new correction takes the place of what is left
//! of the old one: from where it is, the clock turns to what it is due to show now.

use super::Offset;
use bellwether_core::{Time, micros};
use std::fmt;
use std::time::Duration;

/// Parts per million: of a drift, or of the rate at which a clock is slewed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppm(u32);

const MILLION: u32 = 1_000_000;

impl Ppm {
    /// This many parts per million.
    pub const fn new(parts: u32) -> Self {
        Ppm(parts)
    }

    /// How many.
    pub const fn parts(self) -> u32 {
        self.0
    }

    /// This part of a span, rounded up.
    pub fn of(self, span: Duration) -> Duration {
        let us = (u128::from(micros(span)) * u128::from(self.0)).div_ceil(u128::from(MILLION));
        Duration::from_micros(u64::try_from(us).unwrap_or(u64::MAX))
    }

    /// `100ppm`, `5%`, `0.05%`.
    pub fn parse(text: &str) -> Result<Ppm, String> {
        let wanted = || format!("'{text}' is no rate; expected for example 5% or 100ppm");
        if let Some(parts) = text.strip_suffix("ppm") {
            return parts.parse().map(Ppm).map_err(|_| wanted());
        }
        let number = text.strip_suffix('%').ok_or_else(wanted)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let is_plain = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
        if fraction.is_empty() || fraction.len() > 4 || !is_plain(fraction) || !is_plain(whole) {
            return Err(wanted());
        }
        let whole: u32 = whole.parse().map_err(|_| wanted())?;
        let fraction: u32 = format!("{fraction:0<4}").parse().map_err(|_| wanted())?;
        let parts = whole.checked_mul(10_000).and_then(|parts| parts.checked_add(fraction));
        parts.map(Ppm).ok_or_else(wanted)
    }
}

impl fmt::Display for Ppm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(10_000) {
            write!(f, "{}%", self.0 / 10_000)
        } else {
            write!(f, "{}ppm", self.0)
        }
    }
}

/// The clock of a process: that of its machine, and what was corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slewed {
    /// When the last correction came, by the machine's clock.
    since: Time,
    /// What had been made of all corrections by then.
    made: Offset,
    /// What had not.
    left: Offset,
    /// How fast that is made since then.
    rate: Ppm,
}

impl Slewed {
    /// The fastest that makes sense: a clock at half or one and a half times its rate.
    pub const FASTEST: Ppm = Ppm(MILLION / 2);

    /// What it shows when that of the machine shows `reading`. If the machine's clock does not go
    /// back, neither does this one, and it stands still for one microsecond at most at a time.
    pub fn shown(&self, reading: Time) -> Time {
        (self.made + self.slewed(reading)).after(reading)
    }

    /// What it would show if all corrections were made already.
    pub fn due(&self, reading: Time) -> Time {
        self.correction().after(reading)
    }

    /// All corrections together, made or not.
    pub fn correction(&self) -> Offset {
        self.made + self.left
    }

    /// What is still to be made.
    pub fn left(&self, reading: Time) -> Offset {
        self.left - self.slewed(reading)
    }

    /// How long it takes to make it.
    pub fn takes(&self, reading: Time) -> Duration {
        let left = u128::from(micros(self.left(reading).size())) * u128::from(MILLION);
        let us = left.div_ceil(u128::from(self.rate.0.max(1)));
        Duration::from_micros(u64::try_from(us).unwrap_or(u64::MAX))
    }

    /// Makes it due to show `by` more than before. What it shows at this moment stays the same.
    pub fn correct(&mut self, reading: Time, by: Offset, rate: Ppm) {
        let slewed = self.slewed(reading);
        self.made = self.made + slewed;
        self.left = self.left - slewed + by;
        self.since = reading;
        self.rate = rate.min(Self::FASTEST);
    }

    /// What has been made since the last correction.
    fn slewed(&self, reading: Time) -> Offset {
        let elapsed = i128::from(micros(reading.since(self.since)));
        let most = elapsed * i128::from(self.rate.0) / i128::from(MILLION);
        let left = i128::from(self.left.as_micros());
        Offset::wide(left.clamp(-most, most))
    }
}

#[cfg(test)]
#[path = "tests/slewed.rs"]
mod tests;
