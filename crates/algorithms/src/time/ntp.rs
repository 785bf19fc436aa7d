//! The heart of the Network Time Protocol (Mills, "Internet time synchronization: the Network Time
//! Protocol", 1991; RFC 5905).
//!
//! One server may be wrong without notice. So a client asks several. Each answer, with its
//! four time stamps, says: real time is in this interval. Where most of these intervals overlap the
//! time is believed to be; servers that are elsewhere are *falsetickers* and are cast out. Messages
//! that were held up tell little, so of the last answers of a server the quickest counts.
//!
//! # Rules
//! * N1 Every interval a client polls all servers: POLL. The first time one T after its start.
//! * N2 A server answers with when the question came and when the answer leaves, by its clock: TIME.
//! * N3 With t0 and t3 for when the question left and the answer came, by the own clock: the server
//!   is ahead by ((t1-t0) + (t2-t3)) / 2, and the delay is (t3-t0) - (t2-t1). A negative round trip
//!   or delay is refused and changes nothing.
//! * N4 The clock filter: of the last 8 polls of a server, the answer with the smallest delay
//!   counts, where an old answer counts as if it had been delayed by what the own clock can have
//!   drifted since. A poll that was not answered is none of these.
//! * N5 When all servers have answered, or after T: real time is within delay/2 + accuracy + drift
//!   since then of what a server says. The [intersection](super::marzullo) of these intervals that
//!   most have in common counts. If those are more than half of all servers, the clock is set to its
//!   middle, slewed and never stepped; the others are falsetickers and are named.
//! * N6 If not: the servers disagree, or too few answer. The clock stays as it is, and that is said.
//!
//! # Assumes
//! More than half of the servers are right: within `accuracy` of real time. No client's clock gains
//! or loses more than `max-drift`. To be set a clock needs answers within T; whatever the delays, one
//! that was set is within its bound. Any order, loss, duplicates and crashes are borne.
//!
//! # Costs
//! 2 messages a poll and server.
//!
//! # Bound
//! Every right server's interval contains real time, and fewer than half of all servers, at most w,
//! are wrong. So all but w of the present intervals contain it: real time is between the first and
//! the last point that as many have in common, and the middle is off by its distance from the
//! farther of these at most. That is more than half the intersection where a falseticker happens to
//! agree with some of the right ones, or where right ones did not answer. Afterwards a clock drifts
//! by `max-drift`.
//!
//! # Departures
//! NTP goes on to cluster and combine the survivors, to discipline the frequency of the clock and to
//! adapt the interval. Here the middle of the intersection is taken as it is, and the interval is
//! fixed. A server tells its own error in NTP (root dispersion); here `accuracy` stands for it. The
//! majority is one of all servers and not only of those that answer: otherwise a falseticker whose
//! peers are down would be believed.

use super::keeping::{INTERVAL, Input, MAX_DRIFT, SLEW, majority};
use super::marzullo::{Intersection, Interval, TooFew, intersect};
use super::offset::clock_face;
use super::watch::{Against, Watch};
use super::{NoMajority, Output, Pace, Question, Sample, Setting, Slewed, Stamps, one_round};
use crate::cost::{Cost, Kinds};
use crate::definition::{Algorithm, Definition, Entry, Settings, Topology};
use crate::election::Incarnation;
use crate::options::{BadOption, Opt};
use crate::show::{Item, Mark, ProcessView, Shape, Tone};
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
    Poll(Question),
    /// "Your question came then, and this leaves now."
    Time {
        /// Which question.
        question: Question,
        /// t1.
        received: Time,
        /// t2.
        sent: Time,
    },
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Poll(_) => "POLL",
            Msg::Time { .. } => "TIME",
        })
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Poll(_) => f.write_str("POLL"),
            Msg::Time { received, sent, .. } if received == sent => {
                write!(f, "TIME({})", clock_face(*sent))
            }
            Msg::Time { received, sent, .. } => {
                write!(f, "TIME({} to {})", clock_face(*received), clock_face(*sent))
            }
        }
    }
}

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The next poll.
    Poll,
    /// T: the answers.
    Answers,
}

