//! The ring election with active lists (Silberschatz, Operating System Concepts, 17.6 / 18.6).
//!
//! Every live process sends its own number once round the ring and keeps a list of the numbers
//! that pass. When its own number comes back, the list is complete, and the largest in it is the
//! coordinator: no announcement is needed.
//!
//! # Rules
//! * R1 Detector i: empty list; send ELECT(i); add i.
//! * R2 ELECT(j) at i:
//!   * a: the first of this election seen or sent: list := [i, j]; send ELECT(i), then ELECT(j);
//!   * b: j is another: add j and pass it on;
//!   * c: j is i: the list holds every live process; the largest is the coordinator.
//! * R3 Recovery: send INQUIRY round. The coordinator answers with REPLY(its number), which goes
//!   on round to the recovered process. If this is larger, it starts an election; if its INQUIRY
//!   comes back unanswered there is no coordinator, and it starts an election too.
//! * R4 ELECT(j) a second time: j did not take it off the ring, so it has died. Strike j from the
//!   list and drop the message.
//!
//! # Assumes
//! FIFO channels: the ELECT of every k comes before any message that has passed k, which is why
//! the list is complete when the own number returns. Without FIFO a list may miss a process, and
//! processes may disagree; a test shows it. Bounded delays, for the [`link`].
//!
//! # Costs
//! Exactly k^2 messages, however many start: each live process's ELECT makes the full round.
//!
//! # Departures
//! Some slides say that i != j completes the list; the book says that it only adds and passes on.
//! Elections are numbered ([`rounds`](super::rounds)), because "the first ELECT seen" must mean the
//! first of this election, and a message left over from an earlier one is not it.

use super::costs::orphaned;
use super::link::{AckTimeout, Arrived, Link, Rider};
use super::rounds::{Relation, Round};
use super::{Config, Election, Incarnation, Input, Output, link};
use crate::cost::{Cost, Rank};
use crate::definition::{Entry, Topology};
use crate::show::{Item, Mark, ProcessView};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What goes round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// "This one lives."
    Elect(NodeId, Round),
    /// "Who coordinates?", asked by a recovered process. Collects the largest round on its way.
    Inquiry(NodeId, Round),
    /// The coordinator's answer.
    Reply {
        /// Who asked.
        to: NodeId,
        /// Who coordinates.
        coordinator: NodeId,
        /// The election that decided so.
        round: Round,
    },
}

impl Message for Body {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Body::Elect(..) => "ELECT",
            Body::Inquiry(..) => "INQUIRY",
            Body::Reply { .. } => "REPLY",
        })
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match self {
            Body::Elect(id, _) | Body::Inquiry(id, _) => id,
            Body::Reply { coordinator, .. } => coordinator,
        };
        write!(f, "{}({})", self.kind().name, number.number())
    }
}

/// One process on the ring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ActiveList {
    incarnation: Incarnation,
    round: Round,
    phase: Phase,
    link: Link<Body>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Knows the outcome of the last election, if there was one, and who lived when it ended.
    Idle { coordinator: Option<NodeId>, list: Vec<NodeId> },
    /// R3: has come back and waits for the answer to its INQUIRY.
    Inquiring,
    /// Its ELECT is on the way; these are known to live, in the order in which they became known.
    Electing { list: Vec<NodeId> },
}

impl Default for Phase {
    fn default() -> Self {
        Phase::Idle { coordinator: None, list: Vec::new() }
    }
}

type Cx<'a> = Context<'a, ActiveList>;

impl Process for ActiveList {
    type Msg = link::Msg<Body>;
    type Timer = AckTimeout;
    type Input = Input;
    type Output = Output;
    type Durable = Incarnation;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::synchronous(Channels::Fifo);

    fn durable(&self) -> Incarnation {
        self.incarnation
    }

