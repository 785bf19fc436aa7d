//! A member: the parts, and what each tells the others.
//!
//! # Rules
//! * P1 A member that starts listens for a while for a coordinator; if it hears none, it holds an
//!   election. One that comes back lets its election say so at once.
//! * P2 A member that is elected campaigns for votes (G2). A member that elected another waits until it asks
//!   for its vote: a lease, four heartbeats and up to a lease more. A member that is asked for its vote waits five
//!   to seven heartbeats until the candidate leads: two rounds of its campaign take at most four. Then
//!   the member holds another election. A candidate that has asked for the votes themselves goes on
//!   even if another one is elected meanwhile: the voters have promised.
//! * P3 A member that hears a leader follows it, whatever elections say.
//! * P4 A follower whose leader is silent too long, or gave up and named no successor, holds an
//!   election.
//! * P5 A leader whose lease ran out, or for which nothing advanced, holds an election.
//! * P6 A follower that is stronger than its leader and has its whole log takes over: at once, after
//!   a while, or never, as configured. It leaves a leader alone that an operator appointed.
//! * P7 A member that may not lead (a witness, a drifting clock, about to stop, without its log, or
//!   one that has just passed) plays dead in elections, but votes and follows.
//! * P8 A leader that is asked to step down hands over to the strongest member that can take over,
//!   or to the one that is named. One that finds its clock drifting does so by itself.
//! * P9 An election that does not end, or whose winner does not show up, is held again; every other
//!   time from scratch, as after a restart, because a ring that a partition tore may have lost its
//!   links for good. A member whose election takes longer than P2 gives an elected one *probes* (G2): it asks
//!   once a round who would vote for it, and campaigns without an election as soon as a majority would.
//! * P10 A candidate that cannot win, because too few answer or because another log is newer, passes:
//!   it tells all, and stays out of elections for a while (P7), or until it has the newer log. A member
//!   that waited for it, or followed it, holds an election at once. So a member in the middle of a star
//!   gets its turn. Meanwhile it probes as in P9, and campaigns as soon as a majority would vote for it: so
//!   members that all passed while their links were cut come back with the links. A candidate that a
//!   majority would vote for and did not, and a leader for which nothing advanced, do not probe: they would
//!   fail again.
//! * P11 An election is held among the voters of the member list that this member goes by (G11). When
//!   they change, the election begins from scratch with the next event that concerns it. Learners, and a
//!   member that is to leave by a committed list, play dead in elections (P7). A leader that is to leave
//!   hands over (G13). Members with different lists may be unable to finish an election, for ever on a ring;
//!   and no other member than the one that is to leave may be able to lead. So once the list has changed, a
//!   member whose elections have failed three times in a row campaigns by itself.
//! * P12 Proof that the leader's process has ended (G15) decides the election: the strongest voter that may
//!   lead, and of which there is no such proof, campaigns at once, and the others wait for it. One or two
//!   heartbeats later, if it has not asked for votes, they hold an election.

mod asked;
mod electing;
mod ended;
mod input;
mod leadership;
mod view;
mod voters;

pub use input::{Hint, Input};
pub use view::PeerView;

use crate::clocks::Clocks;
use crate::config::Config;
use crate::detector::Detector;
use crate::event::{Event, Reason};
use crate::ranks::Ranks;
use bellwether_algorithms::election::{self, AnyElection, any};
use bellwether_core::{Assumptions, Context, Few, Kind, Message, NodeId, Process, Time};
use bellwether_log::{self as log, Durable, Index, Log, Machine, Output, Portable, Term};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use view::{LastView, View};

