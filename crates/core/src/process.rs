//! What an algorithm is.

use crate::{Context, NodeId};
use std::fmt::{self, Debug, Display};
use std::hash::Hash;

/// A distributed algorithm as seen by one of its processes: a state machine without I/O.
///
/// `Default` is the blank process, before it knows even its own number; [`on_start`] makes it a
/// working one. See the crate's documentation for the rules that every driver keeps.
///
/// [`on_start`]: Process::on_start
pub trait Process: Clone + Debug + Default + Eq + Hash {
    /// What processes send each other.
    type Msg: Message;
    /// The timers, by name. Setting one that is set replaces it.
    type Timer: Clone + Debug + Eq + Ord + Hash;
    /// What the application asks for.
    type Input: Clone + Debug;
    /// What the application is told.
    type Output: Clone + Debug + Display;
    /// What survives a crash; often `()`.
    type Durable: Clone + Debug + Eq + Hash;
    /// What is fixed for the whole run: time-outs, options. Lent by the context.
    type Config: Debug;

    /// What it needs from its surroundings to be right.
    const ASSUMES: Assumptions;

    /// What must survive a crash. The driver makes it safe before the step's messages leave.
    fn durable(&self) -> Self::Durable;

    /// The first start (`saved` is `None`) or the recovery from a crash.
    fn on_start(&mut self, saved: Option<Self::Durable>, cx: &mut Context<'_, Self>);

    /// The application wants something.
    fn on_input(&mut self, input: Self::Input, cx: &mut Context<'_, Self>);

    /// A message arrived.
    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Context<'_, Self>);

    /// A timer ran out.
    fn on_timer(&mut self, timer: Self::Timer, cx: &mut Context<'_, Self>);
}

/// A call of a handler, as data: for a parent that passes calls on to its parts in one place.
#[derive(Clone, Debug)]
pub enum Call<P: Process> {
    /// [`Process::on_start`].
    Start(Option<P::Durable>),
    /// [`Process::on_input`].
    Input(P::Input),
    /// [`Process::on_message`].
    Message(NodeId, P::Msg),
    /// [`Process::on_timer`].
    Timer(P::Timer),
}

impl<P: Process> Call<P> {
    /// Makes the call.
    #[inline(always)]
    pub fn make(self, process: &mut P, cx: &mut Context<'_, P>) {
        match self {
            Call::Start(saved) => process.on_start(saved, cx),
            Call::Input(input) => process.on_input(input, cx),
            Call::Message(from, msg) => process.on_message(from, msg, cx),
            Call::Timer(timer) => process.on_timer(timer, cx),
        }
    }
}

/// A message between processes. `Display` is how a trace shows it: its kind in the paper's own
/// word, then its contents.
pub trait Message: Clone + Debug + Display + Eq + Hash {
    /// What it is counted as.
    fn kind(&self) -> Kind;

    /// Its bytes on the wire, roughly: for networks that lose by size, or whose links have a rate.
    /// Without it a message takes no room.
    fn weight(&self) -> usize {
        0
    }
}

/// The name under which messages are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// The paper's word, in capitals.
    pub name: &'static str,
    /// Whether the paper's cost formula counts it.
    pub role: Role,
}

/// Whether a message belongs to the algorithm proper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Part of the algorithm: the cost formulas count it.
    Protocol,
    /// A message of the algorithm that is sent once more, because its first receiver was dead. It
    /// moves the algorithm on, but the cost formulas count it once: counted apart.
    Repeat,
    /// What an implementation adds to find out who is alive: counted apart.
    Overhead,
}

impl Kind {
    /// A message of the algorithm proper.
    pub const fn protocol(name: &'static str) -> Self {
        Kind { name, role: Role::Protocol }
    }

    /// A message of the algorithm that is sent once more.
    pub const fn repeat(name: &'static str) -> Self {
        Kind { name, role: Role::Repeat }
    }

    /// A detector's request or an acknowledgement.
    pub const fn overhead(name: &'static str) -> Self {
        Kind { name, role: Role::Overhead }
    }
}

/// What an algorithm needs to be right. Outside of it, it may fail, and the tests show how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumptions {
    /// What is known of delays.
    pub timing: Timing,
    /// In which order a channel delivers.
    pub channels: Channels,
    /// Whether messages may be lost.
    pub loss: bool,
    /// Whether messages may arrive twice.
    pub duplication: bool,
    /// Whether processes may crash.
    pub crashes: bool,
    /// Whether crashed processes may come back.
    pub recoveries: bool,
}

impl Assumptions {
    /// What the papers' algorithms need that know nothing of faults: every message arrives, once,
    /// after any delay, and no process crashes.
    pub const fn faultless(channels: Channels) -> Self {
        Assumptions {
            timing: Timing::Asynchronous,
            channels,
            loss: false,
            duplication: false,
            crashes: false,
            recoveries: false,
        }
    }

    /// What the textbooks' elections need: bounded delays and no loss, while processes crash and
    /// come back and messages may arrive twice.
    pub const fn synchronous(channels: Channels) -> Self {
        Assumptions {
            timing: Timing::Synchronous,
            channels,
            loss: false,
            duplication: true,
            crashes: true,
            recoveries: true,
        }
    }
}

/// What is known of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Delays are bounded and time-outs exceed the bound: silence proves death.
    Synchronous,
    /// Nothing is known; the algorithm is right all the same.
    Asynchronous,
}

/// In which order a channel between two processes delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// Any order.
    Any,
    /// In the order of sending, per pair of processes.
    Fifo,
    /// In causal order over all channels.
    Causal,
}

impl Display for Assumptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timing = match self.timing {
            Timing::Synchronous => "bounded delays",
            Timing::Asynchronous => "any delays",
        };
        let channels = match self.channels {
            Channels::Any => "any order",
            Channels::Fifo => "FIFO channels",
            Channels::Causal => "causal channels",
        };
        let loss = if self.loss { "loss tolerated" } else { "no loss" };
        let faults = match (self.crashes, self.recoveries) {
            (false, _) => "no crashes",
            (true, false) => "crashes",
            (true, true) => "crashes and recoveries",
        };
        write!(f, "{timing}, {channels}, {loss}, {faults}")
    }
}
