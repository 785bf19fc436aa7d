//! Clients that ask for locks and roles at random, under every fault that the simulator knows: the
//! whole of members, clients and network. What must hold at every moment is checked after every
//! event; when the faults stop, everything is answered and every deadlock resolved. And what the users
//! asked of locks and of tokens, and heard of them, is linearizable: one lock table could have answered
//! so. With disks that holds for the whole run. Without, a history ends where members come to serve
//! by votes of members that have forgotten: after a wait that no client's belief outlives.
//!
//! `cargo test` runs a quick part; the number of schedules can be given in the environment variable
//! SCHEDULES, and then the test prints what it did.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and a soak says what it did"
)]

mod hand_over;
mod scribe;
mod user;
mod world;

use bellwether_coordination::{Limits, OnDeadlock};
use bellwether_core::{Group, Invariant, NodeId, Time};
use bellwether_linear::Effort;
use bellwether_linear::locks::{Contradiction, History};
use bellwether_member::{Choices, Durability, Preempt, Ranks, service};
use bellwether_sim::chaos::{Weather, draws, storm};
use bellwether_sim::{Action, FaultCounts, Scheduled, Sim, Violation};
use scribe::Scribe;
use std::collections::BTreeSet;
use std::time::Duration;
use world::{Config, Input, Node, all_answered, invariants};

const DRIFT_PPM: [u32; 3] = [500, 10_000, 100_000];

const MOST_EVENTS: u64 = 1_000_000;

/// This many steps are enough to judge nearly all histories.
const MOST_STEPS: u64 = 1_000_000;

fn ids(numbers: impl Iterator<Item = u32>) -> Group {
    Group::new(numbers.map(NodeId::new).collect()).unwrap()
}

/// Three users and some members in a storm.
struct Run {
    group: Group,
    config: Config,
    script: Vec<Scheduled<Input>>,
    network: bellwether_sim::Network,
    /// From when on users begin nothing new.
    calm: Time,
    until: Time,
}

/// The run of this seed. Clocks keep to the bound, or are as bad as this.
fn run_of(seed: u64, wrong: Option<u32>) -> Run {
    let mut draw = draws(seed);
    let users = 1 + draw(3) as u32;
    let n = [1, 3, 3, 5][draw(4) as usize];
    let group = ids(1..=users + n);
    let members = ids(users + 1..=users + n);
    let drift_ppm = DRIFT_PPM[draw(3) as usize];
    let drift_ppm = if wrong.is_some() { DRIFT_PPM[0] } else { drift_ppm };
    let preempt = if draw(2) == 0 { Preempt::Never } else { Preempt::Always };
    let durability = [Durability::Disk, Durability::Disk, Durability::Memory][draw(3) as usize];
    let choices = Choices { drift_ppm, preempt, durability, ..Choices::default() };
    let ranks = Ranks::equal(&members);
    let member = bellwether_member::Config::new(&choices, ranks, &members).unwrap();
    let ttl = Duration::from_millis([300, 700, 2_000][draw(3) as usize]);
    let inputs = vec![
        Input::Member(bellwether_member::Input::StepDown),
        Input::Member(bellwether_member::Input::Elect),
        Input::Member(bellwether_member::Input::Transfer(NodeId::new(users + 1))),
    ];
    let (heartbeat, lease, patience) =
        (member.log.leases.heartbeat, member.log.leases.lease, member.patience);
    let drift = wrong.unwrap_or(drift_ppm);
    let harsh = Some(crate::storms::HARSH);
    let weather = Weather { unit: heartbeat, drift_ppm: drift, inputs, harsh };
    let (mut network, mut script) = storm(&group, seed, &weather);
    // Clients and members talk over connections that keep order.
    network.reorder &= draw(2) == 0;
    let last = script.iter().map(|scheduled| scheduled.at).max().unwrap_or_default();
    // Some of the busy time is calm.
    let calm = last + Duration::from_millis(200 + draw(2_000));
    for id in down_at_the_end(&script) {
        script.push(Scheduled { at: last, action: Action::Recover(id) });
    }
    script.push(Scheduled { at: calm, action: Action::InputAll(Input::Quiet) });
    let service = service::Config {
        member,
        limits: Limits { ttl_min_ms: 100, ..Limits::default() },
        on_deadlock: OnDeadlock::Abort,
        wall_ms: 0,
    };
    let round = lease + 2 * patience + ttl;
    let until = calm + round * 12;
    Run {
        group,
        config: Config { members, service, ttl, drift_ppm, seed },
        script,
        network,
        calm,
        until,
    }
}

fn down_at_the_end(script: &[Scheduled<Input>]) -> BTreeSet<NodeId> {
    let mut down = BTreeSet::new();
    for scheduled in script {
        match &scheduled.action {
            Action::Crash(id) | Action::CrashSending { node: id, .. } => drop(down.insert(*id)),
            Action::Recover(id) => drop(down.remove(id)),
            _ => {}
        }
    }
    down
}

struct Outcome {
    events: u64,
    faults: FaultCounts,
    violation: Option<Violation>,
    settled: bool,
    now: Time,
    history: History,
    /// What was asked after a majority may have forgotten something.
    after: Option<u64>,
    checked: u64,
    on_disk: bool,
}

fn perform(run: Run, seed: u64) -> Outcome {
    watch(run, seed, invariants(seed))
}

