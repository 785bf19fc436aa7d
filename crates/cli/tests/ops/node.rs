//! `node`, `certs`, `status` and `members` as an operator meets them: what they say, what they
//! refuse, and with which exit code.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Up, process_of};
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A cluster of one, with its certificates in the same directory.
const CONFIG: &str = r#"cluster = "demo"
id = 1
listen = "127.0.0.1:0"
http = "127.0.0.1:0"
data = "data"

[tls]
ca = "ca.pem"
certificate = "member-1.pem"
key = "member-1-key.pem"

[[member]]
id = 1
address = "127.0.0.1:7400"
"#;

/// A command that sees nothing of the environment of the user who runs the tests.
fn command(directory: &Path, words: &[&str]) -> Command {
    let mut command = plain(env!("CARGO_BIN_EXE_bellwether"), directory);
    command.args(words);
    command
}

fn plain(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    for variable in ["CONFIG", "ID", "LISTEN", "HTTP", "DATA", "ELECTION", "LOG", "PROFILE"] {
        command.env_remove(format!("BELLWETHER_{variable}"));
    }
    command.env_remove("NOTIFY_SOCKET").current_dir(directory);
    command
}

fn bellwether(directory: &Path, line: &str) -> Output {
    let words: Vec<&str> = line.split(' ').collect();
    command(directory, &words).output().unwrap()
}

/// A command that must end with this code and a complaint that contains all of these.
#[track_caller]
fn refused(directory: &Path, line: &str, code: i32, fragments: &[&str]) {
    let output = bellwether(directory, line);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "bellwether {line}\n{complaint}");
    assert!(output.stdout.is_empty(), "bellwether {line}");
    for fragment in ["error: "].iter().chain(fragments) {
        assert!(complaint.contains(fragment), "no '{fragment}' in: {line}\n{complaint}");
    }
    assert!(!complaint.contains("panicked"), "{complaint}");
}

/// A directory with a configuration and certificates that work.
fn workshop() -> TempDir {
    let directory = TempDir::new().unwrap();
    let made = bellwether(directory.path(), "certs --cluster demo --ids 1 --out .");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::write(directory.path().join("node.toml"), CONFIG).unwrap();
    directory
}

/// A member that runs until the test is over.
struct Member {
    child: Child,
    http: String,
    log: BufReader<ChildStderr>,
}

impl Member {
    fn start(directory: &Path) -> Member {
        Member::start_with(directory, &[])
    }

    fn start_with(directory: &Path, environment: &[(&str, &str)]) -> Member {
        let words = ["node", "--config", "node.toml", "--log-format", "json"];
        let mut command = command(directory, &words);
        Member::of(command.envs(environment.iter().copied()))
    }

