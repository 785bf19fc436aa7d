//! The event queue: a timing wheel.
//!
//! A heap of a million pending messages misses the cache at every level of every operation. Here
//! an event is appended to the bucket of its time and later read in order, so the cost does not
//! grow with the number of events. A bucket covers 64 ticks (of 1 us); 4096 of them cover 2^18
//! ticks (0.26 s), and 4096 coarser buckets of that size cover 2^30 (18 minutes). What lies
//! further off waits in an ordered map. When time enters a coarse bucket its events are spread
//! over the fine ones; when it enters a fine one, it becomes the *present* bucket and is sorted.
//! The few events that are inserted into the present bucket's own 64 ticks go to a small heap
//! beside it.
//!
//! Order is by time, and by insertion within a tick: a bucket is only ever appended to and sorted
//! stably; a coarse bucket is spread before anything can be inserted directly into the fine ones
//! that it covers; and the heap holds only what came after the present bucket was closed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Events by time, first in first out within a tick.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// Nothing can be inserted before this tick: that of the last event, or the beginning of the
    /// present bucket.
    now: u64,
    /// The present bucket: its place in `fine`, the indices of its entries in order of time, and
    /// how many of them have been read.
    present: usize,
    order: Vec<u32>,
    read: usize,
    /// Inserted into the present bucket's window after it was closed.
    near: BinaryHeap<Reverse<Near<T>>>,
    inserted: u64,
    fine: Level<T>,
    coarse: Level<T>,
    /// Everything beyond the current window of 2^30 ticks, by window.
    beyond: BTreeMap<u64, Vec<Entry<T>>>,
}

#[derive(Debug)]
struct Entry<T> {
    at: u64,
    item: Option<T>,
}

/// An entry of the heap, ordered by time and insertion.
#[derive(Debug)]
struct Near<T> {
    at: u64,
    number: u64,
    item: T,
}

impl<T> PartialEq for Near<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl<T> Eq for Near<T> {}
impl<T> PartialOrd for Near<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Near<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

