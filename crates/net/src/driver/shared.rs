//! What the tasks of one process share.

use super::accept::ClientConnection;
use super::greeting::Refused;
use super::identity::Identity;
use super::options::Limits;
use super::outbox::Outbox;
use super::proof::{Digest, Digests};
use super::protocol::{Input, Msg, Protocol};
use super::roster::{Links, Roster};
use super::stats::{Dropped, Reason, Stats, lock};
use crate::clock::Clock;
use bellwether_core::{NodeId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, watch};

/// Something for the process, from one of its connections.
pub(crate) enum Arrival<P: Protocol> {
    /// A message.
    Letter { from: NodeId, life: u64, seq: u64, msg: Msg<P> },
    /// A hint about a peer, or the proof that it has ended.
    Hint(Input<P>),
}

/// The number of strangers that are remembered.
const STRANGERS_AT_MOST: usize = 16;

pub(crate) struct Shared<P: Protocol> {
    pub(crate) protocol: P,
    pub(crate) identity: Identity,
    pub(crate) roster: Mutex<Arc<Roster<Msg<P>>>>,
    /// Counts the changes of the roster.
    pub(crate) changes: AtomicU64,
    /// The tasks that connect to peers; none before the start and after the end.
    pub(crate) links: Mutex<Option<Links<P>>>,
    pub(crate) clock: Clock,
    pub(crate) life: u64,
    pub(crate) instance: u64,
    pub(crate) death_digest: Option<Digest>,
    pub(crate) reached: Option<mpsc::UnboundedSender<(NodeId, SocketAddr)>>,
    pub(crate) settings: Vec<(&'static str, String)>,
    pub(crate) founding: Vec<(&'static str, String)>,
    pub(crate) initial: Vec<(&'static str, String)>,
    pub(crate) http: Option<String>,
    /// What the process says of its cluster; 0 while it does not know.
    pub(crate) cluster_id: AtomicU64,
    /// Whether the process has settings of its own.
    pub(crate) has_settings: AtomicBool,
    /// What the process says of its data folder.
    pub(crate) folder: AtomicU64,
    pub(crate) limits: Limits,
    pub(crate) dev_faults: bool,
    pub(crate) clients: Option<mpsc::Sender<ClientConnection>>,
    pub(crate) stats: Arc<Stats>,
    pub(crate) blocked: Mutex<BTreeSet<NodeId>>,
    /// Members of the cluster's authority that were refused because they are not in the list.
    pub(crate) strangers: Mutex<BTreeMap<NodeId, Stranger>>,
}

/// Everything about one other member.
pub(crate) struct Peer<M> {
    address: Mutex<String>,
    /// Where it serves HTTP, as it says.
    http: Mutex<Option<String>>,
    pub(crate) outbox: Outbox<M>,
    pub(crate) link: Mutex<Link>,
    /// Wakes the tasks that wait to connect to it: it has just been heard of.
    pub(crate) wake: Notify,
    /// Held by the task that reads its messages, so that those of a new connection never overtake
    /// those of the one it replaces.
    pub(crate) reading: tokio::sync::Mutex<()>,
    /// Whether the connection to it is to end.
    pub(crate) stopping: watch::Sender<bool>,
}

/// The state of the connections with a peer.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub(crate) outgoing: Option<Time>,
    pub(crate) incoming: Option<Incoming>,
    /// What would prove the end of the peer's last starts.
    pub(crate) digests: Digests,
    pub(crate) last_error: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(crate) instance: u64,
    pub(crate) since: Time,
    pub(crate) heard: Time,
    serial: u64,
    replaced: Arc<Notify>,
}

/// The connections of a process with one other member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerState {
    /// Its number.
    pub id: NodeId,
    /// Where it is looked for.
    pub address: String,
    /// Where it serves HTTP, as it has said.
    pub http: Option<String>,
    /// Since when messages can go there, if they can.
    pub outgoing: Option<Time>,
    /// Since when messages can come from there, if they can.
    pub incoming: Option<Time>,
    /// When something last came from there on the present connection.
    pub heard: Option<Time>,
    /// How many messages wait to go there.
    pub queued: usize,
    /// What went wrong last with the way there.
    pub last_error: Option<String>,
}

/// A member that was refused, because it is not in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// Why.
    pub why: String,
    /// When it called last.
    pub at: Time,
}

impl<M> Peer<M> {
    pub(crate) fn new(address: String, outbox: Outbox<M>) -> Self {
        Peer {
            address: Mutex::new(address),
            http: Mutex::default(),
            outbox,
            link: Mutex::default(),
            wake: Notify::new(),
            reading: tokio::sync::Mutex::new(()),
            stopping: watch::Sender::new(false),
        }
    }

    pub(crate) fn address(&self) -> String {
        lock(&self.address).clone()
    }

    /// From the next attempt on it is looked for there.
    pub(crate) fn move_to(&self, address: &str) {
        if !address.is_empty() {
            address.clone_into(&mut lock(&self.address));
        }
    }

    /// It has said where it serves HTTP.
    pub(crate) fn serves_http_at(&self, http: &str) {
        *lock(&self.http) = Some(http.to_owned()).filter(|http| !http.is_empty());
    }

    /// It is no peer any more: what is queued is sent, and both connections end.
    pub(crate) fn let_go(&self) {
        self.stopping.send_replace(true);
        if let Some(incoming) = &lock(&self.link).incoming {
            incoming.replaced.notify_one();
        }
    }

