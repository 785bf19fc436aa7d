//! All algorithms by name.
//!
//! The drivers are generic over [`Algorithm`]; a name becomes a type by [`visit`]. To add an
//! algorithm, write its file and add its line to the list at the end of this one.

use crate::mutex::{Refusal, Standing, Tree};
use crate::options::{BadOption, Opt, Options};
use crate::referee::Referee;
use bellwether_core::{Assumptions, Goal, Group, Invariant, NodeId, Process, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::time::Duration;

/// A process that the catalogue can configure, prompt and judge.
///
/// Its messages and what it keeps on disk can be serialised, so that it can be run over a real
/// network without a word about it here.
pub trait Algorithm:
    Process<
        Msg: Portable,
        Timer: Portable,
        Input: Portable,
        Output: Send + Sync,
        Durable: Portable,
        Config: Send + Sync,
    > + Send
    + Sync
    + 'static
{
    /// What the catalogue says about it.
    const ENTRY: Entry;

    /// By how much clocks may gain or lose, in parts per million, where that matters.
    const DRIFT_PPM: u32 = 0;

    /// Whether its processes look at their clocks: what they do then depends on the time, not only
    /// on the order of events.
    const READS_CLOCK: bool = false;

    /// How many processes it is for, where only one number makes sense.
    const NODES: Option<u32> = None;

    /// The options that only it has.
    const OPTIONS: &'static [Opt] = &[];

    /// The verbs that [`input`](Algorithm::input) knows, for those who look for one. Where a verb
    /// takes more, it says so: `transfer:TO:AMOUNT`.
    const VERBS: &'static [&'static str];

    /// The kinds of messages in whose middle it is worth crashing.
    const KINDS: &'static [&'static str];

    /// Whether it can do anything with these settings in this group. Drivers ask before they ask
    /// for a configuration.
    fn check(_: &Settings, _: &Group) -> Result<(), BadOption> {
        Ok(())
    }

    /// The configuration for these settings. Options that [`check`](Algorithm::check) refuses
    /// count as not given.
    fn config(settings: &Settings, group: &Group) -> Self::Config;

    /// The input that a scenario's verb stands for, if it knows the verb. It is one word, which may
    /// have parts: `transfer:2:50`.
    fn input(verb: &str) -> Option<Self::Input>;

    /// The verb that stands for an input.
    fn verb(input: &Self::Input) -> Cow<'static, str>;

    /// Whom this process takes for the coordinator, if anyone.
    fn coordinator(&self) -> Option<NodeId> {
        None
    }

    /// Who is known to live, where the algorithm finds that out.
    fn members(&self) -> &[NodeId] {
        &[]
    }

    /// What must hold at every moment.
    fn invariants() -> Vec<Invariant<Self>> {
        Vec::new()
    }

    /// What must hold for good, some time after the last fault.
    fn goal() -> Goal<Self>;

    /// How long after the last fault the goal may still be open, if so many inputs were given that
    /// are [work](Algorithm::is_work).
    fn settles_within(config: &Self::Config, group: &Group, work: u64) -> Duration;

    /// Whether an input asks for something that takes its time, so that a run with many of them
    /// may be long.
    fn is_work(_: &Self::Input) -> bool {
        false
    }

    /// What this process has of the critical section, where there is one.
    fn section(&self) -> Option<Standing> {
        None
    }

    /// What an output means to those who measure critical sections.
    fn milestone(_: &Self::Output) -> Option<Milestone> {
        None
    }

    /// Who hears all that the processes of a run say, judges it and sums it up.
    fn referee(_: &Self::Config, _: &Group) -> Option<Box<dyn Referee<Self>>> {
        None
    }

    /// What the clock that this process keeps shows when that of its machine shows `reading`,
    /// where the algorithm is about clocks.
    fn clock(&self, _reading: Time) -> Option<Time> {
        None
    }

    /// How long a run lasts if nobody says, where it would go on for ever: clocks are never done.
    fn lasts(_: &Self::Config) -> Option<Duration> {
        None
    }
}

/// What happens to a critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// It was asked for.
    Requested,
    /// It was entered.
    Entered,
    /// It was left.
    Left,
    /// Its token was lost and made anew.
    Minted,
    /// What was asked for cannot be done.
    Refused(Refusal),
}

/// What can travel between operating-system processes, or wait in a file.
pub trait Portable: Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Portable for T {}

/// What a user can set, in terms that every family shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// T: an answer that takes longer will not come.
    pub timeout: Duration,
    /// Who coordinates at the beginning; nobody if `None`.
    pub coordinator: Option<NodeId>,
    /// Whether processes watch their coordinator by themselves. Without, elections start only
    /// where a script says so, and the textbook's counts are exact.
    pub detection: bool,
    /// Whether a ring's messages are acknowledged, so that dead neighbours are found and skipped.
    pub acknowledge: bool,
    /// Whether an algorithm is run just as its paper has it, without what makes it survive
    /// crashes. Only mutual exclusion makes a difference.
    pub textbook: bool,
    /// How long a job keeps the critical section, from and to.
    pub section: (Duration, Duration),
    /// The shape of the tree, for algorithms on one.
    pub tree: Tree,
    /// What only this algorithm knows about.
    pub options: Options,
}

