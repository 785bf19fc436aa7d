//! The rules of the Berkeley algorithm, one by one.

use super::*;
use crate::time::tests::{Fixture, START, T, id, ms, said, sent, settings};
use crate::time::{BadSample, Output};
use bellwether_core::Effect::{CancelTimer, Send, SetTimer};

/// A process of 1..n, where the largest is the master.
fn member(number: u32, nodes: u32, options: &[(&str, &str)]) -> Fixture<Berkeley> {
    let mut settings = settings(options);
    settings.coordinator = Some(id(nodes));
    Fixture::new(number, nodes, &settings)
}

fn offset(ms: i64) -> Offset {
    Offset::from_micros(ms * 1_000)
}

/// A clock that is so far ahead of one that shows `now`.
fn ahead(now: Time, by_ms: i64) -> Time {
    offset(by_ms).after(now)
}

fn reading(master: &Fixture<Berkeley>, by_ms: i64, back_ms: u64) -> Msg {
    // As of half the round trip ago.
    let then = Time::from_micros(master.now.as_micros() - 1_000 * back_ms);
    given(master.process.last, ahead(then, by_ms))
}

/// The first reading of a process.
fn given(round: Question, time: Time) -> Msg {
    Msg::Reading(Reading { round, number: rounds()[0], time })
}

fn election(msg: bully::Msg) -> Msg {
    Msg::Election(election::Msg::Election(msg))
}

fn settings_of(said: &[Output]) -> Vec<Setting> {
    let set = |output: &Output| match output {
        Output::Set(setting) => Some(*setting),
        _ => None,
    };
    said.iter().filter_map(set).collect()
}

#[test]
fn b1_the_master_polls_all_others_every_interval() {
    let mut master = member(3, 3, &[("interval", "5s")]);
    let polled = master.fire(Timer::Round);
    let round = master.process.last;
    assert_eq!(
        polled,
        [
            Send(id(1), Msg::Poll(round)),
            Send(id(2), Msg::Poll(round)),
            SetTimer(Timer::Collect, T..T),
            SetTimer(Timer::Round, ms(5_000)..ms(5_000)),
        ]
    );
    let mut other = member(2, 3, &[]);
    assert_eq!(other.fire(Timer::Round), [], "no other process does");
    assert_eq!(other.call(|process, cx| process.on_input(Input::Synchronise, cx)), []);
}

#[test]
fn b1_who_is_elected_begins_after_t() {
    let mut p2 = member(2, 3, &[]);
    p2.call(|process, cx| process.on_input(Input::Elect(election::Input::Suspect), cx));
    let answer = Timer::Election(election::Timer::Election(bully::Timer::Answer));
    let elected = p2.fire(answer);
    assert!(elected.contains(&SetTimer(Timer::Round, T..T)), "{elected:?}");
    assert_eq!(sent(&p2.fire(Timer::Round)).len(), 2);
    let deposed = p2.deliver(3, election(bully::Msg::Coordinator));
    assert!(deposed.contains(&CancelTimer(Timer::Round)));
    assert!(deposed.contains(&CancelTimer(Timer::Collect)), "and its round with it");
    assert_eq!(p2.fire(Timer::Collect), []);
}

#[test]
fn b2_only_the_coordinator_is_answered() {
    let mut master = member(3, 3, &[]);
    master.fire(Timer::Round);
    let poll = Msg::Poll(master.process.last);
    let mut p1 = member(1, 3, &[]);
    assert_eq!(sent(&p1.deliver(2, poll.clone())), []);
    let read = p1.deliver(3, poll.clone());
    assert_eq!(sent(&read), [(id(3), given(master.process.last, START))]);
    assert_eq!(p1.deliver(3, poll), [], "and once only");
}

#[test]
fn b3_to_b5_readings_are_compensated_averaged_and_corrected() {
    let mut master = member(3, 3, &[]);
    master.fire(Timer::Round);
    // P1 is 90 ms ahead, P2 30 ms behind; round trips of 20 and 40 ms.
    master.after(ms(20));
    let from_p1 = reading(&master, 90, 10);
    assert_eq!(master.deliver(1, from_p1.clone()), []);
    assert_eq!(master.deliver(1, from_p1), [], "once is enough");
    master.after(ms(20));
    let ended = master.deliver(2, reading(&master, -30, 20));
    let round = master.process.last;
    let adjust = |to, by_ms, bound| {
        let (by, bound) = (offset(by_ms), ms(bound));
        (id(to), Msg::Adjust { round, reading: rounds()[0], by, bound })
    };
    assert_eq!(sent(&ended), [adjust(1, -70, 10), adjust(2, 50, 20)]);
    let said = said(&ended);
    assert_eq!(said[0].to_string(), "takes the mean of 3 clocks: +20ms");
    assert_eq!(settings_of(&said)[0].by, offset(20), "its own too");
    assert_eq!(said[1].to_string(), "sets its clock by +20ms, slewed for 400ms");
    assert!(ended.contains(&CancelTimer(Timer::Collect)));
}

#[test]
fn b3_a_negative_round_trip_is_refused_and_does_not_count() {
    let mut master = member(3, 3, &[]);
    master.fire(Timer::Round);
    let round = master.process.last;
    master.now = Time::from_micros(START.as_micros() - 7_000);
    let refused = said(&master.deliver(1, given(round, START)));
    let why = BadSample::NegativeRoundTrip(offset(-7));
    assert_eq!(refused, [Output::Refused(id(1), why)]);
    assert_eq!(master.process.round.as_ref().unwrap().readings, []);
}

