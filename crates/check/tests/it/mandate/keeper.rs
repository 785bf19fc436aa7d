//! The mandate with a state to replicate: the smallest one in which nothing is forgotten that was done.

use super::probe::Scope;
use bellwether_core::{Assumptions, Context, Effect, NodeId, Process};
use bellwether_member::mandate::{
    Durable, Epoch, Input, Mandate, Msg, Replica, Said, Timer, Version,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What was done, in order. Commands are numbers, each given once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Log(pub(crate) Vec<u8>);

impl Replica for Log {
    type Command = u8;
    type Outcome = u8;

    fn apply(&mut self, command: u8) -> Vec<u8> {
        self.0.push(command);
        vec![command]
    }

    /// For ever: whoever was told of it never stops to rely on it.
    fn reliance(&self) -> Duration {
        if self.0.is_empty() { Duration::ZERO } else { Duration::from_millis(u64::MAX) }
    }
}

/// What is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    pub(crate) scope: Scope,
    /// What is done wrong.
    pub(crate) slip: Option<Slip>,
    /// Whether it is the mandate itself: with a clock that goes on, and timers that are set.
    pub(crate) bare: bool,
}

/// What a member could do wrong about the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slip {
    /// It tells what comes of a change at once (against M13).
    TellsAtOnce,
    /// It promises without its copy, though that is newer (against M4).
    KeepsItsCopy,
    /// It votes again after a restart as if nobody relied on what it has forgotten (against M8).
    ForgetsReliance,
    /// It takes any copy for new after a restart, also one that was sent before it (against M8).
    TakesAnyCopy,
    /// It says that it has what it was sent, though something before that is missing (against M12).
    SkipsWhatItMissed,
}

/// What is wanted of a keeper.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wish {
    Mandate(Input),
    /// A change.
    Do(u8),
}

/// What a keeper tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Its copy is now this.
    Has(Version, Log),
    /// What came of a change under the mandate of this epoch.
    Done(u8, Epoch),
    /// It holds the mandate of this epoch.
    Won(Epoch),
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A mandate and its copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Keeper {
    pub(crate) mandate: Mandate<Log>,
}

type Cx<'a> = Context<'a, Keeper>;
type Step<'s> = dyn FnOnce(&mut Mandate<Log>, &mut Context<'_, Mandate<Log>>) + 's;

impl Keeper {
    fn call(&mut self, cx: &mut Cx<'_>, step: Box<Step<'_>>) {
        let Desk { scope: Scope { config, epochs, timers, .. }, slip, bare } = cx.config();
        if !bare {
            for timer in *timers {
                cx.set_timer(*timer, Duration::ZERO);
            }
        }
        let mut after = self.mandate.clone();
        let mut effects: Vec<Effect<Mandate<Log>>> = Vec::new();
        step(&mut after, &mut Context::new(cx.here(), config, &mut effects));
        let beyond = |said: &Said| matches!(said, Said::Asks(epoch) if epoch.number() > *epochs);
        if effects.iter().any(|effect| matches!(effect, Effect::Emit(said) if beyond(said))) {
            return;
        }
        let done = after.take_done();
        let before = std::mem::replace(&mut self.mandate, after);
        if !bare {
            self.mandate.forget_what_decides_nothing();
            self.mandate.age(Duration::ZERO, cx.now(), config);
        }
        self.tell_of_its_copy(&before, *slip == Some(Slip::TellsAtOnce), cx);
        for effect in effects {
            match effect {
                Effect::Send(to, msg) => cx.send(to, sent(msg, *slip, *bare)),
                Effect::SetTimer(timer, range) if *bare => cx.set_timer_within(timer, range),
                Effect::CancelTimer(timer) if *bare => cx.cancel_timer(timer),
                Effect::Emit(Said::Won(epoch)) => cx.emit(Told::Won(epoch)),
                Effect::SetTimer(..) | Effect::CancelTimer(_) | Effect::Emit(_) => {}
            }
        }
        if let Some(epoch) = self.mandate.leading().filter(|_| *slip != Some(Slip::TellsAtOnce)) {
            done.into_iter().for_each(|command| cx.emit(Told::Done(command, epoch)));
        }
    }

    /// Tells what has changed, and what came of it if it does not wait.
    fn tell_of_its_copy(&self, before: &Mandate<Log>, at_once: bool, cx: &mut Cx<'_>) {
        let Some((version, log)) = self.mandate.copy().filter(|now| before.copy() != Some(*now))
        else {
            return;
        };
        cx.emit(Told::Has(version, log.clone()));
        let known = before.copy().map_or(0, |(_, log)| log.0.len());
        if let Some(epoch) = self.mandate.leading().filter(|_| at_once && version.sequence > 0) {
            log.0.iter().skip(known).for_each(|command| cx.emit(Told::Done(*command, epoch)));
        }
    }
}

/// A message as it leaves.
fn sent(mut msg: Msg<Log>, slip: Option<Slip>, bare: bool) -> Msg<Log> {
    if !bare {
        msg.forget_what_decides_nothing();
    }
    if let (Some(Slip::KeepsItsCopy), Msg::Promise { copy, .. }) = (slip, &mut msg) {
        *copy = None;
    }
    msg
}

impl Process for Keeper {
    type Msg = Msg<Log>;
    type Timer = Timer;
    type Input = Wish;
    type Output = Told;
    type Durable = Durable;
    type Config = Desk;

    const ASSUMES: Assumptions = <Mandate<Log> as Process>::ASSUMES;

    fn durable(&self) -> Durable {
        self.mandate.durable()
    }

    fn on_start(&mut self, mut saved: Option<Durable>, cx: &mut Cx<'_>) {
        if cx.config().slip == Some(Slip::ForgetsReliance)
            && let Some(saved) = &mut saved
        {
            saved.reliance_ms = 0;
        }
        self.call(cx, Box::new(|mandate, cx| mandate.on_start(saved, cx)));
    }

    fn on_input(&mut self, wish: Wish, cx: &mut Cx<'_>) {
        self.call(
            cx,
            Box::new(|mandate, cx| match wish {
                Wish::Mandate(input) => mandate.on_input(input, cx),
                Wish::Do(command) => drop(mandate.propose(vec![command], cx)),
            }),
        );
    }

    fn on_message(&mut self, from: NodeId, mut msg: Msg<Log>, cx: &mut Cx<'_>) {
        match (cx.config().slip, &mut msg) {
            (Some(Slip::TakesAnyCopy), Msg::Spread { start, .. }) => {
                *start = Some(self.mandate.promises().incarnation);
            }
            (Some(Slip::SkipsWhatItMissed), Msg::Append { after, .. }) => {
                let held = self.mandate.copy().map_or(0, |(version, _)| version.sequence);
                *after = held.min(*after);
            }
            _ => {}
        }
        self.call(cx, Box::new(|mandate, cx| mandate.on_message(from, msg, cx)));
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        self.call(cx, Box::new(|mandate, cx| mandate.on_timer(timer, cx)));
    }
}
