//! The findings of issue 19 on real members, one test for each that loopback can reproduce.
//!
//! Every test was seen to fail on the version that copied the state whole. Findings e and i need a
//! network and limits of their own: `bellwether torture --namespaces --sequence e`.
//!
//! Bounds are for a busy machine: several times what is stated, and a fraction of what was found.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "these tests are about how long something takes"
)]

use crate::common::{call, command, kill_member, learn, process_of};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
/// The TTL of sessions that outlive every test.
const LONG_MS: u64 = 60_000;

/// The leader that a member follows or is, and the last index of its log.
fn seen_by(address: &str) -> (u32, u64) {
    let (_, status) = call(address, "GET", "/v1/status", &Value::Null).unwrap_or_default();
    let leader = status["mandate"]["leader"].as_u64().unwrap_or_default();
    (leader as u32, status["log"]["last_index"].as_u64().unwrap_or_default())
}

/// What a member says that it does; empty if it does not answer.
fn stance(address: &str) -> String {
    let status = call(address, "GET", "/v1/status", &Value::Null);
    status.map_or(String::new(), |(_, s)| s["stance"].as_str().unwrap_or_default().to_owned())
}

/// Ports below those that outgoing connections get, so that no call takes the port of a dead member.
fn port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed) + std::process::id().wrapping_mul(89);
        let port = 12_000 + (step % 8_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Members with a folder each, whose links can be cut one by one.
pub(crate) struct Group {
    pub(crate) folder: TempDir,
    /// Where each serves HTTP, by number.
    http: Vec<String>,
    children: Vec<Option<Child>>,
}

impl Group {
    /// Starts members 1 to `size` and waits for the last one to lead. `extra` adds to the
    /// configuration of a member.
    pub(crate) fn start(size: u32, extra: impl Fn(u32) -> String) -> Group {
        let group = Group::start_only(size, extra);
        group.leads(size, 20 * SECOND);
        group
    }

    fn start_only(size: u32, extra: impl Fn(u32) -> String) -> Group {
        let folder = TempDir::new().unwrap();
        let line = format!("certs --cluster findings --ids 1..{size} --out");
        let made = command(&line).arg(folder.path()).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let listen: Vec<_> = (0..size).map(|_| format!("127.0.0.1:{}", port())).collect();
        let http: Vec<_> = (0..size).map(|_| format!("127.0.0.1:{}", port())).collect();
        for id in 1..=size {
            let mut text = format!(
                "cluster = \"findings\"\nid = {id}\nlisten = \"{}\"\nhttp = \"{}\"\n\
                 data = \"data-{id}\"\nsocket = \"{id}.sock\"\n{}\n[tls]\nca = \"ca.pem\"\n\
                 certificate = \"member-{id}.pem\"\nkey = \"member-{id}-key.pem\"\n",
                listen[id as usize - 1],
                http[id as usize - 1],
                extra(id)
            );
            for (index, address) in listen.iter().enumerate() {
                text += &format!("\n[[member]]\nid = {}\naddress = \"{address}\"\n", index + 1);
            }
            fs::write(folder.path().join(format!("{id}.toml")), text).unwrap();
        }
        let mut group = Group { folder, http, children: (0..size).map(|_| None).collect() };
        (1..=size).for_each(|id| group.revive(id));
        group
    }

    pub(crate) fn http(&self, id: u32) -> &str {
        &self.http[id as usize - 1]
    }

    pub(crate) fn log(&self, id: u32) -> PathBuf {
        self.folder.path().join(format!("{id}.log"))
    }

    /// Starts a member, with development faults allowed.
    pub(crate) fn revive(&mut self, id: u32) {
        let log = File::options().create(true).append(true).open(self.log(id)).unwrap();
        let child = command(&format!("up-member {} {id}.toml", std::process::id()))
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stderr(log)
            .spawn();
        self.children[id as usize - 1] = Some(child.unwrap());
        let token = self.folder.path().join(format!("data-{id}/operator.token"));
        while !token.exists() {
            sleep(MS);
        }
        learn([&self.http[id as usize - 1]], &token);
    }

    /// Sends a signal to a member.
    pub(crate) fn signal(&self, id: u32, signal: Signal) {
        let child = self.children[id as usize - 1].as_ref().unwrap();
        let process = process_of(child).unwrap_or(Pid::from_child(child));
        kill_process(process, signal).unwrap();
    }

    /// The sockets of these members, for `BELLWETHER_SOCKET`.
    pub(crate) fn sockets(&self, ids: &[u32]) -> String {
        let path = |id| self.folder.path().join(format!("{id}.sock")).display().to_string();
        ids.iter().map(path).collect::<Vec<_>>().join(",")
    }

    /// Ends a member by this signal, and waits until it is gone.
    pub(crate) fn end(&mut self, id: u32, signal: Signal) {
        let mut child = self.children[id as usize - 1].take().unwrap();
        let process = process_of(&child).unwrap_or(Pid::from_child(&child));
        kill_process(process, signal).unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn kill(&mut self, id: u32) {
        self.end(id, Signal::KILL);
    }

    /// From now on this member neither sends to these nor hears them.
    pub(crate) fn cut(&self, id: u32, blocked: &[u32]) {
        let body = json!({ "blocked": blocked });
        let (code, said) = call(self.http(id), "POST", "/dev/partition", &body).unwrap();
        assert_eq!(code, 200, "{said}");
    }

    /// Only these pairs reach each other.
    fn links(&self, pairs: &[(u32, u32)]) {
        let size = self.http.len() as u32;
        for id in 1..=size {
            let reaches =
                |other: &u32| pairs.contains(&(id, *other)) || pairs.contains(&(*other, id));
            let blocked: Vec<u32> = (1..=size).filter(|o| *o != id && !reaches(o)).collect();
            self.cut(id, &blocked);
        }
    }

    /// Waits until a member that was started in another way leads.
    pub(crate) fn serves(&self, id: u32, within: Duration) -> String {
        let from = Instant::now();
        while stance(self.http(id)) != "leading" && from.elapsed() < within {
            sleep(10 * MS);
        }
        stance(self.http(id))
    }

    /// Who leads, of those that live.
    fn leaders(&self) -> Vec<u32> {
        let live = self.children.iter().zip(1..).filter(|(child, _)| child.is_some());
        live.map(|(_, id)| id).filter(|id| stance(self.http(*id)) == "leading").collect()
    }

    /// Waits until a member has led for a second.
    #[track_caller]
    pub(crate) fn leader(&self, within: Duration) -> u32 {
        let from = Instant::now();
        let mut since = (0, from);
        while from.elapsed() < within {
            match self.leaders().last() {
                Some(id) if *id == since.0 && since.1.elapsed() > SECOND => return *id,
                Some(id) if *id == since.0 => {}
                Some(id) => since = (*id, Instant::now()),
                None => since = (0, from),
            }
            sleep(10 * MS);
        }
        panic!("no leader for a second within {within:?}: {}", self.told());
    }

    /// Waits until this member leads.
    #[track_caller]
    pub(crate) fn leads(&self, id: u32, within: Duration) {
        let from = Instant::now();
        while from.elapsed() < within {
            if stance(self.http(id)) == "leading" {
                return;
            }
            sleep(10 * MS);
        }
        panic!("P{id} does not lead within {within:?}: {}", self.told());
    }

    /// Waits until all follow this leader and have the same log, for half a second.
    #[track_caller]
    fn settled(&self, leader: u32) {
        let (from, mut since) = (Instant::now(), None);
        while from.elapsed() < 20 * SECOND {
            let seen: Vec<_> = self.http.iter().map(|address| seen_by(address)).collect();
            let agreed = seen.iter().all(|(led_by, last)| *led_by == leader && *last == seen[0].1);
            match since {
                Some((last, at)) if agreed && last == seen[0].1 => {
                    if Instant::now() > at + 500 * MS {
                        return;
                    }
                }
                _ => since = agreed.then(|| (seen[0].1, Instant::now())),
            }
            sleep(10 * MS);
        }
        panic!("the members do not agree: {}", self.told());
    }

    /// What every member says, and why there is no leader.
    fn told(&self) -> String {
        let mut text = String::new();
        for (address, id) in self.http.iter().zip(1..) {
            let status = call(address, "GET", "/v1/status", &Value::Null);
            let status = status.map_or_else(|error| json!(error.to_string()), |(_, status)| status);
            let why = &status["why_no_mandate"];
            text += &format!("\nP{id}: {} {why}", status["stance"]);
            let log = fs::read_to_string(self.log(id)).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            for line in &lines[lines.len().saturating_sub(3)..] {
                text += &format!("\n    {line}");
            }
        }
        text
    }

    /// The longest time without a leader while something is done.
    fn gap(&mut self, work: impl FnOnce(&mut Group)) -> Duration {
        let (http, over) = (self.http.clone(), AtomicBool::new(false));
        thread::scope(|scope| {
            let watching = scope.spawn(|| {
                let (mut gap, mut last) = (Duration::ZERO, Instant::now());
                while !over.load(Ordering::Relaxed) {
                    if http.iter().any(|address| stance(address) == "leading") {
                        last = Instant::now();
                    }
                    gap = gap.max(last.elapsed());
                    sleep(10 * MS);
                }
                gap
            });
            work(self);
            over.store(true, Ordering::Relaxed);
            watching.join().unwrap()
        })
    }

    /// Opens a session through this member.
    #[track_caller]
    fn session(&self, id: u32, ttl_ms: u64) -> String {
        let body = json!({ "client": "finding", "ttl_ms": ttl_ms });
        let (code, opened) = call(self.http(id), "POST", "/v1/sessions", &body).unwrap();
        assert_eq!(code, 200, "{opened}");
        opened["session"].as_str().unwrap().to_owned()
    }

    /// Asks for a lock: the status, and the token if it is granted.
    fn lock(&self, id: u32, session: &str, name: &str, wait_ms: u64) -> io::Result<(u16, u64)> {
        let body = json!({ "locks": [{ "name": name }], "wait_ms": wait_ms });
        let path = format!("/v1/sessions/{session}/locks");
        let (code, granted) = call(self.http(id), "POST", &path, &body)?;
        Ok((code, granted["token"].as_u64().unwrap_or_default()))
    }

    /// A session that holds a lock for the rest of the test; its name and its token.
    #[track_caller]
    fn holder(&self, id: u32, name: &str) -> (String, u64) {
        let session = self.session(id, LONG_MS);
        let (code, token) = self.lock(id, &session, name, 0).unwrap();
        assert_eq!(code, 200);
        (session, token)
    }

    /// What a member says to a token: 200 if it holds the lock.
    fn check(&self, id: u32, name: &str, token: u64) -> u16 {
        let path = format!("/v1/locks/{name}/tokens/{token}");
        call(self.http(id), "GET", &path, &Value::Null).map_or(0, |(code, _)| code)
    }

    /// Campaigns for a role, to be known by a value of this length.
    #[track_caller]
    fn campaign(&self, id: u32, session: &str, role: &str, length: usize) {
        let body = json!({ "session": session, "value": "v".repeat(length) });
        let path = format!("/v1/roles/{role}/campaign");
        let (code, said) = call(self.http(id), "POST", &path, &body).unwrap();
        assert_eq!(code, 200, "{said}");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            kill_member(child);
        }
    }
}

pub(crate) fn plain(_: u32) -> String {
    String::new()
}

/// No order of restarts makes a cluster wait for the TTL of a session once all members are up.
#[test]
fn finding_a_kill_5_4_3_restart_3_4_5() {
    let mut group = Group::start(5, plain);
    let (_, token) = group.holder(5, "x");
    group.kill(5);
    group.leads(4, 8 * SECOND);
    group.kill(4);
    group.leads(3, 8 * SECOND);
    group.kill(3);
    (3..=5).for_each(|id| group.revive(id));
    let leader = group.leader(6 * SECOND);
    assert_eq!(group.check(leader, "x", token), 200, "P{leader} does not know the holder");
}

/// A member that comes back under load is not handed leadership before it can hold it. The version
/// that copied the state whole failed in one of six runs.
#[test]
fn finding_a_kill_5_restart_4_restart_5() {
    let mut group = Group::start(5, plain);
    let (_, token) = group.holder(5, "x");
    let sockets: Vec<_> =
        (1..=5).map(|id| group.folder.path().join(format!("{id}.sock"))).collect();
    let sockets: Vec<_> = sockets.iter().map(|path| path.display().to_string()).collect();
    let (sockets, over) = (sockets.join(","), AtomicBool::new(false));
    let gap = thread::scope(|scope| {
        // A client at work: sessions come and go while members do.
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let mut busy = command("lock busy --wait 1s -- true");
                busy.env("BELLWETHER_SOCKET", &sockets).stderr(Stdio::null()).status().unwrap();
            }
        });
        let gap = group.gap(|group| {
            group.kill(5);
            sleep(3 * SECOND / 2);
            group.kill(4);
            sleep(3 * SECOND / 2);
            group.revive(4);
            sleep(3 * SECOND / 2);
            group.revive(5);
            sleep(4 * SECOND);
        });
        over.store(true, Ordering::Relaxed);
        gap
    });
    assert!(gap < 3 * SECOND, "no leader for {gap:?}: {}", group.told());
    let leader = group.leader(4 * SECOND);
    assert_eq!(group.check(leader, "x", token), 200, "P{leader} does not know the holder");
}

