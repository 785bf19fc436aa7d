//! Names and numbers.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

/// A session: one client, as long as it is heard of.
///
/// Like a [`Token`], it has the term in its upper half: no two sessions ever have the same one, even
/// if all members have lost their memory. People see it as `s3.17`, the seventeenth of term 3.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}.{}", self.0 >> 32, self.0 & u64::from(u32::MAX))
    }
}

impl FromStr for SessionId {
    type Err = NoSessionId;

    fn from_str(text: &str) -> Result<Self, NoSessionId> {
        let (term, count) =
            text.strip_prefix('s').and_then(|text| text.split_once('.')).ok_or(NoSessionId)?;
        let half = |digits: &str| digits.parse::<u32>().map(u64::from).map_err(|_| NoSessionId);
        Ok(SessionId(half(term)? << 32 | half(count)?))
    }
}

/// The text is not the name of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSessionId;

impl fmt::Display for NoSessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a session is written like s3.17, as `bellwether sessions` lists them")
    }
}

impl std::error::Error for NoSessionId {}

/// A secret: a session's key, or the operator token.
///
/// Ids of sessions can be guessed, and are listed for all clients. So a session's client draws a key, and
/// shows it whenever it uses the session. A secret is not written out by accident: `Debug` hides it,
/// and there is no `Display`.
///
/// It has the alignment of a number of half its size: there is one for each session, in two places.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(Rust, packed(8))]
pub struct Secret(pub u128);

impl Secret {
    /// Whether this is the same one. It takes the same time for all that are not, so that the time
    /// tells nothing about the right one.
    pub fn matches(self, other: Secret) -> bool {
        let (this, other) = (self.0.to_le_bytes(), other.0.to_le_bytes());
        let differ = this.iter().zip(other).fold(0, |differ, (a, b)| black_box(differ | (a ^ b)));
        differ == 0
    }

    /// The secret as text, for its owner.
    pub fn hex(self) -> String {
        format!("{:032x}", { self.0 })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl FromStr for Secret {
    type Err = NoSecret;

    fn from_str(text: &str) -> Result<Self, NoSecret> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u128::from_str_radix(text, 16).ok().filter(|_| digits).map(Secret).ok_or(NoSecret)
    }
}

/// The text is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSecret;

impl fmt::Display for NoSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a secret has thirty-two hexadecimal digits")
    }
}

impl std::error::Error for NoSecret {}

/// A client's own number for one of its requests. Numbers grow within a session.
pub type Number = u64;

/// Comes with every grant, and only ever grows: a resource that gets a smaller one than it has seen
/// knows that its bearer's time is over.
///
/// The upper half is the term of the mandate under which it was given and the lower half counts
/// within it. An term is never used twice, so tokens grow even if all members have lost their
/// memory.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Token(pub u64);

impl Token {
    /// The first one of an term, less one.
    pub(crate) fn before(term: u32) -> Self {
        Token(u64::from(term) << 32)
    }

    /// The next one. Four thousand million grants in one term are not reached: at a hundred
    /// thousand a second that would take half a day, so the count runs over into the term, which
    /// keeps growing; a later term that is overtaken thereby starts behind it.
    pub(crate) fn next(self) -> Self {
        Token(self.0.saturating_add(1))
    }

    /// The term in it.
    pub fn term(self) -> u64 {
        self.0 >> 32
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
