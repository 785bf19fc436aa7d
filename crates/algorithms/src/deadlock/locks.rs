//! The locks of one site: each resource has one holder and a queue, first come, first served.

use super::names::{Edge, Resource, Tx};
use bellwether_core::{NodeId, SortedMap, SortedSet};

/// A request that waits, or did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) tx: Tx,
    /// When the transaction began.
    pub(super) begun: u64,
    /// The timestamp of the request.
    pub(super) label: u64,
    /// The other sites where it holds something.
    pub(super) elsewhere: Vec<NodeId>,
}

/// A resource that a transaction holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lock {
    holder: Tx,
    /// By arrival.
    queue: SortedMap<u64, Request>,
}

/// All locks of a site. Resources that no transaction holds are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Locks {
    locks: SortedMap<u32, Lock>,
    /// What each transaction holds here.
    held: SortedMap<Tx, SortedSet<u32>>,
    /// Where each waiting transaction stands.
    waiting: SortedMap<Tx, (u32, u64)>,
    arrivals: u64,
}

impl Locks {
    /// Asks for a resource. If another transaction holds it, the request waits, and this is the holder.
    pub(super) fn request(&mut self, name: u32, request: Request) -> Option<Tx> {
        self.arrivals += 1;
        match self.locks.get_mut(&name) {
            None => {
                self.held.entry(request.tx).or_default().insert(name);
                self.locks.insert(name, Lock { holder: request.tx, queue: SortedMap::new() });
                None
            }
            Some(lock) if lock.holder == request.tx => None,
            Some(lock) => {
                self.waiting.insert(request.tx, (name, self.arrivals));
                let holder = lock.holder;
                lock.queue.insert(self.arrivals, request);
                Some(holder)
            }
        }
    }

    /// Takes back the request of a transaction, if it has one that waits.
    pub(super) fn withdraw(&mut self, tx: Tx) -> Option<Request> {
        let (name, arrival) = self.waiting.remove(&tx)?;
        self.locks.get_mut(&name)?.queue.remove(&arrival)
    }

    /// Gives a resource back, if the transaction holds it. The answer is who has it now.
    pub(super) fn release(&mut self, name: u32, tx: Tx) -> Option<Option<Request>> {
        let lock = self.locks.get_mut(&name).filter(|lock| lock.holder == tx)?;
        if let Some(held) = self.held.get_mut(&tx) {
            held.remove(&name);
            if held.is_empty() {
                self.held.remove(&tx);
            }
        }
        let Some((_, next)) = lock.queue.pop_first() else {
            self.locks.remove(&name);
            return Some(None);
        };
        lock.holder = next.tx;
        self.waiting.remove(&next.tx);
        self.held.entry(next.tx).or_default().insert(name);
        Some(Some(next))
    }

    /// What a transaction holds here.
    pub(super) fn held_by(&self, tx: Tx) -> Vec<u32> {
        self.held.get(&tx).into_iter().flatten().copied().collect()
    }

    /// Whether this edge, of a resource of this site, stands.
    pub(super) fn stands(&self, edge: &Edge) -> bool {
        let request =
            self.waiting.get(&edge.waiter).filter(|(name, _)| *name == edge.resource.name);
        let lock = self.locks.get(&edge.resource.name);
        lock.zip(request).is_some_and(|(lock, (_, arrival))| {
            let label = lock.queue.get(arrival).map(|request| request.label);
            lock.holder == edge.holder && label == Some(edge.label)
        })
    }

    /// All edges of this site.
    pub(super) fn edges(&self, site: NodeId) -> impl Iterator<Item = Edge> + '_ {
        self.locks.iter().flat_map(move |(name, lock)| {
            lock.queue.values().map(move |request| Edge {
                waiter: request.tx,
                begun: request.begun,
                label: request.label,
                holder: lock.holder,
                resource: Resource { site, name: *name },
            })
        })
    }

    /// For whom a transaction waits here.
    pub(super) fn awaited_by(&self, tx: Tx) -> Option<Tx> {
        let (name, _) = self.waiting.get(&tx)?;
        self.locks.get(name).map(|lock| lock.holder)
    }
}
