//! A run can be told again from what came in at each process, and comes to the same.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::{CATALOGUE, family, listed};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::election::Incarnation;
use bellwether_core::{AnyDurable, AnyInput, AnyProcess, Call, Group, NodeId, Process, Time};
use bellwether_sim::chaos::random_plan;
use bellwether_sim::replay::{Contradiction, Happened, Recorded, Replay};
use bellwether_sim::{
    Action, CLOCK_START, FaultKind, Latency, Network, Observer, Outcome, Plan, Recorder, Scheduled,
    Seen, Silent, Trace, What, render,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Notes what each process would note, and records the trace besides.
struct Notes {
    events: Vec<Recorded>,
    ring: Vec<NodeId>,
    /// Which life each process is in, how many messages it has sent in it and what is durable.
    lives: Vec<(u64, u64, Option<AnyDurable>)>,
    letters: BTreeMap<u64, (NodeId, u64, u64)>,
    recorder: Recorder,
}

impl Notes {
    fn new(plan: &Plan<AnyProcess>) -> Self {
        let ring = plan.group.ring().to_vec();
        let start = |node: &NodeId| Recorded {
            at: Time::ZERO,
            node: *node,
            event: step(Time::ZERO, Call::Start(None), (1, 0)),
        };
        Notes {
            events: ring.iter().map(start).collect(),
            lives: vec![(1, 0, None); ring.len()],
            letters: BTreeMap::new(),
            recorder: Recorder::new(&plan.algorithm, &plan.group, plan.seed),
            ring,
        }
    }
}

fn step(at: Time, call: Call<AnyProcess>, origin: (u64, u64)) -> Happened {
    Happened::Step { clock: at + CLOCK_START, call, origin }
}

impl Observer<AnyProcess> for Notes {
    const ACTIVE: bool = true;

    fn event(&mut self, at: Time, place: usize, seen: Seen<'_, AnyProcess>) {
        let node = self.ring[place];
        let event = match &seen {
            Seen::Send { id, .. } => {
                let (life, sent, _) = &mut self.lives[place];
                self.letters.insert(*id, (node, *life, *sent));
                *sent += 1;
                None
            }
            Seen::Input(input) => Some(step(at, Call::Input((*input).clone()), (0, 0))),
            Seen::Receive { id, msg, .. } => {
                let (from, life, seq) = self.letters[id];
                Some(step(at, Call::Message(from, (*msg).clone()), (life, seq)))
            }
            Seen::Timer(timer) => Some(step(at, Call::Timer((*timer).clone()), (0, 0))),
            Seen::Crash => Some(Happened::Killed),
            Seen::Recover => {
                let (life, sent, saved) = &mut self.lives[place];
                (*life, *sent) = (*life + 1, 0);
                Some(step(at, Call::Start(saved.clone()), (*life, 0)))
            }
            Seen::Pause => Some(Happened::Stopped),
            Seen::Resume => Some(Happened::Continued),
            _ => None,
        };
        self.events.extend(event.map(|event| Recorded { at, node, event }));
        self.recorder.event(at, place, seen);
    }

    fn stepped(&mut self, place: usize, process: &AnyProcess) {
        self.lives[place].2 = Some(process.durable());
        self.recorder.stepped(place, process);
    }
}

/// The run, and how it is told again.
pub(crate) fn both(plan: &Plan<AnyProcess>) -> ((Outcome, Trace), (Outcome, Trace)) {
    let (outcome, notes) = plan.run(Notes::new(plan));
    let told = tell(plan, notes.events, outcome.now);
    ((outcome, notes.recorder.into_trace()), told)
}

fn tell(plan: &Plan<AnyProcess>, events: Vec<Recorded>, ended: Time) -> (Outcome, Trace) {
    let clock_start = Time::ZERO + CLOCK_START;
    let replay = replay(plan, events, ended, clock_start);
    let recorder = Recorder::new(&plan.algorithm, &plan.group, plan.seed);
    let replayed = replay.run(recorder).unwrap();
    (replayed.outcome, replayed.observer.into_trace())
}

fn replay(
    plan: &Plan<AnyProcess>,
    events: Vec<Recorded>,
    ended: Time,
    clock_start: Time,
) -> Replay {
    let Plan { algorithm, group, settings, .. } = plan.clone();
    Replay { algorithm, group, settings, events, ended, clock_start }
}

/// The trace without the messages that did not arrive. When a message to a dead process would
/// have arrived is known in the simulator only.
fn arrived(trace: &Trace) -> String {
    let mut trace = trace.clone();
    trace.events.retain(|event| !matches!(event.what, What::Drop(..)));
    render::json(&trace)
}

fn dropped(trace: &Trace) -> BTreeSet<(u64, &'static str)> {
    let lost = |event: &bellwether_sim::TraceEvent| match &event.what {
        What::Drop(letter, why) => Some((letter.id, why.name())),
        _ => None,
    };
    trace.events.iter().filter_map(lost).collect()
}

fn assert_same(simulated: &(Outcome, Trace), told: &(Outcome, Trace), what: &str) {
    assert_eq!(arrived(&simulated.1), arrived(&told.1), "{what}");
    let (a, b) = (&simulated.0, &told.0);
    assert_eq!(a.tally.protocol(), b.tally.protocol(), "{what}");
    assert_eq!(a.tally.overhead(), b.tally.overhead(), "{what}");
    assert_eq!(a.coordinators, b.coordinators, "{what}");
    assert_eq!(a.agreed, b.agreed, "{what}");
    assert_eq!(a.violation, b.violation, "{what}");
    // What is told ends with the last thing that a process did. A message or an input
    // to a dead process, and changes of the network, are in no journal.
    let later = |event: &&bellwether_sim::TraceEvent| event.at > b.now;
    let unnoted =
        |event: &bellwether_sim::TraceEvent| matches!(event.what, What::Drop(..) | What::Note(_));
    assert!(b.now <= a.now, "{what}: {} and {}", a.now, b.now);
    assert!(simulated.1.events.iter().filter(later).all(unnoted), "{what}");
}

fn at<I>(ms: u64, action: Action<I>) -> Scheduled<I> {
    Scheduled { at: Time::from_micros(ms * 1_000), action }
}

/// The textbook's example: P4 coordinates, P1 and P4 fail, P2 notices.
fn textbook(algorithm: &Listed) -> Plan<AnyProcess> {
    let suspect = algorithm.input("suspect").unwrap();
    Plan {
        algorithm: algorithm.clone(),
        group: Group::numbered(4).unwrap(),
        settings: Settings {
            coordinator: Some(NodeId::new(4)),
            acknowledge: true,
            ..Settings::new(Duration::from_millis(100))
        },
        network: Network::new(Latency::Fixed(Duration::from_millis(10))),
        seed: 0,
        script: vec![
            at(0, Action::Crash(NodeId::new(1))),
            at(0, Action::Crash(NodeId::new(4))),
            at(0, Action::Input(NodeId::new(2), suspect)),
        ],
        until: None,
    }
}

#[test]
fn the_textbook_s_example_of_every_election_is_told_alike() {
    for election in family("election") {
        let name = election.name();
        let (simulated, told) = both(&textbook(election));
        assert_same(&simulated, &told, name);
        assert!(told.0.agreed, "{name}");
        assert_eq!(dropped(&simulated.1), dropped(&told.1));
        assert_eq!(simulated.0.events, told.0.events);
        assert_eq!(simulated.0.faults, told.0.faults);
    }
}

#[test]
fn random_crashes_and_recoveries_are_told_alike() {
    let mut told = 0;
    for algorithm in CATALOGUE.iter() {
        for seed in 0..60 {
            let plan = random_plan(algorithm, seed);
            // Of a process that crashes in the middle of sending, only its kernel knows what left.
            let partial = |s: &Scheduled<AnyInput>| matches!(s.action, Action::CrashSending { .. });
            if plan.script.iter().any(partial) {
                continue;
            }
            let (simulated, again) = both(&plan);
            assert_same(&simulated, &again, &format!("{} seed {seed}", algorithm.name()));
            told += 1;
        }
    }
    assert!(told > 100, "only {told} plans had no crash in the middle of sending");
}

#[test]
fn a_pause_is_told_with_what_it_held_up_and_what_it_broke() {
    let mut plan = textbook(listed("bully"));
    plan.settings.detection = true;
    let p4 = NodeId::new(4);
    plan.script = vec![at(1_000, Action::Pause(p4)), at(2_000, Action::Resume(p4))];
    plan.until = Some(Time::from_micros(1_900_000));
    let (simulated, told) = both(&plan);
    // The simulator stops at a violation, so there is one account of the time until then.
    assert_same(&simulated, &told, "pause");
    assert_eq!(told.0.violation.unwrap().name, "one-coordinator");

    let mut sim = plan.set_up(Notes::new(&plan));
    sim.keep_going();
    sim.run(Time::from_micros(5_000_000));
    let told = tell(&plan, sim.observer.events, Time::from_micros(5_000_000));
    let held_up = told.0.faults.iter().find(|(kind, _)| *kind == FaultKind::Pause);
    assert!(held_up.unwrap().1 > 0);
    assert!(told.0.agreed);
}

/// Notes of the textbook's example, to be tampered with.
fn notes() -> (Plan<AnyProcess>, Vec<Recorded>) {
    let plan = textbook(listed("bully"));
    let (_, notes) = plan.run(Notes::new(&plan));
    (plan, notes.events)
}

/// What is found wrong with the notes after this was done to the first that fits.
fn tampered(mut change: impl FnMut(&mut Recorded) -> bool) -> Option<Contradiction> {
    let (plan, mut events) = notes();
    assert!(events.iter_mut().any(&mut change), "there is nothing to tamper with");
    let replay = replay(&plan, events, Time::from_micros(1_000_000), Time::ZERO);
    let divergence = replay.run(Silent).err()?;
    assert!(!divergence.to_string().is_empty());
    Some(divergence.contradiction)
}

#[test]
fn a_message_that_no_process_sent_is_found() {
    let found = tampered(|event| match &mut event.event {
        Happened::Step { call: Call::Message(..), origin: (_, seq), .. } => {
            *seq += 100;
            true
        }
        _ => false,
    });
    assert!(matches!(found, Some(Contradiction::NeverSent { .. })), "{found:?}");
}

#[test]
fn a_message_of_another_life_is_found() {
    let found = tampered(|event| match &mut event.event {
        Happened::Step { call: Call::Message(..), origin: (life, _), .. } => {
            *life += 1;
            true
        }
        _ => false,
    });
    assert!(matches!(found, Some(Contradiction::NeverSent { .. })), "{found:?}");
}

#[test]
fn a_message_that_was_changed_on_its_way_is_found() {
    let (_, events) = notes();
    let messages: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.event {
            Happened::Step { call: Call::Message(_, msg), .. } => Some(msg.clone()),
            _ => None,
        })
        .collect();
    let found = tampered(|event| match &mut event.event {
        Happened::Step { call: Call::Message(_, msg), .. } => {
            *msg = messages.iter().find(|other| *other != msg).unwrap().clone();
            true
        }
        _ => false,
    });
    assert!(matches!(found, Some(Contradiction::Altered { .. })), "{found:?}");
}

