//! Three members of Bellwether, and a client of their locks.

use crate::Outcome;
use crate::process::{Process, ports, send};
use bellwether::{Endpoints, Lock, Session, SessionOptions};
use bellwether_net::stages::{self, Mark};
use rustix::process::Signal;
use std::fmt::Write;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

/// A cluster without a coordinator by then never gets one.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time from one look for a coordinator to the next.
const LOOK: Duration = Duration::from_millis(50);
/// How often a member is asked whether it is ready.
const LOOK_READY: Duration = Duration::from_millis(5);
/// As long as the configuration allows.
pub(crate) const TTL: Duration = Duration::from_secs(60);
/// The name in the certificates of the clients.
const CLIENT: &str = "bench";
const CLUSTER: &str = "bench";
/// As many as the measurements of locks and roles have.
const MEMBERS: u32 = 3;

/// How a client reaches the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By the Unix socket of the coordinator.
    Unix,
    /// By the Unix socket of another member, which passes everything on.
    Follower,
    /// Over the network, to the coordinator.
    Tls,
}

/// How the members are started.
#[derive(Clone)]
pub(crate) struct Launch {
    /// How many there are.
    pub(crate) members: u32,
    /// Whether each runs under a parent that proves its death. Without one a member is one process: the one whose
    /// memory and time are measured.
    pub(crate) proof_of_death: bool,
    /// Whether they note when requests pass each stage.
    pub(crate) stages: bool,
    /// The program with its arguments that runs them, if there is one. `{id}` is the member's number.
    pub(crate) under: Vec<String>,
    /// Their time-outs.
    pub(crate) profile: &'static str,
}

impl Default for Launch {
    fn default() -> Self {
        Launch {
            members: MEMBERS,
            proof_of_death: false,
            stages: false,
            under: Vec::new(),
            profile: "default",
        }
    }
}

/// What a process has used since its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) processor_ns: u64,
    /// How often it went to sleep, and how often another process was given its place.
    pub(crate) sleeps: u64,
    pub(crate) preempted: u64,
}

impl Usage {
    /// What it has used since then.
    pub(crate) fn since(&self, before: &Usage) -> Usage {
        Usage {
            processor_ns: self.processor_ns.saturating_sub(before.processor_ns),
            sleeps: self.sleeps.saturating_sub(before.sleeps),
            preempted: self.preempted.saturating_sub(before.preempted),
        }
    }
}

/// Three members.
pub(crate) struct Bellwether {
    launch: Launch,
    members: Vec<Process>,
    folder: PathBuf,
    addresses: Vec<String>,
    /// Where each member answers HTTP requests.
    http: Vec<u16>,
    program: PathBuf,
    /// The one that coordinates.
    coordinator: u32,
}

impl Bellwether {
    /// Starts the members and waits until one of them coordinates. They have the usual time-outs.
    pub(crate) async fn start(program: &Path, folder: &Path, durability: &str) -> Outcome<Self> {
        Bellwether::launch(program, folder, durability, Launch::default()).await
    }

    /// The same, with the members started in this way.
    pub(crate) async fn launch(
        program: &Path,
        folder: &Path,
        durability: &str,
        launch: Launch,
    ) -> Outcome<Self> {
        let folder = &folder.join(durability);
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let program = fs::canonicalize(program).map_err(|error| {
            format!("no Bellwether at {}: {error}; run make build", program.display())
        })?;
        let count = launch.members;
        make_certificates(&program, folder, count).await?;
        let mut ports = ports(2 * count as usize)?;
        let http = ports.split_off(count as usize);
        let addresses: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let config = folder.join("bellwether.toml");
        fs::write(&config, configuration(&addresses, durability, launch.proof_of_death))
            .map_err(|error| format!("cannot write {}: {error}", config.display()))?;
        let folder = folder.to_owned();
        let mut cluster = Bellwether {
            launch,
            members: Vec::new(),
            folder,
            addresses,
            http,
            program,
            coordinator: 0,
        };
        for id in 1..=count {
            let member = cluster.start_member(id)?;
            cluster.members.push(member);
        }
        cluster.rest().await?;
        Ok(cluster)
    }

