//! The whole member in storms: every fault that the simulator knows, at once, within the clocks'
//! bound. What must hold at every moment is checked after every event; when the storm is over the
//! strongest member that may lead must lead within a bound.
//!
//! `cargo test` runs a quick part. `make soak` runs it all and prints what it did: the number of
//! schedules for each election is taken from the environment variable SCHEDULES.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and a soak says what it did"
)]

use bellwether_algorithms::definition::Algorithm;
use bellwether_algorithms::election::any::Choice;
use bellwether_core::{Channels, Goal, Group, NodeId, Time};
use bellwether_member::{Choices, Config, Durability, Input, Member, Preempt, Ranks};
use bellwether_sim::chaos::{Harsh, Weather, draws, storm};
use bellwether_sim::{Action, Ended, FaultCounts, FaultKind, Scheduled, Silent, Sim, Violation};
use std::collections::BTreeMap;
use std::time::Duration;

/// The bounds on clock rates in these runs: generous, so that a margin that is too small shows.
const DRIFT_PPM: [u32; 2] = [10_000, 100_000];

/// No run needs more events than this; more would be a storm of the members' own making.
const MOST_EVENTS: u64 = 1_000_000;

/// One run: who, with which options, in which storm.
struct Run {
    group: Group,
    choices: Choices,
    ranks: Ranks,
    inputs: Vec<Input>,
    /// By how much the clocks really drift at most.
    drift_ppm: u32,
    /// The member whose data folder is emptied, if all others know it by then.
    wiped: Option<NodeId>,
}

/// What the log must bear besides: links that lose by kind or by size, slow links, and networks of
/// which only some links are left.
pub(crate) const HARSH: Harsh = Harsh {
    kinds: &[
        "REQUEST-VOTE",
        "VOTE",
        "APPEND",
        "HEARTBEAT",
        "ACK",
        "FETCH",
        "SUPPLY",
        "YIELD",
        "PASS",
    ],
    sizes: &[70, 120, 300],
    rates: &[20_000, 100_000],
    topologies: true,
};

fn run_of(election: Choice, seed: u64) -> Run {
    let mut draw = draws(seed);
    let n = 1 + draw(7) as u32;
    let mut ring: Vec<NodeId> = (1..=n).map(NodeId::new).collect();
    ring.rotate_left(draw(u64::from(n)) as usize);
    let group = Group::new(ring.clone()).unwrap();
    let drift_ppm = DRIFT_PPM[draw(2) as usize];
    let mut choices = Choices { election, drift_ppm, ..Choices::default() };
    choices.preempt = match draw(4) {
        0 => Preempt::Never,
        1 => Preempt::After(Duration::from_millis(300)),
        _ => Preempt::Always,
    };
    if draw(3) == 0 {
        choices.durability = Durability::Memory;
    }
    let mut priorities = BTreeMap::new();
    if draw(3) == 0 {
        priorities.extend(ring.iter().map(|id| (*id, draw(3) as u32)));
    }
    // One witness at most, so that a member can lead if all others are up.
    let witness = (n > 2 && draw(3) == 0).then(|| ring[draw(u64::from(n)) as usize]);
    let ranks = Ranks::new(&group, priorities, witness.into_iter().collect());
    // An appointed leader stays, so the strongest need not lead in the end.
    let inputs = match draw(3) {
        0 => vec![Input::StepDown, Input::Transfer(ring[0]), Input::Elect],
        _ => Vec::new(),
    };
    let wipes = n > 2 && choices.durability == Durability::Disk && draw(2) == 0;
    let wiped = wipes.then(|| ring[draw(u64::from(n)) as usize]);
    Run { group, choices, ranks, inputs, drift_ppm, wiped }
}

/// All follow one leader, the strongest or not.
fn a_member_leads() -> Goal<Member> {
    let member = Member::definition();
    Goal::new("leader", "all live members follow one leader", move |members| {
        let mut leaders = members.map(|(_, process)| member.coordinator_of(process));
        let first = leaders.next().flatten();
        first.is_some() && leaders.all(|leader| leader == first)
    })
}

