//! A model of an algorithm of the catalogue: in the terms of the command line and of scenarios.

use crate::model::{Channels, Faults, Model, Ticks, Timing};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{self as core, AnyProcess, Assumptions, Group, NodeId, Time};

/// What is to be explored, of whatever algorithm.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What runs.
    pub algorithm: Listed,
    /// Who takes part.
    pub group: Group,
    /// How the algorithm is set.
    pub settings: Settings,
    /// What is known of time.
    pub timing: Timing,
    /// In which order messages arrive.
    pub channels: Channels,
    /// What may go wrong, in total.
    pub faults: Faults,
    /// How often each process may be asked for what the algorithm is for: see [`usual_verb`].
    pub requests: u8,
    /// What else may be asked of whom: an input's verb each.
    pub asks: Vec<(NodeId, String)>,
    /// The sides of a partition that lasts; processes on no list form one more side. Empty if there
    /// is none.
    pub partition: Vec<Vec<NodeId>>,
    /// How far clocks are off at the beginning, in microseconds.
    pub offsets: Vec<(NodeId, i64)>,
    /// When clocks stop, where they must.
    pub horizon: Option<Ticks>,
    /// Whether runs must come to their goal, or only nothing wrong may happen.
    pub liveness: bool,
}

/// What an algorithm is for, as an input's verb: to work in a critical section, to send something,
/// or to elect a coordinator.
pub fn usual_verb(algorithm: &Listed) -> Option<&'static str> {
    let simple = |verb: &&&str| !verb.contains(':');
    let work = algorithm.verbs.iter().find(|verb| **verb == "work");
    work.or_else(|| algorithm.verbs.iter().find(simple)).copied()
}

impl Setup {
    /// A cluster to which nothing happens, in the world that the algorithm assumes.
    pub fn new(algorithm: &Listed, group: Group, settings: Settings) -> Self {
        let assumes = algorithm.assumes;
        let timing = match assumes.timing {
            core::Timing::Synchronous => Timing::synchronous(settings.timeout),
            core::Timing::Asynchronous => Timing::Asynchronous,
        };
        let channels = match assumes.channels {
            core::Channels::Any => Channels::Reorder,
            core::Channels::Fifo => Channels::Fifo,
            core::Channels::Causal => Channels::Causal,
        };
        Setup {
            algorithm: algorithm.clone(),
            group,
            settings,
            timing,
            channels,
            faults: Faults::default(),
            requests: 0,
            asks: Vec::new(),
            partition: Vec::new(),
            offsets: Vec::new(),
            horizon: None,
            liveness: true,
        }
    }

    /// The model. Verbs that the algorithm does not know are left out.
    pub fn model(&self) -> Model<AnyProcess> {
        let algorithm = &self.algorithm;
        let config = algorithm.config(&self.settings, &self.group);
        let usual = usual_verb(algorithm).and_then(|verb| algorithm.input(verb));
        let inputs = self.group.ring().iter().map(|id| {
            let usual = usual.iter().cycle().take(usize::from(self.requests)).cloned();
            let asked = self.asks.iter().filter(|(who, _)| who == id);
            usual.chain(asked.filter_map(|(_, verb)| algorithm.input(verb))).collect()
        });
        Model {
            inputs: inputs.collect(),
            referee: algorithm.new_referee(&config, &self.group),
            config,
            timing: self.timing,
            channels: self.channels,
            faults: self.faults,
            sides: self.sides(),
            invariants: algorithm.invariants.clone(),
            goal: algorithm.goal.clone().filter(|_| self.liveness),
            reads_clock: algorithm.reads_clock,
            clocks: self.clocks(),
            horizon: self.horizon,
            aging: None,
            spent: None,
            group: self.group.clone(),
        }
    }

    fn sides(&self) -> Vec<u8> {
        if self.partition.is_empty() {
            return Vec::new();
        }
        let side = |id: &NodeId| self.partition.iter().position(|side| side.contains(id));
        let sides = self.group.ring().iter().map(side);
        sides.map(|side| side.map_or(u8::MAX, |side| side as u8)).collect()
    }

    fn clocks(&self) -> Vec<Time> {
        let start = Time::ZERO + bellwether_sim::CLOCK_START;
        let offset = |id: &NodeId| {
            let found = self.offsets.iter().find(|(who, _)| who == id);
            let micros = start.as_micros().saturating_add_signed(found.map_or(0, |(_, us)| *us));
            Time::from_micros(micros)
        };
        self.group.ring().iter().map(offset).collect()
    }

    /// What of this the algorithm does not claim to survive, in words.
    pub fn beyond(&self, assumes: &Assumptions) -> Vec<&'static str> {
        let Faults { crashes, recoveries, losses, duplicates } = self.faults;
        let fifo_only = assumes.channels != core::Channels::Any;
        let causal_only = assumes.channels == core::Channels::Causal;
        let timed = matches!(self.timing, Timing::Bounded { .. });
        [
            (crashes > 0 && !assumes.crashes, "crashes"),
            (recoveries > 0 && !assumes.recoveries, "recoveries"),
            (losses > 0 && !assumes.loss, "lost messages"),
            (duplicates > 0 && !assumes.duplication, "duplicated messages"),
            (!self.partition.is_empty() && !assumes.loss, "a partition"),
            (!timed && assumes.timing == core::Timing::Synchronous, "time-outs that lie"),
            (self.channels == Channels::Reorder && fifo_only, "messages that overtake others"),
            (self.channels == Channels::Fifo && causal_only, "messages that overtake their causes"),
        ]
        .into_iter()
        .filter_map(|(beyond, what)| beyond.then_some(what))
        .collect()
    }
}
