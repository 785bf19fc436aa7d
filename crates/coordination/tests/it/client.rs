//! The client's rules, one by one. What it does in a bad network is in `lossy.rs`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_coordination::{
    Answer, Ask, Client, ClientEvent, Ending, Mode, Number, Policy, Refusal, Reply, Request,
    Secret, SessionEnded, SessionId, Setup, Token, Want,
};
use bellwether_core::Time;
use std::time::Duration;

const KEY: Secret = Secret(77);
const MINE: SessionId = SessionId(5);
const OTHER: SessionId = SessionId(6);

/// A TTL of one second, clocks that are right within a tenth: relied on for 818.181 ms less 4 us.
fn setup() -> Setup {
    let ttl = Duration::from_secs(1);
    Setup { key: KEY, name: "me".to_owned(), ttl, drift_ppm: 100_000 }
}

fn ms(ms: u64) -> Time {
    Time::from_micros(ms * 1_000)
}

fn opened(session: SessionId, sent: Time) -> Reply {
    Reply::Opened { key: KEY, result: Ok(session), sent: sent.as_micros() }
}

fn kept_alive(sent: Time) -> Reply {
    Reply::KeptAlive { session: MINE, sent: sent.as_micros() }
}

fn answered(number: Number, result: Result<Answer, Refusal>) -> Reply {
    Reply::Answered { session: MINE, number, result }
}

/// A client whose session was opened at once, at 0 ms.
fn open_client() -> Client {
    let mut client = Client::new(setup());
    client.open(ms(0));
    assert_eq!(client.hear(opened(MINE, ms(0)), ms(0)), (vec![ClientEvent::Opened(MINE)], vec![]));
    client
}

fn lock(name: &str) -> Ask {
    let wants = vec![Want { name: name.into(), mode: Mode::Exclusive }].into();
    Ask::Lock { wants, wait: true }
}

fn campaign() -> Ask {
    let (role, policy) = ("cron".to_owned(), Policy::FirstCome);
    Ask::Campaign { role, priority: 0, value: vec![], policy }
}

fn waits(behind: u64) -> Result<Answer, Refusal> {
    Ok(Answer::Waits { behind })
}

/// The numbers that are asked for, each with what may be forgotten.
fn numbers(requests: &[Request]) -> Vec<(Number, Number)> {
    let ask = |request: &Request| match request {
        Request::Ask { number, forget_below, .. } => Some((*number, *forget_below)),
        _ => None,
    };
    requests.iter().filter_map(ask).collect()
}

fn is_keep_alive(request: &Request, at: Time) -> bool {
    *request == Request::KeepAlive { session: MINE, key: KEY, sent: at.as_micros() }
}

fn only(heard: ClientEvent) -> (Vec<ClientEvent>, Vec<Request>) {
    (vec![heard], vec![])
}

fn nothing() -> (Vec<ClientEvent>, Vec<Request>) {
    (vec![], vec![])
}

#[test]
fn k1_what_is_asked_for_before_the_session_is_open_is_sent_when_it_is() {
    let mut client = Client::new(setup());
    assert_eq!(client.next_wake(), None);
    assert_eq!(client.ask(lock("a"), ms(0)), (1, vec![]));
    let open = client.open(ms(1));
    let first = Request::Open { key: KEY, client: "me".to_owned(), ttl_ms: 1_000, sent: 1_000 };
    assert_eq!(open, [first]);
    assert_eq!(client.ask(lock("b"), ms(2)), (2, vec![]));
    let (heard, requests) = client.hear(opened(MINE, ms(1)), ms(3));
    assert_eq!(heard, [ClientEvent::Opened(MINE)]);
    assert_eq!(numbers(&requests), [(1, 1), (2, 1)]);
}

