//! The Chang-Roberts ring election ("An improved algorithm for decentralized extrema-finding in
//! circular configurations of processes", 1979).
//!
//! The processes form a one-way ring, and each knows only its neighbour. A number travels round; a
//! larger process replaces it with its own; the process whose number comes back is the largest.
//! Messages that cannot win are discarded as early as possible, so the average cost is n log n.
//!
//! # Rules
//! * R1 Initiator: become participant, send ELECTION(own number).
//! * R2 ELECTION(u) at p:
//!   * a: u > p: pass it on, become participant;
//!   * b: u < p, not participant: send ELECTION(p) instead, become participant;
//!   * c: u < p, participant: discard, p has sent a larger one already;
//!   * d: u = p: p is the leader. Not participant any more; send ELECTED(p).
//! * R3 ELECTED(u) at p: if p is not u, not participant any more, record u, pass it on; at u it
//!   has been all the way round and is discarded.
//! * R4 Recovery: start an election.
//!
//! # Assumes
//! FIFO channels. Within one election order does not matter; but the ELECTION of a next one that
//! overtakes the ELECTED of the last is discarded (R2c), and its initiator waits for ever. The
//! paper knows no crashes; here the [`link`] skips dead neighbours, takes orphaned messages off the
//! ring, and with bounded delays the [`detector`](super::detector) repeats an election that a crash
//! has ended.
//!
//! # Costs
//! ELECTION, one initiator: k best, 2k-1 worst, k+(k-1)/2 on average. All initiate: 2k-1 best,
//! k(k+1)/2 worst, k H(k) on average. Then k ELECTED.

use super::costs::{Race, all_start, one_starts};
use super::link::{AckTimeout, Arrived, Link, Rider};
use super::{Config, Election, Incarnation, Input, Output, link};
use crate::cost::Expected::{Exact, ExactMean};
use crate::cost::{Cost, Rank};
use crate::definition::{Entry, Topology};
use crate::rings::{ascending, circles, descending};
use crate::show::{Mark, ProcessView};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where not all arrangements of a ring can be tried, the mean is taken over this many.
const SAMPLED_RINGS: u64 = 100;

/// What goes round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Body {
    /// "The largest number so far."
    Election(NodeId),
    /// "The largest of all: it leads."
    Elected(NodeId),
}

impl Message for Body {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Body::Election(_) => "ELECTION",
            Body::Elected(_) => "ELECTED",
        })
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Body::Election(number) | Body::Elected(number)) = self;
        write!(f, "{}({})", self.kind().name, number.number())
    }
}

/// One process on the ring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangRoberts {
    incarnation: Incarnation,
    phase: Phase,
    link: Link<Body>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Knows the leader of the last election, if there was one.
    NonParticipant { leader: Option<NodeId> },
    /// Has sent a number at least as large as its own and waits for ELECTED.
    Participant,
}

impl Default for Phase {
    fn default() -> Self {
        Phase::NonParticipant { leader: None }
    }
}

type Cx<'a> = Context<'a, ChangRoberts>;

impl Process for ChangRoberts {
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
            cx.rule("R4");
            self.start_election(cx);
        } else {
            self.phase = Phase::NonParticipant { leader: cx.config().coordinator };
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Suspect | Input::Start => self.start_election(cx),
        }
    }

    #[inline(always)]
    fn on_message(&mut self, from: NodeId, msg: Self::Msg, cx: &mut Cx<'_>) {
        self.ride(from, msg, cx);
    }

    fn on_timer(&mut self, AckTimeout: AckTimeout, cx: &mut Cx<'_>) {
        self.skip(cx);
    }
}

impl Rider for ChangRoberts {
    type Body = Body;

    fn link(&mut self) -> &mut Link<Body> {
        &mut self.link
    }

    #[inline(always)]
    fn on_arrival(&mut self, Arrived { body, hops }: Arrived<Body>, cx: &mut Cx<'_>) {
        match body {
            Body::Election(number) if number > cx.me() => {
                cx.rule("R2a");
                self.phase = Phase::Participant;
                self.forward(body, hops, cx);
            }
            Body::Election(number) if number < cx.me() => match self.phase {
                Phase::NonParticipant { .. } => {
                    cx.rule("R2b");
                    self.participate(cx);
                }
                Phase::Participant => cx.rule("R2c"),
            },
            Body::Election(_) => {
                cx.rule("R2d");
                self.record(cx.me(), cx);
                self.forward(Body::Elected(cx.me()), 0, cx);
            }
            Body::Elected(leader) => {
                cx.rule("R3");
                if leader != cx.me() {
                    self.record(leader, cx);
                    self.forward(body, hops, cx);
                }
            }
        }
    }
}

impl ChangRoberts {
    /// R1.
    fn start_election(&mut self, cx: &mut Cx<'_>) {
        cx.rule("R1");
        cx.emit(Output::Started);
        self.participate(cx);
    }

    /// Enters the own number.
    #[inline(always)]
    fn participate(&mut self, cx: &mut Cx<'_>) {
        self.phase = Phase::Participant;
        self.forward(Body::Election(cx.me()), 0, cx);
    }

    fn record(&mut self, leader: NodeId, cx: &mut Cx<'_>) {
        self.phase = Phase::NonParticipant { leader: Some(leader) };
        cx.emit(Output::Elected(leader));
    }
}

impl Election for ChangRoberts {
    const ENTRY: Entry = Entry {
        name: "chang-roberts",
        family: "election",
        title: "Chang-Roberts ring",
        source: "Chang and Roberts 1979; Coulouris, Distributed Systems",
        cost: "all start: 2k-1 best, k(k+1)/2 worst, k H(k) average; plus k ELECTED",
        assumes: Self::ASSUMES,
        topology: Topology::Ring,
        docs: essay!("chang_roberts.rs"),
        example: "election/chang-roberts-all-start-worst.txt",
    };

