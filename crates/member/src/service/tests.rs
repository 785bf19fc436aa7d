//! One test for each rule, and more where a rule has corners.
//!
//! Seen from P3 of 1 to 5, so three must agree.

mod d1;
mod limits;

use super::*;
use crate::member::Msg as Member;
use crate::tests::{Fixture, config, id, ms, said, sent};
use bellwether_algorithms::election::{any, bully};
use bellwether_coordination::{
    Answer, Ask, Ending, Limits, Mode, OnDeadlock, Refusal, Secret, SessionId, Subject, Token, Want,
};
use bellwether_core::Effect;
use bellwether_log::{self as log, Ack, Birth, Entry, Heartbeat, Incarnation, Index, Payload};
use std::sync::Arc;

type P3 = Fixture<Service>;
type Letter = Msg;

fn p3() -> P3 {
    let (limits, on_deadlock) = (Limits::default(), OnDeadlock::Abort);
    let config = Config { member: config(), limits, on_deadlock, wall_ms: 5_000 };
    let mut p3 = P3::blank(3, config);
    p3.start(None);
    p3
}

fn of_log(msg: log::Msg<Coordination>) -> Letter {
    Msg::Member(Member::Log(msg))
}

fn timer(timer: log::Timer) -> Timer {
    Timer::Member(member::Timer::Log(timer))
}

/// P3 following in term 1.
fn following(leader: u32) -> (P3, Vec<Effect<Service>>) {
    let mut p3 = p3();
    let effects = follow(&mut p3, leader, 1);
    (p3, effects)
}

/// P3 hears a leader for the first time. An operator appointed it, so P3 leaves it alone.
fn follow(p3: &mut P3, leader: u32, term: u64) -> Vec<Effect<Service>> {
    let last = Position::new(term, 1);
    let beat = Heartbeat {
        term: Term::new(term),
        generation: 0,
        sent: Time::ZERO,
        commit: Index::ZERO,
        last,
        appointed: true,
        welcome: None,
        incarnation: Incarnation::UNKNOWN,
        lease_us: p3.config.member.log.leases.lease_us(),
    };
    let payload = Payload::Begin { leader: id(leader), births: Vec::new() };
    let entries = Arc::new([Arc::new(Entry { position: last, payload })]);
    let append = log::Msg::Append { beat, prev: Position::ZERO, entries };
    p3.deliver(leader, of_log(append))
}

/// P3 leads in term 1 and does not serve yet: nobody else has its first entry.
fn elected() -> P3 {
    let mut p3 = p3();
    // Stronger ones are silent: P3 is elected in the end.
    p3.fire(Timer::Member(member::Timer::Patience));
    p3.fire(Timer::Member(member::Timer::Election(any::Timer::Bully(bully::Timer::Answer))));
    for sure in [false, true] {
        for voter in [1, 2] {
            let (term, birth) = (Term::new(1), Birth::new(voter.into()));
            let answer = log::Answer::Yes { after: Duration::ZERO };
            p3.deliver(voter, of_log(log::Msg::Vote { term, sure, answer, birth }));
        }
        if !sure {
            p3.fire(timer(log::Timer::Ask));
        }
    }
    p3
}

/// P3 serves in term 1, and P1 and P2 have all that it has proposed.
fn leading() -> P3 {
    let mut p3 = elected();
    acknowledge(&mut p3, 1);
    assert_eq!(p3.process.serving(p3.now), Some(Term::new(1)));
    acknowledge(&mut p3, BEGUN);
    p3
}

/// The entries of a term before clients ask for anything: those of the log and of the service.
const BEGUN: u64 = 2;

/// P3's disk has all, and the logs of P1 and P2 reach this index. What comes of it.
fn acknowledge(p3: &mut P3, matched: u64) -> Vec<Effect<Service>> {
    acknowledge_what_was_sent(p3, matched, p3.now)
}

