use super::super::stamp::tests::{costs, finish, junk, keeps_order};
use super::super::tests::{Crowd, Move, State, behaves, id, opening};
use super::*;
use Move::{Deliver, Release, Request};
use bellwether_core::{Group, step};

fn stamp(time: u64, by: u32) -> Stamp {
    Stamp { time, by: id(by) }
}

fn after(wants: &[u32], moves: &[Move]) -> Crowd<Lamport> {
    let mut crowd = Crowd::new(wants);
    moves.iter().for_each(|next| crowd.make(*next).unwrap());
    crowd
}

fn queue(process: &Lamport) -> Vec<Stamp> {
    process.queue.iter().copied().collect()
}

#[test]
fn behaves_at_random() {
    behaves::<Lamport>();
}

#[test]
fn an_opening_with_requests_costs_nothing() {
    let mut opening = opening(3);
    (opening.inside, opening.waiting) = (Some(id(2)), vec![id(3), id(1)]);
    let crowd = Crowd::<Lamport>::open(opening, &[0, 1, 0]).unwrap();
    assert_eq!(crowd.sent, 0);
}

#[test]
fn without_fifo_two_are_inside() {
    // The reply of P1 overtakes its request, which has the same time and the smaller number.
    let mut crowd = after(&[1, 1], &[Request(0), Request(1), Deliver(1, 0, 0)]);
    assert_eq!(crowd.applications[0].state, State::Inside);
    let wrong = crowd.make(Deliver(0, 1, 1)).unwrap_err();
    assert!(wrong.contains("is inside"), "{wrong}");
}

#[test]
fn grants_by_stamp() {
    keeps_order::<Lamport>(|_| true);
}

#[test]
fn an_entry_costs_three_messages_for_each_other() {
    costs::<Lamport>(3);
}

#[test]
fn la1_queues_its_request_and_tells_all() {
    let crowd = after(&[0, 1, 0], &[Request(1)]);
    let asking = &crowd.processes[1];
    assert_eq!(queue(asking), [stamp(1, 2)]);
    assert_eq!(asking.place(), Some(1 << 32 | 2));
    assert_eq!(crowd.channels[&(1, 0)], [Msg::Request { time: 1 }]);
    assert_eq!(crowd.channels[&(1, 2)], [Msg::Request { time: 1 }]);
    assert_eq!(crowd.sent, 2);
}

#[test]
fn la2_queues_the_request_and_answers_later() {
    let crowd = after(&[1, 0, 0], &[Request(0), Deliver(0, 1, 0)]);
    assert_eq!(queue(&crowd.processes[1]), [stamp(1, 1)]);
    assert_eq!(crowd.channels[&(1, 0)], [Msg::Reply { time: 2 }]);
}

#[test]
fn la2_answers_from_inside_too() {
    let enter = [Request(0), Deliver(0, 1, 0), Deliver(1, 0, 0)];
    let mut crowd = after(&[1, 1], &enter);
    assert_eq!(crowd.applications[0].state, State::Inside);
    for next in [Request(1), Deliver(1, 0, 0)] {
        crowd.make(next).unwrap();
    }
    assert_eq!(crowd.channels[&(0, 1)], [Msg::Reply { time: 4 }]);
    assert_eq!(queue(&crowd.processes[0]), [stamp(1, 1), stamp(3, 2)]);
    // The answer does not let P2 in, as its request is not the first.
    crowd.make(Deliver(0, 1, 0)).unwrap();
    assert_eq!(crowd.applications[1].state, State::Waiting);
}

#[test]
fn la3_waits_for_all_others() {
    let mut crowd = after(&[1, 0, 0], &[Request(0), Deliver(0, 1, 0), Deliver(1, 0, 0)]);
    assert_eq!(crowd.applications[0].state, State::Waiting);
    crowd.make(Deliver(0, 2, 0)).unwrap();
    crowd.make(Deliver(2, 0, 0)).unwrap();
    assert_eq!(crowd.applications[0].state, State::Inside);
}

#[test]
fn la3_crossing_requests_of_the_same_time_go_by_number() {
    let crossed = [Request(0), Request(1), Deliver(0, 1, 0), Deliver(1, 0, 0)];
    let mut crowd = after(&[1, 1], &crossed);
    assert_eq!(queue(&crowd.processes[0]), [stamp(1, 1), stamp(1, 2)]);
    assert_eq!(queue(&crowd.processes[1]), [stamp(1, 1), stamp(1, 2)]);
    // The request of P2 is later by its number, and as good as an answer.
    assert_eq!(crowd.applications[0].state, State::Inside);
    // That of P1 is earlier; its answer comes, but P2 is second.
    crowd.make(Deliver(0, 1, 0)).unwrap();
    assert_eq!(crowd.applications[1].state, State::Waiting);
    crowd.make(Release(0)).unwrap();
    crowd.make(Deliver(0, 1, 0)).unwrap();
    assert_eq!(crowd.applications[1].state, State::Inside);
    finish(&mut crowd, 1);
    assert_eq!(crowd.sent, 6);
}

#[test]
fn la4_leaves_the_queue_and_tells_all_which_entry_is_over() {
    let mut crowd = after(&[1, 0, 0], &[Request(0)]);
    for next in [Deliver(0, 1, 0), Deliver(1, 0, 0), Deliver(0, 2, 0), Deliver(2, 0, 0)] {
        crowd.make(next).unwrap();
    }
    crowd.make(Release(0)).unwrap();
    assert_eq!(queue(&crowd.processes[0]), []);
    assert_eq!(crowd.processes[0].place(), None);
    for other in [1, 2] {
        assert_eq!(crowd.channels[&(0, other)], [Msg::Release { time: 3, entry: 1 }]);
    }
}

#[test]
fn la5_takes_the_request_of_the_sender_off_the_queue() {
    let mut opening = opening(3);
    (opening.inside, opening.waiting) = (Some(id(2)), vec![id(3)]);
    let mut crowd = Crowd::<Lamport>::open(opening, &[0; 3]).unwrap();
    crowd.make(Release(1)).unwrap();
    crowd.make(Deliver(1, 0, 0)).unwrap();
    assert_eq!(queue(&crowd.processes[0]), [stamp(2, 3)]);
}

#[test]
fn opens_with_the_first_inside() {
    let mut opening = opening(3);
    opening.waiting = vec![id(3), id(1)];
    let mut crowd = Crowd::<Lamport>::open(opening, &[0, 1, 0]).unwrap();
    assert_eq!(crowd.applications[2].state, State::Inside);
    assert_eq!((crowd.entries, crowd.sent), (1, 0));
    // A new request comes after those that were open.
    crowd.make(Request(1)).unwrap();
    assert_eq!(crowd.channels[&(1, 0)], [Msg::Request { time: 4 }]);
    finish(&mut crowd, 2);
    assert_eq!(crowd.entries, 3);
}

#[test]
fn strangers_are_not_heard() {
    let (group, opening) = (Group::numbered(3).unwrap(), opening(3));
    let mut process = Lamport::default();
    step(&group, 0, &opening, |cx| process.on_start(None, cx));
    let before = process.clone();
    for stranger in [0, 4, u32::MAX] {
        let request = Msg::Request { time: 9 };
        let said = step(&group, 0, &opening, |cx| process.on_message(id(stranger), request, cx));
        assert!(said.is_empty());
    }
    assert_eq!(process, before);
}

#[test]
fn survives_any_message() {
    junk::<Lamport>(|random| {
        let (time, entry) = (random(), random());
        match random() % 3 {
            0 => Msg::Request { time },
            1 => Msg::Reply { time },
            _ => Msg::Release { time, entry },
        }
    });
}
