//! The log's messages from protobuf: what is required must be there, and numbers must fit.

use super::generated::{self as wire, fetch, message::Kind, supply, vote};
use super::malformed::Malformed;
use super::packed::unpack;
use bellwether_coordination::Coordination;
use bellwether_core::{NodeId, Time, micros};
use bellwether_log::{
    Ack, Answer, Birth, Body, ClusterId, Ended, Entries, Heartbeat, Incarnation, Index, Msg,
    Payload, Permit, Place, Position, Roster, Term,
};
use std::time::Duration;

pub(super) fn msg(kind: Kind) -> Result<Msg<Coordination>, Malformed> {
    Ok(match kind {
        Kind::Append(msg) => Msg::Append {
            beat: beat(require(msg.beat, "append.beat")?)?,
            prev: position(msg.prev, "append.prev")?,
            entries: entries(&msg.entries, "append.entries")?,
        },
        Kind::Ack(msg) => Msg::Ack(ack(&msg)?),
        Kind::Fetch(msg) => Msg::Fetch {
            place: place(require(msg.place, "fetch.place")?)?,
            budget: fit(msg.budget, "fetch.budget")?,
            ahead: fit(msg.ahead, "fetch.ahead")?,
        },
        Kind::Supply(msg) => Msg::Supply {
            beat: msg.beat.map(beat).transpose()?,
            last: position(msg.last, "supply.last")?,
            body: body(require(msg.body, "supply.body")?)?,
        },
        Kind::RequestVote(msg) => Msg::RequestVote {
            term: term(msg.term, "request_vote.term")?,
            last: position(msg.last, "request_vote.last")?,
            sure: msg.sure,
            permit: msg.permit.map(permit).transpose()?,
            ended: msg.ended.map(ended).transpose()?,
        },
        Kind::Vote(msg) => Msg::Vote {
            term: term(msg.term, "vote.term")?,
            sure: msg.sure,
            answer: answer(require(msg.answer, "vote.answer")?)?,
            birth: birth(msg.birth, "vote.birth")?,
        },
        Kind::Refuse(msg) => Msg::Refuse {
            term: term(msg.term, "refuse.term")?,
            promised: term(msg.promised, "refuse.promised")?,
        },
        Kind::Claim(msg) => Msg::Claim { term: term(msg.term, "claim.term")? },
        Kind::Invite(msg) => {
            Msg::Invite { term: term(msg.term, "invite.term")?, appointed: msg.appointed }
        }
        Kind::Yield(msg) => Msg::Yield {
            term: term(msg.term, "yield.term")?,
            generation: fit(msg.generation, "yield.generation")?,
            to: msg.to.map(|to| node(Some(to), "yield.to")).transpose()?,
            appointed: msg.appointed,
        },
        Kind::Removed(msg) => Msg::Removed { birth: birth(msg.birth, "removed.birth")? },
        // The caller reads these itself.
        Kind::Election(_)
        | Kind::Pass(_)
        | Kind::View(_)
        | Kind::Requests(_)
        | Kind::Replies(_) => return Err(Malformed::Unknown),
    })
}

fn beat(beat: wire::Heartbeat) -> Result<Heartbeat, Malformed> {
    Ok(Heartbeat {
        term: term(beat.term, "beat.term")?,
        generation: fit(beat.generation, "beat.generation")?,
        sent: time(beat.sent_us, "beat.sent_us")?,
        commit: Index::new(beat.commit),
        last: position(beat.last, "beat.last")?,
        appointed: beat.appointed,
        welcome: beat.welcome.map(|start| fit(start, "beat.welcome")).transpose()?,
        incarnation: Incarnation::new(beat.incarnation),
        lease_us: fit(beat.lease_us, "beat.lease_us")?,
    })
}

fn ended(ended: wire::Ended) -> Result<Ended, Malformed> {
    let member = node(ended.member, "ended.member")?;
    Ok(Ended { member, incarnation: Incarnation::new(ended.incarnation) })
}

fn ack(ack: &wire::Ack) -> Result<Ack, Malformed> {
    Ok(Ack {
        term: term(ack.term, "ack.term")?,
        sent: time(ack.sent_us, "ack.sent_us")?,
        clock: time(ack.clock_us, "ack.clock_us")?,
        matched: Index::new(ack.matched),
        holds: ack.holds,
        start: fit(require(ack.start, "ack.start")?, "ack.start")?,
        lost: ack.lost,
        birth: birth(ack.birth, "ack.birth")?,
        lease_us: fit(ack.lease_us, "ack.lease_us")?,
    })
}

