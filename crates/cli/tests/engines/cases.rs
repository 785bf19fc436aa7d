//! What is promised on both engines, without faults.

use crate::rig::{PATIENCE, Rig, TTL, session, session_of, until};
use bellwether::{Client, ErrorKind, Lost, Session, SessionEnd, Token};
use bellwether_linear::locks::{History, Mode};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};

const MS: Duration = Duration::from_millis(1);

/// Writes down what happens, in order.
#[derive(Default)]
struct Book {
    history: History,
    moment: u64,
    inside: u32,
    last: Token,
}

impl Book {
    fn now(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }
}

pub(crate) async fn exclusion_is_linearizable_and_tokens_grow(rig: &mut Rig) {
    let sessions = workers(rig, TTL).await;
    contend(sessions, 8, async {}).await;
}

/// Six sessions, each of a client of its own.
pub(crate) async fn workers(rig: &Rig, ttl: Duration) -> Vec<Session> {
    let mut sessions = Vec::new();
    for _ in 0..6 {
        sessions.push(session_of(&rig.client().await, "worker", ttl).await);
    }
    sessions
}

/// All of these want one lock this many times at least, and until something has been done.
pub(crate) async fn contend(sessions: Vec<Session>, times: usize, done: impl Future<Output = ()>) {
    let book = Rc::new(RefCell::new(Book::default()));
    let (local, (over, is_over)) = (LocalSet::new(), watch::channel(false));
    for (who, session) in (0..).zip(sessions) {
        let (book, is_over) = (book.clone(), is_over.clone());
        local.spawn_local(async move {
            let mut had = 0;
            while had < times || !*is_over.borrow() {
                had += 1;
                let request = {
                    let mut book = book.borrow_mut();
                    let now = book.now();
                    book.history.asks(who, vec![(0, Mode::Exclusive)], true, now)
                };
                let lock = session.lock("exclusive").timeout(PATIENCE).await.unwrap();
                {
                    let mut book = book.borrow_mut();
                    let now = book.now();
                    book.history.granted(request, lock.token().0, now);
                    assert_eq!(book.inside, 0, "two hold one lock");
                    assert!(lock.token() > book.last, "{} after {}", lock.token(), book.last);
                    (book.inside, book.last) = (1, lock.token());
                }
                tokio::task::yield_now().await;
                let operation = {
                    let mut book = book.borrow_mut();
                    book.inside = 0;
                    let now = book.now();
                    book.history.releases(request, now)
                };
                lock.release().await.unwrap();
                let mut book = book.borrow_mut();
                let now = book.now();
                book.history.answered(operation, true, now);
            }
        });
    }
    local
        .run_until(async {
            done.await;
            over.send_replace(true);
        })
        .await;
    local.await;
    let book = book.borrow();
    book.history.check(2_000_000).unwrap_or_else(|wrong| panic!("{wrong:?}"));
}

/// A request that waits, from when its place is known.
pub(crate) async fn queued(
    session: &Session,
    name: &str,
) -> (u64, impl Future<Output = Result<bellwether::Lock, bellwether::Error>> + use<>) {
    let (place, mut places) = watch::channel(None);
    let mut request = Box::pin(session.lock(name).queue_position(place).into_future());
    let behind = tokio::select! {
        _ = &mut request => panic!("it is granted while another holds it"),
        place = places.wait_for(Option::is_some) => place.unwrap().unwrap(),
    };
    (behind, request)
}

pub(crate) async fn the_first_to_come_is_the_first_served(rig: &mut Rig) {
    let holder = rig.session("holder").await;
    let lock = holder.lock("queue").await.unwrap();
    let (client, mut waiting) = (rig.client().await, Vec::new());
    for place in 0..5 {
        let session = session(&client, "waiter").await;
        let (behind, request) = queued(&session, "queue").await;
        waiting.push(request);
        assert_eq!(behind, place, "the holder does not count");
    }
    let mut last = lock.token();
    lock.release().await.unwrap();
    for (place, next) in waiting.into_iter().enumerate() {
        let lock =
            tokio::time::timeout(PATIENCE, next).await.expect("its turn never comes").unwrap();
        assert!(lock.token() > last, "place {place}");
        last = lock.token();
        lock.release().await.unwrap();
    }
}

