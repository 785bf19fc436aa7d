//! What is special about etcd: what it cannot do, who else uses it, and what is left in it.

use crate::common::command;
use crate::etcd::Servers;
use crate::rig::{PATIENCE, Rig, TTL};
use bellwether::{Client, Endpoints, Error, ErrorKind, Lost, Session, SessionOptions};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;
use tokio::time::timeout;

/// A session without a prefix: with etcd's own names.
async fn plain(rig: &Rig, name: &str) -> Session {
    let address = format!("etcd://{}", rig.servers().unwrap().hosts().join(","));
    let client = Client::connect(Endpoints::parse(&address, None, None).unwrap()).await.unwrap();
    let options = SessionOptions { ttl: TTL, ..SessionOptions::named(name) };
    client.session(options).await.unwrap()
}

pub(crate) async fn what_etcd_cannot_give_is_refused_before(rig: &mut Rig) {
    let (client, session) = (rig.client().await, rig.session("asks").await);
    let before = rig.servers().unwrap().keys();
    let unsupported = |result: Result<(), Error>, word: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(word), "no '{word}' in: {error}");
    };
    unsupported(session.lock("a").and("b").await.map(drop), "one lock at a time");
    unsupported(session.lock("a").shared().await.map(drop), "shared");
    unsupported(session.lock("a").permits(1, 2).await.map(drop), "semaphores");
    unsupported(session.campaign("a").priority(5).await.map(drop), "order of arrival");
    unsupported(session.campaign("a").preempt().await.map(drop), "order of arrival");
    let leads = session.campaign("handed").await.unwrap();
    unsupported(leads.hand_over(session.id()).await, "resign");
    leads.resign().await.unwrap();
    unsupported(client.force_release("a", session.id(), "me").await, "fencing tokens");
    let error = session.watch_process(1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotWatched, "{error}");
    for ttl in [Duration::from_millis(500), Duration::from_secs(7_200)] {
        let options = SessionOptions { ttl, ..SessionOptions::default() };
        let error = client.session(options).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidTtl, "{error}");
    }
    assert_eq!(rig.servers().unwrap().keys(), before);
}

pub(crate) async fn names_that_others_use_are_refused(rig: &mut Rig) {
    let Some(mut put) = rig.servers().unwrap().ctl(&["put", "taken/config", "x"]) else { return };
    assert!(put.output().unwrap().status.success());
    let session = plain(rig, "asks").await;
    let before = rig.servers().unwrap().keys();
    let error = session.lock("taken").timeout(PATIENCE).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    assert!(error.to_string().contains("taken/config"), "{error}");
    assert_eq!(rig.servers().unwrap().keys(), before);
    let mut delete = rig.servers().unwrap().ctl(&["del", "taken/config"]).unwrap();
    assert!(delete.output().unwrap().status.success());
    session.lock("taken").timeout(PATIENCE).await.unwrap().release().await.unwrap();
}

pub(crate) async fn etcdctl_and_we_exclude_each_other(rig: &mut Rig) {
    let servers = rig.servers().unwrap();
    let session = plain(rig, "ours").await;
    // Theirs first.
    let Some(mut theirs) = servers.ctl(&["lock", "shared name"]) else { return };
    let mut theirs = theirs.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(theirs.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("shared name/"));
    let error = session.lock("shared name").try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    let error = session.lock("shared name").timeout(Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&theirs),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    theirs.wait().unwrap();
    // Ours next.
    let lock = session.lock("shared name").timeout(PATIENCE).await.unwrap();
    let mut theirs = servers.ctl(&["lock", "shared name", "echo", "theirs"]).unwrap();
    let mut theirs = theirs.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(theirs.try_wait().unwrap().is_none(), "etcdctl did not wait");
    lock.release().await.unwrap();
    for _ in 0..600 {
        if theirs.try_wait().unwrap().is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("etcdctl never gets the lock");
}

pub(crate) async fn bad_addresses_are_told_apart(rig: &mut Rig) {
    let servers = rig.servers().unwrap();
    let connect = async |address: &str| {
        let endpoints = Endpoints::parse(address, None, None)?;
        Client::connect(endpoints.timeout(Duration::from_secs(1))).await.map(drop)
    };
    for (address, kind) in [
        ("ectd://127.0.0.1:1", ErrorKind::InvalidEndpoint),
        ("etcd://127.0.0.1:1,unix:/x", ErrorKind::InvalidEndpoint),
        ("etcd://127.0.0.1:1", ErrorKind::Unavailable),
    ] {
        let error = connect(address).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    // A server of another cluster is not taken for one of this.
    let other = Servers::start(1).unwrap();
    let mixed = format!("etcd://{},{}", servers.hosts()[0], other.hosts()[0]);
    let error = connect(&mixed).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidEndpoint, "{error}");
    assert!(error.to_string().contains("different etcd clusters"), "{error}");
    // Users.
    let ctl = |words: &[&str]| {
        let output = other.ctl(words).unwrap().output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    if other.ctl(&[]).is_none() {
        return;
    }
    ctl(&["user", "add", "root:secret"]);
    ctl(&["user", "grant-role", "root", "root"]);
    ctl(&["auth", "enable"]);
    let error = connect(&format!("etcd://{}", other.hosts()[0])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected, "{error}");
    assert!(error.to_string().contains("BELLWETHER_ETCD_USER"), "{error}");
}

pub(crate) async fn a_deleted_key_is_a_lost_lock(rig: &mut Rig) {
    let (one, other) = (plain(rig, "one").await, plain(rig, "other").await);
    let lock = one.lock("deleted").await.unwrap();
    let client = other.lock("x").await.unwrap();
    client.release().await.unwrap();
    let Some(mut delete) = rig.servers().unwrap().ctl(&["del", "--prefix", "deleted/"]) else {
        return;
    };
    assert!(delete.output().unwrap().status.success());
    let lost = timeout(PATIENCE, lock.lost()).await.expect("it never hears of it");
    assert!(matches!(lost, Lost::ForceReleased { .. }), "{lost}");
    assert!(one.is_alive());
    other.lock("deleted").timeout(PATIENCE).await.unwrap().release().await.unwrap();
}

/// etcd sees no deaths; the keeper of a command does.
pub(crate) async fn a_killed_command_is_not_waited_for(rig: &mut Rig) {
    let address = format!("etcd://{}", rig.servers().unwrap().hosts().join(","));
    let mut killed = command("lock killed --ttl 120s")
        .args(["--address", &address, "--", "sh", "-c", "echo runs; sleep 100"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(killed.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "runs");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let next = plain(rig, "next").await;
    next.lock("killed").timeout(PATIENCE).await.unwrap().release().await.unwrap();
}

/// The last one: all sessions of the suite have ended, or end with their leases.
pub(crate) async fn nothing_is_left_behind(rig: &mut Rig) {
    let mut keys = Vec::new();
    for _ in 0..600 {
        keys = rig.servers().unwrap().keys();
        if keys.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("left behind: {keys:?}");
}
