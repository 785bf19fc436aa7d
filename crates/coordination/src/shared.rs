//! A large ordered map whose copies share what has not changed since.
//!
//! A snapshot is a frozen copy of the state, while the state goes on. Copies of trees of `std` have nodes of their own: with
//! values that are shared, the nodes were a third of what there is. This map is a list of chunks, sorted arrays that
//! are shared until one changes. A copy costs the list, and then a chunk for each place that changes.
//!
//! Entries that come in the order of their keys fill their chunks. Others leave them two thirds full on average, as in a
//! tree, but without the room of a tree's nodes for their neighbours.
//!
//! Order, equality, hash, text and serialised form are those of the trees of `std`.

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::FusedIterator;
use std::ops::Index;
use std::slice;
use std::sync::Arc;

/// The most entries of a chunk.
const FULL: usize = 64;
/// A chunk with fewer entries is joined with one beside it, if both together are not nearly full.
const SPARSE: usize = FULL / 4;
const NEARLY_FULL: usize = FULL * 3 / 4;

/// A key that is not above those of the chunk, and the chunk.
type Chunk<K, V> = (K, Arc<Vec<(K, V)>>);

/// An ordered map for many entries, and for copies of it that are hardly different.
#[derive(Clone)]
pub struct SharedMap<K, V> {
    /// None is empty. All keys of a chunk are at least the one beside it, and below that of the next chunk.
    chunks: Vec<Chunk<K, V>>,
    len: usize,
}

impl<K: Ord, V> SharedMap<K, V> {
    /// A map without entries.
    pub const fn new() -> Self {
        SharedMap { chunks: Vec::new(), len: 0 }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The chunk where a key is or belongs, and where in it.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> (usize, Result<usize, usize>)
    where
        K: Borrow<Q>,
    {
        let after = self.chunks.partition_point(|(first, _)| first.borrow() <= key);
        let Some(at) = after.checked_sub(1) else { return (0, Err(0)) };
        let chunk = &self.chunks[at].1;
        (at, chunk.binary_search_by(|(other, _)| other.borrow().cmp(key)))
    }

    /// The value of this key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (chunk, place) = self.find(key);
        place.ok().map(|place| &self.chunks[chunk].1[place].1)
    }

    /// Whether there is an entry for this key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).1.is_ok()
    }

    /// All entries, in order.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { front: [].iter(), chunks: self.chunks.iter(), back: [].iter() }
    }

    /// All entries from this key on, in order.
    pub fn range_from<Q: Ord + ?Sized>(&self, from: &Q) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (chunk, place) = self.find(from);
        let mut chunks = self.chunks[chunk..].iter();
        let place = place.unwrap_or_else(|place| place);
        let front = chunks.next().map_or([].iter(), |(_, chunk)| chunk[place..].iter());
        Iter { front, chunks, back: [].iter() }
    }

    /// All entries after this key, in order.
    pub fn range_after<Q: Ord + ?Sized>(&self, after: &Q) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let mut rest = self.range_from(after);
        let first = rest.clone().next();
        if first.is_some_and(|(first, _)| first.borrow() == after) {
            rest.next();
        }
        rest
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// All values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// The entry with the largest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }
}

