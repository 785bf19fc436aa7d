//! Real members in one process, on loopback, and how to ask them over HTTP.

#![allow(unreachable_pub, reason = "what all modules of the tests may use")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use axum::Router;
use bellwether_api::json;
use bellwether_api::orders::Opened;
use bellwether_core::NodeId;
use bellwether_http::Extra;
use bellwether_http::packed::EXPLORER;
use bellwether_net::certs::{Files, prepare_all};
use bellwether_node::Daemon;
use bellwether_node::config::{Overrides, Settings, load};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Where the members believe that their parent is.
pub const PARENT: &str = "127.0.0.1:9";

/// A guard against hanging, never reached when all is well.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What a program has besides its member.
pub fn extra() -> Extra {
    let routes = Router::new().route(EXTRA, axum::routing::get(async || "here"));
    Extra { routes, document: EXPLORER }
}

/// Where that is served, by a document that is at hand.
pub const EXTRA: &str = "/v1/explore/run";

/// Some members of a cluster of a certain size.
pub struct Cluster {
    pub folder: TempDir,
    /// Where each member of the configuration listens, or would.
    pub addresses: Vec<SocketAddr>,
    pub members: Vec<Daemon>,
    /// Where each member of the configuration serves HTTP, or would.
    pub https: Vec<SocketAddr>,
}

impl Cluster {
    /// A cluster of which these members are started.
    pub async fn start(size: u32, started: &[u32]) -> Cluster {
        Cluster::start_with(size, started, |_| {}).await
    }

