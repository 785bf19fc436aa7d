//! What is proved of the catalogue, and what goes wrong where an assumption does not hold: small
//! clusters, one or more of every family. The long list is that of `make check-all`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::models::listed;
use bellwether_algorithms::definition::Settings;
use bellwether_check::{Channels, Faults, Limits, Setup, Timing, Verdict, check};
use bellwether_core::{Group, NodeId};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_millis(100);

/// This many processes of an algorithm, set like this.
fn cluster(name: &str, nodes: u32, set: impl FnOnce(&mut Settings)) -> Setup {
    let algorithm = listed(name);
    let group = Group::numbered(nodes).unwrap();
    let mut settings = Settings::new(TIMEOUT);
    set(&mut settings);
    algorithm.check(&settings, &group).unwrap();
    Setup::new(&algorithm, group, settings)
}

/// What was found, and in how many states.
fn found(setup: &Setup) -> (Verdict, u64) {
    let limits = Limits { threads: 2, states: 2_000_000, ..Limits::default() };
    let report = check(&setup.model(), limits, &mut |_| {});
    (report.verdict, report.progress.states)
}

/// Nothing goes wrong, and not because nothing happens.
#[track_caller]
fn proved(setup: &Setup, at_least: u64) {
    let (verdict, states) = found(setup);
    assert_eq!(verdict, Verdict::Proved, "{}", setup.algorithm.name());
    assert!(states >= at_least, "{}: only {states} states", setup.algorithm.name());
}

/// This goes wrong, and not in fewer steps than these.
#[track_caller]
fn violated(setup: &Setup, property: &str, steps: usize) {
    match found(setup).0 {
        Verdict::Violated(found) => {
            assert_eq!((found.breach.name, found.stem.len()), (property, steps), "{found:?}");
        }
        other => panic!("{}: {other:?}", setup.algorithm.name()),
    }
}

fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

fn asks(asks: &[(u32, &str)]) -> Vec<(NodeId, String)> {
    asks.iter().map(|(who, verb)| (id(*who), (*verb).to_owned())).collect()
}

/// Processes that watch their coordinator, the largest of them; and some may crash and come back.
fn watched(name: &str, nodes: u32, crashes: u8, recoveries: u8) -> Setup {
    let setup = cluster(name, nodes, |settings| {
        settings.coordinator = Some(id(nodes));
        settings.detection = true;
        settings.acknowledge = true;
    });
    let faults = Faults { crashes, recoveries, ..Faults::default() };
    Setup { faults, ..setup }
}

/// Mutual exclusion as in the papers: each may work this many times.
fn textbook(name: &str, nodes: u32, requests: u8) -> Setup {
    let setup = cluster(name, nodes, |settings| settings.textbook = true);
    Setup { timing: Timing::Asynchronous, requests, ..setup }
}

#[test]
fn elections_agree_on_the_largest_that_lives() {
    proved(&watched("bully", 3, 1, 1), 5_000);
    proved(&watched("active-list", 4, 1, 0), 1_000);
    let fifo = watched("chang-roberts", 4, 1, 0);
    proved(&Setup { channels: Channels::Fifo, ..fifo }, 1_000);
}

#[test]
fn sections_have_one_inside_and_none_starves() {
    proved(&textbook("central", 3, 2), 10_000);
    proved(&textbook("token-ring", 3, 2), 1_000);
    proved(&textbook("lamport", 3, 1), 10_000);
    // Cured, it needs no order; as printed, that of causes.
    let cured = cluster("singhal", 3, |_| {});
    let cured = Setup { timing: Timing::Asynchronous, requests: 2, ..cured };
    proved(&cured, 50_000);
    let printed = textbook("singhal", 3, 2);
    proved(&Setup { channels: Channels::Causal, ..printed }, 10_000);
}

/// Any process dies, with the token, inside or as coordinator: the others go on.
#[test]
fn sections_survive_a_crash_under_views() {
    let setup = watched("token-ring", 3, 1, 0);
    proved(&Setup { requests: 1, ..setup }, 100_000);
}

#[test]
fn broadcasts_letters_and_snapshots_are_what_they_should_be() {
    let causal = cluster("causal-broadcast", 3, |_| {});
    proved(&Setup { requests: 1, ..causal }, 500);
    let faults = Faults { losses: 1, duplicates: 1, ..Faults::default() };
    let letters = cluster("reliable-link", 2, |_| {});
    proved(&Setup { requests: 1, faults, ..letters }, 300);
    let bank = cluster("chandy-lamport", 3, |_| {});
    let asks = asks(&[(1, "transfer:2:5"), (2, "snapshot"), (3, "transfer:1:5")]);
    proved(&Setup { asks, ..bank }, 500);
}

#[test]
fn a_clock_that_was_set_is_within_its_bound() {
    let clients = cluster("cristian", 2, |settings| {
        settings.options.set("samples", "2");
    });
    let tick = TIMEOUT / 4;
    let timing = Timing::Bounded { tick, delay: (0, 1) };
    let setup = Setup { timing, horizon: Some(16), offsets: vec![(id(1), 70_000)], ..clients };
    proved(&setup, 100);
}