#[test]
fn a_message_to_another_process_is_found() {
    let found = tampered(|event| match &event.event {
        Happened::Step { call: Call::Message(from, _), .. } => {
            event.node = if *from == NodeId::new(2) { *from } else { NodeId::new(3) };
            true
        }
        _ => false,
    });
    assert!(matches!(found, Some(Contradiction::Misdelivered { .. })), "{found:?}");
}

#[test]
fn a_timer_that_was_not_set_is_found() {
    let mut timer = None;
    let (_, events) = notes();
    for event in events {
        if let Happened::Step { call: Call::Timer(fired), .. } = event.event {
            timer = Some(fired);
        }
    }
    let timer = timer.unwrap();
    let found = tampered(|event| match &mut event.event {
        Happened::Step { call, .. } if matches!(call, Call::Input(_)) => {
            *call = Call::Timer(timer.clone());
            true
        }
        _ => false,
    });
    assert!(matches!(found, Some(Contradiction::NotSet(_))), "{found:?}");
}

#[test]
fn who_does_something_before_its_start_is_found() {
    let found = tampered(|event| match &mut event.event {
        Happened::Step { call, .. } if event.node == NodeId::new(2) => {
            *call = Call::Input(listed("bully").input("start").unwrap());
            true
        }
        _ => false,
    });
    assert_eq!(found, Some(Contradiction::NotRunning));
}

