//! Ricart and Agrawala's algorithm ("An optimal algorithm for mutual exclusion in computer
//! networks", 1981).
//!
//! Lamport's queue without the queue: a process needs the permission of all others, and a process
//! that wants to enter earlier gives it only when it has left. So the REPLY is also the RELEASE.
//!
//! # Rules
//! * A1 To enter: stamp the request with (time, id), later than all requests heard of, and send
//!   REQUEST(time) to all others.
//! * A2 REQUEST: answer with REPLY at once; but a process that is inside, or waits with an earlier
//!   stamp, defers the answer.
//! * A3 Enter when all others have sent a REPLY.
//! * A4 To leave: send REPLY to all that were deferred.
//!
//! # Why it is right
//! Take two open requests. If each process heard of the other's request after making its own, the
//! one with the later stamp is deferred by the other. Otherwise one answered before it made its
//! own, which is therefore stamped later, and again is deferred. So of two requests the one with
//! the earlier stamp is granted first, and the other only when that is over.
//!
//! # Assumes
//! Nothing about order or delays. Channels lose and double nothing.
//!
//! # Costs
//! 2(n-1) messages an entry, always. Between two entries lies a REPLY: T.
//!
//! # Order
//! By stamp. Only a REQUEST tells of time, as in the paper: a process may get a REPLY from a waiting
//! process, ask again before the other's REQUEST has come, and be stamped earlier.
//!
//! # Departures
//! REPLY carries the number of the last entry that its sender knows of; the next number is one more
//! than the largest. That is exact: let j have been inside last before i enters. Had j sent its
//! REPLY to i before it asked for that entry, its stamp would be later than i's and i would be
//! first; while it waited and was inside it deferred. So it sent REPLY afterwards, with the number
//! of that entry. And there is no larger number, because numbers are given from inside only.

use super::costs::{REPLY, REQUEST, all_ask, one_asks};
use super::stamp::Stamp;
use super::{Granted, Input, Mutex, Opening, counted};
use crate::cost::Cost;
use crate::definition::{Entry, Topology};
use crate::show::{Item, ProcessView, Scene, Tone};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is asked and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "May I enter?"
    Request {
        /// The time of the request.
        time: u64,
    },
    /// "As far as I am concerned."
    Reply {
        /// The number of the last entry that the sender knows of.
        entry: u64,
    },
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Request { .. } => "REQUEST",
            Msg::Reply { .. } => "REPLY",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Request { time } => write!(f, "REQUEST({time})"),
            Msg::Reply { .. } => f.write_str("REPLY"),
        }
    }
}

/// One process of Ricart and Agrawala.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    /// The latest time of a request, heard of or made.
    clock: u64,
    own: Own,
    /// Whose requests wait for the end of the own one, by place.
    deferred: Vec<bool>,
    /// The number of the last entry that is known of.
    entry: u64,
}

/// The own request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Own {
    #[default]
    None,
    Waiting {
        stamp: Stamp,
        /// How many have not sent a REPLY.
        missing: usize,
    },
    Inside {
        stamp: Stamp,
    },
}

type Cx<'a> = Context<'a, RicartAgrawala>;

