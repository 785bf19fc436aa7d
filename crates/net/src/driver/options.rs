//! The options of the driver: its identity, its peers, and its limits.

use super::accept::ClientConnection;
use super::identity::Identity;
use super::proof::Digest;
use crate::clock::Clock;
use bellwether_core::{Group, NodeId};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

/// How to run a process. [`Options::new`] gives the defaults; change what you need.
#[derive(Debug)]
pub struct Options {
    /// Who it is, with its certificate.
    pub identity: Identity,
    /// All configured members, itself included.
    pub group: Group,
    /// Where they listen: `host:port`. A name is looked up again at every attempt.
    pub addresses: BTreeMap<NodeId, String>,
    /// Where it listens itself. The caller binds it, so that port 0 works and a port in use is the
    /// caller's error to explain.
    pub listen: TcpListener,
    /// The file of the durable state; without one a restart forgets everything.
    pub data: Option<PathBuf>,
    /// How many times this process was started before, if the caller counts that: it tells the
    /// messages of different lives apart in a journal.
    pub life: u64,
    /// A random number for this start, which its greetings carry.
    pub instance: u64,
    /// Where a parent waits for the end of this process: the digest of its secret, see [`proof`].
    ///
    /// [`proof`]: crate::proof
    pub death_digest: Option<Digest>,
    /// Where it goes that a peer was reached, and at which address: that is where the parent shows its proof.
    pub reached: Option<mpsc::UnboundedSender<(NodeId, SocketAddr)>>,
    /// The process's clock.
    pub clock: Clock,
    /// The first step waits until something comes from here, or its other end is dropped; the
    /// connections do not wait. So processes that are started together, however many, can first find each
    /// other and then begin at the same moment.
    pub gate: Option<oneshot::Receiver<()>>,
    /// Whether [`Running::partition`] is allowed: for development only.
    ///
    /// [`Running::partition`]: crate::Running::partition
    pub dev_faults: bool,
    /// Where clients go that come to the same address with a client's certificate of the cluster's
    /// authority. Without it they are refused.
    pub clients: Option<mpsc::Sender<ClientConnection>>,
    /// What must be the same at all members, by name and value. The greeting compares it.
    pub settings: Vec<(&'static str, String)>,
    /// The same as long as the members are those of the configuration.
    pub founding: Vec<(&'static str, String)>,
    /// The same until the process has settings of its own ([`Protocol::has_settings`](crate::Protocol::has_settings)).
    pub initial: Vec<(&'static str, String)>,
    /// Whether this process joins a cluster: it lets every member of it in, until it says itself who the members
    /// are.
    pub joins: bool,
    /// Where it serves HTTP, for the others to tell.
    pub http: Option<String>,
    /// What it may take.
    pub limits: Limits,
}

impl Options {
    /// The defaults for a process with this identity.
    pub fn new(
        identity: Identity,
        group: Group,
        addresses: BTreeMap<NodeId, String>,
        listen: TcpListener,
    ) -> Self {
        Options {
            identity,
            group,
            addresses,
            listen,
            data: None,
            life: 0,
            instance: rand::random(),
            death_digest: None,
            reached: None,
            clock: Clock::system(),
            gate: None,
            dev_faults: false,
            clients: None,
            settings: Vec::new(),
            founding: Vec::new(),
            initial: Vec::new(),
            joins: false,
            http: None,
            limits: Limits::default(),
        }
    }
}

/// What a process and its connections may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest frame, sent or received, in bytes.
    pub max_frame: usize,
    /// How many messages may wait for one peer.
    pub queue: usize,
    /// How long a message waits for a peer that is not connected.
    pub stale_after: Duration,
    /// The shortest and the longest pause between two attempts to connect. The actual pause is
    /// drawn from zero up to a bound that doubles from the first to the second.
    pub back_off: (Duration, Duration),
    /// How long establishing a connection may take, in each of its two parts: reaching the address,
    /// and TLS with the greeting.
    pub greeting_within: Duration,
    /// How long a frame that has begun may take to arrive, or, from a greeted member, how long
    /// nothing more of it may come; and how long a write may make no progress.
    pub stalled_after: Duration,
    /// How long a connection to a member may go without an acknowledgement of what was sent. Then it is
    /// closed and made again: the system repeats what is lost ever more rarely, so after a longer
    /// outage a new connection works sooner than the old one.
    pub unacknowledged: Duration,
    /// How many connections may be in the middle of their greeting; beyond it the oldest is closed.
    pub ungreeted: usize,
    /// A second process with the number of a connected one is refused if the first was heard from
    /// within this time.
    pub duplicate_within: Duration,
    /// How long a stop may take to send what is queued.
    pub flush_within: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_frame: 1 << 20,
            queue: 1024,
            stale_after: Duration::from_secs(1),
            back_off: (Duration::from_millis(20), Duration::from_secs(1)),
            greeting_within: Duration::from_secs(3),
            stalled_after: Duration::from_secs(5),
            unacknowledged: Duration::from_secs(5),
            ungreeted: 64,
            duplicate_within: Duration::from_secs(3),
            flush_within: Duration::from_millis(500),
        }
    }
}