#[test]
fn k1_what_has_no_answer_is_sent_again_with_its_number() {
    let mut client = Client::new(setup());
    client.open(ms(0));
    assert_eq!(client.next_wake(), Some(ms(250)));
    assert_eq!(client.wake(ms(249)), nothing());
    let (_, again) = client.wake(ms(250));
    assert!(matches!(again[..], [Request::Open { key: KEY, sent: 250_000, .. }]), "{again:?}");
    client.hear(opened(MINE, ms(250)), ms(260));
    let (number, first) = client.ask(lock("a"), ms(300));
    let (_, beat) = client.wake(ms(500));
    assert!(matches!(&beat[..], [beat] if is_keep_alive(beat, ms(500))), "{beat:?}");
    client.hear(kept_alive(ms(500)), ms(501));
    assert_eq!(client.next_wake(), Some(ms(550)));
    assert_eq!(client.wake(ms(550)).1, first);
    let granted = Ok(Answer::Granted(Token(9)));
    let told = only(ClientEvent::Answered(number, granted.clone()));
    assert_eq!(client.hear(answered(number, granted.clone()), ms(551)), told);
    assert_eq!(client.hear(answered(number, granted), ms(552)), nothing(), "told once");
    assert_eq!(client.next_wake(), Some(ms(750)), "only the keep-alive is left");
}

#[test]
fn k2_what_waits_does_not_keep_answers_from_being_forgotten() {
    let mut client = open_client();
    let (first, _) = client.ask(campaign(), ms(1));
    let (second, requests) = client.ask(lock("a"), ms(1));
    assert_eq!(numbers(&requests), [(second, first)]);
    client.hear(answered(second, Ok(Answer::Granted(Token(1)))), ms(2));
    let (third, requests) = client.ask(Ask::Release(second), ms(3));
    assert_eq!(numbers(&requests), [(third, first)], "nothing is known of the first");
    let told = client.hear(answered(first, waits(4)), ms(4));
    assert_eq!(told, only(ClientEvent::Answered(first, waits(4))));
    assert_eq!(client.hear(answered(first, waits(4)), ms(4)), nothing(), "no news");
    let (fourth, requests) = client.ask(lock("b"), ms(5));
    assert_eq!(numbers(&requests), [(fourth, third)]);
    client.hear(answered(third, Ok(Answer::Done)), ms(6));
    client.hear(answered(fourth, Err(Refusal::Busy("b".to_owned()))), ms(6));
    let (fifth, requests) = client.ask(lock("c"), ms(7));
    assert_eq!(numbers(&requests), [(fifth, fifth)]);
}

#[test]
fn k2_the_answer_to_giving_up_tells_what_became_of_the_request() {
    let mut client = open_client();
    let (first, _) = client.ask(lock("a"), ms(1));
    client.hear(answered(first, waits(0)), ms(2));
    let (second, _) = client.ask(Ask::GiveUp(first), ms(3));
    let (heard, _) = client.hear(answered(second, Ok(Answer::Done)), ms(4));
    let gave_up = ClientEvent::Answered(first, Err(Refusal::GaveUp));
    assert_eq!(heard, [gave_up, ClientEvent::Answered(second, Ok(Answer::Done))]);
    let late = answered(first, Err(Refusal::GaveUp));
    assert_eq!(client.hear(late, ms(5)), nothing());
    // A candidate gives up by resigning.
    let (third, _) = client.ask(campaign(), ms(6));
    client.hear(answered(third, waits(0)), ms(7));
    let (fourth, _) = client.ask(Ask::Resign { role: "cron".to_owned() }, ms(7));
    let late = answered(third, Ok(Answer::Leads(Token(1))));
    assert_eq!(client.hear(late.clone(), ms(8)), nothing());
    let forgotten = answered(third, Err(Refusal::Forgotten(third)));
    assert_eq!(client.hear(forgotten, ms(8)), nothing());
    let (heard, _) = client.hear(answered(fourth, Ok(Answer::Done)), ms(9));
    let gave_up = ClientEvent::Answered(third, Err(Refusal::GaveUp));
    assert_eq!(heard, [gave_up, ClientEvent::Answered(fourth, Ok(Answer::Done))]);
    assert_eq!(client.hear(late, ms(10)), nothing());
}

