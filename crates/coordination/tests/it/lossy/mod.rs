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

const SCHEDULES: u64 = 10_000;

#[test]
fn ten_thousand_schedules() {
    let mut counts = Counts::default();
    for seed in 0..SCHEDULES {
        World::new(seed).run(&mut counts);
    }
    // The schedules have seen what they are about.
    let Counts { grants, leads, passed, deadlocks, gave_up, lost, not_asked } = counts;
    assert!(grants > SCHEDULES * 5, "{grants} grants");
    assert!(leads > SCHEDULES, "{leads} leaders");
    assert!(passed > SCHEDULES / 20, "{passed} deadlines passed");
    assert!(deadlocks > SCHEDULES / 100, "{deadlocks} deadlocks");
    assert!(gave_up > SCHEDULES / 10, "{gave_up} gave up");
    assert!(lost > SCHEDULES * 10, "{lost} lost");
    assert!(not_asked > SCHEDULES / 100, "{not_asked} gave up what they had");
}
