//! D1: forwarding, and what a member does that cannot serve.

use super::*;

#[test]
fn d1_a_follower_passes_on_both_ways() {
    let (mut p3, _) = following(5);
    let request = vec![(7, open(70, 5))];
    assert_eq!(sent(p3.input(Input::Requests(request.clone()))), [(id(5), Msg::Requests(request))]);
    let says = vec![(7, Reply::NoCoordinator)];
    assert_eq!(replies(p3.deliver(5, from_leader(says.clone()))), says);
}

#[test]
fn d1_what_was_passed_on_is_not_passed_on_again() {
    let (mut p3, _) = following(5);
    let request = vec![(7, open(70, 5)), (7, open(71, 5)), (8, open(72, 5))];
    let none = vec![(7, Reply::NoCoordinator), (8, Reply::NoCoordinator)];
    assert_eq!(sent(p3.deliver(4, Msg::Requests(request))), [(id(4), from_none(none))]);
}

#[test]
fn d1_without_a_coordinator_it_says_so() {
    let effects = p3().input(asks(7, open(70, 5)));
    assert_eq!(replies(effects), [(7, Reply::NoCoordinator)]);
}

/// The followers announce a leader as soon as they hear it, and their clients ask again only once. The leader
/// may not serve yet.
#[test]
fn d1_a_leader_keeps_what_comes_before_it_serves() {
    let mut p3 = elected();
    assert_eq!(p3.process.serving(p3.now), None);
    assert_eq!(sent(p3.deliver(2, Msg::Requests(vec![(9, open(71, 6))]))), []);
    assert_eq!(replies(p3.input(asks(7, open(70, 5)))), []);
    acknowledge(&mut p3, 1);
    assert_eq!(p3.process.serving(p3.now), Some(Term::new(1)));
    let effects = acknowledge(&mut p3, BEGUN + 2);
    let opened = |key, low: u64, sent| {
        let result = Ok(SessionId(1 << 32 | low));
        Reply::Opened { key: Secret(key), result, sent }
    };
    assert_eq!(replies(effects.clone()), [(7, opened(70, 2, 5))]);
    let to_p2 = sent(effects).into_iter().find_map(|(to, msg)| match msg {
        Msg::Replies { replies, .. } => Some((to, replies)),
        _ => None,
    });
    assert_eq!(to_p2, Some((id(2), vec![(9, opened(71, 1, 6))])));
}

#[test]
fn d1_a_leader_that_never_serves_says_that_it_does_not() {
    let mut p3 = elected();
    p3.deliver(2, Msg::Requests(vec![(9, open(71, 6))]));
    p3.input(asks(7, open(70, 5)));
    // P5 leads in a later term.
    let effects = follow(&mut p3, 5, 2);
    let own = Msg::Requests(vec![(7, open(70, 5))]);
    let requests = |(_, msg): &(NodeId, Letter)| !matches!(msg, Msg::Member(_));
    let passed_on: Vec<_> = sent(effects).into_iter().filter(requests).collect();
    let none = from_none(vec![(9, Reply::NoCoordinator)]);
    assert_eq!(passed_on, [(id(2), none), (id(5), own)]);
}

#[test]
fn d1_a_leader_keeps_only_so_much() {
    let mut p3 = elected();
    let many = vec![(9, open(71, 6)); EARLY_MAX];
    assert_eq!(sent(p3.deliver(2, Msg::Requests(many))), []);
    assert_eq!(replies(p3.input(asks(7, open(70, 5)))), [(7, Reply::NoCoordinator)]);
}
