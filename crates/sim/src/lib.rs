//! A deterministic simulator for the catalogue's algorithms.

pub mod chaos;
pub mod compare;
mod engine;
mod fault;
mod monitor;
mod network;
mod node;
mod observer;
mod plan;
mod prefetch;
mod queue;
mod random;
pub mod render;
pub mod scenario;
mod shrink;
mod tally;
mod trace;
pub mod units;

pub use engine::{Ended, Sim};
pub use fault::{Action, Cut, CutKind, FaultCounts, FaultKind, Scheduled};
pub use monitor::Violation;
pub use network::{Fate, Latency, Network};
pub use observer::{Observer, Seen, Silent, Why};
pub use plan::{Impossible, Outcome, Plan, check_script, default_timeout};
pub use shrink::{Shrunk, shrink};
pub use tally::Tally;
pub use trace::{Header, Letter, Recorder, Trace, TraceEvent, What};

/// Puts a ring into random order, by the seed.
pub fn shuffled(ring: &mut [bellwether_core::NodeId], seed: u64) {
    random::Draws::new(seed).shuffle(ring);
}
