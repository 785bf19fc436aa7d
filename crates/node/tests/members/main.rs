//! Real members in one process, asked over HTTP and by the client crate.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod bad_input;
mod clients;
mod clogged;
mod cluster;
mod codec;
mod common;
mod coordination;
mod dashboard;
mod parent;
mod reload;
