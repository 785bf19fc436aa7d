//! The Hirschberg-Sinclair ring election ("Decentralized extrema-finding in circular
//! configurations of processors", 1980).
//!
//! On a two-way ring a candidate asks ever wider neighbourhoods, 1, 2, 4, ... places to each
//! side, whether a process there is larger. Only candidates that are the largest in theirs go on, so
//! few remain for the wide and expensive questions, and n log n messages suffice in the worst case.
//!
//! # Rules
//! * R1 Start: become candidate in phase 0; send PROBE(own number, phase, reach 2^phase) both
//!   ways.
//! * R2 PROBE(j) at i:
//!   * a: j > i and its reach is not used up: pass it on in the same direction;
//!   * b: j > i and its reach ends here: send REPLY(j) back the way it came;
//!   * c: j < i: discard it; a process that is not yet in the election becomes candidate;
//!   * d: j = i: the probe has gone all the way round: i is the largest. Go to R4.
//! * R3 REPLY(j) at i: another's is passed on. With the own from both sides, go to the next phase
//!   as in R1.
//! * R4 The largest records itself and sends ELECTED round; every process records it and passes it
//!   on; the largest takes it off the ring.
//! * R5 Recovery: start an election.
//!
//! # Assumes
//! Order does not matter. Bounded delays, for the [`link`]s.
//!
//! # Costs
//! PROBE and REPLY together at most 4k + 8k ceil(log2 k); then k ELECTED.
//!
//! # Departures
//! Elections are numbered ([`rounds`](super::rounds)): a REPLY to a probe of an earlier election
//! must not promote a candidate of this one.

use super::costs::{BOUND_RINGS, Race, all_start};
use super::link::{self, AckTimeout, Arrived, Direction, Forward, Link};
use super::rounds::{Relation, Round};
use super::{Config, Election, Incarnation, Input, Output};
use crate::cost::Expected::{AtMost, Exact};
use crate::cost::{Cost, Rank};
use crate::definition::{Entry, Topology};
use crate::rings::{ascending, bit_reversed, descending, shuffled};
use crate::show::{Mark, ProcessView};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What goes along the ring, and in which election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Body {
    word: Word,
    round: Round,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Word {
    /// "Is a process here larger than this candidate?"
    Probe { candidate: NodeId, phase: u8 },
    /// "None on this side, as far as you asked."
    Reply { candidate: NodeId, phase: u8 },
    /// The outcome.
    Elected(NodeId),
}

impl Message for Body {
    fn kind(&self) -> Kind {
        Kind::protocol(match self.word {
            Word::Probe { .. } => "PROBE",
            Word::Reply { .. } => "REPLY",
            Word::Elected(_) => "ELECTED",
        })
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.kind().name;
        match self.word {
            Word::Probe { candidate, phase } | Word::Reply { candidate, phase } => {
                write!(f, "{name}({}, phase {phase})", candidate.number())
            }
            Word::Elected(leader) => write!(f, "{name}({})", leader.number()),
        }
    }
}

/// A message on the link of one direction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Towards the successor, or an acknowledgement of such.
    Clockwise(link::Msg<Body>),
    /// Towards the predecessor, or an acknowledgement of such.
    Counter(link::Msg<Body>),
}

impl Msg {
    fn inner(&self) -> &link::Msg<Body> {
        let (Msg::Clockwise(msg) | Msg::Counter(msg)) = self;
        msg
    }
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        self.inner().kind()
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner().fmt(f)
    }
}

/// The time-out of one direction's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// Towards the successor.
    Clockwise(AckTimeout),
    /// Towards the predecessor.
    Counter(AckTimeout),
}

/// One process on the ring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HirschbergSinclair {
    incarnation: Incarnation,
    round: Round,
    phase: Phase,
    clockwise: Link<Body>,
    counter: Link<Body>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Knows the outcome of the last election, if there was one.
    Idle { coordinator: Option<NodeId> },
    /// Has met a larger candidate's probe before it was one itself: it only passes on.
    Passive,
    /// Asks its neighbourhood of 2^phase; `replied` says from which side the answer is there.
    Candidate { phase: u8, replied: Option<Direction> },
}

impl Default for Phase {
    fn default() -> Self {
        Phase::Idle { coordinator: None }
    }
}

type Cx<'a> = Context<'a, HirschbergSinclair>;

impl Process for HirschbergSinclair {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Input;
    type Output = Output;
    type Durable = Incarnation;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::synchronous(Channels::Any);

    fn durable(&self) -> Incarnation {
        self.incarnation
    }

