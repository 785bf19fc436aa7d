//! Views: the group of live processes, agreed upon again whenever a process dies or comes back.
//!
//! An algorithm whose group is fixed can survive crashes if it is started again among the living
//! each time that they change. A view is such a group of the living, with an [`Epoch`] that no
//! other view has and an opening: what the survivors know of the time before, summed up by the
//! elected coordinator. This part agrees on views; an election beside it says who coordinates; what
//! is in a report and in an opening is for the algorithm above to say ([`Survivor`]).
//!
//! # Rules
//! * V1 The elected process chooses an epoch above all that it knows and sends PROPOSE to all
//!   configured processes.
//! * V2 PROPOSE of an epoch above all promised ones: promise it, stop taking part in the view
//!   before, and send a REPORT. Otherwise send REFUSE, with the promised epoch.
//! * V3 All have reported, or T is over: the processes that reported are the next view; the others
//!   are dead. Send VIEW to its members.
//! * V4 VIEW of the epoch of the last report: the view begins. A process that crashed in between
//!   has forgotten its report and does not take part: the coordinator will notice (V6).
//! * V5 REFUSE: propose again, above that epoch.
//! * V6 The coordinator asks all processes now and then for their view (PING, PONG). A member that
//!   is silent for T, or an answer with another view: propose again.
//! * V7 A process that learns that another is elected stops proposing. A coordinator that has
//!   promised to another looks after a while whether the other's view has begun (V6).
//!
//! # Assumes
//! Bounded delays with T above a round trip and no loss: a process that is silent for T is dead.
//! Then all live processes have stopped before a view begins, so none goes on in an older one. Under
//! a partition each side forms a view of its own.
//!
//! # Costs
//! A view: PROPOSE and REPORT n-1 each, VIEW one for each other member; and T to wait if a process
//! is dead.

mod chair;
mod types;

pub(crate) use types::shared;
pub use types::{Epoch, Msg, Reported, Survivor, View};

use bellwether_core::{Assumptions, Channels, Context, NodeId, Process};
use chair::Chair;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What the coordinator waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// T: the reports (V3).
    Reports,
    /// The time of the next PINGs (V6).
    Watch,
    /// T: the PONGs (V6).
    Silence,
}

/// What this part is told.
#[derive(Clone, Debug)]
pub enum Input<S> {
    /// The election has found this coordinator.
    Elected(NodeId),
    /// The report that was asked for.
    Report(S),
}

/// What this part says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The view before is over; the algorithm must stop and report. See [`Input::Report`].
    Stopped,
    /// A new view begins: [`Views::view`].
    Began,
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Output::Stopped => "stops",
            Output::Began => "begins a view",
        })
    }
}

/// How views are agreed upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// T.
    pub timeout: Duration,
    /// The pause between PINGs; without, no process is watched and only elections bring views.
    pub watch: Option<Duration>,
    /// Who coordinates the first view, that of all configured processes.
    pub coordinator: Option<NodeId>,
}

/// One process's part in agreeing on views.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Views<S: Survivor> {
    /// The largest epoch that was promised (V2). Durable.
    promised: Epoch,
    present: Present<S::Opening>,
    /// The proposal for which a report is owed or out, while the next view has not begun.
    stopped: Option<Epoch>,
    /// The work of a coordinator, if this is one.
    chair: Option<Box<Chair<S>>>,
}

/// In which view a process is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Present<O> {
    /// In none: it has come back and must be let in.
    Outside,
    /// In the first, of all configured processes.
    First,
    /// In one that was agreed upon.
    Later(Arc<View<O>>),
}

impl<S: Survivor> Default for Views<S> {
    fn default() -> Self {
        Views { promised: Epoch::FIRST, present: Present::Outside, stopped: None, chair: None }
    }
}

type Cx<'a, S> = Context<'a, Views<S>>;

impl<S: Survivor> Process for Views<S> {
    type Msg = Msg<S>;
    type Timer = Timer;
    type Input = Input<S>;
    type Output = Output;
    type Durable = Epoch;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::synchronous(Channels::Any);

