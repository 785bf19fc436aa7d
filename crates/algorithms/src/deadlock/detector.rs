//! What the detectors have in common: what they are told, and what they say.

use super::names::{Cycle, Edge, Resource, Tx};
use crate::cost::Cost;
use crate::definition::{Docs, Entry, Portable, Settings};
use crate::election;
use crate::options::{BadOption, Opt};
use crate::show::{ProcessView, Scene};
use bellwether_core::{Group, NodeId, Process, SortedSet};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The rules of the site.
pub(super) const SITE: Docs = ("site", essay!("site.rs"));

/// A deadlock detector as it runs at each site, beside the site's locks.
pub trait Detector:
    Process<
        Msg: Portable,
        Timer: Portable,
        Input = Event,
        Output = DetectorOutput,
        Durable: Portable,
        Config: Send + Sync,
    > + Send
    + Sync
    + 'static
{
    /// What the catalogue says about it.
    const ENTRY: Entry;

    /// What it is composed with.
    const BESIDE: &'static [Docs] = &[SITE];

    /// The options of the workload, and its own.
    const OPTIONS: &'static [Opt];

    /// The verbs of the workload, and its own.
    const VERBS: &'static [&'static str];

    /// The kinds of its messages.
    const KINDS: &'static [&'static str];

    /// Whether it must be told who waits at another site.
    const NEEDS_NOTES: bool;

    /// Whether a cycle is found at one site only.
    const ONE_FINDER: bool;

    /// Whether it goes on for ever by itself, so that a run ends when its work is done.
    const RESTLESS: bool;

    /// Whether it can do anything with these settings.
    fn check(_: &Settings, _: &Group) -> Result<(), BadOption> {
        Ok(())
    }

    /// Its configuration.
    fn config(settings: &Settings, group: &Group) -> Self::Config;

    /// How long it may take from the closing of a cycle until a search begins that finds it.
    fn wakes_within(config: &Self::Config, group: &Group) -> Duration;

    /// What a verb of its own stands for.
    fn event(verb: &str) -> Option<Event>;

    /// The verb that stands for an event.
    fn verb(_: &Event) -> &'static str {
        "detect"
    }

    /// What it claims to cost for n sites.
    fn costs(_n: u32) -> Vec<Cost> {
        Vec::new()
    }

    /// Whom this site takes for the coordinator, where there is one.
    fn coordinator(&self) -> Option<NodeId> {
        None
    }

    /// The cycles that it has reported and that may still be there.
    fn reported(&self) -> &SortedSet<Cycle>;

    /// Adds what it knows beside the locks of its site to what is drawn.
    fn view(&self, view: ProcessView, _scene: &Scene<'_>) -> ProcessView {
        view
    }
}

/// A transaction that waits at this site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Waiter {
    /// Which.
    pub tx: Tx,
    /// When it began.
    pub begun: u64,
    /// The timestamp of its request.
    pub label: u64,
    /// For which of the site's resources.
    pub name: u32,
    /// Whether it holds something at another site, where others may wait for it: the texts'
    /// P_ex -> P_i.
    pub elsewhere: bool,
}

/// What a detector is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A transaction begins to wait here.
    Waits(Waiter),
    /// The request of this label does not wait any more.
    Ceases(Tx, u64),
    /// A resource of this site has another holder, or none.
    Holds(u32, Option<Tx>),
    /// A transaction that holds something here waits at another site: the texts' P_i -> P_ex.
    Away(Tx, u64, NodeId),
    /// It does not any more.
    Back(Tx, u64),
    /// These edges of a cycle that it suspected do not stand.
    Refuted(Vec<Edge>),
    /// What it asked for by [`DetectorOutput::Asks`].
    Survey(Survey),
    /// It should look for deadlocks now.
    Detect,
    /// The election beside it, where there is one, should begin.
    Elect(election::Input),
}

/// All that one site knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Survey {
    /// Who waits for whom for a resource of this site.
    pub edges: Vec<Edge>,
    /// Those of the transactions at home here that wait somewhere, with the timestamps of their
    /// requests.
    pub waiting: Vec<(Tx, u64)>,
    /// What the transactions at home here hold, as far as others' resources go.
    pub holding: Vec<(Tx, Resource)>,
}

/// What a detector says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DetectorOutput {
    /// This looks like a deadlock.
    Suspects(Cycle),
    /// It wants to know all that this site knows.
    Asks,
    /// The word of the election beside it.
    Election(election::Output),
}

impl fmt::Display for DetectorOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DetectorOutput::Suspects(cycle) => write!(f, "suspects {cycle}"),
            DetectorOutput::Asks => f.write_str("asks"),
            DetectorOutput::Election(output) => output.fmt(f),
        }
    }
}
