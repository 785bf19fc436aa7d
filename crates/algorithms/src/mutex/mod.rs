//! Mutual exclusion: at most one process at a time is in the critical section.
//!
//! All algorithms share one vocabulary: the [`Input`] that asks for the section and gives it back,
//! and [`Granted`], with the number of the entry. An algorithm is a [`Mutex`]: its group is fixed
//! and no process in it crashes, as in the papers. [`Guarded`] puts an election and
//! [views](crate::views) beside it and starts it again among the live processes whenever they change;
//! the [`Opening`] says how it begins then.
//!
//! Safety: at most one inside. Liveness: every request is granted in finite time. Fairness where
//! the algorithm promises it ([`Mutex::place`]).

family! { Guarded:
    central::Central,
    lamport::Lamport,
    ricart_agrawala::RicartAgrawala,
    token_ring::TokenRing,
    ricart_agrawala_token::RicartAgrawalaToken,
    suzuki_kasami::SuzukiKasami,
    raymond::Raymond,
    singhal::Singhal,
}

mod costs;
mod definition;
mod guarded;
mod opening;
mod stamp;
#[cfg(test)]
mod tests;
mod tree;

pub use guarded::{Config, Deed, Durable, Guarded, Msg, Output, Timer};
pub use opening::{Opening, Options, Report};
pub use tree::{Tree, UnknownTree};

use crate::cost::Cost;
use crate::definition::{Entry, Portable};
use crate::show::{ProcessView, Scene};
use crate::views::Epoch;
use bellwether_core::Process;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A mutual exclusion algorithm of the papers.
///
/// On its start it takes up where the [`Opening`] says: [`Opening::inside`] is in the section
/// already and gets no [`Granted`] for it, and those in [`Opening::waiting`] have asked, in that
/// order, without a further [`Input::Request`].
pub trait Mutex:
    Process<
        Msg: Portable,
        Timer: Portable,
        Input = Input,
        Output = Granted,
        Durable = (),
        Config = Opening,
    > + Send
    + Sync
    + 'static
{
    /// What the catalogue says about it.
    const ENTRY: Entry;

    /// Whether there is a token, which can get lost.
    const TOKEN: bool;

    /// Whether it sends messages also when no process wants anything, so that it never rests.
    const RESTLESS: bool = false;

    /// The kinds of messages in whose middle it is worth crashing.
    const KINDS: &'static [&'static str] =
        &["VIEW", "PROPOSE", "REPORT", "REQUEST", "REPLY", "RELEASE", "TOKEN", "OK"];

    /// What it claims to cost for n processes.
    fn costs(_n: u32) -> Vec<Cost> {
        Vec::new()
    }

    /// Whether this process has the token.
    fn has_token(&self) -> bool {
        false
    }

    /// Where the own request stands in the order in which the algorithm promises to grant: the
    /// smaller, the sooner. None if it promises no order, if there is no request, or if its place
    /// is not known yet. It is known inside the section.
    fn place(&self) -> Option<u64> {
        None
    }

    /// What is drawn of a process beside the token and what it has of the section: whom it waits
    /// for, in words, and what it knows.
    fn view(&self, _scene: &Scene<'_>) -> ProcessView {
        ProcessView::default()
    }
}

/// `1 reply`, `2 replies`.
fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// What the application asks of an algorithm. [`Guarded`] sees to it that requests and releases
/// alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// To be let into the section.
    Request,
    /// It has left the section.
    Release,
}

/// The application is in the section. The number counts the entries of all processes in this
/// view; each is one more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Granted(pub u64);

impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "enters the section (#{})", self.0)
    }
}

/// The number of an entry over all views: a fence. What was done under a smaller number was done
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sequence {
    /// The view.
    pub view: Epoch,
    /// The number of the entry in it.
    pub entry: u64,
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.view == Epoch::FIRST {
            write!(f, "#{}", self.entry)
        } else {
            write!(f, "#{}.{}", self.view, self.entry)
        }
    }
}

/// What the application has of the section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Status {
    /// Nothing, and wants nothing.
    #[default]
    Idle,
    /// It has asked.
    Waiting,
    /// It is inside.
    Inside(Sequence),
}

/// Why a process cannot do what its application asks. Nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// A second request while the first is pending.
    Waiting,
    /// A request from inside.
    Inside(Sequence),
    /// A release without being inside.
    NotInside,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Waiting => f.write_str("it has asked for the section already, and waits"),
            Refusal::Inside(sequence) => {
                write!(f, "it is in the section already, by entry {sequence}")
            }
            Refusal::NotInside => f.write_str("it is not in the section, so it cannot leave it"),
        }
    }
}

impl std::error::Error for Refusal {}
