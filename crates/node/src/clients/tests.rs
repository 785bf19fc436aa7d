//! Clients that come through the Unix socket, with a member behind the requests that says what it is
//! told to.

use super::*;
use crate::config::{Overrides, SocketAccess, load};
use bellwether_api::client::{LONGEST_TO_CLIENT, ToClient, ToMember, decode_to_client, wire};
use bellwether_api::envelope::{self, Body, ClientHello, ClientWelcome, Envelope};
use bellwether_coordination::{Ending, Refusal, Reply, Request, Secret, SessionId};
use bellwether_net::frame::{self, Frames};
use bytes::BytesMut;
use std::collections::VecDeque;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

const CONFIG: &str = r#"
cluster = "demo"
id = 2
data = "."
socket = "member.sock"
drift_ppm = 321
sessions = { connections_max = 2 }
tls = { ca = "ca.pem", certificate = "c.pem", key = "k.pem" }
[[member]]
id = 1
address = "host-1:7400"
[[member]]
id = 2
address = "host-2:7400"
"#;

fn start(settings: &Settings, requests: &Arc<RequestQueue>) -> Result<Clients, NoSocket> {
    let quota = Quota::new(settings.sessions.per_client, settings.sessions.limits.sessions);
    Clients::start(settings, requests, &Arc::default(), &quota, Lists::none(), door().1)
}

struct Scene {
    folder: TempDir,
    settings: Settings,
    requests: Arc<RequestQueue>,
    clients: Clients,
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it takes too long")
}

impl Scene {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("bellwether.toml");
        std::fs::write(&file, CONFIG).unwrap();
        let settings = load(&file, &Overrides::default()).unwrap();
        let requests = RequestQueue::new(settings.choices.leases());
        let clients = start(&settings, &requests).unwrap();
        Scene { folder, settings, requests, clients }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("member.sock")
    }

    /// A client that has greeted, and the answer.
    async fn greet(&self, cluster: &str) -> (Client, Option<Body>) {
        let (read, out) = UnixStream::connect(self.path()).await.unwrap().into_split();
        let frames = Frames::new(read, LONGEST_TO_CLIENT, Duration::from_secs(30));
        let mut client = Client { frames, out, heard: VecDeque::new() };
        let hello = ClientHello {
            version: envelope::VERSION,
            oldest: envelope::OLDEST,
            cluster: cluster.into(),
            client: "test".into(),
        };
        client.write(&Envelope::new(envelope::VERSION, Body::ClientHello(hello))).await;
        let answer = soon(client.frames.next()).await.unwrap();
        (client, answer.and_then(|(envelope, _)| envelope.body))
    }

    async fn enter(&self) -> Client {
        let (client, answer) = self.greet("").await;
        assert!(matches!(answer, Some(Body::ClientWelcome(_))), "{answer:?}");
        client
    }

    /// The one request that comes next.
    async fn asked(&self) -> (u64, Request) {
        let mut asked = soon(self.requests.next()).await;
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.remove(0)
    }
}

struct Client {
    frames: Frames<OwnedReadHalf>,
    out: OwnedWriteHalf,
    heard: VecDeque<ToClient>,
}

impl Client {
    async fn write(&mut self, message: &impl envelope::Message) {
        let mut bytes = BytesMut::new();
        assert!(frame::put(message, usize::MAX, &mut bytes));
        frame::write(&mut self.out, &bytes, Duration::from_secs(30)).await.unwrap();
    }

    async fn say(&mut self, frame: ToMember) {
        self.write(&wire::ToMember::from(frame)).await;
    }

    /// The next frame; `None` if the member closes the connection.
    async fn hear(&mut self) -> Option<ToClient> {
        while self.heard.is_empty() {
            let take = |bytes: &[u8]| {
                self.heard.push_back(decode_to_client(bytes).unwrap());
                Ok(())
            };
            if soon(self.frames.each(take)).await.unwrap_or(0) == 0 {
                return None;
            }
        }
        self.heard.pop_front()
    }
}

fn keep_alive(session: SessionId) -> ToMember {
    ToMember::Request(Request::KeepAlive { session, key: KEY, sent: 1 })
}

