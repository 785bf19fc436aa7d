//! Sessions, locks and roles over HTTP, on real members.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Cluster, Stream, call, exchange, get, led_by, post};
use bellwether_api::coordination::{Coordination, Role};
use bellwether_api::json::Problem;
use bellwether_api::orders::{Bearer, Done, Granted, KeptAlive, Opened, RoleStatus};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::net::SocketAddr;

async fn delete<T: DeserializeOwned>(address: SocketAddr, path: &str) -> (u16, T) {
    let (code, _, answer) = call(address, &format!("DELETE {path}"), "").await;
    (code, serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{path}: {answer}")))
}

async fn open(address: SocketAddr, client: &str) -> String {
    let body = json!({ "client": client, "ttl_ms": 30_000 }).to_string();
    let (code, opened) = post::<Opened>(address, "/v1/sessions", &body).await;
    assert_eq!((code, opened.ttl_ms), (200, 30_000));
    opened.session
}

async fn lock<T: DeserializeOwned>(
    address: SocketAddr,
    session: &str,
    name: &str,
    wait_ms: u64,
) -> (u16, T) {
    let body = json!({ "locks": [{ "name": name }], "wait_ms": wait_ms }).to_string();
    post(address, &format!("/v1/sessions/{session}/locks"), &body).await
}

/// What a request that must be refused is told: status, code, and a hint.
#[track_caller]
fn refused((code, problem): (u16, Problem)) -> (u16, String) {
    assert!(problem.hint.is_some(), "{problem:?}");
    (code, problem.code.unwrap_or_else(|| panic!("no code: {}", problem.error)))
}

fn said(code: u16, word: &str) -> (u16, String) {
    (code, word.to_owned())
}

/// Three members of which the third coordinates.
async fn three() -> Cluster {
    let cluster = Cluster::start(3, &[1, 2, 3]).await;
    for index in 0..3 {
        cluster.until(index, led_by(3)).await;
    }
    cluster
}

#[tokio::test]
async fn a_lock_is_had_waited_for_and_given_back_by_any_member() {
    let cluster = three().await;
    let [first, second, third] = [0, 1, 2].map(|index| cluster.http(index));
    let (a, b) = (open(first, "a").await, open(third, "b").await);
    let (code, kept) = post::<KeptAlive>(second, &format!("/v1/sessions/{a}/keep-alive"), "").await;
    assert_eq!((code, kept.session), (200, a.clone()));

    let (code, held) = lock::<Granted>(first, &a, "table", 0).await;
    assert_eq!((code, held.locks.as_slice()), (200, ["table".to_owned()].as_slice()));
    assert_eq!(refused(lock(third, &b, "table", 0).await), said(409, "busy"));
    assert_eq!(refused(lock(third, &b, "table", 30).await), said(408, "timeout"));

    let waiting = tokio::spawn({
        let b = b.clone();
        async move { lock::<Granted>(third, &b, "table", 60_000).await }
    });
    let mut watch = Stream::open(third, "/v1/coordination/watch", "").await;
    let seen: Coordination = watch.until(|seen: &Coordination| !seen.waits.is_empty()).await;
    assert_eq!((seen.id, seen.coordinator, seen.sessions.len()), (3, Some(3), 2));
    assert_eq!((seen.waits[0].from.as_str(), seen.waits[0].to.as_str()), (&*b, &*a));
    assert_eq!(seen.locks[0].holders[0].token, held.token);
    let release = format!("/v1/sessions/{a}/locks/{}", held.number);
    assert_eq!(delete::<Done>(second, &release).await.0, 200);
    let (code, next) = waiting.await.unwrap();
    assert_eq!(code, 200);
    assert!(next.token > held.token);
    // The same again is the same again; what was never held is refused.
    assert_eq!(delete::<Done>(first, &release).await.0, 200);
    let strange = format!("/v1/sessions/{a}/locks/7");
    assert_eq!(refused(delete(first, &strange).await), said(409, "not-held"));

    let (code, done) = delete::<Done>(first, &format!("/v1/sessions/{b}")).await;
    assert_eq!((code, done.done), (200, format!("session {b} has ended")));
    assert_eq!(refused(lock(third, &b, "table", 0).await), said(410, "no-session"));
    assert_eq!(refused(lock(third, "s9999.1", "table", 0).await), said(404, "no-session"));
    assert_eq!(refused(lock(third, "nonsense", "table", 0).await), said(404, "no-session"));
    cluster.stop().await;
}

#[tokio::test]
async fn a_deadlock_is_told_by_name() {
    let cluster = three().await;
    let address = cluster.http(1);
    let (a, b) = (open(address, "first").await, open(address, "second").await);
    for (session, name) in [(&a, "x"), (&b, "y")] {
        assert_eq!(lock::<Granted>(address, session, name, 0).await.0, 200);
    }
    let waiting = tokio::spawn({
        let a = a.clone();
        async move { lock::<Granted>(address, &a, "y", 60_000).await }
    });
    let mut watch = Stream::open(address, "/v1/coordination/watch", "").await;
    watch.until(|seen: &Coordination| !seen.waits.is_empty()).await;
    let (code, problem) = lock::<Problem>(address, &b, "x", 60_000).await;
    assert_eq!((code, problem.code.as_deref()), (409, Some("deadlock")));
    let deadlock = problem.deadlock.unwrap();
    let names: Vec<_> = deadlock.cycle.iter().map(|wait| wait.client.as_str()).collect();
    assert_eq!(
        (names.as_slice(), deadlock.aborted),
        (["second", "first"].as_slice(), Some(b.clone()))
    );
    assert!(problem.error.contains("(second) waits for 'x' behind"), "{}", problem.error);
    let seen: Coordination = get(address, "/v1/deadlocks").await;
    assert_eq!((seen.deadlocks.len(), seen.sessions.len()), (1, 0));
    assert_eq!(delete::<Done>(address, &format!("/v1/sessions/{b}")).await.0, 200);
    assert_eq!(waiting.await.unwrap().0, 200);
    cluster.stop().await;
}

#[tokio::test]
async fn a_role_is_stood_for_watched_handed_over_and_left() {
    let cluster = three().await;
    let address = cluster.http(0);
    let (a, b) = (open(address, "a").await, open(address, "b").await);
    let campaign = |session: &str, priority: i32| {
        let policy = "priority";
        let body =
            json!({ "session": session, "priority": priority, "value": session, "policy": policy });
        body.to_string()
    };
    let path = "/v1/roles/cron%2Fnightly/campaign";
    let (code, leads) = post::<RoleStatus>(address, path, &campaign(&a, 1)).await;
    assert_eq!((code, leads.leads, leads.role.as_str()), (200, true, "cron/nightly"));
    let (code, stands) = post::<RoleStatus>(address, path, &campaign(&b, 5)).await;
    assert_eq!((code, stands.leads, stands.behind), (202, false, Some(1)));
    assert_eq!(
        refused(post(address, path, &campaign(&a, 1)).await),
        said(409, "already-campaigns")
    );

    let mut watch = Stream::open(cluster.http(1), "/v1/roles/cron%2Fnightly/watch", "").await;
    let leader = |role: &Role| role.leader.clone().unwrap();
    let role = watch.until(|role: &Role| role.candidates.len() == 2).await;
    assert_eq!((leader(&role).session, leader(&role).value), (a.clone(), a.clone()));
    let body = json!({ "session": a, "value": "here" }).to_string();
    let (code, _) = post::<Done>(address, "/v1/roles/cron%2Fnightly/proclaim", &body).await;
    assert_eq!(code, 200);
    watch.until(|role: &Role| leader(role).value == "here").await;
    let body = json!({ "session": b, "value": "there" }).to_string();
    let answer = post(address, "/v1/roles/cron%2Fnightly/proclaim", &body).await;
    assert_eq!(refused(answer), said(409, "not-leader"));
    let body = json!({ "session": a, "to": b }).to_string();
    let (code, _) = post::<Done>(address, "/v1/roles/cron%2Fnightly/hand-over", &body).await;
    assert_eq!(code, 200);
    let role = watch.until(|role: &Role| leader(role).session == b).await;
    assert!(role.history[0].reason.contains("handed over"), "{:?}", role.history[0]);
    let resign = json!({ "session": b }).to_string();
    let path = "/v1/roles/cron%2Fnightly/resign";
    assert_eq!(post::<Done>(address, path, &resign).await.0, 200);
    watch.until(|role: &Role| leader(role).session == a).await;
    assert_eq!(refused(post(address, path, &resign).await), said(409, "not-candidate"));
    cluster.stop().await;
}

#[tokio::test]
async fn what_is_asked_twice_is_done_once() {
    let cluster = three().await;
    let address = cluster.http(2);
    let key = "0123456789abcdef0123456789ABCDEF";
    let body = json!({ "client": "twice", "ttl_ms": 30_000, "key": key }).to_string();
    let (_, one) = post::<Opened>(address, "/v1/sessions", &body).await;
    let (_, other) = post::<Opened>(cluster.http(0), "/v1/sessions", &body).await;
    assert_eq!(one, other);
    let path = format!("/v1/sessions/{}/locks", one.session);
    let order = |number: u64, name: &str| {
        json!({ "locks": [{ "name": name, "mode": "shared" }], "number": number }).to_string()
    };
    let (_, held) = post::<Granted>(address, &path, &order(1, "x")).await;
    let (_, again) = post::<Granted>(cluster.http(1), &path, &order(1, "x")).await;
    assert_eq!((held.number, &held), (1, &again));
    // Far more requests than are remembered.
    for number in 2..560 {
        let (code, held) = post::<Granted>(address, &path, &order(number, "y")).await;
        assert_eq!(code, 200, "{number}");
        let release = format!("{path}/{}", held.number);
        assert_eq!(delete::<Done>(address, &release).await.0, 200, "{number}");
    }
    // Those that hold are still known, others are not.
    assert_eq!(post::<Granted>(address, &path, &order(1, "x")).await.1, held);
    assert_eq!(refused(post(address, &path, &order(2, "y")).await), said(409, "forgotten"));
    // Those who do not count need not care.
    let session = open(address, "careless").await;
    for round in 0..560 {
        let (code, held) = lock::<Granted>(address, &session, "z", 0).await;
        assert_eq!(code, 200, "{round}");
        let release = format!("/v1/sessions/{session}/locks/{}", held.number);
        assert_eq!(delete::<Done>(address, &release).await.0, 200, "{round}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn an_operator_takes_a_lock_away() {
    let cluster = three().await;
    let address = cluster.http(0);
    let (a, b) = (open(address, "a").await, open(address, "b").await);
    let held = lock::<Granted>(address, &a, "table", 0).await.1;
    // A resource that is shown the token may ask any member about it.
    let shown = format!("/v1/locks/table/tokens/{}", held.token);
    let bearer: Bearer = get(cluster.http(1), &shown).await;
    assert_eq!((bearer.session, bearer.term), (a.clone(), held.token >> 32));
    let role = format!("/v1/roles/table/tokens/{}", held.token);
    for path in ["/v1/locks/table/tokens/1", "/v1/locks/other/tokens/1", &role] {
        let (code, _, body) = call(address, &format!("GET {path}"), "").await;
        let problem = serde_json::from_str(&body).unwrap();
        assert_eq!(refused((code, problem)), said(409, "stale-token"), "{path}");
    }
    assert_eq!(call(address, "GET /v1/locks/table/tokens/x", "").await.0, 400);
    let force = |session: &str, by: &str| json!({ "session": session, "by": by }).to_string();
    let path = "/v1/locks/table/force";
    assert_eq!(refused(post(address, path, &force(&b, "me")).await), said(409, "not-holder"));
    assert_eq!(refused(post(address, path, &force(&a, " ")).await), said(422, "bad-reason"));
    // No client listens for this session: it learns of it when it is kept alive.
    let (code, done) = post::<Done>(address, path, &force(&a, "me, a stuck job")).await;
    assert!(code == 202 && done.done.contains("has not confirmed"), "{code} {}", done.done);
    assert_eq!(call(address, &format!("GET {shown}"), "").await.0, 200, "it is still held");
    let alive = format!("/v1/sessions/{a}/keep-alive");
    assert_eq!(refused(post(address, &alive, "").await), said(409, "force-released"));
    let now = json!({ "session": a, "by": "me, a stuck job", "now": true }).to_string();
    let (code, done) = post::<Done>(address, path, &now).await;
    assert!(code == 200 && done.done.contains("reject its token"), "{code} {}", done.done);
    let (code, _, body) = call(address, &format!("GET {shown}"), "").await;
    assert!(code == 409 && body.contains("stale-token"), "{body}");
    let next = lock::<Granted>(address, &b, "table", 0).await.1;
    let shown = format!("/v1/locks/table/tokens/{}", next.token);
    assert_eq!(get::<Bearer>(cluster.http(0), &shown).await.session, b);
    cluster.stop().await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let cluster = three().await;
    let address = cluster.http(0);
    let session = open(address, "a").await;
    let locks = format!("/v1/sessions/{session}/locks");
    let long = "x".repeat(300);
    let large = "x".repeat(5_000);
    let huge = "x".repeat(300_000);
    for (path, body, expected) in [
        ("/v1/sessions", json!({ "client": "a", "ttl_ms": 1 }), said(422, "bad-ttl")),
        ("/v1/sessions", json!({ "client": long, "ttl_ms": 5_000 }), said(422, "bad-name")),
        (
            "/v1/sessions",
            json!({ "client": "a", "ttl_ms": 5_000, "key": "5" }),
            said(422, "bad-key"),
        ),
        ("/v1/sessions", json!({ "client": "a" }), said(422, "bad-body")),
        ("/v1/sessions", json!({ "client": "a", "ttl_ms": 5_000, "x": 1 }), said(422, "bad-body")),
        ("/v1/sessions", json!({ "client": huge, "ttl_ms": 5_000 }), said(413, "bad-body")),
        (&locks, json!({ "locks": [] }), said(422, "nothing-wanted")),
        (&locks, json!({ "locks": [{ "name": "" }] }), said(422, "bad-name")),
        (&locks, json!({ "locks": [{ "name": long }] }), said(422, "bad-name")),
        (&locks, json!({ "locks": [{ "name": "a" }, { "name": "a" }] }), said(422, "named-twice")),
        (
            &locks,
            json!({ "locks": [{ "name": "a", "mode": "permits" }] }),
            said(422, "bad-permits"),
        ),
        (
            &locks,
            json!({ "locks": [{ "name": "a", "mode": "permits", "permits": 3, "of": 2 }] }),
            said(422, "bad-permits"),
        ),
        (&locks, json!({ "locks": [{ "name": "a", "permits": 3 }] }), said(422, "bad-permits")),
        (
            &locks,
            json!({ "locks": [{ "name": "a" }], "number": u64::MAX }),
            said(422, "bad-number"),
        ),
        (
            "/v1/roles/r/campaign",
            json!({ "session": session, "value": large }),
            said(422, "value-too-large"),
        ),
        ("/v1/roles/r/campaign", json!({ "session": "s" }), said(404, "no-session")),
        ("/v1/roles/%FF/campaign", json!({ "session": session }), said(400, "bad-path")),
        ("/v1/members/x/promote", json!(null), said(400, "bad-path")),
        ("/v1/members/-1/remove", json!({}), said(400, "bad-path")),
        (
            "/v1/members",
            json!({ "id": 2, "address": "host:1", "replaces": 2 }),
            said(422, "bad-body"),
        ),
    ] {
        assert_eq!(
            refused(post(address, path, &body.to_string()).await),
            expected,
            "{path} {body}"
        );
    }
    assert_eq!(refused(post(address, "/v1/sessions", "{").await), said(400, "bad-body"));
    let (code, _, _) = call(address, "GET /v1/locks?limit=many", "").await;
    assert_eq!(code, 400);
    let (code, _, body) = call(address, "GET /v1/locks?limit=10001", "").await;
    assert!(code == 422 && body.contains("bad-query"), "{body}");
    // A page of a stranger.
    let body = json!({ "client": "a", "ttl_ms": 5_000 }).to_string();
    let text = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: {address}\r\nOrigin: http://evil.example\r\n\
         Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(exchange(address, &text).await.0, 403);
    let seen: Coordination = get(cluster.http(2), "/v1/coordination").await;
    assert_eq!((seen.sessions.len(), seen.locks.len(), seen.roles.len()), (1, 0, 0));
    cluster.stop().await;
}

#[tokio::test]
async fn a_minority_says_so_and_does_nothing() {
    let cluster = Cluster::start(3, &[1]).await;
    let address = cluster.http(0);
    let body = json!({ "client": "a", "ttl_ms": 5_000 }).to_string();
    let answer = post(address, "/v1/sessions", &body).await;
    assert_eq!(refused(answer), said(503, "no-coordinator"));
    cluster.stop().await;
}
