//! Cristian's algorithm ("Probabilistic clock synchronization", 1989).
//!
//! One process has the right time, or what shall count as such. The others ask it. When an answer
//! comes it is old already, by an unknown time; but it was on the way for less than the whole round
//! trip. Half of that is the best guess, and it is
//! wrong by half the round trip at most; by less, if every message is known to take some time.
//!
//! # Rules
//! * C1 Every interval a client asks the server: REQUEST. The first time one T after its start.
//! * C2 The server answers with what its clock shows: TIME.
//! * C3 The server is ahead by its time + RTT/2 - the own time, to within RTT/2 - min. A round trip
//!   below zero, or below what two messages take at least, is refused and changes nothing.
//! * C4 After a given number of samples the one with the shortest round trip counts. The clock is
//!   set by it, slewed and never stepped.
//! * C5 An answer that takes longer than T is not waited for; the sample is lost. If all are, the
//!   clock stays as it is until the next round.
//!
//! # Assumes
//! No clock gains or loses more than `max-drift`, and none is tampered with. To be set a clock needs
//! an answer within T; whatever the delays, one that was set is within its bound. Any order, loss,
//! duplicates and crashes are borne: an answer carries the number of its question, which is never
//! used twice. While the server is down the clients drift.
//!
//! # Costs
//! 2 messages a sample.
//!
//! # Bound
//! When a clock has been set with bound b = RTT/2 - min and slewed, it is within
//! b + 2 `max-drift` x (time since the question) of the server's.
//!
//! # Departures
//! Cristian asks until a round trip is short enough; here a round has a given number of samples and
//! takes the best, which is the same for a bound that is found and not demanded. Round trips are
//! measured by the clock of the machine, which is never slewed.

use super::keeping::{INTERVAL, Input, MAX_DRIFT, SLEW};
use super::offset::{clock_face, show};
use super::watch::{Against, Watch};
use super::{Offset, Output, Pace, Question, Sample, Setting, Slewed, Stamps, one_round};
use crate::cost::{Cost, Kinds};
use crate::definition::{Algorithm, Definition, Entry, Settings, Topology};
use crate::election::Incarnation;
use crate::options::{BadOption, Opt, member};
use crate::show::{Mark, ProcessView};
use bellwether_core::{
    Assumptions, Channels, Context, Goal, Group, Kind, Message, NodeId, Process, Time, Timing,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What is asked and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "What time is it?"
    Request(Question),
    /// "It is so late", in answer to that question.
    Time(Question, Time),
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Request(_) => "REQUEST",
            Msg::Time(..) => "TIME",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Request(_) => f.write_str("REQUEST"),
            Msg::Time(_, time) => write!(f, "TIME({})", clock_face(*time)),
        }
    }
}

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The next round.
    Round,
    /// T: an answer.
    Answer,
}

/// What is fixed for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often, and how fast.
    pub pace: Pace,
    /// Who has the time.
    pub server: NodeId,
    /// How many samples a round takes.
    pub samples: u32,
    /// What a message takes at least.
    pub least: Duration,
}

/// One process of Cristian: the server, or a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cristian {
    life: Incarnation,
    clock: Slewed,
    last: Question,
    role: Role,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Role {
    #[default]
    Server,
    Client {
        round: Round,
        /// Whether the last round that ended has set the clock.
        set: bool,
    },
}

/// What a client has of its round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Round {
    #[default]
    Over,
    /// It waits for an answer. Timer `Answer` runs.
    Asking {
        /// When the question was asked, by the machine's clock.
        asked: Time,
        /// How many samples are to come after this one.
        more: u32,
        /// The best so far.
        best: Option<Sample>,
    },
}

type Cx<'a> = Context<'a, Cristian>;

impl Process for Cristian {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Input;
    type Output = Output;
    type Durable = Incarnation;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions {
        timing: Timing::Synchronous,
        channels: Channels::Any,
        loss: true,
        duplication: true,
        crashes: true,
        recoveries: true,
    };

    fn durable(&self) -> Incarnation {
        self.life
    }

