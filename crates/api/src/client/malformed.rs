//! Why bytes are no frame between a client and a member.

use std::fmt;

/// Why bytes are no frame between a client and a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// They are too many.
    TooLong {
        /// The number of its bytes.
        length: usize,
        /// The most bytes that are read.
        longest: usize,
    },
    /// They are not protobuf, or not of these frames.
    Protobuf(prost::DecodeError),
    /// This part has a form that this version does not know: from a newer one.
    Unknown(&'static str),
    /// This part is required.
    Missing(&'static str),
    /// This number must fit into 32 bits.
    OutOfRange {
        /// Its name.
        field: &'static str,
        /// The number.
        value: u64,
    },
    /// These bytes have a fixed number.
    Length {
        /// The name of the field.
        field: &'static str,
        /// The number of bytes.
        length: usize,
        /// The number that is expected.
        wanted: usize,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::TooLong { length, longest } => {
                write!(f, "a frame of {length} bytes; at most {longest} are allowed")
            }
            Malformed::Protobuf(error) => write!(f, "not a frame of this protocol: {error}"),
            Malformed::Unknown(field) => {
                write!(f, "{field} has a form that this version does not know; upgrade it")
            }
            Malformed::Missing(field) => write!(f, "{field} is missing"),
            Malformed::OutOfRange { field, value } => {
                write!(f, "{field} is {value}; at most {} is allowed", u32::MAX)
            }
            Malformed::Length { field, length, wanted } => {
                write!(f, "{field} has {length} bytes; it must have {wanted}")
            }
        }
    }
}

impl std::error::Error for Malformed {}
