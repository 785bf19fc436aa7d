//! Hand-over.

use super::*;
use crate::{Loss, Misfit, Permit};

/// P1 serves, with answers of P2 and P3; P3 has joined.
fn leader() -> One {
    let mut one = One::new(1);
    one.elect(2);
    for member in [2, 3, 2, 3] {
        one.ack(member);
        one.fire(Timer::Write);
    }
    assert!(one.log.serving(one.now).is_some());
    one
}

fn hand_over() -> Input {
    Input::HandOver { to: id(2), appointed: false }
}

/// The leader has yielded to P2.
fn yielded() -> One {
    let mut one = leader();
    one.input(hand_over());
    let effects = one.get(2, Msg::Claim { term: Term::new(2) });
    let msg = Msg::Yield { term: Term::new(1), generation: 0, to: Some(id(2)), appointed: false };
    assert_eq!(sent(&effects), [(2, msg)]);
    one
}

#[test]
fn g8_a_member_is_invited_and_claims_before_anything_changes() {
    let mut one = leader();
    let effects = one.input(hand_over());
    assert_eq!(sent(&effects), [(2, Msg::Invite { term: Term::new(1), appointed: false })]);
    assert!(one.log.serving(one.now).is_some());
    one.propose(1);
}

#[test]
fn g8_the_leader_takes_no_entries_until_the_successor_has_all() {
    let mut one = leader();
    one.propose(1);
    one.input(hand_over());
    one.get(2, Msg::Claim { term: Term::new(2) });
    one.call(|log, cx| assert!(!log.propose(vec![2], cx)));
    assert!(one.log.serving(one.now).is_some());
    one.fire(Timer::Write);
    assert!(one.log.serving(one.now).is_some());
    let effects = one.ack(2);
    assert!(said(&effects).contains(&Output::HandingOver(id(2))));
    assert_eq!(one.log.serving(one.now), None);
}

#[test]
fn g8_a_leader_that_has_yielded_says_nothing() {
    let mut one = yielded();
    assert_eq!(sent(&one.ack(3)), []);
    assert_eq!(one.log.serving(one.now), None);
    one.get(3, Msg::Fetch { place: Place::After(at(1, 1)), budget: 100, ahead: 0 });
    assert!(one.log.beat_for(id(3), one.now, &one.config).is_none());
}

#[test]
fn g8_a_claim_is_answered_if_the_member_says_so() {
    let mut one = leader();
    let effects = one.get(2, Msg::Claim { term: Term::new(2) });
    assert_eq!(said(&effects), [Output::Claimed(id(2))]);
    assert!(one.log.serving(one.now).is_some());
    assert!(said(&one.input(hand_over())).contains(&Output::HandingOver(id(2))));
}

#[test]
fn g8_a_hand_over_that_fails_lets_the_old_leader_go_on() {
    let mut one = yielded();
    let before = one.ack_of();
    one.pass(ms(200));
    let effects = one.fire(Timer::HandOver);
    assert!(said(&effects).contains(&Output::HandOverFailed(id(2))));
    assert_eq!(one.log.leader_state().unwrap().generation, 1);
    // Only leases of the next generation count.
    one.get(3, Msg::Ack(before));
    assert_eq!(one.log.serving(one.now), None);
    one.ack(3);
    assert_eq!(one.log.serving(one.now), Some(Term::new(1)));
    one.propose(1);
}

#[test]
fn g8_an_invitation_or_a_claim_that_leads_to_nothing_changes_nothing() {
    let mut one = leader();
    one.propose(1);
    one.input(hand_over());
    assert!(said(&one.fire(Timer::HandOver)).contains(&Output::HandOverFailed(id(2))));
    one.input(hand_over());
    one.get(2, Msg::Claim { term: Term::new(2) });
    one.fire(Timer::HandOver);
    assert_eq!(one.log.leader_state().unwrap().generation, 0);
    one.propose(2);
}

#[test]
fn g8_a_permit_frees_from_leases_of_its_generation_and_no_later_one() {
    let ask = |generation| Msg::RequestVote {
        term: Term::new(2),
        last: at(1, 1),
        sure: true,
        permit: Some(Permit { leader: id(2), term: Term::new(1), generation }),
        ended: None,
    };
    let mut one = One::new(1);
    one.beat(2, Heartbeat { generation: 1, ..beat(1, at(1, 1), 0) });
    assert!(matches!(answer(&one.get(3, ask(0))), Answer::Wait { .. }));
    // A late message of an earlier generation does not bring its leases back.
    one.beat(2, beat(1, at(1, 1), 0));
    assert!(matches!(answer(&one.get(3, ask(0))), Answer::Wait { .. }));
    assert_eq!(answer(&one.get(3, ask(1))), YES);
}

