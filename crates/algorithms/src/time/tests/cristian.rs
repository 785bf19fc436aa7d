//! Cristian's rules, one by one.

use super::*;
use crate::time::tests::{Fixture, START, T, id, ms, said, sent, settings};
use crate::time::{BadSample, Output};
use bellwether_core::Effect::{CancelTimer, Emit, Send, SetTimer};

/// Process 1 of 1..3, whose server is 3, with these options.
fn client(options: &[(&str, &str)]) -> Fixture<Cristian> {
    Fixture::new(1, 3, &settings(options))
}

/// The question that a process has just asked.
fn question(fixture: &Fixture<Cristian>) -> Question {
    fixture.process.last
}

/// Answers the open question after `back`, when the server's clock shows `time`.
fn answer(client: &mut Fixture<Cristian>, back: Duration, time: Time) -> Vec<Output> {
    let question = question(client);
    said(&client.after(back).deliver(3, Msg::Time(question, time)))
}

#[test]
fn c1_a_client_asks_every_interval_and_the_server_never() {
    let mut client = client(&[("interval", "5s")]);
    let asked = client.fire(Timer::Round);
    assert_eq!(
        asked,
        [
            Send(id(3), Msg::Request(question(&client))),
            SetTimer(Timer::Answer, T..T),
            SetTimer(Timer::Round, ms(5_000)..ms(5_000)),
        ]
    );
    let mut server = Fixture::<Cristian>::new(3, 3, &settings(&[]));
    assert_eq!(server.recover(), []);
    assert_eq!(client.recover(), [SetTimer(Timer::Round, T..T)], "one T after a start");
}

#[test]
fn c2_only_the_server_answers_with_its_time() {
    let mut asker = client(&[]);
    asker.fire(Timer::Round);
    let request = Msg::Request(question(&asker));
    let mut server = Fixture::<Cristian>::new(3, 3, &settings(&[]));
    let answered = server.deliver(1, request);
    assert_eq!(answered, [Send(id(1), Msg::Time(question(&asker), START))]);
    assert_eq!(client(&[]).deliver(2, request), []);
}

#[test]
fn c3_and_c4_half_of_the_round_trip_is_added() {
    let mut client = client(&[("samples", "1"), ("min", "4ms")]);
    client.fire(Timer::Round);
    let theirs = START + ms(200);
    let said = answer(&mut client, ms(20), theirs);
    let [Output::Set(setting)] = said[..] else { panic!("{said:?}") };
    assert_eq!(setting.by, Offset::from_micros(190_000), "200 + 20/2 - 20");
    assert_eq!((setting.bound, setting.age), (ms(6), ms(20)), "20/2 - 4");
    assert_eq!((setting.left, setting.takes), (setting.by, ms(3_800)));
    assert_eq!(
        setting.to_string(),
        "sets its clock by +190ms, within 6ms of P3's, slewed for 3.8s"
    );
    assert_eq!(client.shown(), START + ms(20), "not at a stroke");
    client.after(ms(3_800));
    assert_eq!(client.shown(), START + ms(20 + 3_800 + 190));
}

#[test]
fn c3_a_negative_round_trip_is_refused_and_changes_nothing() {
    let mut client = client(&[("samples", "1")]);
    client.fire(Timer::Round);
    let (clock, question) = (client.process.clock, question(&client));
    client.now = Time::from_micros(START.as_micros() - 5_000);
    let refused = said(&client.deliver(3, Msg::Time(question, START + ms(900))));
    let why = BadSample::NegativeRoundTrip(Offset::from_micros(-5_000));
    assert_eq!(refused, [Output::Refused(id(3), why), Output::Missed]);
    assert_eq!(client.process.clock, clock);
    assert_eq!(
        refused[0].to_string(),
        "refuses an answer of P3: the answer came before the question: a round trip of -5ms"
    );
}

#[test]
fn c3_a_round_trip_below_twice_the_least_is_refused() {
    let mut client = client(&[("samples", "1"), ("min", "10ms")]);
    client.fire(Timer::Round);
    let clock = client.process.clock;
    let refused = answer(&mut client, ms(19), START);
    // By a clock that loses 100 ppm, 20 ms are 2 us less; and readings are rounded.
    let least = Duration::from_micros(19_997);
    let why = BadSample::TooShort { delay: ms(19), least };
    assert_eq!(refused, [Output::Refused(id(3), why), Output::Missed]);
    assert_eq!(client.process.clock, clock);
}

