//! A session: what it has asked for, what it has, and the answers that its client may ask for again.

use crate::command::{Answer, Refusal, Stamp, Want};
use crate::ids::{Number, Token};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Session {
    /// What the client drew for it.
    pub key: u128,
    /// What the client calls itself.
    pub client: String,
    /// How long it outlives the last that was heard of the client.
    pub ttl_ms: u64,
    /// When it began.
    pub since: Stamp,
    /// Its requests that hold locks or wait for them.
    pub requests: BTreeMap<Number, Claim>,
    /// The roles that it stands for, and by which request.
    pub roles: BTreeMap<String, Number>,
    /// Answers that the client may not have got, to requests that neither hold nor wait any more.
    /// All are from `forgotten` on.
    pub(crate) answers: BTreeMap<Number, Result<Answer, Refusal>>,
    /// Requests below this number are not done again: those that neither hold nor wait are over.
    pub(crate) forgotten: Number,
}

/// A request for locks that holds them or waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    /// The locks, each named once.
    pub wants: Vec<Want>,
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
        self.answers.insert(number, answer);
        if self.answers.len() > most
            && let Some((oldest, _)) = self.answers.pop_first()
        {
            self.forgotten = oldest.saturating_add(1);
        }
    }

    /// The client has the answers below this number.
    pub(crate) fn forget_below(&mut self, number: Number) {
        if number > self.forgotten {
            self.answers = self.answers.split_off(&number);
            self.forgotten = number;
        }
    }

    /// The request that has this lock or waits for it.
    pub(crate) fn asked_for(&self, lock: &str) -> Option<Number> {
        let names = |request: &Claim| request.wants.iter().any(|want| want.name == lock);
        self.requests.iter().find(|(_, request)| names(request)).map(|(number, _)| *number)
    }

    /// The role that it stands for by this request.
    pub(crate) fn stands_by(&self, number: Number) -> Option<&String> {
        self.roles.iter().find(|(_, by)| **by == number).map(|(role, _)| role)
    }

    /// The requests that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Number, &Claim)> {
        let waits = |(_, request): &(&Number, &Claim)| request.token.is_none();
        self.requests.iter().filter(waits).map(|(number, request)| (*number, request))
    }
}
