//! Neighbouring versions.

use super::examples::{clients, logs, members};
use super::golden::elections;
use super::{of_log, raw, read};
use bellwether_algorithms::election::any::Choice;
use bellwether_core::{NodeId, Time};
use bellwether_log::{Ack, Answer, Birth, Index, Msg as M, Position, Term};
use bellwether_member::service::Msg;
use bellwether_member::{ClockStatus, Msg as Member, PeerView};
use bellwether_node::codec::{Malformed, decode, encode};
use serde::de::DeserializeSeed;
use serde_json::{Value as Json, json};

/// All examples but for the elections'.
fn examples() -> impl Iterator<Item = (&'static str, Msg)> {
    logs().into_iter().chain(members()).chain(clients())
}

fn example(name: &str) -> Msg {
    examples().find(|(known, _)| *known == name).unwrap().1
}

/// What a next version may have added: a number, and something larger.
fn later() -> Vec<u8> {
    [raw::number(90, 1), raw::block(91, b"later")].concat()
}

#[test]
fn unknown_fields_are_ignored() {
    for (name, msg) in examples() {
        let bytes = encode(&msg);
        let outside = [later(), bytes.clone(), later()].concat();
        assert_eq!(read(&outside), Ok(msg.clone()), "{name}");
        let (kind, content) = raw::unblock(&bytes);
        let inside = raw::block(kind, &[later(), content, later()].concat());
        assert_eq!(read(&inside), Ok(msg), "{name}");
    }
}

#[test]
fn unknown_fields_of_parts_are_ignored() {
    let last = raw::block(2, &[raw::number(1, 6), later(), raw::number(2, 3)].concat());
    let ask = raw::block(5, &[raw::number(1, 7), last].concat());
    let last = Position::new(6, 3);
    let expected =
        M::RequestVote { term: Term::new(7), last, sure: false, permit: None, ended: None };
    assert_eq!(read(&ask), Ok(of_log(expected)));

    let clock = raw::block(3, &[later(), raw::number(2, 9)].concat());
    let peer = raw::block(1, &[later(), raw::number(1, 5), clock].concat());
    let clock = Some(ClockStatus { error_us: 9, ..ClockStatus::default() });
    let peers = vec![PeerView { member: NodeId::new(5), heard_ms: None, clock, behind: None }];
    assert_eq!(read(&raw::block(13, &peer)), Ok(Msg::Member(Member::View(peers))));
}

/// The same message as a next version may send it: with more in every struct.
fn grown(json: &Json) -> Json {
    match json {
        Json::Array(items) => Json::Array(items.iter().map(grown).collect()),
        Json::Object(entries) => {
            let mut grown: serde_json::Map<_, _> =
                entries.iter().map(|(name, inner)| (name.clone(), self::grown(inner))).collect();
            // A variant is an object too, of one capitalised name; nothing can be added to that.
            if !entries.keys().all(|name| name.starts_with(char::is_uppercase)) {
                grown.insert("later".to_owned(), json!({"more": [1, null, true, "text"]}));
            }
            Json::Object(grown)
        }
        other => other.clone(),
    }
}

#[test]
fn fields_added_to_an_elections_message_are_ignored() {
    for election in Choice::ALL.iter().copied() {
        for (name, json) in elections(election.name()) {
            let bytes = raw::election(election.name(), &grown(&json));
            let msg = Msg::Member(Member::Election(election.deserialize(json).unwrap()));
            assert_eq!(decode(election, &bytes), Ok(msg), "{election} {name}");
        }
    }
    assert_ne!(grown(&json!({"Ack": {"seq": 1}})), json!({"Ack": {"seq": 1}}), "it does add");
}

#[test]
fn a_kind_of_a_newer_version_is_unknown_and_harmless() {
    for kind in [17, 18, 300] {
        let error = read(&raw::block(kind, &raw::number(1, 7))).unwrap_err();
        assert_eq!(error, Malformed::Unknown);
        assert!(error.is_harmless());
    }
    let error = read(&raw::election("bully", &json!("Handshake"))).unwrap_err();
    assert!(matches!(&error, Malformed::Misfit(why) if why.contains("Handshake")), "{error}");
    assert!(error.is_harmless());
    let error = read(&raw::block(11, &[raw::block(1, b"bully"), raw::block(2, &[])].concat()));
    assert_eq!(error, Err(Malformed::Unknown), "a form of value that is not known");
}

