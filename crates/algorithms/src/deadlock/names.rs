//! What a wait-for graph is about: transactions, resources, who waits for whom.

use crate::show::{Item, Tone};
use bellwether_core::{NodeId, SortedSet};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A transaction: what the texts call a process P_i, which works at several sites. It begins and
/// ends at its home. Where ids are compared, the larger number is the larger id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tx {
    /// Its number.
    pub number: u32,
    /// The site where it began.
    pub home: NodeId,
}

impl fmt::Display for Tx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.number)
    }
}

/// As in a story: a trace shows timers by it.
impl fmt::Debug for Tx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} of {}", self.home)
    }
}

/// Something that one transaction at a time can hold, at the site that manages it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Resource {
    /// The site.
    pub site: NodeId,
    /// Which of the site's resources: 0 is called a, 25 z, 26 aa.
    pub name: u32,
}

impl Resource {
    /// Reads `S1.a`.
    pub fn parse(text: &str) -> Option<Self> {
        let (site, letters) = text.strip_prefix('S')?.split_once('.')?;
        Some(Resource { site: NodeId::new(number(site)?), name: from_letters(letters)? })
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S{}.{}", self.site.number(), letters(self.name))
    }
}

/// A number without sign or leading plus.
pub(super) fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// a, b, ... z, aa, ab, ...
fn letters(name: u32) -> String {
    let mut rest = u64::from(name) + 1;
    let mut letters = Vec::new();
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    letters.iter().rev().collect()
}

fn from_letters(text: &str) -> Option<u32> {
    if text.is_empty() || text.len() > 6 {
        return None;
    }
    let mut number: u64 = 0;
    for byte in text.bytes() {
        let digit = byte.is_ascii_lowercase().then(|| u64::from(byte - b'a'))?;
        number = number * 26 + digit + 1;
    }
    u32::try_from(number - 1).ok()
}

/// An edge of a wait-for graph. The label is the timestamp of the request, by the logical clock of
/// the waiter's home, which gives no two requests the same.
///
/// Such an edge stands once, without a break: queues are first come, first served, so a holder
/// that has let go comes behind all that waited, and a request is made once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Edge {
    /// Who waits.
    pub waiter: Tx,
    /// When the waiter began, by the logical clock of its home.
    pub begun: u64,
    /// The timestamp of its request.
    pub label: u64,
    /// For whom.
    pub holder: Tx,
    /// For what.
    pub resource: Resource,
}

/// An edge as it is drawn: one of a reported cycle stands out.
pub(super) fn drawn(edge: &Edge, reported: &SortedSet<Cycle>) -> Item {
    let is_reported = reported.iter().any(|cycle| cycle.edges().contains(edge));
    let item = Item::edge(edge.waiter, edge.holder).note(edge.resource);
    item.tone_if(is_reported, Tone::Bad)
}

/// Edges one after the other: `T2 -> T3 (S1.a) -> T4 (S2.b)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'a>(pub(super) &'a [Edge]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(first) = self.0.first() {
            write!(f, "{}", first.waiter)?;
        }
        for Edge { holder, resource, .. } in self.0 {
            write!(f, " -> {holder} ({resource})")?;
        }
        Ok(())
    }
}

/// Transactions each of which waits for the next, and the last for the first: a deadlock. The
/// smallest comes first, so that the same cycle is always the same value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Edge>", into = "Vec<Edge>")]
pub struct Cycle(Vec<Edge>);

impl TryFrom<Vec<Edge>> for Cycle {
    type Error = &'static str;

    fn try_from(edges: Vec<Edge>) -> Result<Self, &'static str> {
        Cycle::new(edges).ok_or("these edges form no cycle")
    }
}

impl From<Cycle> for Vec<Edge> {
    fn from(cycle: Cycle) -> Self {
        cycle.0
    }
}

impl Cycle {
    /// The cycle of these edges, from whichever they begin; none if they form no cycle.
    pub fn new(mut edges: Vec<Edge>) -> Option<Self> {
        let closes = |index: usize| {
            let next = edges[(index + 1) % edges.len()];
            edges[index].holder == next.waiter
        };
        if edges.is_empty() || !(0..edges.len()).all(closes) {
            return None;
        }
        let first = edges.iter().enumerate().min_by_key(|(_, edge)| edge.waiter)?.0;
        edges.rotate_left(first);
        Some(Cycle(edges))
    }

    /// Its edges in order.
    pub fn edges(&self) -> &[Edge] {
        &self.0
    }

    /// The edge of the transaction that is aborted to break it: the youngest, that is, the one that began last.
    pub fn victim(&self) -> Edge {
        let youngest = self.0.iter().copied().max_by_key(|edge| (edge.begun, edge.waiter));
        youngest.unwrap_or_else(|| unreachable!("a cycle has edges"))
    }

    /// Whether this transaction is on it.
    pub fn contains(&self, tx: Tx) -> bool {
        self.0.iter().any(|edge| edge.waiter == tx)
    }

    /// All sites that know something of it: those of the resources and the homes.
    pub fn sites(&self) -> SortedSet<NodeId> {
        self.0.iter().flat_map(|edge| [edge.resource.site, edge.waiter.home]).collect()
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Path(&self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_read_as_they_are_written() {
        for (name, text) in [(0, "S3.a"), (25, "S3.z"), (26, "S3.aa"), (701, "S3.zz")] {
            let resource = Resource { site: NodeId::new(3), name };
            assert_eq!(resource.to_string(), text);
            assert_eq!(Resource::parse(text), Some(resource));
        }
        for wrong in ["", "S3", "3.a", "S.a", "S3.", "S3.A", "S-1.a", "S+1.a", "S3.aaaaaaaa"] {
            assert_eq!(Resource::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_cycle_is_the_same_from_wherever_it_is_told_and_the_youngest_is_its_victim() {
        let tx = |number| Tx { number, home: NodeId::new(1) };
        let edge = |from, to, begun| Edge {
            waiter: tx(from),
            begun,
            label: 10 + begun,
            holder: tx(to),
            resource: Resource { site: NodeId::new(1), name: to },
        };
        let edges = vec![edge(3, 4, 7), edge(4, 2, 9), edge(2, 3, 8)];
        let cycle = Cycle::new(edges.clone()).unwrap();
        let mut turned = edges.clone();
        turned.rotate_left(1);
        assert_eq!(Cycle::new(turned), Some(cycle.clone()));
        assert_eq!(cycle.to_string(), "T2 -> T3 (S1.d) -> T4 (S1.e) -> T2 (S1.c)");
        assert_eq!(cycle.victim().waiter, tx(4));
        assert_eq!(Cycle::new(edges[..2].to_vec()), None);
        assert_eq!(Cycle::new(vec![]), None);
    }
}