pub(crate) async fn a_request_that_does_not_wait_is_busy(rig: &mut Rig) {
    let (one, other) = (rig.session("one").await, rig.session("other").await);
    let lock = one.lock("busy").try_lock().await.unwrap();
    for _ in 0..3 {
        let error = other.lock("busy").try_lock().await.unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::Busy, Some("busy")), "{error}");
    }
    lock.release().await.unwrap();
    other.lock("busy").try_lock().await.unwrap().release().await.unwrap();
}

pub(crate) async fn a_request_that_times_out_leaves_nothing_behind(rig: &mut Rig) {
    let (one, other) = (rig.session("one").await, rig.session("other").await);
    let lock = one.lock("slow").await.unwrap();
    let error = other.lock("slow").timeout(100 * MS).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.to_string().starts_with("cannot lock 'slow': timed out"), "{error}");
    lock.release().await.unwrap();
    // No request is before it.
    let third = rig.session("third").await;
    free(&third, "slow").await;
}

/// That a lock can be had at once, as soon as what was given up is given back.
async fn free(session: &Session, name: &str) {
    session.lock(name).timeout(PATIENCE).await.unwrap().release().await.unwrap();
}

pub(crate) async fn requests_may_be_dropped_at_every_step(rig: &mut Rig) {
    let (one, other) = (rig.session("one").await, rig.session("other").await);
    for held in [false, true] {
        for steps in 0..24 {
            let lock = match held {
                true => Some(one.lock("dropped").timeout(PATIENCE).await.unwrap()),
                false => None,
            };
            {
                let mut request = pin!(other.lock("dropped").into_future());
                for _ in 0..steps {
                    let ready =
                        poll_fn(|cx| Poll::Ready(request.as_mut().poll(cx).is_ready())).await;
                    if ready {
                        break;
                    }
                    tokio::time::sleep(MS / 4).await;
                }
            }
            drop(lock);
            free(&one, "dropped").await;
        }
    }
    // The same session can ask again.
    free(&other, "dropped").await;
}

pub(crate) async fn a_guard_that_is_dropped_gives_back(rig: &mut Rig) {
    let (one, other) = (rig.session("one").await, rig.session("other").await);
    drop(one.lock("guard").await.unwrap());
    free(&other, "guard").await;
    drop(one.campaign("guard-role").await.unwrap());
    let led = other.campaign("guard-role").timeout(PATIENCE).await.unwrap();
    led.resign().await.unwrap();
}

pub(crate) async fn a_session_that_ends_gives_back_all(rig: &mut Rig) {
    let (one, other) = (rig.session("one").await, rig.session("other").await);
    let locks = [one.lock("all-1").await.unwrap(), one.lock("all-2").await.unwrap()];
    one.clone().close().await;
    for lock in &locks {
        assert!(!lock.is_held());
        assert_eq!(lock.lost().await, Lost::SessionEnded(SessionEnd::Closed));
    }
    free(&other, "all-1").await;
    free(&other, "all-2").await;
    let error = one.lock("all-1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SessionEnded, "{error}");
}

pub(crate) async fn a_session_asks_once_for_a_lock(rig: &mut Rig) {
    let session = rig.session("one").await;
    let lock = session.lock("twice").await.unwrap();
    let error = session.lock("twice").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyRequested, "{error}");
    lock.release().await.unwrap();
    free(&session, "twice").await;
}

