//! One test for each rule, and more where a rule has corners.
//!
//! Seen from P3 of 1 to 5, so three must agree.

use super::*;
use crate::mandate::{self, Msg as Mandate, Version};
use crate::member::Msg as Member;
use crate::tests::{Fixture, config, id, ms, said, sent};
use bellwether_algorithms::election::{any, bully};
use bellwether_core::Effect;
use bellwether_duties::{Answer, Ask, Ending, Limits, Mode, OnDeadlock, SessionId, Want};
use std::sync::Arc;

type P3 = Fixture<Steward>;
type Letter = Msg;

fn p3() -> P3 {
    let (limits, on_deadlock) = (Limits::default(), OnDeadlock::Abort);
    let config = Config { member: config(), limits, on_deadlock, wall_ms: 5_000 };
    let mut p3 = P3::blank(3, config);
    p3.start(None);
    p3
}

fn mandate(msg: mandate::Msg<Duties>) -> Letter {
    Msg::Member(Member::Mandate(msg))
}

fn following(leader: u32) -> (P3, Vec<Effect<Steward>>) {
    let mut p3 = p3();
    let (epoch, sent, copy) = (Epoch::new(1), Time::ZERO, Arc::default());
    let version = Version { epoch, sequence: 0 };
    let spread = Mandate::Spread { epoch, sent, version, copy, appointed: true, start: None };
    let effects = p3.deliver(leader, mandate(spread));
    (p3, effects)
}

/// P3 leading in epoch 1 with all that it has proposed acknowledged by P1 and P2.
fn leading() -> P3 {
    let mut p3 = p3();
    // A stronger one is silent: P3 is elected in the end.
    p3.fire(Timer::Member(crate::member::Timer::Patience));
    p3.fire(Timer::Member(crate::member::Timer::Election(any::Timer::Bully(bully::Timer::Answer))));
    let promise =
        Mandate::Promise { epoch: Epoch::new(1), version: Version::default(), copy: None };
    for voter in [1, 2] {
        p3.deliver(voter, mandate(promise.clone()));
    }
    acknowledge(&mut p3, 0);
    assert_eq!(p3.process.holds(p3.now), Some(Epoch::new(1)));
    acknowledge(&mut p3, 1);
    p3
}

/// P1 and P2 have so many changes. What is said then.
fn acknowledge(p3: &mut P3, held: u64) -> Vec<Effect<Steward>> {
    let (epoch, sent, clock) = (Epoch::new(1), p3.now, p3.now);
    let mut effects = Vec::new();
    for follower in [1, 2] {
        effects.extend(p3.deliver(follower, mandate(Mandate::Ack { epoch, sent, clock, held })));
    }
    effects
}

fn open(key: u128, sent: u64) -> Request {
    Request::Open { key, client: "test".to_owned(), ttl_ms: 1_000, sent }
}

fn wants(conn: Conn, request: Request) -> Input {
    Input::Wants(vec![(conn, request)])
}

/// What is said to P3's own clients.
fn replies(effects: Vec<Effect<Steward>>) -> Vec<(Conn, Reply)> {
    let says = |output| match output {
        Output::Says(replies) => replies,
        _ => Vec::new(),
    };
    said(effects).into_iter().flat_map(says).collect()
}

/// The first session of epoch 1.
const FIRST: SessionId = SessionId(1 << 32 | 1);

/// P3 leading, with a session of its client 7.
fn with_session() -> P3 {
    let mut p3 = leading();
    p3.input(wants(7, open(70, 5)));
    let opened = Reply::Opened { key: 70, result: Ok(FIRST), sent: 5 };
    assert_eq!(replies(acknowledge(&mut p3, 2)), [(7, opened)]);
    p3
}

fn lock(number: u64) -> Request {
    let wants = vec![Want { name: "a".into(), mode: Mode::Exclusive }];
    let ask = Ask::Lock { wants, wait: true };
    Request::Ask { session: FIRST, number, forget_below: 0, ask }
}

