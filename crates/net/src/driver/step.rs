//! What a process was called with, for whoever wants to write it down.

use bellwether_core::{NodeId, Process, Time};
use std::io;

/// Writes down every step of a process, so that it can be replayed and shown later.
pub trait Journal<P: Process>: Send {
    /// Called in the process's task before the step's effects leave, and before its handler runs.
    /// An error stops the process: nothing of the step leaves.
    fn record(&mut self, step: &Step<'_, P>) -> io::Result<()>;
}

/// One handler call.
#[derive(Debug)]
pub struct Step<'a, P: Process> {
    /// When, on the clock that all processes of this host share: [`Clock::shared`].
    ///
    /// [`Clock::shared`]: crate::Clock::shared
    pub at: Time,
    /// What the handler reads as its own clock.
    pub clock: Time,
    /// Why.
    pub event: StepEvent<'a, P>,
}

/// Why a handler is called.
#[derive(Debug)]
pub enum StepEvent<'a, P: Process> {
    /// It starts, with what was durable.
    Start(Option<&'a P::Durable>),
    /// The application wants something.
    Input(&'a P::Input),
    /// A message arrived. `from`, `life` and `seq` together name its sending.
    Message {
        /// Who sent it.
        from: NodeId,
        /// In which of its lives.
        life: u64,
        /// As which of the messages of that life, counted from 0 in the order in which its
        /// handlers asked for them.
        seq: u64,
        /// What it says.
        msg: &'a P::Msg,
    },
    /// A timer ran out.
    Timer(P::Timer),
}
