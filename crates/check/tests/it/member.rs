//! The production member as a whole, as far as it can be explored: little time may pass.
//!
//! What its safety rests on is the log, and `crates/log/tests/it/worlds.rs` goes much further with that.
//! Here are the detector and the election beside it, and nothing is abstracted: clocks show what they
//! show.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and tell how far it is"
)]

use crate::models::listed;
use bellwether_algorithms::definition::Settings;
use bellwether_check::{Channels, Limits, Setup, Ticks, Timing, Verdict, check};
use bellwether_core::{Group, NodeId};
use std::time::Duration;

/// This many members, which notice nothing by themselves, so early; these hold an election.
fn prove(members: u32, who: &[u32], horizon: Ticks) {
    let timeout = Duration::from_millis(100);
    let mut setup =
        Setup::new(&listed("member"), Group::numbered(members).unwrap(), Settings::new(timeout));
    setup.timing = Timing::Drifting { tick: timeout, apart: 1 };
    setup.channels = Channels::Reorder;
    setup.horizon = Some(horizon);
    setup.asks = who.iter().map(|number| (NodeId::new(*number), "start".to_owned())).collect();
    setup.liveness = false;
    let limits = Limits { threads: 2, ..Limits::default() };
    let report = check(&setup.model(), limits, &mut |_| {});
    eprintln!("{who:?}, {horizon} ticks: {:?}", report.progress);
    assert_eq!(report.verdict, Verdict::Proved);
}

#[test]
fn one_mandate_of_two_members_before_time_passes() {
    prove(2, &[1, 2], 0);
}

#[test]
fn one_mandate_before_time_passes() {
    if std::env::var_os("LONG").is_none() {
        return; // It takes a minute: make check-all.
    }
    prove(3, &[3], 0);
}

#[test]
fn one_mandate_before_time_passes_while_two_hold_elections() {
    if std::env::var_os("LONG").is_none() {
        return; // It takes minutes: make check-all.
    }
    prove(3, &[2, 3], 0);
}

#[test]
fn one_mandate_within_a_heartbeat() {
    if std::env::var_os("LONG").is_none() {
        return; // It takes minutes: make check-all.
    }
    prove(3, &[3], 1);
}