const SESSION: SessionId = SessionId(77);
const KEY: Secret = Secret(78);

#[tokio::test]
async fn a_client_is_welcomed_asks_and_is_answered() {
    let scene = Scene::new();
    scene.requests.announce(Some(1), 9);
    let (mut client, answer) = scene.greet("demo").await;
    let Some(Body::ClientWelcome(welcome)) = answer else { panic!("{answer:?}") };
    let ClientWelcome { member, cluster, coordinator, term, addresses, .. } = welcome.clone();
    let ClientWelcome { drift_ppm, lease_ms, .. } = welcome;
    assert_eq!((member, cluster.as_str(), coordinator, term), (2, "demo", Some(1), 9));
    assert_eq!((addresses.len(), drift_ppm, lease_ms), (2, 321, 500));
    assert_eq!((addresses[0].member, addresses[0].address.as_str()), (1, "host-1:7400"));
    let Some(ToClient::Announcement(news)) = client.hear().await else { panic!() };
    assert_eq!((news.coordinator, news.term), (Some(1), 9));

    client.say(keep_alive(SESSION)).await;
    let (conn, request) = scene.asked().await;
    assert_eq!(ToMember::Request(request), keep_alive(SESSION));
    let reply = Reply::KeptAlive { session: SESSION, sent: 1 };
    scene.requests.deliver(vec![(conn, reply.clone())]);
    assert_eq!(client.hear().await, Some(ToClient::Reply(reply)));
    scene.requests.announce(None, 9);
    let Some(ToClient::Announcement(news)) = client.hear().await else { panic!() };
    assert_eq!(news.coordinator, None);
}

#[tokio::test]
async fn requests_of_one_write_are_taken_together() {
    let scene = Scene::new();
    let mut client = scene.enter().await;
    let mut bytes = BytesMut::new();
    for number in 0..100 {
        let frame = wire::ToMember::from(keep_alive(SessionId(number)));
        assert!(frame::put(&frame, usize::MAX, &mut bytes));
    }
    frame::write(&mut client.out, &bytes, Duration::from_secs(30)).await.unwrap();
    assert_eq!(soon(scene.requests.next()).await.len(), 100);
}

#[tokio::test]
async fn a_client_of_another_cluster_is_refused() {
    let scene = Scene::new();
    let (mut client, answer) = scene.greet("prod").await;
    let Some(Body::Rejection(rejection)) = answer else { panic!("{answer:?}") };
    assert_eq!(rejection.reason(), envelope::Reason::Cluster);
    assert_eq!(client.hear().await, None);
}

#[tokio::test]
async fn a_client_does_not_say_who_has_died() {
    let scene = Scene::new();
    let mut client = scene.enter().await;
    client.say(keep_alive(SESSION)).await;
    client.say(ToMember::Request(Request::Died { session: SESSION, key: KEY })).await;
    assert_eq!(client.hear().await, None, "it is sent away");
    let asked = soon(scene.requests.next()).await;
    let lawful = |(_, request): &(_, Request)| matches!(request, Request::KeepAlive { .. });
    assert!(asked.iter().all(lawful), "{asked:?}");
}