/// Changes. They copy what is shared.
impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// The value of this key, to be changed.
    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (chunk, place) = self.find(key);
        let place = place.ok()?;
        Some(&mut Arc::make_mut(&mut self.chunks[chunk].1)[place].1)
    }

    /// The value of this key, to be changed; the default one if there is none.
    pub(crate) fn or_default(&mut self, key: &K) -> &mut V
    where
        V: Default,
    {
        let (chunk, place) = match self.find(key) {
            (chunk, Ok(place)) => (chunk, place),
            (chunk, Err(place)) => self.add(chunk, place, key.clone(), V::default()),
        };
        &mut Arc::make_mut(&mut self.chunks[chunk].1)[place].1
    }

    /// Sets the value of a key, and returns the one that it had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            (chunk, Ok(place)) => {
                let entry = &mut Arc::make_mut(&mut self.chunks[chunk].1)[place];
                Some(std::mem::replace(&mut entry.1, value))
            }
            (chunk, Err(place)) => {
                self.add(chunk, place, key, value);
                None
            }
        }
    }

    /// Adds an entry at a place where it belongs, and says where it is then.
    fn add(&mut self, chunk: usize, place: usize, key: K, value: V) -> (usize, usize) {
        self.len += 1;
        let is_last = chunk + 1 == self.chunks.len();
        let Some((first, entries)) = self.chunks.get_mut(chunk) else {
            self.chunks.push((key.clone(), Arc::new(vec![(key, value)])));
            return (chunk, 0);
        };
        if key < *first {
            first.clone_from(&key);
        }
        if entries.len() < FULL {
            Arc::make_mut(entries).insert(place, (key, value));
            return (chunk, place);
        }
        // Behind the last one no chunk is split: what comes in order fills them.
        if place == FULL && is_last {
            let entries = Vec::from([(key.clone(), value)]);
            self.chunks.push((key, Arc::new(entries)));
            return (chunk + 1, 0);
        }
        let upper = Arc::make_mut(entries).split_off(FULL / 2);
        self.chunks.insert(chunk + 1, (upper[0].0.clone(), Arc::new(upper)));
        let (chunk, place) = match place.checked_sub(FULL / 2) {
            Some(place) if place > 0 => (chunk + 1, place),
            _ => (chunk, place),
        };
        Arc::make_mut(&mut self.chunks[chunk].1).insert(place, (key, value));
        (chunk, place)
    }

    /// Removes a key, and returns its value.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (chunk, place) = self.find(key);
        let entries = Arc::make_mut(&mut self.chunks.get_mut(chunk)?.1);
        let (_, value) = entries.remove(place.ok()?);
        self.len -= 1;
        if entries.is_empty() {
            self.chunks.remove(chunk);
        } else if entries.len() < SPARSE {
            self.join(chunk.saturating_sub(1));
            self.join(chunk);
        }
        Some(value)
    }

    /// Joins a chunk with the next one, if there is one and both together are not nearly full.
    fn join(&mut self, chunk: usize) {
        let length = |chunk: usize| self.chunks.get(chunk).map_or(FULL, |(_, it)| it.len());
        if length(chunk) + length(chunk + 1) <= NEARLY_FULL {
            let (_, upper) = self.chunks.remove(chunk + 1);
            Arc::make_mut(&mut self.chunks[chunk].1).extend(Arc::unwrap_or_clone(upper));
        }
    }

    /// All values, to be changed.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let chunks = self.chunks.iter_mut();
        chunks.flat_map(|(_, chunk)| Arc::make_mut(chunk).iter_mut().map(|(_, value)| value))
    }
}

/// The entries of a map, in order.
#[derive(Debug)]
pub struct Iter<'a, K, V> {
    front: slice::Iter<'a, (K, V)>,
    chunks: slice::Iter<'a, Chunk<K, V>>,
    back: slice::Iter<'a, (K, V)>,
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        let Iter { front, chunks, back } = self;
        Iter { front: front.clone(), chunks: chunks.clone(), back: back.clone() }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        if self.front.len() == 0 {
            self.front = match self.chunks.next() {
                Some((_, chunk)) => chunk.iter(),
                None => std::mem::take(&mut self.back),
            };
        }
        self.front.next().map(|(key, value)| (key, value))
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.back.len() == 0 {
            self.back = match self.chunks.next_back() {
                Some((_, chunk)) => chunk.iter(),
                None => std::mem::take(&mut self.front),
            };
        }
        self.back.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> FusedIterator for Iter<'_, K, V> {}

impl<K: Ord, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        SharedMap::new()
    }
}

impl<K: Ord + fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Ord, V: Eq> Eq for SharedMap<K, V> {}

impl<K: Ord + Hash, V: Hash> Hash for SharedMap<K, V> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_usize(self.len);
        self.iter().for_each(|entry| entry.hash(hasher));
    }
}

/// Of several entries with the same key, the last one counts.
impl<K: Ord + Clone, V> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut entries: Vec<(K, V)> = entries.into_iter().collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        entries.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        let len = entries.len();
        let mut chunks = Vec::with_capacity(len.div_ceil(FULL));
        let mut entries = entries.into_iter().peekable();
        while let Some((first, _)) = entries.peek() {
            chunks.push((first.clone(), Arc::new(entries.by_ref().take(FULL).collect())));
        }
        SharedMap { chunks, len }
    }
}

impl<'a, K: Ord, V> IntoIterator for &'a SharedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

/// Panics if the key is not there.
impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for SharedMap<K, V> {
    type Output = V;

    #[allow(clippy::expect_used, reason = "as the trees of std have it")]
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no entry found for key")
    }
}

impl<K: Ord + Serialize, V: Serialize> Serialize for SharedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_map(Some(self.len))?;
        self.iter().try_for_each(|(key, value)| all.serialize_entry(key, value))?;
        all.end()
    }
}