#[test]
fn b4_those_that_do_not_answer_within_t_are_left_out() {
    let mut master = member(4, 4, &[]);
    master.fire(Timer::Round);
    master.after(ms(20));
    master.deliver(2, reading(&master, 100, 10));
    let late = reading(&master, 0, 10);
    master.after(ms(80));
    let ended = master.fire(Timer::Collect);
    let Output::Averaged { clocks: 2, mean, .. } = said(&ended)[0] else { panic!("{ended:?}") };
    assert_eq!(mean, offset(50));
    assert_eq!(sent(&ended).len(), 1);
    assert_eq!(master.deliver(1, late), [], "too late");
}

#[test]
fn b4_and_b5_an_outlier_does_not_count_but_is_corrected() {
    let mut master = member(4, 4, &[("gamma", "500ms")]);
    master.fire(Timer::Round);
    master.after(ms(20));
    for (from, by) in [(1, 60), (2, 9_000)] {
        assert_eq!(master.deliver(from, reading(&master, by, 10)), []);
    }
    let ended = master.deliver(3, reading(&master, 30, 10));
    let averaged = said(&ended)[0].clone();
    assert_eq!(averaged.to_string(), "takes the mean of 3 clocks: +30ms, without P2");
    let sent = sent(&ended);
    assert!(matches!(sent[1], (to, Msg::Adjust { by, .. }) if to == id(2) && by == offset(-8_970)));
}

/// The member that a master's round is at: it has answered `poll`.
fn answered(poll: Question) -> Fixture<Berkeley> {
    let mut p1 = member(1, 3, &[]);
    p1.deliver(3, Msg::Poll(poll));
    p1.after(ms(30));
    p1
}

/// Two rounds of P3.
fn rounds() -> [Question; 2] {
    let mut last = Question::born(Incarnation::new(1));
    [last.next(), last.next()]
}

#[test]
fn b6_a_correction_is_made_once_and_only_if_it_was_asked_for() {
    let [first, second] = rounds();
    let adjust = |reading| Msg::Adjust { round: first, reading, by: offset(-100), bound: ms(10) };
    let mut p1 = answered(first);
    assert_eq!(p1.deliver(3, adjust(second)), [], "of another reading");
    assert_eq!(p1.deliver(2, adjust(first)), [], "of another master");
    let set = settings_of(&said(&p1.deliver(3, adjust(first))));
    assert_eq!((set[0].by, set[0].bound, set[0].age), (offset(-100), ms(10), ms(30 + 20)));
    assert_eq!((set[0].of, set[0].round), (Some(id(3)), Some(first)));
    assert_eq!(p1.deliver(3, adjust(first)), [], "it came twice");
    let mut p1 = answered(first);
    p1.recover();
    p1.deliver(3, election(bully::Msg::Coordinator));
    assert_eq!(sent(&p1.deliver(3, Msg::Poll(first))).len(), 1, "the same POLL, come twice");
    assert_eq!(p1.deliver(3, adjust(first)), [], "for the clock of an earlier life");
    let mut p1 = answered(first);
    p1.deliver(3, Msg::Poll(second));
    assert_eq!(p1.deliver(3, adjust(first)), [], "a newer reading is on its way");
}

/// Two processes that take themselves for the master, as can be while elections go on.
#[test]
fn b6_a_correction_ends_what_was_measured_before_it() {
    let [first, _] = rounds();
    let mut p2 = member(2, 3, &[]);
    p2.deliver(3, Msg::Poll(first));
    p2.call(|process, cx| process.on_input(Input::Elect(election::Input::Suspect), cx));
    p2.fire(Timer::Election(election::Timer::Election(bully::Timer::Answer)));
    p2.fire(Timer::Round);
    let adjusted =
        p2.deliver(3, Msg::Adjust { round: first, reading: first, by: offset(5), bound: ms(10) });
    assert_eq!(adjusted[0], CancelTimer(Timer::Collect));
    assert_eq!(p2.process.round, None, "its readings were of the clock before");
}

#[test]
fn rounds_of_an_earlier_life_are_told_apart() {
    let mut master = member(3, 3, &[]);
    master.fire(Timer::Round);
    let before = reading(&master, 0, 0);
    master.recover();
    assert_eq!(
        master.process.election.coordinator(),
        Some(id(3)),
        "the largest takes over at once"
    );
    master.fire(Timer::Round);
    assert_eq!(master.process.last.count(), 1);
    master.deliver(1, before);
    assert_eq!(master.process.round.as_ref().unwrap().readings, []);
}

#[test]
fn a_master_alone_has_rounds_with_itself() {
    let mut alone = member(1, 1, &[]);
    let said = said(&alone.fire(Timer::Round));
    assert_eq!(said[0].to_string(), "takes the mean of 1 clock: 0ms");
    assert_eq!(said.len(), 2);
}

#[test]
fn messages_show_what_a_reader_wants_to_know() {
    let [first, _] = rounds();
    let shown = |msg: Msg| msg.to_string();
    assert_eq!(shown(Msg::Poll(first)), "POLL(1)");
    assert_eq!(shown(given(first, Time::from_micros(12_300_000_000))), "READING(3:25:00)");
    let by = Offset::from_micros(-1_200_000_000);
    let adjust = Msg::Adjust { round: first, reading: first, by, bound: T };
    assert_eq!(shown(adjust), "ADJUST(-20min)");
}
