//! The centralised detector with labelled edges (Silberschatz, Galvin and Gagne, Operating System
//! Concepts).
//!
//! The elected coordinator puts the graphs of all sites together and looks for cycles. The graphs
//! are not taken at the same moment, so their union may have a cycle that never was; the timestamps
//! of the requests tell which edges can be believed.
//!
//! # Rules
//! * C1 Now and then, or when asked, the coordinator sends INITIATE to all other sites.
//! * C2 INITIATE: send GRAPH back: the edges of the wait-for graph here, with the timestamps of the
//!   requests; the transactions at home here that wait, by which request; and what they hold
//!   elsewhere.
//! * C3 All have answered (or, where silence proves death, T is over): an edge counts if all its
//!   ends are in one graph, or if the graphs of all its ends have it, by the same timestamp. A
//!   cycle of such edges is a deadlock.
//! * C4 The coordinator dies: an election; the new coordinator begins with C1.
//!
//! # Why there are no false cycles
//! Take a cycle of edges that count, and suppose that one of its transactions goes on. Look at the
//! first that does. It waited when its home answered; so it was granted its lock afterwards, and
//! before that the next of the cycle gave it back. But the next held it and waited when *its* home
//! answered, and a waiting transaction gives nothing back: so it had gone on before. This assumes that
//! no transaction gives up by itself; since one may, a cycle is [confirmed](super::site) here too.
//!
//! # Assumes
//! Bounded delays, FIFO channels that lose and double nothing. Sites may crash: deadlocks among the
//! living are found, by the next coordinator if need be. But locks are not fault-tolerant: what
//! needs a dead site, or waits for a transaction whose home is dead, waits for ever, and a site
//! does not come back.
//!
//! # Costs
//! 2(n-1) for each look, whether there is a deadlock or not: INITIATE and GRAPH.
//!
//! # Departures
//! The text has a holder live where the resource is; here it may be at home elsewhere, and then its
//! home must have the edge too. By the option `unlabelled` every edge counts that any site reports.

use super::detector::{Detector, DetectorOutput, Event, SITE, Survey};
use super::local::Vertex;
use super::names::{Cycle, Edge, drawn};
use super::workload;
use crate::cost::{Cost, Kinds, Rank};
use crate::definition::{Docs, Entry, Settings, Topology};
use crate::election::{self, Bully, Incarnation, Watched};
use crate::options::{BadOption, Opt};
use crate::rings::ascending;
use crate::show::{Item, ProcessView, Scene, Shape, Tone};
use bellwether_core::{
    Assumptions, Call, Channels, Context, Group, Kind, Message, NodeId, Process, SortedMap,
    SortedSet, Timing, WaitForGraph,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

type Part = Watched<Bully>;

/// What sites say to the coordinator, and it to them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "Send me your graph" (C1).
    Initiate {
        /// Which of the coordinator's looks.
        look: u64,
    },
    /// "This is what I know" (C2).
    Graph {
        /// Which of the coordinator's looks.
        look: u64,
        /// The graph.
        survey: Survey,
    },
    /// "Look for deadlocks now" (C1).
    Ask,
    /// The election's.
    Election(<Part as Process>::Msg),
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        match self {
            Msg::Initiate { .. } => Kind::protocol("INITIATE"),
            Msg::Graph { .. } => Kind::protocol("GRAPH"),
            Msg::Ask => Kind::overhead("ASK"),
            // The detector's cost is what a look takes; the election is counted apart.
            Msg::Election(msg) => Kind::overhead(msg.kind().name),
        }
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Initiate { look } => write!(f, "INITIATE({look})"),
            Msg::Graph { survey, .. } => {
                let edge = |edge: &Edge| format!("{} -> {}", edge.waiter, edge.holder);
                let edges: Vec<String> = survey.edges.iter().map(edge).collect();
                write!(f, "GRAPH({})", edges.join(", "))
            }
            Msg::Ask => f.write_str("ASK"),
            Msg::Election(msg) => msg.fmt(f),
        }
    }
}

/// What the coordinator waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The time of the next look (C1).
    Look,
    /// T: the answers (C3).
    Answers,
    /// The election's.
    Election(<Part as Process>::Timer),
}

/// What is fixed for the whole run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The pause between looks; none: only when asked.
    pub interval: Option<Duration>,
    /// T, where silence proves death; otherwise all answers are waited for.
    pub silence: Option<Duration>,
    /// Whether edges are compared by their timestamps (C3).
    pub labelled: bool,
    /// The election beside it.
    pub election: election::Config,
}

/// The answers to a look.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Gathering {
    surveys: Vec<Survey>,
    missing: SortedSet<NodeId>,
}

/// The detector at one site; one of them is the coordinator's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Central {
    election: Part,
    /// How many looks there have been, by this coordinator.
    looks: u64,
    gathering: Option<Gathering>,
    /// Who has asked for a survey, and for which look.
    asker: Option<(NodeId, u64)>,
    /// The cycles that the last look has shown.
    told: SortedSet<Cycle>,
}

