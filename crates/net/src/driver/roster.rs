//! Who the other processes are, and how that changes while this one runs.
//!
//! Most processes know all others from the start. One whose members come and go says so among its outputs
//! ([`Protocol::members`]), and the driver connects to those who came and lets go of those who left. A caller
//! whom the process does not know yet is let in as a *guest* if it proves that it is of the same cluster: its
//! member list may be the newer one.
//!
//! [`Protocol::members`]: super::protocol::Protocol::members

use super::dial::Dialler;
use super::outbox::Outbox;
use super::protocol::{Msg, Protocol};
use super::shared::{Arrival, Peer, Shared};
use super::stats::lock;
use bellwether_core::{Group, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Who the members are, as a process says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// The members, and where each listens: `host:port`. An empty address is not known.
    pub members: BTreeMap<NodeId, String>,
    /// The data folders of members that were removed: a member that comes with one of them is refused.
    pub removed: BTreeMap<NodeId, u64>,
    /// Whether it stays so. If not, those who were members before are still reached.
    pub is_final: bool,
    /// Whether the list is another one than that of the configuration.
    pub has_changed: bool,
}

/// Who can be reached at one moment.
pub(crate) struct Roster<M> {
    pub(crate) group: Group,
    /// This process's place in it.
    pub(crate) place: usize,
    pub(crate) peers: BTreeMap<NodeId, Arc<Peer<M>>>,
    /// Peers that are in no list of this process.
    guests: BTreeSet<NodeId>,
    /// As in [`Membership`].
    pub(crate) removed: BTreeMap<NodeId, u64>,
    /// Whether these are the members that the configuration lists, so that it must be the same at all.
    pub(crate) is_configured: bool,
    /// Whether this process has no list yet and believes every member of its cluster.
    pub(crate) joins: bool,
    /// Where this process listens.
    pub(crate) address: String,
}

impl<M> Clone for Roster<M> {
    fn clone(&self) -> Self {
        Roster {
            group: self.group.clone(),
            peers: self.peers.clone(),
            guests: self.guests.clone(),
            removed: self.removed.clone(),
            address: self.address.clone(),
            ..*self
        }
    }
}

impl<M> Roster<M> {
    pub(crate) fn new(
        (group, place): (Group, usize),
        peers: BTreeMap<NodeId, Arc<Peer<M>>>,
        address: String,
        joins: bool,
    ) -> Self {
        let (guests, removed) = (BTreeSet::new(), BTreeMap::new());
        Roster { group, place, peers, guests, removed, is_configured: !joins, joins, address }
    }

    /// Those who stay keep their order on the ring, and those who come follow.
    fn regroup(&mut self, me: NodeId) {
        let is_here = |id: &NodeId| *id == me || self.peers.contains_key(id);
        let stay = self.group.ring().iter().copied().filter(is_here);
        let come = self.peers.keys().copied().filter(|id| !self.group.contains(*id));
        if let Ok(group) = Group::new(stay.chain(come).collect())
            && let Some(place) = group.place(me)
        {
            (self.group, self.place) = (group, place);
        }
    }
}

/// What a task needs that connects to a peer.
pub(crate) struct Links<P: Protocol> {
    inbox: mpsc::Sender<Arrival<P>>,
    tasks: JoinSet<()>,
}

impl<P: Protocol> Links<P> {
    pub(crate) fn new(inbox: mpsc::Sender<Arrival<P>>) -> Self {
        Links { inbox, tasks: JoinSet::new() }
    }
}

impl<P: Protocol> Shared<P> {
    /// Who can be reached now.
    pub(crate) fn roster(&self) -> Arc<Roster<Msg<P>>> {
        lock(&self.roster).clone()
    }

    /// Begins to connect to all peers.
    pub(crate) fn connect(self: &Arc<Self>, links: Links<P>) {
        *lock(&self.links) = Some(links);
        for (id, peer) in &self.roster().peers {
            self.dial(*id, peer);
        }
    }

    /// Ends the connections. Returns the tasks, which still send what is queued.
    pub(crate) fn disconnect(&self) -> JoinSet<()> {
        let links = lock(&self.links).take();
        for peer in self.roster().peers.values() {
            peer.stopping.send_replace(true);
        }
        links.map(|links| links.tasks).unwrap_or_default()
    }

    fn dial(self: &Arc<Self>, id: NodeId, peer: &Arc<Peer<Msg<P>>>) {
        if let Some(links) = &mut *lock(&self.links) {
            while links.tasks.try_join_next().is_some() {}
            let (peer, inbox) = (peer.clone(), links.inbox.clone());
            let stopping = peer.stopping.subscribe();
            let dialler = Dialler { shared: self.clone(), id, peer, inbox, stopping, told: None };
            links.tasks.spawn(dialler.run());
        }
    }

    fn new_peer(&self, address: String) -> Arc<Peer<Msg<P>>> {
        let outbox = Outbox::new(self.stats.clone(), self.limits.queue, self.limits.stale_after);
        Arc::new(Peer::new(address, outbox))
    }

    fn change<R>(&self, change: impl FnOnce(&mut Roster<Msg<P>>) -> R) -> R {
        let mut shared = lock(&self.roster);
        let mut roster = (**shared).clone();
        let result = change(&mut roster);
        *shared = Arc::new(roster);
        self.changes.fetch_add(1, Ordering::Release);
        result
    }

    /// The process has another list of members.
    pub(crate) fn adopt(self: &Arc<Self>, list: Membership) {
        let come = self.change(|roster| self.apply(list, roster));
        for (id, peer) in come {
            self.dial(id, &peer);
        }
    }

    /// Changes the roster, and tells who came.
    fn apply(
        &self,
        list: Membership,
        roster: &mut Roster<Msg<P>>,
    ) -> Vec<(NodeId, Arc<Peer<Msg<P>>>)> {
        let me = self.me();
        let Membership { members, removed, is_final, has_changed } = list;
        let mut come = Vec::new();
        for (id, address) in &members {
            roster.guests.remove(id);
            if *id == me {
                if !address.is_empty() {
                    roster.address.clone_from(address);
                }
            } else if let Some(peer) = roster.peers.get(id) {
                peer.move_to(address);
            } else {
                let peer = self.new_peer(address.clone());
                roster.peers.insert(*id, peer.clone());
                come.push((*id, peer));
            }
        }
        if is_final {
            let guests = roster.guests.clone();
            let stays = |id: &NodeId| {
                members.contains_key(id) || (guests.contains(id) && !removed.contains_key(id))
            };
            roster.peers.retain(|id, peer| {
                if !stays(id) {
                    peer.let_go();
                }
                stays(id)
            });
            roster.guests.retain(stays);
            roster.removed = removed;
        }
        roster.is_configured &= !has_changed;
        roster.joins = false;
        roster.regroup(me);
        come
    }

    /// Lets in a member of the same cluster that this process does not know.
    pub(crate) fn welcome_guest(self: &Arc<Self>, id: NodeId, address: &str) -> Arc<Peer<Msg<P>>> {
        let peer = self.new_peer(address.to_owned());
        let known = self.change(|roster| {
            let known = roster.peers.get(&id).cloned();
            if known.is_none() {
                roster.peers.insert(id, peer.clone());
                roster.guests.insert(id);
                roster.regroup(self.me());
            }
            known
        });
        if let Some(known) = known {
            return known;
        }
        self.dial(id, &peer);
        tracing::info!(
            peer = id.number(),
            address,
            "a member calls that this one does not know yet"
        );
        peer
    }
}
