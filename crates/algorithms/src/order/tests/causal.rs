use super::super::tests::{Crowd, Move, id, message};
use super::*;
use crate::definition::Settings;
use Move::{Broadcast, Deliver};
use bellwether_core::{Effect, Group, step};

fn config(answers: u32) -> Config {
    Config { answers, unordered: false, timeout: Duration::from_millis(30) }
}

fn crowd(wants: &[u32], answers: u32) -> Crowd<Causal> {
    Crowd::new(wants, config(answers), Input::Broadcast, false)
}

fn after(wants: &[u32], moves: &[Move]) -> Crowd<Causal> {
    let mut crowd = crowd(wants, 0);
    moves.iter().for_each(|next| crowd.make(*next).unwrap());
    crowd
}

#[test]
fn behaves_at_random() {
    let mut held = 0;
    for seed in 0..3_000_u64 {
        let n = 1 + seed % 6;
        let wants: Vec<u32> = (0..n).map(|place| (seed / 6 + place) as u32 % 4).collect();
        let mut crowd = crowd(&wants, seed as u32 % 3);
        crowd.walk(seed).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        assert!(
            crowd.processes.iter().all(|process| process.queue == 0 && process.held.is_empty())
        );
        held += crowd.held;
    }
    assert!(held > 10_000, "only {held} were held back");
}

#[test]
fn c1_counts_the_own_entry_tells_all_and_delivers_at_once() {
    let crowd = after(&[0, 2, 0], &[Broadcast(1), Broadcast(1)]);
    assert_eq!(crowd.delivered[1], [message(2, 1), message(2, 2)]);
    assert_eq!(crowd.processes[1].delivered(), [0, 2, 0]);
    for other in [0, 2] {
        let vectors: Vec<_> =
            crowd.channels[&(1, other)].iter().map(|msg| msg.vector.counters().to_vec()).collect();
        assert_eq!(vectors, [[0, 1, 0], [0, 2, 0]]);
    }
    assert_eq!(crowd.sent, 4);
}

#[test]
fn c2_holds_back_the_second_message_of_a_process_until_the_first_has_come() {
    let mut crowd = after(&[2, 0], &[Broadcast(0), Broadcast(0), Deliver(0, 1, 1)]);
    assert_eq!((crowd.processes[1].held_back(), crowd.delivered[1].len()), (1, 0));
    crowd.make(Deliver(0, 1, 0)).unwrap();
    assert_eq!(crowd.delivered[1], [message(1, 1), message(1, 2)]);
    assert_eq!(crowd.processes[1].held_back(), 0);
}

#[test]
fn c2_holds_back_an_answer_until_its_question_has_come() {
    let asked = [Broadcast(0), Deliver(0, 1, 0), Broadcast(1)];
    let mut crowd = after(&[1, 1, 0], &asked);
    crowd.make(Deliver(1, 2, 0)).unwrap();
    assert!(crowd.delivered[2].is_empty());
    crowd.make(Deliver(0, 2, 0)).unwrap();
    assert_eq!(crowd.delivered[2], [message(1, 1), message(2, 1)]);
}

#[test]
fn c2_delivers_at_once_what_has_nothing_to_do_with_what_is_missing() {
    let crowd = after(&[1, 1, 0], &[Broadcast(0), Broadcast(1), Deliver(1, 2, 0)]);
    assert_eq!(crowd.delivered[2], [message(2, 1)]);
    assert_eq!(crowd.held, 0);
}

#[test]
fn c3_one_message_lets_a_whole_chain_go() {
    // P1 asks, P2 answers, P3 answers that; at P4 they arrive backwards.
    let moves = [Broadcast(0), Deliver(0, 1, 0), Broadcast(1), Deliver(0, 2, 0), Deliver(1, 2, 0)];
    let mut crowd = after(&[1, 1, 1, 0], &moves);
    for next in [Broadcast(2), Deliver(2, 3, 0), Deliver(1, 3, 0)] {
        crowd.make(next).unwrap();
    }
    assert_eq!(crowd.processes[3].held_back(), 2);
    crowd.make(Deliver(0, 3, 0)).unwrap();
    assert_eq!(crowd.delivered[3], [message(1, 1), message(2, 1), message(3, 1)]);
}

/// P1 of three, with a message of P2 that has this vector.
fn hears(p1: &mut Causal, count: u64, vector: &[u64]) -> Vec<Effect<Causal>> {
    let mut clock = VectorClock::new(vector.len());
    for (place, times) in vector.iter().enumerate() {
        (0..*times).for_each(|_| clock.tick(place));
    }
    let msg = Msg { post: Post { id: message(2, count), answers: 0 }, vector: Arc::new(clock) };
    let group = Group::numbered(3).unwrap();
    step(&group, 0, &config(0), |cx| p1.on_message(id(2), msg, cx))
}

fn p1() -> Causal {
    let mut p1 = Causal::default();
    let group = Group::numbered(3).unwrap();
    step(&group, 0, &config(0), |cx| p1.on_start(None, cx));
    p1
}

#[test]
fn c4_a_message_that_comes_twice_is_delivered_once() {
    let mut p1 = p1();
    let delivered = |count, queue| Effect::Emit(Output::Delivered { id: message(2, count), queue });
    // Both copies of the second are held back.
    assert_eq!(hears(&mut p1, 2, &[0, 2, 0]).len(), 1);
    assert_eq!(hears(&mut p1, 2, &[0, 2, 0]).len(), 1);
    assert_eq!(hears(&mut p1, 1, &[0, 1, 0]), [delivered(1, 2), delivered(2, 2)]);
    assert_eq!(hears(&mut p1, 1, &[0, 1, 0]), []);
    assert_eq!((p1.delivered(), p1.held_back()), (&[0, 2, 0][..], 0));
}

