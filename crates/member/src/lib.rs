//! The production member as a state machine, without I/O.
//!
//! A [`Member`] is composed of parts that know nothing of each other:
//!
//! * a [detector] that notices a silent coordinator,
//! * an [election](bellwether_algorithms::election) of the catalogue that says who should
//!   coordinate instead,
//! * the [log](bellwether_log), with terms, votes, leader leases and replicated entries, that says
//!   whether it may,
//! * the coordinator's view of all members' [clocks].
//!
//! A [`Service`] is a member that serves clients: it replicates their sessions, locks and roles
//! ([coordination](bellwether_coordination)) by the log.
//!
//! Being a [`Process`](bellwether_core::Process), the whole is simulated with every fault that the
//! simulator knows, and the same code runs over the network.

pub mod clocks;
mod config;
pub mod detector;
mod event;
mod member;
mod ranks;
pub mod service;
mod simulated;
mod status;
#[cfg(test)]
mod tests;

pub use bellwether_log::{
    Change, ChangeError, Completeness, Durability, Durable, Incarnation, LeaseSettings, Loss,
    Members, Position, Quorum, Seat, Suffrage, Term,
};
pub use config::{Choices, Config, MOST_DRIFT_PPM, Preempt, Unfit};
pub use event::{Decline, Event, Reason};
pub use member::{Hint, Input, Member, Msg, PeerView, Timer};
pub use ranks::Ranks;
pub use service::Service;
pub use simulated::SIMULATED_DRIFT_PPM;
pub use status::{ClockStatus, Health, LogStatus, MandateStatus, MemberStatus, Stance, Status};
