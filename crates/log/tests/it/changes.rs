//! Members come and go in storms: with every fault of [`storms`](crate::storms), members are added,
//! promoted, replaced and removed. Nothing committed is lost, one serves at a time, lists change by
//! one voter; when the storm is over a leader works, all members follow it, all that were to vote
//! do, and all that were replaced are gone.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and a soak says what it did"
)]

use crate::node::{Config, Flaw, Input, Node, Sieve, bound};
use crate::storms::{KINDS, invariants};
use crate::witness::Witness;
use bellwether_core::{Group, NodeId, Time};
use bellwether_log::{self as log, Members, Suffrage};
use bellwether_sim::chaos::{Harsh, Weather, draws, storm};
use bellwether_sim::{Action, Network, Scheduled, Sim};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

struct Run {
    group: Group,
    config: Config,
    script: Vec<Scheduled<Input>>,
    network: Network,
    calm: Time,
    /// A member that never starts, though it may be added.
    absent: Option<NodeId>,
    wipe: Option<(Time, NodeId)>,
}

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

/// Up to six processes, of which the first one to three found the cluster.
fn run_of(seed: u64, flaw: Option<Flaw>) -> Run {
    let mut draw = draws(seed ^ 0x0c4a_96e5);
    let mut one_of = |choices: &[usize]| choices[draw(choices.len() as u64) as usize];
    let n = one_of(&[3, 4, 5, 5, 6]) as u32;
    let founders = one_of(&[1, 2, 3, 3, 3]) as u32;
    let group = Group::numbered(n).unwrap();
    let drift_ppm = one_of(&[500, 10_000, 100_000]) as u32;
    let least = one_of(&[128, 512, 4_096]) as u32;
    let list = Members::founded((1..=founders).map(|number| (id(number), Arc::from(""))));
    let log = log::Config {
        keep_bytes: one_of(&[1_500, 4_000, 100_000]),
        push_bytes: one_of(&[200, 1_000, 100_000]),
        piece: (least, least * 8),
        founders: Some(Arc::new(list)),
        ..log::Config::new(Duration::from_millis(100), Duration::from_millis(500), drift_ppm)
    };
    let mut inputs = vec![Input::HandOver, Input::Resign, Input::Unsieve];
    inputs.push(Input::Sieve(Sieve::Kind(KINDS[one_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8])])));
    inputs.push(Input::Sieve(Sieve::Above(one_of(&[70, 120, 300]))));
    let harsh = Some(Harsh {
        kinds: &KINDS,
        sizes: &[70, 120, 300],
        rates: &[20_000, 100_000],
        topologies: true,
    });
    let weather = Weather { unit: log.leases.heartbeat, drift_ppm, inputs, harsh };
    let (network, mut script) = storm(&group, seed, &weather);
    let absent = (one_of(&[0, 0, 0, 1]) == 1 && n > founders).then(|| id(n));
    let last = script.iter().map(|scheduled| scheduled.at).max().unwrap_or_default();
    // A calm while before the storm, so that the first changes get somewhere.
    let quiet = Duration::from_secs(one_of(&[0, 1, 3]) as u64);
    // Clocks are off from the beginning: they do not jump.
    for scheduled in script.iter_mut().filter(|s| !matches!(s.action, Action::Clock { .. })) {
        scheduled.at = scheduled.at + quiet;
    }
    let last = last + quiet;
    // A folder is emptied only where the others are a majority without it, whatever happens.
    let wipes = founders == 3 && one_of(&[0, 0, 1]) == 1;
    let wipe = wipes.then(|| (Time::from_micros(last.as_micros() / 2), id(1)));
    for _ in 0..one_of(&[4, 8, 16, 30]) {
        let share = 1 + one_of(&(0..95).collect::<Vec<_>>()) as u64;
        let at = Time::from_micros(share * last.as_micros() / 100);
        let (one, other) = (
            1 + one_of(&[0, 1, 2, 3, 4, 5]) as u32 % n,
            1 + one_of(&[0, 1, 2, 3, 4, 5]) as u32 % n,
        );
        let input = match one_of(&[0, 0, 0, 1, 2, 2, 3, 3, 4]) {
            0 => Input::Add(one),
            2 | 3 if wipes => Input::Add(one),
            1 => Input::AddLearner(one),
            2 => Input::Replace(one, other),
            3 => Input::Remove(one),
            _ => Input::Promote(one),
        };
        script.push(Scheduled { at, action: Action::InputAll(input) });
    }
    script.sort_by_key(|scheduled| scheduled.at);
    let mut down = BTreeSet::new();
    for scheduled in &mut script {
        match &mut scheduled.action {
            Action::CrashSending { node, kind, .. } => {
                *kind = KINDS[one_of(&[0, 1, 2, 3, 4, 5, 6, 7, 8])].to_owned();
                down.insert(*node);
            }
            Action::Crash(id) => drop(down.insert(*id)),
            Action::Recover(id) => drop(down.remove(id)),
            _ => {}
        }
    }
    for id in down {
        script.push(Scheduled { at: last, action: Action::Recover(id) });
    }
    if let Some(absent) = absent {
        script.retain(|scheduled| !matches!(scheduled.action, Action::Recover(id) if id == absent));
        script.insert(0, Scheduled { at: Time::ZERO, action: Action::Crash(absent) });
    }
    script.push(Scheduled { at: last, action: Action::InputAll(Input::Unsieve) });
    let longest_lease = log.leases.lease;
    let config = Config { log, flaw, longest_lease };
    Run { group, config, script, network, calm: last, absent, wipe }
}

