//! A log with the least of a member around it: a member that hears nothing campaigns, a
//! serving leader proposes commands, claims are granted.

use crate::machine::List;
use bellwether_core::{Assumptions, Context, Message, NodeId, Process};
use bellwether_log::{
    self as log, Change, Completeness, Durable, LeaseSettings, Log, Members, Msg, Output, Term,
};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) log: log::Config,
    /// What leaders do wrong.
    pub(crate) flaw: Option<Flaw>,
    /// The longest lease that the storm asks for.
    pub(crate) longest_lease: Duration,
}

/// What a leader could do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A member that is added votes at once (against G13).
    AddsVoters,
    /// A member that is removed takes another one with it (against G12).
    RemovesTwo,
    /// A leader counts every lease as long as its settings say (against G16).
    CountsByItsSettings,
    /// A follower is bound for as long as its own settings say, and says that it is for what was asked (against G7).
    BindsByItsSettings,
    /// After a restart a member waits for the lease of its configuration (against G9).
    ForgetsWhatItGranted,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) log: Log<List>,
    /// Serving when it was last looked at, and the term.
    pub(crate) serving: Option<Term>,
    proposed: u64,
    sieve: Option<Sieve>,
    /// Its data folder will be empty at the next start.
    wiped: bool,
    /// It was removed, and has begun again with an empty folder: it waits to be added.
    joins: bool,
}

