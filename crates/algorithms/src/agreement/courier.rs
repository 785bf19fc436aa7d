//! Letters over a reliable link: the smallest application that shows what [`Reliable`] is good for.
//!
//! Each process writes letters to others and numbers them. Over the link every letter arrives once,
//! and those of one sender in the order of writing; without it (`bare`) they arrive as the network
//! likes.
//!
//! # Rules
//! * C1 A letter has the next number of its writer. How many there have been survives a crash, so
//!   that no two letters have the same number.
//! * C2 A letter that arrives is reported.
//!
//! # Assumes
//! What the [link](super::reliable) assumes. Without it: FIFO channels that lose and double nothing.
//!
//! # Costs
//! A LETTER and an ACK each, if nothing is lost; a LETTER without the link.

use super::postmaster::Postmaster;
use super::reliable::{self, Reliable};
use crate::cost::{Cost, Kinds, Script};
use crate::definition::{Algorithm, Definition, Entry, Settings, Topology};
use crate::options::{BadOption, Opt, id};
use bellwether_core::{
    Assumptions, Channels, Context, Goal, Group, Kind, Message, NodeId, Process,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// A letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Letter {
    /// Its number among those of its writer, from 1.
    pub number: u64,
}

impl Message for Letter {
    fn kind(&self) -> Kind {
        Kind::protocol("LETTER")
    }
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LETTER({})", self.number)
    }
}

/// What a writer can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// To write to a process.
    Work,
    /// To write to this one.
    Send(NodeId),
}

/// What a writer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// It has written a letter.
    Wrote {
        /// To whom.
        to: NodeId,
        /// Its number.
        number: u64,
    },
    /// A letter has come.
    Got {
        /// From whom.
        from: NodeId,
        /// Its number.
        number: u64,
    },
    /// It was asked to write to a process that is no member.
    Unknown(NodeId),
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Wrote { to, number } => write!(f, "writes letter {number} to {to}"),
            Output::Got { from, number } => write!(f, "gets letter {number} from {from}"),
            Output::Unknown(to) => write!(f, "knows no {to} to write to"),
        }
    }
}

/// A writer of letters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Courier {
    /// How many letters it has written in all its lives.
    written: u64,
}

impl Process for Courier {
    type Msg = Letter;
    type Timer = ();
    type Input = Input;
    type Output = Output;
    /// How many letters were written.
    type Durable = u64;
    type Config = ();

    const ASSUMES: Assumptions =
        Assumptions { crashes: true, recoveries: true, ..Assumptions::faultless(Channels::Fifo) };

    fn durable(&self) -> u64 {
        self.written
    }

    fn on_start(&mut self, saved: Option<u64>, _: &mut Context<'_, Self>) {
        self.written = saved.unwrap_or(0);
    }

    fn on_input(&mut self, input: Input, cx: &mut Context<'_, Self>) {
        match input {
            Input::Work => {
                let turn = self.written.wrapping_add(u64::from(cx.me().number()));
                let others = cx.group().len().saturating_sub(1) as u64;
                let steps = turn.checked_rem(others).unwrap_or(0) as usize + 1;
                self.write(cx.group().after(cx.place(), steps), cx);
            }
            Input::Send(to) if cx.group().contains(to) => self.write(to, cx),
            Input::Send(to) => cx.emit(Output::Unknown(to)),
        }
    }

    fn on_message(&mut self, from: NodeId, Letter { number }: Letter, cx: &mut Context<'_, Self>) {
        cx.rule("C2");
        cx.emit(Output::Got { from, number });
    }

