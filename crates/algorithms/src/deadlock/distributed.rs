//! The fully distributed detector (Silberschatz, Galvin and Gagne, Operating System Concepts; after
//! Obermarck, ACM TODS 7(2), 1982).
//!
//! No site sees the whole wait-for graph. Each keeps its own part and one more vertex, P_ex, for
//! all that goes on elsewhere: P_ex -> P_i if P_i waits here and holds something elsewhere, and
//! P_i -> P_ex if P_i holds something here and waits elsewhere. A cycle without P_ex is a deadlock.
//! A cycle through P_ex may be a part of one: then the path is sent on to where it goes on, and the
//! site that joins all parts has found the deadlock.
//!
//! # Rules
//! * D1 A cycle in the local graph without P_ex: a deadlock.
//! * D2 A cycle P_ex -> P_k1 -> ... -> P_kn -> P_ex in the local graph: send PATH(P_k1 ... P_kn) to
//!   the site where P_kn waits, but only if id(P_kn) < id(P_k1). Otherwise do nothing: if there is
//!   a deadlock, another site will send.
//! * D3 PATH: add its edges to the local graph and search again. If it leads back to its first, the
//!   cycle is a deadlock; if it leads on to P_ex, D2 applies to the longer path.
//! * D4 The local graph changes: search again. A path is sent once.
//! * D5 When P_kn ceases to wait, a PATH that ended with it is forgotten.
//!
//! # Why one site finds it
//! Cut the cycle where it goes from site to site. Each piece begins with a transaction that waits
//! at the piece's site and holds something at the site before; let P_m be the largest of these. The
//! path that begins with P_m is sent on by every site, until it comes to the piece that ends with
//! P_m: there it closes, and P_m does not wait at that site. A path that begins with a smaller one
//! is stopped before P_m at the latest. A path may also begin within a piece, if the transaction
//! holds something elsewhere that has nothing to do with the cycle; if it goes all the way round, it
//! closes where its first transaction waits, and does not count. And a path that leads into the
//! cycle from outside never comes back to its first. So P_m's path is the only one to find it.
//!
//! # Assumes
//! FIFO channels that lose and double nothing, and no crashes. Nothing about delays.
//!
//! # Costs
//! For a cycle over s sites s-1 to s(s-1)/2 PATH messages: the path that begins at a site travels
//! until it comes to a larger transaction. It is s-1 if the transactions where the cycle changes
//! sites grow along it, and s(s-1)/2 if they shrink.
//!
//! # Departures
//! The text leaves open how a site knows who waits elsewhere. Here the site where a transaction
//! waits tells those where it holds something (WAITS, PROCEEDS; overhead). Whether a transaction there
//! really waits for it is not known: P_ex -> P_i if one may. And since the parts of a path were
//! seen at different times, a cycle is [confirmed](super::site) before a transaction is aborted.

use super::detector::{Detector, DetectorOutput, Event, Waiter};
use super::local::{Absence, Local};
use super::names::{Cycle, Edge, Path, Tx, drawn};
use super::workload;
use crate::cost::Expected::Exact;
use crate::cost::{Cost, Rank};
use crate::definition::{Entry, Settings, Topology};
use crate::options::Opt;
use crate::rings::{ascending, circles, descending};
use crate::show::{ProcessView, Scene, Shape};
use bellwether_core::{
    Assumptions, Channels, Context, Group, Kind, Message, NodeId, Process, SortedMap, SortedSet,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// "This is a part of a cycle, if anything" (D2).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Msg {
    /// The path, in order.
    path: Vec<Edge>,
    /// The timestamp of the request by which its last transaction waits at the receiver's.
    label: u64,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol("PATH")
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PATH({})", Path(&self.path))
    }
}

/// The detector at one site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Distributed {
    local: Local,
    /// The paths that other sites have sent, by their last transactions, which wait here.
    paths: SortedMap<Tx, SortedSet<Vec<Edge>>>,
    /// The paths that were sent, by their last transactions and the requests by which those wait
    /// (D4).
    sent: SortedMap<(Tx, u64), SortedSet<Vec<Edge>>>,
    /// The cycles that were told and may still be in the graph.
    told: SortedSet<Cycle>,
}

type Cx<'a> = Context<'a, Distributed>;

