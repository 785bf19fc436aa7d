//! Terms, campaigns, votes.

use super::*;
use crate::{Permit, Quorum};

fn vote_of(term: u64, sure: bool, answer: Answer) -> Msg<Words> {
    Msg::Vote { term: Term::new(term), sure, answer, birth: Birth::new(1) }
}

#[test]
fn g1_a_term_is_promised_once_and_to_one() {
    let mut one = One::new(1);
    assert_eq!(one.asked(2, 3, Position::ZERO, true), YES);
    assert_eq!(one.asked(2, 3, Position::ZERO, true), YES);
    assert_eq!(one.asked(3, 3, Position::ZERO, true), Answer::No { promised: Term::new(3) });
    assert_eq!(one.asked(3, 2, Position::ZERO, true), Answer::No { promised: Term::new(3) });
    assert_eq!(one.log.promise(), (Term::new(3), Some(id(2))));
    assert_eq!(one.asked(3, 0, Position::ZERO, true), Answer::No { promised: Term::new(3) });
}

#[test]
fn g1_a_promise_survives_a_restart() {
    let mut one = One::new(1);
    one.asked(2, 3, Position::ZERO, true);
    one.restart();
    one.pass(ms(600));
    assert_eq!(one.asked(3, 3, Position::ZERO, true), Answer::No { promised: Term::new(3) });
}

#[test]
fn g1_a_leader_of_a_lower_term_is_refused_and_nothing_happens() {
    let mut one = One::new(1);
    one.asked(2, 3, Position::ZERO, true);
    let before = one.log.durable();
    let effects = one.append(3, beat(2, at(2, 1), 1), Position::ZERO, &[1]);
    let refuse = Msg::Refuse { term: Term::new(2), promised: Term::new(3) };
    assert_eq!(sent(&effects), [(3, refuse)]);
    assert_eq!(one.log.durable(), before);
    assert_eq!(one.log.lease, None);
}

#[test]
fn g1_hearing_a_leader_promises_its_term() {
    let mut one = One::new(1);
    one.beat(2, beat(4, at(4, 1), 0));
    assert_eq!(one.log.promise(), (Term::new(4), Some(id(2))));
    one.pass(ms(600));
    assert_eq!(one.asked(3, 4, at(9, 9), true), Answer::No { promised: Term::new(4) });
}

#[test]
fn g2_a_question_changes_nothing_durable() {
    let mut one = One::new(1);
    let before = one.log.durable();
    assert_eq!(one.asked(2, 7, Position::ZERO, false), YES);
    assert_eq!(one.log.durable(), before);
    // Nor does it raise the terms that others take.
    one.campaign();
    assert_eq!(asks(&one.log), Term::new(1));
}

