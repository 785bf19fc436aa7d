//! `campaign` and `lock` as a script meets them: real members, real jobs, and never two at once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Up, command};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use tempfile::TempDir;

/// A cluster that has a coordinator, and where its members are.
pub(crate) struct Cluster {
    pub(crate) up: Up,
    sockets: String,
    pub(crate) folder: TempDir,
}

impl Cluster {
    pub(crate) fn start(size: u32) -> Cluster {
        let mut up = Up::start(&format!("--nodes {size}"));
        up.until(&[&format!("member {size} is the coordinator in term")]);
        let sockets: Vec<_> = (1..=size).map(|id| up.socket(id)).collect();
        Cluster { up, sockets: sockets.join(","), folder: TempDir::new().unwrap() }
    }

    /// A command against this cluster, with a shell script as its job.
    pub(crate) fn command(&self, words: &str, script: &str) -> Command {
        let mut command = command(words);
        command.env("BELLWETHER_SOCKET", &self.sockets).args(["--", "sh", "-c", script]);
        command.current_dir(self.folder.path());
        command
    }

    /// The same from another host, as far as the members can see.
    fn remote(&self, words: &str, script: &str) -> Command {
        let mut command = command(words);
        command.env_remove("BELLWETHER_SOCKET").arg("--connect").arg(self.up.addresses());
        command.arg("--certs").arg(&self.up.folder).args(["--", "sh", "-c", script]);
        command.current_dir(self.folder.path());
        command
    }

    fn run(&self, words: &str, script: &str) -> Output {
        self.command(words, script).stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn spawn(&self, words: &str, script: &str) -> Running {
        Running::of(self.command(words, script))
    }

    pub(crate) fn end(mut self) {
        self.up.say("quit");
        assert!(self.up.child.wait().unwrap().success());
    }
}

/// A command that runs, and what its job prints.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    notes: Lines<BufReader<ChildStderr>>,
}

impl Running {
    pub(crate) fn of(mut command: Command) -> Running {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let notes = BufReader::new(child.stderr.take().unwrap()).lines();
        Running { child, lines, notes }
    }

    pub(crate) fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// Reads on until the command says this.
    pub(crate) fn until(&mut self, fragment: &str) -> String {
        self.notes.find_map(|line| line.ok().filter(|line| line.contains(fragment))).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only if the test has failed before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn pid(line: &str) -> Pid {
    Pid::from_raw(line.trim().parse().unwrap()).unwrap()
}

/// A job that tells its number; and before that, if another one lives at the same time.
const JOB: &str = "if kill -0 $(cat last) 2>&-; then echo twice; fi; echo $$ > last; \
                   trap 'exit 9' TERM; echo $$; while :; do sleep 0.01; done";

#[test]
fn a_job_has_its_token_and_its_exit_code_is_passed_on() {
    let cluster = Cluster::start(3);
    let script = "echo $BELLWETHER_LOCK $BELLWETHER_SESSION; cat; exit 7";
    let mut child = cluster
        .command("lock db", script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"input").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(7));
    assert!(said.starts_with("db s") && said.ends_with("input"), "{said}");
    let mut tokens = Vec::new();
    for words in ["lock db", "lock a,b", "lock --shared db", "lock --permits 2/3 slots"] {
        let output = cluster.run(words, "echo $BELLWETHER_TOKEN");
        assert_eq!(output.status.code(), Some(0), "{words}: {}", text(&output.stderr));
        tokens.push(text(&output.stdout).trim().parse::<u64>().unwrap());
    }
    assert!(tokens.is_sorted() && tokens[0] < tokens[3], "{tokens:?}");
    assert_eq!(cluster.run("lock db", "kill -KILL $$").status.code(), Some(137));
    let output = cluster.run("campaign cron", "echo $BELLWETHER_ROLE $BELLWETHER_TOKEN; exit 3");
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).starts_with("cron "), "{}", text(&output.stdout));
    cluster.end();
}

