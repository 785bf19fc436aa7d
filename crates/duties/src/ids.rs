//! Names and numbers.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A session: one client, as long as it is heard of.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// A client's own number for one of its requests. Numbers grow within a session.
pub type Number = u64;

/// Comes with every grant, and only ever grows: whoever is shown a smaller one than it has seen
/// knows that its bearer's time is over.
///
/// The upper half is the epoch of the mandate under which it was given and the lower half counts
/// within it. An epoch is never used twice, so tokens grow even if all members have lost their
/// memory.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Token(pub u64);

impl Token {
    /// The first one of an epoch, less one.
    pub(crate) fn before(epoch: u32) -> Self {
        Token(u64::from(epoch) << 32)
    }

    /// The next one. Four thousand million grants in one epoch are not reached: at a hundred
    /// thousand a second that would take half a day, so the count runs over into the epoch, which
    /// keeps growing; a later epoch that is overtaken thereby starts behind it.
    pub(crate) fn next(self) -> Self {
        Token(self.0.saturating_add(1))
    }

    /// The epoch in it.
    pub fn epoch(self) -> u64 {
        self.0 >> 32
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
