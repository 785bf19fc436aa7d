//! Worlds in which a member is configured with another lease than the others: finding c. `LONG=1` explores more. The
//! storms change leases while the cluster runs (G16), and find each of these faults within seconds.

use crate::worlds::{CAMPAIGN, CRASH, Flaw, Probe, TICK, Wish, hold, refute, timed};
use bellwether_check::{Channels, Model};
use bellwether_log::Timer;

/// A lease lasts three ticks, and a leader relies on a third of it: two clocks may drift apart by two ticks. Messages
/// arrive once.
fn world(inputs: Vec<Vec<Wish>>, flaw: Option<Flaw>) -> Model<Probe> {
    let mut model = timed(3, 3);
    (model.config.timers, model.config.flaw) = (&[Timer::Write], flaw);
    Model { inputs, channels: Channels::Reorder, ..model }
}

/// P1 leads with a lease of twelve ticks. P2 campaigns.
fn with_two_leases(flaw: Option<Flaw>) -> Model<Probe> {
    let mut model = world(vec![vec![], vec![CAMPAIGN]], flaw);
    model.config.lease_of_p1 = Some(TICK * 12);
    model
}

/// These take minutes: make check-all.
fn is_long() -> bool {
    std::env::var_os("LONG").is_some()
}

#[test]
fn c_followers_are_bound_for_as_long_as_their_leader_counts() {
    let flaw = Some(Flaw::BindsByItsOwnLease);
    assert_eq!(refute("bound by its own lease", &with_two_leases(flaw)), "one-serving");
    if is_long() {
        hold("two leases", &with_two_leases(None));
    }
}

#[test]
fn g9_a_restart_waits_for_the_lease_that_was_granted() {
    if is_long() {
        let world =
            |flaw| Model { faults: CRASH, channels: Channels::Fifo, ..with_two_leases(flaw) };
        let flaw = Some(Flaw::ForgetsWhatItGranted);
        assert_eq!(refute("waits for its own lease", &world(flaw)), "one-serving");
        hold("two leases, a crash", &world(None));
    }
}
