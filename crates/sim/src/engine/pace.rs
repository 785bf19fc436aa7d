//! Looking at a cluster between one event and the next.

use super::{Event, Sim};
use crate::observer::Observer;
use bellwether_core::{NodeId, Process, Time};

impl<P: Process, O: Observer<P>> Sim<P, O> {
    /// Lets the next event happen and nothing else, whatever the goal and the violations; says
    /// whether there was one.
    pub fn advance(&mut self) -> bool {
        let Some((at, event)) = self.world.queue.pop() else { return false };
        self.world.now = Time::from_micros(at);
        self.handle(event);
        self.look_at_whole();
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

    /// The message of an event that is still to come.
    pub(super) fn letter<'a>(
        &self,
        event: &'a Event<P>,
    ) -> Option<(u64, NodeId, NodeId, &'a P::Msg)> {
        match event {
            Event::Deliver { to, from, id, msg } => {
                Some((*id, *from, self.group.ring()[*to as usize], msg))
            }
            Event::Late(event) => self.letter(event),
            Event::Timer { .. } | Event::Act(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::Sim;
    use crate::fault::Action;
    use crate::network::{Fate, Latency, Network};
    use crate::observer::Silent;
    use bellwether_algorithms::definition::{Algorithm, Settings};
    use bellwether_algorithms::election::{Bully, Watched};
    use bellwether_core::{Group, NodeId, Time};
    use std::time::Duration;

    /// P1 asks P2 and P3; the message to P2 arrives twice, the second time after an hour.
    #[test]
    fn what_is_on_its_way_and_armed_is_seen_between_events() {
        let [p1, p2, p3] = [1, 2, 3].map(NodeId::new);
        let group = Group::new(vec![p1, p2, p3]).unwrap();
        let mut network = Network::new(Latency::Fixed(Duration::from_millis(10)));
        network.fates.insert((p1, p2, 0), Fate::Twice(1, 3_600_000_000));
        let bully = Watched::<Bully>::definition();
        let config = bully.config(&Settings::new(Duration::from_millis(100)), &group);
        let mut sim = Sim::<Watched<Bully>, _>::new(group, config, &network, 0, vec![], Silent);
        let ways = |sim: &Sim<Watched<Bully>, Silent>| -> Vec<_> {
            let ways = sim.on_the_way();
            ways.into_iter().map(|(id, from, to, _)| (id, from, to)).collect()
        };
        assert!(ways(&sim).is_empty() && sim.armed(p1).is_empty());
        sim.act(Action::Input(p1, bully.input("start").unwrap()));
        let to_p3 = (1, p1, p3);
        assert_eq!(ways(&sim), [(0, p1, p2), (0, p1, p2), to_p3]);
        assert_eq!(sim.armed(p1).len(), 1);
        assert!(sim.armed(p2).is_empty());
        assert!(sim.advance());
        assert_eq!(sim.now(), Time::from_micros(1));
        assert_eq!(ways(&sim)[..2], [(0, p1, p2), to_p3]);
        assert_eq!(sim.armed(p2).len(), 1, "it asks P3 in its turn");
        while sim.advance() {}
        assert!(sim.now() > Time::from_micros(3_600_000_000), "the second has arrived, too");
        assert!(ways(&sim).is_empty());
    }
}
