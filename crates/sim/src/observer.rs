//! Looking on while a run happens.

use bellwether_core::{NodeId, Process, Time};

/// Something that is told of every event. Tracing is one; a run that is not watched pays nothing.
pub trait Observer<P: Process> {
    /// Whether it wants to be told at all.
    const ACTIVE: bool;

    /// An event at the process at `place`.
    fn event(&mut self, at: Time, place: usize, event: Seen<'_, P>);

    /// The process at `place` has finished its step.
    fn stepped(&mut self, place: usize, process: &P);
}

/// What can be seen of a run.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a, P: Process> {
    /// The application asked for something.
    Input(&'a P::Input),
    /// A message left.
    Send {
        /// The message's number in this run.
        id: u64,
        /// Whereto.
        to: NodeId,
        /// What.
        msg: &'a P::Msg,
    },
    /// A message arrived.
    Receive {
        /// The message's number in this run.
        id: u64,
        /// Where from.
        from: NodeId,
        /// What.
        msg: &'a P::Msg,
    },
    /// A message to this process did not arrive.
    Drop {
        /// The message's number in this run.
        id: u64,
        /// Where from.
        from: NodeId,
        /// What.
        msg: &'a P::Msg,
        /// Why not.
        why: Why,
    },
    /// A timer fired.
    Timer(&'a P::Timer),
    /// The process told the application something.
    Output(&'a P::Output),
    /// The step applies this rule of the algorithm.
    Rule(&'static str),
    /// The process stopped.
    Crash,
    /// The process started again.
    Recover,
    /// The process stands still.
    Pause,
    /// The process goes on.
    Resume,
    /// Something happened to the network or to a clock; in words.
    Note(&'a str),
}

/// Why a message did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The network lost it.
    Lost,
    /// A partition or one-way cut stopped it.
    Cut,
    /// The receiver was down.
    Down,
}

impl Why {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Why::Lost => "lost",
            Why::Cut => "cut",
            Why::Down => "down",
        }
    }
}

/// Looks at nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl<P: Process> Observer<P> for Silent {
    const ACTIVE: bool = false;
    fn event(&mut self, _: Time, _: usize, _: Seen<'_, P>) {}
    fn stepped(&mut self, _: usize, _: &P) {}
}
