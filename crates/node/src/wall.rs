//! The wall clock, for people: when something happened, as the calendar says it.
//!
//! Nothing is decided by it. It may jump, and the member's own clock does not.

use bellwether_core::Time;
use std::time::Duration;

/// Now, as `2026-11-16T09:30:00.125Z`.
pub(crate) fn now() -> String {
    rfc3339(since_epoch())
}

/// What the calendar shows when a clock shows zero that shows `now` now, in milliseconds since 1970.
pub(crate) fn at_zero(now: Time) -> u64 {
    let elapsed = Duration::from_micros(now.as_micros());
    u64::try_from(since_epoch().saturating_sub(elapsed).as_millis()).unwrap_or_default()
}

/// This long ago.
pub(crate) fn ago(span: Duration) -> String {
    rfc3339(since_epoch().saturating_sub(span))
}

/// A moment by its distance from the beginning of 1970, in milliseconds, as `2026-11-16T09:30:00.125Z`.
pub fn at(stamp_ms: u64) -> String {
    // The calendar is gone through year by year: a year with six digits is a mistake.
    let last = 253_402_300_799_999;
    rfc3339(Duration::from_millis(stamp_ms.min(last)))
}

/// A moment of the calendar.
#[expect(clippy::disallowed_types, reason = "for people only")]
pub(crate) fn shown(moment: std::time::SystemTime) -> String {
    rfc3339(moment.duration_since(std::time::UNIX_EPOCH).unwrap_or_default())
}

/// How long it is until then; nothing if it is past.
#[expect(clippy::disallowed_types, reason = "for people only")]
pub(crate) fn until(moment: std::time::SystemTime) -> Duration {
    let moment = moment.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    moment.saturating_sub(since_epoch())
}

/// Now, in microseconds since the beginning of 1970.
pub(crate) fn micros() -> u64 {
    u64::try_from(since_epoch().as_micros()).unwrap_or(u64::MAX)
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the one place that reads the calendar, for people only"
)]
fn since_epoch() -> Duration {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// A point in time by its distance from the beginning of 1970, in UTC.
fn rfc3339(since_1970: Duration) -> String {
    let (seconds, millis) = (since_1970.as_secs(), since_1970.subsec_millis());
    let (days, second_of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) =
        (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date this number of days after 1970-01-01, counted year by year and month by month: it is only
/// asked for when something is worth a line in the history.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
    };
    let mut year = 1970;
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (1_767_225_599, "2025-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), text);
        }
        assert_eq!(rfc3339(Duration::from_millis(1_125)), "1970-01-01T00:00:01.125Z");
        assert_eq!(at(1_125), "1970-01-01T00:00:01.125Z");
        assert_eq!(at(u64::MAX), "9999-12-31T23:59:59.999Z");
    }
}