#[tokio::test]
async fn one_client_too_many_is_told_so_until_another_leaves() {
    let scene = Scene::new();
    let (first, _second) = (scene.enter().await, scene.enter().await);
    let (_, answer) = scene.greet("").await;
    let Some(Body::Rejection(rejection)) = answer else { panic!("{answer:?}") };
    assert_eq!(rejection.reason(), envelope::Reason::TooMany);
    drop(first);
    soon(async {
        while !matches!(scene.greet("").await.1, Some(Body::ClientWelcome(_))) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_session_belongs_to_the_processes_that_its_client_names() {
    let scene = Scene::new();
    let mut client = scene.enter().await;
    let mut job = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = job.id();
    client.say(ToMember::Watch { session: SESSION, key: KEY, pid }).await;
    let watching = ToClient::Watching { session: SESSION, pid, refused: None };
    assert_eq!(client.hear().await, Some(watching));
    job.kill().unwrap();
    job.wait().unwrap();
    client.say(ToMember::Watch { session: SESSION, key: KEY, pid }).await;
    let answer = client.hear().await;
    let Some(ToClient::Watching { refused: Some(why), .. }) = answer else { panic!("{answer:?}") };
    assert!(why.contains("no process"), "{why}");
    // The client itself, which is this process, lives: no death is reported.
    client.say(keep_alive(SESSION)).await;
    assert!(matches!(scene.asked().await.1, Request::KeepAlive { .. }));
}

#[tokio::test]
async fn what_has_ended_is_not_watched() {
    let scene = Scene::new();
    let mut client = scene.enter().await;
    client.say(keep_alive(SESSION)).await;
    let (conn, _) = scene.asked().await;
    let ended = Reply::Ended { session: SESSION, why: Some(Ending::Closed) };
    scene.requests.deliver(vec![(conn, ended.clone())]);
    assert_eq!(client.hear().await, Some(ToClient::Reply(ended)));
}

#[tokio::test]
async fn only_an_operator_force_releases_and_is_named() {
    let scene = Scene::new();
    let mut client = scene.enter().await;
    let force = |by: &str| Request::Force {
        lock: "db".to_owned(),
        session: SESSION,
        by: by.to_owned(),
        now: true,
    };
    // This process has the member's own user.
    client.say(ToMember::Request(force("anna"))).await;
    let (uid, pid) = (rustix::process::getuid().as_raw(), std::process::id());
    let by = format!("anna (user {uid}, process {pid}, by the Unix socket, through P2)");
    assert_eq!(scene.asked().await.1, force(&by));
    // One with a certificate is no operator, whatever its name.
    let from = "127.0.0.1:9".parse().unwrap();
    let stranger = Caller::Certificate { name: "root".to_owned(), from };
    let refused = serve::allowed(force("mallory"), &stranger, 2).unwrap_err();
    let (lock, result) = ("db".to_owned(), Err(Refusal::NotOperator));
    assert_eq!(refused, Reply::Forced { lock, session: SESSION, result });
}

#[tokio::test]
async fn the_socket_has_the_mode_and_the_group_of_the_settings() {
    let scene = Scene::new();
    let Scene { folder, settings, requests, .. } = &scene;
    let (group, path) = (rustix::process::getgid().as_raw(), folder.path().join("shared.sock"));
    let socket_access = SocketAccess { mode: 0o660, group: Some(group) };
    let shared = Settings { socket: Some(path.clone()), socket_access, ..settings.clone() };
    let _clients = start(&shared, requests).unwrap();
    let file = std::fs::metadata(&path).unwrap();
    assert_eq!((file.mode() & 0o777, file.gid()), (0o660, group));
}

#[tokio::test]
async fn the_socket_is_for_its_owner_and_goes_with_the_member() {
    let scene = Scene::new();
    let path = scene.path();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut client = scene.enter().await;
    let in_use = start(&scene.settings, &scene.requests).err().unwrap().to_string();
    assert!(in_use.contains("another process listens"), "{in_use}");
    let Scene { folder, settings, requests, clients } = scene;
    drop(clients);
    assert_eq!(client.hear().await, None);
    assert!(!path.exists());

    // One that a killed member left behind is replaced.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let clients = start(&settings, &requests).unwrap();
    // And one that is not its own any more is left alone.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "precious").unwrap();
    drop(clients);
    assert!(path.exists());
    let taken = start(&settings, &requests).err().unwrap().to_string();
    assert!(taken.contains("is not a socket"), "{taken}");

    let long = Settings { socket: Some(folder.path().join("x".repeat(120))), ..settings.clone() };
    let long = start(&long, &requests).err().unwrap().to_string();
    assert!(long.contains("at most 107 bytes"), "{long}");
    // Where the configuration names no socket the member goes on without it.
    let default = Settings { socket: Some(settings.default_socket()), ..settings };
    std::fs::write(default.default_socket(), "precious").unwrap();
    start(&default, &requests).unwrap();
    assert!(default.default_socket().exists());
}
