//! The catalogue: every algorithm once, as a state machine without I/O.
//!
//! One algorithm is one file. Its module documentation states the problem, the source, the
//! numbered rules, what it assumes and what it costs; the code below marks each rule where it is
//! applied. [`catalogue`] lists them all, and is the only place that a new one must be added to.

pub mod catalogue;
pub mod election;
pub mod mutex;
pub mod time;
pub mod views;
