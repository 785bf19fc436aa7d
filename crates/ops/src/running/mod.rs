//! Commands that run a job only while it is elected, or while it holds locks: `bellwether campaign`
//! and `bellwether lock`.
//!
//! The job is dead before the earliest moment at which another session can be granted what it ran
//! under. [`keeper`] says how; the command itself keeps the session alive and tells the keeper by
//! when the job must be dead if nothing more is heard.
//!
//! Exit codes: those of the job; 126 and 127 if it cannot be run, before anything is asked for; 128
//! and the number of a signal that came before the job ran; 2 for flags that make no sense; and
//! those of [`exit_code`].

mod alarm;
pub(crate) mod args;
pub(crate) mod campaign;
mod cgroup;
mod held;
mod job;
mod joining;
pub(crate) mod keeper;
pub(crate) mod lock;
mod processes;
mod program;
mod serve;
pub(crate) mod sockets;
mod wire;

use crate::signals::Signals;
use bellwether::{CERTS, CLIENT, ENDPOINTS, Error, ErrorKind, SOCKET, Session};
use bellwether_shell::{Failure, complain};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// What is added to the number of a signal that ends a command.
const TOLD: u8 = 128;
/// How long the command tries to tell the cluster that a session ends. The cluster finds out by itself, too.
const FAREWELL: Duration = Duration::from_secs(1);

/// The system has no processes or sockets to give.
const OS_FAILED: u8 = 71;
/// After an outage it tries again after this time.
const PAUSE: Duration = Duration::from_millis(500);

/// Whether the cluster could not be reached: no member answers, there is no coordinator, or a session
/// was lost with them. That passes. So does what the system refuses to a command that got it before.
fn is_outage(failure: &Failure) -> bool {
    matches!(failure, Failure::Exit(69..=71, _))
}

/// Waits a moment, unless a signal comes.
async fn pause(signals: &mut Signals) -> Result<(), Failure> {
    tokio::select! {
        () = sleep(PAUSE) => Ok(()),
        signal = signals.next() => Err(Failure::Silent(TOLD + signal)),
    }
}

fn failed(error: Error) -> Failure {
    Failure::Exit(exit_code(error.kind()), with_flags(&error.to_string()))
}

/// The crate names variables of the environment; a command has flags for the same.
fn with_flags(text: &str) -> String {
    let flags =
        [(CERTS, "--certs"), (CLIENT, "--client"), (SOCKET, "--socket"), (ENDPOINTS, "--connect")];
    flags.iter().fold(text.to_owned(), |text, (variable, flag)| {
        text.replace(variable, &format!("{flag} or {variable}"))
    })
}

/// What a command ends with that failed with such an error. The codes are above those that most programs use for
/// themselves, and never change their meaning: docs/operations.md lists them.
pub(crate) fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::InvalidEndpoint => 64,
        ErrorKind::Unavailable => 69,
        ErrorKind::NoCoordinator => 70,
        ErrorKind::SessionEnded => 71,
        ErrorKind::NotHeld => 72,
        ErrorKind::LimitReached => 73,
        ErrorKind::InvalidName => 74,
        ErrorKind::Timeout | ErrorKind::Busy => 75,
        ErrorKind::Deadlock => 76,
        ErrorKind::Tls | ErrorKind::Rejected | ErrorKind::NotOperator => 77,
        ErrorKind::InvalidTtl | ErrorKind::Mismatch => 78,
        ErrorKind::ValueTooLarge => 79,
        ErrorKind::AlreadyRequested => 80,
        ErrorKind::NotWatched => 81,
        ErrorKind::StaleToken => 82,
        ErrorKind::Unsupported => 83,
        // NoSuchCandidate, InvalidRequest, and kinds that are not known here.
        _ => 65,
    }
}

/// Says something to the person at the terminal.
fn note(quiet: bool, what: &str) {
    if !quiet {
        complain(&format!("bellwether: {what}"));
    }
}

/// Ends a session.
async fn close(session: Session) {
    let _ = timeout(FAREWELL, session.close()).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripts rely on them: docs/operations.md.
    #[test]
    fn exit_codes_never_change_their_meaning() {
        use ErrorKind::*;
        for (code, kinds) in [
            (64, &[InvalidEndpoint][..]),
            (65, &[NoSuchCandidate, InvalidRequest]),
            (69, &[Unavailable]),
            (70, &[NoCoordinator]),
            (71, &[SessionEnded]),
            (72, &[NotHeld]),
            (73, &[LimitReached]),
            (74, &[InvalidName]),
            (75, &[Timeout, Busy]),
            (76, &[Deadlock]),
            (77, &[Tls, Rejected, NotOperator]),
            (78, &[InvalidTtl, Mismatch]),
            (79, &[ValueTooLarge]),
            (80, &[AlreadyRequested]),
            (81, &[NotWatched]),
            (82, &[StaleToken]),
            (83, &[Unsupported]),
        ] {
            for kind in kinds {
                assert_eq!(exit_code(*kind), code, "{kind:?}");
            }
        }
    }
}
