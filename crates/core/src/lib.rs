//! The contract between a distributed algorithm and whatever runs it.
//!
//! An algorithm is a [`Process`]: a state machine without I/O. A driver (the simulator, the
//! checker, the network) owns one process per member of a [`Group`] and calls it with one event
//! at a time; the process answers by asking for effects through its [`Context`]. The rules that
//! make all drivers mean the same:
//!
//! * One event, one handler call. A handler never blocks and never does I/O; it reads no clock
//!   but [`Context::now`] and draws no random number: a random delay is a range given to
//!   [`Context::set_timer`], and the driver draws.
//! * What [`Process::durable`] returns after a step is safe before any message of that step
//!   leaves.
//! * A timer is named by its value. Setting it again replaces it; a timer that was replaced or
//!   cancelled never fires.
//! * A crashed process comes back as `Default::default()` followed by
//!   [`Process::on_start`] with what was durable. Nothing else survives.
//! * State is `Eq + Hash` and kept in ordered containers, so that a checker can tell states apart
//!   and a trace can show them. What never changes (members, configuration) is not state: the
//!   context lends it.
//!
//! A [`Machine`] is the state that a replicated log carries, with the contract for its snapshots.
//!
//! [`WaitForGraph`] is here for another reason: the deadlock detectors and the coordinator's lock
//! service both use it, and neither depends on the other. [`Draws`] is here because the simulator
//! and the runs by which algorithms show their costs must draw the same numbers everywhere.
//! [`SortedMap`] and [`SortedSet`] are the ordered containers for states with a few entries.
//!
//! The crate depends on nothing but `std`, and of that only on plain data.

mod codec;
mod context;
mod effect;
mod erased;
mod few;
mod group;
mod invariant;
mod machine;
mod named;
mod process;
mod random;
mod sorted;
mod time;
mod wait_for;

pub use codec::{Codec, Coder};
pub use context::{Context, Effects, Here};
pub use effect::{Effect, step};
pub use erased::{
    AnyConfig, AnyDurable, AnyInput, AnyMsg, AnyOutput, AnyProcess, AnyTimer, Erasable, Panicked,
    blamed,
};
pub use few::Few;
pub use group::{Group, GroupError, NodeId};
pub use invariant::{Cluster, Fence, Goal, Holds, InFlight, Invariant, Shape, Validity};
pub use machine::{Machine, Unsound};
pub use process::{Assumptions, Call, Channels, Kind, Message, Process, Role, Timing};
pub use random::Draws;
pub use sorted::{SortedMap, SortedSet};
pub use time::{Time, micros};
pub use wait_for::WaitForGraph;
