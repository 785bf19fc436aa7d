//! Worlds in which a member is configured with another lease than the others (finding c), or leases change while the
//! cluster runs (G16). The storms change leases, too, and find each of these faults within seconds.

use crate::worlds::{CAMPAIGN, CRASH, Flaw, Probe, TICK, Wish, prove, refute, timed, two_campaign};
use bellwether_check::Model;
use bellwether_log::{LeaseSettings, Payload, Timer};

/// P1 leads with a lease of three ticks, and relies on one of them. The others have a lease of one tick, which two
/// clocks that are a tick apart cannot tell: P2 campaigns, and if it leads, it has no rival. A message may arrive any
/// number of times.
fn with_two_leases(flaw: Option<Flaw>) -> Model<Probe> {
    let mut model = timed(3, 1);
    (model.config.timers, model.config.flaw) = (&[Timer::Write], flaw);
    (model.config.lease_of_p1, model.config.config.leases.lease) = (Some(TICK * 3), TICK);
    Model { inputs: two_campaign(), ..model }
}

/// These take minutes: make check-all.
fn is_long() -> bool {
    std::env::var_os("LONG").is_some()
}

#[test]
fn c_followers_are_bound_for_as_long_as_their_leader_counts() {
    let flaw = Some(Flaw::BindsByItsOwnLease);
    assert_eq!(refute("bound by its own lease", &with_two_leases(flaw)), "one-serving");
    prove("two leases", &with_two_leases(None));
}

#[test]
fn g9_a_restart_waits_for_the_lease_that_was_granted() {
    if is_long() {
        let world = |flaw| Model { faults: CRASH, ..with_two_leases(flaw) };
        let flaw = Some(Flaw::ForgetsWhatItGranted);
        assert_eq!(refute("waits for its own lease", &world(flaw)), "one-serving");
        prove("two leases, a crash", &world(None));
    }
}

/// Leases last three ticks, and nine from when the change is committed, which all have in their logs. P1 commits it with
/// its first entry, and asks for the longer leases with its next command. P1 and P2 do not hear each other: with P3, P1
/// has a majority, and P2 another.
fn with_a_change(flaw: Option<Flaw>) -> Model<Probe> {
    let mut model = timed(3, 3);
    (model.config.timers, model.config.flaw) = (&[Timer::Write], flaw);
    model.config.is_cut = true;
    let leases = LeaseSettings { lease: TICK * 9, ..model.config.config.leases };
    model.config.pending = Some((Payload::LeaseSettings(leases), &[1, 2, 3]));
    Model { inputs: vec![vec![Wish::Propose(7)], vec![CAMPAIGN], vec![]], ..model }
}

#[test]
fn g16_leases_that_change_bind_for_as_long_as_their_leader_counts() {
    if is_long() {
        let flaw = Some(Flaw::BindsByItsOwnLease);
        assert_eq!(refute("changed, bound by its own", &with_a_change(flaw)), "one-serving");
        prove("leases change", &with_a_change(None));
    }
}
