//! Edge chasing (Chandy, Misra and Haas, "Distributed deadlock detection", ACM TOCS 1(2), 1983; the
//! algorithm for the AND model, as it stands for transactions with agents at several sites).
//!
//! No site collects graphs. For a transaction that may be in a deadlock, its site sends a probe after
//! the one that it waits for; if that waits too, the probe is sent on. A probe that comes back to its
//! first transaction has gone round a cycle.
//!
//! # Rules
//! * E1 A transaction P_i begins to wait here, and the one at the end of its waiting here, P_j,
//!   waits at another site: send PROBE(i, j) there, if a transaction elsewhere may wait for P_i.
//! * E2 It becomes known that P_j, which others wait for here, waits at another site: send
//!   PROBE(j, j) there, if a transaction elsewhere may wait for those.
//! * E3 PROBE(i, j), and P_j waits here: if that leads to P_i, there is a deadlock. If it leads to
//!   some P_k that waits at another site, send PROBE(i, k) there, once for each search.
//! * E4 PROBE(i, j), and P_j does not wait here any more: drop it.
//!
//! # Why it finds every deadlock
//! Some site is the last to learn of its part of a cycle, by a request that waits (E1) or by a note
//! (E2). Then all other sites know theirs, so the probe that it sends goes all the way round. A
//! probe that is dropped because a part is missing does no harm: the site that learns of that part
//! sends one of its own.
//!
//! # Assumes
//! FIFO channels that lose and double nothing, and no crashes. Nothing about delays.
//!
//! # Costs
//! One search sends at most one PROBE along each edge between sites: at most s for a cycle over s
//! sites. There may be several searches for the same cycle, and several may find it.
//!
//! # Departures
//! The paper's probe is three names. Here it also carries the path that it has gone, so that the
//! whole cycle can be told, [confirmed](super::site) and broken at its youngest; a search that finds
//! what another has found already is told that it does not stand, or aborts no transaction.

use super::detector::{Detector, DetectorOutput, Event};
use super::local::{Absence, Local};
use super::names::{Cycle, Edge, Tx};
use super::workload;
use crate::cost::{Cost, Rank};
use crate::definition::{Entry, Settings, Topology};
use crate::options::Opt;
use crate::rings::ascending;
use crate::show::{Item, ProcessView, Scene, Shape, Tone};
use bellwether_core::{
    Assumptions, Channels, Context, Group, Kind, Message, NodeId, Process, SortedMap, SortedSet,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Which search: who began it, and its number there.
type Search = (NodeId, u64);

/// "Does this lead back to whom it is about?"
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Msg {
    /// Which search.
    search: Search,
    /// Whom it is about: P_i.
    about: Tx,
    /// The path from there to the transaction that waits at the receiver's.
    path: Vec<Edge>,
    /// That transaction: P_j.
    to: Tx,
    /// The timestamp of its request.
    label: u64,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol("PROBE")
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.path.last().map_or(self.about, |edge| edge.waiter);
        write!(f, "PROBE({}, {from}, {})", self.about, self.to)
    }
}

/// The detector at one site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EdgeChasing {
    local: Local,
    /// How many searches have begun here.
    searches: u64,
    /// The searches that have come by, by the transaction that waits here.
    seen: SortedMap<Tx, SortedSet<Search>>,
    /// The cycles that were told and may still be there.
    told: SortedSet<Cycle>,
}

type Cx<'a> = Context<'a, EdgeChasing>;

