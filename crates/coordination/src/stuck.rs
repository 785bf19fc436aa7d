//! Which sessions are stuck, and in which cycle.
//!
//! A session that waits for a lock waits for all requests ahead in the queue and for all holders in its way; a
//! way back to itself along such edges is a deadlock without any doubt, and most are found like this.
//! Only the holders of a semaphore are different: it is enough that some of them go. Where the search
//! meets such an edge it has to be found out who could still go on.
//!
//! Nothing here depends on anything but the locks and their queues, and each queue is gone through
//! once, however many wait in it.

use crate::command::{Mode, Wait, Want};
use crate::ids::{Number, SessionId};
use crate::lock::Lock;
use crate::state::Coordination;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// A way back to where one began, each with what it waits for behind the next.
pub(crate) enum WayBack {
    /// There is a cycle on which every session needs the next.
    Found(Vec<Wait>),
    /// There is none.
    None,
    /// There is none, but semaphores were met.
    Unsure,
}

/// How far queues have been gone through.
#[derive(Default)]
struct Reached<'a> {
    /// The number from the front of each queue, and the sessions.
    fronts: BTreeMap<&'a str, usize>,
    waiters: BTreeSet<(&'a str, SessionId)>,
    /// The locks whose holders were looked at, by one who shares or by one who does not.
    holders: BTreeSet<(&'a str, bool)>,
}

impl<'a> Reached<'a> {
    /// The part of the queue before this session that was not gone through yet. Nothing, if all of it
    /// was.
    fn before(&mut self, name: &'a str, lock: &Lock, id: SessionId) -> Option<Range<usize>> {
        if self.waiters.contains(&(name, id)) {
            return None;
        }
        let front = self.fronts.entry(name).or_default();
        let from = *front;
        let ahead = lock.queue.range(from..).position(|(waiter, ..)| *waiter == id)?;
        *front = from + ahead + 1;
        let part = lock.queue.range(from..*front);
        self.waiters.extend(part.map(|(waiter, ..)| (name, *waiter)));
        Some(from..from + ahead)
    }

    /// Whether the holders of this lock have not been looked at yet by one who wants it like this.
    fn faces_holders(&mut self, name: &'a str, mode: Mode) -> bool {
        self.holders.insert((name, mode == Mode::Shared))
    }
}

impl Coordination {
    /// Looks for the way back to a session along edges each of which must go away.
    pub(crate) fn way_back(&self, id: SessionId) -> WayBack {
        let mut from: BTreeMap<SessionId, Wait> = BTreeMap::new();
        let (mut reached, mut unsure) = (Reached::default(), false);
        let mut open = VecDeque::from([id]);
        while let Some(next) = open.pop_front() {
            for (number, Want { name, mode }) in self.wants_of(next) {
                let Some(lock) = self.locks.get(&**name) else { continue };
                let mut edges = Vec::new();
                if let Some(part) = reached.before(name, lock, next) {
                    // Each waits for the one before it, also the last of those who were there before.
                    let places = (part.start.max(1)..=part.end).rev();
                    edges.extend(places.map(|place| {
                        let (waiter, number, _) = lock.queue[place];
                        (waiter, number, lock.queue[place - 1].0)
                    }));
                }
                if let Mode::Permits { .. } = mode {
                    unsure |= !lock.holders.is_empty();
                } else if reached.faces_holders(name, *mode) {
                    edges.extend(lock.in_the_way(*mode).map(|holder| (next, number, holder)));
                }
                for (waiter, number, other) in edges {
                    if from.contains_key(&other) {
                        continue;
                    }
                    let Some(wait) = self.wait_of(waiter, number, name) else { continue };
                    from.insert(other, wait);
                    if other == id {
                        return WayBack::Found(unwind(&from, id));
                    }
                    open.push_back(other);
                }
            }
        }
        if unsure { WayBack::Unsure } else { WayBack::None }
    }

    /// What a session waits for, request by request.
    fn wants_of(&self, id: SessionId) -> impl Iterator<Item = (Number, &Want)> {
        let session = self.sessions.get(&id).into_iter();
        let waiting = session.flat_map(|session| session.waiting());
        waiting.flat_map(|(number, claim)| claim.wants.iter().map(move |want| (number, want)))
    }

    fn wait_of(&self, id: SessionId, number: Number, lock: &str) -> Option<Wait> {
        let session = self.sessions.get(&id)?;
        let since = session.requests.get(&number)?.since;
        let (client, lock) = (session.client.to_string(), lock.to_owned());
        Some(Wait { session: id, client, lock, number, since })
    }
}

/// The way back from a session to itself, by whom each was found.
pub(crate) fn unwind(from: &BTreeMap<SessionId, Wait>, id: SessionId) -> Vec<Wait> {
    let mut way: Vec<Wait> = Vec::new();
    let mut last = id;
    while let Some(wait) = from.get(&last) {
        last = wait.session;
        way.push(wait.clone());
        if last == id {
            break;
        }
    }
    way.reverse();
    way
}

/// The sessions that are not yet known to be able to proceed.
struct Left<'a> {
    sessions: BTreeSet<SessionId>,
    /// The number from the front of each queue that can go on.
    heads: BTreeMap<&'a str, usize>,
}