impl Process for RicartAgrawala {
    type Msg = Msg;
    type Timer = ();
    type Input = Input;
    type Output = Granted;
    type Durable = ();
    type Config = Opening;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_>) {
        let (opening, group, me) = (cx.config(), cx.group(), cx.me());
        self.deferred = vec![false; group.len()];
        // As if everybody had heard all open requests: those before the own one have deferred it,
        // it has deferred those after it, and all other answers have come.
        let mut missing = 0;
        for (by, time) in opening.queue() {
            let Some(place) = group.place(by) else { continue };
            self.clock = time;
            let stamp = Stamp { time, by };
            match self.own {
                Own::None if by != me => missing += 1,
                Own::None if opening.is_inside(me) => self.own = Own::Inside { stamp },
                Own::None => self.own = Own::Waiting { stamp, missing },
                Own::Waiting { .. } | Own::Inside { .. } => self.deferred[place] = by != me,
            }
        }
        self.enter_if_permitted(cx);
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match (input, self.own) {
            (Input::Request, Own::None) => self.request(cx),
            (Input::Release, Own::Inside { .. }) => self.release(cx),
            (Input::Request | Input::Release, _) => {}
        }
    }

    #[inline]
    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        let Some(place) = cx.group().place(from).filter(|place| *place != cx.place()) else {
            return;
        };
        match msg {
            Msg::Request { time } => self.requested(place, Stamp { time, by: from }, cx),
            Msg::Reply { entry } => self.permitted(entry, cx),
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl RicartAgrawala {
    /// A1.
    fn request(&mut self, cx: &mut Cx<'_>) {
        cx.rule("A1");
        self.clock = self.clock.saturating_add(1);
        let time = self.clock;
        let stamp = Stamp { time, by: cx.me() };
        self.own = Own::Waiting { stamp, missing: cx.group().len() - 1 };
        cx.others().for_each(|id| cx.send(id, Msg::Request { time }));
        self.enter_if_permitted(cx);
    }

    /// A2.
    #[inline]
    fn requested(&mut self, place: usize, theirs: Stamp, cx: &mut Cx<'_>) {
        cx.rule("A2");
        self.clock = self.clock.max(theirs.time);
        let defers = match self.own {
            Own::None => false,
            Own::Waiting { stamp, .. } => stamp < theirs,
            Own::Inside { .. } => true,
        };
        if defers {
            self.deferred[place] = true;
        } else {
            cx.send(theirs.by, Msg::Reply { entry: self.entry });
        }
    }

    /// A REPLY has come. One that no process waits for says nothing.
    #[inline]
    fn permitted(&mut self, entry: u64, cx: &mut Cx<'_>) {
        if let Own::Waiting { missing, .. } = &mut self.own {
            *missing = missing.saturating_sub(1);
            self.entry = self.entry.max(entry);
            self.enter_if_permitted(cx);
        }
    }

    /// A3.
    #[inline]
    fn enter_if_permitted(&mut self, cx: &mut Cx<'_>) {
        if let Own::Waiting { stamp, missing: 0 } = self.own {
            cx.rule("A3");
            self.own = Own::Inside { stamp };
            self.entry = self.entry.saturating_add(1);
            cx.emit(Granted(self.entry));
        }
    }

    /// A4.
    fn release(&mut self, cx: &mut Cx<'_>) {
        cx.rule("A4");
        self.own = Own::None;
        for (id, deferred) in cx.group().ring().iter().zip(&mut self.deferred) {
            if std::mem::take(deferred) {
                cx.send(*id, Msg::Reply { entry: self.entry });
            }
        }
    }
}

impl Mutex for RicartAgrawala {
    const ENTRY: Entry = Entry {
        name: "ricart-agrawala",
        family: "mutex",
        title: "Ricart-Agrawala",
        source: "Ricart and Agrawala, CACM 24(1), 1981",
        cost: "2(n-1) an entry",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
        docs: essay!("ricart_agrawala.rs"),
        example: "mutex/ricart-agrawala-equal-timestamps.txt",
    };

    const TOKEN: bool = false;

    fn costs(n: u32) -> Vec<Cost> {
        let each = [REQUEST, REPLY].map(|kind| (kind, "n-1", u64::from(n) - 1));
        vec![one_asks(n, "2(n-1)", &each), all_ask(n, "2(n-1)", &each)]
    }

    fn place(&self) -> Option<u64> {
        match self.own {
            Own::None => None,
            Own::Waiting { stamp, .. } | Own::Inside { stamp } => Some(stamp.place()),
        }
    }

    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let (phase, stamp) = match self.own {
            Own::None => (String::new(), None),
            Own::Waiting { stamp, missing } => {
                (format!("waits for {}", counted(missing, "REPLY", "REPLYs")), Some(stamp))
            }
            Own::Inside { stamp } => (String::new(), Some(stamp)),
        };
        ProcessView::new(phase)
            .text("clock", self.clock)
            .text_of("own request", stamp.map(|stamp| format!("({}, {})", stamp.time, stamp.by)))
            .set(
                "owes a REPLY to",
                scene.those(&self.deferred).map(|id| Item::of(id).tone(Tone::Waits)),
            )
    }
}

#[cfg(test)]
#[path = "tests/ricart_agrawala.rs"]
mod tests;
