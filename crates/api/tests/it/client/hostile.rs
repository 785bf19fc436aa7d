//! Hostile bytes.

use super::Draws;
use super::frames::{to_client, to_member};
use bellwether_api::client::{
    LONGEST_TO_MEMBER, Malformed, decode_to_client, decode_to_member, wire,
};
use bellwether_api::envelope::Message;
use bellwether_coordination::{Reply, SessionId};

/// Decodes without a panic; and what is understood is understood again.
fn try_out(bytes: &[u8]) -> bool {
    let (one, other) = (decode_to_member(bytes), decode_to_client(bytes));
    for error in [one.as_ref().err(), other.as_ref().err()].into_iter().flatten() {
        assert!(error.to_string().len() < 1000, "an error is no way to fill a disk");
    }
    if let Ok(frame) = &one {
        let again = wire::ToMember::from(frame.clone()).encode_to_vec();
        assert_eq!(decode_to_member(&again).as_ref(), Ok(frame));
    }
    if let Ok(frame) = &other {
        let again = wire::ToClient::from(frame.clone()).encode_to_vec();
        assert_eq!(decode_to_client(&again).as_ref(), Ok(frame));
    }
    one.is_ok() || other.is_ok()
}

#[test]
fn random_bytes_do_no_harm() {
    let mut draws = Draws(0x2545_f491_4f6c_dd1d);
    for _ in 0..50_000 {
        let bytes: Vec<u8> = (0..draws.below(64)).map(|_| draws.next() as u8).collect();
        try_out(&bytes);
    }
}

#[test]
fn damaged_frames_do_no_harm() {
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    let mut corpus = Vec::new();
    for kind in 0..20 {
        corpus.push(wire::ToMember::from(to_member(kind, &mut draws).unwrap()).encode_to_vec());
    }
    for kind in 0..45 {
        corpus.push(wire::ToClient::from(to_client(kind, &mut draws).unwrap()).encode_to_vec());
    }
    let (rounds, mut understood) = (50_000, 0);
    for _ in 0..rounds {
        let mut bytes = corpus[draws.below(corpus.len())].clone();
        for _ in 0..=draws.below(3) {
            let at = draws.below(bytes.len() + 1);
            match draws.below(3) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, draws.next() as u8),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (at % 8)),
            }
        }
        understood += u32::from(try_out(&bytes));
    }
    assert!(understood > 0 && understood < rounds, "{understood}");
}

#[test]
fn what_is_wrong_is_named() {
    let to_member = |kind| {
        let bytes = wire::ToMember { kind: Some(kind) }.encode_to_vec();
        decode_to_member(&bytes).unwrap_err()
    };
    let to_client = |kind| {
        let bytes = wire::ToClient { kind: Some(kind) }.encode_to_vec();
        decode_to_client(&bytes).unwrap_err()
    };
    use wire::to_client::Kind as ToClientKind;
    use wire::to_member::Kind as Asked;

    assert_eq!(decode_to_member(&[]), Err(Malformed::Missing("kind")));
    assert_eq!(decode_to_client(&[]), Err(Malformed::Missing("kind")));
    // A kind of the future: field 100.
    assert_eq!(decode_to_member(&[0xa0, 0x06, 1]), Err(Malformed::Unknown("kind")));
    assert_eq!(decode_to_client(&[0xa0, 0x06, 1]), Err(Malformed::Unknown("kind")));
    let long = vec![0; LONGEST_TO_MEMBER + 1];
    assert!(matches!(decode_to_member(&long), Err(Malformed::TooLong { .. })));

    let key = Asked::Open(wire::Open { key: vec![1; 15], ..Default::default() });
    assert_eq!(to_member(key).to_string(), "open.key has 15 bytes; it must have 16");
    assert_eq!(to_member(Asked::Ask(wire::Ask::default())), Malformed::Missing("ask.session"));
    let keyless = wire::Ask { session: Some(1), number: Some(1), ..wire::Ask::default() };
    let no_key = to_member(Asked::Ask(keyless.clone())).to_string();
    assert_eq!(no_key, "ask.key has 0 bytes; it must have 16");
    let numbered = wire::Ask { key: vec![0; 16], ..keyless };
    assert_eq!(to_member(Asked::Ask(numbered.clone())), Malformed::Missing("ask.what"));
    let ask = |what| Asked::Ask(wire::Ask { what: Some(what), ..numbered.clone() });
    use wire::ask::What;
    let wants = vec![wire::Want { name: "a".into(), mode: None }];
    let lock = What::Lock(wire::Lock { wants, wait: true });
    assert_eq!(to_member(ask(lock)), Malformed::Missing("want.mode"));
    let permits = wire::want::Mode::Permits(wire::Permits { take: 1, of: 1 << 32 });
    let wants = vec![wire::Want { name: "a".into(), mode: Some(permits) }];
    let too_many = to_member(ask(What::Lock(wire::Lock { wants, wait: true })));
    assert_eq!(too_many, Malformed::OutOfRange { field: "permits.of", value: 1 << 32 });
    let campaign = What::Campaign(wire::Campaign::default());
    assert_eq!(to_member(ask(campaign)), Malformed::Missing("campaign.policy"));
    let watch = Asked::Watch(wire::Watch { session: Some(1), pid: None, key: vec![0; 16] });
    assert_eq!(to_member(watch), Malformed::Missing("watch.pid"));
    let observe = Asked::Observe(wire::Observe { number: None, role: "r".into() });
    assert_eq!(to_member(observe), Malformed::Missing("observe.number"));
    let of = Some(wire::Subject { kind: None });
    let check = Asked::Check(wire::Check { number: Some(1), of, token: 1 });
    assert_eq!(to_member(check), Malformed::Missing("check.of"));

    assert_eq!(
        to_client(ToClientKind::Answered(wire::Answered {
            session: Some(1),
            ..Default::default()
        })),
        Malformed::Missing("answered.number")
    );
    let observed = wire::Observed { number: Some(1), ..Default::default() };
    assert_eq!(to_client(ToClientKind::Observed(observed)), Malformed::Missing("observed.result"));
    let checked = wire::Checked { number: Some(1), result: None };
    assert_eq!(to_client(ToClientKind::Checked(checked)), Malformed::Missing("checked.result"));
    let refused = wire::Forced { session: Some(1), ..Default::default() };
    let refused = wire::Forced { refused: Some(wire::Refusal { why: None }), ..refused };
    assert_eq!(to_client(ToClientKind::Forced(refused)), Malformed::Unknown("refusal.why"));
}

#[test]
fn an_ending_of_the_future_is_not_known() {
    let ended = wire::Ended { session: Some(7), why: 99, confirm: false };
    let bytes = wire::ToClient { kind: Some(wire::to_client::Kind::Ended(ended)) }.encode_to_vec();
    let reply = Reply::Ended { session: SessionId(7), why: None };
    assert_eq!(decode_to_client(&bytes), Ok(bellwether_api::client::ToClient::Reply(reply)));
}
