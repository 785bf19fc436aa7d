//! Neighbouring versions.

use super::examples::{clients, mandates};
use super::golden::elections;
use super::{of_mandate, raw, read};
use bellwether_algorithms::election::any::Choice;
use bellwether_core::{NodeId, Time};
use bellwether_member::mandate::{Msg as M, Sight, Version};
use bellwether_member::steward::Msg;
use bellwether_member::{ClockStatus, Durable, Epoch, Msg as Member};
use bellwether_node::codec::{Malformed, decode, decode_durable, encode, encode_durable};
use serde::de::DeserializeSeed;
use serde_json::{Value as Json, json};

/// What a next version may have added: a number, and something larger.
fn later() -> Vec<u8> {
    [raw::number(90, 1), raw::block(91, b"later")].concat()
}

#[test]
fn unknown_fields_are_ignored() {
    for (name, msg) in mandates().into_iter().chain(clients()) {
        let bytes = encode(&msg);
        let outside = [later(), bytes.clone(), later()].concat();
        assert_eq!(read(&outside), Ok(msg.clone()), "{name}");
        let (kind, content) = raw::unblock(&bytes);
        let inside = raw::block(kind, &[later(), content, later()].concat());
        assert_eq!(read(&inside), Ok(msg), "{name}");
    }
    let durable = Durable { incarnation: 2, ..Durable::default() };
    let bytes = [later(), encode_durable(&durable), later()].concat();
    assert_eq!(decode_durable(&bytes), Ok(durable));
}

