use super::super::tests::{Crowd, Move, id, message};
use super::*;
use Move::{Broadcast, Deliver};
use bellwether_core::{Group, step};

fn config(answers: u32) -> Config {
    Config { answers, timeout: Duration::from_millis(30) }
}

fn crowd(wants: &[u32], answers: u32) -> Crowd<Lamport> {
    Crowd::new(wants, config(answers), Input::Broadcast, true)
}

fn after(wants: &[u32], moves: &[Move]) -> Crowd<Lamport> {
    let mut crowd = crowd(wants, 0);
    moves.iter().for_each(|next| crowd.make(*next).unwrap());
    crowd
}

#[test]
fn behaves_at_random() {
    for seed in 0..3_000_u64 {
        let n = 1 + seed % 6;
        let wants: Vec<u32> = (0..n).map(|place| (seed / 6 + place) as u32 % 4).collect();
        let mut crowd = crowd(&wants, seed as u32 % 3);
        crowd.walk(seed).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        let messages = crowd.delivered[0].len() as u64;
        assert_eq!(crowd.sent, messages * n * (n - 1), "seed {seed}");
    }
}

#[test]
fn without_fifo_two_orders_are_delivered() {
    // P1's ACK for P2's message overtakes its own message, which has the same time and the smaller
    // number. P2 takes it for the sign that P1 has nothing earlier.
    let mut crowd = after(&[1, 1], &[Broadcast(0), Broadcast(1), Deliver(1, 0, 0)]);
    assert_eq!(crowd.delivered[0], [message(1, 1), message(2, 1)]);
    let wrong = crowd.make(Deliver(0, 1, 1)).unwrap_err();
    assert!(wrong.contains("in another order"), "{wrong}");
}

#[test]
fn tl1_stamps_later_than_all_it_has_heard_of() {
    let crowd = after(&[1, 1, 0], &[Broadcast(0), Deliver(0, 1, 0), Broadcast(1)]);
    let stamped = crowd.channels[&(1, 2)].back();
    assert!(matches!(stamped, Some(Msg::Message { time: 3, .. })), "{stamped:?}");
}

#[test]
fn tl2_acknowledges_to_all_others() {
    let crowd = after(&[1, 0, 0], &[Broadcast(0), Deliver(0, 1, 0)]);
    for other in [0, 2] {
        assert_eq!(crowd.channels[&(1, other)], [Msg::Ack { time: 2 }]);
    }
    assert_eq!(crowd.processes[1].held_back(), 1);
}

#[test]
fn tl3_delivers_when_all_others_have_acknowledged() {
    let mut crowd = after(&[1, 0, 0], &[Broadcast(0), Deliver(0, 1, 0), Deliver(0, 2, 0)]);
    // P2 knows of its sender, and needs P3.
    assert!(crowd.delivered[1].is_empty());
    crowd.make(Deliver(2, 1, 0)).unwrap();
    assert_eq!(crowd.delivered[1], [message(1, 1)]);
    // P1 needs both.
    crowd.make(Deliver(2, 0, 0)).unwrap();
    assert!(crowd.delivered[0].is_empty());
    crowd.make(Deliver(1, 0, 0)).unwrap();
    assert_eq!(crowd.delivered[0], [message(1, 1)]);
}

#[test]
fn tl3_a_message_of_the_same_time_goes_by_number() {
    let mut crowd = after(&[1, 1], &[Broadcast(1), Broadcast(0), Deliver(0, 1, 0)]);
    // That of P1 is first, and P2's own shows that P2 has nothing earlier.
    assert_eq!(crowd.delivered[1], [message(1, 1)]);
    for next in [Deliver(1, 0, 0), Deliver(1, 0, 0), Deliver(0, 1, 0)] {
        crowd.make(next).unwrap();
    }
    for delivered in &crowd.delivered {
        assert_eq!(*delivered, [message(1, 1), message(2, 1)]);
    }
}

#[test]
fn alone_it_delivers_at_once() {
    let crowd = after(&[2], &[Broadcast(0), Broadcast(0)]);
    assert_eq!(crowd.delivered[0], [message(1, 1), message(1, 2)]);
    assert_eq!(crowd.sent, 0);
}

#[test]
fn strangers_false_names_and_junk_do_no_harm() {
    let group = Group::numbered(3).unwrap();
    let mut p1 = Lamport::default();
    step(&group, 0, &config(1), |cx| p1.on_start(None, cx));
    let before = p1.clone();
    let post = |sender| Post { id: message(sender, 1), answers: u32::MAX };
    for (from, sender) in [(4, 4), (0, 0), (1, 1), (2, 3)] {
        let msg = Msg::Message { time: 9, post: post(sender) };
        let said = step(&group, 0, &config(1), |cx| p1.on_message(id(from), msg, cx));
        assert_eq!(said, []);
    }
    assert_eq!(p1, before);
    let times = [0, 1, u64::MAX, u64::MAX - 1, 0, 5];
    for (index, time) in times.into_iter().cycle().take(5_000).enumerate() {
        let from = 2 + index as u32 % 2;
        let ack = Msg::Ack { time };
        let msg = if index % 5 < 2 { ack } else { Msg::Message { time, post: post(from) } };
        step(&group, 0, &config(1), |cx| p1.on_message(id(from), msg, cx));
        if index % 7 == 0 {
            step(&group, 0, &config(1), |cx| p1.on_input(Input::Broadcast, cx));
        }
    }
}