fn acknowledge_what_was_sent(p3: &mut P3, matched: u64, sent: Time) -> Vec<Effect<Service>> {
    let mut effects = p3.fire(timer(log::Timer::Write));
    for follower in [1, 2] {
        let ack = Ack {
            term: Term::new(1),
            sent,
            clock: p3.now,
            matched: Index::new(matched),
            holds: true,
            start: 1,
            lost: false,
            birth: Birth::new(follower.into()),
            lease_us: p3.config.member.log.leases.lease_us(),
        };
        effects.extend(p3.deliver(follower, of_log(log::Msg::Ack(ack))));
    }
    effects
}

fn open(key: u128, sent: u64) -> Request {
    Request::Open { key: Secret(key), client: "test".to_owned(), ttl_ms: 1_000, sent }
}

fn asks(conn: Conn, request: Request) -> Input {
    Input::Requests(vec![(conn, request)])
}

/// What is said to P3's own clients.
fn replies(effects: Vec<Effect<Service>>) -> Vec<(Conn, Reply)> {
    let says = |output| match output {
        Output::Replies(replies) => replies,
        _ => Vec::new(),
    };
    said(effects).into_iter().flat_map(says).collect()
}

/// The first session of term 1.
const FIRST: SessionId = SessionId(1 << 32 | 1);
const KEY: Secret = Secret(70);

/// P3 leading, with a session of its client 7.
fn with_session() -> P3 {
    let mut p3 = leading();
    p3.input(asks(7, open(70, 5)));
    let opened = Reply::Opened { key: KEY, result: Ok(FIRST), sent: 5 };
    assert_eq!(replies(acknowledge(&mut p3, 3)), [(7, opened)]);
    p3
}

fn lock(number: u64) -> Request {
    let wants = vec![Want { name: "a".into(), mode: Mode::Exclusive }].into();
    let ask = Ask::Lock { wants, wait: true };
    Request::Ask { session: FIRST, key: KEY, number, forget_below: 0, ask }
}

/// Replies of the leader of term 1, which has committed nothing.
fn from_leader(replies: Vec<(Conn, Reply)>) -> Msg {
    Msg::Replies { term: Term::new(1), commit: Index::ZERO, replies }
}

/// Replies of a member that does not lead.
fn from_none(replies: Vec<(Conn, Reply)>) -> Msg {
    Msg::Replies { term: Term::ZERO, commit: Index::ZERO, replies }
}

#[test]
fn d2_a_coordinator_proposes_and_answers_when_a_majority_has_it() {
    let mut p3 = with_session();
    let effects = p3.input(asks(7, lock(1)));
    assert_eq!(batches(effects.clone()), [1], "to all that keep up");
    assert_eq!(replies(effects), [], "not before a majority has it");
    let answers = replies(acknowledge(&mut p3, 4));
    let [(7, Reply::Answered { session: FIRST, number: 1, result: Ok(Answer::Granted(_)) })] =
        answers[..]
    else {
        panic!("{answers:?}");
    };
    let (_, coordination) = p3.process.coordination().unwrap();
    assert_eq!(coordination.sessions()[&FIRST].since, 5_000 + 1_000_000, "as the calendar has it");
}

#[test]
fn d2_a_reply_goes_to_where_the_session_was_last_heard_of() {
    let mut p3 = with_session();
    p3.input(asks(7, lock(1)));
    // Asked again by way of P2, before it is answered: one answer, and there.
    assert_eq!(sent(p3.deliver(2, Msg::Requests(vec![(9, lock(1))]))), [], "it is on its way");
    let answers = sent(acknowledge(&mut p3, 4));
    let [(to, Msg::Replies { replies: says, .. })] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((*to, says[0].0, says.len()), (id(2), 9, 1));
}

const NONE: [usize; 0] = [];

/// How many commands there are in each batch that is sent to P1.
fn batches(effects: Vec<Effect<Service>>) -> Vec<usize> {
    let batch = |(to, msg): (NodeId, Letter)| match msg {
        Msg::Member(Member::Log(log::Msg::Append { entries, .. })) if to == id(1) => {
            Some(entries.len())
        }
        _ => None,
    };
    sent(effects).into_iter().filter_map(batch).collect()
}

