//! What the unit tests of the elections share: one process, called by hand.

use super::link::{self, Arrived, Direction, Rider};
use super::rounds::Round;
use super::{Config, Input, Output};
use bellwether_core::{Context, Effect, Group, NodeId, Process, step};
use std::ops::Range;
use std::time::Duration;

/// The time-out of all tests.
pub(super) const T: Duration = Duration::from_millis(100);

/// A timer's delay of exactly this long, as effects show it.
pub(super) fn exactly(span: Duration) -> Range<Duration> {
    span..span
}

pub(super) fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

pub(super) fn ids(numbers: &[u32]) -> Vec<NodeId> {
    numbers.iter().copied().map(id).collect()
}

/// The round with this number; processes that have just started are in the first.
pub(super) fn round(number: u32) -> Round {
    let mut round = Round::default();
    (0..number).for_each(|_| {
        round.advance();
    });
    round
}

/// A link whose messages are not acknowledged: what a ring sends is then all that is seen.
pub(super) fn silent_link(direction: Direction) -> link::Config {
    link::Config { direction, timeout: T, acknowledge: false }
}

/// An election without detection, and without a coordinator at first.
pub(super) fn config() -> Config {
    Config {
        timeout: T,
        coordinator: None,
        detection: None,
        clockwise: silent_link(Direction::Clockwise),
        counter: silent_link(Direction::Counter),
    }
}

/// One process of the ring 1, 2, 3, 4, and what it is given.
pub(super) struct Fixture<P: Process> {
    group: Group,
    place: usize,
    pub(super) config: P::Config,
    pub(super) process: P,
}

impl<P: Process> Fixture<P>
where
    P::Output: PartialEq,
{
    /// A blank process, before its start.
    pub(super) fn blank(number: u32, config: P::Config) -> Self {
        let group = Group::numbered(4).unwrap();
        let place = group.place(id(number)).unwrap();
        Fixture { group, place, config, process: P::default() }
    }

    pub(super) fn call(
        &mut self,
        handler: impl FnOnce(&mut P, &mut Context<'_, P>),
    ) -> Vec<Effect<P>> {
        step(&self.group, self.place, &self.config, |cx| handler(&mut self.process, cx))
    }

    pub(super) fn start(&mut self, saved: Option<P::Durable>) -> Vec<Effect<P>> {
        self.call(|process, cx| process.on_start(saved, cx))
    }

    pub(super) fn input(&mut self, input: P::Input) -> Vec<Effect<P>> {
        self.call(|process, cx| process.on_input(input, cx))
    }

    pub(super) fn deliver(&mut self, from: u32, msg: P::Msg) -> Vec<Effect<P>> {
        self.call(|process, cx| process.on_message(id(from), msg, cx))
    }

    pub(super) fn fire(&mut self, timer: P::Timer) -> Vec<Effect<P>> {
        self.call(|process, cx| process.on_timer(timer, cx))
    }

    /// Crashes the process and starts it again with what was durable.
    pub(super) fn recover(&mut self) -> Vec<Effect<P>> {
        let saved = self.process.durable();
        self.process = P::default();
        self.start(Some(saved))
    }
}

impl<P: Process<Config = Config>> Fixture<P>
where
    P::Output: PartialEq,
{
    /// A process that has started for the first time.
    pub(super) fn at(number: u32) -> Self {
        Self::following(number, None)
    }

    /// The same, with a coordinator from the beginning.
    pub(super) fn following(number: u32, coordinator: Option<u32>) -> Self {
        let mut fixture =
            Self::blank(number, Config { coordinator: coordinator.map(id), ..config() });
        assert_eq!(fixture.start(None), [], "a first start is silent");
        fixture
    }
}

/// What a process on a ring did: effects without the link's own bookkeeping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Did<M> {
    Sent { to: NodeId, hops: u32, body: M },
    Emitted(Output),
}

/// A message to the process with this number, on the hop with this number.
pub(super) fn sent<M>(to: u32, hops: u32, body: M) -> Did<M> {
    Did::Sent { to: id(to), hops, body }
}

pub(super) fn started<M>() -> Did<M> {
    Did::Emitted(Output::Started)
}

pub(super) fn elected<M>(coordinator: u32) -> Did<M> {
    Did::Emitted(Output::Elected(id(coordinator)))
}

/// Reads the effects of a process that sends through silent links; `open` takes a message out of
/// what the process wraps its link's messages in.
pub(super) fn did<P, M>(
    effects: Vec<Effect<P>>,
    open: impl Fn(P::Msg) -> link::Msg<M>,
) -> Vec<Did<M>>
where
    P: Process<Output = Output>,
{
    let read = |effect| match effect {
        Effect::Send(to, msg) => match open(msg) {
            link::Msg::Carry { leg, body, .. } if !leg.again() => {
                Did::Sent { to, hops: leg.hops(), body }
            }
            _ => panic!("a silent link sends every message once and nothing else"),
        },
        Effect::Emit(output) => Did::Emitted(output),
        Effect::SetTimer(..) | Effect::CancelTimer(_) => panic!("a silent link waits for nothing"),
    };
    effects.into_iter().map(read).collect()
}

impl<R: Rider + Process<Input = Input, Output = Output>> Fixture<R> {
    /// A message comes round, on the hop with this number.
    pub(super) fn arrive(&mut self, hops: u32, body: R::Body) -> Vec<Did<R::Body>> {
        let arrived = Arrived { body, hops };
        did(self.call(|process, cx| process.on_arrival(arrived, cx)), |msg| msg)
    }

    /// The application asks for an election.
    pub(super) fn ask(&mut self) -> Vec<Did<R::Body>> {
        did(self.input(Input::Start), |msg| msg)
    }

    pub(super) fn come_back(&mut self) -> Vec<Did<R::Body>> {
        did(self.recover(), |msg| msg)
    }
}
