use super::super::tests::{Crowd, Move, behaves, id};
use super::*;

#[test]
fn behaves_at_random() {
    behaves::<Central>();
}

#[test]
fn c2_a_busy_coordinator_says_so() {
    let mut crowd = Crowd::<Central>::new(&[1, 1, 0]);
    for next in [Move::Request(0), Move::Deliver(0, 2, 0), Move::Deliver(2, 0, 0)] {
        crowd.make(next).unwrap();
    }
    for next in [Move::Request(1), Move::Deliver(1, 2, 0)] {
        crowd.make(next).unwrap();
    }
    assert_eq!(crowd.channels[&(2, 1)], [Msg::Denied { arrival: 2 }]);
    assert_eq!(crowd.processes[2].table.as_ref().unwrap().inside, Some(id(1)));
}

/// Found by exhaustive check: the place of a request that is over was taken for that of the next.
#[test]
fn c2_a_denied_that_comes_late_is_about_a_request_that_is_over() {
    let mut crowd = Crowd::<Central>::new(&[1, 2, 0]);
    let moves = [
        Move::Request(0),
        Move::Deliver(0, 2, 0),
        Move::Request(1),
        Move::Deliver(1, 2, 0), // P2 is denied, with place 2
        Move::Deliver(2, 0, 0),
        Move::Release(0),
        Move::Deliver(0, 2, 0), // and granted
        Move::Deliver(2, 1, 1), // which comes first
        Move::Release(1),
        Move::Request(1),
    ];
    moves.into_iter().for_each(|next| crowd.make(next).unwrap());
    assert_eq!(crowd.processes[1].place(), None);
    crowd.make(Move::Deliver(2, 1, 0)).unwrap();
    assert_eq!(crowd.processes[1].place(), None, "no process has told it its new place");
}
