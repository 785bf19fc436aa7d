//! The mandate's vocabulary.

use crate::status::ClockStatus;
use bellwether_core::{Kind, Message, NodeId, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

/// Numbers mandates. Each epoch has at most one leader, and epochs only grow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Epoch(u64);

impl Epoch {
    /// The epoch of this number; 0 is before the first.
    pub const fn new(number: u64) -> Self {
        Epoch(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The one after it.
    pub const fn next(self) -> Self {
        Epoch(self.0.saturating_add(1))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// How new a copy of the coordinator's state is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Version {
    /// Who changed it last, in terms of mandates.
    pub epoch: Epoch,
    /// How many changes in that epoch.
    pub sequence: u64,
}

/// The state that a coordinator keeps under its mandate and that a majority holds copies of.
///
/// It changes by commands alone, and the same commands in the same order make the same state.
pub trait Replica:
    Clone + Debug + Default + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// A change.
    type Command: Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What comes of a change, for those who wanted it.
    type Outcome: Clone + Debug + Eq + Hash + Send + Sync + 'static;

    /// Makes a change.
    fn apply(&mut self, command: Self::Command) -> Vec<Self::Outcome>;

    /// How long somebody may go on to rely on what is in it after it is lost (M8).
    fn reliance(&self) -> Duration {
        Duration::ZERO
    }
}

/// No state: the coordinator does nothing but coordinate.
impl Replica for () {
    type Command = ();
    type Outcome = ();

    fn apply(&mut self, (): ()) -> Vec<()> {
        Vec::new()
    }
}

/// What members say to each other about mandates.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub enum Msg<S: Replica> {
    /// "Give me your vote for this epoch": from one that was elected, to all.
    Prepare {
        /// A number above all that it has seen.
        epoch: Epoch,
        /// How new its own copy is: an older one is of no use to it.
        version: Version,
    },
    /// "You have my vote for this epoch, and nobody else will."
    Promise {
        /// The epoch that was asked for.
        epoch: Epoch,
        /// How new the voter's copy is.
        version: Version,
        /// The copy, if it is newer than the candidate's.
        copy: Option<Arc<S>>,
    },
    /// "Not now: I still follow that one. I keep your request and answer when the lease ends."
    Wait {
        /// The epoch that was asked for.
        epoch: Epoch,
        /// Whom the voter has promised to follow; nobody if it has just restarted and waits.
        leader: Option<NodeId>,
    },
    /// "That epoch is over."
    Refuse {
        /// The epoch of the message that is refused.
        epoch: Epoch,
        /// The voter has promised this one.
        promised: Epoch,
    },
    /// The state with which an epoch begins, to everybody who does not have it. Also a heartbeat.
    Spread {
        /// The sender's epoch.
        epoch: Epoch,
        /// The sender's clock.
        sent: Time,
        /// How new the state is.
        version: Version,
        /// The state.
        copy: Arc<S>,
        /// Whether an operator appointed the sender.
        appointed: bool,
        /// If it was asked for by LACK from one who had lost its copy: as in that message.
        start: Option<u32>,
    },
    /// Changes of the state, for those who have it as it was before them. Also a heartbeat.
    Append {
        /// The sender's epoch.
        epoch: Epoch,
        /// The sender's clock.
        sent: Time,
        /// Whether an operator appointed the sender.
        appointed: bool,
        /// How many changes came before these in this epoch.
        after: u64,
        /// The changes.
        commands: Arc<[S::Command]>,
    },
    /// "I lead; stay with me for another lease."
    Beat {
        /// The sender's epoch.
        epoch: Epoch,
        /// The sender's clock.
        sent: Time,
        /// Whether an operator appointed the sender.
        appointed: bool,
        /// Now and then: what the leader knows of all members.
        view: Vec<Sight>,
        /// How many changes there have been in this epoch.
        sequence: u64,
    },
    /// "I stay with you for a lease from now."
    Ack {
        /// The leader's epoch.
        epoch: Epoch,
        /// When the leader sent what is answered, on its own clock.
        sent: Time,
        /// The follower's clock.
        clock: Time,
        /// How many changes of this epoch the follower has.
        held: u64,
    },
    /// "I follow you, but have missed changes of your state"; or all of it.
    Lack {
        /// The leader's epoch.
        epoch: Epoch,
        /// How many changes the follower has; nothing if it has not even what they began with.
        held: Option<u64>,
        /// Of one who has lost its copy in a restart: which of its starts this is.
        start: Option<u32>,
    },
    /// "I am stronger than you, and a majority hears me: hand over."
    Claim {
        /// The epoch that the sender asks votes for.
        epoch: Epoch,
    },
    /// "I lead no more; you are free at once."
    Release {
        /// The epoch that ends.
        epoch: Epoch,
        /// Who should take over.
        to: Option<NodeId>,
        /// Whether an operator wants that one.
        appointed: bool,
    },
}

/// What a leader knows of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sight {
    /// Who.
    pub member: NodeId,
    /// How long ago it answered, in milliseconds, if it ever did in this epoch.
    pub heard_ms: Option<u32>,
    /// Its clock, once measured.
    pub clock: Option<ClockStatus>,
}

impl<S: Replica> Message for Msg<S> {
    fn kind(&self) -> Kind {
        match self {
            Msg::Prepare { .. } => Kind::protocol("PREPARE"),
            Msg::Promise { .. } => Kind::protocol("PROMISE"),
            Msg::Wait { .. } => Kind::protocol("WAIT"),
            Msg::Refuse { .. } => Kind::protocol("REFUSE"),
            Msg::Spread { .. } => Kind::protocol("SPREAD"),
            Msg::Append { .. } => Kind::protocol("APPEND"),
            Msg::Claim { .. } => Kind::protocol("CLAIM"),
            Msg::Release { .. } => Kind::protocol("RELEASE"),
            Msg::Beat { .. } => Kind::overhead("BEAT"),
            Msg::Ack { .. } => Kind::overhead("ACK"),
            Msg::Lack { .. } => Kind::overhead("LACK"),
        }
    }
}

impl<S: Replica> fmt::Display for Msg<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.kind().name;
        match self {
            Msg::Wait { epoch, leader: Some(leader) } => write!(f, "{name}({epoch}, {leader})"),
            Msg::Refuse { epoch, promised } => write!(f, "{name}({epoch}, promised {promised})"),
            Msg::Release { epoch, to: Some(to), .. } => write!(f, "{name}({epoch}, to {to})"),
            Msg::Append { epoch, after, commands, .. } => {
                write!(f, "{name}({epoch}, {}..{})", after + 1, after + commands.len() as u64)
            }
            Msg::Prepare { epoch, .. }
            | Msg::Promise { epoch, .. }
            | Msg::Wait { epoch, .. }
            | Msg::Spread { epoch, .. }
            | Msg::Beat { epoch, .. }
            | Msg::Ack { epoch, .. }
            | Msg::Lack { epoch, .. }
            | Msg::Claim { epoch }
            | Msg::Release { epoch, .. } => write!(f, "{name}({epoch})"),
        }
    }
}

