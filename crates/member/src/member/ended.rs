//! P12: the leader's process has ended, and there is proof of it.

use super::{Cx, Member, Stance, Timer};
use crate::event::Reason;
use bellwether_core::NodeId;
use bellwether_log::{self as log, Incarnation, Machine};

impl<M: Machine> Member<M> {
    pub(super) fn know_ended(
        &mut self,
        member: NodeId,
        incarnation: Incarnation,
        cx: &mut Cx<'_, M>,
    ) {
        if member != cx.me() {
            self.ended.insert(member);
            self.tell_log(log::Input::Ended(member, incarnation), cx);
        }
    }

    /// P12.
    pub(super) fn succeed(&mut self, leader: NodeId, cx: &mut Cx<'_, M>) {
        self.ended.insert(leader);
        // One that campaigns already does so without waiting for the lease (G15).
        let is_free = match self.stance {
            Stance::Following(followed, _) => followed == leader,
            Stance::Electing | Stance::Awaiting(_) => true,
            Stance::Listening | Stance::Coordinating => false,
        };
        if !is_free {
            return;
        }
        cx.rule("P12");
        self.tell_log(log::Input::Desist, cx);
        self.start_electing(Reason::Ended(leader), cx);
        let Some(strongest) = self.next_in_line(cx) else { return };
        self.know_elected(strongest, cx);
        if strongest != cx.me() {
            let heartbeat = cx.config().log.leases.heartbeat;
            cx.set_timer_within(Timer::Patience, heartbeat..heartbeat * 2);
        }
    }

    /// The strongest member that may lead and is not known to have ended.
    fn next_in_line(&self, cx: &Cx<'_, M>) -> Option<NodeId> {
        let may = |id: &NodeId| match *id == cx.me() {
            true => !self.abstains(),
            false => !self.ended.contains(id),
        };
        self.ranks(cx.config()).strongest_first().find(may)
    }
}
