//! Random runs that need less than an algorithm assumes, or more.

use bellwether_algorithms::definition::Definition;
use bellwether_core::{NodeId, Process, Time};
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{Action, Cut, CutKind, Latency, Plan, Scheduled, work};
use std::sync::Arc;
use std::time::Duration;

/// A random run without any faults, in which messages take any time, and overtake each other where
/// the algorithm allows it: what an algorithm without views assumes.
pub(crate) fn quiet_plan<P: Process>(algorithm: &Arc<Definition<P>>, seed: u64) -> Plan<P> {
    let mut plan = random_plan(algorithm, seed);
    let mut draws = Draws::new(seed ^ u64::MAX);
    plan.script.retain(|scheduled| work(algorithm, &scheduled.action, &plan.group) > 0);
    plan.settings.detection = false;
    plan.settings.acknowledge = false;
    if draws.chance(0.5) {
        plan.network.latency = Latency::Exponential(Duration::from_millis(10));
    }
    plan
}

/// What lies outside every textbook election's assumptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// The group falls into two halves and grows together again.
    Partition,
    /// Some messages take longer than T.
    Delay,
    /// A process stands still for longer than T.
    Pause,
    /// Messages are lost.
    Loss,
}

/// A random run that leaves the algorithm's assumptions in one way.
pub(crate) fn plan_beyond<P: Process>(
    algorithm: &Arc<Definition<P>>,
    seed: u64,
    beyond: Beyond,
) -> Plan<P> {
    let mut plan = random_plan(algorithm, seed);
    let mut draws = Draws::new(!seed);
    let span = plan.settings.timeout;
    let from = Time::ZERO + span * draws.below(10) as u32;
    let to = from + span * draws.between(5, 60) as u32;
    let ring = plan.group.ring();
    let someone = ring[draws.below(ring.len() as u64) as usize];
    match beyond {
        Beyond::Partition => {
            let side: Vec<NodeId> = ring.iter().copied().filter(|_| draws.chance(0.5)).collect();
            let kind = CutKind::Partition(vec![side]);
            let cut = Action::Cut(Cut { name: 0, kind });
            plan.script.push(Scheduled { at: from, action: cut });
            plan.script.push(Scheduled { at: to, action: Action::Heal(0) });
        }
        Beyond::Delay => plan.network.latency = Latency::Exponential(span / 3),
        Beyond::Pause => {
            plan.script.push(Scheduled { at: from, action: Action::Pause(someone) });
            plan.script.push(Scheduled { at: to, action: Action::Resume(someone) });
        }
        Beyond::Loss => plan.network.loss = 0.1,
    }
    plan
}

/// A stream of draws, as the simulator's own (SplitMix64).
struct Draws(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Draws {
    fn new(seed: u64) -> Self {
        Draws(mix(seed.wrapping_add(GOLDEN)))
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    fn chance(&mut self, probability: f64) -> bool {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64 <= probability
    }
}
