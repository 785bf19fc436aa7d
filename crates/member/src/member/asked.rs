//! What a member would say if asked now.

use super::{Member, Stance};
use crate::config::Config;
use crate::event::Decline;
use crate::mandate::{Epoch, Replica, Version};
use crate::status::{Health, MemberStatus, Stance as PublicStance, Status};
use bellwether_core::{Here, NodeId, Time};
use std::time::Duration;

impl<S: Replica> Member<S> {
    /// The epoch of the mandate that it holds.
    pub fn holds(&self, now: Time) -> Option<Epoch> {
        self.mandate.holds(now)
    }

    /// Its copy of the replicated state, and how new it is; none after a restart until one comes.
    pub fn copy(&self) -> Option<(Version, &S)> {
        self.mandate.copy()
    }

    /// How many changes a majority may not have yet, if this member leads.
    pub fn underway(&self, here: &Here<'_>, config: &Config) -> u64 {
        self.mandate.underway(config.needed(here.group()))
    }

    /// Whether this member leads and a majority comes about without that follower: what it is sent
    /// may come a little later.
    pub fn is_spare(&self, follower: NodeId, here: &Here<'_>, config: &Config) -> bool {
        self.mandate.is_spare(follower, config.needed(here.group()))
    }

    /// P8: the strongest other member that has answered lately and may lead.
    pub(super) fn successor(&self, here: &Here<'_>, config: &Config) -> Option<NodeId> {
        config.ranks.strongest_first().find(|id| self.could_lead(*id, here, config).is_ok())
    }

    fn could_lead(&self, id: NodeId, here: &Here<'_>, config: &Config) -> Result<(), Decline> {
        if here.group().place(id).is_none() {
            Err(Decline::Unknown(id))
        } else if id == here.me() {
            Err(Decline::Already(id))
        } else if !config.may_lead(id) {
            Err(Decline::Witness(id))
        } else if self.mandate.clock(here.me(), id).is_some_and(|clock| clock.drifts) {
            Err(Decline::Drifts(id))
        } else if !self.mandate.is_alive(id, here, config) {
            Err(Decline::Silent(id))
        } else {
            Ok(())
        }
    }

    /// Whether it could step down now, and for whom.
    pub fn may_step_down(&self, here: &Here<'_>, config: &Config) -> Result<NodeId, Decline> {
        self.must_lead(here)?;
        self.successor(here, config).ok_or(Decline::NobodyElse)
    }

    /// Whether it could hand over to this member now.
    pub fn may_transfer(
        &self,
        to: NodeId,
        here: &Here<'_>,
        config: &Config,
    ) -> Result<(), Decline> {
        self.must_lead(here)?;
        self.could_lead(to, here, config)
    }

    fn must_lead(&self, here: &Here<'_>) -> Result<(), Decline> {
        match self.holds(here.now()) {
            Some(_) => Ok(()),
            None => Err(Decline::NotCoordinator(self.named(here).filter(|id| *id != here.me()))),
        }
    }

    /// Whom this member takes for the coordinator, with or without a mandate.
    fn named(&self, here: &Here<'_>) -> Option<NodeId> {
        match self.stance {
            Stance::Listening | Stance::Electing => None,
            Stance::Awaiting(member) | Stance::Following(member, _) => Some(member),
            Stance::Coordinating => Some(here.me()),
        }
    }

    /// The leader with a mandate that it follows.
    pub(crate) fn leader(&self) -> Option<NodeId> {
        match self.stance {
            Stance::Following(leader, _) => Some(leader),
            _ => None,
        }
    }

    /// The epoch in which it leads, if it does.
    pub(crate) fn leading(&self) -> Option<Epoch> {
        self.mandate.leading()
    }

    /// Its own number.
    pub(crate) fn number(&self) -> Option<NodeId> {
        self.me
    }

    /// Its rank, if it may lead now.
    pub(crate) fn rank(&self) -> Option<NodeId> {
        self.rank.filter(|_| !self.abstains())
    }

    /// Whether its leader, or itself, was appointed.
    pub(crate) fn is_appointed(&self) -> bool {
        self.mandate.is_appointed()
    }

    /// Everything at once.
    pub fn status(&self, here: &Here<'_>, config: &Config) -> Status {
        let holds = self.holds(here.now()).is_some();
        Status {
            stance: match self.stance {
                _ if holds => PublicStance::Leading,
                Stance::Listening => PublicStance::Listening,
                Stance::Electing | Stance::Awaiting(_) => PublicStance::Electing,
                Stance::Coordinating => PublicStance::Campaigning,
                Stance::Following(..) => PublicStance::Following,
            },
            mandate: self.mandate.status(here),
            coordinator: self.named(here),
            incarnation: self.mandate.promises().incarnation,
            reachable: self.mandate.reachable(here, config),
            needed: config.needed(here.group()),
            eligible: !self.abstains(),
            members: here.group().ring().iter().map(|id| self.sight(*id, here, config)).collect(),
        }
    }

    fn sight(&self, id: NodeId, here: &Here<'_>, config: &Config) -> MemberStatus {
        let now = here.now();
        let since = |at: Time| now.since(at);
        let told = || {
            let (at, sight) = self.mandate.sight(id)?;
            let ago = Duration::from_millis(u64::from(sight.heard_ms?));
            Some(now.since(at) + ago)
        };
        let leader = self.leader();
        let heard = if id == here.me() {
            Some(Duration::ZERO)
        } else if leader == Some(id) {
            self.detector.heard().map(since)
        } else if self.mandate.is_idle() {
            leader.and_then(|_| told())
        } else {
            self.mandate.heard(id).map(since).or_else(|| leader.and_then(|_| told()))
        };
        // What the leader says is some heartbeats old when it arrives, and a second when it is
        // said again.
        let slack = if self.leading().is_some() { Duration::ZERO } else { Duration::from_secs(2) };
        let knows = self.leading().is_some() || leader.is_some();
        let health = match heard {
            Some(ago) if ago <= config.suspect_after.1 + slack => Health::Alive,
            Some(_) => Health::Silent,
            None if knows => Health::Silent,
            None => Health::Unknown,
        };
        MemberStatus { id, health, heard, clock: self.mandate.clock(here.me(), id) }
    }
}
