//! The central coordinator (Silberschatz, Galvin and Gagne, Operating System Concepts).
//!
//! One process keeps the table: who is inside and who waits. It is the elected coordinator, so
//! when it dies, the next one takes over with a table made from what the others know.
//!
//! # Rules
//! * C1 To enter: send REQUEST to the coordinator and wait for GRANTED.
//! * C2 REQUEST at the coordinator, no process inside: GRANTED. A process inside: put the request at
//!   the end of the queue and answer DENIED, so that a waiter can tell "busy" from "dead".
//! * C3 To leave: send RELEASE to the coordinator, which sends GRANTED to the head of the queue.
//!
//! # Assumes
//! Nothing about order or delays. Channels lose and double nothing.
//!
//! # Costs
//! 3 messages an entry, 4 with DENIED; none for the coordinator itself. Between two entries lie
//! RELEASE and GRANTED: 2T.
//!
//! # Departures
//! DENIED and GRANTED carry the place of the request in the order of arrival. When the coordinator
//! dies, that is how its successor knows who was first.

use super::costs::{Count, RELEASE, REQUEST, saturated};
use super::{Granted, Input, Mutex, Opening};
use crate::cost::Expected::Exact;
use crate::cost::{Cost, Entries, Kinds, Load, Rank};
use crate::definition::{Entry, Topology};
use crate::rings::ascending;
use crate::show::{Item, ProcessView, Scene};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;

/// What is said between clients and coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "Let me in."
    Request,
    /// "A process is inside; you have this place."
    Denied {
        /// In the order of arrival.
        arrival: u64,
    },
    /// "You are inside."
    Granted {
        /// In the order of arrival.
        arrival: u64,
        /// Which entry this is.
        entry: u64,
    },
    /// "I have left."
    Release,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Request => "REQUEST",
            Msg::Denied { .. } => "DENIED",
            Msg::Granted { .. } => "GRANTED",
            Msg::Release => "RELEASE",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind().name;
        match self {
            Msg::Granted { entry, .. } => write!(f, "{kind}(#{entry})"),
            Msg::Request | Msg::Denied { .. } | Msg::Release => f.write_str(kind),
        }
    }
}

/// One process under a central coordinator; the coordinator is one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Central {
    /// The place of the own request, once the coordinator has said it.
    arrival: Option<u64>,
    /// The place of the last own request that was granted. A DENIED up to it comes late.
    granted: u64,
    /// The coordinator's table.
    table: Option<Box<Table>>,
}

/// Who is inside and who waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Table {
    inside: Option<NodeId>,
    /// Those that wait, with their places.
    queue: VecDeque<(NodeId, u64)>,
    arrivals: u64,
    entries: u64,
}

type Cx<'a> = Context<'a, Central>;

