//! The wait-for graph, and what happens when sessions wait in a cycle.
//!
//! In the queue of a lock each waits for the one before it, and the first one for the holders that
//! are in its way. Those are edges between sessions; [`WaitForGraph`] notices when one closes a
//! cycle. Only a new request can do that: a session that is granted a lock is, as a holder, where it
//! stood as the first of the queue.
//!
//! The first that does not share has edges to the holders, too: those before it may share the lock with
//! them and wait for something else.
//!
//! A semaphore is different. Its first waiter has an edge to every holder, but does not need all of
//! them to go away. So a cycle is only a reason to look ([`stuck`](crate::stuck)). What is decided follows from the locks alone, never from how the graph came about:
//! members that have applied the commands and those that have got a copy decide alike.

use crate::command::{Deadlock, Mode, OnDeadlock, Outcome, Refusal, Stamp, WAITS_KEPT, Wait, Want};
use crate::ids::{Number, SessionId};
use crate::lock::Lock;
use crate::state::Coordination;
use crate::stuck::{WayBack, unwind};
use bellwether_core::WaitForGraph;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The edges. They follow from the locks, so they are neither compared nor sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    graph: WaitForGraph<SessionId>,
}

impl PartialEq for Waits {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Waits {}

impl Hash for Waits {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Waits {
    /// Adds the edges of the one at this place.
    fn link(&mut self, lock: &Lock, place: usize) {
        let Some((waiter, ..)) = lock.queue.get(place) else { return };
        for other in lock.waits_for(place) {
            self.graph.add(*waiter, other);
        }
    }

    /// Takes them away again.
    fn unlink(&mut self, lock: &Lock, place: usize) {
        let Some((waiter, ..)) = lock.queue.get(place) else { return };
        for other in lock.waits_for(place) {
            self.graph.remove(*waiter, other);
        }
    }

    /// A session begins to wait.
    pub(crate) fn push(&mut self, lock: &mut Lock, waiter: (SessionId, Number, Mode)) {
        lock.queue.push_back(waiter);
        self.link(lock, lock.queue.len() - 1);
    }

    /// The first in the queue gets the lock.
    pub(crate) fn admit(&mut self, lock: &mut Lock) {
        self.take_out(lock, 0, true);
    }

    /// A session stops waiting.
    pub(crate) fn remove_waiter(&mut self, lock: &mut Lock, id: SessionId, number: Number) {
        let is_it = |waiter: &(SessionId, Number, Mode)| (waiter.0, waiter.1) == (id, number);
        let place = lock.queue.iter().position(is_it);
        if let Some(place) = place {
            self.take_out(lock, place, false);
        }
    }

    /// Takes the one at this place out of the queue, and makes it a holder if it is granted the lock.
    /// Whom others wait for changes by that for the one behind it; and for the first that does not
    /// share, if that is another one now or has a new holder before it.
    fn take_out(&mut self, lock: &mut Lock, place: usize, granted: bool) {
        let alone = lock.first_alone(Some(place));
        let changes = granted || lock.first_alone(None) != alone;
        let places = [Some(place), Some(place + 1), alone.filter(|_| changes)];
        let places: BTreeSet<usize> = places.into_iter().flatten().collect();
        for place in &places {
            self.unlink(lock, *place);
        }
        if let Some((session, number, mode)) = lock.queue.remove(place)
            && granted
        {
            lock.holders.insert(session, (number, mode));
        }
        // They have moved up by one.
        for stays in places.iter().filter(|stays| **stays > place) {
            self.link(lock, stays - 1);
        }
    }

    /// A session releases the lock.
    pub(crate) fn remove_holder(&mut self, lock: &mut Lock, id: SessionId, number: Number) {
        if lock.holders.get(&id).is_none_or(|(by, _)| *by != number) {
            return;
        }
        let Some((_, held)) = lock.holders.remove(&id) else { return };
        let faces_holders = BTreeSet::from_iter([Some(0), lock.first_alone(None)]);
        for place in faces_holders.into_iter().flatten() {
            if let Some((waiter, _, mode)) = lock.queue.get(place)
                && mode.excludes(held)
            {
                self.graph.remove(*waiter, id);
            }
        }
    }

    /// Whether this one may be in a cycle: there is one, and a session waits for this one.
    fn may_close(&self, id: SessionId) -> bool {
        self.graph.has_cycle() && self.graph.is_led_to(id)
    }
}

impl Coordination {
    /// The state with all that follows from it, after a journey that left that behind.
    pub fn restored(mut self) -> Self {
        for session in self.sessions.values_mut() {
            Arc::make_mut(session).recount();
        }
        for role in self.roles.values_mut() {
            Arc::make_mut(role).recount();
        }
        self.bytes = self.count_bytes();
        self.derive();
        self
    }

