//! Who holds what by which token, for those who are shown one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_duties::{
    Answer, Ask, Command, Duties, Ending, Limits, Mode, OnDeadlock, Policy, Refusal, Said, Secret,
    SessionId, Subject, Token, Want,
};

fn begin(duties: &mut Duties, epoch: u32) {
    let (limits, on_deadlock) = (Limits::default(), OnDeadlock::Abort);
    duties.apply(&Command::Begin { epoch, limits, on_deadlock });
}

fn open(duties: &mut Duties, key: u128) -> SessionId {
    duties.apply(&Command::Open { key: Secret(key), client: "c".into(), ttl_ms: 1_000, at: 0 });
    duties.session_of(Secret(key)).unwrap()
}

/// The token that a request is granted at once.
fn granted(duties: &mut Duties, session: SessionId, number: u64, ask: Ask) -> Token {
    let said = duties.apply(&Command::Ask { session, number, forget_below: 0, ask, at: 0 });
    let token = said.iter().find_map(|said| match said {
        Said::Answered(_, _, Ok(Answer::Granted(token) | Answer::Leads(token))) => Some(*token),
        _ => None,
    });
    token.unwrap()
}

fn lock(mode: Mode) -> Ask {
    Ask::Lock { wants: vec![Want { name: "a".into(), mode }], wait: false }
}

#[test]
fn t1_a_token_that_is_not_held_is_over_in_every_epoch() {
    let mut duties = Duties::default();
    begin(&mut duties, 7);
    let (one, two) = (open(&mut duties, 1), open(&mut duties, 2));
    let (of, role) = (Subject::Lock("a".into()), Subject::Role("r".into()));
    let stale = |token| Err(Refusal::StaleToken(Subject::Lock("a".into()), token));
    let shared = granted(&mut duties, one, 1, lock(Mode::Shared));
    let other = granted(&mut duties, two, 1, lock(Mode::Shared));
    // Each of those who share has its own.
    assert_eq!(duties.bearer(&of, shared), Ok(one));
    assert_eq!(duties.bearer(&of, other), Ok(two));
    assert!(duties.bearer(&role, shared).is_err(), "it is for something else");
    let before = duties.clone();
    assert_eq!(duties.bearer(&of, Token(3)), stale(Token(3)));
    assert_eq!(duties, before);

    let (policy, value) = (Policy::FirstCome, Vec::new());
    let stand = Ask::Campaign { role: "r".into(), priority: 0, value, policy };
    let leads = granted(&mut duties, one, 2, stand);
    assert_eq!(duties.bearer(&role, leads), Ok(one));

    // A new coordinator changes nothing for those who hold, and brings nothing back.
    begin(&mut duties, 8);
    assert_eq!((duties.bearer(&of, shared), duties.bearer(&role, leads)), (Ok(one), Ok(one)));
    duties.apply(&Command::End { session: one, why: Ending::Expired, at: 0 });
    assert_eq!(duties.bearer(&of, shared), stale(shared));
    assert!(duties.bearer(&role, leads).is_err());
    let again = open(&mut duties, 3);
    let newer = granted(&mut duties, again, 1, lock(Mode::Shared));
    assert!(newer.epoch() == 8 && shared.epoch() == 7);
    assert_eq!(duties.bearer(&of, newer), Ok(again));
    let text = duties.bearer(&of, shared).unwrap_err().to_string();
    assert!(text.contains("of epoch 7") && text.contains("refuse"), "{text}");
}
