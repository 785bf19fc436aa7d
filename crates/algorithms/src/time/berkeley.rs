//! The Berkeley algorithm (Gusella and Zatti, "The accuracy of the clock synchronization achieved
//! by TEMPO in Berkeley UNIX 4.3BSD", 1989).
//!
//! No process has the right time, but all shall have the same. A master asks all processes for their
//! time, takes the mean, and tells each by how much to correct its clock. It does not send the time:
//! that would be old when it arrives, and a correction does not age.
//!
//! An election finds the master. When it dies, the next one is elected and goes on
//! with the next round.
//!
//! # Rules
//! * B1 Every interval the coordinator polls all others: POLL. A new coordinator does so first after
//!   T, when all have heard of it.
//! * B2 POLL of the own coordinator is answered, once, with the time that the own clock is due to
//!   show: READING. Others are not answered.
//! * B3 A reading is compensated by half its round trip: the clock is ahead by reading + RTT/2 - own
//!   time, to within RTT/2. A round trip below zero is refused.
//! * B4 When all have answered, or after T: take the [mean](super::average()) of the largest set of
//!   clocks, the own one included, of which no two differ by more than gamma. The others are
//!   outliers and do not count.
//! * B5 Each process that has answered, outliers too, gets its correction, mean - its clock: ADJUST.
//!   The master corrects its own clock.
//! * B6 A correction is made only if it belongs to the last reading that was given, and once. It
//!   ends whatever was measured before it, for a clock that has changed says nothing of what it was.
//!
//! # Assumes
//! What the election assumes: bounded delays with T above a round trip and no loss, while processes
//! crash and come back. No clock gains or loses more than `max-drift`. If messages are lost, clocks
//! that were set are still within their bounds, but some may not be set.
//!
//! # Costs
//! 3(n-1) messages a round. The election and its detector are counted apart.
//!
//! # Bound
//! A clock i that was set in a round with round trip RTT_i is within RTT_i/2 of the master's, which
//! is exact. So two clocks of a round are within RTT_i/2 + RTT_j/2 of each other, and each adds
//! 2 `max-drift` x (time since POLL).
//!
//! # Departures
//! TEMPO measures a difference by several ICMP time stamps; here a round has one. Rounds and readings
//! are numbered, over the lives of a process too: so no reading is taken for that of another round,
//! and no correction for that of another reading, such as one before a crash.

use super::keeping::{INTERVAL, MAX_DRIFT, SLEW};
use super::offset::clock_face;
use super::watch::{Against, Watch};
use super::{
    Mean, Offset, Output, Pace, Question, Sample, Setting, Slewed, Stamps, average, one_round,
};
use crate::cost::{Cost, Kinds, Rank};
use crate::definition::{Algorithm, Definition, Entry, Settings, Topology};
use crate::election::{self, Bully, Incarnation, Watched, bully};
use crate::options::{BadOption, Opt};
use crate::show::{Mark, ProcessView, Scene};
use bellwether_core::{
    Assumptions, Call, Channels, Context, Goal, Group, Kind, Message, NodeId, Process, Time,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What master and members say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "What time do you have?", in this round.
    Poll(Question),
    /// "So late."
    Reading(Reading),
    /// "Correct your clock by this."
    Adjust {
        /// The round.
        round: Question,
        /// The reading that it is for.
        reading: Question,
        /// The correction.
        by: Offset,
        /// How far off it can be: half the round trip.
        bound: Duration,
    },
    /// The election's.
    Election(election::Msg<bully::Msg>),
}

/// What a clock shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reading {
    /// The round that asks for it.
    pub round: Question,
    /// Its own number.
    pub number: Question,
    /// What the clock shows.
    pub time: Time,
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        match self {
            Msg::Poll(_) => Kind::protocol("POLL"),
            Msg::Reading(_) => Kind::protocol("READING"),
            Msg::Adjust { .. } => Kind::protocol("ADJUST"),
            // A round's cost is what the algorithm sends; the election is counted apart.
            Msg::Election(msg) => Kind::overhead(msg.kind().name),
        }
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Poll(round) => write!(f, "POLL({})", round.count()),
            Msg::Reading(reading) => write!(f, "READING({})", clock_face(reading.time)),
            Msg::Adjust { by, .. } => write!(f, "ADJUST({by})"),
            Msg::Election(msg) => msg.fmt(f),
        }
    }
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The master's next round.
    Round,
    /// T: the readings of a round.
    Collect,
    /// The election's.
    Election(election::Timer<bully::Timer>),
}

/// What the application can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// A round at once, if this is the master.
    Synchronise,
    /// The coordinator is suspected, or an election is wanted for another reason.
    Elect(election::Input),
}