#[test]
fn d2_what_comes_while_changes_are_on_their_way_goes_together() {
    let mut p3 = leading();
    let come = |keys: std::ops::Range<u128>, p3: &mut P3| {
        batches(p3.input(Input::Requests(keys.map(|key| (7, open(key, 5))).collect())))
    };
    assert_eq!(come(0..1, &mut p3), [1]);
    assert_eq!(come(1..4, &mut p3), [3], "a few may always be on their way");
    assert_eq!(come(4..6, &mut p3), NONE, "and no more");
    assert_eq!(come(6..8, &mut p3), [4], "until as many have come as are on their way");
    assert_eq!(come(8..11, &mut p3), NONE);
    // The first four have arrived, and the three that wait are not as many as are on their way.
    assert_eq!(batches(acknowledge(&mut p3, 6)), NONE);
    assert_eq!(batches(acknowledge(&mut p3, 10)), [3], "all the others have arrived");
    assert_eq!(replies(acknowledge(&mut p3, 13)).len(), 3, "no client was forgotten");
}

#[test]
fn d2_out_of_office_nothing_goes_and_nothing_is_forgotten() {
    let mut p3 = leading();
    for keys in [0..4, 4..6] {
        p3.input(Input::Requests(keys.map(|key: u128| (7, open(key, 5))).collect()));
    }
    let asked = p3.now;
    p3.pass(p3.config.member.log.leases.lease);
    let effects = acknowledge_what_was_sent(&mut p3, 6, asked);
    assert_eq!(p3.process.serving(p3.now), None);
    assert_eq!(batches(effects.clone()), NONE);
    assert_eq!(replies(effects), []);
    let effects = acknowledge(&mut p3, 6);
    assert_eq!(batches(effects.clone()), [2], "it goes on");
    assert_eq!(replies(effects).len(), 4);
}

/// P3 invites P2 to take over, and P2 could.
fn hand_over(p3: &mut P3) -> Vec<Effect<Service>> {
    p3.input(Input::Member(member::Input::Transfer(id(2))));
    p3.deliver(2, of_log(log::Msg::Claim { term: Term::new(2) }))
}

#[test]
fn d2_commands_wait_while_the_leader_hands_over() {
    let mut p3 = with_session();
    // One entry is not with P2 yet: until it is, P3 goes on serving.
    p3.input(asks(7, lock(1)));
    hand_over(&mut p3);
    assert_eq!(p3.process.serving(p3.now), Some(Term::new(1)));
    let effects = p3.input(asks(8, open(71, 5)));
    assert_eq!((batches(effects.clone()), replies(effects)), (vec![], vec![]), "it waits");
    // P2 does not take over.
    p3.pass(ms(200));
    let effects = p3.fire(timer(log::Timer::HandOver));
    let noted = said(effects.clone());
    assert!(noted.contains(&Output::Event(Event::HandOverFailed(id(2)))), "{noted:?}");
    assert_eq!(batches(effects), [1], "and goes when the leader goes on");
    let effects = acknowledge(&mut p3, 5);
    assert_eq!(replies(effects).len(), 2, "both are answered");
}

#[test]
fn d2_what_was_committed_before_a_hand_over_that_fails_is_told_after_it() {
    let mut p3 = with_session();
    p3.input(asks(7, lock(1)));
    hand_over(&mut p3);
    let effects = acknowledge(&mut p3, 4);
    assert_eq!(p3.process.serving(p3.now), None, "P2 has everything, and the permit");
    let told = replies(effects);
    p3.pass(ms(200));
    p3.fire(timer(log::Timer::HandOver));
    let later = replies(acknowledge(&mut p3, 4));
    assert_eq!(p3.process.serving(p3.now), Some(Term::new(1)));
    assert_eq!(told.len() + later.len(), 1, "once: {told:?}, {later:?}");
}

