//! The log's messages as protobuf.

use super::generated::{self as wire, fetch, message::Kind, supply, vote};
use super::packed::pack;
use bellwether_coordination::Coordination;
use bellwether_core::{NodeId, micros};
use bellwether_log::{Ack, Answer, Body, Ended, Entries, Heartbeat, Msg, Permit, Place, Position};

/// The message, with its entries packed in this way.
pub(super) fn kind(
    msg: &Msg<Coordination>,
    pack_entries: impl Fn(&Entries<Coordination>) -> Vec<u8>,
) -> Kind {
    match msg {
        Msg::Append { beat, prev, entries } => Kind::Append(wire::Append {
            beat: Some(self::beat(beat)),
            prev: Some(position(*prev)),
            entries: pack_entries(entries),
        }),
        Msg::Ack(ack) => Kind::Ack(self::ack(ack)),
        Msg::Fetch { place, budget, ahead } => Kind::Fetch(wire::Fetch {
            place: Some(self::place(place)),
            budget: (*budget).into(),
            ahead: (*ahead).into(),
        }),
        Msg::Supply { beat, last, body } => Kind::Supply(wire::Supply {
            beat: beat.as_ref().map(self::beat),
            last: Some(position(*last)),
            body: Some(self::body(body, pack_entries)),
        }),
        Msg::RequestVote { term, last, sure, permit, ended } => {
            Kind::RequestVote(wire::RequestVote {
                term: Some(term.number()),
                last: Some(position(*last)),
                sure: *sure,
                permit: permit.as_ref().map(self::permit),
                ended: ended.as_ref().map(self::ended),
            })
        }
        Msg::Vote { term, sure, answer, birth } => Kind::Vote(wire::Vote {
            term: Some(term.number()),
            sure: *sure,
            birth: Some(birth.number()),
            answer: Some(self::answer(answer)),
        }),
        Msg::Refuse { term, promised } => Kind::Refuse(wire::Refuse {
            term: Some(term.number()),
            promised: Some(promised.number()),
        }),
        Msg::Claim { term } => Kind::Claim(wire::Claim { term: Some(term.number()) }),
        Msg::Invite { term, appointed } => {
            Kind::Invite(wire::Invite { term: Some(term.number()), appointed: *appointed })
        }
        Msg::Yield { term, generation, to, appointed } => Kind::Yield(wire::Yield {
            term: Some(term.number()),
            generation: (*generation).into(),
            to: to.map(node),
            appointed: *appointed,
        }),
        Msg::Removed { birth } => Kind::Removed(wire::Removed { birth: Some(birth.number()) }),
    }
}

fn beat(beat: &Heartbeat) -> wire::Heartbeat {
    let Heartbeat {
        term,
        generation,
        sent,
        commit,
        last,
        appointed,
        welcome,
        incarnation,
        lease_us,
    } = *beat;
    wire::Heartbeat {
        term: Some(term.number()),
        generation: generation.into(),
        sent_us: Some(sent.as_micros()),
        commit: commit.number(),
        last: Some(position(last)),
        appointed,
        welcome: welcome.map(u64::from),
        incarnation: incarnation.number(),
        lease_us: lease_us.into(),
    }
}

fn ended(ended: &Ended) -> wire::Ended {
    wire::Ended { member: Some(node(ended.member)), incarnation: ended.incarnation.number() }
}

fn ack(ack: &Ack) -> wire::Ack {
    let Ack { term, sent, clock, matched, holds, start, lost, birth, lease_us } = *ack;
    wire::Ack {
        term: Some(term.number()),
        sent_us: Some(sent.as_micros()),
        clock_us: Some(clock.as_micros()),
        matched: matched.number(),
        holds,
        start: Some(start.into()),
        lost,
        birth: Some(birth.number()),
        lease_us: lease_us.into(),
    }
}

fn place(place: &Place<Coordination>) -> fetch::Place {
    match place {
        Place::After(after) => fetch::Place::After(position(*after)),
        Place::Part { at, cursor } => {
            fetch::Place::Part(wire::PartPlace { at: Some(position(*at)), cursor: pack(cursor) })
        }
    }
}

fn body(
    body: &Body<Coordination>,
    pack_entries: impl Fn(&Entries<Coordination>) -> Vec<u8>,
) -> supply::Body {
    match body {
        Body::Entries { prev, entries } => supply::Body::Entries(wire::PieceOfEntries {
            prev: Some(position(*prev)),
            entries: pack_entries(entries),
        }),
        Body::Parts { at, roster, from, parts, next } => {
            let folder = |(member, birth): (&NodeId, &bellwether_log::Birth)| wire::Folder {
                member: Some(node(*member)),
                birth: Some(birth.number()),
            };
            supply::Body::Parts(wire::PieceOfParts {
                at: Some(position(*at)),
                roster: roster.births.iter().map(folder).collect(),
                from: pack(from),
                parts: pack(parts),
                next: next.as_ref().map(pack).unwrap_or_default(),
                members: roster.members.as_ref().map(pack).unwrap_or_default(),
                cluster: roster.cluster.map(|cluster| cluster.number()),
                leases: roster.leases.as_ref().map(pack).unwrap_or_default(),
            })
        }
        Body::Mismatch { after } => supply::Body::Mismatch(position(*after)),
    }
}

fn permit(permit: &Permit) -> wire::Permit {
    let Permit { leader, term, generation } = *permit;
    wire::Permit {
        leader: Some(node(leader)),
        term: Some(term.number()),
        generation: generation.into(),
    }
}

fn answer(answer: &Answer) -> vote::Answer {
    match *answer {
        Answer::Yes { after } => vote::Answer::YesAfterUs(micros(after)),
        Answer::Wait { leader, left } => {
            vote::Answer::Wait(wire::Wait { leader: leader.map(node), left_us: micros(left) })
        }
        Answer::Behind { last } => vote::Answer::Behind(position(last)),
        Answer::No { promised } => vote::Answer::Promised(promised.number()),
    }
}

/// No entries are no bytes: a heartbeat is small.
pub(super) fn entries(entries: &Entries<Coordination>) -> Vec<u8> {
    if entries.is_empty() { Vec::new() } else { pack(&**entries) }
}

fn position(position: Position) -> wire::Position {
    wire::Position { term: position.term.number(), index: position.index.number() }
}

pub(super) fn node(id: NodeId) -> u64 {
    id.number().into()
}
