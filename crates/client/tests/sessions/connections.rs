//! Connections that break, members that are silent, coordinators that are not there.

use crate::fake::{Fake, soon};
use bellwether::{Client, Endpoints, ErrorKind, Lost, SessionEnd, SessionOptions};
use bellwether_coordination::{Ending, Reply};
use std::time::Duration;

#[tokio::test]
async fn no_member_answers() {
    let endpoints = Endpoints::unix("/nowhere/at/all.sock").timeout(Duration::from_millis(50));
    let error = soon("an error", Client::connect(endpoints)).await.unwrap_err();
    assert_eq!((error.kind(), error.tried().len()), (ErrorKind::Unavailable, 1));
    assert!(error.to_string().contains("/nowhere/at/all.sock"), "{error}");
}

#[tokio::test]
async fn members_without_a_coordinator() {
    let fake = Fake::new();
    fake.state().vacant = true;
    let endpoints = fake.endpoints(&[1]).timeout(Duration::from_millis(200));
    let client = Client::connect(endpoints).await.unwrap();
    let session = client.session(SessionOptions::default());
    let error = soon("an error", session).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoCoordinator, "{error}");
    assert_eq!(client.coordinator(), None);
    // As soon as there is one, all goes on.
    fake.announce(Some(1));
    let session = client.session(SessionOptions::default());
    soon("a session", session).await.unwrap();
    assert_eq!(client.coordinator(), Some(1));
}

