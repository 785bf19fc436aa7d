//! The wait-for graph of one site, and who of those that hold something here waits elsewhere.
//!
//! A transaction that waits has an edge to the resource, and the resource one to its holder: so a
//! lock that changes hands changes one edge, however many wait for it.

use super::detector::Waiter;
use super::names::{Cycle, Edge, Resource, Tx};
use crate::show::{Item, Tone};
use bellwether_core::{NodeId, SortedMap, SortedSet, WaitForGraph};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Vertex {
    /// A transaction.
    Tx(Tx),
    /// A resource of this site.
    Resource(u32),
}

/// A transaction that waits at another site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Absence {
    /// The timestamp of its request there.
    pub(super) label: u64,
    /// Where.
    pub(super) at: NodeId,
}

/// The graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Local {
    graph: WaitForGraph<Vertex>,
    waiters: SortedMap<Tx, Waiter>,
    holders: SortedMap<u32, Tx>,
    away: SortedMap<Tx, Absence>,
}

impl Local {
    /// A transaction begins to wait; the answer is the cycle that this closes, if it does.
    pub(super) fn waits(&mut self, waiter: Waiter, site: NodeId) -> Vec<Cycle> {
        self.waiters.insert(waiter.tx, waiter);
        let closed = self.graph.add(Vertex::Tx(waiter.tx), Vertex::Resource(waiter.name));
        self.cycles(closed, site)
    }

    /// It ceases to. Says whether it did wait by this request.
    pub(super) fn ceases(&mut self, tx: Tx, label: u64, site: NodeId) -> Option<Vec<Cycle>> {
        let waiter = *self.waiters.get(&tx).filter(|waiter| waiter.label == label)?;
        self.waiters.remove(&tx);
        let left = self.graph.remove(Vertex::Tx(tx), Vertex::Resource(waiter.name));
        Some(self.cycles(left, site))
    }

    /// A resource changes hands.
    pub(super) fn holds(&mut self, name: u32, holder: Option<Tx>, site: NodeId) -> Vec<Cycle> {
        let mut found = Vec::new();
        if let Some(last) = self.holders.remove(&name) {
            found.extend(self.graph.remove(Vertex::Resource(name), Vertex::Tx(last)));
        }
        if let Some(holder) = holder {
            self.holders.insert(name, holder);
            found.extend(self.graph.add(Vertex::Resource(name), Vertex::Tx(holder)));
        }
        self.cycles(found, site)
    }

    /// A transaction waits at another site. Notes of different sites may overtake each other; the
    /// latest request is the one that it waits by.
    pub(super) fn goes(&mut self, tx: Tx, absence: Absence) {
        let known = self.away.entry(tx).or_insert(absence);
        if known.label < absence.label {
            *known = absence;
        }
    }

    /// It does not any more, by this request.
    pub(super) fn comes_back(&mut self, tx: Tx, label: u64) {
        if self.away.get(&tx).is_some_and(|absence| absence.label == label) {
            self.away.remove(&tx);
        }
    }

    /// The transaction, if it waits here.
    pub(super) fn waiter(&self, tx: Tx) -> Option<&Waiter> {
        self.waiters.get(&tx)
    }

    /// Where a transaction waits, if not here.
    pub(super) fn absence(&self, tx: Tx) -> Option<Absence> {
        self.away.get(&tx).copied()
    }

    /// The edges to and from P_ex, which stands for all other sites: who may be waited for there,
    /// and who waits there.
    pub(super) fn outside(&self) -> Vec<Item> {
        let elsewhere = self.waiters.values().filter(|waiter| waiter.elsewhere);
        let away = self.away.iter().map(|(tx, absence)| {
            Item::edge(tx, "P_ex").note(format!("at S{}", absence.at.number()))
        });
        let into = elsewhere.map(|waiter| Item::edge("P_ex", waiter.tx));
        let edges: Vec<Item> = into.chain(away).collect();
        let mark = (!edges.is_empty()).then(|| Item::new("P_ex").tone(Tone::Faint));
        edges.into_iter().chain(mark).collect()
    }

    /// The edge of a transaction that waits here.
    fn edge(&self, tx: Tx, site: NodeId) -> Option<Edge> {
        let waiter = self.waiters.get(&tx)?;
        Some(Edge {
            waiter: tx,
            begun: waiter.begun,
            label: waiter.label,
            holder: *self.holders.get(&waiter.name)?,
            resource: Resource { site, name: waiter.name },
        })
    }

    /// The holder that a transaction waits for here, the one that this holder waits for, and so on, up to one that does
    /// not wait here, or has been on the way already.
    pub(super) fn chain(&self, from: Tx, site: NodeId) -> Vec<Edge> {
        let mut chain = Vec::new();
        let mut seen = SortedSet::from([from]);
        let mut last = from;
        while let Some(edge) = self.edge(last, site) {
            chain.push(edge);
            last = edge.holder;
            if !seen.insert(last) {
                break;
            }
        }
        chain
    }

    /// All that wait here for this transaction, or for one that does, and so on; and itself, if it
    /// waits here.
    pub(super) fn upstream(&self, tx: Tx) -> Vec<Waiter> {
        let mut seen = SortedSet::from([tx]);
        let mut open = vec![tx];
        let mut found = Vec::new();
        while let Some(tx) = open.pop() {
            found.extend(self.waiters.get(&tx));
            for resource in self.graph.before(Vertex::Tx(tx)) {
                for vertex in self.graph.before(resource) {
                    if let Vertex::Tx(tx) = vertex
                        && seen.insert(tx)
                    {
                        open.push(tx);
                    }
                }
            }
        }
        found
    }

    /// Cycles of the graph in terms of edges.
    fn cycles(&self, found: impl IntoIterator<Item = Vec<Vertex>>, site: NodeId) -> Vec<Cycle> {
        found.into_iter().filter_map(|vertices| self.cycle(&vertices, site)).collect()
    }

    fn cycle(&self, vertices: &[Vertex], site: NodeId) -> Option<Cycle> {
        let next = vertices.iter().cycle().skip(1);
        let mut edges = Vec::new();
        for (vertex, next) in vertices.iter().zip(next) {
            if let (Vertex::Tx(tx), Vertex::Resource(_)) = (vertex, next) {
                edges.push(self.edge(*tx, site)?);
            }
        }
        Cycle::new(edges)
    }
}
