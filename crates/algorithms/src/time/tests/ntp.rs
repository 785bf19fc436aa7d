//! The rules of NTP, one by one.

use super::*;
use crate::time::tests::{Fixture, START, T, id, ms, said, sent, settings};
use crate::time::{BadSample, Offset, Output};
use bellwether_core::Effect::{Emit, Send, SetTimer};

/// Process 1 of 1..4, whose servers are 2, 3 and 4.
fn client(options: &[(&str, &str)]) -> Fixture<Ntp> {
    Fixture::new(1, 4, &settings(options))
}

fn offset(ms: i64) -> Offset {
    Offset::from_micros(ms * 1_000)
}

/// A poll in which servers 2, 3 and so on are this many milliseconds ahead and their answers, of equal
/// ways, come after this many; none if they do not. Says what the client said.
fn poll(client: &mut Fixture<Ntp>, answers: &[Option<(i64, u64)>]) -> Vec<Output> {
    client.fire(Timer::Poll);
    let (question, asked) = (client.process.last, client.now);
    let mut order: Vec<(u64, u32, i64)> = Vec::new();
    for (server, answer) in (2..).zip(answers) {
        order.extend(answer.map(|(ahead, trip)| (trip, server, ahead)));
    }
    order.sort_unstable();
    let mut all = Vec::new();
    for (trip, server, ahead) in order {
        client.now = asked + ms(trip);
        let time = offset(ahead).after(asked + ms(trip) / 2);
        let msg = Msg::Time { question, received: time, sent: time };
        all.extend(said(&client.deliver(server, msg)));
    }
    client.now = asked + T;
    all.extend(said(&client.fire(Timer::Answers)));
    all
}

fn setting(said: &[Output]) -> Setting {
    match said.last() {
        Some(Output::Set(setting)) => *setting,
        other => panic!("{other:?}"),
    }
}

#[test]
fn n1_clients_poll_all_servers_and_servers_poll_none() {
    let mut client = client(&[("interval", "5s")]);
    let polled = client.fire(Timer::Poll);
    let poll = Msg::Poll(client.process.last);
    assert_eq!(
        polled,
        [
            Send(id(2), poll),
            Send(id(3), poll),
            Send(id(4), poll),
            SetTimer(Timer::Answers, T..T),
            SetTimer(Timer::Poll, ms(5_000)..ms(5_000)),
        ]
    );
    let mut server = Fixture::<Ntp>::new(4, 4, &settings(&[]));
    assert_eq!(server.recover(), []);
}

#[test]
fn n2_only_a_server_answers_with_its_time() {
    let mut asker = client(&[]);
    asker.fire(Timer::Poll);
    let question = asker.process.last;
    let mut server = Fixture::<Ntp>::new(3, 4, &settings(&[]));
    let answer = Msg::Time { question, received: START, sent: START };
    assert_eq!(server.deliver(1, Msg::Poll(question)), [Send(id(1), answer)]);
    assert_eq!(sent(&client(&[]).deliver(2, Msg::Poll(question))), []);
}

#[test]
fn n3_a_negative_delay_is_refused_and_changes_nothing() {
    let mut client = client(&[]);
    client.fire(Timer::Poll);
    let (question, before) = (client.process.last, client.process.clone());
    client.after(ms(20));
    // The server says that it took longer to answer than all of it took here.
    let msg = Msg::Time { question, received: START, sent: START + ms(30) };
    let why = BadSample::NegativeDelay(offset(-10));
    assert_eq!(client.deliver(2, msg), [Emit(Output::Refused(id(2), why))]);
    client.now = Time::from_micros(START.as_micros() - 1_000);
    let msg = Msg::Time { question, received: START, sent: START };
    let why = BadSample::NegativeRoundTrip(offset(-1));
    assert_eq!(client.deliver(3, msg), [Emit(Output::Refused(id(3), why))]);
    assert_eq!(client.process, before);
}

#[test]
fn n4_the_quickest_of_the_last_answers_counts() {
    let mut client = client(&[("servers", "2"), ("accuracy", "0"), ("max-drift", "0ppm")]);
    assert_eq!(setting(&poll(&mut client, &[Some((50, 40))])).bound, ms(20) + ROUNDING);
    let quick = setting(&poll(&mut client, &[Some((51, 10))]));
    assert_eq!((quick.by, quick.bound), (offset(1), ms(5) + ROUNDING));
    // Seven more that say less, and the quick one is still remembered; then it is not.
    for number in 0..7 {
        let slow = setting(&poll(&mut client, &[Some((58, 60 + number))]));
        assert_eq!((slow.by, slow.bound), (Offset::ZERO, ms(5) + ROUNDING), "{number}");
    }
    let last = setting(&poll(&mut client, &[Some((58, 70))]));
    assert_eq!((last.by, last.bound), (offset(7), ms(30) + ROUNDING));
}

#[test]
fn n4_old_answers_count_for_less() {
    let mut client = client(&[("servers", "2"), ("accuracy", "0"), ("max-drift", "1000ppm")]);
    poll(&mut client, &[Some((0, 10))]);
    client.after(ms(9_900));
    let set = setting(&poll(&mut client, &[Some((4, 26))]));
    assert_eq!(set.bound, ms(13) + Duration::from_micros(26) + ROUNDING, "10 s ago are 10 ms more");
    assert_eq!(set.by, offset(4));
}

