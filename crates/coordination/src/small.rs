//! Ordered maps for a few entries that may become a hundred thousand: what a session has, and who holds a lock.
//!
//! Nearly every session has one lock, and nearly every lock one holder. A node of a tree has eleven places, so a tree of
//! one entry is most of what a session takes. A [`UsualMap`] has its only entry inside itself, a [`SmallMap`] has a few
//! in a sorted array, and both become trees beyond that: so nothing takes longer than in a tree, however many there are.
//!
//! Order, equality, hash, text and serialised form are those of the trees of `std`, whatever form the entries have.

use bellwether_core::SortedMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Borrow;
use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::FusedIterator;
use std::ops::{Bound, Index};
use std::slice;

/// More entries than these are in a tree, and half as many are in an array again.
const FEW: usize = 16;

/// An ordered map that usually has no entry, or a few.
#[derive(Clone)]
pub struct SmallMap<K, V>(Small<K, V>);

#[derive(Clone)]
enum Small<K, V> {
    Few(SortedMap<K, V>),
    #[allow(clippy::box_collection, reason = "it is rare, and makes all the others smaller")]
    Many(Box<BTreeMap<K, V>>),
}

/// An ordered map that usually has one entry.
#[derive(Clone)]
pub struct UsualMap<K, V>(Usual<K, V>);

#[derive(Clone)]
enum Usual<K, V> {
    None,
    One((K, V)),
    /// Two or more.
    Several(Box<SmallMap<K, V>>),
}

impl<K: Ord, V> SmallMap<K, V> {
    /// A map without entries.
    pub const fn new() -> Self {
        SmallMap(Small::Few(SortedMap::new()))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Small::Few(few) => few.len(),
            Small::Many(many) => many.len(),
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of this key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match &self.0 {
            Small::Few(few) => few.get(key),
            Small::Many(many) => many.get(key),
        }
    }

    /// Whether there is an entry for this key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The value of this key, to be changed.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match &mut self.0 {
            Small::Few(few) => few.get_mut(key),
            Small::Many(many) => many.get_mut(key),
        }
    }

    /// Sets the value of a key, and returns the one that it had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Small::Few(few) = &mut self.0
            && few.len() == FEW
            && !few.contains_key(&key)
        {
            self.0 = Small::Many(Box::new(std::mem::take(few).into_iter().collect()));
        }
        match &mut self.0 {
            Small::Few(few) => {
                // Most have one or two, and there are many of them: no room for four.
                few.reserve_exact(1);
                few.insert(key, value)
            }
            Small::Many(many) => many.insert(key, value),
        }
    }

    /// Removes a key, and returns its value.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let removed = match &mut self.0 {
            Small::Few(few) => few.remove(key),
            Small::Many(many) => many.remove(key),
        };
        self.shrink();
        removed
    }

    /// The entry with the largest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    /// Removes the entry with the smallest key.
    pub(crate) fn pop_first(&mut self) -> Option<(K, V)> {
        let first = match &mut self.0 {
            Small::Few(few) => few.pop_first(),
            Small::Many(many) => many.pop_first(),
        };
        self.shrink();
        first
    }

    /// Gives memory back, if there are few entries left.
    fn shrink(&mut self) {
        match &mut self.0 {
            Small::Few(few) if few.is_empty() => *few = SortedMap::new(),
            Small::Few(_) => {}
            Small::Many(many) if many.len() > FEW / 2 => {}
            Small::Many(many) => {
                self.0 = Small::Few(std::mem::take(&mut **many).into_iter().collect());
            }
        }
    }

    /// All entries from this key on, in order.
    pub fn range_from<'a>(
        &'a self,
        from: &K,
    ) -> impl Iterator<Item = (&'a K, &'a V)> + use<'a, K, V> {
        let (few, many) = match &self.0 {
            Small::Few(few) => (Some(few.range_from(from)), None),
            Small::Many(many) => {
                let bounds: (Bound<&K>, Bound<&K>) = (Bound::Included(from), Bound::Unbounded);
                (None, Some(many.range(bounds)))
            }
        };
        few.into_iter().flatten().chain(many.into_iter().flatten())
    }

    /// All entries, in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        match &self.0 {
            Small::Few(few) => Iter(Entries::Few(few.iter())),
            Small::Many(many) => Iter(Entries::Many(many.iter())),
        }
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// All values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> UsualMap<K, V> {
    /// A map without entries.
    pub const fn new() -> Self {
        UsualMap(Usual::None)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Usual::None => 0,
            Usual::One(_) => 1,
            Usual::Several(several) => several.len(),
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        matches!(self.0, Usual::None)
    }

    /// The value of this key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match &self.0 {
            Usual::One((only, value)) if only.borrow() == key => Some(value),
            Usual::None | Usual::One(_) => None,
            Usual::Several(several) => several.get(key),
        }
    }

    /// Whether there is an entry for this key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The value of this key, to be changed.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match &mut self.0 {
            Usual::One((only, value)) if only == key => Some(value),
            Usual::None | Usual::One(_) => None,
            Usual::Several(several) => several.get_mut(key),
        }
    }

    /// Sets the value of a key, and returns the one that it had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match &mut self.0 {
            Usual::None => {
                self.0 = Usual::One((key, value));
                None
            }
            Usual::One((only, before)) if *only == key => Some(std::mem::replace(before, value)),
            Usual::One(_) => {
                let mut several = SmallMap::new();
                if let Usual::One((only, before)) = std::mem::replace(&mut self.0, Usual::None) {
                    several.insert(only, before);
                }
                several.insert(key, value);
                self.0 = Usual::Several(Box::new(several));
                None
            }
            Usual::Several(several) => several.insert(key, value),
        }
    }

    /// Removes a key, and returns its value.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        match &mut self.0 {
            Usual::One((only, _)) if only == key => {
                match std::mem::replace(&mut self.0, Usual::None) {
                    Usual::One((_, value)) => Some(value),
                    Usual::None | Usual::Several(_) => None,
                }
            }
            Usual::None | Usual::One(_) => None,
            Usual::Several(several) => {
                let removed = several.remove(key);
                if several.len() == 1 {
                    self.0 = several.pop_first().map_or(Usual::None, Usual::One);
                }
                removed
            }
        }
    }

    /// The entry with the largest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }

    /// All entries from this key on, in order.
    pub fn range_from<'a>(
        &'a self,
        from: &K,
    ) -> impl Iterator<Item = (&'a K, &'a V)> + use<'a, K, V> {
        let (one, several) = match &self.0 {
            Usual::None => (None, None),
            Usual::One((only, value)) => {
                (Some((only, value)).filter(|(only, _)| *only >= from), None)
            }
            Usual::Several(several) => (None, Some(several.range_from(from))),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// All entries, in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        match &self.0 {
            Usual::None => Iter(Entries::One([].iter())),
            Usual::One(one) => Iter(Entries::One(slice::from_ref(one).iter())),
            Usual::Several(several) => several.iter(),
        }
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// All values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.iter().map(|(_, value)| value)
    }
}

