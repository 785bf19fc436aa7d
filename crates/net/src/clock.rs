//! The local clock: it never steps, counts the time that the machine sleeps, and differs between
//! hosts by as much as their clocks really differ.

use bellwether_core::Time;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// A process's clock.
///
/// It shows the wall clock's time of the moment when it was made, plus what has passed since on the
/// clock that counts from the machine's start. An administrator who sets the wall clock does not
/// move it; a suspended machine finds it advanced when it wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// What to add to [`Clock::shared`].
    start: Duration,
    /// By how many microseconds it is off on purpose, and by how much it gains, in parts per
    /// million of the time since the machine's start.
    wrong: (i64, i64),
}

impl Clock {
    /// A clock set by the host's wall clock now.
    pub fn system() -> Self {
        let wall = reading(ClockId::Realtime);
        Clock { start: wall.saturating_sub(reading(SINCE_BOOT)), wrong: (0, 0) }
    }

    /// A clock that is ahead by these microseconds now and gains these parts per million: for
    /// those who want to see a wrong clock put right.
    pub fn wrong(offset_us: i64, drift_ppm: i64) -> Self {
        let since_boot = i64::try_from(reading(SINCE_BOOT).as_micros()).unwrap_or(i64::MAX);
        // What it has gained since the machine's start is taken back.
        let gained = since_boot / 1_000_000 * drift_ppm;
        Clock { wrong: (offset_us.saturating_sub(gained), drift_ppm), ..Clock::system() }
    }

    /// What it shows.
    pub fn now(&self) -> Time {
        let shared = reading(SINCE_BOOT);
        let right = Time::ZERO + (self.start + shared);
        let (offset_us, drift_ppm) = self.wrong;
        if (offset_us, drift_ppm) == (0, 0) {
            return right;
        }
        let gained = i128::try_from(shared.as_micros()).unwrap_or(i128::MAX);
        let gained = gained * i128::from(drift_ppm) / 1_000_000 + i128::from(offset_us);
        let shown = i128::from(right.as_micros()) + gained;
        Time::from_micros(u64::try_from(shown.max(0)).unwrap_or(u64::MAX))
    }

    /// The time since the machine's start, the same for all processes of one host: in a merged
    /// trace it tells what came first.
    pub fn shared() -> Time {
        Time::ZERO + reading(SINCE_BOOT)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::system()
    }
}

/// The wall clock, for what people and certificates call the date.
#[cfg(feature = "driver")]
pub(crate) fn wall() -> Duration {
    reading(ClockId::Realtime)
}

#[cfg(target_os = "linux")]
const SINCE_BOOT: ClockId = ClockId::Boottime;
/// Elsewhere the monotonic clock may stand still while the machine sleeps.
#[cfg(not(target_os = "linux"))]
const SINCE_BOOT: ClockId = ClockId::Monotonic;

fn reading(clock: ClockId) -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    Duration::new(u64::try_from(tv_sec).unwrap_or(0), u32::try_from(tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_clock_is_ahead_and_gains() {
        let (right, wrong) = (Clock::system(), Clock::wrong(500_000_000, 100_000));
        let (first, began) = (wrong.now().since(right.now()), right.now());
        while right.now().since(began) < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let second = wrong.now().since(right.now());
        assert!((499..502).contains(&first.as_secs()), "{first:?}");
        assert!(second > first + Duration::from_micros(1_500), "{first:?}, then {second:?}");
    }

    #[test]
    fn shows_the_wall_clock_and_goes_on() {
        let clock = Clock::system();
        let first = clock.now();
        let wall = Time::ZERO + wall();
        assert!(clock.now() >= first);
        let apart = wall.since(first) + first.since(wall);
        assert!(apart < Duration::from_secs(60), "{apart:?}");
    }
}
