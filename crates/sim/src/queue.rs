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
    len: usize,
    present: Present<T>,
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

/// The bucket that is being read.
#[derive(Debug)]
struct Present<T> {
    entries: Vec<Entry<T>>,
    /// The entries' indices in order of time.
    order: Vec<u32>,
    /// How many have been read.
    read: usize,
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
            len: 0,
            present: Present { entries: Vec::new(), order: Vec::new(), read: 0 },
            near: BinaryHeap::new(),
            inserted: 0,
            fine: Level::new(BUCKET_BITS, FINE_BITS),
            coarse: Level::new(FINE_BITS, COARSE_BITS),
            beyond: BTreeMap::new(),
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.len
    }

    /// Inserts an event. A time in the past means now.
    #[inline]
    pub(crate) fn push(&mut self, at: u64, item: T) {
        self.len += 1;
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

    /// Takes the first event. When a bucket is opened, all its events are announced to `soon`, so
    /// that what they need can be fetched in one go.
    #[inline]
    pub(crate) fn pop(&mut self, soon: impl FnMut(&T)) -> Option<(u64, T)> {
        let at = self.peek(soon)?;
        self.now = at;
        self.len -= 1;
        if let Some(entry) = self.present.first()
            && entry.at == at
        {
            self.present.read += 1;
            let index = self.present.order[self.present.read - 1] as usize;
            return Some((at, self.present.entries[index].item.take()?));
        }
        self.near.pop().map(|Reverse(near)| (at, near.item))
    }

    /// The time of the first event.
    #[inline]
    pub(crate) fn peek(&mut self, mut soon: impl FnMut(&T)) -> Option<u64> {
        loop {
            let first = self.present.first().map(|entry| entry.at);
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
        loop {
            if let Some(tick) = self.fine.next(self.now) {
                self.now = tick;
                let mut read = std::mem::replace(&mut self.present.entries, self.fine.take(tick));
                read.clear();
                self.fine.spare.push(read);
                self.present.open();
                for entry in &self.present.entries {
                    entry.item.iter().for_each(&mut *soon);
                }
                return Some(());
            }
            let bucket = if let Some(tick) = self.coarse.next(self.now) {
                self.now = tick;
                self.coarse.take(tick)
            } else {
                let (window, bucket) = self.beyond.pop_first()?;
                self.now = window << COARSE_BITS;
                bucket
            };
            self.spread(bucket);
            if !self.near.is_empty() {
                return Some(());
            }
        }
    }

    /// Moves a coarse bucket's events to the finer levels.
    fn spread(&mut self, mut bucket: Vec<Entry<T>>) {
        self.len -= bucket.len();
        for entry in bucket.drain(..) {
            if let Some(item) = entry.item {
                self.push(entry.at, item);
            }
        }
        self.coarse.spare.push(bucket);
    }
}

impl<T> Present<T> {
    #[inline]
    fn first(&self) -> Option<&Entry<T>> {
        self.order.get(self.read).map(|index| &self.entries[*index as usize])
    }

    /// Begins to read the bucket.
    fn open(&mut self) {
        self.read = 0;
        self.order.clear();
        if self.entries.len() <= 24 {
            self.sort_few();
        } else {
            self.sort_many();
        }
    }

    /// By insertion.
    fn sort_few(&mut self) {
        for (index, entry) in self.entries.iter().enumerate() {
            let later = |other: &&u32| self.entries[**other as usize].at > entry.at;
            let place = index - self.order.iter().rev().take_while(later).count();
            self.order.insert(place, index as u32);
        }
    }

    /// By counting: there are only 64 different ticks in a bucket.
    fn sort_many(&mut self) {
        const TICKS: usize = 1 << BUCKET_BITS;
        let tick = |entry: &Entry<T>| entry.at as usize % TICKS;
        let mut next = [0u32; TICKS];
        for entry in &self.entries {
            next[tick(entry)] += 1;
        }
        let mut total = 0;
        for count in &mut next {
            total += std::mem::replace(count, total);
        }
        self.order.resize(self.entries.len(), 0);
        for (index, entry) in self.entries.iter().enumerate() {
            let slot = &mut next[tick(entry)];
            self.order[*slot as usize] = index as u32;
            *slot += 1;
        }
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
    /// Empty buckets that keep their memory for the next use.
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
            if let Some(bucket) = self.spare.pop() {
                self.buckets[index] = bucket;
            }
        }
        self.buckets[index].push(entry);
    }

    fn take(&mut self, at: u64) -> Vec<Entry<T>> {
        let index = self.index(at);
        let (word, bit) = (index / 64, index % 64);
        self.occupied[word] &= !(1 << bit);
        if self.occupied[word] == 0 {
            self.summary &= !(1 << word);
        }
        std::mem::take(&mut self.buckets[index])
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
                assert_eq!(queue.len(), model.events.len());
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
