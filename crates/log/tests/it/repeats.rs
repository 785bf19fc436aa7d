//! Worlds in which every message may arrive any number of times, or never, explored to their end. In those *without
//! fetching*, requests for pieces never arrive, so a log grows only by entries that follow it. Logs that are fetched
//! are in `worlds.rs` and `once.rs`.

use crate::worlds::{
    CAMPAIGN, CRASH, Flaw, HAND_OVER, Probe, TICK, Wish, brief, in_memory, prove, refute, timeless,
    two_campaign, without_fetching,
};
use bellwether_check::Model;
use bellwether_log::{Birth, Timer};

/// Worlds that take longer than some seconds.
fn is_long() -> bool {
    std::env::var_os("LONG").is_some()
}

#[test]
fn without_disks_a_restart_loses_nothing_that_clients_rely_on() {
    prove("memory, without fetching", &without_fetching(in_memory()));
    let mut flawed = without_fetching(in_memory());
    flawed.config.flaw = Some(Flaw::VotesWithoutAWait);
    let breach = refute("memory, without fetching, votes without a wait", &flawed);
    assert!(["nothing-lost", "agreement"].contains(&breach), "{breach}");
}

#[test]
fn j_an_emptied_folder_counts_for_nothing() {
    let wiped = |birth| {
        let mut world = without_fetching(timeless(3));
        world.config.wiped = Some(Birth::new(birth));
        Model { inputs: two_campaign(), faults: CRASH, ..world }
    };
    prove("wiped, without fetching", &wiped(2));
    let breach = refute("wiped, without fetching and births", &wiped(1));
    assert!(["nothing-lost", "agreement", "one-leader"].contains(&breach), "{breach}");
}

/// A lease lasts two ticks, so it may run out in these worlds, and the next leader may serve.
#[test]
fn one_serves_while_two_campaign() {
    let world = |ticks| Model { inputs: two_campaign(), ..brief(3, ticks) };
    prove("two candidates", &world(1));
    if is_long() {
        prove("two candidates, two ticks", &world(2));
    }
}

#[test]
fn one_serves_while_a_member_restarts() {
    if is_long() {
        let world = without_fetching(brief(3, 1));
        prove("crash", &Model { inputs: two_campaign(), faults: CRASH, ..world });
    }
}

#[test]
fn one_serves_while_a_hand_over_fails() {
    if is_long() {
        let mut world = brief(3, 1);
        world.config.config.leases.heartbeat = TICK / 2;
        prove("hand-over", &Model { inputs: vec![vec![HAND_OVER], vec![], vec![]], ..world });
    }
}

/// A heartbeat comes a tick after the last one.
fn with_heartbeats(ticks: u16, flaw: Option<Flaw>) -> Model<Probe> {
    let mut world = without_fetching(brief(3, ticks));
    (world.config.timers, world.config.flaw) = (&[Timer::Write, Timer::Heartbeat], flaw);
    world.config.config.leases.heartbeat = TICK;
    Model { inputs: two_campaign(), ..world }
}

#[test]
fn heartbeats_that_arrive_without_entries_make_no_second_leader() {
    if is_long() {
        prove("heartbeats without entries", &with_heartbeats(1, None));
        let flawed = with_heartbeats(2, Some(Flaw::HeartbeatsDoNotBind));
        assert_eq!(refute("heartbeats do not bind", &flawed), "one-serving");
    }
}

/// What the checker leaves out because no invariant looks at messages makes no difference.
#[test]
fn worlds_are_the_same_to_members_if_messages_are_not_looked_at() {
    let planted = |model: Model<Probe>| {
        let mut model = model;
        model.config.flaw = Some(Flaw::LosesEntries);
        Model { faults: CRASH, ..model }
    };
    let command = vec![vec![Wish::Propose(7)], vec![CAMPAIGN], vec![]];
    for world in [
        Model { inputs: two_campaign(), ..timeless(3) },
        Model { inputs: two_campaign(), ..brief(3, 0) },
        Model { inputs: command, ..without_fetching(brief(3, 0)) },
        planted(Model { inputs: two_campaign(), ..timeless(3) }),
    ] {
        crate::worlds::compare(&world);
    }
}