type Cx<'a> = Context<'a, Central>;

impl Process for Central {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Event;
    type Output = DetectorOutput;
    type Durable = Incarnation;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions {
        timing: Timing::Synchronous,
        channels: Channels::Fifo,
        loss: false,
        duplication: false,
        crashes: true,
        recoveries: false,
    };

    fn durable(&self) -> Incarnation {
        self.election.durable()
    }

    fn on_start(&mut self, saved: Option<Incarnation>, cx: &mut Cx<'_>) {
        self.elect(cx, Call::Start(saved));
        if self.coordinates(cx) {
            self.rest(cx);
        }
    }

    fn on_input(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Survey(survey) => self.answer(survey, cx),
            Event::Detect if self.coordinates(cx) => self.look(cx),
            Event::Detect => {
                if let Some(coordinator) = Detector::coordinator(self) {
                    cx.send(coordinator, Msg::Ask);
                }
            }
            Event::Elect(input) => self.elect(cx, Call::Input(input)),
            Event::Waits(_)
            | Event::Ceases(..)
            | Event::Holds(..)
            | Event::Away(..)
            | Event::Back(..)
            | Event::Refuted(_) => {}
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Initiate { look } => {
                cx.rule("C2");
                self.asker = Some((from, look));
                cx.emit(DetectorOutput::Asks);
            }
            Msg::Graph { look, survey } => {
                if look == self.looks {
                    self.gather(from, survey, cx);
                }
            }
            Msg::Ask => {
                if self.coordinates(cx) {
                    self.look(cx);
                }
            }
            Msg::Election(msg) => self.elect(cx, Call::Message(from, msg)),
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Look => self.look(cx),
            Timer::Answers => self.conclude(cx),
            Timer::Election(timer) => self.elect(cx, Call::Timer(timer)),
        }
    }
}

impl Central {
    fn coordinates(&self, cx: &Cx<'_>) -> bool {
        Detector::coordinator(self) == Some(cx.me())
    }

    /// Until the next look.
    fn rest(&mut self, cx: &mut Cx<'_>) {
        if let Some(interval) = cx.config().interval {
            cx.set_timer(Timer::Look, interval);
        }
    }

    /// C1.
    fn look(&mut self, cx: &mut Cx<'_>) {
        if !self.coordinates(cx) || self.gathering.is_some() {
            return;
        }
        cx.rule("C1");
        self.looks += 1;
        let missing = cx.group().ring().iter().copied().collect();
        self.gathering = Some(Gathering { surveys: Vec::new(), missing });
        let look = self.looks;
        cx.others().for_each(|id| cx.send(id, Msg::Initiate { look }));
        if let Some(silence) = cx.config().silence {
            cx.set_timer(Timer::Answers, silence);
        }
        self.asker = Some((cx.me(), look));
        cx.emit(DetectorOutput::Asks);
    }

    /// C2.
    fn answer(&mut self, survey: Survey, cx: &mut Cx<'_>) {
        match self.asker.take() {
            None => {}
            Some((asker, _)) if asker == cx.me() => self.gather(asker, survey, cx),
            Some((asker, look)) => cx.send(asker, Msg::Graph { look, survey }),
        }
    }

    fn gather(&mut self, from: NodeId, survey: Survey, cx: &mut Cx<'_>) {
        let Some(gathering) = &mut self.gathering else { return };
        if gathering.missing.remove(&from) {
            gathering.surveys.push(survey);
        }
        if gathering.missing.is_empty() {
            self.conclude(cx);
        }
    }

    /// C3.
    fn conclude(&mut self, cx: &mut Cx<'_>) {
        let Some(gathering) = self.gathering.take() else { return };
        cx.rule("C3");
        cx.cancel_timer(Timer::Answers);
        let found = cycles(&gathering.surveys, cx.config().labelled);
        // The victim of the last look may not have heard of it when this one came by.
        let told = std::mem::replace(&mut self.told, found.clone());
        for cycle in found.iter().filter(|cycle| !told.contains(cycle)) {
            cx.emit(DetectorOutput::Suspects(cycle.clone()));
        }
        self.rest(cx);
    }

    /// Steps the election.
    fn elect(&mut self, cx: &mut Cx<'_>, call: Call<Part>) {
        let config = &cx.config().election;
        let outputs =
            cx.part(config, Msg::Election, Timer::Election, |cx| call.make(&mut self.election, cx));
        for output in outputs {
            cx.emit(DetectorOutput::Election(output));
            // C4
            if let election::Output::Elected(coordinator) = output {
                cx.rule("C4");
                self.gathering = None;
                cx.cancel_timer(Timer::Answers);
                cx.cancel_timer(Timer::Look);
                if coordinator == cx.me() {
                    self.look(cx);
                }
            }
        }
    }
}