/// What is fixed for the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often, and how fast.
    pub pace: Pace,
    /// By how much clocks may differ and still count.
    pub gamma: Duration,
    /// The election beside it.
    pub election: election::Config,
    /// How long after the last fault all clocks are set: an election, perhaps after one that came
    /// to nothing, and two rounds.
    pub settles: Duration,
}

/// One process of the Berkeley algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Berkeley {
    election: Watched<Bully>,
    clock: Slewed,
    /// The last round that this process has begun.
    last: Question,
    /// The round that it has not ended yet. Timer `Collect` runs.
    round: Option<Round>,
    /// The last POLL that it has answered, and of whom.
    polled: Option<(NodeId, Question)>,
    /// The last reading that it has given.
    reading: Question,
    /// To whom and when, by the machine's clock; unless its clock was set since.
    given: Option<(NodeId, Time)>,
    /// The round, and whose, in which its clock was set last.
    set: Option<(NodeId, Question)>,
}

/// What a master has of its round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Round {
    /// When POLL was sent, by the machine's clock.
    asked: Time,
    /// Who has answered, by which reading, and what that says.
    readings: Vec<(NodeId, Question, Sample)>,
}

type Cx<'a> = Context<'a, Berkeley>;

impl Process for Berkeley {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Input;
    type Output = Output;
    type Durable = Incarnation;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::synchronous(Channels::Any);

    fn durable(&self) -> Incarnation {
        self.election.durable()
    }

    /// The clock is not read here: a script may still be setting it.
    fn on_start(&mut self, saved: Option<Incarnation>, cx: &mut Cx<'_>) {
        let (life, _) = Incarnation::next(saved);
        (self.last, self.reading) = (Question::born(life), Question::born(life));
        self.elect(Call::Start(saved), cx);
        if self.is_master(cx) {
            self.begin_soon(cx);
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Synchronise => self.begin_round(cx),
            Input::Elect(input) => self.elect(Call::Input(input), cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Poll(round) => self.polled(from, round, cx),
            Msg::Reading(reading) if reading.round == self.last => self.collect(from, reading, cx),
            // Of a round that is over.
            Msg::Reading(_) => {}
            Msg::Adjust { round, reading, by, bound } if reading == self.reading => {
                self.adjusted(from, round, (by, bound), cx);
            }
            // For a clock that was set since, or of an earlier life.
            Msg::Adjust { .. } => {}
            Msg::Election(msg) => self.elect(Call::Message(from, msg), cx),
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            // Who is no master any more has no next round.
            Timer::Round if self.is_master(cx) => {
                self.begin_round(cx);
                cx.set_timer(Timer::Round, cx.config().pace.interval);
            }
            Timer::Round => {}
            Timer::Collect => self.end_round(cx),
            Timer::Election(timer) => self.elect(Call::Timer(timer), cx),
        }
    }
}

impl Berkeley {
    /// The clock that it keeps.
    pub fn slewed(&self) -> &Slewed {
        &self.clock
    }

    fn is_master(&self, cx: &Cx<'_>) -> bool {
        self.election.coordinator() == Some(cx.me())
    }

    /// Steps the election.
    fn elect(&mut self, call: Call<Watched<Bully>>, cx: &mut Cx<'_>) {
        let config = &cx.config().election;
        let said =
            cx.part(config, Msg::Election, Timer::Election, |cx| call.make(&mut self.election, cx));
        for output in said {
            cx.emit(Output::Election(output));
            match output {
                election::Output::Elected(master) if master == cx.me() => self.begin_soon(cx),
                election::Output::Elected(_) => {
                    cx.cancel_timer(Timer::Round);
                    self.give_up_round(cx);
                }
                election::Output::Started => {}
            }
        }
    }

    fn begin_soon(&mut self, cx: &mut Cx<'_>) {
        cx.set_timer(Timer::Round, cx.config().pace.timeout);
    }

    /// B1.
    fn begin_round(&mut self, cx: &mut Cx<'_>) {
        if !self.is_master(cx) {
            return;
        }
        cx.rule("B1");
        let round = self.last.next();
        self.round = Some(Round { asked: cx.now(), readings: Vec::new() });
        cx.others().for_each(|id| cx.send(id, Msg::Poll(round)));
        cx.set_timer(Timer::Collect, cx.config().pace.timeout);
        self.end_if_complete(cx);
    }

    fn give_up_round(&mut self, cx: &mut Cx<'_>) {
        if self.round.take().is_some() {
            cx.cancel_timer(Timer::Collect);
        }
    }

