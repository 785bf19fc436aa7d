//! The bully election (Garcia-Molina, "Elections in a distributed computing system", 1982, as
//! told by Silberschatz and by Tanenbaum).
//!
//! Every process knows all others. A process that misses the coordinator asks all processes with
//! larger numbers whether they live; if none answers it is the largest and tells the smaller
//! ones. The biggest live process always gets its way, hence the name.
//!
//! # Rules
//! * R1 Start: send ELECTION to every process with a larger number and wait T for an OK. If there
//!   is none, go to R2 at once.
//! * R2 No OK within T: become coordinator, send COORDINATOR to every process with a smaller
//!   number.
//! * R3 An OK came: wait T' for COORDINATOR. None within T': start again with R1.
//! * R4 ELECTION from a smaller number: answer OK; start an election unless one is under way.
//! * R5 COORDINATOR from a larger number: record it, stop the own election.
//! * R6 COORDINATOR from a smaller number: start an election at once. This is the bullying.
//! * R7 Recovery: start an election at once. The largest of all announces itself thereby, even
//!   over a working coordinator.
//!
//! # Assumes
//! Bounded delays with T above a round trip. When a delay lies above T, two coordinators are
//! possible; under a partition they are certain. Order does not matter, duplicates do no harm.
//!
//! # Costs
//! With n processes, coordinator n dead and d the detector, p = n - d: ELECTION p(p+1)/2,
//! OK p(p-1)/2, COORDINATOR n-2.
//!
//! # Departures
//! T' is 2T: every larger process hears of the election one delay after its start, waits at most
//! T and announces in one more delay. A coordinator counts its election as under way for T after
//! the announcement: an ELECTION that crossed the announcement belongs to the same election and
//! is answered OK, but does not cause a second announcement.

use super::costs::{one_starts, orphaned};
use super::{Config, Election, Incarnation, Input, Output};
use crate::cost::Expected::{Exact, ExactMean};
use crate::cost::{Cost, Expected, Kinds, Rank};
use crate::definition::{Entry, Topology};
use crate::rings::ascending;
use crate::show::{Mark, ProcessView};
use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What bullies say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "I hold an election; do you live?", to larger numbers.
    Election,
    /// "I live and take over", to the smaller number that asked. Also called ANSWER.
    Ok,
    /// "I coordinate", to smaller numbers.
    Coordinator,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Election => "ELECTION",
            Msg::Ok => "OK",
            Msg::Coordinator => "COORDINATOR",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name)
    }
}

/// What a bully waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// T: an OK.
    Answer,
    /// T': the COORDINATOR that an OK promised.
    Victory,
    /// T: ELECTIONs that crossed the own announcement.
    Crossing,
}

/// One process of a bully election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bully {
    incarnation: Incarnation,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// No election here. Invariant: `coordinator` is never smaller than this process.
    Idle { coordinator: Option<NodeId> },
    /// R1: ELECTION is out, no process has answered. Timer `Answer` runs.
    AwaitingAnswer,
    /// R3: a larger process lives and will announce itself. Timer `Victory` runs.
    AwaitingVictory,
    /// R2: this process itself coordinates and its announcement may still be on the way. Timer
    /// `Crossing` runs.
    Announced { coordinator: NodeId },
}

impl Default for Phase {
    fn default() -> Self {
        Phase::Idle { coordinator: None }
    }
}

type Cx<'a> = Context<'a, Bully>;

