//! The frames between clients and members, once they have greeted each other.
//!
//! `proto/client.proto` says what every field is for and which changes are allowed. The Rust types
//! are those of `bellwether-coordination`, with the little that a connection has to say besides; this module
//! translates, and checks on the way in that nothing required is missing and every number fits.
//!
//! What arrives is not trusted: decoding never panics, looks at no more bytes than it says, and
//! allocates at most a small multiple of them. What is wrong is [named](Malformed).
//!
//! ```
//! use bellwether_api::client::{ToMember, decode_to_member, wire};
//! use bellwether_api::envelope::Message;
//! use bellwether_coordination::{Request, SessionId, Secret};
//!
//! let frame = ToMember::Request(Request::Close { session: SessionId(7), key: Secret(8) });
//! let bytes = wire::ToMember::from(frame.clone()).encode_to_vec();
//! assert_eq!(decode_to_member(&bytes), Ok(frame));
//! ```

mod listed;
mod malformed;
mod observed;
mod refusal;
mod replies;
mod requests;

pub use listed::{List, Listed, Page};
pub use malformed::Malformed;
pub use observed::{Leader, Observed, RoleStatus};

use bellwether_coordination::{Reply, Request, Secret, SessionId};

/// The frames as they travel; `proto/client.proto` documents them.
pub use crate::generated::client as wire;

/// The longest frame of a client that is looked at, in bytes: more than all names of the largest
/// request and the largest value together.
pub const LONGEST_TO_MEMBER: usize = 256 * 1024;

/// The longest frame of a member that is looked at, in bytes. The longest that is said tells of a
/// deadlock, and names every session in it.
pub const LONGEST_TO_CLIENT: usize = 16 * 1024 * 1024;

/// The longest name of a lock, a role or a client that any cluster can be configured to take, in
/// bytes.
pub const LONGEST_NAME: usize = 1_024;

/// The largest value that any cluster can be configured to take, in bytes.
pub const LARGEST_VALUE: usize = 65_536;

/// At most this number of the sessions in a deadlock are named to a client.
pub const LONGEST_CYCLE: usize = 4_096;

/// What a client says to its member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToMember {
    /// For the coordinator. The member passes it on.
    Request(Request),
    /// For this member, through a Unix socket only: the session's process is dead only when this
    /// one is dead, too.
    Watch {
        /// The session.
        session: SessionId,
        /// Its key.
        key: Secret,
        /// The process.
        pid: u32,
    },
    /// For this member: watches a role; the answers are its status now and every change.
    Observe {
        /// The client's number for it on this connection.
        number: u64,
        /// The role.
        role: String,
    },
    /// For this member: no more of what was observed with this number.
    Unobserve(u64),
    /// For this member: a page of a list.
    List {
        /// The client's number for it on this connection.
        number: u64,
        /// Which list, and where the page begins.
        list: List,
    },
    /// For this member: an [announcement](ToClient::Announcement) at once, as a sign of life.
    Ping,
}

/// What a member says to its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToClient {
    /// From the coordinator.
    Reply(Reply),
    /// The coordinator: it has changed, or the client [asks](ToMember::Ping).
    Announcement(Announcement),
    /// What came of [`ToMember::Watch`].
    Watching {
        /// The session.
        session: SessionId,
        /// The process.
        pid: u32,
        /// Why it is not watched, for people; it is, if nothing is said.
        refused: Option<String>,
    },
    /// The status of a role that is [observed](ToMember::Observe).
    Observed(Observed),
    /// A page of a list that was [asked for](ToMember::List).
    Listed(Listed),
}

/// The coordinator, and the addresses of the members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    /// The coordinator's number; absent if there is none.
    pub coordinator: Option<u32>,
    /// Its term, or the last one that is known.
    pub term: u64,
    /// The members and where each can be reached, `host:port`; as before, if empty.
    pub addresses: Vec<(u32, String)>,
    /// By how many parts per million a clock may be too fast or too slow; as the welcome says, if absent.
    pub drift_ppm: Option<u32>,
}

/// A client's frame.
pub fn decode_to_member(bytes: &[u8]) -> Result<ToMember, Malformed> {
    let frame: wire::ToMember = read(bytes, LONGEST_TO_MEMBER)?;
    frame.kind.ok_or_else(|| absent(bytes))?.try_into()
}

/// A member's frame.
pub fn decode_to_client(bytes: &[u8]) -> Result<ToClient, Malformed> {
    let frame: wire::ToClient = read(bytes, LONGEST_TO_CLIENT)?;
    frame.kind.ok_or_else(|| absent(bytes))?.try_into()
}

fn read<M: prost::Message + Default>(bytes: &[u8], longest: usize) -> Result<M, Malformed> {
    if bytes.len() > longest {
        return Err(Malformed::TooLong { length: bytes.len(), longest });
    }
    M::decode(bytes).map_err(Malformed::Protobuf)
}

/// Nothing at all, or something of a newer version.
fn absent(bytes: &[u8]) -> Malformed {
    if bytes.is_empty() { Malformed::Missing("kind") } else { Malformed::Unknown("kind") }
}

fn require<T>(part: Option<T>, field: &'static str) -> Result<T, Malformed> {
    part.ok_or(Malformed::Missing(field))
}

fn to_session(session: Option<u64>, field: &'static str) -> Result<SessionId, Malformed> {
    require(session, field).map(SessionId)
}

fn to_u32(value: u64, field: &'static str) -> Result<u32, Malformed> {
    u32::try_from(value).map_err(|_| Malformed::OutOfRange { field, value })
}

fn from_key(key: Secret) -> Vec<u8> {
    key.0.to_be_bytes().to_vec()
}

fn to_key(bytes: &[u8], field: &'static str) -> Result<Secret, Malformed> {
    let wrong = |_| Malformed::Length { field, length: bytes.len(), wanted: size_of::<u128>() };
    bytes.try_into().map(u128::from_be_bytes).map(Secret).map_err(wrong)
}
