//! A process that does what its configuration says: for models of a few states.

use bellwether_check::{Channels, Faults, Model, Timing};
use bellwether_core::{
    Assumptions, Channels as AnyChannels, Context, Goal, Group, Kind, Message, NodeId, Process,
    Timing as AnyTiming,
};
use std::fmt;

/// What processes of the model throw to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Msg {
    /// Goes round.
    Token,
    /// Grants the wish.
    Grant,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol("MSG")
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// A process with a number of its own, which means what the test wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Toy {
    pub(crate) number: u8,
}

/// What it does.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) start: fn(&mut Toy, &mut Context<'_, Toy>),
    pub(crate) message: fn(&mut Toy, Msg, &mut Context<'_, Toy>),
    pub(crate) timer: fn(&mut Toy, &mut Context<'_, Toy>),
    pub(crate) input: fn(&mut Toy, &mut Context<'_, Toy>),
}

impl Process for Toy {
    type Msg = Msg;
    type Timer = ();
    type Input = ();
    type Output = u8;
    type Durable = ();
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions {
        timing: AnyTiming::Asynchronous,
        channels: AnyChannels::Any,
        loss: false,
        duplication: false,
        crashes: false,
        recoveries: false,
    };

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Context<'_, Self>) {
        (cx.config().start)(self, cx);
    }

    fn on_message(&mut self, _: NodeId, msg: Msg, cx: &mut Context<'_, Self>) {
        (cx.config().message)(self, msg, cx);
    }

    fn on_input(&mut self, (): (), cx: &mut Context<'_, Self>) {
        (cx.config().input)(self, cx);
    }

    fn on_timer(&mut self, (): (), cx: &mut Context<'_, Self>) {
        (cx.config().timer)(self, cx);
    }
}

/// No process does anything but pass on what it gets.
impl Default for Config {
    fn default() -> Self {
        Config {
            start: |_, _| (),
            message: |_, msg, cx| pass_on(msg, cx),
            timer: |_, _| (),
            input: |_, _| (),
        }
    }
}

/// Throws something to the next on the ring.
pub(crate) fn pass_on(msg: Msg, cx: &mut Context<'_, Toy>) {
    cx.send(cx.group().after(cx.place(), 1), msg);
}

/// A few processes in a world without time and faults, whose goal is that a process's number is
/// odd.
pub(crate) fn model(nodes: u32, config: Config) -> Model<Toy> {
    Model {
        group: Group::numbered(nodes).expect("ids 1 to n form a group"),
        config,
        timing: Timing::Asynchronous,
        channels: Channels::Reorder,
        faults: Faults::default(),
        inputs: Vec::new(),
        sides: Vec::new(),
        invariants: Vec::new(),
        goal: Some(
            Goal::<Toy>::new("granted", "the wish is granted", |live| {
                live.map(|(_, toy)| toy.number).any(|number| number % 2 == 1)
            })
            .at_rest(false),
        ),
        referee: None,
        reads_clock: false,
        clocks: Vec::new(),
        horizon: None,
        aging: None,
        spent: None,
    }
}
