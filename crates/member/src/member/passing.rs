//! P10: candidates that cannot win.

use super::{Cx, Member, Msg, Stance, Timer};
use crate::event::{Event, Reason};
use bellwether_core::NodeId;
use bellwether_log::{self as log, Machine};
use std::collections::BTreeSet;

/// P10: which members a candidate did not reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Absent {
    /// Those that have answered its last campaign.
    pub(super) answered: BTreeSet<NodeId>,
    /// Those that had not when it passed. A message of one of them ends the pass.
    missed: BTreeSet<NodeId>,
    /// Whether that has happened since a leader was heard. If it goes on like this, others get their turn.
    came_back: bool,
}

impl Absent {
    /// There is a leader.
    pub(super) fn forget(&mut self) {
        *self = Absent::default();
    }
}

impl<M: Machine> Member<M> {
    /// P10: this candidate cannot win now.
    pub(super) fn pass(&mut self, cx: &mut Cx<'_, M>) {
        cx.rule("P10");
        cx.emit(Event::Passed);
        for other in cx.others() {
            cx.send(other, Msg::Pass);
        }
        self.passed = true;
        self.absent.missed.clear();
        let patience = cx.config().patience;
        cx.set_timer_within(Timer::Passed, patience..2 * patience);
        if !matches!(self.stance, Stance::Following(..)) {
            self.wait_patiently(Stance::Electing, cx);
        }
    }

    /// P10, from the other side.
    pub(super) fn hear_pass(&mut self, from: NodeId, cx: &mut Cx<'_, M>) {
        match self.stance {
            Stance::Awaiting(other) | Stance::Following(other, _) if other == from => {
                cx.rule("P10");
                self.hold_election(Reason::Passed(from), cx);
            }
            _ => {}
        }
    }

    /// P10: it takes part in elections again.
    pub(super) fn come_back(&mut self, cx: &mut Cx<'_, M>) {
        self.passed = false;
        if self.stance == Stance::Electing {
            self.begin_from_scratch(Reason::Stuck, cx);
        }
    }

    /// Its campaign has failed for want of answers. If it was not asked, nobody is missed.
    pub(super) fn miss_those_who_did_not_answer(&mut self, heard: usize, cx: &Cx<'_, M>) {
        if heard == 0 || self.absent.came_back {
            return;
        }
        let voters = self.ranks(cx.config()).group().ring().iter().copied();
        let is_missed = |id: &NodeId| *id != cx.me() && !self.absent.answered.contains(id);
        self.absent.missed = voters.filter(is_missed).collect();
    }

    /// Another member has sent something.
    pub(super) fn note_sign_of_life(&mut self, from: NodeId, msg: &Msg<M>, cx: &mut Cx<'_, M>) {
        if let Msg::Log(log::Msg::Vote { .. }) = msg
            && self.log.campaigns()
        {
            self.absent.answered.insert(from);
        }
        if self.passed && self.absent.missed.contains(&from) {
            cx.rule("P10");
            (self.absent.missed, self.absent.came_back) = (BTreeSet::new(), true);
            cx.cancel_timer(Timer::Passed);
            self.come_back(cx);
        }
    }
}