/// A follower that gets heartbeats and not what is changed must not keep a leader serving, or else
/// one lock has two holders: one there, and one in the next term that knows nothing of the first.
#[test]
fn finding_b_one_lock_one_holder() {
    const TTL: Duration = Duration::from_secs(4);
    // A change above its limit never reached P1.
    let small = |id| {
        let frame = if id == 1 { "limits = { frame = \"4KiB\" }" } else { "" };
        format!("lease = \"2s\"\n{frame}")
    };
    let mut group = Group::start(3, small);
    // Everything is done at P3, as by a client that reaches no other member.
    let session = group.session(3, TTL.as_millis() as u64);
    group.campaign(3, &session, "large", 4_096);
    let (code, _) = group.lock(3, &session, "x", 0).unwrap();
    assert_eq!(code, 200);
    // P2 restarts and does not hear of P3, until it may vote.
    group.cut(3, &[2]);
    group.kill(2);
    group.revive(2);
    let keep = |group: &Group| {
        let (path, sent) = (format!("/v1/sessions/{session}/keep-alive"), Instant::now());
        let kept = call(group.http(3), "POST", &path, &Value::Null);
        kept.is_ok_and(|(code, _)| code == 200).then_some(sent + TTL)
    };
    let (from, mut believes) = (Instant::now(), Instant::now());
    while from.elapsed() < 6 * SECOND {
        believes = keep(&group).unwrap_or(believes);
        sleep(100 * MS);
    }
    // Now P3 and its client are cut off. The client believes until its TTL is over.
    group.cut(3, &[1, 2]);
    while Instant::now() < believes {
        let Some(leader) = group.leaders().into_iter().find(|id| *id != 3) else { continue };
        let body = json!({ "client": "second", "ttl_ms": LONG_MS });
        let opened = call(group.http(leader), "POST", "/v1/sessions", &body);
        let Ok((200, opened)) = opened else { continue };
        let second = opened["session"].as_str().unwrap();
        let granted = group.lock(leader, second, "x", 0).is_ok_and(|(code, _)| code == 200);
        let left = believes.saturating_duration_since(Instant::now());
        assert!(!granted || left.is_zero(), "two holders of one lock for {left:?}");
    }
}

