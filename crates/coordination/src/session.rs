//! A session: what it has asked for, what it has, and the answers that its client may ask for again.

use crate::command::{Answer, Refusal, Stamp};
use crate::ids::{Number, Secret, Token};
use crate::sizes;
use crate::small::{SmallMap, UsualMap};
use crate::wants::Wants;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Session {
    /// Its secret, which the client drew.
    pub key: Secret,
    /// What the client calls itself.
    pub client: Box<str>,
    /// How long it outlives the last that was heard of the client.
    pub ttl_ms: u64,
    /// When it began.
    pub since: Stamp,
    /// Its requests that hold locks or wait for them.
    pub requests: UsualMap<Number, Claim>,
    /// The roles that it campaigns for, and by which request.
    pub roles: SmallMap<Arc<str>, Number>,
    /// Answers that the client may not have got, to requests that neither hold nor wait any more.
    /// All are from `forgotten` on.
    pub(crate) answers: SmallMap<Number, Result<Answer, Refusal>>,
    /// Requests below this number are not done again: those that neither hold nor wait are over.
    pub(crate) forgotten: Number,
    /// The memory that its requests and answers hold: it follows from them, so it is not sent.
    #[serde(skip)]
    pub(crate) content: u64,
}

/// A request for locks that holds them or waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    /// The locks, each named once.
    pub wants: Wants,
    /// Counts the requests of all sessions in the order of their coming.
    pub order: u64,
    /// When it came.
    pub since: Stamp,
    /// What it holds them by; nothing as long as it waits.
    pub token: Option<Token>,
}

impl Session {
    /// The answer that was given to this request, if it neither holds nor waits any more.
    pub(crate) fn past_answer(&self, number: Number) -> Option<Result<Answer, Refusal>> {
        if let Some(answer) = self.answers.get(&number) {
            return Some(answer.clone());
        }
        (number < self.forgotten).then_some(Err(Refusal::Forgotten(number)))
    }

    /// How many answers are remembered, to requests that neither hold nor wait any more.
    pub fn remembered(&self) -> usize {
        self.answers.len()
    }

    /// Remembers the answer to a request that is over, so that it is not done again if it comes
    /// again. A client that never says what it has got loses its oldest answers.
    pub(crate) fn settle(&mut self, number: Number, answer: Result<Answer, Refusal>, most: usize) {
        if number < self.forgotten {
            return;
        }
        self.keep_answer(number, answer);
        while self.answers.len() > most
            && let Some((oldest, answer)) = self.answers.pop_first()
        {
            self.content = self.content.saturating_sub(sizes::of_answer(&answer));
            self.forgotten = oldest.saturating_add(1);
        }
    }

    pub(crate) fn keep_answer(&mut self, number: Number, answer: Result<Answer, Refusal>) {
        self.content += sizes::of_answer(&answer);
        if let Some(before) = self.answers.insert(number, answer) {
            self.content = self.content.saturating_sub(sizes::of_answer(&before));
        }
    }

    /// The client has the answers below this number.
    pub(crate) fn forget_below(&mut self, number: Number) {
        while self.answers.keys().next().is_some_and(|first| *first < number)
            && let Some((_, answer)) = self.answers.pop_first()
        {
            self.content = self.content.saturating_sub(sizes::of_answer(&answer));
        }
        self.forgotten = self.forgotten.max(number);
    }

    /// Adds a request that waits, or holds what it wants.
    pub(crate) fn add_claim(&mut self, number: Number, claim: Claim) {
        self.content += claim.bytes();
        if let Some(before) = self.requests.insert(number, claim) {
            self.content = self.content.saturating_sub(before.bytes());
        }
    }

    pub(crate) fn remove_claim(&mut self, number: Number) -> Option<Claim> {
        let claim = self.requests.remove(&number)?;
        self.content = self.content.saturating_sub(claim.bytes());
        Some(claim)
    }

    /// Takes one lock out of a request. Whether the request has no other, and is over.
    pub(crate) fn drop_want(&mut self, number: Number, lock: &str) -> bool {
        let Some(claim) = self.requests.get_mut(&number) else { return false };
        let before = claim.bytes();
        claim.wants = claim.wants.iter().filter(|want| *want.name != *lock).cloned().collect();
        self.content = (self.content + claim.bytes()).saturating_sub(before);
        let over = claim.wants.is_empty();
        if over {
            self.requests.remove(&number);
        }
        over
    }

    pub(crate) fn add_role(&mut self, role: Arc<str>, by: Number) {
        self.roles.insert(role, by);
    }

    pub(crate) fn remove_role(&mut self, role: &str) {
        self.roles.remove(role);
    }

    /// The request that has this lock or waits for it.
    pub(crate) fn asked_for(&self, lock: &str) -> Option<Number> {
        let names = |request: &Claim| request.wants.iter().any(|want| *want.name == *lock);
        self.requests.iter().find(|(_, request)| names(request)).map(|(number, _)| *number)
    }

    /// The role that it campaigns for by this request.
    pub(crate) fn stands_by(&self, number: Number) -> Option<&Arc<str>> {
        self.roles.iter().find(|(_, by)| **by == number).map(|(role, _)| role)
    }

    /// The requests that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Number, &Claim)> {
        let waits = |(_, request): &(&Number, &Claim)| request.token.is_none();
        self.requests.iter().filter(waits).map(|(number, request)| (*number, request))
    }
}
