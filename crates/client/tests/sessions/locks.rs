//! Locks, and what becomes of them when a caller changes its mind.

use crate::fake::{Fake, soon};
use bellwether::{Client, ErrorKind, Lost, SessionEnd, SessionOptions, Token};
use bellwether_coordination::Ending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

#[tokio::test]
async fn a_lock_goes_from_one_to_the_next_and_tokens_grow() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    let lock = soon("the lock", async { one.lock("a").await }).await.unwrap();
    assert!(lock.is_held() && !lock.time_left().is_zero());
    let (place, mut places) = tokio::sync::watch::channel(None);
    let waiting = tokio::spawn({
        let two = two.clone();
        async move { two.lock("a").queue_position(place).await }
    });
    soon("its place", places.wait_for(|place| *place == Some(0))).await.unwrap();
    let first = lock.token();
    soon("the release", lock.release()).await.unwrap();
    let lock = soon("the lock", waiting).await.unwrap().unwrap();
    assert!(lock.token() > first);
    assert_eq!(lock.names(), ["a"]);
    drop(lock);
    fake.until("the lock to be free", |state| state.coordination.locks().is_empty()).await;
}

#[tokio::test]
async fn shared_ones_permits_and_several_at_once() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    let _shared = (one.lock("s").shared().await.unwrap(), two.lock("s").shared().await.unwrap());
    let _permits = one.lock("p").permits(2, 3).await.unwrap();
    let busy = two.lock("p").permits(2, 3).try_lock().await.unwrap_err();
    assert_eq!((busy.kind(), busy.name()), (ErrorKind::Busy, Some("p")), "{busy}");
    let both = one.lock("x").and("y").await.unwrap();
    for name in ["x", "y"] {
        assert_eq!(two.lock(name).try_lock().await.unwrap_err().kind(), ErrorKind::Busy);
    }
    both.release().await.unwrap();
    let _y = two.lock("y").try_lock().await.unwrap();
}

#[tokio::test]
async fn who_waits_no_longer_leaves_nothing_behind() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    let lock = one.lock("a").await.unwrap();
    let vain = two.lock("a").timeout(Duration::from_millis(20)).await.unwrap_err();
    assert_eq!(vain.kind(), ErrorKind::Timeout, "{vain}");
    let queue = |state: &crate::fake::State| state.coordination.locks()["a"].queue.len();
    fake.until("the queue to be empty", |state| queue(state) == 0).await;
    // The same by dropping the future.
    let waiting = tokio::spawn({
        let two = two.clone();
        async move { two.lock("a").await }
    });
    fake.until("a request to wait", |state| queue(state) == 1).await;
    waiting.abort();
    fake.until("the queue to be empty", |state| queue(state) == 0).await;
    lock.release().await.unwrap();
}

#[tokio::test]
async fn what_is_granted_to_one_who_has_gone_is_given_back() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    for _ in 0..50 {
        let lock = one.lock("a").await.unwrap();
        let waiting = tokio::spawn({
            let two = two.clone();
            async move { drop(two.lock("a").await) }
        });
        fake.until("a request to wait", |state| state.coordination.locks()["a"].queue.len() == 1)
            .await;
        // The grant and the giving up cross each other.
        drop(lock);
        tokio::task::yield_now().await;
        waiting.abort();
        fake.until("the lock to be free", |state| state.coordination.locks().is_empty()).await;
    }
}

#[tokio::test]
async fn a_lock_that_was_just_dropped_can_be_had_again_at_once() {
    let fake = Fake::new();
    let session = fake.session("one").await;
    for _ in 0..20 {
        drop(soon("the lock", async { session.lock("a").await }).await.unwrap());
    }
    // But not while it is held.
    let _held = session.lock("a").await.unwrap();
    let twice = session.lock("a").await.unwrap_err();
    assert_eq!((twice.kind(), twice.name()), (ErrorKind::AlreadyRequested, Some("a")), "{twice}");
}