    /// The same with other settings for some.
    pub async fn start_with(size: u32, started: &[u32], change: impl Fn(&mut Settings)) -> Cluster {
        let folder = TempDir::new().unwrap();
        let ids: Vec<NodeId> = (1..=size).map(NodeId::new).collect();
        prepare_all(folder.path(), "test", &ids, &["app"], 1).unwrap();
        let (mut listeners, mut doors) = (Vec::new(), Vec::new());
        for _ in &ids {
            listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
            doors.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let at = |listener: &TcpListener| listener.local_addr().unwrap();
        let (addresses, https) =
            (listeners.iter().map(at).collect(), doors.iter().map(at).collect());
        let mut cluster = Cluster { folder, addresses, https, members: Vec::new() };
        for ((id, listener), http) in ids.into_iter().zip(listeners).zip(doors) {
            if started.contains(&id.number()) {
                cluster.join(id, listener, http, &change);
            }
        }
        cluster
    }

    fn join(
        &mut self,
        id: NodeId,
        listener: TcpListener,
        http: TcpListener,
        change: impl Fn(&mut Settings),
    ) {
        let file = self.folder.path().join("bellwether.toml");
        std::fs::write(&file, config(&self.addresses, &self.https)).unwrap();
        let number = Some(id.number().to_string());
        let overrides = Overrides { id: number, dev_faults: true, ..Overrides::default() };
        let mut settings = load(&file, &overrides).unwrap();
        settings.up = Some(PARENT.to_owned());
        change(&mut settings);
        let identity = Files::of(self.folder.path(), id).load("test", id).unwrap();
        let daemon = Daemon::start_on(settings, identity, listener, Some(http), extra()).unwrap();
        learn(daemon.http().unwrap(), &self.folder.path().join("data/operator.token"));
        self.members.push(daemon);
    }

    /// Stops a member and starts it again with its data, at its addresses; all members are started.
    pub async fn restart(&mut self, index: usize) {
        self.members.remove(index).stop().await.unwrap();
        let (listener, http) =
            (listen_again(self.addresses[index]).await, listen_again(self.https[index]).await);
        self.join(NodeId::new(index as u32 + 1), listener, http, |_| {});
        let member = self.members.pop().unwrap();
        self.members.insert(index, member);
    }

    /// The HTTP address of a started member, counted from 0.
    pub fn http(&self, index: usize) -> SocketAddr {
        self.members[index].http().unwrap()
    }

    /// Waits until this member's status is as it should be.
    pub async fn until(&self, index: usize, fine: impl Fn(&json::Status) -> bool) -> json::Status {
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

    /// Waits until this member is ready, and returns why it is. A follower needs the coordinator's first entries.
    pub async fn until_ready(&self, index: usize) -> String {
        let look = async {
            loop {
                let (code, _, body) = call(self.http(index), "GET /readyz", "").await;
                let probe: json::Probe = serde_json::from_str(&body).unwrap();
                assert_eq!(code == 200, probe.ok, "{body}");
                if probe.ok {
                    return probe.why;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, look).await.expect("the member never became ready")
    }

    pub async fn stop(self) {
        for member in self.members {
            member.stop().await.unwrap();
        }
    }
}

/// Listens where a member has listened until now: its last connections may end a moment after it.
async fn listen_again(address: SocketAddr) -> TcpListener {
    let look = async {
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => return listener,
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    timeout(PATIENCE, look).await.expect("the address is never free")
}

fn config(addresses: &[SocketAddr], https: &[SocketAddr]) -> String {
    let mut text = "cluster = \"test\"\ndata = \"data\"\nsocket = \"{id}.sock\"\nheartbeat = \"150ms\"\nlease = \"1500ms\"\n[tls]\nca = \"ca.pem\"\n\
                    certificate = \"member-{id}.pem\"\nkey = \"member-{id}-key.pem\"\n"
        .to_owned();
    for (index, (address, http)) in addresses.iter().zip(https).enumerate() {
        let id = index + 1;
        text += &format!("[[member]]\nid = {id}\naddress = \"{address}\"\nhttp = \"{http}\"\n");
    }
    text
}

/// The operator tokens of all members by their addresses, and the keys of all sessions that were opened.
#[derive(Default)]
struct Secrets {
    tokens: BTreeMap<SocketAddr, String>,
    keys: BTreeMap<(String, String), String>,
}

static SECRETS: Mutex<Secrets> =
    Mutex::new(Secrets { tokens: BTreeMap::new(), keys: BTreeMap::new() });

/// What this request has to show: the key of the session that it names, or else the operator token.
fn secret(address: SocketAddr, request: &str, body: &str) -> Option<String> {
    let secrets = SECRETS.lock().unwrap();
    let token = secrets.tokens.get(&address)?.clone();
    let named = serde_json::from_str::<serde_json::Value>(body).ok();
    let named = named.and_then(|body| Some(body["session"].as_str()?.to_owned()));
    let path = request.split_once("/v1/sessions/").map(|(_, path)| path);
    let path = path.and_then(|path| path.split(['/', '?']).next()).map(str::to_owned);
    let session = path.or(named.filter(|_| !request.contains("/force")));
    let key = session.and_then(|session| secrets.keys.get(&(token.clone(), session)));
    Some(key.filter(|_| !request.contains("now=true")).cloned().unwrap_or(token))
}

/// Sends a request with the secret that it needs, and returns the status code, the head and the body.
pub async fn call(address: SocketAddr, request: &str, body: &str) -> (u16, String, String) {
    let secret = secret(address, request, body);
    let (code, head, answer) = call_with(address, request, secret.as_deref(), body).await;
    if let (Ok(opened), true) =
        (serde_json::from_str::<Opened>(&answer), request.starts_with("POST /v1/sessions"))
    {
        let mut secrets = SECRETS.lock().unwrap();
        let token = secrets.tokens[&address].clone();
        secrets.keys.insert((token, opened.session), opened.key);
    }
    (code, head, answer)
}

/// The same with this secret, or none.
pub async fn call_with(
    address: SocketAddr,
    request: &str,
    secret: Option<&str>,
    body: &str,
) -> (u16, String, String) {
    let length = body.len();
    let bearer = secret.map(|secret| format!("Authorization: Bearer {secret}\r\n"));
    let bearer = bearer.unwrap_or_default();
    let text = format!(
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{bearer}\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    exchange(address, &text).await
}

/// From now on requests to this address show the operator token in this file.
pub fn learn(address: SocketAddr, token: &Path) {
    let token = std::fs::read_to_string(token).unwrap().trim().to_owned();
    SECRETS.lock().unwrap().tokens.insert(address, token);
}

/// Sends a whole request as it is, which must ask for the connection to be closed.
pub async fn exchange(address: SocketAddr, text: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, head.to_owned(), body.to_owned())
}

pub async fn get<T: DeserializeOwned>(address: SocketAddr, path: &str) -> T {
    let (code, _, body) = call(address, &format!("GET {path}"), "").await;
    assert_eq!(code, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

pub async fn post<T: DeserializeOwned>(address: SocketAddr, path: &str, body: &str) -> (u16, T) {
    let (code, _, answer) = call(address, &format!("POST {path}"), body).await;
    (code, serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{path}: {answer}")))
}

pub fn led_by(id: u32) -> impl Fn(&json::Status) -> bool {
    move |status| status.mandate.is_some_and(|mandate| mandate.leader == id)
}

/// A stream of server-sent events whose data is JSON.
pub struct Stream {
    lines: Lines<BufReader<TcpStream>>,
    /// The head of the answer.
    pub head: String,
}

impl Stream {
    /// Opens one, with further headers, each ending a line.
    pub async fn open(address: SocketAddr, path: &str, headers: &str) -> Stream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut stream = Stream { lines: BufReader::new(stream).lines(), head: String::new() };
        loop {
            match stream.line().await.as_str() {
                "" => return stream,
                line => stream.head += &format!("{line}\n"),
            }
        }
    }

    async fn line(&mut self) -> String {
        timeout(PATIENCE, self.lines.next_line()).await.unwrap().unwrap().unwrap()
    }

    /// The next event.
    pub async fn next<T: DeserializeOwned>(&mut self) -> T {
        loop {
            if let Some(data) = self.line().await.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    /// The next event that is as it should be.
    pub async fn until<T: DeserializeOwned>(&mut self, fine: impl Fn(&T) -> bool) -> T {
        let look = async {
            loop {
                let event = self.next().await;
                if fine(&event) {
                    return event;
                }
            }
        };
        timeout(PATIENCE, look).await.unwrap()
    }
}
