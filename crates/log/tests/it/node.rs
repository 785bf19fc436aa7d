//! A log with the least of a member around it: a member that hears nothing campaigns, a
//! serving leader proposes commands, claims are granted.

use crate::machine::List;
use bellwether_core::{Assumptions, Context, Message, NodeId, Process};
use bellwether_log::{self as log, Completeness, Durable, Log, Msg, Output, Term};
use std::time::Duration;

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) log: log::Config,
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
        let config = &cx.config().log;
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
        let (heartbeat, lease) = (cx.config().log.heartbeat, cx.config().log.lease);
        cx.emit(Told::Log(output.clone()));
        match output {
            Output::Heard { .. } | Output::Asked(_) | Output::Waiting { .. } => self.listen(cx),
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
            _ => {}
        }
    }

    fn listen(&self, cx: &mut Cx<'_>) {
        let lease = cx.config().log.lease;
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
    type Durable = (Durable<List>, bool);
    type Config = Config;

    const ASSUMES: Assumptions = Log::<List>::ASSUMES;

    fn durable(&self) -> Self::Durable {
        (self.log.durable(), self.wiped)
    }

    fn on_start(&mut self, saved: Option<Self::Durable>, cx: &mut Cx<'_>) {
        let saved = saved.filter(|(_, wiped)| !wiped).map(|(saved, _)| saved);
        self.step(cx, |log, cx| log.on_start(saved, cx));
        self.listen(cx);
        cx.set_timer(Timer::Work, cx.config().log.heartbeat / 2);
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
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg<List>, cx: &mut Cx<'_>) {
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
            Timer::Work => {
                self.proposed += 1;
                let me = u64::from(cx.me().number());
                let command = cx.now().as_micros() << 20 | me << 16 | self.proposed & 0xffff;
                self.step(cx, |log, cx| _ = log.propose(vec![command], cx));
                let heartbeat = cx.config().log.heartbeat;
                cx.set_timer_within(Timer::Work, heartbeat / 8..heartbeat);
            }
        }
    }
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
    config.log.lease * 14
}
