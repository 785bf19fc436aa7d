//! The failure detector that goes with every election: request and time-out T.
//!
//! "If process P sends a request that is not answered by the coordinator within a time interval
//! T, it is assumed that the coordinator has failed" (Silberschatz). The texts leave open what
//! happens when an announcement itself is lost with a crash; rules D3 to D5 close that gap, so that
//! some process notices every wrong belief.
//!
//! # Rules
//! * D1 A follower sends its coordinator a REQUEST now and then. No RESPONSE within T: suspect.
//! * D2 A REQUEST is answered with the name of one's own coordinator. If the coordinator follows
//!   another process, it is none: suspect.
//! * D3 The coordinator asks the processes with larger numbers. If one of them answers, this is
//!   not the largest live process: suspect.
//! * D4 No coordinator is known for longer than any election takes: suspect that it is stuck. An
//!   election that begins meanwhile gets the full time.
//! * D5 No process follows a smaller number than its own: suspect at once.
//!
//! # Assumes
//! T above a round trip. Otherwise live coordinators are suspected.

use bellwether_core::{Assumptions, Channels, Context, Kind, Message, NodeId, Process};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What detectors ask each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "Do you live, and do you coordinate?"
    Request,
    /// "I live", and whom the answering process takes for the coordinator.
    Response(Option<NodeId>),
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::overhead(match self {
            Msg::Request => "REQUEST",
            Msg::Response(_) => "RESPONSE",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Request => f.write_str("REQUEST"),
            Msg::Response(None) => f.write_str("RESPONSE(electing)"),
            Msg::Response(Some(coordinator)) => write!(f, "RESPONSE({coordinator})"),
        }
    }
}

/// What a detector waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The time of the next REQUEST.
    Ask,
    /// T: the RESPONSE.
    Answer,
    /// The longest that an election may take.
    Patience,
}

/// How patient a detector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// T.
    pub timeout: Duration,
    /// The pause between requests: drawn from this to twice this, so that not all ask at once.
    pub period: Duration,
    /// How long an election may last (D4).
    pub patience: Duration,
}

/// A process's watch over its coordinator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Detector {
    coordinator: Option<NodeId>,
}

type Cx<'a> = Context<'a, Detector>;

impl Process for Detector {
    type Msg = Msg;
    type Timer = Timer;
    /// The coordinator has changed, or a new election has begun (`None`).
    type Input = Option<NodeId>;
    /// The reason to elect.
    type Output = Suspicion;
    type Durable = ();
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::synchronous(Channels::Any);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, cx: &mut Cx<'_>) {
        self.watch(None, cx);
    }

    fn on_input(&mut self, coordinator: Option<NodeId>, cx: &mut Cx<'_>) {
        self.watch(coordinator, cx);
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request => cx.send(from, Msg::Response(self.coordinator)),
            Msg::Response(theirs) => self.hear(from, theirs, cx),
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Ask => self.ask(cx),
            Timer::Answer => {
                cx.rule("D1");
                cx.emit(Suspicion::Silent);
            }
            Timer::Patience => {
                cx.rule("D4");
                cx.emit(Suspicion::Stuck);
                // Should the new election get stuck as well.
                cx.set_timer(Timer::Patience, cx.config().patience);
            }
        }
    }
}

impl Detector {
    /// Turns to the new coordinator, or to its absence.
    fn watch(&mut self, coordinator: Option<NodeId>, cx: &mut Cx<'_>) {
        self.coordinator = coordinator;
        cx.cancel_timer(Timer::Ask);
        cx.cancel_timer(Timer::Answer);
        cx.cancel_timer(Timer::Patience);
        match coordinator {
            None => cx.set_timer(Timer::Patience, cx.config().patience),
            Some(smaller) if smaller < cx.me() => {
                cx.rule("D5");
                cx.emit(Suspicion::Smaller);
            }
            Some(_) => self.ask_later(cx),
        }
    }

    fn ask_later(&mut self, cx: &mut Cx<'_>) {
        let period = cx.config().period;
        cx.set_timer_within(Timer::Ask, period..2 * period);
    }

    /// D1 and D3.
    fn ask(&mut self, cx: &mut Cx<'_>) {
        match self.coordinator {
            Some(coordinator) if coordinator == cx.me() => {
                for larger in cx.group().above(cx.me()) {
                    cx.send(larger, Msg::Request);
                }
                self.ask_later(cx);
            }
            Some(coordinator) => {
                cx.send(coordinator, Msg::Request);
                cx.set_timer(Timer::Answer, cx.config().timeout);
            }
            None => {}
        }
    }

    /// D2 and D3.
    fn hear(&mut self, from: NodeId, theirs: Option<NodeId>, cx: &mut Cx<'_>) {
        if self.coordinator == Some(cx.me()) {
            if from > cx.me() {
                cx.rule("D3");
                cx.emit(Suspicion::Larger);
            }
        } else if self.coordinator == Some(from) {
            cx.cancel_timer(Timer::Answer);
            if theirs.is_some_and(|theirs| theirs != from) {
                cx.rule("D2");
                cx.emit(Suspicion::Deposed);
            } else {
                self.ask_later(cx);
            }
        }
    }
}

