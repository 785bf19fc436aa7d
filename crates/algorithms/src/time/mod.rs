//! Time and order: the logical clocks that every trace carries.

mod lamport;
mod vector;

pub use lamport::Lamport;
pub use vector::{Causality, VectorClock};
