//! G6 Commit and the leader's half of G7 Lease: appending, counting, serving.

use crate::campaign::Campaign;
use crate::hand_over::{HandOver, Phase};
use crate::message::{Ack, Entries, Heartbeat, Msg};
use crate::types::{
    Birth, Config, Durability, Entry, Index, LeaseSettings, Loss, Output, Payload, Position, Term,
    Timer,
};
use crate::{Cx, Log, Memory, Role};
use bellwether_core::{Machine, NodeId, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What a leader knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeaderState {
    pub(crate) term: Term,
    pub(crate) appointed: bool,
    /// G8: how often it has come back to serving.
    pub(crate) generation: u32,
    /// G8: since when; only leases from what was sent after that count.
    pub(crate) resumed: Time,
    /// Where its `Begin` is.
    pub(crate) begin: Index,
    /// G10: the births in its `Begin`.
    pub(crate) births: BTreeMap<NodeId, Birth>,
    /// G7: until when a majority's leases last, on its own clock; and how long the shortest of these is.
    pub(crate) until: Time,
    shortest: Duration,
    /// Whether it has served in this term.
    pub(crate) served: bool,
    pub(crate) peers: BTreeMap<NodeId, Peer>,
    /// G7: when something last advanced.
    pub(crate) progress: Time,
    /// When the next heartbeat is due.
    pub(crate) next_heartbeat: Time,
    /// G8: the member that has claimed since the last heartbeat.
    pub(crate) claimant: Option<NodeId>,
    pub(crate) hand_over: Option<HandOver>,
}

/// What a leader knows of a follower that has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    /// G7: of the leases that it has granted, the one that lasts longest.
    pub(crate) lease: Option<Granted>,
    /// When it sent the newest message that was answered at all.
    answered: Time,
    pub(crate) heard: Time,
    pub(crate) matched: Index,
    /// The next entry to push; none if the follower does not keep up, and fetches.
    next: Option<Index>,
    /// When entries were last sent, and how many bytes are not acknowledged.
    pushed: Time,
    unacked: usize,
    start: u32,
    pub(crate) lost: bool,
    pub(crate) birth: Birth,
}

/// G7: a lease that a follower has granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Granted {
    /// When this leader sent what was answered by it.
    sent: Time,
    lease: Duration,
}

impl Granted {
    /// Until when the leader may rely on it.
    fn until(&self, leases: LeaseSettings) -> Time {
        self.sent + leases.relied_on(self.lease)
    }
}

impl LeaderState {
    fn is_silent(&self) -> bool {
        self.hand_over.as_ref().is_some_and(|hand_over| hand_over.phase == Phase::Yielded)
    }

    pub(crate) fn takes_entries(&self) -> bool {
        self.hand_over.as_ref().is_none_or(|hand_over| hand_over.phase == Phase::Invited)
    }
}

/// Becoming and ceasing to be the leader.
impl<M: Machine> Log<M> {
    /// G3: a majority has voted.
    pub(crate) fn lead(&mut self, cx: &mut Cx<'_, M>) {
        let Role::Candidate(campaign) = std::mem::take(&mut self.role) else { return };
        cx.rule("G3");
        let LeaseSettings { heartbeat, lease, .. } = self.leases(cx.config());
        for timer in [Timer::Ask, Timer::Wait, Timer::Fetch] {
            cx.cancel_timer(timer);
        }
        (self.fetch, self.lease) = (None, None);
        // G9: it was voted for as it is, after a wait if need be. What it has forgotten is over.
        self.forget_floor();
        let Campaign { term, appointed, .. } = campaign;
        let births: BTreeMap<NodeId, Birth> = campaign.births().collect();
        let begin =
            Payload::Begin { leader: cx.me(), births: births.clone().into_iter().collect() };
        let Some(begin) = self.enter(term, begin) else { return };
        self.outcomes.clear();
        self.role = Role::Leader(
            Box::new(LeaderState {
                term,
                appointed,
                generation: 0,
                resumed: cx.now(),
                begin: begin.index,
                births,
                until: Time::ZERO,
                shortest: lease,
                served: false,
                peers: BTreeMap::new(),
                progress: cx.now(),
                next_heartbeat: cx.now() + heartbeat,
                claimant: None,
                hand_over: None,
            }),
            None,
        );
        cx.emit(Output::Leads(term));
        self.send_to_strangers(cx);
        cx.set_timer(Timer::Heartbeat, heartbeat);
        self.write_soon(cx);
    }

