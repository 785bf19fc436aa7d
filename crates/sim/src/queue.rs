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
//!
//! All buckets share one store of small chunks, so that nothing is allocated once the store has
//! grown to the largest number of events, and so that what is written together lies together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Events by time, first in first out within a tick.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// Where the wheel stands: at the last event, or at the beginning of the present bucket.
    now: u64,
    /// The tick of the event that was taken last. Nothing can be inserted before it.
    taken: u64,
    store: Store<T>,
    /// The present bucket, its slots in order of time, and how many of them have been read.
    present: Bucket,
    order: Vec<u32>,
    read: usize,
    /// Room to sort in.
    scratch: Vec<u32>,
    /// Inserted into the present bucket's window after it was closed.
    near: BinaryHeap<Reverse<Near<T>>>,
    inserted: u64,
    fine: Level<BUCKET_BITS, FINE_BITS>,
    coarse: Level<FINE_BITS, COARSE_BITS>,
    /// Everything beyond the current window of 2^30 ticks, by window.
    beyond: BTreeMap<u64, Vec<(u64, T)>>,
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
    /// An empty queue with room for about this many events.
    pub(crate) fn with_room(events: usize) -> Self {
        let mut store = Store { slots: Vec::new(), next: Vec::new(), free: Vec::new() };
        // Hardly any chunk is full when events are few.
        for _ in 0..events / CHUNK + events.min(4_096) {
            let chunk = store.grow();
            store.free.push(chunk);
        }
        Queue {
            now: 0,
            taken: 0,
            store,
            present: Bucket::default(),
            order: Vec::new(),
            read: 0,
            scratch: Vec::new(),
            near: BinaryHeap::new(),
            inserted: 0,
            fine: Level::new(),
            coarse: Level::new(),
            beyond: BTreeMap::new(),
        }
    }

    /// Inserts an event. A time in the past means now.
    #[inline(always)]
    pub(crate) fn push(&mut self, at: u64, item: T) {
        let differs = at ^ self.now;
        if at > self.now && differs >> BUCKET_BITS != 0 && differs >> FINE_BITS == 0 {
            self.store.append(self.fine.occupy(at), at, item);
        } else {
            self.push_unusual(at, item);
        }
    }

    /// Inserts what is very near or very far.
    #[inline(never)]
    fn push_unusual(&mut self, at: u64, item: T) {
        // Looking at the next event turns the wheel to it, and what is inserted then may still come
        // before it.
        let at = at.max(self.taken);
        let differs = at.max(self.now) ^ self.now;
        if differs >> BUCKET_BITS == 0 {
            self.inserted += 1;
            self.near.push(Reverse(Near { at, number: self.inserted, item }));
        } else if differs >> COARSE_BITS == 0 {
            self.store.append(self.coarse.occupy(at), at, item);
        } else {
            self.beyond.entry(at >> COARSE_BITS).or_default().push((at, item));
        }
    }

    /// Takes the first event. When a large bucket is opened, all its events are announced to
    /// `soon`, so that what they need can be fetched in one go.
    #[inline(always)]
    pub(crate) fn pop(&mut self, soon: impl FnMut(&T)) -> Option<(u64, T)> {
        if self.read == self.order.len() && self.near.is_empty() {
            // Often the next bucket holds a single event; then there is nothing to open.
            if let Some(single) = self.pop_single() {
                return Some(single);
            }
        }
        let at = self.peek(soon)?;
        self.taken = at;
        self.now = self.now.max(at);
        if let Some(slot) = self.order.get(self.read) {
            let slot = &mut self.store.slots[*slot as usize];
            if slot.at == at {
                self.read += 1;
                return Some((at, slot.item.take()?));
            }
        }
        self.near.pop().map(|Reverse(near)| (at, near.item))
    }

    /// Takes the only event of the next bucket, if it is the only one.
    #[inline(always)]
    fn pop_single(&mut self) -> Option<(u64, T)> {
        let index = self.fine.next(self.now)?;
        let bucket = &mut self.fine.buckets[index];
        if bucket.len != 1 {
            return None;
        }
        bucket.len = 0;
        let chunk = bucket.first;
        self.fine.vacate(index);
        self.close_present();
        self.store.free.push(chunk);
        let slot = &mut self.store.slots[chunk as usize * CHUNK];
        self.now = slot.at;
        self.taken = slot.at;
        Some((slot.at, slot.item.take()?))
    }

    /// The time of the first event.
    #[inline]
    pub(crate) fn peek(&mut self, mut soon: impl FnMut(&T)) -> Option<u64> {
        loop {
            let first = self.order.get(self.read);
            let first = first.map(|slot| self.store.slots[*slot as usize].at);
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

    /// All events that are still to come, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let near = self.near.iter().map(|Reverse(near)| &near.item);
        let beyond = self.beyond.values().flatten().map(|(_, item)| item);
        self.store.slots.iter().filter_map(|slot| slot.item.as_ref()).chain(near).chain(beyond)
    }

    /// Announces an event that will come next, or very nearly so.
    #[inline]
    pub(crate) fn with_next(&self, soon: impl FnMut(&T)) {
        let slot = match self.order.get(self.read) {
            Some(slot) => Some(*slot as usize),
            None => {
                let index = self.fine.next(self.now);
                index.map(|index| self.fine.buckets[index].first as usize * CHUNK)
            }
        };
        let item = slot.and_then(|slot| self.store.slots[slot].item.as_ref());
        item.into_iter().for_each(soon);
    }

    /// Gives the present bucket, all of which has been read, back to the store.
    #[inline]
    fn close_present(&mut self) {
        if !self.order.is_empty() {
            self.store.release(self.present);
            self.order.clear();
            self.read = 0;
        }
    }

    /// Opens the next bucket that has events. The present one has none left.
    fn turn_wheel(&mut self, soon: &mut impl FnMut(&T)) -> Option<()> {
        self.close_present();
        loop {
            if let Some(index) = self.fine.next(self.now) {
                self.now = self.fine.tick(self.now, index);
                self.present = self.fine.take(index);
                self.order.extend(self.store.slots_of(self.present));
                self.sort();
                if self.order.len() > FEW {
                    let items = self.order.iter();
                    items.flat_map(|slot| &self.store.slots[*slot as usize].item).for_each(soon);
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
        let Some(index) = self.coarse.next(self.now) else {
            let (window, events) = self.beyond.pop_first()?;
            self.now = window << COARSE_BITS;
            for (at, item) in events {
                self.push(at, item);
            }
            return Some(());
        };
        self.now = self.coarse.tick(self.now, index);
        let bucket = self.coarse.take(index);
        let slots: Vec<u32> = self.store.slots_of(bucket).collect();
        for slot in slots {
            let slot = &mut self.store.slots[slot as usize];
            let at = slot.at;
            if let Some(item) = slot.item.take() {
                self.push(at, item);
            }
        }
        self.store.release(bucket);
        Some(())
    }

    /// Puts the present bucket's slots in order of time; what was inserted earlier stays earlier.
    fn sort(&mut self) {
        let slots = &self.store.slots;
        let at = |slot: u32| slots[slot as usize].at;
        if self.order.len() > FEW {
            sort_many(&self.order, &mut self.scratch, |slot| at(slot) as usize % TICKS);
            return std::mem::swap(&mut self.order, &mut self.scratch);
        }
        for end in 1..self.order.len() {
            let mut place = end;
            while place > 0 && at(self.order[place - 1]) > at(self.order[place]) {
                self.order.swap(place - 1, place);
                place -= 1;
            }
        }
    }
}

/// How many entries are few.
const FEW: usize = 16;
/// How many different ticks there are in a bucket.
const TICKS: usize = 1 << BUCKET_BITS;

/// Sorts stably by counting.
fn sort_many(order: &[u32], sorted: &mut Vec<u32>, tick: impl Fn(u32) -> usize) {
    let mut next = [0u32; TICKS];
    for slot in order {
        next[tick(*slot)] += 1;
    }
    let mut total = 0;
    for count in &mut next {
        total += std::mem::replace(count, total);
    }
    sorted.clear();
    sorted.resize(order.len(), 0);
    for slot in order {
        let place = &mut next[tick(*slot)];
        sorted[*place as usize] = *slot;
        *place += 1;
    }
}

/// A list of events: a chain of chunks, all of them full but the last.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    first: u32,
    last: u32,
    len: u32,
}

/// Where all events are kept.
#[derive(Debug)]
struct Store<T> {
    /// Chunk i is `slots[i * CHUNK..][..CHUNK]`.
    slots: Vec<Slot<T>>,
    /// The chunk after each chunk in its bucket.
    next: Vec<u32>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    at: u64,
    item: Option<T>,
}

/// Slots in a chunk.
const CHUNK: usize = 8;

impl<T> Store<T> {
    #[inline(always)]
    fn append(&mut self, bucket: &mut Bucket, at: u64, item: T) {
        let offset = bucket.len as usize % CHUNK;
        if offset == 0 {
            let chunk = self.free.pop().unwrap_or_else(|| self.grow());
            if bucket.len == 0 {
                bucket.first = chunk;
            } else {
                self.next[bucket.last as usize] = chunk;
            }
            bucket.last = chunk;
        }
        bucket.len += 1;
        self.slots[bucket.last as usize * CHUNK + offset] = Slot { at, item: Some(item) };
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let chunk = self.next.len() as u32;
        self.next.push(0);
        self.slots.extend((0..CHUNK).map(|_| Slot { at: 0, item: None }));
        chunk
    }

    /// The slots of a bucket in order of insertion.
    fn slots_of(&self, bucket: Bucket) -> impl Iterator<Item = u32> + '_ {
        let mut chunk = bucket.first;
        (0..bucket.len).map(move |index| {
            let offset = index as usize % CHUNK;
            if offset == 0 && index > 0 {
                chunk = self.next[chunk as usize];
            }
            (chunk as usize * CHUNK + offset) as u32
        })
    }

    /// Takes back the chunks of a bucket whose events have all been taken.
    fn release(&mut self, bucket: Bucket) {
        let mut chunk = bucket.first;
        for _ in 0..(bucket.len as usize).div_ceil(CHUNK) {
            self.free.push(chunk);
            chunk = self.next[chunk as usize];
        }
    }
}

/// The buckets of one width within one window: `LOW` is log2 of the ticks that a bucket covers,
/// `HIGH` of those that the level covers.
#[derive(Debug)]
struct Level<const LOW: u32, const HIGH: u32> {
    buckets: Vec<Bucket>,
    /// One bit per bucket that has events, and one bit per word of those bits.
    occupied: [u64; 64],
    summary: u64,
}

impl<const LOW: u32, const HIGH: u32> Level<LOW, HIGH> {
    const BUCKETS: usize = 1 << (HIGH - LOW);

    fn new() -> Self {
        assert!(Self::BUCKETS == 64 * 64, "one summary word covers 64 words");
        Level { buckets: vec![Bucket::default(); Self::BUCKETS], occupied: [0; 64], summary: 0 }
    }

    /// The bucket of a tick, which is about to get an event.
    #[inline]
    fn occupy(&mut self, at: u64) -> &mut Bucket {
        let index = (at >> LOW) as usize % Self::BUCKETS;
        self.occupied[index / 64] |= 1 << (index % 64);
        self.summary |= 1 << (index / 64);
        &mut self.buckets[index]
    }

    /// Marks a bucket as empty.
    #[inline]
    fn vacate(&mut self, index: usize) {
        let word = &mut self.occupied[index / 64];
        *word &= !(1 << (index % 64));
        if *word == 0 {
            self.summary &= !(1 << (index / 64));
        }
    }

    fn take(&mut self, index: usize) -> Bucket {
        self.vacate(index);
        std::mem::take(&mut self.buckets[index])
    }

    /// The first bucket after `now`'s own that has events.
    #[inline]
    fn next(&self, now: u64) -> Option<usize> {
        let own = (now >> LOW) as usize % Self::BUCKETS;
        let word = own / 64;
        // Twice, because shifting by 64 is not allowed.
        let here = self.occupied[word] & (u64::MAX << (own % 64) << 1);
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        let later = self.summary & (u64::MAX << word << 1);
        if later == 0 {
            return None;
        }
        let word = later.trailing_zeros() as usize;
        Some(word * 64 + self.occupied[word % 64].trailing_zeros() as usize)
    }

    /// The first tick of a bucket, in the window of `now`.
    fn tick(&self, now: u64, index: usize) -> u64 {
        (now >> HIGH << HIGH) + ((index as u64) << LOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_core::Draws;

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
            let (mut queue, mut model) = (Queue::with_room(100), Model::default());
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
    fn an_event_can_be_inserted_before_one_that_was_looked_at() {
        for near in [1, 40, 5_000, 1 << 20, 1 << 32] {
            let mut queue = Queue::with_room(0);
            queue.push(near, 'a');
            assert_eq!(queue.pop(|_| ()), Some((near, 'a')));
            for (offset, item) in [(900_000, 'd'), (900_001, 'e')] {
                queue.push(near + offset, item);
            }
            assert_eq!(queue.peek(|_| ()), Some(near + 900_000));
            for (offset, item) in [(1_000, 'c'), (10, 'b')] {
                queue.push(near + offset, item);
            }
            let rest: Vec<_> = std::iter::from_fn(|| queue.pop(|_| ())).collect();
            let expected = [(10, 'b'), (1_000, 'c'), (900_000, 'd'), (900_001, 'e')];
            assert_eq!(rest, expected.map(|(offset, item)| (near + offset, item)));
        }
    }

    #[test]
    fn a_time_in_the_past_means_now() {
        let mut queue = Queue::with_room(0);
        queue.push(100, 'a');
        assert_eq!(queue.pop(|_| ()), Some((100, 'a')));
        queue.push(5, 'b');
        assert_eq!(queue.pop(|_| ()), Some((100, 'b')));
    }
}
