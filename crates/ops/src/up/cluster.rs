//! A whole cluster of real members on this machine: its files, its processes and their end.

use super::args::Shape;
use crate::asking::{Address, Unanswered, post};
use crate::running::sockets::Sockets;
use bellwether_core::NodeId;
use bellwether_member::Choices;
use bellwether_net::certs::prepare_all;
use bellwether_node::config::{self, Overrides};
use bellwether_node::operator::OperatorToken;
use bellwether_shell::{Failure, Folder};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf, absolute};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{Child, ChildStdin, Command};

/// The cluster name in the certificates.
const CLUSTER: &str = "up";
/// The client that has a certificate from the start.
const CLIENT: &str = "local";
/// The file of the operator token, which all members share.
const TOKEN: &str = "operator.token";
/// The certificates of a directory that is kept should not run out soon.
const DAYS: u32 = 3_650;
/// A member that was told to end and has not by then is killed.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// All members, live and dead.
pub struct Cluster {
    program: PathBuf,
    folder: Folder,
    /// Where clients on this host come in.
    sockets: Option<Sockets>,
    /// In the order of their numbers, which are 1 and so on.
    pub members: Vec<Member>,
    /// The time-outs that all members have.
    pub choices: Choices,
    /// Where the dashboard is, so that its page may ask the members.
    dashboard: Option<String>,
    /// What all members want to be shown by operators.
    pub operator: OperatorToken,
}

/// Where a member runs if not beside the others on loopback: a network of its own, for example.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its address, on which it listens at ports that are the same for all members.
    pub address: IpAddr,
    /// The program that starts the member there, and its arguments; what to start comes after them.
    pub launcher: Vec<OsString>,
    /// Lines for the top of its configuration.
    pub extra: String,
}

/// Where members of a [`Host`] listen, and where they serve HTTP.
const HOST_PORTS: (u16, u16) = (7_400, 7_480);

/// One member.
pub struct Member {
    /// Its number.
    pub id: u32,
    /// Where its HTTP API is.
    pub http: Address,
    /// Where members and clients reach it over TLS.
    pub listen: String,
    /// What starts its process, if it is not started directly.
    launcher: Vec<OsString>,
    running: Option<(Child, Option<ChildStdin>)>,
    /// What has been done to its process.
    pub condition: Condition,
}

/// A member that has ended by itself.
#[derive(Clone, Debug)]
pub struct Death {
    /// Its number.
    pub id: u32,
    /// Its exit code; none if it was killed.
    pub code: Option<i32>,
    /// How it ended, and what it said last.
    pub words: String,
}

/// What has been done to a member's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing: it runs.
    Running,
    /// It does not run: a SIGSTOP.
    Paused,
    /// There is no process.
    Dead,
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let what = format!("cannot write to {}: {error}; name another directory", path.display());
    Failure::flag("dir", what)
}

impl Cluster {
    /// Prepares certificates and configurations, and starts all members.
    pub fn start(
        shape: &Shape,
        kept: Option<&Path>,
        dashboard: Option<String>,
    ) -> Result<Self, Failure> {
        Self::start_on(shape, &[], kept, dashboard)
    }