/// A traitor that may tell any lie, and changes its mind at any moment. The value of one commander
/// is at stake; the others' are settled in the same way beside it, and no message is about two.
fn generals(nodes: u32, traitor: u32, lies: usize) -> Setup {
    let setup = cluster("byzantine", nodes, |settings| {
        let traitor = traitor.to_string();
        let values = &"a,b,a,b"[..2 * nodes as usize - 1];
        for (option, value) in [
            ("traitors", traitor.as_str()),
            ("strategy", "numbered"),
            ("commander", "1"),
            ("faults", "1"),
            ("values", values),
            ("force", ""),
        ] {
            settings.options.set(option, value);
        }
    });
    Setup { asks: vec![(id(traitor), "lie".to_owned()); lies - 1], ..setup }
}

#[test]
fn no_lie_of_one_among_four_divides_the_honest() {
    // To each of two or three others: one of two values, nil, or nothing.
    proved(&generals(4, 1, 4 * 4 * 4), 100_000);
    proved(&generals(4, 3, 4 * 4), 1_000);
}

/// Transactions that each hold one resource and want that of the next, with their resources and
/// their homes at any of three sites.
fn circle(homes: &[u32], sites: &[u32], order: &[usize]) -> Setup {
    let lock = |number: usize, resource: usize| {
        let name = ["a", "b", "c"][resource];
        format!("lock:T{}:S{}.{name}", number + 1, sites[resource])
    };
    let count = order.len();
    let first = order.iter().enumerate().map(|(at, number)| (*number, at));
    let second = order.iter().enumerate().map(|(at, number)| (*number, (at + 1) % count));
    let asks = first.chain(second).map(|(number, resource)| {
        let home = homes[number];
        (id(home), lock(number, resource))
    });
    let asks = asks.collect();
    let setup = cluster("deadlock-distributed", 3, |_| {});
    Setup { asks, timing: Timing::Asynchronous, ..setup }
}

/// All ways to place this many things at three sites.
fn placings(count: usize) -> Vec<Vec<u32>> {
    let digit = |number: usize, at: usize| (number / 3usize.pow(at as u32) % 3) as u32 + 1;
    let placing = |number: usize| (0..count).map(|at| digit(number, at)).collect();
    (0..3usize.pow(count as u32)).map(placing).collect()
}

#[test]
fn every_circle_over_three_sites_is_reported_once() {
    for order in [&[0, 1][..], &[0, 1, 2], &[0, 2, 1]] {
        for sites in placings(order.len()) {
            for homes in placings(order.len()) {
                // Sites that are named otherwise do the same.
                if sites[0] == 1 {
                    proved(&circle(&homes, &sites, order), 5);
                }
            }
        }
    }
}

// The gallery: assumptions that are needed.

#[test]
fn where_time_outs_lie_there_are_two_coordinators() {
    let asynchronous = |setup: Setup| Setup {
        timing: Timing::Asynchronous,
        requests: 1,
        liveness: false,
        ..setup
    };
    let bully = cluster("bully", 3, |_| {});
    violated(&asynchronous(bully), "one-coordinator", 3);
    let ring = cluster("chang-roberts", 3, |settings| settings.acknowledge = true);
    violated(&asynchronous(ring), "one-coordinator", 8);
}

#[test]
fn each_side_of_a_partition_has_a_coordinator() {
    let bully = cluster("bully", 3, |settings| settings.coordinator = Some(id(3)));
    let partition = vec![vec![id(1), id(2)], vec![id(3)]];
    let setup = Setup { partition, asks: asks(&[(1, "suspect")]), ..bully };
    violated(&setup, "one-coordinator", 5);
}

#[test]
fn active_lists_without_fifo_elect_too_early() {
    let lists = cluster("active-list", 3, |settings| settings.coordinator = Some(id(3)));
    let setup = Setup { asks: asks(&[(1, "start")]), ..lists };
    proved(&setup, 20);
    let setup = Setup { channels: Channels::Reorder, ..setup };
    violated(&setup, "agreement", 7);
}

#[test]
fn lamports_queue_without_fifo_lets_two_in() {
    let queue = textbook("lamport", 2, 1);
    violated(&Setup { channels: Channels::Reorder, ..queue }, "one-inside", 4);
}

#[test]
fn singhals_printed_rules_under_fifo_let_a_process_starve() {
    let printed = textbook("singhal", 3, 2);
    violated(&Setup { channels: Channels::Fifo, ..printed }, "granted", 15);
}

#[test]
fn a_snapshot_without_fifo_is_of_no_moment() {
    let bank = cluster("chandy-lamport", 2, |_| {});
    let asks = asks(&[(1, "snapshot"), (1, "transfer:2:5")]);
    let setup = Setup { asks, channels: Channels::Reorder, ..bank };
    violated(&setup, "consistent-cut", 5);
}

#[test]
fn three_generals_bear_no_traitor() {
    violated(&generals(3, 3, 4), "consistency", 15);
}

#[test]
fn two_generals_are_never_certain() {
    let setup = cluster("two-generals", 2, |_| {});
    let faults = Faults { losses: 1, ..Faults::default() };
    violated(&Setup { faults, ..setup }, "both-or-none", 13);
}

/// The token is on its way when a new view begins, and comes back as a second one.
#[test]
fn where_tokens_have_no_epoch_there_are_two() {
    let setup = cluster("token-ring", 2, |settings| {
        settings.coordinator = Some(id(2));
        settings.options.set("no-epochs", "");
    });
    let asks = asks(&[(1, "work"), (2, "work"), (2, "start")]);
    violated(&Setup { asks, ..setup }, "one-inside", 8);
}