#[test]
fn d2_an_unknown_session_is_told_so_at_once() {
    let mut p3 = leading();
    let ended = Reply::Ended { session: FIRST, why: None };
    assert_eq!(replies(p3.input(asks(7, lock(1)))), [(7, ended)]);
}

#[test]
fn d2_that_a_session_has_ended_is_told_when_a_majority_has_it() {
    let mut p3 = with_session();
    assert_eq!(replies(p3.input(asks(7, Request::Close { session: FIRST, key: KEY }))), []);
    // Something of it comes late, or it is closed once more: another coordinator may know nothing of
    // its end.
    assert_eq!(replies(p3.input(asks(8, lock(1)))), []);
    assert_eq!(replies(p3.input(asks(9, Request::Close { session: FIRST, key: KEY }))), []);
    let ended = Reply::Ended { session: FIRST, why: Some(Ending::Closed) };
    assert_eq!(replies(acknowledge(&mut p3, 4)), [(9, ended)]);
    let ended = Reply::Ended { session: FIRST, why: None };
    assert_eq!(replies(p3.input(asks(7, lock(1)))), [(7, ended)]);
}

#[test]
fn d3_a_session_that_is_not_heard_of_is_ended() {
    let mut p3 = with_session();
    p3.pass(ms(999));
    acknowledge(&mut p3, 3);
    assert_eq!(sent(p3.fire(Timer::Sessions)), [], "it still has a millisecond");
    p3.pass(ms(1));
    assert_eq!(batches(p3.fire(Timer::Sessions)), [1], "its end is proposed");
    let ended = Reply::Ended { session: FIRST, why: Some(Ending::Expired) };
    assert_eq!(replies(acknowledge(&mut p3, 4)), [(7, ended)]);
}

#[test]
fn d3_one_that_is_heard_of_goes_on() {
    let mut p3 = with_session();
    p3.pass(ms(400));
    acknowledge(&mut p3, 3);
    p3.input(asks(7, Request::KeepAlive { session: FIRST, key: KEY, sent: 6 }));
    p3.pass(ms(600));
    acknowledge(&mut p3, 3);
    let effects = p3.fire(Timer::Sessions);
    assert_eq!(sent(effects.clone()), []);
    let again = |effect: &Effect<_>| matches!(effect, Effect::SetTimer(Timer::Sessions, after) if after.start == ms(400));
    assert!(effects.iter().any(again), "{effects:?}");
}

#[test]
fn d4_a_keep_alive_is_confirmed_only_while_serving() {
    let mut p3 = with_session();
    let alive = Reply::KeptAlive { session: FIRST, sent: 6 };
    let ask = || asks(7, Request::KeepAlive { session: FIRST, key: KEY, sent: 6 });
    assert_eq!(replies(p3.input(ask())), [(7, alive)]);
    p3.pass(p3.config.member.log.leases.lease);
    assert_eq!(p3.process.serving(p3.now), None);
    assert_eq!(replies(p3.input(ask())), [(7, Reply::NoCoordinator)]);
}

#[test]
fn d4_a_session_whose_end_was_proposed_is_not_confirmed_any_more() {
    for ends_by in
        [Request::Close { session: FIRST, key: KEY }, Request::Died { session: FIRST, key: KEY }]
    {
        let mut p3 = with_session();
        p3.input(asks(7, ends_by));
        let keep_alive = asks(7, Request::KeepAlive { session: FIRST, key: KEY, sent: 6 });
        assert_eq!(replies(p3.input(keep_alive)), []);
        let opened_again = replies(p3.input(asks(7, open(70, 7))));
        assert_eq!(opened_again, []);
    }
    let mut p3 = with_session();
    p3.pass(ms(450));
    acknowledge(&mut p3, 3);
    p3.pass(ms(450));
    acknowledge(&mut p3, 3);
    p3.pass(ms(100));
    assert_eq!(batches(p3.fire(Timer::Sessions)), [1], "it was silent for its TTL");
    let keep_alive = asks(7, Request::KeepAlive { session: FIRST, key: KEY, sent: 6 });
    assert_eq!(replies(p3.input(keep_alive)), [], "too late");
    let ended = Reply::Ended { session: FIRST, why: Some(Ending::Expired) };
    assert_eq!(replies(acknowledge(&mut p3, 4)), [(7, ended)]);
}

