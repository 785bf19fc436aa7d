//! Each ordered broadcast, over thousands of random schedules: what is delivered before what, by
//! whom, and that nothing is lost or delivered twice. And what happens outside what an algorithm
//! assumes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::beyond::{Beyond, plan_beyond, quiet_plan};
use crate::support::{each_of, listed, schedules};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Algorithm;
use bellwether_algorithms::order::{Promises, Sequencer};
use bellwether_core::{AnyProcess, Channels, Group, Message, NodeId, Process, Time, micros};
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{
    Action, FaultCounts, FaultKind, Latency, Network, Observer, Outcome, Plan, Scheduled, Seen,
    Silent, scenario, shrink,
};
use std::sync::Arc;
use std::time::Duration;

/// What many runs came to.
#[derive(Debug, Default)]
struct Total {
    broadcasts: u64,
    deliveries: u64,
    /// The runs in which anything was held back.
    holding: u64,
    faults: FaultCounts,
    /// The crashes in the middle of sending something to all.
    midway: u64,
    /// How often a process joined that had come back.
    joined: u64,
}

impl Total {
    fn faults(&self, kind: FaultKind) -> u64 {
        self.faults.iter().find(|(other, _)| *other == kind).map_or(0, |(_, count)| count)
    }
}

/// Looks out for crashes in the middle of sending something to all.
#[derive(Default)]
struct Lookout {
    others: u64,
    /// Who sent when, which kind, and how many of them.
    last: Option<(Time, usize, &'static str, u64)>,
    midway: u64,
    joined: u64,
}

impl<P: Process> Observer<P> for Lookout {
    const ACTIVE: bool = true;

    fn event(&mut self, at: Time, place: usize, event: Seen<'_, P>) {
        match event {
            Seen::Send { msg, .. } => {
                let kind = msg.kind().name;
                let count = match self.last {
                    Some((then, who, what, count)) if (then, who, what) == (at, place, kind) => {
                        count
                    }
                    _ => 0,
                };
                self.last = Some((at, place, kind, count + 1));
            }
            Seen::Crash => {
                let fits = |(then, who, kind, count): (Time, usize, &str, u64)| {
                    let to_all = matches!(kind, "ORDER" | "VIEW" | "STABLE");
                    (then, who) == (at, place) && to_all && count % self.others != 0
                };
                self.midway += u64::from(self.others > 0 && self.last.is_some_and(fits));
            }
            Seen::Output(output) => {
                self.joined += u64::from(output.to_string().starts_with("joins"));
            }
            _ => {}
        }
    }

    fn stepped(&mut self, _: usize, _: &P) {}
}

/// The number that a run has for a fact.
fn fact(outcome: &Outcome, name: &str) -> u64 {
    let found = outcome.facts.iter().find(|fact| fact.name == name);
    found.and_then(|fact| fact.value.as_u64()).unwrap()
}

/// Runs a plan, which must go well.
fn play(plan: &Plan<AnyProcess>, total: &mut Total) -> Outcome {
    let others = plan.group.len() as u64 - 1;
    let (outcome, lookout) = plan.run(Lookout { others, ..Lookout::default() });
    let name = plan.algorithm.name();
    total.faults.add(&outcome.faults);
    total.midway += lookout.midway;
    total.joined += lookout.joined;
    if let Some(violation) = outcome.violation {
        let small = shrink(plan, violation.name, 500).map(|shrunk| scenario::write(&shrunk.plan));
        panic!("{name}, seed {}: {violation}\n{}", plan.seed, small.unwrap_or_default());
    }
    assert!(outcome.agreed, "{name}, seed {}: {outcome:?}", plan.seed);
    total.broadcasts += fact(&outcome, "broadcasts");
    total.deliveries += fact(&outcome, "deliveries");
    total.holding += u64::from(fact(&outcome, "held-back") > 0);
    outcome
}

/// A random run without faults, with answers in two of three.
fn quiet(algorithm: &Listed, seed: u64) -> Plan<AnyProcess> {
    let mut plan = quiet_plan(algorithm, seed);
    plan.settings.options.set("answers", &(seed % 3).to_string());
    plan
}

/// Without faults everybody delivers everything.
fn check_quiet(algorithm: &Listed) {
    let name = algorithm.name();
    let mut total = Total::default();
    for seed in 0..schedules() {
        let plan = quiet(algorithm, seed);
        let outcome = play(&plan, &mut total);
        let (broadcasts, deliveries) = (fact(&outcome, "broadcasts"), fact(&outcome, "deliveries"));
        let n = plan.group.len() as u64;
        assert_eq!(deliveries, broadcasts * n, "{name}, seed {seed}");
        let asked = plan.script.len() as u64;
        let answers = if n > 1 { seed % 3 } else { 0 };
        assert_eq!(broadcasts, asked * (1 + answers), "{name}, seed {seed}");
    }
    assert!(total.broadcasts > 10 * schedules(), "hardly anything was said: {total:?}");
    assert!(total.holding > schedules() / 10, "hardly anything was held back: {total:?}");
}

/// The names of what these plans violate, and the seeds.
fn violations(schedules: u64, plan: impl Fn(u64) -> Plan<AnyProcess>) -> Vec<(u64, &'static str)> {
    let violated = |seed| {
        let (outcome, Silent) = plan(seed).run(Silent);
        outcome.violation.map(|violation| (seed, violation.name))
    };
    (0..schedules).filter_map(violated).collect()
}

#[test]
fn every_algorithm_delivers_everything_everywhere_in_order() {
    each_of("order", check_quiet);
}

/// The same runs without the order: a broadcast by itself, even over FIFO channels, does not keep
/// causes before effects. So there are causes and effects in these runs, and the referee sees them.
#[test]
fn without_hold_back_causality_is_violated() {
    for reorder in [false, true] {
        let plan = |seed| {
            let mut plan = quiet(listed("causal-broadcast"), seed);
            plan.network.reorder = reorder;
            plan.network.duplicate = 0.0;
            plan.settings.options.set("unordered", "");
            plan
        };
        let found = violations(1_000, plan);
        assert!(found.len() > 100, "only {found:?}");
        assert!(found.iter().all(|(_, name)| *name == "causal"), "{found:?}");
    }
}

/// An ACK that overtakes a message tells its receiver that there is none.
#[test]
fn lamport_without_fifo_delivers_in_two_orders() {
    let plan = |reorder| {
        move |seed| {
            let mut plan = quiet(listed("total-order-lamport"), seed);
            plan.network.reorder = reorder;
            plan
        }
    };
    let found = violations(1_000, plan(true));
    let two_orders = found.iter().filter(|(_, name)| *name == "one-order").count();
    assert!(two_orders > 50, "only {found:?}");
    assert_eq!(violations(1_000, plan(false)), []);
}

/// The sequencer of the catalogue.
fn sequencer() -> &'static Listed {
    listed("total-order-sequencer")
}

