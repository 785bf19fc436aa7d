//! G4 Log and the follower's half of G7 Lease: hearing a leader, appending, committing.

use crate::message::{Ack, Heartbeat, Msg};
use crate::types::{
    Birth, ClusterId, Durability, Entry, Index, Output, Payload, Position, Quorum, Term,
};
use crate::{Cx, Lease, Log, Memory, Role, Whole};
use bellwether_core::{Machine, NodeId};
use std::sync::Arc;

/// What became of entries that were to be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    /// The log matches the sender's up to here.
    Matches(Index),
    /// The entry before them is missing.
    Gap,
    /// They contradict what is known to be committed (S8).
    Diverges,
}

/// Whether entries can follow this position: without holes, with terms that do not fall.
fn is_sound<C>(prev: Position, entries: &[Arc<Entry<C>>], most: Term) -> bool {
    let mut before = prev;
    entries.iter().all(|entry| {
        let Position { term, index } = entry.position;
        let follows = before.index.number().checked_add(1) == Some(index.number());
        let grows = term >= before.term && term > Term::ZERO && term <= most;
        before = entry.position;
        follows && grows
    })
}

impl<M: Machine> Log<M> {
    pub(crate) fn hear_append(
        &mut self,
        leader: NodeId,
        beat: Heartbeat,
        prev: Position,
        entries: &[Arc<Entry<M::Command>>],
        cx: &mut Cx<'_, M>,
    ) {
        if !is_sound(prev, entries, beat.term) || !self.accept(leader, &beat, cx) {
            return;
        }
        match self.append(prev, entries) {
            Appended::Matches(index) => self.match_to(index, &beat, cx),
            Appended::Gap => {}
            Appended::Diverges => self.diverge(leader, Some(&beat), cx),
        }
        self.show_roster(cx);
        self.acknowledge(leader, &beat, cx);
        if self.last() < beat.last && self.lease.is_some() {
            self.fetch_from(leader, cx);
        }
    }

    /// G1 and G7: whether the sender leads; if it does, this member is bound to it.
    pub(crate) fn accept(&mut self, leader: NodeId, beat: &Heartbeat, cx: &mut Cx<'_, M>) -> bool {
        self.seen = self.seen.max(beat.term);
        if beat.term < self.promised || beat.term == Term::ZERO {
            cx.rule("G1");
            cx.send(leader, Msg::Refuse { term: beat.term, promised: self.promised });
            return false;
        }
        if self.leader_state().is_some_and(|state| state.term == beat.term) {
            return false;
        }
        if self.has_ended(leader, beat.incarnation) {
            cx.rule("G15");
            return false;
        }
        if beat.term > self.promised {
            (self.promised, self.vote) = (beat.term, Some(leader));
        }
        self.follow(leader, beat, cx);
        self.forget_received(cx);
        self.bind(leader, beat, cx);
        self.be_welcomed(beat, cx);
        cx.emit(Output::Heartbeat { leader, term: beat.term });
        true
    }

    /// What it did itself is over; but a claim goes on beside a leader that works.
    fn follow(&mut self, leader: NodeId, beat: &Heartbeat, cx: &mut Cx<'_, M>) {
        match &self.role {
            Role::Follower => {}
            Role::Candidate(campaign) if campaign.term > beat.term && campaign.claim => {}
            Role::Candidate(_) => self.stop_campaign(cx),
            Role::Leader(..) => self.retire(self.loss_to(leader, beat.term), cx),
        }
    }

