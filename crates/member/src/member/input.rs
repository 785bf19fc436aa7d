//! What a member can be told.

use bellwether_core::NodeId;
use bellwether_log::Incarnation;
use serde::{Deserialize, Serialize};

/// What an operator or the driver wants of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// Hold an election.
    Elect,
    /// Hand leadership over to the strongest other member.
    StepDown,
    /// Hand leadership over to this member.
    Transfer(NodeId),
    /// Stop leading and voting for oneself: this process is about to end.
    Resign,
    /// The connection to this member failed. A hint, no proof, unless it says that this member was removed.
    Hint(NodeId, Hint),
    /// P12: that start of this member's process has ended. There is proof.
    Ended(NodeId, Incarnation),
}

/// What happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Hint {
    /// Nothing listens there.
    Refused,
    /// It was closed or reset.
    Closed,
    /// It was refused, because this member's data folder was removed from the cluster (G14).
    Removed,
}