/// A lease that is longer at one member must not make two leaders.
#[test]
fn finding_c_a_lease_of_its_own() {
    let long = |id| if id == 3 { "lease = \"3s\"".to_owned() } else { plain(id) };
    let group = Group::start_only(3, long);
    group.leader(10 * SECOND);
    group.cut(3, &[1, 2]);
    let from = Instant::now();
    while from.elapsed() < 4 * SECOND {
        // It led before and after another one did.
        let before = stance(group.http(3));
        let others = group.leaders().into_iter().find(|id| *id != 3);
        if let (Some(other), true) = (others, before == "leading") {
            let after = stance(group.http(3));
            assert_ne!(after, "leading", "P{other} and P3 lead at the same time");
        }
        sleep(10 * MS);
    }
}

/// No size of the state and no limit on frames leaves the cluster without a leader.
#[test]
fn finding_d_a_state_larger_than_a_frame() {
    let mut group = Group::start(3, |_| "limits = { frame = \"64KiB\" }".to_owned());
    let session = group.session(3, LONG_MS);
    for role in 0..60 {
        group.campaign(3, &session, &format!("r{role}"), 4_000);
    }
    let (_, token) = group.holder(3, "x");
    group.kill(3);
    let leader = group.leader(8 * SECOND);
    assert_eq!(group.check(leader, "x", token), 200);
    group.revive(3);
    group.leads(3, 8 * SECOND);
    assert_eq!(group.check(3, "x", token), 200);
}

