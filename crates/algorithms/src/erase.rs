//! Definitions of erased processes.

use crate::definition::{Definition, Of};
use crate::referee::{Breach, Fact, Picture, Referee};
use crate::show::{ProcessView, Scene};
use bellwether_core::{
    AnyConfig, AnyInput, AnyMsg, AnyOutput, AnyProcess, Erasable, Goal, Invariant, NodeId, Time,
};
use std::sync::Arc;
use std::time::Duration;

impl<P: Erasable> Definition<P> {
    /// The same algorithm as an [`AnyProcess`]. A process, configuration or value of another type
    /// is treated as one about which there is nothing to say; no driver mixes them.
    pub fn erase(self) -> Definition<AnyProcess> {
        let Definition { configure, read, settles, referee, members, clock, quantity, .. } = self;
        Definition {
            entry: self.entry,
            assumes: self.assumes,
            drift_ppm: self.drift_ppm,
            reads_clock: self.reads_clock,
            nodes: self.nodes,
            options: self.options,
            verbs: self.verbs,
            kinds: self.kinds,
            beside: self.beside,
            invariants: self.invariants.into_iter().map(Invariant::erase).collect(),
            goal: self.goal.map(Goal::erase),
            codec: self.codec.erase(),
            configure: Arc::new(move |settings, group| {
                AnyConfig::new::<P>(configure(settings, group))
            }),
            check: self.check,
            read: Arc::new(move |verb| read(verb).map(AnyInput::new)),
            write: inside(AnyInput::downcast_ref, self.write),
            is_work: inside(AnyInput::downcast_ref, self.is_work),
            settles: Arc::new(move |config, group, work| {
                let config = config.downcast_ref::<P>();
                config.map_or(Duration::ZERO, |config| settles(config, group, work))
            }),
            lasts: self.lasts.map(|lasts| inside(AnyConfig::downcast_ref::<P>, lasts)),
            referee: Arc::new(move |config, group| {
                let referee = referee(config.downcast_ref::<P>()?, group)?;
                Some(Box::new(Hearing(referee)))
            }),
            coordinator: inside(AnyProcess::downcast_ref, self.coordinator),
            members: Arc::new(move |process| {
                process.downcast_ref().map_or(&[], |process| members(process))
            }),
            standing: inside(AnyProcess::downcast_ref, self.standing),
            milestone: self.milestone.map(|of| inside(AnyOutput::downcast_ref, of)),
            clock: Arc::new(move |process, reading| clock(process.downcast_ref()?, reading)),
            quantity: Arc::new(move |config, group| quantity(config.downcast_ref::<P>()?, group)),
            held: inside(AnyProcess::downcast_ref, self.held),
            carried: inside(AnyMsg::downcast_ref, self.carried),
            note: inside(AnyProcess::downcast_ref, self.note),
            view: self.view.map(|view| {
                Arc::new(move |process: &AnyProcess, config: &AnyConfig, scene: &Scene<'_>| match (
                    process.downcast_ref(),
                    config.downcast_ref::<P>(),
                ) {
                    (Some(process), Some(config)) => view(process, config, scene),
                    _ => ProcessView::default(),
                }) as _
            }),
            variant: None,
            costs: self.costs,
            blank: self.blank,
        }
    }
}

/// What `ask` says of the value inside an erased one; nothing, if that is of another type.
fn inside<E: 'static, V: 'static, T: Default + 'static>(
    find: for<'a> fn(&'a E) -> Option<&'a V>,
    ask: Of<V, T>,
) -> Of<E, T> {
    Arc::new(move |erased| find(erased).map_or_else(T::default, |value| ask(value)))
}

/// The referee of the process inside at a run of erased ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Hearing<P: Erasable>(Box<dyn Referee<P>>);

impl<P: Erasable> Referee<AnyProcess> for Hearing<P> {
    fn hears(&mut self, at: Time, who: NodeId, output: &AnyOutput) -> Result<(), Breach> {
        output.downcast_ref().map_or(Ok(()), |output| self.0.hears(at, who, output))
    }

    fn crashed(&mut self, at: Time, who: NodeId) {
        self.0.crashed(at, who);
    }

    fn looks_every(&self) -> Option<Duration> {
        self.0.looks_every()
    }

    fn looks(&mut self, at: Time, right: Time, clocks: &[(NodeId, Time)]) -> Result<(), Breach> {
        self.0.looks(at, right, clocks)
    }

    fn closes(&mut self, at: Time, live: &[NodeId]) -> Result<(), Breach> {
        self.0.closes(at, live)
    }

    fn claims(&self) -> Vec<&'static str> {
        self.0.claims()
    }

    fn facts(&self) -> Vec<Fact> {
        self.0.facts()
    }

    fn pictures(&self) -> Vec<Picture> {
        self.0.pictures()
    }
}