impl<'de, K: Ord + Clone + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de>
    for SharedMap<K, V>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(|tree| tree.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_core::Draws;
    use std::hash::DefaultHasher;

    type Map = SharedMap<u32, u64>;

    fn hashed(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }

    fn compare(map: &Map, tree: &BTreeMap<u32, u64>) {
        assert!(map.iter().eq(tree) && map.iter().rev().eq(tree.iter().rev()));
        assert!(map.keys().eq(tree.keys()) && map.values().eq(tree.values()));
        assert_eq!(map.last_key_value(), tree.last_key_value());
        assert_eq!(format!("{map:?}"), format!("{tree:?}"));
        assert_eq!(hashed(map), hashed(tree));
        assert_eq!(*map, tree.iter().map(|(key, value)| (*key, *value)).collect());
        let bytes = postcard::to_allocvec(map).unwrap();
        assert_eq!(bytes, postcard::to_allocvec(tree).unwrap());
        assert_eq!(postcard::from_bytes::<Map>(&bytes).as_ref(), Ok(map));
        // Both ends meet in the middle.
        let mut ends = map.iter();
        let halves =
            (0..map.len()).map(|turn| if turn % 2 == 0 { ends.next() } else { ends.next_back() });
        assert_eq!(halves.flatten().map(|(key, _)| *key).collect::<Vec<_>>().len(), map.len());
        assert_eq!((ends.next(), ends.next_back()), (None, None));
        let lengths = map.chunks.iter().map(|(_, chunk)| chunk.len());
        assert!(lengths.clone().all(|length| (1..=FULL).contains(&length)));
        assert_eq!(lengths.sum::<usize>(), map.len());
    }

    #[test]
    fn it_is_in_every_respect_what_a_tree_is() {
        for seed in 0..12 {
            let mut draws = Draws::new(seed);
            let (mut map, mut tree) = (Map::new(), BTreeMap::new());
            let keys = [100, 1_000, 10_000][seed as usize % 3];
            for step in 0..6_000_u64 {
                let key = draws.below(keys) as u32;
                // It grows at first, and shrinks in the end.
                match draws.below(6_000) {
                    draw if draw % 10 == 0 => {
                        *map.or_default(&key) += step;
                        *tree.entry(key).or_default() += step;
                    }
                    draw if draw > step => {
                        assert_eq!(map.insert(key, step), tree.insert(key, step))
                    }
                    _ => assert_eq!(map.remove(&key), tree.remove(&key)),
                }
                let other = draws.below(keys) as u32;
                assert_eq!(map.get(&other), tree.get(&other));
                assert_eq!(map.get_mut(&other), tree.get_mut(&other));
                assert_eq!(map.contains_key(&other), tree.contains_key(&other));
                assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
                assert!(map.range_from(&other).take(3).eq(tree.range(other..).take(3)));
                assert!(map.range_after(&other).take(3).eq(tree.range(other + 1..).take(3)));
                if step % 500 == 0 {
                    compare(&map, &tree);
                }
            }
            map.values_mut().for_each(|value| *value += 1);
            tree.values_mut().for_each(|value| *value += 1);
            compare(&map, &tree);
            tree.clear();
            while !map.is_empty() {
                let key = map.keys().nth(map.len() / 2).copied().unwrap();
                map.remove(&key);
            }
            compare(&map, &tree);
        }
    }

    #[test]
    fn a_copy_stays_as_it_was_and_shares_what_does_not_change() {
        let mut map: Map = (0..10_000).map(|key| (key, 0)).collect();
        let copy = map.clone();
        map.insert(5_000, 1);
        map.remove(&100);
        assert_eq!((copy[&5_000], copy[&100], copy.len()), (0, 0, 10_000));
        assert_eq!((map[&5_000], map.get(&100), map.len()), (1, None, 9_999));
        let same = |((_, one), (_, other)): &(&(_, Arc<_>), &(_, Arc<_>))| Arc::ptr_eq(one, other);
        let chunks = map.chunks.iter().zip(&copy.chunks);
        assert_eq!(chunks.filter(same).count(), copy.chunks.len() - 2);
    }

    #[test]
    fn what_comes_in_order_fills_its_chunks() {
        let mut map = Map::new();
        (0..6_400).for_each(|key| assert_eq!(map.insert(key, 0), None));
        assert!(
            map.chunks.iter().all(|(_, chunk)| (chunk.len(), chunk.capacity()) == (FULL, FULL))
        );
        // What is left of it later does not keep the room of all.
        (0..6_400).filter(|key| key % 16 > 0).for_each(|key| assert_eq!(map.remove(&key), Some(0)));
        assert!(map.chunks.len() <= 400 / SPARSE, "{} chunks", map.chunks.len());
    }

    #[test]
    fn of_several_values_for_a_key_the_last_counts() {
        let map = SharedMap::from_iter([(2, 'a'), (1, 'b'), (2, 'c')]);
        assert_eq!(map.iter().collect::<Vec<_>>(), [(&1, &'b'), (&2, &'c')]);
    }
}