#[test]
fn d1_a_follower_passes_on_both_ways() {
    let (mut p3, _) = following(5);
    let request = vec![(7, open(70, 5))];
    assert_eq!(sent(p3.input(Input::Wants(request.clone()))), [(id(5), Msg::Wants(request))]);
    let says = vec![(7, Reply::NoCoordinator)];
    assert_eq!(replies(p3.deliver(5, Msg::Says(says.clone()))), says);
}

#[test]
fn d1_what_was_passed_on_is_not_passed_on_again() {
    let (mut p3, _) = following(5);
    let request = vec![(7, open(70, 5)), (7, open(71, 5)), (8, open(72, 5))];
    let nobody = vec![(7, Reply::NoCoordinator), (8, Reply::NoCoordinator)];
    assert_eq!(sent(p3.deliver(4, Msg::Wants(request))), [(id(4), Msg::Says(nobody))]);
}

#[test]
fn d1_without_a_coordinator_it_says_so() {
    let effects = p3().input(wants(7, open(70, 5)));
    assert_eq!(replies(effects), [(7, Reply::NoCoordinator)]);
}

#[test]
fn d2_a_coordinator_proposes_and_answers_when_a_majority_has_it() {
    let mut p3 = with_session();
    let effects = p3.input(wants(7, lock(1)));
    assert_eq!(sent(effects.clone()).len(), 4, "to all others");
    assert_eq!(replies(effects), [], "not before a majority has it");
    let answers = replies(acknowledge(&mut p3, 3));
    let [(7, Reply::Answered { session: FIRST, number: 1, result: Ok(Answer::Granted(_)) })] =
        answers[..]
    else {
        panic!("{answers:?}");
    };
    let (_, duties) = p3.process.duties().unwrap();
    assert_eq!(duties.sessions()[&FIRST].since, 5_000 + 1_000_000, "as the calendar has it");
}

#[test]
fn d2_a_reply_goes_to_where_the_session_was_last_heard_of() {
    let mut p3 = with_session();
    p3.input(wants(7, lock(1)));
    // Asked again by way of P2, before it is answered: one answer, and there.
    assert_eq!(sent(p3.deliver(2, Msg::Wants(vec![(9, lock(1))]))), [], "it is on its way");
    let answers = sent(acknowledge(&mut p3, 3));
    let [(to, Msg::Says(says))] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((*to, says[0].0, says.len()), (id(2), 9, 1));
}

const NONE: [usize; 0] = [];

/// How many commands there are in each batch that is sent to P1.
fn batches(effects: Vec<Effect<Steward>>) -> Vec<usize> {
    let batch = |(to, msg): (NodeId, Letter)| match msg {
        Msg::Member(Member::Mandate(Mandate::Append { commands, .. })) if to == id(1) => {
            Some(commands.len())
        }
        _ => None,
    };
    sent(effects).into_iter().filter_map(batch).collect()
}

#[test]
fn d2_what_comes_while_changes_are_on_their_way_goes_together() {
    let mut p3 = leading();
    let come = |keys: std::ops::Range<u128>, p3: &mut P3| {
        batches(p3.input(Input::Wants(keys.map(|key| (7, open(key, 5))).collect())))
    };
    assert_eq!(come(0..1, &mut p3), [1]);
    assert_eq!(come(1..4, &mut p3), [3], "a few may always be on their way");
    assert_eq!(come(4..6, &mut p3), NONE, "and no more");
    assert_eq!(come(6..8, &mut p3), [4], "until as many have come as are on their way");
    assert_eq!(come(8..11, &mut p3), NONE);
    // The first four have arrived, and the three that wait are not as many as are on their way.
    assert_eq!(batches(acknowledge(&mut p3, 5)), NONE);
    assert_eq!(batches(acknowledge(&mut p3, 9)), [3], "all the others have arrived");
    assert_eq!(replies(acknowledge(&mut p3, 12)).len(), 3, "nobody was forgotten");
}

