//! How many sessions one client may have at this member, so that none takes all that there are.
//!
//! - Q1: A session counts for the client that opened it, by its [identity](Caller::identity), at the member where
//!   it did. The members do not tell each other: a client may have as many at each.
//! - Q2: It counts as soon as it is asked for, by its key. Asking again with the same key costs nothing.
//! - Q3: It counts until the member's committed entries no longer have it. That is looked up for clients
//!   that have half of what they may have, at most once a second.
//! - Q4: A session that was asked for a moment ago counts even if there is no entry for it yet.

use crate::callers::{Caller, Identity};
use crate::handle::Handle;
use bellwether_coordination::{Coordination, Refusal, Reply, Request, Secret};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// The state is looked at no more often.
const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// What was asked for so lately may not have an entry yet (Q4).
const FRESH: Duration = Duration::from_secs(2);

/// The sessions of each client.
pub(crate) struct Quota {
    /// Of one client.
    most: AtomicUsize,
    /// Of all together; beyond it, some must have ended.
    all: AtomicUsize,
    inner: Mutex<Inner>,
    /// A client comes near the limit.
    crowded: Notify,
}

#[derive(Default)]
struct Inner {
    /// By key, when each was last asked for.
    sessions: BTreeMap<Identity, BTreeMap<Secret, Instant>>,
    total: usize,
}

impl Quota {
    /// With these limits of sessions: of one client, and of all together.
    pub(crate) fn new(most: u32, all: u32) -> Arc<Self> {
        let (inner, crowded) = (Mutex::default(), Notify::new());
        let (most, all) = (AtomicUsize::new(most as usize), AtomicUsize::new(all as usize));
        Arc::new(Quota { most, all, inner, crowded })
    }

    /// Other limits from now on. Sessions beyond them stay.
    pub(crate) fn limit(&self, most: u32, all: u32) {
        self.most.store(most as usize, Ordering::Relaxed);
        self.all.store(all as usize, Ordering::Relaxed);
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    fn all(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing here panics while it holds the lock; if it did, what it left is still good.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a session that a client asks for, unless it has too many.
    pub(crate) fn open(&self, who: &Caller, key: Secret) -> Result<(), Refusal> {
        let mut inner = self.lock();
        let Inner { sessions, total } = &mut *inner;
        let own = sessions.entry(who.identity()).or_default();
        let full = own.len() >= self.most() && !own.contains_key(&key);
        if !full && own.insert(key, Instant::now()).is_none() {
            *total += 1;
        }
        if own.len() > self.most() / 2 || *total > self.all() {
            self.crowded.notify_one();
        }
        if full { Err(Refusal::TooManyOfClient(self.most() as u32)) } else { Ok(()) }
    }

    /// Takes out what a client may not ask for, and gives the answers to that.
    pub(super) fn sift(&self, who: &Caller, requests: &mut Vec<Request>) -> Vec<Reply> {
        let mut refused = Vec::new();
        requests.retain(|request| {
            let Request::Open { key, sent, .. } = *request else { return true };
            match self.open(who, key) {
                Ok(()) => true,
                Err(why) => {
                    refused.push(Reply::Opened { key, result: Err(why), sent });
                    false
                }
            }
        });
        refused
    }

    /// Q3.
    fn forget_ended(&self, coordination: &Coordination, now: Instant) {
        let mut inner = self.lock();
        let Inner { sessions, total } = &mut *inner;
        let all = *total > self.all();
        for own in sessions.values_mut() {
            if all || own.len() > self.most() / 2 {
                let before = own.len();
                own.retain(|key, asked| {
                    now < *asked + FRESH || coordination.session_of(*key).is_some()
                });
                *total -= before - own.len();
            }
        }
        sessions.retain(|_, own| !own.is_empty());
    }
}

/// Looks at the member's state when a client comes near the limit, until the member has ended.
pub(crate) async fn keep_count(quota: Arc<Quota>, handle: Handle) {
    loop {
        quota.crowded.notified().await;
        let counted = quota.clone();
        if handle
            .look(Box::new(move |coordination, _| {
                counted.forget_ended(coordination, Instant::now())
            }))
            .await
            .is_none()
        {
            return;
        }
        sleep(LOOKS_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_coordination::Command;

    fn user(uid: u32) -> Caller {
        Caller::Process { uid: Some(uid), pid: Some(1) }
    }

    fn open(key: u128) -> Request {
        Request::Open { key: Secret(key), client: "a".to_owned(), ttl_ms: 1_000, sent: 7 }
    }

    #[test]
    fn one_client_has_no_more_than_its_share_and_gets_it_back() {
        let quota = Quota::new(2, 100);
        let (one, other) = (user(1), user(2));
        let full = || Refusal::TooManyOfClient(2);
        for key in [1, 2, 1, 2].map(Secret) {
            assert_eq!(quota.open(&one, key), Ok(()), "asked again is not asked for more");
        }
        assert_eq!(quota.open(&one, Secret(3)), Err(full()));
        assert_eq!(quota.open(&other, Secret(4)), Ok(()));
        let (session, key) = (bellwether_coordination::SessionId(1), Secret(1));
        let mut requests = vec![open(5), Request::Close { session, key }, open(1)];
        let refused = quota.sift(&one, &mut requests);
        assert_eq!(refused, [Reply::Opened { key: Secret(5), result: Err(full()), sent: 7 }]);
        assert_eq!((requests.len(), &requests[1]), (2, &open(1)));

        // The first was opened, the second never was, or has ended.
        let mut coordination = Coordination::default();
        coordination.apply(&Command::Begin {
            term: 1,
            limits: Default::default(),
            on_deadlock: Default::default(),
        });
        coordination.apply(&Command::Open {
            key: Secret(1),
            client: "a".to_owned(),
            ttl_ms: 1_000,
            at: 0,
        });
        let now = Instant::now();
        quota.forget_ended(&coordination, now);
        assert_eq!(quota.open(&one, Secret(3)), Err(full()), "they may just be on their way");
        quota.forget_ended(&coordination, now + FRESH);
        assert_eq!(quota.open(&one, Secret(3)), Ok(()));
        assert_eq!(quota.open(&one, Secret(6)), Err(full()));
    }

    #[test]
    fn clients_that_come_and_go_are_forgotten() {
        let quota = Quota::new(10, 100);
        for uid in 0..101 {
            assert_eq!(quota.open(&user(uid), Secret(uid.into())), Ok(()));
        }
        quota.forget_ended(&Coordination::default(), Instant::now() + FRESH);
        let inner = quota.lock();
        assert_eq!((inner.sessions.len(), inner.total), (0, 0));
    }
}
