//! Lists of locks, roles and sessions.

use crate::fake::{Fake, soon};
use bellwether::{Client, ErrorKind, LockMode};
use std::time::Duration;

#[tokio::test]
async fn lists_show_holders_waiters_leaders_and_candidates() {
    let fake = Fake::new();
    let [one, two] = [fake.session("one").await, fake.session("two").await];
    let table = one.lock("table").await.unwrap();
    let slots = one.lock("slots").permits(2, 5).await.unwrap();
    let read = two.lock("log").shared().await.unwrap();
    let waiting = tokio::spawn({
        let two = two.clone();
        async move { two.lock("table").await }
    });
    let leads = one.campaign("cron").priority(1).value("here").await.unwrap();
    let campaigns = tokio::spawn({
        let two = two.clone();
        async move { two.campaign("cron").priority(7).await }
    });
    fake.until("both requests", |state| {
        let waits =
            state.coordination.locks().get("table").is_some_and(|lock| lock.queue.len() == 1);
        let roles = state.coordination.roles();
        waits && roles.get("cron").is_some_and(|role| role.candidates.len() == 2)
    })
    .await;

    let client = fake.client().await;
    let locks = soon("the locks", client.locks()).await.unwrap();
    let names: Vec<_> = locks.iter().map(|lock| (lock.name.as_str(), lock.permits)).collect();
    assert_eq!(names, [("log", None), ("slots", Some(5)), ("table", None)]);
    let modes: Vec<_> = locks.iter().map(|lock| lock.holders[0].mode).collect();
    assert_eq!(modes, [LockMode::Shared, LockMode::Permits(2), LockMode::Exclusive]);
    let tokens: Vec<_> = locks.iter().map(|lock| lock.holders[0].token).collect();
    assert_eq!(tokens, [read.token(), slots.token(), table.token()]);
    let table = &locks[2];
    assert_eq!((table.holder_count, table.waiter_count), (1, 1));
    assert_eq!((table.holders[0].session, table.holders[0].client.as_str()), (one.id(), "one"));
    assert_eq!(table.waiters[0].session, two.id());

    let roles = soon("the roles", client.roles()).await.unwrap();
    let cron = &roles[0];
    let leader = cron.leader.as_ref().unwrap();
    assert_eq!((cron.name.as_str(), roles.len()), ("cron", 1));
    assert_eq!((leader.session, leader.token), (one.id(), leads.token()));
    assert_eq!((leader.client.as_str(), leader.value.as_slice()), ("one", &b"here"[..]));
    let priorities: Vec<_> =
        cron.candidates.iter().map(|one| (one.session, one.priority)).collect();
    assert_eq!((priorities, cron.candidate_count), (vec![(one.id(), 1), (two.id(), 7)], 2));

    let sessions = soon("the sessions", client.sessions()).await.unwrap();
    assert_eq!(sessions[0].holds, ["table", "slots"]);
    assert_eq!(
        (sessions[0].leads.as_slice(), &sessions[1].holds[..]),
        (&["cron".into()][..], &["log".into()][..])
    );
    assert_eq!(
        (&sessions[1].waits_for[..], &sessions[1].campaigns_for[..]),
        (&["table".into()][..], &["cron".into()][..])
    );
    assert_eq!((sessions[1].session, sessions[1].client.as_str()), (two.id(), "two"));
    drop((waiting, campaigns));
}

#[tokio::test]
async fn a_long_list_comes_whole_and_in_order() {
    let fake = Fake::new();
    let session = fake.session("one").await;
    let mut held = Vec::new();
    for request in 0..20 {
        let mut wanted = session.lock(format!("{request:02}-00"));
        for number in 1..60 {
            wanted = wanted.and(format!("{request:02}-{number:02}"));
        }
        held.push(wanted.await.unwrap());
    }
    let locks = soon("the locks", fake.client().await.locks()).await.unwrap();
    let names: Vec<_> = locks.iter().map(|lock| lock.name.clone()).collect();
    let all: Vec<_> = held.iter().flat_map(|lock| lock.names().to_vec()).collect();
    assert_eq!((names.len(), &names), (1_200, &all));
}

#[tokio::test]
async fn another_member_answers_for_one_that_hangs() {
    let mut fake = Fake::new();
    fake.state().lease_ms = 200;
    fake.open(2);
    let client = soon("a client", Client::connect(fake.endpoints(&[1, 2]))).await.unwrap();
    fake.state().mute.push(1);
    assert!(soon("the locks", client.locks()).await.unwrap().is_empty());
    assert_eq!(client.member(), Some(2));
}

#[tokio::test]
async fn a_member_without_lists_or_without_an_answer_is_an_error() {
    let fake = Fake::new();
    fake.state().old = true;
    let error = fake.client().await.locks().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    assert!(error.to_string().starts_with("cannot list the locks: P1 runs"), "{error}");

    fake.state().old = false;
    let endpoints = fake.endpoints(&[1]).timeout(Duration::from_millis(50));
    let client = soon("a client", Client::connect(endpoints)).await.unwrap();
    fake.state().mute.push(1);
    let error = client.roles().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoCoordinator, "{error}");
}