    fn on_timer(&mut self, (): (), _: &mut Context<'_, Self>) {}
}

impl Courier {
    /// C1.
    fn write(&mut self, to: NodeId, cx: &mut Context<'_, Self>) {
        cx.rule("C1");
        self.written += 1;
        let number = self.written;
        cx.emit(Output::Wrote { to, number });
        cx.send(to, Letter { number });
    }
}

const TRIES: u32 = 20;
const WINDOW: u32 = 8;
/// The largest window: more would only fill the receiver's memory.
const WIDEST: u32 = 1_024;

/// Letters over a link that bears loss, as the catalogue has it.
pub type ReliableLink = Reliable<Courier>;

impl Algorithm for Reliable<Courier> {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: "reliable-link",
            family: "agreement",
            title: "Reliable link",
            source: "acknowledgement and retransmission: Bartlett, Scantlebury and Wilkinson, 1969",
            cost: "2 a letter: LETTER and ACK",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("reliable.rs"),
            example: "agreement/reliable-link-letter-lost.txt",
        };
        Definition::<Self>::new(entry, Self::config)
            .beside(&[("letters", essay!("courier.rs"))])
            .options(Self::OPTIONS)
            .checks(Self::check)
            .verbs(&["work", "send:TO"], Self::input, Self::verb)
            .work(|_| true)
            .kinds(&["LETTER", "ACK", "RESEND"])
            .goal(Goal::new(
                "settled",
                "all that live processes have sent is acknowledged or given up",
                |processes| processes.map(|(_, process)| process).all(Self::is_settled),
            ))
            // Every letter may need all tries, one after the other.
            .settles_within(|config, _, work| {
                let letters = u32::try_from(work).unwrap_or(u32::MAX).saturating_add(1);
                let each = config.pause.saturating_mul(config.tries.saturating_add(2));
                each.saturating_mul(letters)
            })
            .view(|link, _, _| link.view())
            .referee(|config, _| Box::new(Postmaster::new(config)))
            .costs(costs)
    }
}

/// The acknowledgement is what is paid for, so it counts.
fn costs(n: u32) -> Vec<Cost> {
    let letters = u64::from(n);
    let parts: [(Kinds, _, _); 2] = [(&["LETTER"], "n", letters), (&["ACK"], "n", letters)];
    let trial = Script { overhead: true, ..Script::of(n).ask_all(1..=n, "work") };
    vec![Cost::sum("n letters, nothing lost", "2n", &parts, [trial])]
}

impl Reliable<Courier> {
    const OPTIONS: &'static [Opt] = &[
        Opt {
            name: "tries",
            value: Some("N"),
            help: "How often a message is sent again before its receiver is reported down; 20 by \
                   default",
        },
        Opt {
            name: "window",
            value: Some("N"),
            help: "How many messages are under way to one receiver at most; 8 by default",
        },
        Opt { name: "bare", value: None, help: "No link: letters arrive as the network likes" },
    ];

    fn check(settings: &Settings, _: &Group) -> Result<(), BadOption> {
        let options = &settings.options;
        let window = options.number("window", WINDOW)?;
        if !(1..=WIDEST).contains(&window) {
            let why = format!("{window} is no window; expected 1 to {WIDEST}");
            return Err(BadOption { option: "window", why });
        }
        let tries: u32 = options.number("tries", TRIES)?;
        if tries == 0 {
            let why = "0 tries would report all processes down; give at least 1".to_owned();
            return Err(BadOption { option: "tries", why });
        }
        Ok(())
    }

    fn config(settings: &Settings, _: &Group) -> reliable::Config<()> {
        let options = &settings.options;
        let number = |option, default: u32, most| {
            let given = options.number(option, default).unwrap_or(default);
            if (1..=most).contains(&given) { given } else { default }
        };
        reliable::Config {
            process: (),
            pause: settings.timeout,
            tries: number("tries", TRIES, u32::MAX),
            window: number("window", WINDOW, WIDEST),
            bare: options.is_on("bare"),
        }
    }

    fn input(verb: &str) -> Option<Input> {
        match verb.split_once(':') {
            None if verb == "work" => Some(Input::Work),
            Some(("send", to)) => id(to).ok().map(Input::Send),
            _ => None,
        }
    }

    fn verb(input: &Input) -> Cow<'static, str> {
        match input {
            Input::Work => Cow::Borrowed("work"),
            Input::Send(to) => Cow::Owned(format!("send:{}", to.number())),
        }
    }
}

#[cfg(test)]
#[path = "tests/courier.rs"]
mod tests;
