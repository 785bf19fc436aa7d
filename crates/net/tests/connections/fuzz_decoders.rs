//! Fuzzes everything that takes bytes from outside.
//!
//! Each target starts from the seeds in `tests/corpus/<target>/`, changes them at random (flips,
//! overwrites, cuts, repeats, splices of two seeds) and checks what the decoder makes of the result.
//! What is accepted must also mean the same after being encoded again.
//!
//! ```text
//! BELLWETHER_FUZZ_ROUNDS=10000000 cargo test -p bellwether-net --test connections fuzz   longer
//! BELLWETHER_FUZZ_SEED=7 ...                                                   another course
//! ```
//!
//! A failure prints its input in hexadecimal; put it into the corpus as a new file. The seeds are
//! made by `the_seeds_are_what_this_version_writes`, which shows when the format changes.
//!
//! The fuzzer is our own loop because bolero insists on one old release of indexmap for the whole
//! workspace, and cargo-fuzz needs a nightly compiler.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::id;
use bellwether_algorithms::catalogue::catalogue;
use bellwether_api::envelope::{
    self, Body, Envelope, Hello, Letter, Message, Payload, Rejection, Setting, Welcome,
};
use bellwether_core::{AnyProcess, Group};
use bellwether_net::durable::{Owner, compose};
use bellwether_net::{Coded, Protocol, decode};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn folder(target: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "corpus", target].iter().collect()
}

fn corpus(target: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder(target)).unwrap();
    let files = entries.map(|entry| entry.unwrap());
    let named = |file: std::fs::DirEntry| {
        (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())
    };
    files.map(named).collect()
}

/// Runs a check on every seed and on many changed ones. The check says whether the input was
/// accepted; if none of the changed ones is, the fuzzing is blind, and that is a failure too.
fn fuzz(target: &str, check: impl Fn(&[u8]) -> bool) {
    let seeds: Vec<Vec<u8>> = corpus(target).into_values().collect();
    assert!(!seeds.is_empty());
    let run = |input: &[u8]| match catch_unwind(AssertUnwindSafe(|| check(input))) {
        Ok(accepted) => accepted,
        Err(_) => {
            let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
            panic!("{target} fails, as said above, with {hex}");
        }
    };
    for seed in &seeds {
        run(seed);
    }
    let mut random = StdRng::seed_from_u64(setting("BELLWETHER_FUZZ_SEED", 1));
    let (mut input, mut accepted) = (Vec::new(), 0);
    let rounds = setting("BELLWETHER_FUZZ_ROUNDS", 200_000);
    for _ in 0..rounds {
        change(&seeds, &mut input, &mut random);
        accepted += u64::from(run(&input));
    }
    assert!(accepted > 0 && accepted < rounds, "{accepted} of {rounds} accepted");
}

/// A seed with some changes.
fn change(seeds: &[Vec<u8>], input: &mut Vec<u8>, random: &mut StdRng) {
    input.clear();
    input.extend(&seeds[random.random_range(0..seeds.len())]);
    for _ in 0..random.random_range(1..5) {
        let at = random.random_range(0..=input.len());
        let length = random.random_range(0..=8.min(input.len() - at));
        match random.random_range(0..7) {
            0 if at < input.len() => input[at] ^= 1 << random.random_range(0..8),
            1 if at < input.len() => input[at] = random.random(),
            2 if at < input.len() => input[at] = [0, 1, 0x7f, 0x80, 0xff][length % 5],
            3 => drop(input.drain(at..at + length)),
            4 => {
                let again = input[at..at + length].to_vec();
                input.splice(at..at, again);
            }
            5 => {
                let bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
                input.splice(at..at, bytes);
            }
            _ => {
                let other = &seeds[random.random_range(0..seeds.len())];
                let from = random.random_range(0..=other.len());
                input.truncate(at);
                input.extend(&other[from..]);
            }
        }
    }
}

#[test]
fn envelopes_and_greetings() {
    let group = Group::numbered(5).unwrap();
    let me = id(1);
    let (protocol, settings) = ("member", &[("lease", "500ms".to_owned())][..]);
    let removed = std::collections::BTreeMap::from([(id(9), 7)]);
    let expected = decode::Expected {
        cluster: "test",
        protocol,
        me,
        group: &group,
        is_configured: true,
        joins: false,
        removed: &removed,
        settings,
        cluster_id: 0,
    };
    fuzz("envelope", |bytes| {
        let Ok(envelope) = decode::envelope(bytes) else { return false };
        let again = decode::envelope(&envelope.encode_to_vec()).unwrap();
        assert_eq!(again, envelope);
        if let Some(Body::Hello(hello)) = &envelope.body {
            match decode::judge(hello, &expected) {
                Ok(caller) => {
                    assert!(caller.id != me && group.contains(caller.id));
                    assert_eq!((hello.cluster.as_str(), hello.to), ("test", 1));
                }
                Err(refused) => assert!(refused.text.len() < 1000, "{}", refused.text),
            }
        }
        true
    });
}

#[test]
fn frames() {
    fuzz("frame", |bytes| {
        let largest = 1000;
        let mut rest = bytes;
        loop {
            match decode::split(rest, largest) {
                Some(Some(length)) => {
                    assert!((4..=largest + 4).contains(&length) && length <= rest.len());
                    let _ = decode::envelope(&rest[4..length]);
                    rest = &rest[length..];
                }
                Some(None) => return rest.is_empty(),
                None => return false,
            }
        }
    });
}

