//! The ring election with the list in the message (Tanenbaum and van Steen, Distributed Systems, 6.5).
//!
//! A message travels round the ring and collects the number of every process it meets. Back where
//! it began, it holds all live processes; the largest is announced in a second round.
//!
//! # Rules
//! * R1 Start: send ELECTION[own number] to the first live successor.
//! * R2 ELECTION at a process that is not in the list: append the own number, pass it on.
//! * R3 ELECTION at the first in its list: the circuit is complete. Send COORDINATOR(largest in
//!   the list, the list) round once.
//! * R4 COORDINATOR: record coordinator and members and pass it on; the first in its list, who
//!   sent it, takes it off the ring.
//! * R5 ELECTION at a process that is in the list but not first: those before it in the list did
//!   not stop the message, so they died while it circulated. Take it over: strike them out and go
//!   on with R3.
//! * R6 Recovery: start an election.
//!
//! Two elections at once are fine: both circulate and elect the same process.
//!
//! # Assumes
//! The [`link`] finds the first live successor, for which delays must be bounded.
//!
//! # Costs
//! 2k for k live processes and each initiator.
//!
//! # Departures
//! The texts do not say what becomes of a message whose initiator dies. Of the two ways out,
//! dropping it and taking it over, R5 is the second: the list is complete, so the election can be
//! brought to its end at once, and no process has to notice that it stopped.

use super::costs::orphaned;
use super::link::{AckTimeout, Arrived, Link, Rider};
use super::{Config, Election, Incarnation, Input, Output, link};
use crate::cost::{Cost, Kinds, Rank};
use crate::definition::{Entry, Topology};
use crate::show::{Item, Mark, ProcessView};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What goes round.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// The live processes met so far; the initiator first. Never empty.
    Election(Vec<NodeId>),
    /// The outcome.
    Coordinator {
        /// The largest of the members.
        coordinator: NodeId,
        /// The ring as the election found it; who announces it first.
        members: Vec<NodeId>,
    },
}

impl Message for Body {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Body::Election(_) => "ELECTION",
            Body::Coordinator { .. } => "COORDINATOR",
        })
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Election(list) => write!(f, "ELECTION {}", Numbers(list)),
            Body::Coordinator { coordinator, .. } => {
                write!(f, "COORDINATOR({})", coordinator.number())
            }
        }
    }
}

/// Shows a list as the texts do: `[2,3,4]`.
struct Numbers<'a>(&'a [NodeId]);

impl fmt::Display for Numbers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, id) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{}", id.number())?;
        }
        f.write_str("]")
    }
}

/// One process on the ring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ring {
    incarnation: Incarnation,
    phase: Phase,
    link: Link<Body>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Knows the outcome of the last election, if there was one.
    Idle { coordinator: Option<NodeId>, members: Vec<NodeId> },
    /// Has sent or passed on an ELECTION and waits for COORDINATOR.
    Electing,
}

impl Default for Phase {
    fn default() -> Self {
        Phase::Idle { coordinator: None, members: Vec::new() }
    }
}

type Cx<'a> = Context<'a, Ring>;

