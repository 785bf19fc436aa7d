//! Why bytes are no message of a member.

use super::{LONGEST, value};

/// Why bytes are no message of a member, or none for this one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// This number of bytes is more than [`LONGEST`].
    #[error("a message of {0} bytes; at most {LONGEST} are allowed")]
    TooLong(usize),
    /// They are not protobuf, or not of these messages.
    #[error("not a member's message: {0}")]
    Protobuf(#[source] prost::DecodeError),
    /// A kind of message that this version does not know: from a newer one.
    #[error("a kind of message that this version does not know; upgrade this member")]
    Unknown,
    /// This part is required.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// This number must fit into 32 bits.
    #[error("{field} is {value}; at most {} is allowed", u32::MAX)]
    OutOfRange {
        /// Its name.
        field: &'static str,
        /// The number.
        value: u64,
    },
    /// The sender runs another election than this member.
    #[error(
        "a message of election '{theirs}', but this member runs '{ours}'; configure the same \
         election for all members"
    )]
    OtherElection {
        /// The sender's, shortened if it is long.
        theirs: String,
        /// This member's.
        ours: &'static str,
    },
    /// An election's message is nested deeper than any that is meant well.
    #[error("election.body is nested more than {} deep", value::DEEPEST)]
    TooDeep,
    /// An election's message does not fit the election: its name is right, its content is not. May
    /// be from a newer version.
    #[error("election.body is not a message of this version's election: {0}")]
    Misfit(String),
    /// Something of the coordinator's state is packed in a format that this version does not know.
    #[error(
        "{field} is packed in format {format}, and this version knows another; upgrade this member"
    )]
    Format {
        /// Its name.
        field: &'static str,
        /// The format's number.
        format: u8,
    },
    /// A part of the coordinator's state has the right format and an invalid content.
    #[error("{field} is invalid: {why}")]
    Packed {
        /// Its name.
        field: &'static str,
        /// What is wrong.
        why: String,
    },
}

impl Malformed {
    /// Whether the sender may be healthy: a newer version, or one that is configured otherwise. Its
    /// message is to be ignored and counted, the connection may stay. Otherwise the sender does not
    /// speak this protocol, and nothing that it sends can be relied on.
    pub fn is_harmless(&self) -> bool {
        match self {
            Malformed::Unknown
            | Malformed::OtherElection { .. }
            | Malformed::Misfit(_)
            | Malformed::Format { .. } => true,
            Malformed::TooLong(_)
            | Malformed::Protobuf(_)
            | Malformed::Missing(_)
            | Malformed::OutOfRange { .. }
            | Malformed::TooDeep
            | Malformed::Packed { .. } => false,
        }
    }

    pub(super) fn other_election(theirs: &str, ours: &'static str) -> Self {
        Malformed::OtherElection { theirs: quotable(theirs), ours }
    }

    pub(super) fn misfit(error: &serde_json::Error) -> Self {
        Malformed::Misfit(quotable(&error.to_string()))
    }

    pub(super) fn packed(field: &'static str, why: &str) -> Self {
        Malformed::Packed { field, why: quotable(why) }
    }
}

/// A peer's words as a log can bear them: short, and without control characters.
fn quotable(text: &str) -> String {
    const MOST_CHARS: usize = 160;
    let mut quoted: String = text
        .chars()
        .take(MOST_CHARS)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(MOST_CHARS).is_some() {
        quoted.push('…');
    }
    quoted
}
