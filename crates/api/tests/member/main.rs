//! The production member's messages on the wire: that they survive the journey, that neighbouring
//! versions understand each other, and that hostile bytes do no harm.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod compatible;
mod golden;
mod hostile;
mod raw;
mod simulated;

use bellwether_algorithms::election::Bully;
use bellwether_api::member::{Malformed, decode, encode};
use bellwether_core::{NodeId, Time};
use bellwether_member::mandate::{self, Sight, Version};
use bellwether_member::{ClockStatus, Epoch, Msg};

/// Calls a function for every election of the catalogue.
macro_rules! for_every_election {
    ($call:ident) => {{
        use bellwether_algorithms::election;
        $call::<election::Bully>();
        $call::<election::Ring>();
        $call::<election::ActiveList>();
        $call::<election::ChangRoberts>();
        $call::<election::HirschbergSinclair>();
        $call::<election::Peterson>();
    }};
}
pub(crate) use for_every_election;

/// A member's message where the election does not matter.
type Any = Msg<<Bully as bellwether_core::Process>::Msg>;

fn read(bytes: &[u8]) -> Result<Any, Malformed> {
    decode::<Bully>(bytes)
}

fn write(msg: &Any) -> Vec<u8> {
    encode::<Bully>(msg)
}

/// Messages of the mandate by name, at least one of each kind.
fn mandates() -> Vec<(&'static str, mandate::Msg<()>)> {
    use mandate::Msg as M;
    let epoch = Epoch::new(7);
    let version = Version { epoch: Epoch::new(6), sequence: 300 };
    let sent = Time::from_micros(1_234_567);
    let node = NodeId::new(5);
    let rate_ppb = Some(-40_000);
    let clock = ClockStatus { offset_us: -1500, error_us: 250, rate_ppb, drifts: true };
    let view = vec![
        Sight { member: node, heard_ms: Some(0), clock: Some(clock) },
        Sight { member: NodeId::new(200), heard_ms: None, clock: None },
    ];
    vec![
        ("prepare", M::Prepare { epoch }),
        ("promise", M::Promise { epoch, version, copy: () }),
        ("wait", M::Wait { epoch, leader: Some(node) }),
        ("wait-restarted", M::Wait { epoch, leader: None }),
        ("refuse", M::Refuse { epoch, promised: Epoch::new(9) }),
        ("spread", M::Spread { epoch, sent, version, copy: (), appointed: true }),
        ("beat", M::Beat { epoch, sent, appointed: false, view: Vec::new() }),
        ("beat-view", M::Beat { epoch, sent, appointed: true, view }),
        ("ack", M::Ack { epoch, sent, clock: Time::from_micros(7_654_321) }),
        ("lack", M::Lack { epoch }),
        ("claim", M::Claim { epoch }),
        ("release", M::Release { epoch, to: Some(node), appointed: true }),
        ("release-to-nobody", M::Release { epoch, to: None, appointed: false }),
    ]
}