/// Why the detector wants an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suspicion {
    /// D1: the coordinator does not answer.
    Silent,
    /// D2: it answers that it follows another process.
    Deposed,
    /// D3: a larger process lives.
    Larger,
    /// D4: the election does not end.
    Stuck,
    /// D5: the coordinator is smaller than this process.
    Smaller,
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Suspicion::Silent => "no answer from the coordinator",
            Suspicion::Deposed => "the coordinator follows another process",
            Suspicion::Larger => "a larger process lives",
            Suspicion::Stuck => "the election does not end",
            Suspicion::Smaller => "the coordinator is smaller",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::tests::{Fixture, T, exactly, id};
    use bellwether_core::Effect::{self, CancelTimer, Emit, Send, SetTimer};

    const PERIOD: Duration = Duration::from_millis(70);
    const PATIENCE: Duration = Duration::from_secs(1);

    /// P2 of 1..4, which has just learnt of this coordinator.
    fn watching(coordinator: Option<u32>) -> Fixture<Detector> {
        let config = Config { timeout: T, period: PERIOD, patience: PATIENCE };
        let mut p2 = Fixture::blank(2, config);
        p2.start(None);
        p2.input(coordinator.map(id));
        p2
    }

    fn ask_later() -> Effect<Detector> {
        SetTimer(Timer::Ask, PERIOD..2 * PERIOD)
    }

    /// What turning to another coordinator begins with.
    fn turning(then: Effect<Detector>) -> [Effect<Detector>; 4] {
        let [ask, answer, patience] = [Timer::Ask, Timer::Answer, Timer::Patience].map(CancelTimer);
        [ask, answer, patience, then]
    }

    #[test]
    fn d1_asks_the_coordinator_now_and_then() {
        let mut p2 = watching(None);
        assert_eq!(p2.input(Some(id(4))), turning(ask_later()));
        assert_eq!(
            p2.fire(Timer::Ask),
            [Send(id(4), Msg::Request), SetTimer(Timer::Answer, exactly(T))]
        );
        assert_eq!(
            p2.deliver(4, Msg::Response(Some(id(4)))),
            [CancelTimer(Timer::Answer), ask_later()]
        );
    }

    #[test]
    fn d1_suspects_a_coordinator_that_is_silent() {
        let mut p2 = watching(Some(4));
        p2.fire(Timer::Ask);
        assert_eq!(p2.fire(Timer::Answer), [Emit(Suspicion::Silent)]);
    }

    #[test]
    fn d1_a_response_of_another_process_does_not_count() {
        let mut p2 = watching(Some(4));
        p2.fire(Timer::Ask);
        assert_eq!(p2.deliver(3, Msg::Response(Some(id(3)))), []);
    }

    #[test]
    fn d2_answers_with_its_own_coordinator() {
        for coordinator in [None, Some(4)] {
            let mut p2 = watching(coordinator);
            let response = Msg::Response(coordinator.map(id));
            assert_eq!(p2.deliver(1, Msg::Request), [Send(id(1), response)]);
        }
    }

    #[test]
    fn d2_suspects_a_coordinator_that_follows_another() {
        let mut p2 = watching(Some(3));
        p2.fire(Timer::Ask);
        assert_eq!(
            p2.deliver(3, Msg::Response(Some(id(4)))),
            [CancelTimer(Timer::Answer), Emit(Suspicion::Deposed)]
        );
    }

    #[test]
    fn d2_waits_for_a_coordinator_that_takes_part_in_an_election() {
        let mut p2 = watching(Some(4));
        p2.fire(Timer::Ask);
        assert_eq!(p2.deliver(4, Msg::Response(None)), [CancelTimer(Timer::Answer), ask_later()]);
    }

    #[test]
    fn d3_a_coordinator_asks_all_larger_processes() {
        let mut p2 = watching(Some(2));
        assert_eq!(
            p2.fire(Timer::Ask),
            [Send(id(3), Msg::Request), Send(id(4), Msg::Request), ask_later()]
        );
    }

    #[test]
    fn d3_a_coordinator_suspects_when_a_larger_process_answers() {
        let mut p2 = watching(Some(2));
        p2.fire(Timer::Ask);
        assert_eq!(p2.deliver(3, Msg::Response(None)), [Emit(Suspicion::Larger)]);
        assert_eq!(p2.deliver(1, Msg::Response(None)), [], "but not of a smaller one");
    }

    #[test]
    fn d4_suspects_an_election_that_does_not_end_and_the_next_one_too() {
        let patience = SetTimer(Timer::Patience, exactly(PATIENCE));
        let mut p2 = watching(Some(4));
        assert_eq!(p2.input(None), turning(patience.clone()));
        assert_eq!(p2.fire(Timer::Patience), [Emit(Suspicion::Stuck), patience]);
    }

    #[test]
    fn d4_is_patient_from_the_start() {
        let config = Config { timeout: T, period: PERIOD, patience: PATIENCE };
        let mut p2 = Fixture::<Detector>::blank(2, config);
        assert_eq!(p2.start(None), turning(SetTimer(Timer::Patience, exactly(PATIENCE))));
    }

    #[test]
    fn d5_suspects_a_smaller_coordinator_at_once() {
        let mut p2 = watching(None);
        assert_eq!(p2.input(Some(id(1))), turning(Emit(Suspicion::Smaller)));
    }
}
