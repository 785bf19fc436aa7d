//! Causal-order broadcast (Birman, Schiper and Stephenson, "Lightweight causal and atomic group
//! multicast", 1991).
//!
//! If one message can have caused another, all processes deliver them in that order: none sees an
//! answer before its question. Messages that have nothing to do with each other may be delivered
//! in different orders at different processes.
//!
//! Each process counts, for every process, how many of its messages it has delivered: a vector. A
//! message carries the vector of its sender, and so says what it can have been caused by.
//!
//! # Rules
//! * C1 To broadcast: add one to the own entry, send CBCAST with the vector to all others, and
//!   deliver at once.
//! * C2 CBCAST with vector W from j: hold it back unless it is the next of j, W\[j\] = V\[j\] + 1,
//!   and all that j had delivered is delivered here, W\[k\] <= V\[k\] for all other k.
//! * C3 To deliver: add one to the sender's entry, and look which of those that are held back
//!   waited for just that.
//! * C4 CBCAST with W\[j\] <= V\[j\] is delivered already: drop it. So is one whose vector is not of
//!   this group's size, or whose sender is not of this group: a vector is good for nothing there.
//!
//! # Why it is right
//! W counts exactly what the sender had delivered, its own messages among them, and so all that can
//! have caused the message. It is delivered when all of that is.
//!
//! # Assumes
//! No message is lost and no process crashes. A message may overtake others or arrive twice. If a
//! message is lost, also on the way to a crashed process, those that depend on it wait without end.
//! A process that comes back has missed messages and takes no part.
//!
//! # Costs
//! n-1 messages a broadcast, with n numbers each. Held back for as long as the slowest message that
//! it depends on, and not at all if that is there. A message that is held back waits for one entry
//! at a time and then goes on where it had stopped, so all its looks together cost O(n), however
//! many are held back beside it.

use super::{ANSWERS, Author, Input, Output, Post, Promises, answers, broadcasts};
use crate::cost::{Cost, Rank};
use crate::definition::{Algorithm, Definition, Entry, Topology};
use crate::election::Incarnation;
use crate::options::Opt;
use crate::show::{Item, ProcessView, Scene, Tone};
use crate::time::VectorClock;
use crate::views::shared;
use bellwether_core::{
    Assumptions, Channels, Context, Goal, Kind, Message, NodeId, Process, SortedMap,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A message of the application, and what it can have been caused by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Msg {
    /// The message.
    pub post: Post,
    /// The vector of its sender, this message counted. Shared, because all get the same.
    #[serde(with = "shared")]
    pub vector: Arc<VectorClock>,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol("CBCAST")
    }
}

/// How many entries of a vector are shown.
const SHOWN: usize = 8;

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counters = self.vector.counters();
        let shown: Vec<String> = counters.iter().take(SHOWN).map(u64::to_string).collect();
        let more = if counters.len() > SHOWN { ",.." } else { "" };
        write!(f, "CBCAST {} [{}{more}]", self.post.id, shown.join(","))
    }
}

/// What is fixed for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many answers follow a broadcast.
    pub answers: u32,
    /// Whether messages are delivered as they come.
    pub unordered: bool,
    /// T: longer than a message takes.
    pub timeout: Duration,
}

/// One process of Birman, Schiper and Stephenson.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Causal {
    author: Author,
    /// Whether it has come back and takes no part.
    outside: bool,
    /// V: how many messages of each process are delivered, by place.
    clock: VectorClock,
    /// What is held back (C2), by what it waits for: until this many messages of the process at this
    /// place are delivered.
    held: SortedMap<(usize, u64), Vec<Held>>,
    /// How many are held back.
    queue: u32,
}

/// A message that is held back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Held {
    msg: Msg,
    /// The place of its sender.
    place: usize,
    /// The entries below this are known to be good: those here only grow.
    checked: usize,
}

/// What is to be done with a message.
enum Turn {
    /// Its turn has come.
    Now,
    /// This many messages of the process at this place must be delivered first.
    After(usize, u64),
    /// It is delivered already.
    Past,
}

type Cx<'a> = Context<'a, Causal>;

impl Process for Causal {
    type Msg = Msg;
    type Timer = ();
    type Input = Input;
    type Output = Output;
    type Durable = Incarnation;
    type Config = Config;

    const ASSUMES: Assumptions =
        Assumptions { duplication: true, ..Assumptions::faultless(Channels::Any) };

    fn durable(&self) -> Incarnation {
        self.author.life
    }

    fn on_start(&mut self, saved: Option<Incarnation>, cx: &mut Cx<'_>) {
        self.outside = self.author.start(saved);
        self.clock = VectorClock::new(cx.group().len());
        if self.outside {
            cx.emit(Output::Outside);
        }
    }