impl<'a> Left<'a> {
    /// The first in the queue that is left.
    fn head(&mut self, name: &'a str, lock: &Lock) -> Option<SessionId> {
        let head = self.heads.entry(name).or_default();
        while let Some((waiter, ..)) = lock.queue.get(*head) {
            if self.sessions.contains(waiter) {
                return Some(*waiter);
            }
            *head += 1;
        }
        None
    }
}

impl Coordination {
    /// This session and those it waits for, directly or not, that nothing which others can do by
    /// themselves lets go on. Empty, if this one can.
    ///
    /// A session that waits for nothing can proceed, and will in the end release what it has; so can a session that
    /// waits only for such. Who is left is stuck.
    pub(crate) fn stuck_with(&self, id: SessionId) -> BTreeSet<SessionId> {
        let mut left = Left { sessions: self.all_ahead_of(id), heads: BTreeMap::new() };
        let mut open: Vec<SessionId> = left.sessions.iter().copied().collect();
        while let Some(next) = open.pop() {
            if !left.sessions.contains(&next) || !self.could_go_on(next, &mut left) {
                continue;
            }
            if next == id {
                return BTreeSet::new();
            }
            left.sessions.remove(&next);
            // Where it held or waited, the next one may go on now.
            let claims = self.sessions.get(&next).into_iter().flat_map(|it| it.requests.values());
            for Want { name, .. } in claims.flat_map(|claim| &claim.wants) {
                let head = self.locks.get(&**name).and_then(|lock| left.head(name, lock));
                open.extend(head);
            }
        }
        left.sessions
    }

    /// This session and all that it waits for, directly or not.
    fn all_ahead_of(&self, id: SessionId) -> BTreeSet<SessionId> {
        let mut ahead = BTreeSet::from([id]);
        let mut reached = Reached::default();
        let mut open = vec![id];
        while let Some(next) = open.pop() {
            for (_, Want { name, mode }) in self.wants_of(next) {
                let Some(lock) = self.locks.get(&**name) else { continue };
                let part = reached.before(name, lock, next).unwrap_or_default();
                let waiters = lock.queue.range(part).map(|(waiter, ..)| *waiter);
                let holders = reached.faces_holders(name, *mode).then(|| lock.in_the_way(*mode));
                for other in waiters.chain(holders.into_iter().flatten()) {
                    if ahead.insert(other) {
                        open.push(other);
                    }
                }
            }
        }
        ahead
    }

    /// Whether a session gets all that it waits for, if all release what they have but
    /// those that are left.
    fn could_go_on<'a>(&'a self, id: SessionId, left: &mut Left<'a>) -> bool {
        self.wants_of(id).all(|(_, Want { name, mode })| {
            let Some(lock) = self.locks.get(&**name) else { return true };
            left.head(name, lock) == Some(id) && lock.admits_beside(*mode, &left.sessions)
        })
    }
}

impl Lock {
    /// Whether it can be had like this beside those of its holders that are named.
    fn admits_beside(&self, mode: Mode, stay: &BTreeSet<SessionId>) -> bool {
        let holders = self.holders.iter().filter(|(holder, _)| stay.contains(holder));
        let mut modes = holders.map(|(_, (_, mode))| *mode);
        match mode {
            Mode::Permits { take, .. } => {
                let taken: u32 = modes.map(Mode::permits).sum();
                take <= self.permits.saturating_sub(taken)
            }
            mode => modes.all(|held| !mode.excludes(held)),
        }
    }
}
