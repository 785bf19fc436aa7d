//! The contract between a replicated state and the log that carries it.
//!
//! A [`Machine`] is changed by commands alone, so members that apply the same commands in the same
//! order have the same state. A member that lacks the commands gets the state itself, as a snapshot:
//! the sender cuts its state into parts, and the receiver absorbs them in the same order and then
//! completes the state. The contract is here because the log and the state must not know each other:
//! an application's client has the state's types without the log.

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::time::Duration;

/// A state machine that a log replicates. The same commands in the same order give the same
/// state and the same outcomes.
pub trait Machine: Clone + Debug + Default + Eq + Hash + Send + Sync + 'static {
    /// What changes the state.
    type Command: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// What comes of a command. The leader tells it when the command is committed.
    type Outcome: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// The smallest unit in which a snapshot travels.
    type Part: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// Where in a snapshot the next part begins; the default is its beginning.
    type Cursor: Clone + Debug + Default + Eq + Ord + Hash + Send + Sync + 'static;

    /// Executes a command.
    fn apply(&mut self, command: &Self::Command) -> Vec<Self::Outcome>;

    /// A command's bytes on the wire, roughly: never below nine tenths of them.
    fn weight(command: &Self::Command) -> usize;

    /// A part's bytes on the wire, roughly.
    fn part_weight(part: &Self::Part) -> usize;

    /// The parts from this cursor on, up to `budget` bytes but at least one if there is one, and
    /// where the next ones begin. The cursor may come from the network: any value is possible.
    fn cut(&self, from: &Self::Cursor, budget: usize) -> (Vec<Self::Part>, Option<Self::Cursor>);

    /// Adds parts to a state that began as the default.
    fn absorb(&mut self, parts: Vec<Self::Part>) -> Result<(), Unsound>;

    /// All parts are there: derives what does not travel, and refuses a state that no commands can
    /// have made.
    fn complete(self) -> Result<Self, Unsound>;

    /// The longest time for which a client may go on to rely on this state after it is lost (G9).
    fn longest_ttl(&self) -> Duration {
        Duration::ZERO
    }

    /// The same for what this command may add.
    fn ttl_of(_command: &Self::Command) -> Duration {
        Duration::ZERO
    }
}

/// What is wrong with parts of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unsound(pub &'static str);

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unsound {}

/// No state at all: for those who only want a leader.
impl Machine for () {
    type Command = ();
    type Outcome = ();
    type Part = ();
    type Cursor = ();

    fn apply(&mut self, _command: &()) -> Vec<()> {
        Vec::new()
    }

    fn weight(_command: &()) -> usize {
        0
    }

    fn part_weight(_part: &()) -> usize {
        0
    }

    fn cut(&self, _from: &(), _budget: usize) -> (Vec<()>, Option<()>) {
        (Vec::new(), None)
    }

    fn absorb(&mut self, _parts: Vec<()>) -> Result<(), Unsound> {
        Ok(())
    }

    fn complete(self) -> Result<Self, Unsound> {
        Ok(self)
    }
}
