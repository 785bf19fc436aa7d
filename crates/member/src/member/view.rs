//! What the leader knows of all members, and tells them once a second: how long ago each answered, its
//! clock, and how much of the log it has.

use super::{Cx, Member, Msg, Stance};
use crate::status::ClockStatus;
use bellwether_core::{NodeId, Time};
use bellwether_log::Machine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// What a leader knows of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PeerView {
    /// Which member.
    pub member: NodeId,
    /// How long ago it answered, in milliseconds, if it ever did in this term.
    pub heard_ms: Option<u32>,
    /// Its clock, once measured.
    pub clock: Option<ClockStatus>,
    /// How many entries it lacks; unknown if it has not answered, or has forgotten its log.
    pub behind: Option<u64>,
}

/// What the leader last said, and when.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct View {
    pub(super) at: Time,
    peers: Vec<PeerView>,
}

/// What this leader last said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LastView {
    at: Option<Time>,
    alive: BTreeSet<NodeId>,
}

/// The pace at which a leader repeats what it knows.
const PACE: Duration = Duration::from_secs(1);

impl View {
    pub(super) fn of(&self, member: NodeId) -> Option<PeerView> {
        self.peers.iter().find(|peer| peer.member == member).copied()
    }
}

impl<M: Machine> Member<M> {
    /// Tells the followers what this leader knows: when a member came or went, and once a second.
    pub(super) fn tell_view(&mut self, cx: &mut Cx<'_, M>) {
        if self.log.leads().is_none() {
            return;
        }
        let (now, here, config) = (cx.now(), cx.here(), cx.config());
        let alive: BTreeSet<NodeId> =
            cx.others().filter(|id| self.is_alive(*id, here, config)).collect();
        let is_recent = self.last_view.at.is_some_and(|at| now < at + PACE);
        if is_recent && alive == self.last_view.alive {
            return;
        }
        self.last_view = LastView { at: Some(now), alive };
        let peers: Vec<PeerView> =
            here.group().ring().iter().map(|id| self.see(*id, here.me(), now)).collect();
        for other in cx.others() {
            cx.send(other, Msg::View(peers.clone()));
        }
    }

    /// What this leader knows of a member.
    pub(super) fn see(&self, member: NodeId, me: NodeId, now: Time) -> PeerView {
        let heard = self.log.heard(member).map(|at| now.since(at));
        let heard = if member == me { Some(Duration::ZERO) } else { heard };
        PeerView {
            member,
            heard_ms: heard.map(|ago| u32::try_from(ago.as_millis()).unwrap_or(u32::MAX)),
            clock: self.clocks.status(me, member),
            behind: if member == me { Some(0) } else { self.log.lacks(member) },
        }
    }

    /// P7: the leader has measured this member's clock, too.
    pub(super) fn take_view(&mut self, from: NodeId, peers: Vec<PeerView>, cx: &mut Cx<'_, M>) {
        if !matches!(self.stance, Stance::Following(leader, _) if leader == from) {
            return;
        }
        let view = View { at: cx.now(), peers };
        if let Some(clock) = view.of(cx.me()).and_then(|peer| peer.clock) {
            self.drifts = clock.drifts;
        }
        self.view = Some(view);
    }
}
