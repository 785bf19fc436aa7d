//! What travels: protobuf between processes, JSON for people and programs.

pub mod client;
#[cfg(feature = "json")]
pub mod coordination;
pub mod envelope;
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated from the .proto files")]
mod generated;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "json")]
pub mod orders;