#[test]
fn one_waits_for_the_other_and_not_longer_than_it_wants() {
    let cluster = Cluster::start(3);
    let mut first = cluster.spawn("lock db", JOB);
    let job = first.line();
    let output = cluster.run("lock db --wait 0s", "echo never");
    assert_eq!(output.status.code(), Some(75), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the lock 'db' is not free"), "{}", text(&output.stderr));
    let output = cluster.run("lock db --wait 50ms", "echo never");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(75), 0));
    // The error names the time of the flag, not what was left of it when the request went out.
    let said = text(&output.stderr);
    assert!(said.contains("cannot lock 'db': timed out after 50ms"), "{said}");
    assert!(said.contains("; retry with a longer --wait"), "{said}");
    let mut second = cluster.spawn("lock db", JOB);
    second.until("waits for 'db', position 1 in the queue");
    let mut third = cluster.spawn("lock db", "echo never");
    third.until("waits for 'db', position 2 in the queue");
    // One that is told to end does not wait any longer.
    third.signal(Signal::TERM);
    assert_eq!(third.code(), Some(143));
    // One whose job is told to end ends as the job does.
    first.signal(Signal::TERM);
    assert_eq!(first.code(), Some(9));
    assert!(!Up::lives(pid(&job)));
    pid(&second.line());
    second.signal(Signal::INT);
    assert_eq!(second.code(), Some(9));
    cluster.end();
}

#[test]
fn a_job_dies_with_its_command_and_so_does_what_it_started() {
    let cluster = Cluster::start(3);
    // One child in the group, one that has left it, and one that does not listen.
    let script = "trap '' TERM; sleep 1000 & echo $!; setsid sh -c 'echo $$; exec sleep 1000' & \
                  echo $$; while :; do wait; done";
    let mut command = cluster.spawn("lock db --ttl 60s", script);
    let all: Vec<Pid> = (0..3).map(|_| pid(&command.line())).collect();
    assert!(all.iter().all(|pid| Up::lives(*pid)));
    let mut next = cluster.spawn("lock db", "echo next");
    next.until("waits for 'db'");
    command.signal(Signal::KILL);
    command.code();
    // The next does not wait for a minute: the member sees the death of all of them.
    assert_eq!(next.line(), "next");
    assert!(!all.iter().any(|pid| Up::lives(*pid)), "a job outlives its command");
    assert_eq!(next.code(), Some(0));
    cluster.end();
}

#[test]
fn what_a_job_leaves_behind_is_ended_before_the_next_begins() {
    let cluster = Cluster::start(3);
    let mut first = cluster.spawn("lock db --grace 100ms", "sleep 1000 & echo $!; exit 5");
    let left = pid(&first.line());
    assert_eq!(first.code(), Some(5));
    assert!(!Up::lives(left));
    // A job that does not listen is killed after the grace period.
    let mut deaf =
        cluster.spawn("lock db --grace 100ms", "trap '' TERM; echo $$; sleep 1000; sleep 1");
    let job = pid(&deaf.line());
    deaf.signal(Signal::TERM);
    assert_eq!(deaf.code(), Some(137));
    assert!(!Up::lives(job));
    cluster.end();
}

#[test]
fn a_signal_asks_the_command_to_end_and_a_second_one_kills_it() {
    let cluster = Cluster::start(3);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut first = cluster.spawn("lock db", JOB);
        let job = pid(&first.line());
        first.signal(signal);
        // The job's own exit code, when it is asked to end.
        assert_eq!(first.code(), Some(9), "{signal:?}");
        assert!(!Up::lives(job), "{signal:?}");
    }
    // A job that does not listen is not waited for any longer.
    let mut deaf = cluster
        .spawn("lock db --ttl 60s --grace 30s", "trap '' TERM; echo $$; sleep 1000; sleep 1");
    let job = pid(&deaf.line());
    deaf.signal(Signal::TERM);
    deaf.signal(Signal::INT);
    assert_eq!(deaf.code(), Some(137));
    assert!(!Up::lives(job));
    cluster.end();
}

