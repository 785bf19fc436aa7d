//! Roles as others see them.

use crate::fake::{Fake, soon};
use bellwether::{Client, ErrorKind, Observer, RoleStatus};
use std::time::Duration;
use tokio::time::timeout;

async fn observe(client: &Client, role: &str) -> Observer {
    soon("the role", client.observe(role)).await.unwrap()
}

async fn next(observer: &mut Observer) -> RoleStatus {
    soon("the next status", observer.next()).await.unwrap()
}

fn value(status: &RoleStatus) -> Option<String> {
    status.leader.as_ref().map(|leader| String::from_utf8(leader.value.clone()).unwrap())
}

#[tokio::test]
async fn the_present_comes_first_and_then_every_change() {
    let fake = Fake::new();
    let client = fake.client().await;
    let mut observer = observe(&client, "r").await;
    assert_eq!(observer.role(), "r");
    let vacant = next(&mut observer).await;
    assert!(vacant.leader.is_none() && vacant.reason.is_empty(), "{vacant:?}");

    let session = fake.session("one").await;
    let leads = session.campaign("r").value("a").await.unwrap();
    let status = next(&mut observer).await;
    let leader = status.leader.clone().unwrap();
    assert_eq!((leader.session, leader.token), (session.id(), leads.token()));
    assert_eq!(status.reason, "the first candidate");
    // What is cancelled misses nothing.
    assert!(timeout(Duration::ZERO, observer.next()).await.is_err());
    leads.proclaim("b").await.unwrap();
    leads.proclaim("c").await.unwrap();
    leads.resign().await.unwrap();
    let all = [next(&mut observer).await, next(&mut observer).await, next(&mut observer).await];
    assert_eq!(all.each_ref().map(value), [Some("b".into()), Some("c".into()), None]);
    assert_eq!(observer.current(), all[2]);

    // Another one begins with the present.
    let mut late = observe(&client, "r").await;
    assert_eq!(late.current(), all[2]);
    assert_eq!(next(&mut late).await, all[2]);
    assert!(timeout(Duration::ZERO, late.next()).await.is_err());
}

#[tokio::test]
async fn it_goes_on_with_another_member_and_never_back() {
    let mut fake = Fake::new();
    fake.open(2);
    let endpoints = fake.endpoints(&[1, 2]);
    let client = soon("a client", Client::connect(endpoints)).await.unwrap();
    let session = fake.session("one").await;
    let mut observer = observe(&client, "r").await;
    next(&mut observer).await;
    let leads = session.campaign("r").value("a").await.unwrap();
    assert_eq!(value(&next(&mut observer).await), Some("a".into()));
    drop((leads, session));
    assert_eq!(value(&next(&mut observer).await), None);

    // The member that takes over is behind: it shows nothing until it has caught up.
    fake.state().behind.insert(2, 1_000_000);
    fake.close(1);
    fake.until("the other member", |state| state.observers.iter().any(|by| by.0 == 2)).await;
    assert!(timeout(Duration::from_millis(20), observer.next()).await.is_err());
    let session = soon("a session", client.session(Default::default())).await.unwrap();
    let _leads = soon("the role", async { session.campaign("r").value("b").await }).await.unwrap();
    assert!(timeout(Duration::from_millis(20), observer.next()).await.is_err());
    fake.state().behind.clear();
    fake.state().show();
    assert_eq!(value(&next(&mut observer).await), Some("b".into()));
}

#[tokio::test]
async fn what_is_dropped_is_observed_no_more() {
    let fake = Fake::new();
    let client = fake.client().await;
    let observers = [observe(&client, "r").await, observe(&client, "s").await];
    assert_eq!(fake.state().observers.len(), 2);
    drop(observers);
    fake.until("no observer", |state| state.observers.is_empty()).await;
    // Nor what never came to be.
    fake.state().mute.push(1);
    assert!(timeout(Duration::from_millis(20), client.observe("r")).await.is_err());
    fake.state().mute.clear();
    let _session = soon("a session", client.session(Default::default())).await.unwrap();
    assert!(fake.state().observers.is_empty());
}

#[tokio::test]
async fn a_member_that_says_nothing_is_left() {
    let mut fake = Fake::new();
    fake.open(2);
    let client = soon("a client", Client::connect(fake.endpoints(&[1, 2]))).await.unwrap();
    let mut observer = observe(&client, "r").await;
    next(&mut observer).await;
    // There is no session, and nothing else to say.
    fake.state().mute.push(1);
    fake.until("the other member", |state| state.observers.iter().any(|by| by.0 == 2)).await;
    assert_eq!(client.member(), Some(2));
}

#[tokio::test]
async fn bad_names_and_silence_are_errors() {
    let fake = Fake::new();
    let client = fake.client().await;
    for role in [String::new(), "r".repeat(2_000)] {
        let error = client.observe(&role).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidName, "{error}");
    }
    let endpoints = fake.endpoints(&[1]).timeout(Duration::from_millis(50));
    let client = soon("a client", Client::connect(endpoints)).await.unwrap();
    fake.state().mute.push(1);
    let error = client.observe("r").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoCoordinator, "{error}");
}
