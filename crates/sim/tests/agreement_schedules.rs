//! Agreement over many random schedules: traitors of every kind up to the bound, and what happens
//! beyond it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_algorithms::agreement::{Byzantine, strategies};
use bellwether_algorithms::catalogue::{Algorithm, ENTRIES, Settings};
use bellwether_algorithms::options::Options;
use bellwether_core::{Group, NodeId, Time};
use bellwether_sim::{
    Action, FaultKind, Latency, Network, Outcome, Plan, Scheduled, Silent, default_timeout,
    scenario, shrink,
};
use std::collections::BTreeMap;
use std::time::Duration;

const SCHEDULES: u64 = 10_000;

/// Marsaglia's xorshift: enough to choose with.
struct Draws(u64);

impl Draws {
    fn new(seed: u64) -> Self {
        Draws(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        for shift in [13, -7, 17_i32] {
            self.0 ^= if shift > 0 { self.0 << shift } else { self.0 >> -shift };
        }
        (self.0 >> 11) % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn ids(&mut self, n: u32) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = (1..=n).map(NodeId::new).collect();
        for last in (1..ids.len()).rev() {
            ids.swap(last, self.below(last as u64 + 1) as usize);
        }
        ids
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn options(pairs: &[(&str, String)]) -> Options {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    words.join(",")
}

fn fact<'a>(outcome: &'a Outcome, name: &str) -> &'a bellwether_algorithms::referee::Fact {
    outcome.facts.iter().find(|fact| fact.name == name).unwrap()
}

/// Runs a plan, which must go well.
fn play<A: Algorithm>(plan: &Plan<A>) -> Outcome {
    A::check(&plan.settings, &plan.group).unwrap();
    let (outcome, Silent) = plan.run(Silent);
    if let Some(violation) = &outcome.violation {
        let small = shrink(plan, violation.name, 500).map(|shrunk| scenario::write(&shrunk.plan));
        let facts = &outcome.facts;
        panic!("seed {}: {violation}\n{facts:#?}\n{}", plan.seed, small.unwrap_or_default());
    }
    assert!(outcome.agreed, "seed {}: {outcome:?}", plan.seed);
    outcome
}

/// n processes with m of them at fault: traitors, or processes that crash in the middle.
fn byzantine_plan(seed: u64, n: u32, m: u32) -> Plan<Byzantine> {
    let mut draws = Draws::new(seed);
    let mut network = Network::new(match draws.below(3) {
        0 => Latency::Fixed(ms(10)),
        1 => Latency::Uniform(ms(1), ms(2 + draws.below(48))),
        _ => Latency::Uniform(Duration::ZERO, ms(10)),
    });
    network.reorder = draws.chance(50);
    network.duplicate = if draws.chance(30) { 0.2 } else { 0.0 };
    let timeout = default_timeout(&network);
    let group = Group::new(draws.ids(n)).unwrap();
    let mut faulty = draws.ids(n);
    faulty.truncate(draws.below(u64::from(m) + 1) as usize);
    let (crashing, traitors): (Vec<NodeId>, Vec<NodeId>) =
        faulty.into_iter().partition(|_| draws.chance(20));
    let words = ["x", "y", "z"];
    let values = (0..n).map(|_| words[draws.below(3) as usize]);
    let mut pairs = vec![
        ("faults", m.to_string()),
        ("values", list(values.collect::<Vec<_>>())),
        ("strategy", strategies::NAMES[draws.below(4) as usize].to_owned()),
        ("lie-seed", seed.to_string()),
    ];
    if !traitors.is_empty() {
        pairs.push(("traitors", list(traitors.iter().map(|id| id.number()))));
    }
    let mut script = Vec::new();
    for id in crashing {
        let at = Time::ZERO + timeout.mul_f64(draws.below(400) as f64 / 100.0);
        script.push(Scheduled { at, action: Action::Crash(id) });
        if draws.chance(50) {
            let at = at + timeout.mul_f64(draws.below(300) as f64 / 100.0);
            script.push(Scheduled { at, action: Action::Recover(id) });
        }
    }
    let detection = draws.chance(50);
    let settings = Settings { detection, options: options(&pairs), ..Settings::new(timeout) };
    Plan { group, settings, network, seed, script, until: None }
}

#[test]
fn byzantine_with_up_to_m_traitors() {
    let (mut nils, mut crashes) = (0, 0);
    let mut lied: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..SCHEDULES {
        let n = 1 + (seed % 7) as u32;
        let m = (n - 1) / 3;
        let outcome = play(&byzantine_plan(seed, n, m));
        assert_eq!(fact(&outcome, "rounds").value, m + 1, "seed {seed}");
        let traitors = &fact(&outcome, "traitors").value;
        if !traitors["ids"].as_array().unwrap().is_empty() {
            *lied.entry(traitors["strategy"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        let agreed = fact(&outcome, "agreed").value.as_array().unwrap();
        nils += agreed.iter().filter(|entry| entry.is_null()).count();
        let crashed = outcome.faults.iter().find(|(kind, _)| *kind == FaultKind::Crash);
        crashes += crashed.map_or(0, |(_, count)| count);
    }
    assert_eq!(lied.len(), 4, "{lied:?}");
    assert!(lied.values().all(|count| *count > SCHEDULES / 20), "{lied:?}");
    assert!(crashes > SCHEDULES / 50, "only {crashes} crashes");
    assert!(nils as u64 > SCHEDULES / 20, "only {nils} entries without a value");
}

#[test]
fn byzantine_with_three_traitors_among_ten() {
    for seed in 0..20 {
        let mut plan = byzantine_plan(seed, 10, 3);
        let strategy = strategies::NAMES[seed as usize % 4];
        plan.settings.options.set("strategy", strategy);
        plan.settings.options.set("traitors", "2,5,9");
        plan.script.clear();
        let outcome = play(&plan);
        assert_eq!(fact(&outcome, "rounds").text, "4");
        let sent = outcome.tally.protocol().values().sum::<u64>();
        match strategy {
            "two-faced" | "colluding" => assert_eq!(sent, 36_090),
            _ => assert!(sent < 36_090),
        }
        assert!(fact(&outcome, "oral-messages").text.starts_with(&format!("{sent} of")));
    }
}

/// One process too few for its traitors: every kind of lie but silence does harm at times.
#[test]
fn byzantine_below_the_bound_falls_apart() {
    let mut broken: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for seed in 0..2_000 {
        let (n, m, traitors) = [(3, 1, "2"), (6, 2, "1,4")][seed as usize % 2];
        let mut plan = byzantine_plan(seed, n, m);
        plan.script.clear();
        let strategy = strategies::NAMES[seed as usize / 2 % 4];
        plan.settings.options.set("strategy", strategy);
        plan.settings.options.set("traitors", traitors);
        assert!(Byzantine::check(&plan.settings, &plan.group).is_err());
        plan.settings.options.set("force", "");
        assert_eq!(Byzantine::check(&plan.settings, &plan.group), Ok(()));
        let (outcome, Silent) = plan.run(Silent);
        if let Some(violation) = outcome.violation {
            assert!(["consistency", "validity"].contains(&violation.name), "{violation}");
            *broken.entry((strategy, traitors)).or_default() += 1;
        }
    }
    for traitors in ["2", "1,4"] {
        for strategy in ["random", "two-faced", "colluding"] {
            assert!(broken.contains_key(&(strategy, traitors)), "{broken:?}");
        }
    }
}

/// Outside its assumptions: a lost message turns an honest process into one of the m.
#[test]
fn byzantine_over_a_lossy_network_may_fail() {
    let mut broken = 0;
    for seed in 0..500 {
        let mut plan = byzantine_plan(seed, 4, 1);
        plan.network.loss = 0.3;
        broken += u64::from(plan.run(Silent).0.violation.is_some());
    }
    assert!(broken > 50, "only {broken}");
}

/// Should the catalogue grow, this list must too.
#[test]
fn all_of_the_family_are_here() {
    let family = ENTRIES.iter().filter(|entry| entry.family == "agreement").count();
    assert_eq!(family, 1);
}
