//! The voter in every member: what it has promised, and to whom it is bound for how long.

use super::relative;
use super::types::{Epoch, Replica, Version};
use crate::config::Config;
use bellwether_core::{NodeId, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What must survive a crash: how often this member started, and its last promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// How often this member has started; the first is 1.
    pub incarnation: u32,
    /// The highest epoch that it has promised.
    pub promised: Epoch,
    /// To whom.
    pub promised_to: Option<NodeId>,
    /// M8: how long somebody may rely on what it has acknowledged, in milliseconds. At least.
    pub reliance_ms: u64,
}

/// A voter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Voter<S> {
    pub(super) durable: Durable,
    pub(super) lease: Option<Lease>,
    /// After a restart, until a copy arrives: when it may vote again all the same.
    mute_until: Option<Time>,
    /// The request that waits for the voter to be free.
    pub(super) pending: Option<Wish>,
    /// The voter's copy of the coordinator's state; none after a restart.
    pub(super) copy: Option<(Version, Arc<S>)>,
}

/// Somebody's request for a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wish {
    pub(super) candidate: NodeId,
    pub(super) epoch: Epoch,
    /// How new the candidate's own copy is.
    pub(super) version: Version,
}

/// The promise not to follow anybody else for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lease {
    pub(super) leader: NodeId,
    pub(super) epoch: Epoch,
    /// When it ends, on the voter's own clock.
    pub(super) until: Time,
    pub(super) appointed: bool,
}

/// What a voter says to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Vote {
    Promise,
    /// Later. Until then it is bound to that leader, or has just restarted.
    Wait(Option<NodeId>),
    Refuse(Epoch),
}

impl<S: Replica> Voter<S> {
    /// M8: a voter that restarts knows what it promised, and no more.
    pub(super) fn start(&mut self, saved: Option<Durable>, now: Time, config: &Config) {
        match saved {
            None => {
                self.durable.incarnation = 1;
                self.copy = Some(Default::default());
            }
            Some(saved) => {
                let incarnation = saved.incarnation.saturating_add(1);
                self.durable = Durable { incarnation, ..saved };
                let relied_on = Duration::from_millis(saved.reliance_ms).max(config.amnesia);
                self.mute_until = Some(now + config.lease.saturating_add(relied_on));
            }
        }
    }

    /// M2 and M3: whether `candidate` gets the vote for `epoch`. `holds` says that this member
    /// itself has a mandate now.
    pub(super) fn consider(&mut self, me: NodeId, wish: Wish, now: Time, holds: bool) -> Vote {
        let Wish { candidate, epoch, .. } = wish;
        let Durable { promised, promised_to, .. } = self.durable;
        if epoch == promised && promised_to == Some(candidate) {
            // M8: the promise stands, but what it should carry may be forgotten.
            return if self.is_mute(now) { Vote::Wait(None) } else { Vote::Promise };
        }
        if epoch <= promised {
            return Vote::Refuse(promised);
        }
        if let Some(bound_to) = self.bound(me, candidate, now, holds) {
            // Of two for the same epoch the later one is more likely still there.
            if self.pending.is_none_or(|earlier| earlier.epoch <= epoch) {
                self.pending = Some(wish);
            }
            return Vote::Wait(bound_to);
        }
        self.mute_until = None;
        // A lease that still runs is the candidate's own. It goes on: the candidate may be a leader
        // that only moves to a higher epoch, and relies on it meanwhile.
        self.lease = self.lease.filter(|lease| now < lease.until);
        self.pending = self.pending.filter(|later| later.epoch > epoch);
        self.durable.promised = epoch;
        self.durable.promised_to = Some(candidate);
        self.copy.get_or_insert_with(Default::default);
        Vote::Promise
    }

    /// What keeps the voter from voting for this candidate, if anything does.
    fn bound(
        &self,
        me: NodeId,
        candidate: NodeId,
        now: Time,
        holds: bool,
    ) -> Option<Option<NodeId>> {
        if holds && candidate != me {
            return Some(Some(me));
        }
        if self.is_mute(now) {
            return Some(None);
        }
        let lease = self.lease.filter(|lease| now < lease.until && lease.leader != candidate)?;
        Some(Some(lease.leader))
    }

