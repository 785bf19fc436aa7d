//! Coming to lead, following, claiming, handing over: P3, P5, P6 and P8.

use super::view::LastView;
use super::{Cx, Member, Passed, Stance, Timer};
use crate::clocks::{Clocks, Verdict};
use crate::config::Preempt;
use crate::event::{Event, Reason};
use bellwether_core::NodeId;
use bellwether_log::{self as log, Loss, Machine, Term};

impl<M: Machine> Member<M> {
    pub(super) fn begin_to_lead(&mut self, cx: &mut Cx<'_, M>) {
        for timer in [Timer::Patience, Timer::Silence, Timer::HoldOff, Timer::Passed] {
            cx.cancel_timer(timer);
        }
        self.stance = Stance::Coordinating;
        (self.passed, self.waiting, self.support, self.failed) = (None, None, None, 0);
        (self.clocks, self.last_view) = (Clocks::default(), LastView::default());
    }

    /// P3.
    pub(super) fn hear_leader(&mut self, leader: NodeId, term: Term, cx: &mut Cx<'_, M>) {
        let before = std::mem::replace(&mut self.stance, Stance::Following(leader, term));
        if !matches!(before, Stance::Following(known, _) if known == leader) {
            self.detector.turn();
            self.view = None;
        }
        let wait = self.detector.hear(cx.now(), cx.config());
        cx.set_timer(Timer::Silence, wait);
        if before == self.stance {
            return;
        }
        cx.rule("P3");
        cx.cancel_timer(Timer::Patience);
        (self.support, self.failed) = (None, 0);
        cx.emit(Event::Follows(leader, term));
        match cx.config().preempt {
            Preempt::Always => self.preempt(cx),
            Preempt::After(span) => cx.set_timer(Timer::HoldOff, span),
            Preempt::Never => cx.cancel_timer(Timer::HoldOff),
        }
    }

    /// P6: claims leadership if this member is stronger; and again later, if nothing comes of it.
    pub(super) fn preempt(&mut self, cx: &mut Cx<'_, M>) {
        let Stance::Following(leader, _) = self.stance else { return };
        let is_stronger = self.rank.is_some() && self.ranks(cx.config()).outranks(cx.me(), leader);
        if cx.config().preempt == Preempt::Never || !is_stronger {
            return cx.cancel_timer(Timer::HoldOff);
        }
        let (patience, heartbeat) = (cx.config().patience, cx.config().log.leases.heartbeat);
        let can_win = self.log.is_complete(cx.now()) && self.log.may_vote(cx.now());
        if self.abstains() || !can_win {
            // It asks for the rest of the log, has passed, or has just restarted: that does not take long.
            return cx.set_timer(Timer::HoldOff, heartbeat);
        }
        cx.set_timer_within(Timer::HoldOff, patience..2 * patience);
        if !self.log.is_appointed() {
            cx.rule("P6");
            self.tell_log(log::Input::Campaign { claim: true, appointed: false }, cx);
        }
    }

    /// P6, from the other side.
    pub(super) fn consider_claim(&mut self, by: NodeId, cx: &mut Cx<'_, M>) {
        let config = cx.config();
        let can_lead = self.could_lead(by, cx.here(), config).is_ok();
        if self.ranks(config).outranks(by, cx.me()) && can_lead && !self.log.is_appointed() {
            cx.rule("P6");
            // Not to each stronger member, one after the other.
            let strongest = self.successor(cx.here(), config).unwrap_or(by);
            self.tell_log(log::Input::HandOver { to: strongest, appointed: false }, cx);
        }
    }

    /// Leads no more, with or without a successor.
    pub(super) fn resign(&mut self, cx: &mut Cx<'_, M>) {
        let to = self.successor(cx.here(), cx.config());
        self.tell_log(log::Input::Resign { to }, cx);
    }

    pub(super) fn hear_yield(&mut self, by: NodeId, to: Option<NodeId>, cx: &mut Cx<'_, M>) {
        cx.cancel_timer(Timer::Silence);
        cx.cancel_timer(Timer::HoldOff);
        match to {
            // The log campaigns by itself: it has the permit.
            Some(_) if self.abstains() => self.tell_log(log::Input::Desist, cx),
            Some(_) => {
                cx.cancel_timer(Timer::Patience);
                self.stance = Stance::Coordinating;
            }
            // A member that resigned leaves the election to the others.
            None if by == cx.me() => self.wait_patiently(Stance::Electing, cx),
            None => self.hold_election(Reason::Resigned(by), cx),
        }
    }

    pub(super) fn lose(&mut self, term: Term, loss: Loss, cx: &mut Cx<'_, M>) {
        if self.won.take().is_some() {
            cx.emit(Event::Lost(term, loss));
        }
        match loss {
            // P5. If only an older term ran out on the way to a newer one, the campaign goes on.
            Loss::Lapsed if !self.log.campaigns() => {
                cx.rule("P5");
                self.hold_election(Reason::Lapsed, cx);
            }
            Loss::Stalled => {
                cx.rule("P5");
                self.pass(Passed::ForAWhile, cx);
            }
            Loss::Superseded(_) if !self.log.campaigns() => {
                self.wait_patiently(Stance::Electing, cx);
            }
            // What follows is said by `Yielded` or `Heartbeat`.
            Loss::Lapsed
            | Loss::Superseded(_)
            | Loss::HandedOver(_)
            | Loss::GivenUp
            | Loss::Removed => {}
        }
    }

    /// C4: tells the log which clocks do not count for leases.
    pub(super) fn judge_clocks(&mut self, cx: &mut Cx<'_, M>) {
        let bound = self.log.leases(&cx.config().log).drift_ppm;
        for verdict in self.clocks.judge(cx.me(), bound) {
            match verdict {
                Verdict::Drifts(member, rate_ppb) => {
                    cx.emit(Event::Drifting { member, rate_ppb });
                    self.tell_log(log::Input::Drifts(member, true), cx);
                    if member == cx.me() {
                        cx.rule("P8");
                        self.drifts = true;
                        self.resign(cx);
                    }
                }
                Verdict::Steady(member) => {
                    cx.emit(Event::Steady(member));
                    self.tell_log(log::Input::Drifts(member, false), cx);
                    self.drifts &= member != cx.me();
                }
            }
        }
    }
}
