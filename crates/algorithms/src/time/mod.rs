//! Time: the logical clocks that every trace carries, and physical clocks that are kept together.

mod hybrid;
mod lamport;
mod vector;

pub use hybrid::{Hybrid, TooFarAhead};
pub use lamport::Lamport;
pub use vector::{Causality, OtherGroup, VectorClock};
