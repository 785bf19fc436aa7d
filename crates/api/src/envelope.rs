//! The frames between hosted processes, and which versions of them are understood.
//!
//! The types are generated from `proto/envelope.proto`, which says what each of them is for. Fields
//! may be added there at any time; a change that an older process would misread needs a new
//! [`VERSION`].

pub use prost::Message;

pub use crate::generated::envelope::envelope::Body;
pub use crate::generated::envelope::letter::Payload;
pub use crate::generated::envelope::{ClientHello, ClientWelcome, Envelope, Hello, Letter};
pub use crate::generated::envelope::{MemberAddress, Reason, Rejection, Setting, Welcome};

/// The newest version of the protocol that this build speaks.
pub const VERSION: u32 = 1;

/// The oldest version that this build still understands.
pub const OLDEST: u32 = 1;

/// The newest version that both sides understand, given the other's newest and oldest.
pub fn common_version(newest: u32, oldest: u32) -> Option<u32> {
    let chosen = newest.min(VERSION);
    (chosen >= oldest && chosen >= OLDEST).then_some(chosen)
}

impl Envelope {
    /// A frame of this version.
    pub fn new(version: u32, body: Body) -> Self {
        Envelope { version, body: Some(body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_versions_find_a_common_one() {
        assert_eq!(common_version(VERSION, VERSION), Some(VERSION));
        assert_eq!(common_version(VERSION + 1, VERSION), Some(VERSION));
        assert_eq!(common_version(VERSION + 2, VERSION + 1), None);
        assert_eq!(common_version(OLDEST - 1, 0), None);
    }

    #[test]
    fn a_letter_survives_the_journey() {
        let letter = Letter { seq: 7, life: 2, payload: Some(Payload::Serde(vec![1, 2].into())) };
        let envelope = Envelope::new(VERSION, Body::Letter(letter));
        let bytes = envelope.encode_to_vec();
        assert_eq!(Envelope::decode(bytes.as_slice()).unwrap(), envelope);
    }
}
