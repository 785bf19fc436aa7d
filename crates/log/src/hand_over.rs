//! G8 Hand-over: inviting, draining, yielding, and going on if nothing came of it.

use crate::message::{Msg, Permit};
use crate::types::{Config, Loss, Misfit, Output, Term, Timer};
use crate::{Cx, Log};
use bellwether_core::{Machine, NodeId, Time};

/// A hand-over under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HandOver {
    pub(crate) to: NodeId,
    appointed: bool,
    pub(crate) phase: Phase,
    /// Whether this process ends, with or without a successor.
    then_end: bool,
}

/// How far a hand-over is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    /// The successor finds out whether it could lead.
    Invited,
    /// It could: no new entries until it has all of them.
    Draining,
    /// This leader has stopped serving, and says nothing.
    Yielded,
}

/// The leader.
impl<M: Machine> Log<M> {
    /// Begins a hand-over, at its second phase if the successor has just claimed.
    pub(crate) fn hand_over(
        &mut self,
        to: NodeId,
        appointed: bool,
        then_end: bool,
        cx: &mut Cx<'_, M>,
    ) {
        let fits = self.fits(to, cx.now(), cx.config()).is_ok();
        let Some(state) = self.leader_state_mut() else { return };
        if state.hand_over.is_some() {
            return;
        }
        cx.rule("G8");
        if !fits {
            cx.emit(Output::HandOverFailed(to));
            return if then_end {
                self.yield_to_all(cx)
            };
        }
        let has_claimed = state.claimant == Some(to);
        let phase = if has_claimed { Phase::Draining } else { Phase::Invited };
        state.hand_over = Some(HandOver { to, appointed, phase, then_end });
        if !has_claimed {
            cx.send(to, Msg::Invite { term: state.term, appointed });
        }
        cx.set_timer(Timer::HandOver, self.leases(cx.config()).patience());
        self.drain(cx);
    }

    pub(crate) fn resign(&mut self, to: Option<NodeId>, cx: &mut Cx<'_, M>) {
        if self.leader_state().is_none() {
            return self.desist(cx);
        }
        // A hand-over under way may be finished; then this process ends.
        if let Some(hand_over) = self.leader_state_mut().and_then(|state| state.hand_over.as_mut())
        {
            hand_over.then_end = true;
            return;
        }
        match to {
            Some(to) => self.hand_over(to, false, true, cx),
            None => self.yield_to_all(cx),
        }
    }

    /// Whether a member can take over.
    pub fn fits(&self, successor: NodeId, now: Time, config: &Config) -> Result<(), Misfit> {
        let state = self.leader_state().ok_or(Misfit::NotLeading)?;
        let peer = state.peers.get(&successor).ok_or(Misfit::Unknown)?;
        if !self.is_voter(successor, config) {
            Err(Misfit::Learns)
        } else if peer.lost {
            Err(Misfit::Lost)
        } else if !self.counts_ack(successor, peer.birth) {
            Err(Misfit::Unknown)
        } else if peer.heard + self.leases(config).lease <= now {
            Err(Misfit::Silent)
        } else if self.drifting.contains(&successor) {
            Err(Misfit::Drifts)
        } else if peer.matched < self.commit().index {
            Err(Misfit::Behind)
        } else {
            Ok(())
        }
    }

    pub(crate) fn hear_claim(&mut self, from: NodeId, cx: &mut Cx<'_, M>) {
        let patience = self.leases(cx.config()).patience();
        let votes = self.is_voter(from, cx.config());
        let Some(state) = self.leader_state_mut().filter(|_| votes) else { return };
        match &mut state.hand_over {
            Some(hand_over) if hand_over.to == from && hand_over.phase == Phase::Invited => {
                hand_over.phase = Phase::Draining;
                cx.set_timer(Timer::HandOver, patience);
                self.drain(cx);
            }
            Some(_) => {}
            None => {
                state.claimant = Some(from);
                cx.emit(Output::Claimed(from));
            }
        }
    }

