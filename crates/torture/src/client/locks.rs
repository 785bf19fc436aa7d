//! Locks: one to three requests, each made while those before it are held, in any order. So there are
//! deadlocks.

use super::super::history::{Mode, Want, Way};
use super::worker::{Held, Worker};
use bellwether::{Lock, LockRequest, Session};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The permits of every semaphore.
const PERMITS: u32 = 3;

/// How long a request is worth waiting for.
enum Patience {
    /// It is not waited for at all.
    None,
    /// The request says how long.
    Within(Duration),
    /// The future is dropped then.
    Until(Duration),
    Endless,
}

impl Worker {
    /// Takes some locks one after the other, holds them a moment, and gives them back.
    pub(super) async fn lock_some(&mut self, session: &Session) {
        let mut held: Vec<Held<Lock>> = Vec::new();
        for _ in 0..=self.chance.below(3) {
            if self.context.is_ending() {
                break;
            }
            match self.lock_another(session, &held).await {
                Some(lock) => held.push(lock),
                None => break,
            }
            let span = self.chance.millis(0, 12);
            self.meanwhile(&held, sleep(span)).await;
        }
        self.chance.shuffle(&mut held);
        while let Some(lock) = held.pop() {
            self.give_back(lock, &held).await;
        }
    }

    async fn lock_another(&mut self, session: &Session, held: &[Held<Lock>]) -> Option<Held<Lock>> {
        let wants = self.wants(held);
        let patience = self.patience(held);
        let (waits, limit) = match patience {
            Patience::None => (false, None),
            Patience::Within(span) | Patience::Until(span) => (true, Some(span)),
            Patience::Endless => (true, None),
        };
        let mut request = request(session, &wants)?;
        let (ask, place) = self.asks(session, wants, waits, limit);
        request = request.queue_position(place);
        request = match patience {
            Patience::None => request.try_lock(),
            Patience::Within(span) => request.timeout(span),
            Patience::Until(_) | Patience::Endless => request,
        };
        let answer = async {
            match patience {
                Patience::Until(span) => timeout(span, request.into_future()).await.ok(),
                _ => Some(request.await),
            }
        };
        let result = self.meanwhile(held, answer).await;
        self.answered(ask, result)
    }

    fn patience(&mut self, held: &[Held<Lock>]) -> Patience {
        // Nothing else would end a deadlock on etcd.
        let ends = self.context.on_etcd && !held.is_empty();
        match self.chance.below(10) {
            0..2 => Patience::None,
            2..5 => Patience::Within(self.chance.millis(1, 400)),
            6.. if ends => Patience::Within(self.chance.millis(1, 400)),
            5..6 => Patience::Until(self.chance.millis(0, 200)),
            _ => Patience::Endless,
        }
    }

    /// What is wanted next: locks or semaphores that this worker does not hold.
    fn wants(&mut self, held: &[Held<Lock>]) -> Vec<Want> {
        let mut free: Vec<u64> = (0..self.context.locks).collect();
        let names: Vec<&String> = held.iter().flat_map(|held| held.guard.names()).collect();
        free.retain(|lock| !names.contains(&&name(*lock)));
        self.chance.shuffle(&mut free);
        let count = match self.chance.below(10) {
            _ if self.context.on_etcd => 1,
            0..7 => 1,
            7..9 => 2,
            _ => 3,
        };
        free.truncate(count);
        let want = |lock: u64| Want { name: name(lock), mode: self.mode(lock) };
        free.into_iter().map(want).collect()
    }

    /// Every third lock is a semaphore.
    fn mode(&mut self, lock: u64) -> Mode {
        match lock % 3 {
            _ if self.context.on_etcd => Mode::Exclusive,
            2 => Mode::Permits { take: 1 + self.chance.below(2) as u32, of: PERMITS },
            _ if self.chance.percent(25) => Mode::Shared,
            _ => Mode::Exclusive,
        }
    }

    async fn give_back(&mut self, lock: Held<Lock>, others: &[Held<Lock>]) {
        if !self.still(&lock).await {
            return;
        }
        let Held { ask, guard } = lock;
        if self.chance.percent(25) {
            self.gives_back(ask, Way::Drops);
            drop(guard);
            self.gave_back(ask, Ok(()));
        } else {
            self.gives_back(ask, Way::Asks);
            let result = self.meanwhile(others, guard.release()).await;
            self.gave_back(ask, result);
        }
    }
}

fn name(lock: u64) -> String {
    format!("lock-{lock}")
}

/// A request for all of these; nothing for none.
fn request(session: &Session, wants: &[Want]) -> Option<LockRequest> {
    let mut request: Option<LockRequest> = None;
    for want in wants {
        let next = match request {
            None => session.lock(&want.name),
            Some(request) => request.and(&want.name),
        };
        request = Some(match want.mode {
            Mode::Shared => next.shared(),
            Mode::Permits { take, of } => next.permits(take, of),
            Mode::Exclusive | Mode::Role { .. } => next,
        });
    }
    request
}
