//! Appending, and fetching in pieces.

use super::*;
use crate::{Body, Completeness};

fn words(one: &One) -> Vec<u8> {
    one.log.state().unwrap().1.0.clone()
}

#[test]
fn g4_entries_are_appended_where_their_predecessor_is() {
    let mut one = One::new(1);
    let effects = one.append(2, beat(1, at(1, 2), 0), Position::ZERO, &[1, 2]);
    assert_eq!(acked(&effects).matched, Index::new(2));
    let effects = one.append(2, beat(1, at(1, 4), 0), at(1, 3), &[4]);
    assert_eq!(acked(&effects).matched, Index::new(2));
    assert_eq!(one.log.last(), at(1, 2));
    assert_eq!(fetched(&effects), Some((2, Place::After(at(1, 2)))));
}

#[test]
fn g4_what_contradicts_the_leader_is_dropped_and_only_that() {
    let mut one = One::new(1);
    one.append(2, beat(1, at(1, 3), 1), Position::ZERO, &[1, 2, 3]);
    // An entry that it has already is not appended twice, and nothing after it is dropped.
    one.append(2, beat(1, at(1, 3), 1), Position::ZERO, &[1]);
    assert_eq!(one.log.last(), at(1, 3));
    let effects = one.append(3, beat(2, at(2, 3), 2), at(1, 2), &[9]);
    assert_eq!(acked(&effects).matched, Index::new(3));
    assert_eq!(one.log.last(), at(2, 3));
    assert_eq!(words(&one), [1, 2]);
}

#[test]
fn g4_what_is_committed_is_never_dropped() {
    let mut one = One::new(1);
    one.append(2, beat(1, at(1, 2), 2), Position::ZERO, &[1, 2]);
    let effects = one.append(3, beat(2, at(2, 2), 0), at(1, 1), &[9]);
    assert!(said(&effects).contains(&Output::Diverged { leader: id(3), at: Index::new(2) }));
    assert_eq!(sent(&effects), []);
    assert_eq!((one.log.last(), words(&one)), (at(1, 2), vec![1, 2]));
}

#[test]
fn g4_only_what_is_known_to_match_this_leader_is_claimed_and_committed() {
    let mut one = One::new(1);
    one.append(2, beat(1, at(1, 3), 0), Position::ZERO, &[1, 2, 3]);
    // A new leader with another log of the same length.
    let effects = one.beat(3, beat(2, at(2, 4), 3));
    assert_eq!(acked(&effects).matched, Index::ZERO);
    assert_eq!(one.log.commit(), Position::ZERO);
}

#[test]
fn g4_unsound_entries_are_ignored() {
    let mut one = One::new(1);
    let entry = |term, index| {
        Arc::new(Entry { position: at(term, index), payload: Payload::Command(1_u8) })
    };
    let before = one.log.clone();
    for wrong in
        [vec![entry(1, 2)], vec![entry(1, 1), entry(1, 3)], vec![entry(2, 1)], vec![entry(0, 1)]]
    {
        one.get(
            2,
            Msg::Append { beat: beat(1, at(1, 9), 9), prev: Position::ZERO, entries: wrong.into() },
        );
        assert_eq!(one.log, before);
    }
    let end = at(1, u64::MAX);
    let entries: crate::Entries<Words> = vec![entry(1, 0)].into();
    one.get(2, Msg::Append { beat: beat(1, end, u64::MAX), prev: end, entries });
    assert_eq!(one.log, before);
}

/// A leader of term 1 with five commands committed, of which it keeps the last ones.
fn supplier(keep_bytes: usize) -> One {
    let mut one = One::of(3, 2, Config { keep_bytes, piece: (1, 1_000), ..config() });
    one.elect(3);
    one.ack(3);
    for command in 1..=5 {
        one.propose(command);
    }
    one.fire(Timer::Write);
    one.ack(3);
    assert_eq!(one.log.commit(), at(1, 6));
    one
}

fn supplied(effects: &Fx) -> (Position, Body<Words>) {
    let supplied = |(_, msg)| match msg {
        Msg::Supply { last, body, .. } => Some((last, body)),
        _ => None,
    };
    sent(effects).into_iter().find_map(supplied).unwrap()
}

