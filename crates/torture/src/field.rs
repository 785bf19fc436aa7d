//! The clients: real processes, each with a history, that are stopped, killed and replaced.

use super::args::Setup;
use super::chance::Chance;
use super::history::History;
use super::network::{self, Network};
use bellwether_ops::cluster::{Cluster, launched};
use bellwether_shell::Failure;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, ChildStdin};
use tokio::time::{Instant, sleep, timeout_at};

/// All clients, those that are dead, too.
pub(super) struct Field {
    program: PathBuf,
    folder: PathBuf,
    setup: Setup,
    places: Places,
    chairs: Vec<Chair>,
    /// What became of each life that there was.
    lives: Vec<Life>,
}

/// Where the cluster is.
pub(super) struct Places {
    /// The ways to connect; clients take them in turn.
    ways: Vec<String>,
    /// The directory of the certificates, if there are any.
    certs: Option<PathBuf>,
    /// Where members answer over HTTP, separated by commas.
    http: String,
}

impl Places {
    pub(super) fn members(cluster: &Cluster) -> Self {
        let http: Vec<_> = cluster.members.iter().map(|member| member.http.to_string()).collect();
        let certs = Some(cluster.folder().to_owned());
        Places { ways: ways(cluster), certs, http: http.join(",") }
    }

    /// Each client reaches etcd by a way of its own.
    pub(super) fn etcd(ways: Vec<String>) -> Self {
        Places { ways, certs: None, http: String::new() }
    }
}

/// One client after the other.
#[derive(Default)]
struct Chair {
    lives: u64,
    running: Option<(Child, Option<ChildStdin>)>,
}

/// One process.
struct Life {
    name: String,
    killed: bool,
}

