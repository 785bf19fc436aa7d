//! The state as a replicated log carries it: commands, and snapshots in parts.
//!
//! A part is one entry: a session, a request, an answer, a role, a change, a candidate, a deadlock. So no
//! part is larger than the largest request or the longest deadlock, and a snapshot needs no copy of the whole.
//! Parts have one order, which [`Cursor`] has too; a receiver takes them in that order only, and the first
//! part says how many there are. So parts that are missing, repeated or shuffled are noticed.
//!
//! Some things are in no part, because they follow from others: locks and their queues follow from
//! requests and the order of their coming, and the roles of a session from candidates.

use crate::command::{
    Answer, Command, Deadlock, LONGEST_TTL_MS, Limits, Mode, OnDeadlock, Outcome, Policy, Refusal,
    RoleChange, Stamp,
};
use crate::ids::{Number, Secret, SessionId, Token};
use crate::lock::Lock;
use crate::role::{CHANGES_KEPT, Candidate, Role};
use crate::session::{Claim, Session};
use crate::state::{Coordination, DEADLOCKS_KEPT};
use bellwether_core::{Machine, Unsound};
use postcard::ser_flavors::Size;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// One piece of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Part {
    /// What there is once. It comes first.
    Head {
        /// How much is served.
        limits: Limits,
        /// What is done about deadlocks.
        on_deadlock: OnDeadlock,
        /// The last token that was given.
        token: Token,
        /// The last session that was begun.
        opened: u64,
        /// How many requests for locks there have been.
        asked: u64,
        /// The memory that the state takes, as the sender counts it. Another version may count otherwise.
        bytes: u64,
        /// How many parts follow.
        follow: u64,
    },
    /// A deadlock that is remembered.
    Deadlock {
        /// Its place among them, from 0 for the oldest.
        place: u32,
        /// What happened.
        deadlock: Arc<Deadlock>,
    },
    /// A session, without its requests, answers and roles.
    Session {
        /// Its name.
        id: SessionId,
        /// What the client drew for it.
        key: Secret,
        /// What the client calls itself.
        client: String,
        /// How long it outlives the last that was heard of the client.
        ttl_ms: u64,
        /// When it began.
        since: Stamp,
        /// Requests below this number are over.
        forgotten: Number,
    },
    /// A request that holds locks or waits for them.
    Claim {
        /// Whose.
        session: SessionId,
        /// Its number.
        number: Number,
        /// What it is for.
        claim: Claim,
    },
    /// An answer that the client may not have got.
    Answer {
        /// Whose.
        session: SessionId,
        /// To which request.
        number: Number,
        /// What it says.
        answer: Result<Answer, Refusal>,
    },
    /// A role, without its changes and candidates.
    Role {
        /// Its name.
        name: String,
        /// How it is filled.
        policy: Policy,
        /// Its leader, and by which token.
        leader: Option<(SessionId, Token)>,
        /// Whether the leader was asked to yield.
        preempt_requested: bool,
    },
    /// A change of a role, which it names.
    Change {
        /// Its place in the role's history, from 0 for the oldest.
        place: u32,
        /// What changed.
        change: RoleChange,
    },
    /// A candidate of a role.
    Candidate {
        /// The role.
        role: String,
        /// Its place among the candidates, from 0.
        place: u32,
        /// The candidate.
        candidate: Candidate,
    },
}

/// Where a part is. Cursors are ordered as parts are.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cursor {
    /// The head.
    #[default]
    Head,
    /// The deadlock at this place.
    Deadlock(u32),
    /// This part of a session.
    Session(SessionId, OfSession),
    /// This part of a role.
    Role(String, OfRole),
}

/// Where a part of a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OfSession {
    /// The session itself.
    Itself,
    /// The request of this number, if it holds or waits.
    Claim(Number),
    /// The answer to the request of this number.
    Answer(Number),
}

/// Where a part of a role is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OfRole {
    /// The role itself.
    Itself,
    /// The change at this place.
    Change(u32),
    /// The candidate at this place.
    Candidate(u32),
}

/// What the head said of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Filling {
    /// How many parts are still to come.
    left: u64,
}

impl Part {
    /// Where it is.
    pub fn cursor(&self) -> Cursor {
        match self {
            Part::Head { .. } => Cursor::Head,
            Part::Deadlock { place, .. } => Cursor::Deadlock(*place),
            Part::Session { id, .. } => Cursor::Session(*id, OfSession::Itself),
            Part::Claim { session, number, .. } => {
                Cursor::Session(*session, OfSession::Claim(*number))
            }
            Part::Answer { session, number, .. } => {
                Cursor::Session(*session, OfSession::Answer(*number))
            }
            Part::Role { name, .. } => Cursor::Role(name.clone(), OfRole::Itself),
            Part::Change { place, change } => {
                Cursor::Role(change.role.clone(), OfRole::Change(*place))
            }
            Part::Candidate { role, place, .. } => {
                Cursor::Role(role.clone(), OfRole::Candidate(*place))
            }
        }
    }
}