#[test]
fn d2_without_a_mandate_nothing_goes_and_nothing_is_forgotten() {
    let mut p3 = leading();
    for keys in [0..4, 4..6] {
        p3.input(Input::Wants(keys.map(|key: u128| (7, open(key, 5))).collect()));
    }
    let asked = p3.now;
    p3.pass(p3.config.member.lease);
    let (epoch, clock, held) = (Epoch::new(1), p3.now, 5);
    let late = |sent| mandate(Mandate::Ack { epoch, sent, clock, held });
    let effects: Vec<_> = [1, 2].into_iter().flat_map(|id| p3.deliver(id, late(asked))).collect();
    assert_eq!(p3.process.holds(p3.now), None);
    assert_eq!(batches(effects), NONE);
    assert_eq!(batches(acknowledge(&mut p3, 5)), [2], "it goes on");
}

#[test]
fn d2_an_unknown_session_is_told_so_at_once() {
    let mut p3 = leading();
    let ended = Reply::Ended { session: FIRST, why: None };
    assert_eq!(replies(p3.input(wants(7, lock(1)))), [(7, ended)]);
}

#[test]
fn d2_that_a_session_has_ended_is_told_when_a_majority_has_it() {
    let mut p3 = with_session();
    assert_eq!(replies(p3.input(wants(7, Request::Close { session: FIRST }))), []);
    // Something of it comes late, or it is closed once more: another coordinator may know nothing of
    // its end.
    assert_eq!(replies(p3.input(wants(8, lock(1)))), []);
    assert_eq!(replies(p3.input(wants(9, Request::Close { session: FIRST }))), []);
    let ended = Reply::Ended { session: FIRST, why: Some(Ending::Closed) };
    assert_eq!(replies(acknowledge(&mut p3, 3)), [(9, ended)]);
    let ended = Reply::Ended { session: FIRST, why: None };
    assert_eq!(replies(p3.input(wants(7, lock(1)))), [(7, ended)]);
}

#[test]
fn d3_a_session_that_is_not_heard_of_is_ended() {
    let mut p3 = with_session();
    p3.pass(ms(999));
    acknowledge(&mut p3, 2);
    assert_eq!(sent(p3.fire(Timer::Sessions)), [], "it still has a millisecond");
    p3.pass(ms(1));
    assert_eq!(sent(p3.fire(Timer::Sessions)).len(), 4, "its end is proposed");
    let ended = Reply::Ended { session: FIRST, why: Some(Ending::Expired) };
    assert_eq!(replies(acknowledge(&mut p3, 3)), [(7, ended)]);
}

#[test]
fn d3_one_that_is_heard_of_goes_on() {
    let mut p3 = with_session();
    p3.pass(ms(400));
    acknowledge(&mut p3, 2);
    p3.input(wants(7, Request::KeepAlive { session: FIRST, sent: 6 }));
    p3.pass(ms(600));
    acknowledge(&mut p3, 2);
    let effects = p3.fire(Timer::Sessions);
    assert_eq!(sent(effects.clone()), []);
    let again = |effect: &Effect<_>| matches!(effect, Effect::SetTimer(Timer::Sessions, after) if after.start == ms(400));
    assert!(effects.iter().any(again), "{effects:?}");
}

#[test]
fn d4_a_keep_alive_is_confirmed_only_under_the_mandate() {
    let mut p3 = with_session();
    let alive = Reply::KeptAlive { session: FIRST, sent: 6 };
    let ask = || wants(7, Request::KeepAlive { session: FIRST, sent: 6 });
    assert_eq!(replies(p3.input(ask())), [(7, alive)]);
    p3.pass(p3.config.member.lease);
    assert_eq!(p3.process.holds(p3.now), None);
    assert_eq!(replies(p3.input(ask())), [(7, Reply::NoCoordinator)]);
}

#[test]
fn d4_an_answer_proves_no_more_than_its_question() {
    let mut p3 = leading();
    p3.input(wants(7, open(70, 5)));
    p3.input(wants(7, open(70, 6)));
    let opened = |sent| (7, Reply::Opened { key: 70, result: Ok(FIRST), sent });
    assert_eq!(replies(acknowledge(&mut p3, 2)), [opened(5)]);
    assert_eq!(replies(acknowledge(&mut p3, 3)), [opened(6)]);
}

#[test]
fn d5_who_coordinates_anew_is_announced() {
    let (_, effects) = following(5);
    let news = Output::Coordinator(Some(id(5)), Epoch::new(1));
    assert!(said(effects).contains(&news));
}
