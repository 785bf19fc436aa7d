//! Everything that takes bytes from outside, as plain functions: what the fuzz tests call.
//!
//! None of them panics or allocates more than a small multiple of what it is given, whatever that
//! is.

use crate::frame::PREFIX;
use crate::protocol::Malformed;
use bellwether_api::envelope::{Envelope, Message};
use bytes::Bytes;

pub use crate::durable::parse as durable;
pub use crate::greeting::{Expected, judge, judge_client};

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
