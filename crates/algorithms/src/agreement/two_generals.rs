//! The two generals: no exchange of messengers that may be lost makes both sure (Akkoyunlu, Ekanadham
//! and Huber, "Some constraints and tradeoffs in the design of network communications", 1975; the
//! generals are Gray's, "Notes on data base operating systems", 1978).
//!
//! Two generals want to attack at dawn, both or none: one alone is beaten. They can only send
//! messengers through the enemy's valley, and any messenger may be caught. The first general has
//! the plan; the other confirms it; that confirmation is confirmed, and so on, K times. It is here
//! to fail: a run shows that whatever K is, the last messenger decides for one of them only.
//!
//! # Rules
//! * G1 The first general sends ORDER, the plan.
//! * G2 A general who gets a messenger sends the next one with a confirmation, until K confirmations
//!   were sent. So messenger i, the ORDER being the first, tells that i - 1 others have arrived.
//! * G3 At dawn a general attacks if the last messenger that can be meant for him has come, and
//!   stays in camp otherwise. He who sends the last one of all does not wait for anything after
//!   it.
//!
//! # Assumes
//! No messenger is lost, and each takes at most T. That is just what the generals cannot assume.
//! Both watches show the same time.
//!
//! # Why it cannot be right
//! Say that the last messenger is lost. He who sent it cannot know, and attacks as he would have
//! done; the other one does not. If the other attacked without it, the messenger would be of no
//! use, and K - 1 confirmations would do as well; and so on down to none at all, where neither has
//! told the other of a plan. So a rule that lets both attack when all messengers arrive lets one
//! attack alone when the last messenger that matters does not.
//!
//! # Costs
//! K + 1 messengers if none is lost.

use super::generals_referee::Observer;
use crate::cost::{Cost, Kinds, Script};
use crate::definition::{Algorithm, Definition, Entry, Settings, Topology};
use crate::options::{BadOption, Opt};
use crate::show::{Item, Mark, ProcessView, Shape, Tone};
use bellwether_core::{
    Assumptions, Channels, Context, Goal, Group, Kind, Message, NodeId, Process, Timing,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What a messenger says. Number 1 is the order; number i + 1 is confirmation i.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Messenger(pub u32);

impl Message for Messenger {
    fn kind(&self) -> Kind {
        Kind::protocol(if self.0 <= 1 { "ORDER" } else { "CONFIRM" })
    }
}

impl fmt::Display for Messenger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 | 1 => f.write_str("ORDER"),
            number => write!(f, "CONFIRM({})", number - 1),
        }
    }
}

/// Points in time that both know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The first messenger leaves.
    Evening,
    /// It is decided.
    Dawn,
}

/// What a general does at dawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// He attacks.
    Attacks {
        /// The last messenger that has come to him; 0 if none has.
        heard: u32,
    },
    /// He does not.
    Stays {
        /// The last messenger that has come to him; 0 if none has.
        heard: u32,
    },
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Output::Attacks { .. } => "attacks",
            Output::Stays { .. } => "stays in camp",
        })
    }
}

/// What is fixed for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// K.
    pub confirmations: u32,
    /// T: how long a messenger takes at most.
    pub timeout: Duration,
}

impl Config {
    /// The number of the last messenger of all.
    pub fn last(&self) -> u32 {
        self.confirmations.saturating_add(1)
    }

    /// When it is dawn: every messenger has had its time by then.
    pub fn dawn(&self) -> Duration {
        self.timeout.saturating_mul(self.confirmations.saturating_add(3))
    }
}

/// Which of the two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// None of them: a bystander, or one who came back and has forgotten everything.
    #[default]
    None,
    /// Has the plan; gets messengers of even numbers.
    First,
    /// Is told; gets messengers of odd numbers.
    Second,
}

impl Role {
    /// The number of the last messenger to a general among this many; 0 if there is none.
    pub fn last_to(self, messengers: u32) -> u32 {
        let parity = match self {
            Role::None => return 0,
            Role::First => 0,
            Role::Second => 1,
        };
        if messengers % 2 == parity { messengers } else { messengers.saturating_sub(1) }
    }
}

/// A general.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TwoGenerals {
    role: Role,
    /// The number of the last messenger that has come; 0 if none has.
    heard: u32,
    /// What he did at dawn.
    attacks: Option<bool>,
}

impl Process for TwoGenerals {
    type Msg = Messenger;
    type Timer = Timer;
    type Input = ();
    type Output = Output;
    type Durable = ();
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions {
        timing: Timing::Synchronous,
        duplication: true,
        ..Assumptions::faultless(Channels::Any)
    };

    fn durable(&self) {}

    fn on_start(&mut self, saved: Option<()>, cx: &mut Context<'_, Self>) {
        self.role = match (saved, cx.place()) {
            (None, 0) => Role::First,
            (None, 1) => Role::Second,
            _ => return,
        };
        if self.role == Role::First {
            cx.set_timer(Timer::Evening, cx.config().timeout);
        }
        cx.set_timer(Timer::Dawn, cx.config().dawn());
    }