#[test]
fn g5_entries_are_supplied_in_pieces() {
    let mut one = supplier(1_000_000);
    let place = Place::After(at(1, 1));
    let (_, body) =
        supplied(&one.get(1, Msg::Fetch { place: place.clone(), budget: 70, ahead: 0 }));
    let Body::Entries { prev, entries } = body else { panic!("{body:?}") };
    assert_eq!((prev, entries.len()), (at(1, 1), 2));
    // At least one.
    let (_, body) = supplied(&one.get(1, Msg::Fetch { place, budget: 1, ahead: 0 }));
    assert!(matches!(body, Body::Entries { entries, .. } if entries.len() == 1));
}

#[test]
fn g5_the_piece_after_one_that_is_on_its_way_can_be_asked_for() {
    let mut one = supplier(1_000_000);
    let fetch = |place, ahead| Msg::Fetch { place, budget: 70, ahead };
    let (_, body) = supplied(&one.get(1, fetch(Place::After(at(1, 1)), 70)));
    let Body::Entries { prev, entries } = body else { panic!("{body:?}") };
    assert_eq!((prev, entries.len()), (at(1, 3), 2));
    // There is none, or the question is about another log.
    for place in [at(1, 1), at(1, 6), at(0, 3)] {
        assert_eq!(sent(&one.get(1, fetch(Place::After(place), 1_000))), []);
    }
    let mut one = supplier(0);
    let start = Place::After(Position::ZERO);
    one.get(1, Msg::Fetch { place: start, budget: 2, ahead: 0 });
    let part = |of, ahead| {
        let place = Place::Part { at: of, cursor: 2 };
        Msg::Fetch { place, budget: 1, ahead }
    };
    let (_, body) = supplied(&one.get(1, part(at(1, 6), 2)));
    assert!(matches!(body, Body::Parts { from: 4, .. }), "{body:?}");
    assert_eq!(sent(&one.get(1, part(at(1, 6), 100))), []);
    assert_eq!(sent(&one.get(1, part(at(9, 9), 2))), []);
}

#[test]
fn g5_from_the_second_piece_on_two_are_on_their_way() {
    let mut one = One::new(1);
    one.append(2, beat(1, at(1, 3), 1), Position::ZERO, &[1, 2, 3]);
    let asked = |effects: &Fx| -> Vec<(Position, bool)> {
        let fetch = |(_, msg)| match msg {
            Msg::Fetch { place: Place::After(position), ahead, .. } => Some((position, ahead > 0)),
            _ => None,
        };
        sent(effects).into_iter().filter_map(fetch).collect()
    };
    let piece = |prev: Position, words: &[u8]| Msg::Supply {
        beat: Some(beat(1, at(1, 9), 1)),
        last: at(1, 9),
        body: Body::Entries { prev, entries: entries(Term::new(1), prev, words) },
    };
    assert_eq!(asked(&one.beat(2, beat(1, at(1, 9), 1))), [(at(1, 3), false)]);
    let effects = one.get(2, piece(at(1, 3), &[4, 5]));
    assert_eq!(asked(&effects), [(at(1, 5), false), (at(1, 5), true)]);
    let effects = one.get(2, piece(at(1, 5), &[6, 7]));
    assert_eq!(asked(&effects), [(at(1, 7), true)], "the next one is on its way");
    // It is lost: after a while it is asked for again.
    assert_eq!(asked(&one.get(2, piece(at(1, 8), &[9]))), []);
    let effects = one.fire(Timer::Fetch);
    assert_eq!(asked(&effects), [(at(1, 7), false)]);
}

#[test]
fn g5_an_entry_that_the_supplier_does_not_have_is_a_mismatch() {
    let mut one = supplier(1_000_000);
    let place = Place::After(at(0, 3));
    let (_, body) = supplied(&one.get(1, Msg::Fetch { place, budget: 100, ahead: 0 }));
    assert_eq!(body, Body::Mismatch { after: at(0, 3) });
    // A fetcher asks from its commit index then, and only if that was its question.
    let mut two = One::new(1);
    two.append(2, beat(1, at(1, 3), 1), Position::ZERO, &[1, 2, 3]);
    two.beat(3, beat(2, at(2, 9), 1));
    let mismatch = |after| Msg::Supply {
        beat: Some(beat(2, at(2, 9), 1)),
        last: at(2, 9),
        body: Body::Mismatch { after },
    };
    let effects = two.get(3, mismatch(at(1, 3)));
    assert_eq!(fetched(&effects), Some((3, Place::After(at(1, 1)))));
    let effects = two.get(3, mismatch(at(1, 3)));
    assert!(!said(&effects).iter().any(|output| matches!(output, Output::Diverged { .. })));
}