    /// B2.
    fn polled(&mut self, master: NodeId, round: Question, cx: &mut Cx<'_>) {
        let follows = self.election.coordinator() == Some(master);
        let is_old = self.polled.is_some_and(|(whose, last)| whose == master && round <= last);
        if !follows || is_old || master == cx.me() {
            return;
        }
        cx.rule("B2");
        self.polled = Some((master, round));
        self.given = Some((master, cx.now()));
        let (number, time) = (self.reading.next(), self.clock.due(cx.now()));
        cx.send(master, Msg::Reading(Reading { round, number, time }));
    }

    /// B3.
    fn collect(&mut self, from: NodeId, reading: Reading, cx: &mut Cx<'_>) {
        let Some(round) = &mut self.round else { return };
        let Reading { number, time, .. } = reading;
        let twice = round.readings.iter().any(|(id, ..)| *id == from);
        if twice || from == cx.me() || !cx.group().contains(from) {
            return;
        }
        cx.rule("B3");
        let stamps = Stamps { asked: round.asked, received: time, sent: time, answered: cx.now() };
        match Sample::read(stamps, Duration::ZERO) {
            Ok(sample) => round.readings.push((from, number, sample)),
            Err(why) => cx.emit(Output::Refused(from, why)),
        }
        self.end_if_complete(cx);
    }

    fn end_if_complete(&mut self, cx: &mut Cx<'_>) {
        let others = cx.group().len() - 1;
        if self.round.as_ref().is_some_and(|round| round.readings.len() == others) {
            cx.cancel_timer(Timer::Collect);
            self.end_round(cx);
        }
    }

    /// B4 and B5.
    fn end_round(&mut self, cx: &mut Cx<'_>) {
        let Some(Round { readings, .. }) = self.round.take() else { return };
        cx.rule("B4");
        let own = self.clock.correction();
        let ahead: Vec<Offset> = std::iter::once(Offset::ZERO)
            .chain(readings.iter().map(|(.., sample)| sample.ahead - own))
            .collect();
        let Mean { mean, counts } = average(&ahead, cx.config().gamma);
        let members = std::iter::once(cx.me()).chain(readings.iter().map(|(id, ..)| *id));
        let outliers = members.zip(&counts).filter(|(_, counts)| !**counts).map(|(id, _)| id);
        let clocks = counts.iter().filter(|counts| **counts).count() as u32;
        cx.emit(Output::Averaged { clocks, mean, outliers: outliers.collect() });
        cx.rule("B5");
        let round = self.last;
        for ((id, reading, sample), ahead) in readings.iter().zip(ahead.iter().skip(1)) {
            let (by, bound) = (mean - *ahead, sample.bound(Duration::ZERO));
            cx.send(*id, Msg::Adjust { round, reading: *reading, by, bound });
        }
        self.set(cx.me(), round, mean, (Duration::ZERO, Duration::ZERO), cx);
    }

    /// B6.
    fn adjusted(
        &mut self,
        master: NodeId,
        round: Question,
        (by, bound): (Offset, Duration),
        cx: &mut Cx<'_>,
    ) {
        let Some((_, at)) = self.given.filter(|(to, _)| *to == master) else { return };
        cx.rule("B6");
        // POLL was at most a round trip older than the answer to it.
        let age = cx.now().since(at).saturating_add(bound.saturating_mul(2));
        self.set(master, round, by, (bound, age), cx);
    }

    fn set(
        &mut self,
        master: NodeId,
        round: Question,
        by: Offset,
        quality: (Duration, Duration),
        cx: &mut Cx<'_>,
    ) {
        self.given = None;
        self.give_up_round(cx);
        self.set = Some((master, round));
        let slew = cx.config().pace.slew;
        let mut setting = Setting::make(&mut self.clock, cx.now(), by, slew, quality, Some(master));
        setting.round = Some(round);
        cx.emit(Output::Set(setting));
    }

    /// Whether all that live were set by the same living master, in its last round or the one
    /// before, whose corrections may still be on their way in the last.
    fn are_set(processes: &mut dyn Iterator<Item = (NodeId, &Berkeley)>) -> bool {
        let processes: Vec<(NodeId, &Berkeley)> = processes.collect();
        let masters =
            |(id, process): &&(NodeId, &Berkeley)| process.election.coordinator() == Some(*id);
        let Some((master, last)) = processes.iter().find(masters).and_then(|(_, p)| p.set) else {
            return false;
        };
        processes.iter().all(|(_, process)| {
            let follows = process.election.coordinator() == Some(master);
            let set = process.set.filter(|(by, _)| *by == master);
            follows && set.is_some_and(|(_, round)| round.is_just_before(last))
        })
    }
}

const GAMMA: Opt = Opt {
    name: "gamma",
    value: Some("TIME"),
    help: "Clocks that differ by more are not averaged [default: 1s]",
};

const USUAL_GAMMA: Duration = Duration::from_secs(1);

impl Config {
    fn read(settings: &Settings, group: &Group) -> Result<Config, BadOption> {
        let pace = Pace::read(settings, settings.timeout.saturating_mul(2))?;
        let gamma = settings.options.duration(GAMMA.name, USUAL_GAMMA)?;
        Ok(Config::new(pace, gamma, settings, group))
    }

