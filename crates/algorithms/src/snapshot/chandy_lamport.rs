//! Snapshots of a running system (Chandy and Lamport, "Distributed snapshots: determining global
//! states of distributed systems", ACM TOCS 3(1), 1985).
//!
//! Each process records its own state at a moment of its own, and markers tell the messages before
//! that moment from those after it. The states and the messages that were on the way are a state
//! that the system could have been in: perhaps it never was, but it can be reached from the one in
//! which the snapshot began, and leads to the one in which it ended.
//!
//! It is a shell around any other process, the subject, whose messages travel inside its own.
//!
//! # Rules
//! * CL1 To begin a snapshot: record the state of the subject, and send a marker on every channel
//!   that leads away before any other message.
//! * CL2 The first marker of a snapshot: record the state, take the channel that it came by as
//!   empty, and send a marker on every channel that leads away, before any other message.
//! * CL3 A message of the subject: add it to every record of a snapshot for which the state is
//!   recorded and this channel's marker has not come. Then the subject has it.
//! * CL4 A later marker: what was added for its channel is what was on the way.
//! * CL5 When all channels have had their marker, this process has its part of the snapshot, and
//!   says so.
//! * CL6 A channel to oneself needs no marker: a process knows what it has sent and what came.
//!
//! A snapshot is known by who began it and a number, so that there can be any number at once, also
//! by the same process. All the rules are for each of them by itself.
//!
//! The paper leaves open how the parts come together. Here each process reports its part, and in a
//! simulation the [`Auditor`](super::Auditor) joins all parts to the snapshot. So that it can judge,
//! a message of the subject carries the sender's vector clock, which counts the events of subjects
//! only, and its number on its channel. The rules above use neither.
//!
//! # Assumes
//! FIFO channels that lose and duplicate nothing; no crashes. The channels connect all processes,
//! directly or by way of others; otherwise some process never hears of the snapshot.
//!
//! # Costs
//! A marker per channel: n(n-1) where every process talks to all others, n on a ring. It takes as
//! long as the slowest path from the initiator to any other process, and one message more.

use super::part::{Numbers, Part, SnapshotId};
use crate::definition::Definition;
use crate::show::{Item, Mark, ProcessView, Scene, Shape, Tone};
use crate::time::VectorClock;
use bellwether_core::{
    Assumptions, Call, Channels, Context, Effects, Kind, Message, NodeId, Process, SortedMap,
    SortedSet,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// What travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg<M> {
    /// What I sent before it belongs to this snapshot, what I send after it does not.
    Marker(SnapshotId),
    /// A message of the subject.
    Carried(Box<Carried<M>>),
}

/// A message of the subject on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Carried<M> {
    /// Its number on its channel, from 1.
    pub number: u64,
    /// The sender's clock.
    pub stamp: VectorClock,
    /// The message.
    pub body: M,
}

impl<M: Message> Message for Msg<M> {
    fn kind(&self) -> Kind {
        match self {
            Msg::Marker(_) => Kind::protocol("MARKER"),
            Msg::Carried(carried) => carried.body.kind(),
        }
    }
}

impl<M: fmt::Display> fmt::Display for Msg<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Marker(snapshot) => write!(f, "MARKER({snapshot})"),
            Msg::Carried(carried) => carried.body.fmt(f),
        }
    }
}

/// What can be asked of a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input<I> {
    /// A snapshot is wanted.
    Snapshot,
    /// The subject's.
    Below(I),
    /// Something that other subjects do, but not this one.
    Unknown {
        /// The verb.
        verb: String,
        /// What to answer.
        answer: String,
    },
}

/// What a process says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<P, M, O> {
    /// It has recorded its state for this snapshot: here is the cut.
    Cut(SnapshotId),
    /// It has its part of a snapshot.
    Recorded(Box<Part<P, M>>),
    /// The subject's word.
    Below(O),
    /// Why it does nothing.
    Unknown(String),
}

