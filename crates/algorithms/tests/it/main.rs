//! What the catalogue's parts promise together.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

mod clock_conditions;
mod erased;
mod reads_clock;
mod run;
