//! What is to be explored: who takes part, what may happen to them, and what must hold.

use bellwether_algorithms::referee::Referee;
use bellwether_core::{Goal, Group, Invariant, NodeId, Process, Shape, Time, micros};
use std::ops::Range;
use std::time::Duration;

/// Time in whole ticks.
pub type Ticks = u16;

/// A cluster, what may happen to it, and what must hold.
#[derive(Debug)]
pub struct Model<P: Process> {
    /// Who takes part.
    pub group: Group,
    /// How the processes are configured.
    pub config: P::Config,
    /// What is known of time.
    pub timing: Timing,
    /// In which order messages arrive.
    pub channels: Channels,
    /// What may go wrong, in total.
    pub faults: Faults,
    /// What the application may ask of each process, by place: one after the other, each at any
    /// moment or never.
    pub inputs: Vec<Vec<P::Input>>,
    /// On which side of a partition each process is, by place; empty if there is none.
    pub sides: Vec<u8>,
    /// What must hold in every state.
    ///
    /// An invariant of [`Shape::Whole`] sees as in flight only what may still arrive somewhere. A
    /// message to a process that is down for good is dropped when that process crashes, or when the
    /// message is sent, whichever is later; a message to another side of a partition is dropped when
    /// it is sent; what is [spent](Model::spent) is dropped as soon as it is. In the simulator such
    /// messages are in flight until they arrive. With [`Channels::Unreliable`] every message that
    /// was ever sent stays in flight, also after it has arrived.
    pub invariants: Vec<Invariant<P>>,
    /// What every run must come to, for good.
    pub goal: Option<Goal<P>>,
    /// Who judges what the processes say, as it is before they have said anything.
    pub referee: Option<Box<dyn Referee<P>>>,
    /// Whether processes look at their clocks. Then every reading is a state of its own, and only
    /// [`Model::horizon`] makes them finitely many.
    pub reads_clock: bool,
    /// What clocks show at the beginning, by place; those that are missing show [`CLOCK_START`].
    ///
    /// [`CLOCK_START`]: bellwether_sim::CLOCK_START
    pub clocks: Vec<Time>,
    /// When clocks stop, where they must: no run is followed further.
    pub horizon: Option<Ticks>,
    /// How times grow old, if processes look at their clocks only to compare. Then
    /// [`Model::reads_clock`] need not be set, and runs need no horizon.
    pub aging: Option<Aging<P>>,
    /// Whether a message can make no difference any more to the process that it is for, whenever it
    /// arrives: then it is dropped. Clocks show what they showed at the beginning.
    pub spent: Option<Spent<P>>,
}

/// Whether this process, whose clock shows `now`, need not get that message from that sender.
pub type Spent<P> =
    fn(&P, &<P as Process>::Config, now: Time, from: NodeId, &<P as Process>::Msg) -> bool;

/// How times grow old.
///
/// Who only asks whether one time is before another sees no difference if all of them, and the
/// clock, are moved by the same span. So a clock may stand still while all times that were read from
/// it move into the past; and those that are too old to make a difference may all become the same.
/// Then there are finitely many states, however long a run is.
#[derive(Debug)]
pub struct Aging<P: Process> {
    /// What becomes of a process when its clock goes on by a tick, and is set back to `now`.
    pub process: fn(&mut P, &P::Config, now: Time, tick: Duration),
    /// What becomes of a message when that clock goes on by a tick, and is set back to `now`.
    pub msg: fn(&mut P::Msg, Whose, &P::Config, now: Time, tick: Duration),
}

/// Which clock a message's times were read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// That of the process that sent it.
    Sender,
    /// That of the process that it is for.
    Receiver,
}

/// How often each kind of fault may happen, in the whole run and to anybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// A process stops.
    pub crashes: u8,
    /// A stopped process starts again.
    pub recoveries: u8,
    /// A message does not arrive.
    pub losses: u8,
    /// A message arrives once more.
    pub duplicates: u8,
}

/// What is known of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Nothing: a message takes any time, and a timer that is set may fire at any moment.
    Asynchronous,
    /// Messages and timers take as long as they say, in whole ticks; within these bounds anything
    /// may happen. If messages take no time at all, this is the synchronous world: time passes
    /// only when nothing is on its way, so that a process that waits for an answer has it before its
    /// time is up.
    Bounded {
        /// How long a tick is.
        tick: Duration,
        /// How long messages take, at least and at most.
        delay: (Ticks, Ticks),
    },
    /// Messages take any time, but everybody has a clock: a timer fires when its time has come on
    /// the clock of its process, or later.
    Drifting {
        /// How long a tick is.
        tick: Duration,
        /// How far two clocks may be apart.
        apart: Ticks,
    },
}

/// In which order messages arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// In the order of sending, between any two processes.
    Fifo,
    /// In any order.
    Reorder,
    /// In an order that respects causes: no message arrives before another one to the same process
    /// that was sent in its past.
    Causal,
    /// In any order, any number of times, or never: whatever was sent once stays on its way. No
    /// losses and duplicates need to be counted then.
    Unreliable,
}

impl Timing {
    /// Messages take no time compared to time-outs.
    pub fn synchronous(tick: Duration) -> Self {
        Timing::Bounded { tick, delay: (0, 0) }
    }

    /// How long a tick is, where there are any.
    pub fn tick(self) -> Option<Duration> {
        match self {
            Timing::Asynchronous => None,
            Timing::Bounded { tick, .. } | Timing::Drifting { tick, .. } => Some(tick),
        }
    }

    /// How long a message takes, at least and at most.
    pub(crate) fn delay(self) -> (Ticks, Ticks) {
        match self {
            Timing::Bounded { delay, .. } => delay,
            Timing::Asynchronous | Timing::Drifting { .. } => (0, 0),
        }
    }

    /// A span of time in ticks: outwards where it is not a whole number of them, so that nothing
    /// that is possible is left out.
    pub(crate) fn ticks(self, span: &Range<Duration>) -> (Ticks, Ticks) {
        let Some(tick) = self.tick() else { return (0, 0) };
        let tick = micros(tick).max(1);
        let whole = |ticks: u64| Ticks::try_from(ticks).unwrap_or(Ticks::MAX);
        let least = micros(span.start) / tick;
        let most = micros(span.end.max(span.start)).div_ceil(tick);
        (whole(least), whole(most))
    }
}

impl<P: Process> Model<P> {
    /// What the clock of the process at `place` shows after this many ticks.
    pub(crate) fn reading(&self, place: usize, ticks: Ticks) -> Time {
        let start = self.clocks.get(place).copied();
        let start = start.unwrap_or(Time::ZERO + bellwether_sim::CLOCK_START);
        start + self.timing.tick().unwrap_or_default() * u32::from(ticks)
    }

    /// Whether an invariant looks at the whole cluster.
    pub(crate) fn looks_at_whole(&self) -> bool {
        self.invariants.iter().any(|invariant| matches!(invariant.shape, Shape::Whole(_)))
    }

    /// Whether a message from one place to another can arrive at all.
    pub(crate) fn reaches(&self, from: usize, to: usize) -> bool {
        self.sides.get(from) == self.sides.get(to)
    }
}