#[test]
fn g2_votes_are_asked_for_when_a_majority_would_give_them() {
    let mut one = One::of(5, 1, config());
    one.append(2, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
    one.pass(ms(600));
    one.campaign();
    let before = one.log.durable();
    let vote = |answer| Msg::Vote { term: Term::new(2), sure: false, answer, birth: Birth::new(1) };
    one.get(3, vote(YES));
    assert_eq!((asks_sure(&one.log), &one.log.durable()), (None, &before));
    one.get(4, vote(Answer::Behind { last: at(9, 9) }));
    assert_eq!(asks_sure(&one.log), None);
    let effects = one.get(5, vote(YES));
    assert_eq!(asks_sure(&one.log), Some(Term::new(2)));
    assert_eq!(one.log.promise(), (Term::new(2), Some(id(1))));
    let sure = |(_, msg): &(u32, Msg<Words>)| matches!(msg, Msg::RequestVote { sure: true, .. });
    assert_eq!(sent(&effects).iter().filter(|sent| sure(sent)).count(), 4);
}

#[test]
fn g2_a_candidate_waits_until_a_majority_is_free() {
    let mut one = One::new(1);
    one.append(3, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
    one.pass(ms(100));
    one.campaign();
    let wait = Answer::Wait { leader: Some(id(3)), left: ms(450) };
    let answer = Msg::Vote { term: Term::new(2), sure: false, answer: wait, birth: Birth::new(1) };
    let effects = one.get(2, answer);
    assert!(effects.contains(&Effect::SetTimer(Timer::Ask, ms(450)..ms(450))));
    assert_eq!(asks_sure(&one.log), None);
    one.pass(ms(450));
    one.fire(Timer::Ask);
    assert_eq!(asks_sure(&one.log), Some(Term::new(2)));
}

#[test]
fn g2_without_its_own_vote_it_asks_for_no_other() {
    let mut one = One::new(1);
    one.append(3, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
    one.campaign();
    for voter in [2, 3] {
        one.get(
            voter,
            Msg::Vote { term: Term::new(2), sure: false, answer: YES, birth: Birth::new(1) },
        );
    }
    assert_eq!(asks_sure(&one.log), None);
}

#[test]
fn g2_a_refusal_raises_the_term() {
    let mut one = One::new(1);
    one.campaign();
    let answer = Answer::No { promised: Term::new(8) };
    one.get(2, Msg::Vote { term: Term::new(1), sure: false, answer, birth: Birth::new(1) });
    assert_eq!(asks(&one.log), Term::new(9));
}

#[test]
fn g2_two_rounds_without_a_majority_end_a_campaign() {
    let mut one = One::new(1);
    let stuck = Output::Stuck { heard: 1, needed: 2, may_probe: true };
    one.campaign();
    assert!(!said(&one.fire(Timer::Ask)).contains(&stuck));
    assert!(said(&one.fire(Timer::Ask)).contains(&stuck));
    assert!(!one.log.campaigns());
}

#[test]
fn g2_a_probe_asks_once_a_round_until_a_majority_would_vote() {
    let mut one = One::new(1);
    let question = |effects: &Fx| {
        let mut sent = sent(effects).into_iter();
        matches!(sent.next(), Some((2, Msg::RequestVote { sure: false, .. })))
    };
    assert!(question(&one.input(Input::Probe)));
    for _ in 0..5 {
        let effects = one.fire(Timer::Ask);
        assert!(question(&effects) && said(&effects).is_empty());
    }
    assert!(!one.log.campaigns(), "it is no candidate");
    let before = one.log.durable();
    let effects = one.get(2, vote_of(1, false, YES));
    assert_eq!(said(&effects), [Output::CouldWin]);
    assert!(sent(&effects).is_empty(), "it asks for no votes");
    assert!(effects.contains(&Effect::CancelTimer(Timer::Ask)));
    assert_eq!(one.log.durable(), before);
}

#[test]
fn g2_a_probe_goes_on_in_a_higher_term_when_it_is_refused() {
    let mut one = One::new(1);
    one.input(Input::Probe);
    assert!(said(&one.get(2, vote_of(1, false, Answer::No { promised: Term::new(8) }))).is_empty());
    one.fire(Timer::Ask);
    assert_eq!(said(&one.get(2, vote_of(9, false, YES))), [Output::CouldWin]);
}

#[test]
fn g2_a_probe_ends_when_a_leader_is_heard_or_a_campaign_begins() {
    let mut one = One::new(1);
    one.input(Input::Probe);
    one.append(3, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
    assert!(one.get(2, vote_of(1, false, YES)).is_empty());
    let mut one = One::new(1);
    one.input(Input::Probe);
    one.campaign();
    assert!(one.log.campaigns());
    one.input(Input::Probe);
    assert!(one.log.campaigns(), "a candidate need not probe");
}

#[test]
fn g2_a_refused_leader_asks_beside_leading() {
    let mut one = One::new(1);
    one.elect(2);
    one.ack(2);
    let effects = one.get(3, Msg::Refuse { term: Term::new(1), promised: Term::new(6) });
    assert_eq!(said(&effects), [Output::Asks(Term::new(7))]);
    assert_eq!(one.log.serving(one.now), Some(Term::new(1)));
    let vote = |sure| Msg::Vote { term: Term::new(7), sure, answer: YES, birth: Birth::new(1) };
    // S4: it stops serving before it asks for the votes themselves.
    let effects = one.get(2, vote(false));
    assert!(
        said(&effects)
            .contains(&Output::StoppedServing(Term::new(1), crate::Loss::Superseded(Term::new(7))))
    );
    assert_eq!(one.log.serving(one.now), None);
    one.get(2, vote(true));
    assert_eq!(one.log.leads(), Some(Term::new(7)));
}

#[test]
fn g2_without_majorities_every_member_has_terms_of_its_own() {
    let alone = Config { quorum: Quorum::None, ..config() };
    let terms = |number| {
        let mut one = One::of(3, number, alone.clone());
        one.campaign();
        one.fire(Timer::Ask);
        one.log.leads().unwrap()
    };
    assert!(terms(1) != terms(2) && terms(2) != terms(3) && terms(1) != terms(3));
}

#[test]
fn g3_an_older_log_gets_no_vote() {
    let mut one = One::new(1);
    one.append(2, beat(2, at(2, 2), 0), Position::ZERO, &[1, 2]);
    one.pass(ms(600));
    for older in [at(2, 1), at(1, 9), Position::ZERO] {
        assert_eq!(one.asked(3, 3, older, true), Answer::Behind { last: at(2, 2) });
    }
    assert_eq!(one.log.promise().0, Term::new(2));
    assert_eq!(one.asked(3, 3, at(2, 2), true), YES);
    assert_eq!(one.asked(2, 4, at(3, 1), true), YES);
}

#[test]
fn g3_a_lease_binds_until_it_runs_out() {
    let mut one = One::new(1);
    one.beat(2, beat(1, at(1, 1), 0));
    one.pass(ms(499));
    let bound = Answer::Wait { leader: Some(id(2)), left: ms(1) };
    assert_eq!(one.asked(3, 2, at(1, 1), true), bound);
    assert_eq!(one.log.promise().0, Term::new(1));
    // Its own leader may ask.
    assert_eq!(one.asked(2, 2, at(1, 1), false), YES);
    one.pass(ms(1));
    assert_eq!(one.asked(3, 2, at(1, 1), true), YES);
}

#[test]
fn g3_a_serving_leader_votes_for_no_other() {
    let mut one = One::new(1);
    one.elect(2);
    one.ack(2);
    assert!(matches!(one.asked(3, 5, at(4, 9), true), Answer::Wait { leader: Some(_), .. }));
    one.pass(ms(500));
    assert_eq!(one.asked(3, 5, at(4, 9), true), YES);
    assert_eq!(one.log.leads(), None);
}

#[test]
fn g3_a_candidate_that_is_behind_fetches_and_asks_again() {
    let mut one = One::new(1);
    one.append(3, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
    one.pass(ms(600));
    one.campaign();
    let behind = Answer::Behind { last: at(1, 2) };
    let msg = Msg::Vote { term: Term::new(2), sure: false, answer: behind, birth: Birth::new(1) };
    assert_eq!(fetched(&one.get(2, msg)), Some((2, Place::After(at(1, 1)))));
    let entries = entries(Term::new(1), at(1, 1), &[2]);
    let body = crate::Body::Entries { prev: at(1, 1), entries };
    let effects = one.get(2, Msg::Supply { beat: None, last: at(1, 2), body });
    let again = Msg::RequestVote {
        term: Term::new(2),
        last: at(1, 2),
        sure: false,
        permit: None,
        ended: None,
    };
    assert!(sent(&effects).contains(&(2, again)));
}

#[test]
fn g3_a_candidate_that_stays_behind_passes() {
    let mut one = One::new(1);
    one.campaign();
    let behind = Answer::Behind { last: at(1, 2) };
    one.get(2, Msg::Vote { term: Term::new(1), sure: false, answer: behind, birth: Birth::new(1) });
    let effects = one.fire(Timer::Ask);
    assert!(said(&effects).contains(&Output::Behind { of: id(2), last: at(1, 2) }));
    assert!(!one.log.campaigns());
}

#[test]
fn g3_a_majority_of_votes_makes_a_leader_whose_first_entry_is_begin() {
    let mut one = One::new(1);
    one.append(3, beat(1, at(1, 2), 1), Position::ZERO, &[1, 2]);
    one.pass(ms(600));
    assert_eq!(one.elect(2), Term::new(2));
    assert_eq!(one.log.last(), at(2, 3));
    let entry = one.log.whole().unwrap().tail.get(Index::new(3)).unwrap().clone();
    assert!(matches!(&entry.payload, Payload::Begin { leader, .. } if *leader == id(1)));
}

#[test]
fn g3_a_vote_of_another_term_or_question_does_not_count() {
    let mut one = One::new(1);
    one.append(3, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
    one.pass(ms(600));
    one.campaign();
    let vote =
        |term, sure| Msg::Vote { term: Term::new(term), sure, answer: YES, birth: Birth::new(1) };
    one.get(2, vote(2, true));
    one.get(2, vote(1, false));
    assert_eq!(asks_sure(&one.log), None);
    one.get(2, vote(2, false));
    // A late answer to the question is no vote.
    one.get(3, vote(2, false));
    assert_eq!(one.log.leads(), None);
    one.get(3, vote(2, true));
    assert_eq!(one.log.leads(), Some(Term::new(2)));
}

#[test]
fn g3_a_permit_of_another_leader_frees_from_nothing() {
    let mut one = One::new(1);
    one.beat(2, beat(1, at(1, 1), 0));
    let permit = Permit { leader: id(3), term: Term::new(1), generation: 9 };
    let ask = Msg::RequestVote {
        term: Term::new(2),
        last: at(1, 1),
        sure: true,
        permit: Some(permit),
        ended: None,
    };
    assert!(matches!(answer(&one.get(3, ask)), Answer::Wait { .. }));
}
