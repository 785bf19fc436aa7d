//! A directed graph that notices at once when an edge closes a cycle.
//!
//! A full search for every edge would look at the whole graph each time. Here the vertices are
//! kept in an order in which every edge leads forward; such an order exists exactly as long as
//! there is no cycle. An edge that leads forward costs nothing but its place. One that leads back
//! is searched from both ends at once, and only between the places of its two ends: if either
//! search comes to its end, what it has found is moved past the other end; if they meet, there is
//! a cycle. This is the dynamic topological order of Pearce and Kelly (ACM JEA 11, 2006) with the
//! two-way search of Bender, Fineman, Gilbert and Tarjan (2016), which never costs more than twice
//! the smaller of the two sides.
//!
//! Places are numbers with gaps between them. Where a gap is used up, the numbers around it are
//! spread out again, over the smallest range that is sparse enough (Dietz and Sleator's order
//! maintenance in the simple form of Bender and others, 2002).
//!
//! An edge that closes a cycle is kept apart, so that the rest stays in order; whenever an edge
//! goes away, those kept apart are tried again.

mod neighbours;

use neighbours::Neighbours;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::Bound::{Excluded, Unbounded};

/// A graph; the same edge may be there several times.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WaitForGraph<V: Ord> {
    nodes: BTreeMap<V, Node<V>>,
    /// The vertices by their places.
    order: BTreeMap<u64, V>,
    /// How often each edge is there.
    edges: BTreeMap<(V, V), u32>,
    /// The edges that close a cycle with those in order. As long as there is a cycle, there is one.
    closing: BTreeSet<(V, V)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node<V: Ord> {
    place: u64,
    /// The neighbours by edges that are in order.
    out: Neighbours<V>,
    into: Neighbours<V>,
    /// How many edges, of whichever kind, it has at all.
    degree: u32,
}

impl<V: Ord> Default for WaitForGraph<V> {
    fn default() -> Self {
        WaitForGraph {
            nodes: BTreeMap::new(),
            order: BTreeMap::new(),
            edges: BTreeMap::new(),
            closing: BTreeSet::new(),
        }
    }
}

/// The place of the first vertex, and the gap that is left before and behind the outermost.
const MIDDLE: u64 = 1 << 63;
const GAP: u64 = 1 << 24;

/// A search in one direction: where it has been, and the vertices whose edges it still has to look
/// at, each with the last neighbour that was looked at.
struct Search<V: Ord> {
    seen: BTreeSet<V>,
    open: Vec<(V, Option<V>)>,
}

enum Step {
    On,
    Met,
    Over,
}

impl<V: Ord + Copy + Debug> WaitForGraph<V> {
    /// How many vertices have an edge.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no edge.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether there is this edge.
    pub fn contains(&self, from: V, to: V) -> bool {
        self.edges.contains_key(&(from, to))
    }

    /// Whether there is a cycle anywhere.
    pub fn has_cycle(&self) -> bool {
        !self.closing.is_empty()
    }

    /// Whether an edge leads to this vertex, of whichever kind.
    pub fn is_led_to(&self, vertex: V) -> bool {
        let in_order = self.nodes.get(&vertex).is_some_and(|node| !node.into.is_empty());
        in_order || self.closing.iter().any(|(_, to)| *to == vertex)
    }

