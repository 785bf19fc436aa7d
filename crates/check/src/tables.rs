//! A world of numbers: every part is kept once and known by its number, and what was computed once
//! is remembered.
//!
//! A process's step depends on nothing but its own state and what it is called with. A small
//! cluster has millions of states, but each of its processes only hundreds or thousands; so nearly
//! every step has been taken before, and is a look at a table. The handlers themselves run only for
//! what is new. A state of the world is then a handful of numbers.
//!
//! Threads share the lists of parts and nothing else; each remembers what it has computed.

use crate::model::{Model, Ticks};
use crate::parts::{Arrival, Flight, Inbox, Past, Rest, Slot, key};
use crate::plain::Plain;
use crate::sleep::Mark;
use crate::witness::{Observation, Witness};
use crate::world::{Call, Change, Players, Reaction, Reacts, Taken, World};
use bellwether_core::{NodeId, Process, Shape, Time};
use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of a part.
pub(crate) type Id = u32;

type Memo<K, V> = HashMap<K, V, FxBuildHasher>;

/// All parts of one kind that were ever seen.
#[derive(Debug)]
struct Parts<V> {
    numbers: HashTable<Id>,
    values: Vec<Known<V>>,
}

#[derive(Debug)]
struct Known<V> {
    value: Arc<V>,
    /// The same in every run, unlike its number.
    key: u64,
}

impl<V> Clone for Known<V> {
    fn clone(&self) -> Self {
        Known { value: Arc::clone(&self.value), key: self.key }
    }
}

impl<V> Default for Parts<V> {
    fn default() -> Self {
        Parts { numbers: HashTable::new(), values: Vec::new() }
    }
}

impl<V: Hash + Eq> Parts<V> {
    fn number(&mut self, value: &Arc<V>) -> Id {
        let key = key(&**value);
        let values = &mut self.values;
        let same =
            |id: &Id| values[*id as usize].key == key && values[*id as usize].value == *value;
        if let Some(id) = self.numbers.find(key, same) {
            return *id;
        }
        let id = values.len() as Id;
        values.push(Known { value: Arc::clone(value), key });
        self.numbers.insert_unique(key, id, |id| values[*id as usize].key);
        id
    }
}

/// The parts of one kind, shared between threads.
#[derive(Debug)]
struct Shared<V>(Mutex<Parts<V>>);

impl<V> Default for Shared<V> {
    fn default() -> Self {
        Shared(Mutex::default())
    }
}

impl<V> Shared<V> {
    fn lock(&self) -> MutexGuard<'_, Parts<V>> {
        // No thread leaves the list half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn len(&self) -> usize {
        self.lock().values.len()
    }
}

/// All parts of all worlds.
#[derive(Debug)]
pub struct Library<P: Process> {
    slots: Shared<Slot<P>>,
    inboxes: Shared<Inbox<P::Msg>>,
    pasts: Shared<Past>,
    msgs: Shared<P::Msg>,
    rests: Shared<Rest>,
    witnesses: Shared<Witness<P>>,
}

impl<P: Process> Default for Library<P> {
    fn default() -> Self {
        Library {
            slots: Shared::default(),
            inboxes: Shared::default(),
            pasts: Shared::default(),
            msgs: Shared::default(),
            rests: Shared::default(),
            witnesses: Shared::default(),
        }
    }
}

impl<P: Process> Library<P> {
    /// How many different states a single process was seen in, all processes together.
    pub fn local_states(&self) -> usize {
        self.slots.len()
    }
}

/// One thread's view of the parts of one kind: a copy of the list as far as it is needed.
#[derive(Debug)]
struct Shelf<V, L> {
    known: Vec<Option<(Known<V>, L)>>,
    /// The keys once more, side by side: they are needed for every state.
    keys: Vec<u64>,
}

impl<V, L> Default for Shelf<V, L> {
    fn default() -> Self {
        Shelf { known: Vec::new(), keys: Vec::new() }
    }
}

impl<V: Hash + Eq, L> Shelf<V, L> {
    /// The key of the part of this number.
    fn key(&mut self, shared: &Shared<V>, id: Id) -> u64 {
        let index = id as usize;
        if self.keys.len() <= index {
            let all = shared.lock();
            let more = all.values[self.keys.len()..].iter().map(|known| known.key);
            self.keys.extend(more);
        }
        self.keys[index]
    }