const BUCKET_BITS: u32 = 6;
const FINE_BITS: u32 = 18;
const COARSE_BITS: u32 = 30;

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Queue {
            now: 0,
            present: 0,
            order: Vec::new(),
            read: 0,
            near: BinaryHeap::new(),
            inserted: 0,
            fine: Level::new(BUCKET_BITS, FINE_BITS),
            coarse: Level::new(FINE_BITS, COARSE_BITS),
            beyond: BTreeMap::new(),
        }
    }

    /// Inserts an event. A time in the past means now.
    #[inline]
    pub(crate) fn push(&mut self, at: u64, item: T) {
        let differs = at ^ self.now;
        if at > self.now && differs >> BUCKET_BITS != 0 && differs >> FINE_BITS == 0 {
            self.fine.push(Entry { at, item: Some(item) });
        } else {
            self.push_unusual(at, item);
        }
    }

    /// Inserts what is very near or very far.
    #[inline(never)]
    fn push_unusual(&mut self, at: u64, item: T) {
        let at = at.max(self.now);
        let differs = at ^ self.now;
        if differs >> BUCKET_BITS == 0 {
            self.inserted += 1;
            self.near.push(Reverse(Near { at, number: self.inserted, item }));
        } else if differs >> COARSE_BITS == 0 {
            self.coarse.push(Entry { at, item: Some(item) });
        } else {
            let window = self.beyond.entry(at >> COARSE_BITS).or_default();
            window.push(Entry { at, item: Some(item) });
        }
    }

    /// Takes the first event. When a large bucket is opened, all its events are announced to
    /// `soon`, so that what they need can be fetched in one go.
    #[inline]
    pub(crate) fn pop(&mut self, soon: impl FnMut(&T)) -> Option<(u64, T)> {
        let at = self.peek(soon)?;
        self.now = at;
        if let Some(index) = self.order.get(self.read) {
            let entry = &mut self.fine.buckets[self.present][*index as usize];
            if entry.at == at {
                self.read += 1;
                return Some((at, entry.item.take()?));
            }
        }
        self.near.pop().map(|Reverse(near)| (at, near.item))
    }

    /// The time of the first event.
    #[inline]
    pub(crate) fn peek(&mut self, mut soon: impl FnMut(&T)) -> Option<u64> {
        loop {
            let first = self.order.get(self.read);
            let first = first.map(|index| self.fine.buckets[self.present][*index as usize].at);
            if self.near.is_empty() {
                match first {
                    Some(at) => return Some(at),
                    None => self.turn_wheel(&mut soon)?,
                }
            } else {
                let near = self.near.peek().map(|Reverse(near)| near.at);
                return first.into_iter().chain(near).min();
            }
        }
    }

    /// Opens the next bucket that has events. The present one has none left.
    fn turn_wheel(&mut self, soon: &mut impl FnMut(&T)) -> Option<()> {
        if !self.order.is_empty() {
            self.fine.close(self.present);
            self.order.clear();
            self.read = 0;
        }
        loop {
            if let Some(tick) = self.fine.next(self.now) {
                self.now = tick;
                self.present = self.fine.index(tick);
                self.fine.vacate(self.present);
                let entries = &self.fine.buckets[self.present];
                sort(entries, &mut self.order);
                if entries.len() > FEW {
                    entries.iter().flat_map(|entry| &entry.item).for_each(soon);
                }
                return Some(());
            }
            self.spread()?;
            if !self.near.is_empty() {
                return Some(());
            }
        }
    }

    /// Moves the next coarse bucket's events to the finer levels.
    fn spread(&mut self) -> Option<()> {
        let mut bucket = if let Some(tick) = self.coarse.next(self.now) {
            self.now = tick;
            let index = self.coarse.index(tick);
            self.coarse.vacate(index);
            std::mem::take(&mut self.coarse.buckets[index])
        } else {
            let (window, bucket) = self.beyond.pop_first()?;
            self.now = window << COARSE_BITS;
            bucket
        };
        for entry in bucket.drain(..) {
            if let Some(item) = entry.item {
                self.push(entry.at, item);
            }
        }
        self.coarse.spare.push(bucket);
        Some(())
    }
}

/// How many entries are few.
const FEW: usize = 16;

/// Lists the indices of a bucket's entries in order of time, the earlier inserted first.
#[inline]
fn sort<T>(entries: &[Entry<T>], order: &mut Vec<u32>) {
    if entries.len() > FEW {
        return sort_many(entries, order);
    }
    for (index, entry) in entries.iter().enumerate() {
        let later = |other: &&u32| entries[**other as usize].at > entry.at;
        let place = index - order.iter().rev().take_while(later).count();
        order.insert(place, index as u32);
    }
}

/// Sorts by counting: there are only 64 different ticks in a bucket.
fn sort_many<T>(entries: &[Entry<T>], order: &mut Vec<u32>) {
    const TICKS: usize = 1 << BUCKET_BITS;
    let tick = |entry: &Entry<T>| entry.at as usize % TICKS;
    let mut next = [0u32; TICKS];
    for entry in entries {
        next[tick(entry)] += 1;
    }
    let mut total = 0;
    for count in &mut next {
        total += std::mem::replace(count, total);
    }
    order.resize(entries.len(), 0);
    for (index, entry) in entries.iter().enumerate() {
        let slot = &mut next[tick(entry)];
        order[*slot as usize] = index as u32;
        *slot += 1;
    }
}

/// The buckets of one width within one window.
#[derive(Debug)]
struct Level<T> {
    /// Log2 of the ticks that a bucket covers.
    low: u32,
    /// Log2 of the ticks that the level covers.
    high: u32,
    buckets: Vec<Vec<Entry<T>>>,
    /// One bit per bucket that has events, and one bit per word of those bits.
    occupied: Vec<u64>,
    summary: u64,
    /// The memory of large buckets that have been read. Small ones keep theirs.
    spare: Vec<Vec<Entry<T>>>,
}