/// What is fixed for the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How often, and how fast.
    pub pace: Pace,
    /// Who has the time, or says so.
    pub servers: Vec<NodeId>,
    /// How far the clock of a right server may be off.
    pub accuracy: Duration,
}

/// The number of polls that a filter remembers.
const FILTER: usize = 8;

/// Readings are whole microseconds.
const ROUNDING: Duration = Duration::from_micros(2);

/// One process of NTP: a server, or a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ntp {
    life: Incarnation,
    clock: Slewed,
    last: Question,
    role: Role,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Role {
    #[default]
    Server,
    Client(Client),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Client {
    /// The poll that goes on, if one does: when it began, by the machine's clock. Timer `Answers`
    /// runs.
    asked: Option<Time>,
    /// What was heard of each server, in the order of the configuration.
    filters: Vec<Filter>,
    /// The servers that were said to be wrong last.
    falsetickers: Vec<NodeId>,
    /// Whether the last poll that ended has set the clock.
    set: bool,
    /// How many servers must live for that.
    needed: u32,
}

/// The last polls of a server, the latest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Filter {
    polls: Vec<Option<Sample>>,
}

impl Filter {
    fn begin(&mut self) {
        if self.polls.len() >= FILTER {
            self.polls.remove(0);
        }
        self.polls.push(None);
    }

    /// The answer to the latest poll, if there is one.
    fn latest(&mut self) -> Option<&mut Option<Sample>> {
        self.polls.last_mut()
    }

    fn is_answered(&self) -> bool {
        self.polls.last().is_some_and(Option::is_some)
    }

    /// N4: what says most about the server's clock now; of equals, the latest.
    fn best(&self, now: Time, config: &Config) -> Option<Sample> {
        let samples = self.polls.iter().rev().flatten();
        samples.min_by_key(|sample| sample.distance(now, config.pace.drift)).copied()
    }
}

type Cx<'a> = Context<'a, Ntp>;

impl Process for Ntp {
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
        let servers = &cx.config().servers;
        if !servers.contains(&cx.me()) {
            self.role = Role::Client(Client {
                filters: vec![Filter::default(); servers.len()],
                needed: majority(servers.len() as u32),
                ..Client::default()
            });
            cx.set_timer(Timer::Poll, cx.config().pace.timeout);
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Synchronise => self.poll(cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Poll(question) => self.answer(from, question, cx),
            Msg::Time { question, received, sent } if question == self.last => {
                self.answered(from, received, sent, cx);
            }
            // Too late.
            Msg::Time { .. } => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Poll => {
                self.poll(cx);
                cx.set_timer(Timer::Poll, cx.config().pace.interval);
            }
            Timer::Answers => self.conclude(cx),
        }
    }
}

impl Ntp {
    /// The clock that it keeps.
    pub fn slewed(&self) -> &Slewed {
        &self.clock
    }

    /// N1.
    fn poll(&mut self, cx: &mut Cx<'_>) {
        let Role::Client(client) = &mut self.role else { return };
        cx.rule("N1");
        client.asked = Some(cx.now());
        client.filters.iter_mut().for_each(Filter::begin);
        let question = self.last.next();
        for server in &cx.config().servers {
            cx.send(*server, Msg::Poll(question));
        }
        cx.set_timer(Timer::Answers, cx.config().pace.timeout);
    }

    /// N2.
    fn answer(&mut self, from: NodeId, question: Question, cx: &mut Cx<'_>) {
        if self.role == Role::Server {
            cx.rule("N2");
            let now = self.clock.due(cx.now());
            cx.send(from, Msg::Time { question, received: now, sent: now });
        }
    }

