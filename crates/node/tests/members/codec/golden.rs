//! The bytes of one example of each kind of message. They are a promise to neighbouring versions:
//! a line is never changed or removed, and no switch rewrites the files. A new kind fails the test,
//! which prints the line to add.

use super::examples::{clients, logs, members};
use super::simulated::kinds_sent;
use super::{of_log, raw, read};
use bellwether_algorithms::election::any::{self, Choice};
use bellwether_algorithms::election::bully;
use bellwether_core::Message;
use bellwether_log::{Msg as M, Term};
use bellwether_member::Msg as Member;
use bellwether_member::service::Msg;
use bellwether_node::codec::{decode, encode};
use serde::de::DeserializeSeed;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

const LOG: &str = include_str!("../golden/log.hex");
const MEMBER: &str = include_str!("../golden/member.hex");
const CLIENTS: &str = include_str!("../golden/clients.hex");
const ELECTION: &str = include_str!("../golden/election.hex");

/// All lines of a file: a name and bytes.
pub(crate) fn parse(text: &'static str) -> BTreeMap<&'static str, Vec<u8>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut entries = BTreeMap::new();
    for line in lines {
        let (name, digits) = line.split_once(' ').unwrap();
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let bytes = (0..digits.len()).step_by(2).map(byte).collect();
        assert!(entries.insert(name, bytes).is_none(), "{name} is there twice");
    }
    entries
}

/// The bytes of every example.
pub(crate) fn corpus() -> Vec<Vec<u8>> {
    [LOG, MEMBER, CLIENTS, ELECTION]
        .into_iter()
        .flat_map(|text| parse(text).into_values())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check(golden: &BTreeMap<&str, Vec<u8>>, name: &str, encoded: &[u8]) {
    let known = golden.get(name).map(Vec::as_slice);
    assert_eq!(known, Some(encoded), "now it is\n{name} {}", hex(encoded));
}

/// Checks all examples of a file, which are of this many kinds.
fn keep(file: &'static str, examples: &[(&'static str, Msg)], kinds: usize) {
    let golden = parse(file);
    let new = examples.iter().filter(|(name, _)| !golden.contains_key(name));
    let new: String = new.map(|(name, msg)| format!("{name} {}\n", hex(&encode(msg)))).collect();
    assert!(new.is_empty(), "lines to add:\n{new}");
    for (name, msg) in examples {
        check(&golden, name, &encode(msg));
        assert_eq!(read(&golden[name]).as_ref(), Ok(msg), "{name}");
    }
    let names: BTreeSet<_> = examples.iter().map(|(name, _)| *name).collect();
    assert_eq!(golden.into_keys().collect::<BTreeSet<_>>(), names, "no example may go");
    let seen: BTreeSet<_> = examples.iter().map(|(_, msg)| msg.kind().name).collect();
    assert_eq!(seen.len(), kinds, "one of each kind at least: {seen:?}");
}

#[test]
fn messages_of_the_log_keep_their_bytes() {
    keep(LOG, &logs(), 11);
}

#[test]
fn messages_of_the_member_keep_their_bytes() {
    keep(MEMBER, &members(), 2);
}

#[test]
fn what_is_passed_on_for_clients_keeps_its_bytes() {
    keep(CLIENTS, &clients(), 2);
}

