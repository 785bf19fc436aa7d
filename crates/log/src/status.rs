//! What others may know of the log.

use crate::lead::{LeaderState, Peer};
use crate::members::Roster;
use crate::tail::Tail;
use crate::types::{Birth, ClusterId, Config, Incarnation, Index, Position, Term};
use crate::{Log, Role};
use bellwether_core::{Group, Invariant, Machine, NodeId, Time};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

/// How much of the log a member has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completeness {
    /// Everything that it ever acknowledged.
    Whole,
    /// It knows that it lacks something, and receives it.
    Filling,
    /// It has forgotten what it acknowledged, and no leader has answered yet.
    Lost,
}

/// The state of a member's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The position of its log.
    pub last: Position,
    /// The commit index and its term.
    pub commit: Position,
    /// The highest term that was promised.
    pub promised: Term,
    /// How much of the log it has.
    pub completeness: Completeness,
    /// Entries that its leader has and it has not.
    pub behind: u64,
    /// Bytes of the entries that it keeps.
    pub bytes: usize,
    /// Which start of the process this is.
    pub starts: u32,
    /// What a leader knows of its followers.
    pub peers: Vec<PeerReport>,
}

/// What a leader knows of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerReport {
    /// Who.
    pub member: NodeId,
    /// How far its log matches.
    pub matched: Index,
    /// Whether it has forgotten its log.
    pub lost: bool,
    /// When it was last heard, on the leader's clock.
    pub heard: Time,
}

impl<M: Machine> Log<M> {
    /// G7: the term in which this member serves when its clock shows `now`.
    pub fn serving(&self, now: Time) -> Option<Term> {
        self.leader_state().filter(|state| now < state.until).map(|state| state.term)
    }

    pub(crate) fn office_until(&self, now: Time) -> Option<Time> {
        self.leader_state().map(|state| state.until).filter(|until| now < *until)
    }

    /// The term that this member leads, serving or not.
    pub fn leads(&self) -> Option<Term> {
        self.leader_state().map(|state| state.term)
    }

    /// Whether it asks for votes.
    pub fn campaigns(&self) -> bool {
        self.asks().is_some()
    }

    /// The term that it asks votes for, and whether it asks for the votes themselves (G2).
    pub fn asks(&self) -> Option<(Term, bool)> {
        match &self.role {
            Role::Candidate(campaign) | Role::Leader(_, Some(campaign)) if !campaign.probe => {
                Some((campaign.term, campaign.sure))
            }
            Role::Follower | Role::Candidate(_) | Role::Leader(..) => None,
        }
    }

    /// The leader that it is bound to, or itself while it serves; with the term.
    pub fn leader(&self, me: NodeId, now: Time) -> Option<(NodeId, Term)> {
        let bound = self.lease.filter(|lease| now < lease.until);
        let bound = bound.map(|lease| (lease.leader, lease.term));
        self.serving(now).map(|term| (me, term)).or(bound)
    }

    /// Whether an operator appointed the leader that it knows.
    pub fn is_appointed(&self) -> bool {
        let led = self.leader_state().map(|state| state.appointed);
        led.or(self.lease.map(|lease| lease.appointed)).unwrap_or(false)
    }

    /// The committed state and its position; none while a snapshot is being received.
    pub fn state(&self) -> Option<(Position, &M)> {
        self.whole().map(|whole| (whole.commit, &*whole.state))
    }

    /// The same, to be kept while the log goes on.
    pub fn frozen(&self) -> Option<(Position, Arc<M>)> {
        self.whole().map(|whole| (whole.commit, whole.state.clone()))
    }

    /// G10, G11: what is committed of the members.
    pub fn roster(&self) -> Option<&Roster> {
        self.whole().map(|whole| &whole.roster)
    }

    /// G11: which cluster this is, once that is committed. Only where the log outlives a restart of all
    /// members and a partition has one history.
    pub fn cluster(&self, config: &Config) -> Option<ClusterId> {
        self.roster().filter(|_| config.may_change())?.cluster
    }

    /// Which data folder this is.
    pub fn birth(&self) -> Birth {
        self.birth
    }

    /// G15: which start of its process this is.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// The highest term that was promised, and to whom.
    pub fn promise(&self) -> (Term, Option<NodeId>) {
        (self.promised, self.vote)
    }

    /// What came of committed commands of this term. Told only while serving; kept until then.
    pub fn take_outcomes(&mut self, now: Time) -> Vec<M::Outcome> {
        match self.serving(now) {
            Some(_) => std::mem::take(&mut self.outcomes),
            None => Vec::new(),
        }
    }

    /// Which start of the process this is.
    pub fn starts(&self) -> u32 {
        self.starts
    }

    /// When a leader last heard a follower.
    pub fn heard(&self, member: NodeId) -> Option<Time> {
        self.leader_state()?.peers.get(&member).map(|peer| peer.heard)
    }

