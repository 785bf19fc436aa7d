//! Three real members in one process, on loopback, asked over HTTP.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Cluster, EXTRA, Stream, call, get, led_by, post};
use bellwether_api::json;
use bellwether_http::Extra;
use bellwether_node::Daemon;
use bellwether_node::config::{Overrides, load};
use std::path::Path;
use std::time::Duration;

#[tokio::test]
async fn members_elect_a_coordinator_and_say_so() {
    let cluster = Cluster::start(3, &[1, 2, 3]).await;
    for index in 0..3 {
        cluster.until(index, led_by(3)).await;
    }
    let leader = cluster.until(2, |status| status.reachable == Some(3)).await;
    assert_eq!((leader.stance, leader.eligible), (json::Stance::Leading, true));
    assert_eq!((leader.needed, leader.configured, leader.why_no_mandate), (2, 3, None));
    let last = leader.last_change.unwrap();
    assert_eq!((last.to, last.term), (Some(3), leader.mandate.map(|mandate| mandate.term)));

    let members: json::Members = get(cluster.http(0), "/v1/members").await;
    assert_eq!(members.members.len(), 3);
    let coordinators: Vec<_> = members.members.iter().map(|m| m.is_coordinator).collect();
    assert_eq!(coordinators, [false, false, true]);

    let here: json::Here = get(cluster.http(0), "/v1/here").await;
    assert_eq!(here.serves, json::Serves::Member);
    let (code, _, _) = call(cluster.http(0), &format!("GET {EXTRA}"), "").await;
    assert_eq!(code, 200, "what the program has besides is there, too");

    let why = cluster.until_ready(0).await;
    assert!(why.starts_with("follows P3 in term"), "{why}");
    let healthy: json::Probe = get(cluster.http(0), "/healthz").await;
    assert!(healthy.ok);
    let history: json::History = get(cluster.http(0), "/v1/history").await;
    assert_eq!(history.changes.last().unwrap().to, Some(3));

    let (_, head, metrics) = call(cluster.http(2), "GET /metrics", "").await;
    assert!(head.contains("openmetrics-text"), "{head}");
    for line in [
        "bellwether_mandate_held 1.0",
        "bellwether_members_configured 3.0",
        "bellwether_refused_connections_total{reason=\"tls\"} 0",
        "bellwether_connected{member=\"1\"} 1.0",
        "# EOF",
    ] {
        assert!(metrics.contains(line), "no '{line}' in\n{metrics}");
    }
    let document: serde_json::Value = get(cluster.http(0), "/openapi.json").await;
    assert!(document["paths"]["/v1/transfer"]["post"].is_object());
    assert!(document["paths"][EXTRA].is_object());
    cluster.stop().await;
}

/// With a lease of its own a member would lead on when the others have long followed another one.
#[tokio::test]
async fn finding_c_a_member_with_another_lease_is_refused() {
    let cluster = Cluster::start_with(3, &[1, 2, 3], |settings| {
        if settings.id.number() == 3 {
            settings.choices.lease = Duration::from_secs(3);
        }
    })
    .await;
    for index in 0..2 {
        cluster.until(index, led_by(2)).await;
    }
    let odd: json::Status = get(cluster.http(2), "/v1/status").await;
    assert!(odd.mandate.is_none(), "{odd:?}");
    let members: json::Members = get(cluster.http(0), "/v1/members").await;
    let third = &members.members[2];
    let both = "P1 and P3 must have the same configuration: lease is 1.5s at P1 and 3s at P3";
    assert!(third.trouble.as_ref().unwrap().contains(both), "{third:?}");
    assert!(!third.connected);
    assert_eq!(members.members[1].trouble, None);
    cluster.stop().await;
}

/// Whether a member could not take over, because it lacks entries or is not known to have them.
fn lags(member: &json::Member) -> bool {
    member.behind != Some(0)
}