/// How many bytes postcard writes for a value, without writing it.
fn encoded<T: Serialize>(value: &T) -> usize {
    // It fails only for types that have no length beforehand, and there are none.
    postcard::serialize_with_flavor(value, Size::default()).unwrap_or(usize::MAX)
}

impl Machine for Coordination {
    type Command = Command;
    type Outcome = Outcome;
    type Part = Part;
    type Cursor = Cursor;

    fn apply(&mut self, command: &Command) -> Vec<Outcome> {
        Coordination::apply(self, command)
    }

    fn weight(command: &Command) -> usize {
        encoded(command)
    }

    fn part_weight(part: &Part) -> usize {
        encoded(part)
    }

    fn cut(&self, from: &Cursor, budget: usize) -> (Vec<Part>, Option<Cursor>) {
        let (mut parts, mut bytes) = (Vec::new(), 0_usize);
        for part in self.parts(from) {
            bytes = bytes.saturating_add(encoded(&part));
            if bytes > budget && !parts.is_empty() {
                return (parts, Some(part.cursor()));
            }
            parts.push(part);
        }
        (parts, None)
    }

    fn absorb(&mut self, parts: Vec<Part>) -> Result<(), Unsound> {
        parts.into_iter().try_for_each(|part| self.take_in(part))
    }

    fn complete(mut self) -> Result<Self, Unsound> {
        let Filling { left } = self.filling.take().ok_or(Unsound("the head is missing"))?;
        if left > 0 {
            return Err(Unsound("parts are missing"));
        }
        self.derive_roles()?;
        self.derive_keys();
        self.derive_locks();
        if let Some(flaw) = self.flaw() {
            return Err(Unsound(flaw));
        }
        self.derive();
        self.bytes = self.count_bytes();
        Ok(self)
    }

    /// Clients rely on their sessions.
    fn longest_ttl(&self) -> Duration {
        Duration::from_millis(self.longest_ttl_ms().unwrap_or_default())
    }

    fn ttl_of(command: &Command) -> Duration {
        match command {
            // A longer one is refused.
            Command::Open { ttl_ms, .. } => Duration::from_millis((*ttl_ms).min(LONGEST_TTL_MS)),
            Command::Begin { .. }
            | Command::Ask { .. }
            | Command::End { .. }
            | Command::Force { .. } => Duration::ZERO,
        }
    }
}

/// The sender.
impl Coordination {
    /// The parts from this cursor on. Where nothing is, the next part comes.
    fn parts<'a>(&'a self, from: &'a Cursor) -> impl Iterator<Item = Part> + 'a {
        let head = (*from == Cursor::Head).then(|| self.head());
        self.deadlock_parts(from, head).chain(self.session_parts(from)).chain(self.role_parts(from))
    }

    fn head(&self) -> Part {
        let Coordination { limits, on_deadlock, token, opened, asked, bytes, .. } = *self;
        let of_session =
            |session: &Arc<Session>| 1 + session.requests.len() + session.answers.len();
        let of_role = |role: &Arc<Role>| 1 + role.history.len() + role.candidates.len();
        let sessions: usize = self.sessions.values().map(of_session).sum();
        let roles: usize = self.roles.values().map(of_role).sum();
        let follow = (self.deadlocks.len() + sessions + roles) as u64;
        Part::Head { limits, on_deadlock, token, opened, asked, bytes, follow }
    }

    fn deadlock_parts(&self, from: &Cursor, head: Option<Part>) -> impl Iterator<Item = Part> {
        let first = match from {
            Cursor::Head => 0,
            Cursor::Deadlock(place) => *place as usize,
            Cursor::Session(..) | Cursor::Role(..) => usize::MAX,
        };
        let deadlocks = self.deadlocks.iter().enumerate().skip(first);
        head.into_iter().chain(deadlocks.map(|(place, deadlock)| Part::Deadlock {
            place: place as u32,
            deadlock: Arc::clone(deadlock),
        }))
    }