/// Whether an election does not care about the order of messages.
pub(crate) fn any_order(election: Choice) -> bool {
    election.entry().assumes.channels == Channels::Any
}

/// What came of a run.
struct Outcome {
    events: u64,
    faults: FaultCounts,
    violation: Option<Violation>,
    settled: bool,
    now: Time,
    proofs: u64,
}

fn perform(run: &Run, seed: u64) -> Outcome {
    let config = Config::new(&run.choices, run.ranks.clone(), &run.group).unwrap();
    let weather = Weather {
        unit: config.log.leases.heartbeat,
        drift_ppm: run.drift_ppm,
        inputs: run.inputs.clone(),
        harsh: Some(HARSH),
    };
    let (mut network, script) = storm(&run.group, seed, &weather);
    // The log does not care about order; some elections do, and TCP keeps it.
    network.reorder &= any_order(run.choices.election);
    let last = script.iter().map(|scheduled| scheduled.at).max().unwrap_or_default();
    let member = Member::definition();
    let until = last + member.settling_time(&config, &run.group, 0);
    let goal = match run.choices.preempt {
        Preempt::Never => a_member_leads(),
        Preempt::Always | Preempt::After(_) => member.goal.unwrap(),
    };
    let mut sim: Sim<Member, Silent> =
        Sim::new(run.group.clone(), config, &network, seed, member.invariants, Silent);
    let mut proofs = Proofs::of(&script, seed);
    sim.schedule(script);
    sim.stop_after(MOST_EVENTS);
    if let Some(victim) = run.wiped {
        // An emptied folder needs a majority of the others, so all come back in the end.
        let ring = run.group.ring().iter();
        sim.schedule(ring.map(|id| Scheduled { at: last, action: Action::Recover(*id) }));
        let mut eighths = 1..8;
        while let Some(eighth) = eighths.next()
            && sim.violation().is_none()
        {
            proofs.run(&mut sim, Time::from_micros(last.as_micros() * eighth / 8));
            if wipe(&mut sim, victim) {
                break;
            }
        }
    }
    proofs.run(&mut sim, last);
    sim.stop_when(goal);
    let ended = sim.run(until);
    Outcome {
        events: sim.events(),
        faults: *sim.faults(),
        violation: sim.violation().cloned(),
        settled: ended == Ended::Settled,
        now: sim.now(),
        proofs: proofs.shown,
    }
}

/// P12: the parents of processes that crash, which show proof of it to some of the others: at once, late, or
/// several times.
struct Proofs {
    /// When which members crash, if they are up: the next one last.
    crashes: Vec<(Time, NodeId)>,
    seed: u64,
    shown: u64,
}

impl Proofs {
    fn of(script: &[Scheduled<Input>], seed: u64) -> Proofs {
        let crash = |scheduled: &Scheduled<Input>| match scheduled.action {
            Action::Crash(id) => Some((scheduled.at, id)),
            _ => None,
        };
        let mut crashes: Vec<_> = script.iter().filter_map(crash).collect();
        crashes.sort_unstable_by(|one, other| other.cmp(one));
        Proofs { crashes, seed, shown: 0 }
    }

    /// Runs it, and schedules the proof of every crash on the way.
    fn run(&mut self, sim: &mut Sim<Member, Silent>, until: Time) {
        while let Some((at, victim)) = self.crashes.pop_if(|(at, _)| *at <= until) {
            if sim.violation().is_some() {
                return;
            }
            // What happened while a folder was emptied is over, and another start may be up.
            if at <= sim.now() {
                continue;
            }
            sim.run(Time::from_micros(at.as_micros().saturating_sub(1)));
            let up = sim.live().find(|(id, _)| *id == victim);
            let Some(incarnation) = up.map(|(_, member)| member.log().incarnation()) else {
                continue;
            };
            let mut draw = draws(self.seed ^ at.as_micros().rotate_left(32));
            let others: Vec<NodeId> = sim.group().ring().to_vec();
            for other in others.into_iter().filter(|other| *other != victim) {
                for _ in 0..draw(3) {
                    let late = if draw(2) == 0 { draw(1_000) } else { draw(2_000_000) };
                    let at = at + Duration::from_micros(1 + late);
                    let action = Action::Input(other, Input::Ended(victim, incarnation));
                    sim.schedule([Scheduled { at, action }]);
                    self.shown += 1;
                }
            }
        }
        if sim.violation().is_none() {
            sim.run(until);
        }
    }
}