    /// Finds what follows from sessions, locks and roles.
    pub(crate) fn derive(&mut self) {
        self.ttls.clear();
        for session in self.sessions.values() {
            *self.ttls.entry(session.ttl_ms).or_default() += 1;
        }
        self.waits = Waits::default();
        for lock in self.locks.values() {
            for place in 0..lock.queue.len() {
                self.waits.link(lock, place);
            }
        }
        self.find_idle();
    }

    /// The wait-for graph as it is now, lock by lock: who waits, for whom, and because of which
    /// lock. Each waits for the one before it in the queue, the first one for the holders in its
    /// way.
    pub fn waits_for(&self) -> impl Iterator<Item = (SessionId, SessionId, &str)> {
        // Most of the time no session waits, and a hundred thousand locks need not be looked at.
        let locks = (!self.waits.graph.is_empty()).then_some(&self.locks);
        locks.into_iter().flatten().flat_map(|(name, lock)| {
            let places = lock.queue.iter().enumerate();
            let edges = places.flat_map(|(place, (waiter, ..))| {
                lock.waits_for(place).into_iter().map(|other| (*waiter, other))
            });
            edges.map(|(waiter, other)| (waiter, other, &**name))
        })
    }

    /// Looks whether a request that has come to wait has closed a cycle. Before it came, no session was
    /// stuck except in cycles that were only reported; so a session that is stuck now waits for this one, and
    /// this is the youngest request of the cycle.
    pub(crate) fn find_deadlock(&self, id: SessionId, at: Stamp) -> Option<Deadlock> {
        if !self.waits.may_close(id) {
            return None;
        }
        let mut cycle = match self.way_back(id) {
            WayBack::Found(cycle) => cycle,
            WayBack::None => return None,
            WayBack::Unsure => self.cycle(id, &self.stuck_with(id))?,
        };
        cycle.truncate(WAITS_KEPT);
        let aborted = (self.on_deadlock == OnDeadlock::Abort).then_some(id);
        Some(Deadlock { cycle, aborted, at })
    }

    /// Does something about a deadlock that this request of its victim has closed.
    pub(crate) fn resolve(&mut self, deadlock: Deadlock, number: Number, said: &mut Vec<Outcome>) {
        self.remember(deadlock.clone(), said);
        if let Some(id) = deadlock.aborted {
            self.abort(id, number, Refusal::Deadlock(deadlock), said);
        }
    }

    /// The shortest way back to a session along those that are stuck: each with what it waits for
    /// behind the next.
    fn cycle(&self, id: SessionId, stuck: &BTreeSet<SessionId>) -> Option<Vec<Wait>> {
        let mut from: BTreeMap<SessionId, Wait> = BTreeMap::new();
        let mut open = VecDeque::from([id]);
        while let Some(next) = open.pop_front() {
            for (wait, other) in self.held_up(next, stuck) {
                if from.contains_key(&other) {
                    continue;
                }
                from.insert(other, wait);
                if other == id {
                    return Some(unwind(&from, id));
                }
                open.push_back(other);
            }
        }
        None
    }

    /// What of that which a session waits for is held up by one that is stuck, and by whom: by the
    /// nearest of those before it or, if there is none, by the holders in its way.
    fn held_up(&self, id: SessionId, stuck: &BTreeSet<SessionId>) -> Vec<(Wait, SessionId)> {
        let Some(session) = self.sessions.get(&id) else { return Vec::new() };
        let mut found = Vec::new();
        for (number, request) in session.waiting() {
            for Want { name, mode } in &request.wants {
                let Some(lock) = self.locks.get(&**name) else { continue };
                let before = lock.queue.iter().take_while(|(waiter, ..)| *waiter != id);
                let before = before.map(|(waiter, ..)| *waiter).filter(|id| stuck.contains(id));
                let others = match before.last() {
                    Some(before) => vec![before],
                    None => lock.in_the_way(*mode).filter(|id| stuck.contains(id)).collect(),
                };
                let (client, lock) = (session.client.to_string(), name.to_string());
                let wait = Wait { session: id, client, lock, number, since: request.since };
                found.extend(others.into_iter().map(|other| (wait.clone(), other)));
            }
        }
        found
    }
}
