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
use std::time::Duration;

/// What a long run of each algorithm under each latency comes to. A difference means that
/// recorded seeds no longer mean the same runs. If an algorithm was changed on purpose, copy the
/// new figures from the failing test; if not, something is not the same on every machine.
const PINNED: [(&str, [u32; 4]); 27] = [
    ("bully", [0xe9fe491c, 0x67cfcb9d, 0x6a485269, 0xcfb602ca]),
    ("ring", [0xf9a6e8e2, 0xee981b90, 0x5d19553f, 0xe84c7a9c]),
    ("active-list", [0x7141b56c, 0x0f40ab6e, 0xe0014f57, 0x1d5e2c1b]),
    ("chang-roberts", [0x85eaaad3, 0x191f2a3c, 0xefb5e2d1, 0x4f9a4b58]),
    ("hirschberg-sinclair", [0x7dfa0f91, 0x23ad1689, 0xe7388820, 0xbfa9e3f1]),
    ("peterson", [0x81f71872, 0xc31d8037, 0x6b96ccde, 0xc9386c18]),
    ("central", [0xa96900a2, 0x3b4ca4a3, 0x066530b1, 0x02b247ea]),
    ("lamport", [0x4ccfa083, 0xf206e45e, 0x0a60f7ea, 0x6eae1066]),
    ("ricart-agrawala", [0x6698e3a3, 0x0bc1f2d7, 0x33375910, 0xd104704f]),
    ("token-ring", [0x255584ee, 0x15afa5f9, 0xceabd634, 0x2428d654]),
    ("ricart-agrawala-token", [0xbd101529, 0x99ebc5f1, 0xb80542d7, 0xc1e7c77b]),
    ("suzuki-kasami", [0xc58d51ce, 0x528b27a1, 0x1274f4b5, 0xc409dce9]),
    ("raymond", [0xa3d2e697, 0x016cca58, 0x5f9f285d, 0x503e2f7c]),
    ("singhal", [0xa552adb8, 0xd194a58f, 0x62448a9f, 0xfd56a7c9]),
    ("cristian", [0x8736b841, 0xc845e54c, 0x83295ebc, 0x7fa64868]),
    ("berkeley", [0x2e24d15a, 0x50b96669, 0x69e869ac, 0x1f133070]),
    ("ntp", [0x7ca5de2f, 0x50c86917, 0x12403d16, 0x4e350e9d]),
    ("causal-broadcast", [0x247a9ff2, 0x88c7e1a8, 0xa6fb0584, 0x569a91f6]),
    ("total-order-sequencer", [0xb7b57e7b, 0x7d731f4e, 0x1ea60335, 0x78171671]),
    ("total-order-lamport", [0x8624ce6d, 0x68bc2343, 0x3350b6a8, 0x21f1af0f]),
    ("deadlock-central", [0x66c46dbc, 0xca1d41f6, 0x82ee2386, 0x1d4ecded]),
    ("deadlock-distributed", [0xf72e3955, 0xa4fc3962, 0x58e70020, 0xdba16874]),
    ("deadlock-edge-chasing", [0x38a4b875, 0xf883c6a5, 0x6e3293ab, 0x96f021f4]),
    ("reliable-link", [0x0d5cffda, 0x5a0e6501, 0x849e205c, 0xc439afa5]),
    ("two-generals", [0xdb70f77d, 0x316faca7, 0x02b2206c, 0xe83b3c4e]),
    ("byzantine", [0xf64a3aac, 0xfe998fd8, 0x6e3c2f33, 0xba339b29]),
    ("chandy-lamport", [0xb8544c0c, 0x7cb16e19, 0x91347988, 0x12e8588b]),
];

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
    let measured = PINNED.map(|(name, _)| (name, fingerprints(listed(name))));
    let mut table = String::new();
    for (name, figures) in &measured {
        let figures: Vec<String> = figures.iter().map(|figure| format!("{figure:#010x}")).collect();
        writeln!(table, "    (\"{name}\", [{}]),", figures.join(", ")).unwrap();
    }
    assert!(measured == PINNED, "the runs have changed; they are now\n{table}");
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
