//! Peterson's ring election ("An O(n log n) unidirectional algorithm for the circular extrema
//! problem", 1982; found independently by Dolev, Klawe and Rodeh).
//!
//! A one-way ring on which n log n is the worst case and not only the average. The active
//! processes play in phases. Each holds a number, at first its own, and learns the numbers of the
//! two active processes before it. It goes on with the middle one of the three if that is the
//! largest, and otherwise only relays. At most half of them go on, so log n phases suffice.
//!
//! # Rules
//! * R1 Start, or meet an election: become active with the own number t; send FIRST(t).
//! * R2 FIRST(x) at an active process: if x is its t, that number has gone all the way round and
//!   is the largest: go to R4. Otherwise send SECOND(max(t, x)).
//! * R3 SECOND(y) at an active process that got FIRST(x): if x is larger than t and not smaller
//!   than y, t := x, remain active, send FIRST(t). Otherwise become a relay.
//! * R4 The holder of the largest number records it and sends ELECTED round; every process records it
//!   and passes it on; the holder takes it off the ring. So the number's owner becomes coordinator,
//!   not its holder.
//! * R5 A relay passes FIRST and SECOND on.
//! * R6 Recovery: start an election.
//!
//! # Assumes
//! FIFO channels: FIRST and SECOND alternate. Bounded delays, for the [`link`].
//!
//! # Costs
//! FIRST and SECOND together at most 2k floor(log2 k) + k; then k ELECTED.
//!
//! # Departures
//! The paper lets processes that do not start be relays. Here they join as active ones: the
//! largest live process must win, not the largest that happened to start.

use super::costs::{BOUND_RINGS, Race, all_start};
use super::link::{AckTimeout, Arrived, Link, Rider};
use super::rounds::{Relation, Round};
use super::{Config, Election, Incarnation, Input, Output, link};
use crate::cost::Expected::{AtMost, Exact};
use crate::cost::{Cost, Rank};
use crate::definition::{Entry, Topology};
use crate::rings::{ascending, bit_reversed, descending, shuffled};
use crate::show::{Mark, ProcessView};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What goes round, and in which election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Body {
    word: Word,
    round: Round,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Word {
    /// The number that the nearest active process before holds.
    First(NodeId),
    /// The larger of its number and the one before that.
    Second(NodeId),
    /// The outcome, and who announces it.
    Elected(NodeId, NodeId),
}

impl Message for Body {
    fn kind(&self) -> Kind {
        Kind::protocol(match self.word {
            Word::First(_) => "FIRST",
            Word::Second(_) => "SECOND",
            Word::Elected(..) => "ELECTED",
        })
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Word::First(number) | Word::Second(number) | Word::Elected(number, _)) = self.word;
        write!(f, "{}({})", self.kind().name, number.number())
    }
}

/// One process on the ring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peterson {
    incarnation: Incarnation,
    round: Round,
    phase: Phase,
    link: Link<Body>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Knows the outcome of the last election, if there was one.
    Idle { coordinator: Option<NodeId> },
    /// R1: holds `number` and waits for FIRST.
    AwaitingFirst { number: NodeId },
    /// R2: holds `number`, the one before it holds `first`; waits for SECOND.
    AwaitingSecond { number: NodeId, first: NodeId },
    /// R5: out of the game.
    Relay,
}

impl Default for Phase {
    fn default() -> Self {
        Phase::Idle { coordinator: None }
    }
}

type Cx<'a> = Context<'a, Peterson>;

impl Process for Peterson {
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
            cx.rule("R6");
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

    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_>) {
        self.ride(from, msg, cx);
    }

    fn on_timer(&mut self, AckTimeout: AckTimeout, cx: &mut Cx<'_>) {
        self.skip(cx);
    }
}

impl Rider for Peterson {
    type Body = Body;

    fn link(&mut self) -> &mut Link<Body> {
        &mut self.link
    }

    fn on_arrival(&mut self, Arrived { body, hops }: Arrived<Body>, cx: &mut Cx<'_>) {
        let electing = !matches!(self.phase, Phase::Idle { .. });
        match self.round.relation(body.round, electing) {
            Relation::Newer => {
                self.round = body.round;
                self.activate(cx.me(), cx);
                self.on_word(body.word, hops, cx);
            }
            Relation::Current => self.on_word(body.word, hops, cx),
            Relation::Behind => self.start_election(cx),
            Relation::Finished | Relation::Older => {}
        }
    }
}

impl Peterson {
    /// R1.
    fn start_election(&mut self, cx: &mut Cx<'_>) {
        self.round.advance();
        self.begin(cx);
    }

    /// R1 and R6, in the round as this process knows it.
    fn begin(&mut self, cx: &mut Cx<'_>) {
        cx.emit(Output::Started);
        self.activate(cx.me(), cx);
    }

