//! An election and its failure detector as one process.

use super::detector::{self, Detector, Suspicion};
use super::{Config, DETECTOR_DOCS, Election, Incarnation, Input, LINK_DOCS, Output, link};
use crate::definition::{Algorithm, Definition, Settings, Topology};
use bellwether_core::{
    Assumptions, Context, Few, Goal, Group, Invariant, Kind, Message, NodeId, Process,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// An election that starts by itself when the coordinator is gone.
///
/// The two parts know nothing of each other: the detector is told whom the election has found,
/// the election is told of suspicions. Without detection only the election remains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Watched<E> {
    election: E,
    detector: Detector,
}

/// A message of either part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg<M> {
    /// The election's.
    Election(M),
    /// The detector's.
    Detector(detector::Msg),
}

impl<M: Message> Message for Msg<M> {
    fn kind(&self) -> Kind {
        match self {
            Msg::Election(msg) => msg.kind(),
            Msg::Detector(msg) => msg.kind(),
        }
    }
}

impl<M: fmt::Display> fmt::Display for Msg<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Election(msg) => msg.fmt(f),
            Msg::Detector(msg) => msg.fmt(f),
        }
    }
}

/// A timer of either part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer<T> {
    /// The election's.
    Election(T),
    /// The detector's.
    Detector(detector::Timer),
}

type Cx<'a, E> = Context<'a, Watched<E>>;

impl<E: Election> Process for Watched<E> {
    type Msg = Msg<E::Msg>;
    type Timer = Timer<E::Timer>;
    type Input = Input;
    type Output = Output;
    type Durable = Incarnation;
    type Config = Config;

    const ASSUMES: Assumptions = E::ASSUMES;

    fn durable(&self) -> Incarnation {
        self.election.durable()
    }

    fn on_start(&mut self, saved: Option<Incarnation>, cx: &mut Cx<'_, E>) {
        self.detect(cx, |detector, cx| detector.on_start(saved.map(|_| ()), cx));
        self.elect(cx, |election, cx| election.on_start(saved, cx));
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_, E>) {
        self.elect(cx, |election, cx| election.on_input(input, cx));
    }

    /// A function of its own, and all that a message passes in the parts is inlined into it. So a message
    /// stays in registers where it would otherwise be written and read again at every layer.
    #[inline(never)]
    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_, E>) {
        match msg {
            Msg::Election(msg) => {
                self.elect(cx, |election, cx| election.on_message(from, msg, cx));
            }
            Msg::Detector(msg) => {
                self.detect(cx, |detector, cx| detector.on_message(from, msg, cx));
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, E>) {
        match timer {
            Timer::Election(timer) => {
                self.elect(cx, |election, cx| election.on_timer(timer, cx));
            }
            Timer::Detector(timer) => {
                self.detect(cx, |detector, cx| detector.on_timer(timer, cx));
            }
        }
    }
}

impl<E: Election> Watched<E> {
    /// Steps the election and tells the detector whom it has found, or that a new one has begun:
    /// that needs its full time too. Otherwise the patience of many processes, running out at
    /// different times, would restart an election again and again before it can end.
    #[inline(always)]
    fn elect(&mut self, cx: &mut Cx<'_, E>, step: impl FnOnce(&mut E, &mut Context<'_, E>)) {
        let before = (self.election.coordinator(), self.election.round());
        let config = cx.config();
        cx.delegate(config, Msg::Election, Timer::Election, |cx| step(&mut self.election, cx));
        let after = (self.election.coordinator(), self.election.round());
        if after != before {
            self.watch(after.0, cx);
        }
    }

    fn watch(&mut self, coordinator: Option<NodeId>, cx: &mut Cx<'_, E>) {
        self.detect(cx, |detector, cx| detector.on_input(coordinator, cx));
    }

    /// Steps the detector and starts an election if it suspects.
    fn detect(
        &mut self,
        cx: &mut Cx<'_, E>,
        step: impl FnOnce(&mut Detector, &mut Context<'_, Detector>),
    ) {
        let Some(config) = &cx.config().detection else { return };
        let suspicions: Few<Suspicion> =
            cx.part(config, Msg::Detector, Timer::Detector, |cx| step(&mut self.detector, cx));
        for _ in suspicions {
            self.on_input(Input::Suspect, cx);
        }
    }
}

impl<E: Election> Algorithm for Watched<E> {
    fn definition() -> Definition<Self> {
        Definition::<Self>::new(E::ENTRY, Self::config)
            .beside(match E::ENTRY.topology {
                Topology::Ring => &[LINK_DOCS, DETECTOR_DOCS],
                Topology::Mesh | Topology::Tree => &[DETECTOR_DOCS],
            })
            .verbs(&["suspect", "start"], Input::of, |input| input.verb().into())
            .kinds(E::KINDS)
            .invariant(
                Invariant::at_most_one(
                    "one-coordinator",
                    "at most one live process takes itself for the coordinator",
                    |me, process: &Self| (process.coordinator() == Some(me)).then_some(0),
                )
                .until_recovery(),
            )
            .goal(Goal::new(
                "agreement",
                "every live process follows the live process with the largest number",
                Self::agree,
            ))
            .settles_within(Self::settles_within)
            .coordinator(Self::coordinator)
            .members(|process| process.election.members())
            .view(|process, _, _| process.election.view())
            .costs(E::costs)
    }
}

impl<E: Election> Watched<E> {
    pub(crate) fn config(settings: &Settings, group: &Group) -> Config {
        let timeout = settings.timeout;
        // A hop costs less than T, and so does finding out that a neighbour is dead.
        let hops = E::CIRCUITS.saturating_mul(group.len() as u32).saturating_add(6);
        let detection =
            detector::Config { timeout, period: timeout, patience: timeout.saturating_mul(hops) };
        let clockwise = link::Config {
            direction: link::Direction::Clockwise,
            timeout,
            acknowledge: settings.acknowledge,
        };
        Config {
            timeout,
            coordinator: settings.coordinator,
            detection: settings.detection.then_some(detection),
            clockwise,
            counter: link::Config { direction: link::Direction::Counter, ..clockwise },
        }
    }

    pub(crate) fn coordinator(&self) -> Option<NodeId> {
        self.election.coordinator()
    }

    /// Whether all of them follow the largest of them.
    fn agree(processes: &mut dyn Iterator<Item = (NodeId, &Self)>) -> bool {
        let (mut largest, mut followed) = (None, None);
        for (id, process) in processes {
            largest = largest.max(Some(id));
            let coordinator = process.coordinator();
            if coordinator.is_none() || *followed.get_or_insert(coordinator) != coordinator {
                return false;
            }
        }
        followed.flatten() == largest
    }

    pub(crate) fn settles_within(config: &Config, _: &Group, _: u64) -> Duration {
        // The last fault may leave a stuck election behind, and the one after it may meet the
        // remains of the first.
        let patience = config.detection.map_or(Duration::ZERO, |detection| detection.patience);
        patience.saturating_add(config.timeout.saturating_mul(4)).saturating_mul(6)
    }
}

#[cfg(test)]
#[path = "tests/watched.rs"]
mod tests;
