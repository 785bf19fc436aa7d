//! The checker against an oracle and the simulator, and what it proves.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod agree;
mod deadlocks;
mod liveness;
mod member;
mod models;
mod mortal;
mod oracle;
mod order;
mod peer;
mod proofs;
mod replays;
mod same_as_sim;
mod sections;
mod snapshots;
mod toy;
mod whole;
