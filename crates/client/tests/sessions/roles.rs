//! Roles.

use crate::fake::{Fake, soon};
use bellwether::{ErrorKind, Lost};

#[tokio::test]
async fn the_next_one_leads_when_the_leader_goes() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    let leads = one.campaign("r").value("first").await.unwrap();
    leads.proclaim(b"better").await.unwrap();
    let waiting = tokio::spawn({
        let two = two.clone();
        async move { two.campaign("r").await }
    });
    let candidates =
        |n| move |state: &crate::fake::State| state.coordination.roles()["r"].candidates.len() == n;
    fake.until("both to stand", candidates(2)).await;
    let token = leads.token();
    leads.resign().await.unwrap();
    let leads = soon("the role", waiting).await.unwrap().unwrap();
    assert!(leads.token() > token && leads.is_held());
    let twice = two.campaign("r").await.unwrap_err();
    assert_eq!((twice.kind(), twice.name()), (ErrorKind::AlreadyRequested, Some("r")), "{twice}");
    drop(leads);
    fake.until("no candidate", candidates(0)).await;
    // Just dropped, and stood for again at once.
    for _ in 0..10 {
        drop(soon("the role", async { two.campaign("r").await }).await.unwrap());
    }
}

#[tokio::test]
async fn a_leader_is_asked_to_make_room() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    let leads = one.campaign("r").priority(1).preempt().await.unwrap();
    let waiting = tokio::spawn({
        let two = two.clone();
        async move { two.campaign("r").preempt().priority(5).await }
    });
    soon("the question", leads.preempt_requested()).await;
    assert!(leads.is_held(), "it is asked and not made to go");
    leads.resign().await.unwrap();
    let _leads = soon("the role", waiting).await.unwrap().unwrap();
    let other = one.campaign("r").await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Mismatch, "{other}");
}

#[tokio::test]
async fn a_role_is_handed_over_and_comes_back() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    let mut leads = one.campaign("r").await.unwrap();
    let error = leads.hand_over(two.id()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSuchCandidate, "{error}");
    assert!(leads.is_held(), "nothing has changed");
    let waiting = tokio::spawn({
        let two = two.clone();
        async move { two.campaign("r").await }
    });
    fake.until("both to stand", |state| state.coordination.roles()["r"].candidates.len() == 2)
        .await;
    leads.hand_over(two.id()).await.unwrap();
    assert_eq!(soon("the loss", leads.lost()).await, Lost::HandedOver);
    assert!(!leads.is_held());
    let error = leads.proclaim("x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
    let heir = soon("the role", waiting).await.unwrap().unwrap();
    let token = heir.token();
    heir.resign().await.unwrap();
    assert!(soon("its return", leads.leads_again()).await.unwrap() > token);
    assert!(leads.is_held());
    drop(leads);
    fake.until("no candidate", |state| state.coordination.roles()["r"].candidates.is_empty()).await;
}

#[tokio::test]
async fn one_that_waits_no_longer_does_not_stand() {
    let fake = Fake::new();
    let (one, two) = (fake.session("one").await, fake.session("two").await);
    let _leads = one.campaign("r").await.unwrap();
    let time = std::time::Duration::from_millis(20);
    let vain = two.campaign("r").timeout(time).await.unwrap_err();
    assert_eq!(vain.kind(), ErrorKind::Timeout, "{vain}");
    fake.until("one to stand", |state| state.coordination.roles()["r"].candidates.len() == 1).await;
}
