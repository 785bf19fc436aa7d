//! What cannot be done, through the client and against real members: each has an error of its own that
//! says what to do, and nothing has changed.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Cluster, PATIENCE, call, get, led_by};
use bellwether::{Client, Endpoints, Error, ErrorKind, SessionOptions, Token};
use bellwether_api::coordination::Coordination;
use std::time::Duration;
use tokio::time::timeout;

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("still waiting for: {what}"),
    }
}

fn sockets(cluster: &Cluster, members: &[u32]) -> Endpoints {
    let path = |id: &u32| cluster.folder.path().join(format!("{id}.sock")).display().to_string();
    let paths: Vec<_> = members.iter().map(path).collect();
    Endpoints::parse(&paths.join(","), None, None).unwrap().timeout(PATIENCE)
}

/// The error, with its kind and a piece of advice in its text.
#[track_caller]
fn advises<T: std::fmt::Debug>(result: Result<T, Error>, kind: ErrorKind, advice: &str) -> Error {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    assert!(text.contains(advice), "no '{advice}' in: {text}");
    error
}

/// Sessions, locks and roles, without what only tells who looks and when.
async fn seen(cluster: &Cluster, index: usize) -> Coordination {
    let mut seen: Coordination = get(cluster.http(index), "/v1/coordination").await;
    (seen.sequence, seen.term) = (0, 0);
    seen
}

#[tokio::test]
async fn what_cannot_be_done_has_an_error_of_its_own_and_changes_nothing() {
    let mut cluster = Cluster::start(3, &[1, 2, 3]).await;
    for index in 0..3 {
        cluster.until(index, led_by(3)).await;
    }
    let client = soon("a client", Client::connect(sockets(&cluster, &[3, 2]))).await.unwrap();
    let options = SessionOptions::named("a");
    let session = soon("a session", client.session(options.clone())).await.unwrap();
    let leads = soon("the role", async { session.campaign("r").await }).await.unwrap();
    let lock = soon("the lock", async { session.lock("a").await }).await.unwrap();
    let before = seen(&cluster, 2).await;

    let long = "x".repeat(300);
    let error = soon("an answer", async { session.lock(long.as_str()).await }).await;
    advises(error, ErrorKind::InvalidName, "choose another one");
    let error = soon("an answer", async { session.campaign(long.as_str()).await }).await;
    advises(error, ErrorKind::InvalidName, "choose another one");
    let large = [b'x'; 5_000];
    let error = soon("an answer", async { session.campaign("s").value(large).await }).await;
    advises(error, ErrorKind::ValueTooLarge, "keep it elsewhere");
    advises(
        soon("an answer", leads.proclaim(large)).await,
        ErrorKind::ValueTooLarge,
        "keep it elsewhere",
    );
    let error = soon("an answer", async { session.campaign("r").await }).await;
    let error = advises(error, ErrorKind::AlreadyRequested, "resign first");
    assert_eq!(error.name(), Some("r"));
    // Tokens: of nothing, of another thing, of an term that was before all.
    for token in [Token(1), leads.token(), Token(u64::MAX)] {
        let checked = soon("an answer", client.check_lock("a", token)).await;
        advises(checked, ErrorKind::StaleToken, "reject requests that carry it");
    }
    let checked = soon("an answer", client.check_lock("a", lock.token())).await;
    assert_eq!(checked.unwrap(), session.id());
    let operator = client.force_release("a", "s1.999".parse().unwrap(), "an operator");
    advises(soon("an answer", operator).await, ErrorKind::NotHeld, "lists the holders");
    assert_eq!(seen(&cluster, 2).await, before);

    // What is not held any more, and a session that is over.
    let force = client.force_release_now("a", session.id(), "an operator");
    soon("the end of it", force).await.unwrap();
    soon("the loss", lock.lost()).await;
    advises(soon("an answer", lock.release()).await, ErrorKind::NotHeld, "ask for it again");
    let path = format!("DELETE /v1/sessions/{}?now=true", session.id());
    assert_eq!(call(cluster.http(0), &path, "").await.0, 200);
    soon("the loss", leads.lost()).await;
    advises(
        soon("an answer", leads.proclaim("x")).await,
        ErrorKind::SessionEnded,
        "open a new one",
    );
    let error = soon("an answer", async { session.lock("b").await }).await;
    advises(error, ErrorKind::SessionEnded, "open a new one");
    let empty = seen(&cluster, 2).await;
    assert!(empty.sessions.is_empty() && empty.locks.is_empty());

    // A minority, and then no other member.
    for _ in 0..2 {
        soon("the end", cluster.members.remove(0).stop()).await.unwrap();
    }
    cluster.until(0, |status| status.mandate.is_none()).await;
    let brief = Duration::from_millis(300);
    let few = sockets(&cluster, &[3]).timeout(brief);
    let client = soon("a client", Client::connect(few.clone())).await.unwrap();
    let error = soon("an answer", client.session(options)).await;
    advises(error, ErrorKind::NoCoordinator, "a majority of the members");
    let error = soon("an answer", client.check_lock("a", Token(1))).await;
    advises(error, ErrorKind::NoCoordinator, "a majority of the members");
    soon("the end", cluster.members.remove(0).stop()).await.unwrap();
    let error = soon("an answer", Client::connect(few)).await;
    let error = advises(error, ErrorKind::Unavailable, "Start it");
    assert!(error.to_string().contains("3.sock"), "{error}");
}