/// The elections' messages in terms of JSON, as some of their types are private.
pub(crate) fn elections(algorithm: &str) -> Vec<(&'static str, Json)> {
    let carry = |body: Json| json!({"Carry": {"seq": 16_777_217, "leg": 2, "body": body}});
    let again = |body: Json| json!({"Carry": {"seq": 3, "leg": 2_147_483_650_u32, "body": body}});
    let link = [("ack", json!({"Ack": {"seq": 9}})), ("hello", json!("Hello"))];
    let mut examples = match algorithm {
        "bully" => {
            return vec![
                ("election", json!("Election")),
                ("ok", json!("Ok")),
                ("coordinator", json!("Coordinator")),
            ];
        }
        "ring" => {
            let outcome = json!({"Coordinator": {"coordinator": 300, "members": [1, 300, 2]}});
            vec![
                ("election", carry(json!({"Election": [1, 300]}))),
                ("election-again", again(json!({"Election": [1]}))),
                ("coordinator", carry(outcome)),
            ]
        }
        "active-list" => vec![
            ("elect", carry(json!({"Elect": [4, 2]}))),
            ("elect-again", again(json!({"Elect": [4, 2]}))),
            ("inquiry", carry(json!({"Inquiry": [4, 0]}))),
            ("reply", carry(json!({"Reply": {"to": 4, "coordinator": 5, "round": 2}}))),
        ],
        "chang-roberts" => vec![
            ("election", carry(json!({"Election": 4}))),
            ("election-again", again(json!({"Election": 4}))),
            ("elected", carry(json!({"Elected": 5}))),
        ],
        "peterson" => vec![
            ("first", carry(json!({"word": {"First": 4}, "round": 2}))),
            ("first-again", again(json!({"word": {"First": 4}, "round": 2}))),
            ("second", carry(json!({"word": {"Second": 5}, "round": 2}))),
            ("elected", carry(json!({"word": {"Elected": [5, 4]}, "round": 2}))),
        ],
        "hirschberg-sinclair" => {
            let [ack, hello] = link;
            let probe = json!({"word": {"Probe": {"candidate": 4, "phase": 1}}, "round": 2});
            let reply = json!({"word": {"Reply": {"candidate": 4, "phase": 1}}, "round": 2});
            return vec![
                ("probe", json!({"Clockwise": carry(probe.clone())})),
                ("probe-again", json!({"Counter": again(probe)})),
                ("reply", json!({"Counter": carry(reply)})),
                (
                    "elected",
                    json!({"Clockwise": carry(json!({"word": {"Elected": 5}, "round": 2}))}),
                ),
                ("ack", json!({"Counter": ack.1})),
                ("hello", json!({"Clockwise": hello.1})),
            ];
        }
        other => panic!("{other} needs examples here and in golden/election.hex"),
    };
    examples.extend(link);
    examples
}

#[test]
fn election_messages_keep_their_bytes() {
    let golden = parse(ELECTION);
    for election in Choice::ALL.iter().copied() {
        let mut kinds = BTreeSet::new();
        for (name, json) in elections(election.name()) {
            let name = format!("{election}/{name}");
            let msg = election.deserialize(&json).unwrap();
            kinds.insert(msg.kind().name);
            let msg = Msg::Member(Member::Election(msg));
            check(&golden, &name, &encode(&msg));
            assert_eq!(decode(election, &golden[name.as_str()]), Ok(msg), "{name}");
            assert_eq!(raw::election(election.name(), &json), golden[name.as_str()], "{name}");
        }
        let of_this = golden.keys().filter(|name| name.split('/').next() == Some(election.name()));
        assert_eq!(of_this.count(), elections(election.name()).len(), "no example may go");
        assert_eq!(kinds, kinds_sent(election), "an example of everything that {election} sends");
    }
}

#[test]
fn bytes_are_those_of_the_proto_file() {
    let claim = |term| of_log(M::Claim { term: Term::new(term) });
    assert_eq!(encode(&claim(300)), [0x42, 3, 0x08, 0xac, 0x02]);
    assert_eq!(
        encode(&claim(0)),
        [0x42, 2, 0x08, 0x00],
        "zero is written out, or it would be missing"
    );
    let yielding = M::Yield { term: Term::new(1), generation: 0, to: None, appointed: true };
    let content = [raw::number(1, 1), raw::number(4, 1)].concat();
    assert_eq!(encode(&of_log(yielding)), raw::block(10, &content));
    assert_eq!(encode(&Msg::Member(Member::Pass)), raw::block(12, &[]));
    let ok = Msg::Member(Member::Election(any::Msg::Bully(bully::Msg::Ok)));
    assert_eq!(encode(&ok), b"\x5a\x0d\x0a\x05bully\x12\x04\x2a\x02Ok");
}
