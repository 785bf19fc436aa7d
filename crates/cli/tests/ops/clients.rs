//! Clients that always find the coordinator, and holders that hear first: issue 20 on real members.
//!
//! Every test was seen to fail on the version before. Bounds are for a busy machine.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "these tests are about how long something takes"
)]

use crate::common::{Up, call, command};
use crate::findings::{Group, plain};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
/// A job that tells its number and goes on.
const JOB: &str = "echo $$; while :; do sleep 0.01; done";

fn client(group: &Group, members: &[u32], words: &str, script: &str) -> Command {
    let mut command = command(words);
    command.env("BELLWETHER_SOCKET", group.sockets(members)).args(["--", "sh", "-c", script]);
    command.current_dir(group.folder.path()).stdin(Stdio::null());
    command
}

fn run(group: &Group, members: &[u32], words: &str) -> Output {
    client(group, members, words, "true").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A command that runs, and what it and its job say.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    notes: Lines<BufReader<ChildStderr>>,
}

impl Running {
    fn of(mut command: Command) -> Running {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let notes = BufReader::new(child.stderr.take().unwrap()).lines();
        Running { child, lines, notes }
    }

    /// The number of its job.
    fn job(&mut self) -> Pid {
        let line = self.lines.next().expect("the job never ran").unwrap();
        Pid::from_raw(line.trim().parse().unwrap()).unwrap()
    }

