//! The worlds of `worlds.rs` in which messages arrive once, in any order or never, or a few of them once
//! more: small enough to be explored to their end. Where a world has its rule broken beside it, the same
//! bounds are wide enough to find the fault.
//!
//! `cargo test` explores the smallest. `LONG=1` explores all.

use crate::machine::BRIEF_TTL;
use crate::worlds::{
    CAMPAIGN, CRASH, Flaw, HAND_OVER, Probe, TICK, Wish, has_all_of, model, prove, refute, scope,
    timed, two_campaign,
};
use bellwether_check::{Channels, Faults, Model, Ticks, Timing};
use bellwether_core::Invariant;
use bellwether_log::{Config, Durability, LeaseSettings, Term, Timer};
use std::time::Duration;

/// Each message arrives once at most, and `duplicates` of them once more.
fn once(model: Model<Probe>, duplicates: u8) -> Model<Probe> {
    let faults = Faults { duplicates, ..model.faults };
    Model { channels: Channels::Reorder, faults, ..model }
}

/// Worlds that take longer than some seconds.
fn is_long() -> bool {
    std::env::var_os("LONG").is_some()
}

/// Shows that such a state is part of a world: the exploration finds it.
fn reach(name: &str, model: Model<Probe>, what: Invariant<Probe>) {
    let model = Model { invariants: vec![what], ..model };
    assert_eq!(refute(name, &model), "never");
}

/// P1 hands over to P2, and gives up when this long has passed, or later.
fn handing_over(ticks: Ticks, patience: Duration) -> Model<Probe> {
    let mut world = timed(3, ticks);
    world.config.config.leases.heartbeat = patience / 2;
    Model { inputs: vec![vec![HAND_OVER], vec![], vec![]], ..world }
}

#[test]
fn a_hand_over_comes_to_its_end() {
    let serves = |_, probe: &Probe| probe.log.leads() != Some(Term::new(3));
    let never = Invariant::<Probe>::each("never", "P2 leads the third term", serves);
    reach("hand-over, its end", once(handing_over(0, TICK), 0), never);
    let fails = |_, probe: &Probe| !probe.failed || probe.log.leads().is_none();
    let never = Invariant::<Probe>::each("never", "P1 goes on", fails);
    let mut world = once(handing_over(1, TICK), 0);
    world.config.notes = true;
    reach("hand-over, it fails", world, never);
}

#[test]
fn one_serves_while_a_hand_over_succeeds_or_fails() {
    if is_long() {
        prove("hand-over, once", &once(handing_over(1, TICK), 0));
        prove("hand-over, two ticks", &once(handing_over(2, TICK), 0));
        prove("hand-over, a duplicate", &once(handing_over(1, TICK), 1));
    }
}

/// What was sent before a leader yielded must not count when it goes on (G8): the clock has to tell.
#[test]
fn a_hand_over_that_is_given_up_in_the_same_moment_makes_two() {
    let world = once(handing_over(0, Duration::ZERO), 0);
    assert_eq!(refute("hand-over, given up at once", &world), "one-serving");
}

#[test]
fn one_serves_while_a_member_restarts() {
    let world = |ticks| {
        let mut world = timed(3, ticks);
        world.config.timers = &[Timer::Write];
        Model { inputs: two_campaign(), faults: CRASH, ..world }
    };
    let mut flawed = once(world(0), 0);
    flawed.config.flaw = Some(Flaw::VotesAtOnce);
    assert_eq!(refute("votes at once, once", &flawed), "one-serving");
    prove("crash, once", &once(world(0), 0));
    if is_long() {
        prove("crash, a tick", &once(world(1), 0));
        prove("crash, a duplicate", &once(world(0), 1));
    }
}

#[test]
fn a_command_survives_a_take_over() {
    let world = |ticks, faults| {
        let mut world = timed(3, ticks);
        world.config.timers = &[Timer::Write];
        let inputs = vec![vec![Wish::Propose(7)], vec![CAMPAIGN], vec![]];
        Model { inputs, faults, ..world }
    };
    prove("command, once", &once(world(0, Faults::default()), 0));
    if is_long() {
        prove("command, a tick", &once(world(1, Faults::default()), 0));
        prove("torn last entry, once", &once(world(0, CRASH), 0));
    }
}

#[test]
fn two_campaign_and_messages_arrive_twice() {
    let world = |ticks| {
        let mut world = timed(3, ticks);
        world.config.timers = &[Timer::Write];
        Model { inputs: two_campaign(), ..world }
    };
    if is_long() {
        prove("two candidates, a duplicate", &once(world(1), 1));
        prove("two candidates, two duplicates", &once(world(0), 2));
    }
}

/// Members keep their logs in memory, and clients rely for two ticks on what they were told. Clocks go
/// on for long enough that a wait ends. P3 campaigns, or P2. A lease lasts a tick.
fn waiting(campaigns: u32, ticks: Ticks) -> Model<Probe> {
    let config = Config { piece: (1_000_000, 1_000_000), ..Config::new(TICK, TICK, 0) };
    let leases = LeaseSettings { heartbeat: Duration::ZERO, ..config.leases };
    let config = Config { leases, stall: Some(TICK * 100), ..config };
    let config = Config { durability: Durability::Memory, ..config };
    let mut scope = scope(config, 3, &[Timer::Write, Timer::Ask, Timer::Wait]);
    (scope.commands, scope.notes) = (2..3, true);
    let mut inputs = vec![vec![], vec![], vec![]];
    inputs[campaigns as usize - 1] = vec![CAMPAIGN];
    let timing = Timing::Drifting { tick: TICK, apart: 1 };
    let world = model(scope, timing, Some(ticks));
    Model { inputs, faults: CRASH, invariants: vec![relied()], ..world }
}

/// What a leader could tell clients is with every later leader that comes while they rely on it. Clocks
/// are a tick apart at most.
fn relied() -> Invariant<Probe> {
    Invariant::<Probe>::whole(
        "relied",
        "a leader lacks what another has committed only if clients rely on it no longer",
        |cluster| {
            cluster.live.iter().all(|(_, leader)| {
                cluster.live.iter().all(|(_, other)| {
                    let (Some(term), Some(led)) = (leader.log.leads(), leader.led) else {
                        return true;
                    };
                    let (Some(at), Some((commit, _))) = (other.served, other.log.state()) else {
                        return true;
                    };
                    commit.term > term
                        || has_all_of(&leader.log, &other.log)
                        || led + TICK >= at + BRIEF_TTL
                })
            })
        },
    )
}

#[test]
fn without_disks_a_wait_ends_when_no_client_relies_any_more() {
    let ended = |_, probe: &Probe| probe.log.leads() != Some(Term::new(3));
    let never = Invariant::<Probe>::each("never", "a leader comes after its wait", ended);
    let mut without_p1 = once(waiting(3, 3), 0);
    without_p1.sides = vec![0, 1, 1];
    reach("wait, its end", without_p1, never);
    if is_long() {
        for flaw in [Flaw::VotesWithoutAWait, Flaw::WaitsHalf] {
            let mut flawed = once(waiting(3, 3), 0);
            flawed.config.flaw = Some(flaw);
            assert_eq!(refute("wait, flawed", &flawed), "relied", "{flaw:?}");
        }
        prove("wait, P3", &once(waiting(3, 4), 0));
        prove("wait, P2", &once(waiting(2, 4), 0));
        prove("wait, a duplicate", &once(waiting(3, 3), 1));
    }
}
