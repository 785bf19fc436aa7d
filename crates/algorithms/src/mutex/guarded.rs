//! A mutual exclusion algorithm among the live processes.
//!
//! The papers' algorithms stand still when a process crashes: a token dies with its holder, and a
//! dead process gives no permission. Here an election runs beside the algorithm. The elected process
//! forms a [view](crate::views) of the live processes, and the algorithm starts again in it:
//!
//! # Rules
//! * S1 When a view ends, the algorithm stops at once. Its report: whether the application waits or
//!   is inside, where its request stands, and whether the token is here.
//! * S2 The next view [opens](super::Opening) with the process inside still inside, with all
//!   requests asked again in the order that the algorithm promises, and with the token where it
//!   was; if no survivor has it, the coordinator makes a new one.
//! * S3 Messages of views that are over are dropped; those of the next one, if they come before it
//!   begins, wait.
//! * S4 The algorithm gets the inputs that the application gives between two views when the next
//!   view begins.
//! * S5 A process that has come back belongs to no view until the next one.
//!
//! Without views ([`Config::textbook`]) there is only the algorithm, and a crash has the
//! consequences that the texts describe; a process that comes back stays outside.
//!
//! The application is either the driver's, by [`Deed::Request`] and [`Deed::Release`], or a simple
//! one that is here: [`Deed::Work`] gives it a job, and for each it asks for the section, stays
//! inside for a while and leaves.

use super::{Granted, Input, Mutex, Opening, Refusal, Report, Sequence, Status};
use crate::election::{self, Bully, Election, Incarnation, Watched};
use crate::views::{self, Epoch, Views};
use bellwether_core::{Assumptions, Call, Context, Few, Kind, Message, NodeId, Process, Timing};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What can be asked of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Deed {
    /// The application asks for the section.
    Request,
    /// The application leaves the section.
    Release,
    /// The simple application has one more job to do inside.
    Work,
    /// The coordinator is suspected, or an election is wanted for another reason.
    Elect(election::Input),
}

/// What a process says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// The application has asked for the section.
    Requested,
    /// The application is inside.
    Entered(Sequence),
    /// The application has left.
    Left,
    /// What was asked for cannot be done.
    Refused(Refusal),
    /// A view begins.
    View {
        /// Its number.
        number: u32,
        /// How many take part.
        members: u32,
    },
    /// The token was lost and is replaced here.
    Minted,
    /// The election's word.
    Election(election::Output),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Requested => f.write_str("asks for the section"),
            Output::Entered(sequence) => write!(f, "enters the section ({sequence})"),
            Output::Left => f.write_str("leaves the section"),
            Output::Refused(refusal) => write!(f, "is refused: {refusal}"),
            Output::View { number, members } => {
                let plural = if *members == 1 { "" } else { "s" };
                write!(f, "begins view {number} with {members} member{plural}")
            }
            Output::Minted => f.write_str("makes a new token"),
            Output::Election(output) => output.fmt(f),
        }
    }
}

/// A message of one of the parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg<M, E> {
    /// The algorithm's, in this view.
    Algorithm(Epoch, M),
    /// About views. Rare and large, so it lies elsewhere.
    Views(Box<views::Msg<Report>>),
    /// The election's.
    Election(election::Msg<E>),
}

impl<M: Message, E: Message> Message for Msg<M, E> {
    fn kind(&self) -> Kind {
        match self {
            Msg::Algorithm(_, msg) => msg.kind(),
            Msg::Views(msg) => msg.kind(),
            // An entry's cost is what the algorithm sends; the election is counted apart.
            Msg::Election(msg) => Kind::overhead(match msg.kind().name {
                "REQUEST" => "WATCH",
                name => name,
            }),
        }
    }
}

impl<M: fmt::Display, E: fmt::Display> fmt::Display for Msg<M, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Algorithm(_, msg) => msg.fmt(f),
            Msg::Views(msg) => msg.fmt(f),
            Msg::Election(msg) => msg.fmt(f),
        }
    }
}

/// A timer of one of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer<M, E> {
    /// The simple application has been inside for long enough.
    Leave,
    /// The algorithm's, in this view.
    Algorithm(Epoch, M),
    /// About views.
    Views(views::Timer),
    /// The election's.
    Election(election::Timer<E>),
}

/// What survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The election's.
    pub election: Incarnation,
    /// The largest epoch that was promised.
    pub promised: Epoch,
}

/// What is fixed for the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How the first view begins.
    pub opening: Opening,
    /// How long the simple application stays inside, from and to.
    pub section: (Duration, Duration),
    /// Whether there is only the algorithm, without election and views.
    pub textbook: bool,
    /// Whether messages of views that are over are believed, against S3: a token that was on its
    /// way then comes back as a second one.
    pub no_epochs: bool,
    /// The election beside it.
    pub election: election::Config,
    /// How views are agreed upon.
    pub views: views::Config,
}