#[test]
fn k6_what_is_about_one_role_is_sent_in_order() {
    let role = || "cron".to_owned();
    let mut client = open_client();
    let (stands, requests) = client.ask(campaign(), ms(1));
    assert_eq!(numbers(&requests), [(stands, stands)]);
    let (proclaimed, requests) = client.ask(Ask::Proclaim { role: role(), value: vec![1] }, ms(1));
    assert_eq!(requests, []);
    let (handed, requests) = client.ask(Ask::HandOver { role: role(), to: OTHER }, ms(1));
    assert_eq!(requests, []);
    assert_eq!(client.ask(Ask::Resign { role: "another".to_owned() }, ms(1)).1.len(), 1);
    let (heard, requests) = client.hear(answered(stands, waits(2)), ms(2));
    assert_eq!(heard, [ClientEvent::Answered(stands, waits(2))]);
    assert_eq!(numbers(&requests), [(proclaimed, proclaimed)]);
    let not = || Err(Refusal::NotLeader(role()));
    let (heard, requests) = client.hear(answered(proclaimed, not()), ms(3));
    assert_eq!(
        heard,
        [ClientEvent::Answered(proclaimed, not()), ClientEvent::Answered(handed, not())]
    );
    assert_eq!(requests, []);
    // At once, if nothing is in between.
    let (handed, requests) = client.ask(Ask::HandOver { role: role(), to: OTHER }, ms(4));
    assert_eq!(requests, []);
    assert!(client.next_wake() < Some(ms(4)));
    assert_eq!(client.wake(ms(4)), only(ClientEvent::Answered(handed, not())));
}

#[test]
fn giving_up_what_was_granted_meanwhile_leaves_it_granted() {
    let mut client = open_client();
    let (first, _) = client.ask(lock("a"), ms(1));
    let (second, _) = client.ask(Ask::GiveUp(first), ms(1));
    let (not, granted) = (Err(Refusal::NotAsked(first)), Ok(Answer::Granted(Token(3))));
    // Whichever comes first.
    let mut other = client.clone();
    let replies = [(first, granted), (second, not)];
    for (number, result) in replies.clone() {
        let told = only(ClientEvent::Answered(number, result.clone()));
        assert_eq!(client.hear(answered(number, result), ms(2)), told);
    }
    let mut again = Vec::new();
    for (number, result) in replies.into_iter().rev() {
        let told = ClientEvent::Answered(number, result.clone());
        let (heard, requests) = other.hear(answered(number, result), ms(2));
        assert_eq!(heard, [told]);
        again.extend(requests);
    }
    assert_eq!(client, other);
    // The grant might have been lost, so it was asked for again.
    assert_eq!(numbers(&again), [(first, first)]);
}

#[test]
fn k3_the_deadline_counts_from_when_the_answered_was_sent() {
    let mut client = Client::new(setup());
    client.open(ms(10));
    client.hear(opened(MINE, ms(10)), ms(300));
    let ttl = Duration::from_micros(818_181 - 4);
    assert_eq!(client.deadline(), Some(ms(10) + ttl));
    client.wake(ms(310));
    client.wake(ms(600));
    client.hear(kept_alive(ms(600)), ms(610));
    assert_eq!(client.deadline(), Some(ms(600) + ttl));
    client.hear(kept_alive(ms(310)), ms(620));
    assert_eq!(client.deadline(), Some(ms(600) + ttl), "a late one takes nothing back");
    client.hear(kept_alive(ms(5_000)), ms(630));
    assert_eq!(client.deadline(), Some(ms(600) + ttl), "never sent");
    let (number, _) = client.ask(lock("a"), ms(640));
    client.hear(answered(number, Ok(Answer::Granted(Token(1)))), ms(650));
    assert_eq!(client.deadline(), Some(ms(600) + ttl), "an answer proves nothing");
}