    /// The part of this number, and what was found out about it.
    fn get(&mut self, shared: &Shared<V>, id: Id, look: impl FnOnce(&V) -> L) -> &(Known<V>, L) {
        let index = id as usize;
        if self.known.len() <= index {
            self.known.resize_with(index + 1, || None);
        }
        self.known[index].get_or_insert_with(|| {
            let known = shared.lock().values[index].clone();
            let looks = look(&known.value);
            (known, looks)
        })
    }
}

/// What there is to know about a process without looking at it again.
#[derive(Debug)]
pub(crate) struct Looks {
    up: bool,
    timers: Vec<Arrival>,
    /// By which each timer is known again.
    marks: Vec<u32>,
    /// What it says to each invariant that looks at states.
    pub(crate) claims: Vec<Claim>,
    /// Whether any claim matters.
    pub(crate) matters: bool,
}

/// What there is to know about an inbox; by its marks each message is known again.
#[derive(Debug)]
struct Mail {
    arrivals: Vec<Arrival>,
    marks: Vec<u32>,
}

/// What a process says to an invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nothing.
    None,
    /// That it is broken.
    Broken,
    /// That it holds this, which no other may.
    Holds(u64),
}

type Parcel = Taken<Id, Id, Id>;

/// One thread's players: numbers that stand for parts.
#[derive(Debug)]
pub struct Tables<'a, P: Process> {
    pub(crate) plain: Plain<'a, P>,
    library: &'a Library<P>,
    slots: Shelf<Slot<P>, Looks>,
    inboxes: Shelf<Inbox<P::Msg>, Mail>,
    pasts: Shelf<Past, ()>,
    msgs: Shelf<P::Msg, ()>,
    rests: Shelf<Rest, Arc<Rest>>,
    witnesses: Shelf<Witness<P>, ()>,
    reactions: Vec<(Reacts<Self>, Arc<Observation<P>>)>,
    memos: Memos,
}

/// What was computed before.
#[derive(Debug, Default)]
struct Memos {
    calls: Memo<(Id, Call<Id>, Ticks), u32>,
    heard: Memo<(Id, u32, Ticks), Id>,
    elapsed_slots: Memo<Id, Id>,
    elapsed_inboxes: Memo<Id, Id>,
    aged: Memo<(Id, u8), Id>,
    purged: Memo<(Id, Id), Id>,
    taken: Memo<(Id, u8), Parcel>,
    posted: Memo<(Id, u8, Id, Option<Id>), Id>,
    doubled: Memo<(Id, u8), Id>,
    changed: Memo<(Id, Change), Id>,
    changed_inboxes: Memo<(Id, Change), Id>,
    merged: Memo<(Id, Id), Id>,
    set: Memo<Rest, Id>,
}

/// A world of numbers.
pub(crate) type Numbers<'a, P> = World<Tables<'a, P>>;

impl<'a, P: Process> Tables<'a, P> {
    /// Players that know nothing yet.
    pub fn new(model: &'a Model<P>, library: &'a Library<P>) -> Self {
        Tables {
            plain: Plain { model },
            library,
            slots: Shelf::default(),
            inboxes: Shelf::default(),
            pasts: Shelf::default(),
            msgs: Shelf::default(),
            rests: Shelf::default(),
            witnesses: Shelf::default(),
            reactions: Vec::new(),
            memos: Memos::default(),
        }
    }

