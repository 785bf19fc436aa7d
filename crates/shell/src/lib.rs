//! What the commands share: what a command found or why it failed, with its exit code, and
//! writing results to a file or to the terminal.
//!
//! Exit codes: 0 all well; 1 an invariant was broken, an expectation missed or a formula not met;
//! 2 the command could not be carried out as given; 3 a limit was reached before the answer.

mod commands;
mod failure;
mod folder;
mod output;

pub use failure::{Failure, Verdict, whole_number};
pub use folder::Folder;
pub use output::{Sheet, Target, complain, harmless, print};

use std::process::ExitCode;

/// The exit code of a program whose command ended like this. A failure is printed to standard
/// error.
#[must_use]
pub fn exit(ended: Result<Verdict, Failure>) -> ExitCode {
    match ended {
        Ok(Verdict::Well) => ExitCode::SUCCESS,
        Ok(Verdict::Violated) => ExitCode::from(1),
        Ok(Verdict::Unfinished) => ExitCode::from(3),
        // The reader of our output has closed it, as in `bellwether ... | head`.
        Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Silent(code)) => ExitCode::from(code),
        Err(failure) => {
            complain(&format!("error: {failure}"));
            ExitCode::from(failure.exit_code())
        }
    }
}
