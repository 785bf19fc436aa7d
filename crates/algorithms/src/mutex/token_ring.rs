//! The token ring (Le Lann, "Distributed systems: towards a formal approach", 1977).
//!
//! A token goes round and round, and its holder may enter. There are no requests, so a busy ring is
//! cheap and an idle one is not.
//!
//! # Rules
//! * TR1 The token is here and the section is wanted: keep the token and enter.
//! * TR2 The token is here and the section is not wanted: pass the token to the neighbour in
//!   clockwise direction.
//! * TR3 To leave: the section is not wanted any more, and TR2.
//! * TR4 A process that is alone on the ring keeps the token: it would only pass it to itself.
//! * TR5 A token that has been here already is dropped.
//!
//! # Assumes
//! Nothing about order or delays. Channels lose and double nothing.
//!
//! # Dead neighbours
//! Under views a crash brings a new ring and this file knows of none. Without them, and with a T
//! ([`super::Options::bypass`]), the ring's [`link`] has each hop acknowledged and sends the token
//! to the next process if it is not. Then
//! * a process that dies without the token is bypassed; the token of a process that dies with it
//!   is lost, as is one under way between two that both die. Then the ring stands still;
//! * there is still one token. With bounded delays and no loss, no ACK within T means that the
//!   neighbour was dead when the token came, so that it never had it. Should the ACK get lost
//!   because its sender dies right after it has passed the token on, there are two copies. But a
//!   token is known by how far round the ring it has come, which does not depend on who passed it
//!   on: at the next process alive the copies look the same, and TR5 lets in the first only;
//! * that fails if T is too short or an ACK of a living neighbour is lost. Then two can be inside,
//!   until one token meets the other or runs into TR5 where the other has been before it.
//!
//! A process that comes back stays outside: that it was away is nothing that a [`Mutex`] knows of,
//! so the part of the link that greets those who are back is never used.
//!
//! # Costs
//! Messages flow also when no process wants to enter; one an entry if all do. Until the token
//! comes: up to n-1 hops and the sections on the way. From one entry to the next: T to (n-1)T.

use super::costs::{TOKEN, all_ask};
use super::{Granted, Input, Mutex, Opening};
use crate::cost::Expected::{self, Exact, ExactMean};
use crate::cost::{Cost, Entries, Load, Rank};
use crate::definition::{Entry, Topology};
use crate::election::link::{self, AckTimeout, Leg, Link, Seq};
use crate::show::{ProcessView, Scene};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What goes round: the right to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// How many entries there have been.
    entries: u64,
    /// How far it had come at its sender, in places along the ring; always 0 where no process is
    /// bypassed (TR5).
    way: u64,
}

impl Message for Token {
    fn kind(&self) -> Kind {
        Kind::protocol("TOKEN")
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TOKEN")
    }
}

/// One process on the ring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TokenRing {
    phase: Phase,
    /// How many entries there have been, if the token is here: inside, or alone and idle.
    token: Option<u64>,
    /// How far the token had come when it was here last.
    way: u64,
    /// Not used unless neighbours are bypassed: it counts what it sends, and then a ring on which
    /// nothing happens would never be in the same state again.
    link: Link<Token>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    /// Does not want to enter.
    #[default]
    Idle,
    Waiting,
    Inside,
}

type Cx<'a> = Context<'a, TokenRing>;

impl Process for TokenRing {
    type Msg = link::Msg<Token>;
    type Timer = AckTimeout;
    type Input = Input;
    type Output = Granted;
    type Durable = ();
    type Config = Opening;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_>) {
        let (opening, me) = (cx.config(), cx.me());
        self.token = (opening.token == me).then_some(0);
        if opening.is_inside(me) {
            self.phase = Phase::Inside;
        } else if opening.is_waiting(me) {
            self.phase = Phase::Waiting;
        }
        self.use_token(cx);
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Request => self.phase = Phase::Waiting,
            Input::Release => {
                cx.rule("TR3");
                self.phase = Phase::Idle;
            }
        }
        self.use_token(cx);
    }

    #[inline]
    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_>) {
        let config = cx.config().link();
        if config.acknowledge {
            if let Some(arrived) = self.link.receive(from, msg, &config, cx) {
                self.take_once(from, arrived.body, cx);
            }
        } else if let link::Msg::Carry { body, .. } = msg {
            self.take(body);
        }
        self.use_token(cx);
    }

    fn on_timer(&mut self, AckTimeout: AckTimeout, cx: &mut Cx<'_>) {
        self.link.time_out(&cx.config().link(), cx);
    }
}

