//! Restarts.

use super::*;
use crate::Completeness;

/// A follower in memory mode that has acknowledged two commands, after its restart.
fn lost() -> One {
    let mut one = One::of(3, 1, in_memory());
    one.append(2, beat(1, at(1, 2), 2), Position::ZERO, &[1, 2]);
    one.restart();
    one
}

#[test]
fn g9_a_restarted_member_does_not_vote_for_one_lease() {
    for config in [config(), in_memory()] {
        let mut one = One::of(3, 1, config);
        one.beat(2, beat(1, at(1, 1), 0));
        one.restart();
        one.pass(ms(499));
        let wait = Answer::Wait { leader: None, left: ms(1) };
        assert_eq!(one.asked(3, 2, at(1, 1), true), wait);
        // A permit does not help: it has forgotten which generation binds it.
        let permit = Some(crate::Permit { leader: id(2), term: Term::new(1), generation: 0 });
        let ask = Msg::RequestVote {
            term: Term::new(2),
            last: at(1, 1),
            sure: true,
            permit,
            ended: None,
        };
        assert_eq!(answer(&one.get(3, ask)), wait);
        one.pass(ms(1));
        assert!(matches!(one.asked(3, 2, at(1, 1), true), Answer::Yes { .. }));
    }
}

#[test]
fn g9_with_a_disk_nothing_is_forgotten() {
    let mut one = One::new(1);
    one.append(2, beat(1, at(1, 2), 1), Position::ZERO, &[1, 2]);
    one.restart();
    assert_eq!((one.log.last(), one.log.commit()), (at(1, 2), at(1, 1)));
    assert_eq!(one.log.completeness(), Completeness::Whole);
    one.pass(ms(600));
    assert_eq!(one.asked(3, 2, at(1, 1), true), Answer::Behind { last: at(1, 2) });
    assert_eq!(one.log.report().starts, 2);
}

#[test]
fn g9_without_a_disk_it_is_lost_and_votes_with_a_wait() {
    let mut one = lost();
    assert_eq!(one.log.completeness(), Completeness::Lost);
    one.pass(ms(600));
    let Answer::Yes { after } = one.asked(3, 2, Position::ZERO, true) else { panic!() };
    assert!(after >= Duration::from_secs(60) && after <= Duration::from_secs(75), "{after:?}");
    // Also after another restart.
    one.restart();
    one.pass(ms(600));
    assert!(matches!(one.asked(3, 3, at(1, 9), true), Answer::Yes { after } if !after.is_zero()));
}

#[test]
fn g9_a_member_that_never_promised_has_nothing_to_forget() {
    let mut one = One::of(3, 1, in_memory());
    one.restart();
    assert_eq!(one.log.completeness(), Completeness::Whole);
}

#[test]
fn g9_a_lost_member_counts_for_nothing_until_this_very_start_is_answered() {
    let mut one = lost();
    let effects = one.beat(2, beat(1, at(1, 3), 2));
    assert!(acked(&effects).lost && !acked(&effects).holds);
    assert_eq!(acked(&effects).start, 2);
    for late in [None, Some(1)] {
        let effects = one.beat(2, Heartbeat { welcome: late, ..beat(1, at(1, 3), 2) });
        assert!(acked(&effects).lost);
    }
    let effects = one.beat(2, Heartbeat { welcome: Some(2), ..beat(1, at(1, 3), 2) });
    assert!(!acked(&effects).lost && !acked(&effects).holds);
    assert_eq!((one.log.floor, one.log.completeness()), (at(1, 3), Completeness::Filling));
}

#[test]
fn g9_while_it_fills_it_votes_by_its_floor_or_with_a_wait() {
    let mut one = lost();
    one.beat(2, Heartbeat { welcome: Some(2), ..beat(1, at(1, 3), 2) });
    one.pass(ms(600));
    assert_eq!(one.asked(3, 2, at(1, 3), false), YES);
    assert!(matches!(one.asked(3, 2, at(1, 2), false), Answer::Yes { after } if !after.is_zero()));
    one.append(2, beat(1, at(1, 3), 2), Position::ZERO, &[1, 2]);
    one.pass(ms(600));
    // What it has, it can supply.
    assert_eq!(one.asked(3, 2, at(1, 1), false), Answer::Behind { last: at(1, 3) });
    assert!(matches!(one.asked(3, 2, at(1, 2), false), Answer::Yes { after } if !after.is_zero()));
    let effects = one.append(2, beat(1, at(1, 3), 2), at(1, 2), &[3]);
    assert!(said(&effects).contains(&Output::Recovered));
    assert_eq!(one.log.completeness(), Completeness::Whole);
}

#[test]
fn g9_the_leader_answers_to_a_start_and_does_not_count_it_before() {
    let mut one = One::new(1);
    one.elect(2);
    let lost = Ack { lost: true, start: 4, ..one.ack_of() };
    one.get(2, Msg::Ack(lost));
    assert_eq!((one.log.commit(), one.log.serving(one.now)), (Position::ZERO, None));
    assert_eq!(one.log.beat_for(id(2), one.now, &one.config).unwrap().welcome, Some(4));
    assert_eq!(one.log.beat_for(id(3), one.now, &one.config).unwrap().welcome, None);
}