#[test]
fn another_election_is_named() {
    let error = decode(Choice::Ring, &raw::election("bully", &json!("Ok"))).unwrap_err();
    assert_eq!(error, Malformed::OtherElection { theirs: "bully".to_owned(), ours: "ring" });
    assert!(error.is_harmless());
    let text = error.to_string();
    assert!(text.contains("'bully'") && text.contains("'ring'"), "{text}");
}

/// Which field of which message is packed.
const PACKED: [(&str, u64, &str); 3] = [
    ("append", 3, "append.entries"),
    ("requests", 1, "requests.requests"),
    ("replies", 1, "replies.replies"),
];

#[test]
fn a_format_of_a_newer_version_is_told_and_harmless() {
    for (name, field, path) in PACKED {
        let msg = example(name);
        let (kind, content) = raw::unblock(&encode(&msg));
        for format in [0, 2, 255] {
            // Of two fields with the same number the last one counts.
            let later = raw::block(field, &[&[format][..], b"locks"].concat());
            let error = read(&raw::block(kind, &[content.clone(), later].concat())).unwrap_err();
            assert_eq!(error, Malformed::Format { field: path, format }, "{name}");
            assert!(error.is_harmless(), "{name}");
            let text = error.to_string();
            assert!(text.contains(path) && text.contains(&format.to_string()), "{text}");
        }
    }
}

#[test]
fn what_is_packed_must_make_sense() {
    for (name, field, path) in PACKED {
        let msg = example(name);
        let (kind, content) = raw::unblock(&encode(&msg));
        let fields = raw::fields(&content);
        let (_, packed) = fields.iter().find(|(known, _)| *known == field).unwrap();
        let (_, packed) = raw::unblock(packed);
        let with = |packed: &[u8]| {
            let replaced = raw::block(field, packed);
            read(&raw::block(kind, &[content.clone(), replaced].concat()))
        };
        assert_eq!(with(&packed), Ok(msg), "{name}");
        for damaged in [&packed[..packed.len() - 1], &[&packed[..], &[0]].concat(), &[1]] {
            let error = with(damaged).unwrap_err();
            assert!(matches!(error, Malformed::Packed { field, .. } if field == path), "{error}");
            assert!(!error.is_harmless() && error.to_string().contains(path), "{error}");
        }
    }
    for (kind, path) in [(14, "requests.requests"), (15, "replies.replies")] {
        assert_eq!(read(&raw::block(kind, &[])), Err(Malformed::Missing(path)));
    }
}

#[test]
fn what_is_required_is_missed_by_name() {
    let required: &[(&str, &[(u64, &str)])] = &[
        ("append", &[(1, "append.beat"), (2, "append.prev")]),
        (
            "ack",
            &[
                (1, "ack.term"),
                (2, "ack.sent_us"),
                (3, "ack.clock_us"),
                (6, "ack.start"),
                (8, "ack.birth"),
            ],
        ),
        ("fetch", &[(1, "fetch.place")]),
        ("supply-parts", &[(2, "supply.last"), (4, "supply.body")]),
        ("request-vote-sure", &[(1, "request_vote.term"), (2, "request_vote.last")]),
        ("vote-wait", &[(1, "vote.term"), (3, "vote.birth"), (5, "vote.answer")]),
        ("refuse", &[(1, "refuse.term"), (2, "refuse.promised")]),
        ("claim", &[(1, "claim.term")]),
        ("invite", &[(1, "invite.term")]),
        ("yield", &[(1, "yield.term")]),
    ];
    for (name, required) in required {
        let msg = example(name);
        let (kind, content) = raw::unblock(&encode(&msg));
        let fields = raw::fields(&content);
        for (gone, _) in &fields {
            let rest = fields.iter().filter(|(field, _)| field != gone);
            let rest: Vec<_> = rest.map(|(_, bytes)| bytes.clone()).collect();
            let outcome = read(&raw::block(kind, &rest.concat()));
            match required.iter().find(|(field, _)| field == gone) {
                Some((_, path)) => {
                    let error = outcome.unwrap_err();
                    assert_eq!(error, Malformed::Missing(path));
                    assert!(error.to_string().contains(path) && !error.is_harmless());
                }
                None => assert!(outcome.is_ok(), "{name}: {gone} may be left out"),
            }
        }
        let there = |(field, _): &(u64, _)| fields.iter().any(|(known, _)| known == field);
        assert!(required.iter().all(there), "{name}: the example must have all that is required");
    }
}

