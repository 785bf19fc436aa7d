//! Definitions of erased processes.

use crate::definition::{ClockReader, Definition, MilestoneReader, Quantity, Settings};
use crate::mutex::Status;
use crate::referee::{Breach, Fact, Picture, Referee};
use crate::show::{ProcessView, Scene};
use bellwether_core::{
    AnyConfig, AnyInput, AnyMsg, AnyOutput, AnyProcess, Erasable, Goal, Group, Invariant, NodeId,
    Process, Time,
};
use std::borrow::Cow;
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

impl<P: Erasable> Definition<P> {
    /// The same algorithm as an [`AnyProcess`]. A process, configuration or value of another type
    /// is treated as one about which there is nothing to say; no driver mixes them.
    pub fn erase(mut self) -> Definition<AnyProcess> {
        let configure = self.configure.clone();
        let erased = Definition::with_codec(
            self.entry,
            self.codec.clone().erase(),
            move |settings: &Settings, group: &Group| {
                AnyConfig::new::<P>(configure(settings, group))
            },
        );
        Definition {
            assumes: self.assumes,
            drift_ppm: self.drift_ppm,
            reads_clock: self.reads_clock,
            nodes: self.nodes,
            options: self.options,
            verbs: self.verbs,
            kinds: self.kinds,
            beside: self.beside,
            invariants: take(&mut self.invariants).into_iter().map(Invariant::erase).collect(),
            goal: self.goal.clone().map(Goal::erase),
            check: self.check.take(),
            milestone: self.milestone.take().map(|of| -> MilestoneReader<AnyProcess> {
                Arc::new(move |output| of(output.downcast_ref()?))
            }),
            clock: self.clock.take().map(|clock| -> ClockReader<AnyProcess> {
                Arc::new(move |process, reading| clock(process.downcast_ref()?, reading))
            }),
            costs: self.costs,
            blank: take(&mut self.blank),
            inner: Some(Box::new(self)),
            ..erased
        }
    }
}

/// What the definition of the process inside says of erased values.
pub(crate) trait Inner<P: Process>: Send + Sync {
    fn input(&self, verb: &str) -> Option<P::Input>;
    fn verb(&self, input: &P::Input) -> Cow<'static, str>;
    fn is_work(&self, input: &P::Input) -> bool;
    fn settling_time(&self, config: &P::Config, group: &Group, work: u64) -> Duration;
    fn duration(&self, config: &P::Config) -> Option<Duration>;
    fn new_referee(&self, config: &P::Config, group: &Group) -> Option<Box<dyn Referee<P>>>;
    fn coordinator_of(&self, process: &P) -> Option<NodeId>;
    fn members_of<'a>(&self, process: &'a P) -> &'a [NodeId];
    fn section_of(&self, process: &P) -> Option<Status>;
    fn quantity(&self, config: &P::Config, group: &Group) -> Option<Quantity>;
    fn held_by(&self, process: &P) -> Option<u64>;
    fn carried_by(&self, msg: &P::Msg) -> u64;
    fn note_of(&self, process: &P) -> String;
    fn view_of(&self, process: &P, config: &P::Config, scene: &Scene<'_>) -> Option<ProcessView>;
}

impl<P: Erasable> Inner<AnyProcess> for Definition<P> {
    fn input(&self, verb: &str) -> Option<AnyInput> {
        self.input(verb).map(AnyInput::new)
    }

    fn verb(&self, input: &AnyInput) -> Cow<'static, str> {
        input.downcast_ref().map_or(Cow::Borrowed(""), |input| self.verb(input))
    }

    fn is_work(&self, input: &AnyInput) -> bool {
        input.downcast_ref().is_some_and(|input| self.is_work(input))
    }

    fn settling_time(&self, config: &AnyConfig, group: &Group, work: u64) -> Duration {
        let config = config.downcast_ref::<P>();
        config.map_or(Duration::ZERO, |config| self.settling_time(config, group, work))
    }

    fn duration(&self, config: &AnyConfig) -> Option<Duration> {
        self.duration(config.downcast_ref::<P>()?)
    }

    fn new_referee(
        &self,
        config: &AnyConfig,
        group: &Group,
    ) -> Option<Box<dyn Referee<AnyProcess>>> {
        let referee = self.new_referee(config.downcast_ref::<P>()?, group)?;
        Some(Box::new(Hearing(referee)))
    }

    fn coordinator_of(&self, process: &AnyProcess) -> Option<NodeId> {
        self.coordinator_of(process.downcast_ref()?)
    }

    fn members_of<'a>(&self, process: &'a AnyProcess) -> &'a [NodeId] {
        process.downcast_ref().map_or(&[], |process| self.members_of(process))
    }

    fn section_of(&self, process: &AnyProcess) -> Option<Status> {
        self.section_of(process.downcast_ref()?)
    }

    fn quantity(&self, config: &AnyConfig, group: &Group) -> Option<Quantity> {
        self.quantity(config.downcast_ref::<P>()?, group)
    }

    fn held_by(&self, process: &AnyProcess) -> Option<u64> {
        self.held_by(process.downcast_ref()?)
    }

    fn carried_by(&self, msg: &AnyMsg) -> u64 {
        msg.downcast_ref().map_or(0, |msg| self.carried_by(msg))
    }

    fn note_of(&self, process: &AnyProcess) -> String {
        process.downcast_ref().map_or_else(String::new, |process| self.note_of(process))
    }

    fn view_of(
        &self,
        process: &AnyProcess,
        config: &AnyConfig,
        scene: &Scene<'_>,
    ) -> Option<ProcessView> {
        self.view_of(process.downcast_ref()?, config.downcast_ref::<P>()?, scene)
    }
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