    fn session_parts(&self, from: &Cursor) -> impl Iterator<Item = Part> {
        let (first, at) = match from {
            Cursor::Head | Cursor::Deadlock(_) => (Some(SessionId(0)), OfSession::Itself),
            Cursor::Session(id, at) => (Some(*id), *at),
            Cursor::Role(..) => (None, OfSession::Itself),
        };
        let sessions = first.into_iter().flat_map(|first| self.sessions.range_from(&first));
        sessions.flat_map(move |(id, session)| {
            let at = if Some(*id) == first { at } else { OfSession::Itself };
            session.parts(*id, at)
        })
    }

    fn role_parts<'a>(&'a self, from: &'a Cursor) -> impl Iterator<Item = Part> + 'a {
        let (first, at) = match from {
            Cursor::Head | Cursor::Deadlock(_) | Cursor::Session(..) => ("", OfRole::Itself),
            Cursor::Role(name, at) => (name.as_str(), *at),
        };
        let roles = self.roles.range::<str, _>((Bound::Included(first), Bound::Unbounded));
        roles.flat_map(move |(name, role)| {
            let at = if **name == *first { at } else { OfRole::Itself };
            role.parts(name, at)
        })
    }
}

impl Session {
    fn parts(&self, id: SessionId, from: OfSession) -> impl Iterator<Item = Part> {
        let itself = (from == OfSession::Itself).then(|| Part::Session {
            id,
            key: self.key,
            client: self.client.to_string(),
            ttl_ms: self.ttl_ms,
            since: self.since,
            forgotten: self.forgotten,
        });
        let (claim, answer) = match from {
            OfSession::Itself => (Some(0), 0),
            OfSession::Claim(number) => (Some(number), 0),
            OfSession::Answer(number) => (None, number),
        };
        let claims = claim.into_iter().flat_map(|first| self.requests.range_from(&first));
        let claims = claims.map(move |(number, claim)| Part::Claim {
            session: id,
            number: *number,
            claim: claim.clone(),
        });
        let answers = self.answers.range_from(&answer).map(move |(number, answer)| Part::Answer {
            session: id,
            number: *number,
            answer: answer.clone(),
        });
        itself.into_iter().chain(claims).chain(answers)
    }
}

impl Role {
    fn parts<'a>(&'a self, name: &'a str, from: OfRole) -> impl Iterator<Item = Part> + 'a {
        let itself = (from == OfRole::Itself).then(|| Part::Role {
            name: name.to_owned(),
            policy: self.policy,
            leader: self.leader,
            preempt_requested: self.preempt_requested,
        });
        let (change, candidate) = match from {
            OfRole::Itself => (0, 0),
            OfRole::Change(place) => (place as usize, 0),
            OfRole::Candidate(place) => (usize::MAX, place as usize),
        };
        let changes = self.history.iter().enumerate().skip(change);
        let changes = changes
            .map(|(place, change)| Part::Change { place: place as u32, change: change.clone() });
        let candidates = self.candidates.iter().enumerate().skip(candidate);
        let candidates = candidates.map(move |(place, candidate)| Part::Candidate {
            role: name.to_owned(),
            place: place as u32,
            candidate: candidate.clone(),
        });
        itself.into_iter().chain(changes).chain(candidates)
    }
}

/// What is said of a part that does not follow the one before it.
const DISORDER: Unsound = Unsound("parts are not in their order");

fn in_order(holds: bool) -> Result<(), Unsound> {
    if holds { Ok(()) } else { Err(DISORDER) }
}

