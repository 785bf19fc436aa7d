//! The operators' commands, as programs, and real clusters that are tortured.
//!
//! They are apart from the laboratory's, which would take the time that members need to be on
//! time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod backup;
mod clients;
mod common;
mod coordination;
mod dashboard;
mod deaths;
mod findings;
mod keeper;
mod members;
mod node;
mod owners;
mod pages;
mod running;
mod torture;
mod up;