    fn on_start(&mut self, saved: Option<Incarnation>, cx: &mut Cx<'_>) {
        let (incarnation, recovered) = Incarnation::next(saved);
        self.incarnation = incarnation;
        self.mount(saved.map(Incarnation::number), cx);
        if recovered {
            cx.rule("R3");
            self.phase = Phase::Inquiring;
            self.forward(Body::Inquiry(cx.me(), self.round), 0, cx);
        } else {
            self.round = Round::FIRST;
            self.phase = Phase::Idle { coordinator: cx.config().coordinator, list: Vec::new() };
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Suspect | Input::Start => self.start_election(cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_>) {
        self.ride(from, msg, cx);
    }

    fn on_timer(&mut self, AckTimeout: AckTimeout, cx: &mut Cx<'_>) {
        self.skip(cx);
    }
}

impl Rider for ActiveList {
    type Body = Body;

    fn link(&mut self) -> &mut Link<Body> {
        &mut self.link
    }

    fn on_arrival(&mut self, Arrived { body, hops }: Arrived<Body>, cx: &mut Cx<'_>) {
        match body {
            Body::Elect(id, round) => {
                let electing = matches!(self.phase, Phase::Electing { .. });
                match self.round.relation(round, electing) {
                    Relation::Newer if id == cx.me() => {
                        // Sent in an earlier life. To join would send it twice, and by R4 the
                        // others would then strike out a process that lives.
                        self.round = round;
                        self.start_election(cx);
                    }
                    Relation::Newer => self.join(id, round, hops, cx),
                    Relation::Current if id == cx.me() => self.complete(cx),
                    Relation::Current => self.add(id, hops, cx),
                    Relation::Behind => self.start_election(cx),
                    Relation::Finished | Relation::Older => {}
                }
            }
            Body::Inquiry(id, round) => self.on_inquiry(id, round, hops, cx),
            Body::Reply { to, coordinator, round } if to == cx.me() => {
                self.on_reply(coordinator, round, cx);
            }
            Body::Reply { .. } => self.forward(body, hops, cx),
        }
    }
}

impl ActiveList {
    /// R1.
    fn start_election(&mut self, cx: &mut Cx<'_>) {
        cx.rule("R1");
        let round = self.round.advance();
        self.phase = Phase::Electing { list: vec![cx.me()] };
        cx.emit(Output::Started);
        self.forward(Body::Elect(cx.me(), round), 0, cx);
    }

    /// R2a.
    fn join(&mut self, id: NodeId, round: Round, hops: u32, cx: &mut Cx<'_>) {
        cx.rule("R2a");
        self.round = round;
        self.phase = Phase::Electing { list: vec![cx.me(), id] };
        self.forward(Body::Elect(cx.me(), round), 0, cx);
        self.forward(Body::Elect(id, round), hops, cx);
    }

    /// R2b and R4.
    fn add(&mut self, id: NodeId, hops: u32, cx: &mut Cx<'_>) {
        let Phase::Electing { list } = &mut self.phase else { return };
        if list.contains(&id) {
            cx.rule("R4");
            list.retain(|known| *known != id);
        } else {
            cx.rule("R2b");
            list.push(id);
            self.forward(Body::Elect(id, self.round), hops, cx);
        }
    }

    /// R2c.
    fn complete(&mut self, cx: &mut Cx<'_>) {
        cx.rule("R2c");
        let list = self.members().to_vec();
        let largest = list.iter().copied().max().unwrap_or(cx.me());
        self.phase = Phase::Idle { coordinator: Some(largest), list };
        cx.emit(Output::Elected(largest));
    }

    /// R3 at the others.
    fn on_inquiry(&mut self, id: NodeId, round: Round, hops: u32, cx: &mut Cx<'_>) {
        cx.rule("R3");
        let round = round.max(self.round);
        if id == cx.me() {
            // Back unanswered. If an election began meanwhile, it will tell.
            if self.phase == Phase::Inquiring {
                self.round = round;
                self.start_election(cx);
            }
        } else if self.coordinator() == Some(cx.me()) {
            let reply = Body::Reply { to: id, coordinator: cx.me(), round };
            self.forward(reply, 0, cx);
        } else {
            self.forward(Body::Inquiry(id, round), hops, cx);
        }
    }

    /// R3 at the one that asked.
    fn on_reply(&mut self, coordinator: NodeId, round: Round, cx: &mut Cx<'_>) {
        if self.phase != Phase::Inquiring {
            return;
        }
        cx.rule("R3");
        self.round = round;
        if cx.me() > coordinator {
            self.start_election(cx);
        } else {
            self.phase = Phase::Idle { coordinator: Some(coordinator), list: Vec::new() };
            cx.emit(Output::Elected(coordinator));
        }
    }
}

impl Election for ActiveList {
    const ENTRY: Entry = Entry {
        name: "active-list",
        family: "election",
        title: "Ring, active lists",
        source: "Silberschatz, Galvin and Gagne, Operating System Concepts, 18.6",
        cost: "k^2, however many start",
        assumes: Self::ASSUMES,
        topology: Topology::Ring,
        docs: essay!("active_list.rs"),
        example: "election/active-list-example-1.txt",
    };

    const CIRCUITS: u32 = 3;

    fn round(&self) -> Round {
        self.round
    }

    fn costs(n: u32) -> Vec<Cost> {
        if n == 1 {
            return Vec::new();
        }
        let square = u64::from(n - 1) * u64::from(n - 1);
        let cost = |case, rank, starters| {
            let trial = orphaned(n, starters);
            Cost::sum(case, "k^2", &[(&["ELECT"], "k^2", square)], [trial]).rank(rank)
        };
        vec![cost("one starts", Rank::Best, 1..=1), cost("all start", Rank::Worst, 1..=n - 1)]
    }

    fn coordinator(&self) -> Option<NodeId> {
        match self.phase {
            Phase::Idle { coordinator, .. } => coordinator,
            Phase::Inquiring | Phase::Electing { .. } => None,
        }
    }

    fn members(&self) -> &[NodeId] {
        match &self.phase {
            Phase::Idle { list, .. } | Phase::Electing { list } => list,
            Phase::Inquiring => &[],
        }
    }

    fn view(&self) -> ProcessView {
        match &self.phase {
            Phase::Idle { coordinator: None, .. } => ProcessView::new("knows no coordinator"),
            Phase::Idle { list, .. } => {
                ProcessView::new("").set("active list", list.iter().map(|id| Item::of(*id)))
            }
            Phase::Inquiring => ProcessView::new("asks who the coordinator is"),
            Phase::Electing { list } => ProcessView::new("collects the active list")
                .mark(Mark::Participant)
                .set("active list so far", list.iter().map(|id| Item::of(*id))),
        }
    }
}

#[cfg(test)]
#[path = "tests/active_list.rs"]
mod tests;
