//! The world: processes, messages on their way, what may still go wrong; and what a step does.
//!
//! This file is the meaning of everything that the checker says. It is written once and played
//! twice: with the processes themselves ([`Plain`](crate::Plain)), where it is easy to look at, and
//! with numbers that stand for them ([`Tables`](crate::tables::Tables)), where it is fast. The two
//! differ only in how they do the few things that [`Players`] lists.

use crate::model::{Channels, Faults, Model, Ticks, Timing};
use crate::parts::{Arrival, Rest};
use bellwether_core::Process;
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A state of the whole.
pub struct World<L: Players + ?Sized> {
    /// The processes, by place.
    pub slots: Vec<L::Slot>,
    /// The messages on their way to each.
    pub inboxes: Vec<L::Inbox>,
    /// What each knows of messages on their way; empty unless channels are causal.
    pub pasts: Vec<L::Past>,
    /// What is left of the budget, and the time.
    pub rest: L::Rest,
    /// What is remembered of the past, because something is claimed about it.
    pub witness: L::Witness,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// A message arrives; at a process that is down it comes to nothing.
    Deliver {
        /// Where.
        to: u8,
        /// Which one of its inbox.
        at: u8,
    },
    /// A timer fires.
    Fire {
        /// Whose.
        place: u8,
        /// Which one of those that are set.
        at: u8,
    },
    /// The application asks for the next thing that it may ask for.
    Input {
        /// Whom.
        place: u8,
    },
    /// A process stops.
    Crash {
        /// Which.
        place: u8,
    },
    /// A stopped process starts again.
    Recover {
        /// Which.
        place: u8,
    },
    /// A message that could have arrived is lost.
    Lose {
        /// On its way to whom.
        to: u8,
        /// Which one of the inbox.
        at: u8,
    },
    /// A message that could arrive becomes two.
    Duplicate {
        /// On its way to whom.
        to: u8,
        /// Which one of the inbox.
        at: u8,
    },
    /// Time goes on: for all, or on one clock.
    Tick {
        /// Whose clock, where everybody has one.
        place: Option<u8>,
    },
}

impl Action {
    /// Whether it must happen some time, if it stays possible. Faults and inputs need not.
    pub fn is_due(self) -> bool {
        matches!(self, Action::Deliver { .. } | Action::Fire { .. } | Action::Tick { .. })
    }

    /// The process that it happens to, if it is one.
    pub(crate) fn place(self) -> Option<u8> {
        match self {
            Action::Deliver { to, .. } | Action::Lose { to, .. } | Action::Duplicate { to, .. } => {
                Some(to)
            }
            Action::Fire { place, .. }
            | Action::Input { place }
            | Action::Crash { place }
            | Action::Recover { place } => Some(place),
            Action::Tick { place } => place,
        }
    }
}

/// What is asked of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call<M> {
    /// To start for the first time, or after a crash.
    Start,
    /// To take the message from that place.
    Message(u8, M),
    /// To notice that its timer at this index fires.
    Timer(u8),
    /// To do the input with this number.
    Input(u8),
    /// To stop.
    Crash,
}

/// What comes of a call.
#[derive(Debug)]
pub struct Reaction<S, M, A> {
    /// The process afterwards.
    pub slot: S,
    /// What it sent, and to which place.
    pub sends: Arc<[(u8, M)]>,
    /// What the witness observes.
    pub observed: A,
}

/// The reaction of some players.
pub(crate) type Reacts<L> =
    Reaction<<L as Players>::Slot, <L as Players>::Msg, <L as Players>::Observation>;

/// A message that was taken out of an inbox.
#[derive(Clone, Copy, Debug)]
pub struct Taken<I, T, M> {
    /// The inbox without it.
    pub inbox: I,
    /// Who sent it.
    pub from: u8,
    /// What.
    pub msg: M,
    /// What its sender knew of.
    pub past: T,
}

/// How the parts of a world are represented, and what can be done with them.
pub trait Players {
    /// What they play.
    type Process: Process;
    /// A process and its timers.
    type Slot: Clone + Debug + Eq + Hash;
    /// The messages on their way to a process.
    type Inbox: Clone + Debug + Eq + Hash;
    /// What is known of messages on their way.
    type Past: Clone + Debug + Eq + Hash;
    /// A message.
    type Msg: Clone;
    /// What is left of the budget, and the time.
    type Rest: Clone + Debug + Eq + Hash;
    /// What is remembered.
    type Witness: Clone + Debug + Eq + Hash;
    /// What the witness observes of one step.
    type Observation: Clone;

