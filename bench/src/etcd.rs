//! Members of etcd, and a client of its lock service.

use crate::Outcome;
use crate::process::{Process, ports};
use etcd_client::{LockOptions, StatusResponse};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A cluster that has no leader by then never has one.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer than any measurement: the lease needs no keep-alive.
const LEASE_S: i64 = 3_600;

/// How often a member is asked while a leader is missing. The timer adds a millisecond.
const LOOK_CLOSELY: Duration = Duration::from_millis(1);
/// How often members are asked who leads, while nothing is measured.
const LOOK: Duration = Duration::from_millis(100);
/// A leader that all members have named this many times in sequence stays.
const LOOKS: usize = 5;
/// As many members as the measurements of locks and roles have.
pub(crate) const MEMBERS: usize = 3;

/// The members.
pub(crate) struct Etcd {
    program: PathBuf,
    folder: PathBuf,
    /// The arguments of each member.
    args: Vec<Vec<String>>,
    members: Vec<Process>,
    /// All of them.
    pub(crate) endpoints: Vec<String>,
    /// The one that leads. Clients that ask it save a hop.
    leader: usize,
}

/// Heartbeat and election time-out in milliseconds. A lease lasts at least one and a half
/// election time-outs, rounded up to seconds.
#[derive(Clone, Copy)]
pub(crate) struct Pace(u32, u32);

impl Pace {
    /// What etcd has by default: the shortest lease has 2 seconds.
    pub(crate) const DEFAULT: Pace = Pace(100, 1_000);
    /// The shortest lease has 1 second.
    pub(crate) const QUICK: Pace = Pace(50, 500);
}

impl Etcd {
    /// Starts this many members and waits until one of them leads.
    pub(crate) async fn start(
        program: &Path,
        folder: &Path,
        count: usize,
        pace: Pace,
    ) -> Outcome<Self> {
        let ports = ports(2 * count)?;
        let url = |port: &u16| format!("http://127.0.0.1:{port}");
        let (clients, peers): (Vec<String>, Vec<String>) =
            (ports[..count].iter().map(url).collect(), ports[count..].iter().map(url).collect());
        let all: Vec<String> =
            peers.iter().enumerate().map(|(place, url)| format!("m{place}={url}")).collect();
        let args = (0..count).map(|place| {
            let pairs = [
                ("--name", format!("m{place}")),
                ("--data-dir", folder.join(format!("etcd-{place}")).display().to_string()),
                ("--listen-client-urls", clients[place].clone()),
                ("--advertise-client-urls", clients[place].clone()),
                ("--listen-peer-urls", peers[place].clone()),
                ("--initial-advertise-peer-urls", peers[place].clone()),
                ("--initial-cluster", all.join(",")),
                ("--initial-cluster-state", "new".to_owned()),
                ("--heartbeat-interval", pace.0.to_string()),
                ("--election-timeout", pace.1.to_string()),
                ("--log-level", "error".to_owned()),
            ];
            pairs.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
        });
        let mut etcd = Etcd {
            program: program.to_owned(),
            folder: folder.to_owned(),
            args: args.collect(),
            members: Vec::new(),
            endpoints: clients,
            leader: 0,
        };
        for place in 0..count {
            etcd.members.push(etcd.start_member(place)?);
        }
        etcd.rest().await?;
        Ok(etcd)
    }

    fn start_member(&self, place: usize) -> Outcome<Process> {
        Process::start(&format!("etcd-{place}"), &self.program, &self.args[place], &self.folder)
    }

    /// Waits until all members have followed the same leader for a while.
    pub(crate) async fn rest(&mut self) -> Outcome<()> {
        let leader = timeout(PATIENCE, self.find_leader()).await;
        for member in &mut self.members {
            member.check()?;
        }
        self.leader = leader.map_err(|_| "the members of etcd elect no leader".to_owned())?;
        Ok(())
    }

    async fn find_leader(&self) -> usize {
        let mut seen = Vec::new();
        loop {
            let mut leader = None;
            let mut named = Vec::new();
            for (place, endpoint) in self.endpoints.iter().enumerate() {
                let Ok(status) = status(endpoint).await else { break };
                let own = status.header().map(|header| header.member_id());
                if status.leader() != 0 && own == Some(status.leader()) {
                    leader = Some(place);
                }
                named.push((status.leader(), status.raft_term()));
            }
            named.dedup();
            if let (Some(leader), [one]) = (leader, &named[..]) {
                seen.retain(|before| before == one);
                seen.push(*one);
                if seen.len() >= LOOKS {
                    return leader;
                }
            } else {
                seen.clear();
            }
            sleep(LOOK).await;
        }
    }

