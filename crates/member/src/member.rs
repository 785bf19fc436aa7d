//! A member: the parts, and what each tells the others.
//!
//! # Rules
//! * P1 A member that starts listens for a while whether anybody leads; if not, it holds an
//!   election. One that comes back lets its election say so at once.
//! * P2 Who is elected asks for the mandate. Whoever elected another waits for that one to show a
//!   mandate, and holds another election if it does not.
//! * P3 Whoever hears a leader with a mandate follows it, whatever elections say.
//! * P4 A follower whose leader is silent too long, or gave up and named nobody, holds an election.
//! * P5 A leader whose mandate ran out holds an election.
//! * P6 A follower that is stronger than its leader takes over: at once, after a while, or never,
//!   as configured. It leaves a leader alone that an operator appointed.
//! * P7 Who may not lead (a witness, a drifting clock, about to stop) plays dead in elections, but
//!   votes and follows.
//! * P8 A leader that is asked to step down hands over to the strongest member that it hears, or to
//!   the one that is named. One that finds its clock drifting does so by itself.
//! * P9 An election that does not end, or whose winner does not show up, is held again; every other
//!   time from scratch, as after a restart, because a ring that a partition tore may have lost its
//!   links for good.

mod asked;

use crate::config::{Config, Preempt};
use crate::detector::{self, Detector};
use crate::event::{Event, Loss, Reason};
use crate::mandate::{self, Durable, Epoch, Mandate, Replica, Said};
use bellwether_algorithms::election::{self, AnyElection, Incarnation, any};
use bellwether_core::{Assumptions, Context, Few, Kind, Message, NodeId, Process, Time};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One member of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Member<S: Replica = ()> {
    election: AnyElection,
    mandate: Mandate<S>,
    detector: Detector,
    stance: Stance,
    /// Whether the leader found this member's clock to drift.
    drifts: bool,
    /// Whether it is about to stop.
    leaving: bool,
    /// How often the election was begun from scratch (P9).
    rebirths: u32,
    /// Its number, and its rank if it may ever lead; known from the start on.
    me: Option<NodeId>,
    rank: Option<NodeId>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stance {
    /// P1. Timer `Patience` runs.
    #[default]
    Listening,
    /// An election is under way. Timer `Patience` runs.
    Electing,
    /// P2: that one was elected, or named. Timer `Patience` runs.
    Awaiting(NodeId),
    /// P2: this one was elected. The mandate knows how far it is.
    Coordinating,
    /// P3. Timer `Silence` runs.
    Following(NodeId, Epoch),
}

/// A message of either part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub enum Msg<S: Replica = ()> {
    /// The election's, among ranks.
    Election(any::Msg),
    /// The mandate's.
    Mandate(mandate::Msg<S>),
}

impl<S: Replica> Message for Msg<S> {
    fn kind(&self) -> Kind {
        match self {
            Msg::Election(msg) => msg.kind(),
            Msg::Mandate(msg) => msg.kind(),
        }
    }
}

impl<S: Replica> fmt::Display for Msg<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Election(msg) => msg.fmt(f),
            Msg::Mandate(msg) => msg.fmt(f),
        }
    }
}

/// What a member waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The election's.
    Election(any::Timer),
    /// The mandate's.
    Mandate(mandate::Timer),
    /// P4: the leader's next heartbeat.
    Silence,
    /// P1 and P2: something to happen at all.
    Patience,
    /// P6: the end of the time that a weaker leader is given.
    HoldOff,
}

/// What an operator or the driver wants of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// Hold an election.
    Elect,
    /// Hand the mandate over to the strongest other member.
    StepDown,
    /// Hand the mandate over to this member.
    Transfer(NodeId),
    /// Stop leading and voting for oneself: this process is about to end.
    Resign,
    /// The connection to this member failed. A hint, no proof.
    Hint(NodeId, Hint),
}

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Hint {
    /// Nobody listens there.
    Refused,
    /// It was closed or reset.
    Closed,
}