#[test]
fn unknown_fields_of_parts_are_ignored() {
    let version = raw::block(2, &[raw::number(1, 6), later(), raw::number(2, 3)].concat());
    let promise = raw::block(3, &[raw::number(1, 7), version].concat());
    let version = Version { epoch: Epoch::new(6), sequence: 3 };
    let expected = M::Promise { epoch: Epoch::new(7), version, copy: None };
    assert_eq!(read(&promise), Ok(of_mandate(expected)));

    let clock = raw::block(3, &[later(), raw::number(2, 9)].concat());
    let sight = raw::block(4, &[later(), raw::number(1, 5), clock].concat());
    let beat = raw::block(7, &[raw::number(1, 7), raw::number(2, 8), sight].concat());
    let clock = Some(ClockStatus { error_us: 9, ..ClockStatus::default() });
    let view = vec![Sight { member: NodeId::new(5), heard_ms: None, clock }];
    let (epoch, sent) = (Epoch::new(7), Time::from_micros(8));
    let expected = M::Beat { epoch, sent, appointed: false, view, sequence: 0 };
    assert_eq!(read(&beat), Ok(of_mandate(expected)));
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
    for kind in [15, 16, 300] {
        let error = read(&raw::block(kind, &raw::number(1, 7))).unwrap_err();
        assert_eq!(error, Malformed::Unknown);
        assert!(error.is_harmless());
    }
    let error = read(&raw::election("bully", &json!("Handshake"))).unwrap_err();
    assert!(matches!(&error, Malformed::Misfit(why) if why.contains("Handshake")), "{error}");
    assert!(error.is_harmless());
    let error = read(&raw::block(1, &[raw::block(1, b"bully"), raw::block(2, &[])].concat()));
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

/// Before members kept a state for clients there was none of this: how new a candidate's copy is,
/// how many changes there were, and how many a follower has. What such a member says is understood,
/// and what is said to it has the same bytes as long as nobody has asked for anything.
#[test]
fn a_version_without_a_state_is_understood() {
    let (epoch, sent, clock) = (Epoch::new(7), Time::from_micros(8), Time::from_micros(9));
    let version = Version { epoch: Epoch::new(6), sequence: 0 };
    let numbers = |all: &[(u64, u64)]| -> Vec<u8> {
        all.iter().flat_map(|(field, value)| raw::number(*field, *value)).collect()
    };
    let of_version = |field| raw::block(field, &numbers(&[(1, 6), (2, 0)]));
    let copy = Default::default();
    let (view, appointed) = (Vec::new(), false);
    let old = [
        (2, numbers(&[(1, 7)]), M::Prepare { epoch, version: Version::default() }),
        (3, [raw::number(1, 7), of_version(2)].concat(), M::Promise { epoch, version, copy: None }),
        (
            6,
            [numbers(&[(1, 7), (2, 8)]), of_version(3)].concat(),
            M::Spread { epoch, sent, version, copy, appointed, start: None },
        ),
        (7, numbers(&[(1, 7), (2, 8)]), M::Beat { epoch, sent, appointed, view, sequence: 0 }),
        (8, numbers(&[(1, 7), (2, 8), (3, 9)]), M::Ack { epoch, sent, clock, held: 0 }),
        (9, numbers(&[(1, 7)]), M::Lack { epoch, held: None, start: None }),
    ];
    for (kind, content, msg) in old {
        let (bytes, msg) = (raw::block(kind, &content), of_mandate(msg));
        assert_eq!(read(&bytes).as_ref(), Ok(&msg));
        assert_eq!(encode(&msg), bytes);
    }
    let (promised, promised_to) = (Epoch::new(7), Some(NodeId::new(5)));
    let durable = Durable { incarnation: 3, promised, promised_to, reliance_ms: 0 };
    let bytes = numbers(&[(1, 3), (2, 7), (3, 5)]);
    assert_eq!(decode_durable(&bytes), Ok(durable));
    assert_eq!(encode_durable(&durable), bytes);
}

/// Which field of which message is packed.
const PACKED: [(&str, u64, &str); 5] = [
    ("promise-copy", 3, "state"),
    ("spread-state", 4, "state"),
    ("append", 5, "append.commands"),
    ("wants", 1, "wants.requests"),
    ("says", 1, "says.replies"),
];

#[test]
fn a_format_of_a_newer_version_is_told_and_harmless() {
    for (name, field, path) in PACKED {
        let mut examples = mandates().into_iter().chain(clients());
        let (_, msg) = examples.find(|(known, _)| *known == name).unwrap();
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
        let mut examples = mandates().into_iter().chain(clients());
        let (_, msg) = examples.find(|(known, _)| *known == name).unwrap();
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
    // Nothing at all is no state, but it is no list either.
    for (kind, path) in [(13, "wants.requests"), (14, "says.replies")] {
        assert_eq!(read(&raw::block(kind, &[])), Err(Malformed::Missing(path)));
    }
}

#[test]
fn what_is_required_is_missed_by_name() {
    let required: &[(&str, &[(u64, &str)])] = &[
        ("prepare-version", &[(1, "prepare.epoch")]),
        ("promise-copy", &[(1, "promise.epoch"), (2, "promise.version")]),
        ("wait", &[(1, "wait.epoch")]),
        ("refuse", &[(1, "refuse.epoch"), (2, "refuse.promised")]),
        ("spread-state", &[(1, "spread.epoch"), (2, "spread.sent_us"), (3, "spread.version")]),
        ("beat-view", &[(1, "beat.epoch"), (2, "beat.sent_us")]),
        ("beat-sequence", &[(1, "beat.epoch"), (2, "beat.sent_us")]),
        (
            "append",
            &[
                (1, "append.epoch"),
                (2, "append.sent_us"),
                (4, "append.after"),
                (5, "append.commands"),
            ],
        ),
        ("ack-held", &[(1, "ack.epoch"), (2, "ack.sent_us"), (3, "ack.clock_us")]),
        ("lack-held", &[(1, "lack.epoch")]),
        ("claim", &[(1, "claim.epoch")]),
        ("release", &[(1, "release.epoch")]),
    ];
    for (name, required) in required {
        let (_, msg) = mandates().into_iter().find(|(known, _)| known == name).unwrap();
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
    let promise = |version: &[u8]| {
        read(&raw::block(3, &[raw::number(1, 7), raw::block(2, version)].concat()))
    };
    assert_eq!(promise(&raw::number(2, 3)), Err(Malformed::Missing("version.epoch")));
    assert_eq!(promise(&raw::number(1, 3)), Err(Malformed::Missing("version.sequence")));
    let sight = raw::block(4, &raw::number(2, 3));
    let beat = raw::block(7, &[raw::number(1, 7), raw::number(2, 8), sight].concat());
    assert_eq!(read(&beat), Err(Malformed::Missing("sight.member")));
    assert_eq!(read(&[]), Err(Malformed::Missing("kind")));
    let nameless = raw::block(1, &raw::block(2, &raw::value(&json!("Ok"))));
    assert_eq!(read(&nameless), Err(Malformed::Missing("election.algorithm")));
    let empty = raw::block(1, &raw::block(1, b"bully"));
    assert_eq!(read(&empty), Err(Malformed::Missing("election.body")));
    assert_eq!(decode_durable(&[]), Err(Malformed::Missing("durable.incarnation")));
    let half = raw::number(1, 1);
    assert_eq!(decode_durable(&half), Err(Malformed::Missing("durable.promised")));
}

#[test]
fn numbers_survive_up_to_their_limits() {
    for number in [0, 1, 127, 128, u32::MAX.into(), 1 << 32, (1 << 53) + 1, u64::MAX] {
        let epoch = Epoch::new(number);
        let (sent, clock) = (Time::from_micros(number), Time::from_micros(!number));
        let version = Version { epoch, sequence: number };
        for msg in [
            M::Ack { epoch, sent, clock, held: number },
            M::Lack { epoch, held: Some(number), start: Some(number as u32) },
            M::Prepare { epoch, version },
            M::Promise { epoch, version, copy: None },
            M::Refuse { epoch, promised: epoch },
            M::Append { epoch, sent, appointed: false, after: number, commands: [].into() },
        ] {
            let msg = of_mandate(msg);
            assert_eq!(read(&encode(&msg)), Ok(msg));
        }
    }
    for number in [0, 1, u32::MAX] {
        let id = NodeId::new(number);
        let (offset_us, rate_ppb) = (i64::MIN, Some(i64::MAX));
        let clock = Some(ClockStatus { offset_us, error_us: u64::MAX, rate_ppb, drifts: true });
        let view = vec![Sight { member: id, heard_ms: Some(number), clock }];
        let (epoch, sent) = (Epoch::new(1), Time::MAX);
        let sequence = u64::MAX - u64::from(number);
        let msg = of_mandate(M::Beat { epoch, sent, appointed: true, view, sequence });
        assert_eq!(read(&encode(&msg)), Ok(msg));
        let (incarnation, promised_to, reliance_ms) = (number, Some(id), sequence);
        let durable = Durable { incarnation, promised: epoch, promised_to, reliance_ms };
        assert_eq!(decode_durable(&encode_durable(&durable)), Ok(durable));
    }
}

#[test]
fn a_member_beyond_32_bits_is_refused_not_cut_off() {
    let value = (1 << 32) + 5;
    let refused = |field| Malformed::OutOfRange { field, value };
    let with =
        |kind, field| raw::block(kind, &[raw::number(1, 7), raw::number(field, value)].concat());
    assert_eq!(read(&with(4, 2)), Err(refused("wait.leader")));
    assert_eq!(read(&with(11, 2)), Err(refused("release.to")));
    let sight = raw::block(4, &raw::number(1, value));
    let beat = raw::block(7, &[raw::number(1, 7), raw::number(2, 8), sight].concat());
    assert_eq!(read(&beat), Err(refused("sight.member")));
    let durable = [raw::number(1, value), raw::number(2, 1)].concat();
    assert_eq!(decode_durable(&durable), Err(refused("durable.incarnation")));
    let durable = [raw::number(1, 1), raw::number(2, 1), raw::number(3, value)].concat();
    assert_eq!(decode_durable(&durable), Err(refused("durable.promised_to")));
    let body = json!({"Carry": {"seq": 1, "leg": 1, "body": {"Election": [value]}}});
    let error = decode(Choice::Ring, &raw::election("ring", &body)).unwrap_err();
    assert!(matches!(&error, Malformed::Misfit(_)), "{error}");
    assert!(decode(Choice::Bully, &raw::election("bully", &json!(value))).is_err());
}

#[test]
fn a_very_long_silence_is_said_as_long_as_can_be() {
    let sight = raw::block(4, &[raw::number(1, 5), raw::number(2, 1 << 40)].concat());
    let beat = raw::block(7, &[raw::number(1, 7), raw::number(2, 8), sight].concat());
    let Ok(Msg::Member(Member::Mandate(M::Beat { view, .. }))) = read(&beat) else {
        panic!("a beat");
    };
    assert_eq!(view[0].heard_ms, Some(u32::MAX));
}
