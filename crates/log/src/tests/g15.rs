//! Proof of death.

use super::*;
use crate::Ended;

const FORMER: Incarnation = Incarnation::new(7);
const LATER: Incarnation = Incarnation::new(8);

/// P1, bound to P2 in term 1.
fn bound(incarnation: Incarnation) -> One {
    let mut one = One::new(1);
    one.append(2, Heartbeat { incarnation, ..beat(1, at(1, 1), 1) }, Position::ZERO, &[1]);
    one.pass(ms(100));
    assert!(matches!(one.asked(3, 2, at(1, 1), false), Answer::Wait { .. }));
    one
}

fn ended(incarnation: Incarnation) -> Input {
    Input::Ended(id(2), incarnation)
}

#[test]
fn g15_proof_frees_from_the_lease_of_that_incarnation_at_once() {
    let mut one = bound(FORMER);
    assert_eq!(said(&one.input(ended(FORMER))), [Output::LeaderEnded(id(2))]);
    assert_eq!(one.asked(3, 2, at(1, 1), true), YES);
    assert_eq!(said(&one.input(ended(FORMER))), [], "repeated");
}

#[test]
fn g15_late_proof_of_a_former_incarnation_changes_nothing() {
    let mut one = bound(LATER);
    assert_eq!(one.input(ended(FORMER)), []);
    assert!(matches!(one.asked(3, 2, at(1, 1), true), Answer::Wait { .. }));
    let nobody = Incarnation::UNKNOWN;
    let mut old = bound(nobody);
    assert_eq!(old.input(ended(nobody)), [], "a leader that does not say which it is");
    assert!(matches!(old.asked(3, 2, at(1, 1), true), Answer::Wait { .. }));
}

#[test]
fn g15_a_late_heartbeat_of_an_ended_incarnation_binds_nobody_and_one_of_a_later_does() {
    let mut one = bound(FORMER);
    one.input(ended(FORMER));
    let late = Heartbeat { incarnation: FORMER, ..beat(1, at(1, 1), 1) };
    assert_eq!(one.beat(2, late), [], "no lease is granted");
    assert_eq!(one.asked(3, 2, at(1, 1), false), YES);
    one.beat(2, Heartbeat { incarnation: LATER, ..beat(3, at(1, 1), 1) });
    assert!(matches!(one.asked(3, 4, at(1, 1), true), Answer::Wait { .. }));
}

#[test]
fn g15_proof_may_come_before_the_first_heartbeat() {
    let mut one = One::new(1);
    assert_eq!(one.input(ended(FORMER)), []);
    one.beat(2, Heartbeat { incarnation: FORMER, ..beat(1, at(1, 1), 1) });
    assert_eq!(one.asked(3, 2, at(1, 1), true), YES);
}

#[test]
fn g15_a_campaign_that_waits_for_the_lease_asks_again_and_says_why() {
    let mut one = bound(FORMER);
    one.campaign();
    let wait = Answer::Wait { leader: Some(id(2)), left: ms(450) };
    let answer = Msg::Vote { term: Term::new(2), sure: false, answer: wait, birth: Birth::new(1) };
    one.get(3, answer);
    assert_eq!(asks_sure(&one.log), None);
    let proof = Some(Ended { member: id(2), incarnation: FORMER });
    let shows = |(_, msg): (u32, Msg<Words>)| match msg {
        Msg::RequestVote { ended, .. } => ended,
        _ => None,
    };
    let asked: Vec<_> = sent(&one.input(ended(FORMER))).into_iter().map(shows).collect();
    assert_eq!(asked, [proof, proof]);
}

#[test]
fn g15_a_request_that_shows_proof_frees_the_voter() {
    let mut one = bound(FORMER);
    let ask = |incarnation| Msg::RequestVote {
        term: Term::new(2),
        last: at(1, 1),
        sure: false,
        permit: None,
        ended: Some(Ended { member: id(2), incarnation }),
    };
    assert!(matches!(answer(&one.get(3, ask(LATER))), Answer::Wait { .. }));
    assert_eq!(answer(&one.get(3, ask(FORMER))), YES);
}

#[test]
fn g15_no_two_starts_are_the_same() {
    let mut one = One::new(1);
    let first = one.log.incarnation();
    one.restart();
    assert_ne!(one.log.incarnation(), first);
    assert_ne!(first, Incarnation::UNKNOWN);
}