impl Process for Ring {
    type Msg = link::Msg<Body>;
    type Timer = AckTimeout;
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
        self.mount(saved.map(Incarnation::number), cx);
        if recovered {
            cx.rule("R6");
            self.start_election(cx);
        } else {
            let coordinator = cx.config().coordinator;
            self.phase = Phase::Idle { coordinator, members: Vec::new() };
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

impl Rider for Ring {
    type Body = Body;

    fn link(&mut self) -> &mut Link<Body> {
        &mut self.link
    }

    fn on_arrival(&mut self, Arrived { body, hops }: Arrived<Body>, cx: &mut Cx<'_>) {
        match body {
            Body::Election(mut list) => match list.iter().position(|id| *id == cx.me()) {
                None => {
                    cx.rule("R2");
                    self.phase = Phase::Electing;
                    list.push(cx.me());
                    self.forward(Body::Election(list), hops, cx);
                }
                Some(0) => self.announce(list, cx),
                Some(dead) => {
                    cx.rule("R5");
                    self.announce(list.split_off(dead), cx);
                }
            },
            Body::Coordinator { coordinator, members } => {
                cx.rule("R4");
                let back_home = members.first() == Some(&cx.me());
                self.record(coordinator, members.clone(), cx);
                if !back_home {
                    self.forward(Body::Coordinator { coordinator, members }, hops, cx);
                }
            }
        }
    }
}

impl Ring {
    /// R1.
    fn start_election(&mut self, cx: &mut Cx<'_>) {
        cx.rule("R1");
        self.phase = Phase::Electing;
        cx.emit(Output::Started);
        self.forward(Body::Election(vec![cx.me()]), 0, cx);
    }

    /// R3. The list begins with this process.
    fn announce(&mut self, members: Vec<NodeId>, cx: &mut Cx<'_>) {
        cx.rule("R3");
        debug_assert_eq!(members.first(), Some(&cx.me()));
        let coordinator = members.iter().copied().max().unwrap_or(cx.me());
        self.forward(Body::Coordinator { coordinator, members }, 0, cx);
    }

    /// R4. Says so only when it is news.
    fn record(&mut self, coordinator: NodeId, members: Vec<NodeId>, cx: &mut Cx<'_>) {
        let news = self.coordinator() != Some(coordinator);
        self.phase = Phase::Idle { coordinator: Some(coordinator), members };
        if news {
            cx.emit(Output::Elected(coordinator));
        }
    }
}

impl Election for Ring {
    const ENTRY: Entry = Entry {
        name: "ring",
        family: "election",
        title: "Ring, list in the message",
        source: "Tanenbaum and van Steen, Distributed Systems, 6.5",
        cost: "2k per initiator",
        assumes: Self::ASSUMES,
        topology: Topology::Ring,
        docs: essay!("ring.rs"),
        example: "election/ring-six-processes.txt",
    };

    const CIRCUITS: u32 = 3;

    fn costs(n: u32) -> Vec<Cost> {
        if n == 1 {
            return Vec::new();
        }
        let k = u64::from(n - 1);
        let cost = |case, rank, formula, each, circuit, starters| {
            let parts: [(Kinds, _, _); 2] =
                [(&["ELECTION"], each, circuit), (&["COORDINATOR"], each, circuit)];
            Cost::sum(case, formula, &parts, [orphaned(n, starters)]).rank(rank)
        };
        vec![
            cost("one starts", Rank::Best, "2k", "k", k, 1..=1),
            cost("all start", Rank::Worst, "2k^2", "k^2", k * k, 1..=n - 1),
        ]
    }

    fn coordinator(&self) -> Option<NodeId> {
        match self.phase {
            Phase::Idle { coordinator, .. } => coordinator,
            Phase::Electing => None,
        }
    }

    fn members(&self) -> &[NodeId] {
        match &self.phase {
            Phase::Idle { members, .. } => members,
            Phase::Electing => &[],
        }
    }

    fn view(&self) -> ProcessView {
        match &self.phase {
            Phase::Idle { coordinator: None, .. } => ProcessView::new("knows no coordinator"),
            Phase::Idle { members, .. } => ProcessView::new("")
                .set("live in the last election", members.iter().map(|id| Item::of(*id))),
            Phase::Electing => {
                ProcessView::new("has added itself to the list").mark(Mark::Participant)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::tests::{Did, Fixture, elected, id, ids, sent, started};

    fn election(list: &[u32]) -> Body {
        Body::Election(ids(list))
    }

    fn coordinator(number: u32, members: &[u32]) -> Body {
        Body::Coordinator { coordinator: id(number), members: ids(members) }
    }

    #[test]
    fn r1_sends_a_list_of_itself_to_its_successor() {
        let mut p2 = Fixture::<Ring>::following(2, Some(4));
        assert_eq!(p2.process.coordinator(), Some(id(4)));
        assert_eq!(p2.ask(), [started(), sent(3, 1, election(&[2]))]);
        assert_eq!(p2.process.coordinator(), None);
    }

    #[test]
    fn r2_appends_itself_and_passes_the_list_on() {
        let mut p2 = Fixture::<Ring>::following(2, Some(4));
        assert_eq!(p2.arrive(3, election(&[3, 4, 1])), [sent(3, 4, election(&[3, 4, 1, 2]))]);
        assert_eq!(p2.process.coordinator(), None, "it takes part now");
    }

    #[test]
    fn r2_joins_another_election_while_its_own_is_on_the_way() {
        let mut p2 = Fixture::<Ring>::at(2);
        p2.ask();
        assert_eq!(p2.arrive(1, election(&[1])), [sent(3, 2, election(&[1, 2]))]);
    }

    #[test]
    fn r3_announces_the_largest_when_its_list_comes_back() {
        let mut p2 = Fixture::<Ring>::at(2);
        p2.ask();
        assert_eq!(
            p2.arrive(3, election(&[2, 3, 1])),
            [sent(3, 1, coordinator(3, &[2, 3, 1]))],
            "a new message: its hops are counted afresh"
        );
    }

    #[test]
    fn r4_records_the_outcome_and_passes_it_on() {
        let mut p2 = Fixture::<Ring>::at(2);
        p2.arrive(1, election(&[1]));
        let outcome = coordinator(3, &[1, 2, 3]);
        assert_eq!(p2.arrive(1, outcome.clone()), [elected(3), sent(3, 2, outcome.clone())]);
        assert_eq!(p2.process.coordinator(), Some(id(3)));
        assert_eq!(p2.process.members(), ids(&[1, 2, 3]));
        assert_eq!(p2.arrive(1, outcome.clone()), [sent(3, 2, outcome)], "no news");
    }

    #[test]
    fn r4_who_announced_it_takes_it_off_the_ring() {
        let mut p2 = Fixture::<Ring>::at(2);
        p2.ask();
        p2.arrive(3, election(&[2, 3, 1]));
        assert_eq!(p2.arrive(3, coordinator(3, &[2, 3, 1])), [elected(3)]);
        assert_eq!(p2.process.members(), ids(&[2, 3, 1]));
    }

    #[test]
    fn r5_takes_over_from_an_initiator_that_died() {
        let mut p2 = Fixture::<Ring>::at(2);
        p2.arrive(2, election(&[4, 1]));
        // 4 and 1 died: 3 passes the list on to 2, and 4 must not win.
        assert_eq!(p2.arrive(4, election(&[4, 1, 2, 3])), [sent(3, 1, coordinator(3, &[2, 3]))]);
    }

    #[test]
    fn r6_starts_an_election_when_it_comes_back() {
        let mut p2 = Fixture::<Ring>::following(2, Some(4));
        assert_eq!(p2.come_back(), [started(), sent(3, 1, election(&[2]))]);
        assert_eq!(p2.process.durable().number(), 2, "its second life");
    }

    #[test]
    fn two_elections_at_once_elect_the_same() {
        let mut p2 = Fixture::<Ring>::at(2);
        p2.ask();
        p2.arrive(2, election(&[4, 1]));
        p2.arrive(4, election(&[2, 3, 4, 1]));
        let theirs = coordinator(4, &[4, 1, 2, 3]);
        assert_eq!(p2.arrive(2, theirs.clone()), [elected(4), sent(3, 3, theirs)]);
        let nothing: [Did<Body>; 0] = [];
        assert_eq!(p2.arrive(4, coordinator(4, &[2, 3, 4, 1])), nothing);
    }
}