    fn forget_floor(&mut self) {
        if self.whole().is_none() {
            self.memory = Memory::default();
        }
        (self.floor, self.lost) = (Position::ZERO, false);
    }

    /// The term's first entry, to those who have not answered in this term.
    fn send_to_strangers(&mut self, cx: &mut Cx<'_, M>) {
        let (Some(whole), Some(state)) = (self.whole(), self.leader_state()) else { return };
        let prev = whole.tail.position_at(state.begin.prev()).unwrap_or_default();
        let entries: Entries<M> = whole.tail.after::<M>(prev.index, cx.config().push_bytes).into();
        for other in self.other_members(cx) {
            if let Some(beat) = self.beat_for(other, cx.now(), cx.config()) {
                cx.send(other, Msg::Append { beat, prev, entries: entries.clone() });
            }
        }
    }

    /// Leads no more.
    pub(crate) fn retire(&mut self, loss: Loss, cx: &mut Cx<'_, M>) {
        for timer in
            [Timer::Ask, Timer::Wait, Timer::Heartbeat, Timer::Lapse, Timer::Write, Timer::HandOver]
        {
            cx.cancel_timer(timer);
        }
        if let Some(whole) = self.whole_mut() {
            whole.written = whole.tail.last().index;
        }
        if let Role::Leader(state, _) = std::mem::take(&mut self.role) {
            self.outcomes.clear();
            cx.emit(Output::StoppedServing(state.term, loss));
        }
    }

    /// Appends an entry to the own log.
    pub(crate) fn enter(&mut self, term: Term, payload: Payload<M::Command>) -> Option<Position> {
        let whole = self.whole_mut()?;
        let position = Position { term, index: whole.tail.last().index.next() };
        let entry = Arc::new(Entry { position, payload });
        if !whole.push(entry.clone()) {
            return None;
        }
        self.rely_on(&entry);
        Some(position)
    }
}

/// Entries.
impl<M: Machine> Log<M> {
    /// Proposes commands. False if it is not serving or hands over: then nothing happened.
    pub fn propose(&mut self, commands: Vec<M::Command>, cx: &mut Cx<'_, M>) -> bool {
        let now = cx.now();
        let is_idle = self.commit() == self.last();
        let Some(term) = self.serving(now) else { return false };
        let Some(state) = self.leader_state_mut().filter(|state| state.takes_entries()) else {
            return false;
        };
        if is_idle {
            state.progress = now;
        }
        for command in commands {
            if self.enter(term, Payload::Command(command)).is_none() {
                return false;
            }
        }
        self.push(cx);
        self.write_soon(cx);
        true
    }

    /// G6: on a disk entries are written beside being sent, all that have come meanwhile at once.
    pub(crate) fn write_soon(&mut self, cx: &mut Cx<'_, M>) {
        match cx.config().durability {
            Durability::Memory => self.write(cx),
            Durability::Disk => cx.set_timer(Timer::Write, std::time::Duration::ZERO),
        }
    }

    pub(crate) fn write(&mut self, cx: &mut Cx<'_, M>) {
        if let Some(whole) = self.whole_mut() {
            whole.written = whole.tail.last().index;
        }
        self.advance(cx);
        self.renew(cx);
        self.drain(cx);
    }