#[test]
fn state_files() {
    fuzz("durable", |bytes| match decode::durable(bytes) {
        Ok((owner, state)) => {
            assert_eq!(compose(&owner, &state), bytes, "it was not written like this");
            true
        }
        Err(damage) => {
            assert!(!damage.to_string().is_empty());
            // A seed that is taken apart nearly never has the right checksum; give it one, to get
            // further.
            let body = bytes.get(24..).unwrap_or(&[]);
            repaired(body)
        }
    });
}

/// Parses a body under a right header.
fn repaired(body: &[u8]) -> bool {
    let (format, length) = (1u32.to_le_bytes(), (body.len() as u64).to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    for part in [&format[..], &length, body] {
        hasher.update(part);
    }
    let mut bytes = b"BWSTATE\n".to_vec();
    bytes.extend(format);
    bytes.extend(length);
    bytes.extend(hasher.finalize().to_le_bytes());
    bytes.extend(body);
    match decode::durable(&bytes) {
        Ok((owner, state)) => {
            assert_eq!(compose(&owner, &state), bytes);
            true
        }
        Err(_) => false,
    }
}

#[test]
fn messages_of_every_algorithm() {
    let protocols: Vec<_> =
        catalogue().iter().map(|listed| Coded::new(listed.name(), listed.codec.clone())).collect();
    let decodes = |protocol: &Coded<AnyProcess>, bytes: &[u8]| {
        let durable = protocol.decode_durable(bytes).is_ok();
        let Ok(msg) = protocol.decode(Payload::Serde(bytes.to_vec().into())) else {
            return durable;
        };
        assert_eq!(protocol.decode(protocol.encode(&msg)).unwrap(), msg);
        true
    };
    fuzz("catalogue", |bytes| {
        protocols.iter().fold(false, |any, protocol| any | decodes(protocol, bytes))
    });
}

/// Everything that is sent or written, once, as the beginning of the corpus.
fn seeds() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let hello = Hello {
        version: envelope::VERSION,
        oldest: envelope::OLDEST,
        cluster: "test".into(),
        protocol: "member".into(),
        from: 2,
        to: 1,
        life: 3,
        instance: 0x1234_5678_9abc_def0,
        group: 42,
        settings: Vec::new(),
        cluster_id: 0,
        address: "host-2:7400".into(),
        http: "host-2:7480".into(),
        folder: 7,
        death_digest: Default::default(),
    };
    let settings = vec![Setting { name: "lease".into(), value: "3s".into() }];
    let settled = Hello { settings, ..hello.clone() };
    let rejection = Rejection {
        reason: envelope::Reason::Cluster.into(),
        text: "another cluster".into(),
        version: 1,
        oldest: 1,
    };
    let letter = |payload| Letter { seq: 300, life: 3, payload: Some(payload) };
    let bodies = [
        ("hello", Body::Hello(hello)),
        ("welcome", Body::Welcome(Welcome { version: 1, instance: 7 })),
        ("rejection", Body::Rejection(rejection)),
        ("serde", Body::Letter(letter(Payload::Serde(vec![0, 1, 2].into())))),
        ("member", Body::Letter(letter(Payload::Member(vec![8, 1].into())))),
    ];
    let mut seeds = Vec::new();
    let mut frames = Vec::new();
    for (name, body) in bodies {
        let bytes = Envelope::new(envelope::VERSION, body).encode_to_vec();
        frames.extend((bytes.len() as u32).to_be_bytes());
        frames.extend(&bytes);
        seeds.push(("envelope", name, bytes));
    }
    let settled = Envelope::new(envelope::VERSION, Body::Hello(settled)).encode_to_vec();
    seeds.push(("envelope", "settings", settled));
    seeds.push(("frame", "several", frames));
    seeds.push(("frame", "too-large", vec![0, 1, 0, 0, 1, 2, 3]));
    seeds.push(("frame", "empty", vec![0, 0, 0, 0]));
    let owner = Owner { cluster: "test".into(), id: id(1), protocol: "member".into() };
    seeds.push(("durable", "some", compose(&owner, &[1, 2, 3, 4])));
    seeds.push(("durable", "nothing", compose(&owner, &[])));
    seeds.push(("catalogue", "one", vec![0, 1]));
    seeds.push(("catalogue", "several", vec![0, 2, 3, 1, 2, 3, 5]));
    seeds.push(("catalogue", "varint", vec![1, 0x80, 0x80, 0x80, 0x80, 0x0f, 9]));
    seeds
}

/// With `BELLWETHER_FUZZ_WRITE=1` it writes them.
#[test]
fn the_seeds_are_what_this_version_writes() {
    let write = setting("BELLWETHER_FUZZ_WRITE", 0) == 1;
    for (target, name, bytes) in seeds() {
        let path = folder(target).join(name);
        if write {
            std::fs::create_dir_all(folder(target)).unwrap();
            std::fs::write(&path, &bytes).unwrap();
        }
        let found = std::fs::read(&path).unwrap();
        assert_eq!(found, bytes, "the format of {target}/{name} has changed: is that meant?");
    }
}
