//! Ordered maps and sets for a few entries.
//!
//! A [`BTreeMap`](std::collections::BTreeMap) is the right choice for thousands of entries. Most maps
//! of a process have a few, and then a sorted array is as fast and smaller. It is also less
//! code, and the compiler makes that code anew for every pair of types.
//!
//! Order, equality, hash and text are those of the trees of `std`. Finding an entry takes O(log n),
//! and so does appending one behind all others; inserting or removing one elsewhere takes O(n).

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::slice;
use std::vec;

/// An ordered map for a few entries.
#[derive(Clone, PartialEq, Eq)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

/// An ordered set of a few items.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortedSet<T>(Vec<T>);

/// The place in a map for a key, which may be there or not.
#[derive(Debug)]
pub struct Entry<'a, K, V> {
    map: &'a mut SortedMap<K, V>,
    key: K,
}

impl<K: Ord, V> SortedMap<K, V> {
    /// A map without entries.
    pub const fn new() -> Self {
        SortedMap(Vec::new())
    }

    /// Sees to it that there is room for this many more entries, and makes no more room than that.
    pub fn reserve_exact(&mut self, more: usize) {
        self.0.reserve_exact(more);
    }

    /// Where the key is, or where it belongs.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        match self.0.last() {
            Some((last, _)) if last.borrow() < key => Err(self.0.len()),
            _ => self.0.binary_search_by(|(other, _)| other.borrow().cmp(key)),
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is an entry for this key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// The value of this key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| &self.0[at].1)
    }

    /// The value of this key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| &mut self.0[at].1)
    }

    /// Sets the value of a key, and returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes a key, and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| self.0.remove(at).1)
    }

    /// The place for a key.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry { map: self, key }
    }

    /// The entry with the smallest key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.0.first().map(|(key, value)| (key, value))
    }

    /// Removes the entry with the smallest key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// Keeps only entries for which this holds.
    pub fn retain(&mut self, mut keeps: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keeps(key, value));
    }

    /// Splits off all entries from this key on.
    pub fn split_off(&mut self, from: &K) -> Self {
        let at = self.find(from).unwrap_or_else(|at| at);
        SortedMap(self.0.split_off(at))
    }

    /// All entries from this key on, in order.
    pub fn range_from(&self, from: &K) -> Iter<'_, K, V> {
        let at = self.find(from).unwrap_or_else(|at| at);
        Iter(self.0[at..].iter())
    }

    /// All entries, in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.0.iter())
    }

    /// All entries, in order; their values can be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// All values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// All values, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// All values, in the order of their keys, without the keys.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.0.into_iter().map(|(_, value)| value)
    }
}

impl<'a, K: Ord, V> Entry<'a, K, V> {
    /// The value of the key, or this one.
    pub fn or_insert(self, value: V) -> &'a mut V {
        let Entry { map, key } = self;
        let at = map.find(&key).unwrap_or_else(|at| {
            map.0.insert(at, (key, value));
            at
        });
        &mut map.0[at].1
    }

    /// The value of the key, or the default one.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert(V::default())
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        SortedMap(Vec::new())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(key, value)| (key, value))).finish()
    }
}

impl<K: Hash, V: Hash> Hash for SortedMap<K, V> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_usize(self.0.len());
        self.0.iter().for_each(|entry| entry.hash(hasher));
    }
}

/// Of several entries with the same key, the last one counts.
impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = SortedMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    fn into_iter(self) -> vec::IntoIter<(K, V)> {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        Iter(self.0.iter())
    }
}

/// Entries of a map, in order.
#[derive(Debug)]
pub struct Iter<'a, K, V>(slice::Iter<'a, (K, V)>);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

impl<T: Ord> SortedSet<T> {
    /// A set without items.
    pub const fn new() -> Self {
        SortedSet(Vec::new())
    }

    /// Where the item is, or where it belongs.
    fn find(&self, item: &T) -> Result<usize, usize> {
        match self.0.last() {
            Some(last) if last < item => Err(self.0.len()),
            _ => self.0.binary_search(item),
        }
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this item is in the set.
    pub fn contains(&self, item: &T) -> bool {
        self.find(item).is_ok()
    }

    /// Adds an item, and says whether it is new.
    pub fn insert(&mut self, item: T) -> bool {
        let place = self.find(&item);
        if let Err(at) = place {
            self.0.insert(at, item);
        }
        place.is_err()
    }

    /// Removes an item, and says whether it was there.
    pub fn remove(&mut self, item: &T) -> bool {
        let place = self.find(item);
        if let Ok(at) = place {
            self.0.remove(at);
        }
        place.is_ok()
    }

    /// The smallest item.
    pub fn first(&self) -> Option<&T> {
        self.0.first()
    }

    /// The largest item.
    pub fn last(&self) -> Option<&T> {
        self.0.last()
    }

    /// Keeps only items for which this holds.
    pub fn retain(&mut self, keeps: impl FnMut(&T) -> bool) {
        self.0.retain(keeps);
    }

    /// All items, in order.
    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        SortedSet(Vec::new())
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.0).finish()
    }
}

