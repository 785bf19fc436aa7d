//! What travels: protobuf between processes, JSON for people and programs.

pub mod client;
#[cfg(feature = "json")]
pub mod coordination;
pub mod envelope;
/// The part of etcd's API that the client speaks; `proto/etcd.proto` documents it.
#[cfg(feature = "etcd")]
pub use generated::etcd;
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated from the .proto files")]
mod generated;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "json")]
pub mod orders;