    const CIRCUITS: u32 = 3;

    /// A lone starter's number, or a larger one in its place, travels to the largest process, whose
    /// own then makes the full round: what counts is how far before the largest the starter stands.
    /// If all start, each number travels to the next larger one: one hop where every successor is
    /// larger, and as far as possible where every successor is smaller.
    fn costs(n: u32) -> Vec<Cost> {
        use Rank::{Average, Best, Worst};
        let k = u64::from(n);
        let race = Race { k: n, kinds: &["ELECTION"] };
        // On the ascending ring the largest is followed by the smallest.
        let one = |starter| one_starts(ascending(n), starter);
        let mean = ExactMean { sum: k * k + k * (k - 1) / 2, runs: k };
        let in_order = ["2k-1", "3k-1"];
        let (harmonic, rings) = circles(n, SAMPLED_RINGS, 0);
        let [up, down] = [ascending(n), descending(n)].map(all_start);
        let most = ["k(k+1)/2", "k(k+3)/2"];
        vec![
            race.cost("one starts, the largest", Best, ["k", "2k"], Exact(k), [one(n)]),
            race.cost(
                "one starts, average",
                Average,
                ["k + (k-1)/2", "2k + (k-1)/2"],
                mean,
                (1..=n).map(one),
            ),
            race.cost("one starts, farthest", Worst, in_order, Exact(2 * k - 1), [one(1)]),
            race.cost("all start, ascending", Best, in_order, Exact(2 * k - 1), [up]),
            race.cost(
                "all start, average",
                Average,
                ["k H(k)", "k H(k) + k"],
                harmonic,
                rings.into_iter().map(all_start),
            ),
            race.cost("all start, descending", Worst, most, Exact(k * (k + 1) / 2), [down]),
        ]
    }

    fn coordinator(&self) -> Option<NodeId> {
        match self.phase {
            Phase::NonParticipant { leader } => leader,
            Phase::Participant => None,
        }
    }

    fn view(&self) -> ProcessView {
        match self.phase {
            Phase::NonParticipant { leader: None } => ProcessView::new("not a participant"),
            Phase::NonParticipant { .. } => ProcessView::new(""),
            Phase::Participant => ProcessView::new("participant").mark(Mark::Participant),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::tests::{Fixture, elected, id, sent, started};

    fn election(number: u32) -> Body {
        Body::Election(id(number))
    }

    fn outcome(leader: u32) -> Body {
        Body::Elected(id(leader))
    }

    #[test]
    fn r1_sends_its_own_number() {
        let mut p2 = Fixture::<ChangRoberts>::following(2, Some(4));
        assert_eq!(p2.process.coordinator(), Some(id(4)));
        assert_eq!(p2.ask(), [started(), sent(3, 1, election(2))]);
        assert_eq!(p2.process.coordinator(), None, "a participant");
    }

    #[test]
    fn r2a_passes_a_larger_number_on_and_takes_part() {
        let mut p2 = Fixture::<ChangRoberts>::following(2, Some(4));
        assert_eq!(p2.arrive(3, election(3)), [sent(3, 4, election(3))]);
        assert_eq!(p2.process.phase, Phase::Participant);
        assert_eq!(p2.arrive(2, election(4)), [sent(3, 3, election(4))], "and again");
    }

    #[test]
    fn r2b_replaces_a_smaller_number_by_its_own() {
        let mut p2 = Fixture::<ChangRoberts>::at(2);
        assert_eq!(p2.arrive(1, election(1)), [sent(3, 1, election(2))]);
        assert_eq!(p2.process.phase, Phase::Participant);
    }

    #[test]
    fn r2c_a_participant_discards_a_smaller_number() {
        let mut p2 = Fixture::<ChangRoberts>::at(2);
        p2.ask();
        assert_eq!(p2.arrive(1, election(1)), []);
        assert_eq!(p2.process.phase, Phase::Participant);
    }

    #[test]
    fn r2d_leads_when_its_number_comes_back() {
        let mut p2 = Fixture::<ChangRoberts>::at(2);
        p2.ask();
        assert_eq!(p2.arrive(2, election(2)), [elected(2), sent(3, 1, outcome(2))]);
        assert_eq!(p2.process.phase, Phase::NonParticipant { leader: Some(id(2)) });
    }

    #[test]
    fn r3_records_the_leader_and_passes_it_on() {
        let mut p2 = Fixture::<ChangRoberts>::at(2);
        p2.ask();
        assert_eq!(p2.arrive(2, outcome(4)), [elected(4), sent(3, 3, outcome(4))]);
        assert_eq!(p2.process.phase, Phase::NonParticipant { leader: Some(id(4)) });
    }

    #[test]
    fn r3_the_leader_discards_what_has_been_all_the_way_round() {
        let mut p2 = Fixture::<ChangRoberts>::at(2);
        p2.ask();
        p2.arrive(2, election(2));
        assert_eq!(p2.arrive(2, outcome(2)), []);
        assert_eq!(p2.process.coordinator(), Some(id(2)));
    }

    #[test]
    fn r4_starts_an_election_when_it_comes_back() {
        let mut p2 = Fixture::<ChangRoberts>::following(2, Some(4));
        assert_eq!(p2.come_back(), [started(), sent(3, 1, election(2))]);
        assert_eq!(p2.process.durable().number(), 2, "its second life");
    }
}