impl Field {
    pub(super) fn new(setup: &Setup, folder: &Path, places: Places) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::Input(format!("cannot find the program itself to start it again: {error}"))
        })?;
        let chairs = (0..setup.clients).map(|_| Chair::default()).collect();
        Ok(Field {
            program,
            folder: folder.to_owned(),
            setup: setup.clone(),
            places,
            chairs,
            lives: Vec::new(),
        })
    }

    pub(super) fn start_all(&mut self) -> Result<(), Failure> {
        (0..self.chairs.len()).try_for_each(|chair| self.start(chair))
    }

    /// Starts the next client of a chair.
    pub(super) fn start(&mut self, chair: usize) -> Result<(), Failure> {
        self.chairs[chair].lives += 1;
        let name = self.name(chair);
        let seed = Chance::new(self.setup.seed, &[chair as u64, self.chairs[chair].lives]).bits();
        let unable = |error| Failure::Input(format!("cannot start client {name}: {error}"));
        let log = File::create(self.folder.join(format!("{name}.log"))).map_err(unable)?;
        let launcher = match self.setup.namespaces {
            Some(_) => Network::launcher(network::client(chair)),
            None => Vec::new(),
        };
        let mut child = launched(&launcher, &self.program)
            .arg("torture-client")
            .arg(std::process::id().to_string())
            .args([&name, &seed.to_string()])
            .arg(self.history(&name))
            .arg(&self.places.ways[chair % self.places.ways.len()])
            .arg(self.places.certs.as_deref().unwrap_or(Path::new("")))
            .arg(&self.places.http)
            .args([self.setup.locks.to_string(), self.setup.roles.to_string()])
            // Held open, so that its end tells the client of ours.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            // Ctrl-C is for the parent, which then ends its children.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(unable)?;
        let stdin = child.stdin.take();
        self.chairs[chair].running = Some((child, stdin));
        self.lives.push(Life { name, killed: false });
        Ok(())
    }

    /// What the client of a chair is called: its number, and which one it is there.
    pub(super) fn name(&self, chair: usize) -> String {
        format!("client-{}.{}", chair + 1, self.chairs[chair].lives)
    }

    fn history(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.jsonl"))
    }

    pub(super) fn signal(&self, chair: usize, signal: Signal) {
        let running = self.chairs[chair].running.as_ref();
        let pid = running.and_then(|(child, _)| child.id()).and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            // It may be gone already, which is found out later.
            let _ = kill_process(pid, signal);
        }
    }

    /// Kills the client of a chair; whether there was one.
    pub(super) async fn kill(&mut self, chair: usize) -> bool {
        let name = self.name(chair);
        let Some((mut child, _stdin)) = self.chairs[chair].running.take() else { return false };
        if matches!(child.try_wait(), Ok(Some(_))) {
            return false;
        }
        for life in self.lives.iter_mut().filter(|life| life.name == name) {
            life.killed = true;
        }
        let _ = child.kill().await;
        true
    }

    /// How many chairs there are.
    pub(super) fn size(&self) -> u32 {
        self.setup.clients
    }

    pub(super) fn is_running(&self, chair: usize) -> bool {
        self.chairs[chair].running.is_some()
    }

    /// Clients that have ended by themselves since the last look, though they were not told to.
    pub(super) fn deaths(&mut self) -> Vec<String> {
        let mut deaths = Vec::new();
        for chair in 0..self.chairs.len() {
            let name = self.name(chair);
            let Some((child, _)) = &mut self.chairs[chair].running else { continue };
            let Ok(Some(status)) = child.try_wait() else { continue };
            self.chairs[chair].running = None;
            let log = fs::read_to_string(self.folder.join(format!("{name}.log")));
            let log = log.unwrap_or_default();
            let said = log.lines().last().unwrap_or("it printed nothing").to_owned();
            deaths.push(format!("{name} exited unexpectedly, {status}: {said}"));
        }
        deaths
    }

    /// Tells all clients to finish, and gives them some time; who has not, then, is killed. Who ended,
    /// and not well, and who had to be killed.
    pub(super) async fn finish(&mut self, within: Duration) -> Vec<String> {
        let until = Instant::now() + within;
        let mut complaints = Vec::new();
        for chair in 0..self.chairs.len() {
            // One that has only just been started does not listen yet.
            let history = self.history(&self.name(chair));
            let begun = || fs::metadata(&history).is_ok_and(|found| found.len() > 0);
            while self.is_running(chair) && !begun() && Instant::now() < until {
                sleep(Duration::from_millis(10)).await;
            }
            self.signal(chair, Signal::TERM);
        }
        for chair in 0..self.chairs.len() {
            let name = self.name(chair);
            let Some((mut child, _stdin)) = self.chairs[chair].running.take() else { continue };
            match timeout_at(until, child.wait()).await {
                Ok(Ok(status)) if status.success() => {}
                Ok(Ok(status)) => complaints.push(format!("{name} ended with {status}")),
                Ok(Err(error)) => complaints.push(format!("{name} cannot be waited for: {error}")),
                Err(_) => {
                    let within = within.as_secs();
                    complaints.push(format!("{name} had not finished after {within} s"));
                    let _ = child.kill().await;
                }
            }
        }
        complaints
    }

    /// What they have written.
    pub(super) fn histories(&self) -> Result<Vec<History>, Failure> {
        let mut histories = Vec::new();
        for life in &self.lives {
            let path = self.history(&life.name);
            let text = match fs::read_to_string(&path) {
                // One that was killed at once has not written anything.
                Err(_) if life.killed => String::new(),
                text => text.map_err(|error| Failure::Read(path, error))?,
            };
            let history = History::parse(&life.name, life.killed, &text);
            histories.push(history.map_err(Failure::Input)?);
        }
        Ok(histories)
    }
}

/// How clients connect, each in one of these ways: by the socket of one member; by TLS, with one
/// address to begin with; by any socket; by a socket, or else by TLS.
fn ways(cluster: &Cluster) -> Vec<String> {
    let addresses: Vec<&str> = cluster.members.iter().map(|m| m.listen.as_str()).collect();
    let sockets: Vec<String> =
        cluster.members.iter().filter_map(|m| cluster.socket(m.id)).map(unix).collect();
    if sockets.is_empty() {
        return vec![addresses.join(",")];
    }
    let mut ways = Vec::new();
    for (socket, address) in sockets.iter().zip(&addresses) {
        ways.push(socket.clone());
        ways.push((*address).to_owned());
        ways.push(sockets.join(","));
        ways.push(format!("{socket},{}", addresses.join(",")));
    }
    ways
}

fn unix(path: PathBuf) -> String {
    format!("unix:{}", path.display())
}
