//! Who the members are: their numbers and their places on the ring.

use std::fmt;

/// A process's unique number. It is its name and its priority: the larger, the stronger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeId(u32);

impl NodeId {
    /// The process with this number.
    pub const fn new(number: u32) -> Self {
        NodeId(number)
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("P{}", self.0))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.0)
    }
}

/// Why a list of ids is not a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupError {
    /// No process at all.
    Empty,
    /// The same id twice.
    Duplicate(NodeId),
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::Empty => f.write_str("a group needs at least one process"),
            GroupError::Duplicate(id) => {
                write!(f, "id {} appears twice; every process needs a number of its own", id.0)
            }
        }
    }
}

impl std::error::Error for GroupError {}

/// The configured members in ring order: each one's successor is the next in the list, and the
/// last one's is the first. It does not change during a run; who of them is alive is for the
/// algorithms to find out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Vec<NodeId>", into = "Vec<NodeId>"))]
pub struct Group {
    ring: Vec<NodeId>,
    places: Places,
}

/// Where an id stands on the ring. Ids are nearly always dense (1..=n), and then a table answers
/// in one load; sparse ids are looked up by bisection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Places {
    Table(Vec<u32>),
    Sorted(Vec<(NodeId, u32)>),
}

const NOWHERE: u32 = u32::MAX;

impl Group {
    /// The group of these processes, in ring order.
    pub fn new(ring: Vec<NodeId>) -> Result<Self, GroupError> {
        let largest = ring.iter().max().ok_or(GroupError::Empty)?.0 as usize;
        let places = if largest < 4 * ring.len() + 64 {
            let mut table = vec![NOWHERE; largest + 1];
            for (place, id) in ring.iter().enumerate() {
                let slot = &mut table[id.0 as usize];
                if *slot != NOWHERE {
                    return Err(GroupError::Duplicate(*id));
                }
                *slot = place as u32;
            }
            Places::Table(table)
        } else {
            let mut sorted: Vec<_> =
                ring.iter().enumerate().map(|(place, id)| (*id, place as u32)).collect();
            sorted.sort_unstable();
            if let Some(twice) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(GroupError::Duplicate(twice[0].0));
            }
            Places::Sorted(sorted)
        };
        Ok(Group { ring, places })
    }

    /// Processes 1 to `n` in ascending order.
    pub fn numbered(n: u32) -> Result<Self, GroupError> {
        Group::new((1..=n).map(NodeId).collect())
    }

    /// How many members are configured.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// A group is never empty; this is here because `len` is.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// All members in ring order.
    pub fn ring(&self) -> &[NodeId] {
        &self.ring
    }

    /// Where on the ring a process stands, if it is a member.
    #[inline]
    pub fn place(&self, id: NodeId) -> Option<usize> {
        match &self.places {
            Places::Table(table) => table
                .get(id.0 as usize)
                .filter(|place| **place != NOWHERE)
                .map(|place| *place as usize),
            Places::Sorted(sorted) => sorted
                .binary_search_by_key(&id, |entry| entry.0)
                .ok()
                .map(|index| sorted[index].1 as usize),
        }
    }

    /// Like [`Group::place`], asked by the process at `from`: on a ring it is nearly always the
    /// next place, which is known without looking anything up.
    #[inline]
    pub fn place_from(&self, from: usize, id: NodeId) -> Option<usize> {
        let next = if from + 1 < self.ring.len() { from + 1 } else { 0 };
        if self.ring[next] == id { Some(next) } else { self.place(id) }
    }

    /// Whether a process is a member.
    pub fn contains(&self, id: NodeId) -> bool {
        self.place(id).is_some()
    }

    /// The process `steps` places after `place`, going round.
    #[inline]
    pub fn after(&self, place: usize, steps: usize) -> NodeId {
        // One step is by far the commonest, and a division by the length costs more than all else.
        let target = place + steps;
        let n = self.ring.len();
        self.ring[if target < n { target } else { target % n }]
    }

    /// The process `steps` places before `place`, going round.
    pub fn before(&self, place: usize, steps: usize) -> NodeId {
        let n = self.ring.len();
        self.ring[(place + n - steps % n) % n]
    }

    /// The members in ascending order of their numbers.
    pub fn ascending(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.from(0)
    }

    /// The members with a larger number than `id`, ascending.
    pub fn above(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.from(id.0 as usize + 1)
    }

    /// The members with a smaller number than `id`, ascending.
    pub fn below(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.from(0).take_while(move |other| *other < id)
    }

    fn from(&self, least: usize) -> impl Iterator<Item = NodeId> + '_ {
        let (table, sorted) = match &self.places {
            Places::Table(table) => (table.get(least..).unwrap_or(&[]), &[][..]),
            Places::Sorted(sorted) => {
                let start = sorted.partition_point(|entry| (entry.0.0 as usize) < least);
                (&[][..], &sorted[start..])
            }
        };
        let dense = table.iter().enumerate().filter(|(_, place)| **place != NOWHERE);
        let dense = dense.map(move |(offset, _)| NodeId((least + offset) as u32));
        dense.chain(sorted.iter().map(|entry| entry.0))
    }

    /// The member with the largest number.
    pub fn highest(&self) -> NodeId {
        match &self.places {
            Places::Table(table) => NodeId(table.len() as u32 - 1),
            Places::Sorted(sorted) => sorted[sorted.len() - 1].0,
        }
    }
}

impl TryFrom<Vec<NodeId>> for Group {
    type Error = GroupError;

    fn try_from(ring: Vec<NodeId>) -> Result<Self, GroupError> {
        Group::new(ring)
    }
}

impl From<Group> for Vec<NodeId> {
    fn from(group: Group) -> Self {
        group.ring
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u32]) -> Vec<NodeId> {
        numbers.iter().copied().map(NodeId).collect()
    }

    #[test]
    fn dense_and_sparse_groups_answer_alike() {
        for scale in [1, 1_000_000] {
            let ring: Vec<NodeId> = [3, 5, 0, 1, 4, 6].iter().map(|n| NodeId(n * scale)).collect();
            let group = Group::new(ring.clone()).unwrap();
            for (place, id) in ring.iter().enumerate() {
                assert_eq!(group.place(*id), Some(place));
            }
            assert_eq!(group.place(NodeId(2 * scale)), None);
            assert_eq!(group.highest(), NodeId(6 * scale));
            let above: Vec<_> = group.above(NodeId(3 * scale)).collect();
            assert_eq!(above, [4, 5, 6].map(|n| NodeId(n * scale)));
            let below: Vec<_> = group.below(NodeId(3 * scale)).collect();
            assert_eq!(below, [0, 1].map(|n| NodeId(n * scale)));
        }
    }

    #[test]
    fn the_ring_closes() {
        let group = Group::new(ids(&[3, 5, 0])).unwrap();
        assert_eq!(group.after(2, 1), NodeId(3));
        assert_eq!(group.after(0, 7), NodeId(5));
        assert_eq!(group.before(0, 1), NodeId(0));
        assert_eq!(group.before(0, 3), NodeId(3));
    }

    #[test]
    fn refuses_what_is_not_a_group() {
        assert_eq!(Group::new(vec![]), Err(GroupError::Empty));
        assert_eq!(Group::new(ids(&[1, 2, 1])), Err(GroupError::Duplicate(NodeId(1))));
        let sparse = ids(&[1, 4_000_000_000, 4_000_000_000]);
        assert_eq!(Group::new(sparse), Err(GroupError::Duplicate(NodeId(4_000_000_000))));
    }
}
