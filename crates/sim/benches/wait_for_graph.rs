//! The wait-for graph of a busy site: 100,000 transactions wait, and locks change hands. What a
//! change costs with the incremental search, and what it would cost to search everything.
//!
//!     cargo bench -p bellwether-sim --bench wait_for_graph
//!
//! Both do the same changes to the same graph; the ratio of their times is what the incremental
//! search saves.

#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]

use bellwether_core::WaitForGraph;
use std::collections::BTreeMap;

const WAITERS: u32 = 100_000;
/// Each has a queue of a hundred, whose first waits for the next resource: one long chain.
const RESOURCES: u32 = 1_000;
const QUEUE: u32 = WAITERS / RESOURCES;
/// Resources are vertices too, above all transactions.
const FIRST_RESOURCE: u32 = 10_000_000;

fn main() {
    divan::main();
}

fn resource(index: u32) -> u32 {
    FIRST_RESOURCE + index
}

/// The holder of resource i is transaction i * QUEUE, which waits for resource i + 1.
fn edges() -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for index in 0..RESOURCES {
        edges.push((resource(index), index * QUEUE));
        for place in 1..QUEUE {
            edges.push((index * QUEUE + place, resource(index)));
        }
        if index + 1 < RESOURCES {
            edges.push((index * QUEUE, resource(index + 1)));
        }
    }
    edges
}

fn graph() -> WaitForGraph<u32> {
    let mut graph = WaitForGraph::default();
    for (from, to) in edges() {
        assert_eq!(graph.add(from, to), None);
    }
    graph
}

/// A transaction leaves one queue for another, many times over.
fn moves() -> impl Iterator<Item = (u32, u32, u32)> {
    let mut state = 1_u64;
    (0..1_000).map(move |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let index = (state >> 33) as u32 % RESOURCES;
        let waiter = index * QUEUE + 1 + (state >> 13) as u32 % (QUEUE - 1);
        (waiter, resource(index), resource((index + 7) % RESOURCES))
    })
}

/// All edges at once.
#[divan::bench(sample_count = 10)]
fn build_100_000_waiters() -> WaitForGraph<u32> {
    graph()
}

/// A thousand waiters change queues and come back: four thousand changes.
#[divan::bench(sample_count = 10)]
fn incremental_4_000_changes(bencher: divan::Bencher<'_, '_>) {
    bencher.with_inputs(graph).bench_local_values(|mut graph| {
        for (waiter, from, to) in moves() {
            graph.remove(waiter, from);
            assert!(graph.add(waiter, to).is_none());
            graph.remove(waiter, to);
            assert!(graph.add(waiter, from).is_none());
        }
        graph
    });
}

/// The head of the long chain asks for what its end holds, and takes it back: a cycle through a
/// thousand transactions, found and undone.
#[divan::bench(sample_count = 10)]
fn incremental_cycle_of_1_000(bencher: divan::Bencher<'_, '_>) {
    bencher.with_inputs(graph).bench_local_values(|mut graph| {
        let end = (RESOURCES - 1) * QUEUE;
        assert_eq!(graph.add(end, resource(0)).map(|cycle| cycle.len()), Some(2_000));
        graph.remove(end, resource(0));
        graph
    });
}

/// The same changes as above, a hundredth as many, with a full search after each.
#[divan::bench(sample_count = 3)]
fn full_search_40_changes(bencher: divan::Bencher<'_, '_>) {
    let adjacency = || {
        let mut out: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (from, to) in edges() {
            out.entry(from).or_default().push(to);
        }
        out
    };
    bencher.with_inputs(adjacency).bench_local_values(|mut out| {
        for (waiter, from, to) in moves().take(10) {
            for resource in [None, Some(to), None, Some(from)] {
                out.insert(waiter, resource.into_iter().collect());
                assert!(!has_cycle(&out));
            }
        }
        out
    });
}

/// Depth first over everything: white, grey, black.
fn has_cycle(out: &BTreeMap<u32, Vec<u32>>) -> bool {
    let mut done: BTreeMap<u32, bool> = BTreeMap::new();
    for start in out.keys() {
        if done.contains_key(start) {
            continue;
        }
        let mut way = vec![(*start, 0)];
        done.insert(*start, false);
        while let Some((vertex, index)) = way.last_mut() {
            let next = out.get(vertex).and_then(|out| out.get(*index)).copied();
            *index += 1;
            match next {
                None => {
                    done.insert(*vertex, true);
                    way.pop();
                }
                Some(next) => match done.get(&next) {
                    Some(false) => return true,
                    Some(true) => {}
                    None => {
                        done.insert(next, false);
                        way.push((next, 0));
                    }
                },
            }
        }
    }
    false
}