#[test]
fn g8_the_successor_asks_for_votes_with_the_permit() {
    let mut one = One::new(1);
    one.append(2, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
    let effects = one.get(2, Msg::Invite { term: Term::new(1), appointed: true });
    assert!(said(&effects).contains(&Output::Invited { by: id(2), appointed: true }));
    let wait = Answer::Wait { leader: Some(id(2)), left: ms(400) };
    let vote = Msg::Vote { term: Term::new(2), sure: false, answer: wait, birth: Birth::new(1) };
    let effects = one.get(3, vote);
    assert_eq!(sent(&effects), [(2, Msg::Claim { term: Term::new(2) })]);
    // It goes on to follow meanwhile.
    one.beat(2, beat(1, at(1, 1), 1));
    let msg = Msg::Yield { term: Term::new(1), generation: 0, to: Some(id(1)), appointed: true };
    let effects = one.get(2, msg);
    let permit = Some(Permit { leader: id(2), term: Term::new(1), generation: 0 });
    let ask =
        Msg::RequestVote { term: Term::new(2), last: at(1, 1), sure: true, permit, ended: None };
    assert!(sent(&effects).contains(&(3, ask)));
}

#[test]
fn g8_without_a_majority_no_leader_is_asked_to_hand_over() {
    let mut one = One::of(5, 1, config());
    one.append(2, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
    one.input(Input::Campaign { claim: true, appointed: false });
    let wait = Answer::Wait { leader: Some(id(2)), left: ms(400) };
    let vote = Msg::Vote { term: Term::new(2), sure: false, answer: wait, birth: Birth::new(1) };
    assert_eq!(sent(&one.get(3, vote.clone())), []);
    assert_eq!(sent(&one.get(4, vote)), [(2, Msg::Claim { term: Term::new(2) })]);
}

#[test]
fn g8_the_old_leader_follows_its_successor() {
    let mut one = yielded();
    let effects = one.beat(2, beat(2, at(2, 9), 0));
    assert!(
        said(&effects).contains(&Output::StoppedServing(Term::new(1), Loss::HandedOver(id(2))))
    );
}

#[test]
fn g8_only_a_member_that_can_lead_is_chosen() {
    let mut one = leader();
    let fits = |one: &One, member| one.log.fits(id(member), one.now, &one.config);
    assert_eq!(fits(&one, 2), Ok(()));
    one.input(Input::Drifts(id(2), true));
    assert_eq!(fits(&one, 2), Err(Misfit::Drifts));
    one.input(Input::Drifts(id(2), false));
    let lost = Ack { lost: true, start: 2, ..one.ack_of() };
    one.get(2, Msg::Ack(lost));
    assert_eq!(fits(&one, 2), Err(Misfit::Lost));
    let behind = Ack { start: 3, matched: Index::new(1), ..one.ack_of() };
    one.get(2, Msg::Ack(behind));
    assert_eq!(fits(&one, 2), Err(Misfit::Behind));
    one.pass(ms(500));
    assert_eq!(fits(&one, 3), Err(Misfit::Silent));
    assert!(said(&one.input(hand_over())).contains(&Output::HandOverFailed(id(2))));
    assert_eq!(One::new(1).log.fits(id(2), Time::ZERO, &config()), Err(Misfit::NotLeading));
}

#[test]
fn g8_a_leader_that_ends_frees_all() {
    let mut one = leader();
    let effects = one.input(Input::Resign { to: None });
    let msg = Msg::Yield { term: Term::new(1), generation: 0, to: None, appointed: false };
    assert_eq!(sent(&effects), [(2, msg.clone()), (3, msg.clone())]);
    assert_eq!(one.log.leads(), None);
    let mut two = One::new(2);
    two.beat(1, beat(1, at(1, 1), 0));
    two.get(1, msg.clone());
    assert_eq!(two.asked(3, 2, at(1, 1), true), YES);
    // But not from another leader.
    let mut two = One::new(2);
    two.beat(3, beat(1, at(1, 1), 0));
    two.get(1, msg);
    assert!(matches!(two.asked(1, 2, at(1, 1), true), Answer::Wait { .. }));
}

#[test]
fn g8_a_leader_that_ends_hands_over_first() {
    let mut one = leader();
    one.input(Input::Resign { to: Some(id(2)) });
    one.get(2, Msg::Claim { term: Term::new(2) });
    assert!(
        said(&one.fire(Timer::HandOver))
            .contains(&Output::StoppedServing(Term::new(1), Loss::GivenUp))
    );
}

#[test]
fn g8_a_leader_that_does_not_come_back_into_office_gives_up() {
    let mut one = yielded();
    one.fire(Timer::HandOver);
    for _ in 0..10 {
        one.pass(ms(100));
        let lagging = Ack { holds: false, ..one.ack_of() };
        one.get(3, Msg::Ack(lagging));
        one.fire(Timer::Heartbeat);
    }
    assert_eq!(one.log.leads(), None);
}

#[test]
fn g8_a_member_that_has_just_restarted_does_not_claim() {
    let claims = |restarts: bool| {
        let mut one = One::new(1);
        one.append(3, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
        if restarts {
            one.restart();
            one.beat(3, beat(1, at(1, 1), 1));
        }
        one.input(Input::Campaign { claim: true, appointed: false });
        let term = asks(&one.log);
        let answer = Answer::Wait { leader: Some(id(3)), left: ms(300) };
        let vote = Msg::Vote { term, sure: false, answer, birth: Birth::new(2) };
        sent(&one.get(2, vote)).contains(&(3, Msg::Claim { term }))
    };
    assert!(claims(false));
    assert!(!claims(true), "its own vote is not free when the leader has yielded");
}
