//! A future beside a busy one.
//!
//! Where a task waits for several things at once, each event makes it look at all of them. A future in a [`Seldom`] is
//! looked at only when it was woken itself.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// A future that is polled the first time, and then when it was woken.
pub struct Seldom<F> {
    future: Pin<Box<F>>,
    bell: Arc<Bell>,
    waker: Waker,
}

/// What wakes the future, and with it the task.
struct Bell {
    rang: AtomicBool,
    task: Mutex<Waker>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rang.store(true, Ordering::Release);
        self.task.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
    }
}

impl<F: Future> Seldom<F> {
    /// This future.
    pub fn new(future: F) -> Self {
        let task = Mutex::new(Waker::noop().clone());
        let bell = Arc::new(Bell { rang: AtomicBool::new(true), task });
        Seldom { future: Box::pin(future), waker: Waker::from(bell.clone()), bell }
    }
}

impl<F: Future> Future for Seldom<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // First the waker, then the look: who wakes the future in between wakes the task.
        let mut task = self.bell.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.clone_from(cx.waker());
        drop(task);
        if !self.bell.rang.swap(false, Ordering::Acquire) {
            return Poll::Pending;
        }
        let Seldom { future, waker, .. } = &mut *self;
        future.as_mut().poll(&mut Context::from_waker(waker))
    }
}

impl<F> std::fmt::Debug for Seldom<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seldom")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::atomic::AtomicU32;

    /// Counts how often its task is woken.
    #[derive(Default)]
    struct Task(AtomicU32);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn it_is_polled_when_it_was_woken_and_wakes_the_task_that_polled_it_last() {
        let (polls, own) = (AtomicU32::new(0), Mutex::new(None));
        let mut seldom = Seldom::new(poll_fn(|cx| {
            *own.lock().unwrap() = Some(cx.waker().clone());
            match polls.fetch_add(1, Ordering::Relaxed) {
                0 => Poll::Pending,
                count => Poll::Ready(count),
            }
        }));
        let tasks = [Arc::new(Task::default()), Arc::new(Task::default())];
        for task in &tasks {
            let waker = Waker::from(task.clone());
            for _ in 0..3 {
                let polled = Pin::new(&mut seldom).poll(&mut Context::from_waker(&waker));
                assert_eq!(polled, Poll::Pending);
            }
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        own.lock().unwrap().take().unwrap().wake();
        let woken = tasks.each_ref().map(|task| task.0.load(Ordering::Relaxed));
        assert_eq!(woken, [0, 1]);
        let polled = Pin::new(&mut seldom).poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Ready(1));
    }
}
