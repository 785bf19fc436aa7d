//! The state, and what a command does to it.

use crate::command::{
    Answer, Ask, Command, Deadlock, Ending, Limits, OnDeadlock, Refusal, Said, Stamp,
};
use crate::idle::Idle;
use crate::ids::{Number, SessionId, Token};
use crate::lock::Lock;
use crate::role::Role;
use crate::session::Session;
use crate::waits::Waits;
use serde::{Deserialize, Serialize};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

/// So many deadlocks are remembered, for those who ask later.
pub(crate) const DEADLOCKS_KEPT: usize = 100;

/// All that a coordinator keeps for its clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Duties {
    pub(crate) limits: Limits,
    pub(crate) on_deadlock: OnDeadlock,
    /// The last token that was given.
    pub(crate) token: Token,
    /// The last session that was begun.
    pub(crate) opened: u64,
    /// How many requests for locks there have been.
    pub(crate) asked: u64,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    pub(crate) keys: BTreeMap<u128, SessionId>,
    /// How many sessions have which TTL: it follows from the sessions, so it is not sent.
    #[serde(skip)]
    pub(crate) ttls: BTreeMap<u64, usize>,
    pub(crate) locks: BTreeMap<String, Lock>,
    pub(crate) roles: BTreeMap<String, Role>,
    /// Those of them that nobody stands for.
    #[serde(skip)]
    pub(crate) idle: Idle,
    /// Who waits for whom.
    #[serde(skip)]
    pub(crate) waits: Waits,
    pub(crate) deadlocks: VecDeque<Deadlock>,
}

impl Duties {
    /// Carries out a command and tells what came of it, in order.
    pub fn apply(&mut self, command: Command) -> Vec<Said> {
        let mut said = Vec::new();
        match command {
            Command::Begin { epoch, limits, on_deadlock } => {
                self.limits = limits;
                self.on_deadlock = on_deadlock;
                self.token = self.token.max(Token::before(epoch));
                self.opened = self.opened.max(Token::before(epoch).0);
            }
            Command::Open { key, client, ttl_ms, at } => {
                said.push(Said::Opened(self.open(key, client, ttl_ms, at), key));
            }
            Command::Ask { session, number, forget_below, ask, at } => {
                self.ask(session, number, forget_below, ask, at, &mut said);
            }
            Command::End { session, why, at } => self.end(session, why, at, &mut said),
            Command::Force { lock, session, by, .. } => {
                self.force(lock, session, by, &mut said);
            }
        }
        said
    }

    /// The sessions.
    pub fn sessions(&self) -> &BTreeMap<SessionId, Session> {
        &self.sessions
    }

    /// The session that was begun with this key.
    pub fn session_of(&self, key: u128) -> Option<SessionId> {
        self.keys.get(&key).copied()
    }

    /// Whether there may have been such a session: none that comes will have this name.
    pub fn has_been(&self, id: SessionId) -> bool {
        (1..=self.opened).contains(&id.0)
    }

    /// The locks that are held.
    pub fn locks(&self) -> &BTreeMap<String, Lock> {
        &self.locks
    }

    /// The roles that somebody stands for, and some that have a history (R5).
    pub fn roles(&self) -> &BTreeMap<String, Role> {
        &self.roles
    }

    /// The deadlocks that were found, the latest last. Old ones are forgotten.
    pub fn deadlocks(&self) -> impl Iterator<Item = &Deadlock> {
        self.deadlocks.iter()
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
        key: u128,
        client: String,
        ttl_ms: u64,
        at: Stamp,
    ) -> Result<SessionId, Refusal> {
        if let Some(before) = self.keys.get(&key) {
            return Ok(*before);
        }
        let Limits { sessions, ttl_min_ms, ttl_max_ms, .. } = self.limits;
        if self.sessions.len() >= sessions as usize {
            return Err(Refusal::TooManySessions(sessions));
        }
        if !(ttl_min_ms..=ttl_max_ms).contains(&ttl_ms) {
            return Err(Refusal::BadTtl(ttl_min_ms, ttl_max_ms));
        }
        self.check_name(&client)?;
        self.opened += 1;
        let id = SessionId(self.opened);
        self.keys.insert(key, id);
        *self.ttls.entry(ttl_ms).or_default() += 1;
        let session = Session {
            key,
            client,
            ttl_ms,
            since: at,
            requests: BTreeMap::new(),
            roles: Default::default(),
            answers: BTreeMap::new(),
            forgotten: 0,
        };
        self.sessions.insert(id, session);
        Ok(id)
    }

