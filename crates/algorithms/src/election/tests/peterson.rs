//! One test per rule of Peterson's election, seen from P2 of the ring 1, 2, 3, 4.

use super::*;
use crate::election::tests::{Did, Fixture, elected, id, round, sent, started};

fn first(number: u32, in_round: u32) -> Body {
    Body { word: Word::First(id(number)), round: round(in_round) }
}

fn second(number: u32, in_round: u32) -> Body {
    Body { word: Word::Second(id(number)), round: round(in_round) }
}

fn outcome(coordinator: u32, by: u32, in_round: u32) -> Body {
    Body { word: Word::Elected(id(coordinator), id(by)), round: round(in_round) }
}

/// P2 after having started election 2, the first of all.
fn active() -> Fixture<Peterson> {
    let mut p2 = Fixture::<Peterson>::at(2);
    assert_eq!(p2.ask(), [started(), sent(3, 1, first(2, 2))]);
    p2
}

/// P2 after having lost in election 2 to P1's number 4.
fn relay() -> Fixture<Peterson> {
    let mut p2 = active();
    p2.arrive(1, first(1, 2));
    p2.arrive(1, second(4, 2));
    assert_eq!(p2.process.phase, Phase::Relay);
    p2
}

/// P2 after election 2 has ended.
fn finished() -> Fixture<Peterson> {
    let mut p2 = relay();
    p2.arrive(3, outcome(4, 3, 2));
    assert_eq!(p2.process.coordinator(), Some(id(4)));
    p2
}

const NOTHING: [Did<Body>; 0] = [];

#[test]
fn r1_becomes_active_with_its_own_number() {
    let mut p2 = Fixture::<Peterson>::following(2, Some(4));
    assert_eq!(p2.process.coordinator(), Some(id(4)));
    assert_eq!(p2.ask(), [started(), sent(3, 1, first(2, 2))]);
    assert_eq!(p2.process.phase, Phase::AwaitingFirst { number: id(2) });
    assert_eq!(p2.process.coordinator(), None);
}

#[test]
fn r1_joins_an_election_that_it_meets() {
    let mut p2 = Fixture::<Peterson>::following(2, Some(4));
    assert_eq!(
        p2.arrive(1, first(1, 2)),
        [sent(3, 1, first(2, 2)), sent(3, 1, second(2, 2))],
        "as an active process, which the FIRST then reaches"
    );
}

#[test]
fn r1_leaves_its_election_for_a_newer_one() {
    let mut p2 = relay();
    assert_eq!(p2.arrive(1, first(1, 3)), [sent(3, 1, first(2, 3)), sent(3, 1, second(2, 3))]);
}

#[test]
fn r2_sends_the_larger_of_its_number_and_the_one_before() {
    let mut p2 = active();
    assert_eq!(p2.arrive(1, first(1, 2)), [sent(3, 1, second(2, 2))]);
    let mut p2 = active();
    assert_eq!(p2.arrive(1, first(4, 2)), [sent(3, 1, second(4, 2))]);
    assert_eq!(p2.process.phase, Phase::AwaitingSecond { number: id(2), first: id(4) });
}

#[test]
fn r2_its_number_all_the_way_round_is_the_largest() {
    let mut p2 = active();
    assert_eq!(p2.arrive(4, first(2, 2)), [elected(2), sent(3, 1, outcome(2, 2, 2))]);
    assert_eq!(p2.process.coordinator(), Some(id(2)));
}

#[test]
fn r3_goes_on_with_the_middle_number_if_it_is_the_largest() {
    for before in [3, 4] {
        let mut p2 = active();
        p2.arrive(1, first(4, 2));
        assert_eq!(p2.arrive(1, second(before, 2)), [sent(3, 1, first(4, 2))]);
        assert_eq!(p2.process.phase, Phase::AwaitingFirst { number: id(4) });
    }
}

#[test]
fn r3_becomes_a_relay_if_the_middle_number_is_not_the_largest() {
    // Smaller than its own; smaller than the one before it.
    for (middle, before) in [(1, 1), (1, 4), (3, 4)] {
        let mut p2 = active();
        p2.arrive(1, first(middle, 2));
        assert_eq!(p2.arrive(1, second(before, 2)), NOTHING);
        assert_eq!(p2.process.phase, Phase::Relay);
    }
}

#[test]
fn r4_the_holder_announces_the_numbers_owner() {
    let mut p2 = active();
    p2.arrive(1, first(4, 2));
    p2.arrive(1, second(3, 2));
    assert_eq!(p2.arrive(4, first(4, 2)), [elected(4), sent(3, 1, outcome(4, 2, 2))]);
    assert_eq!(p2.arrive(4, outcome(4, 2, 2)), NOTHING, "and takes it off the ring");
    assert_eq!(p2.process.coordinator(), Some(id(4)));
}

#[test]
fn r4_every_process_records_the_outcome_and_passes_it_on() {
    let mut p2 = relay();
    assert_eq!(p2.arrive(3, outcome(4, 3, 2)), [elected(4), sent(3, 4, outcome(4, 3, 2))]);
    assert_eq!(p2.process.coordinator(), Some(id(4)));
}

#[test]
fn r5_a_relay_passes_on() {
    let mut p2 = relay();
    assert_eq!(p2.arrive(2, first(4, 2)), [sent(3, 3, first(4, 2))]);
    assert_eq!(p2.arrive(2, second(4, 2)), [sent(3, 3, second(4, 2))]);
}

#[test]
fn r6_calls_for_an_election_without_a_number_when_it_comes_back() {
    let mut p2 = finished();
    assert_eq!(p2.come_back(), [started(), sent(3, 1, first(2, 0))]);
    assert_eq!(p2.process.durable().number(), 2, "its second life");
}

/// A recovered process that counted from 1 again would hit the number of an election that the
/// others have finished, and be ignored.
#[test]
fn r6_a_process_that_hears_the_call_starts_an_election() {
    for (mut p2, next) in [(Fixture::<Peterson>::following(2, Some(3)), 2), (finished(), 3)] {
        assert_eq!(p2.arrive(1, first(1, 0)), [started(), sent(3, 1, first(2, next))]);
    }
}

#[test]
fn r6_two_that_come_back_together_hear_each_other() {
    let mut p2 = finished();
    p2.come_back();
    assert_eq!(p2.arrive(1, first(1, 0)), [started(), sent(3, 1, first(2, 1))]);
    assert_eq!(p2.arrive(1, first(1, 1)), [sent(3, 1, second(2, 1))], "in the same election");
}

#[test]
fn leftovers_of_other_elections_are_dropped() {
    let mut p2 = finished();
    assert_eq!(p2.arrive(1, first(3, 2)), NOTHING, "of the one that is over");
    p2.ask();
    assert_eq!(p2.arrive(1, first(3, 2)), NOTHING, "of the one before this");
    assert_eq!(p2.arrive(1, outcome(4, 3, 2)), NOTHING, "even its outcome");
    assert_eq!(p2.process.coordinator(), None);
}

#[test]
fn words_out_of_turn_change_nothing() {
    let mut p2 = active();
    assert_eq!(p2.arrive(1, second(4, 2)), NOTHING);
    p2.arrive(1, first(4, 2));
    assert_eq!(p2.arrive(1, first(3, 2)), NOTHING);
    assert_eq!(p2.process.phase, Phase::AwaitingSecond { number: id(2), first: id(4) });
}