    /// R1, and R3's better half.
    fn activate(&mut self, number: NodeId, cx: &mut Cx<'_>) {
        cx.rule("R1");
        self.phase = Phase::AwaitingFirst { number };
        self.say(Word::First(number), cx);
    }

    fn on_word(&mut self, word: Word, hops: u32, cx: &mut Cx<'_>) {
        match (word, &self.phase) {
            (Word::Elected(coordinator, by), _) => {
                cx.rule("R4");
                if by != cx.me() {
                    self.record(coordinator, cx);
                    self.forward(Body { word, round: self.round }, hops, cx);
                }
            }
            (_, Phase::Relay) => {
                cx.rule("R5");
                self.forward(Body { word, round: self.round }, hops, cx);
            }
            (Word::First(first), Phase::AwaitingFirst { number }) => {
                self.on_first(*number, first, cx);
            }
            (Word::Second(second), Phase::AwaitingSecond { number, first }) => {
                self.on_second(*number, *first, second, cx);
            }
            // Out of turn: impossible with FIFO channels and without a crash in this election.
            (Word::First(_) | Word::Second(_), _) => {}
        }
    }

    /// R2.
    fn on_first(&mut self, number: NodeId, first: NodeId, cx: &mut Cx<'_>) {
        cx.rule("R2");
        if first == number {
            self.record(number, cx);
            return self.say(Word::Elected(number, cx.me()), cx);
        }
        self.phase = Phase::AwaitingSecond { number, first };
        self.say(Word::Second(number.max(first)), cx);
    }

    /// R3.
    fn on_second(&mut self, number: NodeId, first: NodeId, second: NodeId, cx: &mut Cx<'_>) {
        cx.rule("R3");
        if first > number && first >= second {
            self.activate(first, cx);
        } else {
            self.phase = Phase::Relay;
        }
    }

    /// R4.
    fn record(&mut self, coordinator: NodeId, cx: &mut Cx<'_>) {
        self.phase = Phase::Idle { coordinator: Some(coordinator) };
        cx.emit(Output::Elected(coordinator));
    }

    fn say(&mut self, word: Word, cx: &mut Cx<'_>) {
        self.forward(Body { word, round: self.round }, 0, cx);
    }
}

impl Election for Peterson {
    const ENTRY: Entry = Entry {
        name: "peterson",
        family: "election",
        title: "Peterson / Dolev-Klawe-Rodeh ring",
        source: "Peterson 1982; Dolev, Klawe and Rodeh 1982",
        cost: "at most 2k floor(log2 k) + k, plus k ELECTED",
        assumes: Self::ASSUMES,
        topology: Topology::Ring,
        docs: essay!("peterson.rs"),
        example: "election/peterson-worked-run.txt",
    };

    const CIRCUITS: u32 = 6;

    fn round(&self) -> Round {
        self.round
    }

    /// A phase costs 2k, and those go on whose predecessor among the active held a number larger
    /// than both its neighbours'. When one is left, it sends its number round for k more. At most
    /// every second goes on, which the bit-reversed ring achieves in every phase; on a ring in order
    /// only one does.
    fn costs(n: u32) -> Vec<Cost> {
        let k = u64::from(n);
        let race = Race { k: n, kinds: &["FIRST", "SECOND"] };
        let (least, in_order) = match n {
            1 => (Exact(1), ["k", "2k"]),
            _ => (Exact(3 * k), ["3k", "4k"]),
        };
        let most = 2 * k * u64::from(n.ilog2()) + k;
        let bound = ["2k floor(log2 k) + k", "2k floor(log2 k) + 2k"];
        let [up, down, reversed] = [ascending(n), descending(n), bit_reversed(n)].map(all_start);
        let random = shuffled(n, BOUND_RINGS).map(all_start);
        vec![
            race.cost("all start, ascending", Rank::Best, in_order, least, [up]),
            race.cost("all start, descending", Rank::Best, in_order, least, [down]),
            race.cost("all start, bit-reversed", Rank::Worst, bound, Exact(most), [reversed]),
            race.cost("all start, worst of 10", Rank::Other, bound, AtMost(most), random),
        ]
    }

    fn coordinator(&self) -> Option<NodeId> {
        match self.phase {
            Phase::Idle { coordinator } => coordinator,
            _ => None,
        }
    }

    fn view(&self) -> ProcessView {
        let active = |phase: &str, number: NodeId| {
            ProcessView::new(phase).mark(Mark::Participant).text("plays for", number)
        };
        match self.phase {
            Phase::Idle { coordinator: None } => ProcessView::new("knows no coordinator"),
            Phase::Idle { .. } => ProcessView::new(""),
            Phase::AwaitingFirst { number } => active("active, waits for FIRST", number),
            Phase::AwaitingSecond { number, first } => {
                active("active, waits for SECOND", number).text("one before plays for", first)
            }
            Phase::Relay => ProcessView::new("relay: only passes on").mark(Mark::Passive),
        }
    }
}

#[cfg(test)]
#[path = "tests/peterson.rs"]
mod tests;