#[test]
fn d4_an_answer_proves_no_more_than_its_question() {
    let mut p3 = leading();
    p3.input(asks(7, open(70, 5)));
    p3.input(asks(7, open(70, 6)));
    let opened = |sent| (7, Reply::Opened { key: KEY, result: Ok(FIRST), sent });
    assert_eq!(replies(acknowledge(&mut p3, 3)), [opened(5)]);
    assert_eq!(replies(acknowledge(&mut p3, 4)), [opened(6)]);
}

#[test]
fn d5_a_new_coordinator_is_announced() {
    let (_, effects) = following(5);
    let news = Output::Coordinator(Some(id(5)), Term::new(1));
    assert!(said(effects).contains(&news));
}

/// The token by which the session holds the lock.
fn token(p3: &P3) -> Token {
    let (_, coordination) = p3.process.coordination().unwrap();
    let tokens = (0..64).map(|low| Token(1 << 32 | low));
    let lock = Subject::Lock("a".to_owned());
    let mut held = tokens.filter(|token| coordination.bearer(&lock, *token).is_ok());
    held.next().unwrap()
}

fn check(number: u64, token: Token) -> Request {
    Request::Check { number, of: Subject::Lock("a".to_owned()), token }
}

/// P3 serves; its client 7 holds the lock.
fn with_lock() -> (P3, Token) {
    let mut p3 = with_session();
    p3.input(asks(7, lock(1)));
    acknowledge(&mut p3, 4);
    let token = token(&p3);
    (p3, token)
}

#[test]
fn g_a_leader_that_is_cut_off_answers_no_check() {
    let (mut p3, token) = with_lock();
    let held = Reply::Checked { number: 1, result: Ok(FIRST) };
    assert_eq!(replies(p3.input(asks(9, check(1, token)))), [(9, held)]);
    p3.pass(p3.config.member.log.leases.lease);
    assert_eq!(p3.process.serving(p3.now), None);
    assert_eq!(replies(p3.input(asks(9, check(2, token)))), [(9, Reply::NoCoordinator)]);
    p3.fire(timer(log::Timer::Lapse));
    assert_eq!(replies(p3.input(asks(9, check(3, token)))), [(9, Reply::NoCoordinator)]);

    let (mut follower, _) = following(5);
    let request = vec![(9, check(1, token))];
    let forwarded = sent(follower.input(Input::Requests(request.clone())));
    assert_eq!(forwarded, [(id(5), Msg::Requests(request))], "a follower asks its leader");
}

#[test]
fn g_an_uncommitted_force_is_not_seen() {
    let (mut p3, token) = with_lock();
    let by = "an operator".to_owned();
    let force = Request::Force { lock: "a".to_owned(), session: FIRST, by, now: true };
    assert_eq!(replies(p3.input(asks(8, force))), []);
    let held = Reply::Checked { number: 1, result: Ok(FIRST) };
    assert_eq!(replies(p3.input(asks(9, check(1, token)))), [(9, held)], "it may come to nothing");
    let told = replies(acknowledge(&mut p3, 5));
    assert_eq!(told.len(), 2, "the operator and the holder: {told:?}");
    let stale = Refusal::StaleToken(Subject::Lock("a".to_owned()), token);
    let stale = Reply::Checked { number: 2, result: Err(stale) };
    assert_eq!(replies(p3.input(asks(9, check(2, token)))), [(9, stale)]);
}