    /// What they play.
    fn model(&self) -> &Model<Self::Process>;
    /// Whether the process runs.
    fn is_up(&mut self, slot: &Self::Slot) -> bool;
    /// The timers that may fire now: which, and whether they must before time goes on.
    fn timers(&mut self, slot: &Self::Slot, found: &mut Vec<Arrival>);
    /// The messages that may arrive now.
    fn arrivals(&mut self, inbox: &Self::Inbox, found: &mut Vec<Arrival>);
    /// Looks at the rest.
    fn rest(&mut self, rest: &Self::Rest) -> Arc<Rest>;
    /// Represents a rest.
    fn set_rest(&mut self, rest: Rest) -> Self::Rest;
    /// Calls a process, whose clock shows this many ticks.
    fn call(&mut self, slot: &Self::Slot, call: Call<Self::Msg>, clock: Ticks) -> Reacts<Self>;
    /// Tells the witness what came of a call.
    fn hear(
        &mut self,
        witness: &Self::Witness,
        observed: &Self::Observation,
        now: Ticks,
    ) -> Self::Witness;
    /// The process a tick later.
    fn elapse_slot(&mut self, slot: &Self::Slot) -> Self::Slot;
    /// The inbox a tick later.
    fn elapse_inbox(&mut self, inbox: &Self::Inbox) -> Self::Inbox;
    /// The inbox after a tick of the clock at `place`, where times [grow old](crate::Aging).
    fn age(&mut self, inbox: &Self::Inbox, place: u8) -> Self::Inbox;
    /// The inbox without what is [spent](crate::Model::spent).
    fn purge(&mut self, inbox: &Self::Inbox, slot: &Self::Slot) -> Self::Inbox;
    /// Takes a message out, unless it stays.
    fn take(&mut self, inbox: &Self::Inbox, at: u8) -> Taken<Self::Inbox, Self::Past, Self::Msg>;
    /// Puts a message in.
    fn post(
        &mut self,
        inbox: &Self::Inbox,
        from: u8,
        msg: Self::Msg,
        past: Option<&Self::Past>,
    ) -> Self::Inbox;
    /// Puts a message in once more.
    fn double(&mut self, inbox: &Self::Inbox, at: u8) -> Self::Inbox;
    /// Whether nothing is on its way there.
    fn is_empty(&mut self, inbox: &Self::Inbox) -> bool;
    /// The same for what is known: changes how many messages of a link there are.
    fn past(&mut self, past: &Self::Past, change: Change) -> Self::Past;
    /// The same for all messages of an inbox.
    fn pasts(&mut self, inbox: &Self::Inbox, change: Change) -> Self::Inbox;
    /// What two know together.
    fn merge(&mut self, mine: &Self::Past, theirs: &Self::Past) -> Self::Past;
}

/// How the number of known messages of a link changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// One more was sent by the one who knows.
    Sent(u16),
    /// The first one is on its way no more.
    Gone(u16),
    /// The first one has become two.
    Doubled(u16),
}

impl<L: Players> World<L> {
    /// What may happen next, in an order that does not depend on the representation.
    pub fn actions(&self, players: &mut L, actions: &mut Vec<Action>) {
        let horizon = players.model().horizon;
        self.actions_until(horizon, players, actions);
    }

    /// What might happen next if clocks stopped at another time, or never.
    pub(crate) fn actions_until(
        &self,
        horizon: Option<Ticks>,
        players: &mut L,
        actions: &mut Vec<Action>,
    ) {
        actions.clear();
        let rest = players.rest(&self.rest);
        let Faults { crashes, recoveries, losses, duplicates } = rest.left;
        let mut found = Vec::new();
        let mut urgent = false;
        let mut faults = Vec::new();
        for (place, slot) in self.slots.iter().enumerate() {
            let up = players.is_up(slot);
            let place = place as u8;
            found.clear();
            players.arrivals(&self.inboxes[usize::from(place)], &mut found);
            for &Arrival { at, urgent: must } in &found {
                urgent |= must;
                actions.push(Action::Deliver { to: place, at });
                if up && losses > 0 {
                    faults.push(Action::Lose { to: place, at });
                }
                if up && duplicates > 0 {
                    faults.push(Action::Duplicate { to: place, at });
                }
            }
            if !up {
                if recoveries > 0 {
                    faults.push(Action::Recover { place });
                }
                continue;
            }
            found.clear();
            players.timers(slot, &mut found);
            for &Arrival { at, urgent: must } in &found {
                urgent |= must;
                actions.push(Action::Fire { place, at });
            }
            let inputs = players.model().inputs.get(usize::from(place)).map_or(0, Vec::len);
            if usize::from(rest.asked[usize::from(place)]) < inputs {
                actions.push(Action::Input { place });
            }
            if crashes > 0 {
                faults.push(Action::Crash { place });
            }
        }
        actions.append(&mut faults);
        ticks(players.model().timing, horizon, &rest, urgent, actions);
    }