/// A process of a mutual exclusion algorithm, with what makes it survive crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guarded<M: Mutex, E: Election = Bully> {
    algorithm: M,
    status: Status,
    /// Jobs to come.
    jobs: u32,
    /// Whether the simple application waits or is inside for a job.
    at_work: bool,
    /// Whether the request is one that the algorithm has not been told of (S4).
    withheld: bool,
    views: Views<Report>,
    election: Watched<E>,
    /// Messages of the next view, which has not begun here (S3).
    early: Vec<(Epoch, NodeId, M::Msg)>,
    /// How many take part in the view, and whether the coordinator watches over that.
    pub(super) members: u32,
    pub(super) watched: bool,
}

// A derived one would ask for a default message.
impl<M: Mutex, E: Election> Default for Guarded<M, E> {
    fn default() -> Self {
        Guarded {
            algorithm: M::default(),
            status: Status::Idle,
            jobs: 0,
            at_work: false,
            withheld: false,
            views: Views::default(),
            election: Watched::default(),
            early: Vec::new(),
            members: 0,
            watched: false,
        }
    }
}

type Cx<'a, M, E> = Context<'a, Guarded<M, E>>;

impl<M: Mutex, E: Election> Process for Guarded<M, E> {
    type Msg = Msg<M::Msg, E::Msg>;
    type Timer = Timer<M::Timer, E::Timer>;
    type Input = Deed;
    type Output = Output;
    type Durable = Durable;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions {
        timing: Timing::Synchronous,
        channels: M::ASSUMES.channels,
        loss: false,
        duplication: M::ASSUMES.duplication,
        crashes: true,
        recoveries: true,
    };

    fn durable(&self) -> Durable {
        Durable { election: self.election.durable(), promised: self.views.durable() }
    }

    fn on_start(&mut self, saved: Option<Durable>, cx: &mut Cx<'_, M, E>) {
        let first = saved.is_none();
        self.members = cx.group().len() as u32;
        self.watched = !cx.config().textbook && cx.config().views.watch.is_some();
        self.agree(cx, Call::Start(saved.map(|saved| saved.promised)));
        if !cx.config().textbook {
            self.elect(cx, Call::Start(saved.map(|s| s.election)));
        }
        if first {
            self.step(cx, Call::Start(None));
        }
    }

    fn on_input(&mut self, deed: Deed, cx: &mut Cx<'_, M, E>) {
        match deed {
            Deed::Request => match self.may_request() {
                Ok(()) => self.request(cx),
                Err(refusal) => cx.emit(Output::Refused(refusal)),
            },
            Deed::Release => match self.may_release() {
                Ok(()) => self.release(cx),
                Err(refusal) => cx.emit(Output::Refused(refusal)),
            },
            Deed::Work => {
                self.jobs = self.jobs.saturating_add(1);
                self.take_job(cx);
            }
            Deed::Elect(_) if cx.config().textbook => {}
            Deed::Elect(input) => self.elect(cx, Call::Input(input)),
        }
    }

    #[inline]
    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_, M, E>) {
        match msg {
            Msg::Algorithm(epoch, msg) => {
                let over = cx.config().no_epochs && self.views.running() > Some(epoch);
                if over || self.views.running() == Some(epoch) {
                    self.step(cx, Call::Message(from, msg));
                } else if self.views.awaits(epoch) {
                    self.early.push((epoch, from, msg));
                }
            }
            Msg::Views(msg) => self.agree(cx, Call::Message(from, *msg)),
            Msg::Election(msg) => self.elect(cx, Call::Message(from, msg)),
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Cx<'_, M, E>) {
        match timer {
            Timer::Leave => {
                if self.at_work && self.is_inside() {
                    self.release(cx);
                }
            }
            Timer::Algorithm(epoch, timer) => {
                if self.views.running() == Some(epoch) {
                    self.step(cx, Call::Timer(timer));
                }
            }
            Timer::Views(timer) => self.agree(cx, Call::Timer(timer)),
            Timer::Election(timer) => self.elect(cx, Call::Timer(timer)),
        }
    }
}

impl<M: Mutex, E: Election> Guarded<M, E> {
    /// What the application has of the section.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Whether the application is inside.
    pub fn is_inside(&self) -> bool {
        matches!(self.status, Status::Inside(_))
    }

    /// Whether nothing is waited for or to be done. The driver's application may stay inside for as
    /// long as it likes; the simple one leaves by itself.
    pub fn is_served(&self) -> bool {
        match self.status {
            Status::Idle => self.jobs == 0,
            Status::Waiting => false,
            Status::Inside(_) => self.jobs == 0 && !self.at_work,
        }
    }

    /// Whether the application may ask for the section now.
    pub fn may_request(&self) -> Result<(), Refusal> {
        match self.status {
            Status::Idle => Ok(()),
            Status::Waiting => Err(Refusal::Waiting),
            Status::Inside(sequence) => Err(Refusal::Inside(sequence)),
        }
    }

    /// Whether the application may leave the section now.
    pub fn may_release(&self) -> Result<(), Refusal> {
        if self.is_inside() { Ok(()) } else { Err(Refusal::NotInside) }
    }

