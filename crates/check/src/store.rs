//! The states that were seen: exactly, and in a few bytes each.
//!
//! A state is kept as the numbers of its parts, each in as many bytes as it needs: some twenty for
//! a small cluster. Nothing is guessed from a hash, so a proof is a proof. Beside it stand the state
//! that it was first reached from, and its place in a table that finds it again.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// The number of a state.
pub type StateId = u32;

/// States are spread over so many shards by what they contain, so that threads can add to different
/// ones. It is the same for any number of threads, and so is the order in which states are found.
pub(crate) const SHARDS: usize = 16;

const CHUNK_BITS: u32 = 18;
const CHUNK: usize = 1 << CHUNK_BITS;

/// A part of the states.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    table: HashTable<u32>,
    chunks: Vec<Vec<u8>>,
    /// Where each state begins.
    starts: Vec<u32>,
    /// From which state each was first reached.
    parents: Vec<StateId>,
}

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
    hasher.finish()
}

impl Shard {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The bytes of a state: its length, then so many.
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        get(&self.chunks, self.starts[index])
    }

    /// From which state it was first reached; itself for the first of all.
    pub(crate) fn parent(&self, index: usize) -> StateId {
        self.parents[index]
    }

    /// The index of a state, and whether it is new.
    pub(crate) fn insert(&mut self, bytes: &[u8], parent: StateId) -> (usize, bool) {
        let Shard { table, chunks, starts, parents } = self;
        let key = hash(bytes);
        if let Some(index) = table.find(key, |index| get(chunks, starts[*index as usize]) == bytes)
        {
            return (*index as usize, false);
        }
        let index = starts.len();
        let fits = |chunk: &&mut Vec<u8>| chunk.len() + bytes.len() + 5 <= CHUNK;
        if chunks.last_mut().filter(fits).is_none() {
            chunks.push(Vec::with_capacity(CHUNK));
        }
        let number = chunks.len() - 1;
        let chunk = &mut chunks[number];
        starts.push((number << CHUNK_BITS | chunk.len()) as u32);
        write(bytes.len() as u32, chunk);
        chunk.extend_from_slice(bytes);
        parents.push(parent);
        table.insert_unique(key, index as u32, |index| hash(get(chunks, starts[*index as usize])));
        (index, true)
    }

    /// The index of a state, if it was seen.
    pub(crate) fn find(&self, bytes: &[u8]) -> Option<usize> {
        let same = |index: &u32| self.get(*index as usize) == bytes;
        self.table.find(hash(bytes), same).map(|index| *index as usize)
    }

    /// How much memory this takes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let table = self.table.capacity() * 8 / 7 * 5;
        table + self.chunks.len() * CHUNK + (self.starts.len() + self.parents.len()) * 4
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
pub(crate) fn write(mut number: u32, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number, and moves on.
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