/// Small numbers, always the same for the same seed.
struct Lots(u64);

impl Lots {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }
}

/// A random plan of the sequencer, with answers, uniform or not.
fn with_options(mut plan: Plan<AnyProcess>, uniform: bool) -> Plan<AnyProcess> {
    plan.settings.options.set("answers", &(plan.seed % 3).to_string());
    if uniform {
        plan.settings.options.set("uniform", "");
    }
    plan
}

/// Any process crashes and comes back at any time.
fn any_process_dies(seed: u64, uniform: bool) -> Plan<AnyProcess> {
    with_options(random_plan(sequencer(), seed), uniform)
}

/// The sequencer dies in the middle of sending, while all are busy; then perhaps its successor
/// too. Most of them come back.
fn sequencer_dies(seed: u64, uniform: bool) -> Plan<AnyProcess> {
    let mut plan = with_options(random_plan(sequencer(), seed), uniform);
    let mut lots = Lots(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (n, timeout) = (plan.group.len() as u64, plan.settings.timeout);
    let span =
        |lots: &mut Lots, most: u64| Duration::from_micros(lots.below(micros(timeout) * most));
    plan.settings.coordinator = Some(plan.group.highest());
    plan.script.clear();
    let mut at = Time::ZERO;
    for victim in (2..=n).rev().take(1 + lots.below(3) as usize) {
        at = at + span(&mut lots, 12);
        let node = NodeId::new(victim as u32);
        let kinds: &[&str] =
            if uniform { &["ORDER", "STABLE", "VIEW"] } else { &["ORDER", "ORDER", "VIEW"] };
        let kind = kinds[lots.below(kinds.len() as u64) as usize].to_owned();
        let after = lots.below(n) as u32;
        let sure = at + timeout * 3;
        let mut act = |at, action| plan.script.push(Scheduled { at, action });
        act(at, Action::CrashSending { node, kind, after });
        act(sure, Action::Crash(node));
        if lots.below(4) > 0 {
            act(sure + span(&mut lots, 30), Action::Recover(node));
        }
        at = at + span(&mut lots, 12);
    }
    let last = plan.script.iter().map(|scheduled| scheduled.at.as_micros()).max().unwrap_or(0);
    for _ in 0..10 + lots.below(20) {
        let when = Time::from_micros(lots.below(last + 3 * micros(timeout)));
        let who = NodeId::new(1 + lots.below(n) as u32);
        let input = sequencer().input("broadcast").unwrap();
        plan.script.push(Scheduled { at: when, action: Action::Input(who, input) });
    }
    plan
}

fn check_crashes(plan: impl Fn(u64) -> Plan<AnyProcess>) -> Total {
    let mut total = Total::default();
    for seed in 0..schedules() {
        play(&plan(seed), &mut total);
    }
    for kind in [FaultKind::Crash, FaultKind::Recover, FaultKind::Duplicate] {
        assert!(total.faults(kind) > schedules() / 10, "{} hardly ever happened", kind.name());
    }
    assert!(total.broadcasts > 5 * schedules(), "hardly anything was said: {total:?}");
    assert!(total.joined > schedules() / 10, "hardly anybody joined: {total:?}");
    total
}

#[test]
fn sequencer_survives_crashes() {
    check_crashes(|seed| any_process_dies(seed, false));
}

#[test]
fn sequencer_survives_crashes_uniformly() {
    check_crashes(|seed| any_process_dies(seed, true));
}

#[test]
fn sequencer_dies_in_the_middle_of_sending() {
    let total = check_crashes(|seed| sequencer_dies(seed, false));
    assert!(total.midway > schedules() / 4, "only {total:?}");
}

#[test]
fn sequencer_dies_in_the_middle_of_sending_uniformly() {
    let total = check_crashes(|seed| sequencer_dies(seed, true));
    assert!(total.midway > schedules() / 4, "only {total:?}");
}

/// The largest comes back and is elected at once. While it stops the others, its predecessor numbers
/// its last messages, and dies.
fn sequencer_is_relieved(seed: u64, uniform: bool) -> Plan<AnyProcess> {
    let mut plan = sequencer_dies(seed, uniform);
    let mut lots = Lots(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1);
    let (n, timeout) = (plan.group.len() as u32, plan.settings.timeout);
    let back = Time::ZERO + timeout * 40;
    let broadcast = sequencer().input("broadcast").unwrap();
    plan.script.clear();
    let mut act = |at, action| plan.script.push(Scheduled { at, action });
    if n > 2 {
        act(Time::ZERO, Action::Crash(NodeId::new(n)));
        act(back, Action::Recover(NodeId::new(n)));
        let death = Duration::from_micros(lots.below(micros(timeout)));
        act(back + death, Action::Crash(NodeId::new(n - 1)));
    }
    for _ in 0..20 {
        let when = back + Duration::from_micros(lots.below(2 * micros(timeout)));
        let who = NodeId::new(1 + lots.below(u64::from(n)) as u32);
        act(when, Action::Input(who, broadcast.clone()));
    }
    plan
}

/// The textbooks' order, judged as if it were uniform: a sequencer that dies has delivered what no process
/// else has, and the survivors go on otherwise. The uniform order holds in the same runs, and the
/// referee would see if it did not.
#[test]
fn the_dead_may_have_delivered_otherwise_unless_the_order_is_uniform() {
    let promises = |_: &_, group: &Group| Promises::total(true).referee(group);
    let judged = Arc::new(Sequencer::definition().referee(promises).erase());
    let mut found = 0;
    for seed in 0..2_000 {
        play(&sequencer_is_relieved(seed, false), &mut Total::default());
        play(&sequencer_is_relieved(seed, true), &mut Total::default());
        let plan = Plan { algorithm: judged.clone(), ..sequencer_is_relieved(seed, false) };
        let violation = plan.run(Silent).0.violation.map(|violation| violation.name);
        assert!(matches!(violation, None | Some("one-order")), "seed {seed}: {violation:?}");
        found += u64::from(violation.is_some());
    }
    assert!(found > 20, "only {found}");
}

/// Views take silence for death: each side of a partition goes on by itself, and then one of the two
/// orders is dropped.
#[test]
fn a_partition_makes_two_orders() {
    let found = violations(1_000, |seed| {
        with_options(plan_beyond(sequencer(), seed, Beyond::Partition), seed % 2 == 0)
    });
    assert!(found.len() > 100, "only {found:?}");
    let known = ["one-order", "no-duplicates", "causal", "all-deliver"];
    assert!(found.iter().all(|(_, name)| known.contains(name)), "{found:?}");
}

/// A hundred broadcasts among a thousand processes, at about the same time.
#[test]
fn a_thousand_processes_are_no_trouble() {
    fn check(algorithm: &Listed, broadcasts: u32) {
        let mut plan = quiet_plan(algorithm, 1);
        plan.group = Group::numbered(1_000).unwrap();
        plan.network = Network::new(Latency::Uniform(Duration::ZERO, Duration::from_millis(20)));
        plan.network.reorder = algorithm.entry.assumes.channels == Channels::Any;
        plan.settings.coordinator = Some(NodeId::new(1_000));
        let broadcast = algorithm.input("broadcast").unwrap();
        let act = |index: u32| Scheduled {
            at: Time::from_micros(u64::from(index) * 300),
            action: Action::Input(NodeId::new(1 + index * 7), broadcast.clone()),
        };
        plan.script = (0..broadcasts).map(act).collect();
        let outcome = play(&plan, &mut Total::default());
        assert_eq!(fact(&outcome, "deliveries"), u64::from(broadcasts) * 1_000);
    }
    check(listed("causal-broadcast"), 100);
    check(sequencer(), 100);
    // Each costs a million messages.
    check(listed("total-order-lamport"), 2);
}