/// A member that restarts has forgotten nothing, so the cluster waits for no TTL.
#[test]
fn finding_f_kill_3_kill_2_restart_2() {
    let mut group = Group::start(3, plain);
    let (_, token) = group.holder(3, "x");
    group.kill(3);
    group.leads(2, 8 * SECOND);
    group.kill(2);
    group.revive(2);
    // A lease, an election, two seconds, and one to see that it stays.
    let leader = group.leader(5 * SECOND);
    assert_eq!(group.check(leader, "x", token), 200);
}

/// A leader that is cut off and does not know it yet: what it does now is never committed.
fn cut_off_leader() -> (Group, String, u64) {
    let group = Group::start(3, |_| "lease = \"3s\"".to_owned());
    let (session, token) = group.holder(3, "x");
    group.cut(3, &[1, 2]);
    (group, session, token)
}

/// A release by force that is not committed is not seen, and not said to be for ever.
#[test]
fn finding_g_check_after_a_force_that_only_the_leader_has() {
    let (group, session, token) = cut_off_leader();
    thread::scope(|scope| {
        let force = json!({ "session": session, "by": "finding g" });
        let http = group.http(3);
        // It cannot be answered before the lease is over.
        scope.spawn(move || call(http, "POST", "/v1/locks/x/force", &force));
        let from = Instant::now();
        let next = loop {
            assert_ne!(group.check(3, "x", token), 409, "a release that is not committed is told");
            if let Some(other) = group.leaders().into_iter().find(|id| *id != 3) {
                break other;
            }
            assert!(from.elapsed() < 12 * SECOND, "no member takes over: {}", group.told());
            sleep(50 * MS);
        };
        assert_eq!(group.check(3, "x", token), 503, "P3 does not lead any more");
        assert_eq!(group.check(next, "x", token), 200);
    });
}

