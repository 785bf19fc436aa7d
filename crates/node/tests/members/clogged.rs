//! Floods on loopback: one of each kind, against real members. None of them may change the term, cost a
//! holder its lock, or keep health checks and keep-alives from being answered.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Cluster, PATIENCE, call, get, led_by, post};
use bellwether::{Client, Endpoints, Lock, Session, SessionOptions};
use bellwether_api::coordination::Coordination;
use bellwether_api::envelope::{Body, Envelope, Message};
use bellwether_api::json::{Problem, Status};
use bellwether_api::orders::{Granted, KeptAlive, Opened};
use bellwether_net::{ClientIdentity, Files};
use bellwether_node::config::Settings;
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

/// How long the sessions of the holders outlive their last keep-alive.
const TTL: Duration = Duration::from_secs(5);

/// A flood that could keep a member from its heartbeats lasts longer than this; a busy machine does not.
const LEASE: Duration = Duration::from_secs(4);

/// More connections than a member ever served at once.
const MANY: usize = 100;

/// Three members, and two holders: one keeps its session alive over HTTP, at a member that is flooded; the
/// other is a client by Unix socket.
struct Scene {
    cluster: Cluster,
    term: u64,
    session: String,
    token: u64,
    client: Client,
    own: Session,
    lock: Lock,
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("still waiting for: {what}"),
    }
}

async fn open(address: SocketAddr, ttl: Duration) -> (u16, String) {
    let order =
        json!({ "client": "flood".repeat(40), "ttl_ms": ttl.as_millis() as u64 }).to_string();
    let (code, _, body) = call(address, "POST /v1/sessions", &order).await;
    (code, body)
}

