//! How fast the simulator is, beside the plainest loop that does the same.
//!
//! Chang-Roberts on a shuffled ring with everybody starting and latencies from 1 to 100 ms. The
//! plain loop ([`bare`]) knows this one algorithm, has no faults, no invariants and no contract:
//! it is what one would write to get this one figure. Both run in turns, so that a busy machine
//! slows down both, and their ratio means something where the figures themselves do not.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark looks at the clock and prints"
)]

mod bare;

use bellwether_algorithms::deadlock::{EdgeChasing, Site};
use bellwether_algorithms::definition::{Algorithm, Definition, Settings};
use bellwether_algorithms::election::{Bully, ChangRoberts, Input, Watched};
use bellwether_algorithms::mutex::{Guarded, Raymond, RicartAgrawala, SuzukiKasami};
use bellwether_algorithms::time::Berkeley;
use bellwether_core::{Erasable, Group, NodeId, Process, Time};
use bellwether_sim::chaos::random_plan;
use bellwether_sim::{Action, Latency, Network, Plan, Scheduled, Silent, Sim, shuffled};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

type P = Watched<ChangRoberts>;

static CHANG_ROBERTS: LazyLock<Arc<Definition<P>>> = LazyLock::new(|| Arc::new(P::definition()));

fn main() {
    println!("events a second, in millions: the simulator beside a plain loop\n");
    println!("{:>10} {:>10} {:>10} {:>7}", "processes", "simulator", "plain", "ratio");
    for (n, turns) in [(1_000, 60), (100_000, 6), (1_000_000, 3)] {
        compare(n, turns);
    }
    println!("\nmutual exclusion, everybody always asking, events a second in millions\n");
    println!("{:>10} {:>16} {:>10} {:>10}", "processes", "algorithm", "entries", "simulator");
    saturate::<Guarded<SuzukiKasami>>(1_000, 20);
    saturate::<Guarded<RicartAgrawala>>(1_000, 10);
    saturate::<Guarded<Raymond>>(1_000, 1_000);
    saturate::<Guarded<Raymond>>(100_000, 10);
    println!("\nrandom schedules, thousands a second: typed processes beside erased ones\n");
    println!("{:>22} {:>10} {:>10} {:>7}", "algorithm", "typed", "erased", "ratio");
    sweep::<Watched<Bully>>();
    sweep::<Guarded<Raymond>>();
    sweep::<Berkeley>();
    sweep::<Site<EdgeChasing>>();
    println!();
    divan::main();
}

/// Runs both in turns and prints the medians.
fn compare(n: u32, turns: usize) {
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for seed in 0..turns as u64 {
        let ring = ring(n, seed);
        let numbers: Vec<u32> = ring.iter().map(|id| id.number()).collect();
        let mut sim = cluster(ring, seed);
        let start = Instant::now();
        sim.run(Time::MAX);
        ours.push(sim.events() as f64 / start.elapsed().as_secs_f64() / 1e6);
        let mut bare = bare::Ring::new(numbers, seed);
        let start = Instant::now();
        let events = bare.elect();
        plain.push(events as f64 / start.elapsed().as_secs_f64() / 1e6);
    }
    let (ours, plain) = (median(ours), median(plain));
    println!("{n:>10} {ours:>10.1} {plain:>10.1} {:>7.2}", ours / plain);
}

