//! The mandate as a checker sees it: without what decides nothing, and with times that are told
//! from the present.
//!
//! A mandate compares times and does nothing else with them. So its clock may stand still while all
//! times that were read from it move into the past ([`Mandate::age`]), and those that are too old to
//! make a difference may all become the same. Then there are finitely many states, however long a
//! run is. Where there is no state to replicate, copies are all the same and it decides nothing how
//! new they are.

use super::office::{Bid, Role};
use super::types::{Msg, Replica, Version};
use super::voter::Lease;
use super::{Clocks, Mandate};
use crate::config::Config;
use bellwether_core::{NodeId, Time};
use std::time::Duration;

/// Whether all copies are the same, because there is only one value that they can have.
pub(super) const fn alike<S>() -> bool {
    size_of::<S>() == 0
}

impl<S: Replica> Mandate<S> {
    /// Forgets what decides nothing: who was heard when and who was told of it, who would rather
    /// wait, how new equal copies are. And what was measured of clocks, which decides nothing before
    /// their first rate is known.
    pub fn forget_what_decides_nothing(&mut self) {
        self.clocks = Clocks::default();
        self.view = None;
        if let Some(wish) = self.voter.pending.as_mut().filter(|_| alike::<S>()) {
            wish.version = Version::default();
        }
        match &mut self.role {
            Role::Idle => {}
            Role::Asking(bid) => bid.forget_what_decides_nothing(),
            Role::Installing(office, _) | Role::Leading(office) => {
                office.forget_what_decides_nothing();
            }
        }
    }

    /// What this is when the clock has gone on by so much, and is set back to `now`.
    pub fn age(&mut self, by: Duration, now: Time, config: &Config) {
        self.voter.age(by, now);
        let (office, held) = match &mut self.role {
            Role::Idle => (None, None),
            Role::Asking(Bid { held, .. }) => (None, held.as_mut()),
            Role::Installing(office, held) => (Some(office), held.as_mut()),
            Role::Leading(office) => (Some(office), None),
        };
        if let Some(office) = office {
            office.age(by, now, config);
        }
        if let Some(held) = held {
            held.until = end(held.until, by, now);
        }
    }

    /// Whether a message can make no difference any more, whenever it arrives: it comes too late, or
    /// this member will never again be in the epoch that it speaks of.
    pub fn is_spent(&self, from: NodeId, msg: &Msg<S>, now: Time, config: &Config) -> bool {
        // Whatever it asks for after this, even after a crash, is above its promise.
        let promised = self.voter.durable.promised;
        let (asks, leads) = match &self.role {
            Role::Idle => (None, None),
            Role::Asking(bid) => (Some(bid.epoch), None),
            Role::Installing(office, _) | Role::Leading(office) => (None, Some(office.epoch)),
        };
        let is_bound = |epoch| {
            let bound = |lease: Lease| lease.leader == from && lease.epoch == epoch;
            self.voter.lease.is_some_and(bound)
        };
        match *msg {
            Msg::Promise { epoch, .. } => epoch <= promised && asks != Some(epoch),
            Msg::Ack { epoch, sent, .. } => {
                // What a follower has it has, however long ago it said so (M13).
                let is_late = alike::<S>() && sent + config.reliance() <= now;
                is_late || epoch <= promised && leads != Some(epoch)
            }
            Msg::Lack { epoch, .. } => epoch <= promised && leads != Some(epoch),
            Msg::Refuse { epoch, promised: higher } => {
                let concerned = asks == Some(epoch) || leads == Some(epoch);
                epoch.max(higher) <= promised && !concerned
            }
            Msg::Release { epoch, .. } => epoch < promised && !is_bound(epoch),
            // They lead to what the member says, and that may lead to an input.
            Msg::Wait { .. } | Msg::Claim { .. } => true,
            Msg::Prepare { .. } | Msg::Spread { .. } | Msg::Append { .. } | Msg::Beat { .. } => {
                false
            }
        }
    }
}

impl<S: Replica> Msg<S> {
    /// Forgets what decides nothing.
    pub fn forget_what_decides_nothing(&mut self) {
        match self {
            Msg::Ack { clock, .. } => *clock = Time::ZERO,
            Msg::Beat { view, .. } => view.clear(),
            Msg::Prepare { version, .. } if alike::<S>() => *version = Version::default(),
            Msg::Promise { version, copy, .. } if alike::<S>() => {
                (*version, *copy) = (Version::default(), None);
            }
            _ => {}
        }
    }

    /// What this is when its sender's clock has gone on by so much, and is set back to `now`.
    pub fn age_at_sender(&mut self, by: Duration, now: Time, config: &Config) {
        if let Msg::Spread { sent, .. } | Msg::Append { sent, .. } | Msg::Beat { sent, .. } = self {
            *sent = past(*sent, by, now, config);
        }
    }

    /// What this is when its receiver's clock has gone on by so much, and is set back to `now`.
    pub fn age_at_receiver(&mut self, by: Duration, now: Time, config: &Config) {
        if let Msg::Ack { sent, .. } = self {
            *sent = past(*sent, by, now, config);
        }
    }
}

/// When something was asked for. All that gives no mandate any more is the same.
pub(super) fn past(at: Time, by: Duration, now: Time, config: &Config) -> Time {
    back(at, by).max(back(now, config.reliance()))
}

/// When something ends. All that is over is the same, and what never ends stays so.
pub(super) fn end(at: Time, by: Duration, now: Time) -> Time {
    if at == Time::MAX {
        return at;
    }
    Some(back(at, by)).filter(|at| now < *at).unwrap_or(Time::ZERO)
}

fn back(at: Time, by: Duration) -> Time {
    Time::ZERO + at.since(Time::ZERO + by)
}