    fn of(command: &mut Command) -> Member {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let http = loop {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "it ended before it had started");
            let entry: Value = serde_json::from_str(&line).unwrap();
            if entry["message"] == "started" {
                break entry["http"].as_str().unwrap().to_owned();
            }
        };
        Member { child, http, log }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end; the exit code, and what else it logged.
    fn end(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // Only if the test has failed before the member was ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks until the member leads.
fn status_of_leader(directory: &Path, http: &str) -> Value {
    for _ in 0..600 {
        let output = bellwether(directory, &format!("status --json --address {http}"));
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        if status["stance"] == "leading" {
            return status;
        }
        std::thread::yield_now();
    }
    panic!("it never led");
}

#[test]
fn a_member_runs_is_asked_and_ends() {
    let directory = workshop();
    let path = directory.path();
    let member = Member::start(path);
    let http = member.http.clone();
    let status = status_of_leader(path, &http);
    assert_eq!((&status["cluster"], &status["id"]), (&"demo".into(), &1.into()));
    assert_eq!(status["mandate"]["leader"], 1);
    assert_eq!(status["incarnation"], 1);
    assert!(status["warnings"][0].as_str().unwrap().contains("3 members survive the loss of one"));

    let output = bellwether(path, &format!("status --address {http}"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("coordinator  P1 in term 1, lease for another"), "{text}");
    let output = bellwether(path, &format!("members --address http://{http}/"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("P1") && text.contains("coordinator"), "{text}");
    let output = bellwether(path, &format!("members --json --address {http}"));
    let members: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(members["members"][0]["address"], "127.0.0.1:7400");

    // The environment names the member as well as the flag does.
    let output = command(path, &["status"]).env("BELLWETHER_HTTP", &http).output().unwrap();
    assert!(output.status.success());

    // A second process with the same state.
    refused(path, "node --config node.toml --log off", 3, &["demo-1.log", "in use"]);
    // A second process on the same port.
    let line = format!("node --config node.toml --log off --data other --http {http}");
    refused(path, &line, 3, &["cannot listen on", &http, "another process uses this port"]);

    member.signal(Signal::TERM);
    let (code, log) = member.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("hands over and exits"), "{log}");

    let member = Member::start(path);
    assert_eq!(status_of_leader(path, &member.http)["incarnation"], 2);
    assert_eq!(status_of_leader(path, &member.http)["mandate"]["term"], 2);
    member.signal(Signal::INT);
    assert_eq!(member.end().0, Some(0));
}

#[test]
fn a_member_and_its_parent_end_together_and_alike() {
    let directory = workshop();
    let member = Member::start(directory.path());
    let process = process_of(&member.child).unwrap();
    let status = status_of_leader(directory.path(), &member.http);
    assert_eq!(status["pid"], process.as_raw_nonzero().get());
    for (signal, data) in [(Signal::KILL, "killed"), (Signal::ABORT, "aborted")] {
        let environment = [("BELLWETHER_DATA", data)];
        let mut member = Member::start_with(directory.path(), &environment);
        kill_process(process_of(&member.child).unwrap(), signal).unwrap();
        let ended = member.child.wait().unwrap();
        assert_eq!(ended.signal(), Some(signal.as_raw()), "{ended}");
    }
    // The parent is killed, and the member does not outlive it.
    member.signal(Signal::KILL);
    member.end();
    assert!(Up::ends(process), "the member outlives its parent");
}

#[test]
fn watching_prints_a_line_per_change() {
    let directory = workshop();
    let member = Member::start(directory.path());
    status_of_leader(directory.path(), &member.http);
    let words = ["status", "--watch", "20ms", "--address", &member.http];
    let mut watcher = command(directory.path(), &words).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watcher.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "P1 is leading; coordinator P1 in term 1");
    member.signal(Signal::TERM);
    member.end();
    // While it ends it may be seen without a mandate.
    let gone = lines.map(Result::unwrap).find(|line| line.contains("no member answers"));
    assert!(gone.is_some());
    watcher.kill().unwrap();
    watcher.wait().unwrap();
}

/// systemd listens to the main process of a service alone (`NotifyAccess=main`), and so does its watchdog
/// (`WATCHDOG_PID`). That is the parent, and the member has the news.
#[test]
fn a_supervisor_is_told_how_it_does_by_the_process_that_it_knows() {
    let directory = workshop();
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    set_socket_passcred(&socket, true).unwrap();
    let environment = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "90000")];
    let script = "export WATCHDOG_PID=$$; exec \"$0\" node --config node.toml --log-format json";
    let mut shell = plain("sh", directory.path());
    shell.args(["-c", script, env!("CARGO_BIN_EXE_bellwether")]);
    let member = Member::of(shell.envs(environment));
    let main = Pid::from_child(&member.child);
    assert_ne!(process_of(&member.child), Some(main));
    let until = |wanted: &str| {
        let mut told = String::new();
        while !told.lines().any(|line| line == wanted) {
            let (text, sender) = receive(&socket);
            assert_eq!(sender, main, "{text}");
            told += &text;
        }
    };
    until("READY=1");
    until("WATCHDOG=1");
    until("STATUS=holds the mandate of term 1");
    until("WATCHDOG=1");
    member.signal(Signal::TERM);
    until("STOPPING=1");
    assert_eq!(member.end().0, Some(0));
}

/// The next message of a supervisor's socket, and which process has sent it.
#[track_caller]
fn receive(socket: &UnixDatagram) -> (String, Pid) {
    let mut bytes = [0; 4096];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut bytes)];
    let message = recvmsg(socket, parts, &mut control, RecvFlags::empty());
    let length = message.expect("the supervisor is told nothing").bytes;
    let sender = control.drain().find_map(|part| match part {
        RecvAncillaryMessage::ScmCredentials(credentials) => Some(credentials.pid),
        _ => None,
    });
    (String::from_utf8_lossy(&bytes[..length]).into_owned() + "\n", sender.unwrap())
}

#[test]
fn a_disk_that_takes_no_more_ends_a_member_with_4() {
    let directory = workshop();
    // A member that has run before.
    fs::create_dir_all(directory.path().join("data")).unwrap();
    fs::write(directory.path().join("data/operator.token"), "0".repeat(32)).unwrap();
    // A file may have no byte at all: what a full disk does, without filling one.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" node --config node.toml --log off";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_bellwether")])
        .current_dir(directory.path())
        .output()
        .unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{complaint}");
    assert!(complaint.contains("state can no longer be made durable"), "{complaint}");
}

