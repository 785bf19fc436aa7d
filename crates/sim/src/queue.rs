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
//! All buckets share one [store](Store).

mod store;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use store::{Bucket, Entry, Store};

/// Events by time, first in first out within a tick.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// Where the wheel stands: at the last event, or at the beginning of the present bucket.
    now: u64,
    /// The tick of the event that was taken last. Nothing can be inserted before it.
    taken: u64,
    store: Store<T>,
    /// The present bucket, its events in order of time, and how many of them have been read.
    present: Bucket,
    order: Vec<Entry>,
    read: usize,
    /// Room to sort in.
    scratch: Vec<Entry>,
    /// Inserted into the present bucket's window after it was closed.
    near: BinaryHeap<Reverse<Near<T>>>,
    inserted: u64,
    fine: Level<BUCKET_BITS, FINE_BITS>,
    coarse: Level<FINE_BITS, COARSE_BITS>,
    /// Everything beyond the current window of 2^30 ticks, by window.
    beyond: BTreeMap<u64, Vec<(u64, u32, T)>>,
    ahead: Ahead,
}

/// A reader that is some events ahead of time; see [`Queue::look_ahead`].
#[derive(Debug, Default)]
struct Ahead {
    /// The fine bucket that it is in.
    index: usize,
    /// How many of its events are left to announce, and where the next one of them is.
    left: u32,
    slot: u32,
    /// How many announced events have not been taken yet, roughly.
    lead: u32,
}

