//! Lamport's queue ("Time, clocks, and the ordering of events in a distributed system", 1978).
//!
//! Every process keeps the same queue of requests, sorted by logical time. A process may enter when
//! its request is the first and no earlier one can come any more.
//!
//! # Rules
//! * LA1 To enter: stamp the request with (time, id), put it into the queue and send REQUEST(time)
//!   to all others.
//! * LA2 REQUEST: put it into the queue and answer with a REPLY that is stamped later.
//! * LA3 Enter when the own request is at the head of the queue and from every other process a
//!   message has come, of whatever kind, that is stamped later than it.
//! * LA4 To leave: take the request off the queue and send RELEASE to all others.
//! * LA5 RELEASE: take its sender's request off the queue.
//!
//! Every message is stamped by its sender's clock. A message moves the receiver's clock past its
//! stamp, and a request moves its maker's clock on by one. Nothing compares other events, so they
//! are not counted.
//!
//! # Why it is right
//! After a message that is stamped later than a request, its sender stamps its own requests later
//! too. Those that it stamped earlier have come before, because channels are FIFO: so a process that
//! enters knows of all earlier requests, and that all of them are off the queue. Without FIFO a
//! REPLY may overtake an earlier REQUEST, and two are inside.
//!
//! # Assumes
//! FIFO channels that lose and double nothing. Any delays.
//!
//! # Costs
//! 3(n-1) messages an entry, always. Between two entries lies a RELEASE: T.
//!
//! # Departures
//! A REPLY is stamped with the first moment after its request that the sender's clock has seen, and
//! not with the present one. That is late enough, and replies do not drive clocks apart: exploring
//! all runs, there are several times fewer states to tell from each other.
//!
//! RELEASE carries the number of the entry that is over. The next number is one more than the
//! largest heard of. That is exact: entries go by stamp, so a process that enters has the RELEASE of
//! the entry just before, as of all earlier ones, and no later one has begun.

use super::costs::{RELEASE, REPLY, REQUEST, all_ask, one_asks};
use super::stamp::Stamp;
use super::{Granted, Input, Mutex, Opening, counted};
use crate::cost::Cost;
use crate::definition::{Entry, Topology};
use crate::show::{Item, ProcessView, Scene, Tone};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process, SortedSet};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What everybody tells everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "I want to enter."
    Request {
        /// The sender's clock, and the time of the request.
        time: u64,
    },
    /// "I know of your request, and mine to come are later."
    Reply {
        /// Just after the request, by the sender's clock.
        time: u64,
    },
    /// "I have left."
    Release {
        /// The sender's clock.
        time: u64,
        /// The number of the entry that is over; 0 if it began before this view.
        entry: u64,
    },
}

impl Msg {
    fn time(self) -> u64 {
        match self {
            Msg::Request { time } | Msg::Reply { time } | Msg::Release { time, .. } => time,
        }
    }
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Request { .. } => "REQUEST",
            Msg::Reply { .. } => "REPLY",
            Msg::Release { .. } => "RELEASE",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.kind().name, self.time())
    }
}

/// One process of Lamport's algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lamport {
    /// Above every stamp that was heard, and not below any that was given.
    clock: u64,
    /// What is known of each process, by place.
    peers: Vec<Peer>,
    /// All open requests, the own one too; at most one of each process.
    queue: SortedSet<Stamp>,
    own: Own,
    /// The number of the last entry that is known to be over.
    over: u64,
}

/// What is known of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Peer {
    /// Whether something has come from it that is stamped later than the own request. Looked at
    /// while that waits, and false at all other times.
    later: bool,
    /// Its request in the queue.
    asked: Option<Stamp>,
}

/// The own request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Own {
    #[default]
    None,
    /// It is in the queue.
    Waiting {
        stamp: Stamp,
        /// From how many nothing has come that is stamped later.
        missing: usize,
    },
    /// It is granted, and still in the queue.
    Inside { stamp: Stamp, entry: u64 },
}

type Cx<'a> = Context<'a, Lamport>;