#[tokio::test]
async fn a_lock_that_was_given_up_can_be_had_again_though_its_grant_was_lost() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    let lock = one.lock("a").await.unwrap();
    let waiting = tokio::spawn({
        let two = two.clone();
        async move { drop(two.lock("a").await) }
    });
    fake.until("a request to wait", |state| state.coordination.locks()["a"].queue.len() == 1).await;
    fake.state().loses_one_of = Some(1);
    drop(lock);
    let granted = |state: &crate::fake::State| {
        state.coordination.locks()["a"].holders.contains_key(&two.id())
    };
    fake.until("the grant", granted).await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    fake.state().loses_one_of = None;
    let again = soon("the lock", async { two.lock("a").await }).await.unwrap();
    again.release().await.unwrap();
}

#[tokio::test]
async fn a_deadlock_is_told_by_name() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    let (_a, _b) = (one.lock("a").await.unwrap(), two.lock("b").await.unwrap());
    let waiting = tokio::spawn({
        let one = one.clone();
        async move { one.lock("b").await }
    });
    fake.until("one to wait", |state| state.coordination.locks()["b"].queue.len() == 1).await;
    let error = soon("the deadlock", async { two.lock("a").await }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadlock, "{error}");
    let deadlock = error.deadlock().unwrap();
    assert_eq!(deadlock.cycle.len(), 2);
    let text = error.to_string();
    for word in ["one", "two", "'a'", "'b'"] {
        assert!(text.contains(word), "{text}");
    }
    drop(_b);
    drop(soon("the other one", waiting).await.unwrap().unwrap());
}

#[tokio::test]
async fn what_an_operator_takes_is_lost() {
    let fake = Fake::new();
    let (one, operator) = (fake.session("one").await, fake.client().await);
    let lock = one.lock("a").and("b").await.unwrap();
    operator.force_release("a", one.id(), "anna: it hangs").await.unwrap();
    let how = soon("the loss", lock.lost()).await;
    assert_eq!(how, Lost::ForceReleased { lock: "a".into(), by: "anna: it hangs".into() });
    assert!(!lock.is_held());
    let error = lock.release().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
    assert!(error.to_string().contains("anna"), "{error}");
    let error = operator.force_release("a", one.id(), "anna: again").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotHeld);
    fake.until("all to be free", |state| state.coordination.locks().is_empty()).await;
}

#[tokio::test]
async fn a_resource_checks_the_token_that_it_is_shown() {
    let fake = Fake::new();
    let (one, guard) = (fake.session("one").await, fake.client().await);
    let (lock, role) = (one.lock("a").await.unwrap(), one.campaign("r").await.unwrap());
    let check = async |of: &str, token| {
        let guard: &Client = &guard;
        let checked = async {
            match of {
                "r" => guard.check_role(of, token).await,
                of => guard.check_lock(of, token).await,
            }
        };
        soon("the answer", checked).await
    };
    let (of_lock, of_role) = ("a", "r");
    assert_eq!(check(of_lock, lock.token()).await.unwrap(), one.id());
    assert_eq!(check(of_role, role.token()).await.unwrap(), one.id());
    // A token of something else, one that was never given, and one of an older term.
    for (of, token) in [
        (of_lock, role.token()),
        (of_role, lock.token()),
        (of_lock, Token(u64::MAX)),
        (of_lock, Token(1 << 32 | 1)),
    ] {
        let error = check(of, token).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StaleToken, "{error}");
    }
    let (old, held) = (lock.token(), check(of_lock, lock.token()).await.is_ok());
    assert!(held && lock.is_held(), "asking changes nothing");
    soon("the release", lock.release()).await.unwrap();
    let lock = one.lock("a").await.unwrap();
    let error = check(of_lock, old).await.unwrap_err();
    assert!(error.to_string().contains("term 3"), "{error}");
    assert_eq!(check(of_lock, lock.token()).await.unwrap(), one.id());
    let error = check(&"x".repeat(2_000), old).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
}