#[test]
fn what_cannot_be_used_at_the_start_ends_with_3() {
    let directory = workshop();
    let path = directory.path();
    let run = "node --config node.toml --log off";
    fs::write(path.join("file"), "not a directory").unwrap();
    refused(path, &format!("{run} --data file/below"), 3, &["data directory", "--data"]);
    refused(path, &format!("{run} --listen 192.0.2.1:7400"), 3, &["192.0.2.1:7400", "--listen"]);

    let segment = "data/demo-1.log/0000000000000001.seg";
    fs::create_dir_all(path.join("data/demo-1.log")).unwrap();
    fs::write(path.join(segment), "rubbish").unwrap();
    refused(
        path,
        run,
        3,
        &[segment, "at byte 0: it is not a segment", "move `data/demo-1.log` away"],
    );
    fs::remove_dir_all(path.join("data")).unwrap();
    fs::create_dir(path.join("data")).unwrap();
    fs::write(path.join("data/demo-1.log"), "rubbish").unwrap();
    refused(path, run, 3, &["data/demo-1.log/LOCK", "Not a directory"]);
    fs::remove_dir_all(path.join("data")).unwrap();
    fs::create_dir(path.join("data")).unwrap();
    fs::write(path.join("data/demo-1.state"), "rubbish").unwrap();
    refused(path, run, 3, &["demo-1.state", "it is not a state file", "move the file away"]);
    fs::remove_dir_all(path.join("data")).unwrap();

    let key = fs::read(path.join("member-1-key.pem")).unwrap();
    fs::write(path.join("member-1-key.pem"), "").unwrap();
    refused(path, run, 3, &["private key", "member-1-key.pem", "[tls]"]);
    fs::remove_file(path.join("member-1-key.pem")).unwrap();
    refused(path, run, 3, &["cannot read the private key", "member-1-key.pem"]);
    fs::write(path.join("member-1-key.pem"), key).unwrap();
    let other = CONFIG.replace("\"demo\"", "\"other\"");
    fs::write(path.join("other.toml"), other).unwrap();
    refused(path, "node --config other.toml", 3, &["member-1.demo.bellwether", "member-1.other"]);
}

#[test]
fn a_wrong_configuration_ends_with_2() {
    let directory = workshop();
    let path = directory.path();
    refused(path, "node", 2, &["--config"]);
    refused(path, "node --config no.toml", 2, &["cannot read the configuration no.toml"]);
    refused(path, "node --config .", 2, &["cannot read the configuration ."]);
    refused(path, "node --config ca.pem", 2, &["ca.pem:1", "not TOML"]);
    refused(path, "node --config node.toml --id 7", 2, &["--id (or BELLWETHER_ID)", "there are 1"]);
    refused(path, "node --config node.toml --id -1", 2, &["'-1' is not a whole number"]);
    refused(path, "node --config node.toml --http x", 2, &["--http", "\"off\""]);
    refused(path, "node --config node.toml --log loud", 2, &["'loud' is not a level"]);
    fs::write(path.join("typo.toml"), CONFIG.replace("data =", "date =")).unwrap();
    refused(path, "node --config typo.toml", 2, &["typo.toml:5: date", "did you mean 'data'?"]);
    refused(path, "node --config typo.toml --check-config", 2, &["did you mean 'data'?"]);
    assert!(!path.join("data").exists(), "nothing was made");
}

#[test]
fn a_configuration_is_checked_without_starting_anything() {
    let directory = workshop();
    let path = directory.path();
    let output = bellwether(path, "node --config node.toml --check-config --profile wide");
    assert_eq!(output.status.code(), Some(0));
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert!(warnings.starts_with("warning: 1 member:"), "{warnings}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("lease = \"3s\"") && text.contains("election = \"bully\""), "{text}");
    assert!(!path.join("data").exists(), "nothing was made");
    fs::write(path.join("no-key.toml"), CONFIG.replace("key.pem", "missing.pem")).unwrap();
    let line = "node --config no-key.toml --check-config";
    let output = bellwether(path, line);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{complaint}");
    assert!(complaint.contains("missing.pem"), "{complaint}");
    // What is printed is a configuration that says the same.
    fs::write(path.join("again.toml"), &text).unwrap();
    let again = bellwether(path, "node --config again.toml --check-config");
    assert_eq!(String::from_utf8(again.stdout).unwrap(), text);
}