    /// Sends new entries to the followers that keep up.
    pub(crate) fn push(&mut self, cx: &mut Cx<'_, M>) {
        let (now, most) = (cx.now(), cx.config().push_bytes);
        let Some(state) = self.leader_state().filter(|state| !state.is_silent()) else { return };
        let last = self.last().index;
        let keeps_up = |(id, peer): (&NodeId, &Peer)| {
            let next = peer.next.filter(|next| peer.unacked < most && *next <= last)?;
            Some((*id, next, most - peer.unacked))
        };
        let due: Vec<_> = state.peers.iter().filter_map(keeps_up).collect();
        let mut shared: Option<(Index, usize, Entries<M>)> = None;
        for (id, next, budget) in due {
            let Some(whole) = self.whole() else { return };
            let Some(prev) = whole.tail.position_at(next.prev()) else { continue };
            let known = shared.take().filter(|(after, room, _)| (*after, *room) == (next, budget));
            let entries: Entries<M> = match known {
                Some((.., entries)) => entries,
                None => whole.tail.after::<M>(prev.index, budget).into(),
            };
            shared = Some((next, budget, entries.clone()));
            let Some(last) = entries.last().map(|entry| entry.position.index) else { continue };
            let bytes: usize = entries.iter().map(|entry| entry.weight::<M>()).sum();
            if let Some(peer) = self.peer_mut(id) {
                peer.next = Some(last.next());
                peer.unacked = peer.unacked.saturating_add(bytes);
                peer.pushed = now;
            }
            if let Some(beat) = self.beat_for(id, cx.now(), cx.config()) {
                cx.send(id, Msg::Append { beat, prev, entries });
            }
        }
    }

    fn peer_mut(&mut self, id: NodeId) -> Option<&mut Peer> {
        self.leader_state_mut()?.peers.get_mut(&id)
    }

    /// G5: a follower that fetched was sent everything: it will keep up from here.
    pub(crate) fn note_supplied(&mut self, to: NodeId, reached: Position, now: Time) {
        if reached == self.last()
            && let Some(peer) = self.peer_mut(to)
        {
            (peer.next, peer.unacked, peer.pushed) = (Some(reached.index.next()), 0, now);
        }
    }

    /// What a leader says in every message; none if it does not lead, or has stopped serving for another.
    pub(crate) fn beat_for(&self, to: NodeId, now: Time, config: &Config) -> Option<Heartbeat> {
        let (whole, state) = (self.whole()?, self.leader_state()?);
        if state.is_silent() {
            return None;
        }
        let lost = state.peers.get(&to).filter(|peer| peer.lost);
        Some(Heartbeat {
            term: state.term,
            generation: state.generation,
            sent: now,
            commit: whole.commit.index,
            last: whole.tail.last(),
            appointed: state.appointed,
            welcome: lost.map(|peer| peer.start),
            incarnation: self.incarnation,
            lease_us: self.leases(config).lease_us(),
        })
    }

    /// G6: commits what a majority has, if that reaches an entry of this term.
    pub(crate) fn advance(&mut self, cx: &mut Cx<'_, M>) {
        let needed = self.needed(cx.group(), cx.config());
        // Committing may admit a member (G10), whose ACKs then count.
        while let Some(index) = self.majority_has(needed, cx.config()) {
            if let Some(state) = self.leader_state_mut() {
                state.progress = cx.now();
            }
            self.commit_to(index, cx);
            self.tell_commit_soon(cx);
        }
    }

    /// G6: followers apply what is committed when a message says so. If no entries follow, that is a
    /// heartbeat, which then comes a little earlier.
    pub(crate) fn tell_commit_soon(&mut self, cx: &mut Cx<'_, M>) {
        let soon = self.leases(cx.config()).heartbeat / 20;
        let (now, is_silent) = (cx.now(), self.leader_state().is_none_or(LeaderState::is_silent));
        if let Some(state) = self.leader_state_mut()
            && now + soon < state.next_heartbeat
            && !is_silent
        {
            state.next_heartbeat = now + soon;
            cx.set_timer(Timer::Heartbeat, soon);
        }
    }

