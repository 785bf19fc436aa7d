#![allow(
    missing_docs,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used
)]
use bellwether_algorithms::catalogue::*;
use bellwether_algorithms::election::*;
use bellwether_core::*;
use bellwether_sim::*;
use std::time::{Duration, Instant};
fn main() {
    let settings = Settings {
        timeout: Duration::from_millis(300),
        coordinator: None,
        detection: false,
        acknowledge: false,
    };
    type P = Watched<ChangRoberts>;
    println!("node {}", std::mem::size_of::<P>());
    for n in std::env::args().skip(1).map(|a| a.parse::<u32>().unwrap()) {
        let mut ids: Vec<NodeId> = (1..=n).map(NodeId::new).collect();
        let mut x = 12345u64;
        for i in (1..ids.len()).rev() {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ids.swap(i, ((x >> 33) % (i as u64 + 1)) as usize);
        }
        let group = Group::new(ids.clone()).unwrap();
        let config = P::config(&settings, &group);
        let network =
            Network::new(Latency::Uniform(Duration::from_millis(1), Duration::from_millis(100)));
        let mut sim = Sim::<P, _>::new(group, config, &network, 1, P::invariants(), Silent);
        sim.schedule(
            ids.iter()
                .map(|id| Scheduled { at: Time::ZERO, action: Action::Input(*id, Input::Start) }),
        );
        let t = Instant::now();
        let ended = sim.run(Time::MAX);
        let dt = t.elapsed().as_secs_f64();
        if n == 1000 {
            for _ in 0..3 {
                let e0 = sim.events();
                let t = Instant::now();
                for _ in 0..20 {
                    for id in &ids {
                        sim.act(Action::Input(*id, Input::Start));
                    }
                    sim.run(Time::MAX);
                }
                println!(
                    "   steady {:.1}",
                    (sim.events() - e0) as f64 / t.elapsed().as_secs_f64() / 1e6
                );
            }
        }
        for l in std::fs::read_to_string("/proc/self/status").unwrap().lines() {
            if l.starts_with("VmHWM") {
                println!("{l}");
            }
        }
        println!(
            "{n} {ended:?} events {} {:.1} M/s {:?} {:?}",
            sim.events(),
            sim.events() as f64 / dt / 1e6,
            sim.tally(),
            sim.violation()
        );
    }
}
