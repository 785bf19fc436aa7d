//! The production member's messages on the wire: that they survive the journey, that neighbouring
//! versions understand each other, and that hostile bytes do no harm.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod compatible;
mod examples;
mod generated;
mod golden;
mod hostile;
mod packed;
mod raw;
mod simulated;

use bellwether_algorithms::election::any::Choice;
use bellwether_coordination::Coordination;
use bellwether_log as log;
use bellwether_member::service::Msg;
use bellwether_node::codec::{Malformed, decode};

/// Reads a message where the election does not matter.
fn read(bytes: &[u8]) -> Result<Msg, Malformed> {
    decode(Choice::Bully, bytes)
}

/// A message of the log as a member sends it.
fn of_log(msg: log::Msg<Coordination>) -> Msg {
    Msg::Member(bellwether_member::Msg::Log(msg))
}