    /// How many entries a follower lacks; unknown if it has not answered, has forgotten its log or is not
    /// admitted yet (G10).
    pub fn lacks(&self, member: NodeId) -> Option<u64> {
        let counts = |peer: &&Peer| !peer.lost && self.counts_ack(member, peer.birth);
        let peer = self.leader_state()?.peers.get(&member).filter(counts)?;
        Some(self.last().index.number().saturating_sub(peer.matched.number()))
    }

    /// How many members would vote for this candidate, itself included.
    pub fn supporters(&self) -> Option<usize> {
        match &self.role {
            Role::Candidate(campaign) if !campaign.probe => Some(campaign.heard()),
            Role::Follower | Role::Candidate(_) | Role::Leader(..) => None,
        }
    }

    /// How long the lease lasts that [`Log::leader`] is from.
    pub fn lease_left(&self, now: Time) -> Option<Duration> {
        let bound = self.lease.map(|lease| lease.until).filter(|until| now < *until);
        self.office_until(now).or(bound).map(|until| until.since(now))
    }

    /// Whether this member leads and a majority has more of the log than that follower: what it is
    /// sent may come a little later.
    pub fn is_spare(&self, follower: NodeId, group: &Group, config: &Config) -> bool {
        let Some(state) = self.leader_state() else { return false };
        if !self.is_voter(follower, config) {
            return true;
        }
        let needed = self.needed(group, config);
        let rank = |id: NodeId, matched: Index| (Reverse(matched), id);
        let matched = state.peers.get(&follower).map_or(Index::ZERO, |peer| peer.matched);
        let own = rank(follower, matched);
        let is_ahead = |(id, peer): &(&NodeId, &Peer)| {
            rank(**id, peer.matched) < own && self.is_voter(**id, config)
        };
        state.peers.iter().filter(is_ahead).count() + 1 >= needed
    }

    /// Whether it serves and takes commands; it does not while it hands over.
    pub fn takes_entries(&self, now: Time) -> bool {
        self.serving(now).is_some() && self.leader_state().is_some_and(LeaderState::takes_entries)
    }

    /// How many entries are not committed.
    pub fn underway(&self) -> u64 {
        self.last().index.number().saturating_sub(self.commit().index.number())
    }

    /// Whether it has everything, and holds all that its leader said is committed.
    pub fn is_complete(&self, now: Time) -> bool {
        let holds = |lease: crate::Lease| now < lease.until && lease.matched >= lease.commit;
        let has_all = self.completeness() == Completeness::Whole;
        has_all && (self.serving(now).is_some() || self.lease.is_some_and(holds))
    }

    /// G9: whether a lease has passed since its restart, so that it may vote, for itself too.
    pub fn may_vote(&self, now: Time) -> bool {
        self.no_vote_until.is_none_or(|until| until <= now)
    }

    /// How much of the log it has.
    pub fn completeness(&self) -> Completeness {
        if self.lost {
            Completeness::Lost
        } else if self.whole().is_none() || self.last() < self.floor {
            Completeness::Filling
        } else {
            Completeness::Whole
        }
    }

    /// For a store: the entries, and the index up to which they are to be on disk.
    pub fn written(&self) -> Option<(Index, &Tail<M::Command>)> {
        self.whole().map(|whole| (whole.written, &whole.tail))
    }

    /// The state of the log.
    pub fn report(&self) -> Report {
        let whole = self.whole();
        let led = self.lease.map_or(Position::ZERO, |lease| lease.last);
        let last = self.last();
        let peers = self.leader_state().into_iter().flat_map(|state| &state.peers);
        Report {
            last,
            commit: self.commit(),
            promised: self.promised,
            completeness: self.completeness(),
            behind: led.index.number().saturating_sub(last.index.number()),
            bytes: whole.map_or(0, |whole| whole.tail.bytes()),
            starts: self.starts,
            peers: peers
                .map(|(id, peer)| PeerReport {
                    member: *id,
                    matched: peer.matched,
                    lost: peer.lost,
                    heard: peer.heard,
                })
                .collect(),
        }
    }

    /// What must hold at every moment.
    pub fn invariants() -> Vec<Invariant<Self>> {
        vec![
            Invariant::<Self>::at_most_one_now(
                "one-serving",
                "at most one member serves at any moment",
                |_, log, now| log.serving(now).map(|_| 0),
            ),
            Invariant::<Self>::fenced(
                "terms",
                "each term has one serving leader, and terms only grow, over restarts too",
                |_, log, now| log.serving(now).map(|term| term.number().into()),
            ),
            Invariant::<Self>::each(
                "sound",
                "base, commit index, written index and last index are in order",
                |_, log| log.is_sound(),
            ),
        ]
    }

    fn is_sound(&self) -> bool {
        let Some(whole) = self.whole() else { return true };
        let (base, last) = (whole.tail.base().index, whole.tail.last().index);
        let matched = self.lease.map_or(Index::ZERO, |lease| lease.matched);
        base <= whole.commit.index
            && whole.commit.index <= whole.written
            && whole.written <= last
            && matched <= last
            && whole.tail.last().term <= self.promised
    }
}
