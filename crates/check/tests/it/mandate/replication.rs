//! What a leader does under its mandate, explored to the end: M12, M13, and the newest copy of M4.
//!
//! Claimed, over whole runs: whatever was told is in the copy of every later mandate; two copies of
//! one version are the same; nothing is told that a majority did not have.
//!
//! None of this rests on clocks. Promises and copies alone see to it, as long as a voter that has
//! restarted waits for a copy (M8). So leases are as short as can be in some of these models, and
//! two may well believe that they lead: there are more runs then, and fewer states.

use super::auditor::{Auditor, Instead};
use super::keeper::{Desk, Keeper, Slip, Wish};
use super::probe::{Scope, TICK};
use super::{ASK, CRASH, HAND_OVER, group, prove, refute};
use bellwether_check::{Aging, Channels, Faults, Model, Timing, Whose};
use bellwether_member::mandate::Timer;

const BID: Wish = Wish::Mandate(ASK);
const STEP_DOWN: Wish = Wish::Mandate(HAND_OVER);

/// Three keepers to whom nothing happens.
pub(crate) fn model(scope: Scope) -> Model<Keeper> {
    Model {
        group: group(),
        config: Desk { scope, slip: None, bare: false },
        timing: Timing::Drifting { tick: TICK, apart: 1 },
        channels: Channels::Unreliable,
        faults: Faults::default(),
        inputs: Vec::new(),
        sides: Vec::new(),
        invariants: Vec::new(),
        goal: None,
        referee: Some(Auditor::boxed(None)),
        reads_clock: false,
        clocks: Vec::new(),
        horizon: None,
        aging: Some(Aging {
            process: |keeper, desk, now, tick| keeper.mandate.age(tick, now, &desk.scope.config),
            msg: |msg, whose, desk, now, tick| match whose {
                Whose::Sender => msg.age_at_sender(tick, now, &desk.scope.config),
                Whose::Receiver => msg.age_at_receiver(tick, now, &desk.scope.config),
            },
        }),
        spent: Some(|keeper, desk, now, from, msg| {
            keeper.mandate.is_spent(from, msg, now, &desk.scope.config)
        }),
    }
}

/// Timers are late for ever, so nobody hears a heartbeat; leases last two ticks, of which a leader
/// relies on one: less than clocks come apart.
fn short(epochs: u64) -> Scope {
    Scope { timers: &[], ..Scope::new(2, 1, epochs) }
}

fn wrong(model: Model<Keeper>, slip: Slip) -> Model<Keeper> {
    let config = Desk { slip: Some(slip), ..model.config };
    Model { config, ..model }
}

/// P1 leads and changes something; P2 takes over.
fn one_change() -> Vec<Vec<Wish>> {
    vec![vec![BID, Wish::Do(1)], vec![BID], vec![]]
}

/// And changes something, too.
fn one_after_the_other() -> Vec<Vec<Wish>> {
    vec![vec![BID, Wish::Do(1)], vec![BID, Wish::Do(2)], vec![]]
}

/// P1 leads and changes something twice.
fn two_changes() -> Vec<Vec<Wish>> {
    vec![vec![BID, Wish::Do(1), Wish::Do(2)], vec![], vec![]]
}

fn is_short() -> bool {
    std::env::var_os("LONG").is_none() // They take minutes: make check-all.
}

#[test]
fn m13_what_was_told_is_not_lost_when_another_takes_over() {
    prove("take-over", &Model { inputs: one_change(), ..model(short(2)) });
}

#[test]
fn m8_what_was_told_is_not_lost_when_a_member_restarts() {
    let inputs = vec![vec![BID, Wish::Do(1)], vec![], vec![]];
    prove("restart", &Model { inputs, faults: CRASH, ..model(short(1)) });
}

