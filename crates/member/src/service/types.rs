//! The service's vocabulary.

use crate::event::Event;
use crate::member;
use bellwether_coordination::{Coordination, Limits, OnDeadlock, Outcome, Reply, Request, Stamp};
use bellwether_core::{Kind, Message, NodeId, Time};
use bellwether_log::{Change, Index, LeaseSettings, Term};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A client's connection, by the number that its member gave it.
pub type Conn = u64;

/// Set in the number of a connection that is there for one request, such as one over HTTP: no client
/// listens there later, so the client cannot be told anything by itself (D6).
pub const PASSING: Conn = 1 << 63;

/// What a service is configured with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The member's part.
    pub member: crate::config::Config,
    /// How much is served.
    pub limits: Limits,
    /// What is done about deadlocks.
    pub on_deadlock: OnDeadlock,
    /// What the calendar showed when this process's clock showed zero, in milliseconds since 1970:
    /// only for people.
    pub wall_ms: u64,
}

impl Config {
    /// A moment of this process's clock, as the calendar has it.
    pub(super) fn stamp(&self, now: Time) -> Stamp {
        self.wall_ms.saturating_add(now.as_micros() / 1_000)
    }
}

/// A message between members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Of the member's own parts.
    Member(member::Msg<Coordination>),
    /// Requests of the sender's clients, to the coordinator.
    Requests(Vec<(Conn, Request)>),
    /// The coordinator's replies to the receiver's clients, with its term and commit index: a client
    /// that reads from its own member then sees what it was told.
    Replies {
        /// The coordinator's term.
        term: Term,
        /// Its commit index.
        commit: Index,
        /// The replies.
        replies: Vec<(Conn, Reply)>,
    },
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        match self {
            Msg::Member(msg) => msg.kind(),
            Msg::Requests(_) => Kind::protocol("REQUESTS"),
            Msg::Replies { .. } => Kind::protocol("REPLIES"),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Msg::Member(msg) => msg.weight(),
            Msg::Requests(requests) => 64 + requests.len() * 128,
            Msg::Replies { replies, .. } => 64 + replies.len() * 64,
        }
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Member(msg) => msg.fmt(f),
            Msg::Requests(requests) => write!(f, "REQUESTS({})", requests.len()),
            Msg::Replies { replies, .. } => write!(f, "REPLIES({})", replies.len()),
        }
    }
}

/// What a service waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The member's.
    Member(member::Timer),
    /// D3: the session that will be silent for too long next.
    Sessions,
}

/// What an operator, the driver or clients want of a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// Something of the member.
    Member(member::Input),
    /// Requests of this member's own clients: all that there are at the moment, because they travel
    /// together.
    Requests(Vec<(Conn, Request)>),
    /// D8: its [`Config`] has other limits than before.
    Reconfigured,
    /// G12: an operator changes the member list, by force if need be.
    Change(Change, bool),
    /// G16: an operator changes the settings of leases.
    ChangeLeases(LeaseSettings),
}

/// What a service tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// News of the member.
    Event(Event),
    /// D5: the coordinator, for all clients.
    Coordinator(Option<NodeId>, Term),
    /// The coordinator's replies to clients of this member.
    Replies(Vec<(Conn, Reply)>),
    /// The coordinator did something that people may want to read of.
    Noted(Outcome),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Event(event) => event.fmt(f),
            Output::Coordinator(Some(id), term) => {
                write!(f, "{id} is the coordinator in term {term}")
            }
            Output::Coordinator(None, _) => f.write_str("no coordinator"),
            Output::Replies(replies) => write!(f, "{} replies", replies.len()),
            Output::Noted(said) => write!(f, "{said:?}"),
        }
    }
}