/// One member of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Member<M: Machine = ()> {
    election: AnyElection,
    log: Log<M>,
    detector: Detector,
    clocks: Clocks,
    stance: Stance,
    /// The term in which it serves, or served until this moment.
    won: Option<Term>,
    /// What the leader last said of all members.
    view: Option<View>,
    /// What this leader last said of them.
    last_view: LastView,
    /// G9: for whom its campaign waits, and until when.
    waiting: Option<(Vec<NodeId>, Time)>,
    /// How many members agreed to its last campaign.
    support: Option<usize>,
    /// Whether the leader found this member's clock to drift.
    drifts: bool,
    /// Whether it is about to stop.
    leaving: bool,
    /// P11: whether another member votes in its place, by a committed list.
    leaves: bool,
    /// P10: it has just passed. Timer `Passed` runs.
    passed: Option<Passed>,
    /// How often the election was begun from scratch (P9).
    rebirths: u32,
    /// Its number, and its rank if it may ever lead; known from the start on.
    me: Option<NodeId>,
    rank: Option<NodeId>,
    /// P12: members whose process has ended, if nothing has come from them since.
    ended: BTreeSet<NodeId>,
    /// P11: the ranks of the voters, once the member list has changed.
    ranks: Option<Arc<Ranks>>,
    /// P11: how many elections in a row have failed.
    failed: u8,
    /// P11: whether the election part knows other voters than these.
    is_stale: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stance {
    /// P1. Timer `Patience` runs.
    #[default]
    Listening,
    /// An election is under way. Timer `Patience` runs.
    Electing,
    /// P2: that member was elected, or named. Timer `Patience` runs.
    Awaiting(NodeId),
    /// P2: this member was elected. The log knows how far it is.
    Coordinating,
    /// P3. Timer `Silence` runs.
    Following(NodeId, Term),
}

/// P10: what a member that has passed waits for, besides its log and its timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Passed {
    /// A majority that would vote for it. Without a leader its log probes.
    ForVotes,
    /// Nothing else.
    ForAWhile,
}

/// A message of one of the parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "M: Portable")]
pub enum Msg<M: Machine = ()> {
    /// The election's, among ranks.
    Election(any::Msg),
    /// The log's.
    Log(log::Msg<M>),
    /// P10: "I was elected and cannot win; elect another."
    Pass,
    /// What the leader knows of all members, once a second.
    View(Vec<PeerView>),
}

impl<M: Machine> Message for Msg<M> {
    fn kind(&self) -> Kind {
        match self {
            Msg::Election(msg) => msg.kind(),
            Msg::Log(msg) => msg.kind(),
            Msg::Pass => Kind::protocol("PASS"),
            Msg::View(_) => Kind::overhead("VIEW"),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Msg::Log(msg) => msg.weight(),
            Msg::Election(_) | Msg::Pass => 64,
            Msg::View(peers) => 64 + peers.len() * 32,
        }
    }
}

impl<M: Machine> fmt::Display for Msg<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Election(msg) => msg.fmt(f),
            Msg::Log(msg) => msg.fmt(f),
            Msg::Pass | Msg::View(_) => f.write_str(self.kind().name),
        }
    }
}

/// What a member waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The election's.
    Election(any::Timer),
    /// The log's.
    Log(log::Timer),
    /// P4: the leader's next heartbeat.
    Silence,
    /// P1 and P2: something to happen at all.
    Patience,
    /// P6: the time to claim, or to claim again.
    HoldOff,
    /// P10: the end of the time for which it stays out of elections.
    Passed,
    /// P9: the election takes longer than a lease and a take-over.
    Probe,
}

type Cx<'a, M> = Context<'a, Member<M>>;

impl<M: Machine> Process for Member<M> {
    type Msg = Msg<M>;
    type Timer = Timer;
    type Input = Input;
    type Output = Event;
    type Durable = Durable<M>;
    type Config = Config;

    const ASSUMES: Assumptions = Log::<M>::ASSUMES;

    fn durable(&self) -> Durable<M> {
        self.log.durable()
    }

