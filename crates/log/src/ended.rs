//! G15 Proof of death: what follows when an incarnation of a member has ended.

use crate::message::Ended;
use crate::types::{Config, Incarnation, Output};
use crate::{Cx, Log, Role};
use bellwether_core::{Machine, NodeId};

impl<M: Machine> Log<M> {
    /// G15: tells the starts of a member apart. The driver draws a number for each; without one it follows
    /// from the data folder and the number of starts.
    pub(crate) fn be_incarnated(&mut self, config: &Config) {
        let birth = self.birth.number().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let own = Incarnation::new((birth ^ u64::from(self.starts)).max(1));
        self.incarnation = config.incarnation.unwrap_or(own);
    }

    /// G15: whether this incarnation of a member is known to have ended.
    pub(crate) fn has_ended(&self, member: NodeId, incarnation: Incarnation) -> bool {
        incarnation != Incarnation::UNKNOWN && self.ended.get(&member) == Some(&incarnation)
    }

    /// G15: frees this member from the lease to that incarnation, and from nothing else.
    pub(crate) fn learn_end(&mut self, ended: Ended, cx: &mut Cx<'_, M>) {
        let Ended { member, incarnation } = ended;
        let is_other = member != cx.me() && cx.group().contains(member);
        if !is_other || incarnation == Incarnation::UNKNOWN || self.has_ended(member, incarnation) {
            return;
        }
        self.ended.insert(member, incarnation);
        let (now, is_it) = (cx.now(), Some((member, incarnation)));
        let bound = self.lease.as_mut().filter(|l| Some((l.leader, l.incarnation)) == is_it);
        let Some(lease) = bound else { return };
        cx.rule("G15");
        lease.until = lease.until.min(now);
        self.freed_by = Some(ended);
        // A campaign that waits for this lease asks again; a claim has lost its leader.
        if let Role::Candidate(campaign) = &self.role
            && !campaign.claim
        {
            self.ask_all(cx);
        }
        cx.emit(Output::LeaderEnded(member));
    }
}
