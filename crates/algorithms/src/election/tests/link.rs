//! One test per rule of the link, seen from P2 of the ring 1, 2, 3, 4.

use super::*;
use crate::election::chang_roberts::Body;
use crate::election::tests::{Fixture, T, exactly, id, silent_link};
use bellwether_core::Effect::{self, CancelTimer, Emit, Send, SetTimer};

type P2 = Fixture<Link<Body>>;
type Seen = Effect<Link<Body>>;

/// What these tests send round; the link does not look at it.
fn note(number: u32) -> Body {
    Body::Election(id(number))
}

fn carry(seq: u32, hops: u32, again: bool) -> Msg<Body> {
    Msg::Carry { seq: Seq(seq), leg: Leg::new(hops, again), body: note(seq) }
}

fn ack(seq: u32) -> Msg<Body> {
    Msg::Ack { seq: Seq(seq) }
}

/// A message of its own leaves for the first time, and is sent on after a crash.
fn sent(to: u32, seq: u32) -> Seen {
    Send(id(to), carry(seq, 1, false))
}

fn sent_again(to: u32, seq: u32) -> Seen {
    Send(id(to), carry(seq, 1, true))
}

fn wait() -> Seen {
    SetTimer(AckTimeout, exactly(T))
}

const NO_WAIT: Seen = CancelTimer(AckTimeout);

fn towards(direction: Direction) -> P2 {
    let mut p2 = P2::blank(2, Config { acknowledge: true, ..silent_link(direction) });
    assert_eq!(p2.start(None), []);
    p2
}

impl P2 {
    /// Sends the messages with these numbers, all its own.
    fn send(&mut self, seqs: std::ops::Range<u32>) -> Vec<Seen> {
        seqs.flat_map(|seq| self.input(Forward { body: note(seq), hops: 0 })).collect()
    }

    /// Receives one from P1.
    fn receive(&mut self, seq: u32) -> Vec<Seen> {
        self.deliver(1, carry(seq, 1, false))
    }
}

/// P2 after it has sent these messages to P3, without an answer, and then to P4.
fn skipping_p3(seqs: std::ops::Range<u32>) -> P2 {
    let mut p2 = towards(Direction::Clockwise);
    p2.send(seqs);
    p2.fire(AckTimeout);
    p2
}

fn acknowledged(from: u32, seq: u32) -> Seen {
    Send(id(from), ack(seq))
}

fn arrived(seq: u32) -> Seen {
    Emit(Arrived { body: note(seq), hops: 1 })
}

#[test]
fn l1_sends_to_the_nearest_and_waits_for_the_acknowledgement() {
    let mut p2 = towards(Direction::Clockwise);
    assert_eq!(p2.send(0..2), [wait(), sent(3, 0), sent(3, 1)], "one timer for all");
    assert_eq!(p2.deliver(3, ack(0)), [wait()], "for the other one");
    assert_eq!(p2.deliver(3, ack(1)), [NO_WAIT]);
}

#[test]
fn l1_a_message_that_is_passed_on_keeps_its_hops() {
    let mut p2 = towards(Direction::Clockwise);
    let passed = Send(id(3), carry(0, 4, false));
    assert_eq!(p2.input(Forward { body: note(0), hops: 3 }), [wait(), passed]);
}

#[test]
fn l1_goes_the_other_way_round_too() {
    let mut p2 = towards(Direction::Counter);
    assert_eq!(p2.send(0..1), [wait(), sent(1, 0)]);
    assert_eq!(p2.fire(AckTimeout), [sent_again(4, 0), wait()]);
    assert_eq!(p2.deliver(1, Msg::Hello), [sent_again(1, 0), wait()]);
}

#[test]
fn l1_waits_for_nothing_where_nothing_can_fail() {
    let mut p2 = P2::blank(2, silent_link(Direction::Clockwise));
    assert_eq!(p2.send(0..1), [sent(3, 0)]);
    assert_eq!(p2.receive(0), [arrived(0)]);
    assert_eq!(p2.recover(), []);
}

#[test]
fn l2_acknowledges_what_arrives_and_delivers_it_once() {
    let mut p2 = towards(Direction::Clockwise);
    assert_eq!(p2.receive(5), [acknowledged(1, 5), arrived(5)]);
    assert_eq!(p2.receive(5), [acknowledged(1, 5)]);
}

