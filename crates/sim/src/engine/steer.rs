//! Choosing what happens next: a message that arrives now, is lost or repeated, a timer that fires.

use super::{Event, Sim};
use crate::fault::{FaultKind, Steer};
use crate::network::Fate;
use crate::observer::{Observer, Seen, Why};
use bellwether_core::{Message, NodeId, Process};

/// A message by its link and its number on that link.
pub(crate) type Name = (NodeId, NodeId, u32);

/// A message on its way, as it is in the queue.
struct Letter<M> {
    id: u64,
    to: usize,
    from: NodeId,
    msg: M,
}

impl<P: Process, O: Observer<P>> Sim<P, O> {
    /// From now on messages can be chosen by name. These have been sent already, in this order.
    pub(crate) fn name_messages(&mut self, sent: Vec<Name>) {
        // What became of those is not known, and not asked.
        let sent = sent.into_iter().map(|name| (name, Fate::Arrives(0)));
        self.world.fates.get_or_insert_with(|| sent.collect());
    }

    /// What could be chosen to arrive: the messages that are on their way, by name, in the order of
    /// sending, and whether each may arrive before all others of its link. Needs
    /// [names](Sim::name_messages).
    pub(crate) fn flying(&self) -> Vec<(Name, P::Msg, bool)> {
        let mut letters: Vec<Letter<P::Msg>> = self.letters().collect();
        letters.sort_unstable_by_key(|letter| letter.id);
        letters.dedup_by_key(|letter| letter.id);
        let named = letters.iter().filter_map(|letter| {
            let name = self.world.fates.as_ref()?.get(usize::try_from(letter.id).ok()?)?.0;
            Some((name, letter.msg.clone(), self.may_arrive(letter)))
        });
        named.collect()
    }

    /// The timers that are set, by process and number.
    pub(crate) fn set_timers(&self) -> Vec<(NodeId, u32, P::Timer)> {
        let places = self.group.ring().iter().zip(&self.nodes);
        let set = places.flat_map(|(id, node)| {
            node.timers.all().iter().map(|(timer, number)| (*id, *number, timer.clone()))
        });
        let mut set: Vec<_> = set.collect();
        set.sort_unstable_by_key(|(id, number, _)| (*id, *number));
        set
    }

    /// What was chosen and could not happen, since the last question.
    pub(crate) fn take_unsteered(&mut self) -> Vec<Steer> {
        std::mem::take(&mut self.world.unsteered)
    }

    pub(super) fn steer(&mut self, steer: Steer) {
        let done = match steer {
            Steer::Fire(node, number) => self.fire_now(node, number),
            Steer::Deliver(from, to, number)
            | Steer::Lose(from, to, number)
            | Steer::Repeat(from, to, number) => match self.find((from, to, number)) {
                Some(letter) => self.steer_letter(steer, letter),
                None => None,
            },
        };
        if done.is_none() {
            self.world.unsteered.push(steer);
        }
    }

    fn steer_letter(&mut self, steer: Steer, letter: Letter<P::Msg>) -> Option<()> {
        let may_arrive = self.may_arrive(&letter);
        let Letter { id, to, from, msg } = letter;
        match steer {
            Steer::Lose(..) => {
                self.odd(to).gone.push(id);
                self.land(&msg);
                self.world.faults.bite(FaultKind::Loss);
                self.see(to, Seen::Drop { id, from, msg: &msg, why: Why::Lost });
            }
            Steer::Repeat(..) if may_arrive => {
                self.world.faults.bite(FaultKind::Duplicate);
                let role = msg.kind().role;
                self.world.push(self.world.now.as_micros(), to as u32, from, id, msg, role);
            }
            Steer::Deliver(..) if may_arrive => {
                let event = Event::Deliver { to: to as u32, from, id, msg };
                // The other event of this message is still to come, and will be nothing.
                if self.nodes[to].odd && self.holds_up(to) {
                    self.hold_up(to, event);
                } else {
                    self.handle(event);
                }
                self.odd(to).gone.push(id);
            }
            Steer::Deliver(..) | Steer::Repeat(..) | Steer::Fire(..) => return None,
        }
        Some(())
    }

    fn fire_now(&mut self, node: NodeId, number: u32) -> Option<()> {
        let place = self.group.place(node)?;
        let timer = self.nodes[place].timers.numbered(number)?;
        let event = Event::Timer { place: place as u32, number, timer };
        self.handle(event);
        Some(())
    }

    /// The messages in the queue, but for those that come to nothing.
    fn letters(&self) -> impl Iterator<Item = Letter<P::Msg>> {
        self.world.queue.iter().filter_map(|event| match event {
            Event::Deliver { to, from, id, msg } => {
                let to = *to as usize;
                let gone = self.oddities.get(&to).is_some_and(|oddity| oddity.gone.contains(id));
                (!gone).then(|| Letter { id: *id, to, from: *from, msg: msg.clone() })
            }
            Event::Late(_) | Event::Timer { .. } | Event::Act(_) => None,
        })
    }

    fn find(&self, name: Name) -> Option<Letter<P::Msg>> {
        let id = self.world.fates.as_ref()?.iter().position(|(other, _)| *other == name)? as u64;
        self.letters().find(|letter| letter.id == id)
    }

    /// Whether nothing that was sent before it on its link must arrive before it.
    fn may_arrive(&self, letter: &Letter<P::Msg>) -> bool {
        let before = |other: Letter<P::Msg>| {
            (other.from, other.to) == (letter.from, letter.to) && other.id < letter.id
        };
        self.world.reorder || !self.letters().any(before)
    }

    /// Whether the event of a message is one that comes to nothing; the next one of it is not.
    #[cold]
    pub(super) fn is_gone(&mut self, place: usize, id: u64) -> bool {
        let Some(oddity) = self.oddities.get_mut(&place) else { return false };
        let found = oddity.gone.iter().position(|gone| *gone == id);
        found.map(|index| oddity.gone.swap_remove(index)).is_some()
    }
}