impl<P, M: fmt::Display, O: fmt::Display> fmt::Display for Output<P, M, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Cut(snapshot) => write!(f, "records its state for snapshot {snapshot}"),
            Output::Recorded(part) => part.fmt(f),
            Output::Below(output) => output.fmt(f),
            Output::Unknown(answer) => write!(f, "does nothing: {answer}"),
        }
    }
}

/// Which channels there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routes {
    /// From everybody to everybody.
    #[default]
    Mesh,
    /// From each to the next on the ring only.
    Ring,
}

/// What is fixed for the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config<C> {
    /// Which channels there are.
    pub routes: Routes,
    /// The subject's.
    pub below: C,
}

/// A process of which snapshots can be taken.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Snapshots<P: Process> {
    below: P,
    books: Books,
    /// How many snapshots this process has begun.
    begun: u64,
    /// The snapshots that it has heard of, by initiator.
    known: SortedMap<NodeId, Numbers>,
    /// Those of which it does not have its part yet.
    open: SortedMap<SnapshotId, Recording<P, P::Msg>>,
}

/// A part that is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Recording<P, M> {
    part: Part<P, M>,
    /// Whose channels to here have not had their marker.
    waits: SortedSet<NodeId>,
}

/// What a process knows of the subject's messages. Vectors are by place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Books {
    clock: VectorClock,
    sent: Vec<u64>,
    received: Vec<Numbers>,
}

// A derived one would ask for a default message.
impl<P: Process> Default for Snapshots<P> {
    fn default() -> Self {
        Snapshots {
            below: P::default(),
            books: Books::default(),
            begun: 0,
            known: SortedMap::new(),
            open: SortedMap::new(),
        }
    }
}

type Cx<'a, P> = Context<'a, Snapshots<P>>;

impl<P: Process> Process for Snapshots<P> {
    type Msg = Msg<P::Msg>;
    type Timer = P::Timer;
    type Input = Input<P::Input>;
    type Output = Output<P, P::Msg, P::Output>;
    type Durable = P::Durable;
    type Config = Config<P::Config>;

    const ASSUMES: Assumptions = Assumptions {
        timing: P::ASSUMES.timing,
        channels: match P::ASSUMES.channels {
            Channels::Causal => Channels::Causal,
            Channels::Any | Channels::Fifo => Channels::Fifo,
        },
        loss: false,
        duplication: false,
        crashes: false,
        recoveries: false,
    };

    fn durable(&self) -> P::Durable {
        self.below.durable()
    }

    fn on_start(&mut self, saved: Option<P::Durable>, cx: &mut Cx<'_, P>) {
        self.books = Books::new(cx.group().len());
        self.step(Call::Start(saved), cx);
    }

    fn on_input(&mut self, input: Self::Input, cx: &mut Cx<'_, P>) {
        match input {
            Input::Snapshot => self.begin(cx),
            Input::Below(input) => self.step(Call::Input(input), cx),
            Input::Unknown { answer, .. } => {
                self.books.clock.tick(cx.place());
                cx.emit(Output::Unknown(answer));
            }
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_, P>) {
        match msg {
            Msg::Marker(snapshot) => self.marker(from, snapshot, cx),
            Msg::Carried(carried) => self.arrive(from, *carried, cx),
        }
    }

    fn on_timer(&mut self, timer: P::Timer, cx: &mut Cx<'_, P>) {
        self.step(Call::Timer(timer), cx);
    }
}

impl<P: Process> Snapshots<P> {
    /// CL1.
    fn begin(&mut self, cx: &mut Cx<'_, P>) {
        cx.rule("CL1");
        self.begun = self.begun.saturating_add(1);
        let snapshot = SnapshotId { initiator: cx.me(), count: self.begun };
        self.known.entry(cx.me()).or_default().add(self.begun);
        self.record(snapshot, cx);
        self.complete(snapshot, cx);
    }

