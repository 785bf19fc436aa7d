//! Control of a device by the elected coordinator.
//!
//! A printer, a valve, a disk: something outside that only one process may drive. An election says
//! who. But a process that was replaced may not know it yet: it was paused, or cut off, and goes on
//! commanding. No election can prevent that. The device can, if every coordinator has a number that
//! is larger than that of the one before, and the device refuses smaller ones. Such a number is
//! called a fencing token.
//!
//! The process with the smallest number stands at the device. It takes part in elections as all
//! others do, and wins only if it is alone.
//!
//! # Rules
//! * DV1 T after its election, when all have heard of it and no claim of another is on its way any more, a
//!   coordinator asks the device for a number: CLAIM; and again after T, as long as it has none.
//! * DV2 CLAIM at the device: the number grows by one and goes to the claimer: NUMBER.
//! * DV3 Asked to drive, a process that takes itself for the coordinator and has a number sends COMMAND
//!   with it. Any other refuses.
//! * DV4 COMMAND at the device: it obeys if the number is the last one that it gave. Otherwise REFUSED.
//! * DV5 REFUSED: the sender was replaced. It gives its number up.
//!
//! # Assumes
//! What the election assumes. That the device obeys only the last claimer holds without it.
//!
//! # Costs
//! CLAIM and NUMBER for each new coordinator, and one message a command.

use crate::cost::Expected::Exact;
use crate::cost::{Cost, Kinds, Script};
use crate::definition::{Algorithm, Definition, Entry, Settings, Topology};
use crate::election::{self, Bully, Incarnation, Watched, bully};
use crate::referee::{Breach, Fact, Referee};
use crate::show::{Mark, ProcessView, Scene};
use bellwether_core::{
    Assumptions, Call, Channels, Context, Goal, Group, Kind, Message, NodeId, Process, SortedMap,
    Time,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::fmt;
use std::time::Duration;

/// What travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// "I am the coordinator" (DV1).
    Claim,
    /// "This is your number" (DV2).
    Number(u64),
    /// "Do it", by the right of this number (DV3).
    Command(u64),
    /// "There is a later number" (DV4).
    Refused {
        /// The number that was shown.
        shown: u64,
        /// The last one that was given.
        last: u64,
    },
    /// The election's.
    Election(election::Msg<bully::Msg>),
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        match self {
            Msg::Claim => Kind::protocol("CLAIM"),
            Msg::Number(_) => Kind::protocol("NUMBER"),
            Msg::Command(_) => Kind::protocol("COMMAND"),
            Msg::Refused { .. } => Kind::protocol("REFUSED"),
            Msg::Election(msg) => Kind::overhead(msg.kind().name),
        }
    }
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Msg::Claim => f.write_str("CLAIM"),
            Msg::Number(number) => write!(f, "NUMBER({number})"),
            Msg::Command(number) => write!(f, "COMMAND({number})"),
            Msg::Refused { shown, last } => write!(f, "REFUSED({shown}, last is {last})"),
            Msg::Election(msg) => msg.fmt(f),
        }
    }
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// T: the number (DV1).
    Number,
    /// The election's.
    Election(election::Timer<bully::Timer>),
}

/// What the application can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// To drive the device.
    Drive,
    /// The coordinator is suspected, or an election is wanted for another reason.
    Elect(election::Input),
}

/// What a process says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// It has a number and may drive.
    May(u64),
    /// It was asked to drive, and is not the coordinator or has no number.
    MayNot,
    /// The device does what the owner of this number wants.
    Obeys {
        /// The number.
        number: u64,
        /// Who commands.
        by: NodeId,
    },
    /// The device does not.
    Refuses {
        /// The number that was shown.
        number: u64,
        /// Who commands.
        by: NodeId,
    },
    /// It was replaced and has given its number up.
    Replaced,
    /// The election's word.
    Election(election::Output),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::May(number) => write!(f, "may drive the device with number {number}"),
            Output::MayNot => f.write_str("may not drive the device"),
            Output::Obeys { number, by } => write!(f, "obeys {by} with number {number}"),
            Output::Refuses { number, by } => write!(f, "refuses {by} with number {number}"),
            Output::Replaced => f.write_str("was replaced and stops driving"),
            Output::Election(output) => output.fmt(f),
        }
    }
}

/// What survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The election's.
    pub election: Incarnation,
    /// The last number that the device gave.
    pub last: u64,
}

/// What is fixed for the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// T.
    pub timeout: Duration,
    /// The election beside it.
    pub election: election::Config,
}

/// A process that may drive the device, or stands at it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Device {
    election: Watched<Bully>,
    /// The number by which this process drives, if it has one.
    number: Option<u64>,
    /// At the device: the last number that was given, and to whom if it was in this life.
    at_device: Option<(u64, Option<NodeId>)>,
}

