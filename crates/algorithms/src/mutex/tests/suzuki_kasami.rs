use super::super::tests::behaves;
use super::*;

#[test]
fn behaves_at_random() {
    behaves::<SuzukiKasami>();
}
