//! The neighbours of a vertex: usually one, behind which it waits or which waits behind it.

use std::collections::{BTreeSet, btree_set};
use std::hash::{Hash, Hasher};
use std::ops::Bound::{Excluded, Unbounded};

/// An ordered set that allocates from the second item on. Equal ones have the same form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Neighbours<V: Ord> {
    None,
    One(V),
    /// Two or more.
    #[allow(clippy::box_collection, reason = "it is rare, and makes all the others smaller")]
    Several(Box<BTreeSet<V>>),
}

impl<V: Ord> Neighbours<V> {
    /// All, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &V> {
        let (one, several): (Option<&V>, Option<btree_set::Iter<'_, V>>) = match self {
            Neighbours::None => (None, None),
            Neighbours::One(one) => (Some(one), None),
            Neighbours::Several(several) => (None, Some(several.iter())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }
}

impl<V: Ord + Copy> Neighbours<V> {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Neighbours::None)
    }

    /// The first one after this one, or of all.
    pub(super) fn next_after(&self, last: Option<V>) -> Option<V> {
        match (self, last) {
            (Neighbours::None, _) => None,
            (Neighbours::One(one), None) => Some(*one),
            (Neighbours::One(one), Some(last)) => (*one > last).then_some(*one),
            (Neighbours::Several(several), None) => several.first().copied(),
            (Neighbours::Several(several), Some(last)) => {
                several.range((Excluded(last), Unbounded)).next().copied()
            }
        }
    }

    pub(super) fn insert(&mut self, vertex: V) {
        match self {
            Neighbours::None => *self = Neighbours::One(vertex),
            Neighbours::One(one) if *one == vertex => {}
            Neighbours::One(one) => {
                *self = Neighbours::Several(Box::new(BTreeSet::from([*one, vertex])));
            }
            Neighbours::Several(several) => {
                several.insert(vertex);
            }
        }
    }

    pub(super) fn remove(&mut self, vertex: V) {
        match self {
            Neighbours::None => {}
            Neighbours::One(one) if *one == vertex => *self = Neighbours::None,
            Neighbours::One(_) => {}
            Neighbours::Several(several) => {
                several.remove(&vertex);
                if several.len() == 1
                    && let Some(last) = several.first()
                {
                    *self = Neighbours::One(*last);
                }
            }
        }
    }
}

/// As a set of `std` has it.
impl<V: Ord + Hash> Hash for Neighbours<V> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let length = match self {
            Neighbours::None => 0,
            Neighbours::One(_) => 1,
            Neighbours::Several(several) => several.len(),
        };
        hasher.write_usize(length);
        self.iter().for_each(|vertex| vertex.hash(hasher));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draws;
    use std::hash::DefaultHasher;

    fn hashed(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn they_are_in_every_respect_what_a_set_is() {
        for seed in 0..100 {
            let mut draws = Draws::new(seed);
            let (mut few, mut set) = (Neighbours::None, BTreeSet::new());
            for _ in 0..60 {
                let item = draws.below(6);
                if draws.below(2) == 0 {
                    few.insert(item);
                    set.insert(item);
                } else {
                    few.remove(item);
                    set.remove(&item);
                }
                assert!(few.iter().eq(&set));
                assert_eq!(few.is_empty(), set.is_empty());
                assert_eq!(few.next_after(None), set.first().copied());
                let after = set.range((Excluded(item), Unbounded)).next().copied();
                assert_eq!(few.next_after(Some(item)), after);
                assert_eq!(hashed(&few), hashed(&set));
                let mut same = Neighbours::None;
                set.iter().rev().for_each(|item| same.insert(*item));
                assert_eq!(few, same);
            }
        }
    }
}
