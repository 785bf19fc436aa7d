//! How long a crash of the coordinator takes when its parent shows proof of it (P12, G15).

use bellwether_algorithms::definition::Algorithm;
use bellwether_algorithms::election::any::Choice;
use bellwether_core::{Group, NodeId, Time};
use bellwether_member::{Choices, Config, Durability, Input, Member, Ranks};
use bellwether_sim::{Action, Latency, Network, Scheduled, Silent, Sim};
use std::time::Duration;

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

/// P5 leads five members with default time-outs, whose messages take 1 ms. It crashes, and proof comes to these
/// members 1 ms later. Who serves how many milliseconds after the crash.
fn successor(choices: Choices, told: &[u32]) -> (NodeId, u64) {
    let group = Group::numbered(5).unwrap();
    let config = Config::new(&choices, Ranks::equal(&group), &group).unwrap();
    let network = Network::new(Latency::Fixed(Duration::from_millis(1)));
    let mut sim: Sim<Member, Silent> =
        Sim::new(group, config, &network, 1, Member::definition().invariants, Silent);
    let crash = Time::from_micros(10_000_000);
    sim.run(crash);
    let serving = |sim: &Sim<Member, Silent>| {
        let now = sim.now();
        sim.live().find(|(_, member)| member.serving(now).is_some()).map(|(id, _)| id)
    };
    assert_eq!(serving(&sim), Some(id(5)));
    let incarnation = sim.process(id(5)).unwrap().log().incarnation();
    sim.act(Action::Crash(id(5)));
    let at = crash + Duration::from_millis(1);
    let proof = |number: &u32| Scheduled {
        at,
        action: Action::Input(id(*number), Input::Ended(id(5), incarnation)),
    };
    sim.schedule(told.iter().map(proof));
    for ms in 1..3_000 {
        sim.run(crash + Duration::from_millis(ms));
        if let Some(leader) = serving(&sim) {
            return (leader, ms);
        }
    }
    panic!("no member leads after three seconds: {:?}", sim.violation());
}

#[test]
fn with_proof_a_crash_costs_round_trips_and_no_time_out_with_any_election() {
    for election in Choice::ALL.iter().copied() {
        for durability in [Durability::Disk, Durability::Memory] {
            let choices = Choices { election, durability, ..Choices::default() };
            let (leader, ms) = successor(choices, &[1, 2, 3, 4]);
            assert_eq!(leader, id(4), "{election}");
            assert!(ms <= 10, "{election}, {durability:?}: {ms} ms");
        }
    }
}

/// The candidate's request carries it to the voters.
#[test]
fn the_next_in_line_alone_needs_proof() {
    let (leader, ms) = successor(Choices::default(), &[4]);
    assert_eq!(leader, id(4));
    assert!(ms <= 10, "{ms} ms");
}

/// Without proof a crash waits for the lease.
#[test]
fn without_proof_the_lease_is_waited_for() {
    let (leader, ms) = successor(Choices::default(), &[]);
    assert_eq!(leader, id(4));
    assert!(ms >= 400, "{ms} ms");
}
