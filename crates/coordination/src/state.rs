//! The state, and what a command does to it.

use crate::command::{
    Answer, Ask, Command, Deadlock, Ending, LONGEST_TTL_MS, Limits, OnDeadlock, Outcome, Refusal,
    Stamp,
};
use crate::idle::Idle;
use crate::ids::{Number, Secret, SessionId, Token};
use crate::lock::Lock;
use crate::locking::names;
use crate::parts::Filling;
use crate::role::Role;
use crate::session::{Claim, Session};
use crate::shared::SharedMap;
use crate::small::{SmallMap, UsualMap};
use crate::waits::Waits;
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The number of deadlocks that are remembered.
pub(crate) const DEADLOCKS_KEPT: usize = 100;

/// Beyond [`Limits::bytes`] as many answers are remembered for a session, so that a client that only
/// asks and gives back cannot make the state grow.
const ANSWERS_KEPT_WHEN_FULL: usize = 16;

/// All that a coordinator keeps for its clients.
///
/// Values, and large parts of the maps, are shared between copies until one of them changes, so a copy costs little: a
/// snapshot is such a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Coordination {
    pub(crate) limits: Limits,
    pub(crate) on_deadlock: OnDeadlock,
    /// The last token that was given.
    pub(crate) token: Token,
    /// The last session that was begun.
    pub(crate) opened: u64,
    /// How many requests for locks there have been.
    pub(crate) asked: u64,
    pub(crate) sessions: SharedMap<SessionId, Arc<Session>>,
    pub(crate) keys: SharedMap<Secret, SessionId>,
    /// How many sessions have which TTL: it follows from the sessions, so it is not sent.
    #[serde(skip)]
    pub(crate) ttls: BTreeMap<u64, usize>,
    pub(crate) locks: SharedMap<Arc<str>, Arc<Lock>>,
    pub(crate) roles: BTreeMap<Arc<str>, Arc<Role>>,
    /// The roles without candidates.
    #[serde(skip)]
    pub(crate) idle: Idle,
    /// The wait-for graph.
    #[serde(skip)]
    pub(crate) waits: Waits,
    pub(crate) deadlocks: VecDeque<Arc<Deadlock>>,
    /// The memory that all this takes.
    #[serde(skip)]
    pub(crate) bytes: u64,
    /// While it is put together from parts: what the head said of them.
    #[serde(skip)]
    pub(crate) filling: Option<Filling>,
}

impl Coordination {
    /// Carries out a command and tells what came of it, in order.
    pub fn apply(&mut self, command: &Command) -> Vec<Outcome> {
        let mut said = Vec::new();
        match *command {
            Command::Begin { term, limits, on_deadlock } => {
                self.limits = limits;
                self.on_deadlock = on_deadlock;
                self.token = self.token.max(Token::before(term));
                self.opened = self.opened.max(Token::before(term).0);
            }
            Command::Open { key, ref client, ttl_ms, at } => {
                said.push(Outcome::Opened(self.open(key, client, ttl_ms, at), key));
            }
            Command::Ask { session, number, forget_below, ref ask, at } => {
                self.ask(session, number, forget_below, ask, at, &mut said);
            }
            Command::End { session, why, at } => self.end(session, why, at, &mut said),
            Command::Force { ref lock, session, ref by, .. } => {
                self.force(lock, session, by, &mut said);
            }
        }
        said
    }

    /// The sessions.
    pub fn sessions(&self) -> &SharedMap<SessionId, Arc<Session>> {
        &self.sessions
    }

    /// The session that was begun with this key.
    pub fn session_of(&self, key: Secret) -> Option<SessionId> {
        self.keys.get(&key).copied()
    }

    /// Whether there may have been such a session: none that comes will have this name.
    pub fn has_been(&self, id: SessionId) -> bool {
        (1..=self.opened).contains(&id.0)
    }

    /// The locks that are held.
    pub fn locks(&self) -> &SharedMap<Arc<str>, Arc<Lock>> {
        &self.locks
    }

    /// The roles with candidates, and some that only have a history (R5).
    pub fn roles(&self) -> &BTreeMap<Arc<str>, Arc<Role>> {
        &self.roles
    }

    /// The deadlocks that were found, the latest last. Old ones are forgotten.
    pub fn deadlocks(&self) -> impl Iterator<Item = &Deadlock> {
        self.deadlocks.iter().map(|deadlock| &**deadlock)
    }