    /// The same with a host for each member, or on loopback if there are none. Members on hosts have
    /// a data directory each, and no sockets: clients come over the network.
    pub fn start_on(
        shape: &Shape,
        hosts: &[Host],
        kept: Option<&Path>,
        dashboard: Option<String>,
    ) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::Input(format!("cannot find the program itself to start it again: {error}"))
        })?;
        let folder = Folder::new(kept, "bellwether-up-").map_err(|error| match kept {
            Some(path) => unwritable(path, &error),
            None => Failure::Input(format!(
                "cannot make a temporary directory: {error}; name another one with --dir"
            )),
        })?;
        let token = folder.path().join(TOKEN);
        let operator = OperatorToken::read_or_make(&token)
            .map_err(|error| Failure::flag("dir", error.to_string()))?;
        let ids: Vec<NodeId> = (1..=shape.nodes).map(NodeId::new).collect();
        prepare_all(folder.path(), CLUSTER, &ids, &[CLIENT], DAYS)
            .map_err(|error| Failure::flag("dir", error))?;
        let ports = if hosts.is_empty() { Ports::find(shape)? } else { Ports::on(hosts) };
        // Without it, clients can still come over the network.
        let sockets = if hosts.is_empty() { Sockets::new().ok() } else { None };
        for id in 1..=shape.nodes {
            let path = config_path(folder.path(), id);
            let socket = match &sockets {
                Some(sockets) => sockets.of(id).display().to_string(),
                None => "off".to_owned(),
            };
            let host = hosts.get(id as usize - 1);
            fs::write(&path, configuration(shape, id, &ports, &socket, host))
                .map_err(|error| unwritable(&path, &error))?;
        }
        let choices = config::load(&config_path(folder.path(), 1), &Overrides::default())
            .map_err(|error| Failure::Input(error.to_string()))?
            .choices;
        let mut members = Vec::new();
        for id in 1..=shape.nodes {
            let http = Address::parse(&ports.http(id))?;
            let (listen, condition) = (ports.listen(id), Condition::Dead);
            let launcher = hosts.get(id as usize - 1).map(|host| host.launcher.clone());
            let launcher = launcher.unwrap_or_default();
            members.push(Member { id, http, listen, launcher, running: None, condition });
        }
        if let Some(sockets) = &sockets {
            let http: Vec<_> = members.iter().map(|member| member.http.clone()).collect();
            // Without it, the caller names a member.
            let _ = sockets.tell(&http, &absolute(&token).unwrap_or(token));
        }
        let mut cluster =
            Cluster { program, folder, sockets, members, choices, dashboard, operator };
        // The ports are free again only now, when the members take them.
        drop(ports);
        for place in 0..cluster.members.len() {
            cluster.spawn(place)?;
        }
        for member in &mut cluster.members {
            member.await_process();
        }
        Ok(cluster)
    }

    /// Commands something of a member, as an operator.
    pub async fn command<B: Serialize, T: DeserializeOwned>(
        &self,
        member: &Member,
        path: &str,
        body: &B,
    ) -> Result<T, Unanswered> {
        post(&member.http, path, Some(&self.operator.hex()), body).await
    }

    /// Where the files are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where the socket of a member is.
    pub fn socket(&self, id: u32) -> Option<PathBuf> {
        self.sockets.as_ref().map(|sockets| sockets.of(id))
    }

    /// Whether the files go when the cluster ends.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self.folder, Folder::Temporary(_))
    }

    /// The place of a member in the list.
    pub fn place(&self, id: u32) -> Option<usize> {
        self.members.iter().position(|member| member.id == id)
    }

    fn spawn(&mut self, place: usize) -> Result<(), Failure> {
        let folder = self.folder.path();
        let member = &mut self.members[place];
        let id = member.id;
        let log_path = log_path(folder, id);
        let log = File::options().create(true).append(true).open(&log_path);
        let log = log.map_err(|error| unwritable(&log_path, &error))?;
        let mut child = launched(&member.launcher, &self.program)
            .arg("up-member")
            .arg(std::process::id().to_string())
            .arg(config_path(folder, id))
            .args(&self.dashboard)
            .current_dir(folder)
            // Held open, so that its end tells the member of ours.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            // Ctrl-C is for the parent, which then ends its children.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Failure::Input(format!("cannot start member {id}: {error}")))?;
        let stdin = child.stdin.take();
        member.running = Some((child, stdin));
        member.condition = Condition::Running;
        Ok(())
    }

    /// Members that have ended by themselves since the last look.
    pub fn deaths(&mut self) -> Vec<Death> {
        let mut deaths = Vec::new();
        for member in &mut self.members {
            let Some((child, _)) = &mut member.running else { continue };
            let Ok(Some(status)) = child.try_wait() else { continue };
            member.running = None;
            member.condition = Condition::Dead;
            let log = log_path(self.folder.path(), member.id);
            let (code, words) = (status.code(), last_words(status, &log));
            deaths.push(Death { id: member.id, code, words });
        }
        deaths
    }

    /// Kills a member: a SIGKILL.
    pub async fn kill(&mut self, place: usize) {
        self.members[place].signal(Signal::KILL);
        self.members[place].reap().await;
    }

    /// Starts a dead member again.
    pub fn revive(&mut self, place: usize) -> Result<(), Failure> {
        if self.members[place].running.is_some() {
            return Ok(());
        }
        self.spawn(place)
    }

    /// Ends all members: with SIGTERM first, then with SIGKILL.
    pub async fn end(&mut self) {
        for member in &self.members {
            member.signal(Signal::TERM);
            // One that is stopped hears it only when it goes on.
            member.signal(Signal::CONT);
        }
        let all = async {
            for member in &mut self.members {
                member.reap().await;
            }
        };
        if tokio::time::timeout(ENDS_WITHIN, all).await.is_err() {
            for place in 0..self.members.len() {
                self.kill(place).await;
            }
        }
    }
}