impl<T> Level<T> {
    fn new(low: u32, high: u32) -> Self {
        let buckets = 1usize << (high - low);
        let words = buckets.div_ceil(64);
        assert!(words <= 64, "one summary word covers 64 words");
        Level {
            low,
            high,
            buckets: (0..buckets).map(|_| Vec::new()).collect(),
            occupied: vec![0; words],
            summary: 0,
            spare: Vec::new(),
        }
    }

    #[inline]
    fn index(&self, at: u64) -> usize {
        ((at >> self.low) as usize) & (self.buckets.len() - 1)
    }

    #[inline]
    fn push(&mut self, entry: Entry<T>) {
        let index = self.index(entry.at);
        let (word, bit) = (index / 64, index % 64);
        if self.occupied[word] >> bit & 1 == 0 {
            self.occupied[word] |= 1 << bit;
            self.summary |= 1 << word;
            if self.buckets[index].capacity() == 0
                && let Some(bucket) = self.spare.pop()
            {
                self.buckets[index] = bucket;
            }
        }
        self.buckets[index].push(entry);
    }

    /// Marks a bucket as empty.
    #[inline]
    fn vacate(&mut self, index: usize) {
        let (word, bit) = (index / 64, index % 64);
        self.occupied[word] &= !(1 << bit);
        if self.occupied[word] == 0 {
            self.summary &= !(1 << word);
        }
    }

    /// Empties a bucket that has been read.
    #[inline]
    fn close(&mut self, index: usize) {
        let bucket = &mut self.buckets[index];
        bucket.clear();
        if bucket.capacity() > FEW {
            self.spare.push(std::mem::take(bucket));
        }
    }

    /// The first tick of the first bucket after `now`'s own that has events.
    #[inline]
    fn next(&self, now: u64) -> Option<u64> {
        let from = self.index(now) + 1;
        let (word, bit) = (from / 64, from % 64);
        let here = self.occupied.get(word).map_or(0, |bits| bits & (u64::MAX << bit));
        let index = if here != 0 {
            word * 64 + here.trailing_zeros() as usize
        } else {
            let later = self.summary & u64::MAX.checked_shl(word as u32 + 1).unwrap_or(0);
            if later == 0 {
                return None;
            }
            let word = later.trailing_zeros() as usize;
            word * 64 + self.occupied[word].trailing_zeros() as usize
        };
        Some((now >> self.high << self.high) + ((index as u64) << self.low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Draws;

    /// The plainest possible queue, to compare with.
    #[derive(Default)]
    struct Model {
        now: u64,
        next: u64,
        events: BTreeMap<(u64, u64), u64>,
    }

    impl Model {
        fn push(&mut self, at: u64, item: u64) {
            self.events.insert((at.max(self.now), self.next), item);
            self.next += 1;
        }
        fn pop(&mut self) -> Option<(u64, u64)> {
            let ((at, _), item) = self.events.pop_first()?;
            self.now = at;
            Some((at, item))
        }
    }

    #[test]
    fn behaves_like_a_sorted_map_over_all_ranges() {
        for seed in 0..200 {
            let mut draws = Draws::new(seed);
            let (mut queue, mut model) = (Queue::new(), Model::default());
            for item in 0..2_000 {
                let reach = [1, 70, 5_000, 1 << 19, 1 << 31, 1 << 40][draws.below(6) as usize];
                let at = model.now + draws.below(reach);
                queue.push(at, item);
                model.push(at, item);
                for _ in 0..draws.below(3) {
                    assert_eq!(queue.peek(|_| ()), model.events.keys().next().map(|key| key.0));
                    assert_eq!(queue.pop(|_| ()), model.pop());
                }
            }
            while let Some(expected) = model.pop() {
                assert_eq!(queue.pop(|_| ()), Some(expected));
            }
            assert_eq!(queue.pop(|_| ()), None);
        }
    }

    #[test]
    fn a_time_in_the_past_means_now() {
        let mut queue = Queue::new();
        queue.push(100, 'a');
        assert_eq!(queue.pop(|_| ()), Some((100, 'a')));
        queue.push(5, 'b');
        assert_eq!(queue.pop(|_| ()), Some((100, 'b')));
    }
}