impl Settings {
    /// The usual settings: nobody coordinates, nobody watches, and nothing is acknowledged.
    pub fn new(timeout: Duration) -> Self {
        Settings {
            timeout,
            coordinator: None,
            detection: false,
            acknowledge: false,
            textbook: false,
            section: (timeout, timeout),
            tree: Tree::default(),
            options: Options::default(),
        }
    }
}

/// What `bellwether algorithms` says about an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// The family it belongs to.
    pub family: &'static str,
    /// Its name in a sentence.
    pub title: &'static str,
    /// Who published it, and where.
    pub source: &'static str,
    /// What it costs, in messages.
    pub cost: &'static str,
    /// What it needs to be right.
    pub assumes: Assumptions,
    /// Which processes talk to which, for pictures.
    pub topology: Topology,
}

/// Which processes talk to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Everybody to everybody.
    Mesh,
    /// Each to its neighbours.
    Ring,
    /// Each to its parent and its children.
    Tree,
}

impl Entry {
    /// Whether it is about who coordinates, and nothing else.
    pub fn elects(&self) -> bool {
        matches!(self.family, "election" | "member")
    }
}

impl Topology {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Topology::Mesh => "mesh",
            Topology::Ring => "ring",
            Topology::Tree => "tree",
        }
    }
}

/// Something to be done with an algorithm once its type is known.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Does it.
    fn visit<A: Algorithm>(self) -> Self::Output;
}

/// Algorithms by name: this catalogue, or one with more in it.
pub trait Registry {
    /// What it says about each algorithm, in its order.
    fn entries() -> Vec<Entry>;

    /// Visits the algorithm of this name, if there is one.
    fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output>;
}

/// The textbooks' algorithms, as this crate lists them.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue;

impl Registry for Catalogue {
    fn entries() -> Vec<Entry> {
        ENTRIES.to_vec()
    }

    fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
        visit(name, visitor)
    }
}

macro_rules! catalogue {
    ($($algorithm:ty),+ $(,)?) => {
        /// What the catalogue says about each algorithm, in its order.
        pub const ENTRIES: &[Entry] = &[
            $(<$algorithm as Algorithm>::ENTRY,)+
            <Snapshots<Anything> as Algorithm>::ENTRY,
        ];

        /// Visits the algorithm of this name, if there is one.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $(if name == <$algorithm as Algorithm>::ENTRY.name {
                return Some(visitor.visit::<$algorithm>());
            })+
            // Of any of them, and so not one of them.
            if name == <Snapshots<Anything> as Algorithm>::ENTRY.name {
                return Some(visitor.visit::<Snapshots<Anything>>());
            }
            None
        }

        /// Any algorithm of the list, as one process; see [`crate::snapshot`].
        pub mod anything {
            use super::*;
            use crate::snapshot::amounts::{carried, held, note, quantity};
            use crate::snapshot::anything::{
                Hearing, OPTIONS, Whole, Word, Wrap, call, check, over, settings_below, unknown,
            };
            use crate::snapshot::{Bank, Quantity, Routes, Subject};
            use bellwether_core::{Call, Channels, Context, Kind, Message};
            use serde::Deserialize;
            use std::fmt;

            crate::snapshot::anything::anything![$($algorithm),+];
        }
    };
}

use crate::agreement::{self, Reliable};
use crate::deadlock::{self, Site};
use crate::election::{self, Watched};
use crate::mutex::{self, Guarded};
use crate::order;
use crate::snapshot::{Anything, Snapshots};
use crate::time;

catalogue![
    Watched<election::Bully>,
    Watched<election::Ring>,
    Watched<election::ActiveList>,
    Watched<election::ChangRoberts>,
    Watched<election::HirschbergSinclair>,
    Watched<election::Peterson>,
    Guarded<mutex::Central>,
    Guarded<mutex::Lamport>,
    Guarded<mutex::RicartAgrawala>,
    Guarded<mutex::TokenRing>,
    Guarded<mutex::RicartAgrawalaToken>,
    Guarded<mutex::SuzukiKasami>,
    Guarded<mutex::Raymond>,
    Guarded<mutex::Singhal>,
    time::Cristian,
    time::Berkeley,
    time::Ntp,
    order::Causal,
    order::Sequencer,
    order::Lamport,
    Site<deadlock::Central>,
    Site<deadlock::Distributed>,
    Site<deadlock::EdgeChasing>,
    Reliable<agreement::Courier>,
    agreement::TwoGenerals,
    agreement::Byzantine,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_visitable() {
        struct Name;
        impl Visitor for Name {
            type Output = &'static str;
            fn visit<A: Algorithm>(self) -> &'static str {
                A::ENTRY.name
            }
        }
        let names: BTreeSet<_> = ENTRIES.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), ENTRIES.len());
        for name in names {
            assert_eq!(visit(name, Name), Some(name));
        }
        assert_eq!(visit("bulli", Name), None);
    }
}