/// The same, with nothing but this looked at while it goes on.
fn watch(run: Run, seed: u64, invariants: Vec<Invariant<Node>>) -> Outcome {
    let Run { group, config, script, network, calm, until } = run;
    let on_disk = config.service.member.log.durability == Durability::Disk;
    let scribe = Scribe::default();
    let mut sim: Sim<Node, Scribe> = Sim::new(group, config, &network, seed, invariants, scribe);
    sim.schedule(script);
    sim.stop_after(MOST_EVENTS);
    let (mut slice, mut settled) = (calm, false);
    while slice < until && !settled && sim.violation().is_none() {
        sim.run(slice);
        settled = all_answered(sim.live());
        slice = slice + Duration::from_millis(200);
    }
    if std::env::var("SHOW").is_ok() {
        println!("{:?}", sim.tally());
        for (id, node) in sim.live() {
            println!("{id} {node:#?}");
        }
    }
    assert_eq!(sim.observer.odd, None, "seed {seed}");
    Outcome {
        events: sim.events(),
        faults: *sim.faults(),
        violation: sim.violation().cloned(),
        settled,
        now: sim.now(),
        after: sim.observer.forgotten,
        checked: sim.observer.checked,
        on_disk,
        history: sim.observer.history,
    }
}

/// What all runs together came to.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    events: u64,
    faults: FaultCounts,
    histories: u64,
    operations: u64,
    grants: u64,
    steps: u64,
    longest: u64,
    /// Histories of which it was not found out whether they are linearizable.
    undecided: u64,
    /// Histories that end before their run, and what was told after that.
    cut: u64,
    after: u64,
    /// Checks of tokens that were answered.
    checked: u64,
}

impl Sum {
    fn add(&mut self, other: &Sum) {
        self.events += other.events;
        self.faults.add(&other.faults);
        self.histories += other.histories;
        self.operations += other.operations;
        self.grants += other.grants;
        self.steps += other.steps;
        self.longest = self.longest.max(other.longest);
        self.undecided += other.undecided;
        self.cut += other.cut;
        self.after += other.after;
        self.checked += other.checked;
    }

    /// Judges a run.
    fn of(outcome: Outcome, seed: u64) -> Self {
        assert!(
            outcome.violation.is_none() && outcome.settled,
            "seed {seed}: {:?}, settled {} at {}, {} events",
            outcome.violation,
            outcome.settled,
            outcome.now,
            outcome.events
        );
        let Outcome { events, faults, history, after, checked, on_disk, .. } = outcome;
        assert!(!on_disk || after.is_none(), "seed {seed}: forgotten in spite of a disk");
        let (effort, longest, undecided) = match history.check(MOST_STEPS) {
            Ok((effort, longest)) => (effort, longest, 0),
            Err(Contradiction { undecided: true, .. }) => (Effort::default(), MOST_STEPS, 1),
            Err(wrong) => {
                unreachable!("seed {seed}, on disk {on_disk}: not linearizable: {}", wrong.text)
            }
        };
        Sum {
            events,
            faults,
            histories: 1,
            operations: effort.operations as u64,
            grants: history.grants() as u64,
            steps: effort.steps,
            longest,
            undecided,
            cut: u64::from(after.is_some()),
            after: after.unwrap_or_default(),
            checked,
        }
    }
}

#[test]
fn nothing_is_lost_or_held_twice_and_all_is_answered() {
    let schedules = std::env::var("SCHEDULES").map_or(4_000, |text| text.parse().unwrap());
    let first: u64 = std::env::var("FIRST").map_or(0, |text| text.parse().unwrap());
    let halves = [0, 1].map(|half| {
        std::thread::spawn(move || {
            let mut sum = Sum::default();
            for seed in (first..first + schedules).filter(|seed| seed % 2 == half) {
                sum.add(&Sum::of(perform(run_of(seed, None), seed), seed));
            }
            sum
        })
    });
    let mut sum = Sum::default();
    for half in halves {
        sum.add(&half.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    }
    let Sum { events, faults, histories, operations, grants, steps, longest, .. } = sum;
    let Sum { undecided, cut, after, checked, .. } = sum;
    if std::env::var("SCHEDULES").is_ok() {
        println!("{schedules} schedules, {events} events, no violation, all answered");
        for (fault, count) in faults.iter() {
            println!("  {:<10} {count}", fault.name());
        }
        println!("{histories} histories of locks, {operations} operations, {grants} grants heard");
        println!("  linearizable, {steps} steps of the search, {longest} for the longest one");
        println!("  {undecided} undecided");
        println!("  {checked} checks of tokens answered");
        println!("  {cut} end early, as members forgot; {after} requests after that");
    }
    let rare: Vec<_> = faults.iter().filter(|(_, count)| *count < schedules / 50).collect();
    assert!(rare.is_empty(), "these faults hardly happened: {rare:?}");
    assert!(undecided <= schedules / 10_000, "{undecided} histories are undecided");
    assert!(checked > schedules * 2, "{checked} checks");
    assert!(grants > schedules * 5, "there is hardly anything to judge: {grants} grants");
}

/// Clients rely on their clocks. With clocks beyond the bound two of them come to hold one lock, and
/// the simulator finds them: a check that cannot fail proves nothing.
#[test]
fn with_clocks_beyond_the_bound_two_holders_are_found() {
    let mut found = BTreeSet::new();
    for seed in 0..2_000 {
        if let Some(violation) = perform(run_of(seed, Some(400_000)), seed).violation {
            found.insert(violation.name);
        }
    }
    assert!(found.contains("one-holder-a") && found.contains("nothing-lost"), "{found:?}");
}

/// And so does the judge of histories, by nothing but what users asked and heard.
#[test]
fn with_clocks_beyond_the_bound_histories_are_found_that_no_lock_can_have() {
    let mut wrong = 0;
    for seed in 0..500 {
        let outcome = watch(run_of(seed, Some(400_000)), seed, Vec::new());
        let found = outcome.history.check(MOST_STEPS).err();
        wrong += u32::from(found.is_some_and(|found| !found.undecided));
    }
    assert!(wrong > 10, "{wrong} of 500");
}
