//! What a member would say if asked now.

use super::{Member, Stance};
use crate::config::Config;
use crate::event::Decline;
use crate::status::{
    Health, LogStatus, MandateStatus, MemberStatus, Stance as PublicStance, Status,
};
use bellwether_core::{Here, NodeId, Time};
use bellwether_log::{Log, Machine, Misfit, Position, Term};
use std::time::Duration;

impl<M: Machine> Member<M> {
    /// The term in which it serves.
    pub fn serving(&self, now: Time) -> Option<Term> {
        self.log.serving(now)
    }

    /// Its log.
    pub fn log(&self) -> &Log<M> {
        &self.log
    }

    /// The committed state and its position; none while a snapshot is being received.
    pub fn state(&self) -> Option<(Position, &M)> {
        self.log.state()
    }

    /// Whether this member leads and a majority comes about without that follower: what it is sent
    /// may come a little later.
    pub fn is_spare(&self, follower: NodeId, here: &Here<'_>, config: &Config) -> bool {
        self.log.is_spare(follower, here.group(), &config.log)
    }

    /// Whether a leader has heard this follower lately.
    pub(super) fn is_alive(&self, member: NodeId, here: &Here<'_>, config: &Config) -> bool {
        let heard = self.log.heard(member);
        heard.is_some_and(|at| here.now().since(at) <= config.suspect_after.1)
    }

    /// A member's clock, as this leader measured it or as the leader said.
    fn clock(&self, me: NodeId, member: NodeId) -> Option<crate::ClockStatus> {
        match self.log.leads() {
            Some(_) => self.clocks.status(me, member),
            None => self.view.as_ref()?.of(member)?.clock,
        }
    }

    /// P8: the strongest other member that has answered lately and may lead.
    pub(super) fn successor(&self, here: &Here<'_>, config: &Config) -> Option<NodeId> {
        let fits = |id: &NodeId| self.could_lead(*id, here, config).is_ok();
        self.ranks(config).strongest_first().find(fits)
    }

    pub(super) fn could_lead(
        &self,
        id: NodeId,
        here: &Here<'_>,
        config: &Config,
    ) -> Result<(), Decline> {
        if here.group().place(id).is_none() {
            Err(Decline::Unknown(id))
        } else if id == here.me() {
            Err(Decline::Already(id))
        } else if !config.may_lead(id) {
            Err(Decline::Witness(id))
        } else if !self.is_alive(id, here, config) {
            Err(Decline::Silent(id))
        } else {
            self.log.fits(id, here.now(), &config.log).map_err(|misfit| match misfit {
                Misfit::Drifts => Decline::Drifts(id),
                Misfit::Silent | Misfit::NotLeading => Decline::Silent(id),
                Misfit::Lost | Misfit::Behind | Misfit::Unknown => Decline::Behind(id),
                Misfit::Learns => Decline::Learner(id),
            })
        }
    }

    /// Whether it could step down now, and in favour of which member.
    pub fn may_step_down(&self, here: &Here<'_>, config: &Config) -> Result<NodeId, Decline> {
        self.must_lead(here)?;
        self.successor(here, config).ok_or(Decline::NoSuccessor)
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
        match self.serving(here.now()) {
            Some(_) => Ok(()),
            None => Err(Decline::NotCoordinator(self.named(here).filter(|id| *id != here.me()))),
        }
    }

    /// The member that this member takes for the coordinator, with or without a mandate.
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

    /// Whether it leads, serving or not.
    pub(crate) fn leads(&self) -> bool {
        self.log.leads().is_some()
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
        self.log.is_appointed()
    }

    /// Everything at once.
    pub fn status(&self, here: &Here<'_>, config: &Config) -> Status {
        let (me, now) = (here.me(), here.now());
        let lease_left = self.log.lease_left(now).unwrap_or_default();
        let appointed = self.log.is_appointed();
        let mandate = |(leader, term)| MandateStatus { leader, term, lease_left, appointed };
        Status {
            stance: match self.stance {
                _ if self.serving(now).is_some() => PublicStance::Leading,
                Stance::Listening => PublicStance::Listening,
                Stance::Electing | Stance::Awaiting(_) => PublicStance::Electing,
                Stance::Coordinating => PublicStance::Campaigning,
                Stance::Following(..) => PublicStance::Following,
            },
            mandate: self.log.leader(me, now).map(mandate),
            coordinator: self.named(here),
            incarnation: self.log.starts(),
            reachable: self.reachable(here, config),
            needed: self.log.needed(here.group(), &config.log),
            eligible: !self.abstains(),
            log: self.log_status(now),
            members: here
                .group()
                .ring()
                .iter()
                .filter(|id| self.log.knows(**id, &config.log))
                .map(|id| self.member_status(*id, here, config))
                .collect(),
            list: self.log.members(&config.log).cloned(),
            is_changing: self.log.is_changing(),
        }
    }

    fn log_status(&self, now: Time) -> LogStatus {
        let report = self.log.report();
        LogStatus {
            last: report.last,
            commit: report.commit,
            completeness: report.completeness,
            is_complete: self.log.is_complete(now),
            may_vote: self.log.may_vote(now),
            leases: self.log.committed_leases(),
            behind: report.behind,
            bytes: report.bytes,
            waiting: self.waiting.clone(),
        }
    }

    /// How many members answered lately, this one included: a leader and a candidate know.
    fn reachable(&self, here: &Here<'_>, config: &Config) -> Option<usize> {
        if self.leads() {
            let others = here.group().ring().iter();
            let voters = others.filter(|id| self.log.is_voter(**id, &config.log));
            let alive = voters.filter(|id| self.is_alive(**id, here, config));
            return Some(1 + alive.count());
        }
        let last = self.support.filter(|_| self.leader().is_none());
        self.log.supporters().or(last).map(|heard| heard.max(1))
    }

    fn member_status(&self, id: NodeId, here: &Here<'_>, config: &Config) -> MemberStatus {
        let (me, now) = (here.me(), here.now());
        let since = |at: Time| now.since(at);
        let leader = self.leader();
        let told = leader.and_then(|_| Some((self.view.as_ref()?.at, self.view.as_ref()?.of(id)?)));
        let heard = if id == me {
            Some(Duration::ZERO)
        } else if leader == Some(id) {
            self.detector.heard().map(since)
        } else if self.leads() {
            self.log.heard(id).map(since)
        } else {
            told.and_then(|(at, peer)| {
                Some(since(at) + Duration::from_millis(peer.heard_ms?.into()))
            })
        };
        // What the leader says is some heartbeats old when it arrives, and a second when it is
        // said again.
        let slack = if self.leads() { Duration::ZERO } else { Duration::from_secs(2) };
        let knows = self.leads() || leader.is_some();
        let health = match heard {
            Some(ago) if ago <= config.suspect_after.1 + slack => Health::Alive,
            Some(_) => Health::Silent,
            None if knows => Health::Silent,
            None => Health::Unknown,
        };
        let behind = if id == me {
            Some(self.log.report().behind)
        } else if self.leads() {
            self.log.lacks(id)
        } else {
            told.and_then(|(_, peer)| peer.behind)
        };
        MemberStatus { id, health, heard, clock: self.clock(me, id), behind }
    }
}
