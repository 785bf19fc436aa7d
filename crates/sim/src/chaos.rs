//! Random fault schedules that stay inside, or go just outside, what an algorithm assumes.

use crate::fault::{Action, Scheduled};
use crate::network::{Latency, Network};
use crate::plan::{Plan, default_timeout};
use bellwether_algorithms::definition::{Definition, Settings};
use bellwether_core::Draws;
use bellwether_core::{Assumptions, Channels, Group, NodeId, Process, Time, micros};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

mod storm;

pub use storm::{Harsh, Topology, Weather, storm};

/// A random run of an algorithm within its stated assumptions: a random group on a random ring
/// with random latencies; processes that crash, also in the middle of sending, and come back;
/// messages that arrive twice or out of order where the algorithm allows it. Detection is on, so
/// when the faults stop the goal must be reached.
///
/// An algorithm that claims to bear all of that after any delay, and any loss, gets a [`storm`] instead.
pub fn random_plan<P: Process>(algorithm: &Arc<Definition<P>>, seed: u64) -> Plan<P> {
    let assumes = algorithm.assumes;
    let anything = Assumptions {
        loss: true,
        duplication: true,
        crashes: true,
        recoveries: true,
        ..Assumptions::faultless(Channels::Any)
    };
    if assumes == anything {
        return stormy_plan(algorithm, seed);
    }
    let mut draws = Draws::new(seed);
    let n = draws.between(1, 8) as u32;
    let n = algorithm.nodes.unwrap_or(n);
    let mut ring: Vec<NodeId> = (1..=n).map(NodeId::new).collect();
    draws.shuffle(&mut ring);
    let network = random_network(assumes.channels, assumes.duplication, &mut draws);
    let settings = Settings {
        coordinator: draws.chance(0.8).then(|| NodeId::new(n)),
        detection: true,
        acknowledge: true,
        ..Settings::new(default_timeout(&network))
    };
    // A group cannot be wrong here: the ids are distinct and there is at least one.
    let group = Group::new(ring).unwrap_or_else(|_| unreachable!("ids 1 to {n} form a group"));
    let faults = draws.below(10);
    let script = crashes(algorithm, &group, settings.timeout, faults, &mut draws);
    let algorithm = algorithm.clone();
    let mut plan = Plan { algorithm, group, settings, network, seed, script, until: None };
    work_at_random(&mut plan, &mut draws);
    plan
}

/// Jobs for random processes at random times while the faults happen, where there are jobs. Some
/// processes have many at once.
fn work_at_random<P: Process>(plan: &mut Plan<P>, draws: &mut Draws) {
    let Some(job) = plan.algorithm.input("work") else { return };
    let timeout = micros(plan.settings.timeout);
    let longest = Duration::from_micros(draws.below(2 * timeout));
    plan.settings.section = (longest / 4, longest);
    let last = plan.script.iter().map(|scheduled| scheduled.at.as_micros()).max().unwrap_or(0);
    for _ in 0..draws.between(1, 12) {
        let at = Time::from_micros(draws.below(last + timeout + 1));
        let id = plan.group.ring()[draws.below(plan.group.len() as u64) as usize];
        for _ in 0..=draws.below(3) {
            plan.script.push(Scheduled { at, action: Action::Input(id, job.clone()) });
        }
    }
}

/// A random group in a [`storm`].
fn stormy_plan<P: Process>(algorithm: &Arc<Definition<P>>, seed: u64) -> Plan<P> {
    let mut draws = Draws::new(seed);
    let n = draws.between(1, 7) as u32;
    let mut ring: Vec<NodeId> = (1..=n).map(NodeId::new).collect();
    draws.shuffle(&mut ring);
    let group = Group::new(ring).unwrap_or_else(|_| unreachable!("ids 1 to {n} form a group"));
    let timeout = Duration::from_millis(100);
    let settings = Settings { detection: true, acknowledge: true, ..Settings::new(timeout) };
    let weather =
        Weather { unit: timeout, drift_ppm: algorithm.drift_ppm, inputs: Vec::new(), harsh: None };
    let (network, script) = storm(&group, seed, &weather);
    let algorithm = algorithm.clone();
    let mut plan = Plan { algorithm, group, settings, network, seed, script, until: None };
    // Drawn apart, so that the storm is the same with jobs as without.
    work_at_random(&mut plan, &mut Draws::keyed(seed, u64::MAX, 3));
    plan
}

fn random_network(channels: Channels, duplication: bool, draws: &mut Draws) -> Network {
    let ms = Duration::from_millis;
    let latency = match draws.below(3) {
        0 => Latency::Fixed(ms(10)),
        1 => Latency::Uniform(ms(1), ms(draws.between(2, 50))),
        _ => Latency::Uniform(Duration::ZERO, ms(10)),
    };
    let mut network = Network::new(latency);
    network.reorder = channels == Channels::Any && draws.chance(0.5);
    if duplication && draws.chance(0.3) {
        network.duplicate = 0.2;
    }
    network
}

/// Crashes and recoveries of random processes at random times, some of them very close together.
/// At least one process is up at the end.
fn crashes<P: Process>(
    algorithm: &Definition<P>,
    group: &Group,
    timeout: Duration,
    faults: u64,
    draws: &mut Draws,
) -> Vec<Scheduled<P::Input>> {
    let mut script = Vec::new();
    let mut up: BTreeMap<NodeId, bool> = group.ring().iter().map(|id| (*id, true)).collect();
    let mut now = Time::ZERO;
    for _ in 0..faults {
        // Mostly within the reach of one election, sometimes after it has ended.
        let reach = micros(timeout) * [1, 4, 40][draws.below(3) as usize];
        now = now + Duration::from_micros(draws.below(reach));
        let Some(id) = group.ring().get(draws.below(group.len() as u64) as usize).copied() else {
            continue;
        };
        let is_up = up.get(&id).copied().unwrap_or(false);
        let survivors = up.values().filter(|up| **up).count();
        let action = match (is_up, draws.below(8)) {
            (true, 0) => algorithm.input("start").map(|input| Action::Input(id, input)),
            (true, _) if survivors < 2 || !algorithm.assumes.crashes => None,
            (true, 1 | 2) if !algorithm.kinds.is_empty() => {
                // In the middle of its next announcement or election; then surely, a while later.
                let kinds = algorithm.kinds;
                let kind = kinds[draws.below(kinds.len() as u64) as usize].to_owned();
                let after = draws.below(4) as u32;
                script.push(Scheduled {
                    at: now,
                    action: Action::CrashSending { node: id, kind, after },
                });
                now = now + timeout * 3;
                up.insert(id, false);
                Some(Action::Crash(id))
            }
            (true, _) => {
                up.insert(id, false);
                Some(Action::Crash(id))
            }
            (false, _) if algorithm.assumes.recoveries => {
                up.insert(id, true);
                Some(Action::Recover(id))
            }
            (false, _) => None,
        };
        script.extend(action.map(|action| Scheduled { at: now, action }));
    }
    script
}

/// Draws for the choices of one run besides its storm: each below its limit.
pub fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |limit| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % limit
    }
}