/// A grant that is not committed is not seen.
#[test]
fn finding_g_check_of_a_grant_that_only_the_leader_has() {
    let (group, session, token) = cut_off_leader();
    thread::scope(|scope| {
        scope.spawn(|| group.lock(3, &session, "y", 0));
        let from = Instant::now();
        while from.elapsed() < 2 * SECOND {
            // Tokens are counted, so the next one can be guessed.
            for guess in token + 1..token + 4 {
                let said = group.check(3, "y", guess);
                assert_ne!(said, 200, "a grant that is not committed is told");
            }
            sleep(50 * MS);
        }
    });
}

/// A leader that reaches a majority is found in a star and in a chain.
#[test]
fn finding_h_a_star() {
    let group = Group::start(5, plain);
    group.links(&[(1, 3), (2, 3), (4, 3), (5, 3)]);
    // Until the lease of the old leader is over.
    sleep(SECOND);
    assert_eq!(group.leader(8 * SECOND), 3);
}

#[test]
fn finding_h_a_chain() {
    let group = Group::start(5, plain);
    group.links(&[(1, 2), (2, 3), (3, 4), (4, 5)]);
    sleep(SECOND);
    let leader = group.leader(8 * SECOND);
    assert!((2..=4).contains(&leader), "P{leader} reaches no majority");
}

/// A member with an empty folder does not help to elect a leader that has forgotten a lock.
#[test]
fn finding_j_start_with_an_empty_directory() {
    let mut group = Group::start(3, plain);
    // P2 knows the folder of P1 (S6). Only P1 and P3 know of the lock.
    group.settled(3);
    group.cut(2, &[1, 3]);
    let (_, token) = group.holder(3, "x");
    group.kill(1);
    group.kill(3);
    fs::remove_dir_all(group.folder.path().join("data-1")).unwrap();
    group.cut(2, &[]);
    group.revive(1);
    let from = Instant::now();
    while from.elapsed() < 4 * SECOND {
        for leader in group.leaders() {
            let known = group.check(leader, "x", token);
            assert_ne!(known, 409, "P{leader} leads and has forgotten a lock: {}", group.told());
        }
        sleep(20 * MS);
    }
    group.revive(3);
    let leader = group.leader(8 * SECOND);
    assert_eq!(group.check(leader, "x", token), 200);
}