    fn on_start(&mut self, saved: Option<Incarnation>, cx: &mut Cx<'_>) {
        let (incarnation, recovered) = Incarnation::next(saved);
        self.incarnation = incarnation;
        let life = saved.map(Incarnation::number);
        self.ride(Direction::Clockwise, cx, |link, cx| link.on_start(life, cx));
        self.ride(Direction::Counter, cx, |link, cx| link.on_start(life, cx));
        if recovered {
            cx.rule("R5");
            self.begin(cx);
        } else {
            self.round = Round::FIRST;
            self.phase = Phase::Idle { coordinator: cx.config().coordinator };
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Suspect | Input::Start => self.start_election(cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Clockwise(msg) => {
                self.ride(Direction::Clockwise, cx, |link, cx| link.on_message(from, msg, cx));
            }
            Msg::Counter(msg) => {
                self.ride(Direction::Counter, cx, |link, cx| link.on_message(from, msg, cx));
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Clockwise(timer) => {
                self.ride(Direction::Clockwise, cx, |link, cx| link.on_timer(timer, cx));
            }
            Timer::Counter(timer) => {
                self.ride(Direction::Counter, cx, |link, cx| link.on_timer(timer, cx));
            }
        }
    }
}

impl HirschbergSinclair {
    fn start_election(&mut self, cx: &mut Cx<'_>) {
        self.round.advance();
        self.begin(cx);
    }

    /// R1 and R5, in the round as this process knows it.
    fn begin(&mut self, cx: &mut Cx<'_>) {
        cx.emit(Output::Started);
        self.become_candidate(0, cx);
    }

    /// R1.
    fn become_candidate(&mut self, phase: u8, cx: &mut Cx<'_>) {
        cx.rule("R1");
        self.phase = Phase::Candidate { phase, replied: None };
        let probe = Word::Probe { candidate: cx.me(), phase };
        self.send(Direction::Clockwise, probe, 0, cx);
        self.send(Direction::Counter, probe, 0, cx);
    }

    /// A message travelling in `direction` has come here.
    fn on_arrival(
        &mut self,
        direction: Direction,
        Arrived { body, hops }: Arrived<Body>,
        cx: &mut Cx<'_>,
    ) {
        let electing = !matches!(self.phase, Phase::Idle { .. });
        match self.round.relation(body.round, electing) {
            Relation::Newer => {
                self.round = body.round;
                self.phase = Phase::Passive;
            }
            Relation::Current => {}
            Relation::Behind => return self.start_election(cx),
            Relation::Finished | Relation::Older => return,
        }
        match body.word {
            Word::Probe { candidate, phase } => {
                self.on_probe(direction, candidate, phase, hops, cx);
            }
            Word::Reply { candidate, phase } if candidate == cx.me() => {
                self.on_reply(direction, phase, cx);
            }
            Word::Reply { .. } => {
                cx.rule("R3");
                self.send(direction, body.word, hops, cx);
            }
            Word::Elected(leader) => {
                cx.rule("R4");
                if leader != cx.me() {
                    self.record(leader, cx);
                    self.send(direction, body.word, hops, cx);
                }
            }
        }
    }

    /// R2.
    fn on_probe(
        &mut self,
        direction: Direction,
        candidate: NodeId,
        phase: u8,
        hops: u32,
        cx: &mut Cx<'_>,
    ) {
        if candidate == cx.me() {
            cx.rule("R2d");
            self.record(cx.me(), cx);
            self.send(Direction::Clockwise, Word::Elected(cx.me()), 0, cx);
        } else if candidate < cx.me() {
            cx.rule("R2c");
            if self.phase == Phase::Passive {
                self.become_candidate(0, cx);
            }
        } else if 1_u32.checked_shl(phase.into()).is_some_and(|reach| hops < reach) {
            cx.rule("R2a");
            self.send(direction, Word::Probe { candidate, phase }, hops, cx);
        } else {
            cx.rule("R2b");
            self.send(opposite(direction), Word::Reply { candidate, phase }, 0, cx);
        }
    }

    /// R3, an own reply that travelled in `direction`.
    fn on_reply(&mut self, direction: Direction, answered: u8, cx: &mut Cx<'_>) {
        let Phase::Candidate { phase, replied } = &mut self.phase else { return };
        if *phase != answered {
            return;
        }
        cx.rule("R3");
        match *replied {
            None => *replied = Some(direction),
            Some(side) if side == direction => {}
            Some(_) => {
                let next = phase.saturating_add(1);
                self.become_candidate(next, cx);
            }
        }
    }

    /// R4.
    fn record(&mut self, leader: NodeId, cx: &mut Cx<'_>) {
        self.phase = Phase::Idle { coordinator: Some(leader) };
        cx.emit(Output::Elected(leader));
    }

    fn send(&mut self, direction: Direction, word: Word, hops: u32, cx: &mut Cx<'_>) {
        let body = Body { word, round: self.round };
        self.ride(direction, cx, |link, cx| link.on_input(Forward { body, hops }, cx));
    }

    /// Steps the link of one direction and takes what arrives on it.
    fn ride(
        &mut self,
        direction: Direction,
        cx: &mut Cx<'_>,
        step: impl FnOnce(&mut Link<Body>, &mut Context<'_, Link<Body>>),
    ) {
        let config = cx.config();
        let arrivals = match direction {
            Direction::Clockwise => {
                cx.part(&config.clockwise, Msg::Clockwise, Timer::Clockwise, |cx| {
                    step(&mut self.clockwise, cx);
                })
            }
            Direction::Counter => cx.part(&config.counter, Msg::Counter, Timer::Counter, |cx| {
                step(&mut self.counter, cx);
            }),
        };
        for arrived in arrivals {
            self.on_arrival(direction, arrived, cx);
        }
    }
}

fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Clockwise => Direction::Counter,
        Direction::Counter => Direction::Clockwise,
    }
}

impl Election for HirschbergSinclair {
    const ENTRY: Entry = Entry {
        name: "hirschberg-sinclair",
        family: "election",
        title: "Hirschberg-Sinclair ring",
        source: "Hirschberg and Sinclair 1980",
        cost: "at most 4k + 8k ceil(log2 k), plus k ELECTED",
        assumes: Self::ASSUMES,
        topology: Topology::Ring,
        docs: essay!("hirschberg_sinclair.rs"),
        example: "election/hirschberg-sinclair-worked-run.txt",
    };

