//! Total-order broadcast by acknowledgements (after Lamport, "Time, clocks, and the ordering of
//! events in a distributed system", 1978: the queue of his mutual exclusion, without the section).
//!
//! All processes deliver the same messages in the same order, and no process decides it: logical
//! clocks stamp the messages, and the order is that of the stamps. A process delivers a message when
//! it knows that nothing with an earlier stamp can come any more.
//!
//! # Rules
//! * TL1 To broadcast: count the clock, stamp the message with (time, id), put it in the queue and
//!   send MESSAGE to all others.
//! * TL2 MESSAGE: set the clock above its time, put it in the queue, which is sorted by (time, id),
//!   and send ACK with the own time to all others: not only to the sender, because all must know the
//!   time here.
//! * TL3 Deliver the head of the queue when a stamp that is not before its own has come from every
//!   other process: from its sender by the message itself, from all others by an ACK or a message of
//!   theirs.
//!
//! # Why it is right
//! A process stamps what it sends with ever larger times, and channels are FIFO. So once something
//! has come from j that is stamped (t, j), all that comes from j later is stamped later. When that
//! is so for every process, all messages with earlier stamps are here, and the head of the queue is
//! the head of all queues. The order is causal, too, because the clocks are.
//!
//! # Assumes
//! FIFO channels that lose and double nothing, and no crashes: each waits for all others. Without
//! FIFO an ACK can overtake a message that is stamped earlier, and two processes deliver in
//! different orders.
//!
//! # Costs
//! n(n-1) messages a broadcast: MESSAGE to n-1 others, and each of these n-1 sends n-1 ACKs. The
//! sender acknowledges nothing, as its message does. Delivered after two hops, by the sender and by
//! all others, and later if others broadcast at the same time with earlier stamps. Who is still to be
//! heard of is counted for the head of the queue only, so an ACK costs O(1) and a delivery O(n).

use super::{ANSWERS, Author, Input, MessageId, Output, Post, Promises, answers, broadcasts};
use crate::cost::{Cost, Kinds, Rank};
use crate::definition::{Algorithm, Definition, Entry, Topology};
use crate::election::Incarnation;
use crate::show::{Item, ProcessView, Scene, Tone};
use bellwether_core::{
    Assumptions, Channels, Context, Goal, Kind, Message, NodeId, Process, SortedMap,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// A message of the application (TL1).
    Message {
        /// The time of its stamp.
        time: u64,
        /// The message.
        post: Post,
    },
    /// "It is so late here" (TL2).
    Ack {
        /// So late.
        time: u64,
    },
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Message { .. } => "MESSAGE",
            Msg::Ack { .. } => "ACK",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Message { time, post } => write!(f, "MESSAGE {} ({time})", post.id),
            Msg::Ack { time } => write!(f, "ACK({time})"),
        }
    }
}

/// What is fixed for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many answers follow a broadcast.
    pub answers: u32,
    /// T: longer than a message takes.
    pub timeout: Duration,
}

/// What orders messages: time first, then the number of the sender.
type Stamp = (u64, NodeId);

/// One process of the all-acknowledge form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lamport {
    author: Author,
    /// Whether it has come back and takes no part.
    outside: bool,
    clock: u64,
    /// What is not delivered, by stamp.
    queue: SortedMap<Stamp, Post>,
    /// The latest time that was heard of from each process, by place; the own place does not count.
    heard: Vec<u64>,
    /// The head of the queue, and how many are still to be heard of for it (TL3).
    head: Option<(Stamp, usize)>,
    /// How many messages are delivered.
    delivered: u64,
}

type Cx<'a> = Context<'a, Lamport>;

