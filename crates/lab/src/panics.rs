//! Processes that panic: a run of one ends with what is known of it, and the program goes on.

use bellwether_core::Panicked;
use bellwether_shell::Failure;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The exit code of a run in which a process panicked: what should hold does not.
const PANICKED: u8 = 1;

/// Does something with processes. If one of them panics, `explain` says how to repeat it.
pub(crate) fn caught<T>(
    work: impl FnOnce() -> T,
    explain: impl FnOnce() -> String,
) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        match payload.downcast::<Panicked>() {
            Ok(panicked) => Failure::Exit(PANICKED, format!("{panicked}; {}", explain())),
            // A mistake of our own.
            Err(other) => resume_unwind(other),
        }
    })
}