/// The receiver.
impl Coordination {
    /// Adds the next part. What came last is the last entry of the state, so the order shows.
    fn take_in(&mut self, part: Part) -> Result<(), Unsound> {
        let part = match part {
            Part::Head { limits, on_deadlock, token, opened, asked, bytes: _, follow } => {
                in_order(self.filling.is_none() && *self == Coordination::default())?;
                (self.limits, self.on_deadlock) = (limits, on_deadlock);
                (self.token, self.opened, self.asked) = (token, opened, asked);
                self.filling = Some(Filling { left: follow });
                return Ok(());
            }
            part => part,
        };
        let filling = self.filling.as_mut().ok_or(DISORDER)?;
        filling.left = filling.left.checked_sub(1).ok_or(Unsound("more parts than announced"))?;
        match part {
            // Taken above.
            Part::Head { .. } => return Err(DISORDER),
            Part::Deadlock { place, deadlock } => {
                in_order(self.sessions.is_empty() && self.roles.is_empty())?;
                in_order(place as usize == self.deadlocks.len())?;
                if self.deadlocks.len() == DEADLOCKS_KEPT {
                    return Err(Unsound("more deadlocks than are remembered"));
                }
                self.deadlocks.push_back(deadlock);
            }
            Part::Session { id, key, client, ttl_ms, since, forgotten } => {
                let last = self.sessions.last_key_value();
                in_order(self.roles.is_empty() && last.is_none_or(|(last, _)| *last < id))?;
                let (requests, roles, answers) = Default::default();
                let session = Session {
                    key,
                    client: client.into(),
                    ttl_ms,
                    since,
                    requests,
                    roles,
                    answers,
                    forgotten,
                    content: 0,
                };
                self.sessions.insert(id, Arc::new(session));
            }
            Part::Claim { session: id, number, claim } => {
                let session = self.last_session(id)?;
                let last = session.requests.last_key_value();
                in_order(last.is_none_or(|(last, _)| *last < number))?;
                in_order(session.answers.is_empty())?;
                session.add_claim(number, claim);
            }
            Part::Answer { session: id, number, answer } => {
                let session = self.last_session(id)?;
                let last = session.answers.last_key_value();
                in_order(last.is_none_or(|(last, _)| *last < number))?;
                if number < session.forgotten {
                    return Err(Unsound("an answer that was forgotten"));
                }
                session.keep_answer(number, answer);
            }
            Part::Role { name, policy, leader, preempt_requested } => {
                let last = self.roles.last_key_value();
                in_order(last.is_none_or(|(last, _)| **last < *name))?;
                let role = Role { leader, preempt_requested, ..Role::new(policy) };
                self.roles.insert(name.into(), Arc::new(role));
            }
            Part::Change { place, change } => {
                let role = self.last_role(&change.role)?;
                in_order(place as usize == role.history.len() && role.candidates.is_empty())?;
                if role.history.len() == CHANGES_KEPT {
                    return Err(Unsound("more changes than are remembered"));
                }
                role.add_change(change);
            }
            Part::Candidate { role, place, candidate } => {
                let role = self.last_role(&role)?;
                in_order(place as usize == role.candidates.len())?;
                role.add_candidate(candidate);
            }
        }
        Ok(())
    }

    fn last_session(&mut self, id: SessionId) -> Result<&mut Session, Unsound> {
        in_order(self.roles.is_empty())?;
        in_order(self.sessions.last_key_value().is_some_and(|(last, _)| *last == id))?;
        self.sessions.get_mut(&id).map(Arc::make_mut).ok_or(DISORDER)
    }

    fn last_role(&mut self, name: &str) -> Result<&mut Role, Unsound> {
        let last = self.roles.last_entry().filter(|last| **last.key() == *name);
        last.map(|last| Arc::make_mut(last.into_mut())).ok_or(DISORDER)
    }

    /// The roles of sessions follow from the candidates.
    fn derive_roles(&mut self) -> Result<(), Unsound> {
        for (name, role) in &self.roles {
            for candidate in &role.candidates {
                let session = self.sessions.get_mut(&candidate.session);
                let session = session.ok_or(Unsound("a candidate without a session"))?;
                Arc::make_mut(session).add_role(name.clone(), candidate.number);
            }
        }
        Ok(())
    }

    fn derive_keys(&mut self) {
        self.keys = self.sessions.iter().map(|(id, session)| (session.key, *id)).collect();
    }

    /// Locks follow from the requests: those with a token hold, the others wait in the order of their
    /// coming.
    fn derive_locks(&mut self) {
        let mut locks: BTreeMap<Arc<str>, Lock> = BTreeMap::new();
        let mut waiting = Vec::new();
        for (id, session) in &self.sessions {
            for (number, claim) in &session.requests {
                if claim.token.is_none() {
                    waiting.push((claim.order, *id, *number, claim));
                    continue;
                }
                for want in &claim.wants {
                    let lock = place_at(&mut locks, &want.name, want.mode);
                    lock.holders.insert(*id, (*number, want.mode));
                }
            }
        }
        waiting.sort_unstable_by_key(|(order, id, number, _)| (*order, *id, *number));
        for (_, id, number, claim) in waiting {
            for want in &claim.wants {
                let lock = place_at(&mut locks, &want.name, want.mode);
                lock.queue.push_back((id, number, want.mode));
            }
        }
        self.locks = locks.into_iter().map(|(name, lock)| (name, Arc::new(lock))).collect();
    }
}

/// The lock of this name, which a request holds or wants in this mode.
fn place_at<'l>(
    locks: &'l mut BTreeMap<Arc<str>, Lock>,
    name: &Arc<str>,
    mode: Mode,
) -> &'l mut Lock {
    let lock = locks.entry(name.clone()).or_default();
    if let Mode::Permits { of, .. } = mode {
        lock.permits = of;
    }
    lock
}