    /// Stops serving as soon as the successor has everything.
    pub(crate) fn drain(&mut self, cx: &mut Cx<'_, M>) {
        let Some(whole) = self.whole() else { return };
        let last = whole.tail.last().index;
        let is_written = whole.written == last;
        let patience = self.leases(cx.config()).patience();
        let Some(state) = self.leader_state_mut() else { return };
        let Some(hand_over) = state.hand_over.as_mut() else { return };
        let HandOver { to, appointed, phase, .. } = *hand_over;
        let has_all = state.peers.get(&to).is_some_and(|peer| peer.matched == last);
        if phase != Phase::Draining || !is_written || !has_all {
            return;
        }
        cx.rule("G8");
        hand_over.phase = Phase::Yielded;
        state.until = Time::ZERO;
        for peer in state.peers.values_mut() {
            peer.lease = None;
        }
        state.resumed = Time::MAX;
        let (term, generation) = (state.term, state.generation);
        cx.cancel_timer(Timer::Heartbeat);
        cx.cancel_timer(Timer::Lapse);
        cx.send(to, Msg::Yield { term, generation, to: Some(to), appointed });
        cx.set_timer(Timer::HandOver, patience);
        cx.emit(Output::HandingOver(to));
    }

    /// Why it leads no more when another member does.
    pub(crate) fn loss_to(&self, other: NodeId, term: Term) -> Loss {
        let hand_over = self.leader_state().and_then(|state| state.hand_over.as_ref());
        match hand_over {
            Some(HandOver { to, phase: Phase::Yielded, .. }) if *to == other => {
                Loss::HandedOver(other)
            }
            Some(_) | None => Loss::Superseded(term),
        }
    }

    /// Timer HandOver: nothing came of it.
    pub(crate) fn end_hand_over(&mut self, cx: &mut Cx<'_, M>) {
        let now = cx.now();
        let Some(state) = self.leader_state_mut() else { return };
        let Some(HandOver { to, phase, then_end, .. }) = state.hand_over.take() else { return };
        cx.rule("G8");
        cx.emit(Output::HandOverFailed(to));
        if then_end {
            return self.yield_to_all(cx);
        }
        if phase == Phase::Yielded {
            // Time has passed since it yielded, so what was sent before that is older than this.
            state.generation = state.generation.saturating_add(1);
            (state.resumed, state.progress) = (now, now);
            self.heartbeat(cx);
        }
        self.push(cx);
    }

    /// Ends for good: all who are bound to it are free at once.
    fn yield_to_all(&mut self, cx: &mut Cx<'_, M>) {
        let Some(state) = self.leader_state() else { return };
        let (term, generation) = (state.term, state.generation);
        cx.rule("G8");
        self.retire(Loss::GivenUp, cx);
        for other in self.other_members(cx) {
            cx.send(other, Msg::Yield { term, generation, to: None, appointed: false });
        }
        cx.emit(Output::Yielded { by: cx.me(), to: None, appointed: false });
    }
}

/// The successor.
impl<M: Machine> Log<M> {
    pub(crate) fn hear_invite(
        &mut self,
        from: NodeId,
        term: Term,
        appointed: bool,
        cx: &mut Cx<'_, M>,
    ) {
        let follows = self.lease.is_some_and(|lease| lease.leader == from && lease.term == term);
        if follows && self.is_complete(cx.now()) {
            cx.emit(Output::Invited { by: from, appointed });
            self.be_asked_to_campaign(true, appointed, cx);
        }
    }

    pub(crate) fn hear_yield(
        &mut self,
        permit: Permit,
        to: Option<NodeId>,
        appointed: bool,
        cx: &mut Cx<'_, M>,
    ) {
        if permit.term < self.promised {
            return;
        }
        let by = permit.leader;
        match to {
            None => {
                let bound = |lease: &crate::Lease| lease.leader == by && lease.term == permit.term;
                if self.lease.as_ref().is_some_and(bound) {
                    cx.rule("G8");
                    self.lease = None;
                    cx.emit(Output::Yielded { by, to, appointed });
                }
            }
            Some(successor) if successor == cx.me() => {
                cx.rule("G8");
                cx.emit(Output::Yielded { by, to, appointed });
                self.use_permit(permit, appointed, cx);
            }
            Some(_) => {}
        }
    }
}
