//! Order: broadcasts that all processes deliver in causal order, or in one total order.
//!
//! To *broadcast* is to send a message to all processes of the group, oneself among them; to
//! *deliver* is to hand it to the application. In between a process may hold it back until its turn
//! has come. How that turn is found is all that the algorithms differ in, so they share one
//! vocabulary: a [`Post`] is a message of the application, [`Output`] says what is broadcast and
//! delivered, and one [referee](Promises) judges them all.
//!
//! The application is a simple one. When it is asked to, it broadcasts its next message, and it
//! answers messages of others if it is set to: an answer is caused by what it answers, so with
//! answers there is causality to be kept.

family! {
    causal::Causal,
    sequencer::Sequencer,
    lamport::Lamport,
}

mod referee;
#[cfg(test)]
mod tests;

pub use referee::Promises;

use crate::cost::Script;
use crate::definition::Settings;
use crate::election::{self, Incarnation};
use crate::options::{BadOption, Opt};
use bellwether_core::{Group, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// These broadcast a message each, at the same moment. The largest is the sequencer, where there is
/// one.
fn broadcasts(n: u32, senders: impl IntoIterator<Item = u32>) -> Script {
    Script::of(n).ask_all(senders, "broadcast")
}

/// What names a message: no other has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MessageId {
    /// Who broadcasts it.
    pub sender: NodeId,
    /// In which of its lives: a process that comes back does not know how far it had counted.
    pub life: u32,
    /// Which of the messages of that life, from 1 on.
    pub count: u64,
}

/// `P1#3`, or `P1/2#3` in its second life.
impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.life {
            1 => write!(f, "{}#{}", self.sender, self.count),
            life => write!(f, "{}/{life}#{}", self.sender, self.count),
        }
    }
}

/// A message of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Post {
    /// Which.
    pub id: MessageId,
    /// How many answers may follow, each to the one before.
    pub answers: u32,
}

impl Post {
    /// Who answers it: one of the others, always the same for the same message.
    fn answerer(&self, group: &Group) -> Option<NodeId> {
        if self.answers == 0 || group.len() < 2 {
            return None;
        }
        let place = group.place(self.id.sender)?;
        let MessageId { sender, life, count } = self.id;
        let lot = mix(u64::from(sender.number()) ^ mix(u64::from(life) ^ mix(count)));
        let steps = 1 + lot % (group.len() as u64 - 1);
        Some(group.after(place, steps as usize))
    }
}

/// Scatters numbers that lie close together (the finaliser of SplitMix64).
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Counts the messages of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Author {
    life: Incarnation,
    count: u64,
}

impl Author {
    /// A process starts; says whether it has come back from a crash.
    fn start(&mut self, saved: Option<Incarnation>) -> bool {
        let (life, recovered) = Incarnation::next(saved);
        *self = Author { life, count: 0 };
        recovered
    }

    /// The next message of this process, which this many answers may follow.
    fn write(&mut self, sender: NodeId, answers: u32) -> Post {
        self.count = self.count.saturating_add(1);
        let id = MessageId { sender, life: self.life.number(), count: self.count };
        Post { id, answers }
    }
}

/// What the application is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// To broadcast its next message.
    Broadcast,
}

impl Input {
    /// The input that a verb stands for.
    fn of(verb: &str) -> Option<Input> {
        matches!(verb, "broadcast" | "work").then_some(Input::Broadcast)
    }

    /// The verb that stands for it.
    fn verb(self) -> &'static str {
        match self {
            Input::Broadcast => "broadcast",
        }
    }
}

/// What a process says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The application broadcasts a message.
    Broadcast {
        /// Which.
        id: MessageId,
        /// The one that it answers, if it is an answer.
        answers: Option<MessageId>,
    },
    /// A message has come, but its turn has not.
    Held {
        /// Which.
        id: MessageId,
        /// How many are held back here now.
        queue: u32,
    },
    /// The application gets a message.
    Delivered {
        /// Which.
        id: MessageId,
        /// How many were held back here until now, this one among them if it was.
        queue: u32,
    },
    /// A message whose vector is not of this group.
    Malformed {
        /// Who sent it.
        from: NodeId,
        /// How many entries its vector has.
        entries: u32,
        /// How many it should have.
        members: u32,
    },
    /// A process that has come back does not know what was said meanwhile, and takes no part.
    Outside,
    /// A view begins.
    View {
        /// Its number.
        number: u32,
        /// How many take part.
        members: u32,
    },
    /// A process that has come back takes part from now on.
    Joined {
        /// How many messages come before the first that it will deliver.
        position: u64,
    },
    /// The election's word.
    Election(election::Output),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Broadcast { id, answers: None } => write!(f, "broadcasts {id}"),
            Output::Broadcast { id, answers: Some(to) } => {
                write!(f, "broadcasts {id} to answer {to}")
            }
            Output::Held { id, .. } => write!(f, "holds {id} back"),
            Output::Delivered { id, .. } => write!(f, "delivers {id}"),
            Output::Malformed { from, entries, members } => {
                write!(f, "ignores {from}: a vector of {entries} entries in a group of {members}")
            }
            Output::Outside => f.write_str("takes no part: it has come back and missed something"),
            Output::View { number, members } => {
                let plural = if *members == 1 { "" } else { "s" };
                write!(f, "begins view {number} with {members} member{plural}")
            }
            Output::Joined { position } => write!(f, "joins after message {position}"),
            Output::Election(output) => output.fmt(f),
        }
    }
}

/// The option that all of the family have.
const ANSWERS: Opt = Opt {
    name: "answers",
    value: Some("N"),
    help: "How many answers follow a broadcast, each by another process; default 0",
};

/// More answers than this in a row only make a run long.
const ANSWERS_MAX: u32 = 1_000;

/// Reads the option `answers`.
fn answers(settings: &Settings) -> Result<u32, BadOption> {
    let option = ANSWERS.name;
    match settings.options.number(option, 0u32)? {
        many if many > ANSWERS_MAX => {
            let why = format!("{many} answers in a row are too many; at most {ANSWERS_MAX}");
            Err(BadOption { option, why })
        }
        answers => Ok(answers),
    }
}
