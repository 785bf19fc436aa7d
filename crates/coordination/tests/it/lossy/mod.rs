//! Clients in a bad network: what they send and are told may be lost, doubled and late, clocks run off
//! by as much as they may, sessions expire, coordinators change. Whatever happens:
//!
//! * no client believes in a lock or role after the coordinator took it away: neither a client that could
//!   not know, nor one whose program only looks at the clock;
//! * nothing is done twice: a request is granted by one token, and answered once for good;
//! * once nothing is lost any more, everything that was asked for is answered.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod world;

use world::{Counts, World};

/// `make soak` plays more: it says how many in the environment variable SCHEDULES.
#[test]
fn thousands_of_schedules() {
    let schedules: u64 = std::env::var("SCHEDULES").map_or(2_000, |text| text.parse().unwrap());
    let mut counts = Counts::default();
    for seed in 0..schedules {
        World::new(seed).run(&mut counts);
    }
    // The schedules have seen what they are about.
    let Counts { grants, leads, passed, deadlocks, gave_up, lost, not_asked } = counts;
    assert!(grants > schedules * 5, "{grants} grants");
    assert!(leads > schedules, "{leads} leaders");
    assert!(passed > schedules / 20, "{passed} deadlines passed");
    assert!(deadlocks > schedules / 100, "{deadlocks} deadlocks");
    assert!(gave_up > schedules / 10, "{gave_up} gave up");
    assert!(lost > schedules * 10, "{lost} lost");
    assert!(not_asked > schedules / 100, "{not_asked} gave up what they had");
}