/// What the mandate waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The end of what keeps a voter from answering a request that it has kept.
    Free,
    /// The time to ask again for votes.
    Retry,
    /// The time of the next heartbeat.
    Beat,
    /// The end of the own mandate, unless followers renew it.
    Lapse,
}

/// What the rest of the member wants of the mandate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Get the mandate.
    Ask {
        /// Whether a working leader should be asked to hand over.
        claim: bool,
        /// Whether an operator wants it so.
        appointed: bool,
    },
    /// Stop asking for it.
    Desist,
    /// Give it up, for the good of that member if one is named.
    HandOver {
        /// Who should take over.
        to: Option<NodeId>,
        /// Whether an operator wants that one.
        appointed: bool,
    },
}

/// What the mandate tells the rest of the member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Votes are being asked for.
    Asks(Epoch),
    /// So many would vote for this member, and so many are needed.
    TooFew {
        /// Members that answered, itself included.
        heard: usize,
        /// Members that must.
        needed: usize,
    },
    /// This member holds the mandate.
    Won(Epoch),
    /// It holds it no more.
    Lost(Epoch, crate::event::Loss),
    /// A leader with a mandate showed that it lives.
    Heard {
        /// Who.
        leader: NodeId,
        /// Its epoch.
        epoch: Epoch,
    },
    /// Another member asks for votes: it lives.
    Courted(NodeId),
    /// The leader gave up its mandate, for that member if it names one.
    Released {
        /// The leader that was.
        by: NodeId,
        /// Who should take over.
        to: Option<NodeId>,
        /// Whether an operator wants that one.
        appointed: bool,
    },
    /// A stronger member wants this one to hand over.
    Claimed(NodeId),
    /// A clock is beyond the bound, by so much.
    Drifts(NodeId, i64),
    /// It is within the bound again.
    Steady(NodeId),
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
