//! Everything that takes bytes from outside, as plain functions: what the fuzz tests call.
//!
//! None of them panics or allocates more than a small multiple of what it is given, whatever that
//! is.

use crate::frame::PREFIX;
use bellwether_api::envelope::{Envelope, Message};
use bytes::Bytes;
use std::fmt;

#[cfg(feature = "driver")]
pub use crate::driver::durable::parse as durable;
#[cfg(feature = "driver")]
pub use crate::driver::greeting::{Expected, judge, judge_client};

/// Bytes that mean nothing to this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Malformed {
    /// What is wrong with them.
    pub what: String,
    /// Whether a well-behaved peer of another version may have sent them: then the message is
    /// ignored and counted, and the connection stays.
    pub foreign: bool,
}

impl Malformed {
    /// Says what is wrong: no version sends this.
    pub fn new(what: impl fmt::Display) -> Self {
        Malformed { what: what.to_string(), foreign: false }
    }

    /// Says what is not understood, though another version may mean something by it.
    pub fn foreign(what: impl fmt::Display) -> Self {
        Malformed { what: what.to_string(), foreign: true }
    }
}

/// The length of the first frame in the buffer, prefix included, if the frame is complete:
/// `Some(None)` if more must come, `None` if it is announced to be larger than `largest`.
pub fn split(buffer: &[u8], largest: usize) -> Option<Option<usize>> {
    let Some((prefix, rest)) = buffer.split_first_chunk::<PREFIX>() else { return Some(None) };
    let length = u32::from_be_bytes(*prefix) as usize;
    if length > largest {
        return None;
    }
    Some((rest.len() >= length).then_some(PREFIX + length))
}

/// One frame's content.
pub fn envelope(bytes: &[u8]) -> Result<Envelope, Malformed> {
    shared_envelope(Bytes::copy_from_slice(bytes))
}

/// The same without copying the payload.
pub(crate) fn shared_envelope(bytes: Bytes) -> Result<Envelope, Malformed> {
    Envelope::decode(bytes).map_err(Malformed::new)
}
