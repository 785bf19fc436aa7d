//! A cluster of `up --plain` that a test talks to, and how to ask its members over HTTP.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "a test looks again after a while")]

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// A member that takes longer to answer hangs.
const PATIENCE: Duration = Duration::from_secs(6);

pub(crate) fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    command.args(line.split(' '));
    command
}

/// The operator tokens of members by their addresses, and the keys of sessions by token and session.
struct Secrets {
    tokens: BTreeMap<String, String>,
    keys: BTreeMap<(String, String), String>,
}

static SECRETS: Mutex<Secrets> =
    Mutex::new(Secrets { tokens: BTreeMap::new(), keys: BTreeMap::new() });

/// From now on requests to these addresses show the operator token in this file.
pub(crate) fn learn<'a>(addresses: impl IntoIterator<Item = &'a String>, token: &Path) {
    let token = std::fs::read_to_string(token).unwrap().trim().to_owned();
    for address in addresses {
        SECRETS.lock().unwrap().tokens.insert(address.clone(), token.clone());
    }
}

/// What this request has to show: the key of the session that it names, or else the operator token.
fn secret(address: &str, path: &str, body: &Value) -> Option<String> {
    let secrets = SECRETS.lock().unwrap();
    let token = secrets.tokens.get(address)?.clone();
    let in_path = path.strip_prefix("/v1/sessions/").and_then(|rest| rest.split(['/', '?']).next());
    let session = in_path.or(body["session"].as_str().filter(|_| !path.ends_with("/force")));
    let key = session.and_then(|session| secrets.keys.get(&(token.clone(), session.to_owned())));
    Some(key.filter(|_| !path.contains("now=true")).cloned().unwrap_or(token))
}

/// Asks a member something over HTTP, with the secret that it needs: the status and the answer, or that
/// there was none in time.
pub(crate) fn call(
    address: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> io::Result<(u16, Value)> {
    let secret = secret(address, path, body);
    let answer = call_with(address, method, path, secret.as_deref(), body)?;
    if let (Some(session), Some(key)) = (answer.1["session"].as_str(), answer.1["key"].as_str()) {
        let mut secrets = SECRETS.lock().unwrap();
        let token = secrets.tokens[address].clone();
        secrets.keys.insert((token, session.to_owned()), key.to_owned());
    }
    Ok(answer)
}

/// The same with this secret, or none.
pub(crate) fn call_with(
    address: &str,
    method: &str,
    path: &str,
    secret: Option<&str>,
    body: &Value,
) -> io::Result<(u16, Value)> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let bearer = secret.map(|secret| format!("Authorization: Bearer {secret}\r\n"));
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        bearer.unwrap_or_default(),
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let parsed = answer.split_once("\r\n\r\n").and_then(|(head, body)| {
        let code = head.split(' ').nth(1)?.parse().ok()?;
        Some((code, serde_json::from_str(body).ok()?))
    });
    parsed.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// The address in a URL, which must be one of this machine alone.
fn host(url: &str) -> String {
    let (url, _) = url.split_once('#').unwrap_or((url, ""));
    let host = url.strip_prefix("http://").unwrap().trim_end_matches('/');
    assert!(host.starts_with("127.0.0.1:"), "{url}");
    host.to_owned()
}

/// The process of a member that was started by `bellwether node`: the child of the parent that waits for it.
pub(crate) fn process_of(parent: &Child) -> Option<Pid> {
    let parent = parent.id();
    let children =
        std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    Pid::from_raw(children.trim().parse().ok()?)
}

/// Kills a member, and waits for the end of its parent, which ends after it. Killed itself, the parent would be
/// gone before the member is.
pub(crate) fn kill_member(parent: &mut Child) {
    match process_of(parent) {
        Some(process) => drop(kill_process(process, Signal::KILL)),
        None => drop(parent.kill()),
    }
    let _ = parent.wait();
}

/// A cluster that runs until the test is over. A guard of time ends it if nothing else does.
pub(crate) struct Up {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    pub(crate) pids: Vec<Pid>,
    /// Where the members serve HTTP, by number.
    pub(crate) members: Vec<String>,
    /// Where the dashboard is: `host:port`.
    pub(crate) dashboard: String,
    /// Where the socket of the first member is.
    socket: String,
    /// Where the certificates and configurations are.
    pub(crate) folder: PathBuf,
}

impl Up {
    pub(crate) fn start(line: &str) -> Up {
        Up::of(&mut command(&format!("up --plain --for 120s {line}")))
    }

    /// A cluster that only those find who look in the same place.
    pub(crate) fn start_in(runtime: &Path, line: &str) -> Up {
        let mut up = command(&format!("up --plain --for 120s {line}"));
        Up::of(up.env("XDG_RUNTIME_DIR", runtime))
    }

    fn of(command: &mut Command) -> Up {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut up = Up {
            stdin: child.stdin.take(),
            child,
            lines,
            pids: Vec::new(),
            members: Vec::new(),
            dashboard: String::new(),
            socket: String::new(),
            folder: PathBuf::new(),
        };
        loop {
            let line = up.line();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["member", _, "pid", pid, http] => {
                    up.members.push(host(http));
                    up.pids.push(Pid::from_raw(pid.parse().unwrap()).unwrap());
                }
                ["dashboard", http] => up.dashboard = host(http),
                ["clients:", .., "--socket", path] => up.socket = (*path).to_owned(),
                ["files:", path, ..] => up.folder = path.trim_end_matches(',').into(),
                ["Ctrl-C", ..] => {
                    let addresses = up.members.iter().chain([&up.dashboard]);
                    learn(addresses, &up.folder.join("operator.token"));
                    return up;
                }
                _ => {}
            }
        }
    }

    /// Where the socket of a member is.
    pub(crate) fn socket(&self, id: u32) -> String {
        let folder = self.socket.strip_suffix("/1.sock").unwrap();
        format!("{folder}/{id}.sock")
    }

    /// Where the members listen for each other, and for clients from elsewhere.
    pub(crate) fn addresses(&self) -> String {
        let text = std::fs::read_to_string(self.folder.join("member-1.toml")).unwrap();
        let addresses = text.lines().filter_map(|line| line.strip_prefix("address = "));
        addresses.map(|address| address.trim_matches('"')).collect::<Vec<_>>().join(",")
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.lines.read_line(&mut line).unwrap(), 0, "it ended too early");
        line
    }

    /// Reads on until a line contains all of these.
    pub(crate) fn until(&mut self, fragments: &[&str]) -> String {
        loop {
            let line = self.line();
            if fragments.iter().all(|fragment| line.contains(fragment)) {
                return line;
            }
        }
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Whether a process of this number is there. A zombie is not.
    pub(crate) fn lives(pid: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        let gone = stat.is_ok_and(|stat| stat.contains(") Z "));
        test_kill_process(pid).is_ok() && !gone
    }

    /// Waits until a process has ended, for ten seconds at most; whether it has. A process that ends closes
    /// its files a moment earlier.
    pub(crate) fn ends(pid: Pid) -> bool {
        (0..2_000).any(|_| {
            let lives = Up::lives(pid);
            if lives {
                std::thread::sleep(Duration::from_millis(5));
            }
            !lives
        })
    }

    /// Waits for the end of all members.
    pub(crate) fn no_process_is_left(&self) {
        assert!(self.pids.iter().all(|pid| Up::ends(*pid)), "a member outlives its parent");
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // Only if the test has failed before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