    /// G7: never to a lower generation of the same term (G8), and never for less than it was.
    fn bind(&mut self, leader: NodeId, beat: &Heartbeat, cx: &mut Cx<'_, M>) {
        cx.rule("G7");
        self.freed_by = None;
        let same = self.lease.filter(|lease| lease.leader == leader && lease.term == beat.term);
        let lease = cx.config().lease_of(beat.lease_us);
        let until = cx.now() + lease;
        let longer = same.map(|lease| lease.until).filter(|earlier| *earlier > until);
        if longer.is_none() {
            self.granted = lease;
        }
        self.lease = Some(Lease {
            leader,
            term: beat.term,
            generation: same.map_or(0, |lease| lease.generation).max(beat.generation),
            incarnation: beat.incarnation,
            until: longer.unwrap_or(until),
            appointed: beat.appointed,
            matched: same.map_or(Index::ZERO, |lease| lease.matched),
            commit: same.map_or(Index::ZERO, |lease| lease.commit).max(beat.commit),
            last: same.map_or(Position::ZERO, |lease| lease.last).max(beat.last),
        });
    }

    /// G9: the leader has answered to this very start, so its log has all that was forgotten.
    fn be_welcomed(&mut self, beat: &Heartbeat, cx: &mut Cx<'_, M>) {
        if self.lost && beat.welcome == Some(self.starts) {
            cx.rule("G9");
            self.lost = false;
            self.floor = self.floor.max(beat.last);
            self.reach_floor(cx);
        }
    }

    /// G4: appends what is missing and drops what contradicts it.
    pub(crate) fn append(
        &mut self,
        prev: Position,
        entries: &[Arc<Entry<M::Command>>],
    ) -> Appended {
        let Memory::Whole(whole) = &mut self.memory else { return Appended::Gap };
        let (base, commit) = (whole.tail.base(), whole.commit.index);
        let contradicts = |at: &Position| {
            let known = whole.tail.term_at(at.index);
            at.index <= commit && known.is_some_and(|term| term != at.term)
        };
        let named = || entries.iter().map(|entry| entry.position);
        if contradicts(&prev) || named().any(|at| contradicts(&at)) {
            return Appended::Diverges;
        }
        // What is before the base is committed; the entries may reach beyond it.
        let Some(mut matched) = std::iter::once(prev).chain(named()).find(|at| whole.tail.has(*at))
        else {
            return Appended::Gap;
        };
        let start = matched.index;
        debug_assert!(start >= base.index, "only what is kept can be found");
        let mut added = Vec::new();
        for entry in entries.iter().filter(|entry| entry.position.index > start) {
            let at = entry.position;
            if !whole.tail.has(at) {
                whole.cut_after(at.index.prev());
                if let Some(lease) = &mut self.lease {
                    lease.matched = lease.matched.min(at.index.prev());
                }
                if !whole.push(entry.clone()) {
                    break;
                }
                added.push(entry);
            }
            matched = at;
        }
        whole.written = whole.tail.last().index;
        for entry in added {
            self.rely_on(entry);
            self.know_term(entry.position.term);
        }
        Appended::Matches(matched.index)
    }

    /// G1: a log is never of a later term than was promised. A member that adopts a log from one that
    /// does not lead (G5) has no use for leaders of earlier terms.
    pub(crate) fn know_term(&mut self, term: Term) {
        if term > self.promised {
            (self.promised, self.vote) = (term, None);
            self.seen = self.seen.max(term);
        }
    }

    /// G4 and G6: the log matches the leader's up to here, and its commit index counts so far.
    pub(crate) fn match_to(&mut self, index: Index, beat: &Heartbeat, cx: &mut Cx<'_, M>) {
        let Some(lease) = &mut self.lease else { return };
        lease.matched = lease.matched.max(index);
        let committed = lease.matched.min(beat.commit);
        self.commit_to(committed, cx);
        self.reach_floor(cx);
    }

    /// G6: what the leader that it is bound to says is committed, outside of an APPEND.
    pub fn hear_commit(&mut self, from: NodeId, term: Term, commit: Index, cx: &mut Cx<'_, M>) {
        let now = cx.now();
        let is_bound =
            |lease: &&mut Lease| lease.leader == from && lease.term == term && now < lease.until;
        let Some(lease) = self.lease.as_mut().filter(is_bound) else { return };
        lease.commit = lease.commit.max(commit);
        let committed = lease.matched.min(commit);
        self.commit_to(committed, cx);
    }