pub(crate) async fn names_may_have_any_characters(rig: &mut Rig) {
    let session = rig.session("an odd name: ä/%2F\"").await;
    let names =
        ["odd", "odd/b", "odd/b/c", "odd%2Fb", "odd//", "/odd", " odd ", "ödd 🐑", "odd\\", "%"];
    let mut locks = Vec::new();
    for name in names {
        locks.push(session.lock(name).timeout(PATIENCE).await.unwrap());
        // A role may be called like a lock.
        let role = session.campaign(name).timeout(PATIENCE).await.unwrap();
        role.resign().await.unwrap();
    }
    let client = rig.client().await;
    for lock in locks {
        let name = lock.names()[0].clone();
        assert_eq!(client.check_lock(&name, lock.token()).await.unwrap(), session.id(), "{name}");
        lock.release().await.unwrap();
    }
    for name in ["", "a\nb"] {
        let error = session.lock(name).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{error}");
    }
}

pub(crate) async fn tokens_are_checked(rig: &mut Rig) {
    let (client, session) = (rig.client().await, rig.session("one").await);
    let lock = session.lock("checked").await.unwrap();
    let token = lock.token();
    assert_eq!(client.check_lock("checked", token).await.unwrap(), session.id());
    let stale =
        |error: bellwether::Error| assert_eq!(error.kind(), ErrorKind::StaleToken, "{error}");
    stale(client.check_lock("checked", Token(token.0 + 1)).await.unwrap_err());
    stale(client.check_lock("other", token).await.unwrap_err());
    stale(client.check_role("checked", token).await.unwrap_err());
    lock.release().await.unwrap();
    stale(client.check_lock("checked", token).await.unwrap_err());
    let role = session.campaign("checked").await.unwrap();
    assert_eq!(client.check_role("checked", role.token()).await.unwrap(), session.id());
    assert!(role.token() > token);
    role.resign().await.unwrap();
}

pub(crate) async fn roles_have_values_and_are_passed_on(rig: &mut Rig) {
    let (one, other) = (rig.session("one").await, rig.session("other").await);
    let leads = one.campaign("primary").value("host-1").await.unwrap();
    let (place, mut places) = watch::channel(None);
    let mut next =
        Box::pin(other.campaign("primary").value("host-2").queue_position(place).into_future());
    tokio::select! {
        _ = &mut next => panic!("two lead one role"),
        place = places.wait_for(Option::is_some) => drop(place.unwrap()),
    }
    let mut observer = rig.client().await.observe("primary").await.unwrap();
    let value = |observer: &bellwether::Observer| {
        observer.current().leader.map(|leader| String::from_utf8(leader.value).unwrap())
    };
    assert_eq!(value(&observer).as_deref(), Some("host-1"));
    leads.proclaim("host-1b").await.unwrap();
    until("the new value", || value(&observer).as_deref() == Some("host-1b")).await;
    let before = leads.token();
    leads.resign().await.unwrap();
    let leads = tokio::time::timeout(PATIENCE, next).await.expect("no leader follows").unwrap();
    assert!(leads.token() > before);
    until("the next leader", || value(&observer).as_deref() == Some("host-2")).await;
    leads.resign().await.unwrap();
    until("no leader", || observer.current().leader.is_none()).await;
    // Nothing was left out.
    let mut values = Vec::new();
    while let Ok(Some(status)) = tokio::time::timeout(50 * MS, observer.next()).await {
        values.push(status.leader.map(|leader| String::from_utf8(leader.value).unwrap()));
    }
    values.retain(Option::is_some);
    values.dedup();
    assert_eq!(values, ["host-1", "host-1b", "host-2"].map(|value| Some(value.to_owned())));
}

pub(crate) async fn observers_see_every_leader(rig: &mut Rig) {
    let mut observer = rig.client().await.observe("relay").await.unwrap();
    let sessions = [rig.session("a").await, rig.session("b").await, rig.session("c").await];
    let mut led = Vec::new();
    for round in 0..15 {
        let leads = sessions[round % 3].campaign("relay").timeout(PATIENCE).await.unwrap();
        led.push(leads.token());
        leads.resign().await.unwrap();
    }
    let mut seen = Vec::new();
    while seen.last() != led.last() {
        let status =
            tokio::time::timeout(PATIENCE, observer.next()).await.expect("a leader is missing");
        seen.extend(status.unwrap().leader.map(|leader| leader.token));
        seen.dedup();
    }
    assert_eq!(seen, led);
}