    fn durable(&self) -> Epoch {
        self.promised
    }

    fn on_start(&mut self, saved: Option<Epoch>, cx: &mut Cx<'_, S>) {
        match saved {
            None => {
                self.present = Present::First;
                if cx.config().coordinator == Some(cx.me()) {
                    self.preside(cx);
                }
            }
            Some(promised) => self.promised = promised,
        }
    }

    fn on_input(&mut self, input: Input<S>, cx: &mut Cx<'_, S>) {
        match input {
            Input::Elected(coordinator) if coordinator == cx.me() => self.propose(cx),
            Input::Elected(_) => {
                cx.rule("V7");
                self.leave_chair(cx);
            }
            Input::Report(report) => self.report(report, cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg<S>, cx: &mut Cx<'_, S>) {
        match msg {
            Msg::Propose(epoch) => self.proposed(from, epoch, cx),
            Msg::Report(epoch, reported) => self.gather(from, epoch, reported, cx),
            Msg::Refuse(promised) => self.refused(promised, cx),
            Msg::View(view) if self.stopped == Some(view.epoch) => {
                cx.rule("V4");
                self.begin(view, cx);
            }
            // The report for it was made in an earlier life, or there is a later proposal.
            Msg::View(_) => {}
            Msg::Ping => {
                cx.rule("V6");
                cx.send(from, Msg::Pong(self.epoch().filter(|_| self.stopped.is_none())));
            }
            Msg::Pong(epoch) => self.ponged(from, epoch, cx),
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, S>) {
        match timer {
            Timer::Reports => self.conclude(cx),
            Timer::Watch => self.ping(cx),
            Timer::Silence => self.miss(cx),
        }
    }
}

impl<S: Survivor> Views<S> {
    /// The view that this process is in, if it was agreed upon: the first one was not.
    pub fn view(&self) -> Option<&Arc<View<S::Opening>>> {
        match &self.present {
            Present::Later(view) => Some(view),
            Present::Outside | Present::First => None,
        }
    }

    /// The epoch of the view that this process is in, also if that is stopped; none for a process
    /// that has come back and has not been let in.
    #[inline]
    pub fn epoch(&self) -> Option<Epoch> {
        match &self.present {
            Present::Outside => None,
            Present::First => Some(Epoch::FIRST),
            Present::Later(view) => Some(view.epoch),
        }
    }

    /// The view that goes on here: none while the next one is being agreed upon.
    #[inline]
    pub fn running(&self) -> Option<Epoch> {
        if self.stopped.is_some() { None } else { self.epoch() }
    }

    /// Whether a view of this epoch may still begin here, so that its messages must be kept.
    pub fn awaits(&self, epoch: Epoch) -> bool {
        self.stopped == Some(epoch)
    }

    /// V2.
    fn proposed(&mut self, by: NodeId, epoch: Epoch, cx: &mut Cx<'_, S>) {
        cx.rule("V2");
        if epoch <= self.promised && self.stopped != Some(epoch) {
            cx.send(by, Msg::Refuse(self.promised));
            return;
        }
        self.promised = epoch;
        self.stopped = Some(epoch);
        if self.chair.is_some() {
            // V7
            self.preside(cx);
        }
        cx.emit(Output::Stopped);
    }

    fn report(&mut self, report: S, cx: &mut Cx<'_, S>) {
        let Some(epoch) = self.stopped else { return };
        let reported = Reported { was_in: self.epoch(), report };
        if epoch.by() == cx.me() {
            self.gather(cx.me(), epoch, reported, cx);
        } else {
            cx.send(epoch.by(), Msg::Report(epoch, reported));
        }
    }

    fn begin(&mut self, view: Arc<View<S::Opening>>, cx: &mut Cx<'_, S>) {
        self.stopped = None;
        self.present = Present::Later(view);
        cx.emit(Output::Began);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
