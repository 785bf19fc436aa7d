//! The client against a cluster that is not one.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod connections;
mod fake;
mod interface;
mod leading;
mod listing;
mod locks;
mod observing;
mod roles;