#[test]
fn g_an_uncommitted_grant_is_not_seen() {
    let mut p3 = with_session();
    p3.input(asks(7, lock(1)));
    let (position, coordination) = p3.process.coordination().unwrap();
    assert_eq!(position, Position::new(1, 3));
    assert!(coordination.locks().is_empty());
    acknowledge(&mut p3, 4);
    assert_eq!(p3.process.coordination().unwrap().1.locks().len(), 1);
}

#[test]
fn d5_a_member_that_knows_no_coordinator_any_more_says_so() {
    let mut p3 = with_session();
    p3.pass(p3.config.member.log.leases.lease);
    let effects = said(p3.fire(timer(log::Timer::Lapse)));
    assert!(effects.contains(&Output::Coordinator(None, Term::new(1))), "{effects:?}");
    let (mut follower, _) = following(5);
    let mut effects = Vec::new();
    // After a pause the member first looks whether it was itself that stood still.
    for _ in 0..500 {
        follower.pass(ms(10));
        effects.extend(said(follower.fire(Timer::Member(member::Timer::Silence))));
    }
    assert!(effects.contains(&Output::Coordinator(None, Term::new(1))), "{effects:?}");
}

/// Client 8 has a session, too, and waits for the lock that client 7 holds. Its session's name.
fn with_waiter() -> (P3, SessionId) {
    let (mut p3, _) = with_lock();
    p3.input(asks(8, open(80, 5)));
    acknowledge(&mut p3, 5);
    let second = SessionId(FIRST.0 + 1);
    let Request::Ask { number, forget_below, ask, .. } = lock(1) else { unreachable!() };
    p3.input(asks(8, Request::Ask { session: second, key: SECOND, number, forget_below, ask }));
    let told = replies(acknowledge(&mut p3, 6));
    assert!(matches!(told[..], [(8, Reply::Answered { result: Ok(Answer::Waits { .. }), .. })]));
    (p3, second)
}

fn grants(told: &[(Conn, Reply)]) -> Vec<Conn> {
    let granted = |(conn, reply): &(Conn, Reply)| {
        matches!(reply, Reply::Answered { result: Ok(Answer::Granted(_)), .. }).then_some(*conn)
    };
    told.iter().filter_map(granted).collect()
}

/// The key of the session that waits.
const SECOND: Secret = Secret(80);

fn end(now: bool) -> Request {
    Request::End { session: FIRST, by: "anna".to_owned(), now }
}

/// A request over HTTP.
const HTTP: Conn = PASSING | 99;
const ENDING: Reply = Reply::Ending { session: FIRST, why: Ending::Closed };

#[test]
fn d6_a_session_that_another_ends_is_ended_when_its_client_confirms() {
    let (mut p3, _) = with_waiter();
    let effects = p3.input(asks(HTTP, Request::Close { session: FIRST, key: KEY }));
    assert_eq!(batches(effects.clone()), NONE, "nothing is proposed");
    assert_eq!(replies(effects), [(7, ENDING)], "the holder hears first");
    let alive = || asks(7, Request::KeepAlive { session: FIRST, key: KEY, sent: 6 });
    assert_eq!(replies(p3.input(alive())), [(7, ENDING)], "its life is not confirmed any more");
    assert_eq!(replies(p3.input(asks(7, open(70, 7)))), [(7, ENDING)]);
    assert_eq!(replies(p3.input(asks(7, Request::Close { session: FIRST, key: KEY }))), []);
    let told = replies(acknowledge(&mut p3, 7));
    assert_eq!(grants(&told), [8]);
    let ended = Reply::Ended { session: FIRST, why: Some(Ending::Closed) };
    assert!(told.contains(&(7, ended.clone())) && told.contains(&(HTTP, ended)), "{told:?}");
}

