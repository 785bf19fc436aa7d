//! The session that holds something by a token, now: for resources that are shown one and cannot keep the largest that
//! they have seen.

use crate::command::Refusal;
use crate::ids::{SessionId, Token};
use crate::state::Coordination;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a token was given for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// A lock.
    Lock(String),
    /// A role.
    Role(String),
}

impl Subject {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Subject::Lock(name) | Subject::Role(name) => name,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Lock(name) => write!(f, "the lock '{name}'"),
            Subject::Role(name) => write!(f, "the role '{name}'"),
        }
    }
}

impl Coordination {
    /// The session that holds this lock, or leads this role, by this token.
    pub fn bearer(&self, of: &Subject, token: Token) -> Result<SessionId, Refusal> {
        let bearer = match of {
            Subject::Lock(name) => self.locks.get(name.as_str()).and_then(|lock| {
                let by = |id, number| self.request(id, number).and_then(|claim| claim.token);
                let mut holders = lock.holders.iter();
                let found = holders.find(|(id, (number, _))| by(**id, *number) == Some(token));
                found.map(|(id, _)| *id)
            }),
            Subject::Role(name) => {
                let leader = self.roles.get(name.as_str()).and_then(|role| role.leader);
                leader.filter(|(_, by)| *by == token).map(|(id, _)| id)
            }
        };
        bearer.ok_or_else(|| Refusal::StaleToken(of.clone(), token))
    }
}
