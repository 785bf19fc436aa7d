//! What members send each other.

use crate::members::Roster;
use crate::types::{Birth, Entry, Incarnation, Index, Portable, Position, Term};
use bellwether_core::{Kind, Machine, Message, NodeId, Time};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What every message of a leader says, so that each of them is a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The leader's term.
    pub term: Term,
    /// How often it came back to serving after a hand-over that failed (G8).
    pub generation: u32,
    /// When it sent this, on its own clock: leases are counted from here (G7).
    pub sent: Time,
    /// Everything up to here is committed.
    pub commit: Index,
    /// The position of its log.
    pub last: Position,
    /// Whether an operator appointed it.
    pub appointed: bool,
    /// G9: answers this start of a receiver that has forgotten its log.
    pub welcome: Option<u32>,
    /// G15: which start of the leader's process sends this.
    pub incarnation: Incarnation,
    /// G7: how long the receiver shall be bound, in microseconds. A version that knows no settings of the log does not
    /// say: zero. Then it is the configured lease.
    pub lease_us: u32,
}

/// G15: that incarnation has ended. It will do nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ended {
    /// Whose.
    pub member: NodeId,
    /// Which of its starts.
    pub incarnation: Incarnation,
}

/// G8: a leader has stopped serving; leases of this generation do not bind a voter that receives this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Permit {
    /// Who left.
    pub leader: NodeId,
    /// In which term.
    pub term: Term,
    /// In which generation.
    pub generation: u32,
}

/// Entries, shared by all receivers.
pub type Entries<M> = Arc<[Arc<Entry<<M as Machine>::Command>>]>;

/// What members send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "M: Portable")]
pub enum Msg<M: Machine> {
    /// "Would you vote for me?", or "Vote for me."
    RequestVote {
        /// In this term.
        term: Term,
        /// The position of the candidate's log.
        last: Position,
        /// Whether it asks for the vote itself (G2).
        sure: bool,
        /// G8: frees from a leader that has stopped serving.
        permit: Option<Permit>,
        /// G15: the candidate has proof that its leader's process has ended.
        ended: Option<Ended>,
    },
    /// The answer.
    Vote {
        /// The term that was asked for.
        term: Term,
        /// Whether the vote itself was asked for.
        sure: bool,
        /// What the voter says.
        answer: Answer,
        /// The voter's data folder (G10).
        birth: Birth,
    },
    /// New entries; without any, a heartbeat.
    Append {
        /// The leader's sign of life.
        beat: Heartbeat,
        /// The position before the entries.
        prev: Position,
        /// The entries.
        entries: Entries<M>,
    },
    /// "I am bound to you for a lease from now; so far my log matches yours."
    Ack(Ack),
    /// "That term is over."
    Refuse {
        /// The leader's term.
        term: Term,
        /// What the sender has promised.
        promised: Term,
    },
    /// "Send me the next piece."
    Fetch {
        /// Of what.
        place: Place<M>,
        /// How many bytes.
        budget: u32,
        /// How many bytes of it are on their way already: the piece begins after them (G5).
        ahead: u32,
    },
    /// A piece.
    Supply {
        /// A leader's sign of life, if the sender leads.
        beat: Option<Heartbeat>,
        /// The position of the sender's log.
        last: Position,
        /// The piece.
        body: Body<M>,
    },
    /// "A majority would vote for me: hand over."
    Claim {
        /// The term that the sender asks for.
        term: Term,
    },
    /// "See whether you could lead, and claim."
    Invite {
        /// The leader's term.
        term: Term,
        /// Whether an operator wants it so.
        appointed: bool,
    },
    /// "I have stopped serving": the permit for a successor, or freedom for all.
    Yield {
        /// The leader's term.
        term: Term,
        /// Its generation.
        generation: u32,
        /// The successor; without one the leader ends for good.
        to: Option<NodeId>,
        /// Whether an operator wants it so.
        appointed: bool,
    },
    /// G14: "You are not a member any more."
    Removed {
        /// The data folder that was removed.
        birth: Birth,
    },
}

/// What a follower acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ack {
    /// The leader's term.
    pub term: Term,
    /// When the leader sent what is answered, on its own clock.
    pub sent: Time,
    /// The follower's clock.
    pub clock: Time,
    /// Up to here its log matches the leader's.
    pub matched: Index,
    /// Whether that is everything that the message said is committed: then it grants a lease (G7).
    pub holds: bool,
    /// Which start of the follower this is from (G9).
    pub start: u32,
    /// Whether it has forgotten what earlier starts acknowledged (G9).
    pub lost: bool,
    /// Its data folder (G10).
    pub birth: Birth,
    /// For how long it is bound, as it was asked to be (G7); zero for the configured lease.
    pub lease_us: u32,
}

/// What a voter answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Answer {
    /// It votes, or would. One that has forgotten asks the candidate to wait this long (G9).
    Yes {
        /// How long to wait once a majority has voted.
        after: Duration,
    },
    /// It is bound for this long: by that leader, or by its own restart.
    Wait {
        /// By whom.
        leader: Option<NodeId>,
        /// For how long.
        left: Duration,
    },
    /// Its log is newer.
    Behind {
        /// The position of its log.
        last: Position,
    },
    /// It has promised this term, or a later one, to another.
    No {
        /// What it has promised.
        promised: Term,
    },
}