#[test]
fn g9_what_an_earlier_start_acknowledged_does_not_count_any_more() {
    let mut one = One::new(1);
    one.elect(2);
    let former = one.ack_of();
    let later = Ack { start: 2, matched: Index::ZERO, holds: false, ..former };
    one.get(2, Msg::Ack(later));
    one.get(2, Msg::Ack(former));
    assert_eq!((one.log.commit(), one.log.serving(one.now)), (Position::ZERO, None));
}

#[test]
fn g9_a_vote_with_a_wait_counts_that_long_after_a_majority_has_voted() {
    let mut one = One::of(3, 1, in_memory());
    one.append(2, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
    one.pass(ms(600));
    one.campaign();
    let after = Duration::from_secs(60);
    let vote = |sure, answer| Msg::Vote { term: Term::new(2), sure, answer, birth: Birth::new(1) };
    one.get(3, vote(false, Answer::Yes { after }));
    // Members that remember get a round to answer.
    one.pass(ms(200));
    one.fire(Timer::Ask);
    one.get(3, vote(false, Answer::Yes { after }));
    let effects = one.get(3, vote(true, Answer::Yes { after }));
    assert!(said(&effects).contains(&Output::Waiting { members: vec![id(2), id(3)], left: after }));
    one.pass(after - ms(1));
    one.fire(Timer::Wait);
    assert_eq!(one.log.leads(), None);
    one.pass(ms(1));
    one.fire(Timer::Wait);
    assert_eq!(one.log.leads(), Some(Term::new(2)));
}

#[test]
fn g9_a_majority_that_remembers_never_waits() {
    let mut one = One::of(3, 1, in_memory());
    one.append(2, beat(1, at(1, 1), 1), Position::ZERO, &[1]);
    one.pass(ms(600));
    one.campaign();
    let vote = |sure, after| Msg::Vote {
        term: Term::new(2),
        sure,
        answer: Answer::Yes { after },
        birth: Birth::new(1),
    };
    one.get(3, vote(false, Duration::from_secs(60)));
    one.get(2, vote(false, Duration::ZERO));
    one.get(3, vote(true, Duration::from_secs(60)));
    assert_eq!(one.log.leads(), None);
    one.get(2, vote(true, Duration::ZERO));
    assert_eq!(one.log.leads(), Some(Term::new(2)));
}

#[test]
fn g9_a_candidate_that_waits_passes_for_one_that_remembers() {
    let mut one = lost();
    one.pass(ms(600));
    one.campaign();
    let after = Duration::from_secs(60);
    let vote = |sure, answer| Msg::Vote { term: Term::new(2), sure, answer, birth: Birth::new(1) };
    one.get(3, vote(false, Answer::Yes { after }));
    one.fire(Timer::Ask);
    one.get(3, vote(true, Answer::Yes { after }));
    one.get(2, vote(true, Answer::Behind { last: at(1, 2) }));
    let effects = one.fire(Timer::Ask);
    assert!(said(&effects).contains(&Output::Behind { of: id(2), last: at(1, 2) }));
    assert_eq!(fetched(&effects).map(|(from, _)| from), Some(2));
}

#[test]
fn g9_the_wait_covers_what_was_acknowledged_before_the_ack_leaves() {
    let mut one = One::of(3, 1, in_memory());
    assert_eq!(one.log.durable().hard.longest_ttl_ms, 0);
    one.append(2, beat(1, at(1, 1), 0), Position::ZERO, &[1]);
    assert!(one.log.durable().hard.longest_ttl_ms >= 60_000);
    assert_eq!(one.log.durable().log, crate::Saved::Nothing);
}

#[test]
fn g9_a_candidate_that_has_forgotten_does_not_wait_if_a_majority_remembers() {
    let mut one = lost();
    one.pass(ms(600));
    one.campaign();
    for sure in [false, true] {
        let term = asks(&one.log);
        for voter in [2, 3] {
            one.get(voter, Msg::Vote { term, sure, answer: YES, birth: Birth::new(1) });
        }
    }
    assert_eq!(one.log.leads(), Some(Term::new(2)), "P2 and P3 are a majority");
}

#[test]
fn g9_a_candidate_that_waits_asks_one_that_refused_again_in_a_higher_term() {
    let mut one = One::of(3, 1, in_memory());
    one.append(2, beat(1, at(1, 2), 2), Position::ZERO, &[1, 2]);
    one.pass(ms(600));
    one.campaign();
    let wait = Answer::Yes { after: Duration::from_secs(60) };
    for sure in [false, true] {
        let term = asks(&one.log);
        one.get(2, Msg::Vote { term, sure, answer: wait, birth: Birth::new(1) });
        // All get a round to say that they remember.
        if !sure {
            one.fire(Timer::Ask);
        }
    }
    let term = asks_sure(&one.log).unwrap();
    assert!(one.log.leads().is_none(), "P2 has forgotten");
    // P3 remembers, and has promised this term to itself.
    let no = Answer::No { promised: term };
    one.get(3, Msg::Vote { term, sure: true, answer: no, birth: Birth::new(1) });
    one.fire(Timer::Ask);
    assert!(asks(&one.log) > term);
    for sure in [false, true] {
        let term = asks(&one.log);
        one.get(3, Msg::Vote { term, sure, answer: YES, birth: Birth::new(1) });
    }
    assert!(one.log.leads().is_some(), "it and P3 are a majority that remembers");
}