#[tokio::test]
async fn with_a_session_all_is_lost() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    let (_b, lock) = (two.lock("b").await.unwrap(), one.lock("a").await.unwrap());
    let waiting = tokio::spawn({
        let one = one.clone();
        async move { one.lock("b").await }
    });
    fake.until("one to wait", |state| state.coordination.locks()["b"].queue.len() == 1).await;
    fake.end(one.id(), Ending::Expired);
    let over = SessionEnd::Expired;
    assert_eq!(soon("the loss", lock.lost()).await, Lost::SessionEnded(over));
    assert_eq!(soon("the loss", lock.lost()).await, Lost::SessionEnded(over), "at once");
    assert_eq!(soon("the end", one.lost()).await, over);
    let error = soon("the error", waiting).await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.session_end()), (ErrorKind::SessionEnded, Some(over)));
    assert_eq!(one.lock("c").await.unwrap_err().session_end(), Some(over));
    assert_eq!(lock.release().await.unwrap_err().kind(), ErrorKind::SessionEnded);
    assert!(!one.is_alive());
}

#[tokio::test]
async fn it_is_lost_here_before_it_is_granted_there() {
    let fake = Fake::new();
    fake.state().expires = true;
    let (client, other) = (fake.client().await, fake.client().await);
    let ttl = Duration::from_secs(1);
    let short = SessionOptions { ttl, ..SessionOptions::named("short") };
    let long = SessionOptions { ttl: Duration::from_secs(60), ..SessionOptions::named("long") };
    let (one, two) = (client.session(short).await.unwrap(), other.session(long).await.unwrap());
    let lock = one.lock("a").await.unwrap();
    let lost = Arc::new(AtomicBool::new(false));
    let losing = tokio::spawn({
        let lost = lost.clone();
        async move {
            let how = lock.lost().await;
            lost.store(true, Ordering::SeqCst);
            how
        }
    });
    // From now on no message arrives; the coordinator ends the session when its time is over.
    let granted = tokio::spawn({
        let (two, lost) = (two.clone(), lost.clone());
        async move {
            let lock = two.lock("a").await.unwrap();
            (lost.load(Ordering::SeqCst), lock)
        }
    });
    fake.until("two to wait", |state| state.coordination.locks()["a"].queue.len() == 1).await;
    fake.state().mute.push(1);
    assert_eq!(
        soon("the loss", losing).await.unwrap(),
        Lost::SessionEnded(SessionEnd::DeadlinePassed)
    );
    let (before, _lock) = soon("the grant", granted).await.unwrap();
    assert!(before);
}

#[tokio::test]
async fn many_sessions_share_a_connection_and_exclude_each_other() {
    let fake = Fake::new();
    let client = fake.client().await;
    let (inside, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..32 {
        let session = client.session(SessionOptions::named(format!("{number}"))).await.unwrap();
        let (inside, done) = (inside.clone(), done.clone());
        tasks.spawn(async move {
            for _ in 0..10 {
                let lock = session.lock("a").await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                done.fetch_add(1, Ordering::SeqCst);
                lock.release().await.unwrap();
            }
        });
    }
    soon("all of them", async { while tasks.join_next().await.is_some() {} }).await;
    assert_eq!(done.load(Ordering::SeqCst), 320);
}

#[tokio::test]
async fn what_is_too_large_for_any_cluster_is_not_sent() {
    let fake = Fake::new();
    let session = fake.session("one").await;
    let requests = fake.state().requests;
    let long = "x".repeat(1 << 20);
    for error in [
        session.lock(&long).await.unwrap_err(),
        session.lock("").await.unwrap_err(),
        session.lock("a\u{1b}[2J").await.unwrap_err(),
        session.lock("a\nb").await.unwrap_err(),
        session.campaign(&long).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{error}");
    }
    let error = session.campaign("r").value(&long).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ValueTooLarge);
    let many = (0..10_000).fold(session.lock("0"), |lock, n| lock.and(format!("lock {n}")));
    assert_eq!(many.await.unwrap_err().kind(), ErrorKind::LimitReached);
    assert_eq!(fake.state().requests, requests);
    let error = fake.client().await.session(SessionOptions::named("")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
}
