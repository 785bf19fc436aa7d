//! The production member as a state machine, without I/O.
//!
//! A [`Member`] is composed of parts that know nothing of each other:
//!
//! * a [detector] that notices a silent coordinator,
//! * an [election](bellwether_algorithms::election) of the catalogue that says who should
//!   coordinate instead,
//! * the [mandate], an epoch and a lease granted by a majority, that says whether it may,
//! * the coordinator's view of everybody's [clocks].
//!
//! A [`Steward`] is a member with [duties](bellwether_duties): what the coordinator does for clients
//! under its mandate.
//!
//! Being a [`Process`](bellwether_core::Process), the whole is simulated with every fault that the
//! simulator knows, and the same code runs over the network.

pub mod clocks;
mod config;
pub mod detector;
mod event;
pub mod mandate;
mod member;
mod ranks;
mod simulated;
mod status;
pub mod steward;
#[cfg(test)]
mod tests;

pub use config::{Choices, Config, MOST_DRIFT_PPM, Preempt, Quorum, Unfit};
pub use event::{Decline, Event, Loss, Reason};
pub use mandate::{Durable, Epoch, Replica};
pub use member::{Hint, Input, Member, Msg, Timer};
pub use ranks::Ranks;
pub use simulated::SIMULATED_DRIFT_PPM;
pub use status::{ClockStatus, Health, MandateStatus, MemberStatus, Stance, Status};
pub use steward::Steward;