fn place(place: fetch::Place) -> Result<Place<Coordination>, Malformed> {
    Ok(match place {
        fetch::Place::After(after) => Place::After(position(Some(after), "fetch.after")?),
        fetch::Place::Part(part) => Place::Part {
            at: position(part.at, "fetch.part.at")?,
            cursor: unpack(&part.cursor, "fetch.part.cursor")?,
        },
    })
}

fn body(body: supply::Body) -> Result<Body<Coordination>, Malformed> {
    Ok(match body {
        supply::Body::Entries(piece) => Body::Entries {
            prev: position(piece.prev, "supply.entries.prev")?,
            entries: entries(&piece.entries, "supply.entries.entries")?,
        },
        supply::Body::Parts(piece) => Body::Parts {
            at: position(piece.at, "supply.parts.at")?,
            roster: Box::new(Roster {
                births: piece.roster.into_iter().map(folder).collect::<Result<_, _>>()?,
                members: match piece.members.as_slice() {
                    [] => None,
                    members => Some(unpack(members, "supply.parts.members")?),
                },
                cluster: piece.cluster.map(ClusterId::new),
                leases: match piece.leases.as_slice() {
                    [] => None,
                    leases => Some(unpack(leases, "supply.parts.leases")?),
                },
            }),
            from: unpack(&piece.from, "supply.parts.from")?,
            parts: unpack(&piece.parts, "supply.parts.parts")?,
            next: match piece.next.as_slice() {
                [] => None,
                next => Some(unpack(next, "supply.parts.next")?),
            },
        },
        supply::Body::Mismatch(after) => {
            Body::Mismatch { after: position(Some(after), "supply.mismatch")? }
        }
    })
}

fn folder(folder: wire::Folder) -> Result<(NodeId, Birth), Malformed> {
    Ok((node(folder.member, "folder.member")?, birth(folder.birth, "folder.birth")?))
}

fn permit(permit: wire::Permit) -> Result<Permit, Malformed> {
    Ok(Permit {
        leader: node(permit.leader, "permit.leader")?,
        term: term(permit.term, "permit.term")?,
        generation: fit(permit.generation, "permit.generation")?,
    })
}

fn answer(answer: vote::Answer) -> Result<Answer, Malformed> {
    Ok(match answer {
        vote::Answer::YesAfterUs(after) => Answer::Yes { after: Duration::from_micros(after) },
        vote::Answer::Wait(wait) => Answer::Wait {
            leader: wait.leader.map(|id| node(Some(id), "vote.wait.leader")).transpose()?,
            left: Duration::from_micros(wait.left_us),
        },
        vote::Answer::Behind(last) => Answer::Behind { last: position(Some(last), "vote.behind")? },
        vote::Answer::Promised(promised) => {
            Answer::No { promised: term(Some(promised), "vote.promised")? }
        }
    })
}

/// A member that cannot read entries does not acknowledge them.
fn entries(bytes: &[u8], field: &'static str) -> Result<Entries<Coordination>, Malformed> {
    let entries: Entries<Coordination> = match bytes {
        [] => Entries::<Coordination>::from([]),
        bytes => unpack(bytes, field)?,
    };
    for entry in entries.iter() {
        fit(entry.position.term.number(), field)?;
        if let Payload::LeaseSettings(leases) = entry.payload {
            // An hour and some minutes: spans can be added and doubled without care.
            fit(micros(leases.lease.max(leases.heartbeat)), field)?;
        }
    }
    Ok(entries)
}

fn position(position: Option<wire::Position>, field: &'static str) -> Result<Position, Malformed> {
    let at = require(position, field)?;
    fit(at.term, field)?;
    Ok(Position::new(at.term, at.index))
}

/// A term. Tokens have it in their upper half, so one of more than 32 bits is refused: after it no token
/// would be larger than all before.
pub(super) fn term(term: Option<u64>, field: &'static str) -> Result<Term, Malformed> {
    fit(require(term, field)?, field).map(|term| Term::new(term.into()))
}

fn birth(birth: Option<u64>, field: &'static str) -> Result<Birth, Malformed> {
    require(birth, field).map(Birth::new)
}

fn time(micros: Option<u64>, field: &'static str) -> Result<Time, Malformed> {
    require(micros, field).map(Time::from_micros)
}

pub(super) fn node(number: Option<u64>, field: &'static str) -> Result<NodeId, Malformed> {
    fit(require(number, field)?, field).map(NodeId::new)
}

pub(super) fn require<T>(part: Option<T>, field: &'static str) -> Result<T, Malformed> {
    part.ok_or(Malformed::Missing(field))
}

fn fit(value: u64, field: &'static str) -> Result<u32, Malformed> {
    u32::try_from(value).map_err(|_| Malformed::OutOfRange { field, value })
}
