//! The same seed gives the same run, byte for byte: twice in a row, and on every machine.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

use crate::support::{CATALOGUE, listed};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyProcess, Group, NodeId, Time};
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{
    Action, Latency, Letter, Network, Plan, Recorder, Scheduled, Trace, What, render, shuffled,
};
use std::fmt::Write;
use std::fs;
use std::time::Duration;

/// What a long run of each algorithm under each latency comes to. A difference means that
/// recorded seeds no longer mean the same runs. If an algorithm was added, or changed on purpose,
/// `UPDATE=1 cargo test -p bellwether-sim --test it determinism` writes the new figures; if not,
/// something is not the same on every machine.
const PINNED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/determinism.txt");

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn record(plan: &Plan<AnyProcess>) -> Trace {
    let (_, recorder) = plan.run(Recorder::new(&plan.algorithm, &plan.group, plan.seed));
    recorder.into_trace()
}

/// Fowler, Noll and Vo's hash (FNV-1a), which is the same everywhere.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A trace in words of our own, so that the figures above do not change with a renderer.
fn spell(trace: &Trace) -> String {
    let letter = |word: &str, letter: &Letter| {
        format!("{word} {} {} {} {}", letter.id, letter.from, letter.to, letter.text)
    };
    let mut text = String::new();
    for event in &trace.events {
        let what = match &event.what {
            What::Send(sent) => letter("send", sent),
            What::Receive(received) => letter("receive", received),
            What::Drop(dropped, why) => letter(why.name(), dropped),
            other => format!("{other:?}"),
        };
        let at = event.at.as_micros();
        writeln!(text, "{at} {:?} {:?} {what}", event.node, event.coordinator).unwrap();
    }
    text
}

/// How many bytes of traces were compared.
fn twice(algorithm: &Listed) -> usize {
    let mut compared = 0;
    for seed in 0..50 {
        let run = || render::json(&record(&random_plan(algorithm, seed)));
        let (first, second) = (run(), run());
        assert!(first == second, "{}, seed {seed}: two runs differ", algorithm.name());
        compared += first.len();
    }
    compared
}

#[test]
fn the_same_plan_gives_the_same_trace() {
    for algorithm in CATALOGUE.iter() {
        let (compared, entry) = (twice(algorithm), &algorithm.entry);
        // Two generals have little to say.
        let enough = if entry.family == "agreement" { 10_000 } else { 100_000 };
        assert!(compared > enough, "{}: {compared} bytes are not much", entry.name);
    }
}

/// Eight processes, two crashes, a recovery and, where they are allowed, duplicates; twenty seconds
/// of it. Where there is work, everybody has some. Not every algorithm survives that, but each does
/// the same every time.
fn long(algorithm: &Listed, latency: Latency, seed: u64) -> Plan<AnyProcess> {
    let mut ring: Vec<NodeId> = (1..=8).map(NodeId::new).collect();
    shuffled(&mut ring, seed);
    let mut network = Network::new(latency);
    if algorithm.entry.assumes.duplication {
        network.duplicate = 0.05;
    }
    let at = |at_ms, action| Scheduled { at: Time::ZERO + ms(at_ms), action };
    let jobs =
        [0, 900, 5_000].map(|at_ms| Some(at(at_ms, Action::InputAll(algorithm.input("work")?))));
    Plan {
        algorithm: algorithm.clone(),
        group: Group::new(ring).unwrap(),
        settings: Settings {
            coordinator: Some(NodeId::new(8)),
            detection: true,
            acknowledge: true,
            ..Settings::new(ms(600))
        },
        network,
        seed,
        script: [
            at(1_000, Action::Crash(NodeId::new(8))),
            at(1_010, Action::Crash(NodeId::new(3))),
            at(9_000, Action::Recover(NodeId::new(8))),
            at(20_000, Action::Heal(0)),
        ]
        .into_iter()
        .chain(jobs.into_iter().flatten())
        .collect(),
        until: None,
    }
}

const LATENCIES: [Latency; 4] = [
    Latency::Fixed(Duration::from_millis(10)),
    Latency::Uniform(Duration::from_millis(5), Duration::from_millis(20)),
    Latency::Exponential(Duration::from_millis(10)),
    Latency::LogNormal(Duration::from_millis(10), 0.5),
];

fn fingerprints(algorithm: &Listed) -> [u32; 4] {
    LATENCIES.map(|latency| {
        let trace = record(&long(algorithm, latency, 42));
        let crashes = trace.events.iter().filter(|event| event.what == What::Crash).count();
        assert_eq!(crashes, 2, "the run is cut short");
        let (events, entry) = (trace.events.len(), &algorithm.entry);
        let short = matches!(entry.family, "agreement" | "snapshot");
        let enough = if short { 10 } else { 300 };
        assert!(events > enough, "{}: {events} events are not much", entry.name);
        hash(&spell(&trace))
    })
}

/// An algorithm is pinned when its runs are to be repeated elsewhere; a new one need not be.
#[test]
fn a_long_run_is_the_same_as_when_it_was_written_down() {
    let line = |algorithm: &Listed| {
        let figures = fingerprints(algorithm).map(|figure| format!("{figure:08x}"));
        format!("{} {}\n", algorithm.name(), figures.join(" "))
    };
    if std::env::var_os("UPDATE").is_some_and(|value| value != "0") {
        return fs::write(PINNED, CATALOGUE.iter().map(line).collect::<String>()).unwrap();
    }
    let pinned = fs::read_to_string(PINNED).unwrap();
    let names = pinned.lines().map(|line| line.split(' ').next().unwrap());
    let measured: String = names.map(|name| line(listed(name))).collect();
    assert_eq!(measured, pinned, "the runs have changed");
}

#[test]
fn another_seed_gives_another_run() {
    for algorithm in CATALOGUE.iter() {
        for latency in LATENCIES.into_iter().skip(1) {
            let [one, other] = [1, 2].map(|seed| {
                let mut plan = long(algorithm, latency, 1);
                plan.seed = seed;
                spell(&record(&plan))
            });
            assert_ne!(hash(&one), hash(&other), "{} under {latency:?}", algorithm.name());
        }
    }
}