impl Process for Lamport {
    type Msg = Msg;
    type Timer = ();
    type Input = Input;
    type Output = Granted;
    type Durable = ();
    type Config = Opening;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Fifo);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_>) {
        let (opening, group, me) = (cx.config(), cx.group(), cx.me());
        self.peers = vec![Peer::default(); group.len()];
        // As if everybody had heard and answered all open requests.
        for (by, time) in opening.queue() {
            let Some(place) = group.place(by) else { continue };
            let stamp = Stamp { time, by };
            self.append(place, stamp);
            self.clock = time + 1;
            if opening.is_inside(me) && by == me {
                self.own = Own::Inside { stamp, entry: 0 };
            } else if by == me {
                self.own = Own::Waiting { stamp, missing: 0 };
            }
        }
        if matches!(self.own, Own::Waiting { .. }) {
            let me = cx.place();
            let others = self.peers.iter_mut().enumerate().filter(|(place, _)| *place != me);
            others.for_each(|(_, peer)| peer.later = true);
        }
        self.enter_if_first(cx);
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match (input, self.own) {
            (Input::Request, Own::None) => self.request(cx),
            (Input::Release, Own::Inside { entry, .. }) => self.release(entry, cx),
            (Input::Request | Input::Release, _) => {}
        }
    }

    #[inline]
    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        let Some(place) = cx.group().place(from).filter(|place| *place != cx.place()) else {
            return;
        };
        self.hear(place, Stamp { time: msg.time(), by: from });
        match msg {
            Msg::Request { time } => {
                cx.rule("LA2");
                self.append(place, Stamp { time, by: from });
                cx.send(from, Msg::Reply { time: time.saturating_add(1) });
            }
            Msg::Reply { .. } => {}
            Msg::Release { entry, .. } => {
                cx.rule("LA5");
                self.remove(place);
                self.over = self.over.max(entry);
            }
        }
        self.enter_if_first(cx);
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl Lamport {
    /// LA1.
    fn request(&mut self, cx: &mut Cx<'_>) {
        cx.rule("LA1");
        self.clock = self.clock.saturating_add(1);
        let time = self.clock;
        let stamp = Stamp { time, by: cx.me() };
        self.append(cx.place(), stamp);
        // The clock was above all that was heard: nothing of it is later.
        self.own = Own::Waiting { stamp, missing: cx.group().len() - 1 };
        cx.others().for_each(|id| cx.send(id, Msg::Request { time }));
        self.enter_if_first(cx);
    }

    /// Takes note of a message with this stamp.
    #[inline]
    fn hear(&mut self, place: usize, said: Stamp) {
        self.clock = self.clock.max(said.time.saturating_add(1));
        let later = &mut self.peers[place].later;
        if let Own::Waiting { stamp, missing } = &mut self.own
            && !*later
            && said > *stamp
        {
            *later = true;
            *missing = missing.saturating_sub(1);
        }
    }

    /// LA3.
    #[inline]
    fn enter_if_first(&mut self, cx: &mut Cx<'_>) {
        if let Own::Waiting { stamp, missing: 0 } = self.own
            && self.queue.first() == Some(&stamp)
        {
            cx.rule("LA3");
            let entry = self.over.saturating_add(1);
            self.own = Own::Inside { stamp, entry };
            self.peers.iter_mut().for_each(|peer| peer.later = false);
            cx.emit(Granted(entry));
        }
    }

    /// LA4.
    fn release(&mut self, entry: u64, cx: &mut Cx<'_>) {
        cx.rule("LA4");
        self.own = Own::None;
        self.over = self.over.max(entry);
        self.remove(cx.place());
        let time = self.clock;
        cx.others().for_each(|id| cx.send(id, Msg::Release { time, entry }));
    }

    /// Puts a request into the queue, in the stead of the one before of the same process, if that
    /// is still there.
    fn append(&mut self, place: usize, stamp: Stamp) {
        self.remove(place);
        self.peers[place].asked = Some(stamp);
        self.queue.insert(stamp);
    }

    fn remove(&mut self, place: usize) {
        if let Some(stamp) = self.peers[place].asked.take() {
            self.queue.remove(&stamp);
        }
    }
}

impl Mutex for Lamport {
    const ENTRY: Entry = Entry {
        name: "lamport",
        family: "mutex",
        title: "Lamport's queue",
        source: "Lamport, CACM 21(7), 1978",
        cost: "3(n-1) an entry",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
        docs: essay!("lamport.rs"),
        example: "mutex/lamport-crossing-requests.txt",
    };

    const TOKEN: bool = false;

    fn costs(n: u32) -> Vec<Cost> {
        let each = [REQUEST, REPLY, RELEASE].map(|kind| (kind, "n-1", u64::from(n) - 1));
        vec![one_asks(n, "3(n-1)", &each), all_ask(n, "3(n-1)", &each)]
    }

    fn place(&self) -> Option<u64> {
        match self.own {
            Own::None => None,
            Own::Waiting { stamp, .. } | Own::Inside { stamp, .. } => Some(stamp.place()),
        }
    }

    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let own = match self.own {
            Own::None => None,
            Own::Waiting { stamp, .. } | Own::Inside { stamp, .. } => Some(stamp),
        };
        let first = self.queue.first().filter(|first| Some(**first) != own);
        let phase = match (self.own, first) {
            (Own::Waiting { missing, .. }, _) if missing > 0 => {
                format!("waits for {}", counted(missing, "answer", "answers"))
            }
            (Own::Waiting { .. }, Some(first)) => format!("waits for {}", first.by),
            _ => String::new(),
        };
        let silent = scene.each(&self.peers).filter(|(id, peer)| !peer.later && *id != scene.me);
        let silent = silent.filter(|_| matches!(self.own, Own::Waiting { .. }));
        ProcessView::new(phase)
            .text("clock", self.clock)
            .queue(
                "requests by time stamp",
                self.queue.iter().map(|stamp| {
                    Item::of(stamp.by).note(stamp.time).tone_if(Some(*stamp) == own, Tone::Strong)
                }),
            )
            .set("no later message from", silent.map(|(id, _)| Item::of(id).tone(Tone::Waits)))
    }
}

#[cfg(test)]
#[path = "tests/lamport.rs"]
mod tests;