    /// G7: says how far its log matches, and whether that is all that is committed.
    pub(crate) fn acknowledge(&mut self, leader: NodeId, beat: &Heartbeat, cx: &mut Cx<'_, M>) {
        let Some(Lease { matched, .. }) = self.lease else { return };
        let holds = !self.lost && self.whole().is_some() && matched >= beat.commit;
        let ack = Ack {
            term: beat.term,
            sent: beat.sent,
            clock: cx.now(),
            matched,
            holds,
            start: self.starts,
            lost: self.lost,
            birth: self.birth,
            lease_us: beat.lease_us,
        };
        cx.send(leader, Msg::Ack(ack));
    }

    /// G6: applies entries up to an index; the caller knows that they are committed.
    pub(crate) fn commit_to(&mut self, index: Index, cx: &mut Cx<'_, M>) {
        let own = self.leader_state().map(|state| state.term);
        let Memory::Whole(whole) = &mut self.memory else { return };
        let (before, members) = (whole.commit, whole.roster.members.clone());
        while whole.commit.index < index
            && let Some(entry) = whole.tail.get(whole.commit.index.next()).cloned()
        {
            let outcomes = whole.apply(&entry);
            if own == Some(entry.position.term) {
                self.outcomes.extend(outcomes);
            }
        }
        if whole.commit == before {
            return;
        }
        cx.rule("G6");
        whole.tail.forget_to::<M>(whole.commit.index, cx.config().keep_bytes);
        let base = whole.tail.base();
        self.offer = self.offer.take().filter(|offer| offer.at >= base);
        self.rely_on_state();
        self.tell_removals(members, cx);
        self.show_roster(cx);
    }

    /// S8: a leader's log contradicts what is committed here. With a disk and a majority this cannot be,
    /// and the member stops to follow. Otherwise it takes over the leader's history. A member that does
    /// not lead proves nothing.
    pub(crate) fn diverge(&mut self, other: NodeId, beat: Option<&Heartbeat>, cx: &mut Cx<'_, M>) {
        if beat.is_none() {
            return;
        }
        cx.emit(Output::Diverged { leader: other, at: self.commit().index });
        let config = cx.config();
        if config.durability == Durability::Disk && config.quorum == Quorum::Majority {
            self.lease = None;
            return;
        }
        self.fetch_snapshot(other, cx);
    }
}

impl<M: Machine> Whole<M> {
    /// The next entry is committed.
    pub(crate) fn apply(&mut self, entry: &Entry<M::Command>) -> Vec<M::Outcome> {
        self.commit = entry.position;
        match &entry.payload {
            Payload::Begin { leader, births } => {
                self.roster.births.extend(births.iter().copied());
                if entry.position.index == Index::ZERO.next() {
                    self.roster.cluster = Some(founded(*leader, births));
                }
                Vec::new()
            }
            Payload::Joined { member, birth } => {
                self.roster.births.insert(*member, *birth);
                Vec::new()
            }
            Payload::Command(command) => Arc::make_mut(&mut self.state).apply(command),
            Payload::Members(members) => {
                self.roster.members = Some(members.clone());
                Vec::new()
            }
            Payload::LeaseSettings(leases) => {
                self.roster.leases = Some(*leases);
                Vec::new()
            }
        }
    }
}

/// G11: the id of the cluster that begins with this entry. There is one committed first entry, and the
/// births in it are random numbers: so a cluster has one id, and no two clusters have the same.
fn founded(leader: NodeId, births: &[(NodeId, Birth)]) -> ClusterId {
    let births = births.iter().flat_map(|(id, birth)| [u64::from(id.number()), birth.number()]);
    ClusterId::from_numbers([u64::from(leader.number())].into_iter().chain(births))
}