#[test]
fn l2_knows_messages_again_whatever_their_order() {
    let mut p2 = towards(Direction::Clockwise);
    let order = [7, 5, 30, 6, 8, 36];
    for seq in order {
        assert_eq!(p2.receive(seq), [acknowledged(1, seq), arrived(seq)]);
    }
    for seq in order {
        assert_eq!(p2.receive(seq), [acknowledged(1, seq)]);
    }
}

#[test]
fn l2_tells_senders_apart() {
    let mut p2 = towards(Direction::Clockwise);
    p2.receive(5);
    assert_eq!(p2.deliver(4, carry(5, 1, false)), [acknowledged(4, 5), arrived(5)]);
}

/// HELLO may overtake or be overtaken; what arrived before it must not arrive again.
#[test]
fn l2_a_hello_does_not_make_it_forget() {
    let mut p2 = towards(Direction::Clockwise);
    p2.receive(2 * SEQS_PER_LIFE);
    assert_eq!(p2.deliver(1, Msg::Hello), []);
    assert_eq!(p2.receive(2 * SEQS_PER_LIFE), [acknowledged(1, 2 * SEQS_PER_LIFE)]);
}

#[test]
fn l2_a_message_of_a_new_life_is_new() {
    let mut p2 = towards(Direction::Clockwise);
    p2.receive(0);
    assert_eq!(p2.receive(SEQS_PER_LIFE), [acknowledged(1, SEQS_PER_LIFE), arrived(SEQS_PER_LIFE)]);
}

#[test]
fn l3_skips_a_silent_neighbour_and_sends_the_next_one_all_in_order() {
    let mut p2 = towards(Direction::Clockwise);
    p2.send(0..3);
    p2.deliver(3, ack(1));
    assert_eq!(p2.fire(AckTimeout), [sent_again(4, 0), sent_again(4, 2), wait()]);
    assert_eq!(p2.send(3..4), [sent(4, 3)], "and all that follows");
}

#[test]
fn l3_who_is_left_alone_sends_to_itself() {
    let mut p2 = skipping_p3(0..1);
    p2.fire(AckTimeout);
    assert_eq!(p2.fire(AckTimeout), [sent_again(2, 0), NO_WAIT]);
    assert_eq!(p2.deliver(2, carry(0, 1, true)), [arrived(0)], "and acknowledges nothing");
    assert_eq!(p2.send(1..2), [sent(2, 1)]);
}

#[test]
fn l4_a_recovered_process_says_hello_to_all() {
    let mut p2 = towards(Direction::Clockwise);
    p2.send(0..1);
    assert_eq!(p2.recover(), [1, 3, 4].map(|other| Send(id(other), Msg::Hello)));
    assert_eq!(p2.send(SEQS_PER_LIFE..SEQS_PER_LIFE + 1), [wait(), sent(3, SEQS_PER_LIFE)]);
}

#[test]
fn l4_who_skips_a_recovered_process_sends_to_it_again() {
    let mut p2 = skipping_p3(0..2);
    assert_eq!(p2.deliver(3, Msg::Hello), [sent_again(3, 0), sent_again(3, 1), wait()]);
    assert_eq!(p2.send(2..3), [sent(3, 2)]);
}

#[test]
fn l4_a_neighbours_new_life_gets_what_the_old_one_did_not_acknowledge() {
    let mut p2 = towards(Direction::Clockwise);
    p2.send(0..2);
    p2.deliver(3, ack(0));
    assert_eq!(p2.deliver(3, Msg::Hello), [sent_again(3, 1), wait()]);
}

#[test]
fn l4_a_process_beyond_the_neighbour_is_none_of_its_business() {
    let mut p2 = towards(Direction::Clockwise);
    p2.send(0..1);
    assert_eq!(p2.deliver(4, Msg::Hello), []);
    assert_eq!(p2.send(1..2), [sent(3, 1)]);
}

#[test]
fn l4_a_late_acknowledgement_is_a_sign_of_life() {
    let mut p2 = skipping_p3(0..1);
    assert_eq!(p2.deliver(3, ack(0)), [sent_again(3, 0), wait()]);
    assert_eq!(p2.deliver(4, ack(0)), [], "of one that is not the neighbour any more");
    assert_eq!(p2.deliver(3, ack(0)), [NO_WAIT]);
}

#[test]
fn l5_drops_a_message_after_more_hops_than_places() {
    let mut p2 = towards(Direction::Clockwise);
    let home = Emit(Arrived { body: note(0), hops: 4 });
    assert_eq!(p2.deliver(1, carry(0, 4, false)), [acknowledged(1, 0), home]);
    assert_eq!(p2.deliver(1, carry(1, 5, false)), [acknowledged(1, 1)]);
}