    /// How far a majority's logs reach, if that is a step forward.
    fn majority_has(&self, needed: usize, config: &Config) -> Option<Index> {
        let (whole, state) = (self.whole()?, self.leader_state()?);
        if whole.written <= whole.commit.index {
            return None;
        }
        let counts = |(id, peer): &(&NodeId, &Peer)| {
            !peer.lost && self.counts_ack(**id, peer.birth) && self.is_voter(**id, config)
        };
        let mut others: Vec<Index> =
            state.peers.iter().filter(counts).map(|(_, peer)| peer.matched).collect();
        others.sort_unstable_by(|a, b| b.cmp(a));
        let reached = match needed.checked_sub(2) {
            None => whole.written,
            Some(least) => others.get(least)?.min(&whole.written).to_owned(),
        };
        let is_own = whole.tail.term_at(reached) == Some(state.term);
        (is_own && reached > whole.commit.index).then_some(reached)
    }
}

/// Commit and lease.
impl<M: Machine> Log<M> {
    pub(crate) fn heartbeat(&mut self, cx: &mut Cx<'_, M>) {
        let now = cx.now();
        let last = self.last();
        let is_waiting = self.commit() < last;
        let leases = self.leases(cx.config());
        let stall = cx.config().stall.unwrap_or(leases.lease.saturating_mul(2));
        let Some(state) = self.leader_state_mut() else { return };
        // G7: a leader that can do nothing keeps others from leading.
        let is_idle = !is_waiting && now < state.until;
        if !is_idle && state.progress + stall <= now {
            cx.rule("G7");
            return self.retire(Loss::Stalled, cx);
        }
        if is_idle {
            state.progress = now;
        }
        state.claimant = None;
        for other in self.other_members(cx) {
            if let Some(beat) = self.beat_for(other, cx.now(), cx.config()) {
                cx.send(other, Msg::Append { beat, prev: last, entries: Arc::new([]) });
            }
        }
        self.offer = self.offer.take().filter(|offer| now < offer.wanted + stall);
        if let Some(state) = self.leader_state_mut() {
            // G16: a lease that it counts may be from before a change.
            let pause = leases.heartbeat.min(state.shortest / 5);
            state.next_heartbeat = now + pause;
            cx.set_timer(Timer::Heartbeat, pause);
        }
        // Where its own vote is enough, no answer renews the lease.
        self.renew(cx);
        self.tend_members(cx);
    }

    pub(crate) fn count_ack(&mut self, from: NodeId, ack: Ack, cx: &mut Cx<'_, M>) {
        let now = cx.now();
        let last = self.last();
        if !self.knows(from, cx.config()) {
            return self.tell_removed(from, cx);
        }
        let Some(state) = self.leader_state_mut() else { return };
        // What was sent in the future was not sent by this process.
        if state.term != ack.term || ack.sent > now {
            return;
        }
        cx.emit(Output::Reading { member: from, sent: ack.sent, clock: ack.clock });
        let resumed = state.resumed;
        let lease = cx.config().lease_of(ack.lease_us);
        let peer = state.peers.entry(from).or_insert(Peer::new(&ack));
        // G9, G10: an earlier start, or another folder's late answer.
        if peer.birth == ack.birth && ack.start < peer.start
            || peer.birth != ack.birth && ack.sent <= peer.answered
        {
            return;
        }
        if (peer.birth, peer.start) != (ack.birth, ack.start) {
            *peer = Peer::new(&ack);
        }
        peer.hear(&ack, lease, resumed, last.index, now);
        self.admit(from, ack.birth, cx);
        self.advance(cx);
        self.renew(cx);
        self.push(cx);
        self.drain(cx);
        self.tend_members(cx);
    }

    /// G10: enters a data folder that the log does not know.
    fn admit(&mut self, member: NodeId, birth: Birth, cx: &mut Cx<'_, M>) {
        let is_idle = self.commit() == self.last();
        if self.latest(member) == Some(birth) {
            return;
        }
        let Some(state) = self.leader_state_mut().filter(|state| state.takes_entries()) else {
            return;
        };
        let term = state.term;
        if is_idle {
            state.progress = cx.now();
        }
        cx.rule("G10");
        if self.enter(term, Payload::Joined { member, birth }).is_some() {
            cx.emit(Output::Joined(member));
            self.push(cx);
            self.write_soon(cx);
        }
    }