impl TokenRing {
    /// TR5. From the sender on, the token has come as far as its receiver stands from there: all
    /// the way round if it is the same.
    fn take_once(&mut self, from: NodeId, token: Token, cx: &mut Cx<'_>) {
        let Some(sender) = cx.group().place(from) else { return };
        let n = cx.group().len();
        let steps = match (cx.place() + n - sender) % n {
            0 => n,
            steps => steps,
        };
        let way = token.way.saturating_add(steps as u64);
        if way > self.way {
            self.way = way;
            self.take(token);
        } else {
            cx.rule("TR5");
        }
    }

    /// The token is here. If another is too, which cannot be, they become one.
    fn take(&mut self, token: Token) {
        self.token = self.token.max(Some(token.entries));
    }

    /// TR1, TR2 and TR4, if the token is here.
    #[inline]
    fn use_token(&mut self, cx: &mut Cx<'_>) {
        let Some(entries) = self.token else { return };
        match self.phase {
            Phase::Inside => {}
            Phase::Waiting => {
                cx.rule("TR1");
                let entries = entries.saturating_add(1);
                (self.phase, self.token) = (Phase::Inside, Some(entries));
                cx.emit(Granted(entries));
            }
            Phase::Idle if self.link.is_alone(&cx.config().link(), cx) => cx.rule("TR4"),
            Phase::Idle => {
                cx.rule("TR2");
                self.token = None;
                self.pass_on(entries, cx);
            }
        }
    }

    #[inline]
    fn pass_on(&mut self, entries: u64, cx: &mut Cx<'_>) {
        let config = cx.config().link();
        let body = Token { entries, way: self.way };
        if config.acknowledge {
            self.link.send(body, 0, &config, cx);
        } else {
            let (seq, leg) = (Seq::default(), Leg::new(1, false));
            cx.send(cx.group().after(cx.place(), 1), link::Msg::Carry { seq, leg, body });
        }
    }
}

impl Mutex for TokenRing {
    const ENTRY: Entry = Entry {
        name: "token-ring",
        family: "mutex",
        title: "Token ring",
        source: "Le Lann 1977",
        cost: "up to n-1 hops an entry, 1 when all want it; no end when none does",
        assumes: <Self as Process>::ASSUMES,
        topology: Topology::Ring,
        docs: essay!("token_ring.rs"),
        example: "mutex/token-ring-textbook-bypass.txt",
    };

    const TOKEN: bool = true;
    const RESTLESS: bool = true;

    /// The token is d places before the requester, for all d. Counted is the way from there: how
    /// often the token went round unused before depends on how long no process asked.
    fn costs(n: u32) -> Vec<Cost> {
        if n == 1 {
            let twice = [Entries::new(Load::Alone, [1, 1])];
            return vec![Cost::new("alone on the ring", "0", Exact(0), twice)];
        }
        // Each d places after the one before, for d = 1 to n-1.
        let places = (0..n).scan(0, |place, d| {
            *place = (*place + d) % n;
            Some(*place + 1)
        });
        let places: Vec<u32> = places.collect();
        let cost = |case, rank, formula, expected: Expected, delay, places: &[u32]| {
            let way = [Entries::new(Load::Relay, places.to_vec())];
            let cost = Cost::new(case, formula, expected, way).rank(rank);
            cost.parts([(TOKEN, formula, expected)]).delay(delay, expected)
        };
        let hops = u64::from(n) - 1;
        let mean = ExactMean { sum: hops * (hops + 1) / 2, runs: hops };
        let last = &places[n as usize - 2..];
        vec![
            cost("the next one asks", Rank::Best, "1", Exact(1), "T", &places[..2]),
            cost("average way of the token", Rank::Average, "n/2", mean, "n/2 T", &places),
            cost("the last one asks", Rank::Worst, "n-1", Exact(hops), "(n-1)T", last),
            all_ask(n, "1", &[(TOKEN, "1", 1)]),
        ]
    }

    fn has_token(&self) -> bool {
        self.token.is_some()
    }

    fn view(&self, _: &Scene<'_>) -> ProcessView {
        let waits = matches!(self.phase, Phase::Waiting);
        ProcessView::new(if waits { "waits for the token" } else { "" })
            .text_of("entries so far", self.token)
    }
}

#[cfg(test)]
#[path = "tests/token_ring.rs"]
mod tests;
