//! One test per rule of the election with active lists, seen from P2 of the ring 1, 2, 3, 4.

use super::*;
use crate::election::tests::{Did, Fixture, elected, id, ids, round, sent, started};

fn elect(number: u32, in_round: u32) -> Body {
    Body::Elect(id(number), round(in_round))
}

fn inquiry(number: u32, in_round: u32) -> Body {
    Body::Inquiry(id(number), round(in_round))
}

fn reply(to: u32, coordinator: u32, in_round: u32) -> Body {
    Body::Reply { to: id(to), coordinator: id(coordinator), round: round(in_round) }
}

/// P2 after having started election 2, the first of all.
fn electing() -> Fixture<ActiveList> {
    let mut p2 = Fixture::<ActiveList>::at(2);
    p2.ask();
    p2
}

/// P2 after having come back and sent its INQUIRY.
fn inquiring() -> Fixture<ActiveList> {
    let mut p2 = Fixture::<ActiveList>::at(2);
    p2.come_back();
    p2
}

const NOTHING: [Did<Body>; 0] = [];

#[test]
fn r1_sends_its_number_and_lists_only_itself() {
    let mut p2 = Fixture::<ActiveList>::following(2, Some(4));
    assert_eq!(p2.process.coordinator(), Some(id(4)));
    assert_eq!(p2.ask(), [started(), sent(3, 1, elect(2, 2))]);
    assert_eq!(p2.process.members(), ids(&[2]));
    assert_eq!(p2.process.coordinator(), None);
}

#[test]
fn r2a_sends_its_own_number_before_the_first_that_it_sees() {
    let mut p2 = Fixture::<ActiveList>::following(2, Some(4));
    assert_eq!(p2.arrive(1, elect(1, 2)), [sent(3, 1, elect(2, 2)), sent(3, 2, elect(1, 2))]);
    assert_eq!(p2.process.members(), ids(&[2, 1]));
    assert_eq!(p2.process.coordinator(), None);
}

#[test]
fn r2a_a_newer_election_begins_with_a_new_list() {
    let mut p2 = electing();
    p2.arrive(1, elect(4, 2));
    assert_eq!(p2.arrive(1, elect(1, 3)), [sent(3, 1, elect(2, 3)), sent(3, 2, elect(1, 3))]);
    assert_eq!(p2.process.members(), ids(&[2, 1]));
}

#[test]
fn r2b_adds_another_and_passes_it_on() {
    let mut p2 = electing();
    assert_eq!(p2.arrive(1, elect(1, 2)), [sent(3, 2, elect(1, 2))]);
    assert_eq!(p2.arrive(2, elect(4, 2)), [sent(3, 3, elect(4, 2))]);
    assert_eq!(p2.process.members(), ids(&[2, 1, 4]));
}

#[test]
fn r2c_its_own_number_completes_the_list() {
    let mut p2 = electing();
    p2.arrive(1, elect(1, 2));
    p2.arrive(2, elect(3, 2));
    assert_eq!(p2.arrive(3, elect(2, 2)), [elected(3)]);
    assert_eq!(p2.process.coordinator(), Some(id(3)));
    assert_eq!(p2.process.members(), ids(&[2, 1, 3]));
}

#[test]
fn r3_a_recovered_process_inquires() {
    let mut p2 = Fixture::<ActiveList>::following(2, Some(4));
    assert_eq!(p2.come_back(), [sent(3, 1, inquiry(2, 0))]);
    assert_eq!(p2.process.coordinator(), None);
    assert_eq!(p2.process.durable().number(), 2, "its second life");
}

#[test]
fn r3_others_pass_the_inquiry_on_with_the_largest_round() {
    let mut p2 = Fixture::<ActiveList>::following(2, Some(4));
    assert_eq!(p2.arrive(1, inquiry(1, 0)), [sent(3, 2, inquiry(1, 1))]);
    assert_eq!(p2.arrive(2, inquiry(4, 7)), [sent(3, 3, inquiry(4, 7))]);
}

#[test]
fn r3_the_coordinator_replies() {
    let mut p2 = Fixture::<ActiveList>::following(2, Some(2));
    assert_eq!(p2.arrive(1, inquiry(1, 0)), [sent(3, 1, reply(1, 2, 1))]);
}

#[test]
fn r3_the_reply_goes_on_round_to_the_one_that_asked() {
    let mut p2 = Fixture::<ActiveList>::following(2, Some(4));
    assert_eq!(p2.arrive(2, reply(3, 4, 1)), [sent(3, 3, reply(3, 4, 1))]);
}

#[test]
fn r3_follows_a_larger_coordinator() {
    let mut p2 = inquiring();
    assert_eq!(p2.arrive(2, reply(2, 4, 5)), [elected(4)]);
    assert_eq!(p2.process.coordinator(), Some(id(4)));
    assert_eq!(p2.process.round(), round(5));
    assert_eq!(p2.arrive(2, reply(2, 3, 5)), NOTHING, "only the first answer counts");
    assert_eq!(p2.process.coordinator(), Some(id(4)));
}

#[test]
fn r3_starts_an_election_if_it_is_larger_than_the_coordinator() {
    let mut p2 = inquiring();
    assert_eq!(p2.arrive(1, reply(2, 1, 5)), [started(), sent(3, 1, elect(2, 6))]);
}

#[test]
fn r3_starts_an_election_if_none_answers() {
    let mut p2 = inquiring();
    assert_eq!(p2.arrive(3, inquiry(2, 5)), [started(), sent(3, 1, elect(2, 6))]);
}

#[test]
fn r3_leaves_the_answer_to_an_election_that_began_meanwhile() {
    let mut p2 = inquiring();
    assert_eq!(p2.arrive(1, elect(1, 5)), [sent(3, 1, elect(2, 5)), sent(3, 2, elect(1, 5))]);
    assert_eq!(p2.arrive(3, inquiry(2, 5)), NOTHING);
    assert_eq!(p2.arrive(3, reply(2, 4, 4)), NOTHING);
    assert_eq!(p2.process.members(), ids(&[2, 1]));
}

/// To join the election of its earlier life would send its number round a second time, and R4
/// would have the others strike out a process that lives.
#[test]
fn r3_its_number_from_an_earlier_life_makes_it_start_a_newer_election() {
    let mut p2 = inquiring();
    assert_eq!(p2.arrive(4, elect(2, 5)), [started(), sent(3, 1, elect(2, 6))]);
    assert_eq!(p2.process.members(), ids(&[2]));
}

#[test]
fn r4_a_number_that_comes_twice_is_of_a_dead_process() {
    let mut p2 = electing();
    p2.arrive(1, elect(1, 2));
    p2.arrive(2, elect(4, 2));
    assert_eq!(p2.arrive(4, elect(4, 2)), NOTHING);
    assert_eq!(p2.process.members(), ids(&[2, 1]));
    assert_eq!(p2.arrive(3, elect(2, 2)), [elected(2)], "so it cannot win");
}

#[test]
fn leftovers_of_other_elections_are_dropped() {
    let mut p2 = electing();
    p2.arrive(3, elect(2, 2));
    assert_eq!(p2.arrive(1, elect(4, 2)), NOTHING, "of the one that is over");
    p2.ask();
    assert_eq!(p2.arrive(1, elect(4, 2)), NOTHING, "of the one before this");
    assert_eq!(p2.process.members(), ids(&[2]));
}

#[test]
fn an_old_number_out_of_the_blue_starts_an_election() {
    let mut p2 = electing();
    p2.arrive(3, elect(2, 2));
    assert_eq!(p2.arrive(1, elect(1, 1)), [started(), sent(3, 1, elect(2, 3))]);
}
