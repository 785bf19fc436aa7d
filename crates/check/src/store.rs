//! The states that were seen: exactly, and in a few bytes each.
//!
//! A state is kept as the numbers of its parts, each in as many bytes as it needs: some twenty for
//! a small cluster. Nothing is guessed from a hash, so a proof is a proof. Beside it stand the state
//! that it was first reached from, and its place in a [table](crate::seen) that finds it again.

use crate::seen::Seen;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::hint::black_box;

/// The number of a state.
pub(crate) type StateId = u32;

/// States are spread over this many shards by what they contain, so that threads can add to different
/// ones. It is the same for any number of threads, and so is the order in which states are found.
pub(crate) const SHARDS: usize = 16;

const CHUNK_BITS: u32 = 18;
const CHUNK: usize = 1 << CHUNK_BITS;

/// A part of the states.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    seen: Seen,
    chunks: Vec<Vec<u8>>,
    /// Where each state begins.
    starts: Vec<u32>,
    /// From which state each was first reached.
    parents: Vec<StateId>,
    /// What need not be done in each, because it was done elsewhere; see [`crate::sleep`]. Empty if
    /// everything is done everywhere.
    asleep: Vec<u64>,
    /// States that were left with something asleep that turned out to be needed, and what.
    woken: Vec<(u32, u64)>,
}

/// A successor that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
    /// From which state.
    pub(crate) parent: StateId,
    /// What need not be done in it.
    pub(crate) asleep: u64,
}

/// The number of states that are looked up at once.
pub(crate) const GROUP: usize = 16;

/// The number of the state at this index of a shard.
pub(crate) fn state_id(shard: usize, index: usize) -> StateId {
    (index * SHARDS + shard) as StateId
}

/// In which shard a state is, and where.
pub(crate) fn place_of(id: StateId) -> (usize, usize) {
    (id as usize % SHARDS, id as usize / SHARDS)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    // The table uses the upper bits for the place and the lower ones to tell states apart.
    let hash = hasher.finish().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash ^ hash >> 29
}

impl Shard {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The bytes of a state: its length, then as many.
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        get(&self.chunks, self.starts[index])
    }

    /// From which state it was first reached; itself for the first of all.
    pub(crate) fn parent(&self, index: usize) -> StateId {
        self.parents[index]
    }

    /// Looks up some states, adds those that are new, and says the index of each. States from
    /// `fresh` on have not been looked at by anybody yet.
    ///
    /// First it only touches the memory that it will need, for all of them: so the processor waits
    /// for all at the same time.
    pub(crate) fn insert_all(
        &mut self,
        group: &[Found<'_>],
        fresh: usize,
        reduce: bool,
    ) -> [u32; GROUP] {
        let mut hashes = [0; GROUP];
        let mut peeked = [None; GROUP];
        for (at, found) in group.iter().enumerate() {
            hashes[at] = hash(found.bytes);
            peeked[at] = self.seen.peek(self.seen.home(hashes[at]));
        }
        let mut starts = [0; GROUP];
        for (at, index) in peeked.iter().enumerate() {
            starts[at] = index.map_or(0, |index| self.starts[index as usize]);
        }
        for start in &starts[..group.len()] {
            let chunk = self.chunks.get((start >> CHUNK_BITS) as usize);
            black_box(chunk.and_then(|chunk| chunk.get(*start as usize & (CHUNK - 1))));
        }
        let mut indices = [0; GROUP];
        for (at, found) in group.iter().enumerate() {
            let (index, new) = self.insert(hashes[at], found);
            indices[at] = index;
            match reduce {
                true if new => self.asleep.push(found.asleep),
                true => self.wake(index, found.asleep, fresh),
                false => {}
            }
        }
        indices
    }

    /// Adds the first state of all.
    pub(crate) fn insert_first(&mut self, bytes: &[u8], id: StateId, reduce: bool) {
        self.insert_all(&[Found { bytes, parent: id, asleep: 0 }], 0, reduce);
    }

    /// The index of a state, and whether it is new.
    fn insert(&mut self, key: u64, found: &Found<'_>) -> (u32, bool) {
        let Shard { seen, chunks, starts, parents, .. } = self;
        let bytes = found.bytes;
        if let Some(index) = seen.find(key, |index| get(chunks, starts[index as usize]) == bytes) {
            return (index, false);
        }
        let index = starts.len() as u32;
        let fits = |chunk: &&mut Vec<u8>| chunk.len() + bytes.len() + 5 <= CHUNK;
        if chunks.last_mut().filter(fits).is_none() {
            chunks.push(Vec::with_capacity(CHUNK));
        }
        let number = chunks.len() - 1;
        let chunk = &mut chunks[number];
        starts.push((number << CHUNK_BITS | chunk.len()) as u32);
        write(bytes.len() as u32, chunk);
        chunk.extend_from_slice(bytes);
        parents.push(found.parent);
        seen.insert(key, index, |index| hash(get(chunks, starts[index as usize])));
        (index, true)
    }

    /// The state was reached in another way, on which other things were done before: only what need
    /// not be done on either way may stay asleep.
    fn wake(&mut self, index: u32, asleep: u64, fresh: usize) {
        let before = &mut self.asleep[index as usize];
        let woken = *before & !asleep;
        *before &= asleep;
        if woken != 0 && (index as usize) < fresh {
            self.woken.push((index, woken));
        }
    }

    /// What need not be done in a state.
    pub(crate) fn asleep(&self, index: usize) -> u64 {
        self.asleep.get(index).copied().unwrap_or(0)
    }

    /// Takes the states in which something is still to be done.
    pub(crate) fn take_woken(&mut self) -> Vec<(u32, u64)> {
        std::mem::take(&mut self.woken)
    }

    /// How much memory this takes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let lists = (self.starts.len() + self.parents.len()) * 4 + self.asleep.len() * 8;
        let waiting = self.woken.len() * 16;
        self.seen.memory() + self.chunks.len() * CHUNK + lists + waiting
    }
}

fn get(chunks: &[Vec<u8>], start: u32) -> &[u8] {
    let chunk = &chunks[(start >> CHUNK_BITS) as usize];
    let at = start as usize & (CHUNK - 1);
    let mut rest = &chunk[at..];
    let length = read(&mut rest) as usize;
    &rest[..length]
}

/// Writes a number in as few bytes as it needs.
#[inline]
pub(crate) fn write(mut number: u32, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number, and moves on.
#[inline]
pub(crate) fn read(bytes: &mut &[u8]) -> u32 {
    let mut number = 0;
    for (index, byte) in bytes.iter().enumerate() {
        number |= u32::from(byte & 0x7F) << (7 * index);
        if byte & 0x80 == 0 {
            *bytes = &bytes[index + 1..];
            return number;
        }
    }
    number
}