    /// N3.
    fn answered(&mut self, from: NodeId, received: Time, sent: Time, cx: &mut Cx<'_>) {
        let Role::Client(client) = &mut self.role else { return };
        let Some(asked) = client.asked else { return };
        let mut servers = cx.config().servers.iter().zip(&mut client.filters);
        let Some((_, filter)) = servers.find(|(server, _)| **server == from) else { return };
        let Some(latest) = filter.latest().filter(|latest| latest.is_none()) else { return };
        cx.rule("N3");
        match Sample::read(Stamps { asked, received, sent, answered: cx.now() }, Duration::ZERO) {
            Ok(sample) => *latest = Some(sample),
            Err(why) => cx.emit(Output::Refused(from, why)),
        }
        if client.filters.iter().all(Filter::is_answered) {
            cx.cancel_timer(Timer::Answers);
            self.conclude(cx);
        }
    }

    /// N5 and N6.
    fn conclude(&mut self, cx: &mut Cx<'_>) {
        let Role::Client(client) = &mut self.role else { return };
        if client.asked.take().is_none() {
            return;
        }
        let (config, now) = (cx.config(), cx.now());
        cx.rule("N4");
        let says = |filter: &Filter| {
            let sample = filter.best(now, config)?;
            let own = sample.distance(now, config.pace.drift);
            let distance = own.saturating_add(config.accuracy).saturating_add(ROUNDING);
            Some(Interval::around(sample.ahead, distance))
        };
        let said: Vec<Option<Interval>> = client.filters.iter().map(says).collect();
        let intervals: Vec<Interval> = said.iter().copied().flatten().collect();
        let needed = client.needed as usize;
        let found = match intersect(&intervals, config.servers.len().saturating_sub(needed)) {
            Ok(found) if found.agree < needed => Err(TooFew(found.agree)),
            found => found,
        };
        client.set = found.is_ok();
        match found {
            Err(TooFew(agree)) => {
                cx.rule("N6");
                cx.emit(Output::NoMajority(NoMajority {
                    agree: agree as u32,
                    answered: intervals.len() as u32,
                    servers: config.servers.len() as u32,
                }));
            }
            Ok(Intersection { best, span, .. }) => {
                cx.rule("N5");
                let middle = best.middle();
                let is_wrong = |said: &Option<Interval>| said.is_some_and(|i| !i.contains(middle));
                let servers = config.servers.iter().zip(&said);
                let wrong = servers.filter(|(_, said)| is_wrong(said)).map(|(id, _)| *id);
                let wrong: Vec<NodeId> = wrong.collect();
                if wrong != client.falsetickers {
                    client.falsetickers = wrong.clone();
                    cx.emit(Output::Falsetickers(wrong));
                }
                let by = middle - self.clock.correction();
                let quality = (span.reach(middle), Duration::ZERO);
                let slew = config.pace.slew;
                let setting = Setting::make(&mut self.clock, now, by, slew, quality, None);
                cx.emit(Output::Set(setting));
            }
        }
    }

    /// Whether the last poll of every client has set its clock, or too few servers live.
    fn are_set(processes: &mut dyn Iterator<Item = (NodeId, &Ntp)>) -> bool {
        let (mut servers, mut needed, mut all_set) = (0, 0, true);
        for (_, process) in processes {
            match &process.role {
                Role::Server => servers += 1,
                Role::Client(client) => {
                    all_set &= client.set;
                    needed = client.needed;
                }
            }
        }
        all_set || servers < needed
    }
}

const SERVERS: Opt = Opt {
    name: "servers",
    value: Some("IDS"),
    help: "The time servers, as in 3,4,5 [default: the three largest; one process is left as a client]",
};
const ACCURACY: Opt = Opt {
    name: "accuracy",
    value: Some("TIME"),
    help: "How far the clock of a right server may be off [default: 10ms]",
};

const USUAL_SERVERS: usize = 3;
const USUAL_ACCURACY: Duration = Duration::from_millis(10);

impl Config {
    fn read(settings: &Settings, group: &Group) -> Result<Config, BadOption> {
        let options = &settings.options;
        let mut servers = options.members(SERVERS.name, group)?;
        let given = servers.len();
        servers.sort_unstable();
        servers.dedup();
        if servers.len() < given {
            let why = "a server is named twice, and would count twice".to_owned();
            return Err(BadOption { option: SERVERS.name, why });
        }
        if servers.is_empty() {
            servers = usual_servers(group);
        }
        let accuracy = options.duration(ACCURACY.name, USUAL_ACCURACY)?;
        let pace = Pace::read(settings, settings.timeout)?;
        Ok(Config { pace, servers, accuracy })
    }