    /// Those that have an edge to this vertex, without edges that close a cycle.
    pub fn before(&self, vertex: V) -> impl Iterator<Item = V> + '_ {
        self.nodes.get(&vertex).into_iter().flat_map(|node| node.into.iter().copied())
    }

    /// Adds an edge. If it closes a cycle, that is the answer: each vertex leads to the next, and
    /// the last to the first. If it was there before, nothing but its count changes.
    pub fn add(&mut self, from: V, to: V) -> Option<Vec<V>> {
        let count = self.edges.entry((from, to)).or_insert(0);
        *count += 1;
        if *count > 1 {
            return None;
        }
        // A vertex without incoming edges may come first, and one that leads nowhere last.
        let edge = self.order.first_key_value().map(|(place, _)| *place);
        self.touch(from, edge.map_or(MIDDLE, |first| first.saturating_sub(GAP)));
        let edge = self.order.last_key_value().map(|(place, _)| *place);
        self.touch(to, edge.map_or(MIDDLE, |last| last.saturating_add(GAP)));
        let cycle = self.try_edge(from, to);
        if cycle.is_some() {
            self.closing.insert((from, to));
        }
        cycle
    }

    /// Takes an edge away, once. The answer is what remains of cycles that are closed by edges kept
    /// apart: each of them once, whether it was told before or not.
    pub fn remove(&mut self, from: V, to: V) -> Vec<Vec<V>> {
        let Some(count) = self.edges.get_mut(&(from, to)) else { return Vec::new() };
        *count -= 1;
        if *count > 0 {
            return Vec::new();
        }
        self.edges.remove(&(from, to));
        let was_apart = self.closing.remove(&(from, to));
        if let Some(node) = self.nodes.get_mut(&from) {
            node.out.remove(to);
        }
        if let Some(node) = self.nodes.get_mut(&to) {
            node.into.remove(from);
        }
        self.leave(from);
        self.leave(to);
        if was_apart { Vec::new() } else { self.retry() }
    }

    /// The edges kept apart, tried again.
    fn retry(&mut self) -> Vec<Vec<V>> {
        let mut cycles = Vec::new();
        for (from, to) in std::mem::take(&mut self.closing) {
            if let Some(cycle) = self.try_edge(from, to) {
                self.closing.insert((from, to));
                cycles.push(cycle);
            }
        }
        cycles
    }

    /// Brings an edge into the order, unless it closes a cycle.
    fn try_edge(&mut self, from: V, to: V) -> Option<Vec<V>> {
        if from == to {
            return Some(vec![from]);
        }
        let (behind, ahead) = (self.place(from), self.place(to));
        if behind > ahead && self.reorder(from, to) {
            return Some(self.path(to, from));
        }
        if let Some(node) = self.nodes.get_mut(&from) {
            node.out.insert(to);
        }
        if let Some(node) = self.nodes.get_mut(&to) {
            node.into.insert(from);
        }
        None
    }

    /// Brings `to` behind `from`. Says whether that is impossible, because `to` leads to `from`.
    fn reorder(&mut self, from: V, to: V) -> bool {
        let (low, high) = (self.place(to), self.place(from));
        let start = |vertex| Search { seen: BTreeSet::from([vertex]), open: vec![(vertex, None)] };
        let (mut ahead, mut back) = (start(to), start(from));
        loop {
            match self.step(&mut ahead, &back.seen, |node| &node.out, |place| place <= high) {
                Step::Met => return true,
                Step::Over => {
                    self.shift(ahead.seen, from, true);
                    return false;
                }
                Step::On => {}
            }
            match self.step(&mut back, &ahead.seen, |node| &node.into, |place| place >= low) {
                Step::Met => return true,
                Step::Over => {
                    self.shift(back.seen, to, false);
                    return false;
                }
                Step::On => {}
            }
        }
    }

    /// Looks at one more edge.
    fn step(
        &self,
        search: &mut Search<V>,
        other: &BTreeSet<V>,
        along: impl Fn(&Node<V>) -> &Neighbours<V>,
        within: impl Fn(u64) -> bool,
    ) -> Step {
        let Some((vertex, last)) = search.open.last_mut() else { return Step::Over };
        let Some(node) = self.nodes.get(vertex) else { return Step::Over };
        let Some(next) = along(node).next_after(*last) else {
            search.open.pop();
            return if search.open.is_empty() { Step::Over } else { Step::On };
        };
        *last = Some(next);
        if other.contains(&next) {
            return Step::Met;
        }
        if within(self.place(next)) && search.seen.insert(next) {
            search.open.push((next, None));
        }
        Step::On
    }

    /// Moves these, in their order, right behind a vertex, or right before it.
    fn shift(&mut self, moved: BTreeSet<V>, anchor: V, behind: bool) {
        let mut moved: Vec<(u64, V)> = moved.into_iter().map(|v| (self.place(v), v)).collect();
        moved.sort_unstable();
        for (place, _) in &moved {
            self.order.remove(place);
        }
        let need = moved.len() as u64;
        let (mut low, mut high) = self.gap(anchor, behind);
        if high - low <= need {
            self.spread(anchor, need);
            (low, high) = self.gap(anchor, behind);
        }
        let stride = (high - low) / (need + 1);
        for ((_, vertex), index) in moved.into_iter().zip(1..) {
            self.put(vertex, low + stride * index);
        }
    }

    /// The free places next to a vertex: above the first, below the second.
    fn gap(&self, anchor: V, behind: bool) -> (u64, u64) {
        let place = self.place(anchor);
        if behind {
            let next = self.order.range((Excluded(place), Unbounded)).next();
            (place, next.map_or(u64::MAX, |(next, _)| *next))
        } else {
            (self.order.range(..place).next_back().map_or(0, |(last, _)| *last), place)
        }
    }

    /// Spreads out the places around a vertex, so that beside each there is room for this many.
    fn spread(&mut self, anchor: V, need: u64) {
        let place = self.place(anchor);
        for bits in 8..=64_u32 {
            let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
            let (low, high) = (place & !mask, place | mask);
            let crowd = self.order.range(low..=high).count() as u128;
            let room = u128::from(mask) + 1;
            // The larger the range, the sparser it must be: this makes spreading rare.
            let sparse = crowd <= 1 << (bits * 3 / 4);
            if !sparse || (crowd + 1) * (u128::from(need) + 2) > room {
                continue;
            }
            let crowded: Vec<V> = self.order.range(low..=high).map(|(_, v)| *v).collect();
            for place in crowded.iter().map(|v| self.place(*v)).collect::<Vec<_>>() {
                self.order.remove(&place);
            }
            let stride = (room / (crowd + 1)) as u64;
            for (vertex, index) in crowded.into_iter().zip(1..) {
                self.put(vertex, low + (stride * index).min(mask));
            }
            return;
        }
    }

    fn put(&mut self, vertex: V, place: u64) {
        if let Some(node) = self.nodes.get_mut(&vertex) {
            node.place = place;
            self.order.insert(place, vertex);
        }
    }

    fn place(&self, vertex: V) -> u64 {
        self.nodes.get(&vertex).map_or(0, |node| node.place)
    }

    /// One more edge at a vertex, which may be new.
    fn touch(&mut self, vertex: V, place: u64) {
        if let Some(node) = self.nodes.get_mut(&vertex) {
            node.degree += 1;
            return;
        }
        let node = Node { place, out: Neighbours::None, into: Neighbours::None, degree: 1 };
        self.nodes.insert(vertex, node);
        if let Some(other) = self.order.insert(place, vertex) {
            // The end of the numbers is reached: the vertices there make room.
            self.order.insert(place, other);
            self.shift_in(vertex, other);
        }
    }

    /// Puts a new vertex beside another whose place it was given.
    fn shift_in(&mut self, vertex: V, other: V) {
        let (mut low, mut high) = self.gap(other, true);
        if high - low <= 1 {
            self.spread(other, 1);
            (low, high) = self.gap(other, true);
        }
        self.put(vertex, low + (high - low) / 2);
    }

    /// One edge less at a vertex, which is forgotten with its last.
    fn leave(&mut self, vertex: V) {
        let Some(node) = self.nodes.get_mut(&vertex) else { return };
        node.degree -= 1;
        if node.degree == 0 {
            let place = node.place;
            self.nodes.remove(&vertex);
            self.order.remove(&place);
        }
    }

    /// A way from one vertex to another, of which it is known that there is one.
    fn path(&self, from: V, to: V) -> Vec<V> {
        let high = self.place(to);
        let mut seen = BTreeSet::from([from]);
        let mut way: Vec<(V, Option<V>)> = vec![(from, None)];
        while let Some((vertex, last)) = way.last_mut() {
            if *vertex == to {
                break;
            }
            let Some(node) = self.nodes.get(vertex) else { break };
            match node.out.next_after(*last) {
                None => {
                    way.pop();
                }
                Some(next) => {
                    *last = Some(next);
                    if self.place(next) <= high && seen.insert(next) {
                        way.push((next, None));
                    }
                }
            }
        }
        way.into_iter().map(|(vertex, _)| vertex).collect()
    }
}

#[cfg(test)]
mod tests;
