//! Elections: when one is held, whom it names, and who stays out of it: P1, P2, P4, P5, P7, P9 and P10.

use super::{Cx, Member, Msg, Passed, Stance, Timer};
use crate::config::Config;
use crate::detector;
use crate::event::{Event, Reason};
use bellwether_algorithms::election::{self, AnyElection, Incarnation};
use bellwether_core::{NodeId, Process, Time};
use bellwether_log::{self as log, Completeness, Machine};
use std::time::Duration;

impl<M: Machine> Member<M> {
    /// P7.
    pub(super) fn abstains(&self) -> bool {
        self.leaves || self.cannot_lead()
    }

    pub(super) fn cannot_lead(&self) -> bool {
        let fills = self.log.completeness() == Completeness::Filling;
        self.rank.is_none() || self.drifts || self.leaving || self.passed.is_some() || fills
    }

    /// P3: whether a leader has just shown that it lives, or this is one: then elections that
    /// others hold are idle.
    pub(super) fn knows_better(&self, now: Time, config: &Config) -> bool {
        match self.stance {
            Stance::Following(..) => {
                let heard = self.detector.heard();
                heard.is_some_and(|heard| now.since(heard) <= config.log.leases.heartbeat * 3 / 2)
            }
            Stance::Coordinating => self.serving(now).is_some(),
            Stance::Listening | Stance::Electing | Stance::Awaiting(_) => false,
        }
    }

    pub(super) fn start_electing(&mut self, reason: Reason, cx: &mut Cx<'_, M>) {
        cx.cancel_timer(Timer::Silence);
        cx.cancel_timer(Timer::HoldOff);
        self.wait_patiently(Stance::Electing, cx);
        if !self.abstains() {
            cx.emit(Event::Electing(reason));
            let longest = self.longest_take_over(cx);
            cx.set_timer_within(Timer::Probe, longest..longest + cx.config().log.leases.lease);
        }
        self.probe(cx);
    }

    pub(super) fn wait_patiently(&mut self, stance: Stance, cx: &mut Cx<'_, M>) {
        self.stance = stance;
        let patience = cx.config().patience;
        // Not the same for all: elections that begin together get in each other's way.
        cx.set_timer_within(Timer::Patience, patience..2 * patience);
    }

    /// P2: this member was elected, and asks for votes when a majority is free: that is at most a lease from
    /// now. It may have to fetch a newer log before.
    pub(super) fn expect_to_ask(&mut self, elected: NodeId, cx: &mut Cx<'_, M>) {
        self.stance = Stance::Awaiting(elected);
        let longest = self.longest_take_over(cx);
        cx.set_timer_within(Timer::Patience, longest..longest + cx.config().log.leases.lease);
    }

    /// Until a majority is free, and then two rounds of a campaign (G2).
    pub(super) fn longest_take_over(&self, cx: &Cx<'_, M>) -> Duration {
        cx.config().log.leases.lease + cx.config().log.leases.heartbeat * 4
    }

    /// P2: a majority would vote for this candidate, and it asks for the votes.
    pub(super) fn expect_to_lead(&mut self, candidate: NodeId, cx: &mut Cx<'_, M>) {
        self.stance = Stance::Awaiting(candidate);
        let heartbeat = cx.config().log.leases.heartbeat;
        cx.set_timer_within(Timer::Patience, heartbeat * 5..heartbeat * 7);
    }

    pub(super) fn hold_election(&mut self, reason: Reason, cx: &mut Cx<'_, M>) {
        self.tell_log(log::Input::Desist, cx);
        self.start_electing(reason, cx);
        if self.is_stale {
            return self.refresh_election(cx);
        }
        if !self.abstains() {
            self.elect(cx, |election, cx| election.on_input(election::Input::Suspect, cx));
        }
    }

    /// P9.
    pub(super) fn begin_from_scratch(&mut self, reason: Reason, cx: &mut Cx<'_, M>) {
        self.tell_log(log::Input::Desist, cx);
        self.start_electing(reason, cx);
        if self.campaigns_by_itself() {
            cx.rule("P11");
            return self.know_elected(cx.me(), cx);
        }
        if self.abstains() {
            return;
        }
        if self.is_stale {
            return self.refresh_election(cx);
        }
        self.rebirths = self.rebirths.wrapping_add(1);
        // Every other time: an election that forgets which one it was cannot tell leftovers.
        if self.rebirths.is_multiple_of(2) {
            return self.elect(cx, |election, cx| {
                election.on_input(election::Input::Suspect, cx);
            });
        }
        cx.rule("P9");
        self.election = AnyElection::default();
        let incarnation = self.election_life();
        self.elect(cx, |election, cx| election.on_start(Some(incarnation), cx));
    }

