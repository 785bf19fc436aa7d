//! What a process of OM(m) has been told, as a tree, and how it votes.
//!
//! A [`Path`] says by whom a value has come: `1,4` is "P4 says that P1 says". The tree of a process
//! has one place for every path of up to m + 1 different processes, itself not among them: all that
//! it can be told. It is one list of values without any links. The paths of one length stand in
//! order, those with the same beginning next to each other, so that the place of a path is a sum,
//! and the children of the i-th path of k processes are the (n-1-k) places from i (n-1-k) on. A
//! vote is then over a slice.

use super::Value;
use bellwether_core::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest path: m + 1 for the largest m.
pub const LONGEST_PATH: usize = 7;

/// By whom a value has come: the commander whose value it is, then those who passed it on. The
/// last one sends it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<NodeId>", into = "Vec<NodeId>")]
pub struct Path {
    length: u8,
    hops: [NodeId; LONGEST_PATH],
}

impl Path {
    /// The way of a value that its owner tells itself.
    pub fn of(commander: NodeId) -> Self {
        let mut hops = [NodeId::new(0); LONGEST_PATH];
        hops[0] = commander;
        Path { length: 1, hops }
    }

    /// One further; nothing if it would be too long.
    pub fn by(mut self, relay: NodeId) -> Option<Self> {
        *self.hops.get_mut(usize::from(self.length))? = relay;
        self.length += 1;
        Some(self)
    }

    /// Commander first, sender last. Never empty.
    pub fn hops(&self) -> &[NodeId] {
        self.hops.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// Whose value it is.
    pub fn commander(&self) -> NodeId {
        self.hops[0]
    }

    /// Who sends it.
    pub fn sender(&self) -> NodeId {
        self.hops().last().copied().unwrap_or(self.hops[0])
    }

    /// In which round it is sent.
    pub fn round(&self) -> usize {
        usize::from(self.length)
    }

    /// Whether a process is on it.
    pub fn has(&self, id: NodeId) -> bool {
        self.hops().contains(&id)
    }
}

impl From<Path> for Vec<NodeId> {
    fn from(path: Path) -> Vec<NodeId> {
        path.hops().to_vec()
    }
}

impl TryFrom<Vec<NodeId>> for Path {
    type Error = String;

    fn try_from(hops: Vec<NodeId>) -> Result<Self, String> {
        let bad = || format!("a path has 1 to {LONGEST_PATH} processes, not {}", hops.len());
        let (first, rest) = hops.split_first().ok_or_else(bad)?;
        rest.iter().try_fold(Path::of(*first), |path, hop| path.by(*hop)).ok_or_else(bad)
    }
}

/// `1,4`
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, hop) in self.hops().iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}", hop.number())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What one process has been told. Paths are in terms of places on the ring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tree {
    /// The place of its owner, who is on no path.
    owner: usize,
    /// n - 1: how many can be first on a path.
    others: usize,
    /// Where the paths of each length begin in `values`, and where those of the last end.
    levels: Vec<usize>,
    /// What was told; nil where nothing was.
    values: Vec<Value>,
}

impl Tree {
    /// An empty tree of the process at place `owner` of `n`, for this many rounds.
    pub fn new(n: usize, owner: usize, rounds: usize) -> Self {
        let others = n.saturating_sub(1);
        let mut levels = vec![0];
        let (mut width, mut end) = (1, 0);
        for depth in 0..rounds.min(LONGEST_PATH) {
            width *= others.saturating_sub(depth);
            end += width;
            levels.push(end);
        }
        Tree { owner, others, levels, values: vec![Value::NIL; end] }
    }

    /// How many rounds it is for.
    pub fn rounds(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// How many values it has room for.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it has room for none: no other process is there.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Where the paths of this length are.
    fn level(&self, length: usize) -> Option<std::ops::Range<usize>> {
        Some(*self.levels.get(length.checked_sub(1)?)?..*self.levels.get(length)?)
    }

    /// How many paths of this length there are.
    pub fn width(&self, length: usize) -> usize {
        self.level(length).map_or(0, |level| level.len())
    }

    /// The index of a path among those of its length; nothing if the tree has no such path: if a
    /// place is on it twice, or the owner's is, or it is too long.
    fn rank(&self, path: &[usize]) -> Option<usize> {
        self.level(path.len())?;
        let mut rank = 0;
        for (depth, place) in path.iter().enumerate() {
            let earlier = path.get(..depth)?;
            if *place == self.owner || *place > self.others || earlier.contains(place) {
                return None;
            }
            // Its place among those that are neither the owner nor on the path yet.
            let skipped = earlier.iter().chain([&self.owner]).filter(|other| *other < place);
            rank = rank * (self.others - depth) + place - skipped.count();
        }
        Some(rank)
    }

    /// The places on the path of this length with this index, in `path`.
    pub fn path(&self, length: usize, mut rank: usize, path: &mut Vec<usize>) {
        let mut digits = [0; LONGEST_PATH];
        let length = length.min(LONGEST_PATH).min(self.others);
        for depth in (0..length).rev() {
            let base = self.others - depth;
            digits[depth] = rank % base;
            rank /= base;
        }
        path.clear();
        for digit in &digits[..length] {
            let mut free = (0..=self.others).filter(|p| *p != self.owner && !path.contains(p));
            let place = free.nth(*digit);
            path.extend(place);
        }
    }

    /// Writes down what was told. The first word counts; says whether this is it.
    pub fn put(&mut self, path: &[usize], value: Value) -> bool {
        let slot = self.rank(path).and_then(|rank| {
            let level = self.level(path.len())?;
            self.values.get_mut(level.start + rank)
        });
        match slot {
            Some(slot) if slot.is_nil() => {
                *slot = value;
                true
            }
            _ => false,
        }
    }

    /// What was told by the path of this length with this index.
    pub fn value(&self, length: usize, rank: usize) -> Value {
        let slot = self.level(length).and_then(|level| self.values.get(level.start + rank));
        slot.copied().unwrap_or_default()
    }

    /// What to hold for the value of every other process, in ring order: the votes of OM(m), from
    /// the leaves up. A path's word is settled by the majority of what the owner was told by it
    /// and the settled words of all longer ones by one relay.
    pub fn vote(&self) -> Vec<Value> {
        let mut settled: Vec<Value> = Vec::new();
        for length in (1..=self.rounds()).rev() {
            let told = self.level(length).and_then(|level| self.values.get(level));
            let told = told.unwrap_or_default();
            let relays = self.others.saturating_sub(length);
            settled = if settled.is_empty() || relays == 0 {
                told.to_vec()
            } else {
                let votes = told.iter().zip(settled.chunks(relays));
                votes.map(|(own, relayed)| majority(*own, relayed)).collect()
            };
        }
        settled
    }
}

/// The value that more than half of all votes are for; nil if there is none.
pub(super) fn majority(own: Value, others: &[Value]) -> Value {
    // Boyer and Moore: a value with a majority is what is left when unequal votes cancel out.
    let votes = || others.iter().copied().chain([own]);
    let (mut candidate, mut lead) = (own, 0_usize);
    for vote in votes() {
        match (vote == candidate, lead) {
            (true, _) => lead += 1,
            (false, 0) => (candidate, lead) = (vote, 1),
            (false, _) => lead -= 1,
        }
    }
    let count = votes().filter(|vote| *vote == candidate).count();
    if 2 * count > others.len() + 1 { candidate } else { Value::NIL }
}

#[cfg(test)]
#[path = "tests/tree.rs"]
mod tests;
