//! Where the queue keeps its events: chains of small chunks in one store.
//!
//! Nothing is allocated once the store has grown to the largest number of events, and what is written
//! together lies together. What says when an event comes and which process it needs is kept apart from
//! the event: eight of these keys are one cache line, so a bucket can be sorted, and looked at ahead of
//! its time, without its events.

use crate::prefetch::{prefetch, roomy};

/// A list of events: a chain of chunks, all of them full but the last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    first: u32,
    last: u32,
    pub(super) len: u32,
}

impl Bucket {
    /// The slot of its first event.
    #[inline]
    pub(super) fn first(self) -> u32 {
        self.first * CHUNK as u32
    }
}

/// Where all events are kept.
#[derive(Debug)]
pub(super) struct Store<T> {
    /// The keys of chunk i.
    keys: Vec<Keys>,
    /// Chunk i is `items[i * CHUNK..][..CHUNK]`.
    items: Vec<Option<T>>,
    /// The chunk after each chunk in its bucket, or among those that are free.
    next: Vec<u32>,
    /// The first free chunk.
    free: u32,
}

/// Chunk 0 is never used.
const NO_CHUNK: u32 = 0;

/// What is known of an event without looking at it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Key {
    /// The lower half of its time: buckets are within 2^30 ticks of now.
    at: u32,
    /// The place of the process that it needs.
    pub(super) place: u32,
}

/// One cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Keys([Key; CHUNK]);

/// When an event comes, and its slot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    pub(super) at: u64,
    pub(super) slot: u32,
}

/// Slots in a chunk.
const CHUNK: usize = 8;

impl Key {
    /// Its time, told from now.
    #[inline]
    pub(super) fn at(self, now: u64) -> u64 {
        now >> 32 << 32 | u64::from(self.at)
    }
}

impl<T> Store<T> {
    /// A store with room for about this many events.
    pub(super) fn with_room(events: usize) -> Self {
        // Hardly any chunk is full when events are few.
        let chunks = events / CHUNK + events.min(4_096);
        let mut store = Store {
            keys: roomy(chunks),
            items: roomy(chunks * CHUNK),
            next: Vec::with_capacity(chunks),
            free: NO_CHUNK,
        };
        store.grow();
        store.free = NO_CHUNK;
        for _ in 1..chunks {
            store.grow();
        }
        store
    }

    /// Adds an event to a bucket.
    #[inline(always)]
    pub(super) fn append(&mut self, bucket: &mut Bucket, at: u64, place: u32, item: T) {
        let offset = bucket.len as usize % CHUNK;
        if offset == 0 {
            if self.free == NO_CHUNK {
                self.grow();
            }
            let chunk = self.free;
            self.free = self.next[chunk as usize];
            if bucket.len == 0 {
                bucket.first = chunk;
            } else {
                self.next[bucket.last as usize] = chunk;
            }
            bucket.last = chunk;
        }
        bucket.len += 1;
        self.keys[bucket.last as usize].0[offset] = Key { at: at as u32, place };
        // The slot is vacant. An assignment would look whether there is something to drop, and wait for
        // memory that only has to be written.
        let slot = &mut self.items[bucket.last as usize * CHUNK + offset];
        std::mem::forget(slot.replace(item));
    }

    /// Adds a free chunk.
    #[cold]
    fn grow(&mut self) {
        let chunk = self.next.len() as u32;
        self.next.push(self.free);
        self.keys.push(Keys::default());
        self.items.extend((0..CHUNK).map(|_| None));
        self.free = chunk;
    }

    /// Takes the event out of a slot.
    #[inline(always)]
    pub(super) fn take(&mut self, slot: u32) -> Option<T> {
        self.items[slot as usize].take()
    }

    #[inline]
    pub(super) fn key(&self, slot: u32) -> Key {
        self.keys[slot as usize / CHUNK].0[slot as usize % CHUNK]
    }

    /// Has an event fetched that will be taken soon.
    #[inline]
    pub(super) fn fetch(&self, slot: u32) {
        prefetch(&self.items[slot as usize]);
    }

    /// The slot after this one, if its bucket goes on. The keys after its chunk are fetched.
    #[inline]
    pub(super) fn after(&self, slot: u32) -> u32 {
        let next = slot + 1;
        if !next.is_multiple_of(CHUNK as u32) {
            return next;
        }
        let chunk = self.next[slot as usize / CHUNK];
        prefetch(&self.keys[self.next[chunk as usize] as usize]);
        chunk * CHUNK as u32
    }

    /// The events of a bucket in order of insertion.
    pub(super) fn entries(&self, bucket: Bucket, now: u64) -> impl Iterator<Item = Entry> + '_ {
        let mut chunk = bucket.first;
        (0..bucket.len).map(move |index| {
            let offset = index as usize % CHUNK;
            if offset == 0 && index > 0 {
                chunk = self.next[chunk as usize];
            }
            let slot = (chunk as usize * CHUNK + offset) as u32;
            Entry { at: self.key(slot).at(now), slot }
        })
    }

    /// Takes back the chunks of a bucket, all of whose events have been taken.
    #[inline]
    pub(super) fn release(&mut self, bucket: Bucket) {
        self.next[bucket.last as usize] = self.free;
        self.free = bucket.first;
    }

    /// All events, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_chunk_are_one_cache_line() {
        assert_eq!(size_of::<Keys>(), 64);
    }
}