impl Process for Lamport {
    type Msg = Msg;
    type Timer = ();
    type Input = Input;
    type Output = Output;
    type Durable = Incarnation;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Fifo);

    fn durable(&self) -> Incarnation {
        self.author.life
    }

    fn on_start(&mut self, saved: Option<Incarnation>, cx: &mut Cx<'_>) {
        self.outside = self.author.start(saved);
        self.heard = vec![0; cx.group().len()];
        if self.outside {
            cx.emit(Output::Outside);
        }
    }

    fn on_input(&mut self, Input::Broadcast: Input, cx: &mut Cx<'_>) {
        if self.outside {
            return cx.emit(Output::Outside);
        }
        self.broadcast(cx.config().answers, None, cx);
        self.deliver(cx);
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        let sender = cx.group().place(from).filter(|place| *place != cx.place());
        let Some(place) = sender.filter(|_| !self.outside) else { return };
        match msg {
            Msg::Message { post, .. } if post.id.sender != from => {}
            Msg::Message { time, post } => {
                cx.rule("TL2");
                self.enqueue((time, from), post, cx);
                self.hear(place, (time, from));
                self.clock = self.clock.max(time).saturating_add(1);
                let time = self.clock;
                cx.others().for_each(|id| cx.send(id, Msg::Ack { time }));
                self.deliver(cx);
            }
            Msg::Ack { time } => {
                self.clock = self.clock.max(time);
                self.hear(place, (time, from));
                self.deliver(cx);
            }
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl Lamport {
    /// How many messages wait for their turn.
    pub fn held_back(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX)
    }

    /// TL1.
    fn broadcast(&mut self, answers: u32, to: Option<MessageId>, cx: &mut Cx<'_>) {
        cx.rule("TL1");
        let post = self.author.write(cx.me(), answers);
        cx.emit(Output::Broadcast { id: post.id, answers: to });
        self.clock = self.clock.saturating_add(1);
        let time = self.clock;
        cx.others().for_each(|id| cx.send(id, Msg::Message { time, post }));
        self.enqueue((time, cx.me()), post, cx);
    }

    fn enqueue(&mut self, stamp: Stamp, post: Post, cx: &mut Cx<'_>) {
        self.queue.insert(stamp, post);
        if self.head.is_none_or(|(head, _)| stamp < head) {
            self.find_head(cx);
        }
    }

    /// Turns to the head of the queue, and counts who is still to be heard of.
    fn find_head(&mut self, cx: &Cx<'_>) {
        self.head = self.queue.keys().next().map(|head| {
            let heard = cx.group().ring().iter().zip(&self.heard);
            let missing = heard.filter(|(id, time)| **id != cx.me() && (**time, **id) < *head);
            (*head, missing.count())
        });
    }

    /// A process has sent something with this stamp.
    fn hear(&mut self, place: usize, stamp: Stamp) {
        let (time, by) = stamp;
        let before = (self.heard[place], by);
        self.heard[place] = self.heard[place].max(time);
        if let Some((head, missing)) = &mut self.head
            && before < *head
            && stamp >= *head
        {
            *missing = missing.saturating_sub(1);
        }
    }

    /// TL3.
    fn deliver(&mut self, cx: &mut Cx<'_>) {
        while let Some((head, 0)) = self.head {
            cx.rule("TL3");
            let queue = self.held_back();
            let Some(post) = self.queue.remove(&head) else { return };
            self.delivered = self.delivered.saturating_add(1);
            self.find_head(cx);
            cx.emit(Output::Delivered { id: post.id, queue });
            if post.answerer(cx.group()) == Some(cx.me()) {
                let left = post.answers.min(cx.config().answers).saturating_sub(1);
                self.broadcast(left, Some(post.id), cx);
            }
        }
    }
}

impl Lamport {
    /// The queue by time stamp, and from whom nothing later has come than its head.
    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let head = self.head.map(|(stamp, _)| stamp);
        let silent = scene
            .each(&self.heard)
            .filter(|(id, time)| *id != scene.me && head.is_some_and(|head| (**time, *id) < head));
        ProcessView::new(if self.outside { "takes no part" } else { "" })
            .text("clock", self.clock)
            .text("delivered", self.delivered)
            .queue(
                "waiting, by time stamp",
                self.queue.iter().map(|((time, _), post)| Item::new(post.id).note(time)),
            )
            .set(
                "the first waits for a later message from",
                silent.map(|(id, _)| Item::of(id).tone(Tone::Waits)),
            )
    }
}

impl Algorithm for Lamport {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: "total-order-lamport",
            family: "order",
            title: "Total-order broadcast, all acknowledge",
            source: "after Lamport, CACM 21(7), 1978",
            cost: "n(n-1) a broadcast",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("lamport.rs"),
            example: "order/total-order-lamport-same-time.txt",
        };
        Definition::<Self>::new(entry, |settings, _| Config {
            answers: answers(settings).unwrap_or(0),
            timeout: settings.timeout,
        })
        .options(&[ANSWERS])
        .checks(|settings, _| answers(settings).map(drop))
        .verbs(&["broadcast", "work"], Input::of, |input| input.verb().into())
        .work(|_| true)
        .kinds(&["MESSAGE", "ACK"])
        .goal(Goal::<Self>::new(
            "delivered",
            "everything that was broadcast is delivered by every live process",
            |processes| {
                let mut delivered = None;
                processes.filter(|(_, process)| !process.outside).all(|(_, process)| {
                    let same = *delivered.get_or_insert(process.delivered) == process.delivered;
                    process.queue.is_empty() && same
                })
            },
        ))
        // A chain of answers takes a message and an ACK each.
        .settles_within(|config, _, _| {
            config.timeout.saturating_mul(config.answers.saturating_add(4))
        })
        .view(|process, _, scene| process.view(scene))
        .referee(|_, group| Promises::total(true).referee(group))
        .costs(costs)
    }
}

/// The acknowledgements count: the order is made of them.
fn costs(n: u32) -> Vec<Cost> {
    let (k, others) = (u64::from(n), u64::from(n) - 1);
    let one: [(Kinds, _, _); 2] =
        [(&["MESSAGE"], "n-1", others), (&["ACK"], "(n-1)^2", others * others)];
    let all: [(Kinds, _, _); 2] =
        [(&["MESSAGE"], "n(n-1)", k * others), (&["ACK"], "n(n-1)^2", k * others * others)];
    vec![
        Cost::sum("one broadcasts", "n(n-1)", &one, [broadcasts(n, [1])]).rank(Rank::Best),
        Cost::sum("all broadcast", "n^2(n-1) for n", &all, [broadcasts(n, 1..=n)]),
    ]
}

#[cfg(test)]
#[path = "tests/lamport.rs"]
mod tests;