    fn on_input(&mut self, (): (), _: &mut Context<'_, Self>) {}

    fn on_message(&mut self, from: NodeId, msg: Messenger, cx: &mut Context<'_, Self>) {
        let Messenger(number) = msg;
        let next = if self.heard == 0 { Role::last_to(self.role, 2) } else { self.heard + 2 };
        let expected = number == next && number <= cx.config().last();
        if self.attacks.is_some() || Some(from) != self.other(cx) || !expected {
            return;
        }
        self.heard = number;
        cx.rule("G2");
        self.send(number + 1, cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Context<'_, Self>) {
        match timer {
            Timer::Evening => {
                cx.rule("G1");
                self.send(1, cx);
            }
            Timer::Dawn => self.decide(cx),
        }
    }
}

impl TwoGenerals {
    /// What he did at dawn, if it has come.
    pub fn attacks(&self) -> Option<bool> {
        self.attacks
    }

    fn other(&self, cx: &Context<'_, Self>) -> Option<NodeId> {
        let place = match self.role {
            Role::None => return None,
            Role::First => 1,
            Role::Second => 0,
        };
        cx.group().ring().get(place).copied()
    }

    fn send(&mut self, number: u32, cx: &mut Context<'_, Self>) {
        if let Some(to) = self.other(cx).filter(|_| number <= cx.config().last()) {
            cx.send(to, Messenger(number));
        }
    }

    /// G3.
    fn decide(&mut self, cx: &mut Context<'_, Self>) {
        cx.rule("G3");
        let heard = self.heard;
        let attacks = heard >= self.role.last_to(cx.config().last());
        self.attacks = Some(attacks);
        cx.emit(if attacks { Output::Attacks { heard } } else { Output::Stays { heard } });
    }
}

/// K by default.
const CONFIRMATIONS: u32 = 3;
/// With more, dawn would hardly come.
const MOST_CONFIRMATIONS: u32 = 1_000;

impl Algorithm for TwoGenerals {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            name: "two-generals",
            family: "agreement",
            title: "Two generals (impossible)",
            source: "Akkoyunlu, Ekanadham and Huber 1975; Gray 1978",
            cost: "K+1 for K confirmations",
            assumes: Self::ASSUMES,
            topology: Topology::Mesh,
            docs: essay!("two_generals.rs"),
            example: "agreement/two-generals-last-messenger-lost.txt",
        };
        Definition::<Self>::new(entry, Self::config)
            .options(&[Opt {
                name: "confirmations",
                value: Some("K"),
                help: "K: how many confirmations the generals' plan has; 3 by default",
            }])
            .checks(Self::check)
            .nodes(2)
            .kinds(&["ORDER", "CONFIRM"])
            .goal(Goal::new("dawn", "both generals have made up their minds", |processes| {
                let decided =
                    |process: &Self| process.role == Role::None || process.attacks.is_some();
                processes.map(|(_, process)| process).all(decided)
            }))
            .settles_within(|config, _, _| {
                config.dawn().saturating_add(config.timeout.saturating_mul(2))
            })
            .view(|process, config, _| process.view(config))
            .referee(|_, group| Box::new(Observer::new(group)))
            .costs(costs)
    }
}

impl TwoGenerals {
    /// The chain of messengers as far as he can know it, and the next one, of which he cannot.
    fn view(&self, config: &Config) -> ProcessView {
        let phase = match (self.role, self.attacks) {
            (Role::None, _) => "knows nothing",
            (_, Some(true)) => "attacks",
            (_, Some(false)) => "stays in camp",
            (Role::First, None) => "has the plan",
            (Role::Second, None) if self.heard == 0 => "waits for an order",
            (Role::Second, None) => "has heard the plan",
        };
        let name = |number: u32| match number {
            1 => "the ORDER".to_owned(),
            2 => "the confirmation".to_owned(),
            _ => format!("confirmation {}", number - 1),
        };
        let arrived = (1..=self.heard).map(|number| {
            Item::new(format!("{} arrived", name(number))).tone(Tone::Good).depth(number - 1)
        });
        let next = self.heard + 1;
        let sends = self.role != Role::None
            && next <= config.last()
            && (self.heard > 0 || self.role == Role::First);
        let unknown = sends.then(|| {
            Item::new(format!("did {} arrive? He cannot know", name(next)))
                .tone(Tone::Bad)
                .depth(next - 1)
        });
        ProcessView::new(phase).mark_if(self.attacks == Some(true), Mark::Decided).row(
            "what he knows",
            Shape::Tree,
            arrived.chain(unknown),
        )
    }
}

fn costs(n: u32) -> Vec<Cost> {
    let plans = [("K = 0", 0), ("K = 1", 1), ("K = 3", 3), ("K = 8", 8)];
    let cost = |(case, confirmations)| {
        let parts: [(Kinds, _, _); 2] = [(&["ORDER"], "1", 1), (&["CONFIRM"], "K", confirmations)];
        Cost::sum(case, "K+1", &parts, [Script::of(n).set("confirmations", confirmations)])
    };
    plans.map(cost).into()
}

impl TwoGenerals {
    fn check(settings: &Settings, group: &Group) -> Result<(), BadOption> {
        let refuse = |option, why| Err(BadOption { option, why });
        if group.len() != 2 {
            let n = group.len();
            let plural = if n == 1 { "" } else { "es" };
            let why = format!("{n} process{plural}, but the generals are two; give 2");
            return refuse("nodes", why);
        }
        let confirmations = settings.options.number("confirmations", CONFIRMATIONS)?;
        if confirmations > MOST_CONFIRMATIONS {
            let why = format!("{confirmations} are too many; at most {MOST_CONFIRMATIONS}");
            return refuse("confirmations", why);
        }
        Ok(())
    }

    fn config(settings: &Settings, _: &Group) -> Config {
        let given = settings.options.number("confirmations", CONFIRMATIONS);
        let confirmations = given.unwrap_or(CONFIRMATIONS).min(MOST_CONFIRMATIONS);
        Config { confirmations, timeout: settings.timeout }
    }
}

#[cfg(test)]
#[path = "tests/two_generals.rs"]
mod tests;