    /// Does one of the [`actions`](World::actions).
    pub fn step(&mut self, players: &mut L, action: Action) {
        match action {
            Action::Deliver { to, at } => {
                let (from, msg, past) = self.take(players, to, at);
                if players.is_up(&self.slots[usize::from(to)]) {
                    if let Some(mine) = self.pasts.get_mut(usize::from(to)) {
                        *mine = players.merge(mine, &past);
                    }
                    self.react(players, to, Call::Message(from, msg));
                }
            }
            Action::Fire { place, at } => self.react(players, place, Call::Timer(at)),
            Action::Input { place } => {
                let mut rest = Rest::clone(&players.rest(&self.rest));
                let asked = &mut rest.asked[usize::from(place)];
                let number = *asked;
                *asked += 1;
                self.rest = players.set_rest(rest);
                self.react(players, place, Call::Input(number));
            }
            Action::Crash { place } => {
                self.spend(players, |left| &mut left.crashes);
                self.react(players, place, Call::Crash);
                self.forget_the_gone(players);
            }
            Action::Recover { place } => {
                self.spend(players, |left| &mut left.recoveries);
                self.react(players, place, Call::Start);
                self.forget_the_gone(players);
            }
            Action::Lose { to, at } => {
                self.spend(players, |left| &mut left.losses);
                self.take(players, to, at);
            }
            Action::Duplicate { to, at } => {
                self.spend(players, |left| &mut left.duplicates);
                let inbox = &self.inboxes[usize::from(to)];
                let from = if self.pasts.is_empty() { 0 } else { players.take(inbox, at).from };
                self.inboxes[usize::from(to)] = players.double(inbox, at);
                self.change(players, Change::Doubled(self.link(from, to)));
            }
            Action::Tick { place } => self.tick(players, place),
        }
    }

    /// Calls a process and lets happen what it asks for.
    pub(crate) fn react(&mut self, players: &mut L, place: u8, call: Call<L::Msg>) {
        let rest = players.rest(&self.rest);
        let clock = clock(&rest, usize::from(place));
        let Reaction { slot, sends, observed } =
            players.call(&self.slots[usize::from(place)], call, clock);
        self.slots[usize::from(place)] = slot;
        for (to, msg) in sends.iter() {
            let to = *to;
            let there = usize::from(to);
            if !players.model().reaches(usize::from(place), there)
                || is_gone(players, &self.slots[there], &rest)
            {
                continue;
            }
            let past = self.pasts.get(usize::from(place));
            self.inboxes[there] = players.post(&self.inboxes[there], place, msg.clone(), past);
            let link = self.link(place, to);
            if let Some(mine) = self.pasts.get_mut(usize::from(place)) {
                *mine = players.past(mine, Change::Sent(link));
            }
        }
        self.purge(players);
        let now = if rest.clocks.len() == 1 { rest.clocks[0] } else { 0 };
        self.witness = players.hear(&self.witness, &observed, now);
    }

    /// Drops what makes no difference any more.
    fn purge(&mut self, players: &mut L) {
        if players.model().spent.is_some() {
            for (inbox, slot) in self.inboxes.iter_mut().zip(&self.slots) {
                *inbox = players.purge(inbox, slot);
            }
        }
    }

    fn take(&mut self, players: &mut L, to: u8, at: u8) -> (u8, L::Msg, L::Past) {
        let Taken { inbox, from, msg, past } = players.take(&self.inboxes[usize::from(to)], at);
        self.inboxes[usize::from(to)] = inbox;
        self.change(players, Change::Gone(self.link(from, to)));
        (from, msg, past)
    }

    /// Everybody's knowledge of a link changes.
    fn change(&mut self, players: &mut L, change: Change) {
        if self.pasts.is_empty() {
            return;
        }
        for past in &mut self.pasts {
            *past = players.past(past, change);
        }
        for inbox in &mut self.inboxes {
            *inbox = players.pasts(inbox, change);
        }
    }

    fn link(&self, from: u8, to: u8) -> u16 {
        u16::from(from) * self.slots.len() as u16 + u16::from(to)
    }

    fn spend(&mut self, players: &mut L, of: impl FnOnce(&mut Faults) -> &mut u8) {
        let mut rest = Rest::clone(&players.rest(&self.rest));
        let left = of(&mut rest.left);
        *left = left.saturating_sub(1);
        self.rest = players.set_rest(rest);
    }

