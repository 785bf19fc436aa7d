//! Three real members in one process, on loopback, asked over HTTP.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_api::json;
use bellwether_core::NodeId;
use bellwether_net::certs::{Files, prepare};
use bellwether_node::Daemon;
use bellwether_node::config::{Overrides, load};
use serde::de::DeserializeOwned;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// A guard against hanging, never reached when all is well.
const PATIENCE: Duration = Duration::from_secs(60);

/// Some members of a cluster of a certain size.
struct Cluster {
    folder: TempDir,
    addresses: Vec<SocketAddr>,
    members: Vec<Daemon>,
}

impl Cluster {
    /// A cluster of which these members are started.
    async fn start(size: u32, started: &[u32]) -> Cluster {
        let folder = TempDir::new().unwrap();
        let ids: Vec<NodeId> = (1..=size).map(NodeId::new).collect();
        prepare(folder.path(), "test", &ids, 1).unwrap();
        let mut listeners = Vec::new();
        for _ in &ids {
            listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let addresses = listeners.iter().map(|listener| listener.local_addr().unwrap()).collect();
        let mut cluster = Cluster { folder, addresses, members: Vec::new() };
        for (id, listener) in ids.into_iter().zip(listeners) {
            if started.contains(&id.number()) {
                cluster.join(id, listener).await;
            }
        }
        cluster
    }

    async fn join(&mut self, id: NodeId, listener: TcpListener) {
        let file = self.folder.path().join("bellwether.toml");
        std::fs::write(&file, config(&self.addresses)).unwrap();
        let number = Some(id.number().to_string());
        let settings =
            load(&file, &Overrides { id: number, dev_faults: true, ..Overrides::default() });
        let identity = Files::of(self.folder.path(), id).load("test", id).unwrap();
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let daemon = Daemon::start_on(settings.unwrap(), identity, listener, Some(http)).unwrap();
        self.members.push(daemon);
    }

    /// The HTTP address of a started member, counted from 0.
    fn http(&self, index: usize) -> SocketAddr {
        self.members[index].http().unwrap()
    }

    /// Waits until this member's status is as it should be.
    async fn until(&self, index: usize, fine: impl Fn(&json::Status) -> bool) -> json::Status {
        let mut last = None;
        let look = async {
            loop {
                let status: json::Status = get(self.http(index), "/v1/status").await;
                if fine(&status) {
                    return status;
                }
                last = Some(status);
                sleep(Duration::from_millis(20)).await;
            }
        };
        match timeout(PATIENCE, look).await {
            Ok(status) => status,
            Err(_) => panic!("member at {index} never got there: {last:#?}"),
        }
    }

    async fn stop(self) {
        for member in self.members {
            member.stop().await.unwrap();
        }
    }
}

fn config(addresses: &[SocketAddr]) -> String {
    let mut text = "cluster = \"test\"\ndata = \"data\"\nheartbeat = \"150ms\"\nlease = \"1500ms\"\n[tls]\nca = \"ca.pem\"\n\
                    certificate = \"member-{id}.pem\"\nkey = \"member-{id}-key.pem\"\n"
        .to_owned();
    for (index, address) in addresses.iter().enumerate() {
        text += &format!("[[member]]\nid = {}\naddress = \"{address}\"\n", index + 1);
    }
    text
}

/// Sends a request and returns the status code, the head and the body.
async fn call(address: SocketAddr, request: &str, body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, head.to_owned(), body.to_owned())
}

async fn get<T: DeserializeOwned>(address: SocketAddr, path: &str) -> T {
    let (code, _, body) = call(address, &format!("GET {path}"), "").await;
    assert_eq!(code, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

async fn post<T: DeserializeOwned>(address: SocketAddr, path: &str, body: &str) -> (u16, T) {
    let (code, _, answer) = call(address, &format!("POST {path}"), body).await;
    (code, serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{path}: {answer}")))
}

fn led_by(id: u32) -> impl Fn(&json::Status) -> bool {
    move |status| status.mandate.is_some_and(|mandate| mandate.leader == id)
}

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
    assert_eq!((last.to, last.epoch), (Some(3), leader.mandate.map(|mandate| mandate.epoch)));

    let members: json::Members = get(cluster.http(0), "/v1/members").await;
    assert_eq!(members.members.len(), 3);
    let coordinators: Vec<_> = members.members.iter().map(|m| m.is_coordinator).collect();
    assert_eq!(coordinators, [false, false, true]);

    let ready: json::Probe = get(cluster.http(0), "/readyz").await;
    assert!(ready.ok && ready.why.starts_with("follows P3 in epoch"), "{}", ready.why);
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
    cluster.stop().await;
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

    cluster.until(2, |status| status.reachable == Some(3)).await;
    let (code, decided): (_, json::Decided) = post(leader, "/v1/transfer", "{\"to\": 1}").await;
    assert_eq!((code, decided.successor), (200, Some(1)), "{decided:?}");
    for index in 0..3 {
        let status = cluster.until(index, led_by(1)).await;
        assert!(status.mandate.is_some_and(|mandate| mandate.appointed));
    }
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
        assert!(!reason.contains("without a heartbeat"), "nobody had to suspect: {reason}");
    }
    cluster.stop().await;
}

#[tokio::test]
async fn events_are_streamed_from_where_one_left_off() {
    let cluster = Cluster::start(1, &[1]).await;
    cluster.until(0, led_by(1)).await;
    let events: Vec<json::Event> = stream(cluster.http(0), "/v1/events?since=0", "", 2).await;
    assert_eq!((events[0].seq, events[1].seq), (1, 2));
    let header = "Last-Event-ID: 1\r\n";
    let events = stream(cluster.http(0), "/v1/events", header, 1).await;
    assert_eq!(events[0].seq, 2);
    let (code, _, _) = call(cluster.http(0), "GET /v1/events?since=x", "").await;
    assert_eq!(code, 400);
    cluster.stop().await;
}

/// The first events of a stream.
async fn stream(address: SocketAddr, path: &str, header: &str, count: usize) -> Vec<json::Event> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut events = Vec::new();
    while events.len() < count {
        let line = timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            events.push(serde_json::from_str(data).unwrap());
        }
    }
    events
}

#[tokio::test]
async fn bad_requests_are_refused_in_json() {
    let cluster = Cluster::start(1, &[1]).await;
    let address = cluster.http(0);
    let large = format!("{{\"to\": {}1}}", " ".repeat(20_000));
    for (request, body, code, fragment) in [
        ("GET /v1/stutus", "", 404, "nothing at /v1/stutus"),
        ("DELETE /v1/status", "", 405, "DELETE makes no sense"),
        ("GET /v1/step-down", "", 405, "GET makes no sense"),
        ("POST /v1/transfer", "", 400, "EOF"),
        ("POST /v1/transfer", "{\"too\": 1}", 422, "too"),
        ("POST /v1/transfer", "{\"to\": -1}", 422, "to"),
        ("POST /v1/transfer", "{\"to\": 1", 400, "EOF"),
        ("POST /v1/transfer", &large, 413, "length limit"),
        ("POST /v1/transfer", "{\"to\": 1}\r\n", 409, "coordinates already"),
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
        let failure = Daemon::start(settings).await.unwrap_err();
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