/// A follower whose log is 1 to 4 of term 1, of which one is committed, and 5 of term 2.
fn contradicting() -> One {
    let mut one = One::new(1);
    one.append(2, beat(1, at(1, 4), 1), Position::ZERO, &[1, 2, 3, 4]);
    one.append(2, beat(2, at(2, 5), 1), at(1, 4), &[5]);
    one
}

/// A piece of a log that has 1 to 3 of term 1 and 4 of term 3; of the leader of that term, or of another.
fn piece_of(leads: bool, body: Body<Words>) -> Msg<Words> {
    Msg::Supply { beat: leads.then(|| beat(3, at(3, 4), 1)), last: at(3, 4), body }
}

fn entry_after(prev: Position, term: u64) -> Body<Words> {
    let word = prev.index.number() as u8 + 1;
    Body::Entries { prev, entries: entries(Term::new(term), prev, &[word]) }
}

#[test]
fn g5_what_both_logs_have_may_be_longer_than_a_piece() {
    let mut one = contradicting();
    assert_eq!(fetched(&one.beat(3, beat(3, at(3, 4), 1))), Some((3, Place::After(at(2, 5)))));
    let effects = one.get(3, piece_of(true, Body::Mismatch { after: at(2, 5) }));
    assert_eq!(fetched(&effects), Some((3, Place::After(at(1, 1)))));
    let effects = one.get(3, piece_of(true, entry_after(at(1, 1), 1)));
    assert_eq!(fetched(&effects), Some((3, Place::After(at(1, 2)))));
    // The next piece is lost. What is known to match this leader's log is not fetched again.
    assert_eq!(fetched(&one.fire(Timer::Fetch)), Some((3, Place::After(at(2, 5)))));
    let effects = one.get(3, piece_of(true, Body::Mismatch { after: at(2, 5) }));
    assert_eq!(fetched(&effects), Some((3, Place::After(at(1, 2)))));
    let effects = one.get(3, piece_of(true, entry_after(at(1, 2), 1)));
    assert_eq!(acked(&effects).matched, Index::new(3));
    assert_eq!(one.log.last(), at(2, 5), "nothing contradicts so far");
    let effects = one.get(3, piece_of(true, entry_after(at(1, 3), 3)));
    assert_eq!((one.log.last(), acked(&effects).matched), (at(3, 4), Index::new(4)));
}

#[test]
fn g5_a_former_leader_may_lack_what_it_had_then() {
    let mut one = contradicting();
    one.pass(ms(600));
    one.campaign();
    let answer = Answer::Behind { last: at(3, 4) };
    let vote = Msg::Vote { term: asks(&one.log), sure: false, answer, birth: Birth::new(1) };
    assert_eq!(fetched(&one.get(2, vote)), Some((2, Place::After(at(2, 5)))));
    // This matched its log of term 2, so only what is committed is sure to be there.
    let effects = one.get(2, piece_of(false, Body::Mismatch { after: at(2, 5) }));
    assert_eq!(fetched(&effects), Some((2, Place::After(at(1, 1)))));
}

#[test]
fn g5_a_candidate_gets_past_what_both_logs_have() {
    let mut one = contradicting();
    one.pass(ms(600));
    one.campaign();
    let answer = Answer::Behind { last: at(3, 4) };
    let vote = Msg::Vote { term: asks(&one.log), sure: false, answer, birth: Birth::new(1) };
    assert_eq!(fetched(&one.get(3, vote)), Some((3, Place::After(at(2, 5)))));
    one.get(3, piece_of(false, Body::Mismatch { after: at(2, 5) }));
    one.get(3, piece_of(false, entry_after(at(1, 1), 1)));
    one.get(3, piece_of(false, entry_after(at(1, 2), 1)));
    assert_eq!(one.log.last(), at(2, 5), "nothing contradicts so far");
    one.get(3, piece_of(false, entry_after(at(1, 3), 3)));
    assert_eq!(one.log.last(), at(3, 4));
}

