//! What is special about etcd: what it cannot do, who else uses it, and what is left in it.

use crate::cases::queued;
use crate::common::command;
use crate::etcd::{Servers, installed};
use crate::rig::{Cluster, PATIENCE, Rig, TTL};
use bellwether::{Client, Endpoints, Error, ErrorKind, Lost, Session, SessionOptions};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::time::timeout;

/// A session without a prefix: with etcd's own names.
async fn plain(rig: &Rig, name: &str) -> Session {
    plain_of(rig, name, TTL).await
}

async fn plain_of(rig: &Rig, name: &str, ttl: Duration) -> Session {
    let address = format!("etcd://{}", rig.servers().unwrap().hosts().join(","));
    let client = Client::connect(Endpoints::parse(&address, None, None).unwrap()).await.unwrap();
    let options = SessionOptions { ttl, ..SessionOptions::named(name) };
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
}

/// Runs a command on etcd; its exit code, and what it said.
fn ends(line: &str, address: &str, env: &[(&str, &str)]) -> (i32, String) {
    let mut command = command(line);
    command.args(["--address", address]).args((!line.starts_with("locks")).then_some("--quiet"));
    let run = ["--", "true"].iter().filter(|_| !line.starts_with("locks"));
    let output = command.args(run).envs(env.iter().copied()).stdin(Stdio::null()).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

pub(crate) async fn a_wrong_user_or_certificate_is_told(_: &mut Rig) {
    let other = Servers::start(1).unwrap();
    let address = format!("etcd://{}", other.hosts()[0]);
    let ctl = |words: &[&str]| {
        let output = other.ctl(words).unwrap().output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    if other.ctl(&[]).is_none() {
        return;
    }
    ctl(&["user", "add", "root:secret"]);
    ctl(&["user", "grant-role", "root", "root"]);
    ctl(&["user", "add", "guest:guest"]);
    ctl(&["auth", "enable"]);
    let (user, password) = ("BELLWETHER_ETCD_USER", "BELLWETHER_ETCD_PASSWORD");
    for (env, code, word) in [
        (&[][..], 77, user),
        (&[(user, "root"), (password, "wrong")], 77, "authentication failed"),
        (&[(user, "guest"), (password, "guest")], 77, "permission denied"),
        (&[(user, "root"), (password, "secret")], 0, ""),
    ] {
        let (ended, said) = ends("lock users", &address, env);
        assert_eq!(ended, code, "{env:?}: {said}");
        assert!(said.contains(word), "no '{word}' in: {said}");
    }
    let root = ["--user", "root:secret"];
    assert_eq!(ctl(&[&["get", "", "--prefix", "--keys-only"][..], &root].concat()), "");
    assert_eq!(ctl(&[&["lease", "list"][..], &root].concat()).trim(), "found 0 leases");
    certificates();
}

/// A server that wants certificates: without one, with one of another authority, and with the right one.
fn certificates() {
    if installed("openssl").is_none() {
        eprintln!(
            "skipped: no openssl here to make a certificate for etcd; apt-get install openssl"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (right, wrong) = (folder.path().join("right"), folder.path().join("wrong"));
    for certs in [&right, &wrong] {
        let mut make = command("certs --cluster etcd --client app --ids 1 --out");
        assert!(make.arg(certs).output().unwrap().status.success());
    }
    let make = "openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=etcd -keyout etcd-key.pem \
                -out etcd.csr && echo subjectAltName=IP:127.0.0.1 > san && openssl x509 -req -in etcd.csr -CA ca.pem -CAkey \
                ca-key.pem -CAcreateserial -days 2 -extfile san -out etcd.pem";
    let made = Command::new("sh").args(["-c", make]).current_dir(&right).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let server = Servers::with_certificates(&right).unwrap();
    let address = format!("etcd://{}", server.hosts()[0]);
    let with = |certs: &Path| {
        ends("lock certified", &address, &[("BELLWETHER_CERTS", certs.to_str().unwrap())])
    };
    let (code, said) = with(&right);
    assert_eq!(code, 0, "{said}");
    let (code, said) = with(&wrong);
    assert_eq!(code, 77, "{said}");
    // Its authority is right, and its own certificate is not.
    std::fs::copy(right.join("ca.pem"), wrong.join("ca.pem")).unwrap();
    let (code, said) = with(&wrong);
    assert_eq!(code, 77, "{said}");
}

pub(crate) async fn failures_have_their_exit_codes_and_leave_nothing(rig: &mut Rig) {
    let servers = rig.servers().unwrap();
    let Some(mut put) = servers.ctl(&["put", "used/config", "x"]) else { return };
    assert!(put.output().unwrap().status.success());
    let address = format!("etcd://{}", servers.hosts().join(","));
    let session = plain(rig, "holder").await;
    let lock = session.lock("held").await.unwrap();
    // What other tests left under the suite's prefix goes with their leases meanwhile.
    let keys = || {
        let keys = servers.keys();
        keys.into_iter().filter(|key| !key.starts_with("suite/")).collect::<Vec<_>>()
    };
    let (before, leases) = (keys(), servers.leases());
    for (line, address, code) in [
        ("lock a", "ectd://127.0.0.1:1", 64),
        ("lock a", "etcd://127.0.0.1:1,unix:/x", 64),
        ("locks", address.as_str(), 83),
        ("lock a,b", &address, 83),
        ("lock a --shared", &address, 83),
        ("lock a --permits 1/2", &address, 83),
        ("campaign a --priority 3", &address, 83),
        ("lock a --ttl 1s --grace 100ms", &address, 78),
        ("lock used", &address, 78),
        ("lock held --wait 0s", &address, 75),
        ("lock held --wait 100ms", &address, 75),
    ] {
        let (ended, said) = ends(line, address, &[]);
        assert_eq!(ended, code, "{line}: {said}");
        assert_eq!(keys(), before, "left behind by {line}");
    }
    let left = || {
        let left = servers.leases();
        left.into_iter().filter(|lease| !leases.contains(lease)).collect::<Vec<_>>()
    };
    assert_eq!(left(), [""; 0]);
    lock.release().await.unwrap();
    let mut delete = servers.ctl(&["del", "used/config"]).unwrap();
    assert!(delete.output().unwrap().status.success());
}

pub(crate) async fn a_lease_that_expires_while_waiting_is_told(rig: &mut Rig) {
    let (holder, waiter) = (plain(rig, "holder").await, plain(rig, "waiter").await);
    let lock = holder.lock("expired").await.unwrap();
    let (_, waiting) = queued(&waiter, "expired").await;
    let lease = format!("{:x}", waiter.id().0);
    let Some(mut revoke) = rig.servers().unwrap().ctl(&["lease", "revoke", &lease]) else { return };
    assert!(revoke.output().unwrap().status.success());
    let error = timeout(PATIENCE, waiting).await.expect("it waits for ever").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SessionEnded, "{error}");
    assert!(!waiter.is_alive());
    let left = rig.servers().unwrap().keys();
    assert!(!left.iter().any(|key| key.ends_with(&lease)), "{left:?}");
    lock.release().await.unwrap();
}

/// A request that was dropped while its connection was broken has left its place in the queue.
pub(crate) async fn a_new_request_does_not_get_the_turn_of_an_older_one(rig: &mut Rig) {
    let leader = rig.servers().unwrap().settle();
    let follower = (leader + 1) % 3;
    let mut hosts = rig.servers().unwrap().hosts();
    // It is connected to the first one that answers.
    hosts.rotate_left(follower);
    let client = Client::connect(
        Endpoints::parse(&format!("etcd://{}", hosts.join(",")), None, None).unwrap(),
    );
    let client = client.await.unwrap();
    let session = client.session(SessionOptions::named("waiter")).await.unwrap();
    let holder = plain(rig, "holder").await;
    let lock = holder.lock("turns").await.unwrap();
    let (_, waiting) = queued(&session, "turns").await;
    let Cluster::Etcd(servers) = &mut rig.engine else { return };
    servers.kill(follower);
    drop(waiting);
    let other = holder.lock("another").timeout(PATIENCE).await.unwrap();
    lock.release().await.unwrap();
    let again = session.lock("turns").timeout(PATIENCE).await.unwrap();
    assert!(again.token() > other.token(), "{} is older than {}", again.token(), other.token());
    servers.run(follower);
    servers.settle();
}

pub(crate) async fn a_deleted_key_is_a_lost_lock(rig: &mut Rig) {
    let (one, other) = (plain_of(rig, "one", rig.short()).await, plain(rig, "other").await);
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

/// By hand, a pair of lock and unlock is two entries of etcd's log. The engine may add a tenth.
pub(crate) async fn a_pair_is_two_entries_of_the_log(rig: &mut Rig) {
    let session = plain(rig, "counts").await;
    let leader = rig.servers().unwrap().settle();
    let entries = || {
        let name = "etcd_server_proposals_committed_total";
        rig.servers().unwrap().metric(leader, name).unwrap()
    };
    let before = entries();
    for _ in 0..100 {
        session.lock("counted").await.unwrap().release().await.unwrap();
    }
    let added = entries() - before;
    assert!((200.0..=220.0).contains(&added), "{added} entries for 100 pairs");
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
        keys.extend(rig.servers().unwrap().leases());
        if keys.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("left behind: {keys:?}");
}