#[test]
fn k3_an_unanswered_keep_alive_is_repeated_soon() {
    let mut client = Client::new(Setup { ttl: Duration::from_secs(60), ..setup() });
    client.open(ms(0));
    client.hear(opened(MINE, ms(0)), ms(1));
    assert_eq!(client.next_wake(), Some(ms(15_000)));
    client.wake(ms(15_000));
    assert_eq!(client.next_wake(), Some(ms(16_000)));
    client.wake(ms(16_000));
    client.hear(kept_alive(ms(16_000)), ms(16_001));
    assert_eq!(client.next_wake(), Some(ms(31_000)));
}

#[test]
fn k4_when_the_deadline_has_passed_it_is_over_whatever_comes_late() {
    let mut client = open_client();
    let deadline = client.deadline().unwrap();
    let (number, _) = client.ask(lock("a"), ms(800));
    let close = Request::Close { session: MINE, key: KEY };
    let over = (vec![ClientEvent::SessionEnded(SessionEnded::DeadlinePassed)], vec![close.clone()]);
    assert_eq!(client.clone().wake(deadline), over);
    let late = client.hear(kept_alive(ms(800)), deadline);
    assert_eq!(late.0, over.0);
    assert_eq!((client.deadline(), client.session(), client.next_wake()), (None, None, None));
    let (heard, requests) = client.hear(answered(number, waits(0)), deadline);
    assert_eq!((heard, requests), (vec![], vec![close]), "it lives, and is not needed");
    assert_eq!(client.reconnected(deadline), []);
    assert_eq!(client.ask(lock("b"), deadline).1, []);
}

#[test]
fn k4_nothing_is_sent_in_between_the_deadline_and_the_wake() {
    let mut client = open_client();
    let deadline = client.deadline().unwrap();
    assert_eq!(client.ask(lock("a"), deadline).1, []);
    assert_eq!(client.reconnected(deadline), []);
    assert_eq!(client.next_wake().map(|wake| wake <= deadline), Some(true));
}

#[test]
fn k4_an_opening_that_is_answered_too_late_is_asked_for_again() {
    let mut client = Client::new(setup());
    client.open(ms(0));
    client.wake(ms(250));
    assert_eq!(client.hear(opened(MINE, ms(0)), ms(900)), nothing());
    assert_eq!(client.session(), None);
    let (heard, _) = client.hear(opened(OTHER, ms(250)), ms(901));
    assert_eq!(heard, [ClientEvent::Opened(OTHER)]);
}

#[test]
fn k5_it_is_over_when_the_coordinator_has_no_such_session() {
    let ended = |session| Reply::Ended { session, why: Some(Ending::Expired) };
    let mut client = open_client();
    let mut other = client.clone();
    client.ask(lock("a"), ms(1));
    assert_eq!(client.hear(ended(OTHER), ms(1)), nothing());
    let over = only(ClientEvent::SessionEnded(SessionEnded::Ended(Some(Ending::Expired))));
    assert_eq!(client.hear(ended(MINE), ms(2)), over);
    assert_eq!(client.hear(ended(MINE), ms(3)), nothing());
    assert_eq!(client.hear(kept_alive(ms(2)), ms(3)), nothing(), "it is known to be over");
    assert_eq!(client.wake(ms(9_000)), nothing());
    let over = only(ClientEvent::SessionEnded(SessionEnded::Ended(None)));
    assert_eq!(other.hear(answered(1, Err(Refusal::NoSession(MINE))), ms(2)), over);
}

