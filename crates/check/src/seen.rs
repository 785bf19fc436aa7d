//! A table that finds a state again by its hash.
//!
//! It holds nothing but indices, with seven bits of the hash beside each, so that a state that is
//! new is nearly always told from the others without looking at any of them. Looking up a state in a
//! table of millions waits for main memory several times; the [store](crate::store) therefore looks
//! up many at once, and here is what it needs for that: the first place to look, before the answer
//! is wanted.

/// Places for one index each.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Zero if the place is free; otherwise some bits of the hash.
    tags: Vec<u8>,
    indices: Vec<u32>,
    used: usize,
}

const LEAST: usize = 64;

impl Seen {
    /// Where to look first.
    pub(crate) fn home(&self, hash: u64) -> usize {
        // The upper bits of the product: as even as a remainder, and much faster.
        ((u128::from(hash) * self.tags.len() as u128) >> 64) as usize
    }

    /// The index at a place, if it may be the one.
    pub(crate) fn peek(&self, place: usize) -> Option<u32> {
        self.tags.get(place).filter(|tag| **tag != 0).map(|_| self.indices[place])
    }

    /// The index of what has this hash and is the same.
    pub(crate) fn find(&self, hash: u64, same: impl Fn(u32) -> bool) -> Option<u32> {
        if self.tags.is_empty() {
            return None;
        }
        let tag = tag(hash);
        let mut place = self.home(hash);
        loop {
            match self.tags[place] {
                0 => return None,
                found if found == tag && same(self.indices[place]) => {
                    return Some(self.indices[place]);
                }
                _ => place = self.next(place),
            }
        }
    }

    /// Adds what is not there yet. `hash_of` says the hash of what is.
    pub(crate) fn insert(&mut self, hash: u64, index: u32, hash_of: impl Fn(u32) -> u64) {
        // Three quarters full, a search still ends soon.
        if (self.used + 1) * 4 > self.tags.len() * 3 {
            self.grow(hash_of);
        }
        self.put(hash, index);
        self.used += 1;
    }

    fn put(&mut self, hash: u64, index: u32) {
        let mut place = self.home(hash);
        while self.tags[place] != 0 {
            place = self.next(place);
        }
        self.tags[place] = tag(hash);
        self.indices[place] = index;
    }

    fn next(&self, place: usize) -> usize {
        if place + 1 < self.tags.len() { place + 1 } else { 0 }
    }

    /// By half: doubling would leave more room unused than the states themselves take.
    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        let size = (self.tags.len() + self.tags.len() / 2).max(LEAST);
        let old = std::mem::replace(
            self,
            Seen { tags: vec![0; size], indices: vec![0; size], used: self.used },
        );
        let there = old.tags.iter().zip(&old.indices).filter(|(tag, _)| **tag != 0);
        for (_, index) in there {
            self.put(hash_of(*index), *index);
        }
    }

    /// How much memory it takes, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.tags.len() * 5
    }
}

fn tag(hash: u64) -> u8 {
    hash as u8 | 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in_and_nothing_else() {
        let hash = |index: u32| u64::from(index / 2).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut seen = Seen::default();
        for index in 0..10_000 {
            assert_eq!(seen.find(hash(index), |found| found == index), None);
            seen.insert(hash(index), index, hash);
        }
        for index in 0..10_000 {
            assert_eq!(seen.find(hash(index), |found| found == index), Some(index));
        }
        assert!(seen.memory() < 10_000 * 14);
    }
}