#[test]
fn the_job_moves_on_whatever_is_killed() {
    let mut cluster = Cluster::start(3);
    let [mut one, mut other] = [0, 1].map(|_| {
        let mut running = cluster.spawn("campaign cron --ttl 4s --grace 1s", JOB);
        running.until("cron'");
        running
    });
    let job = pid(&one.line());
    // The coordinator: nothing changes for the job.
    cluster.up.say("kill 3");
    cluster.up.until(&["member 2 is the coordinator in term"]);
    assert!(Up::lives(job));
    // The command: the other's job begins, and never two at once.
    one.signal(Signal::KILL);
    one.code();
    let next = pid(&other.line());
    assert!(!Up::lives(job), "two at once");
    // The job: its command ends, and the other candidate leads.
    let mut third = cluster.spawn("campaign cron --ttl 4s --grace 1s", JOB);
    third.until("campaigns for 'cron'");
    kill_process(next, Signal::KILL).unwrap();
    assert_eq!(other.code(), Some(137));
    pid(&third.line());
    // The keeper, which is the job's parent.
    let mut fourth = cluster.spawn("campaign cron --ttl 4s --grace 1s", JOB);
    fourth.until("campaigns for 'cron'");
    let keepers = fs::read_to_string(format!("/proc/{0}/task/{0}/children", third.child.id()));
    kill_process(pid(&keepers.unwrap()), Signal::KILL).unwrap();
    assert_eq!(third.code(), Some(137));
    pid(&fourth.line());
    fourth.signal(Signal::TERM);
    assert_eq!(fourth.code(), Some(9));
    cluster.end();
}

/// No member sees the process: what it held is free when its session's time is over.
#[test]
fn over_tls_a_job_outlives_the_coordinator_and_not_its_command() {
    let mut cluster = Cluster::start(3);
    let output = cluster.remote("lock db", "echo $BELLWETHER_TOKEN; exit 6").output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", text(&output.stderr));
    let first: u64 = text(&output.stdout).trim().parse().unwrap();
    let script = format!("echo $BELLWETHER_TOKEN; {JOB}");
    let words = "campaign cron --ttl 3s --grace 300ms";
    let mut one = Running::of(cluster.remote(words, &script));
    let token: u64 = one.line().parse().unwrap();
    let job = pid(&one.line());
    assert!(token > first);
    let mut other = Running::of(cluster.remote(words, &script));
    other.until("campaigns for 'cron', 1 candidate ahead");
    // The coordinator, to which both are connected.
    cluster.up.say("kill 3");
    cluster.up.until(&["member 2 is the coordinator in term"]);
    let output = cluster.remote("lock db", "echo $BELLWETHER_TOKEN").output().unwrap();
    let later: u64 = text(&output.stdout).trim().parse().unwrap();
    assert!(later > token && Up::lives(job), "{}", text(&output.stderr));
    // The command: its job dies with it, and the other leads when the session is over.
    one.signal(Signal::KILL);
    one.code();
    let next: u64 = other.line().parse().unwrap();
    assert!(next > later);
    assert!(!Up::lives(job), "two at once");
    // If it found the first one alive it would say so before its number.
    let next = pid(&other.line());
    assert!(Up::lives(next));
    other.signal(Signal::TERM);
    assert_eq!(other.code(), Some(9));
    cluster.end();
}