impl Member {
    /// Its process, if there is one: the child of the parent that waits for it.
    pub fn pid(&self) -> Option<u32> {
        let parent = self.parent_pid()?;
        Some(child_of(parent).unwrap_or(parent))
    }

    /// The process that was started: the parent that waits for the member and shows the proof of its death.
    pub fn parent_pid(&self) -> Option<u32> {
        self.running.as_ref().and_then(|(child, _)| child.id())
    }

    /// Waits until the parent has made the member's process, or has ended, so that its number is known.
    #[expect(clippy::disallowed_methods, reason = "nothing else runs yet while the members start")]
    fn await_process(&mut self) {
        for _ in 0..ENDS_WITHIN.as_millis() {
            let Some((child, _)) = &mut self.running else { return };
            let has_ended = !matches!(child.try_wait(), Ok(None));
            if !HAS_PARENT || has_ended || child.id().and_then(child_of).is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Kills the parent, and with it the member: as if the host was lost, nothing proves it to the others.
    pub fn vanish(&self) {
        signal(self.parent_pid(), Signal::KILL);
    }

    /// Sends a signal. A process's number is its own until it has been waited for.
    pub fn signal(&self, signal: Signal) {
        self::signal(self.pid(), signal);
    }

    /// Stops its process: a SIGSTOP.
    pub fn pause(&mut self) {
        self.signal(Signal::STOP);
        self.condition = Condition::Paused;
    }

    /// Lets its process go on: a SIGCONT.
    pub fn resume(&mut self) {
        self.signal(Signal::CONT);
        self.condition = Condition::Running;
    }

    async fn reap(&mut self) {
        if let Some((child, _)) = &mut self.running {
            let _ = child.wait().await;
        }
        self.running = None;
        self.condition = Condition::Dead;
    }
}

/// Whether members run under a parent that waits for them.
const HAS_PARENT: bool = cfg!(target_os = "linux");

fn signal(pid: Option<u32>, signal: Signal) {
    let pid = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may be gone already, which is as good.
        let _ = kill_process(pid, signal);
    }
}

/// The only child of a process, if it has one. It does not change while both live.
fn child_of(pid: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

/// A program that is started by another one, if there is one.
pub fn launched(launcher: &[OsString], program: &Path) -> Command {
    let Some((first, rest)) = launcher.split_first() else { return Command::new(program) };
    let mut command = Command::new(first);
    command.args(rest).arg(program);
    command
}

fn config_path(folder: &Path, id: u32) -> PathBuf {
    folder.join(format!("member-{id}.toml"))
}

/// Where a member's log is.
pub(crate) fn log_path(folder: &Path, id: u32) -> PathBuf {
    folder.join(format!("member-{id}.log"))
}

fn configuration(
    shape: &Shape,
    id: u32,
    ports: &Ports,
    socket: &str,
    host: Option<&Host>,
) -> String {
    let mut text = String::new();
    let Shape { nodes, election, profile, preempt, .. } = shape;
    let _ = writeln!(text, "# Written by `bellwether up` at every start.");
    let _ = writeln!(text, "cluster = \"{CLUSTER}\"\nid = {id}");
    let _ = writeln!(text, "listen = \"{}\"\nhttp = \"{}\"", ports.listen(id), ports.http(id));
    let _ = writeln!(text, "operator_token = \"{TOKEN}\"\nsocket = \"{socket}\"");
    let data = host.map_or("state".to_owned(), |_| format!("data-{id}"));
    let _ = writeln!(text, "data = \"{data}\"\nelection = \"{election}\"\nprofile = \"{profile}\"");
    if let Some(host) = host.filter(|host| !host.extra.is_empty()) {
        let _ = writeln!(text, "{}", host.extra);
    }
    if let Some(preempt) = preempt {
        let _ = writeln!(text, "preempt = \"{preempt}\"");
    }
    let _ = writeln!(text, "\n[tls]\nca = \"ca.pem\"");
    let _ = writeln!(text, "certificate = \"member-{id}.pem\"\nkey = \"member-{id}-key.pem\"");
    for member in 1..=*nodes {
        let _ = writeln!(text, "\n[[member]]\nid = {member}");
        let _ = writeln!(text, "address = \"{}\"", ports.listen(member));
        let _ = writeln!(text, "http = \"{}\"", ports.http(member));
    }
    text
}

fn last_words(status: ExitStatus, log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let said = text.lines().rev().find_map(|line| line.strip_prefix("error: "));
    match said {
        Some(said) => format!("{status}: {said}"),
        None => format!("{status}; its log is {}", log.display()),
    }
}

/// Addresses of the members. Those on loopback are held until the members take them.
struct Ports {
    listen: Vec<String>,
    http: Vec<String>,
    held: Vec<TcpListener>,
}

/// Below the range from which systems take ports for outgoing connections: there, a port of a dead
/// member could be taken by a process that connects to it.
const FREE_PORTS: std::ops::Range<u32> = 20_000..32_000;

impl Ports {
    fn find(shape: &Shape) -> Result<Self, Failure> {
        let span = FREE_PORTS.end - FREE_PORTS.start;
        // Another cluster that starts at this moment looks elsewhere first.
        let first = std::process::id().wrapping_mul(97) % span;
        let mut free = (0..span)
            .map(|step| FREE_PORTS.start + (first + step) % span)
            .filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port as u16)).ok());
        let no_ports = || Failure::Input("no free ports on 127.0.0.1".to_owned());
        let mut take = || free.next().ok_or_else(no_ports);
        let mut ports = Ports { listen: Vec::new(), http: Vec::new(), held: Vec::new() };
        for place in 0..shape.nodes {
            let listen = take()?;
            let http = match shape.http_port {
                0 => take()?,
                base => {
                    let port = base + place as u16;
                    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
                        let what = format!(
                            "cannot use port {port} of 127.0.0.1: {error}; give another port, or \
                             0 for any"
                        );
                        Failure::flag("http-port", what)
                    })?
                }
            };
            ports.listen.push(address(&listen));
            ports.http.push(address(&http));
            ports.held.extend([listen, http]);
        }
        Ok(ports)
    }

    /// On hosts of their own all have the same.
    fn on(hosts: &[Host]) -> Self {
        let (listen, http) = HOST_PORTS;
        let at = |port| hosts.iter().map(|h| format!("{}:{port}", h.address)).collect::<Vec<_>>();
        Ports { listen: at(listen), http: at(http), held: Vec::new() }
    }

    fn listen(&self, id: u32) -> String {
        self.listen[id as usize - 1].clone()
    }

    fn http(&self, id: u32) -> String {
        self.http[id as usize - 1].clone()
    }
}

fn address(listener: &TcpListener) -> String {
    listener.local_addr().map_or_else(|error| error.to_string(), |address| address.to_string())
}