#[test]
fn k5_a_session_that_is_refused_or_given_up_is_closed_if_it_begins_nevertheless() {
    let full = || Refusal::TooManySessions(3);
    let refused = || Reply::Opened { key: KEY, result: Err(full()), sent: 0 };
    let mut client = Client::new(setup());
    client.open(ms(0));
    assert_eq!(
        client.hear(refused(), ms(1)),
        only(ClientEvent::SessionEnded(SessionEnded::Refused(full())))
    );
    let close = |session| (vec![], vec![Request::Close { session, key: KEY }]);
    assert_eq!(client.hear(opened(MINE, ms(0)), ms(2)), close(MINE));
    let mut client = open_client();
    assert_eq!(client.hear(refused(), ms(1)), nothing(), "it was there, and another is not");
    assert_eq!(client.hear(opened(OTHER, ms(0)), ms(1)), close(OTHER));
    let others = Reply::Opened { key: Secret(1), result: Ok(OTHER), sent: 0 };
    assert_eq!(client.hear(others, ms(1)), nothing());
}

#[test]
fn closing_is_said_until_the_coordinator_knows() {
    let mut client = open_client();
    client.ask(lock("a"), ms(1));
    let close = || vec![Request::Close { session: MINE, key: KEY }];
    assert_eq!(client.close(ms(2)), close());
    assert_eq!((client.deadline(), client.close(ms(2))), (None, vec![]));
    assert_eq!(client.hear(kept_alive(ms(1)), ms(3)), nothing());
    assert_eq!(client.next_wake(), Some(ms(252)));
    assert_eq!(client.wake(ms(252)), (vec![], close()));
    assert_eq!(client.reconnected(ms(260)), close());
    let mut other = client.clone();
    let ended = Reply::Ended { session: MINE, why: Some(Ending::Closed) };
    assert_eq!(client.hear(ended, ms(270)), only(ClientEvent::SessionEnded(SessionEnded::Closed)));
    assert_eq!(client.next_wake(), None);
    let alone = other.wake(ms(900));
    assert_eq!(
        alone.0,
        [ClientEvent::SessionEnded(SessionEnded::Closed)],
        "by now it is over without an answer"
    );
    // One that was never opened.
    let mut client = Client::new(setup());
    client.open(ms(0));
    assert_eq!(client.close(ms(1)), []);
    assert_eq!(client.next_wake(), Some(ms(1)));
    assert_eq!(client.wake(ms(1)), only(ClientEvent::SessionEnded(SessionEnded::Closed)));
}

#[test]
fn k6_who_hands_a_role_over_may_lead_again_by_a_larger_token() {
    let mut client = open_client();
    let (stands, _) = client.ask(campaign(), ms(1));
    let leads = |token| Ok(Answer::Leads(Token(token)));
    client.hear(answered(stands, leads(3)), ms(2));
    let hand_over = Ask::HandOver { role: "cron".to_owned(), to: OTHER };
    let (handed, _) = client.ask(hand_over, ms(3));
    assert_eq!(client.hear(answered(stands, leads(8)), ms(4)), nothing(), "for how long?");
    let (_, requests) = client.hear(answered(handed, Ok(Answer::Done)), ms(4));
    assert_eq!(numbers(&requests), [(stands, stands)], "it stands again");
    assert_eq!(client.hear(answered(stands, leads(3)), ms(5)), nothing(), "an old one");
    let told = only(ClientEvent::Answered(stands, waits(0)));
    assert_eq!(client.hear(answered(stands, waits(0)), ms(5)), told);
    let told = only(ClientEvent::Answered(stands, leads(8)));
    assert_eq!(client.hear(answered(stands, leads(8)), ms(6)), told);
    assert_eq!(numbers(&client.reconnected(ms(8))), []);
    // Once it has resigned, it is nothing any more.
    let (resigned, _) = client.ask(Ask::Resign { role: "cron".to_owned() }, ms(9));
    client.hear(answered(resigned, Ok(Answer::Done)), ms(10));
    assert_eq!(client.hear(answered(stands, leads(9)), ms(11)), nothing());
}