type Cx<'a> = Context<'a, Device>;

impl Process for Device {
    type Msg = Msg;
    type Timer = Timer;
    type Input = Input;
    type Output = Output;
    type Durable = Durable;
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::synchronous(Channels::Any);

    fn durable(&self) -> Durable {
        let last = self.at_device.map_or(0, |(last, _)| last);
        Durable { election: self.election.durable(), last }
    }

    fn on_start(&mut self, saved: Option<Durable>, cx: &mut Cx<'_>) {
        let first = saved.is_none();
        if device_of(cx.group()) == cx.me() {
            self.at_device = Some((saved.map_or(0, |saved| saved.last), None));
        }
        self.elect(Call::Start(saved.map(|saved| saved.election)), cx);
        // Who coordinates from the beginning was not elected, and no other process claims. Who comes back was
        // elected just now, and waits as all do.
        if first && self.is_coordinator(cx) {
            self.claim(cx);
        }
    }

    fn on_input(&mut self, input: Input, cx: &mut Cx<'_>) {
        match input {
            Input::Drive => self.drive(cx),
            Input::Elect(input) => self.elect(Call::Input(input), cx),
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match msg {
            Msg::Claim => self.give(from, cx),
            Msg::Number(number) if self.is_coordinator(cx) && self.number < Some(number) => {
                self.take(number, cx);
            }
            // For one that is not the coordinator any more, or an earlier one.
            Msg::Number(_) => {}
            Msg::Command(number) => self.commanded(from, number, cx),
            Msg::Refused { shown, .. } if self.number == Some(shown) => self.give_up(cx),
            Msg::Refused { .. } => {}
            Msg::Election(msg) => self.elect(Call::Message(from, msg), cx),
        }
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_>) {
        match timer {
            Timer::Number if self.is_coordinator(cx) && self.number.is_none() => self.claim(cx),
            Timer::Number => {}
            Timer::Election(timer) => self.elect(Call::Timer(timer), cx),
        }
    }
}

/// Who stands at the device.
fn device_of(group: &Group) -> NodeId {
    group.ascending().next().unwrap_or_else(|| group.highest())
}

impl Device {
    fn is_coordinator(&self, cx: &Cx<'_>) -> bool {
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
                // A number of an earlier term of office is worth nothing: another may have had one since.
                election::Output::Elected(who) if who == cx.me() => {
                    self.number = None;
                    cx.set_timer(Timer::Number, cx.config().timeout);
                }
                // It knows that it was replaced, and need not be refused.
                election::Output::Elected(_) => {
                    self.number = None;
                    cx.cancel_timer(Timer::Number);
                }
                election::Output::Started => {}
            }
        }
    }

    /// DV1.
    fn claim(&mut self, cx: &mut Cx<'_>) {
        cx.rule("DV1");
        let device = device_of(cx.group());
        if device == cx.me() {
            return self.give(device, cx);
        }
        cx.send(device, Msg::Claim);
        cx.set_timer(Timer::Number, cx.config().timeout);
    }

    /// DV2.
    fn give(&mut self, to: NodeId, cx: &mut Cx<'_>) {
        let Some((last, _)) = self.at_device else { return };
        cx.rule("DV2");
        let number = last.saturating_add(1);
        self.at_device = Some((number, Some(to)));
        if to == cx.me() {
            self.take(number, cx);
        } else {
            cx.send(to, Msg::Number(number));
        }
    }

    fn take(&mut self, number: u64, cx: &mut Cx<'_>) {
        self.number = Some(number);
        cx.cancel_timer(Timer::Number);
        cx.emit(Output::May(number));
    }

    /// DV3.
    fn drive(&mut self, cx: &mut Cx<'_>) {
        cx.rule("DV3");
        match self.number {
            Some(number) if self.is_coordinator(cx) => {
                let device = device_of(cx.group());
                if device == cx.me() {
                    self.commanded(device, number, cx);
                } else {
                    cx.send(device, Msg::Command(number));
                }
            }
            _ => cx.emit(Output::MayNot),
        }
    }

    /// DV4.
    fn commanded(&mut self, by: NodeId, number: u64, cx: &mut Cx<'_>) {
        let Some((last, _)) = self.at_device else { return };
        cx.rule("DV4");
        if number == last {
            cx.emit(Output::Obeys { number, by });
            return;
        }
        cx.emit(Output::Refuses { number, by });
        if by == cx.me() {
            self.give_up(cx);
        } else {
            cx.send(by, Msg::Refused { shown: number, last });
        }
    }

    /// DV5.
    fn give_up(&mut self, cx: &mut Cx<'_>) {
        cx.rule("DV5");
        self.number = None;
        cx.emit(Output::Replaced);
    }

    fn view(&self, scene: &Scene<'_>) -> ProcessView {
        let view = match (self.number, self.at_device) {
            (_, Some((0, _))) => ProcessView::new("stands at the device"),
            (_, Some((last, to))) => {
                let whom = to.map_or(String::new(), |to| format!(" of {to}"));
                ProcessView::new(format!("device: obeys number {last}{whom}"))
            }
            (Some(number), None) => {
                ProcessView::new(format!("drives with number {number}")).mark(Mark::Drives)
            }
            (None, None) if self.election.coordinator() == Some(scene.me) => {
                ProcessView::new("coordinator without a number")
            }
            (None, None) => ProcessView::new(""),
        };
        let device = device_of(scene.group);
        view.pointer("drives", (self.number.is_some() && device != scene.me).then_some(device))
    }
}

