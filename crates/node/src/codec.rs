//! The production member's messages and durable state as protobuf.
//!
//! A cluster is upgraded one member after the other, so members of neighbouring versions must
//! understand each other. `proto/member.proto` says what every field is for and which changes are
//! allowed. The Rust types of the state machine stay free of such concerns: this module translates,
//! and checks on the way in that nothing required is missing and every number fits.
//!
//! Messages of the mandate have a protobuf message each. Those of the elections are the elections'
//! own business and travel as self-describing values, so a new election needs nothing here. The
//! coordinator's state, its changes and what clients want travel in a compact format with a
//! number of its own.
//!
//! What arrives is not trusted: decoding never panics, looks at no more than [`LONGEST`] bytes, and
//! allocates at most a few dozen times as much (an empty value is two bytes on the wire and a few
//! words in memory).

mod malformed;
mod packed;
mod value;

pub use malformed::Malformed;

use bellwether_algorithms::election::any::{self, Body, Choice};
use bellwether_core::{NodeId, Time};
use bellwether_duties::Duties;
use bellwether_member::mandate::{self, Sight, Version};
use bellwether_member::steward::Msg;
use bellwether_member::{ClockStatus, Durable, Epoch};
use generated::message::Kind;
use prost::Message as _;
use std::sync::Arc;

#[rustfmt::skip]
#[allow(missing_docs, unreachable_pub, reason = "generated; the .proto file documents it")]
mod generated;

/// The longest message that is looked at, in bytes. It leaves room for the state of as many sessions
/// as are served by default. Members have shown certificates before they send anything.
pub const LONGEST: usize = 256 * 1024 * 1024;

