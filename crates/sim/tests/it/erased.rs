//! A process runs alike whether or not the simulator knows its type.

use crate::beyond::{Beyond, plan_beyond};
use bellwether_algorithms::agreement::Byzantine;
use bellwether_algorithms::deadlock::{EdgeChasing, Site};
use bellwether_algorithms::definition::Algorithm;
use bellwether_algorithms::election::{Bully, ChangRoberts, Watched};
use bellwether_algorithms::mutex::{Guarded, Raymond};
use bellwether_algorithms::order::Sequencer;
use bellwether_algorithms::time::Berkeley;
use bellwether_core::{Erasable, Message, Process, Time};
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{Observer, Plan, Seen, Silent, shrink};
use std::fmt::Write;
use std::sync::Arc;

const SCHEDULES: u64 = 80;
/// Outside its assumptions an algorithm may never come to rest.
const EVENTS_MAX: u64 = 10_000;

/// Everything that an observer is told, as text.
#[derive(Default)]
struct Told(String);

impl<P: Process> Observer<P> for Told {
    const ACTIVE: bool = true;

    fn event(&mut self, at: Time, place: usize, event: Seen<'_, P>) {
        let told = match event {
            Seen::Input(input) => format!("input {input:?}"),
            Seen::Send { id, to, msg } => format!("send {id} {to} {msg} {msg:?} {:?}", msg.kind()),
            Seen::Receive { id, from, msg } => format!("receive {id} {from} {msg}"),
            Seen::Drop { id, from, msg, why } => format!("drop {id} {from} {msg} {}", why.name()),
            Seen::Timer(timer) => format!("timer {timer:?}"),
            Seen::Output(output) => format!("output {output} {output:?}"),
            Seen::Rule(rule) => format!("rule {rule}"),
            Seen::Crash => "crash".to_owned(),
            Seen::Recover => "recover".to_owned(),
            Seen::Pause => "pause".to_owned(),
            Seen::Resume => "resume".to_owned(),
            Seen::Note(note) => format!("note {note}"),
        };
        let _ = writeln!(self.0, "{} {place} {told}", at.as_micros());
    }

    fn stepped(&mut self, place: usize, process: &P) {
        let _ = writeln!(self.0, "{place} is {process:?} and saves {:?}", process.durable());
    }
}

/// What was planned, what was seen of it and what came of it.
fn told<P: Process>(plan: &Plan<P>) -> [String; 3] {
    let mut sim = plan.set_up(Told::default());
    sim.stop_after(EVENTS_MAX);
    let outcome = plan.finish(&mut sim);
    [format!("{:?}", plan.script), sim.observer.0, format!("{outcome:#?}")]
}

fn assert_alike<P: Process, Q: Process>(typed: &Plan<P>, erased: &Plan<Q>) -> usize {
    let (name, seed) = (typed.algorithm.name(), typed.seed);
    let (typed, erased) = (told(typed), told(erased));
    for (one, other) in typed.iter().zip(&erased) {
        let differs = one.lines().zip(other.lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None, "{name}, seed {seed}");
        assert!(one == other, "{name}, seed {seed}: one is longer");
    }
    typed[1].len()
}

fn runs_alike<A: Algorithm + Erasable>() {
    let (typed, erased) = (Arc::new(A::definition()), Arc::new(A::definition().erase()));
    let mut compared = 0;
    for seed in 0..SCHEDULES {
        compared += assert_alike(&random_plan(&typed, seed), &random_plan(&erased, seed));
        let kinds = [Beyond::Partition, Beyond::Delay, Beyond::Pause, Beyond::Loss];
        let beyond = kinds[seed as usize % kinds.len()];
        assert_alike(&plan_beyond(&typed, seed, beyond), &plan_beyond(&erased, seed, beyond));
    }
    assert!(compared > 1_000_000, "{}: {compared} bytes are not much", typed.name());
}

#[test]
fn bully() {
    runs_alike::<Watched<Bully>>();
}

#[test]
fn chang_roberts() {
    runs_alike::<Watched<ChangRoberts>>();
}

#[test]
fn raymond() {
    runs_alike::<Guarded<Raymond>>();
}

#[test]
fn berkeley() {
    runs_alike::<Berkeley>();
}

#[test]
fn sequencer() {
    runs_alike::<Sequencer>();
}

#[test]
fn edge_chasing() {
    runs_alike::<Site<EdgeChasing>>();
}

#[test]
fn byzantine() {
    runs_alike::<Byzantine>();
}

/// What is left of a run that fails is the same, too.
#[test]
fn failures_shrink_alike() {
    let typed = Arc::new(Watched::<Bully>::definition());
    let erased = Arc::new(Watched::<Bully>::definition().erase());
    let mut shrunken = 0;
    for seed in 0..30 {
        let typed = plan_beyond(&typed, seed, Beyond::Partition);
        let Some(violation) = typed.run(Silent).0.violation else { continue };
        let erased = plan_beyond(&erased, seed, Beyond::Partition);
        let [one, other] = [
            shrink(&typed, violation.name, 500).map(|s| (s.runs, s.pieces_after)),
            shrink(&erased, violation.name, 500).map(|s| (s.runs, s.pieces_after)),
        ];
        assert_eq!(one, other, "seed {seed}");
        shrunken += 1;
    }
    assert!(shrunken > 5, "only {shrunken} schedules failed");
}
