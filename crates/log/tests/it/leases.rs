//! Worlds in which a member has another lease than the others: finding c.

use crate::worlds::{Probe, TICK, prove, refute, timed, two_campaign};
use bellwether_check::{Channels, Model};
use bellwether_log::Timer;

/// P1 has a lease of this many ticks, of which it relies on a third; the others have three. Messages
/// arrive in any order, and once.
fn with_two_leases(ticks: u32, compares: bool) -> Model<Probe> {
    let mut model = timed(3, 3);
    (model.config.lease_of_p1, model.config.compares) = (Some(TICK * ticks), compares);
    model.config.timers = &[Timer::Write];
    Model { inputs: two_campaign(), channels: Channels::Reorder, ..model }
}

#[test]
fn c_a_longer_lease_alone_makes_two_leaders() {
    assert_eq!(refute("two leases", &with_two_leases(12, false)), "one-serving");
}

/// The same world with equal leases.
#[test]
fn c_equal_leases_make_none() {
    if std::env::var_os("LONG").is_none() {
        return; // It takes some ten seconds: make check-all.
    }
    prove("equal leases", &with_two_leases(3, false));
}

#[test]
fn c_compared_it_makes_none() {
    prove("two leases, compared", &with_two_leases(12, true));
}
