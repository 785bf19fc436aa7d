//! Time and order: the logical clocks that every trace carries, and the algorithms that keep the
//! clocks of machines together.
//!
//! [`Cristian`] asks one server, [`Berkeley`] lets an elected master take the mean of all clocks,
//! [`Ntp`] asks several servers and does not believe all of them. They share how a clock is set
//! ([`Slewed`]: never back), how another one is looked at ([`Sample`]) and who judges them
//! ([`watch`]).

family! {
    cristian::Cristian,
    berkeley::Berkeley,
    ntp::Ntp,
}

mod average;
mod hybrid;
mod keeping;
mod lamport;
pub mod marzullo;
mod offset;
mod sample;
mod slewed;
#[cfg(test)]
mod tests;
mod vector;
pub mod watch;

pub use average::{Mean, average};
pub use hybrid::{Hybrid, TooFarAhead};
pub use keeping::{Input, NoMajority, Output, Pace, Question, Setting};
pub use lamport::Lamport;
pub use offset::{Offset, clock_face, show, show_roughly};
pub use sample::{BadSample, Sample, Stamps};
pub use slewed::{Ppm, Slewed};
pub use vector::{Causality, OtherGroup, VectorClock};

use crate::cost::Script;
use std::time::Duration;

/// A run that ends before the second round begins: the first begins after T, and the second after
/// 10 s more.
fn one_round(n: u32) -> Script {
    Script { until: Some(Duration::from_secs(5)), ..Script::of(n) }
}
