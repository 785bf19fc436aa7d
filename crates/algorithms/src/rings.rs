//! Orders of processes 1 to n in which costs are measured.

use crate::cost::Expected;
use bellwether_core::Draws;

/// Every random order follows from it, so that the figures are the same in every run.
const SEED: u64 = 1979;

/// Up to this many processes all arrangements of a ring are tried: 720 of them.
const ENUMERATED_MAX: u32 = 7;

/// 1 to k, each followed by the next larger.
pub fn ascending(k: u32) -> Vec<u32> {
    (1..=k).collect()
}

/// k to 1, each followed by the next smaller.
pub fn descending(k: u32) -> Vec<u32> {
    (1..=k).rev().collect()
}

/// Places in the order of their numbers written backwards in binary: every other process is
/// larger than both its neighbours, and among these every other again, and so on. It keeps as
/// many candidates in the race as possible.
pub fn bit_reversed(k: u32) -> Vec<u32> {
    let mut places: Vec<u32> = (0..k).collect();
    places.sort_unstable_by_key(|place| place.reverse_bits());
    let mut ring = vec![0; places.len()];
    for (place, number) in places.into_iter().zip(1..) {
        ring[place as usize] = number;
    }
    ring
}

/// Rings in random order.
pub fn shuffled(k: u32, count: u64) -> impl Iterator<Item = Vec<u32>> {
    (0..count).map(move |index| {
        let mut ring = ascending(k);
        Draws::keyed(SEED, u64::from(k), index).shuffle(&mut ring);
        ring
    })
}

/// All (k-1)! orders of a ring: the largest stays first, the others take all orders.
pub fn arrangements(k: u32) -> Vec<Vec<u32>> {
    let mut all = vec![vec![k]];
    for number in 1..k {
        // Into every gap behind the first.
        let longer = all.iter().flat_map(|ring| {
            (1..=ring.len()).map(move |gap| {
                let mut ring = ring.clone();
                ring.insert(gap, number);
                ring
            })
        });
        all = longer.collect();
    }
    all
}

/// Circles of k processes, all of them or a number of random ones, and the mean over them of how far
/// all numbers together travel if each goes to the next larger one, the largest all the way round:
/// k H(k). Each number may stop some hops earlier.
pub fn circles(k: u32, samples: u64, earlier: u32) -> (Expected, Vec<Vec<u32>>) {
    if k <= ENUMERATED_MAX {
        let count = u64::from(k);
        let factorial: u64 = (1..=count).product();
        let sum: u64 = (1..=count).map(|term| factorial / term).sum();
        let sum = sum - factorial * u64::from(earlier);
        (Expected::ExactMean { sum, runs: factorial / count }, arrangements(k))
    } else {
        let harmonic: f64 = (1..=k).map(|term| 1.0 / f64::from(term)).sum();
        let mean = f64::from(k) * (harmonic - f64::from(earlier));
        (Expected::sampled(mean), shuffled(k, samples).collect())
    }
}

/// P1 to Pn in an order such that, if the last one is inside first, everybody follows everybody,
/// itself too, exactly once: a sequence of de Bruijn's.
pub fn all_pairs(n: u32) -> Vec<u32> {
    let longer = |id: u32| (id + 1..=n).flat_map(move |other| [id, other]);
    (1..=n).flat_map(|id| std::iter::once(id).chain(longer(id))).collect()
}

/// P1 to Pn in a random order, always the same.
pub fn mixed(n: u32) -> Vec<u32> {
    shuffled(n, 1).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_circles_are_tried_once() {
        for (k, count) in [(1, 1), (2, 1), (3, 2), (4, 6), (6, 120)] {
            let all = arrangements(k);
            assert!(all.iter().all(|ring| ring[0] == k));
            assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), count);
        }
        assert_eq!(bit_reversed(8), [1, 5, 3, 7, 2, 6, 4, 8]);
    }

    #[test]
    fn each_follows_each_once() {
        for n in 1..=9 {
            let ids = all_pairs(n);
            let before = std::iter::once(&n).chain(&ids);
            let pairs: BTreeSet<(u32, u32)> = before.copied().zip(ids.iter().copied()).collect();
            assert_eq!((ids.len(), pairs.len()), ((n * n) as usize, (n * n) as usize));
            assert_eq!(mixed(n).into_iter().collect::<BTreeSet<_>>().len(), n as usize);
        }
    }
}