    /// Reads on until the command says this.
    #[track_caller]
    fn until(&mut self, fragment: &str) -> String {
        let mut said = String::new();
        for line in self.notes.by_ref().map(Result::unwrap) {
            if line.contains(fragment) {
                return line;
            }
            said += &format!("{line}\n");
        }
        panic!("it ended without '{fragment}':\n{said}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// P5 is cut off and has no coordinator; P4 leads. A client that begins with P5 finds that out.
#[test]
fn a_client_that_begins_with_a_member_that_is_cut_off_finds_the_coordinator() {
    let group = Group::start(5, plain);
    let words = "lock held --ttl 3s --grace 500ms";
    let mut holder = Running::of(client(&group, &[5, 1, 2, 3, 4], words, JOB));
    let job = holder.job();
    group.cut(5, &[1, 2, 3, 4]);
    group.leads(4, 10 * SECOND);
    let began = Instant::now();
    let output = run(&group, &[5, 1, 2, 3, 4], "lock other");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(began.elapsed() < 3 * SECOND, "{:?}", began.elapsed());
    sleep(4 * SECOND);
    assert!(Up::lives(job), "the holder has lost its lock");
    // One that reaches no other says what it asked, and nothing that it does not know.
    let output = run(&group, &[5], "lock other");
    assert_eq!(output.status.code(), Some(70));
    let said = text(&output.stderr);
    assert!(said.contains("5.sock: P5 follows no coordinator"), "{said}");
}

/// A member that is stopped is left after a lease, whatever the TTL is.
#[test]
fn a_client_whose_member_hangs_goes_on_after_a_lease() {
    let group = Group::start(3, plain);
    let mut first = Running::of(client(&group, &[2], "lock db", JOB));
    first.job();
    let words = "lock db --ttl 20s";
    let mut waiting = Running::of(client(&group, &[1, 2, 3], words, JOB));
    waiting.until("waits for 'db'");
    sleep(SECOND);
    group.signal(1, Signal::STOP);
    kill_process(Pid::from_child(&first.child), Signal::TERM).unwrap();
    let began = Instant::now();
    waiting.job();
    let took = began.elapsed();
    group.signal(1, Signal::CONT);
    // The lease is half a second, and the first job has to end.
    assert!(took < 2 * SECOND, "{took:?}");
}

/// Commands that wait go on to wait when all members are gone for longer than anybody looks for them.
#[test]
fn who_waits_survives_an_outage_and_says_so() {
    let mut group = Group::start(3, plain);
    let all = [1, 2, 3];
    let mut leader = Running::of(client(&group, &all, "campaign cron --ttl 2s --grace 200ms", JOB));
    leader.job();
    let mut standby =
        Running::of(client(&group, &all, "campaign cron --ttl 2s --grace 200ms", JOB));
    standby.until("campaigns for 'cron'");
    let mut holder = Running::of(client(&group, &all, "lock db --ttl 2s --grace 200ms", JOB));
    holder.job();
    let mut waiting = Running::of(client(&group, &all, "lock db --ttl 2s --grace 200ms", JOB));
    waiting.until("waits for 'db'");
    all.iter().for_each(|id| group.kill(*id));
    sleep(8 * SECOND);
    assert!(standby.until("keeps waiting for 'cron'").contains("no member answers"));
    assert!(waiting.until("keeps waiting for 'db'").contains("the session ended"));
    all.iter().for_each(|id| group.revive(*id));
    group.leader(20 * SECOND);
    waiting.job();
    // One of the two candidates leads.
    kill_process(Pid::from_child(&leader.child), Signal::TERM).unwrap();
    standby.until("leads 'cron'");
}

/// What the locks are held by, as a member shows it.
fn holder(group: &Group, lock: &str) -> String {
    for _ in 0..200 {
        let (_, shown) = call(group.http(1), "GET", "/v1/locks", &Value::Null).unwrap();
        let locks = shown["locks"].as_array().unwrap();
        let found = locks.iter().find(|shown| shown["name"] == *lock);
        if let Some(holder) = found.and_then(|lock| lock["holders"][0]["session"].as_str()) {
            return holder.to_owned();
        }
        sleep(10 * MS);
    }
    panic!("P1 does not know who holds '{lock}'");
}

/// Whether the job of the next one finds that of the first one alive.
fn next(group: &Group, job: Pid) -> Running {
    let script = format!("kill -0 {} 2>&- && echo twice; echo next", job.as_raw_nonzero());
    let mut next = Running::of(client(group, &[2, 1, 3], "lock db", &script));
    next.until("waits for 'db'");
    next
}

#[test]
fn a_session_that_an_operator_ends_is_dead_before_the_next_begins() {
    let group = Group::start(3, plain);
    let mut first = Running::of(client(&group, &[1, 2, 3], "lock db --ttl 20s", JOB));
    let job = first.job();
    let mut next = next(&group, job);
    let path = format!("/v1/sessions/{}", holder(&group, "db"));
    let began = Instant::now();
    let (code, said) = call(group.http(3), "DELETE", &path, &Value::Null).unwrap();
    assert_eq!(code, 200, "{said}");
    assert_eq!(next.lines.next().unwrap().unwrap(), "next");
    assert!(began.elapsed() < 5 * SECOND, "the next does not wait for the TTL");
    assert!(first.until("was lost").contains("operator"));
    assert_eq!(first.child.wait().unwrap().code(), Some(72));
}

#[test]
fn a_holder_that_cannot_be_told_is_waited_for_unless_the_operator_does_not_want_to() {
    let group = Group::start(3, plain);
    let words = "lock db --ttl 4s --grace 500ms";
    let mut first = Running::of(client(&group, &[1, 2, 3], words, JOB));
    let job = first.job();
    let mut second = next(&group, job);
    let session = holder(&group, "db");
    // The command is stopped; its keeper is not, and ends the job in time.
    kill_process(Pid::from_child(&first.child), Signal::STOP).unwrap();
    let force = json!({ "session": session, "by": "anna" });
    let (code, said) = call(group.http(3), "POST", "/v1/locks/db/force", &force).unwrap();
    assert_eq!(code, 202, "{said}");
    assert!(said["done"].as_str().unwrap().contains("not confirmed"), "{said}");
    assert_eq!(second.lines.next().unwrap().unwrap(), "next", "two at once");
    // The same at once.
    let mut third = Running::of(client(&group, &[1, 2, 3], "lock x --ttl 20s", JOB));
    third.job();
    kill_process(Pid::from_child(&third.child), Signal::STOP).unwrap();
    let (session, began) = (holder(&group, "x"), Instant::now());
    let mut fourth = Running::of(client(&group, &[2, 1, 3], "lock x", "echo next"));
    fourth.until("waits for 'x'");
    let force = json!({ "session": session, "by": "anna", "now": true });
    let (code, said) = call(group.http(3), "POST", "/v1/locks/x/force", &force).unwrap();
    assert_eq!(code, 200, "{said}");
    assert!(said["done"].as_str().unwrap().contains("reject its token"), "{said}");
    assert_eq!(fourth.lines.next().unwrap().unwrap(), "next");
    assert!(began.elapsed() < 10 * SECOND, "{:?}", began.elapsed());
    sleep(100 * MS);
}

#[test]
fn names_that_cannot_be_are_refused_before_anything_is_asked() {
    for names in [vec![""], vec!["x,,y"], vec!["x", ""]] {
        let mut command = command("lock --socket /nowhere.sock");
        let output = command.args(names).args(["--", "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(74), "{}", text(&output.stderr));
    }
    let group = Group::start(1, plain);
    for verb in ["lock", "campaign"] {
        let mut command = command(verb);
        command.env("BELLWETHER_SOCKET", group.sockets(&[1]));
        let output = command.args(["a\u{1b}[2J\n", "--", "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(74), "{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains('\u{1b}'));
    }
    let open = json!({ "client": "a\u{1b}[2J", "ttl_ms": 1_000 });
    let (code, said) = call(group.http(1), "POST", "/v1/sessions", &open).unwrap();
    assert_eq!((code, said["code"].as_str()), (422, Some("bad-name")), "{said}");
}

#[test]
fn what_a_minority_shows_ends_with_70() {
    let mut group = Group::start(3, plain);
    let verbs = ["status", "members", "locks", "sessions", "roles", "deadlocks"];
    let codes = |group: &Group| {
        verbs.map(|verb| {
            let shown = command(&format!("{verb} --address {}", group.http(1))).output().unwrap();
            assert!(!shown.stdout.is_empty(), "{verb} shows nothing");
            shown.status.code().unwrap()
        })
    };
    assert_eq!(codes(&group), [0; 6]);
    group.kill(2);
    group.kill(3);
    let began = Instant::now();
    while codes(&group) != [70; 6] {
        assert!(began.elapsed() < 8 * SECOND, "{:?}", codes(&group));
        sleep(100 * MS);
    }
}

/// Waits until a member has logged this.
fn logged(group: &Group, id: u32, text: &str) {
    let began = Instant::now();
    loop {
        let log = std::fs::read_to_string(group.log(id)).unwrap();
        if log.contains(text) {
            return;
        }
        assert!(began.elapsed() < 20 * SECOND, "{log}");
        sleep(10 * MS);
    }
}

#[test]
fn sighup_makes_a_member_reload() {
    let group = Group::start(3, plain);
    group.signal(3, Signal::HUP);
    logged(&group, 3, "configuration reloaded by SIGHUP");
    let path = group.folder.path().join("3.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, text.replace("[tls]", "[log]\nlevel = \"debug\"\n[tlz]")).unwrap();
    group.signal(3, Signal::HUP);
    logged(&group, 3, "not reloaded, nothing has changed (asked by SIGHUP)");
    assert_eq!(group.leader(10 * SECOND), 3);
}

/// A terminal that is closed ends a member as SIGTERM does.
#[test]
fn a_member_resigns_when_its_terminal_is_closed() {
    let mut group = Group::start(1, plain);
    group.kill(1);
    let terminal = pty::openpt(pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY).unwrap();
    pty::grantpt(&terminal).unwrap();
    pty::unlockpt(&terminal).unwrap();
    let name = pty::ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let stdin = File::options().read(true).write(true).open(name).unwrap();
    let log = File::options().append(true).open(group.log(1)).unwrap();
    let mut member = command("node --config 1.toml")
        .current_dir(group.folder.path())
        .stdin(stdin)
        .stderr(log)
        .spawn()
        .unwrap();
    assert_eq!(group.serves(1, 20 * SECOND), "leading");
    kill_process(Pid::from_child(&member), Signal::HUP).unwrap();
    assert_eq!(member.wait().unwrap().code(), Some(0));
    logged(&group, 1, "signal 1: hands over and exits");
}

/// As the commands do: a program that is told nothing finds the cluster of `bellwether up`.
#[test]
fn a_program_finds_the_cluster_of_up() {
    let runtime = tempfile::tempdir().unwrap();
    let mut up = Up::start_in(runtime.path(), "--nodes 3");
    up.until(&["member 3 is the coordinator in term"]);
    // What the crate finds is what `lock` finds: both ask `bellwether::up`.
    let mut lock = command("lock db -- echo held");
    lock.env("XDG_RUNTIME_DIR", runtime.path()).env_remove("BELLWETHER_SOCKET");
    let output = lock.output().unwrap();
    assert_eq!(text(&output.stdout), "held\n", "{}", text(&output.stderr));
}
