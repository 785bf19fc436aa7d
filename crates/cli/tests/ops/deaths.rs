//! A member's process dies, in every way in which processes die, and its parent proves it to the other members.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "a test looks again after a while")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use crate::common::{call, call_with, learn};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// What a member logs when the parent of another one has proved its death.
const PROVED: &str = "its parent has shown proof";

/// Three members, of which the third leads and is to die.
struct Trio {
    folder: TempDir,
    http: Vec<String>,
    members: Vec<Child>,
}

impl Trio {
    /// Starts them; the third one by this program, with its arguments.
    fn start(launcher: &[&str]) -> Trio {
        let folder = TempDir::new().unwrap();
        // All ports are drawn before one of them is free again.
        let bound: Vec<TcpListener> =
            (0..6).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let all: Vec<String> =
            bound.iter().map(|bound| bound.local_addr().unwrap().to_string()).collect();
        drop(bound);
        let (addresses, http) = all.split_at(3);
        let mut config = "cluster = \"demo\"\noperator_token = \"operator.token\"\ndata = \"data-{id}\"\n\
                          socket = \"{id}.sock\"\nsessions.value_max = \"64KiB\"\n[tls]\nca = \"ca.pem\"\n\
                          certificate = \"member-{id}.pem\"\nkey = \"member-{id}-key.pem\"\n"
            .to_owned();
        for (id, (address, http)) in (1..).zip(addresses.iter().zip(http)) {
            config +=
                &format!("[[member]]\nid = {id}\naddress = \"{address}\"\nhttp = \"{http}\"\n");
        }
        fs::write(folder.path().join("node.toml"), config).unwrap();
        let port: u32 = http[0].rsplit_once(':').unwrap().1.parse().unwrap();
        fs::write(folder.path().join("operator.token"), format!("{port:032x}\n")).unwrap();
        learn(http, &folder.path().join("operator.token"));
        let mut trio = Trio { folder, http: http.to_vec(), members: Vec::new() };
        let made = trio.command(&[], "certs --cluster demo --ids 1..3 --out .").output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        for id in 1..=3 {
            let line = format!(
                "node --config node.toml --id {id} --http {} --dev-faults",
                trio.http[id - 1]
            );
            let mut command = trio.command(if id == 3 { launcher } else { &[] }, &line);
            command.stderr(File::create(trio.log_of(id)).unwrap());
            trio.members.push(command.spawn().unwrap());
        }
        trio.until("all follow P3", |trio| (1..=3).all(|id| trio.leader(id) == Some(3)));
        trio
    }

    fn command(&self, launcher: &[&str], line: &str) -> Command {
        let own = [env!("CARGO_BIN_EXE_bellwether")];
        let mut words = launcher.iter().chain(&own).copied().chain(line.split(' '));
        let mut command = Command::new(words.next().unwrap());
        for variable in ["CONFIG", "ID", "LISTEN", "HTTP", "DATA", "ELECTION", "LOG", "PROFILE"] {
            command.env_remove(format!("BELLWETHER_{variable}"));
        }
        command.env_remove("NOTIFY_SOCKET").current_dir(self.folder.path());
        command.args(words).stdin(Stdio::null());
        command
    }

    fn log_of(&self, id: usize) -> PathBuf {
        self.folder.path().join(format!("log-{id}"))
    }

    fn log(&self, id: usize) -> String {
        fs::read_to_string(self.log_of(id)).unwrap()
    }

    /// The coordinator in the eyes of this member.
    fn leader(&self, id: usize) -> Option<u64> {
        let (_, status) = call(&self.http[id - 1], "GET", "/v1/status", &Value::Null).ok()?;
        status["mandate"]["leader"].as_u64()
    }