    /// CL2 and CL4. Of markers that no process can have sent there is nothing to be done.
    fn marker(&mut self, from: NodeId, snapshot: SnapshotId, cx: &mut Cx<'_, P>) {
        let group = cx.group();
        if !group.contains(from) || !group.contains(snapshot.initiator) {
            return;
        }
        if self.known.entry(snapshot.initiator).or_default().add(snapshot.count) {
            cx.rule("CL2");
            self.record(snapshot, cx);
        } else {
            cx.rule("CL4");
        }
        if let Some(recording) = self.open.get_mut(&snapshot) {
            recording.waits.remove(&from);
        }
        self.complete(snapshot, cx);
    }

    /// Records the state and sends the markers.
    fn record(&mut self, snapshot: SnapshotId, cx: &mut Cx<'_, P>) {
        let (group, place, me) = (cx.group(), cx.place(), cx.me());
        let (before, after) = (group.before(place, 1), group.after(place, 1));
        let mut waits = match cx.config().routes {
            Routes::Mesh => cx.others().collect(),
            Routes::Ring => SortedSet::from([before]),
        };
        // CL6.
        let expected = self.books.sent.get(place).copied().unwrap_or_default();
        let all_here = self.books.received.get(place).is_none_or(|own| own.reaches(expected));
        match all_here {
            true => waits.remove(&me),
            false => waits.insert(me),
        };
        let Books { clock, sent, received, .. } = self.books.clone();
        let channels = SortedMap::new();
        let part = Part { snapshot, state: self.below.clone(), clock, sent, received, channels };
        self.open.insert(snapshot, Recording { part, waits });
        cx.emit(Output::Cut(snapshot));
        match cx.config().routes {
            Routes::Mesh => cx.others().for_each(|id| cx.send(id, Msg::Marker(snapshot))),
            Routes::Ring if after == me => {}
            Routes::Ring => cx.send(after, Msg::Marker(snapshot)),
        }
    }

    /// CL5.
    fn complete(&mut self, snapshot: SnapshotId, cx: &mut Cx<'_, P>) {
        if self.open.get(&snapshot).is_some_and(|recording| recording.waits.is_empty())
            && let Some(Recording { part, .. }) = self.open.remove(&snapshot)
        {
            cx.rule("CL5");
            cx.emit(Output::Recorded(Box::new(part)));
        }
    }

    /// CL3. What no member of this group can have sent is dropped.
    fn arrive(&mut self, from: NodeId, carried: Carried<P::Msg>, cx: &mut Cx<'_, P>) {
        let (place, me) = (cx.place(), cx.me());
        let sender = cx.group().place(from);
        let Some(sender) = sender.filter(|_| self.books.fits(&carried.stamp)) else { return };
        self.books.receive(sender, &carried);
        for recording in self.open.values_mut().filter(|recording| recording.waits.contains(&from))
        {
            // CL6: without a marker, the number tells what was sent before.
            let sent = recording.part.sent.get(place).copied().unwrap_or_default();
            if from != me || carried.number <= sent {
                cx.rule("CL3");
                recording.part.channels.entry(from).or_default().push(carried.clone());
            }
        }
        if from == me {
            self.close_own(cx);
        }
        self.step(Call::Message(from, carried.body), cx);
    }

    /// CL6.
    fn close_own(&mut self, cx: &mut Cx<'_, P>) {
        let (place, me) = (cx.place(), cx.me());
        let Some(received) = self.books.received.get(place) else { return };
        let mut closed = Vec::new();
        for (snapshot, Recording { part, waits }) in self.open.iter_mut() {
            if received.reaches(part.sent.get(place).copied().unwrap_or_default())
                && waits.remove(&me)
            {
                closed.push(*snapshot);
            }
        }
        for snapshot in closed {
            cx.rule("CL6");
            self.complete(snapshot, cx);
        }
    }

    /// An event of the subject.
    fn step(&mut self, call: Call<P>, cx: &mut Cx<'_, P>) {
        self.books.clock.tick(cx.place());
        let (here, config) = (*cx.here(), &cx.config().below);
        let mut shell = Shell { cx, books: &mut self.books };
        call.make(&mut self.below, &mut Context::new(&here, config, &mut shell));
    }

