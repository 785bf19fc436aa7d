//! The coordinator's part: proposing views, gathering reports, watching the members.

use super::{Cx, Epoch, Msg, Output, Reported, Survivor, Timer, View, Views};
use bellwether_core::{Group, NodeId, SortedMap, SortedSet};
use std::sync::Arc;

/// What a coordinator is at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Chair<S> {
    pub(super) stage: Stage<S>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage<S> {
    /// V1: this view is proposed, and this many have reported. Timer `Reports` runs.
    Gathering { epoch: Epoch, reports: SortedMap<NodeId, Reported<S>> },
    /// V6: between two rounds of PINGs. Timer `Watch` runs, if anybody is watched at all.
    Presiding,
    /// V6: PINGs are out, and these have answered with the right view. Timer `Silence` runs.
    Listening { heard: SortedSet<NodeId> },
}

impl<S: Survivor> Views<S> {
    fn stage(&mut self) -> Option<&mut Stage<S>> {
        self.chair.as_deref_mut().map(|chair| &mut chair.stage)
    }

    fn set_stage(&mut self, stage: Stage<S>) {
        self.chair = Some(Box::new(Chair { stage }));
    }

    /// V1.
    pub(super) fn propose(&mut self, cx: &mut Cx<'_, S>) {
        cx.rule("V1");
        self.stop_timers(cx);
        let epoch = self.promised.next(cx.me());
        self.promised = epoch;
        self.stopped = Some(epoch);
        self.set_stage(Stage::Gathering { epoch, reports: SortedMap::new() });
        for id in cx.others() {
            cx.send(id, Msg::Propose(epoch));
        }
        cx.set_timer(Timer::Reports, cx.config().timeout);
        // The own report comes with the answer to this.
        cx.emit(Output::Stopped);
    }

    /// V3, the first half.
    pub(super) fn gather(
        &mut self,
        from: NodeId,
        about: Epoch,
        reported: Reported<S>,
        cx: &mut Cx<'_, S>,
    ) {
        if let Some(Stage::Gathering { epoch, reports }) = self.stage()
            && *epoch == about
        {
            reports.insert(from, reported);
            if reports.len() == cx.group().len() {
                self.conclude(cx);
            }
        }
    }

    /// V3, the second half.
    pub(super) fn conclude(&mut self, cx: &mut Cx<'_, S>) {
        cx.rule("V3");
        let Some(Stage::Gathering { epoch, reports }) = self.stage() else { return };
        let (epoch, mut reports) = (*epoch, std::mem::take(reports));
        let ring = cx.group().ring().iter();
        let reports: Vec<(NodeId, Reported<S>)> =
            ring.filter_map(|id| Some((*id, reports.remove(id)?))).collect();
        // The own report is always there, so there is a group.
        let Ok(group) = Group::new(reports.iter().map(|(id, _)| *id).collect()) else { return };
        let opening = S::open(cx.me(), &reports);
        let view = Arc::new(View { epoch, group, opening });
        for id in cx.others().filter(|id| view.group.contains(*id)) {
            cx.send(id, Msg::View(Arc::clone(&view)));
        }
        self.preside(cx);
        self.begin(view, cx);
    }

    /// V5.
    pub(super) fn refused(&mut self, promised: Epoch, cx: &mut Cx<'_, S>) {
        if let Some(Stage::Gathering { epoch, .. }) = self.stage()
            && promised > *epoch
            // No run comes this far; a number that is made up must not keep us busy for ever.
            && promised.number() < u32::MAX
        {
            cx.rule("V5");
            self.promised = self.promised.max(promised);
            self.propose(cx);
        }
    }

    /// Takes the chair and, if members are watched, waits for the time of the next PINGs.
    pub(super) fn preside(&mut self, cx: &mut Cx<'_, S>) {
        self.stop_timers(cx);
        self.set_stage(Stage::Presiding);
        if let Some(period) = cx.config().watch {
            cx.set_timer(Timer::Watch, period);
        }
    }

    /// V6: asks everybody.
    pub(super) fn ping(&mut self, cx: &mut Cx<'_, S>) {
        cx.rule("V6");
        if self.stopped.is_some() {
            // V7: another's proposal has come to nothing.
            return self.propose(cx);
        }
        for id in cx.others() {
            cx.send(id, Msg::Ping);
        }
        self.set_stage(Stage::Listening { heard: SortedSet::new() });
        cx.set_timer(Timer::Silence, cx.config().timeout);
    }

    /// V6: a process answers.
    pub(super) fn ponged(&mut self, from: NodeId, theirs: Option<Epoch>, cx: &mut Cx<'_, S>) {
        let ours = self.epoch();
        let Some(Stage::Listening { heard }) = self.stage() else { return };
        if theirs == ours {
            heard.insert(from);
        } else {
            cx.rule("V6");
            self.propose(cx);
        }
    }

    /// V6: those that have not answered by now are dead.
    pub(super) fn miss(&mut self, cx: &mut Cx<'_, S>) {
        cx.rule("V6");
        let me = cx.me();
        let ring = self.view().map_or(cx.group().ring(), |view| view.group.ring());
        let Some(Stage::Listening { heard }) = self.chair.as_deref().map(|chair| &chair.stage)
        else {
            return;
        };
        if ring.iter().all(|id| *id == me || heard.contains(id)) {
            self.preside(cx);
        } else {
            self.propose(cx);
        }
    }

    /// V7.
    pub(super) fn leave_chair(&mut self, cx: &mut Cx<'_, S>) {
        if self.chair.take().is_some() {
            self.stop_timers(cx);
        }
    }

    fn stop_timers(&mut self, cx: &mut Cx<'_, S>) {
        for timer in [Timer::Reports, Timer::Watch, Timer::Silence] {
            cx.cancel_timer(timer);
        }
    }
}