    /// What is on its way to those that never come back comes to nothing, whenever it arrives: it
    /// is dropped at once. Invariants about messages in flight do not see it any more.
    fn forget_the_gone(&mut self, players: &mut L) {
        let rest = players.rest(&self.rest);
        if players.model().channels == Channels::Unreliable {
            return;
        }
        for place in 0..self.slots.len() {
            while is_gone(players, &self.slots[place], &rest)
                && !players.is_empty(&self.inboxes[place])
            {
                self.take(players, place as u8, 0);
            }
        }
    }

    fn tick(&mut self, players: &mut L, place: Option<u8>) {
        match place {
            Some(place) => {
                let slot = &mut self.slots[usize::from(place)];
                *slot = players.elapse_slot(slot);
                if players.model().aging.is_some() {
                    for inbox in &mut self.inboxes {
                        *inbox = players.age(inbox, place);
                    }
                    self.purge(players);
                }
            }
            None => {
                for slot in &mut self.slots {
                    *slot = players.elapse_slot(slot);
                }
                for inbox in &mut self.inboxes {
                    *inbox = players.elapse_inbox(inbox);
                }
            }
        }
        let mut rest = Rest::clone(&players.rest(&self.rest));
        if let Some(clock) = rest.clocks.get_mut(usize::from(place.unwrap_or(0))) {
            *clock += 1;
        }
        if !players.model().reads_clock
            && let Some(last) = rest.clocks.iter().copied().min()
        {
            for clock in &mut rest.clocks {
                *clock -= last;
            }
        }
        self.rest = players.set_rest(rest);
    }
}

/// Whether a process is down for good.
fn is_gone<L: Players>(players: &mut L, slot: &L::Slot, rest: &Rest) -> bool {
    rest.left.recoveries == 0 && !players.is_up(slot)
}

/// What the clock of the process at `place` shows.
pub(crate) fn clock(rest: &Rest, place: usize) -> Ticks {
    match rest.clocks[..] {
        [] => 0,
        [one] => one,
        _ => rest.clocks[place],
    }
}

/// How time may go on.
fn ticks(
    timing: Timing,
    horizon: Option<Ticks>,
    rest: &Rest,
    urgent: bool,
    actions: &mut Vec<Action>,
) {
    let within = |clock: Ticks| horizon.is_none_or(|horizon| clock < horizon);
    match timing {
        Timing::Asynchronous => {}
        Timing::Bounded { .. } => {
            if !urgent && within(clock(rest, 0)) {
                actions.push(Action::Tick { place: None });
            }
        }
        Timing::Drifting { apart, .. } => {
            let last = rest.clocks.iter().copied().min().unwrap_or(0);
            for (place, &clock) in rest.clocks.iter().enumerate() {
                if clock - last < apart && within(clock) {
                    actions.push(Action::Tick { place: Some(place as u8) });
                }
            }
        }
    }
}

/// What clocks there are to begin with.
pub(crate) fn first_clocks<P: Process>(model: &Model<P>) -> Vec<Ticks> {
    match model.timing {
        Timing::Asynchronous => Vec::new(),
        Timing::Bounded { .. } if !model.reads_clock => Vec::new(),
        Timing::Bounded { .. } => vec![0],
        Timing::Drifting { .. } => vec![0; model.group.len()],
    }
}

/// Whether messages and processes remember what they know of others.
pub(crate) fn is_causal<P: Process>(model: &Model<P>) -> bool {
    model.channels == Channels::Causal
}

// Derived, these would ask the same of the players themselves.

impl<L: Players> Clone for World<L> {
    fn clone(&self) -> Self {
        World {
            slots: self.slots.clone(),
            inboxes: self.inboxes.clone(),
            pasts: self.pasts.clone(),
            rest: self.rest.clone(),
            witness: self.witness.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.slots.clone_from(&other.slots);
        self.inboxes.clone_from(&other.inboxes);
        self.pasts.clone_from(&other.pasts);
        self.rest.clone_from(&other.rest);
        self.witness.clone_from(&other.witness);
    }
}

impl<L: Players> PartialEq for World<L> {
    fn eq(&self, other: &Self) -> bool {
        self.slots == other.slots
            && self.inboxes == other.inboxes
            && self.pasts == other.pasts
            && self.rest == other.rest
            && self.witness == other.witness
    }
}

impl<L: Players> Eq for World<L> {}

impl<L: Players> Hash for World<L> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.slots, &self.inboxes, &self.pasts, &self.rest, &self.witness).hash(hasher);
    }
}

impl<L: Players> Debug for World<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("slots", &self.slots)
            .field("inboxes", &self.inboxes)
            .field("pasts", &self.pasts)
            .field("rest", &self.rest)
            .field("witness", &self.witness)
            .finish()
    }
}