    fn on_start(&mut self, saved: Option<Durable<M>>, cx: &mut Cx<'_, M>) {
        cx.rule("P1");
        let me = cx.me();
        self.me = Some(me);
        let is_restart = saved.is_some();
        self.with_log(cx, |log, cx| log.on_start(saved, cx));
        self.count_voters(cx);
        self.is_stale = false;
        // Long enough to hear a leader, and not the same for all.
        let longest = cx.config().suspect_after.1;
        cx.set_timer_within(Timer::Patience, longest..longest + cx.config().log.leases.heartbeat);
        if self.abstains() {
            return;
        }
        if is_restart {
            self.start_electing(Reason::Recovered, cx);
        }
        let incarnation = is_restart.then(|| self.election_life());
        self.elect(cx, |election, cx| election.on_start(incarnation, cx));
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_, M>) {
        match input {
            Input::Elect if self.log.leads().is_none() => self.hold_election(Reason::Asked, cx),
            Input::Elect => {}
            Input::StepDown => match self.may_step_down(cx.here(), cx.config()) {
                Ok(to) => self.tell_log(log::Input::HandOver { to, appointed: true }, cx),
                Err(decline) => cx.emit(Event::Declined(decline)),
            },
            Input::Transfer(to) => match self.may_transfer(to, cx.here(), cx.config()) {
                Ok(()) => self.tell_log(log::Input::HandOver { to, appointed: true }, cx),
                Err(decline) => cx.emit(Event::Declined(decline)),
            },
            Input::Resign => {
                cx.rule("P7");
                self.leaving = true;
                self.resign(cx);
            }
            Input::Ended(member, incarnation) => self.know_ended(member, incarnation, cx),
            Input::Hint(peer, Hint::Removed) => {
                let removed = log::Msg::Removed { birth: self.log.birth() };
                self.with_log(cx, |log, cx| log.on_message(peer, removed, cx));
            }
            Input::Hint(peer, Hint::Refused | Hint::Closed) => {
                if matches!(self.stance, Stance::Following(leader, _) if leader == peer) {
                    let wait = self.detector.hint(cx.now(), cx.config());
                    cx.set_timer(Timer::Silence, wait);
                }
            }
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_, M>) {
        self.ended.remove(&from);
        match msg {
            Msg::Log(msg) => self.with_log(cx, |log, cx| log.on_message(from, msg, cx)),
            Msg::Pass => self.hear_pass(from, cx),
            Msg::View(peers) => self.take_view(from, peers, cx),
            Msg::Election(_) if self.abstains() => cx.rule("P7"),
            Msg::Election(_) if self.knows_better(cx.now(), cx.config()) => cx.rule("P3"),
            Msg::Election(msg) => {
                self.refresh_election(cx);
                if let Some(from) = self.ranks(cx.config()).rank(from) {
                    self.elect(cx, |election, cx| election.on_message(from, msg, cx));
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, M>) {
        match timer {
            Timer::Election(_) if self.abstains() || self.is_stale => {}
            Timer::Election(timer) => self.elect(cx, |election, cx| election.on_timer(timer, cx)),
            Timer::Log(timer) => {
                self.with_log(cx, |log, cx| log.on_timer(timer, cx));
                if timer == log::Timer::Heartbeat {
                    self.tell_view(cx);
                }
            }
            Timer::Silence => self.judge_silence(cx),
            Timer::Patience => self.lose_patience(cx),
            Timer::HoldOff => self.preempt(cx),
            Timer::Passed => self.come_back(cx),
            Timer::Probe if self.stance == Stance::Electing && !self.abstains() => {
                cx.rule("P9");
                self.tell_log(log::Input::Probe, cx);
            }
            Timer::Probe => {}
        }
    }
}

/// Stepping the parts.
impl<M: Machine> Member<M> {
    fn elect(
        &mut self,
        cx: &mut Cx<'_, M>,
        step: impl FnOnce(&mut AnyElection, &mut Context<'_, AnyElection>),
    ) {
        let (held, config) = (self.ranks.clone(), cx.config());
        let ranks = held.as_deref().unwrap_or(&config.ranks);
        let post = |to, msg| Some((ranks.member(to)?, Msg::Election(msg)));
        // P11: only voters are in it.
        let Some(here) = cx.here().within(ranks.group()) else { return };
        let here = here.renamed(ranks.ring());
        let outputs: Few<election::Output> =
            cx.part_among_some(&here, &config.election, post, Timer::Election, |cx| {
                step(&mut self.election, cx);
            });
        for output in outputs {
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

    fn with_log(
        &mut self,
        cx: &mut Cx<'_, M>,
        step: impl FnOnce(&mut Log<M>, &mut Context<'_, Log<M>>),
    ) {
        let config = &cx.config().log;
        let outputs: Few<Output> =
            cx.part(config, Msg::Log, Timer::Log, |cx| step(&mut self.log, cx));
        for output in outputs {
            self.hear_log(output, cx);
        }
        // Another campaign overtook this one: wait for its leader.
        let is_idle = self.log.leads().is_none() && !self.log.campaigns();
        if is_idle {
            self.waiting = None;
        }
        if self.stance == Stance::Coordinating && is_idle {
            match self.log.promise().1.filter(|candidate| *candidate != cx.me()) {
                Some(candidate) => self.expect_to_lead(candidate, cx),
                None => self.wait_patiently(Stance::Electing, cx),
            }
        }
    }

    fn tell_log(&mut self, input: log::Input, cx: &mut Cx<'_, M>) {
        self.with_log(cx, |log, cx| log.on_input(input, cx));
    }

    /// Proposes commands (G6). False if this member is not serving, or hands over.
    pub fn propose(&mut self, commands: Vec<M::Command>, cx: &mut Cx<'_, M>) -> bool {
        let mut accepted = false;
        self.with_log(cx, |log, cx| accepted = log.propose(commands, cx));
        accepted
    }

    /// The leader's commit index, as another message said it (G6).
    pub fn hear_commit(&mut self, from: NodeId, term: Term, commit: Index, cx: &mut Cx<'_, M>) {
        self.with_log(cx, |log, cx| log.hear_commit(from, term, commit, cx));
    }

    /// What came of committed commands (G6). A parent takes it after every step.
    pub fn take_committed(&mut self, now: Time) -> Vec<M::Outcome> {
        self.log.take_outcomes(now)
    }

    fn hear_log(&mut self, output: Output, cx: &mut Cx<'_, M>) {
        match output {
            Output::Asks(term) => cx.emit(Event::Campaigning(term)),
            Output::TooFew { heard, needed } => {
                self.support = Some(heard);
                cx.emit(Event::TooFew { heard, needed });
            }
            Output::Stuck { may_probe: false, .. } => self.pass(Passed::ForAWhile, cx),
            Output::Stuck { .. } | Output::Behind { .. } => self.pass(Passed::ForVotes, cx),
            Output::Waiting { members, left } => {
                self.waiting = Some((members.clone(), cx.now() + left));
                cx.emit(Event::Waiting { members, left });
            }
            Output::Leads(_) => self.begin_to_lead(cx),
            Output::Serving(term) => {
                self.won = Some(term);
                cx.emit(Event::Won(term));
            }
            Output::StoppedServing(term, loss) => self.lose(term, loss, cx),
            Output::Heartbeat { leader, term } => self.hear_leader(leader, term, cx),
            Output::Asked(from) => match self.stance {
                Stance::Electing => self.expect_to_lead(from, cx),
                Stance::Awaiting(other) if other == from => self.expect_to_lead(from, cx),
                _ => {}
            },
            Output::LeaderEnded(leader) => self.succeed(leader, cx),
            Output::Claimed(by) => self.consider_claim(by, cx),
            Output::Invited { .. } if self.abstains() => self.tell_log(log::Input::Desist, cx),
            Output::Invited { .. } | Output::HandingOver(_) => {}
            Output::HandOverFailed(to) => cx.emit(Event::HandOverFailed(to)),
            Output::Yielded { by, to, .. } => self.hear_yield(by, to, cx),
            Output::Filling { from, .. } => cx.emit(Event::Filling(from)),
            // P10: the reason to pass is gone.
            Output::CaughtUp(_) if self.passed.is_some() => {
                cx.cancel_timer(Timer::Passed);
                self.come_back(cx);
            }
            Output::CaughtUp(_) => {}
            Output::CouldWin => self.campaign_without_election(cx),
            Output::Recovered => cx.emit(Event::Recovered),
            Output::Joined(member) => cx.emit(Event::Joined(member)),
            Output::Diverged { leader, .. } => cx.emit(Event::Diverged(leader)),
            Output::Members { members, committed } => {
                self.count_voters(cx);
                cx.emit(Event::Members { members, committed });
            }
            Output::LeaseSettings(leases) => cx.emit(Event::LeaseSettings(leases)),
            Output::MustHandOver => self.leave_office(cx),
            Output::Removed => {
                cx.rule("P7");
                self.leaving = true;
                cx.emit(Event::Removed);
            }
            Output::Reading { member, sent, clock } => {
                if self.clocks.read(member, sent, clock, cx.now()) {
                    self.judge_clocks(cx);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
