//! An alarm on the clock that all processes of the host share and that goes on while it sleeps.

use bellwether_core::Time;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// One alarm.
pub(super) struct Alarm {
    timer: AsyncFd<OwnedFd>,
    set: Option<Time>,
}

impl Alarm {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Boottime, flags)?;
        #[expect(
            deprecated,
            reason = "what replaces it is unsafe and asks for what an OwnedFd keeps by itself"
        )]
        let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
        Ok(Alarm { timer, set: None })
    }

    /// Waits until then; for ever if there is no such moment. May be cancelled.
    pub(super) async fn ring(&mut self, at: Option<Time>) {
        let Some(moment) = at else { return std::future::pending().await };
        if self.set != at {
            // Zero would switch it off.
            let micros = moment.as_micros().max(1).min(i64::MAX as u64 / 2);
            let it_value = Timespec {
                tv_sec: i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(micros % 1_000_000 * 1_000).unwrap_or_default(),
            };
            let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
            let value = Itimerspec { it_interval, it_value };
            if timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &value).is_err() {
                return;
            }
            self.set = at;
        }
        loop {
            let Ok(mut ready) = self.timer.readable().await else { return };
            let read = ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut [0; 8])?));
            // What is left over of a moment that was changed meanwhile is no ringing.
            if let Ok(read) = read
                && (read.is_err() || bellwether_net::Clock::shared() >= moment)
            {
                self.set = None;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_net::Clock;
    use std::time::Duration;

    #[tokio::test]
    async fn it_rings_not_too_early_and_for_the_past_at_once() {
        let mut alarm = Alarm::new().unwrap();
        alarm.ring(Some(Time::ZERO)).await;
        let at = Clock::shared() + Duration::from_millis(5);
        alarm.ring(Some(at)).await;
        assert!(Clock::shared() >= at);
        // One that is changed rings for the new moment alone.
        let never = alarm.ring(Some(at + Duration::from_secs(3_600)));
        assert!(tokio::time::timeout(Duration::from_millis(1), never).await.is_err());
        let soon = Clock::shared() + Duration::from_millis(5);
        alarm.ring(Some(soon)).await;
        assert!(Clock::shared() >= soon);
    }
}
