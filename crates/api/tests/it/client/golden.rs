//! The bytes of some frames. Clients are upgraded when their owners like: a line is never changed or
//! removed. A new one fails the test, which prints it.

use bellwether_api::client::{
    Leader, List, Listed, Observed, Page, RoleStatus, ToClient, ToMember, decode_to_client,
    decode_to_member, wire,
};
use bellwether_api::envelope::Message;
use bellwether_coordination::{Refusal, Reply, Request, SessionId, Subject, Token};
use std::collections::BTreeMap;

const FRAMES: &str = include_str!("../golden/frames.hex");

const TOKEN: Token = Token(7 << 32 | 300);

fn to_member() -> Vec<(&'static str, ToMember)> {
    let check = |number, of| ToMember::Request(Request::Check { number, of, token: TOKEN });
    vec![
        ("observe", ToMember::Observe { number: 300, role: "cron".to_owned() }),
        ("unobserve", ToMember::Unobserve(300)),
        ("check-lock", check(300, Subject::Lock("disk".to_owned()))),
        ("check-role", check(1, Subject::Role("cron".to_owned()))),
        ("list-locks", ToMember::List { number: 300, list: List::Locks("a".to_owned()) }),
        ("list-sessions", ToMember::List { number: 300, list: List::Sessions(SessionId(0)) }),
    ]
}

fn to_client() -> Vec<(&'static str, ToClient)> {
    let observed =
        |result| ToClient::Observed(Observed { number: 300, version: (7, 1_000), result });
    let leader = Leader {
        session: SessionId(7 << 32 | 1),
        client: "cron@web-1".to_owned(),
        token: TOKEN,
        value: vec![0, 255],
        since: 1_800_000_000_000,
    };
    let (reason, at) = ("the first to stand for it".to_owned(), 1_800_000_000_001);
    let led = RoleStatus { leader: Some(leader), reason, at };
    let checked = |result| ToClient::Reply(Reply::Checked { number: 300, result });
    let stale = Refusal::StaleToken(Subject::Role("cron".to_owned()), TOKEN);
    vec![
        ("observed", observed(Ok(led))),
        ("observed-nobody", observed(Ok(RoleStatus::default()))),
        ("observed-refused", observed(Err(Refusal::InvalidName(256)))),
        ("checked", checked(Ok(SessionId(7 << 32 | 1)))),
        ("checked-stale", checked(Err(stale))),
        ("listed", listed()),
    ]
}

fn listed() -> ToClient {
    let (client, token, since_ms) = ("c".to_owned(), TOKEN.0, 9);
    let holder = wire::LockUser { session: 1, client, shared: false, permits: 2, token, since_ms };
    let (name, holders) = ("disk".to_owned(), vec![holder]);
    let lock = wire::LockEntry { name, permits: 5, holders, held_by: 1, ..Default::default() };
    let result = Ok(Page { locks: vec![lock], more: true, ..Page::default() });
    ToClient::Listed(Listed { number: 300, version: (7, 1_000), result })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn frames_keep_their_bytes() {
    let lines = FRAMES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let golden: BTreeMap<_, _> = lines.filter_map(|line| line.split_once(' ')).collect();
    let (asked, said) = (to_member(), to_client());
    let mut examples = BTreeMap::new();
    for (name, frame) in &asked {
        let bytes = wire::ToMember::from(frame.clone()).encode_to_vec();
        assert_eq!(decode_to_member(&bytes).as_ref(), Ok(frame));
        examples.insert(*name, hex(&bytes));
    }
    for (name, frame) in &said {
        let bytes = wire::ToClient::from(frame.clone()).encode_to_vec();
        assert_eq!(decode_to_client(&bytes).as_ref(), Ok(frame));
        examples.insert(*name, hex(&bytes));
    }
    let print = |(name, bytes): (&&str, &String)| format!("{name} {bytes}\n");
    let all: String = examples.iter().map(print).collect();
    for (name, bytes) in &examples {
        assert_eq!(golden.get(name), Some(&bytes.as_str()), "{name}; now they are\n{all}");
    }
    assert_eq!(golden.len(), examples.len(), "no example may go");
}
