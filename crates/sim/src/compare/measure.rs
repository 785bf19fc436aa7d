//! One election in the simulator, counted.

use super::listed;
use crate::random::Draws;
use crate::{Action, Ended, Latency, Network, Outcome, Plan, Scheduled, Silent, Sim};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyInput, Group, NodeId, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long every message takes: a hop.
pub(super) const LATENCY: Duration = Duration::from_millis(10);
/// Above a round trip, as every algorithm assumes.
pub(super) const TIMEOUT: Duration = Duration::from_millis(30);
/// Every sampled ring follows from it, so that the figures are the same in every run.
pub(super) const SEED: u64 = 1979;

/// An election to be held: who stands where, who is dead, who starts.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// The numbers in ring order.
    pub(super) ring: Vec<u32>,
    /// The coordinator that has just died, if one has.
    pub(super) dead: Option<u32>,
    /// Who notices, or starts unasked, all at the same moment.
    pub(super) starters: Vec<u32>,
}

/// What an election took, or an entry into a critical section.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// The messages of the algorithm proper.
    pub(super) by_kind: BTreeMap<&'static str, u64>,
    /// How many hops lay between the section's being left and this entry, if somebody waited.
    pub(super) delay: Option<u64>,
    /// Whether it ended as it should.
    pub(super) sound: bool,
}

impl Run {
    pub(super) fn count(&self, kind: &str) -> u64 {
        self.by_kind.get(kind).copied().unwrap_or(0)
    }
}

/// Holds the election. Delays are all the same and nobody watches the coordinator, so that only
/// the algorithm itself is measured; dead neighbours must be found, so where somebody is dead,
/// messages are acknowledged, which is overhead and not counted.
pub(super) fn run(algorithm: &str, setup: &Setup) -> Run {
    let algorithm = listed(algorithm);
    let ring: Vec<NodeId> = setup.ring.iter().copied().map(NodeId::new).collect();
    let Ok(group) = Group::new(ring) else { return Run::default() };
    let dead = setup.dead.map(NodeId::new);
    let settings =
        Settings { coordinator: dead, acknowledge: dead.is_some(), ..Settings::new(TIMEOUT) };
    let verb = if dead.is_some() { "suspect" } else { "start" };
    let Some(input) = algorithm.input(verb) else { return Run::default() };
    // Ten times what the slowest of them takes; an election that never ends must not hang us.
    let until = Time::ZERO + TIMEOUT.saturating_mul(group.len() as u32 * 20 + 100);

    let network = Network::new(Latency::Fixed(LATENCY));
    let config = algorithm.config(&settings, &group);
    let mut sim = Sim::new(group, config, &network, SEED, algorithm.invariants.clone(), Silent);
    let starters = setup.starters.iter().map(|id| Action::Input(NodeId::new(*id), input.clone()));
    let script = dead.map(Action::Crash).into_iter().chain(starters);
    sim.schedule(script.map(|action| Scheduled { at: Time::ZERO, action }));
    let ended = sim.run(until);
    let agreed = algorithm.agreed(sim.live());
    let sound = ended == Ended::Quiet && agreed;
    Run { by_kind: sim.tally().protocol(), delay: None, sound }
}

/// Plays a plan whose every message takes a hop, and counts its messages. It is sound if nothing
/// was violated and the goal was reached.
pub(super) fn count(
    algorithm: &str,
    group: Group,
    settings: Settings,
    script: Vec<Scheduled<AnyInput>>,
    until: Option<Time>,
) -> (Run, Outcome) {
    count_of(listed(algorithm), group, settings, script, until)
}

/// The same of an algorithm of any catalogue.
pub(super) fn count_of(
    algorithm: &Listed,
    group: Group,
    settings: Settings,
    script: Vec<Scheduled<AnyInput>>,
    until: Option<Time>,
) -> (Run, Outcome) {
    let network = Network::new(Latency::Fixed(LATENCY));
    let algorithm = algorithm.clone();
    let plan = Plan { algorithm, group, settings, network, seed: SEED, script, until };
    let (outcome, Silent) = plan.run(Silent);
    let sound = outcome.violation.is_none() && outcome.agreed;
    (Run { by_kind: outcome.tally.protocol(), delay: None, sound }, outcome)
}

/// 1 to k, each followed by the next larger.
pub(super) fn ascending(k: u32) -> Vec<u32> {
    (1..=k).collect()
}

/// k to 1, each followed by the next smaller.
pub(super) fn descending(k: u32) -> Vec<u32> {
    (1..=k).rev().collect()
}

/// Places in the order of their numbers written backwards in binary: every other process is
/// larger than both its neighbours, and among these every other again, and so on. It keeps as
/// many candidates in the race as possible.
pub(super) fn bit_reversed(k: u32) -> Vec<u32> {
    let mut places: Vec<u32> = (0..k).collect();
    places.sort_unstable_by_key(|place| place.reverse_bits());
    let mut ring = vec![0; places.len()];
    for (place, number) in places.into_iter().zip(1..) {
        ring[place as usize] = number;
    }
    ring
}

/// Rings in random order.
pub(super) fn shuffled(k: u32, count: u64) -> impl Iterator<Item = Vec<u32>> {
    (0..count).map(move |index| {
        let mut ring = ascending(k);
        Draws::keyed(SEED, u64::from(k), index).shuffle(&mut ring);
        ring
    })
}

/// All (k-1)! ways to stand in a circle: the largest stays first, the others take all orders.
pub(super) fn arrangements(k: u32) -> Vec<Vec<u32>> {
    let mut all = vec![vec![k]];
    for number in 1..k {
        // Into every gap behind the first.
        let longer = all.iter().flat_map(|ring| {
            (1..=ring.len()).map(move |gap| {
                let mut ring = ring.clone();
                ring.insert(gap, number);
                ring
            })
        });
        all = longer.collect();
    }
    all
}