/// C3: the cycles of the edges that count.
fn cycles(surveys: &[Survey], labelled: bool) -> SortedSet<Cycle> {
    let waiting: SortedSet<_> =
        surveys.iter().flat_map(|survey| &survey.waiting).copied().collect();
    let holding: SortedSet<_> =
        surveys.iter().flat_map(|survey| &survey.holding).copied().collect();
    let counts = |edge: &&Edge| {
        let Edge { waiter, label, holder, resource, .. } = **edge;
        let waits = waiter.home == resource.site || waiting.contains(&(waiter, label));
        let holds = holder.home == resource.site || holding.contains(&(holder, resource));
        !labelled || waits && holds
    };
    let mut graph = WaitForGraph::default();
    let mut edges: SortedMap<(Vertex, Vertex), Edge> = SortedMap::new();
    let mut found = SortedSet::new();
    for edge in surveys.iter().flat_map(|survey| &survey.edges).filter(counts) {
        let (waiter, holder) = (Vertex::Tx(edge.waiter), Vertex::Tx(edge.holder));
        edges.insert((waiter, holder), *edge);
        let Some(vertices) = graph.add(waiter, holder) else { continue };
        let next = vertices.iter().cycle().skip(1);
        let edges = vertices.iter().zip(next).filter_map(|(a, b)| edges.get(&(*a, *b)).copied());
        found.extend(Cycle::new(edges.collect()));
    }
    found
}

impl Detector for Central {
    const ENTRY: Entry = Entry {
        name: "deadlock-central",
        family: "deadlock",
        title: "Centralised deadlock detection",
        source: "Silberschatz, Galvin and Gagne, Operating System Concepts",
        cost: "2(n-1) a look",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Mesh,
        docs: essay!("central.rs"),
        example: "deadlock/central-two-sites.txt",
    };

    const BESIDE: &'static [Docs] = &[SITE, election::DOCS, election::DETECTOR_DOCS];

    const OPTIONS: &'static [Opt] = workload::CENTRAL_OPTIONS;
    const VERBS: &'static [&'static str] = workload::CENTRAL_VERBS;
    const KINDS: &'static [&'static str] = &["INITIATE", "GRAPH", "COORDINATOR", "OK"];
    const NEEDS_NOTES: bool = false;
    const ONE_FINDER: bool = true;
    const RESTLESS: bool = true;

    /// INITIATE to all others and a GRAPH from each, once.
    fn costs(n: u32) -> Vec<Cost> {
        if n == 1 {
            return Vec::new();
        }
        let others = u64::from(n) - 1;
        let parts: [(Kinds, _, _); 2] =
            [(&["INITIATE"], "n-1", others), (&["GRAPH"], "n-1", others)];
        let look = workload::cycle(&ascending(n), 0).set("interval", 0).ask_at(10, n, "detect");
        vec![Cost::sum("one look finds a cycle", "2(n-1)", &parts, [look]).rank(Rank::Average)]
    }

    fn check(settings: &Settings, _: &Group) -> Result<(), BadOption> {
        settings.options.duration("interval", Duration::ZERO).map(|_| ())
    }

    fn config(settings: &Settings, group: &Group) -> Config {
        let usual = settings.timeout.saturating_mul(4);
        let interval = settings.options.duration("interval", usual).unwrap_or(usual);
        let coordinator = settings.coordinator.or_else(|| Some(group.highest()));
        let settings = Settings { coordinator, ..settings.clone() };
        Config {
            interval: Some(interval).filter(|interval| !interval.is_zero()),
            silence: settings.detection.then_some(settings.timeout),
            labelled: !settings.options.is_on("unlabelled"),
            election: Part::config(&settings, group),
        }
    }

    /// Two looks may just miss it, and the coordinator may die in between.
    fn wakes_within(config: &Config, group: &Group) -> Duration {
        let Some(interval) = config.interval else { return Duration::MAX };
        let election = match config.silence {
            Some(_) => Part::settles_within(&config.election, group, 0),
            None => Duration::ZERO,
        };
        let look = interval.saturating_add(config.election.timeout.saturating_mul(10));
        look.saturating_mul(2).saturating_add(election)
    }

    fn event(verb: &str) -> Option<Event> {
        match verb {
            "detect" => Some(Event::Detect),
            verb => election::Input::of(verb).map(Event::Elect),
        }
    }

    fn verb(event: &Event) -> &'static str {
        match event {
            Event::Elect(input) => input.verb(),
            _ => "detect",
        }
    }

    fn coordinator(&self) -> Option<NodeId> {
        self.election.coordinator()
    }

    fn reported(&self) -> &SortedSet<Cycle> {
        &self.told
    }

    fn view(&self, view: ProcessView, _: &Scene<'_>) -> ProcessView {
        let Some(gathering) = &self.gathering else { return view };
        let edges = gathering.surveys.iter().flat_map(|survey| &survey.edges);
        view.row(
            "global wait-for graph so far",
            Shape::Graph,
            edges.map(|edge| drawn(edge, &self.told)),
        )
        .set(
            "no graph yet from",
            gathering.missing.iter().map(|id| Item::of(*id).tone(Tone::Waits)),
        )
    }
}

#[cfg(test)]
#[path = "tests/central.rs"]
mod tests;