/// The entries of a map, in order.
#[derive(Debug)]
pub struct Iter<'a, K, V>(Entries<'a, K, V>);

#[derive(Debug)]
enum Entries<'a, K, V> {
    One(slice::Iter<'a, (K, V)>),
    Few(<&'a SortedMap<K, V> as IntoIterator>::IntoIter),
    Many(btree_map::Iter<'a, K, V>),
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter(match &self.0 {
            Entries::One(one) => Entries::One(one.clone()),
            Entries::Few(few) => Entries::Few(few.clone()),
            Entries::Many(many) => Entries::Many(many.clone()),
        })
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Entries::One(one) => one.next().map(|(key, value)| (key, value)),
            Entries::Few(few) => few.next(),
            Entries::Many(many) => many.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Entries::One(one) => one.size_hint(),
            Entries::Few(few) => few.size_hint(),
            Entries::Many(many) => many.size_hint(),
        }
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Entries::One(one) => one.next_back().map(|(key, value)| (key, value)),
            Entries::Few(few) => few.next_back(),
            Entries::Many(many) => many.next_back(),
        }
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

impl<K, V> FusedIterator for Iter<'_, K, V> {}

/// What both maps share with trees.
macro_rules! as_a_tree {
    ($map:ident) => {
        impl<K: Ord, V> Default for $map<K, V> {
            fn default() -> Self {
                $map::new()
            }
        }

        impl<K: Ord + fmt::Debug, V: fmt::Debug> fmt::Debug for $map<K, V> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_map().entries(self.iter()).finish()
            }
        }

        impl<K: Ord, V: PartialEq> PartialEq for $map<K, V> {
            fn eq(&self, other: &Self) -> bool {
                self.iter().eq(other.iter())
            }
        }

        impl<K: Ord, V: Eq> Eq for $map<K, V> {}

        impl<K: Ord + Hash, V: Hash> Hash for $map<K, V> {
            fn hash<H: Hasher>(&self, hasher: &mut H) {
                hasher.write_usize(self.len());
                self.iter().for_each(|entry| entry.hash(hasher));
            }
        }

        impl<K: Ord, V> FromIterator<(K, V)> for $map<K, V> {
            fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
                let mut map = $map::new();
                for (key, value) in entries {
                    map.insert(key, value);
                }
                map
            }
        }

        impl<'a, K: Ord, V> IntoIterator for &'a $map<K, V> {
            type Item = (&'a K, &'a V);
            type IntoIter = Iter<'a, K, V>;

            fn into_iter(self) -> Iter<'a, K, V> {
                self.iter()
            }
        }

        /// Panics if the key is not there.
        impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for $map<K, V> {
            type Output = V;

            #[allow(clippy::expect_used, reason = "as the trees of std have it")]
            fn index(&self, key: &Q) -> &V {
                self.get(key).expect("no entry found for key")
            }
        }

        impl<K: Ord + Serialize, V: Serialize> Serialize for $map<K, V> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self)
            }
        }

        impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for $map<K, V> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                BTreeMap::deserialize(deserializer).map(|tree| tree.into_iter().collect())
            }
        }
    };
}

