//! Real members, and applications that use them through the client.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Cluster, PATIENCE, led_by, post};
use bellwether::{Client, Endpoints, ErrorKind, Observer, RoleStatus, Session, SessionOptions};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::time::timeout;

/// Which socket the other process is to use.
const SOCKET: &str = "BELLWETHER_TEST_SOCKET";

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("still waiting for: {what}"),
    }
}

/// Three members that have a coordinator, which is the third.
async fn cluster() -> Cluster {
    let cluster = Cluster::start(3, &[1, 2, 3]).await;
    for index in 0..3 {
        cluster.until(index, led_by(3)).await;
    }
    cluster
}

fn sockets(cluster: &Cluster, members: &[u32]) -> Endpoints {
    let path = |id: &u32| cluster.folder.path().join(format!("{id}.sock")).display().to_string();
    let paths: Vec<_> = members.iter().map(path).collect();
    Endpoints::parse(&paths.join(","), None, None).unwrap().timeout(PATIENCE)
}

async fn client(endpoints: Endpoints) -> Client {
    soon("a client", Client::connect(endpoints)).await.unwrap()
}

/// One that lives long by itself.
async fn session(client: &Client, name: &str) -> Session {
    let ttl = Duration::from_secs(60);
    let options = SessionOptions { ttl, ..SessionOptions::named(name) };
    soon("a session", client.session(options)).await.unwrap()
}

#[tokio::test]
async fn clients_of_every_member_share_the_locks() {
    let cluster = cluster().await;
    let mut sessions = Vec::new();
    for id in 1..=3 {
        sessions.push(session(&client(sockets(&cluster, &[id])).await, &id.to_string()).await);
    }
    let first = soon("the lock", async { sessions[0].lock("a").await }).await.unwrap();
    let busy = soon("an answer", async { sessions[1].lock("a").try_lock().await }).await;
    assert_eq!(busy.unwrap_err().kind(), ErrorKind::Busy);
    let waiting = tokio::spawn({
        let session = sessions[2].clone();
        async move { session.lock("a").await }
    });
    let token = first.token();
    soon("the release", first.release()).await.unwrap();
    let next = soon("the lock", waiting).await.unwrap().unwrap();
    assert!(next.token() > token);
    cluster.stop().await;
}

