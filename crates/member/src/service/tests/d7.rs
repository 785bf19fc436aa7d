//! D7: who may use a session, and who may end it.

use super::*;
use bellwether_coordination::Outcome;

const WRONG: Secret = Secret(71);

fn notes(effects: Vec<Effect<Service>>) -> Vec<Outcome> {
    let noted = |output| match output {
        Output::Noted(said) => Some(said),
        _ => None,
    };
    said(effects).into_iter().filter_map(noted).collect()
}

/// Everything that a session can be used for, with this key.
fn uses(key: Secret) -> Vec<Request> {
    let release = Ask::Release(1);
    vec![
        Request::KeepAlive { session: FIRST, key, sent: 6 },
        Request::Ask { session: FIRST, key, number: 2, forget_below: 9, ask: release },
        Request::Close { session: FIRST, key },
        Request::Died { session: FIRST, key },
    ]
}

#[test]
fn d7_a_session_is_not_used_with_another_key() {
    for (conn, request) in [8, HTTP].into_iter().flat_map(|conn| {
        let with = move |request| (conn, request);
        uses(WRONG).into_iter().map(with)
    }) {
        let (mut p3, _) = with_waiter();
        let effects = p3.input(asks(conn, request.clone()));
        assert_eq!(batches(effects.clone()), NONE, "{request:?}");
        let denied = Reply::Denied { session: FIRST, key: WRONG };
        assert_eq!(replies(effects), [(conn, denied)], "{request:?}");
        // The session's client is where it was, and hears of its own requests.
        p3.input(asks(7, release(2)));
        let told = replies(acknowledge(&mut p3, 7));
        let done = Reply::Answered { session: FIRST, number: 2, result: Ok(Answer::Done) };
        assert!(told.contains(&(7, done)), "{request:?}: {told:?}");
    }
}

#[test]
fn d7_another_key_does_not_keep_a_session_alive() {
    let mut p3 = with_session();
    for _ in 0..4 {
        p3.pass(ms(250));
        acknowledge(&mut p3, 3);
        p3.input(asks(8, Request::KeepAlive { session: FIRST, key: WRONG, sent: 6 }));
    }
    p3.fire(Timer::Sessions);
    let ended = Reply::Ended { session: FIRST, why: Some(Ending::Expired) };
    assert_eq!(replies(acknowledge(&mut p3, 4)), [(7, ended)]);
}

#[test]
fn d7_the_key_is_enough_from_anywhere() {
    let mut p3 = with_session();
    let alive = |conn| asks(conn, Request::KeepAlive { session: FIRST, key: KEY, sent: 6 });
    let lives = Reply::KeptAlive { session: FIRST, sent: 6 };
    assert_eq!(replies(p3.input(alive(8))), [(8, lives.clone())]);
    assert_eq!(replies(p3.input(alive(HTTP))), [(HTTP, lives)]);
}

#[test]
fn d7_who_ends_the_session_of_another_is_noted() {
    let (mut p3, _) = with_waiter();
    p3.input(asks(HTTP, end(true)));
    let by = |by: &str| Outcome::EndedBy { session: FIRST, by: by.to_owned() };
    assert!(notes(acknowledge(&mut p3, 7)).contains(&by("anna")));
    // The same if the client is waited for.
    let (mut p3, _) = with_waiter();
    assert_eq!(replies(p3.input(asks(HTTP, end(false)))), [(7, ENDING)]);
    p3.input(asks(7, Request::Close { session: FIRST, key: KEY }));
    assert!(notes(acknowledge(&mut p3, 7)).contains(&by("anna")));
    // And if it has shown the key.
    let (mut p3, _) = with_waiter();
    p3.input(asks(HTTP, Request::Close { session: FIRST, key: KEY }));
    p3.input(asks(7, Request::Close { session: FIRST, key: KEY }));
    let with_key = by("a request with its key, through P3");
    assert!(notes(acknowledge(&mut p3, 7)).contains(&with_key));
    // A client that closes its own session is no news.
    let (mut p3, _) = with_waiter();
    p3.input(asks(7, Request::Close { session: FIRST, key: KEY }));
    let noted = notes(acknowledge(&mut p3, 7));
    assert!(!noted.iter().any(|said| matches!(said, Outcome::EndedBy { .. })), "{noted:?}");
}