/// How many events are announced before they are taken. Many at once, because a processor waits for
/// the translation of an address before it goes on, but not before it translates the next ones.
const LEAST_AHEAD: u32 = 16;
const MOST_AHEAD: u32 = 48;

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
        Queue {
            now: 0,
            taken: 0,
            store: Store::with_room(events),
            present: Bucket::default(),
            order: Vec::new(),
            read: 0,
            scratch: Vec::new(),
            near: BinaryHeap::new(),
            inserted: 0,
            fine: Level::new(),
            coarse: Level::new(),
            beyond: BTreeMap::new(),
            ahead: Ahead::default(),
        }
    }

    /// Inserts an event that needs the process at this place. A time in the past means now.
    #[inline(always)]
    pub(crate) fn push(&mut self, at: u64, place: u32, item: T) {
        let differs = at ^ self.now;
        if at > self.now && differs >> BUCKET_BITS != 0 && differs >> FINE_BITS == 0 {
            self.store.append(self.fine.occupy(at), at, place, item);
        } else {
            self.push_unusual(at, place, item);
        }
    }

    /// Inserts what is very near or very far.
    #[inline(never)]
    fn push_unusual(&mut self, at: u64, place: u32, item: T) {
        // Looking at the next event turns the wheel to it, and what is inserted then may still come
        // before it.
        let at = at.max(self.taken);
        let differs = at.max(self.now) ^ self.now;
        if differs >> BUCKET_BITS == 0 {
            self.inserted += 1;
            self.near.push(Reverse(Near { at, number: self.inserted, item }));
        } else if differs >> COARSE_BITS == 0 {
            self.store.append(self.coarse.occupy(at), at, place, item);
        } else {
            self.beyond.entry(at >> COARSE_BITS).or_default().push((at, place, item));
        }
    }

    /// Takes the first event.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        if self.read == self.order.len() && self.near.is_empty() {
            // Often the next bucket holds a single event; then there is nothing to open.
            if let Some(single) = self.pop_single() {
                return Some(single);
            }
        }
        let at = self.peek()?;
        self.taken = at;
        self.now = self.now.max(at);
        match self.order.get(self.read) {
            Some(first) if first.at == at => {
                self.read += 1;
                Some((at, self.store.take(first.slot)?))
            }
            _ => self.near.pop().map(|Reverse(near)| (at, near.item)),
        }
    }

    /// Takes the only event of the next bucket, if it is the only one.
    #[inline(always)]
    fn pop_single(&mut self) -> Option<(u64, T)> {
        let index = self.fine.next(self.own_index())?;
        let bucket = &mut self.fine.buckets[index];
        if bucket.len != 1 {
            return None;
        }
        let bucket = std::mem::take(bucket);
        self.fine.vacate(index);
        self.close_present();
        self.store.release(bucket);
        let at = self.store.key(bucket.first()).at(self.now);
        self.now = at;
        self.taken = at;
        Some((at, self.store.take(bucket.first())?))
    }

    /// The time of the first event.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u64> {
        loop {
            let first = self.order.get(self.read).map(|entry| entry.at);
            if self.near.is_empty() {
                match first {
                    Some(at) => return Some(at),
                    None => self.turn_wheel()?,
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
        let beyond = self.beyond.values().flatten().map(|(.., item)| item);
        self.store.iter().chain(near).chain(beyond)
    }

    /// Announces events that are still to come, by the processes that they need, so that these can be
    /// fetched. To be called once for every event that is taken.
    #[inline]
    pub(crate) fn look_ahead(&mut self, mut soon: impl FnMut(u32)) {
        self.ahead.lead = self.ahead.lead.saturating_sub(1);
        if self.ahead.lead > LEAST_AHEAD {
            return;
        }
        while self.ahead.lead < MOST_AHEAD {
            let Ahead { index, left, slot, .. } = self.ahead;
            if left == 0 || index <= self.own_index() {
                let Some(index) = self.fine.next(index.max(self.own_index())) else { return };
                let bucket = self.fine.buckets[index];
                let (left, slot) = (bucket.len, bucket.first());
                self.ahead = Ahead { index, left, slot, ..self.ahead };
            } else {
                soon(self.store.key(slot).place);
                self.store.fetch(slot);
                let lead = self.ahead.lead + 1;
                self.ahead = Ahead { index, left: left - 1, slot: self.store.after(slot), lead };
            }
        }
    }

    /// Whether an event that is inserted now for this time is one that [`Queue::look_ahead`] misses.
    #[inline]
    pub(crate) fn is_passed(&self, at: u64) -> bool {
        Level::<BUCKET_BITS, FINE_BITS>::index(at) <= self.ahead.index
    }

    /// The fine bucket of now.
    #[inline]
    fn own_index(&self) -> usize {
        Level::<BUCKET_BITS, FINE_BITS>::index(self.now)
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
    fn turn_wheel(&mut self) -> Option<()> {
        self.close_present();
        loop {
            if let Some(index) = self.fine.next(self.own_index()) {
                self.now = self.fine.tick(self.now, index);
                self.present = self.fine.take(index);
                self.order.extend(self.store.entries(self.present, self.now));
                self.sort();
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
        self.ahead = Ahead::default();
        let Some(index) = self.coarse.next(Level::<FINE_BITS, COARSE_BITS>::index(self.now)) else {
            let (window, events) = self.beyond.pop_first()?;
            self.now = window << COARSE_BITS;
            for (at, place, item) in events {
                self.push(at, place, item);
            }
            return Some(());
        };
        self.now = self.coarse.tick(self.now, index);
        let bucket = self.coarse.take(index);
        let entries: Vec<Entry> = self.store.entries(bucket, self.now).collect();
        for Entry { at, slot } in entries {
            let place = self.store.key(slot).place;
            if let Some(item) = self.store.take(slot) {
                self.push(at, place, item);
            }
        }
        self.store.release(bucket);
        Some(())
    }

    /// Puts the present bucket's events in order of time; what was inserted earlier stays earlier.
    fn sort(&mut self) {
        if self.order.len() > FEW {
            sort_many(&self.order, &mut self.scratch);
            std::mem::swap(&mut self.order, &mut self.scratch);
        } else {
            self.order.sort_by_key(|entry| entry.at);
        }
    }
}

/// How many entries are few.
const FEW: usize = 16;
/// How many different ticks there are in a bucket.
const TICKS: usize = 1 << BUCKET_BITS;

/// Sorts stably by counting.
fn sort_many(order: &[Entry], sorted: &mut Vec<Entry>) {
    let tick = |entry: &Entry| entry.at as usize % TICKS;
    let mut next = [0u32; TICKS];
    for entry in order {
        next[tick(entry)] += 1;
    }
    let mut total = 0;
    for count in &mut next {
        total += std::mem::replace(count, total);
    }
    sorted.clear();
    sorted.resize(order.len(), Entry::default());
    for entry in order {
        let place = &mut next[tick(entry)];
        sorted[*place as usize] = *entry;
        *place += 1;
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
        let index = Self::index(at);
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

    /// The bucket of a tick.
    #[inline]
    fn index(at: u64) -> usize {
        (at >> LOW) as usize % Self::BUCKETS
    }

    /// The first bucket after this one that has events.
    #[inline]
    fn next(&self, own: usize) -> Option<usize> {
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
    use std::collections::BTreeSet;

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
                queue.push(at, 0, item);
                model.push(at, item);
                for _ in 0..draws.below(3) {
                    assert_eq!(queue.peek(), model.events.keys().next().map(|key| key.0));
                    assert_eq!(queue.pop(), model.pop());
                }
            }
            while let Some(expected) = model.pop() {
                assert_eq!(queue.pop(), Some(expected));
            }
            assert_eq!(queue.pop(), None);
        }
    }

    /// Each event needs a process of its own and is followed by another one, as on a ring.
    #[test]
    fn events_are_announced_or_known_to_be_missed() {
        for in_flight in [10, 300, 5_000, 50_000] {
            let mut draws = Draws::new(in_flight);
            let mut queue = Queue::with_room(in_flight as usize);
            let (mut missed, mut announced) = (BTreeSet::new(), BTreeSet::new());
            let mut early = 0;
            let mut push = |queue: &mut Queue<u32>, missed: &mut BTreeSet<u32>, now, place| {
                let at = now + draws.between(1_000, 100_000);
                if queue.is_passed(at) {
                    missed.insert(place);
                }
                queue.push(at, place, place);
            };
            for place in 0..in_flight as u32 {
                push(&mut queue, &mut missed, 0, place);
            }
            let events = 200_000;
            for next in in_flight as u32..events + in_flight as u32 {
                let (now, place) = queue.pop().unwrap();
                early += u32::from(announced.contains(&place) || missed.contains(&place));
                queue.look_ahead(|place| assert!(announced.insert(place), "announced twice"));
                assert!(queue.ahead.lead <= MOST_AHEAD);
                push(&mut queue, &mut missed, now, next);
            }
            assert!(early > events * 9 / 10, "{early} of {events} with {in_flight} in flight");
        }
    }

    #[test]
    fn an_event_can_be_inserted_before_one_that_was_looked_at() {
        for near in [1, 40, 5_000, 1 << 20, 1 << 32] {
            let mut queue = Queue::with_room(0);
            queue.push(near, 0, 'a');
            assert_eq!(queue.pop(), Some((near, 'a')));
            for (offset, item) in [(900_000, 'd'), (900_001, 'e')] {
                queue.push(near + offset, 0, item);
            }
            assert_eq!(queue.peek(), Some(near + 900_000));
            for (offset, item) in [(1_000, 'c'), (10, 'b')] {
                queue.push(near + offset, 0, item);
            }
            let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            let expected = [(10, 'b'), (1_000, 'c'), (900_000, 'd'), (900_001, 'e')];
            assert_eq!(rest, expected.map(|(offset, item)| (near + offset, item)));
        }
    }

    #[test]
    fn a_time_in_the_past_means_now() {
        let mut queue = Queue::with_room(0);
        queue.push(100, 0, 'a');
        assert_eq!(queue.pop(), Some((100, 'a')));
        queue.push(5, 0, 'b');
        assert_eq!(queue.pop(), Some((100, 'b')));
    }
}
