//! What travels: protobuf between processes, JSON for people and programs.

pub mod client;
pub mod duties;
pub mod envelope;
pub mod json;
pub mod member;
pub mod orders;
