use super::super::stamp::tests::{costs, finish, junk, keeps_order};
use super::super::tests::{Crowd, Move, State, behaves, id, opening};
use super::*;
use Move::{Deliver, Release, Request};
use bellwether_core::{Group, step};

fn after(wants: &[u32], moves: &[Move]) -> Crowd<RicartAgrawala> {
    let mut crowd = Crowd::new(wants);
    moves.iter().for_each(|next| crowd.make(*next).unwrap());
    crowd
}

#[test]
fn behaves_at_random() {
    behaves::<RicartAgrawala>();
}

#[test]
fn an_opening_with_requests_costs_nothing() {
    let mut opening = opening(3);
    (opening.inside, opening.waiting) = (Some(id(2)), vec![id(3), id(1)]);
    let crowd = Crowd::<RicartAgrawala>::open(opening, &[1, 1, 1]).unwrap();
    assert_eq!(crowd.sent, 0);
}

#[test]
fn grants_by_stamp() {
    keeps_order::<RicartAgrawala>(|msg| matches!(msg, Msg::Request { .. }));
}

#[test]
fn a_reply_tells_no_time() {
    // P2 hears P3's request and stamps its own later; then P1 asks, whom both permit to enter.
    // Their replies overtake their requests.
    let moves = [Request(2), Deliver(2, 1, 0), Request(1), Request(0)];
    let mut crowd = after(&[2, 1, 1], &moves);
    for next in [Deliver(0, 1, 0), Deliver(0, 2, 0), Deliver(1, 0, 1), Deliver(2, 0, 1)] {
        crowd.make(next).unwrap();
    }
    assert_eq!(crowd.applications[0].state, State::Inside);
    assert_eq!(crowd.processes[1].place(), Some(2 << 32 | 2));
    // P1's next request comes before the one of P2, which it could have known of.
    crowd.make(Release(0)).unwrap();
    crowd.make(Request(0)).unwrap();
    assert_eq!(crowd.processes[0].place(), Some(2 << 32 | 1));
    finish(&mut crowd, 4);
}

#[test]
fn an_entry_costs_two_messages_for_each_other() {
    costs::<RicartAgrawala>(2);
}

#[test]
fn a1_asks_all_later_than_it_has_heard() {
    let mut crowd = after(&[1, 1, 0], &[Request(1), Deliver(1, 0, 0), Request(0)]);
    for other in [1, 2] {
        assert_eq!(crowd.channels[&(0, other)].back(), Some(&Msg::Request { time: 2 }));
    }
    assert_eq!(crowd.processes[0].place(), Some(2 << 32 | 1));
    finish(&mut crowd, 1);
    assert_eq!(crowd.processes[0].place(), None);
}

#[test]
fn a2_an_idle_process_replies_at_once() {
    let crowd = after(&[1, 0, 0], &[Request(0), Deliver(0, 1, 0)]);
    assert_eq!(crowd.channels[&(1, 0)], [Msg::Reply { entry: 0 }]);
    assert_eq!(crowd.processes[1].deferred, [false; 3]);
}

#[test]
fn a2_a_process_inside_defers() {
    let enter = [Request(0), Deliver(0, 1, 0), Deliver(1, 0, 0)];
    let mut crowd = after(&[1, 1], &enter);
    assert_eq!(crowd.applications[0].state, State::Inside);
    crowd.make(Request(1)).unwrap();
    crowd.make(Deliver(1, 0, 0)).unwrap();
    assert_eq!(crowd.processes[0].deferred, [false, true]);
    assert!(crowd.channels.is_empty());
}

#[test]
fn a2_crossing_requests_of_the_same_time_go_by_number() {
    let crossed = [Request(0), Request(1), Deliver(0, 1, 0), Deliver(1, 0, 0)];
    let mut crowd = after(&[1, 1, 0], &crossed);
    assert_eq!(crowd.processes[0].place(), Some(1 << 32 | 1));
    assert_eq!(crowd.processes[1].place(), Some(1 << 32 | 2));
    // P1 is first and defers; P2 replies.
    assert_eq!(crowd.processes[0].deferred, [false, true, false]);
    assert_eq!(crowd.processes[1].deferred, [false; 3]);
    assert_eq!(crowd.channels[&(1, 0)], [Msg::Reply { entry: 0 }]);
    finish(&mut crowd, 3);
    assert_eq!(crowd.sent, 8);
}

#[test]
fn a3_waits_for_all_others() {
    let mut crowd = after(&[1, 0, 0], &[Request(0), Deliver(0, 1, 0), Deliver(1, 0, 0)]);
    assert_eq!(crowd.applications[0].state, State::Waiting);
    crowd.make(Deliver(0, 2, 0)).unwrap();
    crowd.make(Deliver(2, 0, 0)).unwrap();
    assert_eq!(crowd.applications[0].state, State::Inside);
}

#[test]
fn a4_replies_to_the_deferred_with_the_number_of_its_entry() {
    let enter = [Request(0), Deliver(0, 1, 0), Deliver(1, 0, 0)];
    let mut crowd = after(&[1, 1], &enter);
    for next in [Request(1), Deliver(1, 0, 0), Release(0)] {
        crowd.make(next).unwrap();
    }
    assert_eq!(crowd.channels[&(0, 1)], [Msg::Reply { entry: 1 }]);
    assert_eq!(crowd.processes[0].deferred, [false; 2]);
    crowd.make(Deliver(0, 1, 0)).unwrap();
    assert_eq!((crowd.applications[1].state, crowd.entries), (State::Inside, 2));
}

#[test]
fn opens_with_the_first_inside_and_the_rest_deferred() {
    let mut opening = opening(3);
    opening.waiting = vec![id(3), id(1)];
    let mut crowd = Crowd::<RicartAgrawala>::open(opening, &[0, 1, 0]).unwrap();
    assert_eq!(crowd.applications[2].state, State::Inside);
    assert_eq!((crowd.entries, crowd.sent), (1, 0));
    assert_eq!(crowd.processes[2].deferred, [true, false, false]);
    // A new request comes after those that were open.
    crowd.make(Request(1)).unwrap();
    assert_eq!(crowd.channels[&(1, 0)], [Msg::Request { time: 3 }]);
    finish(&mut crowd, 2);
    assert_eq!(crowd.entries, 3);
}

#[test]
fn strangers_are_not_heard() {
    let (group, opening) = (Group::numbered(3).unwrap(), opening(3));
    let mut process = RicartAgrawala::default();
    step(&group, 0, &opening, |cx| process.on_start(None, cx));
    step(&group, 0, &opening, |cx| process.on_input(Input::Request, cx));
    let before = process.clone();
    for stranger in [0, 4, u32::MAX] {
        for msg in [Msg::Request { time: 9 }, Msg::Reply { entry: 9 }] {
            let said = step(&group, 0, &opening, |cx| process.on_message(id(stranger), msg, cx));
            assert!(said.is_empty());
        }
    }
    assert_eq!(process, before);
}

#[test]
fn survives_any_message() {
    junk::<RicartAgrawala>(|random| {
        let number = random();
        match random() % 2 {
            0 => Msg::Request { time: number },
            _ => Msg::Reply { entry: number },
        }
    });
}
