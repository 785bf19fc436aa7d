//! Lists one after the other, with pauses between them.
//!
//! Writing down thousands of sessions takes the member's only thread for milliseconds, and heartbeats, leases and
//! keep-alives wait for that long. Readers who ask again and again must not take it for good.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

/// After each list the member has this many times as long for everything else.
const REST: u32 = 4;

/// But no list makes the next wait for longer.
const REST_MAX: Duration = Duration::from_secs(1);

/// Whose turn it is to make a list.
pub(crate) struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Turns(Arc::new(Semaphore::new(1)))
    }
}

impl Turns {
    /// Waits for its turn, and does this.
    pub(crate) async fn take<T>(&self, work: impl Future<Output = T>) -> T {
        // It is never closed; if it were, nothing would wait.
        let turn = self.0.clone().acquire_owned().await;
        let begun = Instant::now();
        let done = work.await;
        let rest = begun.elapsed().saturating_mul(REST).min(REST_MAX);
        tokio::spawn(async move {
            sleep(rest).await;
            drop(turn);
        });
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_next_begins_when_the_member_has_had_time_for_other_things() {
        let (turns, spent) = (Turns::default(), Duration::from_millis(10));
        let begun = Instant::now();
        turns.take(sleep(spent)).await;
        let second = turns.take(async { begun.elapsed() }).await;
        assert!(second >= spent * (1 + REST), "{second:?}");
    }
}