#[tokio::test]
async fn a_coordinator_hands_over_when_told() {
    let cluster = Cluster::start(3, &[1, 2, 3]).await;
    for index in 0..3 {
        cluster.until(index, led_by(3)).await;
    }
    let (code, problem): (_, json::Problem) = post(cluster.http(0), "/v1/step-down", "").await;
    assert_eq!(code, 409, "{problem:?}");
    assert!(problem.error.contains("ask P3") && problem.hint.is_some(), "{problem:?}");

    let leader = cluster.http(2);
    let (code, problem): (_, json::Problem) = post(leader, "/v1/transfer", "{\"to\": 9}").await;
    assert_eq!((code, problem.hint.as_deref()), (404, Some("the members are 1, 2, 3")));

    while get::<json::Members>(leader, "/v1/members").await.members.iter().any(lags) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (code, decided): (_, json::Decided) = post(leader, "/v1/transfer", "{\"to\": 1}").await;
    assert_eq!((code, decided.successor), (200, Some(1)), "{decided:?}");
    for index in 0..3 {
        let status = cluster.until(index, led_by(1)).await;
        assert!(status.mandate.is_some_and(|mandate| mandate.appointed));
    }
    cluster.stop().await;
}

/// An operator restarts the next member when this one is ready: then it must be able to vote for the one that takes over.
#[tokio::test]
async fn a_restarted_member_is_ready_when_it_may_vote() {
    let mut cluster = Cluster::start(3, &[1, 2, 3]).await;
    cluster.until(0, led_by(3)).await;
    cluster.until_ready(0).await;
    cluster.restart(0).await;
    cluster.until_ready(0).await;
    let status: json::Status = get(cluster.http(0), "/v1/status").await;
    let uptime = Duration::from_millis(status.uptime_ms);
    assert!(
        uptime > Duration::from_secs(1),
        "the lease is 1.5 s, and it was ready after {uptime:?}"
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_minority_has_no_mandate_and_says_why() {
    let cluster = Cluster::start(3, &[2]).await;
    let status = cluster.until(0, |status| status.stance == json::Stance::Campaigning).await;
    assert_eq!(status.mandate, None);
    let status = cluster
        .until(0, |status| {
            status.why_no_mandate.as_deref() == Some("1 of the 2 members needed agree")
        })
        .await;
    assert_eq!(status.mandate, None);
    let (code, _, body) = call(cluster.http(0), "GET /readyz", "").await;
    let probe: json::Probe = serde_json::from_str(&body).unwrap();
    assert_eq!((code, probe.ok), (503, false));
    assert!(probe.why.starts_with("no mandate: "), "{}", probe.why);
    let healthy: json::Probe = get(cluster.http(0), "/healthz").await;
    assert!(healthy.ok, "no mandate is no illness");
    cluster.stop().await;
}

#[tokio::test]
async fn a_partition_is_seen_and_healed() {
    let cluster = Cluster::start(3, &[1, 2, 3]).await;
    for index in 0..3 {
        cluster.until(index, led_by(3)).await;
    }
    let (code, problem): (_, json::Problem) =
        post(cluster.http(2), "/dev/partition", "{\"blocked\": [7]}").await;
    assert_eq!(code, 404, "{problem:?}");
    let cut = "{\"blocked\": [1, 2]}";
    let (code, _): (_, json::Decided) = post(cluster.http(2), "/dev/partition", cut).await;
    assert_eq!(code, 200);
    for index in 0..2 {
        cluster.until(index, led_by(2)).await;
    }
    let lonely = cluster.until(2, |status| status.mandate.is_none()).await;
    assert!(lonely.why_no_mandate.is_some());
    let history: json::History = get(cluster.http(0), "/v1/history").await;
    let last = history.changes.last().unwrap();
    assert_eq!((last.from, last.to), (Some(3), Some(2)));
    assert!(last.reason.contains("P3"), "{}", last.reason);
    let (_, _): (_, json::Decided) =
        post(cluster.http(2), "/dev/partition", "{\"blocked\": []}").await;
    for index in 0..3 {
        cluster.until(index, led_by(3)).await;
    }
    cluster.stop().await;
}

#[tokio::test]
async fn a_graceful_end_hands_over() {
    let mut cluster = Cluster::start(3, &[1, 2, 3]).await;
    for index in 0..3 {
        cluster.until(index, led_by(3)).await;
    }
    cluster.members.pop().unwrap().stop().await.unwrap();
    for index in 0..2 {
        let status = cluster.until(index, led_by(2)).await;
        let reason = status.last_change.unwrap().reason;
        assert!(!reason.contains("without a heartbeat"), "no member had to suspect: {reason}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn events_are_streamed_from_where_one_left_off() {
    let cluster = Cluster::start(1, &[1]).await;
    cluster.until(0, led_by(1)).await;
    let mut stream = Stream::open(cluster.http(0), "/v1/events?since=0", "").await;
    for seq in [1, 2] {
        assert_eq!(stream.next::<json::Event>().await.seq, seq);
    }
    let mut stream = Stream::open(cluster.http(0), "/v1/events", "Last-Event-ID: 1\r\n").await;
    assert_eq!(stream.next::<json::Event>().await.seq, 2);
    let (code, _, _) = call(cluster.http(0), "GET /v1/events?since=x", "").await;
    assert_eq!(code, 400);
    cluster.stop().await;
}

#[tokio::test]
async fn bad_requests_are_refused_in_json() {
    let cluster = Cluster::start(1, &[1]).await;
    let address = cluster.http(0);
    let large = format!("{{\"to\": {}1}}", " ".repeat(20_000));
    for (request, body, code, fragment) in [
        ("GET /v1/stutus", "", 404, "no resource at /v1/stutus"),
        ("DELETE /v1/status", "", 405, "DELETE is not supported"),
        ("GET /v1/step-down", "", 405, "GET is not supported"),
        ("POST /v1/transfer", "", 400, "EOF"),
        ("POST /v1/transfer", "{\"too\": 1}", 422, "too"),
        ("POST /v1/transfer", "{\"to\": -1}", 422, "to"),
        ("POST /v1/transfer", "{\"to\": 1", 400, "EOF"),
        ("POST /v1/transfer", &large, 413, "length limit"),
        ("POST /v1/transfer", "{\"to\": 1}\r\n", 409, "already the coordinator"),
    ] {
        if code == 409 {
            cluster.until(0, led_by(1)).await;
        }
        let (found, _, answer) = call(address, request, body).await;
        let problem: json::Problem = serde_json::from_str(&answer).unwrap();
        assert_eq!(found, code, "{request}: {problem:?}");
        assert!(problem.error.contains(fragment), "{request}: {problem:?}");
    }
    let foreign = "POST /v1/elect HTTP/1.1\r\nOrigin: http://example.org\r\nX: ";
    let (code, _, _) = call(address, foreign, "").await;
    assert_eq!(code, 403);
    cluster.stop().await;
}

#[tokio::test]
async fn what_cannot_be_used_is_named_at_the_start() {
    let cluster = Cluster::start(1, &[1]).await;
    let file = cluster.folder.path().join("bellwether.toml");
    let taken = cluster.http(0).to_string();
    let flags = |http: &str, data: &str| Overrides {
        id: Some("1".to_owned()),
        listen: Some("127.0.0.1:0".to_owned()),
        http: Some(http.to_owned()),
        data: Some(data.to_owned()),
        ..Overrides::default()
    };
    let fresh = cluster.folder.path().join("fresh").display().to_string();
    let failure = async |overrides: Overrides| {
        let settings = load(&file, &overrides).unwrap();
        let failure = Daemon::start(settings, Extra::default()).await.unwrap_err();
        assert_eq!(failure.exit_code(), 3);
        failure.to_string()
    };
    let complaint = failure(flags(&taken, &fresh)).await;
    assert!(complaint.contains(&taken) && complaint.contains("--http"), "{complaint}");
    let used = cluster.folder.path().join("data").display().to_string();
    let complaint = failure(flags("off", &used)).await;
    assert!(complaint.contains("in use by another process"), "{complaint}");
    let blocked = Path::new(&file).join("below").display().to_string();
    let complaint = failure(flags("off", &blocked)).await;
    assert!(complaint.contains("data directory") && complaint.contains("--data"), "{complaint}");
    std::fs::write(cluster.folder.path().join("member-1.pem"), "nonsense").unwrap();
    let complaint = failure(flags("off", &fresh)).await;
    assert!(complaint.contains("member-1.pem") && complaint.contains("[tls]"), "{complaint}");
    cluster.stop().await;
}
