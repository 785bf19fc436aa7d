//! The catalogue: every algorithm once, as a state machine without I/O.
//!
//! One algorithm is one file. Its module documentation states the problem, the source, the
//! numbered rules, what it assumes and what it costs; the code below marks each rule where it is
//! applied. [`catalogue`] lists them all, and is the only place that a new one must be added to.

pub mod agreement;
pub mod catalogue;
pub mod cost;
pub mod deadlock;
pub mod definition;
pub mod election;
mod entry;
mod erase;
pub mod mutex;
pub mod options;
pub mod order;
pub mod referee;
pub mod rings;
pub mod snapshot;
pub mod time;
pub mod views;

/// The examples of the documentation are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/clocks.md")]
mod pages {}
