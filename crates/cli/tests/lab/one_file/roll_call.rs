//! A roll call: an election for the tests, and the example of ARCHITECTURE.md.
//!
//! Everybody knows everybody. A process that hears of an election calls all others, and follows the
//! largest that answers.
//!
//! # Rules
//! * R1 Start: send CALL to all others and wait T for their answers.
//! * R2 CALL: answer HERE; start a call of one's own unless one is under way.
//! * R3 HERE: remember the largest that answers.
//! * R4 After T: follow the largest of those who are there.
//! * R5 Recovery: start a call.
//!
//! # Assumes
//! Bounded delays with T above a round trip.
//!
//! # Costs
//! 2n(n-1) if all live.

use super::costs::one_starts;
use super::{Config, Election, Incarnation, Input, Output};
use crate::cost::{Cost, Kinds, Rank};
use crate::definition::{Entry, Topology};
use crate::rings::ascending;
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a roll call consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "Who is there?"
    Call,
    /// "I am."
    Here,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Call => "CALL",
            Msg::Here => "HERE",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name)
    }
}

/// T: all answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Answers;

/// One process of a roll call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RollCall {
    incarnation: Incarnation,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// No call is under way here.
    Idle { coordinator: Option<NodeId> },
    /// R1: CALL is out. Timer `Answers` runs.
    Calling { largest: NodeId },
}

impl Default for Phase {
    fn default() -> Self {
        Phase::Idle { coordinator: None }
    }
}

type Cx<'a> = Context<'a, RollCall>;

impl Process for RollCall {
    type Msg = Msg;
    type Timer = Answers;
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
        if recovered {
            cx.rule("R5");
            self.call_the_roll(cx);
        } else {
            self.phase = Phase::Idle { coordinator: cx.config().coordinator };
        }
    }

    fn on_input(&mut self, _: Input, cx: &mut Cx<'_>) {
        if let Phase::Idle { .. } = self.phase {
            self.call_the_roll(cx);
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match (msg, &mut self.phase) {
            (Msg::Call, phase) => {
                cx.rule("R2");
                cx.send(from, Msg::Here);
                if let Phase::Idle { .. } = phase {
                    self.call_the_roll(cx);
                }
            }
            (Msg::Here, Phase::Calling { largest }) => {
                cx.rule("R3");
                *largest = from.max(*largest);
            }
            (Msg::Here, Phase::Idle { .. }) => {}
        }
    }

    fn on_timer(&mut self, Answers: Answers, cx: &mut Cx<'_>) {
        let Phase::Calling { largest } = self.phase else { return };
        cx.rule("R4");
        self.phase = Phase::Idle { coordinator: Some(largest) };
        cx.emit(Output::Elected(largest));
    }
}

impl RollCall {
    /// R1.
    fn call_the_roll(&mut self, cx: &mut Cx<'_>) {
        cx.rule("R1");
        self.phase = Phase::Calling { largest: cx.me() };
        cx.emit(Output::Started);
        cx.others().for_each(|other| cx.send(other, Msg::Call));
        cx.set_timer(Answers, cx.config().timeout);
    }
}

impl Election for RollCall {
    const ENTRY: Entry = Entry {
        name: "roll-call",
        family: "election",
        title: "Roll call",
        source: "ARCHITECTURE.md",
        cost: "2n(n-1), however many start",
        assumes: Self::ASSUMES,
        topology: Topology::Mesh,
        docs: include_str!("roll_call.rs"),
        example: "",
    };

    const CIRCUITS: u32 = 0;

    const KINDS: &'static [&'static str] = &["CALL", "HERE"];

    fn costs(n: u32) -> Vec<Cost> {
        let all = u64::from(n) * (u64::from(n) - 1);
        let parts: [(Kinds, _, _); 2] = [(&["CALL"], "n(n-1)", all), (&["HERE"], "n(n-1)", all)];
        let trial = one_starts(ascending(n), 1);
        vec![Cost::sum("nobody dead, one starts", "2n(n-1)", &parts, [trial]).rank(Rank::Worst)]
    }

    fn coordinator(&self) -> Option<NodeId> {
        match self.phase {
            Phase::Idle { coordinator } => coordinator,
            Phase::Calling { .. } => None,
        }
    }
}
