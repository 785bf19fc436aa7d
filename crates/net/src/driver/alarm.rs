//! What ends a process's wait for events when no event comes, and how a process lets others go first.

use bellwether_core::Time;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// The timers are looked at again after this at the latest: the runtime's clock stands still while the
/// machine sleeps, and the process's does not.
const LONGEST: Duration = Duration::from_secs(1);

/// One alarm for all timers of a process.
///
/// To set one again costs two system calls if it rings earlier than all others of the runtime. Most timers are
/// moved to later, by the messages of others that keep them quiet. So an alarm that is set stays, and rings
/// once for nothing.
#[derive(Debug, Default)]
pub(super) struct Alarm(Option<(Time, Pin<Box<Sleep>>)>);

impl Alarm {
    /// Sees to it that it rings at `next`, or before; `now` is what the process's clock shows.
    pub(super) fn set(&mut self, now: Time, next: Option<Time>) {
        let latest = now + LONGEST;
        let next = next.map_or(latest, |next| next.min(latest));
        match &mut self.0 {
            // One in the past is late: the machine has slept, or no task has waited for it.
            Some((at, _)) if now <= *at && *at <= next => {}
            Some((at, sleep)) => {
                sleep.as_mut().reset(Instant::now() + next.since(now));
                *at = next;
            }
            None => self.0 = Some((next, Box::pin(sleep(next.since(now))))),
        }
    }

    /// Waits until it rings. One that is not set never does. May be cancelled: it stays set.
    pub(super) async fn rings(&mut self) {
        match &mut self.0 {
            Some((_, sleep)) => sleep.as_mut().await,
            None => std::future::pending().await,
        }
        self.0 = None;
    }
}

/// Lets the tasks of this thread run that are ready, without a look at the network.
pub(super) async fn others_first() {
    let mut waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        // A thread's tasks wait in one line, and those that were woken before stand in front.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tokio::sync::Notify;
    use tokio::task::yield_now;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn rings_at(alarm: &Alarm) -> Option<Time> {
        alarm.0.as_ref().map(|(at, _)| *at)
    }

    #[tokio::test]
    async fn it_is_moved_only_to_earlier_unless_it_is_late() {
        let mut alarm = Alarm::default();
        alarm.set(at(0), Some(at(100)));
        assert_eq!(rings_at(&alarm), Some(at(100)));
        alarm.set(at(10), Some(at(200)));
        assert_eq!(rings_at(&alarm), Some(at(100)), "later: it rings once for nothing");
        alarm.set(at(20), Some(at(50)));
        assert_eq!(rings_at(&alarm), Some(at(50)), "earlier");
        alarm.set(at(60), Some(at(150)));
        assert_eq!(rings_at(&alarm), Some(at(150)), "it was to ring before now");
        alarm.set(at(60), None);
        alarm.set(at(5_000), Some(at(90_000)));
        assert_eq!(rings_at(&alarm), Some(at(6_000)), "never more than a second from now");
    }

    #[tokio::test]
    async fn it_rings_once_for_each_time_it_is_set() {
        let mut alarm = Alarm::default();
        for _ in 0..2 {
            alarm.set(at(7), Some(at(7)));
            alarm.rings().await;
            assert_eq!(rings_at(&alarm), None);
        }
    }

    #[tokio::test]
    async fn a_task_that_was_woken_runs_first() {
        let (bell, done) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        tokio::spawn({
            let (bell, done) = (bell.clone(), done.clone());
            async move {
                bell.notified().await;
                done.store(true, Ordering::Relaxed);
            }
        });
        yield_now().await;
        // In a task, as the process is: the runtime's own future comes when the line is empty.
        let seen = tokio::spawn(async move {
            bell.notify_one();
            others_first().await;
            done.load(Ordering::Relaxed)
        });
        assert!(seen.await.unwrap());
    }
}
