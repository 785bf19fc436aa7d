//! Three members of etcd, and a client of its lock service.

use crate::Outcome;
use crate::process::{Process, ports};
use etcd_client::{LockOptions, StatusResponse};
use std::path::Path;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// A cluster that has no leader by then never has one.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer than any measurement: the lease needs no keep-alive.
const LEASE_S: i64 = 3_600;

/// Three members.
pub(crate) struct Etcd {
    members: Vec<Process>,
    /// All of them.
    pub(crate) endpoints: Vec<String>,
    /// The one that leads. Clients that ask it save a hop.
    leader: String,
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
    /// Starts the members and waits until one of them leads.
    pub(crate) async fn start(program: &Path, folder: &Path, pace: Pace) -> Outcome<Self> {
        let ports = ports(6)?;
        let url = |port: &u16| format!("http://127.0.0.1:{port}");
        let (clients, peers): (Vec<String>, Vec<String>) =
            (ports[..3].iter().map(url).collect(), ports[3..].iter().map(url).collect());
        let all: Vec<String> =
            peers.iter().enumerate().map(|(place, url)| format!("m{place}={url}")).collect();
        let mut members = Vec::new();
        for place in 0..3 {
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
            let args = pairs.iter().flat_map(|(flag, value)| [*flag, value.as_str()]);
            members.push(Process::start(&format!("etcd-{place}"), program, args, folder)?);
        }
        let mut etcd = Etcd { members, endpoints: clients, leader: String::new() };
        let leader = timeout(PATIENCE, etcd.find_leader()).await;
        for member in &mut etcd.members {
            member.check()?;
        }
        etcd.leader = leader.map_err(|_| "the members of etcd elect no leader".to_owned())?;
        Ok(etcd)
    }

    async fn find_leader(&self) -> String {
        loop {
            for endpoint in &self.endpoints {
                let Ok(status) = status(endpoint).await else { continue };
                let own = status.header().map(|header| header.member_id());
                if status.leader() != 0 && own == Some(status.leader()) {
                    return endpoint.clone();
                }
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Where our client crate finds the leader.
    pub(crate) fn address(&self) -> String {
        self.leader.replace("http://", "etcd://")
    }

    /// A client on a connection of its own, with a lease of its own, of this lock.
    pub(crate) async fn client(&self, lock: &str) -> Outcome<Client> {
        let connected = etcd_client::Client::connect([&self.leader], None).await;
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