impl Algorithm for Device {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: "device",
            family: "duty",
            title: "Control of a device",
            source: "the coordinator's duties; fencing after Gray and Cheriton, SOSP 1989",
            cost: "2 for each new coordinator, 1 a command",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("device.rs"),
            example: "duty/device-old-coordinator-is-refused.txt",
        };
        let config = |settings: &Settings, group: &Group| Config {
            timeout: settings.timeout,
            election: Watched::<Bully>::config(settings, group),
        };
        Definition::<Self>::new(entry, config)
            .beside(&[election::DOCS, election::DETECTOR_DOCS])
            .verbs(
                &["drive", "suspect", "start"],
                |verb| match verb {
                    "drive" => Some(Input::Drive),
                    verb => election::Input::of(verb).map(Input::Elect),
                },
                |input| match input {
                    Input::Drive => "drive".into(),
                    Input::Elect(input) => input.verb().into(),
                },
            )
            .kinds(&["CLAIM", "NUMBER", "COMMAND", "ELECTION", "COORDINATOR", "OK"])
            .goal(
                Goal::new(
                    "driven",
                    "every live process follows the largest live one, which has the last number of the device",
                    Self::is_driven,
                )
                .at_rest(false),
            )
            .settles_within(|config, group, _| {
                Watched::<Bully>::settles_within(&config.election, group, 0)
                    .saturating_add(config.timeout.saturating_mul(40))
            })
            .referee(|_, _| Box::new(Overseer::default()))
            .coordinator(|process| process.election.coordinator())
            .view(|process, _, scene| process.view(scene))
            .costs(costs)
    }
}

/// The first coordinator claims its number. Alone, it stands at the device itself.
fn costs(n: u32) -> Vec<Cost> {
    if n == 1 {
        return vec![Cost::new("alone at the device", "0", Exact(0), [Script::of(1)])];
    }
    let parts: [(Kinds, _, _); 2] = [(&["CLAIM"], "1", 1), (&["NUMBER"], "1", 1)];
    vec![Cost::sum("a coordinator begins", "2", &parts, [Script::of(n)])]
}

impl Device {
    /// A device that is down gives no number.
    fn is_driven(processes: &mut dyn Iterator<Item = (NodeId, &Device)>) -> bool {
        let live: Vec<(NodeId, &Device)> = processes.collect();
        let Some((largest, coordinator)) = live.iter().max_by_key(|(id, _)| *id) else {
            return true;
        };
        let follows = |process: &Device| process.election.coordinator() == Some(*largest);
        let device = live.iter().find_map(|(_, process)| process.at_device);
        live.iter().all(|(_, process)| follows(process))
            && device.is_none_or(|(last, _)| coordinator.number == Some(last))
    }
}

/// Hears whom the device obeys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Overseer {
    /// Whom each number belongs to, as far as it was used.
    owners: SortedMap<u64, NodeId>,
    obeyed: u64,
    refused: u64,
}

const ONE_DRIVER: &str = "one-driver";

impl Referee<Device> for Overseer {
    fn hears(&mut self, _: Time, who: NodeId, output: &Output) -> Result<(), Breach> {
        match output {
            Output::Refuses { .. } => self.refused += 1,
            Output::Obeys { number, by } => {
                self.obeyed += 1;
                let owner = *self.owners.entry(*number).or_insert(*by);
                let later = self.owners.range_from(number).len() > 1;
                if owner != *by || later {
                    let text =
                        "the device obeys one process at a time, and none after its successor";
                    return Err(Breach { name: ONE_DRIVER, text, by: vec![who, *by] });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn claims(&self) -> Vec<&'static str> {
        vec![ONE_DRIVER]
    }

    fn facts(&self) -> Vec<Fact> {
        let Overseer { obeyed, refused, .. } = *self;
        let fact = |name, count: u64| Fact { name, text: count.to_string(), value: json!(count) };
        vec![fact("obeyed", obeyed), fact("refused", refused)]
    }
}

#[cfg(test)]
#[path = "tests/device.rs"]
mod tests;