/// What is fetched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "M: Portable")]
pub enum Place<M: Machine> {
    /// The entries after this one.
    After(Position),
    /// The parts from this cursor on of the snapshot at this position; of any if it is zero.
    Part {
        /// Which snapshot.
        at: Position,
        /// From where on.
        cursor: M::Cursor,
    },
}

/// A piece.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "M: Portable")]
pub enum Body<M: Machine> {
    /// Entries.
    Entries {
        /// The position before them.
        prev: Position,
        /// The entries.
        entries: Entries<M>,
    },
    /// Parts of a snapshot.
    Parts {
        /// Which snapshot: the state at this committed position.
        at: Position,
        /// The roster at this position.
        roster: Box<Roster>,
        /// Where these parts begin.
        from: M::Cursor,
        /// The parts.
        parts: Vec<M::Part>,
        /// Where the next ones begin, if these are not the last.
        next: Option<M::Cursor>,
    },
    /// "I do not have the entry that you want the next ones of: ask from your commit index."
    Mismatch {
        /// That entry. A late answer to another question must not be taken for one to this.
        after: Position,
    },
}

/// What a message weighs besides entries and parts.
const WEIGHT: usize = 64;

impl<M: Machine> Msg<M> {
    /// Its bytes on the wire, roughly.
    pub fn weight(&self) -> usize {
        let entries = |entries: &Entries<M>| entries.iter().map(|e| e.weight::<M>()).sum::<usize>();
        let body = match self {
            Msg::Append { entries: these, .. }
            | Msg::Supply { body: Body::Entries { entries: these, .. }, .. } => entries(these),
            Msg::Supply { body: Body::Parts { roster, parts, .. }, .. } => {
                roster.weight() + parts.iter().map(M::part_weight).sum::<usize>()
            }
            _ => 0,
        };
        body.saturating_add(WEIGHT)
    }
}

impl<M: Machine> Message for Msg<M> {
    fn kind(&self) -> Kind {
        match self {
            Msg::RequestVote { .. } => Kind::protocol("REQUEST-VOTE"),
            Msg::Vote { .. } => Kind::protocol("VOTE"),
            Msg::Append { entries, .. } if entries.is_empty() => Kind::overhead("HEARTBEAT"),
            Msg::Append { .. } => Kind::protocol("APPEND"),
            Msg::Ack(_) => Kind::overhead("ACK"),
            Msg::Refuse { .. } => Kind::overhead("REFUSE"),
            Msg::Fetch { .. } => Kind::overhead("FETCH"),
            Msg::Supply { .. } => Kind::protocol("SUPPLY"),
            Msg::Claim { .. } => Kind::protocol("CLAIM"),
            Msg::Invite { .. } => Kind::protocol("INVITE"),
            Msg::Yield { .. } => Kind::protocol("YIELD"),
            Msg::Removed { .. } => Kind::protocol("REMOVED"),
        }
    }

    fn weight(&self) -> usize {
        Msg::weight(self)
    }
}

impl<M: Machine> fmt::Display for Msg<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.kind().name;
        match self {
            Msg::RequestVote { term, last, sure, .. } => {
                write!(f, "{name}({term}, {last}{})", if *sure { "" } else { "?" })
            }
            Msg::Vote { term, answer, .. } => write!(f, "{name}({term}, {answer:?})"),
            Msg::Append { beat, prev, entries } => match entries.len() {
                0 => write!(f, "{name}({}, {})", beat.term, beat.last),
                more => write!(f, "{name}({}, {prev} +{more})", beat.term),
            },
            Msg::Ack(ack) => {
                write!(
                    f,
                    "{name}({}, {}{})",
                    ack.term,
                    ack.matched,
                    if ack.holds { "" } else { "?" }
                )
            }
            Msg::Refuse { term, promised } => write!(f, "{name}({term}, promised {promised})"),
            Msg::Fetch { place: Place::After(position), .. } => {
                write!(f, "{name}(after {position})")
            }
            Msg::Fetch { place: Place::Part { at, .. }, .. } => write!(f, "{name}(part of {at})"),
            Msg::Supply { body: Body::Entries { prev, entries }, .. } => {
                write!(f, "{name}({prev} +{})", entries.len())
            }
            Msg::Supply { body: Body::Parts { at, parts, .. }, .. } => {
                write!(f, "{name}({} parts of {at})", parts.len())
            }
            Msg::Supply { body: Body::Mismatch { after }, .. } => write!(f, "{name}(not {after})"),
            Msg::Claim { term } | Msg::Invite { term, .. } => write!(f, "{name}({term})"),
            Msg::Yield { term, generation, to: Some(to), .. } => {
                write!(f, "{name}({term}.{generation}, to {to})")
            }
            Msg::Yield { term, generation, to: None, .. } => {
                write!(f, "{name}({term}.{generation})")
            }
            Msg::Removed { .. } => f.write_str(name),
        }
    }
}
