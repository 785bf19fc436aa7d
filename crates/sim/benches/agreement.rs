//! How long agreement takes: OM(3) among ten processes, three of them traitors, 36,090 messages.

use bellwether_algorithms::agreement::{Byzantine, Courier, Reliable};
use bellwether_algorithms::definition::{Algorithm, Settings};
use bellwether_core::{Group, Time};
use bellwether_sim::{Action, Latency, Network, Plan, Scheduled, Silent};
use divan::Bencher;
use divan::counter::ItemsCount;
use std::sync::Arc;
use std::time::Duration;

fn main() {
    divan::main();
}

fn plan<A: Algorithm>(n: u32, options: &[(&str, &str)]) -> Plan<A> {
    let ms = Duration::from_millis;
    let mut settings = Settings::new(ms(30));
    for (name, value) in options {
        settings.options.set(name, value);
    }
    Plan {
        algorithm: Arc::new(A::definition()),
        group: Group::numbered(n).expect("ids 1 to n form a group"),
        settings,
        network: Network::new(Latency::Uniform(ms(1), ms(10))),
        seed: 7,
        script: Vec::new(),
        until: None,
    }
}

/// OM(m) from beginning to end, set-up and votes included; items are oral messages.
#[divan::bench(args = [(4, "4"), (7, "4,6"), (10, "2,5,9")], max_time = 5)]
fn oral_messages(bencher: Bencher<'_, '_>, (n, traitors): (u32, &str)) {
    let plan = plan::<Byzantine>(n, &[("traitors", traitors), ("strategy", "colluding")]);
    let messages = plan.run(Silent).0.tally.protocol().values().sum::<u64>();
    bencher.counter(ItemsCount::new(messages)).bench_local(|| {
        let (outcome, Silent) = plan.run(Silent);
        assert!(outcome.agreed && outcome.violation.is_none());
    });
}

/// A thousand letters among ten processes while a fifth of all messages is lost; items are letters.
#[divan::bench(max_time = 2)]
fn letters(bencher: Bencher<'_, '_>) {
    let mut plan = plan::<Reliable<Courier>>(10, &[]);
    plan.network.loss = 0.2;
    let work = plan.algorithm.input("work").expect("letters can be written");
    let all = Scheduled { at: Time::ZERO, action: Action::InputAll(work) };
    plan.script = vec![all; 100];
    bencher.counter(ItemsCount::new(1_000_u64)).bench_local(|| {
        let (outcome, Silent) = plan.run(Silent);
        assert!(outcome.agreed && outcome.violation.is_none());
    });
}