    /// Looks until it is so, which it will be unless there is a bug.
    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&Trio) -> bool) {
        for _ in 0..1_500 {
            if is_so(self) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let logs: String = (1..=self.members.len()).map(|id| self.log(id) + "\n").collect();
        panic!("it never came to this: {what}\n{logs}");
    }

    /// Waits until both others follow one of them.
    #[track_caller]
    fn another_leads(&self) {
        self.until("P1 and P2 follow one of them", |trio| {
            let leader = trio.leader(1);
            leader.is_some_and(|id| id != 3) && leader == trio.leader(2)
        });
    }

    /// Waits for the third one's end, and until the others have its proof and follow one of them.
    #[track_caller]
    fn proves(&mut self) -> ExitStatus {
        let ended = self.members[2].wait().unwrap();
        self.another_leads();
        self.until("both have the proof", |trio| {
            [1, 2].iter().all(|id| trio.log(*id).contains(PROVED))
        });
        ended
    }

    /// The process that waits for the third one.
    fn parent(&self) -> Pid {
        Pid::from_child(&self.members[2])
    }
}

impl Drop for Trio {
    fn drop(&mut self) {
        for member in &mut self.members {
            // The member dies with its parent.
            let _ = member.kill();
            let _ = member.wait();
        }
    }
}

fn children(of: Pid) -> Vec<Pid> {
    let id = of.as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    let children = children.unwrap_or_default();
    children.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?)).collect()
}

#[test]
fn a_member_that_is_killed_or_aborts_is_proved_dead() {
    // A supervisor sends SIGABRT to the parent when the member's watchdog is late.
    for (signal, to_parent) in
        [(Signal::KILL, false), (Signal::ABORT, false), (Signal::ABORT, true)]
    {
        let mut trio = Trio::start(&[]);
        let parent = trio.parent();
        let target = if to_parent { parent } else { children(parent)[0] };
        kill_process(target, signal).unwrap();
        assert_eq!(trio.proves().signal(), Some(signal.as_raw()));
    }
}

#[test]
fn a_member_that_panics_is_proved_dead() {
    let mut trio = Trio::start(&[]);
    let token = fs::read_to_string(trio.folder.path().join("operator.token")).unwrap();
    let answer = call_with(&trio.http[2], "POST", "/dev/panic", Some(token.trim()), &Value::Null);
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(trio.proves().code(), Some(4));
    assert!(trio.log(3).contains("the process panicked"), "{}", trio.log(3));
}

/// As with a lost host, and as with a control group that the kernel kills as a whole (`memory.oom.group`).
#[test]
fn without_its_parent_a_member_dies_unproved_and_its_lease_is_waited_for() {
    let mut trio = Trio::start(&[]);
    kill_process(trio.parent(), Signal::KILL).unwrap();
    trio.members[2].wait().unwrap();
    trio.another_leads();
    assert!([1, 2].iter().all(|id| !trio.log(*id).contains(PROVED)), "{}", trio.log(1));
}

/// A control group with little memory, in version 1 or in version 2. It is removed when this is dropped, which is
/// after the end of all processes in it.
struct Group {
    path: PathBuf,
    limit: &'static str,
    /// The file that counts whom the kernel has killed.
    kills: &'static str,
}

impl Group {
    fn make(name: &str) -> io::Result<Group> {
        let mounted = Path::new("/sys/fs/cgroup");
        let name = format!("bellwether-test-{name}-{}", std::process::id());
        let one = mounted.join("memory");
        let group = if one.join("cgroup.procs").exists() {
            let (limit, kills) = ("memory.limit_in_bytes", "memory.oom_control");
            Group { path: one.join(name), limit, kills }
        } else {
            Group { path: mounted.join(name), limit: "memory.max", kills: "memory.events" }
        };
        fs::create_dir(&group.path)?;
        if !group.path.join(group.limit).exists() {
            let what = format!("{} has no {}", group.path.display(), group.limit);
            return Err(io::Error::other(what));
        }
        // Memory that is swapped out is not missing. There may be no swap at all.
        let _ = fs::write(group.path.join("memory.swap.max"), "0");
        let _ = fs::write(group.path.join("memory.swappiness"), "0");
        Ok(group)
    }