    /// Waits until the last one coordinates.
    pub(crate) async fn rest(&mut self) -> Outcome<()> {
        let coordinator = timeout(PATIENCE, self.find_coordinator()).await;
        for member in &mut self.members {
            member.check()?;
        }
        self.coordinator =
            coordinator.map_err(|_| "the members of Bellwether elect no coordinator".to_owned())?;
        Ok(())
    }

    /// The members that do not coordinate.
    pub(crate) fn followers(&self) -> impl Iterator<Item = u32> + use<> {
        let coordinator = self.coordinator;
        (1..=self.launch.members).filter(move |id| *id != coordinator)
    }

    /// Kills the coordinator's process. With proof of death its parent lives, and ends after it.
    pub(crate) fn kill_coordinator(&self) -> Outcome<()> {
        let member = &self.members[self.coordinator_place()];
        match self.launch.proof_of_death {
            true => send(member.child()?, Signal::KILL)
                .map_err(|error| format!("cannot kill the coordinator: {error}")),
            false => member.signal(Signal::KILL),
        }
    }

    /// Kills the coordinator's parent and then the coordinator: nothing says that it is dead, as when a host is lost.
    /// Without its parent it would die too, but it could still answer for a moment.
    pub(crate) fn lose_coordinator(&self) -> Outcome<()> {
        let member = &self.members[self.coordinator_place()];
        let child = member.child()?;
        member.signal(Signal::KILL)?;
        // It may be dead already.
        let _ = send(child, Signal::KILL);
        Ok(())
    }

    /// Starts the killed coordinator again.
    pub(crate) async fn revive_coordinator(&mut self) -> Outcome<()> {
        let place = self.coordinator_place();
        self.members.remove(place).kill().await;
        let member = self.start_member(self.coordinator)?;
        self.members.insert(place, member);
        Ok(())
    }

    fn start_member(&self, id: u32) -> Outcome<Process> {
        let http = format!("127.0.0.1:{}", self.http[id as usize - 1]);
        let (name, id) = (format!("bellwether-{id}"), id.to_string());
        let Launch { stages, under, profile, .. } = &self.launch;
        let own = ["node", "--config", "bellwether.toml", "--id", &id, "--http", &http];
        let mut args: Vec<String> =
            under.iter().skip(1).map(|arg| arg.replace("{id}", &id)).collect();
        if !under.is_empty() {
            args.push(self.program.display().to_string());
        }
        args.extend(own.map(str::to_owned));
        args.extend(["--profile".to_owned(), (*profile).to_owned()]);
        if *stages {
            args.extend(["--stages".to_owned(), format!("stages-{id}")]);
        }
        let program = under.first().map_or(self.program.as_path(), Path::new);
        Process::start(&name, program, args, &self.folder)
    }

    /// What each member has used.
    pub(crate) fn usage(&self) -> Outcome<Vec<Usage>> {
        let gone = || "a member of Bellwether has ended".to_owned();
        self.members.iter().map(|member| member.usage().ok_or_else(gone)).collect()
    }

    /// The numbers of the members' processes.
    pub(crate) fn process_ids(&self) -> Vec<u32> {
        self.members.iter().filter_map(Process::id).collect()
    }

    /// The coordinator's place among the members.
    pub(crate) fn coordinator_place(&self) -> usize {
        self.coordinator as usize - 1
    }

    /// Where everything is written.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends the members; when requests passed each stage at each of them.
    pub(crate) async fn end_with_stages(self) -> Outcome<Vec<Vec<Mark>>> {
        let (count, folder) = (self.members.len(), self.folder.clone());
        self.end().await;
        let read = |id: usize| {
            let path = folder.join(format!("stages-{id}"));
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            Ok(stages::from_text(&text))
        };
        (1..=count).map(read).collect()
    }