as_a_tree!(SmallMap);
as_a_tree!(UsualMap);

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_core::Draws;
    use std::hash::DefaultHasher;

    fn hashed(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    /// The same steps with a map and with a tree, over all three forms and back.
    macro_rules! is_a_tree {
        ($map:ident, $draws:expr, $keys:expr) => {
            let (mut map, mut tree) = ($map::new(), BTreeMap::new());
            for step in 0..300_u64 {
                let key = $draws.below($keys) as u32;
                // It grows at first, and shrinks in the end.
                if $draws.below(300) > step {
                    assert_eq!(map.insert(key, step), tree.insert(key, step));
                } else {
                    assert_eq!(map.remove(&key), tree.remove(&key));
                }
                if let Some(value) = map.get_mut(&key) {
                    *value += 1;
                    tree.entry(key).and_modify(|value| *value += 1);
                }
                assert_eq!(map.get(&key), tree.get(&key));
                assert_eq!(map.contains_key(&key), tree.contains_key(&key));
                assert_eq!(map.last_key_value(), tree.last_key_value());
                assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
                assert!(map.range_from(&key).eq(tree.range(key..)));
                assert!(map.iter().rev().eq(tree.iter().rev()));
                assert!(map.keys().eq(tree.keys()) && map.values().eq(tree.values()));
                assert_eq!(format!("{map:?} {map:#?}"), format!("{tree:?} {tree:#?}"));
                assert_eq!(hashed(&map), hashed(&tree));
                let same: $map<u32, u64> = tree.iter().map(|(key, value)| (*key, *value)).collect();
                assert_eq!(map, same);
                assert_eq!(tree.is_empty(), map == $map::new());
                let bytes = postcard::to_allocvec(&map).unwrap();
                assert_eq!(bytes, postcard::to_allocvec(&tree).unwrap());
                assert_eq!(postcard::from_bytes::<$map<u32, u64>>(&bytes), Ok(map.clone()));
                let text = serde_json::to_string(&map).unwrap();
                assert_eq!(text, serde_json::to_string(&tree).unwrap());
                assert_eq!(serde_json::from_str::<$map<u32, u64>>(&text).unwrap(), map);
            }
        };
    }

    #[test]
    fn they_are_in_every_respect_what_a_tree_is() {
        for seed in 0..30 {
            let mut draws = Draws::new(seed);
            let keys = [3, 12, 40][seed as usize % 3];
            is_a_tree!(SmallMap, draws, keys);
            is_a_tree!(UsualMap, draws, keys);
        }
    }

    #[test]
    fn the_first_one_goes_until_none_is_left() {
        let mut map: SmallMap<u32, ()> = (0..40).rev().map(|key| (key, ())).collect();
        assert!((0..40).all(|key| map.pop_first() == Some((key, ()))));
        assert_eq!((map.pop_first(), map.len()), (None, 0));
    }

    /// A session takes as little as possible because of it.
    #[test]
    fn the_usual_entry_costs_no_more_than_itself() {
        type Holder = (u64, crate::command::Mode);
        assert_eq!(size_of::<UsualMap<u64, Holder>>(), size_of::<(u64, Holder)>());
        assert_eq!(size_of::<SmallMap<u64, Holder>>(), size_of::<Vec<Holder>>());
    }
}
