//! One client while members hand over again and again: what it asks is answered in a few heartbeats. A
//! request that is lost then is asked for again only a quarter of the TTL later.

use super::ids;
use super::world::{Config, Input, Node, Observed};
use bellwether_coordination::{Limits, Number, OnDeadlock};
use bellwether_core::{NodeId, Time};
use bellwether_member::{Choices, Ranks, service};
use bellwether_sim::{Action, Latency, Network, Observer, Scheduled, Seen, Sim};
use std::collections::BTreeMap;
use std::time::Duration;

const USER: NodeId = NodeId::new(1);

const TTL: Duration = Duration::from_secs(4);

/// Notes how long answers take.
#[derive(Debug, Default)]
struct Waits {
    asked: BTreeMap<(u64, Number), Time>,
    answered: u64,
    longest: (Duration, Time),
    terms: u64,
}

impl Observer<Node> for Waits {
    const ACTIVE: bool = true;

    fn event(&mut self, now: Time, _: usize, event: Seen<'_, Node>) {
        match event {
            Seen::Output(Observed::Asks(session, number, _)) => {
                self.asked.insert((*session, *number), now);
            }
            Seen::Output(Observed::Hears(session, number, _)) => {
                if let Some(asked) = self.asked.remove(&(*session, *number)) {
                    self.answered += 1;
                    self.longest = self.longest.max((now.since(asked), asked));
                }
            }
            Seen::Output(Observed::Won(_)) => self.terms += 1,
            _ => {}
        }
    }

    fn stepped(&mut self, _: usize, _: &Node) {}
}

/// A run of a minute with a hand-over every second.
fn run(seed: u64) -> Waits {
    let (group, members) = (ids(1..=6), ids(2..=6));
    let choices = Choices::default();
    let drift_ppm = choices.drift_ppm;
    let member =
        bellwether_member::Config::new(&choices, Ranks::equal(&members), &members).unwrap();
    let service = service::Config {
        member,
        limits: Limits::default(),
        on_deadlock: OnDeadlock::Abort,
        wall_ms: 0,
    };
    let config = Config { members, service, ttl: TTL, drift_ppm, seed };
    let mut network =
        Network::new(Latency::Uniform(Duration::from_millis(1), Duration::from_millis(20)));
    // The client is on the host of the member that it talks to, or near it.
    let near = Latency::Fixed(Duration::from_micros(100));
    for member in config.members.ring() {
        let links = [(USER, *member), (*member, USER)];
        network.links.extend(links.map(|link| (link, near)));
    }
    let mut sim: Sim<Node, Waits> =
        Sim::new(group, config, &network, seed, Vec::new(), Waits::default());
    let at = |second: u64| Time::from_micros(second * 1_000_000);
    sim.schedule((5..60).map(|second| {
        let to = NodeId::new(2 + (second % 5) as u32);
        let input = Input::Member(bellwether_member::Input::Transfer(to));
        Scheduled { at: at(second), action: Action::InputAll(input) }
    }));
    sim.run(at(60));
    sim.observer
}

#[test]
fn every_answer_comes_within_a_few_heartbeats_of_a_hand_over() {
    for seed in 0..10 {
        let Waits { answered, longest: (longest, asked), terms, .. } = run(seed);
        assert!(terms > 30 && answered > 500, "{terms} terms, {answered} answers");
        // Three heartbeats.
        let most = Duration::from_millis(300);
        assert!(longest < most, "seed {seed}: what was asked at {asked} took {longest:?}");
    }
}