#[test]
fn c4_a_vector_of_another_group_is_reported_and_changes_nothing() {
    let mut p1 = p1();
    let before = p1.clone();
    for (vector, entries) in [(&[][..], 0), (&[0, 1], 2), (&[0, 1, 0, 0], 4)] {
        let report = Output::Malformed { from: id(2), entries, members: 3 };
        assert_eq!(hears(&mut p1, 1, vector), [Effect::Emit(report)]);
        assert_eq!(p1, before);
    }
    let text = Output::Malformed { from: id(2), entries: 4, members: 3 }.to_string();
    assert_eq!(text, "ignores P2: a vector of 4 entries in a group of 3");
}

#[test]
fn c4_strangers_and_false_names_are_not_heard() {
    let (group, mut p1) = (Group::numbered(3).unwrap(), p1());
    let before = p1.clone();
    let msg = |sender| Msg {
        post: Post { id: message(sender, 1), answers: 0 },
        vector: Arc::new(VectorClock::new(3)),
    };
    for (from, sender) in [(4, 4), (0, 0), (1, 1), (2, 3)] {
        let said = step(&group, 0, &config(0), |cx| p1.on_message(id(from), msg(sender), cx));
        assert_eq!(said, []);
    }
    // One that counts nothing is as if it had been delivered.
    assert_eq!(hears(&mut p1, 0, &[0, 0, 0]), []);
    assert_eq!(p1, before);
}

#[test]
fn a_process_that_comes_back_takes_no_part() {
    let (group, mut p1) = (Group::numbered(3).unwrap(), Causal::default());
    let outside = [Effect::Emit(Output::Outside)];
    let saved = Some(Incarnation::new(1));
    assert_eq!(step(&group, 0, &config(0), |cx| p1.on_start(saved, cx)), outside);
    assert_eq!(step(&group, 0, &config(0), |cx| p1.on_input(Input::Broadcast, cx)), outside);
    assert_eq!(hears(&mut p1, 1, &[0, 1, 0]), []);
    assert_eq!(p1.durable(), Incarnation::new(2));
}

#[test]
fn survives_any_vector() {
    let mut random = 1_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let (group, mut p1) = (Group::numbered(3).unwrap(), p1());
    for _ in 0..20_000 {
        let odd = [0, 1, 2, 3, u64::MAX, u64::MAX - 1];
        let entries: Vec<u64> = (0..3).map(|_| odd[next() as usize % odd.len()]).collect();
        let vector: VectorClock = serde_json::from_value(serde_json::json!(entries)).unwrap();
        let from = 1 + next() as u32 % 3;
        let post = Post { id: message(from, next()), answers: u32::MAX };
        let msg = Msg { post, vector: Arc::new(vector) };
        step(&group, 0, &config(2), |cx| p1.on_message(id(from), msg, cx));
    }
}

#[test]
fn a_thousand_held_back_messages_are_let_go_in_no_time() {
    // P2 sends five hundred messages to a thousand processes, and they arrive backwards.
    const MEMBERS: u32 = 1_000;
    const COUNT: u64 = 500;
    let group = Group::numbered(MEMBERS).unwrap();
    let mut p1 = Causal::default();
    step(&group, 0, &config(0), |cx| p1.on_start(None, cx));
    let mut clock = VectorClock::new(MEMBERS as usize);
    let mut sent = Vec::new();
    for count in 1..=COUNT {
        clock.tick(1);
        let post = Post { id: message(2, count), answers: 0 };
        sent.push(Msg { post, vector: Arc::new(clock.clone()) });
    }
    let mut delivered = 0;
    for msg in sent.into_iter().rev() {
        let said = step(&group, 0, &config(0), |cx| p1.on_message(id(2), msg, cx));
        delivered +=
            said.iter().filter(|e| matches!(e, Effect::Emit(Output::Delivered { .. }))).count();
    }
    assert_eq!((delivered as u64, p1.held_back()), (COUNT, 0));
}

#[test]
fn a_message_shows_its_vector_as_far_as_it_can_be_read() {
    let msg = |n| Msg {
        post: Post { id: message(1, 1), answers: 0 },
        vector: Arc::new(VectorClock::new(n)),
    };
    assert_eq!(msg(3).to_string(), "CBCAST P1#1 [0,0,0]");
    assert_eq!(msg(9).to_string(), "CBCAST P1#1 [0,0,0,0,0,0,0,0,..]");
}

#[test]
fn too_many_answers_are_refused_with_the_bound() {
    let group = Group::numbered(3).unwrap();
    let mut settings = Settings::new(Duration::from_millis(30));
    assert_eq!(Causal::definition().check(&settings, &group), Ok(()));
    for (text, why) in [
        ("1001", "1001 answers in a row are too many; at most 1000"),
        ("-1", "'-1' is not a whole number here"),
    ] {
        settings.options.set("answers", text);
        let bad = Causal::definition().check(&settings, &group).unwrap_err();
        assert_eq!((bad.option, bad.why.as_str()), ("answers", why));
        assert_eq!(Causal::definition().config(&settings, &group).answers, 0);
    }
}
