//! The messages that wait for one peer.
//!
//! The queue is bounded. What happens to a message depends on whether the peer is connected:
//!
//! * A message that a newer one supersedes (an old heartbeat) is taken out; the newer one queues up
//!   at the end, so that what is left keeps its order.
//! * On a live connection nothing else is ever left out. If the queue is full nevertheless, the
//!   peer does not keep up: the queue is emptied and the connection closed, which the peer sees. It
//!   is counted and logged.
//! * What can wait stays for up to [`LINGER`], unless something comes that cannot; then all go
//!   together.
//! * Without a connection a message waits for at most `stale_after`; if the queue fills up before,
//!   the oldest goes. Both are counted.

use super::stats::{Dropped, Stats, lock};
use bellwether_core::Time;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// A message in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queued<M> {
    pub(crate) msg: M,
    pub(crate) seq: u64,
    pub(crate) at: Time,
    /// Whether it may stay for a moment.
    pub(crate) can_wait: bool,
}

/// How long a message stays that can wait.
pub(crate) const LINGER: Duration = Duration::from_millis(2);

/// What waits for one peer, shared by the process's task, which fills it, and the connection's,
/// which empties it.
#[derive(Debug)]
pub(crate) struct Outbox<M> {
    queue: Mutex<Queue<M>>,
    changed: Notify,
    stats: Arc<Stats>,
    limit: usize,
    stale_after: Duration,
}

#[derive(Debug)]
struct Queue<M> {
    waiting: VecDeque<Queued<M>>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing is taken out any more.
    Disconnected,
    /// A connection is up.
    Connected,
    /// A connection is up, and the peer did not keep up with it.
    Overflowed,
}

/// What the connection's task should do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send what was taken.
    Send,
    /// Come back after this time, if nothing else comes: what is there can wait.
    Wait(Duration),
    /// Close the connection: the peer does not keep up.
    Close,
}

impl<M> Outbox<M> {
    pub(crate) fn new(stats: Arc<Stats>, limit: usize, stale_after: Duration) -> Self {
        let queue = Queue { waiting: VecDeque::new(), state: State::Disconnected };
        let limit = limit.max(1);
        Outbox { queue: Mutex::new(queue), changed: Notify::new(), stats, limit, stale_after }
    }

    /// Adds a message.
    pub(crate) fn push(&self, item: Queued<M>, supersedes: impl Fn(&M, &M) -> bool) {
        let mut queue = lock(&self.queue);
        let before = queue.waiting.len();
        // A reader that already knows when to come back need not be told.
        let known = item.can_wait && before > 0;
        queue.waiting.retain(|older| !supersedes(&item.msg, &older.msg));
        self.stats.dropped(Dropped::Superseded, before - queue.waiting.len());
        if queue.waiting.len() >= self.limit {
            if queue.state == State::Disconnected {
                queue.waiting.pop_front();
                self.stats.dropped(Dropped::Unreachable, 1);
            } else {
                self.stats.dropped(Dropped::Overflow, queue.waiting.len());
                queue.waiting.clear();
                queue.state = State::Overflowed;
            }
        }
        queue.waiting.push_back(item);
        drop(queue);
        if !known {
            self.changed.notify_one();
        }
    }

    /// A connection is up: from now on nothing is left out silently.
    pub(crate) fn connected(&self, now: Time) {
        self.drop_stale(now);
        lock(&self.queue).state = State::Connected;
    }

    /// The connection is gone.
    pub(crate) fn disconnected(&self) {
        lock(&self.queue).state = State::Disconnected;
    }

    /// Forgets what has waited too long for a connection.
    pub(crate) fn drop_stale(&self, now: Time) {
        let mut queue = lock(&self.queue);
        let before = queue.waiting.len();
        queue.waiting.retain(|item| item.at + self.stale_after >= now);
        self.stats.dropped(Dropped::Stale, before - queue.waiting.len());
    }

    /// Forgets everything, for this reason.
    pub(crate) fn clear(&self, why: Dropped) {
        let gone = std::mem::take(&mut lock(&self.queue).waiting);
        self.stats.dropped(why, gone.len());
    }