    /// Tells the lives of the election part apart: those of one life of the member, too.
    pub(super) fn election_life(&self) -> Incarnation {
        let lives = self.log.starts().wrapping_mul(16);
        Incarnation::new(lives.wrapping_add(self.rebirths % 16))
    }

    /// The election part has begun one: because it was asked to, or because another did.
    pub(super) fn notice_election(&mut self, cx: &mut Cx<'_, M>) {
        match self.stance {
            Stance::Listening | Stance::Awaiting(_) => self.start_electing(Reason::Called, cx),
            Stance::Electing | Stance::Coordinating | Stance::Following(..) => {}
        }
    }

    /// P2.
    pub(super) fn know_elected(&mut self, elected: NodeId, cx: &mut Cx<'_, M>) {
        match self.stance {
            // P3: a leader leads, whatever an election says.
            Stance::Following(..) => {}
            Stance::Coordinating if elected == cx.me() => {}
            Stance::Coordinating if self.log.leads().is_some() => {}
            // The voters have promised, or do so now, and hear of no other candidate before the next term.
            Stance::Coordinating if self.log.asks().is_some_and(|(_, is_sure)| is_sure) => {}
            // A stronger one was named since that election began, and gets its time.
            Stance::Awaiting(other) if self.ranks(cx.config()).outranks(other, elected) => {}
            _ if elected == cx.me() => {
                cx.rule("P2");
                cx.emit(Event::Elected(elected));
                cx.cancel_timer(Timer::Patience);
                self.stance = Stance::Coordinating;
                self.tell_log(log::Input::Campaign { claim: false, appointed: false }, cx);
            }
            _ => {
                cx.rule("P2");
                if self.stance != Stance::Awaiting(elected) {
                    cx.emit(Event::Elected(elected));
                }
                self.tell_log(log::Input::Desist, cx);
                self.expect_to_ask(elected, cx);
            }
        }
    }

    /// P4.
    pub(super) fn judge_silence(&mut self, cx: &mut Cx<'_, M>) {
        let Stance::Following(leader, _) = self.stance else { return };
        match self.detector.judge(cx.now(), cx.config()) {
            detector::Verdict::Wait(longer) => cx.set_timer(Timer::Silence, longer),
            detector::Verdict::Suspect(span, broken) => {
                cx.rule("P4");
                let reason = match broken {
                    true => Reason::Broken(leader, span),
                    false => Reason::Silent(leader, span),
                };
                self.hold_election(reason, cx);
            }
        }
    }

    pub(super) fn lose_patience(&mut self, cx: &mut Cx<'_, M>) {
        match self.stance {
            Stance::Listening => self.hold_election(Reason::Alone, cx),
            Stance::Electing => self.begin_from_scratch(Reason::Stuck, cx),
            Stance::Awaiting(member) => self.begin_from_scratch(Reason::Absent(member), cx),
            Stance::Coordinating | Stance::Following(..) => {}
        }
    }

    /// P10: this candidate cannot win now.
    pub(super) fn pass(&mut self, passed: Passed, cx: &mut Cx<'_, M>) {
        cx.rule("P10");
        cx.emit(Event::Passed);
        for other in cx.others() {
            cx.send(other, Msg::Pass);
        }
        self.passed = Some(passed);
        let patience = cx.config().patience;
        cx.set_timer_within(Timer::Passed, patience..2 * patience);
        if !matches!(self.stance, Stance::Following(..)) {
            self.wait_patiently(Stance::Electing, cx);
        }
        self.probe(cx);
    }

    /// P10: looks out for a majority, also after it has followed a leader or voted for a candidate: that
    /// ended its last probe.
    pub(super) fn probe(&mut self, cx: &mut Cx<'_, M>) {
        if self.passed == Some(Passed::ForVotes) {
            self.tell_log(log::Input::Probe, cx);
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

    /// P9, P10: a majority would vote for it. An election takes longer, and may not end among members that have
    /// passed and others that have not.
    pub(super) fn campaign_without_election(&mut self, cx: &mut Cx<'_, M>) {
        if self.passed.take().is_some() {
            cx.rule("P10");
            cx.cancel_timer(Timer::Passed);
        }
        if self.stance == Stance::Electing && !self.abstains() {
            self.know_elected(cx.me(), cx);
        }
    }

    /// P10: it takes part in elections again.
    pub(super) fn come_back(&mut self, cx: &mut Cx<'_, M>) {
        self.passed = None;
        if self.stance == Stance::Electing {
            self.begin_from_scratch(Reason::Stuck, cx);
        }
    }
}
