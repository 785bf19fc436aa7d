//! Settings of leases.

use super::*;
use crate::{Body, ChangeError, Roster};

const LONG: LeaseSettings = LeaseSettings {
    heartbeat: Duration::from_millis(600),
    lease: Duration::from_secs(3),
    drift_ppm: 500,
};

fn change(one: &mut One, wanted: LeaseSettings) -> Result<(), ChangeError> {
    let mut result = Ok(());
    one.call(|log, cx| result = log.change_leases(wanted, cx));
    result
}

/// A leader of three that serves by a lease of P2.
fn leader() -> One {
    let mut one = One::new(1);
    one.elect(2);
    one.ack(2);
    assert!(one.log.serving(one.now).is_some());
    one
}

/// The same after the new settings are committed, a moment later.
fn changed() -> One {
    let mut one = leader();
    change(&mut one, LONG).unwrap();
    one.fire(Timer::Write);
    one.pass(ms(10));
    let effects = one.get(2, Msg::Ack(Ack { lease_us: 500_000, ..one.ack_of() }));
    assert!(said(&effects).contains(&Output::LeaseSettings(LONG)));
    one
}

fn beats(effects: &Fx) -> Vec<Heartbeat> {
    let beat = |(_, msg)| match msg {
        Msg::Append { beat, .. } => Some(beat),
        _ => None,
    };
    sent(effects).into_iter().filter_map(beat).collect()
}

fn timer(effects: &Fx, wanted: Timer) -> Option<Duration> {
    let last = effects.iter().rev();
    last.filter_map(|effect| match effect {
        Effect::SetTimer(timer, span) if *timer == wanted => Some(span.start),
        _ => None,
    })
    .next()
}

#[test]
fn g16_settings_are_in_force_once_they_are_committed() {
    let mut one = leader();
    assert_eq!(one.log.leases(&one.config), config().leases);
    change(&mut one, LONG).unwrap();
    assert_eq!(one.log.leases(&one.config), config().leases);
    assert_eq!(beats(&one.fire(Timer::Heartbeat))[0].lease_us, 500_000);
    one.fire(Timer::Write);
    one.ack(2);
    assert_eq!(one.log.leases(&one.config), LONG);
    assert_eq!(beats(&one.fire(Timer::Heartbeat))[0].lease_us, LONG.lease_us());
    // They outlive a restart, whatever the configuration says.
    one.restart();
    assert_eq!(one.log.leases(&one.config), LONG);
}

#[test]
fn g16_only_a_leader_with_a_committed_entry_changes_them_one_change_at_a_time() {
    let mut one = One::new(1);
    assert_eq!(change(&mut one, LONG), Err(ChangeError::NotServing));
    one.elect(2);
    assert_eq!(change(&mut one, LONG), Err(ChangeError::NotServing));
    one.ack(2);
    let last = one.log.last();
    assert_eq!(change(&mut one, config().leases), Ok(()));
    assert_eq!(one.log.last(), last, "they are so already");
    change(&mut one, LONG).unwrap();
    assert_eq!(change(&mut one, config().leases), Err(ChangeError::Busy));
    one.fire(Timer::Write);
    one.ack(2);
    assert_eq!(change(&mut one, config().leases), Ok(()));
}

#[test]
fn g16_a_leader_relies_on_a_lease_for_as_long_as_it_was_granted() {
    let mut one = changed();
    one.pass(ms(485));
    assert!(one.log.serving(one.now).is_some());
    one.pass(ms(15));
    assert_eq!(one.log.serving(one.now), None, "P2 granted half a second");
}

#[test]
fn g16_heartbeats_come_often_enough_for_the_leases_that_count() {
    let mut one = changed();
    assert_eq!(timer(&one.fire(Timer::Heartbeat), Timer::Heartbeat), Some(ms(100)));
    one.ack(2);
    assert_eq!(timer(&one.fire(Timer::Heartbeat), Timer::Heartbeat), Some(LONG.heartbeat));
}

#[test]
fn g16_an_earlier_longer_lease_counts_to_its_end() {
    let mut one = leader();
    one.get(2, Msg::Ack(Ack { lease_us: LONG.lease_us(), ..one.ack_of() }));
    one.pass(ms(10));
    one.ack(2);
    one.pass(ms(2_900));
    assert!(one.log.serving(one.now).is_some());
}

#[test]
fn g7_a_follower_is_bound_for_as_long_as_the_heartbeat_says_and_never_for_less_than_before() {
    let mut one = One::new(1);
    let (long, short) =
        (Heartbeat { lease_us: LONG.lease_us(), ..beat(1, at(1, 1), 0) }, beat(1, at(1, 1), 0));
    assert_eq!(acked(&one.beat(2, long)).lease_us, LONG.lease_us());
    assert_eq!(acked(&one.beat(2, short)).lease_us, 500_000);
    one.pass(ms(2_999));
    let wait = Answer::Wait { leader: Some(id(2)), left: ms(1) };
    assert_eq!(one.asked(3, 2, at(1, 1), true), wait);
    // Nor after a restart: how long it may be bound is durable before the lease is granted.
    one.restart();
    one.pass(ms(2_999));
    let wait = Answer::Wait { leader: None, left: ms(1) };
    assert_eq!(one.asked(3, 2, at(1, 1), true), wait);
}

#[test]
fn g9_once_the_longer_lease_is_over_a_restart_waits_for_the_shorter_one() {
    let mut one = One::new(1);
    one.beat(2, Heartbeat { lease_us: LONG.lease_us(), ..beat(1, at(1, 1), 0) });
    one.pass(ms(2_600));
    one.beat(2, beat(1, at(1, 1), 0));
    one.restart();
    one.pass(ms(500));
    assert_eq!(one.asked(3, 2, at(1, 1), true), YES);
}

#[test]
fn g16_a_snapshot_carries_them() {
    let mut one = One::new(1);
    one.beat(2, beat(1, at(1, 9), 9));
    let roster = Box::new(Roster { leases: Some(LONG), ..Roster::new() });
    let body = Body::Parts { at: at(1, 9), roster, from: 0, parts: vec![4], next: None };
    let last = at(1, 9);
    let effects = one.get(2, Msg::Supply { beat: Some(beat(1, last, 9)), last, body });
    assert!(said(&effects).contains(&Output::LeaseSettings(LONG)), "{effects:?}");
    assert_eq!(one.log.leases(&one.config), LONG);
}