    /// Takes what there is, at most `limit` messages, without waiting. Without a time everything
    /// goes, what can wait, too.
    pub(crate) fn take(
        &self,
        limit: usize,
        now: Option<Time>,
        batch: &mut Vec<Queued<M>>,
    ) -> Option<Next> {
        let mut queue = lock(&self.queue);
        if queue.state == State::Overflowed {
            return Some(Next::Close);
        }
        if queue.waiting.iter().all(|item| item.can_wait)
            && let (Some(first), Some(now)) = (queue.waiting.front(), now)
            && now < first.at + LINGER
        {
            return Some(Next::Wait((first.at + LINGER).since(now)));
        }
        let count = queue.waiting.len().min(limit);
        batch.extend(queue.waiting.drain(..count));
        (count > 0).then_some(Next::Send)
    }

    /// Waits until there may be something to take.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        lock(&self.queue).waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Word = &'static str;

    fn outbox(limit: usize) -> Outbox<Word> {
        Outbox::new(Arc::default(), limit, Duration::from_secs(1))
    }

    fn push(outbox: &Outbox<Word>, msg: Word, at: u64) {
        let can_wait = msg.starts_with('w');
        let item = Queued { msg, seq: 0, at: Time::from_micros(at), can_wait };
        outbox.push(item, |newer, older| newer.starts_with('h') && older.starts_with('h'));
    }

    fn take(outbox: &Outbox<Word>) -> Vec<Word> {
        take_at(outbox, 0)
    }

    fn take_at(outbox: &Outbox<Word>, now: u64) -> Vec<Word> {
        let mut batch = Vec::new();
        match outbox.take(100, Some(Time::from_micros(now)), &mut batch) {
            Some(Next::Send) => batch.into_iter().map(|item| item.msg).collect(),
            Some(Next::Wait(_)) => vec!["waits"],
            Some(Next::Close) => vec!["closed"],
            None => vec![],
        }
    }

    fn dropped(outbox: &Outbox<Word>, why: Dropped) -> u64 {
        outbox.stats.snapshot().dropped.get(&why).copied().unwrap_or(0)
    }

    #[test]
    fn a_newer_heartbeat_replaces_an_older_one_and_keeps_the_order() {
        let outbox = outbox(10);
        for msg in ["h1", "vote", "h2", "ack", "h3"] {
            push(&outbox, msg, 0);
        }
        assert_eq!(take(&outbox), ["vote", "ack", "h3"]);
        assert_eq!(dropped(&outbox, Dropped::Superseded), 2);
    }

    #[test]
    fn a_full_queue_closes_a_live_connection() {
        let outbox = outbox(3);
        outbox.connected(Time::ZERO);
        for msg in ["a", "b", "c"] {
            push(&outbox, msg, 0);
        }
        assert_eq!(take(&outbox), ["a", "b", "c"]);
        for msg in ["a", "b", "c", "d"] {
            push(&outbox, msg, 0);
        }
        assert_eq!(take(&outbox), ["closed"]);
        assert_eq!(dropped(&outbox, Dropped::Overflow), 3);
        outbox.disconnected();
        assert_eq!(take(&outbox), ["d"]);
    }

    #[test]
    fn what_can_wait_goes_with_what_cannot_or_after_a_moment() {
        let outbox = outbox(9);
        outbox.connected(Time::ZERO);
        push(&outbox, "w1", 0);
        push(&outbox, "w2", 1_500);
        assert_eq!(take_at(&outbox, 1_999), ["waits"]);
        assert_eq!(take_at(&outbox, 2_000), ["w1", "w2"]);
        push(&outbox, "w3", 3_000);
        push(&outbox, "vote", 3_001);
        push(&outbox, "w4", 3_002);
        assert_eq!(take_at(&outbox, 3_002), ["w3", "vote", "w4"]);
        assert_eq!(outbox.len(), 0);
    }

    #[test]
    fn without_a_connection_the_oldest_goes() {
        let outbox = outbox(2);
        for msg in ["a", "b", "c"] {
            push(&outbox, msg, 0);
        }
        assert_eq!(take(&outbox), ["b", "c"]);
        assert_eq!(dropped(&outbox, Dropped::Unreachable), 1);
    }

    #[test]
    fn what_waited_too_long_is_not_sent() {
        let outbox = outbox(9);
        push(&outbox, "old", 0);
        push(&outbox, "young", 500_000);
        outbox.connected(Time::from_micros(1_200_000));
        assert_eq!(take(&outbox), ["young"]);
        assert_eq!(dropped(&outbox, Dropped::Stale), 1);
    }
}