    const CIRCUITS: u32 = 12;

    fn round(&self) -> Round {
        self.round
    }

    /// In phase i a candidate's probes and their replies make 4 * 2^i hops. All k enter phase 0;
    /// those who enter phase i > 0 have beaten 2^(i-1) on each side and number at most
    /// k / (2^(i-1) + 1), so that the phase costs less than 8k. The last is the first with 2^i >= k.
    ///
    /// Phase 0 costs 3k on every ring, for each pair of neighbours exchanges two probes and one
    /// reply. On a ring in order no process but the largest goes on, and in the last phase it spends 2k.
    fn costs(n: u32) -> Vec<Cost> {
        let k = u64::from(n);
        let race = Race { k: n, kinds: &["PROBE", "REPLY"] };
        // Alone, a process is its own neighbour, and phase 0 is the last.
        let (least, in_order) = match n {
            1 => (Exact(2), ["2k", "3k"]),
            _ => (
                Exact(5 * k + 4 * u64::from(n.next_power_of_two()) - 8),
                ["5k + 4*2^ceil(log2 k) - 8", "6k + 4*2^ceil(log2 k) - 8"],
            ),
        };
        let most = AtMost(4 * k + 8 * k * u64::from(n.next_power_of_two().ilog2()));
        let bound = ["4k + 8k ceil(log2 k)", "5k + 8k ceil(log2 k)"];
        let [up, down, reversed] = [ascending(n), descending(n), bit_reversed(n)].map(all_start);
        let random = shuffled(n, BOUND_RINGS).map(all_start);
        vec![
            race.cost("all start, ascending", Rank::Best, in_order, least, [up]),
            race.cost("all start, descending", Rank::Best, in_order, least, [down]),
            race.cost("all start, bit-reversed", Rank::Other, bound, most, [reversed]),
            race.cost("all start, worst of 10", Rank::Worst, bound, most, random),
        ]
    }

    fn coordinator(&self) -> Option<NodeId> {
        match self.phase {
            Phase::Idle { coordinator } => coordinator,
            Phase::Passive | Phase::Candidate { .. } => None,
        }
    }

    fn view(&self) -> ProcessView {
        match self.phase {
            Phase::Idle { coordinator: None } => ProcessView::new("knows no coordinator"),
            Phase::Idle { .. } => ProcessView::new(""),
            Phase::Passive => ProcessView::new("only passes on").mark(Mark::Passive),
            Phase::Candidate { phase, replied } => {
                let half =
                    if replied.is_some() { "1 of 2 sides has answered" } else { "asks both sides" };
                ProcessView::new(format!("candidate in phase {phase}"))
                    .mark(Mark::Participant)
                    .text("reach", format!("{} on each side", 1_u64 << phase))
                    .text("answers", half)
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/hirschberg_sinclair.rs"]
mod tests;