#[test]
fn d6_a_client_that_does_not_confirm_is_waited_for_until_its_deadline() {
    let (mut p3, second) = with_waiter();
    p3.input(asks(HTTP, Request::Close { session: FIRST, key: KEY }));
    // It goes on to ask, and that does not help.
    for _ in 0..4 {
        p3.pass(ms(250));
        acknowledge(&mut p3, 6);
        p3.input(asks(7, Request::KeepAlive { session: FIRST, key: KEY, sent: 6 }));
        p3.input(asks(8, Request::KeepAlive { session: second, key: SECOND, sent: 6 }));
    }
    p3.fire(Timer::Sessions);
    assert_eq!(grants(&replies(acknowledge(&mut p3, 7))), [8]);
}

#[test]
fn d6_what_is_to_end_at_once_ends_at_once() {
    let (mut p3, _) = with_waiter();
    assert_eq!(replies(p3.input(asks(HTTP, end(true)))), []);
    let told = replies(acknowledge(&mut p3, 7));
    let ended = Reply::Ended { session: FIRST, why: Some(Ending::Closed) };
    assert_eq!(grants(&told), [8]);
    assert!(told.contains(&(7, ended.clone())) && told.contains(&(HTTP, ended)), "{told:?}");
}

/// Over HTTP no client listens later: a session that is only used there is ended by its own client.
#[test]
fn d6_a_session_without_a_connection_of_its_own_is_ended_at_once() {
    let mut p3 = leading();
    p3.input(asks(HTTP, open(70, 5)));
    acknowledge(&mut p3, 3);
    p3.input(asks(PASSING | 98, Request::Close { session: FIRST, key: KEY }));
    let ended = Reply::Ended { session: FIRST, why: Some(Ending::Closed) };
    assert_eq!(replies(acknowledge(&mut p3, 4)), [(PASSING | 98, ended)]);
}

fn force(now: bool) -> Request {
    Request::Force { lock: "a".to_owned(), session: FIRST, by: "anna".to_owned(), now }
}

fn release(number: u64) -> Request {
    Request::Ask { session: FIRST, key: KEY, number, forget_below: 0, ask: Ask::Release(1) }
}

#[test]
fn d6_a_force_released_lock_goes_to_the_next_when_its_holder_released_it() {
    let (mut p3, _) = with_waiter();
    let (lock, by) = ("a".to_owned(), "anna".to_owned());
    let taken = Reply::ForceReleased { session: FIRST, lock: lock.clone(), number: 1, by };
    let effects = p3.input(asks(HTTP, force(false)));
    assert_eq!(
        (batches(effects.clone()), replies(effects)),
        (NONE.into(), vec![(7, taken.clone())])
    );
    let alive = || asks(7, Request::KeepAlive { session: FIRST, key: KEY, sent: 6 });
    assert_eq!(replies(p3.input(alive())), [(7, taken)], "its life is not confirmed any more");
    p3.input(asks(7, release(2)));
    let told = replies(acknowledge(&mut p3, 7));
    let forced = Reply::Forced { lock, session: FIRST, result: Ok(()) };
    assert_eq!(grants(&told), [8]);
    assert!(told.contains(&(HTTP, forced)), "{told:?}");
    let lives = Reply::KeptAlive { session: FIRST, sent: 6 };
    assert_eq!(replies(p3.input(alive())), [(7, lives)], "the session goes on");
}

#[test]
fn d6_a_holder_that_does_not_give_back_loses_its_session() {
    let (mut p3, second) = with_waiter();
    p3.input(asks(HTTP, force(false)));
    for _ in 0..4 {
        p3.pass(ms(250));
        acknowledge(&mut p3, 6);
        p3.input(asks(7, Request::KeepAlive { session: FIRST, key: KEY, sent: 6 }));
        p3.input(asks(8, Request::KeepAlive { session: second, key: SECOND, sent: 6 }));
    }
    p3.fire(Timer::Sessions);
    let told = replies(acknowledge(&mut p3, 7));
    assert_eq!(grants(&told), [8]);
    let forced = Reply::Forced { lock: "a".to_owned(), session: FIRST, result: Ok(()) };
    assert!(told.contains(&(HTTP, forced)), "{told:?}");
}

mod d7;
