//! Limits that change while a member serves.

use super::*;

fn limits(p3: &P3) -> Option<Limits> {
    p3.process.coordination().map(|(_, state)| *state.limits())
}

#[test]
fn d8_changed_limits_hold_once_they_are_committed() {
    let mut p3 = leading();
    let before = limits(&p3);
    p3.config.limits.sessions = 7;
    p3.input(Input::Reconfigured);
    assert_eq!(limits(&p3), before, "nothing uncommitted counts");
    acknowledge(&mut p3, BEGUN + 1);
    assert_eq!(limits(&p3), Some(p3.config.limits));
    assert_ne!(limits(&p3), before);
}

#[test]
fn d8_a_follower_proposes_nothing() {
    let (mut p3, _) = following(5);
    p3.config.limits.sessions = 7;
    assert!(sent(p3.input(Input::Reconfigured)).is_empty());
}

#[test]
fn d8_neither_tokens_nor_sessions_begin_again() {
    let mut p3 = leading();
    p3.input(asks(7, open(1, 5)));
    acknowledge(&mut p3, BEGUN + 1);
    let sessions = |p3: &P3| p3.process.coordination().map(|(_, state)| state.sessions().clone());
    let first = sessions(&p3);
    p3.input(Input::Reconfigured);
    acknowledge(&mut p3, BEGUN + 2);
    assert_eq!(sessions(&p3), first);
    p3.input(asks(7, open(2, 5)));
    acknowledge(&mut p3, BEGUN + 3);
    assert_eq!(sessions(&p3).map(|all| all.len()), Some(2), "another id than that of the first");
}
