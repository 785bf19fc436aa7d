//! Snapshots over ten thousand random schedules of a bank, and over every algorithm of the
//! catalogue: every one is completed and consistent, with exactly what was on the way; and all the
//! money is in it. And what becomes of it outside the assumptions.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::beyond::quiet_plan;
use crate::support::{CATALOGUE, listed};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyProcess, Time};
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{Action, Outcome, Plan, Scheduled, Silent, scenario, shrink};
use std::time::Duration;

const SCHEDULES: u64 = 10_000;
/// For each algorithm of the catalogue.
const SCHEDULES_EACH: u64 = 200;

/// xorshift: good enough to choose when and where.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Adds one to four snapshots by random processes, while the work is done or soon after; and as
/// many times this verb, if what runs below knows it.
fn add_snapshots(plan: &mut Plan<AnyProcess>, verb: Option<&str>) -> u64 {
    let mut dice = Dice(plan.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let last = plan.script.iter().map(|scheduled| scheduled.at.as_micros()).max().unwrap_or(0);
    let count = 1 + dice.below(4);
    for verb in ["snapshot"].into_iter().chain(verb) {
        let Some(input) = plan.algorithm.input(verb) else { continue };
        for _ in 0..count {
            let at = Time::from_micros(dice.below(last + 20_000));
            let id = plan.group.ring()[dice.below(plan.group.len() as u64) as usize];
            let action = Action::Input(id, input.clone());
            plan.script.push(Scheduled { at, action });
        }
    }
    count
}

/// Runs a plan, which must go well; says how many messages were on the way in its snapshots, or
/// what was violated and how.
fn play(plan: &Plan<AnyProcess>, snapshots: u64) -> Result<u64, (&'static str, String)> {
    let (outcome, Silent) = plan.run(Silent);
    let seed = plan.seed;
    if let Some(violation) = outcome.violation {
        return Err((violation.name, format!("seed {seed}: {violation}")));
    }
    let complete = complete(&outcome);
    if complete.len() as u64 != snapshots {
        let told = format!("seed {seed}: {} complete of {snapshots}", complete.len());
        return Err(("unfinished", told));
    }
    Ok(complete.into_iter().sum())
}

/// The least that fails in this way, as a scenario.
fn least(plan: &Plan<AnyProcess>, broken: &str) -> String {
    shrink(plan, broken, 500).map(|shrunk| scenario::write(&shrunk.plan)).unwrap_or_default()
}

/// How many messages were on the way in each snapshot.
fn complete(outcome: &Outcome) -> Vec<u64> {
    let fact = outcome.facts.iter().find(|fact| fact.name == "snapshots").unwrap();
    let complete = fact.value["complete"].as_array().unwrap();
    complete.iter().map(|snapshot| snapshot["messages"].as_u64().unwrap()).collect()
}

/// Snapshots of the algorithm of this name.
fn snapshots_of(name: &str) -> Listed {
    let mut settings = Settings::new(Duration::ZERO);
    settings.options.set("over", name);
    listed("chandy-lamport").variant(&settings).unwrap()
}

fn bank(seed: u64) -> (Plan<AnyProcess>, u64) {
    let mut plan = quiet_plan(listed("chandy-lamport"), seed);
    let snapshots = add_snapshots(&mut plan, None);
    (plan, snapshots)
}

#[test]
fn the_bank_loses_nothing_in_any_snapshot() {
    let (mut taken, mut on_the_way) = (0, 0);
    for seed in 0..SCHEDULES {
        let (plan, snapshots) = bank(seed);
        taken += snapshots;
        on_the_way += play(&plan, snapshots)
            .unwrap_or_else(|(broken, wrong)| panic!("{wrong}\n{}", least(&plan, broken)));
    }
    assert!(taken > 2 * SCHEDULES, "only {taken} snapshots");
    assert!(on_the_way > SCHEDULES, "hardly any money was on the way: {on_the_way} in {taken}");
}

/// Where messages overtake each other, markers divide nothing. With FIFO the same runs are well.
#[test]
fn without_fifo_snapshots_are_none() {
    let mut found = Vec::new();
    for seed in 0..SCHEDULES / 10 {
        let (mut plan, _) = bank(seed);
        plan.network.reorder = true;
        let (outcome, Silent) = plan.run(Silent);
        found.extend(outcome.violation.map(|violation| (violation.name, seed)));
    }
    for name in ["consistent-cut", "channel-contents"] {
        let seeds: Vec<u64> = found.iter().filter(|(n, _)| *n == name).map(|(_, s)| *s).collect();
        assert!(seeds.len() as u64 > SCHEDULES / 500, "{name} only for {seeds:?}");
        let plan = |seed| {
            let mut plan = bank(seed).0;
            plan.network.reorder = true;
            plan
        };
        let shrunk = seeds.iter().take(10).filter_map(|seed| shrink(&plan(*seed), name, 500));
        // A snapshot, a payment, and a message that is faster than one before it.
        let smallest = shrunk.map(|shrunk| shrunk.pieces_after).min().unwrap();
        assert!(smallest <= 4, "{smallest} pieces");
    }
    assert!(found.iter().all(|(name, _)| ["consistent-cut", "channel-contents"].contains(name)));
}

/// Some algorithms have no work to do, but can be started, and some begin by themselves.
fn over(algorithm: &Listed, name: &str, seed: u64) -> Option<(Plan<AnyProcess>, u64)> {
    let mut plan = random_plan(algorithm, seed);
    plan.settings.options.set("over", name);
    algorithm.check(&plan.settings, &plan.group).ok()?;
    let snapshots = add_snapshots(&mut plan, Some("start"));
    Some((plan, snapshots))
}

/// What the referee of snapshots judges.
const JUDGED: &[&str] = &["consistent-cut", "channel-contents", "conserved", "unfinished"];

/// Whether these schedules are within what an algorithm assumes, and make it send something. What
/// becomes of the others is the business of their own tests; but of them, too, snapshots are right.
fn is_at_home(name: &str) -> bool {
    let known = CATALOGUE.get(name);
    known.is_none_or(|listed| matches!(listed.entry.family, "election" | "mutex"))
}

#[test]
fn every_algorithm_can_be_snapped() {
    let mut complaints = Vec::new();
    let mut snapped = 0;
    let others = CATALOGUE.iter().filter(|listed| listed.entry.family != "snapshot");
    let names: Vec<&str> = ["bank"].into_iter().chain(others.map(|listed| listed.name())).collect();
    for name in &names {
        let algorithm = snapshots_of(name);
        let (mut played, mut on_the_way) = (0, 0);
        for seed in 0..SCHEDULES_EACH {
            let Some((plan, snapshots)) = over(&algorithm, name, seed) else { continue };
            played += 1;
            match play(&plan, snapshots) {
                Ok(messages) => on_the_way += messages,
                Err((broken, wrong)) if is_at_home(name) || JUDGED.contains(&broken) => {
                    complaints.push(format!("{name}, {wrong}\n{}", least(&plan, broken)));
                    break;
                }
                Err(_) => {}
            }
        }
        snapped += u64::from(on_the_way > 0);
        if is_at_home(name) && (on_the_way == 0 || played < SCHEDULES_EACH) {
            complaints.push(format!("{name}: {played} played, {on_the_way} messages on the way"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(2 * snapped > names.len() as u64, "only {snapped} algorithms sent anything");
}

/// One token in every cut, wherever it is.
#[test]
fn a_token_is_in_a_snapshot_once() {
    for name in ["token-ring", "ricart-agrawala-token", "suzuki-kasami", "raymond", "singhal"] {
        let (mut held, mut on_the_way) = (0, 0);
        let algorithm = snapshots_of(name);
        for seed in 0..SCHEDULES_EACH {
            let mut plan = quiet_plan(&algorithm, seed);
            plan.settings.options.set("over", name);
            let snapshots = add_snapshots(&mut plan, None);
            let (outcome, Silent) = plan.run(Silent);
            assert_eq!(outcome.violation, None, "{name}, seed {seed}");
            assert_eq!(complete(&outcome).len() as u64, snapshots);
            let fact = outcome.facts.iter().find(|fact| fact.name == "token").unwrap();
            for cut in fact.value["cuts"].as_array().unwrap() {
                held += cut["held"].as_u64().unwrap();
                on_the_way += cut["on_the_way"].as_u64().unwrap();
            }
        }
        assert!(held > 0 && on_the_way > 0, "{name}: {held} held, {on_the_way} on the way");
    }
}

/// A crash is outside the assumptions: a snapshot that needs the dead is never complete, and what
/// is said about it is that.
#[test]
fn a_crash_leaves_snapshots_open() {
    let mut open = 0;
    for seed in 0..SCHEDULES / 100 {
        let (mut plan, _) = bank(seed);
        let victim = plan.group.ring()[0];
        plan.script.retain(|scheduled| match &scheduled.action {
            Action::Input(id, _) => *id != victim,
            _ => true,
        });
        plan.script.push(Scheduled { at: Time::from_micros(1), action: Action::Crash(victim) });
        let (outcome, Silent) = plan.run(Silent);
        let fact = outcome.facts.iter().find(|fact| fact.name == "snapshots").unwrap();
        let expected = (fact.value["not_complete"] != 0).then_some("recorded");
        assert_eq!(outcome.violation.map(|violation| violation.name), expected, "seed {seed}");
        open += u64::from(expected.is_some());
    }
    assert!(open > SCHEDULES / 200, "only {open}");
}