#[test]
fn k7_what_is_said_about_a_grant_is_told_behind_it() {
    let mut client = open_client();
    let (number, _) = client.ask(lock("a"), ms(1));
    let taken = |number| Reply::ForceReleased {
        session: MINE,
        lock: "a".to_owned(),
        number,
        by: "an operator".to_owned(),
    };
    assert_eq!(client.hear(taken(number), ms(2)), nothing());
    assert_eq!(client.hear(taken(99), ms(2)), nothing());
    let (heard, _) = client.hear(answered(number, Ok(Answer::Granted(Token(1)))), ms(3));
    assert!(
        matches!(heard[..], [ClientEvent::Answered(..), ClientEvent::ForceReleased { .. }]),
        "{heard:?}"
    );
    let (release, _) = client.ask(Ask::Release(number), ms(4));
    assert_eq!(client.hear(taken(number), ms(5)).0.len(), 1);
    client.hear(answered(release, Err(Refusal::NotAsked(number))), ms(6));
    assert_eq!(client.hear(taken(number), ms(7)), nothing());
    let room = || Reply::Preempt { session: MINE, role: "cron".to_owned() };
    assert_eq!(client.hear(room(), ms(8)), nothing());
    let (stands, _) = client.ask(campaign(), ms(8));
    assert_eq!(client.hear(room(), ms(9)), nothing());
    let (heard, _) = client.hear(answered(stands, Ok(Answer::Leads(Token(2)))), ms(9));
    assert!(
        matches!(heard[..], [ClientEvent::Answered(..), ClientEvent::Preempt { .. }]),
        "{heard:?}"
    );
    assert_eq!(client.hear(room(), ms(10)).0.len(), 1);
    let strange = Reply::Preempt { session: OTHER, role: "cron".to_owned() };
    assert_eq!(client.hear(strange, ms(10)), nothing());
}

#[test]
fn k8_all_without_an_answer_is_sent_again_when_a_coordinator_is_there() {
    let mut client = open_client();
    for name in ["a", "b", "c"] {
        client.ask(lock(name), ms(1));
    }
    client.hear(answered(1, waits(2)), ms(2));
    client.hear(answered(2, Ok(Answer::Granted(Token(1)))), ms(2));
    let before = client.clone();
    assert_eq!(client.hear(Reply::NoCoordinator, ms(3)), nothing());
    assert_eq!(client, before);
    let requests = client.reconnected(ms(4));
    assert!(is_keep_alive(&requests[0], ms(4)), "{requests:?}");
    assert_eq!(numbers(&requests), [(1, 3), (3, 3)]);
    let mut client = Client::new(setup());
    client.open(ms(0));
    let requests = client.reconnected(ms(4));
    assert!(matches!(requests[..], [Request::Open { sent: 4_000, .. }]), "{requests:?}");
}

#[test]
fn k9_a_session_that_another_ends_is_over_at_once_and_confirmed_when_all_has_stopped() {
    let mut client = open_client();
    client.ask(lock("a"), ms(100));
    let deadline = client.deadline().unwrap();
    let ending = || Reply::Ending { session: MINE, why: Ending::Closed };
    let told = vec![ClientEvent::Ending(SessionEnded::Ended(Some(Ending::Closed)))];
    assert_eq!(client.hear(ending(), ms(200)), (told, vec![]), "nothing is confirmed yet");
    assert_eq!((client.deadline(), client.session()), (None, None), "nothing can be relied on");
    assert_eq!(client.hear(ending(), ms(210)), (vec![], vec![]), "once is enough");
    assert_eq!(client.hear(kept_alive(ms(0)), ms(210)), (vec![], vec![]));
    assert_eq!(client.reconnected(ms(220)), []);
    assert_eq!((client.wake(ms(230)), client.next_wake()), ((vec![], vec![]), Some(deadline)));
    let mut late = client.clone();
    assert_eq!(client.close(ms(300)), [Request::Close { session: MINE, key: KEY }]);
    let ended = Reply::Ended { session: MINE, why: Some(Ending::Closed) };
    assert_eq!(client.hear(ended, ms(310)).0, [ClientEvent::SessionEnded(SessionEnded::Closed)]);
    // One that is never closed is over with its deadline.
    assert_eq!(late.wake(deadline).0, [ClientEvent::SessionEnded(SessionEnded::DeadlinePassed)]);
}
