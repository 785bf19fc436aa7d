//! What a world consists of, as plain data.

use crate::model::{Channels, Faults, Ticks};
use crate::world::Change;
use bellwether_core::Process;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// A process and what the world keeps for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot<P: Process> {
    /// Where on the ring. It is here because a process's own state need not say who it is.
    pub place: u8,
    /// The process, or what is left of it.
    pub state: State<P>,
    /// Its timers, in their order.
    pub timers: Vec<Armed<P::Timer>>,
}

/// A process, or what is left of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum State<P: Process> {
    /// It runs.
    Up(P),
    /// It has crashed, and this has survived.
    Down(P::Durable),
}

/// A timer that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Armed<T> {
    /// Which.
    pub timer: T,
    /// It fires after this many ticks at least.
    pub least: Ticks,
    /// And at most.
    pub most: Ticks,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Flight<M> {
    /// From which place.
    pub from: u8,
    /// The message.
    pub msg: M,
    /// It arrives after this many ticks at least.
    pub least: Ticks,
    /// And at most.
    pub most: Ticks,
    /// In causal channels, what its sender knew of when it sent it.
    pub past: Past,
}

/// What a process or a message knows of messages that are still on their way: how many of the first
/// ones of each link, by `from * n + to`. Empty unless channels are causal.
pub type Past = Vec<u8>;

/// All messages on their way to one process: by sender, and then in the order of sending or, where
/// the order means nothing, in an order that depends on nothing but the messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inbox<M> {
    /// Whose.
    pub to: u8,
    /// What.
    pub flights: Vec<Flight<M>>,
}

/// What is left of the budget, what has been asked for, and the time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rest {
    /// The faults that may still happen.
    pub left: Faults,
    /// How many of its inputs each process has had, by place.
    pub asked: Vec<u8>,
    /// What clocks show: one for all, or each its own. Where no process reads them, only by how much
    /// each is ahead of the last.
    pub clocks: Vec<Ticks>,
}

impl<P: Process> Slot<P> {
    /// The process, if it runs.
    pub fn process(&self) -> Option<&P> {
        match &self.state {
            State::Up(process) => Some(process),
            State::Down(_) => None,
        }
    }

    /// A tick later.
    pub(crate) fn elapse(&mut self) {
        for armed in &mut self.timers {
            armed.least = armed.least.saturating_sub(1);
            armed.most = armed.most.saturating_sub(1);
        }
    }
}

/// The message that may arrive next, of those of one sender or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Where in the inbox.
    pub at: u8,
    /// Whether it must arrive before time goes on.
    pub urgent: bool,
}

/// A number for a value that is the same in every run.
pub(crate) fn key(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

impl<M: Hash + Eq> Inbox<M> {
    /// Adds a message to those on their way.
    pub(crate) fn post(&mut self, flight: Flight<M>, channels: Channels) {
        let at = match channels {
            Channels::Unreliable if self.flights.contains(&flight) => return,
            Channels::Reorder | Channels::Unreliable => {
                let rank = |flight: &Flight<M>| (flight.from, key(&flight.msg), flight.most);
                let new = rank(&flight);
                self.flights.partition_point(|other| rank(other) <= new)
            }
            Channels::Fifo | Channels::Causal => {
                self.flights.partition_point(|other| other.from <= flight.from)
            }
        };
        self.flights.insert(at, flight);
    }

    /// Which messages may arrive now. Of several that are the same, one is enough.
    pub(crate) fn arrivals(&self, nodes: usize, channels: Channels, found: &mut Vec<Arrival>) {
        for (at, flight) in self.flights.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &self.flights[before]);
            let first = before.is_none_or(|before| before.from != flight.from);
            let may = match channels {
                Channels::Fifo => first,
                Channels::Unreliable => true,
                Channels::Reorder => before.is_none_or(|before| before != flight),
                Channels::Causal => {
                    let waits = |from: usize| flight.past[from * nodes + usize::from(self.to)] > 0;
                    first && (0..nodes).all(|from| from == usize::from(flight.from) || !waits(from))
                }
            };
            if may && flight.least == 0 {
                found.push(Arrival { at: at as u8, urgent: flight.most == 0 });
            }
        }
    }

    /// A tick later.
    pub(crate) fn elapse(&mut self) {
        for flight in &mut self.flights {
            flight.least = flight.least.saturating_sub(1);
            flight.most = flight.most.saturating_sub(1);
        }
    }
}

/// What is known of a link changes.
pub(crate) fn change(past: &mut Past, change: Change) {
    let (Change::Sent(link) | Change::Gone(link) | Change::Doubled(link)) = change;
    let Some(known) = past.get_mut(usize::from(link)) else { return };
    *known = match change {
        Change::Sent(_) => known.saturating_add(1),
        Change::Gone(_) => known.saturating_sub(1),
        // Who knew of the first one knows of its duplicate too.
        Change::Doubled(_) => known.saturating_add(u8::from(*known > 0)),
    };
}

/// What both know together.
pub(crate) fn merge(mine: &mut Past, theirs: &Past) {
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine = (*mine).max(*theirs);
    }
}