#[test]
fn c4_the_shortest_round_trip_of_a_round_counts() {
    let mut client = client(&[("samples", "3")]);
    client.fire(Timer::Round);
    // The server is one second ahead; the second sample is the best, wherever its answer was.
    for (trip, off) in [(40, 20), (10, 2), (30, -10)] {
        let theirs = client.now + ms(1_000 + trip / 2);
        let theirs = Offset::from_micros(off * 1_000).after(theirs);
        let said = answer(&mut client, ms(trip), theirs);
        if let [Output::Set(setting)] = said[..] {
            assert_eq!(setting.by, Offset::from_micros(1_002_000));
            assert_eq!((setting.bound, setting.age), (ms(5), ms(40)));
            return;
        }
        assert_eq!(said, []);
    }
    panic!("the round does not end");
}

#[test]
fn c5_lost_answers_are_not_waited_for() {
    let mut client = client(&[("samples", "2")]);
    client.fire(Timer::Round);
    let late = question(&client);
    let again = client.after(T).fire(Timer::Answer);
    assert_eq!(sent(&again), [(id(3), Msg::Request(question(&client)))]);
    assert_ne!(late, question(&client));
    assert_eq!(client.deliver(3, Msg::Time(late, START)), [], "an answer that comes too late");
    let stranger = Msg::Time(question(&client), START);
    assert_eq!(client.deliver(2, stranger), [], "or from another process");
    assert_eq!(client.after(T).fire(Timer::Answer), [Emit(Output::Missed)]);
    assert_eq!(client.fire(Timer::Answer), [], "there is nothing to wait for");
}

#[test]
fn c5_one_of_several_is_enough() {
    let mut client = client(&[("samples", "2")]);
    client.fire(Timer::Round);
    client.after(T).fire(Timer::Answer);
    let theirs = client.now + ms(5);
    let question = question(&client);
    let effects = client.after(ms(10)).deliver(3, Msg::Time(question, theirs));
    assert_eq!(effects[0], CancelTimer(Timer::Answer));
    assert!(matches!(said(&effects)[..], [Output::Set(setting)] if setting.by == Offset::ZERO));
    let twice = client.deliver(3, Msg::Time(question, theirs));
    assert_eq!(twice, [], "the same answer once more");
}

/// Otherwise an answer to a question of an earlier life would be taken for a quick one.
#[test]
fn no_question_has_the_number_of_one_in_an_earlier_life() {
    let mut client = client(&[]);
    client.fire(Timer::Round);
    let before = question(&client);
    client.recover();
    client.fire(Timer::Round);
    assert_eq!(question(&client).count(), before.count());
    assert_eq!(client.deliver(3, Msg::Time(before, START)), []);
}

/// While a clock is being slewed it is measured against what it is due to show.
#[test]
fn a_second_round_finds_nothing_to_correct() {
    let mut client = client(&[("samples", "1")]);
    for expected in [1_000_000, 0] {
        client.fire(Timer::Round);
        let theirs = client.now + ms(1_005);
        let said = answer(&mut client, ms(10), theirs);
        let [Output::Set(setting)] = said[..] else { panic!("{said:?}") };
        assert_eq!(setting.by, Offset::from_micros(expected));
        client.after(ms(100));
    }
    assert!(client.shown() < client.process.clock.due(client.now), "it is still on its way");
}

#[test]
fn bad_options_are_refused_with_what_would_be_right() {
    let group = Group::numbered(3).unwrap();
    for (options, option, why) in [
        (&[("server", "4")][..], "server", "there is no process 4; the members are 1, 2, 3"),
        (&[("samples", "0")], "samples", "a round takes from 1 to 100 samples, not 0"),
        (&[("samples", "x")], "samples", "'x' is not a whole number here"),
        (&[("min", "60ms")], "min", "no answer can come within T; T must be above twice that"),
        (
            &[("interval", "400ms")],
            "interval",
            "a round can take 400ms, so 400ms from one to the next is too little",
        ),
        (&[("slew", "60%")], "slew", "60% is too fast; expected 50% at most"),
        (&[("slew", "200ppm")], "slew", "200ppm does not make up for clocks that drift by 100ppm"),
        (&[("max-drift", "1")], "max-drift", "'1' is no rate; expected for example 5% or 100ppm"),
    ] {
        let refused = Cristian::definition().check(&settings(options), &group).unwrap_err();
        assert_eq!(refused, BadOption { option, why: why.to_owned() });
        // And as if nothing had been said.
        let usual = Cristian::definition().config(&settings(&[]), &group);
        assert_eq!(Cristian::definition().config(&settings(options), &group), usual);
    }
}