    /// The clock is not read here: a script may still be setting it.
    fn on_start(&mut self, saved: Option<Incarnation>, cx: &mut Cx<'_>) {
        (self.life, _) = Incarnation::next(saved);
        self.last = Question::born(self.life);
        if cx.me() != cx.config().server {
            self.role = Role::Client { round: Round::Over, set: false };
            cx.set_timer(Timer::Round, cx.config().pace.timeout);
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Synchronise => self.begin_round(cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Request(question) => self.answer(from, question, cx),
            Msg::Time(question, time) if from == cx.config().server && question == self.last => {
                self.answered(time, cx);
            }
            // From another process, or too late.
            Msg::Time(..) => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Round => {
                self.begin_round(cx);
                cx.set_timer(Timer::Round, cx.config().pace.interval);
            }
            Timer::Answer => self.lose_sample(cx),
        }
    }
}

impl Cristian {
    /// The clock that it keeps.
    pub fn slewed(&self) -> &Slewed {
        &self.clock
    }

    /// C1.
    fn begin_round(&mut self, cx: &mut Cx<'_>) {
        if let Role::Client { .. } = self.role {
            cx.rule("C1");
            self.ask(cx.config().samples.saturating_sub(1), None, cx);
        }
    }

    fn ask(&mut self, more: u32, best: Option<Sample>, cx: &mut Cx<'_>) {
        if let Role::Client { round, .. } = &mut self.role {
            *round = Round::Asking { asked: cx.now(), more, best };
            cx.send(cx.config().server, Msg::Request(self.last.next()));
            cx.set_timer(Timer::Answer, cx.config().pace.timeout);
        }
    }

    /// C2.
    fn answer(&mut self, from: NodeId, question: Question, cx: &mut Cx<'_>) {
        if self.role == Role::Server {
            cx.rule("C2");
            cx.send(from, Msg::Time(question, self.clock.due(cx.now())));
        }
    }

    /// C3.
    fn answered(&mut self, time: Time, cx: &mut Cx<'_>) {
        let Some((asked, more, best)) = self.asking() else { return };
        cx.rule("C3");
        cx.cancel_timer(Timer::Answer);
        let stamps = Stamps { asked, received: time, sent: time, answered: cx.now() };
        match Sample::read(stamps, cx.config().shortest()) {
            Ok(sample) => {
                let best = best.filter(|best| best.delay <= sample.delay).unwrap_or(sample);
                self.next_sample(more, Some(best), cx);
            }
            Err(why) => {
                cx.emit(Output::Refused(cx.config().server, why));
                self.next_sample(more, best, cx);
            }
        }
    }

    /// C5.
    fn lose_sample(&mut self, cx: &mut Cx<'_>) {
        let Some((_, more, best)) = self.asking() else { return };
        cx.rule("C5");
        self.next_sample(more, best, cx);
    }

    /// Takes the question that is being asked off the state.
    fn asking(&mut self) -> Option<(Time, u32, Option<Sample>)> {
        let Role::Client { round, .. } = &mut self.role else { return None };
        match std::mem::take(round) {
            Round::Over => None,
            Round::Asking { asked, more, best } => Some((asked, more, best)),
        }
    }

    fn next_sample(&mut self, more: u32, best: Option<Sample>, cx: &mut Cx<'_>) {
        match more.checked_sub(1) {
            Some(more) => self.ask(more, best, cx),
            None => self.end_round(best, cx),
        }
    }

    /// C4.
    fn end_round(&mut self, best: Option<Sample>, cx: &mut Cx<'_>) {
        if let Role::Client { set, .. } = &mut self.role {
            *set = best.is_some();
        }
        let Some(sample) = best else { return cx.emit(Output::Missed) };
        cx.rule("C4");
        let (config, now) = (cx.config(), cx.now());
        let by: Offset = sample.ahead - self.clock.correction();
        let quality = (sample.bound(config.least), sample.age(now));
        let slew = config.pace.slew;
        let setting = Setting::make(&mut self.clock, now, by, slew, quality, Some(config.server));
        cx.emit(Output::Set(setting));
    }