    /// A poll that was begun before the last fault, and two after it.
    fn settles(&self) -> Duration {
        self.pace.interval.saturating_add(self.pace.timeout).saturating_mul(3)
    }
}

/// The servers by default: the largest numbers.
pub fn usual_servers(group: &Group) -> Vec<NodeId> {
    group.ascending().skip(group.len() - servers_among(group.len())).collect()
}

/// How many servers there are among n processes by default.
fn servers_among(n: usize) -> usize {
    USUAL_SERVERS.min(n - 1).max(1)
}

impl Algorithm for Ntp {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: "ntp",
            family: "time",
            title: "NTP",
            source: "Mills, IEEE Trans. Communications 39(10), 1991; Marzullo 1984",
            cost: "2 a poll and server",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("ntp.rs"),
            example: "time/ntp-falseticker.txt",
        };
        let config = |settings: &Settings, group: &Group| {
            Config::read(settings, group).unwrap_or_else(|_| Config {
                pace: Pace::usual(settings, settings.timeout),
                servers: usual_servers(group),
                accuracy: USUAL_ACCURACY,
            })
        };
        Definition::<Self>::new(entry, config)
            .options(&[SERVERS, ACCURACY, INTERVAL, SLEW, MAX_DRIFT])
            .checks(|settings, group| Config::read(settings, group).map(drop))
            .reads_clock(100)
            .verbs(&["synchronise"], Input::of, |input| input.verb().into())
            .kinds(&["POLL", "TIME"])
            .goal(
                Goal::new(
                    "set",
                    "while most servers live, the last poll of every live client sets its clock",
                    Self::are_set,
                )
                .at_rest(false),
            )
            .settles_within(|config, _, _| config.settles())
            .lasts(|config| config.pace.lasts(config.settles()))
            .referee(|config, _| {
                let servers = config.servers.clone();
                let against = Against::RealTime { servers, accuracy: config.accuracy };
                Box::new(Watch::new(against, config.pace))
            })
            .view(|process, config, _| process.view(config))
            .clock(|process, reading| Some(process.clock.shown(reading)))
            .costs(costs)
    }
}

impl Ntp {
    /// What each server says, as the interval in which the right time must lie if that server is
    /// right; those that were cast out stand out.
    fn view(&self, config: &Config) -> ProcessView {
        let Role::Client(client) = &self.role else {
            return ProcessView::new("a time server").mark(Mark::Master);
        };
        let said = config.servers.iter().zip(&client.filters).filter_map(|(server, filter)| {
            let sample = filter.polls.iter().flatten().min_by_key(|sample| sample.delay)?;
            let reach = (sample.delay / 2).saturating_add(config.accuracy);
            let Interval { low, high } = Interval::around(sample.ahead, reach);
            let item = Item::range(server, low.as_micros(), high.as_micros());
            Some(if client.falsetickers.contains(server) {
                item.note("cast out").tone(Tone::Bad)
            } else {
                item.tone_if(client.set, Tone::Good)
            })
        });
        let phase = match client.asked {
            Some(_) => "asks the servers",
            None if client.set => "agrees with most servers",
            None => "",
        };
        ProcessView::new(phase)
            .row("the servers are ahead by", Shape::Ranges, said)
            .set("cast out", client.falsetickers.iter().map(|id| Item::of(*id).tone(Tone::Bad)))
            .text("corrected so far by", self.clock.correction())
    }
}

fn costs(n: u32) -> Vec<Cost> {
    let servers = servers_among(n as usize) as u64;
    let polled = servers * (u64::from(n) - servers);
    let parts: [(Kinds, _, _); 2] = [(&["POLL"], "s(n-s)", polled), (&["TIME"], "s(n-s)", polled)];
    vec![Cost::sum("a poll of s servers", "2s(n-s)", &parts, [one_round(n)])]
}

#[cfg(test)]
#[path = "tests/ntp.rs"]
mod tests;