    /// Kills a follower and starts it again; how long it takes until it is ready.
    pub(crate) async fn restart_follower(&mut self) -> Outcome<Duration> {
        let id = self.coordinator % self.launch.members + 1;
        let port = self.http[id as usize - 1];
        self.members.remove(id as usize - 1).kill().await;
        let began = Instant::now();
        let member = self.start_member(id)?;
        self.members.insert(id as usize - 1, member);
        while !is_ready(port).await {
            if began.elapsed() > PATIENCE {
                return Err(format!("member {id} is not ready {PATIENCE:?} after its restart"));
            }
            sleep(LOOK_READY).await;
        }
        Ok(began.elapsed())
    }

    /// Waits until the last one coordinates, as it does for good: another may for a moment before it.
    async fn find_coordinator(&self) -> u32 {
        let strongest = self.launch.members;
        loop {
            let mut seen = Vec::new();
            for id in 1..=strongest {
                let endpoints = Endpoints::unix(self.socket(id)).timeout(LOOK);
                let client = bellwether::Client::connect(endpoints).await.ok();
                seen.push(client.and_then(|client| client.coordinator()));
            }
            // The strongest one, in the eyes of all.
            if seen.iter().all(|coordinator| *coordinator == Some(strongest)) {
                return strongest;
            }
            sleep(LOOK).await;
        }
    }

    fn socket(&self, member: u32) -> PathBuf {
        self.folder.join(format!("{member}.sock"))
    }

    /// Where the coordinator's socket is.
    pub(crate) fn endpoint(&self) -> String {
        format!("unix:{}", self.socket(self.coordinator).display())
    }

    fn endpoints(&self, way: Way) -> Outcome<Endpoints> {
        match way {
            Way::Unix => Ok(Endpoints::unix(self.socket(self.coordinator))),
            Way::Follower => {
                Ok(Endpoints::unix(self.socket(self.coordinator % self.launch.members + 1)))
            }
            Way::Tls => {
                let certs = self.folder.join("certs");
                Endpoints::tls(&self.addresses, certs, Some(CLIENT)).map_err(said)
            }
        }
    }

    /// A connection.
    pub(crate) async fn connect(&self, way: Way) -> Outcome<bellwether::Client> {
        bellwether::Client::connect(self.endpoints(way)?).await.map_err(said)
    }

    /// Looks at the cluster through this member's Unix socket and no other.
    pub(crate) async fn watcher(&self, member: u32) -> Outcome<Watcher> {
        let endpoints = Endpoints::unix(self.socket(member)).timeout(PATIENCE);
        let inner = bellwether::Client::connect(endpoints).await.map_err(said)?;
        let name = format!("bench/{member}");
        let session = session(&inner, &name, TTL).await?;
        Ok(Watcher(Client { session, name, held: None }))
    }

    /// A client on a connection of its own, with a session of its own, of this lock.
    pub(crate) async fn client(&self, way: Way, lock: &str) -> Outcome<Client> {
        let session = session(&self.connect(way).await?, lock, TTL).await?;
        Ok(Client { session, name: lock.to_owned(), held: None })
    }

    /// The memory of the coordinator and of the one of the others that has more, in KiB.
    pub(crate) fn memory_kib(&self) -> Outcome<(u64, u64)> {
        let of = |place: usize| self.members.get(place).and_then(Process::memory_kib);
        let coordinator = self.coordinator as usize - 1;
        let others = (0..self.members.len()).filter(|place| *place != coordinator);
        let gone = || "a member of Bellwether has ended".to_owned();
        Ok((of(coordinator).ok_or_else(gone)?, others.filter_map(of).max().ok_or_else(gone)?))
    }

    /// Ends the members.
    pub(crate) async fn end(self) {
        for member in self.members {
            member.end().await;
        }
    }
}

