//! What sites send each other, and what they wait for.

use super::names::{Cycle, Edge, Resource, Tx};
use bellwether_core::{Kind, Message, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What sites send each other. All but the detector's own is counted as overhead: the detector's
/// cost is what finding a cycle takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg<M> {
    /// "This transaction wants your resource" (L1).
    Lock {
        /// Which transaction.
        tx: Tx,
        /// When it began.
        begun: u64,
        /// The timestamp of the request.
        label: u64,
        /// Which resource.
        name: u32,
        /// The other sites where it holds something.
        elsewhere: Vec<NodeId>,
    },
    /// "It has it" (L1).
    Granted {
        /// Which transaction.
        tx: Tx,
        /// The timestamp of the request.
        label: u64,
        /// What it has.
        resource: Resource,
    },
    /// "This transaction has ended" (L2).
    Release {
        /// Which transaction.
        tx: Tx,
    },
    /// "This transaction does not need your resource any more."
    Unlock {
        /// Which transaction.
        tx: Tx,
        /// Which resource.
        name: u32,
    },
    /// "This transaction waits at my site" (L3).
    Waits {
        /// Which transaction.
        tx: Tx,
        /// The timestamp of the request.
        label: u64,
    },
    /// "It does not any more" (L3).
    Proceeds {
        /// Which transaction.
        tx: Tx,
        /// The timestamp of the request.
        label: u64,
    },
    /// "Do these edges stand, as far as you know?" (L4)
    Confirm {
        /// Which of the asker's checks.
        check: u64,
        /// The edges of a cycle.
        edges: Vec<Edge>,
    },
    /// "All but these" (L4).
    Confirmed {
        /// Which of the asker's checks.
        check: u64,
        /// The edges that do not stand.
        fallen: Vec<Edge>,
    },
    /// "The youngest of this cycle is to be aborted" (L5).
    Abort {
        /// The timestamp of its request.
        label: u64,
        /// Why.
        cycle: Cycle,
    },
    /// The detector's.
    Detector(M),
}

impl<M: Message> Message for Msg<M> {
    fn kind(&self) -> Kind {
        Kind::overhead(match self {
            Msg::Lock { .. } => "LOCK",
            Msg::Granted { .. } => "GRANTED",
            Msg::Release { .. } => "RELEASE",
            Msg::Unlock { .. } => "UNLOCK",
            Msg::Waits { .. } => "WAITS",
            Msg::Proceeds { .. } => "PROCEEDS",
            Msg::Confirm { .. } => "CONFIRM",
            Msg::Confirmed { .. } => "CONFIRMED",
            Msg::Abort { .. } => "ABORT",
            Msg::Detector(msg) => return msg.kind(),
        })
    }
}

impl<M: Message> fmt::Display for Msg<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind().name;
        match self {
            Msg::Lock { tx, label, .. } => write!(f, "{kind}({tx}, {label})"),
            Msg::Granted { tx, resource, .. } => write!(f, "{kind}({tx}, {resource})"),
            Msg::Release { tx } | Msg::Unlock { tx, .. } => write!(f, "{kind}({tx})"),
            Msg::Waits { tx, label } | Msg::Proceeds { tx, label } => {
                write!(f, "{kind}({tx}, {label})")
            }
            Msg::Confirm { check, .. } => write!(f, "{kind}({check})"),
            Msg::Confirmed { check, fallen } => {
                let verdict = if fallen.is_empty() { "stands" } else { "fallen" };
                write!(f, "{kind}({check}, {verdict})")
            }
            Msg::Abort { cycle, .. } => write!(f, "{kind}({})", cycle.victim().waiter),
            Msg::Detector(msg) => fmt::Display::fmt(msg, f),
        }
    }
}

/// What a site waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer<T> {
    /// A job has worked with its last lock for long enough.
    Next(Tx),
    /// A job has waited for a lock for too long.
    GiveUp(Tx),
    /// The detector's.
    Detector(T),
}