    /// The process that snapshots are taken of.
    pub fn below(&self) -> &P {
        &self.below
    }

    /// The subject's view, and a row for each snapshot that this process has heard of: what is
    /// recorded of it here, as long as that is not complete.
    pub(super) fn view(
        &self,
        subject: &Definition<P>,
        config: &P::Config,
        scene: &Scene<'_>,
    ) -> ProcessView {
        let mut view = subject.view_of(&self.below, config, scene).unwrap_or_default();
        for (initiator, numbers) in &self.known {
            for count in 1..=numbers.largest() {
                let snapshot = SnapshotId { initiator: *initiator, count };
                let items = self.open.get(&snapshot).map(|recording| recording.items(subject));
                let items = items.unwrap_or_else(|| vec![Item::new("complete").tone(Tone::Good)]);
                view = view.row(&format!("snapshot {snapshot}"), Shape::Cut, items);
            }
        }
        view.mark_if(!self.known.is_empty(), Mark::Recorded)
    }

    /// Whether it has its part of every snapshot that it has heard of.
    pub fn is_complete(&self) -> bool {
        self.open.is_empty()
    }
}

impl<P: Process> Recording<P, P::Msg> {
    /// What is recorded so far: the state, what was on the way, and whose markers are missing.
    fn items(&self, subject: &Definition<P>) -> Vec<Item> {
        let state = match subject.held_by(&self.part.state) {
            Some(held) => Item::new("here").note(held),
            None => Item::new(subject.note_of(&self.part.state)),
        };
        let on_the_way = self.part.channels.iter().flat_map(|(from, messages)| {
            messages.iter().map(move |msg| {
                let item = Item::new(format!("{} from {from}", msg.body));
                match subject.carried_by(&msg.body) {
                    0 => item,
                    amount => item.note(amount),
                }
            })
        });
        let waits =
            self.waits.iter().map(|id| Item::new(format!("marker of {id}?")).tone(Tone::Waits));
        [state.tone(Tone::Strong)].into_iter().chain(on_the_way).chain(waits).collect()
    }
}

impl Books {
    fn new(members: usize) -> Self {
        Books {
            clock: VectorClock::new(members),
            sent: vec![0; members],
            received: vec![Numbers::default(); members],
        }
    }

    /// Whether this can be the clock of a member.
    fn fits(&self, stamp: &VectorClock) -> bool {
        stamp.counters().len() == self.sent.len()
    }

    fn receive<M>(&mut self, sender: usize, carried: &Carried<M>) {
        // It fits, or it would not be here.
        let _ = self.clock.merge(&carried.stamp);
        if let Some(numbers) = self.received.get_mut(sender) {
            numbers.add(carried.number);
        }
    }

    /// Puts a message into its envelope.
    fn send<M>(&mut self, receiver: usize, body: M) -> Option<Box<Carried<M>>> {
        let number = self.sent.get_mut(receiver)?;
        *number += 1;
        Some(Box::new(Carried { number: *number, stamp: self.clock.clone(), body }))
    }
}

/// Where the subject's effects go.
struct Shell<'s, 'a, P: Process> {
    cx: &'s mut Cx<'a, P>,
    books: &'s mut Books,
}

impl<P: Process> Effects<P> for Shell<'_, '_, P> {
    fn send(&mut self, to: NodeId, msg: P::Msg) {
        let place = self.cx.group().place(to);
        if let Some(carried) = place.and_then(|place| self.books.send(place, msg)) {
            self.cx.send(to, Msg::Carried(carried));
        }
    }

    fn set_timer(&mut self, timer: P::Timer, after: Range<Duration>) {
        self.cx.set_timer_within(timer, after);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.cx.cancel_timer(timer);
    }

    fn emit(&mut self, output: P::Output) {
        self.cx.emit(Output::Below(output));
    }

    fn rule(&mut self, rule: &'static str) {
        self.cx.rule(rule);
    }
}

#[cfg(test)]
#[path = "tests/mod.rs"]
mod tests;
