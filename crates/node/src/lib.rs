//! One member of a real cluster: its configuration, its HTTP API, its metrics and its logs.
//!
//! The member itself is a state machine in `bellwether-member`, and `bellwether-net` connects it
//! to the others. This crate is what an operator meets: a file that says who the members are, an
//! API that says what they do and why, and exit codes that a supervisor understands.

mod about;
pub mod backup;
mod callers;
mod clients;
pub mod codec;
pub mod config;
mod coordination;
mod daemon;
mod events;
mod handle;
mod history;
mod http;
pub mod logs;
mod membership;
mod messages;
mod metrics;
pub mod operator;
mod overviews;
pub mod parent;
mod priority;
pub mod proof;
mod reload;
pub mod store;
mod wall;
mod wire;

pub use daemon::{Daemon, Failure, identity, run};
pub use priority::low_priority;
pub use wall::at as calendar;
pub use wire::Wire;
