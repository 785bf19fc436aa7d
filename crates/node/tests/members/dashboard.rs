//! What a dashboard needs of real members: streams, and leave to go on with another one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Cluster, PARENT, Stream, call, exchange, get, led_by, post};
use bellwether_api::json::{self, Direction, Messages, Overview};

fn glance_led_by(id: u32) -> impl Fn(&Overview) -> bool {
    move |glance| led_by(id)(&glance.status)
}

#[tokio::test]
async fn a_glance_comes_at_once_and_with_every_change() {
    let mut cluster = Cluster::start(3, &[1, 2, 3]).await;
    let mut early = Stream::open(cluster.http(0), "/v1/watch", "").await;
    assert!(early.head.contains("text/event-stream"), "{}", early.head);
    let glance = early.until(glance_led_by(3)).await;
    assert_eq!((glance.members.len(), glance.status.lease_full_ms), (3, 1_500));
    assert_eq!(glance.status.up.as_deref(), Some(PARENT));
    let https: Vec<_> = cluster.https.iter().map(|http| Some(http.to_string())).collect();
    assert_eq!(glance.members.iter().map(|m| m.http.clone()).collect::<Vec<_>>(), https);

    // One that comes later is told what happened before.
    let first: Overview = Stream::open(cluster.http(0), "/v1/watch", "").await.next().await;
    let changes: json::History = get(cluster.http(0), "/v1/history").await;
    assert_eq!(first.changes, changes.changes);
    assert!(first.events.iter().any(|event| event.kind == "follows"), "{:?}", first.events);

    cluster.members.pop().unwrap().stop().await.unwrap();
    let (mut seen, mut last) = (Vec::new(), None);
    while !last.is_some_and(|glance| glance_led_by(2)(&glance)) {
        let glance: Overview = early.next().await;
        seen.extend(glance.changes.clone());
        last = Some(glance);
    }
    // P1 may lead for a moment, if P2 lacks the last entry when P3 hands over.
    assert!(seen.iter().any(|change| change.from == Some(3)), "{seen:?}");
    let mut once: Vec<u64> = seen.iter().map(|change| change.seq).collect();
    once.dedup();
    assert_eq!(once.len(), seen.len(), "no change is told twice");
    cluster.stop().await;
}

#[tokio::test]
async fn messages_are_seen_on_both_ends_and_heartbeats_summed() {
    let cluster = Cluster::start(3, &[1, 2, 3]).await;
    for index in 0..3 {
        cluster.until(index, led_by(3)).await;
    }
    let beats = |direction| {
        move |batch: &Messages| {
            let mut messages = batch.messages.iter();
            messages.any(|m| m.kind == "HEARTBEAT" && m.direction == direction && m.overhead)
        }
    };
    let mut leader = Stream::open(cluster.http(2), "/v1/messages", "").await;
    let batch = leader.until(beats(Direction::Sent)).await;
    assert_eq!((batch.id, batch.missed), (3, 0));
    let mut ways: Vec<_> = batch.messages.iter().map(|m| (m.from, m.to, &m.kind)).collect();
    let all = ways.len();
    ways.sort();
    ways.dedup();
    assert_eq!(ways.len(), all, "of one kind and way there is one a moment: {batch:?}");
    let mut follower = Stream::open(cluster.http(0), "/v1/messages", "").await;
    let batch = follower.until(beats(Direction::Received)).await;
    assert!(batch.messages.iter().all(|m| [m.from, m.to].contains(&1)), "{batch:?}");

    // What an election is about is told message by message.
    let (code, _): (_, json::Decided) = post(cluster.http(0), "/v1/elect", "").await;
    assert_eq!(code, 200);
    let election = |batch: &Messages| batch.messages.iter().any(|m| m.kind == "ELECTION");
    let batch = follower.until(election).await;
    let message = batch.messages.iter().find(|m| m.kind == "ELECTION").unwrap();
    assert_eq!((message.from, message.count, message.overhead), (1, 1, false));

    // What a partition swallows is marked.
    let cut = "{\"blocked\": [1]}";
    let (code, _): (_, json::Decided) = post(cluster.http(2), "/dev/partition", cut).await;
    assert_eq!(code, 200);
    let swallowed = |batch: &Messages| batch.messages.iter().any(|m| m.cut);
    let batch = leader.until(swallowed).await;
    assert!(batch.messages.iter().all(|m| m.cut == (m.to == 1)), "{batch:?}");
    cluster.stop().await;
}

