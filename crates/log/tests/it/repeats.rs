//! Worlds in which every message may arrive any number of times, or never, explored to their end. In those *without
//! fetching*, requests for pieces never arrive, so a log grows only by entries that follow it. Logs that are fetched
//! are in `worlds.rs` and `once.rs`.

use crate::worlds::{
    CAMPAIGN, CRASH, Flaw, HAND_OVER, Probe, TICK, Wish, in_memory, prove, refute, timed, timeless,
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

#[test]
fn one_serves_while_two_campaign() {
    let world = |ticks| Model { inputs: two_campaign(), ..timed(3, ticks) };
    prove("two candidates", &world(1));
    if is_long() {
        prove("two candidates, two ticks", &without_fetching(world(2)));
    }
}

#[test]
fn one_serves_while_a_member_restarts() {
    if is_long() {
        let world = without_fetching(timed(3, 1));
        prove("crash", &Model { inputs: two_campaign(), faults: CRASH, ..world });
    }
}

/// The command is a change of settings that changes no lease: no leader serves without leases.
#[test]
fn a_command_that_is_not_written_yet_may_be_lost_and_nothing_else() {
    let world = |flaw| {
        let mut world = without_fetching(timeless(3));
        world.config.flaw = flaw;
        let inputs = vec![vec![Wish::ChangeDrift(7)], vec![CAMPAIGN], vec![]];
        Model { inputs, faults: CRASH, ..world }
    };
    prove("torn last entry", &world(None));
    let breach = refute("torn last entry, more is lost", &world(Some(Flaw::LosesEntries)));
    assert!(["nothing-lost", "agreement"].contains(&breach), "{breach}");
}

#[test]
fn one_serves_while_a_hand_over_fails() {
    if is_long() {
        let mut world = timed(3, 1);
        world.config.config.leases.heartbeat = TICK / 2;
        prove("hand-over", &Model { inputs: vec![vec![HAND_OVER], vec![], vec![]], ..world });
    }
}

/// A heartbeat comes a tick after the last one.
#[test]
fn heartbeats_that_arrive_without_entries_make_no_second_leader() {
    if is_long() {
        let mut world = without_fetching(timed(3, 1));
        world.config.timers = &[Timer::Write, Timer::Heartbeat];
        world.config.config.leases.heartbeat = TICK;
        prove("heartbeats", &Model { inputs: two_campaign(), ..world });
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
        Model { inputs: two_campaign(), ..timed(3, 0) },
        Model { inputs: command, ..without_fetching(timed(3, 0)) },
        planted(Model { inputs: two_campaign(), ..timeless(3) }),
    ] {
        crate::worlds::compare(&world);
    }
}