/// Messages that do not reach a member: of this kind, or larger than this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sieve {
    Kind(&'static str),
    Above(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    Log(log::Timer),
    Silence,
    Work,
    /// An operator gives it an empty folder.
    Rejoin,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    Log(log::Input),
    /// Hand over to the next on the ring.
    HandOver,
    Resign,
    Sieve(Sieve),
    Unsieve,
    Wipe,
    /// If this member leads: add a member, replace one by another, remove one.
    Add(u32),
    AddLearner(u32),
    Replace(u32, u32),
    Remove(u32),
    Promote(u32),
    /// If this member leads: leases last this many milliseconds (G16).
    Leases(u64),
}

#[derive(Clone, Debug)]
pub(crate) enum Told {
    Log(Output),
    /// A serving leader told clients that this command is done.
    Done(u64),
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

type Cx<'a> = Context<'a, Node>;

impl Node {
    fn step(
        &mut self,
        cx: &mut Cx<'_>,
        handler: impl FnOnce(&mut Log<List>, &mut Context<'_, Log<List>>),
    ) {
        let joiner;
        let config = match self.joins {
            false => &cx.config().log,
            true => {
                joiner = log::Config { founders: Some(Arc::default()), ..cx.config().log.clone() };
                &joiner
            }
        };
        let log = &mut self.log;
        let told = cx.part(config, |msg| msg, Timer::Log, |cx| handler(log, cx));
        for output in told {
            self.react(output, cx);
        }
        let now = cx.now();
        for done in self.log.take_outcomes(now) {
            cx.emit(Told::Done(done));
        }
        self.serving = self.log.serving(now);
    }

    fn react(&mut self, output: Output, cx: &mut Cx<'_>) {
        let (heartbeat, lease) = (cx.config().log.leases.heartbeat, cx.config().log.leases.lease);
        cx.emit(Told::Log(output.clone()));
        match output {
            Output::Heartbeat { .. } | Output::Asked(_) | Output::Waiting { .. } => self.listen(cx),
            Output::Stuck { .. } | Output::Behind { .. } => {
                cx.set_timer_within(Timer::Silence, heartbeat * 2..lease * 2);
            }
            Output::Yielded { to: None, .. } => {
                cx.set_timer_within(Timer::Silence, heartbeat / 10..heartbeat);
            }
            Output::Claimed(from) => {
                let input = log::Input::HandOver { to: from, appointed: false };
                self.step(cx, |log, cx| log.on_input(input, cx));
            }
            Output::Removed => cx.set_timer(Timer::Rejoin, lease),
            Output::MustHandOver => {
                let (now, config) = (cx.now(), &cx.config().log);
                let fits = |id: &NodeId| self.log.fits(*id, now, config).is_ok();
                if let Some(to) = cx.others().find(fits) {
                    let input = log::Input::HandOver { to, appointed: false };
                    self.step(cx, |log, cx| log.on_input(input, cx));
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        let flaw = cx.config().flaw;
        self.step(cx, |log, cx| match (flaw, change) {
            (Some(Flaw::AddsVoters), Change::Add { id, .. }) if log.leads().is_some() => {
                let list = log.members(cx.config()).cloned();
                let mut list = list.map_or_else(|| Members::all(cx.group()), |l| (*l).clone());
                list.version += 1;
                list.seats.insert(*id, log::Seat::voter(""));
                log.plant_members(list, cx);
            }
            (Some(Flaw::RemovesTwo), Change::Remove(id)) if log.leads().is_some() => {
                let Some(mut list) = log.members(cx.config()).map(|list| (**list).clone()) else {
                    return;
                };
                list.version += 1;
                list.seats.remove(id);
                let another = list.voters().find(|other| *other != cx.me());
                another.into_iter().for_each(|other| drop(list.seats.remove(&other)));
                list.seats.insert(cx.me(), log::Seat::voter(""));
                log.plant_members(list, cx);
            }
            _ => _ = log.change(change, false, cx),
        });
    }

    fn listen(&self, cx: &mut Cx<'_>) {
        let lease = cx.config().log.leases.lease;
        cx.set_timer_within(Timer::Silence, lease * 7 / 10..lease * 14 / 10);
    }

    fn next(&self, cx: &Cx<'_>) -> NodeId {
        cx.group().after(cx.place(), 1)
    }
}

impl Process for Node {
    type Msg = Msg<List>;
    type Timer = Timer;
    type Input = Input;
    type Output = Told;
    type Durable = (Durable<List>, bool, bool);
    type Config = Config;

    const ASSUMES: Assumptions = Log::<List>::ASSUMES;

    fn durable(&self) -> Self::Durable {
        (self.log.durable(), self.wiped, self.joins)
    }

    fn on_start(&mut self, saved: Option<Self::Durable>, cx: &mut Cx<'_>) {
        self.joins = saved.as_ref().is_some_and(|(.., joins)| *joins);
        let saved = saved.filter(|(_, wiped, _)| !wiped).map(|(saved, ..)| saved);
        let forgets = cx.config().flaw == Some(Flaw::ForgetsWhatItGranted);
        let saved = saved.map(|mut saved| {
            if forgets {
                saved.hard.granted = Duration::ZERO;
            }
            saved
        });
        self.step(cx, |log, cx| log.on_start(saved, cx));
        self.listen(cx);
        cx.set_timer(Timer::Work, cx.config().log.leases.heartbeat / 2);
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Log(input) => self.step(cx, |log, cx| log.on_input(input, cx)),
            Input::HandOver => {
                let input = log::Input::HandOver { to: self.next(cx), appointed: true };
                self.step(cx, |log, cx| log.on_input(input, cx));
            }
            Input::Resign => {
                let input = log::Input::Resign { to: Some(self.next(cx)) };
                self.step(cx, |log, cx| log.on_input(input, cx));
            }
            Input::Sieve(sieve) => self.sieve = Some(sieve),
            Input::Unsieve => self.sieve = None,
            Input::Wipe => self.wiped = true,
            Input::Add(number) => self.change(&add(number, false, None), cx),
            Input::AddLearner(number) => self.change(&add(number, true, None), cx),
            Input::Replace(old, new) => self.change(&add(new, false, Some(old)), cx),
            Input::Remove(number) => self.change(&Change::Remove(NodeId::new(number)), cx),
            Input::Leases(ms) => {
                let lease = Duration::from_millis(ms);
                self.step(cx, |log, cx| {
                    let leases =
                        LeaseSettings { lease, heartbeat: lease / 5, ..log.leases(cx.config()) };
                    _ = log.change_leases(leases, cx);
                });
            }
            Input::Promote(number) => self.change(&Change::Promote(NodeId::new(number)), cx),
        }
    }

    fn on_message(&mut self, from: NodeId, mut msg: Msg<List>, cx: &mut Cx<'_>) {
        let own = self.log.leases(&cx.config().log).lease_us();
        match (cx.config().flaw, &mut msg) {
            (Some(Flaw::BindsByItsSettings), Msg::Append { beat, .. }) => beat.lease_us = own,
            (Some(Flaw::BindsByItsSettings | Flaw::CountsByItsSettings), Msg::Ack(ack)) => {
                ack.lease_us = own;
            }
            _ => {}
        }
        let is_stopped = match self.sieve {
            None => false,
            Some(Sieve::Kind(kind)) => msg.kind().name == kind,
            Some(Sieve::Above(weight)) => msg.weight() > weight,
        };
        if !is_stopped {
            self.step(cx, |log, cx| log.on_message(from, msg, cx));
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Log(timer) => self.step(cx, |log, cx| log.on_timer(timer, cx)),
            Timer::Silence => {
                self.listen(cx);
                if self.log.leads().is_none() && !self.log.campaigns() {
                    let input = log::Input::Campaign { claim: false, appointed: false };
                    self.step(cx, |log, cx| log.on_input(input, cx));
                }
            }
            Timer::Rejoin => {
                (self.log, self.joins) = (Log::default(), true);
                self.step(cx, |log, cx| log.on_start(None, cx));
            }
            Timer::Work => {
                self.proposed += 1;
                let me = u64::from(cx.me().number());
                let command = cx.now().as_micros() << 20 | me << 16 | self.proposed & 0xffff;
                self.step(cx, |log, cx| _ = log.propose(vec![command], cx));
                let heartbeat = cx.config().log.leases.heartbeat;
                cx.set_timer_within(Timer::Work, heartbeat / 8..heartbeat);
            }
        }
    }
}

fn add(number: u32, learner: bool, replaces: Option<u32>) -> Change {
    let address: Arc<str> = format!("host-{number}").into();
    Change::Add { id: NodeId::new(number), address, learner, replaces: replaces.map(NodeId::new) }
}

impl Node {
    /// Whether it has all that it ever acknowledged.
    pub(crate) fn remembers(&self) -> bool {
        self.log.completeness() == Completeness::Whole
    }
}

/// The longest that a run may take from its last fault to a serving leader that works and that all
/// follow.
pub(crate) fn bound(config: &Config) -> Duration {
    config.longest_lease * 14
}
