//! A run that happened elsewhere, told again.
//!
//! A process is deterministic: its state follows from what came in. So a real run needs to write
//! down only that, each process for itself: its start, what it was asked, what arrived, which
//! timers fired. [`Replay`] puts these notes together, steps the same processes through them, and
//! so finds out all the rest: what was sent and said, by which rule, in which state. The same
//! observers look on and the same invariants are checked as in a simulated run.
//!
//! The notes are taken at their word only where nothing contradicts them. A message that arrived
//! though no process sent it, or that is not what was sent, or a timer that was not set, is a
//! [`Divergence`]: the process is not deterministic, or the message was changed on its way.

mod player;

use crate::observer::Observer;
use crate::plan::Outcome;
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyProcess, Call, Group, NodeId, Time};
use player::Player;
use std::collections::VecDeque;
use std::fmt;

/// Something that happened to a process.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// When, since the beginning of the run, on a clock that all notes share.
    pub at: Time,
    /// To whom.
    pub node: NodeId,
    /// What.
    pub event: Happened,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Happened {
    /// A handler was called. The process itself has noted it.
    Step {
        /// What the handler saw on the process's own clock.
        clock: Time,
        /// Which, and with what.
        call: Call<AnyProcess>,
        /// Of a start, which life it begins; of a message, which of the sender's lives it is from,
        /// and its index among the messages of that life.
        origin: (u64, u64),
    },
    /// It was killed.
    Killed,
    /// It was made to stand still.
    Stopped,
    /// It was made to go on.
    Continued,
}

/// A run as its processes have noted it.
#[derive(Clone, Debug)]
pub struct Replay {
    /// What ran.
    pub algorithm: Listed,
    /// Who took part.
    pub group: Group,
    /// How the algorithm was set.
    pub settings: Settings,
    /// What happened. Each process's events are in their order; how those of different processes
    /// lie to each other is found out by their times.
    pub events: Vec<Recorded>,
    /// When the run ended.
    pub ended: Time,
    /// What a right clock showed when it began.
    pub clock_start: Time,
}

/// What came of a run that was told again.
#[derive(Clone, Debug)]
pub struct Replayed<O> {
    /// What came of it, as of a simulated run.
    pub outcome: Outcome,
    /// The observer.
    pub observer: O,
    /// What was still to come when it ended.
    pub open: Open,
}

/// What was still to come when a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// Timers that were set.
    pub timers: usize,
    /// Messages to live processes that had not arrived.
    pub messages: usize,
    /// Those among them that move the algorithm on.
    pub moving: usize,
}

impl Open {
    /// Whether nothing was left to happen.
    pub fn is_quiet(&self) -> bool {
        *self == Open::default()
    }
}

impl Replay {
    /// Tells it again, to an observer, and judges it.
    ///
    /// An event comes after those that it needs even if their times say otherwise by a little:
    /// a message arrives after it was sent.
    pub fn run<O: Observer<AnyProcess>>(self, observer: O) -> Result<Replayed<O>, Divergence> {
        let mut waiting: Vec<VecDeque<(usize, Recorded)>> = Vec::new();
        waiting.resize_with(self.group.len(), VecDeque::new);
        let mut player =
            Player::new(&self.algorithm, &self.group, &self.settings, self.clock_start, observer);
        for (index, event) in self.events.into_iter().enumerate() {
            let place = player.place(event.at, event.node)?;
            player.expect(&event);
            waiting[place].push_back((index, event));
        }
        loop {
            let first = |(place, queue): (usize, &VecDeque<(usize, Recorded)>)| {
                queue.front().map(|(index, event)| (event.at, *index, place))
            };
            let ready = waiting.iter().enumerate().filter(|(_, queue)| {
                queue.front().is_some_and(|(_, event)| player.can_happen(event))
            });
            let next = ready.filter_map(first).min();
            let Some((_, _, place)) = next else {
                // Whatever is left waits for a message that was never sent.
                let stuck = waiting.iter().enumerate().filter_map(first).min();
                let stuck = stuck.and_then(|(_, _, place)| waiting[place].front());
                match stuck {
                    Some((_, event)) => return Err(player.never_sent(event)),
                    None => return Ok(player.finish(self.ended)),
                }
            };
            if let Some((_, event)) = waiting[place].pop_front() {
                player.play(place, event)?;
            }
        }
    }
}

/// A note that contradicts what the processes do when they are stepped again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// When.
    pub at: Time,
    /// Who noted it.
    pub node: NodeId,
    /// What is wrong.
    pub contradiction: Contradiction,
}

/// What two accounts of a run do not agree about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// It is no member of the group.
    Stranger,
    /// It did something before it started, or after it was killed.
    NotRunning,
    /// It got a message that its sender never sent.
    NeverSent {
        /// The sender.
        from: NodeId,
        /// The message as it arrived.
        arrived: String,
    },
    /// It got something else than what was sent.
    Altered {
        /// The sender.
        from: NodeId,
        /// The message as it was sent.
        sent: String,
        /// The message as it arrived.
        arrived: String,
    },
    /// It got a message that was meant for another process.
    Misdelivered {
        /// The sender.
        from: NodeId,
        /// Whom it was meant for.
        to: NodeId,
        /// The message.
        arrived: String,
    },
    /// A timer fired that was not set.
    NotSet(String),
    /// It came back with something that it had not saved.
    NotSaved {
        /// What it came back with.
        found: String,
    },
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Divergence { at, node, contradiction } = self;
        write!(f, "at {at} {node} ")?;
        match contradiction {
            Contradiction::Stranger => f.write_str("did something, but it is no member"),
            Contradiction::NotRunning => f.write_str("did something while it was not running"),
            Contradiction::NeverSent { from, arrived } => {
                write!(f, "got {arrived} from {from}, which never sent it")
            }
            Contradiction::Altered { from, sent, arrived } => {
                write!(f, "got {arrived} from {from}, which sent {sent}")
            }
            Contradiction::Misdelivered { from, to, arrived } => {
                write!(f, "got {arrived} from {from}, which sent it to {to}")
            }
            Contradiction::NotSet(timer) => {
                write!(f, "says that its timer {timer} fired, which was not set")
            }
            Contradiction::NotSaved { found } => {
                write!(f, "came back with {found}, which it had not saved")
            }
        }
    }
}

impl std::error::Error for Divergence {}