impl Process for EdgeChasing {
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
                if self.may_be_waited_for(waiter.tx) {
                    cx.rule("E1");
                    let path = self.local.chain(waiter.tx, site);
                    self.begin(waiter.tx, path, cx);
                }
            }
            Event::Ceases(tx, label) => {
                let Some(left) = self.local.ceases(tx, label, site) else { return };
                self.seen.remove(&tx);
                self.told.retain(|cycle| !cycle.contains(tx));
                self.tell(left, cx);
            }
            Event::Holds(name, holder) => {
                let closed = self.local.holds(name, holder, site);
                self.tell(closed, cx);
            }
            Event::Away(tx, label, at) => {
                self.local.goes(tx, Absence { label, at });
                if self.may_be_waited_for(tx) {
                    cx.rule("E2");
                    self.begin(tx, Vec::new(), cx);
                }
            }
            Event::Back(tx, label) => {
                self.local.comes_back(tx, label);
            }
            Event::Refuted(_) | Event::Survey(_) | Event::Detect | Event::Elect(_) => {}
        }
    }

    fn on_message(&mut self, _: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        let Msg { search, about, path, to, label } = msg;
        if self.local.waiter(to).is_none_or(|waiter| waiter.label != label) {
            cx.rule("E4");
            return;
        }
        if !self.seen.entry(to).or_default().insert(search) {
            return;
        }
        cx.rule("E3");
        let mut whole = path;
        for edge in self.local.chain(to, cx.me()) {
            whole.push(edge);
            if edge.holder == about {
                let cycle = Cycle::new(whole);
                return self.tell(cycle, cx);
            }
        }
        self.send_on(search, about, whole, cx);
    }

    fn on_timer(&mut self, (): (), _: &mut Cx<'_>) {}
}

impl EdgeChasing {
    fn tell(&mut self, found: impl IntoIterator<Item = Cycle>, cx: &mut Cx<'_>) {
        for cycle in found {
            if self.told.insert(cycle.clone()) {
                cx.emit(DetectorOutput::Suspects(cycle));
            }
        }
    }

    /// Whether a transaction elsewhere may wait for this transaction, or for one that waits for it here.
    fn may_be_waited_for(&self, tx: Tx) -> bool {
        self.local.upstream(tx).iter().any(|waiter| waiter.elsewhere)
    }

    fn begin(&mut self, about: Tx, path: Vec<Edge>, cx: &mut Cx<'_>) {
        let end = path.last().map_or(about, |edge| edge.holder);
        if self.local.absence(end).is_some() {
            self.searches += 1;
            self.send_on((cx.me(), self.searches), about, path, cx);
        }
    }

    /// To where the last of the path waits, if that is elsewhere.
    fn send_on(&mut self, search: Search, about: Tx, path: Vec<Edge>, cx: &mut Cx<'_>) {
        let to = path.last().map_or(about, |edge| edge.holder);
        if let Some(Absence { label, at }) = self.local.absence(to) {
            cx.send(at, Msg { search, about, path, to, label });
        }
    }
}

impl Detector for EdgeChasing {
    const ENTRY: Entry = Entry {
        name: "deadlock-edge-chasing",
        family: "deadlock",
        title: "Edge chasing",
        source: "Chandy, Misra and Haas, ACM TOCS 1(2), 1983",
        cost: "at most s a search, for a cycle over s sites",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
        docs: essay!("edge_chasing.rs"),
        example: "deadlock/edge-chasing-three-sites.txt",
    };

    const OPTIONS: &'static [Opt] = workload::OPTIONS;
    const VERBS: &'static [&'static str] = workload::VERBS;
    const KINDS: &'static [&'static str] = &["PROBE"];
    const NEEDS_NOTES: bool = true;
    const ONE_FINDER: bool = false;
    const RESTLESS: bool = false;

    /// If they ask one after the other, all but the first and the last begin a search that gets no
    /// further than one site; the last request begins one of s-1 probes where it waits and one of s
    /// where it is waited for. If all ask at once, s searches go all the way round.
    fn costs(n: u32) -> Vec<Cost> {
        if n == 1 {
            return Vec::new();
        }
        let s = u64::from(n);
        let cost = |case, rank, formula, count, apart| {
            let parts = [(&["PROBE"][..], formula, count)];
            Cost::sum(case, formula, &parts, [workload::cycle(&ascending(n), apart)]).rank(rank)
        };
        vec![
            cost("one asks after the other", Rank::Best, "3(s-1)", 3 * (s - 1), 2),
            cost("all ask at once", Rank::Worst, "s^2", s * s, 0),
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
        let probes = self.seen.keys().map(|tx| Item::new(tx).tone(Tone::Waits));
        view.row("with P_ex, for what is elsewhere", Shape::Graph, self.local.outside())
            .set("probes have come for", probes)
    }
}

#[cfg(test)]
#[path = "tests/edge_chasing.rs"]
mod tests;
