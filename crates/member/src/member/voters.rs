//! P11: who takes part in elections, and how that changes.

use super::{Cx, Input, Member};
use crate::config::Config;
use crate::ranks::Ranks;
use bellwether_algorithms::election::AnyElection;
use bellwether_core::{Group, NodeId, Process};
use bellwether_log::{self as log, Change, ChangeError, LeaseSettings, Machine};
use std::sync::Arc;

impl<M: Machine> Member<M> {
    /// The order of the voters by strength.
    pub(crate) fn ranks<'s>(&'s self, config: &'s Config) -> &'s Ranks {
        self.ranks.as_deref().unwrap_or(&config.ranks)
    }

    /// P11: the voters may be others than before.
    pub(super) fn count_voters(&mut self, cx: &Cx<'_, M>) {
        let (me, config) = (cx.me(), cx.config());
        let voters = self.log.members(&config.log).map(|list| list.voters().collect::<Vec<_>>());
        if let Some(voters) = voters {
            // The ring of the configuration, and then those who came later.
            let known = config.ranks.group();
            let stay = known.ring().iter().copied().filter(|id| voters.contains(id));
            let come = voters.iter().copied().filter(|id| !known.contains(*id));
            let ring: Vec<NodeId> = stay.chain(come).collect();
            if ring != self.ranks(config).group().ring()
                && let Ok(group) = Group::new(ring)
            {
                self.ranks = Some(Arc::new(config.ranks.among(&group)));
                self.is_stale = true;
            }
        }
        // A list that is not committed may be known to the member alone that is to leave: it is needed then.
        self.leaves = self.log.is_replaced(me, &config.log) && !self.log.is_changing();
        let may_lead = self.log.is_voter(me, &config.log) && config.may_lead(me);
        self.rank = self.ranks(config).rank(me).filter(|_| may_lead);
    }

    /// P11: an election among other voters than it knows is worth nothing.
    pub(super) fn refresh_election(&mut self, cx: &mut Cx<'_, M>) {
        if std::mem::take(&mut self.is_stale) && !self.abstains() {
            cx.rule("P11");
            self.rebirths = self.rebirths.wrapping_add(1);
            self.election = AnyElection::default();
            let incarnation = self.election_life();
            self.elect(cx, |election, cx| election.on_start(Some(incarnation), cx));
        }
    }

    /// P11: one more election has failed. Whether this member has seen enough of them.
    pub(super) fn campaigns_by_itself(&mut self) -> bool {
        if self.ranks.is_none() || self.cannot_lead() {
            return false;
        }
        self.failed = self.failed.saturating_add(1);
        let is_enough = self.failed >= 3;
        if is_enough {
            self.failed = 0;
        }
        is_enough
    }

    /// G13: another member votes in this leader's place.
    pub(super) fn leave_office(&mut self, cx: &mut Cx<'_, M>) {
        if let Some(to) = self.successor(cx.here(), cx.config()) {
            cx.rule("P11");
            self.tell_log(log::Input::HandOver { to, appointed: false }, cx);
        }
    }

    /// Changes the member list (G12). A leader that is to go begins to hand over instead.
    pub fn change(
        &mut self,
        change: &Change,
        forced: bool,
        cx: &mut Cx<'_, M>,
    ) -> Result<u64, ChangeError> {
        let mut result = Err(ChangeError::NotServing);
        self.with_log(cx, |log, cx| result = log.change(change, forced, cx));
        if let Err(ChangeError::Leads(_)) = result {
            self.on_input(Input::StepDown, cx);
        }
        result
    }

    /// G16: changes the settings of leases, if this member may.
    pub fn change_leases(&mut self, wanted: LeaseSettings, cx: &mut Cx<'_, M>) {
        self.with_log(cx, |log, cx| _ = log.change_leases(wanted, cx));
    }
}
