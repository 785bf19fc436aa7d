//! What a process was called with, for journals.

use bellwether_core::{Call, Process, Time};
use std::io;

/// Writes down every step of a process, so that it can be replayed and shown later.
pub trait Journal<P: Process>: Send {
    /// Called in the process's task before the step's effects leave, and before its handler runs.
    /// An error stops the process: nothing of the step leaves.
    fn record(&mut self, step: &Step<P>) -> io::Result<()>;
}

/// One handler call.
#[derive(Clone, Debug)]
pub struct Step<P: Process> {
    /// When, on the clock that all processes of this host share: [`Clock::shared`].
    ///
    /// [`Clock::shared`]: crate::Clock::shared
    pub at: Time,
    /// What the handler reads as its own clock.
    pub clock: Time,
    /// What came in.
    pub call: Call<P>,
    /// Of a start, which life it begins; of a message, which of the sender's lives it is from, and
    /// its index among the messages of that life, in the order in which its handlers asked for them.
    pub origin: (u64, u64),
}