#[test]
fn a_job_is_dead_before_the_next_begins_even_if_its_command_stands_still() {
    let mut cluster = Cluster::start(3);
    let words = "campaign cron --ttl 1s --grace 200ms";
    let mut one = cluster.spawn(words, JOB);
    let job = pid(&one.line());
    let mut other = cluster.spawn(words, JOB);
    other.until("campaigns for 'cron'");
    one.signal(Signal::STOP);
    let next = pid(&other.line());
    assert!(!Up::lives(job), "two at once");
    one.signal(Signal::CONT);
    one.until("no longer leads 'cron'");
    one.until("campaigns for 'cron', 1 candidate ahead");
    // Without members no client leads; when they are back, one leads again.
    for id in 1..=3 {
        cluster.up.say(&format!("kill {id}"));
    }
    other.until("no longer leads 'cron'");
    assert!(!Up::lives(next), "a job outlives what it ran under");
    for id in 1..=3 {
        cluster.up.say(&format!("revive {id}"));
    }
    let jobs = [one, other].map(|mut running| {
        std::thread::spawn(move || {
            let job = running.lines.next().map(|line| pid(&line.unwrap()));
            running.signal(Signal::TERM);
            (job, running.code())
        })
    });
    for job in jobs {
        let (job, code) = job.join().unwrap();
        assert!(job.is_some() && code == Some(9), "{job:?} {code:?}");
    }
    cluster.end();
}

#[test]
fn a_leader_yields_and_comes_back() {
    let cluster = Cluster::start(3);
    let mut low = cluster.spawn("campaign primary --priority 1 --preempt", JOB);
    pid(&low.line());
    let mut high = cluster.spawn("campaign primary --priority 5 --preempt", JOB);
    pid(&high.line());
    low.until("a candidate with a higher priority");
    low.until("campaigns for 'primary', 1 candidate ahead");
    high.signal(Signal::TERM);
    assert_eq!(high.code(), Some(9));
    pid(&low.line());
    let output = cluster.run("campaign primary", "echo never");
    assert_eq!(output.status.code(), Some(78), "{}", text(&output.stderr));
    low.signal(Signal::TERM);
    assert_eq!(low.code(), Some(9));
    cluster.end();
}

#[test]
fn two_scripts_that_lock_in_different_order_are_told_by_name() {
    let cluster = Cluster::start(3);
    let bellwether = env!("CARGO_BIN_EXE_bellwether");
    // Each holds one, waits until the other does too, and then wants the other's.
    let script = |own: &str, other: &str| {
        format!(
            "touch {own}; while [ ! -e {other} ]; do sleep 0.01; done; \
             {bellwether} lock {other} --quiet -- echo held both || exit $?"
        )
    };
    let mut first = cluster.spawn("lock a --name first", &script("a", "b"));
    let mut second = cluster.spawn("lock b --name second", &script("b", "a"));
    let mut complaints = [String::new(), String::new()];
    let mut codes = Vec::new();
    for (running, complaint) in [&mut first, &mut second].into_iter().zip(&mut complaints) {
        let lines: Vec<String> = running.notes.by_ref().map(Result::unwrap).collect();
        *complaint = lines.join("\n");
        codes.push(running.code());
    }
    codes.sort();
    assert_eq!(codes, [Some(0), Some(76)], "{complaints:?}");
    let complaint = complaints.join("\n");
    for fragment in ["(first) waits for 'b'", "(second) waits for 'a'", "same order everywhere"] {
        assert!(complaint.contains(fragment), "no '{fragment}' in\n{complaint}");
    }
    // What one holds already it cannot wait for.
    let output = cluster.run("lock a", &format!("{bellwether} lock a -- true"));
    assert_eq!(output.status.code(), Some(80), "{}", text(&output.stderr));
    // Two parts of a job wait for each other.
    let part =
        format!("{bellwether} lock b --quiet -- sh -c 'mkdir two && sleep 0.05 && rmdir two'");
    let output = cluster.run("lock a", &format!("{part} & {part} && wait $!"));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    cluster.end();
}

#[test]
fn a_force_released_lock_stops_its_job() {
    let cluster = Cluster::start(3);
    let mut running = cluster.spawn("lock db", JOB);
    let job = pid(&running.line());
    let locks = format!("locks --json --address {}", cluster.up.members[2]);
    let locks: serde_json::Value =
        serde_json::from_slice(&command(&locks).output().unwrap().stdout).unwrap();
    let session = locks["locks"][0]["holders"][0]["session"].as_str().unwrap();
    let force = format!(
        "locks --release db --session {session} --yes --reason stuck --address {}",
        cluster.up.members[0]
    );
    assert!(command(&force).output().unwrap().status.success());
    assert!(running.until("was lost").contains("force-released by"));
    assert_eq!(running.code(), Some(72));
    assert!(!Up::lives(job));
    cluster.end();
}