    /// Whether the last round of every client has set its clock, or there is no server to ask.
    fn are_set(processes: &mut dyn Iterator<Item = (NodeId, &Cristian)>) -> bool {
        let (mut served, mut all_set) = (false, true);
        for (_, process) in processes {
            match process.role {
                Role::Server => served = true,
                Role::Client { set, .. } => all_set &= set,
            }
        }
        all_set || !served
    }
}

const SERVER: Opt =
    Opt { name: "server", value: Some("ID"), help: "The time server [default: the largest id]" };
const SAMPLES: Opt = Opt {
    name: "samples",
    value: Some("N"),
    help: "How often a client asks in a round; the shortest round trip counts [default: 4]",
};
const MIN: Opt = Opt {
    name: "min",
    value: Some("TIME"),
    help: "The shortest time that a message can take [default: 0]",
};

const USUAL_SAMPLES: u32 = 4;
const MOST_SAMPLES: u32 = 100;

impl Config {
    fn read(settings: &Settings, group: &Group) -> Result<Config, BadOption> {
        let options = &settings.options;
        let server = options.read(SERVER.name, |text| member(text, group))?;
        let samples = options.number(SAMPLES.name, USUAL_SAMPLES)?;
        if samples == 0 || samples > MOST_SAMPLES {
            let why = format!("a round takes from 1 to {MOST_SAMPLES} samples, not {samples}");
            return Err(BadOption { option: SAMPLES.name, why });
        }
        let least = options.duration(MIN.name, Duration::ZERO)?;
        if least.saturating_mul(2) > settings.timeout {
            let why = "no answer can come within T; T must be above twice that".to_owned();
            return Err(BadOption { option: MIN.name, why });
        }
        let pace = Pace::read(settings, settings.timeout.saturating_mul(samples))?;
        Ok(Config { pace, server: server.unwrap_or_else(|| group.highest()), samples, least })
    }

    /// The shortest round trip, by a clock that loses as much as clocks do and shows whole
    /// microseconds.
    fn shortest(&self) -> Duration {
        let both = self.least.saturating_mul(2);
        both.saturating_sub(self.pace.drift.of(both)).saturating_sub(Duration::from_micros(1))
    }

    /// A round that was begun before the last fault, and the next.
    fn settles(&self) -> Duration {
        let round = self.pace.timeout.saturating_mul(self.samples);
        self.pace.interval.saturating_add(round).saturating_mul(2)
    }
}

impl Algorithm for Cristian {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: "cristian",
            family: "time",
            title: "Cristian",
            source: "Cristian, Distributed Computing 3(3), 1989",
            cost: "2 a sample",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("cristian.rs"),
            example: "time/cristian-asks-the-server.txt",
        };
        let config = |settings: &Settings, group: &Group| {
            Config::read(settings, group).unwrap_or_else(|_| Config {
                pace: Pace::usual(settings, settings.timeout.saturating_mul(USUAL_SAMPLES)),
                server: group.highest(),
                samples: USUAL_SAMPLES,
                least: Duration::ZERO,
            })
        };
        Definition::<Self>::new(entry, config)
            .options(&[SERVER, INTERVAL, SAMPLES, MIN, SLEW, MAX_DRIFT])
            .checks(|settings, group| Config::read(settings, group).map(drop))
            .reads_clock(100)
            .verbs(&["synchronise"], Input::of, |input| input.verb().into())
            .kinds(&["REQUEST", "TIME"])
            .goal(
                Goal::new(
                    "set",
                    "while the server lives, the last round of every live client sets its clock",
                    Self::are_set,
                )
                .at_rest(false),
            )
            .settles_within(|config, _, _| config.settles())
            .lasts(|config| config.pace.lasts(config.settles()))
            .referee(|config, _| Box::new(Watch::new(Against::Server(config.server), config.pace)))
            .view(|process, _, _| process.view())
            .clock(|process, reading| Some(process.clock.shown(reading)))
            .costs(costs)
    }
}

impl Cristian {
    /// The server, or a client with the best answer of its round.
    fn view(&self) -> ProcessView {
        let Role::Client { round, .. } = &self.role else {
            return ProcessView::new("the time server").mark(Mark::Master);
        };
        let Round::Asking { best, more, .. } = round else {
            return ProcessView::new("").text("corrected so far by", self.clock.correction());
        };
        ProcessView::new("waits for the time")
            .text_of("shortest round trip so far", best.map(|best| show(best.delay)))
            .text_of("the server is then ahead by", best.map(|best| best.ahead))
            .text_of("questions to come", (*more > 0).then_some(more))
            .text("corrected so far by", self.clock.correction())
    }
}

fn costs(n: u32) -> Vec<Cost> {
    let cost = |case, formula, each, samples: u64| {
        let asked = samples * (u64::from(n) - 1);
        let parts: [(Kinds, _, _); 2] = [(&["REQUEST"], each, asked), (&["TIME"], each, asked)];
        Cost::sum(case, formula, &parts, [one_round(n).set("samples", samples)])
    };
    vec![
        cost("a round of one sample", "2(n-1)", "n-1", 1),
        cost("a round of four samples", "8(n-1)", "4(n-1)", 4),
    ]
}

#[cfg(test)]
#[path = "tests/cristian.rs"]
mod tests;