async fn opened(address: SocketAddr, ttl: Duration) -> Opened {
    let (code, body) = open(address, ttl).await;
    assert_eq!(code, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

fn ask_for(name: &str, wait_ms: u64) -> String {
    json!({ "locks": [{ "name": name }], "wait_ms": wait_ms }).to_string()
}

impl Scene {
    async fn new() -> Scene {
        Scene::with(|_| {}).await
    }

    async fn with(change: impl Fn(&mut Settings)) -> Scene {
        let change = |settings: &mut Settings| {
            settings.choices.lease = LEASE;
            change(settings);
        };
        let cluster = Cluster::start_with(3, &[1, 2, 3], change).await;
        for index in 0..3 {
            cluster.until(index, led_by(3)).await;
        }
        let socket = cluster.folder.path().join("1.sock").display().to_string();
        let endpoints = Endpoints::parse(&socket, None, None).unwrap().timeout(PATIENCE);
        let client = soon("a client", Client::connect(endpoints)).await.unwrap();
        let options = SessionOptions { ttl: TTL, ..SessionOptions::named("holder") };
        let own = soon("a session", client.session(options)).await.unwrap();
        let lock = soon("a lock", async { own.lock("native").await }).await.unwrap();
        let address = cluster.http(2);
        let session = opened(address, TTL).await.session;
        let path = format!("/v1/sessions/{session}/locks");
        let (code, granted) = post::<Granted>(address, &path, &ask_for("held", 0)).await;
        assert_eq!(code, 200);
        let mut scene =
            Scene { cluster, term: 0, session, token: granted.token, client, own, lock };
        scene.term = scene.status(2).await.mandate.unwrap().term;
        scene
    }

    async fn status(&self, index: usize) -> Status {
        soon("the status", get(self.cluster.http(index), "/v1/status")).await
    }

    /// The member that is flooded: the coordinator.
    fn target(&self) -> SocketAddr {
        self.cluster.http(2)
    }

    async fn keep_alive(&self) {
        let path = format!("/v1/sessions/{}/keep-alive", self.session);
        let kept = soon("a keep-alive", post::<KeptAlive>(self.target(), &path, "")).await;
        assert_eq!((kept.0, kept.1.session), (200, self.session.clone()));
    }

    /// The flood goes on for two TTLs. Until then everything is answered, and nothing has changed after it.
    async fn is_unharmed(&self) {
        let begun = Instant::now();
        loop {
            self.keep_alive().await;
            for probe in ["GET /healthz", "GET /readyz"] {
                let (code, _, body) = soon(probe, call(self.target(), probe, "")).await;
                assert_eq!(code, 200, "{probe}: {body}");
            }
            if begun.elapsed() > 2 * TTL {
                break;
            }
            sleep(TTL / 8).await;
        }
        for index in 0..3 {
            let mandate = self.status(index).await.mandate.unwrap();
            assert_eq!((mandate.leader, mandate.term), (3, self.term));
        }
        // Another member shows it: lists are what a flood of readers may keep others from.
        let seen: Coordination = soon("the locks", get(self.cluster.http(0), "/v1/locks")).await;
        let held = seen.locks.iter().find(|lock| lock.name == "held").unwrap();
        assert_eq!(held.holders[0].token, self.token);
        let holder = self.client.check_lock("native", self.lock.token());
        assert_eq!(soon("the holder", holder).await.unwrap(), self.own.id());
    }

    async fn end(self) {
        drop((self.lock, self.own, self.client));
        self.cluster.stop().await;
    }
}

/// Connections that each say this, and then nothing.
async fn connections(address: SocketAddr, many: usize, text: &str) -> Vec<TcpStream> {
    let mut all = Vec::new();
    for _ in 0..many {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        all.push(stream);
    }
    all
}

fn post_of(path: &str, length: usize, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn idle_connections() {
    let scene = Scene::new().await;
    let flood = connections(scene.target(), MANY, "").await;
    scene.is_unharmed().await;
    drop(flood);
    scene.end().await;
}

#[tokio::test]
async fn half_sent_headers() {
    let scene = Scene::new().await;
    let flood = connections(scene.target(), MANY, "GET /v1/status HTTP/1.1\r\nHost: loc").await;
    scene.is_unharmed().await;
    drop(flood);
    scene.end().await;
}

#[tokio::test]
async fn half_sent_bodies() {
    let scene = Scene::new().await;
    let half = post_of("/v1/sessions", 1_000, "{ \"client\": ");
    let mut flood = connections(scene.target(), MANY, &half).await;
    let path = format!("/v1/sessions/{}/keep-alive", scene.session);
    flood.extend(connections(scene.target(), MANY, &post_of(&path, 1_000, "{")).await);
    scene.is_unharmed().await;
    drop(flood);
    scene.end().await;
}

#[tokio::test]
async fn requests_that_wait_for_a_lock() {
    let scene = Scene::new().await;
    let mut flood = Vec::new();
    for _ in 0..MANY {
        let Opened { session, key, .. } = opened(scene.target(), Duration::from_secs(60)).await;
        let (path, body) = (format!("/v1/sessions/{session}/locks"), ask_for("held", 600_000));
        let bearer = format!("Authorization: Bearer {key}\r\nContent-Length");
        let request = post_of(&path, body.len(), &body).replace("Content-Length", &bearer);
        flood.extend(connections(scene.target(), 1, &request).await);
        scene.keep_alive().await;
    }
    // They all wait, which another member sees.
    soon("all to wait", async {
        loop {
            let seen: Coordination = get(scene.cluster.http(0), "/v1/locks").await;
            let held = seen.locks.iter().find(|lock| lock.name == "held").unwrap();
            if held.queue.len() == MANY {
                return;
            }
            scene.keep_alive().await;
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let before = scene.status(2).await.log.last_index;
    scene.is_unharmed().await;
    let after = scene.status(2).await.log.last_index;
    assert!(after < before + MANY as u64, "waiting writes to the log: {before} to {after}");
    drop(flood);
    scene.end().await;
}

#[tokio::test]
async fn watch_streams() {
    let scene = Scene::new().await;
    let mut flood = Vec::new();
    for path in
        ["/v1/watch", "/v1/coordination/watch", "/v1/events", "/v1/messages", "/v1/roles/r/watch"]
    {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        flood.extend(connections(scene.target(), MANY / 5, &request).await);
    }
    scene.is_unharmed().await;
    drop(flood);
    scene.end().await;
}

#[tokio::test]
async fn answers_that_are_not_read() {
    let scene = Scene::new().await;
    // Large ones, which take long to write, too.
    for _ in 0..20 {
        let all = (0..50).map(|_| open(scene.target(), Duration::from_secs(60)));
        for (code, body) in futures_util::future::join_all(all).await {
            assert_eq!(code, 200, "{body}");
        }
        scene.keep_alive().await;
    }
    let asked = "GET /v1/coordination?limit=10000 HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(500);
    let flood = connections(scene.target(), MANY, &asked).await;
    scene.is_unharmed().await;
    drop(flood);
    scene.end().await;
}

#[tokio::test]
async fn large_bodies() {
    let scene = Scene::new().await;
    let keep_alive = format!("/v1/sessions/{}/keep-alive", scene.session);
    for path in ["/v1/sessions", "/v1/elect", &keep_alive] {
        // It is refused for what it announces.
        let head = post_of(path, 1 << 30, "");
        let mut stream = connections(scene.target(), 1, &head).await.remove(0);
        let mut answer = String::new();
        soon("a refusal", stream.read_to_string(&mut answer)).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413 "), "{path}: {answer}");
        assert!(answer.contains("body-too-large"), "{path}: {answer}");
        // And if it announces nothing, for what it sends.
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Transfer-Encoding: chunked\r\n\r\n"
        );
        let mut stream = connections(scene.target(), 1, &head).await.remove(0);
        let (mut read, mut write) = stream.split();
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        let send = async {
            while write.write_all(chunk.as_bytes()).await.is_ok() {}
            std::future::pending().await
        };
        let mut start = [0; 12];
        tokio::select! {
            read = soon("a refusal", read.read_exact(&mut start)) => drop(read.unwrap()),
            () = send => {}
        }
        assert_eq!(&start, b"HTTP/1.1 413", "{path}");
    }
    let half = post_of("/v1/sessions", 200_000, &"x".repeat(150_000));
    let flood = connections(scene.target(), MANY, &half).await;
    scene.is_unharmed().await;
    drop(flood);
    scene.end().await;
}

#[tokio::test]
async fn a_large_greeting() {
    let scene = Scene::new().await;
    let Files { ca, certificate, key } = Files::of_client(scene.cluster.folder.path(), "app");
    let identity = ClientIdentity::load(&ca, &certificate, &key).unwrap();
    let address = scene.cluster.addresses[2].to_string();
    let mut flood = Vec::new();
    for _ in 0..MANY {
        let (mut tls, _) = identity.connect(&address, PATIENCE).await.unwrap();
        // A frame of 256 KiB is announced, and the first of it sent. The member does not wait for the rest.
        tls.write_all(&0x4_0000_u32.to_be_bytes()).await.unwrap();
        tls.write_all(&[0; 1_000]).await.unwrap();
        tls.flush().await.unwrap();
        flood.push(tls);
    }
    let mut length = [0; 4];
    let last = flood.last_mut().unwrap();
    soon("a refusal", last.read_exact(&mut length)).await.unwrap();
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    soon("a refusal", last.read_exact(&mut frame)).await.unwrap();
    match Envelope::decode(&*frame).unwrap().body {
        Some(Body::Rejection(rejection)) => {
            assert!(rejection.text.contains("larger than allowed"), "{}", rejection.text);
        }
        other => panic!("no refusal: {other:?}"),
    }
    scene.is_unharmed().await;
    drop(flood);
    scene.end().await;
}

#[tokio::test]
async fn many_sessions_of_one_client() {
    let scene = Scene::with(|settings| settings.sessions.per_client = 50).await;
    let mut refused = None;
    let mut sessions = Vec::new();
    for _ in 0..60 {
        match open(scene.target(), Duration::from_secs(60)).await {
            (200, body) => sessions.push(serde_json::from_str::<Opened>(&body).unwrap().session),
            (code, body) => refused = Some((code, serde_json::from_str::<Problem>(&body).unwrap())),
        }
        scene.keep_alive().await;
    }
    let (code, problem) = refused.unwrap();
    let word = "too-many-sessions-of-client";
    assert_eq!((code, problem.code.as_deref()), (429, Some(word)), "{problem:?}");
    assert!(problem.error.contains("50 sessions"), "{problem:?}");
    assert!(problem.hint.unwrap().contains("per_client_max"));
    // One was there before: the holder's.
    assert_eq!(sessions.len(), 49);
    // Another client is served, and this one again when it has ended some.
    let another = SessionOptions::named("another");
    soon("a session", scene.client.session(another)).await.unwrap();
    let path = format!("DELETE /v1/sessions/{}", sessions[0]);
    assert_eq!(soon("the end", call(scene.target(), &path, "")).await.0, 200);
    soon("room", async {
        while open(scene.target(), Duration::from_secs(60)).await.0 != 200 {
            scene.keep_alive().await;
            sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    scene.is_unharmed().await;
    scene.end().await;
}