    fn ask(
        &mut self,
        id: SessionId,
        number: Number,
        forget_below: Number,
        ask: Ask,
        at: Stamp,
        said: &mut Vec<Said>,
    ) {
        let most = self.limits.requests as usize;
        let Some(session) = self.sessions.get_mut(&id) else {
            return said.push(Said::Answered(id, number, Err(Refusal::NoSession(id))));
        };
        session.forget_below(forget_below);
        let busy = session.answers.len().max(session.requests.len() + session.roles.len()) >= most;
        if let Some(answer) = self.answered(id, number) {
            return said.push(Said::Answered(id, number, answer));
        }
        // Giving back is always possible: it makes room.
        let gives = matches!(ask, Ask::GiveUp(_) | Ask::Release(_) | Ask::Resign { .. });
        let answer = match ask {
            _ if busy && !gives => Err(Refusal::TooManyRequests(self.limits.requests)),
            Ask::Lock { wants, wait } => return self.lock(id, number, wants, wait, at, said),
            Ask::GiveUp(request) => self.give_up(id, number, request, at, said),
            Ask::Release(request) => self.release(id, request, said),
            Ask::Campaign { role, priority, value, policy } => {
                return self.campaign(id, number, (role, priority, value, policy), at, said);
            }
            Ask::Resign { ref role }
            | Ask::Proclaim { ref role, .. }
            | Ask::HandOver { ref role, .. }
                if self.stands_later(id, role, number) =>
            {
                Err(Refusal::NotCandidate(role.clone()))
            }
            Ask::Resign { role } => self.resign(id, &role, at, said),
            Ask::Proclaim { role, value } => self.proclaim(id, &role, value, at, said),
            Ask::HandOver { role, to } => self.hand_over(id, &role, to, at, said),
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

    /// The role that a session stands for by this request.
    pub(crate) fn role_by(&self, id: SessionId, number: Number) -> Option<&String> {
        self.sessions.get(&id)?.stands_by(number)
    }

    /// Answers a request that is over with it. The answer is remembered until the client says that
    /// it has it.
    pub(crate) fn answer(
        &mut self,
        id: SessionId,
        number: Number,
        answer: Result<Answer, Refusal>,
        said: &mut Vec<Said>,
    ) {
        self.settle(id, number, answer.clone());
        said.push(Said::Answered(id, number, answer));
    }

    /// Remembers the answer to a request that is over.
    pub(crate) fn settle(
        &mut self,
        id: SessionId,
        number: Number,
        answer: Result<Answer, Refusal>,
    ) {
        // Twice as many as are served: so those who only give back are never refused.
        let most = self.limits.requests.saturating_mul(2) as usize;
        if let Some(session) = self.sessions.get_mut(&id) {
            session.settle(number, answer, most);
        }
    }

    fn end(&mut self, id: SessionId, why: Ending, at: Stamp, said: &mut Vec<Said>) {
        let Some(session) = self.sessions.get(&id) else { return };
        let (roles, requests) = (session.roles.clone(), session.requests.clone());
        let reason = format!("session {id} ended: {why}");
        for role in roles.keys() {
            self.leave(id, role, &reason, at, said);
        }
        let mut free = Vec::new();
        for (number, request) in &requests {
            self.withdraw(id, *number, request);
            free.extend(request.wants.iter().map(|want| want.name.clone()));
        }
        if let Some(session) = self.sessions.remove(&id) {
            self.keys.remove(&session.key);
            self.forget_ttl(session.ttl_ms);
        }
        said.push(Said::Ended(id, why));
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
        if fits { Ok(()) } else { Err(Refusal::BadName(self.limits.name)) }
    }

    pub(crate) fn remember(&mut self, deadlock: Deadlock, said: &mut Vec<Said>) {
        if self.deadlocks.len() == DEADLOCKS_KEPT {
            self.deadlocks.pop_front();
        }
        self.deadlocks.push_back(deadlock.clone());
        said.push(Said::Deadlocked(deadlock));
    }
}
