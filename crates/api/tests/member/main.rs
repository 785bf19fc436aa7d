//! The production member's messages on the wire: that they survive the journey, that neighbouring
//! versions understand each other, and that hostile bytes do no harm.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod compatible;
mod examples;
mod golden;
mod hostile;
mod packed;
mod raw;
mod simulated;

use bellwether_algorithms::election::Bully;
use bellwether_api::member::{Malformed, decode, encode};
use bellwether_duties::Duties;
use bellwether_member::mandate;
use bellwether_member::steward::Msg;

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

/// A message of the mandate as a member sends it.
fn of_mandate(msg: mandate::Msg<Duties>) -> Any {
    Msg::Member(bellwether_member::Msg::Mandate(msg))
}
