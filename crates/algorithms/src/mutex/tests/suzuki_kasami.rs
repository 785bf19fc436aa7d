use super::super::tests::{Crowd, behaves};
use super::*;

#[test]
fn behaves_at_random() {
    behaves::<SuzukiKasami>();
}

#[test]
fn behaves_in_every_way_for_three() {
    let states = Crowd::<SuzukiKasami>::new(&[2, 2, 1]).explore().unwrap();
    assert!(states > 1_000, "only {states} states");
}