    fn new(pace: Pace, gamma: Duration, settings: &Settings, group: &Group) -> Config {
        let mut election = Watched::<Bully>::config(settings, group);
        let mut settles = Watched::<Bully>::settles_within(&election, group, 0);
        if let Some(detector) = &mut election.detection {
            // A dead master is missed by the next round, so it need not be asked all the time.
            detector.period = detector.period.max(pace.interval / 20);
            settles = settles.saturating_add(detector.period.saturating_mul(12));
        }
        let round = pace.interval.saturating_add(pace.timeout.saturating_mul(3));
        let settles = settles.saturating_add(round.saturating_mul(2));
        Config { pace, gamma, election, settles }
    }
}

impl Algorithm for Berkeley {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: "berkeley",
            family: "time",
            title: "Berkeley",
            source: "Gusella and Zatti, IEEE Trans. Software Eng. 15(7), 1989",
            cost: "3(n-1) a round",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("berkeley.rs"),
            example: "time/berkeley-three-clocks.txt",
        };
        let config = |settings: &Settings, group: &Group| {
            Config::read(settings, group).unwrap_or_else(|_| {
                let pace = Pace::usual(settings, settings.timeout.saturating_mul(2));
                Config::new(pace, USUAL_GAMMA, settings, group)
            })
        };
        Definition::<Self>::new(entry, config)
            .beside(&[election::DOCS, election::DETECTOR_DOCS])
            .options(&[INTERVAL, GAMMA, SLEW, MAX_DRIFT])
            .checks(|settings, group| Config::read(settings, group).map(drop))
            .reads_clock(100)
            .verbs(
                &["synchronise", "suspect", "start"],
                |verb| match verb {
                    "synchronise" => Some(Input::Synchronise),
                    verb => election::Input::of(verb).map(Input::Elect),
                },
                |input| match input {
                    Input::Synchronise => "synchronise".into(),
                    Input::Elect(input) => input.verb().into(),
                },
            )
            .kinds(&["POLL", "READING", "ADJUST", "ELECTION", "COORDINATOR", "OK"])
            .goal(
                Goal::new(
                    "set",
                    "every live process follows one live master, whose last rounds have set its clock",
                    Self::are_set,
                )
                .at_rest(false),
            )
            .settles_within(|config, _, _| config.settles)
            .lasts(|config| config.pace.lasts(config.settles))
            .referee(|config, _| Box::new(Watch::new(Against::EachOther, config.pace)))
            .coordinator(|process| process.election.coordinator())
            .view(|process, _, scene| process.view(scene))
            .clock(|process, reading| Some(process.clock.shown(reading)))
            .costs(costs)
    }
}

impl Berkeley {
    /// The master with the readings of its round; the others with what they were corrected by.
    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let is_master = self.election.coordinator() == Some(scene.me);
        let phase = match &self.round {
            Some(round) => {
                format!("has {} of {} readings", round.readings.len(), scene.group.len() - 1)
            }
            None if self.given.is_some() => "waits for its correction".to_owned(),
            None => String::new(),
        };
        let readings = self.round.iter().flat_map(|round| &round.readings);
        ProcessView::new(phase)
            .mark_if(is_master, Mark::Master)
            .table("ahead of the master by", readings.map(|(id, _, sample)| (*id, sample.ahead)))
            .text("corrected so far by", self.clock.correction())
    }
}

/// The election beside it is overhead.
fn costs(n: u32) -> Vec<Cost> {
    let others = u64::from(n) - 1;
    let cost = |case, formula, (text, living), trial| {
        let parts: [(Kinds, _, _); 3] =
            [(&["POLL"], "n-1", others), (&["READING"], text, living), (&["ADJUST"], text, living)];
        Cost::sum(case, formula, &parts, [trial])
    };
    let mut costs = vec![cost("a round", "3(n-1)", ("n-1", others), one_round(n))];
    if n > 1 {
        // The dead one is polled like the others, and that is all.
        let dead = one_round(n).crash(1);
        let dead = cost("a round, one dead", "3n-5", ("n-2", others - 1), dead);
        costs.push(dead.rank(Rank::Faulty));
    }
    costs
}

#[cfg(test)]
#[path = "tests/berkeley.rs"]
mod tests;
