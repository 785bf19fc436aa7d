//! Processes that may die in the middle of what they do.
//!
//! The checker crashes processes between two steps. A real one may crash when it has sent some of
//! the messages of a step and not the others. Here a process that may die puts what it sends into
//! a queue for each receiver, and the queues are emptied one message at a time; what is left in
//! them when it dies is lost. So whatever it has done before, each receiver has got a beginning of
//! what it was sent.

use bellwether_algorithms::referee::{Breach, Fact, Referee};
use bellwether_core::{
    AnyConfig, AnyInput, AnyMsg, AnyOutput, AnyProcess, AnyTimer, Assumptions, Call, Context,
    Effects, Kind, Message, NodeId, Process, Time,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// A process that dies if it is asked to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mortal {
    Alive(Life),
    Dead {
        /// What [`Config::leaves`] says of it.
        left: bool,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Life {
    pub(crate) process: AnyProcess,
    pub(crate) timers: BTreeSet<AnyTimer>,
    unsent: BTreeMap<NodeId, VecDeque<AnyMsg>>,
}

impl Default for Mortal {
    fn default() -> Self {
        Mortal::Alive(Life::default())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) process: AnyConfig,
    /// Whose messages wait to be sent.
    pub(crate) slow: Vec<NodeId>,
    /// Who finds out that a process has died, when nothing is on the way any more, and what it is
    /// asked for then.
    pub(crate) heir: Option<(NodeId, AnyInput)>,
    /// Something to know of a process at the moment of its death.
    pub(crate) leaves: fn(&Life) -> bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Msg {
    Process(AnyMsg),
    /// "I have died."
    Gone,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        match self {
            Msg::Process(msg) => msg.kind(),
            Msg::Gone => Kind::overhead("GONE"),
        }
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timer {
    Process(AnyTimer),
    /// The next message to this process leaves.
    Send(NodeId),
    /// A process's death becomes known.
    Learn,
}

#[derive(Clone, Debug)]
pub(crate) enum Input {
    Process(AnyInput),
    Die,
}

#[derive(Clone, Debug)]
pub(crate) enum Output {
    Process(AnyOutput),
    Died,
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

type Cx<'a> = Context<'a, Mortal>;

/// The tick of the world in which deaths become known.
pub(crate) const T: Duration = Duration::from_millis(100);

impl Process for Mortal {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Input;
    type Output = Output;
    type Durable = ();
    type Config = Config;

    const ASSUMES: Assumptions = AnyProcess::ASSUMES;

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_>) {
        self.step(Call::Start(None), cx);
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Process(input) => self.step(Call::Input(input), cx),
            Input::Die => self.die(cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Process(msg) => self.step(Call::Message(from, msg), cx),
            Msg::Gone => cx.set_timer(Timer::Learn, T),
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Process(timer) => {
                if let Mortal::Alive(life) = self {
                    life.timers.remove(&timer);
                }
                self.step(Call::Timer(timer), cx);
            }
            Timer::Send(to) => self.send(to, cx),
            Timer::Learn => {
                if let Some((_, input)) = &cx.config().heir {
                    self.step(Call::Input(input.clone()), cx);
                }
            }
        }
    }
}

impl Mortal {
    /// The process, if it lives.
    pub(crate) fn process(&self) -> Option<&AnyProcess> {
        match self {
            Mortal::Alive(life) => Some(&life.process),
            Mortal::Dead { .. } => None,
        }
    }

    fn step(&mut self, call: Call<AnyProcess>, cx: &mut Cx<'_>) {
        let Mortal::Alive(Life { process, timers, unsent }) = self else { return };
        let (here, config) = (*cx.here(), cx.config());
        let slow = config.slow.contains(&cx.me());
        let mut hands = Hands { timers, unsent: slow.then_some(unsent), cx };
        call.make(process, &mut Context::new(&here, &config.process, &mut hands));
    }

    fn send(&mut self, to: NodeId, cx: &mut Cx<'_>) {
        let Mortal::Alive(Life { unsent, .. }) = self else { return };
        let Some(queue) = unsent.get_mut(&to) else { return };
        if let Some(msg) = queue.pop_front() {
            cx.send(to, Msg::Process(msg));
        }
        if queue.is_empty() {
            unsent.remove(&to);
        } else {
            cx.set_timer(Timer::Send(to), Duration::ZERO);
        }
    }

    fn die(&mut self, cx: &mut Cx<'_>) {
        let Mortal::Alive(life) = self else { return };
        let left = (cx.config().leaves)(life);
        life.timers.iter().for_each(|timer| cx.cancel_timer(Timer::Process(timer.clone())));
        life.unsent.keys().for_each(|to| cx.cancel_timer(Timer::Send(*to)));
        cx.emit(Output::Died);
        if let Some((heir, _)) = cx.config().heir {
            cx.send(heir, Msg::Gone);
        }
        *self = Mortal::Dead { left };
    }
}

/// Carries out what the process inside wants.
struct Hands<'h, 'a> {
    timers: &'h mut BTreeSet<AnyTimer>,
    /// Where messages wait, if they do.
    unsent: Option<&'h mut BTreeMap<NodeId, VecDeque<AnyMsg>>>,
    cx: &'h mut Cx<'a>,
}

impl Effects<AnyProcess> for Hands<'_, '_> {
    fn send(&mut self, to: NodeId, msg: AnyMsg) {
        match &mut self.unsent {
            Some(unsent) => {
                unsent.entry(to).or_default().push_back(msg);
                self.cx.set_timer(Timer::Send(to), Duration::ZERO);
            }
            None => self.cx.send(to, Msg::Process(msg)),
        }
    }

    fn set_timer(&mut self, timer: AnyTimer, after: Range<Duration>) {
        self.timers.insert(timer.clone());
        self.cx.set_timer_within(Timer::Process(timer), after);
    }

    fn cancel_timer(&mut self, timer: AnyTimer) {
        self.timers.remove(&timer);
        self.cx.cancel_timer(Timer::Process(timer));
    }

    fn emit(&mut self, output: AnyOutput) {
        self.cx.emit(Output::Process(output));
    }

    fn rule(&mut self, _: &'static str) {}
}

/// Tells another referee who has died.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mourner {
    pub(crate) referee: Box<dyn Referee<AnyProcess>>,
    pub(crate) dead: BTreeSet<NodeId>,
}

impl Referee<AnyProcess> for Mourner {
    fn hears(&mut self, at: Time, who: NodeId, output: &AnyOutput) -> Result<(), Breach> {
        match output.downcast_ref() {
            Some(Output::Process(output)) => self.referee.hears(at, who, output),
            Some(Output::Died) => {
                self.dead.insert(who);
                self.referee.crashed(at, who);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn closes(&mut self, at: Time, live: &[NodeId]) -> Result<(), Breach> {
        let live: Vec<NodeId> = live.iter().copied().filter(|id| !self.dead.contains(id)).collect();
        self.referee.closes(at, &live)
    }

    fn claims(&self) -> Vec<&'static str> {
        self.referee.claims()
    }

    fn facts(&self) -> Vec<Fact> {
        self.referee.facts()
    }
}
