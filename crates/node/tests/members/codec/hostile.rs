//! Hostile bytes.

use super::golden::corpus;
use super::{raw, read};
use bellwether_algorithms::election::any::Choice;
use bellwether_node::codec::{LONGEST, Malformed, decode, encode};
use serde_json::json;

/// A plain xorshift: the same bytes in every run.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Decodes without a panic; and what is understood is understood again.
fn try_out(election: Choice, bytes: &[u8]) -> bool {
    let understood = decode(election, bytes);
    if let Ok(msg) = &understood {
        assert_eq!(decode(election, &encode(msg)).as_ref(), Ok(msg));
    }
    if let Err(error) = &understood {
        assert!(error.to_string().len() < 1000, "an error is no way to fill a disk");
    }
    understood.is_ok()
}

#[test]
fn random_bytes_do_no_harm() {
    for election in Choice::ALL.iter().copied() {
        let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
        for _ in 0..20_000 {
            let length = draws.below(64);
            let bytes: Vec<u8> = (0..length).map(|_| draws.next() as u8).collect();
            try_out(election, &bytes);
        }
    }
}

#[test]
fn damaged_messages_do_no_harm() {
    for election in Choice::ALL.iter().copied() {
        let mut draws = Draws(0x2545_f491_4f6c_dd1d);
        let corpus = corpus();
        let mut understood = 0;
        for _ in 0..20_000 {
            let mut bytes = corpus[draws.below(corpus.len())].clone();
            for _ in 0..=draws.below(3) {
                let at = draws.below(bytes.len().max(1));
                match draws.below(5) {
                    0 => bytes.truncate(at),
                    1 => bytes.insert(at.min(bytes.len()), draws.next() as u8),
                    2 => bytes.extend_from_slice(&corpus[draws.below(corpus.len())]),
                    _ => {
                        if let Some(byte) = bytes.get_mut(at) {
                            *byte ^= 1 << draws.below(8);
                        }
                    }
                }
            }
            understood += usize::from(try_out(election, &bytes));
        }
        assert!(understood > 100, "otherwise it tests too little: {understood}");
    }
}

#[test]
fn every_truncation_is_refused_or_understood() {
    for bytes in corpus() {
        for length in 0..bytes.len() {
            try_out(Choice::Bully, &bytes[..length]);
        }
    }
}

#[test]
fn nesting_without_end_does_not_overflow_the_stack() {
    // As deep as fits: each level costs two tags and two lengths.
    let mut value = raw::value(&json!(7));
    let mut depth = 0;
    while value.len() < 200_000 && depth < 40_000 {
        value = raw::block(6, &raw::block(1, &value));
        depth += 1;
    }
    let bytes = raw::block(11, &[raw::block(1, b"bully"), raw::block(2, &value)].concat());
    assert!(bytes.len() < LONGEST && depth > 1_000, "{} bytes, {depth} deep", bytes.len());
    assert!(matches!(read(&bytes), Err(Malformed::Protobuf(_))));

    let nested = |depth| (0..depth).fold(json!(7), |inner, _| json!([inner]));
    assert_eq!(read(&raw::election("bully", &nested(17))), Err(Malformed::TooDeep));
    assert!(matches!(read(&raw::election("bully", &nested(16))), Err(Malformed::Misfit(_))));
}

#[test]
fn what_is_too_long_is_not_looked_at() {
    // Memory that is never written to costs nothing.
    let filled = |length| {
        let mut bytes = vec![0; length];
        bytes[..3].copy_from_slice(&raw::number(16, 1));
        bytes
    };
    assert_eq!(read(&filled(LONGEST + 1)), Err(Malformed::TooLong(LONGEST + 1)));
    assert!(!matches!(read(&filled(LONGEST)), Err(Malformed::TooLong(_))));
}

#[test]
fn a_length_that_promises_too_much_is_refused() {
    let bytes = [raw::varint(7 << 3 | 2), raw::varint(u64::MAX)].concat();
    assert!(matches!(read(&bytes), Err(Malformed::Protobuf(_))));
}

#[test]
fn a_peers_words_are_quoted_with_care() {
    let name = "\u{1b}[2J\n".repeat(10_000);
    let error = read(&raw::election(&name, &json!("Ok"))).unwrap_err().to_string();
    assert!(error.len() < 1000 && !error.contains(char::is_control), "{error}");
    let error = read(&raw::election("bully", &json!(name))).unwrap_err().to_string();
    assert!(error.len() < 1000 && !error.contains(char::is_control), "{error}");
}

/// Tokens have the term in their upper half: after one that is larger, no token would be larger than all before.
#[test]
fn a_term_that_fits_into_no_token_is_refused() {
    let largest = u64::from(u32::MAX);
    let claim = |term| {
        let msg = bellwether_log::Msg::Claim { term: bellwether_log::Term::new(term) };
        let msg = bellwether_member::Msg::Log(msg);
        decode(Choice::ALL[0], &encode(&bellwether_member::service::Msg::Member(msg)))
    };
    assert!(claim(largest).is_ok());
    for term in [largest + 1, u64::MAX] {
        assert_eq!(claim(term), Err(Malformed::OutOfRange { field: "claim.term", value: term }));
    }
}
