//! The servers of etcd, as processes on loopback.

use bellwether_shell::Failure;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How often a server is asked for its state.
const ASKS_EVERY: Duration = Duration::from_millis(100);
/// A server that does not answer for this long counts as silent.
const ANSWERS_WITHIN: Duration = Duration::from_millis(500);
/// Half of etcd's defaults in milliseconds, so that more leaders change in the same time.
const HEARTBEAT_MS: &str = "50";
const ELECTION_MS: &str = "500";

/// What a server says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Says {
    pub(super) leads: bool,
    pub(super) term: u64,
}

/// Whether a server's process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Running,
    Stopped,
    Dead,
}

/// One server.
struct Server {
    condition: Condition,
    child: Option<Child>,
    /// The port for clients, and the one for the other servers.
    ports: (u16, u16),
    says: watch::Receiver<Option<Says>>,
}

/// All servers. They are killed when this is dropped.
pub(super) struct Servers {
    folder: PathBuf,
    all: Vec<Server>,
}

impl Servers {
    /// Starts this number of servers, with data and logs in this folder.
    pub(super) fn start(size: u32, folder: &Path) -> Result<Servers, Failure> {
        let unable = |error| Failure::Input(format!("cannot find free ports for etcd: {error}"));
        let ports = free_ports(2 * size as usize).map_err(unable)?;
        let all = ports.chunks(2).map(|pair| {
            let (sender, says) = watch::channel(None);
            tokio::spawn(keep_asking(pair[0], sender));
            Server { condition: Condition::Dead, child: None, ports: (pair[0], pair[1]), says }
        });
        let mut servers = Servers { folder: folder.to_owned(), all: all.collect() };
        (1..=size).try_for_each(|id| servers.run(id))?;
        Ok(servers)
    }

    /// Where each serves clients.
    pub(super) fn ports(&self) -> Vec<u16> {
        self.all.iter().map(|server| server.ports.0).collect()
    }

    fn server(&mut self, id: u32) -> &mut Server {
        &mut self.all[id as usize - 1]
    }