struct Outcome {
    wrong: Option<String>,
    settled: Option<Duration>,
    counts: BTreeMap<&'static str, u64>,
    events: u64,
    /// Voters in the end.
    voters: usize,
}

/// Whether nothing is left to do for the leader: all that were to vote do, and none is to leave.
fn is_done(list: &Members, absent: Option<NodeId>) -> bool {
    list.seats.iter().all(|(id, seat)| {
        let votes = seat.suffrage != Suffrage::Joining || Some(*id) == absent;
        let left =
            seat.suffrage != Suffrage::Voter || seat.replaces.is_none_or(|old| !list.contains(old));
        votes && left
    })
}

fn perform(run: Run, seed: u64) -> Outcome {
    let Run { group, config, script, network, calm, absent, wipe } = run;
    let until = calm + bound(&config) * 2;
    let founding = config.log.clone();
    let mut witness = Witness::new(false);
    witness.ignores_lists = config.flaw.is_some();
    let mut sim: Sim<Node, Witness> =
        Sim::new(group, config, &network, seed, invariants(), witness);
    sim.schedule(script);
    sim.stop_after(2_000_000);
    if let Some((at, victim)) = wipe {
        sim.run(at);
        // All others know the folder (S6), and keep theirs.
        let knows = |node: &Node| node.log.roster().is_some_and(|r| r.birth(victim).is_some());
        let all = sim.live().count() == sim.group().len();
        if all && sim.live().all(|(_, node)| knows(node)) {
            sim.act(Action::Input(victim, Input::Wipe));
        }
    }
    sim.run(calm);
    let told = sim.observer.told.len();
    let (mut now, mut settled, mut target) = (calm, None, None);
    let mut voters = 0;
    while now < until && settled.is_none() && sim.violation().is_none() {
        now = now + Duration::from_millis(50);
        sim.run(now);
        let Some((_, leader)) = sim.live().find(|(_, node)| node.serving.is_some()) else {
            continue;
        };
        let list = leader.log.members(&founding).unwrap().clone();
        if target.is_none() && sim.observer.told.len() > told && is_done(&list, absent) {
            target = leader.log.state().map(|(commit, _)| commit.index);
        }
        let reached = |id: NodeId, node: &Node| {
            let commit = node.log.state().map(|(commit, _)| commit.index);
            !list.contains(id) || node.remembers() && commit >= target
        };
        voters = list.voters().count();
        if target.is_some() && sim.live().all(|(id, node)| reached(id, node)) {
            settled = Some(now.since(calm));
        }
    }
    if std::env::var("SHOW").is_ok() {
        for (id, node) in sim.live() {
            let (report, list) = (node.log.report(), node.log.members(&founding));
            let (promise, asks) = (node.log.promise(), node.log.asks());
            println!("{id}: {report:?}, promised {promise:?}, asks {asks:?}");
            println!("    {list:?}, changing {}", node.log.is_changing());
        }
    }
    let violation = sim.violation().map(|violation| format!("{violation:?}"));
    Outcome {
        wrong: violation.or(sim.observer.wrong.clone()),
        settled,
        counts: sim.observer.counts.clone(),
        events: sim.events(),
        voters,
    }
}

#[test]
fn members_come_and_go_and_nothing_is_lost() {
    let soaking = std::env::var("SCHEDULES").is_ok();
    let schedules: u64 = std::env::var("SCHEDULES").map_or(1_500, |text| text.parse().unwrap());
    let first: u64 = std::env::var("FIRST").map_or(0, |text| text.parse().unwrap());
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let (mut events, mut slowest, mut sizes) = (0, Duration::ZERO, BTreeMap::new());
    for seed in first..first + schedules {
        let outcome = perform(run_of(seed, None), seed);
        assert!(outcome.wrong.is_none(), "seed {seed}: {:?}", outcome.wrong);
        let diverged = outcome.counts.contains_key("diverged");
        assert!(!diverged, "seed {seed}: two histories");
        let Some(settled) = outcome.settled else {
            panic!("seed {seed}: no leader works, or a change is not done: {:?}", outcome.counts);
        };
        slowest = slowest.max(settled);
        events += outcome.events;
        *sizes.entry(outcome.voters).or_insert(0_u64) += 1;
        for (what, count) in outcome.counts {
            *counts.entry(what).or_default() += count;
        }
    }
    if soaking {
        println!("{schedules} schedules, {events} events, slowest {slowest:?}");
        println!("{counts:?}; voters in the end: {sizes:?}");
    }
    for what in ["change", "list", "removed", "must hand over", "snapshot", "handed over"] {
        assert!(counts.get(what).is_some_and(|count| *count > 0), "{what} never happened");
    }
    assert!(sizes.len() >= 4, "{sizes:?}");
}

/// How many of these runs show what is wrong: a violation, or a cluster that does not come back.
fn found(flaw: Flaw, schedules: u64) -> (usize, usize) {
    let outcomes: Vec<Outcome> =
        (0..schedules).map(|seed| perform(run_of(seed, Some(flaw)), seed)).collect();
    let wrong = outcomes.iter().filter(|outcome| outcome.wrong.is_some()).count();
    let stuck = outcomes.iter().filter(|o| o.wrong.is_none() && o.settled.is_none()).count();
    (wrong, stuck)
}

#[test]
fn a_member_that_votes_before_it_has_caught_up_stops_the_cluster() {
    let (_, stuck) = found(Flaw::AddsVoters, 300);
    assert!(stuck > 0);
}

#[test]
fn two_changes_at_once_are_found() {
    let (wrong, _) = found(Flaw::RemovesTwo, 300);
    assert!(wrong > 0);
}