#[test]
fn n4_a_server_that_is_silent_for_eight_polls_is_forgotten() {
    let mut client = client(&[]);
    poll(&mut client, &[Some((0, 10)), Some((0, 10)), None]);
    for _ in 0..7 {
        let said = poll(&mut client, &[Some((0, 10)), None, None]);
        assert!(matches!(said[..], [Output::Set(_)]), "{said:?}");
    }
    let said = poll(&mut client, &[Some((0, 10)), None, None]);
    let expected = NoMajority { agree: 1, answered: 1, servers: 3 };
    assert_eq!(said, [Output::NoMajority(expected)]);
    assert_eq!(
        said[0].to_string(),
        "leaves its clock alone: 1 of 3 servers answer and no two agree, where 2 must"
    );
}

#[test]
fn n5_falsetickers_are_cast_out_and_named_once() {
    let mut client = client(&[("accuracy", "1ms")]);
    let said = poll(&mut client, &[Some((100, 20)), Some((5_000, 20)), Some((104, 20))]);
    assert_eq!(said[0], Output::Falsetickers(vec![id(3)]));
    assert_eq!(said[0].to_string(), "casts out P3");
    assert_eq!(setting(&said).by, offset(102), "the middle of 93 to 111");
    let again = poll(&mut client, &[Some((100, 20)), Some((5_000, 20)), Some((104, 20))]);
    assert!(matches!(again[..], [Output::Set(_)]), "nothing new: {again:?}");
    let right = poll(&mut client, &[Some((100, 20)), Some((100, 10)), Some((104, 20))]);
    assert_eq!(right[0], Output::Falsetickers(vec![]));
    assert_eq!(right[0].to_string(), "finds all servers right");
}

/// P3 overlaps with both, but they do not: the truth may be at either side of it.
#[test]
fn n5_the_bound_is_honest_where_a_falseticker_agrees_with_some() {
    let mut client = client(&[("accuracy", "0"), ("max-drift", "0ppm")]);
    let set = setting(&poll(&mut client, &[Some((0, 20)), Some((18, 20)), Some((38, 24))]));
    // 8 to 10 and 26 to 28 have two each: the first counts, and reaches to 28.
    assert_eq!(set.by, offset(9));
    assert_eq!(set.bound, ms(19) + ROUNDING);
}

/// P4 is right but does not answer; one of the other two may be wrong, and no process knows which.
#[test]
fn n5_the_bound_is_honest_where_right_servers_do_not_answer() {
    let mut client = client(&[("accuracy", "0"), ("max-drift", "0ppm")]);
    let set = setting(&poll(&mut client, &[Some((0, 20)), Some((18, 20)), None]));
    assert_eq!(set.by, offset(9), "8 to 10 have both");
    assert_eq!(set.bound, ms(19) + ROUNDING, "and -10 to 28 at least one");
}

#[test]
fn n6_without_a_majority_the_clock_stays_as_it_is() {
    let mut client = client(&[]);
    let clock = client.process.clock;
    let said = poll(&mut client, &[Some((0, 20)), Some((1_000, 20)), Some((2_000, 20))]);
    let expected = NoMajority { agree: 1, answered: 3, servers: 3 };
    assert_eq!(said, [Output::NoMajority(expected)]);
    assert_eq!(client.process.clock, clock);
    let silence = poll(&mut self::client(&[]), &[None, None, None]);
    let expected = NoMajority { agree: 0, answered: 0, servers: 3 };
    assert_eq!(silence, [Output::NoMajority(expected)]);
    let mut four = Fixture::<Ntp>::new(1, 5, &settings(&[("servers", "2,3,4,5")]));
    let pairs = poll(&mut four, &[Some((0, 9)), Some((0, 9)), Some((500, 9)), Some((500, 9))]);
    assert_eq!(
        pairs[0].to_string(),
        "leaves its clock alone: 4 of 4 servers answer and 2 agree, where 3 must"
    );
}

#[test]
fn answers_count_once_and_only_from_servers_in_time() {
    let mut client = client(&[]);
    client.fire(Timer::Poll);
    let question = client.process.last;
    client.after(ms(20));
    let at = |time| Msg::Time { question, received: time, sent: time };
    assert_eq!(client.deliver(2, at(START + ms(10))), []);
    let before = client.process.clone();
    assert_eq!(client.deliver(2, at(START + ms(999))), [], "the same answer once more");
    assert_eq!(client.deliver(1, at(START)), [], "no server");
    assert_eq!(client.process, before);
    client.fire(Timer::Answers);
    let before = client.process.clone();
    assert_eq!(client.deliver(3, at(START)), [], "too late");
    assert_eq!(client.process, before);
}

#[test]
fn servers_are_the_three_largest_but_one_process_is_a_client() {
    let servers = |nodes| {
        let group = Group::numbered(nodes).unwrap();
        let servers = Ntp::definition().config(&settings(&[]), &group).servers;
        servers.iter().map(|id| id.number()).collect::<Vec<_>>()
    };
    assert_eq!(servers(1), [1]);
    assert_eq!(servers(2), [2]);
    assert_eq!(servers(3), [2, 3]);
    assert_eq!(servers(7), [5, 6, 7]);
    let group = Group::numbered(3).unwrap();
    let refused =
        |text| Ntp::definition().check(&settings(&[("servers", text)]), &group).unwrap_err().why;
    assert_eq!(refused("1,9"), "there is no process 9; the members are 1, 2, 3");
    assert_eq!(refused("1,1"), "a server is named twice, and would count twice");
}