    fn on_input(&mut self, Input::Broadcast: Input, cx: &mut Cx<'_>) {
        if self.outside {
            return cx.emit(Output::Outside);
        }
        let post = self.author.write(cx.me(), cx.config().answers);
        cx.emit(Output::Broadcast { id: post.id, answers: None });
        self.broadcast(post, cx);
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        // C4
        let members = cx.group().len();
        let sender = cx.group().place(from).filter(|place| *place != cx.place());
        let Some(place) = sender.filter(|_| !self.outside && msg.post.id.sender == from) else {
            return;
        };
        let entries = msg.vector.counters().len();
        if entries != members {
            cx.rule("C4");
            let (entries, members) = (entries as u32, members as u32);
            return cx.emit(Output::Malformed { from, entries, members });
        }
        let came = Held { msg, place, checked: 0 };
        if cx.config().unordered {
            self.deliver(&came, cx);
        } else {
            self.look(came, cx);
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl Causal {
    /// How many messages of each process are delivered, by place.
    pub fn delivered(&self) -> &[u64] {
        self.clock.counters()
    }

    /// How many messages are held back.
    pub fn held_back(&self) -> u32 {
        self.queue
    }

    /// C1.
    fn broadcast(&mut self, post: Post, cx: &mut Cx<'_>) {
        cx.rule("C1");
        self.clock.tick(cx.place());
        let vector = Arc::new(self.clock.clone());
        for id in cx.others() {
            cx.send(id, Msg { post, vector: Arc::clone(&vector) });
        }
        cx.emit(Output::Delivered { id: post.id, queue: self.queue });
    }

    /// C2: whether the turn of a message has come.
    fn turn(&self, came: &mut Held) -> Turn {
        let (needed, here) = (came.msg.vector.counters(), self.clock.counters());
        let (own, last) = (needed[came.place], here[came.place]);
        if own <= last {
            return Turn::Past;
        }
        if own - 1 > last {
            return Turn::After(came.place, own - 1);
        }
        for place in came.checked..needed.len() {
            if place != came.place && needed[place] > here[place] {
                came.checked = place;
                return Turn::After(place, needed[place]);
            }
        }
        Turn::Now
    }

    /// C2 and C3: looks at a message that has come, and at all that its delivery lets go.
    fn look(&mut self, came: Held, cx: &mut Cx<'_>) {
        let id = came.msg.post.id;
        let mut due = VecDeque::from([came]);
        // Those that were held back are counted until they are done with.
        let mut was_held = false;
        while let Some(mut next) = due.pop_front() {
            match self.turn(&mut next) {
                Turn::Now => {
                    self.deliver(&next, cx);
                    self.queue -= u32::from(was_held);
                    let last = (next.place, self.clock.counters()[next.place]);
                    due.extend(self.held.remove(&last).into_iter().flatten());
                }
                Turn::After(place, count) => {
                    self.held.entry((place, count)).or_default().push(next);
                    if !was_held {
                        cx.rule("C2");
                        self.queue += 1;
                        cx.emit(Output::Held { id, queue: self.queue });
                    }
                }
                Turn::Past => {
                    cx.rule("C4");
                    self.queue -= u32::from(was_held);
                }
            }
            was_held = true;
        }
    }

    /// C3.
    fn deliver(&mut self, next: &Held, cx: &mut Cx<'_>) {
        cx.rule("C3");
        let post = next.msg.post;
        self.clock.tick(next.place);
        cx.emit(Output::Delivered { id: post.id, queue: self.queue });
        if post.answerer(cx.group()) == Some(cx.me()) {
            let left = post.answers.min(cx.config().answers).saturating_sub(1);
            let answer = self.author.write(cx.me(), left);
            cx.emit(Output::Broadcast { id: answer.id, answers: Some(post.id) });
            self.broadcast(answer, cx);
        }
    }
}

impl Causal {
    /// What is delivered of each process, and what is held back, each with what it waits for.
    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let held = self.held.iter().flat_map(|((place, count), held)| {
            let missing = scene.group.ring().get(*place);
            let why = missing.map_or(String::new(), |id| format!("needs {id}#{count} first"));
            held.iter()
                .map(move |held| Item::new(held.msg.post.id).note(why.clone()).tone(Tone::Waits))
        });
        let phase = match self.queue {
            0 => String::new(),
            1 => "holds 1 message back".to_owned(),
            n => format!("holds {n} messages back"),
        };
        ProcessView::new(if self.outside { "takes no part".to_owned() } else { phase })
            .table("delivered of each", scene.each(self.clock.counters()))
            .set("held back", held)
    }
}

impl Algorithm for Causal {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: "causal-broadcast",
            family: "order",
            title: "Causal-order broadcast",
            source: "Birman, Schiper and Stephenson, ACM TOCS 9(3), 1991",
            cost: "n-1 a broadcast",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("causal.rs"),
            example: "order/causal-broadcast-question-and-answer.txt",
        };
        Definition::<Self>::new(entry, |settings, _| Config {
            answers: answers(settings).unwrap_or(0),
            unordered: settings.options.is_on("unordered"),
            timeout: settings.timeout,
        })
        .options(&[
            ANSWERS,
            Opt {
                name: "unordered",
                value: None,
                help: "Deliver messages as they come, without causal order",
            },
        ])
        .checks(|settings, _| answers(settings).map(drop))
        .verbs(&["broadcast", "work"], Input::of, |input| input.verb().into())
        .work(|_| true)
        .kinds(&["CBCAST"])
        .goal(Goal::<Self>::new(
            "delivered",
            "everything that was broadcast is delivered by every live process",
            |processes| {
                let mut known: Option<VectorClock> = None;
                for (_, process) in processes.filter(|(_, process)| !process.outside) {
                    let known = known.get_or_insert_with(|| process.clock.clone());
                    if process.clock != *known {
                        return false;
                    }
                }
                true
            },
        ))
        // A chain of answers takes a message each, and each is held back for another at most.
        .settles_within(|config, _, _| {
            config.timeout.saturating_mul(config.answers.saturating_add(4))
        })
        .view(|process, _, scene| process.view(scene))
        .referee(|_, group| Promises::causal().referee(group))
        .costs(costs)
    }
}

fn costs(n: u32) -> Vec<Cost> {
    let k = u64::from(n);
    let cost = |case, formula, each, count, senders| {
        Cost::sum(case, formula, &[(&["CBCAST"], each, count)], [broadcasts(n, senders)])
    };
    vec![
        cost("one broadcasts", "n-1", "n-1", k - 1, 1..=1).rank(Rank::Best),
        cost("all broadcast", "n(n-1) for n", "n(n-1)", k * (k - 1), 1..=n),
    ]
}

#[cfg(test)]
#[path = "tests/causal.rs"]
mod tests;