pub(crate) async fn work_runs_while_the_role_is_led(rig: &mut Rig) {
    let client = rig.client().await;
    let token = client.lead("work", |leadership| async move { leadership.token() }).await.unwrap();
    let again = client.lead("work", |leadership| async move { leadership.token() }).await.unwrap();
    assert!(again > token);
    let error = client.lead("", |_| async {}).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
}

pub(crate) async fn two_hundred_wait(rig: &mut Rig) {
    let holder = rig.session("holder").await;
    let lock = holder.lock("crowd").await.unwrap();
    let client: Client = rig.client().await;
    let mut waiting = JoinSet::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..200 {
        let session = client.session(bellwether::SessionOptions {
            ttl: 2 * TTL,
            ..bellwether::SessionOptions::named("waiter")
        });
        let session = session.await.unwrap();
        let (place, mut places) = watch::channel(None);
        let order = order.clone();
        waiting.spawn(async move {
            let lock = session.lock("crowd").queue_position(place).await.unwrap();
            // The next one is served after the release.
            order.lock().unwrap().push(lock.token());
            lock.release().await.unwrap();
        });
        let known = places.wait_for(Option::is_some);
        tokio::time::timeout(PATIENCE, known).await.expect("it does not even wait").unwrap();
    }
    if let Some(servers) = rig.servers() {
        let watches =
            |server| servers.metric(server, "etcd_debugging_mvcc_watcher_total").unwrap_or(0.0);
        let watches: f64 = (0..3).map(watches).sum();
        assert!(watches <= 200.0, "{watches} watches for 200 waiters");
    }
    lock.release().await.unwrap();
    while let Some(waiter) = waiting.join_next().await {
        waiter.unwrap();
    }
    let order = order.lock().unwrap();
    assert!(order.is_sorted(), "tokens grow in the order of service");
    assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 200);
}

pub(crate) async fn lists_tell_who_has_what(rig: &mut Rig) {
    let (client, one, other) =
        (rig.client().await, rig.session("one").await, rig.session("other").await);
    let lock = one.lock("listed/1").await.unwrap();
    let (_, waiting) = queued(&other, "listed/1").await;
    let role = other.campaign("listed role").value("v").await.unwrap();
    let listed = async {
        // A member shows its own copy, which may be behind by a moment.
        loop {
            let locks = client.locks().await.unwrap();
            let found = locks.into_iter().find(|lock| lock.name == "listed/1");
            match found {
                Some(lock) if lock.waiter_count == 1 => return lock,
                _ => tokio::time::sleep(MS).await,
            }
        }
    };
    let listed = tokio::time::timeout(PATIENCE, listed).await.expect("it is not listed");
    let holder = &listed.holders[0];
    assert_eq!(
        (holder.session, holder.client.as_str(), holder.token),
        (one.id(), "one", lock.token())
    );
    assert_eq!(
        (listed.waiters[0].session, listed.waiters[0].client.as_str()),
        (other.id(), "other")
    );
    let roles = client.roles().await.unwrap();
    let found = roles
        .iter()
        .find(|role| role.name == "listed role")
        .and_then(|role| role.leader.clone())
        .unwrap();
    assert_eq!(
        (found.session, found.token, found.value.as_slice()),
        (other.id(), role.token(), &b"v"[..])
    );
    let sessions = client.sessions().await.unwrap();
    let found = sessions.iter().find(|session| session.session == other.id()).unwrap();
    assert_eq!((found.client.as_str(), found.ttl), ("other", TTL));
    assert_eq!(
        (found.waits_for.as_slice(), found.leads.as_slice()),
        (&["listed/1".to_owned()][..], &["listed role".to_owned()][..])
    );
    drop(waiting);
    role.resign().await.unwrap();
    lock.release().await.unwrap();
}
