//! What views are made of, and what is said about them.

use crate::definition::Portable;
use bellwether_core::{Group, Kind, Message, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::Arc;

/// What orders views: a number that grows, and who proposed it, so that no two are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch {
    number: u32,
    by: NodeId,
}

impl Epoch {
    /// That of the first view, which no process proposed.
    pub const FIRST: Epoch = Epoch { number: 0, by: NodeId::new(0) };

    /// The epoch of this number that this process proposes.
    pub const fn new(number: u32, by: NodeId) -> Self {
        Epoch { number, by }
    }

    /// The next one, proposed by this process.
    pub fn next(self, by: NodeId) -> Self {
        // The number comes from other processes, too: it must not overflow.
        Epoch { number: self.number.saturating_add(1), by }
    }

    /// The number; that of the first view is 0.
    pub fn number(self) -> u32 {
        self.number
    }

    /// Who proposed it.
    pub fn by(self) -> NodeId {
        self.by
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

/// What a survivor tells of itself, and how the coordinator sums it up.
pub trait Survivor: Clone + Debug + Eq + Hash + Portable {
    /// What a view begins with.
    type Opening: Clone + Debug + Eq + Hash + Portable;

    /// The opening of a view with these members, in ring order.
    fn open(coordinator: NodeId, reports: &[(NodeId, Reported<Self>)]) -> Self::Opening;
}

/// A survivor's report, and the view that it speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reported<S> {
    /// The view that the process was in; none if it has come back since.
    pub was_in: Option<Epoch>,
    /// What it says.
    pub report: S,
}

/// Some processes that are alive together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound(deserialize = "O: serde::de::DeserializeOwned"))]
pub struct View<O> {
    /// Which of all views.
    pub epoch: Epoch,
    /// Who takes part, in ring order.
    pub group: Group,
    /// How it begins.
    pub opening: O,
}

/// What is said to agree on views.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "S: Survivor")]
pub enum Msg<S: Survivor> {
    /// "Stop, and tell me what you know" (V1).
    Propose(Epoch),
    /// "I have stopped, and this is what I know" (V2).
    Report(Epoch, Reported<S>),
    /// "I have promised a later one" (V2).
    Refuse(Epoch),
    /// "This is the view" (V3). Shared, because all get the same.
    View(#[serde(with = "shared")] Arc<View<S::Opening>>),
    /// "Which view are you in?" (V6)
    Ping,
    /// "In this one"; none while the next is being agreed upon (V6).
    Pong(Option<Epoch>),
}

impl<S: Survivor> Message for Msg<S> {
    fn kind(&self) -> Kind {
        Kind::overhead(match self {
            Msg::Propose(_) => "PROPOSE",
            Msg::Report(..) => "REPORT",
            Msg::Refuse(_) => "REFUSE",
            Msg::View(_) => "VIEW",
            Msg::Ping => "PING",
            Msg::Pong(_) => "PONG",
        })
    }
}

impl<S: Survivor> fmt::Display for Msg<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind().name;
        match self {
            Msg::Propose(epoch) | Msg::Report(epoch, _) | Msg::Refuse(epoch) => {
                write!(f, "{kind}({epoch})")
            }
            Msg::View(view) => {
                let members: Vec<String> =
                    view.group.ring().iter().map(|id| id.number().to_string()).collect();
                write!(f, "{kind}({}: {})", view.epoch, members.join(","))
            }
            Msg::Ping => f.write_str(kind),
            Msg::Pong(Some(epoch)) => write!(f, "{kind}({epoch})"),
            Msg::Pong(None) => write!(f, "{kind}(none)"),
        }
    }
}

/// What is shared here is sent by value.
pub(crate) mod shared {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        value: &Arc<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<T>, D::Error> {
        T::deserialize(deserializer).map(Arc::new)
    }
}