#[test]
fn the_example_in_the_package_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = root.join("packaging/bellwether.toml");
    let words = ["node", "--check-config", "--config", example.to_str().unwrap()];
    let output = command(&root, &words).env("BELLWETHER_ID", "2").output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    // All is right but the certificates, which are not on this host.
    assert_eq!(output.status.code(), Some(3), "{complaint}");
    assert!(complaint.contains("the member would not start"), "{complaint}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("id = 2\n") && text.contains("member-2-key.pem"), "{text}");

    // What the example shows as a default, commented out, is one.
    let lines = fs::read_to_string(&example).unwrap();
    let defaults: String = lines
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|rest| is_setting(rest)).unwrap_or(line))
        .flat_map(|line| [line, "\n"])
        .collect();
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("all.toml"), defaults).unwrap();
    let all = bellwether(directory.path(), "node --config all.toml --check-config --id 2");
    assert_eq!(String::from_utf8(all.stdout).unwrap(), text);
}

/// Whether a comment is a setting that is switched off.
fn is_setting(text: &str) -> bool {
    let word = text.split([' ', '=']).next().unwrap_or_default();
    let is_key = word.chars().all(|c| c.is_ascii_lowercase() || c == '_') && !word.is_empty();
    (is_key && text[word.len()..].starts_with(" = "))
        || ["[log]", "[limits]", "[sessions]"].contains(&word)
}

#[test]
fn certificates_are_made_once() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    let make = "certs --cluster demo --ids 1..2 --out made --days 30";
    let output = bellwether(path, make);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for fragment in ["valid for 30 days", "made/ca.pem", "member-2-key.pem  secret", "[tls]"] {
        assert!(text.contains(fragment), "no '{fragment}' in\n{text}");
    }
    let before = fs::read(path.join("made/member-1.pem")).unwrap();
    refused(path, make, 2, &["--out", "nothing is ever overwritten"]);
    let more = bellwether(path, "certs --cluster demo --ids 1..3 --out made");
    let text = String::from_utf8(more.stdout).unwrap();
    assert!(text.contains("member-3.pem") && text.contains("6 files were there"), "{text}");
    assert_eq!(fs::read(path.join("made/member-1.pem")).unwrap(), before);

    fs::write(path.join("file"), "").unwrap();
    for (line, fragment) in [
        ("certs --cluster demo --ids 1..3 --out file/below", "--out"),
        ("certs --cluster Demo! --ids 1..3 --out x", "lower-case letters"),
        ("certs --cluster demo --ids 1,1 --out x", "appears twice"),
        ("certs --cluster demo --ids many --out x", "--ids"),
        ("certs --cluster demo --ids 1..9000000 --out x", "at most 1000"),
        ("certs --cluster demo --ids 1 --days 0 --out x", "from 1 to 3650"),
        ("certs --cluster demo --ids 1 --days -5 --out x", "from 1 to 3650"),
        ("certs --cluster demo --ids 1", "--out"),
        ("certs --cluster demo --client App --out x", "client name `App`"),
        ("certs --cluster demo --out x", "--ids"),
    ] {
        refused(path, line, 2, &[fragment]);
    }
    assert!(!path.join("x").exists());
}

#[test]
fn a_member_that_does_not_answer_is_named() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    // Bound and never served, then closed: no member is there.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for verb in ["status", "members", "status --watch"] {
        let line = format!("{verb} --address {free}");
        refused(path, &line, 69, &[&free, "connection refused", "BELLWETHER_HTTP"]);
    }
    refused(path, "status --address 7480", 2, &["--address", "127.0.0.1:7480"]);
    refused(path, "members --address https://h:1", 2, &["--address", "host and a port"]);
    refused(path, "status --watch 5", 2, &["--watch", "no unit"]);
    refused(path, "status --watch 1us", 2, &["--watch", "at least 10ms"]);

    for (answer, code, fragment) in [
        ("nonsense\r\n\r\n", 69, "no member answers"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 65, "not a member of this version"),
        (
            "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nwhat",
            65,
            "not a member of this version",
        ),
        (
            "HTTP/1.1 503 X\r\nContent-Length: 29\r\n\r\n{\"error\":\"tired\",\"hint\":null}",
            65,
            "says 503: tired",
        ),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(answer.as_bytes());
        });
        refused(path, &format!("status --address {address}"), code, &[&address, fragment]);
        server.join().unwrap();
    }
}