    /// Starts a server, with what it has on disk; unless another fault that was undone has started it.
    pub(super) fn run(&mut self, id: u32) -> Result<(), Failure> {
        if self.server(id).condition != Condition::Dead {
            return Ok(());
        }
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let peers = (1..).zip(&self.all).map(|(id, one)| format!("e{id}={}", url(one.ports.1)));
        let peers: Vec<String> = peers.collect();
        let (client, peer) = self.server(id).ports;
        let (client, peer) = (url(client), url(peer));
        let log = self.folder.join(format!("etcd-{id}.log"));
        let data = self.folder.join(format!("etcd-{id}"));
        let unable = |error: io::Error| {
            let what = "--engine etcd: cannot start 'etcd'";
            let todo = "install it, in Debian by apt-get install etcd-server";
            Failure::Input(format!("{what}: {error}; {todo}"))
        };
        let log = File::options().create(true).append(true).open(log).map_err(unable)?;
        let child = Command::new("etcd")
            .args(["--name", &format!("e{id}"), "--log-level", "warn", "--data-dir"])
            .arg(data)
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &peers.join(","), "--initial-cluster-state", "new"])
            .args(["--heartbeat-interval", HEARTBEAT_MS, "--election-timeout", ELECTION_MS])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            // Ctrl-C is for the parent, which then ends its children.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(unable)?;
        let server = self.server(id);
        (server.child, server.condition) = (Some(child), Condition::Running);
        Ok(())
    }

    pub(super) async fn kill(&mut self, id: u32) {
        let server = self.server(id);
        server.condition = Condition::Dead;
        if let Some(mut child) = server.child.take() {
            let _ = child.kill().await;
        }
    }

    /// Sends SIGKILL and does not wait, so that several die at the same moment.
    pub(super) fn send_kill(&self, id: u32) {
        self.signal(id, Signal::KILL);
    }

    /// Stops a server; whether it ran.
    pub(super) fn stop(&mut self, id: u32) -> bool {
        let runs = self.server(id).condition == Condition::Running;
        if runs {
            self.signal(id, Signal::STOP);
            self.server(id).condition = Condition::Stopped;
        }
        runs
    }

    /// Lets a server go on that is still stopped.
    pub(super) fn resume(&mut self, id: u32) {
        if self.server(id).condition == Condition::Stopped {
            self.signal(id, Signal::CONT);
            self.server(id).condition = Condition::Running;
        }
    }

    fn signal(&self, id: u32, signal: Signal) {
        let child = self.all[id as usize - 1].child.as_ref();
        let pid = child.and_then(Child::id).and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            // It may have exited by itself, which `deaths` reports.
            let _ = kill_process(pid, signal);
        }
    }

    /// Lets all run again.
    pub(super) fn heal(&mut self) -> Result<(), Failure> {
        for id in 1..=self.all.len() as u32 {
            match self.server(id).condition {
                Condition::Running => {}
                Condition::Stopped => self.resume(id),
                Condition::Dead => self.run(id)?,
            }
        }
        Ok(())
    }

    /// Servers that exited though nothing was done to them.
    pub(super) fn deaths(&mut self) -> Vec<String> {
        let mut deaths = Vec::new();
        for (id, server) in (1..).zip(&mut self.all) {
            let status = server.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            if let Some(status) = status.filter(|_| server.condition == Condition::Running) {
                server.condition = Condition::Dead;
                deaths.push(format!("etcd server {id} exited unexpectedly, {status}"));
            }
        }
        deaths
    }

    /// The server that says that it leads. Of two the one with the larger term does.
    pub(super) fn leader(&self) -> Option<(u32, u64)> {
        let running = (1..).zip(&self.all).filter(|(_, one)| one.condition == Condition::Running);
        let leads = running.filter_map(|(id, one)| {
            let says = (*one.says.borrow()).filter(|says| says.leads)?;
            Some((id, says.term))
        });
        leads.max_by_key(|(_, term)| *term)
    }

    /// Whether a majority runs and answers.
    pub(super) fn could_lead(&self) -> bool {
        let up = |one: &&Server| one.condition == Condition::Running && one.says.borrow().is_some();
        self.all.iter().filter(up).count() * 2 > self.all.len()
    }

    /// What clients have left in etcd; nothing, if nothing is.
    pub(super) async fn left(&self) -> Option<String> {
        let Some((id, _)) = self.leader() else { return Some("no leader".to_owned()) };
        let port = self.all[id as usize - 1].ports.0;
        // From the first key on, with no end.
        let everything = json!({ "key": "AA==", "range_end": "AA==", "keys_only": true });
        let count = |list: &Value| list.as_array().map_or(0, Vec::len);
        let keys = ask(port, "/v3/kv/range", &everything).await;
        let leases = ask(port, "/v3/lease/leases", &json!({})).await;
        let (Some(keys), Some(leases)) = (keys, leases) else {
            return Some("no answer".to_owned());
        };
        let (keys, leases) = (count(&keys["kvs"]), count(&leases["leases"]));
        (keys + leases > 0).then(|| format!("{keys} keys and {leases} leases"))
    }
}

/// Asks a server again and again what it is.
async fn keep_asking(port: u16, says: watch::Sender<Option<Says>>) {
    while !says.is_closed() {
        let answer = ask(port, "/v3/maintenance/status", &json!({})).await;
        says.send_replace(answer.as_ref().and_then(parse));
        sleep(ASKS_EVERY).await;
    }
}

/// Numbers of 64 bits are strings in etcd's JSON.
fn parse(status: &Value) -> Option<Says> {
    let own = status["header"]["member_id"].as_str()?;
    let term = status["header"]["raft_term"].as_str()?.parse().ok()?;
    Some(Says { leads: status["leader"].as_str() == Some(own), term })
}

/// Asks a server by JSON.
async fn ask(port: u16, path: &str, question: &Value) -> Option<Value> {
    let asked = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        let body = question.to_string();
        let length = body.len();
        let head = format!("POST {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, io::Error>(answer)
    };
    let answer = timeout(ANSWERS_WITHIN, asked).await.ok()?.ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.split(' ').nth(1).filter(|status| *status == "200")?;
    serde_json::from_str(body).ok()
}

/// Ports of loopback that are free now.
fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let open = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    // All are held until the last one is found, so that they differ.
    let open = (0..count).map(open).collect::<io::Result<Vec<_>>>()?;
    open.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_leads_if_it_names_itself() {
        let status = |leader: &str| json!({ "header": { "member_id": "7", "raft_term": "3" }, "leader": leader });
        assert_eq!(parse(&status("7")), Some(Says { leads: true, term: 3 }));
        assert_eq!(parse(&status("8")), Some(Says { leads: false, term: 3 }));
        let none = json!({ "header": { "member_id": "7", "raft_term": "3" } });
        assert_eq!(parse(&none), Some(Says { leads: false, term: 3 }));
        assert_eq!(parse(&json!({ "error": "no" })), None);
    }
}
