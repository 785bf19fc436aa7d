//! Algorithms that panic: a run of one ends with what is known of it, and the program goes on.

use bellwether_core::Panicked;
use bellwether_shell::Failure;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The exit code of a run in which something panicked: what should hold does not.
const PANICKED: u8 = 1;

/// Does something with an algorithm. If a part of it panics, `explain` says how to repeat it.
pub(crate) fn caught<T>(
    work: impl FnOnce() -> T,
    explain: impl FnOnce() -> String,
) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let panicked = Panicked::new(payload, || "the command panicked".to_owned());
        Failure::Exit(PANICKED, format!("{panicked}; {}", explain()))
    })
}
