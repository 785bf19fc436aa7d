//! Agreement over many random schedules: links over a network that loses and doubles, generals
//! whose messengers are caught, traitors of every kind up to the bound; and what happens beyond.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::beyond::quiet_plan;
use crate::support::listed;
use bellwether_algorithms::agreement::{Reliable, reliable, strategies};
use bellwether_algorithms::definition::{Algorithm, Settings};
use bellwether_algorithms::mutex::{Deed, Guarded, Lamport};
use bellwether_algorithms::options::Options;
use bellwether_core::{AnyProcess, Goal, Group, Invariant, NodeId, Process, Time};
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{
    Action, Ended, FaultKind, Latency, Network, Observer, Outcome, Plan, Scheduled, Seen, Silent,
    Sim, default_timeout, scenario, shrink,
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
fn play(plan: &Plan<AnyProcess>) -> Outcome {
    plan.algorithm.check(&plan.settings, &plan.group).unwrap();
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
fn byzantine_plan(seed: u64, n: u32, m: u32) -> Plan<AnyProcess> {
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
    let algorithm = listed("byzantine").clone();
    Plan { algorithm, group, settings, network, seed, script, until: None }
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
        let traitors = &fact(&outcome, "faulty").value;
        if !traitors["traitors"].as_array().unwrap().is_empty() {
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
        assert!(plan.algorithm.check(&plan.settings, &plan.group).is_err());
        plan.settings.options.set("force", "");
        assert_eq!(plan.algorithm.check(&plan.settings, &plan.group), Ok(()));
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

const LETTERS: &str = "reliable-link";

/// A network that loses and doubles a fifth of all messages, and reorders some.
fn lossy(draws: &mut Draws) -> Network {
    let mut network = Network::new(match draws.below(2) {
        0 => Latency::Fixed(ms(10)),
        _ => Latency::Uniform(ms(1), ms(2 + draws.below(30))),
    });
    network.reorder = draws.chance(70);
    network.loss = 0.2;
    network.duplicate = 0.2;
    network
}

/// Some processes that write letters, some of which crash and some of these come back.
fn letters_plan(seed: u64, crashes: u64) -> Plan<AnyProcess> {
    let algorithm = listed(LETTERS);
    let mut draws = Draws::new(seed);
    let n = 2 + draws.below(4) as u32;
    let network = lossy(&mut draws);
    let timeout = default_timeout(&network);
    let group = Group::new(draws.ids(n)).unwrap();
    let mut script = Vec::new();
    let time = |draws: &mut Draws| Time::ZERO + ms(draws.below(1_000));
    for _ in 0..draws.below(30) {
        let by = NodeId::new(1 + draws.below(u64::from(n)) as u32);
        let to = 1 + draws.below(u64::from(n));
        let word = if draws.chance(50) { "work".to_owned() } else { format!("send:{to}") };
        let input = algorithm.input(&word).unwrap();
        for _ in 0..1 + draws.below(4) {
            let action = Action::Input(by, input.clone());
            script.push(Scheduled { at: time(&mut draws), action });
        }
    }
    for id in draws.ids(n).into_iter().take(crashes.min(u64::from(n)) as usize) {
        let at = time(&mut draws);
        script.push(Scheduled { at, action: Action::Crash(id) });
        if draws.chance(50) {
            let at = at + ms(draws.below(3_000));
            script.push(Scheduled { at, action: Action::Recover(id) });
        }
    }
    let window = 1 + draws.below(10);
    let settings =
        Settings { options: options(&[("window", window.to_string())]), ..Settings::new(timeout) };
    let algorithm = algorithm.clone();
    Plan { algorithm, group, settings, network, seed, script, until: None }
}

fn number(outcome: &Outcome, name: &str) -> u64 {
    fact(outcome, name).value.as_u64().unwrap()
}

#[test]
fn letters_over_a_network_that_loses_and_doubles() {
    let (mut letters, mut resent, mut duplicates) = (0, 0, 0);
    for seed in 0..SCHEDULES {
        let outcome = play(&letters_plan(seed, 0));
        assert_eq!(number(&outcome, "letters"), number(&outcome, "delivered"), "seed {seed}");
        assert_eq!(fact(&outcome, "reported-down").text, "nobody", "seed {seed}");
        letters += number(&outcome, "letters");
        resent += number(&outcome, "resent");
        duplicates += number(&outcome, "duplicates-dropped");
    }
    assert!(letters > 10 * SCHEDULES, "only {letters} letters");
    assert!(resent > letters / 10 && duplicates > letters / 10, "{resent} {duplicates}");
}

#[test]
fn letters_to_processes_that_crash_and_come_back() {
    let (mut reports, mut given_up, mut delivered, mut crashes) = (0, 0, 0, 0);
    for seed in 0..SCHEDULES {
        let outcome = play(&letters_plan(seed, 1 + seed % 3));
        reports += fact(&outcome, "reported-down").value.as_array().unwrap().len() as u64;
        given_up += number(&outcome, "given-up");
        delivered += number(&outcome, "delivered");
        let crashed = outcome.faults.iter().find(|(kind, _)| *kind == FaultKind::Crash);
        crashes += crashed.map_or(0, |(_, count)| count);
    }
    assert!(crashes > SCHEDULES && reports > SCHEDULES / 4, "{crashes} {reports}");
    assert!(given_up > SCHEDULES / 4 && delivered > 10 * SCHEDULES, "{given_up} {delivered}");
}

#[test]
fn letters_within_the_plans_of_all_algorithms() {
    for seed in 0..SCHEDULES / 2 {
        play(&quiet_plan(listed(LETTERS), seed));
        play(&random_plan(listed(LETTERS), seed));
    }
}

/// Without the link, all that the network does shows.
#[test]
fn bare_letters_are_lost_doubled_and_disordered() {
    let mut broken: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..1_000 {
        let mut plan = letters_plan(seed, 0);
        plan.settings.options.set("bare", "");
        if let Some(violation) = plan.run(Silent).0.violation {
            *broken.entry(violation.name).or_default() += 1;
        }
    }
    for name in ["delivery", "once", "order"] {
        assert!(broken.get(name).is_some_and(|count| *count > 10), "{broken:?}");
    }
}

/// With too few tries a live peer is reported down: the price of giving up at all.
#[test]
fn a_hasty_link_gives_up_on_the_living() {
    let mut hasty = 0;
    for seed in 0..500 {
        let mut plan = letters_plan(seed, 0);
        plan.network.loss = 0.4;
        plan.settings.options.set("tries", "1");
        let violation = plan.run(Silent).0.violation;
        hasty += u64::from(violation.is_some_and(|violation| violation.name == "down"));
    }
    assert!(hasty > 50, "only {hasty}");
}

type Wrapped = Reliable<Guarded<Lamport>>;

/// An algorithm that assumes FIFO channels without loss, over links that see to it. T is above the
/// time in which a link gets a message through or gives up.
fn wrapped(seed: u64, bare: bool, crashes: bool) -> (Sim<Wrapped, Silent>, u64) {
    let mut draws = Draws::new(seed);
    let n = 2 + draws.below(4) as u32;
    let network = lossy(&mut draws);
    let pause = default_timeout(&network);
    let group = Group::new(draws.ids(n)).unwrap();
    let settings = Settings {
        coordinator: Some(NodeId::new(n)),
        detection: crashes,
        section: (ms(1), ms(20)),
        ..Settings::new(pause * 24)
    };
    let config = reliable::Config {
        process: Guarded::<Lamport>::definition().config(&settings, &group),
        pause,
        tries: 20,
        window: 8,
        bare,
    };
    let one_inside = Invariant::at_most_one(
        "one-inside",
        "at most one live process is in the critical section",
        |_, p: &Wrapped| p.process().is_inside().then_some(0),
    );
    let mut sim = Sim::new(group, config, &network, seed, vec![one_inside], Silent);
    let granted = Goal::new(
        "granted",
        "every request of a live process is granted",
        |mut processes: &mut dyn Iterator<Item = (NodeId, &Wrapped)>| {
            Iterator::all(&mut processes, |(_, process)| process.process().is_served())
        },
    );
    sim.stop_when(granted.at_rest(false));
    let mut jobs = 0;
    for _ in 0..1 + draws.below(8) {
        let id = NodeId::new(1 + draws.below(u64::from(n)) as u32);
        let at = Time::ZERO + ms(draws.below(2_000));
        sim.schedule([Scheduled { at, action: Action::Input(id, Deed::Work) }]);
        jobs += 1;
    }
    if crashes {
        let id = NodeId::new(1 + draws.below(u64::from(n)) as u32);
        let at = Time::ZERO + ms(draws.below(2_000));
        sim.schedule([Scheduled { at, action: Action::Crash(id) }]);
        if draws.chance(50) {
            let at = at + ms(draws.below(20_000));
            sim.schedule([Scheduled { at, action: Action::Recover(id) }]);
        }
    }
    (sim, jobs)
}

#[test]
fn an_algorithm_that_assumes_no_loss_runs_over_the_link() {
    let mut granted = 0;
    for seed in 0..SCHEDULES / 2 {
        let (mut sim, jobs) = wrapped(seed, false, false);
        let ended = sim.run(Time::ZERO + Duration::from_secs(600));
        assert_eq!(ended, Ended::Settled, "seed {seed}: {:?}", sim.violation());
        granted += jobs;
    }
    assert!(granted > SCHEDULES, "only {granted}");
}

/// The same with views, through a crash and perhaps a recovery.
#[test]
fn so_does_its_recovery_from_crashes() {
    for seed in 0..SCHEDULES / 10 {
        let (mut sim, _) = wrapped(seed, false, true);
        let ended = sim.run(Time::ZERO + Duration::from_secs(3_600));
        assert_eq!(ended, Ended::Settled, "seed {seed}: {:?}", sim.violation());
    }
}

#[test]
fn without_the_link_it_fails() {
    let (mut stuck, mut unsafe_) = (0, 0);
    for seed in 0..500 {
        let (mut sim, _) = wrapped(seed, true, false);
        match sim.run(Time::ZERO + Duration::from_secs(600)) {
            Ended::Violated => unsafe_ += 1,
            Ended::Settled => {}
            _ => stuck += 1,
        }
    }
    assert!(stuck > 100 && unsafe_ > 0, "{stuck} stuck, {unsafe_} with two inside");
}

fn generals(seed: u64, confirmations: u64, loss: f64) -> Plan<AnyProcess> {
    let mut plan = quiet_plan(listed("two-generals"), seed);
    plan.network.latency = Latency::Uniform(ms(1), ms(10));
    plan.settings.timeout = ms(30);
    plan.settings.options.set("confirmations", &confirmations.to_string());
    plan.network.loss = loss;
    plan
}

#[test]
fn generals_whose_messengers_all_arrive() {
    for seed in 0..SCHEDULES {
        let confirmations = seed % 9;
        let outcome = play(&generals(seed, confirmations, 0.0));
        assert_eq!(fact(&outcome, "attack").value.as_array().unwrap().len(), 2, "seed {seed}");
        assert_eq!(outcome.tally.protocol().values().sum::<u64>(), confirmations + 1);
    }
}

/// For every number of confirmations there are runs with one attacker, and exactly those in which
/// the last messenger, and no other, was caught.
#[test]
fn generals_whose_messengers_are_caught() {
    let mut alone = [0; 9];
    for seed in 0..SCHEDULES {
        let confirmations = seed % 9;
        let (outcome, Silent) = generals(seed, confirmations, 0.15).run(Silent);
        let left = outcome.tally.protocol().values().sum::<u64>();
        let caught = outcome.faults.iter().any(|(kind, n)| kind == FaultKind::Loss && n > 0);
        let broken = outcome.violation.map(|violation| violation.name);
        let expected = caught && left == confirmations + 1;
        assert_eq!(broken == Some("both-or-none"), expected, "seed {seed}: {broken:?}");
        alone[confirmations as usize] += u64::from(expected);
    }
    assert!(alone.iter().all(|count| *count > 10), "{alone:?}");
}

/// Which rules were applied.
#[derive(Default)]
struct Rules(BTreeMap<&'static str, u64>);

impl<P: Process> Observer<P> for Rules {
    const ACTIVE: bool = true;

    fn event(&mut self, _: Time, _: usize, event: Seen<'_, P>) {
        if let Seen::Rule(rule) = event {
            *self.0.entry(rule).or_default() += 1;
        }
    }

    fn stepped(&mut self, _: usize, _: &P) {}
}

fn assert_applied(plans: impl Iterator<Item = Plan<AnyProcess>>, rules: &[&str]) {
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for plan in plans {
        let (_, Rules(applied)) = plan.run(Rules::default());
        applied.into_iter().for_each(|(rule, count)| *counts.entry(rule).or_default() += count);
    }
    for rule in rules {
        assert!(counts.get(rule).is_some_and(|count| *count > 20), "{rule}: {counts:?}");
    }
}

/// What is never applied is never tested.
#[test]
fn the_schedules_apply_every_rule() {
    let letters = (0..2_000).map(|seed| letters_plan(seed, seed % 4));
    assert_applied(letters, &["C1", "C2", "R1", "R2", "R3", "R4", "R5", "R6", "R7"]);
    let generals = (0..50).map(|seed| generals(seed, seed % 9, 0.1));
    assert_applied(generals, &["G1", "G2", "G3"]);
    let byzantine = (0..2_000).map(|seed| byzantine_plan(seed, 4, 1));
    assert_applied(byzantine, &["B1", "B2", "B3", "B4", "B5"]);
}
