//! Commands that run a job only while it is elected, or while it holds locks: `bellwether campaign`
//! and `bellwether lock`.
//!
//! The job is dead before the earliest moment at which anybody else can be granted what it ran
//! under. [`keeper`] says how; the command itself keeps the session alive and tells the keeper by
//! when the job must be dead if nothing more is heard.
//!
//! Exit codes: those of the job; 126 and 127 if it cannot be run, before anything is asked for; 128
//! and the number of a signal that came before the job ran; 2 for flags that make no sense; and
//! those of [`bellwether::Error::exit_code`].

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
pub(crate) mod sockets;
mod wire;

use crate::signals::Signals;
use bellwether::{Error, Session};
use bellwether_shell::{Failure, complain};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// What is added to the number of a signal that ends a command.
const TOLD: u8 = 128;
/// The cluster is told so long at most that a session ends. It finds out by itself, too.
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
    Failure::Exit(error.exit_code(), error.to_string())
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