#[test]
fn required_parts_of_parts_are_missed_too() {
    let beat = |content: &[u8]| read(&raw::block(1, &raw::block(1, content)));
    assert_eq!(beat(&raw::number(3, 3)), Err(Malformed::Missing("beat.term")));
    assert_eq!(beat(&raw::number(1, 3)), Err(Malformed::Missing("beat.sent_us")));
    let timed = [raw::number(1, 3), raw::number(3, 8)].concat();
    assert_eq!(beat(&timed), Err(Malformed::Missing("beat.last")));
    let peer = raw::block(1, &raw::number(2, 3));
    assert_eq!(read(&raw::block(13, &peer)), Err(Malformed::Missing("peer.member")));
    assert_eq!(read(&[]), Err(Malformed::Missing("kind")));
    let nameless = raw::block(11, &raw::block(2, &raw::value(&json!("Ok"))));
    assert_eq!(read(&nameless), Err(Malformed::Missing("election.algorithm")));
    let empty = raw::block(11, &raw::block(1, b"bully"));
    assert_eq!(read(&empty), Err(Malformed::Missing("election.body")));
}

#[test]
fn numbers_survive_up_to_their_limits() {
    for number in [0, 1, 127, 128, u32::MAX.into(), 1 << 32, (1 << 53) + 1, u64::MAX] {
        // Tokens have the term in their upper half.
        let term = Term::new(number.min(u32::MAX.into()));
        let (index, birth) = (Index::new(number), Birth::new(number));
        let (sent, clock) = (Time::from_micros(number), Time::from_micros(!number));
        let (matched, holds, lost) = (index, true, false);
        let lease_us = u32::try_from(number).unwrap_or(u32::MAX);
        let ack =
            Ack { term, sent, clock, matched, holds, start: number as u32, lost, birth, lease_us };
        let last = Position { term, index };
        for msg in [
            M::Ack(ack),
            M::RequestVote { term, last, sure: true, permit: None, ended: None },
            M::Vote { term, sure: true, answer: Answer::Behind { last }, birth },
            M::Refuse { term, promised: term },
        ] {
            let msg = of_log(msg);
            assert_eq!(read(&encode(&msg)), Ok(msg));
        }
    }
    for number in [0, 1, u32::MAX] {
        let (offset_us, rate_ppb) = (i64::MIN, Some(i64::MAX));
        let clock = Some(ClockStatus { offset_us, error_us: u64::MAX, rate_ppb, drifts: true });
        let (member, behind) = (NodeId::new(number), Some(u64::MAX - u64::from(number)));
        let peers = vec![PeerView { member, heard_ms: Some(number), clock, behind }];
        let msg = Msg::Member(Member::View(peers));
        assert_eq!(read(&encode(&msg)), Ok(msg));
    }
}

#[test]
fn a_member_beyond_32_bits_is_refused_not_cut_off() {
    let value = (1 << 32) + 5;
    let refused = |field| Malformed::OutOfRange { field, value };
    let yielding = [raw::number(1, 7), raw::number(3, value)].concat();
    assert_eq!(read(&raw::block(10, &yielding)), Err(refused("yield.to")));
    let wait = raw::block(5, &raw::number(1, value));
    let vote = [raw::number(1, 7), raw::number(3, 8), wait].concat();
    assert_eq!(read(&raw::block(6, &vote)), Err(refused("vote.wait.leader")));
    let peer = raw::block(1, &raw::number(1, value));
    assert_eq!(read(&raw::block(13, &peer)), Err(refused("peer.member")));
    let body = json!({"Carry": {"seq": 1, "leg": 1, "body": {"Election": [value]}}});
    let error = decode(Choice::Ring, &raw::election("ring", &body)).unwrap_err();
    assert!(matches!(&error, Malformed::Misfit(_)), "{error}");
    assert!(decode(Choice::Bully, &raw::election("bully", &json!(value))).is_err());
}

#[test]
fn a_very_long_silence_is_said_as_long_as_can_be() {
    let peer = raw::block(1, &[raw::number(1, 5), raw::number(2, 1 << 40)].concat());
    let Ok(Msg::Member(Member::View(peers))) = read(&raw::block(13, &peer)) else {
        panic!("a view");
    };
    assert_eq!(peers[0].heard_ms, Some(u32::MAX));
}