    /// The last token that was given, or one before the first of the term.
    pub fn last_token(&self) -> Token {
        self.token
    }

    /// What is served.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The longest that any session may outlive its client.
    pub fn longest_ttl_ms(&self) -> Option<u64> {
        self.ttls.last_key_value().map(|(ttl_ms, _)| *ttl_ms)
    }

    fn open(
        &mut self,
        key: Secret,
        client: &str,
        ttl_ms: u64,
        at: Stamp,
    ) -> Result<SessionId, Refusal> {
        if let Some(before) = self.keys.get(&key) {
            return Ok(*before);
        }
        let Limits { sessions, ttl_min_ms, ttl_max_ms, bytes, .. } = self.limits;
        let ttl_max_ms = ttl_max_ms.min(LONGEST_TTL_MS);
        if self.sessions.len() >= sessions as usize {
            return Err(Refusal::TooManySessions(sessions));
        }
        if self.is_full() {
            return Err(Refusal::StateFull(bytes));
        }
        if !(ttl_min_ms..=ttl_max_ms).contains(&ttl_ms) {
            return Err(Refusal::InvalidTtl(ttl_min_ms, ttl_max_ms));
        }
        self.check_name(client)?;
        self.opened += 1;
        let id = SessionId(self.opened);
        self.keys.insert(key, id);
        *self.ttls.entry(ttl_ms).or_default() += 1;
        let session = Session {
            key,
            client: client.into(),
            ttl_ms,
            since: at,
            requests: UsualMap::new(),
            roles: SmallMap::new(),
            answers: SmallMap::new(),
            forgotten: 0,
            content: 0,
        };
        self.bytes += session.bytes();
        self.sessions.insert(id, Arc::new(session));
        Ok(id)
    }

    fn ask(
        &mut self,
        id: SessionId,
        number: Number,
        forget_below: Number,
        ask: &Ask,
        at: Stamp,
        said: &mut Vec<Outcome>,
    ) {
        let most = self.limits.requests as usize;
        let busy = self.change_session(id, |session| {
            session.forget_below(forget_below);
            session.answers.len().max(session.requests.len() + session.roles.len()) >= most
        });
        let Some(busy) = busy else {
            return said.push(Outcome::Answered(id, number, Err(Refusal::NoSession(id))));
        };
        if let Some(answer) = self.answered(id, number) {
            return said.push(Outcome::Answered(id, number, answer));
        }
        // A release is always possible: it frees space.
        let gives = matches!(ask, Ask::GiveUp(_) | Ask::Release(_) | Ask::Resign { .. });
        let adds = matches!(ask, Ask::Lock { .. } | Ask::Campaign { .. } | Ask::Proclaim { .. });
        let answer = match *ask {
            _ if busy && !gives => Err(Refusal::TooManyRequests(self.limits.requests)),
            _ if adds && self.is_full() => Err(Refusal::StateFull(self.limits.bytes)),
            Ask::Lock { ref wants, wait } => return self.lock(id, number, wants, wait, at, said),
            Ask::GiveUp(request) => self.give_up(id, number, request, at, said),
            Ask::Release(request) => self.release(id, request, said),
            Ask::Campaign { ref role, priority, ref value, policy } => {
                return self.campaign(id, number, (role, priority, value, policy), at, said);
            }
            Ask::Resign { ref role }
            | Ask::Proclaim { ref role, .. }
            | Ask::HandOver { ref role, .. }
                if self.stands_later(id, role, number) =>
            {
                Err(Refusal::NotCandidate(role.clone()))
            }
            Ask::Resign { ref role } => self.resign(id, role, at, said),
            Ask::Proclaim { ref role, ref value } => self.proclaim(id, role, value, at, said),
            Ask::HandOver { ref role, to } => self.hand_over(id, role, to, at, said),
        };
        self.answer(id, number, answer, said);
    }