impl Process for Distributed {
    type Msg = Msg;
    type Timer = ();
    type Input = Event;
    type Output = DetectorOutput;
    type Durable = ();
    type Config = ();

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Fifo);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, _: &mut Cx<'_>) {}

    fn on_input(&mut self, event: Event, cx: &mut Cx<'_>) {
        let site = cx.me();
        match event {
            Event::Waits(waiter) => {
                let closed = self.local.waits(waiter, site);
                self.tell(closed, cx);
                self.search(waiter.tx, cx);
            }
            Event::Ceases(tx, label) => self.ceased(tx, label, cx),
            Event::Holds(name, holder) => {
                let closed = self.local.holds(name, holder, site);
                self.tell(closed, cx);
            }
            Event::Away(tx, label, at) => {
                self.local.goes(tx, Absence { label, at });
                self.search(tx, cx);
            }
            Event::Back(tx, label) => {
                self.local.comes_back(tx, label);
                self.sent.remove(&(tx, label));
            }
            Event::Refuted(edges) => self.refuted(&edges),
            Event::Survey(_) | Event::Detect | Event::Elect(_) => {}
        }
    }

    fn on_message(&mut self, _: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        let Some(last) = msg.path.last().map(|edge| edge.holder) else { return };
        // D5: it may have ceased to wait while the path was on the way.
        if self.local.waiter(last).is_none_or(|waiter| waiter.label != msg.label) {
            return;
        }
        if self.paths.entry(last).or_default().insert(msg.path.clone()) {
            cx.rule("D3");
            self.extend(&msg.path, last, cx);
        }
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl Distributed {
    /// D1: tells of cycles that were not told before.
    fn tell(&mut self, found: Vec<Cycle>, cx: &mut Cx<'_>) {
        for cycle in found {
            if self.told.insert(cycle.clone()) {
                cx.rule("D1");
                cx.emit(DetectorOutput::Suspects(cycle));
            }
        }
    }

    /// D4: searches all paths over this transaction.
    fn search(&mut self, tx: Tx, cx: &mut Cx<'_>) {
        for Waiter { tx, elsewhere, .. } in self.local.upstream(tx) {
            if elsewhere {
                self.extend(&[], tx, cx);
            }
            for path in self.paths.get(&tx).cloned().into_iter().flatten() {
                self.extend(&path, tx, cx);
            }
        }
    }

    /// D3 and D2: a path that leads to this transaction goes on to wherever the transaction's waiting
    /// leads.
    fn extend(&mut self, path: &[Edge], tx: Tx, cx: &mut Cx<'_>) {
        let mut whole = path.to_vec();
        let first = whole.first().map_or(tx, |edge| edge.waiter);
        let passed: SortedSet<Tx> = whole.iter().map(|edge| edge.waiter).collect();
        for edge in self.local.chain(tx, cx.me()) {
            whole.push(edge);
            if edge.holder == first && !path.is_empty() {
                return self.close(first, whole, cx);
            }
            // It leads into a cycle that its first is not on: whose path that is will find it.
            if passed.contains(&edge.holder) {
                return;
            }
        }
        let Some(last) = whole.last().map(|edge| edge.holder) else { return };
        let Some(Absence { label, at }) = self.local.absence(last) else { return };
        if last < first && self.sent.entry((last, label)).or_default().insert(whole.clone()) {
            cx.rule("D2");
            cx.send(at, Msg { path: whole, label });
        }
    }

    /// D3: the path leads back to its first. If the first waits here too, another path, which begins
    /// where the cycle comes to a site, has gone round as well, and is the one that counts.
    fn close(&mut self, first: Tx, path: Vec<Edge>, cx: &mut Cx<'_>) {
        if self.local.waiter(first).is_none() {
            self.tell(Cycle::new(path).into_iter().collect(), cx);
        }
    }

    /// D5.
    fn ceased(&mut self, tx: Tx, label: u64, cx: &mut Cx<'_>) {
        let Some(left) = self.local.ceases(tx, label, cx.me()) else { return };
        self.told.retain(|cycle| !cycle.contains(tx));
        self.paths.remove(&tx);
        self.tell(left, cx);
    }

    /// Forgets what is not true any more.
    fn refuted(&mut self, edges: &[Edge]) {
        for paths in self.paths.values_mut() {
            paths.retain(|path| !path.iter().any(|edge| edges.contains(edge)));
        }
    }
}

/// Where not all arrangements of ids can be tried, the mean is taken over this many.
const SAMPLED_RINGS: u64 = 50;

impl Detector for Distributed {
    const ENTRY: Entry = Entry {
        name: "deadlock-distributed",
        family: "deadlock",
        title: "Distributed deadlock detection",
        source: "Silberschatz, Galvin and Gagne; after Obermarck, ACM TODS 7(2), 1982",
        cost: "s-1 to s(s-1)/2 a cycle over s sites",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
        docs: essay!("distributed.rs"),
        example: "deadlock/distributed-two-sites.txt",
    };

    const OPTIONS: &'static [Opt] = workload::OPTIONS;
    const VERBS: &'static [&'static str] = workload::VERBS;
    const KINDS: &'static [&'static str] = &["PATH"];
    const NEEDS_NOTES: bool = true;
    const ONE_FINDER: bool = true;
    const RESTLESS: bool = false;

    /// The path of each site travels to the site before that of the next larger transaction: as the
    /// numbers of Chang and Roberts do, less the last hop of each.
    fn costs(n: u32) -> Vec<Cost> {
        if n == 1 {
            return Vec::new();
        }
        let s = u64::from(n);
        let cost = |case, rank, formula, expected, rings: Vec<Vec<u32>>| {
            let trials = rings.into_iter().map(|ring| workload::cycle(&ring, 0));
            let parts = [(&["PATH"][..], formula, expected)];
            Cost::new(case, formula, expected, trials).rank(rank).parts(parts)
        };
        let (mean, rings) = circles(n, SAMPLED_RINGS, 1);
        let (least, most) = (Exact(s - 1), Exact(s * (s - 1) / 2));
        let (up, down) = (vec![ascending(n)], vec![descending(n)]);
        vec![
            cost("ids rise along the cycle", Rank::Best, "s-1", least, up),
            cost("all arrangements of ids", Rank::Average, "s(H(s)-1)", mean, rings),
            cost("ids fall along the cycle", Rank::Worst, "s(s-1)/2", most, down),
        ]
    }

    fn config(_: &Settings, _: &Group) {}

    fn wakes_within((): &(), _: &Group) -> Duration {
        Duration::ZERO
    }

    fn event(_: &str) -> Option<Event> {
        None
    }

    fn reported(&self) -> &SortedSet<Cycle> {
        &self.told
    }

    fn view(&self, view: ProcessView, _: &Scene<'_>) -> ProcessView {
        let edges = self.paths.values().flatten().flatten();
        let outside = self.local.outside();
        view.row("with P_ex, for what is elsewhere", Shape::Graph, outside).row(
            "path sent by other sites",
            Shape::Graph,
            edges.map(|edge| drawn(edge, &self.told)),
        )
    }
}

#[cfg(test)]
#[path = "tests/distributed.rs"]
mod tests;