    /// Whether it has restarted and may not vote yet.
    pub(super) fn is_mute(&self, now: Time) -> bool {
        self.mute_until.is_some_and(|until| now < until)
    }

    /// Which start this is, if it has lost its copy by it and others may rely on what was in that.
    pub(super) fn lost_its_copy(&self, now: Time) -> Option<u32> {
        self.is_mute(now).then_some(self.durable.incarnation)
    }

    /// When it will be free to vote for anybody, if its own mandate does not bind it.
    pub(super) fn free_at(&self) -> Option<Time> {
        let lease = self.lease.map(|lease| lease.until);
        lease.max(self.mute_until)
    }

    /// M5: whether somebody may lead in this epoch as far as this voter is concerned. If it has
    /// promised the same epoch to another, that was in vain: only one can have a majority.
    pub(super) fn accepts(&self, epoch: Epoch) -> bool {
        epoch >= self.durable.promised
    }

    /// M5: stays with this leader for another lease.
    pub(super) fn bind(&mut self, lease: Lease) {
        self.durable.promised = lease.epoch;
        self.durable.promised_to = Some(lease.leader);
        // Who still wants the vote asks again; who asked before this sign of life may not.
        self.pending = None;
        self.lease = Some(lease);
    }

    /// See [`Mandate::age`](super::Mandate::age).
    pub(super) fn age(&mut self, by: Duration, now: Time) {
        if let Some(lease) = &mut self.lease {
            lease.until = relative::end(lease.until, by, now);
        }
        let mute_until = self.mute_until.map(|until| relative::end(until, by, now));
        self.mute_until = mute_until.filter(|until| now < *until);
    }

    /// Whether it has the state with which this epoch began, or a later one of it.
    pub(super) fn has_copy_of(&self, epoch: Epoch) -> bool {
        self.copy.as_ref().is_some_and(|(version, _)| version.epoch == epoch)
    }

    /// A copy has arrived from a leader with a mandate: the voter knows what matters again.
    pub(super) fn adopt(&mut self, version: Version, copy: Arc<S>) {
        if self.copy.as_ref().is_none_or(|(known, _)| *known <= version) {
            // What an earlier epoch needed may be over. Within an epoch it only grows, so that
            // coming and going sessions do not cost a write each.
            if !self.has_copy_of(version.epoch) {
                self.durable.reliance_ms = 0;
            }
            self.copy = Some((version, copy));
            self.rely();
        }
        self.mute_until = None;
    }

    /// How many changes of this epoch it has; nothing if it has not even what they began with.
    pub(super) fn held(&self, epoch: Epoch) -> Option<u64> {
        let (version, _) = self.copy.as_ref()?;
        (version.epoch == epoch).then_some(version.sequence)
    }

    /// Makes a change of the copy, which must be of this epoch.
    pub(super) fn apply(&mut self, command: S::Command) -> Vec<S::Outcome> {
        let Some((version, copy)) = &mut self.copy else { return Vec::new() };
        version.sequence += 1;
        let outcomes = Arc::make_mut(copy).apply(command);
        self.rely();
        outcomes
    }

    /// M8: what would have to be waited for if the copy were lost. In powers of two, because each
    /// change of it is written to disk.
    fn rely(&mut self) {
        let Some((_, copy)) = &self.copy else { return };
        let millis = u64::try_from(copy.reliance().as_millis()).unwrap_or(u64::MAX);
        if millis > self.durable.reliance_ms {
            self.durable.reliance_ms = millis.checked_next_power_of_two().unwrap_or(u64::MAX);
        }
    }

    /// M7: the leader gives the voter free, for the good of that member if it names one: nobody
    /// else's request is kept then. Whether it was bound to that leader.
    pub(super) fn unbind(&mut self, leader: NodeId, epoch: Epoch, to: Option<NodeId>) -> bool {
        let bound = |lease: &Lease| lease.leader == leader && lease.epoch == epoch;
        let unbound = self.lease.take_if(|lease| bound(lease)).is_some();
        if unbound && to.is_some() {
            self.pending = self.pending.filter(|wish| Some(wish.candidate) == to);
        }
        unbound
    }
}
