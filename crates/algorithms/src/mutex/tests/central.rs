use super::super::tests::{Crowd, Move, behaves, id};
use super::*;

#[test]
fn behaves_at_random() {
    behaves::<Central>();
}

#[test]
fn behaves_in_every_way_for_three() {
    let states = Crowd::<Central>::new(&[2, 2, 2]).explore().unwrap();
    assert!(states > 1_000, "only {states} states");
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