    /// The algorithm itself.
    pub fn algorithm(&self) -> &M {
        &self.algorithm
    }

    /// The view that this process is in.
    pub fn views(&self) -> &Views<Report> {
        &self.views
    }

    /// The election beside it.
    pub fn election(&self) -> &Watched<E> {
        &self.election
    }

    fn request(&mut self, cx: &mut Cx<'_, M, E>) {
        self.status = Status::Waiting;
        self.withheld = self.views.running().is_none();
        cx.emit(Output::Requested);
        self.step(cx, Call::Input(Input::Request));
    }

    fn release(&mut self, cx: &mut Cx<'_, M, E>) {
        self.status = Status::Idle;
        self.at_work = false;
        cx.emit(Output::Left);
        self.step(cx, Call::Input(Input::Release));
        self.take_job(cx);
    }

    fn take_job(&mut self, cx: &mut Cx<'_, M, E>) {
        if self.jobs > 0 && self.status == Status::Idle {
            self.jobs -= 1;
            self.at_work = true;
            self.request(cx);
        }
    }

    fn enter(&mut self, Granted(entry): Granted, cx: &mut Cx<'_, M, E>) {
        let view = self.views.epoch().unwrap_or(Epoch::FIRST);
        let sequence = Sequence { view, entry };
        self.status = Status::Inside(sequence);
        cx.emit(Output::Entered(sequence));
        if self.at_work {
            let (from, to) = cx.config().section;
            cx.set_timer_within(Timer::Leave, from..to);
        }
    }

    /// Steps the algorithm in the view that goes on. If none does, nothing happens: the next one
    /// begins with what the application wants then (S4).
    #[inline]
    fn step(&mut self, cx: &mut Cx<'_, M, E>, call: Call<M>) {
        let Some(epoch) = self.views.running() else { return };
        let msg = |msg| Msg::Algorithm(epoch, msg);
        let timer = |timer| Timer::Algorithm(epoch, timer);
        let algorithm = &mut self.algorithm;
        let said = match self.views.view() {
            None => {
                let opening = &cx.config().opening;
                cx.part(opening, msg, timer, |cx| call.make(algorithm, cx))
            }
            Some(view) => match cx.here().within(&view.group) {
                Some(here) => {
                    cx.part_at(&here, &view.opening, msg, timer, |cx| call.make(algorithm, cx))
                }
                None => Few::None,
            },
        };
        for granted in said {
            self.enter(granted, cx);
        }
    }

    /// Steps the agreement on views.
    fn agree(&mut self, cx: &mut Cx<'_, M, E>, call: Call<Views<Report>>) {
        let config = &cx.config().views;
        let post = |msg| Msg::Views(Box::new(msg));
        let said = cx.part(config, post, Timer::Views, |cx| call.make(&mut self.views, cx));
        for output in said {
            match output {
                views::Output::Stopped => self.report(cx),
                views::Output::Began => self.begin(cx),
            }
        }
    }

    /// S1: the algorithm stops.
    fn report(&mut self, cx: &mut Cx<'_, M, E>) {
        cx.rule("S1");
        let report = Report {
            status: self.status,
            // The algorithm may still know of the request before.
            place: self.algorithm.place().filter(|_| !self.withheld),
            token: self.algorithm.has_token(),
            options: cx.config().opening.options,
        };
        self.agree(cx, Call::Input(views::Input::Report(report)));
    }

    /// S2: the algorithm begins again.
    fn begin(&mut self, cx: &mut Cx<'_, M, E>) {
        cx.rule("S2");
        let Some(view) = self.views.view().cloned() else { return };
        let (me, opening) = (cx.me(), &view.opening);
        self.members = view.group.len() as u32;
        cx.emit(Output::View { number: view.epoch.number(), members: self.members });
        if M::TOKEN && opening.minted && opening.coordinator == me {
            cx.emit(Output::Minted);
        }
        self.algorithm = M::default();
        self.withheld = false;
        self.step(cx, Call::Start(None));
        // S4
        if opening.is_inside(me) && !self.is_inside() {
            self.step(cx, Call::Input(Input::Release));
        }
        if self.status == Status::Waiting && !opening.is_waiting(me) {
            self.step(cx, Call::Input(Input::Request));
        }
        // S3
        for (epoch, from, msg) in std::mem::take(&mut self.early) {
            if epoch == view.epoch {
                self.step(cx, Call::Message(from, msg));
            }
        }
    }

    /// Steps the election and tells the views whom it has found.
    fn elect(&mut self, cx: &mut Cx<'_, M, E>, call: Call<Watched<E>>) {
        if cx.config().textbook {
            return;
        }
        let config = &cx.config().election;
        let said =
            cx.part(config, Msg::Election, Timer::Election, |cx| call.make(&mut self.election, cx));
        for output in said {
            cx.emit(Output::Election(output));
            if let election::Output::Elected(coordinator) = output {
                let elected = views::Input::Elected(coordinator);
                self.agree(cx, Call::Input(elected));
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/guarded.rs"]
mod tests;
