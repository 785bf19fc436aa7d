//! A deterministic simulator for the catalogue's algorithms.

mod engine;
mod fault;
mod monitor;
mod network;
mod node;
mod observer;
mod queue;
mod random;
mod tally;
mod trace;

pub use engine::{Ended, Sim};
pub use fault::{Action, Cut, CutKind, FaultCounts, FaultKind, Scheduled};
pub use monitor::Violation;
pub use network::{Fate, Latency, Network};
pub use observer::{Observer, Seen, Silent, Why};
pub use tally::Tally;
pub use trace::{Header, Letter, Recorder, Trace, TraceEvent, What};