#[test]
fn m12_whoever_missed_a_change_hears_of_it_by_a_heartbeat() {
    let scope = Scope { timers: &[Timer::Beat], ..short(1) };
    let inputs = vec![vec![BID, Wish::Do(1)], vec![], vec![]];
    prove("heartbeats", &Model { inputs, ..model(scope) });
}

#[test]
fn m12_changes_are_made_in_their_order() {
    if is_short() {
        return;
    }
    prove("two changes", &Model { inputs: two_changes(), ..model(short(1)) });
}

#[test]
fn m13_what_was_told_in_two_epochs_is_not_lost() {
    if is_short() {
        return;
    }
    prove("two leaders", &Model { inputs: one_after_the_other(), ..model(short(2)) });
}

#[test]
fn m8_what_was_told_is_not_lost_when_another_takes_over_after_a_crash() {
    if is_short() {
        return;
    }
    let inputs = one_change();
    prove("crash and take-over", &Model { inputs, faults: CRASH, ..model(short(2)) });
}

#[test]
fn m7_what_was_told_is_not_lost_when_a_leader_steps_down() {
    if is_short() {
        return;
    }
    // With leases that allow for how far clocks come apart.
    let scope = Scope { timers: &[], ..Scope::new(3, 1, 2) };
    let inputs = vec![vec![BID, Wish::Do(1), STEP_DOWN], vec![BID], vec![]];
    prove("stepping down", &Model { inputs, ..model(scope) });
}

#[test]
fn what_was_not_told_may_be_lost() {
    let referee = Some(Auditor::boxed(Some(Instead::NothingDoneIsLost)));
    let found = refute("done", &Model { inputs: one_change(), referee, ..model(short(2)) });
    assert_eq!(found.breach.name, "done");
}

#[test]
fn changes_are_told_in_one_epoch_after_the_other() {
    if is_short() {
        return;
    }
    let inputs = one_after_the_other();
    let referee = Some(Auditor::boxed(Some(Instead::NothingFollows)));
    let found = refute("follows", &Model { inputs, referee, ..model(short(2)) });
    assert_eq!(found.breach.name, "follows");
}

#[test]
fn m13_whoever_tells_at_once_tells_what_is_lost() {
    let hasty = Model { inputs: one_change(), ..model(short(2)) };
    let hasty = wrong(hasty, Slip::TellsAtOnce);
    assert_eq!(refute("at once", &hasty).breach.name, "majority");
}

#[test]
fn m4_a_take_over_without_the_newest_copy_loses_what_was_told() {
    let inputs = vec![vec![BID, Wish::Do(1)], vec![], vec![BID]];
    let mean = wrong(Model { inputs, ..model(short(2)) }, Slip::KeepsItsCopy);
    assert_eq!(refute("kept copy", &mean).breach.name, "nothing-lost");
}

#[test]
fn m8_a_voter_that_forgets_how_long_others_rely_on_it_loses_what_was_told() {
    if is_short() {
        return;
    }
    let inputs = vec![vec![BID, Wish::Do(1)], vec![], vec![BID]];
    let forgetful = Model { inputs, faults: CRASH, ..model(short(2)) };
    let forgetful = wrong(forgetful, Slip::ForgetsReliance);
    assert_eq!(refute("forgotten reliance", &forgetful).breach.name, "nothing-lost");
}

#[test]
fn m8_a_voter_that_takes_a_late_copy_for_new_loses_what_was_told() {
    if is_short() {
        return;
    }
    let hasty = Model { inputs: one_change(), faults: CRASH, ..model(short(2)) };
    let hasty = wrong(hasty, Slip::TakesAnyCopy);
    assert_eq!(refute("late copy", &hasty).breach.name, "nothing-lost");
}

#[test]
fn m12_a_follower_that_skips_what_it_missed_has_another_copy() {
    let careless = Model { inputs: two_changes(), ..model(short(1)) };
    let careless = wrong(careless, Slip::SkipsWhatItMissed);
    assert_eq!(refute("skipped", &careless).breach.name, "copies");
}