    /// The members that do not lead.
    pub(crate) fn followers(&self) -> impl Iterator<Item = usize> + use<> {
        let leader = self.leader;
        (0..self.endpoints.len()).filter(move |place| *place != leader)
    }

    /// Kills the leader.
    pub(crate) fn kill_leader(&self) -> Outcome<()> {
        self.members[self.leader].signal(Signal::KILL)
    }

    /// Starts the killed leader again.
    pub(crate) async fn revive_leader(&mut self) -> Outcome<()> {
        self.members.remove(self.leader).kill().await;
        let member = self.start_member(self.leader)?;
        self.members.insert(self.leader, member);
        Ok(())
    }

    /// Looks at the cluster through this member and no other.
    pub(crate) async fn watcher(&self, place: usize) -> Outcome<Watcher> {
        let endpoint = &self.endpoints[place];
        let mut client = etcd_client::Client::connect([endpoint], None).await.map_err(said)?;
        let term = client.status().await.map_err(said)?.raft_term();
        Ok(Watcher { client, term, key: format!("bench/{place}") })
    }

    /// Where our client crate finds the leader.
    pub(crate) fn address(&self) -> String {
        self.endpoints[self.leader].replace("http://", "etcd://")
    }

    /// A client on a connection of its own, with a lease of its own, of this lock.
    pub(crate) async fn client(&self, lock: &str) -> Outcome<Client> {
        let connected = etcd_client::Client::connect([&self.endpoints[self.leader]], None).await;
        let mut inner = connected.map_err(said)?;
        let lease = inner.lease_grant(LEASE_S, None).await.map_err(said)?.id();
        Ok(Client { inner, lease, lock: lock.to_owned(), key: Vec::new() })
    }

    /// Ends the members.
    pub(crate) async fn end(self) {
        for member in self.members {
            member.end().await;
        }
    }
}

async fn status(endpoint: &str) -> Result<StatusResponse, etcd_client::Error> {
    let mut client = etcd_client::Client::connect([endpoint], None).await?;
    client.status().await
}

/// Looks at the cluster through one member, and writes.
pub(crate) struct Watcher {
    client: etcd_client::Client,
    /// The term of the leader that is there when it begins.
    term: u64,
    key: String,
}

impl Watcher {
    /// Waits until its member follows a leader of a later term, and this leader has taken a write. A write that is
    /// sent before goes to the dead leader, and is lost with it: its client hears nothing for seven seconds.
    pub(crate) async fn writes_again(mut self) {
        loop {
            let follows = self
                .client
                .status()
                .await
                .is_ok_and(|status| status.leader() != 0 && status.raft_term() > self.term);
            if follows && self.client.put(self.key.as_str(), "me", None).await.is_ok() {
                return;
            }
            sleep(LOOK_CLOSELY).await;
        }
    }
}

/// A client of the lock service.
pub(crate) struct Client {
    inner: etcd_client::Client,
    lease: i64,
    lock: String,
    /// What stands for the lock while it is held.
    key: Vec<u8>,
}

impl Client {
    /// Returns when the lock is held.
    pub(crate) async fn lock(&mut self) -> Outcome<()> {
        let options = LockOptions::new().with_lease(self.lease);
        let held = self.inner.lock(self.lock.as_str(), Some(options)).await.map_err(said)?;
        self.key = held.key().to_vec();
        Ok(())
    }

    /// Returns when the lock is given back.
    pub(crate) async fn unlock(&mut self) -> Outcome<()> {
        let key = std::mem::take(&mut self.key);
        self.inner.unlock(key).await.map_err(said)?;
        Ok(())
    }

    /// Gives the lease back.
    pub(crate) async fn close(mut self) -> Outcome<()> {
        self.inner.lease_revoke(self.lease).await.map_err(said)?;
        Ok(())
    }
}

/// The error in words.
pub(crate) fn said(error: etcd_client::Error) -> String {
    format!("etcd: {error}")
}