#[test]
fn without_a_cluster_the_job_never_runs() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |line: &str| command(line).env_remove("BELLWETHER_SOCKET").output().unwrap();
    let refused = |line: &str, code: i32, fragments: &[&str]| {
        let output = run(line);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "bellwether {line}\n{complaint}");
        assert!(output.stdout.is_empty(), "bellwether {line}");
        for fragment in fragments {
            assert!(complaint.contains(fragment), "no '{fragment}' in: {line}\n{complaint}");
        }
    };
    let nowhere = path("nowhere.sock");
    for verb in ["lock db", "campaign cron"] {
        // The command is looked for before anything is asked for.
        let line = format!("{verb} --socket {nowhere} -- no-such-program");
        refused(&line, 127, &["no-such-program", "no request was made"]);
        let line = format!("{verb} --socket {nowhere} -- {}", path("missing"));
        refused(&line, 127, &["no such file"]);
        fs::write(path("text"), "").unwrap();
        fs::set_permissions(Path::new(&path("text")), fs::Permissions::from_mode(0o644)).unwrap();
        refused(
            &format!("{verb} --socket {nowhere} -- {}", path("text")),
            126,
            &["not executable"],
        );
        refused(&format!("{verb} --grace 6s -- true"), 2, &["--grace", "half of the TTL"]);
        refused(&format!("{verb} --ttl 5 -- true"), 2, &["--ttl", "no unit"]);
        refused(verb, 2, &["COMMAND"]);
        refused(&format!("{verb} --connect nowhere -- true"), 64, &["nowhere", "no endpoint"]);
        refused(&format!("{verb} --connect a:1 -- true"), 64, &["--certs or BELLWETHER_CERTS"]);
        let line = format!("{verb} --connect a:1 --certs {} -- true", path(""));
        refused(&line, 77, &["client-NAME.pem"]);
    }
    let line = format!("lock db --socket {nowhere} -- echo never");
    refused(&line, 69, &["no member answers", &nowhere]);
    refused("lock db --permits 3/2 -- true", 2, &["--permits", "2/5"]);
    refused("lock db --wait soon -- true", 2, &["--wait"]);
    refused("campaign cron --priority high -- true", 2, &["--priority", "whole number"]);
}

#[test]
fn what_the_cluster_does_not_want_has_its_own_code() {
    let cluster = Cluster::start(1);
    let long = "x".repeat(300);
    for (words, code) in [
        (format!("lock {long}"), 74),
        (format!("campaign {long}"), 74),
        (format!("campaign cron --value {}", "x".repeat(5_000)), 79),
        ("lock db --ttl 2m --grace 1s".to_owned(), 78),
        ("lock db,db".to_owned(), 65),
    ] {
        let output = cluster.run(&words, "echo never");
        assert_eq!(output.status.code(), Some(code), "{words}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{words}");
    }
    let mut held = cluster.spawn("lock slots --permits 1/2", "echo held; exec sleep 1000");
    assert_eq!(held.line(), "held");
    assert_eq!(cluster.run("lock slots --permits 1/3", "true").status.code(), Some(78));
    held.signal(Signal::TERM);
    assert_eq!(held.code(), Some(143));
    // A minority: the member is there, and there is no coordinator.
    drop(cluster);
    let mut up = Up::start("--nodes 3");
    up.until(&["member 3 is the coordinator in term"]);
    for id in [1, 2] {
        up.say(&format!("kill {id}"));
        up.until(&[&format!("killed member {id}")]);
    }
    let socket = up.socket(3);
    let output = command("lock db -- echo never").env("BELLWETHER_SOCKET", &socket).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(70), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
}
