//! One run in the simulator, counted.

use crate::{Action, Ended, Latency, Network, Plan, Scheduled, Silent};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::cost::Script;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{Group, NodeId, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long every message takes: a hop.
pub(super) const LATENCY: Duration = Duration::from_millis(10);
/// Above a round trip, as every algorithm assumes.
pub(super) const TIMEOUT: Duration = Duration::from_millis(30);
/// The figures are the same in every run.
pub(super) const SEED: u64 = 1979;

/// What a run took, or an entry into a critical section.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// The messages of the algorithm proper.
    pub(super) by_kind: BTreeMap<&'static str, u64>,
    /// How many hops lay between the section's being left and this entry, if a process waited.
    pub(super) delay: Option<u64>,
    /// Whether it ended as it should.
    pub(super) sound: bool,
}

impl Run {
    pub(super) fn count(&self, kind: &str) -> u64 {
        self.by_kind.get(kind).copied().unwrap_or(0)
    }
}

/// Plays a script; nothing if the algorithm refuses what it sets. Delays are all the same and no
/// process watches another, so that only the algorithm itself is measured. The run is sound if it
/// came to rest, nothing was violated and the goal was reached.
pub(super) fn run(algorithm: &Listed, script: &Script) -> Option<Run> {
    let group = Group::new(script.ring.iter().copied().map(NodeId::new).collect()).ok()?;
    let mut settings = Settings {
        coordinator: script.coordinator.map(NodeId::new),
        // Dead neighbours must be found.
        acknowledge: !script.crashed.is_empty(),
        ..Settings::new(TIMEOUT)
    };
    for (option, value) in &script.options {
        settings.options.set(option, value);
    }
    algorithm.check(&settings, &group).ok()?;
    let mut actions = Vec::new();
    if algorithm.reads_clock {
        // All clocks are off by something.
        actions.extend(group.ring().iter().zip(1..).map(|(id, number): (&NodeId, i64)| {
            let offset_us = number * 7_000 - 20_000;
            (0, Action::Clock { node: *id, offset_us, drift_ppm: 0 })
        }));
    }
    actions.extend(script.crashed.iter().map(|id| (0, Action::Crash(NodeId::new(*id)))));
    for ask in &script.asks {
        // What it does not understand, it cannot have done well.
        let Some(input) = algorithm.input(&ask.verb) else { return Some(Run::default()) };
        actions.push((ask.at, Action::Input(NodeId::new(ask.id), input)));
    }
    let plan = Plan {
        algorithm: algorithm.clone(),
        group,
        settings,
        network: Network::new(Latency::Fixed(LATENCY)),
        seed: SEED,
        script: actions
            .into_iter()
            .map(|(at, action)| Scheduled { at: Time::ZERO + TIMEOUT.saturating_mul(at), action })
            .collect(),
        until: script.until.map(|until| Time::ZERO + until),
    };
    let mut sim = plan.set_up(Silent);
    let ended = plan.play(&mut sim);
    let outcome = plan.judge(&mut sim, ended);
    let found = script.finds.is_none_or(|(name, field, number)| {
        outcome.facts.iter().any(|fact| fact.name == name && fact.value[field] == number)
    });
    let rests = script.until.is_some() || matches!(ended, Ended::Quiet | Ended::Settled);
    let sound = rests && found && outcome.violation.is_none() && outcome.agreed;
    let mut by_kind = outcome.tally.protocol();
    if script.overhead {
        by_kind.extend(outcome.tally.overhead());
    }
    Some(Run { by_kind, delay: None, sound })
}