/// Whether the member that listens here says that it is ready.
async fn is_ready(port: u16) -> bool {
    let asked = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        let request = format!("GET /readyz HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    asked.await.is_ok_and(|answer| String::from_utf8_lossy(&answer).contains(" 200 "))
}

async fn make_certificates(program: &Path, folder: &Path, members: u32) -> Outcome<()> {
    let ids = format!("1..{members}");
    let made = Command::new(program)
        .args(["certs", "--cluster", CLUSTER, "--ids", &ids, "--client", CLIENT])
        .args(["--out", "certs"])
        .current_dir(folder)
        .output()
        .await
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    match made.status.success() {
        true => Ok(()),
        false => Err(format!("no certificates: {}", String::from_utf8_lossy(&made.stderr))),
    }
}

fn configuration(addresses: &[String], durability: &str, proof_of_death: bool) -> String {
    let proof_of_death = if proof_of_death { "on" } else { "off" };
    let mut text = format!(
        "cluster = \"{CLUSTER}\"\ndata = \"data-{{id}}\"\nsocket = \"{{id}}.sock\"\n\
         durability = \"{durability}\"\nproof_of_death = \"{proof_of_death}\"\n\
         [log]\nlevel = \"warn\"\n\
         [sessions]\nper_client_max = 200000\n\
         [tls]\nca = \"certs/ca.pem\"\ncertificate = \"certs/member-{{id}}.pem\"\n\
         key = \"certs/member-{{id}}-key.pem\"\n"
    );
    for (id, address) in (1..).zip(addresses) {
        let _ = write!(text, "[[member]]\nid = {id}\naddress = \"{address}\"\n");
    }
    text
}

/// A client on a connection of its own to what is at this address, with a session of its own.
pub(crate) async fn client_at(address: &str, lock: &str) -> Outcome<Client> {
    let endpoints = Endpoints::parse(address, None, None).map_err(said)?;
    let client = bellwether::Client::connect(endpoints).await.map_err(said)?;
    let session = session(&client, lock, TTL).await?;
    Ok(Client { session, name: lock.to_owned(), held: None })
}

/// Begins a session.
pub(crate) async fn session(
    client: &bellwether::Client,
    name: &str,
    ttl: Duration,
) -> Outcome<Session> {
    let options = SessionOptions { ttl, ..SessionOptions::named(name) };
    client.session(options).await.map_err(said)
}

/// Looks at the cluster through one member, and takes a lock.
pub(crate) struct Watcher(Client);

impl Watcher {
    /// Waits until a lock is held that a later coordinator has granted than the one that began the session.
    pub(crate) async fn writes_again(&mut self) -> Outcome<()> {
        self.0.lock().await?;
        let token = self.0.held.as_ref().map_or(0, |held| held.token().0);
        // Both begin with the term in which they were given.
        let (granted, began) = (token >> 32, self.0.session.id().0 >> 32);
        match granted > began {
            true => Ok(()),
            false => {
                Err(format!("a lock was granted in term {granted}, before the coordinator's death"))
            }
        }
    }

    /// Ends the session, and with it the lock.
    pub(crate) async fn close(self) -> Outcome<()> {
        self.0.close().await
    }
}

/// A client of one lock.
pub(crate) struct Client {
    session: Session,
    name: String,
    held: Option<Lock>,
}

impl Client {
    /// Returns when the lock is held.
    pub(crate) async fn lock(&mut self) -> Outcome<()> {
        self.held = Some(self.session.lock(self.name.as_str()).await.map_err(said)?);
        Ok(())
    }

    /// Returns when the lock is given back.
    pub(crate) async fn unlock(&mut self) -> Outcome<()> {
        match self.held.take() {
            Some(held) => held.release().await.map_err(said),
            None => Err("Bellwether: the lock is not held".to_owned()),
        }
    }

    /// Ends the session.
    pub(crate) async fn close(self) -> Outcome<()> {
        self.session.close().await;
        Ok(())
    }
}

/// The error in words.
pub(crate) fn said(error: bellwether::Error) -> String {
    format!("Bellwether: {error}")
}
