//! Sessions, locks and roles: the rules one by one, at random, and over a bad network.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod client;
mod lossy;
mod parts;
mod random;
mod rules;
mod tokens;
