//! The production member in scenarios and in storms of faults, alone and with clients.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod changes;
mod clients;
mod deaths;
mod findings;
mod scenarios;
mod storms;
