//! Comparing and merging vector clocks beside the plain loop over two slices. The allocation
//! columns must stay empty.

use bellwether_algorithms::time::VectorClock;
use divan::{AllocProfiler, Bencher, black_box};

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

const ENTRIES: [usize; 3] = [10, 100, 1_000];

fn main() {
    divan::main();
}

/// Two clocks that know the same but for the last place, so that all entries must be looked at.
fn pair(entries: usize) -> (VectorClock, VectorClock) {
    let mut one = VectorClock::new(entries);
    (0..entries).for_each(|place| one.tick(place));
    let mut other = one.clone();
    other.tick(entries - 1);
    (one, other)
}

#[divan::bench(args = ENTRIES)]
fn compare(bencher: Bencher<'_, '_>, entries: usize) {
    let (one, other) = pair(entries);
    bencher.bench_local(|| black_box(&one).compare(black_box(&other)));
}

#[divan::bench(args = ENTRIES)]
fn compare_plain_loop(bencher: Bencher<'_, '_>, entries: usize) {
    let (one, other) = pair(entries);
    bencher.bench_local(|| {
        let pairs = black_box(one.counters()).iter().zip(black_box(other.counters()));
        pairs.fold((false, false), |(less, greater), (a, b)| (less | (a < b), greater | (a > b)))
    });
}

#[divan::bench(args = ENTRIES)]
fn merge(bencher: Bencher<'_, '_>, entries: usize) {
    let (mut one, other) = pair(entries);
    bencher.bench_local(|| black_box(&mut one).merge(black_box(&other)));
}

#[divan::bench(args = ENTRIES)]
fn merge_plain_loop(bencher: Bencher<'_, '_>, entries: usize) {
    let (one, other) = pair(entries);
    let (mut one, other) = (one.counters().to_vec(), other.counters().to_vec());
    bencher.bench_local(|| {
        let pairs = black_box(&mut one).iter_mut().zip(black_box(&other));
        pairs.for_each(|(a, b)| *a = (*a).max(*b));
    });
}
