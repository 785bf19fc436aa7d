//! What the tests of the family share: one process, called by hand, whose clock is in our hands.

use super::Output;
use crate::definition::{Algorithm, Settings};
use bellwether_core::{Context, Effect, Group, Here, NodeId, Process, Time};
use std::time::Duration;

/// The time-out of all tests.
pub(super) const T: Duration = Duration::from_millis(100);

pub(super) fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What the clocks of all machines show when a test begins.
pub(super) const START: Time = Time::from_micros(3_600_000_000);

/// Settings with these options.
pub(super) fn settings(options: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::new(T);
    for (name, value) in options {
        settings.options.set(name, value);
    }
    settings
}

/// One process of 1..n, and what it is given.
pub(super) struct Fixture<P: Process> {
    group: Group,
    place: usize,
    pub(super) config: P::Config,
    pub(super) process: P,
    /// What the clock of its machine shows.
    pub(super) now: Time,
}

impl<A: Algorithm + Process<Output = Output>> Fixture<A> {
    /// A process that has just started.
    pub(super) fn new(number: u32, nodes: u32, settings: &Settings) -> Self {
        let group = Group::numbered(nodes).unwrap();
        let definition = A::definition();
        assert_eq!(definition.check(settings, &group), Ok(()));
        let config = definition.config(settings, &group);
        let place = group.place(id(number)).unwrap();
        let mut fixture = Fixture { group, place, config, process: A::default(), now: START };
        fixture.call(|process, cx| process.on_start(None, cx));
        fixture
    }

    pub(super) fn call(
        &mut self,
        handler: impl FnOnce(&mut A, &mut Context<'_, A>),
    ) -> Vec<Effect<A>> {
        let mut effects = Vec::new();
        let here = Here::new(&self.group, self.place, self.now, false);
        handler(&mut self.process, &mut Context::new(&here, &self.config, &mut effects));
        effects
    }

    /// Time passes.
    pub(super) fn after(&mut self, span: Duration) -> &mut Self {
        self.now = self.now + span;
        self
    }

    pub(super) fn deliver(&mut self, from: u32, msg: A::Msg) -> Vec<Effect<A>> {
        self.call(|process, cx| process.on_message(id(from), msg, cx))
    }

    pub(super) fn fire(&mut self, timer: A::Timer) -> Vec<Effect<A>> {
        self.call(|process, cx| process.on_timer(timer, cx))
    }

    /// Crashes the process and starts it again with what was durable.
    pub(super) fn recover(&mut self) -> Vec<Effect<A>> {
        let saved = self.process.durable();
        self.process = A::default();
        self.call(|process, cx| process.on_start(Some(saved), cx))
    }

    /// What the clock of the process shows.
    pub(super) fn shown(&self) -> Time {
        (A::definition().clock_reader())(&self.process, self.now).unwrap()
    }
}

/// What was said among effects.
pub(super) fn said<A: Process<Output = Output>>(effects: &[Effect<A>]) -> Vec<Output> {
    let said = |effect: &Effect<A>| match effect {
        Effect::Emit(output) => Some(output.clone()),
        _ => None,
    };
    effects.iter().filter_map(said).collect()
}

/// What was sent among effects.
pub(super) fn sent<A: Process<Output = Output>>(effects: &[Effect<A>]) -> Vec<(NodeId, A::Msg)> {
    let sent = |effect: &Effect<A>| match effect {
        Effect::Send(to, msg) => Some((*to, msg.clone())),
        _ => None,
    };
    effects.iter().filter_map(sent).collect()
}