type Cx<'a, S> = Context<'a, Member<S>>;

impl<S: Replica> Process for Member<S> {
    type Msg = Msg<S>;
    type Timer = Timer;
    type Input = Input;
    type Output = Event;
    type Durable = Durable;
    type Config = Config;

    const ASSUMES: Assumptions = Mandate::<S>::ASSUMES;

    fn durable(&self) -> Durable {
        self.mandate.durable()
    }

    fn on_start(&mut self, saved: Option<Durable>, cx: &mut Cx<'_, S>) {
        cx.rule("P1");
        let me = cx.me();
        self.me = Some(me);
        self.rank = cx.config().ranks.rank(me).filter(|_| cx.config().may_lead(me));
        self.hold(cx, |mandate, cx| mandate.on_start(saved, cx));
        // Long enough to hear a leader, and not the same for all.
        let longest = cx.config().suspect_after.1;
        cx.set_timer_within(Timer::Patience, longest..longest + cx.config().heartbeat);
        if self.abstains() {
            return;
        }
        if saved.is_some() {
            self.start_electing(Reason::Recovered, cx);
        }
        let incarnation = saved.map(|_| self.election_life());
        self.elect(cx, |election, cx| election.on_start(incarnation, cx));
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_, S>) {
        match input {
            Input::Elect if self.mandate.leading().is_none() => {
                self.hold_election(Reason::Asked, cx);
            }
            Input::Elect => {}
            Input::StepDown => match self.may_step_down(cx.here(), cx.config()) {
                Ok(to) => self.hand_over(Some(to), true, cx),
                Err(decline) => cx.emit(Event::Declined(decline)),
            },
            Input::Transfer(to) => match self.may_transfer(to, cx.here(), cx.config()) {
                Ok(()) => self.hand_over(Some(to), true, cx),
                Err(decline) => cx.emit(Event::Declined(decline)),
            },
            Input::Resign => {
                cx.rule("P7");
                self.leaving = true;
                let to = self.successor(cx.here(), cx.config());
                self.hand_over(to, false, cx);
            }
            Input::Hint(peer, _) => {
                if matches!(self.stance, Stance::Following(leader, _) if leader == peer) {
                    let wait = self.detector.hint(cx.now(), cx.config());
                    cx.set_timer(Timer::Silence, wait);
                }
            }
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_, S>) {
        match msg {
            Msg::Mandate(msg) => self.hold(cx, |mandate, cx| mandate.on_message(from, msg, cx)),
            Msg::Election(_) if self.abstains() => cx.rule("P7"),
            Msg::Election(_) if self.knows_better(cx.now(), cx.config()) => cx.rule("P3"),
            Msg::Election(msg) => {
                if let Some(from) = cx.config().ranks.rank(from) {
                    self.elect(cx, |election, cx| election.on_message(from, msg, cx));
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, S>) {
        match timer {
            Timer::Election(_) if self.abstains() => {}
            Timer::Election(timer) => self.elect(cx, |election, cx| election.on_timer(timer, cx)),
            Timer::Mandate(timer) => self.hold(cx, |mandate, cx| mandate.on_timer(timer, cx)),
            Timer::Silence => self.judge_silence(cx),
            Timer::Patience => self.lose_patience(cx),
            Timer::HoldOff => {
                if let Stance::Following(leader, _) = self.stance {
                    self.preempt(leader, cx);
                }
            }
        }
    }
}

/// Stepping the parts.
impl<S: Replica> Member<S> {
    fn elect(
        &mut self,
        cx: &mut Cx<'_, S>,
        step: impl FnOnce(&mut AnyElection, &mut Context<'_, AnyElection>),
    ) {
        let Config { ranks, election, .. } = cx.config();
        let post = |to, msg| Some((ranks.member(to)?, Msg::Election(msg)));
        let said: Few<election::Output> =
            cx.part_among(ranks.ring(), election, post, Timer::Election, |cx| {
                step(&mut self.election, cx);
            });
        for output in said {
            match output {
                election::Output::Started => self.notice_election(cx),
                election::Output::Elected(rank) => {
                    if let Some(member) = ranks.member(rank) {
                        self.know_elected(member, cx);
                    }
                }
            }
        }
    }

    fn hold(
        &mut self,
        cx: &mut Cx<'_, S>,
        step: impl FnOnce(&mut Mandate<S>, &mut Context<'_, Mandate<S>>),
    ) {
        let config = cx.config();
        let said: Few<Said> =
            cx.part(config, Msg::Mandate, Timer::Mandate, |cx| step(&mut self.mandate, cx));
        for said in said {
            self.hear_mandate(said, cx);
        }
        // A bid that another overtook: wait for that one.
        if self.stance == Stance::Coordinating && self.mandate.is_idle() {
            self.wait_patiently(Stance::Electing, cx);
        }
    }

    /// Changes the replicated state, if this member holds the mandate: M12. Whether it does so.
    pub fn propose(&mut self, commands: Vec<S::Command>, cx: &mut Cx<'_, S>) -> bool {
        let mut accepted = false;
        self.hold(cx, |mandate, cx| accepted = mandate.propose(commands, cx));
        accepted
    }

    /// What came of changes in this step: M13. A parent takes it after every step.
    pub fn take_done(&mut self) -> Vec<S::Outcome> {
        self.mandate.take_done()
    }

    fn hear_mandate(&mut self, said: Said, cx: &mut Cx<'_, S>) {
        match said {
            Said::Asks(epoch) => cx.emit(Event::Campaigning(epoch)),
            Said::TooFew { heard, needed } => cx.emit(Event::Unmandated { heard, needed }),
            Said::Won(epoch) => {
                cx.cancel_timer(Timer::Patience);
                cx.cancel_timer(Timer::Silence);
                self.stance = Stance::Coordinating;
                cx.emit(Event::Won(epoch));
            }
            Said::Lost(epoch, loss) => self.lose(epoch, loss, cx),
            Said::Heard { leader, epoch } => self.hear_leader(leader, epoch, cx),
            Said::Courted(from) => {
                if self.stance == Stance::Awaiting(from) {
                    self.wait_patiently(self.stance, cx);
                }
            }
            Said::Released { by, to, appointed } => self.be_released(by, to, appointed, cx),
            Said::Claimed(by) => self.consider_claim(by, cx),
            Said::Drifts(member, rate_ppb) => {
                cx.emit(Event::Drifting { member, rate_ppb });
                if member == cx.me() {
                    cx.rule("P8");
                    self.drifts = true;
                    let to = self.successor(cx.here(), cx.config());
                    self.hand_over(to, false, cx);
                }
            }
            Said::Steady(member) => {
                cx.emit(Event::Steady(member));
                self.drifts &= member != cx.me();
            }
        }
    }
}

/// Elections.
impl<S: Replica> Member<S> {
    /// P7.
    fn abstains(&self) -> bool {
        self.rank.is_none() || self.drifts || self.leaving
    }

    /// P3: whether a leader has just shown that it lives, or this is one: then elections that
    /// others hold are idle.
    fn knows_better(&self, now: Time, config: &Config) -> bool {
        match self.stance {
            Stance::Following(..) => {
                let heard = self.detector.heard();
                heard.is_some_and(|heard| now.since(heard) <= config.heartbeat * 3 / 2)
            }
            Stance::Coordinating => self.holds(now).is_some(),
            Stance::Listening | Stance::Electing | Stance::Awaiting(_) => false,
        }
    }

    fn start_electing(&mut self, reason: Reason, cx: &mut Cx<'_, S>) {
        cx.cancel_timer(Timer::Silence);
        cx.cancel_timer(Timer::HoldOff);
        self.wait_patiently(Stance::Electing, cx);
        if !self.abstains() {
            cx.emit(Event::Electing(reason));
        }
    }

    fn wait_patiently(&mut self, stance: Stance, cx: &mut Cx<'_, S>) {
        self.stance = stance;
        let patience = cx.config().patience;
        // Not the same for all: elections that begin together get in each other's way.
        cx.set_timer_within(Timer::Patience, patience..2 * patience);
    }

    fn hold_election(&mut self, reason: Reason, cx: &mut Cx<'_, S>) {
        self.hold(cx, |mandate, cx| mandate.on_input(mandate::Input::Desist, cx));
        self.start_electing(reason, cx);
        if !self.abstains() {
            self.elect(cx, |election, cx| election.on_input(election::Input::Suspect, cx));
        }
    }

    /// P9.
    fn begin_from_scratch(&mut self, reason: Reason, cx: &mut Cx<'_, S>) {
        self.desist(cx);
        self.start_electing(reason, cx);
        if self.abstains() {
            return;
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
    fn election_life(&self) -> Incarnation {
        let lives = self.mandate.promises().incarnation.wrapping_mul(16);
        Incarnation::new(lives.wrapping_add(self.rebirths % 16))
    }

    /// The election part has begun one: because it was asked to, or because another did.
    fn notice_election(&mut self, cx: &mut Cx<'_, S>) {
        match self.stance {
            Stance::Listening | Stance::Awaiting(_) => self.start_electing(Reason::Called, cx),
            Stance::Electing | Stance::Coordinating | Stance::Following(..) => {}
        }
    }

    /// P2.
    fn know_elected(&mut self, elected: NodeId, cx: &mut Cx<'_, S>) {
        match self.stance {
            // P3: whoever has a mandate leads, whatever an election says.
            Stance::Following(..) => {}
            Stance::Coordinating if elected == cx.me() => {}
            Stance::Coordinating if self.mandate.leading().is_some() => {}
            // A stronger one was named since that election began, and gets its time.
            Stance::Awaiting(other) if cx.config().ranks.outranks(other, elected) => {}
            _ if elected == cx.me() => {
                cx.rule("P2");
                cx.emit(Event::Elected(elected));
                self.campaign(false, cx);
            }
            _ => {
                cx.rule("P2");
                if self.stance != Stance::Awaiting(elected) {
                    cx.emit(Event::Elected(elected));
                }
                self.hold(cx, |mandate, cx| mandate.on_input(mandate::Input::Desist, cx));
                self.wait_patiently(Stance::Awaiting(elected), cx);
            }
        }
    }

    fn campaign(&mut self, appointed: bool, cx: &mut Cx<'_, S>) {
        cx.cancel_timer(Timer::Patience);
        self.stance = Stance::Coordinating;
        let claim = cx.config().preempt == Preempt::Always;
        let ask = mandate::Input::Ask { claim, appointed };
        self.hold(cx, |mandate, cx| mandate.on_input(ask, cx));
    }

    /// P4.
    fn judge_silence(&mut self, cx: &mut Cx<'_, S>) {
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

    fn lose_patience(&mut self, cx: &mut Cx<'_, S>) {
        match self.stance {
            Stance::Listening => self.hold_election(Reason::Alone, cx),
            Stance::Electing => self.begin_from_scratch(Reason::Stuck, cx),
            Stance::Awaiting(member) => self.begin_from_scratch(Reason::Absent(member), cx),
            Stance::Coordinating | Stance::Following(..) => {}
        }
    }
}

/// Mandates.
impl<S: Replica> Member<S> {
    /// P3.
    fn hear_leader(&mut self, leader: NodeId, epoch: Epoch, cx: &mut Cx<'_, S>) {
        let before = std::mem::replace(&mut self.stance, Stance::Following(leader, epoch));
        if !matches!(before, Stance::Following(known, _) if known == leader) {
            self.detector.turn();
        }
        let wait = self.detector.hear(cx.now(), cx.config());
        cx.set_timer(Timer::Silence, wait);
        let drifted = self.drifts;
        if let Some(clock) = self.mandate.clock(cx.me(), cx.me()) {
            self.drifts = clock.drifts;
        }
        // P6: what kept it from taking over may have been its clock.
        let may_again = drifted && !self.drifts;
        if before == self.stance && !may_again {
            return;
        }
        cx.rule("P3");
        cx.cancel_timer(Timer::Patience);
        cx.cancel_timer(Timer::HoldOff);
        if before != self.stance {
            cx.emit(Event::Follows(leader, epoch));
        }
        match cx.config().preempt {
            _ if !self.wants_to_replace(leader, cx) => self.desist(cx),
            Preempt::Always => self.preempt(leader, cx),
            Preempt::After(span) => {
                self.desist(cx);
                cx.set_timer(Timer::HoldOff, span);
            }
            Preempt::Never => self.desist(cx),
        }
    }

    fn desist(&mut self, cx: &mut Cx<'_, S>) {
        self.hold(cx, |mandate, cx| mandate.on_input(mandate::Input::Desist, cx));
    }

    /// P6.
    fn wants_to_replace(&self, leader: NodeId, cx: &Cx<'_, S>) -> bool {
        let stronger = cx.config().ranks.outranks(cx.me(), leader);
        stronger && !self.abstains() && !self.mandate.is_appointed()
    }

    /// P6.
    fn preempt(&mut self, leader: NodeId, cx: &mut Cx<'_, S>) {
        if self.wants_to_replace(leader, cx) {
            cx.rule("P6");
            let ask = mandate::Input::Ask { claim: true, appointed: false };
            self.hold(cx, |mandate, cx| mandate.on_input(ask, cx));
        }
    }

    /// P6, from the other side.
    fn consider_claim(&mut self, by: NodeId, cx: &mut Cx<'_, S>) {
        let config = cx.config();
        let clock = self.mandate.clock(cx.me(), by);
        let fit = config.may_lead(by) && !clock.is_some_and(|clock| clock.drifts);
        if config.ranks.outranks(by, cx.me()) && fit && !self.mandate.is_appointed() {
            cx.rule("P6");
            // Not to everybody who is stronger, one after the other.
            let strongest = self.successor(cx.here(), config);
            let strongest = strongest.filter(|strongest| config.ranks.outranks(*strongest, by));
            self.hand_over(Some(strongest.unwrap_or(by)), false, cx);
        }
    }

    fn hand_over(&mut self, to: Option<NodeId>, appointed: bool, cx: &mut Cx<'_, S>) {
        let input = mandate::Input::HandOver { to, appointed };
        self.hold(cx, |mandate, cx| mandate.on_input(input, cx));
    }

    fn be_released(&mut self, by: NodeId, to: Option<NodeId>, appointed: bool, cx: &mut Cx<'_, S>) {
        cx.cancel_timer(Timer::Silence);
        cx.cancel_timer(Timer::HoldOff);
        match to {
            Some(to) if to == cx.me() && !self.abstains() => self.campaign(appointed, cx),
            Some(to) => {
                self.desist(cx);
                self.wait_patiently(Stance::Awaiting(to), cx);
            }
            // Whoever resigned leaves the election to the others.
            None if by == cx.me() => self.wait_patiently(Stance::Electing, cx),
            None => self.hold_election(Reason::Resigned(by), cx),
        }
    }

    fn lose(&mut self, epoch: Epoch, loss: Loss, cx: &mut Cx<'_, S>) {
        cx.emit(Event::Lost(epoch, loss));
        match loss {
            // P5. If only an older epoch ran out on the way to a newer one, the bid goes on.
            Loss::Lapsed if self.mandate.is_idle() => {
                cx.rule("P5");
                self.hold_election(Reason::Lapsed, cx);
            }
            Loss::Lapsed => {}
            Loss::Superseded(_) => self.wait_patiently(Stance::Electing, cx),
            // What follows is said by `Released`.
            Loss::HandedOver(_) | Loss::GivenUp => {}
        }
    }
}

#[cfg(test)]
#[path = "member_tests.rs"]
mod tests;