#[test]
fn g5_what_was_dropped_is_supplied_as_a_snapshot_in_parts() {
    let mut one = supplier(0);
    let place = Place::After(Position::ZERO);
    let (last, body) = supplied(&one.get(1, Msg::Fetch { place, budget: 2, ahead: 0 }));
    let Body::Parts { at: of, parts, next, from, .. } = body else { panic!("{body:?}") };
    assert_eq!((last, of, from, parts, next), (at(1, 6), at(1, 6), 0, vec![1, 2], Some(2)));
    let place = Place::Part { at: of, cursor: 2 };
    let (_, body) = supplied(&one.get(1, Msg::Fetch { place, budget: 9, ahead: 0 }));
    assert!(matches!(body, Body::Parts { from: 2, next: None, .. }));
    // Any cursor from the network is harmless; another snapshot begins at its beginning.
    let place = Place::Part { at: of, cursor: usize::MAX };
    one.get(1, Msg::Fetch { place, budget: u32::MAX, ahead: 0 });
    let place = Place::Part { at: at(9, 9), cursor: 3 };
    let (_, body) = supplied(&one.get(1, Msg::Fetch { place, budget: 9, ahead: 0 }));
    assert!(matches!(body, Body::Parts { from: 0, .. }));
}

#[test]
fn g5_only_a_newer_log_is_adopted() {
    let mut one = One::new(1);
    one.append(3, beat(2, at(2, 2), 0), Position::ZERO, &[1, 2]);
    one.pass(ms(600));
    one.campaign();
    let behind = Answer::Behind { last: at(3, 3) };
    one.get(2, Msg::Vote { term: Term::new(3), sure: false, answer: behind, birth: Birth::new(1) });
    let body =
        |term| Body::Entries { prev: at(2, 2), entries: entries(Term::new(term), at(2, 2), &[3]) };
    one.get(2, Msg::Supply { beat: None, last: at(1, 9), body: body(2) });
    assert_eq!(one.log.last(), at(2, 2));
    one.get(2, Msg::Supply { beat: None, last: at(3, 3), body: body(3) });
    assert_eq!(one.log.last(), at(3, 3));
    // G1: its log is not of a later term than it promised.
    assert_eq!(one.log.promise().0, Term::new(3));
}

#[test]
fn g5_a_log_that_votes_were_asked_for_stays_as_it_is() {
    let mut one = One::new(1);
    one.append(3, beat(2, at(2, 2), 0), Position::ZERO, &[1, 2]);
    one.pass(ms(600));
    one.campaign();
    let vote = |answer| Msg::Vote { term: Term::new(3), sure: false, answer, birth: Birth::new(1) };
    one.get(2, vote(Answer::Behind { last: at(2, 3) }));
    one.get(3, vote(YES));
    assert_eq!(asks_sure(&one.log), Some(Term::new(3)));
    let entries = entries(Term::new(2), at(2, 2), &[3]);
    let body = Body::Entries { prev: at(2, 2), entries };
    one.get(2, Msg::Supply { beat: None, last: at(2, 3), body });
    assert_eq!(one.log.last(), at(2, 2));
}

fn parts(of: Position, from: usize, parts: &[u8], next: Option<usize>) -> Msg<Words> {
    let body = Body::Parts { at: of, roster: Box::default(), from, parts: parts.to_vec(), next };
    Msg::Supply { beat: Some(beat(3, at(3, 9), 7)), last: at(3, 9), body }
}

/// A follower with three entries that is told of a leader far ahead.
fn filling() -> One {
    let mut one = One::new(1);
    one.append(2, beat(2, at(2, 3), 1), Position::ZERO, &[1, 2, 3]);
    one.beat(3, beat(3, at(3, 9), 7));
    one
}

