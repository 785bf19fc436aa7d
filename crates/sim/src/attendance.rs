//! A referee at a run: what it hears, when it looks, and what it finds broken.

use crate::monitor::Violation;
use bellwether_algorithms::definition::ClockReader;
use bellwether_algorithms::referee::{Breach, Fact, Picture, Referee};
use bellwether_core::{NodeId, Process, Time, blamed};
use std::fmt;

/// A referee, and what it has found.
pub(crate) struct Attendance<P: Process> {
    referee: Box<dyn Referee<P>>,
    /// What the clock of a process shows; see `Definition::clock`.
    clock: ClockReader<P>,
    /// When it looks at the clocks next, if it does.
    next_look: Option<Time>,
    broken: Option<Violation>,
}

impl<P: Process> fmt::Debug for Attendance<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attendance").field(&self.referee).finish()
    }
}

impl<P: Process> Attendance<P> {
    pub(crate) fn new(referee: Box<dyn Referee<P>>, clock: ClockReader<P>) -> Self {
        let next_look = referee.looks_every().map(|_| Time::ZERO);
        Attendance { referee, clock, next_look, broken: None }
    }

    pub(crate) fn hears(&mut self, at: Time, who: NodeId, output: &P::Output) {
        let heard = blamed(
            || self.referee.hears(at, who, output),
            || format!("the referee panicked while hearing {who}"),
        );
        self.judge(at, heard);
    }

    pub(crate) fn crashed(&mut self, at: Time, who: NodeId) {
        self.referee.crashed(at, who);
    }

    /// When it wants to look at the clocks next.
    pub(crate) fn next_look(&self) -> Option<Time> {
        self.next_look
    }

    /// Looks at live processes, each with what its machine's clock shows.
    pub(crate) fn looks<'a>(
        &mut self,
        at: Time,
        right: Time,
        live: impl Iterator<Item = (NodeId, &'a P, Time)>,
    ) where
        P: 'a,
    {
        let show = |(id, process, reading)| Some((id, (self.clock)(process, reading)?));
        let clocks: Vec<(NodeId, Time)> = live.filter_map(show).collect();
        let seen = blamed(
            || self.referee.looks(at, right, &clocks),
            || "the referee panicked while looking at clocks".to_owned(),
        );
        self.judge(at, seen);
        self.next_look = self.referee.looks_every().map(|span| at + span);
    }

    pub(crate) fn closes(&mut self, at: Time, live: &[NodeId]) {
        let closed = blamed(
            || self.referee.closes(at, live),
            || "the referee panicked while closing the run".to_owned(),
        );
        self.judge(at, closed);
    }

    fn judge(&mut self, at: Time, judged: Result<(), Breach>) {
        if let Err(Breach { name, text, by }) = judged {
            self.broken.get_or_insert(Violation { name, text, at, by });
        }
    }

    /// The first thing that was broken.
    pub(crate) fn broken(&self) -> Option<&Violation> {
        self.broken.as_ref()
    }

    pub(crate) fn facts(&self) -> Vec<Fact> {
        self.referee.facts()
    }

    pub(crate) fn pictures(&self) -> Vec<Picture> {
        self.referee.pictures()
    }
}