    pub(crate) fn state(&self, id: NodeId) -> PeerState {
        let link = lock(&self.link);
        PeerState {
            id,
            address: self.address(),
            http: lock(&self.http).clone(),
            outgoing: link.outgoing,
            incoming: link.incoming.as_ref().map(|incoming| incoming.since),
            heard: link.incoming.as_ref().map(|incoming| incoming.heard),
            queued: self.outbox.len(),
            last_error: link.last_error.clone(),
        }
    }

    /// Registers an incoming connection, and tells the one that it replaces to end. `None` if
    /// another living process with the same number is connected.
    pub(crate) fn admit(&self, instance: u64, now: Time, recent: Duration) -> Option<Admission> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let mut link = lock(&self.link);
        if let Some(old) = &link.incoming {
            if old.instance != instance && now.since(old.heard) <= recent {
                return None;
            }
            old.replaced.notify_one();
        }
        let (serial, replaced) = (SERIAL.fetch_add(1, Ordering::Relaxed), Arc::new(Notify::new()));
        let incoming =
            Incoming { instance, since: now, heard: now, serial, replaced: replaced.clone() };
        link.incoming = Some(incoming);
        Some(Admission { serial, replaced })
    }

    /// Something came on this connection.
    pub(crate) fn heard(&self, admission: &Admission, now: Time) {
        if let Some(incoming) = &mut lock(&self.link).incoming
            && incoming.serial == admission.serial
        {
            incoming.heard = now;
        }
    }

    /// This connection is gone.
    pub(crate) fn gone(&self, admission: &Admission) {
        let mut link = lock(&self.link);
        if link.incoming.as_ref().is_some_and(|incoming| incoming.serial == admission.serial) {
            link.incoming = None;
        }
    }
}

/// The right to be a peer's incoming connection, until a newer one comes.
pub(crate) struct Admission {
    serial: u64,
    pub(crate) replaced: Arc<Notify>,
}

impl<P: Protocol> Shared<P> {
    pub(crate) fn me(&self) -> NodeId {
        self.identity.id()
    }

    /// The id of its cluster; 0 while it does not know one.
    pub(crate) fn cluster_id(&self) -> u64 {
        self.cluster_id.load(Ordering::Relaxed)
    }

    /// What must be the same at both ends now.
    pub(crate) fn settings_by<'s>(
        &'s self,
        roster: &Roster<Msg<P>>,
    ) -> impl Iterator<Item = &'s (&'static str, String)> {
        let founding = if roster.is_configured { &self.founding[..] } else { &[] };
        let is_initial = !self.has_settings.load(Ordering::Relaxed);
        let initial = if is_initial { &self.initial[..] } else { &[] };
        self.settings.iter().chain(founding).chain(initial)
    }

    /// Remembers who called and was not let in. Only its certificate makes it a member, so there are not many.
    pub(crate) fn note_stranger(&self, id: NodeId, why: &str) {
        let stranger = Stranger { why: why.to_owned(), at: self.clock.now() };
        let mut strangers = lock(&self.strangers);
        strangers.insert(id, stranger);
        if strangers.len() > STRANGERS_AT_MOST {
            strangers.pop_first();
        }
    }

    /// Whether a development partition cuts this peer off; then the messages are counted as lost.
    pub(crate) fn cut_off(&self, peer: NodeId, messages: usize) -> bool {
        let cut = self.is_cut_off(peer);
        if cut {
            self.stats.dropped(Dropped::Partition, messages);
        }
        cut
    }

    /// The same for one who only looks.
    pub(crate) fn is_cut_off(&self, peer: NodeId) -> bool {
        self.dev_faults && lock(&self.blocked).contains(&peer)
    }

    /// Counts a message that a peer of another version sent and this one does not know, and logs it
    /// once per peer.
    pub(crate) fn note_foreign(&self, peer: NodeId, what: &crate::Malformed) {
        self.stats.dropped(Dropped::NotUnderstood, 1);
        if self.stats.first_time(&peer.to_string(), Dropped::NotUnderstood.name()) {
            tracing::warn!(%peer, "ignored a message of another version: {what}");
        }
    }

    /// Counts a connection that was refused or closed for cause, and logs it once per peer and
    /// reason; where the text names members or settings, once per text.
    pub(crate) fn note_refused(&self, peer: &str, refused: &Refused) {
        let Refused { reason, text } = refused;
        self.stats.refused(*reason);
        let subject = match reason {
            Reason::Settings | Reason::Removed | Reason::UnknownId => text,
            _ => peer,
        };
        if self.stats.first_time(subject, reason.name()) {
            tracing::warn!(peer, reason = reason.name(), "connection refused: {text}");
        } else {
            tracing::debug!(peer, reason = reason.name(), "connection refused again: {text}");
        }
    }
}

impl From<crate::frame::Broken> for Refused {
    fn from(broken: crate::frame::Broken) -> Self {
        use crate::frame::Broken;
        let text = broken.to_string();
        let reason = match broken {
            Broken::TooLarge => Reason::TooLarge,
            Broken::Malformed(_) => Reason::Malformed,
            Broken::Slow => Reason::Slow,
            Broken::Io(_) => Reason::Tls,
        };
        Refused { reason, text }
    }
}
