//! What the tests of the family share: a crowd of processes of one algorithm, whose messages arrive
//! in any order that their channels allow, at random.

use super::{MessageId, Output};
use bellwether_core::{Channels, Context, Effect, Group, NodeId, Process, step};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(super) fn id(number: u32) -> NodeId {
    NodeId::new(number)
}

/// The message with this count of this process, in its first life.
pub(super) fn message(sender: u32, count: u64) -> MessageId {
    MessageId { sender: id(sender), life: 1, count }
}

/// Some processes, what is on the way between them, and what they have said.
#[derive(Clone, Debug)]
pub(super) struct Crowd<P: Process<Output = Output, Config: Clone>> {
    group: Group,
    config: P::Config,
    broadcast: P::Input,
    pub(super) processes: Vec<P>,
    /// How many messages each still wants to broadcast.
    wants: Vec<u32>,
    /// What is on the way, in the order of sending, by sender and receiver.
    pub(super) channels: BTreeMap<(usize, usize), VecDeque<P::Msg>>,
    order: Channels,
    total: bool,
    /// What each has delivered, in this order.
    pub(super) delivered: Vec<Vec<MessageId>>,
    /// What each has seen: broadcast or delivered.
    seen: Vec<BTreeSet<MessageId>>,
    /// What the sender of each message had seen before.
    causes: BTreeMap<MessageId, BTreeSet<MessageId>>,
    /// How many messages were sent.
    pub(super) sent: u64,
    /// How often a message was held back.
    pub(super) held: u64,
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Broadcast(usize),
    /// From, to, and which of the messages on the way.
    Deliver(usize, usize, usize),
}

impl<P: Process<Output = Output, Config: Clone>> Crowd<P> {
    /// Processes 1 to n, each of which wants to broadcast this many messages.
    pub(super) fn new(wants: &[u32], config: P::Config, broadcast: P::Input, total: bool) -> Self {
        let n = wants.len();
        let mut crowd = Crowd {
            group: Group::numbered(n as u32).unwrap(),
            config,
            broadcast,
            processes: vec![P::default(); n],
            wants: wants.to_vec(),
            channels: BTreeMap::new(),
            order: P::ASSUMES.channels,
            total,
            delivered: vec![Vec::new(); n],
            seen: vec![BTreeSet::new(); n],
            causes: BTreeMap::new(),
            sent: 0,
            held: 0,
        };
        for place in 0..n {
            crowd.call(place, |process, cx| process.on_start(None, cx)).unwrap();
        }
        crowd
    }

    fn call(
        &mut self,
        place: usize,
        handler: impl FnOnce(&mut P, &mut Context<'_, P>),
    ) -> Result<(), String> {
        let process = &mut self.processes[place];
        let effects = step(&self.group, place, &self.config, |cx| handler(process, cx));
        for effect in effects {
            match effect {
                Effect::Send(to, msg) => {
                    let to = self.group.place(to).ok_or("a message to a stranger")?;
                    self.sent += 1;
                    self.channels.entry((place, to)).or_default().push_back(msg);
                }
                Effect::Emit(output) => self.hear(place, output)?,
                Effect::SetTimer(..) | Effect::CancelTimer(_) => {}
            }
        }
        Ok(())
    }

    fn hear(&mut self, place: usize, output: Output) -> Result<(), String> {
        match output {
            Output::Broadcast { id, .. } => {
                self.causes.insert(id, self.seen[place].clone());
                self.seen[place].insert(id);
            }
            Output::Held { .. } => self.held += 1,
            Output::Delivered { id, .. } => self.deliver(place, id)?,
            Output::Election(_) => {}
            other => return Err(format!("place {place} {other}")),
        }
        Ok(())
    }

    fn deliver(&mut self, place: usize, id: MessageId) -> Result<(), String> {
        let before = &self.delivered[place];
        if before.contains(&id) {
            return Err(format!("place {place} delivers {id} twice"));
        }
        let causes = self.causes.get(&id).ok_or(format!("{id} was never broadcast"))?;
        if let Some(cause) = causes.iter().find(|cause| !before.contains(cause)) {
            return Err(format!("place {place} delivers {id} before its cause {cause}"));
        }
        let position = before.len();
        let at = |other: &Vec<MessageId>| other.get(position).is_some_and(|there| *there != id);
        if self.total && self.delivered.iter().any(at) {
            return Err(format!("place {place} delivers {id} in another order"));
        }
        self.seen[place].insert(id);
        self.delivered[place].push(id);
        Ok(())
    }

    pub(super) fn moves(&self) -> Vec<Move> {
        let wanting = (0..self.wants.len()).filter(|place| self.wants[*place] > 0);
        let mut moves: Vec<Move> = wanting.map(Move::Broadcast).collect();
        for ((from, to), channel) in &self.channels {
            let open = if self.order == Channels::Any { channel.len() } else { 1 };
            moves.extend((0..open.min(channel.len())).map(|i| Move::Deliver(*from, *to, i)));
        }
        moves
    }

    pub(super) fn make(&mut self, next: Move) -> Result<(), String> {
        match next {
            Move::Broadcast(place) => {
                self.wants[place] = self.wants[place].saturating_sub(1);
                let input = self.broadcast.clone();
                self.call(place, |process, cx| process.on_input(input, cx))
            }
            Move::Deliver(from, to, index) => {
                let channel = self.channels.get_mut(&(from, to)).ok_or("no such channel")?;
                let msg = channel.remove(index).ok_or("no such message")?;
                if channel.is_empty() {
                    self.channels.remove(&(from, to));
                }
                let sender = self.group.ring()[from];
                self.call(to, |process, cx| process.on_message(sender, msg, cx))
            }
        }
    }

    /// Everybody has delivered everything.
    pub(super) fn is_done(&self) -> bool {
        self.delivered.iter().all(|delivered| delivered.len() == self.causes.len())
    }

    /// Moves at random until nothing can happen any more.
    pub(super) fn walk(&mut self, seed: u64) -> Result<(), String> {
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        loop {
            let moves = self.moves();
            if moves.is_empty() {
                return if self.is_done() { Ok(()) } else { Err(format!("lost: {self:?}")) };
            }
            // xorshift: good enough to choose among moves.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            self.make(moves[(random % moves.len() as u64) as usize])?;
        }
    }
}