/// A message as it travels.
///
/// An election's message that has no form on the wire (a fraction, a map whose keys are no text)
/// leaves without its body and is refused where it arrives. No election of the catalogue has such
/// messages, and the tests see to it.
pub fn encode(msg: &Msg) -> Vec<u8> {
    use bellwether_member::Msg as Member;
    let kind = match msg {
        Msg::Member(Member::Election(msg)) => Kind::Election(generated::Election {
            algorithm: msg.choice().name().to_owned(),
            body: value::from_message(&Body(msg)),
        }),
        Msg::Member(Member::Mandate(msg)) => from_mandate(msg),
        Msg::Wants(wants) => Kind::Wants(generated::Wants { requests: packed::pack(wants) }),
        Msg::Says(replies) => Kind::Says(generated::Says { replies: packed::pack(replies) }),
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
    to_msg(election, kind)
}

/// Durable state as the file keeps it.
pub fn encode_durable(durable: &Durable) -> Vec<u8> {
    let Durable { incarnation, promised, promised_to, reliance_ms } = *durable;
    generated::Durable {
        incarnation: Some(incarnation.into()),
        promised: Some(promised.number()),
        promised_to: promised_to.map(from_node),
        reliance_ms,
    }
    .encode_to_vec()
}

/// Durable state from a file.
pub fn decode_durable(bytes: &[u8]) -> Result<Durable, Malformed> {
    let generated::Durable { incarnation, promised, promised_to, reliance_ms } = read(bytes)?;
    let incarnation = require(incarnation, "durable.incarnation")?;
    Ok(Durable {
        incarnation: fit(incarnation, "durable.incarnation")?,
        promised: to_epoch(promised, "durable.promised")?,
        promised_to: to_some_node(promised_to, "durable.promised_to")?,
        reliance_ms,
    })
}

fn read<M: prost::Message + Default>(bytes: &[u8]) -> Result<M, Malformed> {
    if bytes.len() > LONGEST {
        return Err(Malformed::TooLong(bytes.len()));
    }
    M::decode(bytes).map_err(Malformed::Protobuf)
}

fn from_mandate(msg: &mandate::Msg<Duties>) -> Kind {
    use mandate::Msg as M;
    match msg {
        M::Prepare { epoch, version } => Kind::Prepare(generated::Prepare {
            epoch: from_epoch(*epoch),
            version: from_version(*version).filter(|_| *version != Version::default()),
        }),
        M::Promise { epoch, version, copy } => Kind::Promise(generated::Promise {
            epoch: from_epoch(*epoch),
            version: from_version(*version),
            state: copy.as_ref().map(|copy| packed::pack(&**copy)).unwrap_or_default(),
        }),
        M::Wait { epoch, leader } => {
            Kind::Wait(generated::Wait { epoch: from_epoch(*epoch), leader: leader.map(from_node) })
        }
        M::Refuse { epoch, promised } => Kind::Refuse(generated::Refuse {
            epoch: from_epoch(*epoch),
            promised: from_epoch(*promised),
        }),
        M::Spread { epoch, sent, version, copy, appointed, start } => {
            Kind::Spread(generated::Spread {
                epoch: from_epoch(*epoch),
                sent_us: from_time(*sent),
                version: from_version(*version),
                state: from_state(copy),
                appointed: *appointed,
                start: *start,
            })
        }
        M::Append { epoch, sent, appointed, after, commands } => Kind::Append(generated::Append {
            epoch: from_epoch(*epoch),
            sent_us: from_time(*sent),
            appointed: *appointed,
            after: Some(*after),
            commands: packed::pack(&**commands),
        }),
        M::Beat { epoch, sent, appointed, view, sequence } => Kind::Beat(generated::Beat {
            epoch: from_epoch(*epoch),
            sent_us: from_time(*sent),
            appointed: *appointed,
            view: view.iter().map(from_sight).collect(),
            sequence: *sequence,
        }),
        M::Ack { epoch, sent, clock, held } => Kind::Ack(generated::Ack {
            epoch: from_epoch(*epoch),
            sent_us: from_time(*sent),
            clock_us: from_time(*clock),
            held: *held,
        }),
        M::Lack { epoch, held, start } => {
            Kind::Lack(generated::Lack { epoch: from_epoch(*epoch), held: *held, start: *start })
        }
        M::Claim { epoch } => Kind::Claim(generated::Claim { epoch: from_epoch(*epoch) }),
        M::Release { epoch, to, appointed } => Kind::Release(generated::Release {
            epoch: from_epoch(*epoch),
            to: to.map(from_node),
            appointed: *appointed,
        }),
    }
}

fn to_msg(election: Choice, kind: Kind) -> Result<Msg, Malformed> {
    use bellwether_member::Msg as Member;
    use mandate::Msg as M;
    Ok(Msg::Member(Member::Mandate(match kind {
        Kind::Election(msg) => {
            return to_election(election, msg).map(|msg| Msg::Member(Member::Election(msg)));
        }
        Kind::Wants(msg) => return packed::unpack(&msg.requests, "wants.requests").map(Msg::Wants),
        Kind::Says(msg) => return packed::unpack(&msg.replies, "says.replies").map(Msg::Says),
        Kind::Prepare(msg) => M::Prepare {
            epoch: to_epoch(msg.epoch, "prepare.epoch")?,
            version: match msg.version {
                None => Version::default(),
                version => to_version(version, "prepare.version")?,
            },
        },
        Kind::Promise(msg) => M::Promise {
            epoch: to_epoch(msg.epoch, "promise.epoch")?,
            version: to_version(msg.version, "promise.version")?,
            copy: match msg.state.as_slice() {
                [] => None,
                bytes => Some(to_state(bytes)?),
            },
        },
        Kind::Wait(msg) => M::Wait {
            epoch: to_epoch(msg.epoch, "wait.epoch")?,
            leader: to_some_node(msg.leader, "wait.leader")?,
        },
        Kind::Refuse(msg) => M::Refuse {
            epoch: to_epoch(msg.epoch, "refuse.epoch")?,
            promised: to_epoch(msg.promised, "refuse.promised")?,
        },
        Kind::Spread(msg) => M::Spread {
            epoch: to_epoch(msg.epoch, "spread.epoch")?,
            sent: to_time(msg.sent_us, "spread.sent_us")?,
            version: to_version(msg.version, "spread.version")?,
            copy: to_state(&msg.state)?,
            appointed: msg.appointed,
            start: msg.start,
        },
        Kind::Beat(msg) => M::Beat {
            epoch: to_epoch(msg.epoch, "beat.epoch")?,
            sent: to_time(msg.sent_us, "beat.sent_us")?,
            appointed: msg.appointed,
            view: msg.view.into_iter().map(to_sight).collect::<Result<_, _>>()?,
            sequence: msg.sequence,
        },
        Kind::Append(msg) => M::Append {
            epoch: to_epoch(msg.epoch, "append.epoch")?,
            sent: to_time(msg.sent_us, "append.sent_us")?,
            appointed: msg.appointed,
            after: require(msg.after, "append.after")?,
            commands: packed::unpack(&msg.commands, "append.commands")?,
        },
        Kind::Ack(msg) => M::Ack {
            epoch: to_epoch(msg.epoch, "ack.epoch")?,
            sent: to_time(msg.sent_us, "ack.sent_us")?,
            clock: to_time(msg.clock_us, "ack.clock_us")?,
            held: msg.held,
        },
        Kind::Lack(msg) => {
            M::Lack { epoch: to_epoch(msg.epoch, "lack.epoch")?, held: msg.held, start: msg.start }
        }
        Kind::Claim(msg) => M::Claim { epoch: to_epoch(msg.epoch, "claim.epoch")? },
        Kind::Release(msg) => M::Release {
            epoch: to_epoch(msg.epoch, "release.epoch")?,
            to: to_some_node(msg.to, "release.to")?,
            appointed: msg.appointed,
        },
    })))
}

fn to_election(ours: Choice, msg: generated::Election) -> Result<any::Msg, Malformed> {
    let generated::Election { algorithm, body } = msg;
    if algorithm.is_empty() {
        return Err(Malformed::Missing("election.algorithm"));
    }
    if algorithm != ours.name() {
        return Err(Malformed::other_election(&algorithm, ours.name()));
    }
    value::to_message(ours, require(body, "election.body")?)
}

/// The coordinator's state on the wire. It is empty as long as nothing has ever happened, which is
/// what a version without duties sends and understands.
fn from_state(state: &Duties) -> Vec<u8> {
    if *state == Duties::default() { Vec::new() } else { packed::pack(state) }
}

/// A state that this version cannot read is refused: who acknowledges a copy says that it has it.
fn to_state(bytes: &[u8]) -> Result<Arc<Duties>, Malformed> {
    match bytes {
        [] => Ok(Arc::default()),
        bytes => {
            let state = packed::unpack::<Duties>(bytes, "state")?;
            match state.flaw() {
                None => Ok(Arc::new(state.restored())),
                Some(flaw) => Err(Malformed::packed("state", flaw)),
            }
        }
    }
}

fn from_sight(sight: &Sight) -> generated::Sight {
    let Sight { member, heard_ms, clock } = *sight;
    let from_clock = |clock: ClockStatus| {
        let ClockStatus { offset_us, error_us, rate_ppb, drifts } = clock;
        generated::Clock { offset_us, error_us, rate_ppb, drifts }
    };
    generated::Sight {
        member: Some(from_node(member)),
        heard_ms: heard_ms.map(u64::from),
        clock: clock.map(from_clock),
    }
}

fn to_sight(sight: generated::Sight) -> Result<Sight, Malformed> {
    let to_clock = |clock: generated::Clock| {
        let generated::Clock { offset_us, error_us, rate_ppb, drifts } = clock;
        ClockStatus { offset_us, error_us, rate_ppb, drifts }
    };
    Ok(Sight {
        member: to_node(require(sight.member, "sight.member")?, "sight.member")?,
        // Longer ago than can be said is said as long as can be.
        heard_ms: sight.heard_ms.map(|ms| u32::try_from(ms).unwrap_or(u32::MAX)),
        clock: sight.clock.map(to_clock),
    })
}

fn from_version(version: Version) -> Option<generated::Version> {
    let Version { epoch, sequence } = version;
    Some(generated::Version { epoch: from_epoch(epoch), sequence: Some(sequence) })
}

fn to_version(
    version: Option<generated::Version>,
    field: &'static str,
) -> Result<Version, Malformed> {
    let version = require(version, field)?;
    Ok(Version {
        epoch: to_epoch(version.epoch, "version.epoch")?,
        sequence: require(version.sequence, "version.sequence")?,
    })
}

fn from_epoch(epoch: Epoch) -> Option<u64> {
    Some(epoch.number())
}

fn to_epoch(epoch: Option<u64>, field: &'static str) -> Result<Epoch, Malformed> {
    require(epoch, field).map(Epoch::new)
}

fn from_time(time: Time) -> Option<u64> {
    Some(time.as_micros())
}

fn to_time(micros: Option<u64>, field: &'static str) -> Result<Time, Malformed> {
    require(micros, field).map(Time::from_micros)
}

fn from_node(id: NodeId) -> u64 {
    id.number().into()
}

fn to_node(number: u64, field: &'static str) -> Result<NodeId, Malformed> {
    fit(number, field).map(NodeId::new)
}

fn to_some_node(number: Option<u64>, field: &'static str) -> Result<Option<NodeId>, Malformed> {
    number.map(|number| to_node(number, field)).transpose()
}

fn require<T>(part: Option<T>, field: &'static str) -> Result<T, Malformed> {
    part.ok_or(Malformed::Missing(field))
}

fn fit(value: u64, field: &'static str) -> Result<u32, Malformed> {
    u32::try_from(value).map_err(|_| Malformed::OutOfRange { field, value })
}
