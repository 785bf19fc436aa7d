//! What runs a process: connections to and from its peers, its timers, its file, its certificate.

mod accept;
mod alarm;
pub mod certs;
mod dial;
pub mod durable;
pub(crate) mod greeting;
mod identity;
pub mod journal;
mod options;
mod outbox;
pub mod proof;
mod protocol;
mod roster;
mod runner;
mod running;
mod shared;
mod stats;
mod step;
pub mod store;
mod timers;
mod traffic;

pub use accept::{ClientConnection, refuse};
pub use bellwether_api::envelope::Payload;
pub use greeting::{Caller, GREETING_MAX, Refused};
pub use identity::Identity;
pub use options::{Limits, Options};
pub use protocol::{Coded, Config, Durable, Hint, Input, Msg, Opened, Output, Protocol, Timer};
pub use roster::Membership;
pub use runner::{RunError, View};
pub use running::{FaultsNotAllowed, Outputs, Running, StartError, start, start_with_journal};
pub use shared::{PeerState, Stranger};
pub use stats::{Counters, Dropped, Reason};
pub use step::{Journal, Step};
pub use store::{Store, Written};
pub use traffic::Traffic;
