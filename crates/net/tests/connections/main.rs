//! The driver on loopback: real sockets, certificates and files.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod catalogue;
mod certs;
mod clients;
mod common;
mod durable;
mod exchange;
mod fuzz_decoders;
mod hostile;
mod store;