    /// What the answer to a request is by now, if it has come. One that holds or waits is answered by
    /// what it has now, however old it is; one that is over, by what is remembered of it.
    pub fn answered(&self, id: SessionId, number: Number) -> Option<Result<Answer, Refusal>> {
        let session = self.sessions.get(&id)?;
        if let Some(request) = session.requests.get(&number) {
            return Some(Ok(match request.token {
                Some(token) => Answer::Granted(token),
                None => Answer::Waits { behind: self.behind(id, &request.wants) },
            }));
        }
        if let Some(name) = self.role_by(id, number) {
            return self.roles.get(name).map(|role| Ok(role.answer(id)));
        }
        session.past_answer(number)
    }

    /// The role that a session campaigns for by this request.
    pub(crate) fn role_by(&self, id: SessionId, number: Number) -> Option<&Arc<str>> {
        self.sessions.get(&id)?.stands_by(number)
    }

    /// Answers a request that is over with it. The answer is remembered until the client says that
    /// it has it.
    pub(crate) fn answer(
        &mut self,
        id: SessionId,
        number: Number,
        answer: Result<Answer, Refusal>,
        said: &mut Vec<Outcome>,
    ) {
        self.settle(id, number, answer.clone());
        said.push(Outcome::Answered(id, number, answer));
    }

    /// Remembers the answer to a request that is over.
    pub(crate) fn settle(
        &mut self,
        id: SessionId,
        number: Number,
        answer: Result<Answer, Refusal>,
    ) {
        // Twice as many as are served: so those who only give back are never refused.
        let most = match self.limits.requests.saturating_mul(2) as usize {
            most if self.is_full() => most.min(ANSWERS_KEPT_WHEN_FULL),
            most => most,
        };
        self.change_session(id, |session| session.settle(number, answer, most));
    }

    /// Changes a session, and counts the memory that it takes now.
    pub(crate) fn change_session<R>(
        &mut self,
        id: SessionId,
        change: impl FnOnce(&mut Session) -> R,
    ) -> Option<R> {
        let session = Arc::make_mut(self.sessions.get_mut(&id)?);
        let before = session.bytes();
        let result = change(session);
        self.bytes = (self.bytes + session.bytes()).saturating_sub(before);
        Some(result)
    }

    /// The same for a role.
    pub(crate) fn change_role<R>(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut Role) -> R,
    ) -> Option<R> {
        let role = Arc::make_mut(self.roles.get_mut(name)?);
        let before = role.bytes(name);
        let result = change(role);
        self.bytes = (self.bytes + role.bytes(name)).saturating_sub(before);
        Some(result)
    }

    fn end(&mut self, id: SessionId, why: Ending, at: Stamp, said: &mut Vec<Outcome>) {
        let Some(session) = self.sessions.get(&id) else { return };
        let roles = session.roles.clone();
        let requests: Vec<Number> = session.requests.keys().copied().collect();
        let reason = format!("session {id} ended: {why}");
        for role in roles.keys() {
            self.leave(id, role, &reason, at, said);
        }
        let requests = requests.into_iter().filter_map(|number| self.withdraw(id, number));
        let requests: Vec<Claim> = requests.collect();
        let free = requests.iter().flat_map(|request| names(&request.wants)).collect();
        if let Some(session) = self.sessions.remove(&id) {
            self.keys.remove(&session.key);
            self.forget_ttl(session.ttl_ms);
            self.bytes = self.bytes.saturating_sub(session.bytes());
        }
        said.push(Outcome::Ended(id, why));
        self.grant(free, said);
    }

    fn forget_ttl(&mut self, ttl_ms: u64) {
        if let Entry::Occupied(mut count) = self.ttls.entry(ttl_ms) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    pub(crate) fn next_token(&mut self) -> Token {
        self.token = self.token.next();
        self.token
    }

    pub(crate) fn check_name(&self, name: &str) -> Result<(), Refusal> {
        let fits = (1..=self.limits.name as usize).contains(&name.len());
        // People read names on terminals and in logs.
        if fits && !name.contains(char::is_control) {
            Ok(())
        } else {
            Err(Refusal::InvalidName(self.limits.name))
        }
    }

    pub(crate) fn remember(&mut self, deadlock: Deadlock, said: &mut Vec<Outcome>) {
        if self.deadlocks.len() == DEADLOCKS_KEPT
            && let Some(oldest) = self.deadlocks.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(oldest.bytes());
        }
        self.bytes += deadlock.bytes();
        self.deadlocks.push_back(Arc::new(deadlock.clone()));
        said.push(Outcome::Deadlocked(deadlock));
    }
}
