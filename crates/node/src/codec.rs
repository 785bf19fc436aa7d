//! The production member's messages as protobuf.
//!
//! A cluster is upgraded one member after the other, so members of neighbouring versions must
//! understand each other. `proto/member.proto` says what every field is for and which changes are
//! allowed. The Rust types of the state machine stay free of such concerns: this module translates,
//! and checks on the way in that nothing required is missing and every number fits.
//!
//! Messages of the log have a protobuf message each. Those of the elections are the elections'
//! own business and travel as self-describing values, so a new election needs nothing here. Entries,
//! parts of snapshots and clients' requests travel in a compact format with a number of its own.
//!
//! What arrives is not trusted: decoding never panics, looks at no more than [`LONGEST`] bytes, and
//! allocates at most a few dozen times as much (an empty value is two bytes on the wire and a few
//! words in memory).

mod from_log;
mod malformed;
pub(crate) mod packed;
mod to_log;
mod value;

pub use malformed::Malformed;

use bellwether_algorithms::election::any::{self, Body, Choice};
use bellwether_coordination::Coordination;
use bellwether_log::{Entries, Index};
use bellwether_member::service::Msg;
use bellwether_member::{ClockStatus, Msg as Member, PeerView};
use generated::message::Kind;
use prost::Message as _;
use std::sync::{Arc, Mutex, PoisonError};

#[rustfmt::skip]
#[allow(missing_docs, unreachable_pub, reason = "generated; the .proto file documents it")]
pub(crate) mod generated;

/// The longest message that is looked at, in bytes. Pieces of a log are at most 1 MiB, and so is what
/// is forwarded for clients; one entry or part is bounded by the limits on what a client may ask.
pub const LONGEST: usize = 16 * 1024 * 1024;

/// A message as it travels.
///
/// An election's message that has no form on the wire (a fraction, a map whose keys are no text)
/// leaves without its body and is refused where it arrives. No election of the catalogue has such
/// messages, and the tests see to it.
pub fn encode(msg: &Msg) -> Vec<u8> {
    encode_with(msg, from_log::entries)
}

/// The entries that were packed last: a leader sends the same ones to all its followers.
#[derive(Debug, Default)]
pub(crate) struct LastEntries(Mutex<Option<(Entries<Coordination>, Vec<u8>)>>);

/// More than this is packed again.
const ENTRIES_KEPT: usize = 64 * 1024;

impl LastEntries {
    /// A message as it travels.
    pub(crate) fn encode(&self, msg: &Msg) -> Vec<u8> {
        encode_with(msg, |entries| self.pack(entries))
    }

    fn pack(&self, entries: &Entries<Coordination>) -> Vec<u8> {
        if entries.is_empty() {
            return Vec::new();
        }
        // Nothing panics while it is locked; if it did, what it left is still good.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, bytes)) = &*last
            && Arc::ptr_eq(known, entries)
        {
            return bytes.clone();
        }
        let bytes = from_log::entries(entries);
        *last = (bytes.len() <= ENTRIES_KEPT).then(|| (entries.clone(), bytes.clone()));
        bytes
    }
}

fn encode_with(msg: &Msg, pack_entries: impl Fn(&Entries<Coordination>) -> Vec<u8>) -> Vec<u8> {
    let kind = match msg {
        Msg::Member(Member::Log(msg)) => from_log::kind(msg, pack_entries),
        Msg::Member(Member::Election(msg)) => Kind::Election(generated::Election {
            algorithm: msg.choice().name().to_owned(),
            body: value::from_message(&Body(msg)),
        }),
        Msg::Member(Member::Pass) => Kind::Pass(generated::Pass {}),
        Msg::Member(Member::View(peers)) => {
            Kind::View(generated::View { peers: peers.iter().map(from_peer_view).collect() })
        }
        Msg::Requests(requests) => {
            Kind::Requests(generated::Requests { requests: packed::pack(requests) })
        }
        Msg::Replies { term, commit, replies } => Kind::Replies(generated::Replies {
            replies: packed::pack(replies),
            term: term.number(),
            commit: commit.number(),
        }),
    };
    generated::Message { kind: Some(kind) }.encode_to_vec()
}

/// The message that these bytes are, to a member with this election.
///
/// An error says what is wrong. [`Malformed::is_harmless`] tells whether the sender merely is of
/// another version or differently configured, so that its other messages may be good.
pub fn decode(election: Choice, bytes: &[u8]) -> Result<Msg, Malformed> {
    let kind = read::<generated::Message>(bytes)?.kind;
    let kind = kind.ok_or(match bytes {
        [] => Malformed::Missing("kind"),
        _ => Malformed::Unknown,
    })?;
    Ok(match kind {
        Kind::Election(msg) => Msg::Member(Member::Election(to_election(election, msg)?)),
        Kind::Pass(generated::Pass {}) => Msg::Member(Member::Pass),
        Kind::View(view) => {
            let peers = view.peers.into_iter().map(to_peer_view);
            Msg::Member(Member::View(peers.collect::<Result<_, _>>()?))
        }
        Kind::Requests(msg) => Msg::Requests(packed::unpack(&msg.requests, "requests.requests")?),
        Kind::Replies(msg) => Msg::Replies {
            term: to_log::term(Some(msg.term), "replies.term")?,
            commit: Index::new(msg.commit),
            replies: packed::unpack(&msg.replies, "replies.replies")?,
        },
        of_log => Msg::Member(Member::Log(to_log::msg(of_log)?)),
    })
}

pub(crate) fn read<M: prost::Message + Default>(bytes: &[u8]) -> Result<M, Malformed> {
    if bytes.len() > LONGEST {
        return Err(Malformed::TooLong(bytes.len()));
    }
    M::decode(bytes).map_err(Malformed::Protobuf)
}

fn to_election(ours: Choice, msg: generated::Election) -> Result<any::Msg, Malformed> {
    let generated::Election { algorithm, body } = msg;
    if algorithm.is_empty() {
        return Err(Malformed::Missing("election.algorithm"));
    }
    if algorithm != ours.name() {
        return Err(Malformed::other_election(&algorithm, ours.name()));
    }
    value::to_message(ours, to_log::require(body, "election.body")?)
}

fn from_peer_view(peer: &PeerView) -> generated::PeerView {
    let PeerView { member, heard_ms, clock, behind } = *peer;
    let from_clock = |clock: ClockStatus| {
        let ClockStatus { offset_us, error_us, rate_ppb, drifts } = clock;
        generated::Clock { offset_us, error_us, rate_ppb, drifts }
    };
    generated::PeerView {
        member: Some(from_log::node(member)),
        heard_ms: heard_ms.map(u64::from),
        clock: clock.map(from_clock),
        behind,
    }
}

fn to_peer_view(peer: generated::PeerView) -> Result<PeerView, Malformed> {
    let to_clock = |clock: generated::Clock| {
        let generated::Clock { offset_us, error_us, rate_ppb, drifts } = clock;
        ClockStatus { offset_us, error_us, rate_ppb, drifts }
    };
    Ok(PeerView {
        member: to_log::node(peer.member, "peer.member")?,
        // Longer ago than can be said is said as long as can be.
        heard_ms: peer.heard_ms.map(|ms| u32::try_from(ms).unwrap_or(u32::MAX)),
        clock: peer.clock.map(to_clock),
        behind: peer.behind,
    })
}
