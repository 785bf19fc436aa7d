//! Neighbouring versions.

use crate::golden::elections;
use crate::{Any, for_every_election, mandates, raw, read, write};
use bellwether_algorithms::election::{Bully, Election, Ring};
use bellwether_api::member::{Malformed, decode, decode_durable, encode_durable};
use bellwether_core::{NodeId, Time};
use bellwether_member::mandate::{Msg as M, Sight, Version};
use bellwether_member::{ClockStatus, Durable, Epoch, Msg};
use serde_json::{Value as Json, json};

/// What a next version may have added: a number, and something larger.
fn later() -> Vec<u8> {
    [raw::number(90, 1), raw::block(91, b"later")].concat()
}

#[test]
fn unknown_fields_are_ignored() {
    for (name, msg) in mandates() {
        let msg: Any = Msg::Mandate(msg);
        let bytes = write(&msg);
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
    let expected = M::Promise { epoch: Epoch::new(7), version, copy: () };
    assert_eq!(read(&promise), Ok(Msg::Mandate(expected)));

    let clock = raw::block(3, &[later(), raw::number(2, 9)].concat());
    let sight = raw::block(4, &[later(), raw::number(1, 5), clock].concat());
    let beat = raw::block(7, &[raw::number(1, 7), raw::number(2, 8), sight].concat());
    let clock = Some(ClockStatus { error_us: 9, ..ClockStatus::default() });
    let view = vec![Sight { member: NodeId::new(5), heard_ms: None, clock }];
    let (epoch, sent) = (Epoch::new(7), Time::from_micros(8));
    assert_eq!(read(&beat), Ok(Msg::Mandate(M::Beat { epoch, sent, appointed: false, view })));
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
    fn check<E: Election>() {
        for (name, json) in elections(E::ENTRY.name) {
            let msg: E::Msg = serde_json::from_value(json.clone()).unwrap();
            let bytes = raw::election(E::ENTRY.name, &grown(&json));
            assert_eq!(decode::<E>(&bytes), Ok(Msg::Election(msg)), "{} {name}", E::ENTRY.name);
        }
    }
    for_every_election!(check);
    assert_ne!(grown(&json!({"Ack": {"seq": 1}})), json!({"Ack": {"seq": 1}}), "it does add");
}

#[test]
fn a_kind_of_a_newer_version_is_unknown_and_harmless() {
    for kind in 12..=15 {
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
    let error = decode::<Ring>(&raw::election("bully", &json!("Ok"))).unwrap_err();
    assert_eq!(error, Malformed::OtherElection { theirs: "bully".to_owned(), ours: "ring" });
    assert!(error.is_harmless());
    let text = error.to_string();
    assert!(text.contains("'bully'") && text.contains("'ring'"), "{text}");
}

#[test]
fn a_state_that_cannot_be_kept_is_refused() {
    for (name, field) in [("promise", 3), ("spread", 4)] {
        let (_, msg) = mandates().into_iter().find(|(known, _)| *known == name).unwrap();
        let (kind, content) = raw::unblock(&write(&Msg::Mandate(msg)));
        let bytes = raw::block(kind, &[content, raw::block(field, b"locks")].concat());
        let error = read(&bytes).unwrap_err();
        assert_eq!(error, Malformed::State(5), "{name}");
        assert!(error.is_harmless());
    }
}

#[test]
fn what_is_required_is_missed_by_name() {
    let required: &[(&str, &[(u64, &str)])] = &[
        ("prepare", &[(1, "prepare.epoch")]),
        ("promise", &[(1, "promise.epoch"), (2, "promise.version")]),
        ("wait", &[(1, "wait.epoch")]),
        ("refuse", &[(1, "refuse.epoch"), (2, "refuse.promised")]),
        ("spread", &[(1, "spread.epoch"), (2, "spread.sent_us"), (3, "spread.version")]),
        ("beat-view", &[(1, "beat.epoch"), (2, "beat.sent_us")]),
        ("ack", &[(1, "ack.epoch"), (2, "ack.sent_us"), (3, "ack.clock_us")]),
        ("lack", &[(1, "lack.epoch")]),
        ("claim", &[(1, "claim.epoch")]),
        ("release", &[(1, "release.epoch")]),
    ];
    for (name, required) in required {
        let (_, msg) = mandates().into_iter().find(|(known, _)| known == name).unwrap();
        let (kind, content) = raw::unblock(&write(&Msg::Mandate(msg)));
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
            M::Ack { epoch, sent, clock },
            M::Promise { epoch, version, copy: () },
            M::Refuse { epoch, promised: epoch },
        ] {
            let msg: Any = Msg::Mandate(msg);
            assert_eq!(read(&write(&msg)), Ok(msg));
        }
    }
    for number in [0, 1, u32::MAX] {
        let id = NodeId::new(number);
        let (offset_us, rate_ppb) = (i64::MIN, Some(i64::MAX));
        let clock = Some(ClockStatus { offset_us, error_us: u64::MAX, rate_ppb, drifts: true });
        let view = vec![Sight { member: id, heard_ms: Some(number), clock }];
        let (epoch, sent) = (Epoch::new(1), Time::MAX);
        let msg: Any = Msg::Mandate(M::Beat { epoch, sent, appointed: true, view });
        assert_eq!(read(&write(&msg)), Ok(msg));
        let durable = Durable { incarnation: number, promised: epoch, promised_to: Some(id) };
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
    let error = decode::<Ring>(&raw::election("ring", &body)).unwrap_err();
    assert!(matches!(&error, Malformed::Misfit(_)), "{error}");
    assert!(decode::<Bully>(&raw::election("bully", &json!(value))).is_err());
}

#[test]
fn a_very_long_silence_is_said_as_long_as_can_be() {
    let sight = raw::block(4, &[raw::number(1, 5), raw::number(2, 1 << 40)].concat());
    let beat = raw::block(7, &[raw::number(1, 7), raw::number(2, 8), sight].concat());
    let Ok(Msg::Mandate(M::Beat { view, .. })) = read(&beat) else { panic!("a beat") };
    assert_eq!(view[0].heard_ms, Some(u32::MAX));
}
