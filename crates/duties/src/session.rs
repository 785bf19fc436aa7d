//! A session: what it has asked for, what it has, and the answers that its client may ask for again.

use crate::command::{Answer, Refusal, Stamp, Want};
use crate::ids::{Number, Token};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    /// The roles that it stands for.
    pub roles: BTreeSet<String>,
    /// Answers that the client may not have got.
    pub(crate) answers: BTreeMap<Number, Result<Answer, Refusal>>,
    /// Answers to requests below this number are forgotten.
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
    /// The answer that was given to this request, if it was given and is remembered.
    pub fn answer(&self, number: Number) -> Option<Result<Answer, Refusal>> {
        if let Some(answer) = self.answers.get(&number) {
            return Some(answer.clone());
        }
        (number < self.forgotten).then_some(Err(Refusal::Forgotten(number)))
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

    /// The requests that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (Number, &Claim)> {
        let waits = |(_, request): &(&Number, &Claim)| request.token.is_none();
        self.requests.iter().filter(waits).map(|(number, request)| (*number, request))
    }
}
