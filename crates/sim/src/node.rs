//! What the simulator keeps for one process.
//!
//! A run of a million processes has a million of these, so what hardly any process needs (a saved
//! state, a backlog, a wrong clock) lives elsewhere, in [`Oddity`]. They are aligned to cache
//! lines: nearly every event of a large run has to fetch one from main memory.

use crate::engine::Event;
use crate::monitor::Claims;
use bellwether_core::{Process, Time};
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Node<P: Process> {
    pub(crate) process: P,
    pub(crate) timers: Timers<P::Timer>,
    /// How many timers it has ever set, in all its lives: a given timer is found by this number.
    pub(crate) timers_set: u32,
    pub(crate) outgoing: Outgoing,
    pub(crate) claims: Claims,
    pub(crate) up: bool,
    /// Whether there is an [`Oddity`] to look at.
    pub(crate) odd: bool,
}

impl<P: Process> Default for Node<P> {
    fn default() -> Self {
        Node {
            process: P::default(),
            timers: Timers::default(),
            timers_set: 0,
            outgoing: Outgoing::default(),
            claims: 0,
            up: false,
            odd: false,
        }
    }
}

/// What faults have done to a process.
#[derive(Clone, Debug)]
pub(crate) struct Oddity<P: Process> {
    /// What survived the crash.
    pub(crate) saved: Option<P::Durable>,
    /// While paused: what waits.
    pub(crate) backlog: Option<VecDeque<Event<P>>>,
    /// How long every event takes.
    pub(crate) slow: Duration,
    /// When a slow process is done with what it has.
    pub(crate) busy_until: Time,
    pub(crate) offset_us: i64,
    pub(crate) drift_ppm: i64,
    /// The trap of a crash in the middle of sending.
    pub(crate) trap: Option<Trap>,
    /// Messages whose event in the queue comes to nothing: they were lost, or arrived before.
    pub(crate) gone: Vec<u64>,
}

impl<P: Process> Default for Oddity<P> {
    fn default() -> Self {
        Oddity {
            saved: None,
            backlog: None,
            slow: Duration::ZERO,
            busy_until: Time::ZERO,
            offset_us: 0,
            drift_ppm: 0,
            trap: None,
            gone: Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Trap {
    pub(crate) kind: String,
    /// Messages of that kind that still leave.
    pub(crate) left: u32,
    pub(crate) sprung: bool,
}

/// The armed timers of a process: a short list. The number tells an armed timer from its replaced
/// and cancelled namesakes, whose events are still in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Timers<T>(Vec<(T, u32)>);

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Timers(Vec::new())
    }
}

impl<T: Clone + Eq> Timers<T> {
    /// Arms a timer; the number, which must be new, must come back when it fires.
    pub(crate) fn arm(&mut self, timer: T, number: u32) {
        match self.0.iter_mut().find(|(armed, _)| *armed == timer) {
            Some(entry) => entry.1 = number,
            None => self.0.push((timer, number)),
        }
    }

    pub(crate) fn disarm(&mut self, timer: &T) {
        if let Some(index) = self.0.iter().position(|(armed, _)| armed == timer) {
            self.0.swap_remove(index);
        }
    }

    /// Whether this very timer is still armed; it is not any more.
    pub(crate) fn fire(&mut self, timer: &T, number: u32) -> bool {
        match self.0.iter().position(|(armed, at)| *at == number && armed == timer) {
            Some(index) => {
                self.0.swap_remove(index);
                true
            }
            None => false,
        }
    }

    /// The armed timer of this number.
    pub(crate) fn numbered(&self, number: u32) -> Option<T> {
        self.0.iter().find(|(_, at)| *at == number).map(|(timer, _)| timer.clone())
    }

    /// Those that are armed with their numbers, in no order.
    pub(crate) fn all(&self) -> &[(T, u32)] {
        &self.0
    }

    /// Those that are armed, in no order.
    pub(crate) fn armed(&self) -> impl Iterator<Item = T> {
        self.0.iter().map(|(timer, _)| timer.clone())
    }

    /// All are gone, as in a crash.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What a process has sent on each link: how many, and when the last one arrives.
///
/// On a ring there is one link, and it is kept in place; more go to a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    first: Sent,
    others: Option<Box<Links>>,
}

/// Links in the order of their ends. A process that tells all others goes through them in that order, so
/// the next one is nearly always the one after the last.
#[derive(Clone, Debug, Default)]
struct Links {
    sent: Vec<Sent>,
    last: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    to: u32,
    /// How many messages went this way.
    pub(crate) count: u32,
    /// When the latest of them arrives.
    pub(crate) latest: u64,
}

const NO_PROCESS: u32 = u32::MAX;

impl Default for Sent {
    fn default() -> Self {
        Sent { to: NO_PROCESS, count: 0, latest: 0 }
    }
}

impl Outgoing {
    /// The record of the link to the process at this place.
    #[inline]
    pub(crate) fn link(&mut self, to: u32) -> &mut Sent {
        if self.first.to == to {
            return &mut self.first;
        }
        if self.first.to == NO_PROCESS {
            self.first.to = to;
            return &mut self.first;
        }
        self.others.get_or_insert_default().link(to)
    }
}

impl Links {
    fn link(&mut self, to: u32) -> &mut Sent {
        let next = self.last + 1;
        self.last = match self.sent.get(next) {
            Some(sent) if sent.to == to => next,
            _ => self.find(to),
        };
        &mut self.sent[self.last]
    }

    fn find(&mut self, to: u32) -> usize {
        match self.sent.last() {
            Some(last) if last.to >= to => {}
            _ => {
                self.sent.push(Sent { to, ..Sent::default() });
                return self.sent.len() - 1;
            }
        }
        self.sent.binary_search_by_key(&to, |sent| sent.to).unwrap_or_else(|place| {
            self.sent.insert(place, Sent { to, ..Sent::default() });
            place
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_or_cancelled_timer_does_not_fire() {
        let mut timers = Timers::default();
        let (old, new, other) = (0, 1, 2);
        timers.arm('a', old);
        timers.arm('a', new);
        timers.arm('b', other);
        assert!(!timers.fire(&'a', old));
        assert!(timers.fire(&'a', new));
        assert!(!timers.fire(&'a', new));
        timers.disarm(&'b');
        assert!(!timers.fire(&'b', other));
    }

    #[test]
    fn links_are_counted_apart() {
        let mut outgoing = Outgoing::default();
        for to in [1, 2, 1, 3, 2, 1] {
            outgoing.link(to).count += 1;
        }
        assert_eq!([1, 2, 3, 4].map(|to| outgoing.link(to).count), [3, 2, 1, 0]);
    }
}