impl<T: Hash> Hash for SortedSet<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_usize(self.0.len());
        self.0.iter().for_each(|item| item.hash(hasher));
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut set = SortedSet::new();
        set.extend(items);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> vec::IntoIter<T> {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draws;
    use std::collections::{BTreeMap, BTreeSet};
    use std::hash::DefaultHasher;

    fn hashed(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn a_map_is_in_every_respect_what_a_tree_is() {
        for seed in 0..200 {
            let mut draws = Draws::new(seed);
            let (mut map, mut tree) = (SortedMap::new(), BTreeMap::new());
            for step in 0..60_u64 {
                let key = draws.below(12) as u32;
                match draws.below(8) {
                    0..=2 => assert_eq!(map.insert(key, step), tree.insert(key, step)),
                    3 => assert_eq!(map.remove(&key), tree.remove(&key)),
                    4 => {
                        *map.entry(key).or_default() += step;
                        *tree.entry(key).or_default() += step;
                    }
                    5 => {
                        let keeps = |value: &mut u64| !value.is_multiple_of(7);
                        map.retain(|_, value| keeps(value));
                        tree.retain(|_, value| keeps(value));
                    }
                    6 if draws.below(3) == 0 => assert_eq!(map.pop_first(), tree.pop_first()),
                    6 => assert!(map.range_from(&key).eq(tree.range(key..))),
                    _ => {
                        let (above, also) = (map.split_off(&key), tree.split_off(&key));
                        assert!(above.iter().eq(&also));
                        map.extend(above.into_iter().rev());
                        tree.extend(also);
                    }
                }
                assert_eq!(map.get(&key), tree.get(&key));
                assert_eq!(map.contains_key(&key), tree.contains_key(&key));
                assert_eq!(map.first_key_value(), tree.first_key_value());
                assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
                assert!(map.iter().rev().eq(tree.iter().rev()));
                assert!(map.keys().eq(tree.keys()) && map.values().eq(tree.values()));
                assert_eq!(format!("{map:?} {map:#?}"), format!("{tree:?} {tree:#?}"));
                assert_eq!(hashed(&map), hashed(&tree));
                assert_eq!(map, tree.iter().map(|(key, value)| (*key, *value)).collect());
            }
        }
    }

    #[test]
    fn a_set_is_in_every_respect_what_a_tree_is() {
        for seed in 0..200 {
            let mut draws = Draws::new(seed);
            let (mut set, mut tree) = (SortedSet::new(), BTreeSet::new());
            let (mut last, mut last_tree) = (set.clone(), tree.clone());
            for _ in 0..60 {
                // Not a primitive: slices of those are hashed in one piece.
                let item = (draws.below(12), false);
                match draws.below(4) {
                    0 | 1 => assert_eq!(set.insert(item), tree.insert(item)),
                    2 => assert_eq!(set.remove(&item), tree.remove(&item)),
                    _ => {
                        set.retain(|other| *other != item);
                        tree.retain(|other| *other != item);
                    }
                }
                assert_eq!(set.contains(&item), tree.contains(&item));
                assert_eq!((set.first(), set.last()), (tree.first(), tree.last()));
                assert_eq!((set.len(), set.is_empty()), (tree.len(), tree.is_empty()));
                assert!(set.iter().rev().eq(tree.iter().rev()));
                assert_eq!(format!("{set:?} {set:#?}"), format!("{tree:?} {tree:#?}"));
                assert_eq!(hashed(&set), hashed(&tree));
                assert_eq!(set, tree.iter().rev().copied().collect());
                assert_eq!(set.cmp(&last), tree.cmp(&last_tree));
                (last, last_tree) = (set.clone(), tree.clone());
            }
        }
    }

    #[test]
    fn numbers_have_the_hash_of_a_tree_of_numbers() {
        let (set, tree) = (SortedSet::from([3_u64, 1, 2]), BTreeSet::from([3_u64, 1, 2]));
        assert_eq!(hashed(&set), hashed(&tree));
    }

    #[test]
    fn of_several_values_for_a_key_the_last_counts() {
        let map = SortedMap::from([(2, 'a'), (1, 'b'), (2, 'c')]);
        assert_eq!(map.into_iter().collect::<Vec<_>>(), [(1, 'b'), (2, 'c')]);
    }

    #[test]
    fn an_entry_is_made_only_where_there_is_none() {
        let mut map = SortedMap::from([(1, 10), (3, 30)]);
        assert_eq!(*map.entry(3).or_insert(0), 30);
        *map.entry(2).or_insert(0) += 20;
        assert_eq!(map.into_values().collect::<Vec<_>>(), [10, 20, 30]);
    }
}