/// Every process has this many jobs, and all begin at once.
fn saturate<A: Algorithm>(n: u32, jobs: usize) {
    let ms = Duration::from_millis;
    let algorithm = Arc::new(A::definition());
    let job = algorithm.input("work").expect("mutual exclusion has work");
    let all = Scheduled { at: Time::ZERO, action: Action::InputAll(job) };
    let mut rates = Vec::new();
    let mut entries = 0;
    for seed in 0..3 {
        let plan = Plan {
            algorithm: algorithm.clone(),
            group: Group::numbered(n).expect("ids 1 to n form a group"),
            settings: Settings { section: (ms(1), ms(1)), ..Settings::new(ms(300)) },
            network: Network::new(Latency::Uniform(ms(1), ms(100))),
            seed,
            script: vec![all.clone(); jobs],
            until: None,
        };
        let mut sim = plan.set_up(Silent);
        let start = Instant::now();
        plan.play(&mut sim);
        rates.push(sim.events() as f64 / start.elapsed().as_secs_f64() / 1e6);
        entries = sim.sections().map_or(0, |sections| sections.entries);
        assert_eq!(entries, u64::from(n) * jobs as u64, "everybody has done all its jobs");
    }
    println!("{n:>10} {:>16} {entries:>10} {:>10.1}", algorithm.name(), median(rates));
}

/// Runs ten thousand random schedules of both kinds in turns, and prints the medians.
fn sweep<A: Algorithm + Erasable>() {
    let (typed, erased) = (Arc::new(A::definition()), Arc::new(A::definition().erase()));
    let (mut typed_rates, mut erased_rates) = (Vec::new(), Vec::new());
    for first in (0..10_000).step_by(500) {
        typed_rates.push(rate(&typed, first..first + 500));
        erased_rates.push(rate(&erased, first..first + 500));
    }
    let (ours, theirs) = (median(typed_rates), median(erased_rates));
    println!("{:>22} {ours:>10.1} {theirs:>10.1} {:>7.2}", typed.name(), theirs / ours);
}

/// How many thousand random schedules there are in a second.
fn rate<P: Process>(algorithm: &Arc<Definition<P>>, seeds: Range<u64>) -> f64 {
    let (start, count) = (Instant::now(), seeds.end - seeds.start);
    for seed in seeds {
        black_box(random_plan(algorithm, seed).run(Silent));
    }
    count as f64 / start.elapsed().as_secs_f64() / 1e3
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn ring(n: u32, seed: u64) -> Vec<NodeId> {
    let mut ring: Vec<NodeId> = (1..=n).map(NodeId::new).collect();
    shuffled(&mut ring, seed);
    ring
}

/// A cluster in which everybody is about to start.
fn cluster(ring: Vec<NodeId>, seed: u64) -> Sim<P, Silent> {
    let ms = Duration::from_millis;
    let plan = Plan {
        algorithm: CHANG_ROBERTS.clone(),
        group: Group::new(ring).expect("ids 1 to n form a group"),
        settings: Settings::new(ms(300)),
        network: Network::new(Latency::Uniform(ms(1), ms(100))),
        seed,
        script: vec![Scheduled { at: Time::ZERO, action: Action::InputAll(Input::Start) }],
        until: None,
    };
    plan.set_up(Silent)
}

#[divan::bench(args = [1_000, 100_000], max_time = 5)]
fn simulator(bencher: Bencher<'_, '_>, n: u32) {
    let mut first = cluster(ring(n, 0), 0);
    first.run(Time::MAX);
    bencher
        .counter(ItemsCount::new(first.events() as usize))
        .with_inputs(|| cluster(ring(n, 0), 0))
        .bench_local_refs(|sim| sim.run(Time::MAX));
}

#[divan::bench(args = [1_000, 100_000], max_time = 5)]
fn plain_loop(bencher: Bencher<'_, '_>, n: u32) {
    let fresh = || bare::Ring::new(ring(n, 0).iter().map(|id| id.number()).collect(), 0);
    bencher
        .counter(ItemsCount::new(fresh().elect() as usize))
        .with_inputs(fresh)
        .bench_local_refs(bare::Ring::elect);
}

/// Ten runs of a small cluster with crashes, as the random tests have by the ten thousand.
#[divan::bench(max_time = 2)]
fn random_schedules(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(10usize)).bench_local(|| {
        for seed in 0..10 {
            let (outcome, Silent) = random_plan(&CHANG_ROBERTS, seed).run(Silent);
            assert!(outcome.agreed);
        }
    });
}
