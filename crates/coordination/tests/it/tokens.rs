//! Who holds what by which token, for those who are shown one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_coordination::{
    Answer, Ask, Command, Coordination, Ending, Limits, Mode, OnDeadlock, Outcome, Policy, Refusal,
    Secret, SessionId, Subject, Token, Want,
};

fn begin(coordination: &mut Coordination, term: u32) {
    let (limits, on_deadlock) = (Limits::default(), OnDeadlock::Abort);
    coordination.apply(&Command::Begin { term, limits, on_deadlock });
}

fn open(coordination: &mut Coordination, key: u128) -> SessionId {
    coordination.apply(&Command::Open {
        key: Secret(key),
        client: "c".into(),
        ttl_ms: 1_000,
        at: 0,
    });
    coordination.session_of(Secret(key)).unwrap()
}

/// The token that a request is granted at once.
fn granted(coordination: &mut Coordination, session: SessionId, number: u64, ask: Ask) -> Token {
    let said = coordination.apply(&Command::Ask { session, number, forget_below: 0, ask, at: 0 });
    let token = said.iter().find_map(|said| match said {
        Outcome::Answered(_, _, Ok(Answer::Granted(token) | Answer::Leads(token))) => Some(*token),
        _ => None,
    });
    token.unwrap()
}

fn lock(mode: Mode) -> Ask {
    Ask::Lock { wants: vec![Want { name: "a".into(), mode }].into(), wait: false }
}

#[test]
fn t1_a_token_that_is_not_held_is_over_in_every_epoch() {
    let mut coordination = Coordination::default();
    begin(&mut coordination, 7);
    let (one, two) = (open(&mut coordination, 1), open(&mut coordination, 2));
    let (of, role) = (Subject::Lock("a".into()), Subject::Role("r".into()));
    let stale = |token| Err(Refusal::StaleToken(Subject::Lock("a".into()), token));
    let shared = granted(&mut coordination, one, 1, lock(Mode::Shared));
    let other = granted(&mut coordination, two, 1, lock(Mode::Shared));
    // Each of those who share has its own.
    assert_eq!(coordination.bearer(&of, shared), Ok(one));
    assert_eq!(coordination.bearer(&of, other), Ok(two));
    assert!(coordination.bearer(&role, shared).is_err(), "it is for something else");
    let before = coordination.clone();
    assert_eq!(coordination.bearer(&of, Token(3)), stale(Token(3)));
    assert_eq!(coordination, before);

    let (policy, value) = (Policy::FirstCome, Vec::new());
    let stand = Ask::Campaign { role: "r".into(), priority: 0, value, policy };
    let leads = granted(&mut coordination, one, 2, stand);
    assert_eq!(coordination.bearer(&role, leads), Ok(one));

    // A new coordinator changes nothing for those who hold, and brings nothing back.
    begin(&mut coordination, 8);
    assert_eq!(
        (coordination.bearer(&of, shared), coordination.bearer(&role, leads)),
        (Ok(one), Ok(one))
    );
    coordination.apply(&Command::End { session: one, why: Ending::Expired, at: 0 });
    assert_eq!(coordination.bearer(&of, shared), stale(shared));
    assert!(coordination.bearer(&role, leads).is_err());
    let again = open(&mut coordination, 3);
    let newer = granted(&mut coordination, again, 1, lock(Mode::Shared));
    assert!(newer.term() == 8 && shared.term() == 7);
    assert_eq!(coordination.bearer(&of, newer), Ok(again));
    let text = coordination.bearer(&of, shared).unwrap_err().to_string();
    assert!(text.contains("of term 7") && text.contains("reject"), "{text}");
}