impl Process for Central {
    type Msg = Msg;
    type Timer = ();
    type Input = Input;
    type Output = Granted;
    type Durable = ();
    type Config = Opening;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_>) {
        let opening = cx.config();
        let mut queue: VecDeque<(NodeId, u64)> = opening.queue().collect();
        self.arrival = queue.iter().find(|(id, _)| *id == cx.me()).map(|(_, arrival)| *arrival);
        if opening.coordinator == cx.me() {
            let arrivals = queue.len() as u64;
            if opening.inside.is_some() {
                queue.pop_front();
            }
            let table = Table { inside: opening.inside, queue, arrivals, entries: 0 };
            self.table = Some(Box::new(table));
            self.grant(cx);
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        let coordinator = cx.config().coordinator;
        match input {
            Input::Request if coordinator == cx.me() => self.requested(cx.me(), cx),
            Input::Request => {
                cx.rule("C1");
                cx.send(coordinator, Msg::Request);
            }
            Input::Release => {
                self.arrival = None;
                if coordinator == cx.me() {
                    self.released(cx);
                } else {
                    cx.rule("C3");
                    cx.send(coordinator, Msg::Release);
                }
            }
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request => self.requested(from, cx),
            Msg::Release => self.released(cx),
            Msg::Denied { arrival } => {
                // GRANTED may have overtaken it, and then it is about a request that is over.
                if arrival > self.granted {
                    self.arrival = Some(arrival);
                }
            }
            Msg::Granted { arrival, entry } => {
                (self.arrival, self.granted) = (Some(arrival), arrival);
                cx.emit(Granted(entry));
            }
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl Central {
    /// C2.
    fn requested(&mut self, by: NodeId, cx: &mut Cx<'_>) {
        let Some(table) = &mut self.table else { return };
        cx.rule("C2");
        table.arrivals += 1;
        let arrival = table.arrivals;
        table.queue.push_back((by, arrival));
        if table.inside.is_none() {
            self.grant(cx);
        } else if by == cx.me() {
            self.arrival = Some(arrival);
        } else {
            cx.send(by, Msg::Denied { arrival });
        }
    }

    /// C3, at the coordinator.
    fn released(&mut self, cx: &mut Cx<'_>) {
        let Some(table) = &mut self.table else { return };
        cx.rule("C3");
        table.inside = None;
        self.grant(cx);
    }

    /// Lets the head of the queue in, if no process is inside.
    fn grant(&mut self, cx: &mut Cx<'_>) {
        let Some(table) = self.table.as_mut().filter(|table| table.inside.is_none()) else {
            return;
        };
        let Some((next, arrival)) = table.queue.pop_front() else { return };
        table.inside = Some(next);
        table.entries += 1;
        let entry = table.entries;
        if next == cx.me() {
            self.arrival = Some(arrival);
            cx.emit(Granted(entry));
        } else {
            cx.send(next, Msg::Granted { arrival, entry });
        }
    }
}

impl Mutex for Central {
    const ENTRY: Entry = Entry {
        name: "central",
        family: "mutex",
        title: "Central coordinator",
        source: "Silberschatz, Galvin and Gagne, Operating System Concepts",
        cost: "3 an entry, 4 with DENIED, 0 for the coordinator itself",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
        docs: essay!("central.rs"),
        example: "mutex/central-request-denied-grant-release.txt",
    };

    const TOKEN: bool = false;

    /// The source's 3 are for a client; the coordinator asks itself, which costs nothing. If it
    /// competes too, every n-th entry is its own, and the way to it and from it is one hop instead
    /// of two.
    fn costs(n: u32) -> Vec<Cost> {
        const GRANTED: Kinds = &["GRANTED"];
        const DENIED: Kinds = &["DENIED"];
        const THREE: Kinds = &["REQUEST", "GRANTED", "RELEASE"];
        let clients = ascending(n - 1);
        let others = u64::from(n) - 1;
        let each = [REQUEST, GRANTED, RELEASE, DENIED].map(|kind| (kind, "1", 1));
        let itself = [Entries::new(Load::Alone, [n])];
        let mut costs =
            vec![Cost::new("the coordinator asks", "0", Exact(0), itself).rank(Rank::Best)];
        if n > 1 {
            let client = [Entries::new(Load::Alone, clients.clone())];
            costs.push(Cost::sum("a client asks", "3", &each[..3], client).rank(Rank::Average));
        }
        if n > 2 {
            let busy = [Entries::new(Load::Relay, clients.clone())];
            let busy = Cost::sum("a client asks while it is busy", "3 + 1 DENIED", &each, busy);
            costs.push(busy.delay("2T", Exact(2)));
        }
        let round = |case, formula, parts: &[Count], delay, ids: &[u32]| {
            let entries = Entries::new(Load::Always, ids.to_vec());
            saturated(case, formula, parts, (delay, 2 * others), entries)
        };
        let (case, formula) = ("all clients ask always", "3 + 1 DENIED");
        match n {
            1 => {}
            // A lone client finds no process inside.
            2 => costs.push(round(case, "3", &[(THREE, "3", 3)], "2T", &clients)),
            _ => {
                let parts: [Count; 2] = [(THREE, "3", 3 * others), (DENIED, "1", others)];
                costs.push(round(case, formula, &parts, "2T", &clients));
            }
        }
        let parts: [Count; 2] = [(THREE, "3(n-1)/n", 3 * others), (DENIED, "(n-1)/n", others)];
        let (formula, delay) = ("(3 + 1 DENIED)(n-1)/n", "2(n-1)/n T");
        let all = round("all ask always", formula, &parts, delay, &ascending(n));
        costs.push(all.rank(Rank::Other));
        costs
    }

    fn place(&self) -> Option<u64> {
        self.arrival
    }

    fn view(&self, _: &Scene<'_>) -> ProcessView {
        let phase = self.arrival.map(|place| format!("is number {place} to ask"));
        let view = ProcessView::new(phase.unwrap_or_default());
        let Some(table) = &self.table else { return view };
        let waiting = table.queue.iter().map(|(who, place)| Item::of(*who).note(place));
        view.text("inside", table.inside.map_or("none".to_owned(), |who| who.to_string()))
            .queue("waiting", waiting)
    }
}

#[cfg(test)]
#[path = "tests/central.rs"]
mod tests;
