//! What the tests of several modules share.

use crate::{Choices, Config, Ranks};
use bellwether_core::{Context, Effect, Group, Here, NodeId, Process, Time};
use std::ops::Range;
use std::time::Duration;

/// Five equal members with a bully election, heartbeats of 100 ms and leases of half a second.
pub(crate) fn config() -> Config {
    let group = Group::numbered(5).unwrap();
    let config = Config::new(&Choices::default(), Ranks::equal(&group), &group).unwrap();
    let suspect_after = (ms(300), ms(400));
    Config { suspect_after, ..config }
}

pub(crate) fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

pub(crate) fn ms(span: u64) -> Duration {
    Duration::from_millis(span)
}

/// A timer's delay of exactly this long, as effects show it.
pub(crate) fn exactly(span: Duration) -> Range<Duration> {
    span..span
}

/// One process of the ring 1 to 5, called by hand, whose clock stands still unless it is moved.
pub(crate) struct Fixture<P: Process> {
    group: Group,
    place: usize,
    pub(crate) config: P::Config,
    pub(crate) process: P,
    pub(crate) now: Time,
}

impl<P: Process<Config = Config>> Fixture<P>
where
    P::Output: PartialEq,
{
    /// A process that has started for the first time.
    pub(crate) fn at(number: u32) -> Self {
        let mut fixture = Self::blank(number, config());
        fixture.start(None);
        fixture
    }
}

impl<P: Process> Fixture<P>
where
    P::Output: PartialEq,
{
    /// A blank process, before its start.
    pub(crate) fn blank(number: u32, config: P::Config) -> Self {
        let group = Group::numbered(5).unwrap();
        let place = group.place(id(number)).unwrap();
        let now = Time::from_micros(1_000_000_000);
        Fixture { group, place, config, process: P::default(), now }
    }

    pub(crate) fn here(&self) -> Here<'_> {
        Here::new(&self.group, self.place, self.now, false)
    }

    pub(crate) fn call(
        &mut self,
        handler: impl FnOnce(&mut P, &mut Context<'_, P>),
    ) -> Vec<Effect<P>> {
        let mut effects = Vec::new();
        let here = Here::new(&self.group, self.place, self.now, false);
        handler(&mut self.process, &mut Context::new(&here, &self.config, &mut effects));
        effects
    }

    pub(crate) fn start(&mut self, saved: Option<P::Durable>) -> Vec<Effect<P>> {
        self.call(|process, cx| process.on_start(saved, cx))
    }

    pub(crate) fn input(&mut self, input: P::Input) -> Vec<Effect<P>> {
        self.call(|process, cx| process.on_input(input, cx))
    }

    pub(crate) fn deliver(&mut self, from: u32, msg: P::Msg) -> Vec<Effect<P>> {
        self.call(|process, cx| process.on_message(id(from), msg, cx))
    }

    pub(crate) fn fire(&mut self, timer: P::Timer) -> Vec<Effect<P>> {
        self.call(|process, cx| process.on_timer(timer, cx))
    }

    /// Crashes the process and starts it again with what was durable.
    pub(crate) fn recover(&mut self) -> Vec<Effect<P>> {
        let saved = self.process.durable();
        self.process = P::default();
        self.start(Some(saved))
    }

    /// The clock moves on.
    pub(crate) fn pass(&mut self, span: Duration) {
        self.now = self.now + span;
    }
}

/// What was sent, and to whom.
pub(crate) fn sent<P: Process>(effects: Vec<Effect<P>>) -> Vec<(NodeId, P::Msg)>
where
    P::Output: PartialEq,
{
    let sent = |effect| match effect {
        Effect::Send(to, msg) => Some((to, msg)),
        _ => None,
    };
    effects.into_iter().filter_map(sent).collect()
}

/// What was said.
pub(crate) fn said<P: Process>(effects: Vec<Effect<P>>) -> Vec<P::Output>
where
    P::Output: PartialEq,
{
    let said = |effect| match effect {
        Effect::Emit(output) => Some(output),
        _ => None,
    };
    effects.into_iter().filter_map(said).collect()
}