#[tokio::test]
async fn a_remote_client_follows_the_coordinator() {
    let cluster = cluster().await;
    // It is told of one member only.
    let addresses = [cluster.addresses[0].to_string()];
    let endpoints = Endpoints::tls(addresses, cluster.folder.path(), None).unwrap();
    let client = client(endpoints.timeout(PATIENCE)).await;
    let session = session(&client, "remote").await;
    let lock = soon("the lock", async { session.lock("a").await }).await.unwrap();
    let at = |id| {
        let client = client.clone();
        async move {
            while client.member() != Some(id) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    };
    soon("the coordinator", at(3)).await;
    let (code, _): (_, serde_json::Value) =
        post(cluster.http(2), "/v1/transfer", r#"{"to": 2}"#).await;
    assert_eq!(code, 200);
    soon("the new coordinator", at(2)).await;
    assert!(lock.is_held());
    let other = soon("another lock", async { session.lock("b").await }).await.unwrap();
    assert!(other.token() > lock.token());
    let error = session.watch_process(std::process::id()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotWatched, "{error}");
    soon("the release", lock.release()).await.unwrap();
    cluster.stop().await;
}

#[tokio::test]
async fn the_loss_of_a_member_costs_no_client_a_lock() {
    let mut cluster = cluster().await;
    // Its own member is the coordinator, which ends.
    let client = client(sockets(&cluster, &[3, 1])).await;
    let session = session(&client, "local").await;
    let lock = soon("the lock", async { session.lock("a").await }).await.unwrap();
    soon("the end", cluster.members.remove(2).stop()).await.unwrap();
    let other = soon("another lock", async { session.lock("b").await }).await.unwrap();
    assert!(lock.is_held() && other.token() > lock.token());
    assert_eq!(client.member(), Some(1));
    soon("the release", lock.release()).await.unwrap();
    cluster.stop().await;
}

#[tokio::test]
async fn every_member_lists_locks_roles_and_sessions() {
    let cluster = cluster().await;
    let holder = client(sockets(&cluster, &[1])).await;
    let session = session(&holder, "lists").await;
    let lock = soon("the lock", async { session.lock("a").await }).await.unwrap();
    let role = soon("the role", async { session.campaign("r").await }).await.unwrap();
    for member in 1..=3 {
        let client = client(sockets(&cluster, &[member])).await;
        // A follower learns of a commit with the next message.
        let roles = soon("the roles", async {
            loop {
                match client.roles().await.unwrap() {
                    roles if roles.is_empty() => tokio::time::sleep(Duration::from_millis(5)).await,
                    roles => return roles,
                }
            }
        });
        let leader = roles.await.remove(0).leader.unwrap();
        assert_eq!((leader.session, leader.token), (session.id(), role.token()));
        let locks = soon("the locks", client.locks()).await.unwrap();
        assert_eq!((locks[0].name.as_str(), locks[0].holders[0].token), ("a", lock.token()));
        let sessions = soon("the sessions", client.sessions()).await.unwrap();
        assert_eq!((sessions[0].client.as_str(), sessions[0].holds.len()), ("lists", 1));
    }
    cluster.stop().await;
}

/// Reads on until the role is led with this value.
async fn until(observer: &mut Observer, value: &str) -> RoleStatus {
    let led = async {
        while let Some(standing) = observer.next().await {
            let leader = standing.leader.as_ref();
            if leader.is_some_and(|leader| leader.value == value.as_bytes()) {
                return standing;
            }
        }
        panic!("there is always a next one");
    };
    soon(value, led).await
}

#[tokio::test]
async fn a_role_is_observed_at_every_member_and_after_the_loss_of_one() {
    let mut cluster = cluster().await;
    let mut observers = Vec::new();
    // A follower, the coordinator, and one who will lose its member. None of them has a session.
    for members in [&[1][..], &[3], &[3, 2]] {
        let client = client(sockets(&cluster, members)).await;
        let mut observer = soon("the role", client.observe("r")).await.unwrap();
        let first = soon("how it stands", observer.next()).await.unwrap();
        assert!(first.leader.is_none() && first.reason.is_empty(), "{first:?}");
        observers.push(observer);
    }
    let session = session(&client(sockets(&cluster, &[2])).await, "leader").await;
    let campaign = async { session.campaign("r").value("a").await };
    let leadership = soon("the role", campaign).await.unwrap();
    for observer in &mut observers {
        let standing = until(observer, "a").await;
        let leader = standing.leader.unwrap();
        assert_eq!((leader.session, leader.client.as_str()), (session.id(), "leader"));
        assert_eq!((leader.token, leader.since), (leadership.token(), standing.at));
        assert_eq!(standing.reason, "the first candidate");
    }
    // Every change, one by one and in order.
    for value in ["b", "c", "d"] {
        leadership.proclaim(value).await.unwrap();
    }
    for observer in &mut observers {
        for value in ["b", "c", "d"] {
            let standing = soon(value, observer.next()).await.unwrap();
            assert_eq!(standing.leader.unwrap().value, value.as_bytes());
        }
    }
    // Its member ends, which coordinates: the other two are asked.
    observers.remove(1);
    soon("the end", cluster.members.remove(2).stop()).await.unwrap();
    soon("another value", leadership.proclaim("e")).await.unwrap();
    for observer in &mut observers {
        let standing = until(observer, "e").await;
        assert_eq!(standing.leader.unwrap().token, leadership.token());
        assert!(standing.reason.contains("proclaimed"), "{}", standing.reason);
    }
    soon("the end of it", leadership.resign()).await.unwrap();
    for observer in &mut observers {
        let vacant = soon("no leader", observer.next()).await.unwrap();
        assert!(vacant.leader.is_none() && vacant.reason.contains("resigned"), "{vacant:?}");
        assert_eq!(observer.current(), vacant);
    }
    let long = observers[0].role().repeat(300);
    let error = client(sockets(&cluster, &[1])).await.observe(&long).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName, "{error}");
    cluster.stop().await;
}

/// Starts this test program again as an application that takes a lock and keeps it.
fn application(cluster: &Cluster, member: u32) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "clients::the_other_process", "--nocapture"])
        .env(SOCKET, cluster.folder.path().join(format!("{member}.sock")))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said: Vec<_> =
        lines.map_while(Result::ok).take_while(|line| !line.contains("held")).collect();
    assert!(said.len() < 10, "{said:?}");
    child
}

/// Not a test, unless it is started as above.
#[tokio::test]
async fn the_other_process() {
    let Ok(path) = std::env::var(SOCKET) else { return };
    let client = client(Endpoints::unix(path)).await;
    let session = session(&client, "other").await;
    let _lock = session.lock("a").await.unwrap();
    println!("\nheld");
    std::future::pending().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_process_held_is_free_at_once() {
    let cluster = cluster().await;
    let client = client(sockets(&cluster, &[3])).await;
    let session = session(&client, "heir").await;
    // At the coordinator, and at another member.
    for member in [3, 1] {
        let mut child = tokio::task::block_in_place(|| application(&cluster, member));
        let busy = soon("an answer", async { session.lock("a").try_lock().await }).await;
        assert_eq!(busy.unwrap_err().kind(), ErrorKind::Busy);
        let waiting = tokio::spawn({
            let session = session.clone();
            async move { session.lock("a").await }
        });
        child.kill().unwrap();
        child.wait().unwrap();
        // Its TTL is a minute, so that it would be free after three quarters of one by itself.
        let lock = timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap().unwrap();
        soon("the release", lock.release()).await.unwrap();
    }
    cluster.stop().await;
}