    /// G7: how long it serves with the leases that count.
    pub(crate) fn renew(&mut self, cx: &mut Cx<'_, M>) {
        let (needed, now) = (self.needed(cx.group(), cx.config()), cx.now());
        let begun = self.commit().index;
        let leases = self.leases(cx.config());
        let granted = self.slowest_lease(needed, now, cx.config());
        let Some(state) = self.leader_state_mut().filter(|state| !state.is_silent()) else {
            return;
        };
        let until = granted.map_or(Time::ZERO, |granted| granted.until(leases));
        state.until = if begun < state.begin { Time::ZERO } else { until };
        state.shortest = granted.map_or(leases.lease, |granted| granted.lease);
        let (term, until, served) = (state.term, state.until, state.served);
        if now >= until {
            return;
        }
        state.served = true;
        cx.set_timer(Timer::Lapse, until.since(now));
        if !served {
            cx.rule("G7");
            cx.emit(Output::Serving(term));
        }
    }

    /// Of the leases of its fastest majority the one that ends first.
    fn slowest_lease(&self, needed: usize, now: Time, config: &Config) -> Option<Granted> {
        let state = self.leader_state()?;
        let counts = |id: NodeId, peer: &Peer| {
            let is_steady = !peer.lost && !self.drifting.contains(&id);
            is_steady && self.counts_ack(id, peer.birth) && self.is_voter(id, config)
        };
        let leases = state.peers.iter().filter(|(id, peer)| counts(**id, peer));
        let mut leases: Vec<Granted> = leases.filter_map(|(_, peer)| peer.lease).collect();
        let settings = self.leases(config);
        leases.sort_unstable_by_key(|granted| Reverse(granted.until(settings)));
        match needed.checked_sub(2) {
            None => Some(Granted { sent: now, lease: settings.lease }),
            Some(slowest) => leases.get(slowest).copied(),
        }
    }

    /// Timer Lapse: the lease has run out, or was renewed meanwhile.
    pub(crate) fn lapse(&mut self, cx: &mut Cx<'_, M>) {
        let now = cx.now();
        let Some(state) = self.leader_state().filter(|state| !state.is_silent()) else { return };
        if now < state.until {
            return cx.set_timer(Timer::Lapse, state.until.since(now));
        }
        if state.served {
            cx.rule("G7");
            self.retire(Loss::Lapsed, cx);
        }
    }
}

impl Peer {
    /// Whether it has answered something that was sent at this time or later.
    pub(crate) fn has_answered(&self, since: Time) -> bool {
        self.answered >= since
    }

    /// Whether it receives entries as they come.
    pub(crate) fn is_pushed_to(&self) -> bool {
        self.next.is_some()
    }

    fn new(ack: &Ack) -> Self {
        Peer {
            lease: None,
            answered: ack.sent,
            heard: Time::ZERO,
            matched: Index::ZERO,
            next: None,
            pushed: Time::ZERO,
            unacked: 0,
            start: ack.start,
            lost: ack.lost,
            birth: ack.birth,
        }
    }

    /// Takes in an ACK of this start and this folder.
    fn hear(&mut self, ack: &Ack, lease: Duration, resumed: Time, last: Index, now: Time) {
        self.answered = self.answered.max(ack.sent);
        self.heard = now;
        self.lost = ack.lost;
        // What a start has it keeps: within a term its log only grows.
        self.matched = self.matched.max(ack.matched.min(last));
        if ack.holds && !ack.lost && ack.sent >= resumed {
            let granted = Granted { sent: ack.sent, lease };
            let lasts_longer = |known: &Granted| known.sent + known.lease > ack.sent + lease;
            self.lease = self.lease.filter(lasts_longer).or(Some(granted));
        }
        if self.matched == last {
            (self.next, self.unacked) = (Some(last.next()), 0);
        } else if self.next.is_some_and(|next| self.matched.next() >= next) {
            self.unacked = 0;
        } else if ack.sent > self.pushed {
            // It had everything that was sent before, or something was lost: it fetches.
            self.next = None;
        }
    }
}
