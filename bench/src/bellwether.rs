//! Three members of Bellwether, and a client of their locks.

use crate::Outcome;
use crate::process::{Process, ports};
use bellwether::{Endpoints, Lock, Session, SessionOptions};
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

/// Three members.
pub(crate) struct Bellwether {
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
        let folder = &folder.join(durability);
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let program = fs::canonicalize(program).map_err(|error| {
            format!("no Bellwether at {}: {error}; run make build", program.display())
        })?;
        make_certificates(&program, folder).await?;
        let mut ports = ports(2 * MEMBERS as usize)?;
        let http = ports.split_off(MEMBERS as usize);
        let addresses: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let config = folder.join("bellwether.toml");
        fs::write(&config, configuration(&addresses, durability))
            .map_err(|error| format!("cannot write {}: {error}", config.display()))?;
        let folder = folder.to_owned();
        let mut cluster =
            Bellwether { members: Vec::new(), folder, addresses, http, program, coordinator: 0 };
        for id in 1..=MEMBERS {
            let member = cluster.start_member(id)?;
            cluster.members.push(member);
        }
        let coordinator = timeout(PATIENCE, cluster.find_coordinator()).await;
        for member in &mut cluster.members {
            member.check()?;
        }
        cluster.coordinator =
            coordinator.map_err(|_| "the members of Bellwether elect no coordinator".to_owned())?;
        Ok(cluster)
    }

    fn start_member(&self, id: u32) -> Outcome<Process> {
        let http = format!("127.0.0.1:{}", self.http[id as usize - 1]);
        let (name, id) = (format!("bellwether-{id}"), id.to_string());
        let args = ["node", "--config", "bellwether.toml", "--id", &id, "--http", &http];
        Process::start(&name, &self.program, args, &self.folder)
    }

    /// Kills a follower and starts it again; how long it takes until it is ready.
    pub(crate) async fn restart_follower(&mut self) -> Outcome<Duration> {
        let id = self.coordinator % MEMBERS + 1;
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
        loop {
            let mut seen = Vec::new();
            for id in 1..=MEMBERS {
                let endpoints = Endpoints::unix(self.socket(id)).timeout(LOOK);
                let client = bellwether::Client::connect(endpoints).await.ok();
                seen.push(client.and_then(|client| client.coordinator()));
            }
            // The strongest one, in the eyes of all.
            if seen.iter().all(|coordinator| *coordinator == Some(MEMBERS)) {
                return MEMBERS;
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
            Way::Follower => Ok(Endpoints::unix(self.socket(self.coordinator % MEMBERS + 1))),
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

async fn make_certificates(program: &Path, folder: &Path) -> Outcome<()> {
    let made = Command::new(program)
        .args(["certs", "--cluster", CLUSTER, "--ids", "1..3", "--client", CLIENT])
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

fn configuration(addresses: &[String], durability: &str) -> String {
    let mut text = format!(
        "cluster = \"{CLUSTER}\"\ndata = \"data-{{id}}\"\nsocket = \"{{id}}.sock\"\n\
         durability = \"{durability}\"\n\
         [log]\nlevel = \"warn\"\n\
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
