//! The signals by which a command is told to end.

use bellwether_shell::Failure;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Those that are waited for.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Waits for them from now on, instead of being ended by them.
    pub fn new() -> Result<Self, Failure> {
        let unable =
            |error| Failure::Exit(71, format!("cannot wait for signals: {error}; try again"));
        let wait = |kind| signal(kind).map_err(unable);
        Ok(Signals {
            terminate: wait(SignalKind::terminate())?,
            interrupt: wait(SignalKind::interrupt())?,
            hangup: wait(SignalKind::hangup())?,
        })
    }

    /// The number of the next one. May be cancelled.
    pub async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.interrupt.recv() => 2,
            _ = self.hangup.recv() => 1,
        }
    }
}
