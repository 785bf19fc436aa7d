//! The steward's vocabulary.

use crate::event::Event;
use crate::mandate::Epoch;
use crate::member;
use bellwether_core::{Kind, Message, NodeId, Time};
use bellwether_duties::{Duties, Limits, OnDeadlock, Reply, Request, Said, Stamp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A client's connection, by the number that its member gave it.
pub type Conn = u64;

/// What a steward is configured with.
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
    Member(member::Msg<Duties>),
    /// What clients of the sender want, to the coordinator.
    Wants(Vec<(Conn, Request)>),
    /// What the coordinator says to clients of the receiver.
    Says(Vec<(Conn, Reply)>),
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        match self {
            Msg::Member(msg) => msg.kind(),
            Msg::Wants(_) => Kind::protocol("WANTS"),
            Msg::Says(_) => Kind::protocol("SAYS"),
        }
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Member(msg) => msg.fmt(f),
            Msg::Wants(wants) => write!(f, "WANTS({})", wants.len()),
            Msg::Says(replies) => write!(f, "SAYS({})", replies.len()),
        }
    }
}

/// What a steward waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The member's.
    Member(member::Timer),
    /// D3: the session that will be silent for too long next.
    Sessions,
}

/// What an operator, the driver or clients want of a steward.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// Something of the member.
    Member(member::Input),
    /// What this member's own clients want: as many as there are at the moment, because they
    /// travel together.
    Wants(Vec<(Conn, Request)>),
}

/// What a steward tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// News of the member.
    Event(Event),
    /// D5: who coordinates now, for all clients.
    Coordinator(Option<NodeId>, Epoch),
    /// What the coordinator says to clients of this member.
    Says(Vec<(Conn, Reply)>),
    /// The coordinator did something that people may want to read of.
    Noted(Said),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Event(event) => event.fmt(f),
            Output::Coordinator(Some(id), epoch) => write!(f, "{id} coordinates in epoch {epoch}"),
            Output::Coordinator(None, _) => f.write_str("nobody coordinates"),
            Output::Says(replies) => write!(f, "{} replies", replies.len()),
            Output::Noted(said) => write!(f, "{said:?}"),
        }
    }
}