    /// What starts a program in it.
    fn launcher(&self) -> Vec<String> {
        let enter = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", self.path.display());
        ["sh", "-c", &enter, "sh"].map(str::to_owned).to_vec()
    }

    fn killed(&self) -> u32 {
        let text = fs::read_to_string(self.path.join(self.kills)).unwrap();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.unwrap().trim().parse().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process is listed for a moment after its end.
        for _ in 0..500 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_member_that_the_kernel_kills_for_its_memory_is_proved_dead() {
    let group = match Group::make("memory") {
        Ok(group) => group,
        Err(error) => {
            return eprintln!("skipped: this user cannot limit memory by a control group: {error}");
        }
    };
    let launcher = group.launcher();
    let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
    let mut trio = Trio::start(&launcher);
    // An idle member and its parent have 5 MiB that cannot be read from files again.
    fs::write(group.path.join(group.limit), (12 << 20).to_string()).unwrap();
    let body = json!({ "client": "test", "ttl_ms": 60_000 });
    let open = call(&trio.http[2], "POST", "/v1/sessions", &body).unwrap().1;
    let value = "x".repeat(15_000);
    let mut roles = 0;
    while trio.members[2].try_wait().unwrap().is_none() {
        let (path, body) = (
            format!("/v1/roles/role-{roles}/campaign"),
            json!({ "session": open["session"], "value": value }),
        );
        // From its death on it does not answer.
        let _ = call(&trio.http[2], "POST", &path, &body);
        roles += 1;
        assert!(roles < 10_000, "it has room for all values: {}", trio.log(3));
    }
    assert_eq!(trio.proves().signal(), Some(Signal::KILL.as_raw()));
    assert_eq!(group.killed(), 1, "the member alone");
    drop(trio);
}

/// What starts a program as the first process of a container, or nothing if this user cannot do that.
fn container() -> Option<Vec<&'static str>> {
    let launcher = vec!["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    let tried = Command::new(launcher[0]).args(&launcher[1..]).arg("true").output();
    if !tried.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this user cannot make a namespace of processes (unshare --pid)");
        return None;
    }
    Some(launcher)
}

#[test]
fn as_the_first_process_of_a_container_the_parent_reaps_and_proves_a_death() {
    let Some(launcher) = container() else { return };
    let mut trio = Trio::start(&launcher);
    let first = children(trio.parent())[0];
    let status = fs::read_to_string(format!("/proc/{}/status", first.as_raw_nonzero())).unwrap();
    let ids = status.lines().find(|line| line.starts_with("NSpid:")).unwrap();
    assert!(ids.ends_with("\t1"), "{ids}");
    let member = children(first);

    // A process whose parent ends is left to the first one.
    let target = first.as_raw_nonzero().to_string();
    let script = "sleep 600 >/dev/null 2>&1 &";
    let words = ["--target", &target, "--pid", "sh", "-c", script];
    assert!(Command::new("nsenter").args(words).status().unwrap().success());
    trio.until("there is one more", |_| children(first).len() == 2);
    let orphan = *children(first).iter().find(|child| !member.contains(child)).unwrap();
    kill_process(orphan, Signal::KILL).unwrap();
    trio.until("it was waited for", |_| children(first) == member);

    // The first process of a container cannot die of a signal that it sends to itself.
    kill_process(member[0], Signal::KILL).unwrap();
    assert_eq!(trio.proves().code(), Some(128 + 9));
}

#[test]
fn as_the_first_process_of_a_container_the_parent_passes_on_the_signal_to_end() {
    let Some(launcher) = container() else { return };
    let mut trio = Trio::start(&launcher);
    kill_process(children(trio.parent())[0], Signal::TERM).unwrap();
    assert_eq!(trio.members[2].wait().unwrap().code(), Some(0));
    assert!(trio.log(3).contains("hands over and exits"), "{}", trio.log(3));
    trio.another_leads();
}