    /// The world after everybody has started.
    pub fn start(&mut self) -> Numbers<'a, P> {
        let world = self.plain.start();
        self.number(&world)
    }

    /// A world in numbers.
    pub fn number(&mut self, world: &World<Plain<'a, P>>) -> Numbers<'a, P> {
        let library = self.library;
        World {
            slots: world.slots.iter().map(|slot| library.slots.lock().number(slot)).collect(),
            inboxes: world
                .inboxes
                .iter()
                .map(|inbox| library.inboxes.lock().number(inbox))
                .collect(),
            pasts: world.pasts.iter().map(|past| library.pasts.lock().number(past)).collect(),
            rest: library.rests.lock().number(&world.rest),
            witness: library.witnesses.lock().number(&world.witness),
        }
    }

    /// The world that the numbers stand for.
    pub fn plain(&mut self, world: &Numbers<'a, P>) -> World<Plain<'a, P>> {
        World {
            slots: world.slots.iter().map(|id| self.slot(*id)).collect(),
            inboxes: world.inboxes.iter().map(|id| self.inbox(*id)).collect(),
            pasts: world.pasts.iter().map(|id| self.past_of(*id)).collect(),
            rest: self.rest_of(world.rest),
            witness: self.witness(world.witness),
        }
    }

    /// A number for a world that is the same in every run.
    pub(crate) fn key(&mut self, world: &Numbers<'a, P>) -> u64 {
        let mut key = 0u64;
        let mut mix =
            |part: u64| key = (key.rotate_left(5) ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let library = self.library;
        for id in &world.slots {
            mix(self.slots.key(&library.slots, *id));
        }
        for id in &world.inboxes {
            mix(self.inboxes.key(&library.inboxes, *id));
        }
        mix(self.rests.key(&library.rests, world.rest));
        mix(self.witnesses.key(&library.witnesses, world.witness));
        key ^ key >> 32
    }

    fn look(&mut self, id: Id) -> &(Known<Slot<P>>, Looks) {
        let model = self.plain.model;
        self.slots.get(&self.library.slots, id, |slot| Looks::of(slot, model))
    }

    /// What there is to know about a process.
    pub(crate) fn looks(&mut self, id: Id) -> &Looks {
        &self.look(id).1
    }

    /// A process and its timers.
    pub(crate) fn slot(&mut self, id: Id) -> Arc<Slot<P>> {
        Arc::clone(&self.look(id).0.value)
    }

    fn inbox_looks(&mut self, id: Id) -> &(Known<Inbox<P::Msg>>, Mail) {
        let model = self.plain.model;
        self.inboxes.get(&self.library.inboxes, id, |inbox| {
            let mut arrivals = Vec::new();
            inbox.arrivals(model.group.len(), model.channels, &mut arrivals);
            let mark = |flight: &Flight<P::Msg>| key(&(flight.from, &flight.msg)) as u32;
            Mail { arrivals, marks: inbox.flights.iter().map(mark).collect() }
        })
    }

    /// What the arrival of a message is to those who want to know it again.
    pub(crate) fn message_mark(&mut self, inbox: Id, at: u8) -> Mark {
        let marks = &self.inbox_looks(inbox).1.marks;
        Mark::Some(marks.get(usize::from(at)).copied().unwrap_or(0))
    }

    /// The same for a timer.
    pub(crate) fn timer_mark(&mut self, slot: Id, at: u8) -> Mark {
        let marks = &self.looks(slot).marks;
        Mark::Some(marks.get(usize::from(at)).copied().unwrap_or(0))
    }

    pub(crate) fn inbox(&mut self, id: Id) -> Arc<Inbox<P::Msg>> {
        Arc::clone(&self.inbox_looks(id).0.value)
    }

    fn past_of(&mut self, id: Id) -> Arc<Past> {
        Arc::clone(&self.pasts.get(&self.library.pasts, id, |_| ()).0.value)
    }

    /// Every thread has its own copy: to count its users in one place would slow all of them down.
    fn rest_of(&mut self, id: Id) -> Arc<Rest> {
        Arc::clone(&self.rests.get(&self.library.rests, id, |rest| Arc::new(rest.clone())).1)
    }

    pub(crate) fn witness(&mut self, id: Id) -> Arc<Witness<P>> {
        Arc::clone(&self.witnesses.get(&self.library.witnesses, id, |_| ()).0.value)
    }

    fn msg(&mut self, id: Id) -> P::Msg {
        P::Msg::clone(&self.msgs.get(&self.library.msgs, id, |_| ()).0.value)
    }

    fn call_anew(&mut self, slot: Id, call: Call<Id>, clock: Ticks) -> u32 {
        let before = self.slot(slot);
        let meant = match call {
            Call::Start => Call::Start,
            Call::Message(from, msg) => Call::Message(from, self.msg(msg)),
            Call::Timer(at) => Call::Timer(at),
            Call::Input(number) => Call::Input(number),
            Call::Crash => Call::Crash,
        };
        let Reaction { slot, sends, observed } = self.plain.call(&before, meant, clock);
        let slot = self.library.slots.lock().number(&slot);
        let number = |msg: &P::Msg| self.library.msgs.lock().number(&Arc::new(msg.clone()));
        let sends = sends.iter().map(|(to, msg)| (*to, number(msg))).collect();
        let index = self.reactions.len() as u32;
        self.reactions.push((Reaction { slot, sends, observed: index }, observed));
        index
    }

    /// Whether what was said in a reaction is remembered by anybody.
    pub(crate) fn is_heard(&self, observed: u32) -> bool {
        !self.reactions[observed as usize].1.is_nothing(self.plain.model)
    }
}

impl Looks {
    /// Whether any timer is set.
    pub(crate) fn has_timers(&self) -> bool {
        !self.marks.is_empty()
    }

    fn of<P: Process>(slot: &Slot<P>, model: &Model<P>) -> Looks {
        let mut timers = Vec::new();
        for (at, armed) in slot.timers.iter().enumerate().filter(|(_, armed)| armed.least == 0) {
            timers.push(Arrival { at: at as u8, urgent: armed.most == 0 });
        }
        let who = model.group.ring()[usize::from(slot.place)];
        let claims = match slot.process() {
            // Readings differ from state to state; see `judge`.
            Some(process) if !model.reads_clock => {
                claims(model, who, process, model.reading(usize::from(slot.place), 0))
            }
            _ => Vec::new(),
        };
        let matters = claims.iter().any(|claim| *claim != Claim::None);
        let marks = slot.timers.iter().map(|armed| key(&armed.timer) as u32).collect();
        Looks { up: slot.process().is_some(), timers, marks, claims, matters }
    }
}

/// What a process whose clock shows `now` says to each invariant.
pub(crate) fn claims<P: Process>(
    model: &Model<P>,
    who: NodeId,
    process: &P,
    now: Time,
) -> Vec<Claim> {
    let hold = |held: Option<u64>| held.map_or(Claim::None, Claim::Holds);
    let claim = |shape: &Shape<P>| match shape {
        Shape::Each(holds) if !holds(who, process) => Claim::Broken,
        Shape::AtMostOne(held) => hold(held(who, process)),
        Shape::AtMostOneNow(held) => hold(held(who, process, now)),
        // Those about the past are the witness's, and the whole is looked at by itself.
        Shape::Each(_) | Shape::Fenced(_) | Shape::Whole(_) => Claim::None,
    };
    model.invariants.iter().map(|invariant| claim(&invariant.shape)).collect()
}

/// Looks up what is known, or finds it out and remembers it.
macro_rules! recall {
    ($memo:expr, $key:expr, $compute:expr) => {{
        let key = $key;
        if let Some(known) = $memo.get(&key) {
            return *known;
        }
        let found = $compute;
        $memo.insert(key, found);
        found
    }};
}

/// The same for what becomes of a part, by its number.
macro_rules! recall_part {
    ($self:ident, $memo:ident, $key:expr, $get:ident($id:expr), $do:ident($($arg:expr)?) in $parts:ident) => {
        recall!($self.memos.$memo, $key, {
            let before = $self.$get($id);
            let after = $self.plain.$do(&before $(, $arg)?);
            $self.library.$parts.lock().number(&after)
        })
    };
}

impl<P: Process> Players for Tables<'_, P> {
    type Process = P;
    type Slot = Id;
    type Inbox = Id;
    type Past = Id;
    type Msg = Id;
    type Rest = Id;
    type Witness = Id;
    type Observation = u32;

    fn model(&self) -> &Model<P> {
        self.plain.model
    }

    fn is_up(&mut self, slot: &Id) -> bool {
        self.looks(*slot).up
    }

    fn timers(&mut self, slot: &Id, found: &mut Vec<Arrival>) {
        found.extend_from_slice(&self.looks(*slot).timers);
    }

    fn arrivals(&mut self, inbox: &Id, found: &mut Vec<Arrival>) {
        found.extend_from_slice(&self.inbox_looks(*inbox).1.arrivals);
    }

    fn rest(&mut self, rest: &Id) -> Arc<Rest> {
        self.rest_of(*rest)
    }

    fn set_rest(&mut self, rest: Rest) -> Id {
        if let Some(known) = self.memos.set.get(&rest) {
            return *known;
        }
        let id = self.library.rests.lock().number(&Arc::new(rest.clone()));
        self.memos.set.insert(rest, id);
        id
    }

    fn call(&mut self, slot: &Id, call: Call<Id>, clock: Ticks) -> Reacts<Self> {
        // Who does not look at the clock does the same at any time.
        let clock = if self.plain.model.reads_clock { clock } else { 0 };
        let key = (*slot, call, clock);
        let index = match self.memos.calls.get(&key) {
            Some(index) => *index,
            None => {
                let index = self.call_anew(*slot, call, clock);
                self.memos.calls.insert(key, index);
                index
            }
        };
        let Reaction { slot, sends, observed } = &self.reactions[index as usize].0;
        Reaction { slot: *slot, sends: Arc::clone(sends), observed: *observed }
    }

    fn hear(&mut self, witness: &Id, observed: &u32, now: Ticks) -> Id {
        if !self.is_heard(*observed) {
            return *witness;
        }
        recall!(self.memos.heard, (*witness, *observed, now), {
            let before = self.witness(*witness);
            let observed = Arc::clone(&self.reactions[*observed as usize].1);
            let after = self.plain.hear(&before, &observed, now);
            self.library.witnesses.lock().number(&after)
        })
    }

    fn elapse_slot(&mut self, slot: &Id) -> Id {
        recall_part!(self, elapsed_slots, *slot, slot(*slot), elapse_slot() in slots)
    }

    fn elapse_inbox(&mut self, inbox: &Id) -> Id {
        recall_part!(self, elapsed_inboxes, *inbox, inbox(*inbox), elapse_inbox() in inboxes)
    }

    fn age(&mut self, inbox: &Id, place: u8) -> Id {
        recall_part!(self, aged, (*inbox, place), inbox(*inbox), age(place) in inboxes)
    }

    fn purge(&mut self, inbox: &Id, slot: &Id) -> Id {
        recall!(self.memos.purged, (*inbox, *slot), {
            let (before, slot) = (self.inbox(*inbox), self.slot(*slot));
            let after = self.plain.purge(&before, &slot);
            self.library.inboxes.lock().number(&after)
        })
    }

    fn take(&mut self, inbox: &Id, at: u8) -> Parcel {
        recall!(self.memos.taken, (*inbox, at), {
            let before = self.inbox(*inbox);
            let Taken { inbox, from, msg, past } = self.plain.take(&before, at);
            Taken {
                inbox: self.library.inboxes.lock().number(&inbox),
                from,
                msg: self.library.msgs.lock().number(&Arc::new(msg)),
                past: self.library.pasts.lock().number(&past),
            }
        })
    }

    fn post(&mut self, inbox: &Id, from: u8, msg: Id, past: Option<&Id>) -> Id {
        let past = past.copied();
        recall!(self.memos.posted, (*inbox, from, msg, past), {
            let before = self.inbox(*inbox);
            let msg = self.msg(msg);
            let past = past.map(|past| self.past_of(past));
            let after = self.plain.post(&before, from, msg, past.as_ref());
            self.library.inboxes.lock().number(&after)
        })
    }

    fn double(&mut self, inbox: &Id, at: u8) -> Id {
        recall_part!(self, doubled, (*inbox, at), inbox(*inbox), double(at) in inboxes)
    }

    fn is_empty(&mut self, inbox: &Id) -> bool {
        self.inbox_looks(*inbox).0.value.flights.is_empty()
    }

    fn past(&mut self, past: &Id, change: Change) -> Id {
        recall_part!(self, changed, (*past, change), past_of(*past), past(change) in pasts)
    }

    fn pasts(&mut self, inbox: &Id, change: Change) -> Id {
        recall_part!(self, changed_inboxes, (*inbox, change), inbox(*inbox), pasts(change) in inboxes)
    }

    fn merge(&mut self, mine: &Id, theirs: &Id) -> Id {
        recall!(self.memos.merged, (*mine, *theirs), {
            let (mine, theirs) = (self.past_of(*mine), self.past_of(*theirs));
            let after = self.plain.merge(&mine, &theirs);
            self.library.pasts.lock().number(&after)
        })
    }
}
