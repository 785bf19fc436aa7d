//! Connections that break, members that are silent, coordinators that are not there.

use crate::fake::{Fake, soon};
use bellwether::{Client, Endpoints, Error, SessionOptions};
use std::time::Duration;

#[tokio::test]
async fn nobody_answers() {
    let endpoints = Endpoints::unix("/nowhere/at/all.sock").timeout(Duration::from_millis(50));
    let error = soon("an error", Client::connect(endpoints)).await.unwrap_err();
    let Error::AllDown { tried } = &error else { panic!("{error}") };
    assert_eq!((tried.len(), error.exit_code()), (1, 69));
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
    assert!(matches!(error, Error::NoCoordinator { .. }), "{error}");
    assert_eq!(error.exit_code(), 70);
    assert_eq!(client.coordinator(), None);
    // As soon as there is one, all goes on.
    fake.announce(Some(1));
    let session = client.session(SessionOptions::default());
    soon("a session", session).await.unwrap();
    assert_eq!(client.coordinator(), Some(1));
}

#[tokio::test]
async fn what_was_asked_while_nobody_coordinated_is_asked_again() {
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
    assert!(state.duties.locks().is_empty() && state.duties.sessions().is_empty());
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
    assert!(fake.state().duties.sessions().contains_key(&id));
    drop(client);
    drop(lock);
    fake.until("the session to end", |state| state.duties.sessions().is_empty()).await;
    // A session that nobody waits for any longer.
    let client = fake.client().await;
    let opening = tokio::spawn(async move { client.session(SessionOptions::default()).await });
    opening.abort();
    let _ = opening.await;
    fake.until("no session", |state| state.duties.sessions().is_empty()).await;
}

#[tokio::test]
async fn a_process_that_cannot_be_watched_is_named() {
    let fake = Fake::new();
    let session = fake.session("one").await;
    session.watch_process(5).await.unwrap();
    let error = session.watch_process(0).await.unwrap_err();
    assert!(matches!(error, Error::NotWatched { pid: 0, .. }), "{error}");
}

#[tokio::test]
async fn a_ttl_that_the_cluster_does_not_allow_is_refused() {
    let fake = Fake::new();
    let client = fake.client().await;
    let ttl = Duration::from_secs(3_600);
    let options = SessionOptions { ttl, ..SessionOptions::default() };
    let error = soon("an error", client.session(options)).await.unwrap_err();
    assert_eq!(error.exit_code(), 78, "{error}");
}