/// Empties a member's data folder, if all others are up and know it (S6), and starts it again. Whether
/// it did.
fn wipe(sim: &mut Sim<Member, Silent>, victim: NodeId) -> bool {
    let knows = |member: &Member| member.log().roster().is_some_and(|r| r.birth(victim).is_some());
    let all = sim.live().count() == sim.group().len();
    let is_safe = all && sim.live().all(|(_, member)| knows(member));
    if is_safe {
        sim.act(Action::Wipe(victim));
        sim.run(sim.now() + Duration::from_millis(50));
        sim.act(Action::Recover(victim));
    }
    is_safe
}

/// Runs that many schedules on two threads; panics with the seed of the first that fails.
fn weather(election: Choice, default: u64) {
    // A ring that goes both ways and was torn may take longer than the bound to elect anybody; what
    // it does meanwhile is safe. One half of the runs may have this many of these.
    let slow = election == Choice::HirschbergSinclair;
    let schedules = std::env::var("SCHEDULES").map_or(default, |text| text.parse().unwrap());
    let soaking = std::env::var("SCHEDULES").is_ok();
    let tolerated = if slow { schedules / 2_000 } else { 0 };
    let halves = [0, 1].map(|half| {
        std::thread::spawn(move || {
            let mut events = 0;
            let mut faults = FaultCounts::default();
            let (mut unsettled, mut proofs) = (0, 0);
            for seed in (0..schedules).filter(|seed| seed % 2 == half) {
                let outcome = perform(&run_of(election, seed), seed);
                unsettled += u64::from(!outcome.settled);
                proofs += outcome.proofs;
                assert!(
                    outcome.violation.is_none() && (outcome.settled || unsettled <= tolerated),
                    "{election}, seed {seed}: {:?}, settled {} at {}, {} events",
                    outcome.violation,
                    outcome.settled,
                    outcome.now,
                    outcome.events
                );
                events += outcome.events;
                faults.add(&outcome.faults);
            }
            assert!(proofs > schedules / 4, "proof of death was hardly shown: {proofs} times");
            (events, faults, unsettled)
        })
    });
    let mut events = 0;
    let mut faults = FaultCounts::default();
    let mut unsettled = 0;
    for half in halves {
        let (more_events, more_faults, more_unsettled) = half.join().unwrap_or_else(|panic| {
            std::panic::resume_unwind(panic);
        });
        events += more_events;
        faults.add(&more_faults);
        unsettled += more_unsettled;
    }
    if soaking {
        println!(
            "{election}: {schedules} schedules, {events} events, no violation, {unsettled} late"
        );
        for (fault, count) in faults.iter() {
            println!("  {:<10} {count}", fault.name());
        }
    }
    assert_eq!(faults.iter().count(), FaultKind::ALL.len() - usize::from(!any_order(election)));
    let rare: Vec<_> = faults.iter().filter(|(_, count)| *count < schedules / 50).collect();
    assert!(rare.is_empty(), "these faults hardly happened: {rare:?}");
}

#[test]
fn with_every_election() {
    for election in Choice::ALL {
        weather(*election, if *election == Choice::default() { 6_000 } else { 500 });
    }
}

/// The margin is there for a reason: with clocks worse than the bound two members come to believe
/// that they hold the mandate, and the simulator finds them.
#[test]
fn with_clocks_beyond_the_bound_two_mandates_are_found() {
    let mut found = 0;
    for seed in 0..2_000 {
        let mut run = run_of(Choice::Bully, seed);
        run.drift_ppm = 400_000;
        run.choices.drift_ppm = 500;
        let violation = perform(&run, seed).violation;
        found += u64::from(violation.is_some_and(|violation| violation.name == "one-mandate"));
    }
    assert!(found > 0);
}