/// The head of the answer to a request from a page of this origin.
async fn asked_from(cluster: &Cluster, request: &str, origin: &str) -> (u16, String) {
    let request = format!("{request} HTTP/1.1\r\nOrigin: {origin}\r\nX-Rest:");
    let (code, head, _) = call(cluster.http(0), &request, "").await;
    (code, head.to_lowercase())
}

#[tokio::test]
async fn pages_of_the_cluster_may_read_and_only_own_ones_command() {
    let cluster = Cluster::start(3, &[1]).await;
    let own = format!("http://{}", cluster.http(0));
    let friend = format!("http://{}", cluster.https[1]);
    let parent = format!("http://{PARENT}");
    let aliased = friend.replace("127.0.0.1", "localhost");
    for origin in [&friend, &parent, &aliased] {
        let (code, head) = asked_from(&cluster, "GET /v1/status", origin).await;
        let allowed = format!("access-control-allow-origin: {origin}");
        assert_eq!(code, 200);
        assert!(head.contains(&allowed) && head.contains("vary: origin"), "{head}");
        let headers = format!("Origin: {origin}\r\n");
        let stream = Stream::open(cluster.http(0), "/v1/watch", &headers).await;
        assert!(stream.head.contains(&allowed), "{}", stream.head);
        for request in ["POST /v1/elect", "POST /dev/partition", "OPTIONS /v1/elect"] {
            let (code, head) = asked_from(&cluster, request, origin).await;
            assert_eq!(code, 403, "{request} from {origin}");
            assert!(!head.contains("access-control"), "{head}");
        }
    }
    let near = format!("{friend}0");
    let secure = friend.replace("http:", "https:");
    for origin in ["http://example.org", "null", "", near.as_str(), secure.as_str()] {
        let (code, head) = asked_from(&cluster, "GET /v1/status", origin).await;
        assert_eq!(code, 200, "every client may know, but a browser keeps it from the page");
        assert!(!head.contains("access-control"), "{origin}: {head}");
        assert!(head.contains("vary: origin"), "{head}");
        let (code, _) = asked_from(&cluster, "POST /v1/elect", origin).await;
        assert_eq!(code, 403, "{origin}");
    }
    let (code, _) = asked_from(&cluster, "POST /v1/elect", &own).await;
    assert_eq!(code, 200);
    cluster.stop().await;
}

#[tokio::test]
async fn the_page_is_at_every_member_and_may_talk_to_the_cluster_alone() {
    let cluster = Cluster::start(2, &[1]).await;
    for path in ["/", "/explore"] {
        let (code, head, body) = call(cluster.http(0), &format!("GET {path}"), "").await;
        assert!(code == 200 && body.contains("<!doctype html>"), "{path}: {code} {body}");
        let policy = head.lines().find(|line| line.starts_with("content-security-policy:"));
        let allowed = policy.unwrap().split(';').find(|part| part.contains("connect-src")).unwrap();
        let mut others: Vec<_> = allowed.split_whitespace().skip(2).collect();
        let mut known =
            cluster.https.iter().map(|http| format!("http://{http}")).collect::<Vec<_>>();
        known.push(format!("http://{PARENT}"));
        others.sort();
        known.sort();
        assert_eq!(others, known, "{path}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_name_that_a_stranger_made_point_here_commands_and_reads_nothing() {
    let cluster = Cluster::start(1, &[1]).await;
    for host in ["evil.example", "localhost.evil.example:7480", "127.0.0.1.evil.example"] {
        for asks in
            ["POST /v1/elect", "GET /v1/status", "GET /v1/coordination", "GET /metrics", "GET /"]
        {
            let request = format!(
                "{asks} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\
                 Connection: close\r\nContent-Length: 0\r\n\r\n"
            );
            let (code, _, body) = exchange(cluster.http(0), &request).await;
            assert_eq!(code, 421, "{host} {asks}: {body}");
            let problem: json::Problem = serde_json::from_str(&body).unwrap();
            assert_eq!(problem.code.as_deref(), Some("unknown-host"));
            assert!(problem.error.contains(host) && problem.hint.is_some(), "{problem:?}");
        }
    }
    cluster.stop().await;
}