impl Process for Bully {
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
        if recovered {
            cx.rule("R7");
            self.start_election(cx);
        } else {
            self.phase = Phase::Idle { coordinator: cx.config().coordinator };
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Suspect | Input::Start => self.start_election(cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match (msg, &self.phase) {
            (Msg::Election, _) => self.answer(from, cx),
            (Msg::Ok, Phase::AwaitingAnswer) => self.await_victory(cx),
            // A second OK, or one for an election that is over.
            (Msg::Ok, _) => {}
            (Msg::Coordinator, _) if from > cx.me() => self.follow(from, cx),
            (Msg::Coordinator, _) => {
                cx.rule("R6");
                self.start_election(cx);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Answer => self.become_coordinator(cx),
            Timer::Victory => {
                cx.rule("R3");
                self.start_election(cx);
            }
            Timer::Crossing => self.phase = Phase::Idle { coordinator: Some(cx.me()) },
        }
    }
}

impl Bully {
    /// R1.
    fn start_election(&mut self, cx: &mut Cx<'_>) {
        cx.rule("R1");
        self.stop_waiting(cx);
        cx.emit(Output::Started);
        let mut larger = cx.group().above(cx.me()).peekable();
        if larger.peek().is_none() {
            return self.become_coordinator(cx);
        }
        for process in larger {
            cx.send(process, Msg::Election);
        }
        self.phase = Phase::AwaitingAnswer;
        cx.set_timer(Timer::Answer, cx.config().timeout);
    }

    /// R2.
    fn become_coordinator(&mut self, cx: &mut Cx<'_>) {
        cx.rule("R2");
        self.phase = Phase::Announced { coordinator: cx.me() };
        cx.set_timer(Timer::Crossing, cx.config().timeout);
        cx.emit(Output::Elected(cx.me()));
        for process in cx.group().below(cx.me()) {
            cx.send(process, Msg::Coordinator);
        }
    }

    /// R3, first half.
    fn await_victory(&mut self, cx: &mut Cx<'_>) {
        cx.rule("R3");
        self.stop_waiting(cx);
        self.phase = Phase::AwaitingVictory;
        cx.set_timer(Timer::Victory, 2 * cx.config().timeout);
    }

    /// R4.
    fn answer(&mut self, from: NodeId, cx: &mut Cx<'_>) {
        cx.rule("R4");
        cx.send(from, Msg::Ok);
        if let Phase::Idle { .. } = self.phase {
            self.start_election(cx);
        }
    }

    /// R5.
    fn follow(&mut self, coordinator: NodeId, cx: &mut Cx<'_>) {
        cx.rule("R5");
        self.stop_waiting(cx);
        self.phase = Phase::Idle { coordinator: Some(coordinator) };
        cx.emit(Output::Elected(coordinator));
    }

    /// Disarms the timer of the phase that is being left.
    fn stop_waiting(&mut self, cx: &mut Cx<'_>) {
        match self.phase {
            Phase::Idle { .. } => {}
            Phase::AwaitingAnswer => cx.cancel_timer(Timer::Answer),
            Phase::AwaitingVictory => cx.cancel_timer(Timer::Victory),
            Phase::Announced { .. } => cx.cancel_timer(Timer::Crossing),
        }
        self.phase = Phase::default();
    }
}

impl Election for Bully {
    const ENTRY: Entry = Entry {
        name: "bully",
        family: "election",
        title: "Bully",
        source: "Garcia-Molina 1982; Silberschatz, Operating System Concepts; Tanenbaum",
        cost: "(n-d)^2 + n-2 when d detects; n-1 best, n^2-n-1 worst",
        assumes: Self::ASSUMES,
        topology: Topology::Mesh,
        docs: essay!("bully.rs"),
        example: "election/bully-p1-to-p4.txt",
    };

    const CIRCUITS: u32 = 0;

    /// p = n - d larger ones stand above detector d.
    fn costs(n: u32) -> Vec<Cost> {
        const KINDS: [Kinds; 3] = [&["ELECTION"], &["OK"], &["COORDINATOR"]];
        let parts = |formulas: [(&'static str, Expected); 3]| {
            KINDS.into_iter().zip(formulas).map(|(kinds, (text, count))| (kinds, text, count))
        };
        let count = u64::from(n);
        let pairs = Exact(count * (count - 1) / 2);
        let none_dead = one_starts(ascending(n), 1);
        let none_dead =
            Cost::new("nobody dead, lowest starts", "n^2-1", Exact(count * count - 1), [none_dead])
                .parts(parts([
                    ("n(n-1)/2", pairs),
                    ("n(n-1)/2", pairs),
                    ("n-1", Exact(count - 1)),
                ]));
        if n == 1 {
            return vec![none_dead];
        }
        let announced = ("n-2", Exact(count - 2));
        let next = [orphaned(n, [n - 1])];
        let next = Cost::new("next-highest detects", "n-1", Exact(count - 1), next)
            .rank(Rank::Best)
            .parts(parts([("1", Exact(1)), ("0", Exact(0)), announced]));
        // The sums over p = 1..n-1 of p^2 + n-2, p(p+1)/2 and p(p-1)/2.
        let runs = count - 1;
        let mean = |sum| ExactMean { sum, runs };
        let total = mean(runs * count * (2 * count - 1) / 6 + runs * (count - 2));
        let all = (1..n).map(|detector| orphaned(n, [detector]));
        let average = Cost::new("average detector", "n(2n-1)/6 + n-2", total, all)
            .rank(Rank::Average)
            .parts(parts([
                ("n(n+1)/6", mean(runs * count * (count + 1) / 6)),
                ("n(n-2)/6", mean(runs * count * (count - 2) / 6)),
                announced,
            ]));
        let answers = Exact((count - 1) * (count - 2) / 2);
        let total = Exact(count * count - count - 1);
        let lowest = Cost::new("lowest detects", "n^2-n-1", total, [orphaned(n, [1])])
            .rank(Rank::Worst)
            .parts(parts([("n(n-1)/2", pairs), ("(n-1)(n-2)/2", answers), announced]));
        vec![next, average, lowest, none_dead]
    }

    fn coordinator(&self) -> Option<NodeId> {
        match self.phase {
            Phase::Idle { coordinator } => coordinator,
            Phase::Announced { coordinator } => Some(coordinator),
            Phase::AwaitingAnswer | Phase::AwaitingVictory => None,
        }
    }

    fn view(&self) -> ProcessView {
        match self.phase {
            Phase::Idle { coordinator: None } => ProcessView::new("knows no coordinator"),
            Phase::Idle { coordinator: Some(_) } => ProcessView::new(""),
            Phase::AwaitingAnswer => {
                ProcessView::new("waits T for an OK from a larger one").mark(Mark::Participant)
            }
            Phase::AwaitingVictory => {
                ProcessView::new("has lost, waits for COORDINATOR").mark(Mark::Passive)
            }
            Phase::Announced { .. } => ProcessView::new("has announced itself"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::tests::{Fixture, T, exactly, id};
    use bellwether_core::Effect::{self, CancelTimer, Emit, Send, SetTimer};

    /// What P2 of 1..4 does when it starts an election.
    fn p2_starts() -> Vec<Effect<Bully>> {
        vec![
            Emit(Output::Started),
            Send(id(3), Msg::Election),
            Send(id(4), Msg::Election),
            SetTimer(Timer::Answer, exactly(T)),
        ]
    }

    /// What P4, the largest, does instead.
    fn p4_announces() -> Vec<Effect<Bully>> {
        vec![
            Emit(Output::Started),
            SetTimer(Timer::Crossing, exactly(T)),
            Emit(Output::Elected(id(4))),
            Send(id(1), Msg::Coordinator),
            Send(id(2), Msg::Coordinator),
            Send(id(3), Msg::Coordinator),
        ]
    }

    /// The same after having stopped waiting for something.
    fn after_cancelling(timer: Timer, mut then: Vec<Effect<Bully>>) -> Vec<Effect<Bully>> {
        then.insert(0, CancelTimer(timer));
        then
    }

    #[test]
    fn r1_asks_every_larger_process() {
        let mut p2 = Fixture::<Bully>::following(2, Some(4));
        assert_eq!(p2.process.coordinator(), Some(id(4)));
        assert_eq!(p2.input(Input::Suspect), p2_starts());
        assert_eq!(p2.process.coordinator(), None);
    }

    #[test]
    fn r1_a_second_start_begins_the_wait_anew() {
        let mut p2 = Fixture::<Bully>::at(2);
        p2.input(Input::Start);
        assert_eq!(p2.input(Input::Start), after_cancelling(Timer::Answer, p2_starts()));
    }

    #[test]
    fn r1_the_largest_asks_none_and_wins_at_once() {
        let mut p4 = Fixture::<Bully>::at(4);
        assert_eq!(p4.input(Input::Start), p4_announces());
        assert_eq!(p4.process.coordinator(), Some(id(4)));
    }

    #[test]
    fn r2_becomes_coordinator_when_none_answers() {
        let mut p2 = Fixture::<Bully>::at(2);
        p2.input(Input::Suspect);
        assert_eq!(
            p2.fire(Timer::Answer),
            [
                SetTimer(Timer::Crossing, exactly(T)),
                Emit(Output::Elected(id(2))),
                Send(id(1), Msg::Coordinator),
            ]
        );
        assert_eq!(p2.process.coordinator(), Some(id(2)));
        assert_eq!(p2.fire(Timer::Crossing), []);
        assert_eq!(p2.process.coordinator(), Some(id(2)));
    }

    #[test]
    fn r3_waits_for_the_coordinator_that_an_ok_promises() {
        let mut p2 = Fixture::<Bully>::at(2);
        p2.input(Input::Suspect);
        assert_eq!(
            p2.deliver(3, Msg::Ok),
            [CancelTimer(Timer::Answer), SetTimer(Timer::Victory, exactly(2 * T))]
        );
        assert_eq!(p2.deliver(4, Msg::Ok), [], "one OK is enough");
    }

    #[test]
    fn r3_starts_again_when_the_promise_is_not_kept() {
        let mut p2 = Fixture::<Bully>::at(2);
        p2.input(Input::Suspect);
        p2.deliver(3, Msg::Ok);
        assert_eq!(p2.fire(Timer::Victory), after_cancelling(Timer::Victory, p2_starts()));
    }

    #[test]
    fn r3_an_ok_for_an_election_that_is_over_means_nothing() {
        let mut p2 = Fixture::<Bully>::following(2, Some(4));
        assert_eq!(p2.deliver(3, Msg::Ok), []);
        assert_eq!(p2.process.coordinator(), Some(id(4)));
    }

    #[test]
    fn r4_answers_a_smaller_process_and_starts() {
        let mut p2 = Fixture::<Bully>::following(2, Some(4));
        let mut expected = vec![Send(id(1), Msg::Ok)];
        expected.extend(p2_starts());
        assert_eq!(p2.deliver(1, Msg::Election), expected);
    }

    #[test]
    fn r4_only_answers_while_an_election_is_under_way() {
        let ok = [Send(id(1), Msg::Ok)];
        let mut p2 = Fixture::<Bully>::at(2);
        p2.input(Input::Suspect);
        assert_eq!(p2.deliver(1, Msg::Election), ok, "while it waits for an OK");
        p2.deliver(3, Msg::Ok);
        assert_eq!(p2.deliver(1, Msg::Election), ok, "while it waits for COORDINATOR");

        let mut p4 = Fixture::<Bully>::at(4);
        p4.input(Input::Start);
        assert_eq!(p4.deliver(1, Msg::Election), ok, "while its announcement is on the way");
        p4.fire(Timer::Crossing);
        let again = p4.deliver(1, Msg::Election);
        assert_eq!(again[0], ok[0]);
        assert_eq!(again[1..], p4_announces(), "but not for ever");
    }

    #[test]
    fn r5_follows_a_larger_process_and_stops_its_own_election() {
        let elected = || Emit(Output::Elected(id(4)));
        let mut p2 = Fixture::<Bully>::at(2);
        assert_eq!(p2.deliver(4, Msg::Coordinator), [elected()]);
        p2.input(Input::Start);
        assert_eq!(p2.deliver(4, Msg::Coordinator), [CancelTimer(Timer::Answer), elected()]);
        p2.input(Input::Start);
        p2.deliver(3, Msg::Ok);
        assert_eq!(p2.deliver(4, Msg::Coordinator), [CancelTimer(Timer::Victory), elected()]);
        assert_eq!(p2.process.coordinator(), Some(id(4)));
    }

    #[test]
    fn r5_a_coordinator_yields_to_a_larger_one() {
        let mut p2 = Fixture::<Bully>::at(2);
        p2.input(Input::Suspect);
        p2.fire(Timer::Answer);
        assert_eq!(
            p2.deliver(4, Msg::Coordinator),
            [CancelTimer(Timer::Crossing), Emit(Output::Elected(id(4)))]
        );
    }

    #[test]
    fn r6_bullies_a_smaller_coordinator() {
        let mut p2 = Fixture::<Bully>::following(2, Some(4));
        assert_eq!(p2.deliver(1, Msg::Coordinator), p2_starts());
        let mut p4 = Fixture::<Bully>::following(4, Some(4));
        assert_eq!(p4.deliver(3, Msg::Coordinator), p4_announces());
    }

    #[test]
    fn r7_starts_an_election_when_it_comes_back() {
        let mut p2 = Fixture::<Bully>::following(2, Some(4));
        assert_eq!(p2.recover(), p2_starts());
        assert_eq!(p2.process.durable().number(), 2, "its second life");
    }

    #[test]
    fn r7_the_largest_announces_itself_when_it_comes_back() {
        let mut p4 = Fixture::<Bully>::following(4, Some(3));
        assert_eq!(p4.recover(), p4_announces());
    }
}
