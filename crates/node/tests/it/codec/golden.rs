//! The bytes of one example of each kind of message. They are a promise to neighbouring versions:
//! a line is never changed or removed, and no switch rewrites the files. A new kind fails the test,
//! which prints the line to add.

use super::examples::{clients, mandates};
use super::simulated::kinds_sent;
use super::{of_mandate, raw, read};
use bellwether_algorithms::election::any::{self, Choice};
use bellwether_algorithms::election::bully;
use bellwether_core::{Message, NodeId};
use bellwether_member::mandate::Version;
use bellwether_member::steward::Msg;
use bellwether_member::{Durable, Epoch, Msg as Member};
use bellwether_node::codec::{decode, decode_durable, encode, encode_durable};
use serde::de::DeserializeSeed;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

const MANDATE: &str = include_str!("../golden/mandate.hex");
const CLIENTS: &str = include_str!("../golden/clients.hex");
const ELECTION: &str = include_str!("../golden/election.hex");
const DURABLE: &str = include_str!("../golden/durable.hex");

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
    [MANDATE, CLIENTS, ELECTION, DURABLE]
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

/// Checks all examples of a file, which are of so many kinds.
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
fn mandate_messages_keep_their_bytes() {
    keep(MANDATE, &mandates(), 11);
}

#[test]
fn what_is_passed_on_for_clients_keeps_its_bytes() {
    keep(CLIENTS, &clients(), 2);
}

#[test]
fn durable_state_keeps_its_bytes() {
    let golden = parse(DURABLE);
    let (promised, promised_to) = (Epoch::new(300), Some(NodeId::new(5)));
    let examples = [
        ("first-start", Durable { incarnation: 1, ..Durable::default() }),
        ("promised", Durable { incarnation: 3, promised, promised_to, reliance_ms: 0 }),
        ("relied-on", Durable { incarnation: 3, promised, promised_to, reliance_ms: 65_536 }),
    ];
    assert_eq!(golden.len(), examples.len());
    for (name, durable) in examples {
        check(&golden, name, &encode_durable(&durable));
        assert_eq!(decode_durable(&golden[name]), Ok(durable), "{name}");
    }
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
    use bellwether_member::mandate::Msg as M;
    let version = Version::default();
    let prepare = of_mandate(M::Prepare { epoch: Epoch::new(300), version });
    assert_eq!(encode(&prepare), [0x12, 3, 0x08, 0xac, 0x02]);
    let release = of_mandate(M::Release { epoch: Epoch::new(1), to: None, appointed: true });
    assert_eq!(encode(&release), raw::block(11, &[raw::number(1, 1), raw::number(3, 1)].concat()));
    let zero = of_mandate(M::Prepare { epoch: Epoch::new(0), version });
    assert_eq!(encode(&zero), [0x12, 2, 0x08, 0x00], "zero is written out, or it would be missing");
    let ok = Msg::Member(Member::Election(any::Msg::Bully(bully::Msg::Ok)));
    assert_eq!(encode(&ok), b"\x0a\x0d\x0a\x05bully\x12\x04\x2a\x02Ok");
}
