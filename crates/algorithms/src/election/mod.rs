//! Elections: the live processes agree on the one with the largest number.
//!
//! All elections share one vocabulary: the [`Input`] that starts one, the [`Output`] that ends
//! it, the [`Config`] with its time-out T. An algorithm is an [`Election`]; [`Watched`] puts a
//! failure [`detector`] beside it and makes it a process that runs by itself. The rings send
//! through a [`link`], which finds dead neighbours and skips them.
//!
//! Common to all (the seeds' phases): select the live process with the highest priority; inform
//! every live process. An election starts when a process gets no answer from the coordinator
//! within T, when it recovers, or when the application asks. Several may run at once.

/// All elections, for a macro that makes something of each. The first is the default.
macro_rules! elections {
    ($use:ident! $($shell:ident:)?) => {
        $use! {
            $($shell:)?
            bully::Bully,
            ring::Ring,
            active_list::ActiveList,
            chang_roberts::ChangRoberts,
            hirschberg_sinclair::HirschbergSinclair,
            peterson::Peterson,
        }
    };
}

elections!(family! Watched:);

pub mod any;
mod costs;
pub mod detector;
pub mod link;
pub mod rounds;
#[cfg(test)]
mod tests;
mod watched;

pub use any::AnyElection;
pub use watched::{Msg, Timer, Watched};

use crate::cost::Cost;
use crate::definition::{Docs, Entry, Portable};
use crate::show::ProcessView;
use bellwether_core::{NodeId, Process};
use rounds::Round;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The rules of the usual election, for algorithms that are composed with it.
pub const DOCS: Docs = ("election", essay!("bully.rs"));

/// The rules of the failure detector.
pub const DETECTOR_DOCS: Docs = ("detector", essay!("detector.rs"));

/// The rules of a ring's links.
pub const LINK_DOCS: Docs = ("link", essay!("link.rs"));

/// An election algorithm.
pub trait Election:
    Process<
        Msg: Portable,
        Timer: Portable,
        Input = Input,
        Output = Output,
        Durable = Incarnation,
        Config = Config,
    > + Send
    + Sync
    + 'static
{
    /// What the catalogue says about it.
    const ENTRY: Entry;

    /// The longest that an election without new faults can take, in hops per process. It sets
    /// how long the detector waits before it holds an election for stuck.
    const CIRCUITS: u32;

    /// The kinds of messages in whose middle it is worth crashing.
    const KINDS: &'static [&'static str] =
        &["ELECTION", "COORDINATOR", "ELECT", "ELECTED", "OK", "FIRST", "PROBE"];

    /// What it claims to cost for n processes.
    fn costs(_n: u32) -> Vec<Cost> {
        Vec::new()
    }

    /// The process that this one takes for the coordinator; none while it takes part in an election.
    fn coordinator(&self) -> Option<NodeId>;

    /// The election that this process takes or took part in, where elections are numbered.
    fn round(&self) -> Round {
        Round::default()
    }

    /// Who is known to live, where the algorithm finds that out too.
    fn members(&self) -> &[NodeId] {
        &[]
    }

    /// What is drawn of a process: what it does in an election, in words.
    fn view(&self) -> ProcessView {
        ProcessView::default()
    }
}

/// Why an election starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// The coordinator did not answer within T.
    Suspect,
    /// The application asks for an election.
    Start,
}

impl Input {
    /// The input that a verb stands for.
    pub(crate) fn of(verb: &str) -> Option<Input> {
        [Input::Suspect, Input::Start].into_iter().find(|input| input.verb() == verb)
    }

    /// The verb that stands for it.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Input::Suspect => "suspect",
            Input::Start => "start",
        }
    }
}

/// What an election says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Output {
    /// This process began an election of its own.
    Started,
    /// This process now takes the process with this id for the coordinator.
    Elected(NodeId),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Started => f.write_str("starts an election"),
            Output::Elected(coordinator) => write!(f, "elected {coordinator}"),
        }
    }
}

/// How often a process has started. It survives crashes, so a process that comes back knows that
/// it had failed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Incarnation(u32);

impl Incarnation {
    /// The incarnation of this number.
    pub const fn new(number: u32) -> Self {
        Incarnation(number)
    }

    /// The incarnation that begins now, and whether it is a recovery.
    pub fn next(saved: Option<Incarnation>) -> (Incarnation, bool) {
        match saved {
            None => (Incarnation(1), false),
            Some(Incarnation(last)) => (Incarnation(last.saturating_add(1)), true),
        }
    }

    /// The number itself; the first is 1.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// What all elections are configured with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// T: an answer that has not come by then will not come.
    pub timeout: Duration,
    /// The coordinator at the beginning, if there is one.
    pub coordinator: Option<NodeId>,
    /// Whether and how processes watch the coordinator and the election.
    pub detection: Option<detector::Config>,
    /// The ring's links.
    pub clockwise: link::Config,
    /// The links the other way round, for bidirectional rings.
    pub counter: link::Config,
}
