//! What the processes of a sequenced broadcast say to each other.

use super::super::Post;
use super::survivor::Report;
use crate::election::{self, Bully};
use crate::views::{self, Epoch};
use bellwether_core::{Kind, Message, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

type ElectionMsg = election::Msg<<Bully as Process>::Msg>;
type ElectionTimer = election::Timer<<Bully as Process>::Timer>;

/// A message of one of the parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Of the broadcast itself, in this view.
    Order(Epoch, Body),
    /// About views. Rare and large, so it lies elsewhere.
    Views(Box<views::Msg<Report>>),
    /// The election's.
    Election(ElectionMsg),
}

/// The body of a message of the broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// "Number this" (TS1).
    Publish {
        /// Which of those that the sender publishes in this view, from 1 on.
        index: u64,
        /// The message.
        post: Post,
    },
    /// "This is the message at this position" (TS2).
    Order {
        /// Its position in the one order, from 0 on.
        position: u64,
        /// The message.
        post: Post,
        /// Everybody has all messages before this position (TS4).
        stable: u64,
    },
    /// "I have all messages before this position", now and then (TS4).
    Seen(u64),
    /// The same at once, where delivery waits for it (TS5).
    Ack(u64),
    /// "All members have all messages before this position" (TS5).
    Stable(u64),
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        match self {
            Msg::Order(_, body) => match body {
                Body::Publish { .. } => Kind::protocol("PUBLISH"),
                Body::Order { .. } => Kind::protocol("ORDER"),
                Body::Seen(_) => Kind::overhead("SEEN"),
                Body::Ack(_) => Kind::protocol("ACK"),
                Body::Stable(_) => Kind::protocol("STABLE"),
            },
            Msg::Views(msg) => msg.kind(),
            // The cost of a broadcast is what it sends itself; the election is counted apart.
            Msg::Election(msg) => Kind::overhead(match msg.kind().name {
                "REQUEST" => "WATCH",
                name => name,
            }),
        }
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Order(_, body) => body.fmt(f),
            Msg::Views(msg) => msg.fmt(f),
            Msg::Election(msg) => msg.fmt(f),
        }
    }
}

/// Positions are shown from 1 on.
impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Publish { post, .. } => write!(f, "PUBLISH {}", post.id),
            Body::Order { position, post, .. } => {
                write!(f, "ORDER {} as {}", post.id, position.saturating_add(1))
            }
            Body::Seen(known) => write!(f, "SEEN({known})"),
            Body::Ack(known) => write!(f, "ACK({known})"),
            Body::Stable(stable) => write!(f, "STABLE({stable})"),
        }
    }
}

/// A timer of one of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// About views.
    Views(views::Timer),
    /// The election's.
    Election(ElectionTimer),
}
