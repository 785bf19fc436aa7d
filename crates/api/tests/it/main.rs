//! What travels: between clients and members, and between members.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod client;
