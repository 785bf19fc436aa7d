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
}

impl Clock {
    /// A clock set by the host's wall clock now.
    pub fn system() -> Self {
        let wall = reading(ClockId::Realtime);
        Clock { start: wall.saturating_sub(reading(SINCE_BOOT)) }
    }

    /// What it shows.
    pub fn now(&self) -> Time {
        Time::ZERO + (self.start + reading(SINCE_BOOT))
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
    fn shows_the_wall_clock_and_goes_on() {
        let clock = Clock::system();
        let first = clock.now();
        let wall = Time::ZERO + wall();
        assert!(clock.now() >= first);
        let apart = wall.since(first) + first.since(wall);
        assert!(apart < Duration::from_secs(60), "{apart:?}");
    }
}