#[tokio::test]
async fn requests_without_a_coordinator_are_sent_again() {
    let fake = Fake::new();
    let session = fake.session("one").await;
    fake.announce(None);
    fake.until("a request", |state| state.vacant).await;
    let waiting = tokio::spawn({
        let session = session.clone();
        async move { session.lock("a").await }
    });
    let requests = fake.state().requests;
    fake.until("the request", |state| state.requests > requests).await;
    fake.announce(Some(1));
    drop(soon("the lock", waiting).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_session_moves_to_another_member_and_back() {
    let mut fake = Fake::new();
    fake.open(2);
    let client = Client::connect(fake.endpoints(&[1, 2])).await.unwrap();
    assert_eq!(client.member(), Some(1));
    let session = client.session(SessionOptions::default()).await.unwrap();
    let lock = session.lock("a").await.unwrap();
    session.watch_process(77).await.unwrap();
    fake.close(1);
    let b = soon("another lock", async { session.lock("b").await }).await.unwrap();
    assert_eq!(client.member(), Some(2));
    assert!(lock.is_held() && b.is_held());
    let watched = |state: &crate::fake::State| state.watched.clone();
    fake.until("it to be watched there, too", |state| watched(state).len() == 2).await;
    assert_eq!(watched(&fake.state()), [(session.id(), 77); 2]);
    // It is a local client in the end, whichever member it talks to: only from TLS it goes home.
    fake.open(1);
    fake.close(2);
    soon("the release", lock.release()).await.unwrap();
    assert_eq!(client.member(), Some(1));
}

#[tokio::test]
async fn a_member_that_is_silent_is_left() {
    let mut fake = Fake::new();
    fake.open(2);
    let client = Client::connect(fake.endpoints(&[1, 2])).await.unwrap();
    let ttl = Duration::from_secs(3);
    let options = SessionOptions { ttl, ..SessionOptions::default() };
    let session = client.session(options).await.unwrap();
    let lock = session.lock("a").await.unwrap();
    fake.state().mute.push(1);
    let _other = soon("another lock", async { session.lock("b").await }).await.unwrap();
    assert_eq!(client.member(), Some(2));
    assert!(lock.is_held());
}

#[tokio::test]
async fn lost_replies_are_asked_for_again_and_nothing_is_done_twice() {
    let fake = Fake::new();
    fake.state().loses_one_of = Some(3);
    let client = fake.client().await;
    let ttl = Duration::from_millis(400);
    for name in ["one", "two"] {
        let options = SessionOptions { ttl, ..SessionOptions::named(name) };
        let session = soon("a session", client.session(options)).await.unwrap();
        for _ in 0..5 {
            let lock = soon("the lock", async { session.lock("a").await }).await.unwrap();
            soon("the release", lock.release()).await.unwrap();
        }
        soon("the end", session.close()).await;
    }
    let state = fake.state();
    assert!(state.coordination.locks().is_empty() && state.coordination.sessions().is_empty());
}

#[tokio::test]
async fn what_is_dropped_is_closed() {
    let fake = Fake::new();
    let client = fake.client().await;
    let session = client.session(SessionOptions::default()).await.unwrap();
    let lock = session.lock("a").await.unwrap();
    drop(session);
    assert!(lock.is_held(), "a guard keeps its session open");
    let id = lock.session().id();
    assert!(fake.state().coordination.sessions().contains_key(&id));
    drop(client);
    drop(lock);
    fake.until("the session to end", |state| state.coordination.sessions().is_empty()).await;
    // A session whose caller no longer waits.
    let client = fake.client().await;
    let opening = tokio::spawn(async move { client.session(SessionOptions::default()).await });
    opening.abort();
    let _ = opening.await;
    fake.until("no session", |state| state.coordination.sessions().is_empty()).await;
}

#[tokio::test]
async fn a_process_that_cannot_be_watched_is_named() {
    let fake = Fake::new();
    let session = fake.session("one").await;
    session.watch_process(5).await.unwrap();
    let error = session.watch_process(0).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotWatched, "{error}");
    assert!(error.to_string().contains("process 0"), "{error}");
}

#[tokio::test]
async fn a_ttl_that_the_cluster_does_not_allow_is_refused() {
    let fake = Fake::new();
    let client = fake.client().await;
    let ttl = Duration::from_secs(3_600);
    let options = SessionOptions { ttl, ..SessionOptions::default() };
    let error = soon("an error", client.session(options)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidTtl, "{error}");
}

/// Members 1 and 2 with a short lease.
fn pair() -> Fake {
    let mut fake = Fake::new();
    fake.open(2);
    fake.state().lease_ms = 300;
    fake
}

/// How long the members may be silent, and something on top for a busy machine.
const SOON: Duration = Duration::from_millis(1_500);

#[tokio::test]
async fn a_client_of_a_member_without_a_coordinator_goes_to_one_that_has_one() {
    let fake = pair();
    let client = Client::connect(fake.endpoints(&[1, 2])).await.unwrap();
    let session = client.session(SessionOptions::default()).await.unwrap();
    let lock = session.lock("a").await.unwrap();
    fake.state().cut_off.push(1);
    let began = tokio::time::Instant::now();
    let _b = soon("another lock", async { session.lock("b").await }).await.unwrap();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert_eq!(client.member(), Some(2));
    assert!(lock.is_held());
    // One that comes now prefers the second at once.
    let client = Client::connect(fake.endpoints(&[1, 2])).await.unwrap();
    assert_eq!(client.member(), Some(2));
}

#[tokio::test]
async fn a_member_that_is_silent_for_a_lease_is_left() {
    let fake = pair();
    let client = Client::connect(fake.endpoints(&[1, 2])).await.unwrap();
    let (one, two) = (fake.session("one").await, SessionOptions::named("two"));
    let two = client.session(two).await.unwrap();
    let held = one.lock("a").await.unwrap();
    let waiting = tokio::spawn({
        let two = two.clone();
        async move { two.lock("a").await }
    });
    fake.until("two to wait", |state| state.coordination.locks()["a"].queue.len() == 1).await;
    // It says nothing more, and the client has nothing to ask: it waits for its turn.
    let pings = fake.state().pings;
    fake.until("a ping", |state| state.pings > pings).await;
    fake.state().mute.push(1);
    let began = tokio::time::Instant::now();
    while client.member() != Some(2) {
        assert!(began.elapsed() < SOON, "still with a silent member");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fake.state().mute.clear();
    held.release().await.unwrap();
    drop(soon("the lock", waiting).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_second_connection_is_ready() {
    let mut fake = pair();
    let client = Client::connect(fake.endpoints(&[1, 2])).await.unwrap();
    let session = client.session(SessionOptions::default()).await.unwrap();
    fake.until("a second connection", |state| state.connections(2) == 1).await;
    // It is used, and no other is opened before.
    fake.close(1);
    let _lock = soon("the lock", async { session.lock("a").await }).await.unwrap();
    assert_eq!((client.member(), fake.state().connections(2)), (Some(2), 1));
}

#[tokio::test]
async fn errors_name_the_members_that_were_asked() {
    let mut fake = pair();
    fake.state().cut_off = vec![1, 2];
    let endpoints = fake.endpoints(&[1, 2]).timeout(Duration::from_millis(300));
    let client = Client::connect(endpoints).await.unwrap();
    let error = soon("an error", client.session(Default::default())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoCoordinator, "{error}");
    for words in ["1.sock: P1 follows no coordinator", "2.sock: P2 follows no coordinator"] {
        assert!(error.to_string().contains(words), "no '{words}' in {error}");
    }
    fake.close(1);
    fake.close(2);
    let error = soon("an error", client.session(Default::default())).await.unwrap_err();
    assert_eq!((error.kind(), error.tried().len()), (ErrorKind::Unavailable, 2), "{error}");
}

#[tokio::test]
async fn a_session_that_another_ends_is_lost_first_and_then_confirmed() {
    let fake = Fake::new();
    let session = fake.session("one").await;
    let (id, lock) = (session.id(), session.lock("a").await.unwrap());
    fake.tell(Reply::Ending { session: id, why: Ending::Closed });
    let how = soon("the loss", lock.lost()).await;
    assert_eq!(how, Lost::SessionEnded(SessionEnd::EndedByOther));
    assert!(how.to_string().contains("another client ended it"), "{how}");
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(
        fake.state().coordination.sessions().contains_key(&id),
        "what relied on it may still run"
    );
    drop(lock);
    soon("the end", session.close()).await;
    assert!(fake.state().coordination.sessions().is_empty());
}
