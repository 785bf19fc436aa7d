//! The event queue: a hierarchical timing wheel.
//!
//! A heap of a million pending messages misses the cache at every level of every operation. Here
//! an event is appended to the bucket of its time and later read in order, so the cost does not
//! grow with the number of events. Three levels of buckets cover one tick (1 us), 64 ticks and
//! 2^18 ticks (0.26 s) each; what lies further off waits in an ordered map. When time enters a
//! bucket of a coarser level, its events are spread over the next finer one.
//!
//! Order is by time, and by insertion within a tick: a bucket is only ever appended to, and is
//! spread before anything can be inserted directly into the finer level that it covers.

use std::collections::BTreeMap;

/// Events by time, first in first out within a tick.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// The tick of the event that was taken last; nothing can be inserted before it.
    now: u64,
    len: usize,
    /// Ticks of the current window of 64. The bucket of `now` is being read from `read`.
    fine: Level<T>,
    read: usize,
    /// Windows of 64 ticks in the current window of 2^18.
    medium: Level<T>,
    /// Windows of 2^18 ticks in the current window of 2^30.
    coarse: Level<T>,
    /// Everything beyond the current window of 2^30 ticks, by window.
    beyond: BTreeMap<u64, Vec<Entry<T>>>,
    /// Empty buckets that keep their memory for the next use.
    spare: Vec<Vec<Entry<T>>>,
}

#[derive(Debug)]
struct Entry<T> {
    at: u64,
    item: Option<T>,
}

const FINE_BITS: u32 = 6;
const MEDIUM_BITS: u32 = 18;
const COARSE_BITS: u32 = 30;

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Queue {
            now: 0,
            len: 0,
            fine: Level::new(0, FINE_BITS),
            read: 0,
            medium: Level::new(FINE_BITS, MEDIUM_BITS),
            coarse: Level::new(MEDIUM_BITS, COARSE_BITS),
            beyond: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Inserts an event. A time in the past means now.
    #[inline]
    pub(crate) fn push(&mut self, at: u64, item: T) {
        let at = at.max(self.now);
        self.len += 1;
        let entry = Entry { at, item: Some(item) };
        let differs = at ^ self.now;
        if differs >> FINE_BITS == 0 {
            self.fine.push(entry, &mut self.spare);
        } else if differs >> MEDIUM_BITS == 0 {
            self.medium.push(entry, &mut self.spare);
        } else if differs >> COARSE_BITS == 0 {
            self.coarse.push(entry, &mut self.spare);
        } else {
            self.beyond.entry(at >> COARSE_BITS).or_default().push(entry);
        }
    }

    /// Takes the first event, and moves on to its time.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        loop {
            if let Some(bucket) = self.fine.bucket(self.now) {
                if let Some(entry) = bucket.get_mut(self.read) {
                    self.read += 1;
                    self.len -= 1;
                    let item = entry.item.take()?;
                    return Some((entry.at, item));
                }
                let bucket = self.fine.take(self.now);
                self.recycle(bucket);
                self.read = 0;
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// The time of the first event.
    pub(crate) fn peek(&mut self) -> Option<u64> {
        loop {
            if let Some(bucket) = self.fine.bucket(self.now) {
                if let Some(entry) = bucket.get(self.read) {
                    return Some(entry.at);
                }
                let bucket = self.fine.take(self.now);
                self.recycle(bucket);
                self.read = 0;
            }
            if !self.advance() {
                return None;
            }
        }
    }

    /// Moves `now` to the next tick that has events, spreading coarser buckets on the way.
    /// The bucket of `now` is empty when this is called.
    fn advance(&mut self) -> bool {
        if let Some(tick) = self.fine.next(self.now) {
            self.now = tick;
            return true;
        }
        if let Some(tick) = self.medium.next(self.now) {
            self.now = tick;
            let bucket = self.medium.take(tick);
            self.spread(bucket);
            return true;
        }
        if let Some(tick) = self.coarse.next(self.now) {
            self.now = tick;
            let bucket = self.coarse.take(tick);
            self.spread(bucket);
            return true;
        }
        let Some((window, bucket)) = self.beyond.pop_first() else { return false };
        self.now = window << COARSE_BITS;
        self.spread(bucket);
        true
    }

    fn spread(&mut self, mut bucket: Vec<Entry<T>>) {
        self.len -= bucket.len();
        for entry in bucket.drain(..) {
            if let Some(item) = entry.item {
                self.push(entry.at, item);
            }
        }
        self.recycle(bucket);
    }

    fn recycle(&mut self, mut bucket: Vec<Entry<T>>) {
        bucket.clear();
        self.spare.push(bucket);
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
        }
    }

    #[inline]
    fn index(&self, at: u64) -> usize {
        ((at >> self.low) as usize) & (self.buckets.len() - 1)
    }

    #[inline]
    fn push(&mut self, entry: Entry<T>, spare: &mut Vec<Vec<Entry<T>>>) {
        let index = self.index(entry.at);
        let (word, bit) = (index / 64, index % 64);
        if self.occupied[word] >> bit & 1 == 0 {
            self.occupied[word] |= 1 << bit;
            self.summary |= 1 << word;
            if let Some(bucket) = spare.pop() {
                self.buckets[index] = bucket;
            }
        }
        self.buckets[index].push(entry);
    }

    #[inline]
    fn bucket(&mut self, at: u64) -> Option<&mut Vec<Entry<T>>> {
        let index = self.index(at);
        (self.occupied[index / 64] >> (index % 64) & 1 == 1).then(|| &mut self.buckets[index])
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
                    assert_eq!(queue.peek(), model.events.keys().next().map(|key| key.0));
                    assert_eq!(queue.pop(), model.pop());
                }
                assert_eq!(queue.len(), model.events.len());
            }
            while let Some(expected) = model.pop() {
                assert_eq!(queue.pop(), Some(expected));
            }
            assert_eq!(queue.pop(), None);
        }
    }

    #[test]
    fn a_time_in_the_past_means_now() {
        let mut queue = Queue::new();
        queue.push(100, 'a');
        assert_eq!(queue.pop(), Some((100, 'a')));
        queue.push(5, 'b');
        assert_eq!(queue.pop(), Some((100, 'b')));
    }
}
