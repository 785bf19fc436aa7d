//! Snapshots over ten thousand random schedules of a bank, and over every algorithm of the
//! catalogue: every one is completed and consistent, with exactly what was on the way; and all the
//! money is in it. And what becomes of it outside the assumptions.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_algorithms::catalogue::Algorithm;
use bellwether_algorithms::catalogue::anything::NAMES;
use bellwether_algorithms::snapshot::{Anything, Bank, Snapshots};
use bellwether_core::Time;
use bellwether_sim::chaos::{quiet_plan, random_plan};
use bellwether_sim::{Action, Outcome, Plan, Scheduled, Silent, scenario, shrink};

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
/// many times this verb, where there is one.
fn add_snapshots<A: Algorithm>(plan: &mut Plan<A>, verb: Option<&str>) -> u64 {
    let mut dice = Dice(plan.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let last = plan.script.iter().map(|scheduled| scheduled.at.as_micros()).max().unwrap_or(0);
    let count = 1 + dice.below(4);
    for verb in ["snapshot"].into_iter().chain(verb) {
        for _ in 0..count {
            let at = Time::from_micros(dice.below(last + 20_000));
            let id = plan.group.ring()[dice.below(plan.group.len() as u64) as usize];
            let action = Action::Input(id, A::input(verb).unwrap());
            plan.script.push(Scheduled { at, action });
        }
    }
    count
}

/// Runs a plan, which must go well; says how many messages were on the way in its snapshots.
fn play<A: Algorithm>(plan: &Plan<A>, name: &str, snapshots: u64) -> u64 {
    let (outcome, Silent) = plan.run(Silent);
    if let Some(violation) = outcome.violation {
        let small = shrink(plan, violation.name, 500).map(|shrunk| scenario::write(&shrunk.plan));
        panic!("{name}, seed {}: {violation}\n{}", plan.seed, small.unwrap_or_default());
    }
    let complete = complete(&outcome);
    assert_eq!(complete.len() as u64, snapshots, "{name}, seed {}", plan.seed);
    complete.into_iter().sum()
}

/// How many messages were on the way in each snapshot.
fn complete(outcome: &Outcome) -> Vec<u64> {
    let fact = outcome.facts.iter().find(|fact| fact.name == "snapshots").unwrap();
    let complete = fact.value["complete"].as_array().unwrap();
    complete.iter().map(|snapshot| snapshot["messages"].as_u64().unwrap()).collect()
}

fn bank(seed: u64) -> (Plan<Snapshots<Bank>>, u64) {
    let mut plan = quiet_plan(seed);
    let snapshots = add_snapshots(&mut plan, None);
    (plan, snapshots)
}

#[test]
fn the_bank_loses_nothing_in_any_snapshot() {
    let (mut taken, mut on_the_way) = (0, 0);
    for seed in 0..SCHEDULES {
        let (plan, snapshots) = bank(seed);
        taken += snapshots;
        on_the_way += play(&plan, "bank", snapshots);
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

/// Elections and clocks have no work to do, but can be started.
fn over(name: &str, seed: u64) -> Option<(Plan<Snapshots<Anything>>, u64)> {
    let mut plan = random_plan::<Snapshots<Anything>>(seed);
    plan.settings.options.set("over", name);
    Snapshots::<Anything>::check(&plan.settings, &plan.group).ok()?;
    let snapshots = add_snapshots(&mut plan, Some("start"));
    Some((plan, snapshots))
}

#[test]
fn every_algorithm_can_be_snapped() {
    for name in NAMES {
        let (mut played, mut on_the_way) = (0, 0);
        for seed in 0..SCHEDULES_EACH {
            if let Some((plan, snapshots)) = over(name, seed) {
                played += 1;
                on_the_way += play(&plan, name, snapshots);
            }
        }
        assert!(played > SCHEDULES_EACH / 4, "{name}: refused all but {played} times");
        assert!(on_the_way > 0, "{name}: nothing was ever on the way");
    }
}
