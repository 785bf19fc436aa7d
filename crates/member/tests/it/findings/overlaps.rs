//! Faults that overlap: links are cut in several ways at once, messages are lost, members crash; then all of
//! it ends at the same moment. A leader must be there within a bound from then on.
//!
//! What is bad about it: members that could not win while their links were cut have stood back, and nobody
//! may be left to campaign when the links are good again (P10).
//!
//! `cargo test` runs some; the number of storms for each election and size can be given in the environment
//! variable SCHEDULES.

use super::cluster::{Cluster, HEARTBEAT, LEASE, Setup, bound_after, id, ms};
use bellwether_algorithms::election::any::Choice;
use bellwether_core::NodeId;
use bellwether_sim::chaos::{Topology, draws};
use bellwether_sim::{Action, CutKind};
use std::time::Duration;

type Draw<'a> = &'a mut dyn FnMut(u64) -> u64;

fn members(size: u32, draw: Draw<'_>) -> Vec<NodeId> {
    let mut order: Vec<NodeId> = (1..=size).map(id).collect();
    for place in (1..order.len()).rev() {
        order.swap(place, draw(place as u64 + 1) as usize);
    }
    order
}

/// Every member alone.
fn nobody_reaches_anybody(size: u32) -> CutKind {
    CutKind::Partition((1..=size).map(|member| vec![id(member)]).collect())
}

fn cut(size: u32, draw: Draw<'_>) -> CutKind {
    let order = members(size, draw);
    let (some, rest) = order.split_at(1 + draw(u64::from(size) - 1) as usize);
    let (some, rest) = (some.to_vec(), rest.to_vec());
    match draw(6) {
        0 => nobody_reaches_anybody(size),
        1 => CutKind::Partition(vec![some, rest]),
        2 => CutKind::OneWay(some, rest),
        3 => CutKind::Between(vec![order[0]], vec![order[1]]),
        _ => CutKind::Only(Topology::ALL[draw(4) as usize].links(&order)),
    }
}

/// Which faults a storm has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Faults {
    /// Links are cut.
    Cuts,
    /// Links are cut and lose messages.
    Loss,
    /// Links are cut, and members restart.
    Restarts,
}

/// How long after the end of such a storm no member leads.
fn storm(election: Choice, size: u32, faults: Faults, seed: u64) -> Duration {
    let mut draw = draws(seed);
    let mut setup = Setup { election, ..Setup::new(size, seed) };
    setup.network.reorder = false;
    let mut cluster = match faults {
        Faults::Cuts | Faults::Restarts => setup.filled(5),
        Faults::Loss => {
            setup.network.loss = 0.2;
            setup.start()
        }
    };
    cluster.run(ms(3_000));
    let mut cuts: Vec<u32> = Vec::new();
    for _ in 0..2 + draw(6) {
        match draw(8) {
            0..5 => cuts.push(cluster.cut(cut(size, &mut draw))),
            5 | 6 if !cuts.is_empty() => {
                let which = draw(cuts.len() as u64) as usize;
                cluster.act(Action::Heal(cuts.swap_remove(which)));
            }
            _ if faults == Faults::Restarts => {
                let member = 1 + draw(u64::from(size)) as u32;
                cluster.crash(member);
                cluster.run(ms(draw(500)));
                cluster.recover(member);
            }
            _ => cuts.push(cluster.cut(nobody_reaches_anybody(size))),
        }
        cluster.run(ms(50 + draw(1_200)));
    }
    cuts.into_iter().for_each(|name| cluster.act(Action::Heal(name)));
    cluster.act(Action::Calm);
    cluster.until_led(ms(60_000))
}

/// The sizes of the clusters.
const SIZES: [u32; 2] = [3, 5];

fn storms(faults: Faults, elections: &[Choice], default: u64) {
    let seeds: u64 = std::env::var("SCHEDULES").map_or(default, |text| text.parse().unwrap());
    let mut late = Vec::new();
    for election in elections {
        for size in SIZES {
            let mut gaps: Vec<(Duration, u64)> =
                (0..seeds).map(|seed| (storm(*election, size, faults, seed), seed)).collect();
            gaps.sort_unstable();
            let at = |permille: usize| gaps[(gaps.len() - 1) * permille / 1_000].0.as_millis();
            let (longest, seed) = gaps[gaps.len() - 1];
            println!(
                "{faults:?}, {election}, {size} members, {seeds} storms: median {} ms, 90 % {} ms, \
                 99 % {} ms, longest {} ms (seed {seed})",
                at(500),
                at(900),
                at(990),
                longest.as_millis()
            );
            let bound = bound_after(size, faults == Faults::Restarts);
            if longest > bound {
                late.push(format!("{election}, {size}, seed {seed}: {longest:?} of {bound:?}"));
            }
        }
    }
    assert!(late.is_empty(), "{late:?}");
}

#[test]
fn overlapping_cuts_leave_no_member_waiting() {
    storms(Faults::Cuts, &[Choice::Bully], 60);
}

#[test]
fn overlapping_cuts_and_loss_leave_no_member_waiting() {
    storms(Faults::Loss, &[Choice::Bully], 60);
}

#[test]
fn overlapping_cuts_and_restarts_leave_no_member_waiting() {
    storms(Faults::Restarts, &[Choice::Bully], 60);
}

#[test]
fn overlapping_cuts_with_every_election() {
    storms(Faults::Cuts, Choice::ALL, 20);
}

/// Nobody can win, so all stand back. Whoever is reached by a majority again comes back.
#[test]
fn members_that_passed_while_all_links_were_cut_come_back_with_the_links() {
    for size in SIZES {
        let took = (0..40).map(|seed| {
            let mut cluster: Cluster = Setup::new(size, seed).filled(5);
            let cut = cluster.cut(nobody_reaches_anybody(size));
            cluster.run(2 * LEASE + ms(seed * 37));
            assert_eq!(cluster.serving(), None);
            cluster.act(Action::Heal(cut));
            cluster.until_led(ms(10_000))
        });
        let took = took.max().unwrap();
        println!("{size} members that passed: {took:?} at most");
        assert!(took <= 6 * HEARTBEAT, "{took:?}");
    }
}
