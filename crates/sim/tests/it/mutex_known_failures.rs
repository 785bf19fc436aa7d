//! Outside what a mutual exclusion algorithm assumes, it may fail. These are the failures that are
//! known, found in random runs, and what holds all the same. `scenarios/mutex` has one of each to
//! read.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::beyond::{Beyond, plan_beyond, quiet_plan};
use crate::support::{CATALOGUE, each_of, listed};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyProcess, Group, NodeId, Time};
use bellwether_sim::scenario::{Scenario, write};
use bellwether_sim::{Action, Ended, Latency, Network, Plan, Scheduled, Silent, Sim, shrink, work};
use std::time::Duration;

const SCHEDULES: u64 = 1_000;

const ONE_INSIDE: &str = "one-inside";
const SEQUENCE: &str = "sequence";
const GRANTED: &str = "granted";

fn violation(plan: &Plan<AnyProcess>) -> Option<&'static str> {
    let (outcome, Silent) = plan.run(Silent);
    outcome.violation.map(|violation| violation.name)
}

/// The seeds of those plans that violate this.
fn seeds(name: &str, plan: impl Fn(u64) -> Plan<AnyProcess>) -> Vec<u64> {
    (0..SCHEDULES).filter(|seed| violation(&plan(*seed)) == Some(name)).collect()
}

/// Shrinks some of these runs, and says how many pieces are left of the smallest. As a scenario it
/// fails in the same way.
fn smallest(name: &str, plan: impl Fn(u64) -> Plan<AnyProcess>, seeds: &[u64]) -> usize {
    let shrunk = seeds.iter().take(10).filter_map(|seed| shrink(&plan(*seed), name, 500));
    let smallest = shrunk.min_by_key(|shrunk| shrunk.pieces_after).unwrap();
    let text = write(&smallest.plan);
    let played = Scenario::parse(&CATALOGUE, &text).unwrap().play();
    assert_eq!(played.outcome.violation.unwrap().name, name, "{text}");
    smallest.pieces_after
}

/// Random jobs without faults for Lamport, with or without FIFO channels.
fn lamport(seed: u64, reorder: bool) -> Plan<AnyProcess> {
    let mut plan = quiet_plan(listed("lamport"), seed);
    plan.network.reorder = reorder;
    plan
}

/// A REPLY that overtakes a REQUEST tells its receiver that there is none.
#[test]
fn lamport_without_fifo_lets_two_inside() {
    let found = seeds(ONE_INSIDE, |seed| lamport(seed, true));
    assert!(found.len() as u64 > SCHEDULES / 50, "only {found:?}");
    // Two jobs that cross, a third, and a message that is faster than one before it.
    let pieces = smallest(ONE_INSIDE, |seed| lamport(seed, true), &found);
    assert!(pieces <= 5, "{pieces} pieces");
    for seed in found {
        assert_eq!(violation(&lamport(seed, false)), None, "seed {seed}, with FIFO");
    }
}

/// Three processes with nine jobs between them, close together and short. Each channel is FIFO, but
/// some messages take very long.
fn singhal(seed: u64, as_printed: bool) -> Plan<AnyProcess> {
    let algorithm = listed("singhal").clone();
    let work = algorithm.input("work").unwrap();
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) % bound
    };
    let mut job = || Scheduled {
        at: Time::from_micros(below(100_000)),
        action: Action::Input(NodeId::new(below(3) as u32 + 1), work.clone()),
    };
    let ms = Duration::from_millis;
    Plan {
        algorithm,
        group: Group::numbered(3).unwrap(),
        settings: Settings {
            textbook: as_printed,
            section: (Duration::ZERO, ms(1)),
            ..Settings::new(ms(1_000))
        },
        network: Network::new(Latency::LogNormal(ms(10), 2.5)),
        seed,
        script: (0..9).map(|_| job()).collect(),
        until: None,
    }
}

/// The token comes faster by way of others than a REQUEST on its own way, which is then dropped.
#[test]
fn singhal_as_printed_starves_with_fifo_and_the_cure_helps() {
    let found = seeds(GRANTED, |seed| singhal(seed, true));
    assert!(found.len() as u64 > SCHEDULES / 200, "only {found:?}");
    // Four jobs and three slow messages are the least that it takes.
    let pieces = smallest(GRANTED, |seed| singhal(seed, true), &found);
    assert!(pieces <= 10, "{pieces} pieces");
    for seed in 0..SCHEDULES {
        assert_eq!(violation(&singhal(seed, false)), None, "seed {seed}, with the cure");
    }
}

/// What came of random schedules that leave the assumptions of views in one way.
#[derive(Debug, Default)]
struct Findings {
    /// How often two were inside at once.
    two_inside: u64,
    /// How often a process that is no longer in the view entered after others had, by a number that
    /// is not above theirs.
    not_fenced: u64,
    /// How often anything else went wrong before that.
    other: Vec<(u64, &'static str)>,
    /// The schedules after which not everybody got what it wanted, safety aside.
    unsettled: Vec<u64>,
}

fn outside(algorithm: &Listed, beyond: Beyond) -> Findings {
    let mut findings = Findings::default();
    for seed in 0..SCHEDULES / 2 {
        let plan = plan_beyond(algorithm, seed, beyond);
        match violation(&plan) {
            Some(ONE_INSIDE) => findings.two_inside += 1,
            Some(SEQUENCE) => findings.not_fenced += 1,
            Some(other) => findings.other.push((seed, other)),
            None => {}
        }
        if !settles(&plan) {
            findings.unsettled.push(seed);
        }
    }
    findings
}

/// Whether the goal is reached in time whatever happens on the way.
fn settles(plan: &Plan<AnyProcess>) -> bool {
    let algorithm = &plan.algorithm;
    let config = algorithm.config(&plan.settings, &plan.group);
    let last = plan.script.iter().map(|scheduled| scheduled.at).max().unwrap_or_default();
    let jobs = plan.script.iter().map(|scheduled| work(algorithm, &scheduled.action, &plan.group));
    let overdue = last + algorithm.settling_time(&config, &plan.group, jobs.sum());
    let group = plan.group.clone();
    let mut sim =
        Sim::<AnyProcess, _>::new(group, config, &plan.network, plan.seed, Vec::new(), Silent);
    sim.schedule(plan.script.iter().cloned());
    sim.stop_when(algorithm.goal.clone().unwrap());
    sim.run(overdue) == Ended::Settled
}

/// Views take silence for death. When the silence ends, all agree on a view again and go on.
fn fails_and_recovers(beyond: Beyond, often: u64) {
    each_of("mutex", |algorithm| {
        let (findings, name) = (outside(algorithm, beyond), algorithm.name());
        assert!(findings.two_inside >= often, "{name}: {findings:?}");
        assert!(findings.other.is_empty(), "{name}: {findings:?}");
        assert!(findings.unsettled.is_empty(), "{name}: {findings:?}");
    });
}

#[test]
fn a_holder_that_pauses_longer_than_t_is_inside_beside_its_successor() {
    fails_and_recovers(Beyond::Pause, 5);
}

#[test]
fn a_partition_makes_two_views_and_two_are_inside() {
    fails_and_recovers(Beyond::Partition, 50);
}