#[test]
fn a_stranger_is_found() {
    let found = tampered(|event| {
        event.node = NodeId::new(99);
        true
    });
    assert_eq!(found, Some(Contradiction::Stranger));
}

#[test]
fn who_comes_back_with_what_it_never_saved_is_found() {
    let plan = textbook(listed("bully"));
    let (_, notes) = plan.run(Notes::new(&plan));
    let saved = notes.lives[1].2.clone().unwrap();
    let found = |saved: Option<_>| {
        let mut events = notes.events.clone();
        let at = Time::from_micros(900_000);
        let event = step(at, Call::Start(saved), (2, 0));
        events.push(Recorded { at, node: NodeId::new(4), event });
        replay(&plan, events, at, at).run(Silent).err()
    };
    assert_eq!(found(Some(saved.clone())), None);
    // It was killed after its first step and may have been faster than its disk.
    assert_eq!(found(None), None);
    let (later, _) = Incarnation::next(saved.into_inner());
    let divergence = found(Some(AnyDurable::new(later))).unwrap();
    assert!(matches!(divergence.contradiction, Contradiction::NotSaved { .. }), "{divergence}");
}

#[test]
fn a_message_arrives_after_it_was_sent_whatever_the_clocks_say() {
    let (plan, mut events) = notes();
    let told = tell(&plan, events.clone(), Time::from_micros(1_000_000));
    for event in &mut events {
        if let Happened::Step { call: Call::Message(..), .. } = event.event {
            // Each message now seems to arrive before it was sent.
            event.at = Time::from_micros(event.at.as_micros().saturating_sub(10_050));
        }
    }
    let skewed = tell(&plan, events, Time::from_micros(1_000_000));
    assert_eq!(told.0.coordinators, skewed.0.coordinators);
    assert_eq!(told.0.tally.protocol(), skewed.0.tally.protocol());
    let mut sent = BTreeSet::new();
    let mut last = Time::ZERO;
    for event in &skewed.1.events {
        assert!(event.at >= last, "time goes on");
        last = event.at;
        match &event.what {
            What::Send(letter) => assert!(sent.insert(letter.id)),
            What::Receive(letter) => assert!(sent.contains(&letter.id)),
            _ => {}
        }
    }
}

#[test]
fn what_never_arrived_died_with_its_sender_or_receiver() {
    let (plan, events) = notes();
    let is_message =
        |event: &Recorded| matches!(event.event, Happened::Step { call: Call::Message(..), .. });
    let first = events.iter().position(is_message).unwrap();
    let at = Time::from_micros(50_000);
    // P2 has told P3 and P4, which is down, of its election.
    for (killed, why) in [(2, "lost"), (3, "down")] {
        let mut events = events[..first].to_vec();
        events.push(Recorded { at, node: NodeId::new(killed), event: Happened::Killed });
        let (_, trace) = tell(&plan, events, at);
        assert_eq!(dropped(&trace), BTreeSet::from([(0, why), (1, "down")]));
    }
    let open = replay(&plan, events[..first].to_vec(), at, at).run(Silent).unwrap().open;
    assert_eq!((open.messages, open.moving), (1, 1), "{open:?}");
    assert!(open.timers > 0 && !open.is_quiet());
}
