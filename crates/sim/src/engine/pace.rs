//! Looking at a cluster between one event and the next.

use super::{Event, Sim};
use crate::observer::Observer;
use bellwether_core::{NodeId, Process, Time};

impl<P: Process, O: Observer<P>> Sim<P, O> {
    /// Lets the next event happen and nothing else, whatever the goal and the violations; says
    /// whether there was one.
    pub fn advance(&mut self) -> bool {
        let Some((at, event)) = self.world.queue.pop(|_| {}) else { return false };
        self.world.now = Time::from_micros(at);
        self.handle(event);
        true
    }

    /// The timers that a process has set, in their own order.
    pub fn armed(&self, id: NodeId) -> Vec<P::Timer> {
        let node = self.group.place(id).map(|place| &self.nodes[place]);
        let mut armed: Vec<P::Timer> =
            node.into_iter().flat_map(|node| node.timers.armed()).collect();
        armed.sort_unstable();
        armed
    }

    /// The messages on their way, in the order of sending: each with its number in this run, from
    /// whom and to whom. One that is to arrive twice is there twice.
    pub fn on_the_way(&self) -> Vec<(u64, NodeId, NodeId, &P::Msg)> {
        let mut found: Vec<_> =
            self.world.queue.iter().filter_map(|event| self.letter(event)).collect();
        found.sort_unstable_by_key(|(id, ..)| *id);
        found
    }

    fn letter<'a>(&self, event: &'a Event<P>) -> Option<(u64, NodeId, NodeId, &'a P::Msg)> {
        match event {
            Event::Deliver { to, from, id, msg } => {
                Some((*id, *from, self.group.ring()[*to as usize], msg))
            }
            Event::Late(event) => self.letter(event),
            Event::Timer { .. } | Event::Act(_) => None,
        }
    }
}