#[test]
fn g5_a_member_that_fills_votes_by_its_floor_and_counts_for_nothing() {
    let mut one = filling();
    let effects = one.get(3, parts(at(2, 7), 0, &[1, 2], Some(2)));
    assert!(said(&effects).contains(&Output::Filling { from: id(3), floor: at(2, 3) }));
    assert_eq!((acked(&effects).holds, acked(&effects).matched), (false, Index::ZERO));
    assert_eq!(one.log.state(), None);
    one.restart();
    one.pass(ms(600));
    assert_eq!(one.asked(2, 4, at(2, 2), true), Answer::Behind { last: at(2, 3) });
    assert_eq!(one.log.completeness(), Completeness::Filling);
    // It cannot lead either.
    assert!(said(&one.campaign()).contains(&Output::Stuck {
        heard: 0,
        needed: 2,
        may_probe: false
    }));
    assert_eq!(one.asked(2, 4, at(2, 3), true), YES);
}

#[test]
fn g5_a_snapshot_is_put_together_and_goes_on_by_entries() {
    let mut one = filling();
    one.get(3, parts(at(2, 7), 0, &[1, 2], Some(2)));
    let effects = one.get(3, parts(at(2, 7), 2, &[7], None));
    assert_eq!(words(&one), [1, 2, 7]);
    assert!(said(&effects).contains(&Output::Recovered));
    assert_eq!(acked(&effects).matched, Index::new(7));
    assert_eq!(fetched(&effects), Some((3, Place::After(at(2, 7)))));
}

#[test]
fn g5_the_floor_stays_until_the_log_reaches_it() {
    let mut one = One::new(1);
    one.append(2, beat(2, at(2, 3), 1), Position::ZERO, &[1, 2, 3]);
    one.log.floor = at(2, 20);
    one.beat(3, beat(3, at(3, 29), 27));
    one.get(3, parts(at(2, 15), 0, &[1], None));
    assert_eq!((one.log.last(), one.log.completeness()), (at(2, 15), Completeness::Filling));
    one.pass(ms(600));
    assert_eq!(one.asked(2, 4, at(2, 15), true), Answer::Behind { last: at(2, 20) });
}

#[test]
fn g5_an_unsound_snapshot_is_dropped_and_one_that_does_not_get_on_too() {
    let mut one = filling();
    one.get(3, parts(at(2, 7), 0, &[1, 13], None));
    assert_eq!(one.log.state(), None);
    let effects = one.beat(3, beat(3, at(3, 9), 7));
    assert_eq!(fetched(&effects), Some((3, Place::Part { at: Position::ZERO, cursor: 0 })));
    one.get(3, parts(at(2, 7), 0, &[1], Some(0)));
    assert_eq!(one.log.memory, crate::Memory::Filling(None));
}

#[test]
fn g5_pieces_grow_while_they_are_fast_and_shrink_when_they_are_not() {
    let mut one = filling();
    let first = one.log.budget;
    one.pass(ms(10));
    one.get(3, parts(at(2, 7), 0, &[1], Some(1)));
    assert_eq!(one.log.budget, first * 2);
    one.pass(ms(60));
    one.get(3, parts(at(2, 7), 1, &[1], Some(2)));
    assert_eq!(one.log.budget, first);
}

#[test]
fn g5_a_piece_that_was_not_asked_for_is_ignored() {
    let mut one = One::new(1);
    one.append(2, beat(2, at(2, 3), 1), Position::ZERO, &[1, 2, 3]);
    one.get(3, parts(at(2, 7), 0, &[1, 2], None));
    assert_eq!(one.log.last(), at(2, 3));
}

#[test]
fn g5_a_piece_that_a_dead_leader_owes_does_not_keep_others_from_supplying_it() {
    let mut one = One::new(1);
    one.beat(3, beat(2, at(2, 3), 1));
    one.pass(ms(600));
    assert_eq!(fetched(&one.fire(Timer::Fetch)), None, "its lease has run out");
    one.campaign();
    let term = asks(&one.log);
    let vote = Msg::Vote {
        term,
        sure: false,
        answer: Answer::Behind { last: at(2, 3) },
        birth: Birth::new(2),
    };
    assert_eq!(fetched(&one.get(2, vote)), Some((2, Place::After(Position::ZERO))));
}
