//! What the algorithms share that keep the clocks of machines together.

use super::offset::{show, show_roughly};
use super::{BadSample, Offset, Ppm, Slewed};
use crate::definition::Settings;
use crate::election;
use crate::options::{BadOption, Opt};
use bellwether_core::{NodeId, Time};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What a process says about its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// It sets its clock.
    Set(Setting),
    /// No process answered, or no answer said anything: its clock stays as it is.
    Missed,
    /// An answer from there says nothing about the clock: its clock stays as it is.
    Refused(NodeId, BadSample),
    /// A master has taken the mean of the clocks.
    Averaged {
        /// Of how many, its own included.
        clocks: u32,
        /// How far it is ahead of the master's own.
        mean: Offset,
        /// Those that are too far from the rest and do not count.
        outliers: Vec<NodeId>,
    },
    /// Most servers agree, and these are wrong.
    Falsetickers(Vec<NodeId>),
    /// The servers disagree: its clock stays as it is.
    NoMajority(NoMajority),
    /// The word of the election beside it.
    Election(election::Output),
}

/// What the application can ask for, where there are only clients and servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// A round at once, besides those that come by themselves.
    Synchronise,
}

impl Input {
    /// The input that a verb stands for.
    pub(super) fn of(verb: &str) -> Option<Input> {
        (verb == Input::Synchronise.verb()).then_some(Input::Synchronise)
    }

    /// The verb that stands for it.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Input::Synchronise => "synchronise",
        }
    }
}

/// Not enough servers agree on the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NoMajority {
    /// How many agree at most.
    pub agree: u32,
    /// How many have answered.
    pub answered: u32,
    /// How many there are.
    pub servers: u32,
}

impl fmt::Display for NoMajority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoMajority { agree, answered, servers } = self;
        let needed = majority(*servers);
        write!(f, "{answered} of {servers} servers answer and ")?;
        match agree {
            0 | 1 => write!(f, "no two agree")?,
            _ => write!(f, "{agree} agree")?,
        }
        write!(f, ", where {needed} must")
    }
}

impl std::error::Error for NoMajority {}

/// The smallest number that is more than half of this many.
pub(super) fn majority(of: u32) -> u32 {
    of / 2 + 1
}

/// A clock is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// By how much it was found to be behind.
    pub by: Offset,
    /// What is left to be slewed from now on, of this and of earlier settings.
    pub left: Offset,
    /// How long that takes, by the machine's clock.
    pub takes: Duration,
    /// How far off it is at most when that is done, but for drift.
    pub bound: Duration,
    /// Since when it can have drifted: how old what was measured is.
    pub age: Duration,
    /// What it is close to now: the clock of this process or, if of none, real time.
    pub of: Option<NodeId>,
    /// Clocks that were set in the same round are close to each other, where there are rounds.
    pub round: Option<Question>,
}

impl Setting {
    /// Sets a clock, and says so.
    pub(super) fn make(
        clock: &mut Slewed,
        reading: Time,
        by: Offset,
        slew: Ppm,
        (bound, age): (Duration, Duration),
        of: Option<NodeId>,
    ) -> Setting {
        clock.correct(reading, by, slew);
        let (left, takes) = (clock.left(reading), clock.takes(reading));
        Setting { by, left, takes, bound, age, of, round: None }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { by, takes, bound, .. } = self;
        write!(f, "sets its clock by {by}")?;
        match self.of {
            // The master of a round is what the others are close to.
            Some(_) if bound.is_zero() && self.round.is_some() => {}
            Some(of) => write!(f, ", within {} of {of}'s", show_roughly(*bound))?,
            None => write!(f, ", within {} of real time", show_roughly(*bound))?,
        }
        if takes.is_zero() { Ok(()) } else { write!(f, ", slewed for {}", show(*takes)) }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Set(setting) => setting.fmt(f),
            Output::Missed => f.write_str("gets no usable answer and leaves its clock alone"),
            Output::Refused(from, why) => write!(f, "refuses an answer of {from}: {why}"),
            Output::Averaged { clocks, mean, outliers } => {
                let plural = if *clocks == 1 { "" } else { "s" };
                write!(f, "takes the mean of {clocks} clock{plural}: {mean}")?;
                if !outliers.is_empty() {
                    write!(f, ", without {}", list(outliers))?;
                }
                Ok(())
            }
            Output::Falsetickers(ids) if ids.is_empty() => f.write_str("finds all servers right"),
            Output::Falsetickers(ids) => write!(f, "casts out {}", list(ids)),
            Output::NoMajority(why) => write!(f, "leaves its clock alone: {why}"),
            Output::Election(output) => output.fmt(f),
        }
    }
}

/// `P1, P4`.
pub(super) fn list(ids: &[NodeId]) -> String {
    ids.iter().map(NodeId::to_string).collect::<Vec<_>>().join(", ")
}

/// The number of a question, so that an answer is known for what it answers: it has never been
/// used before, not even in an earlier life.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Question {
    /// How often the process has started.
    life: u32,
    /// How often it has asked since then.
    count: u32,
}

impl Question {
    /// Before the first of this life.
    pub(super) fn born(life: election::Incarnation) -> Self {
        Question { life: life.number(), count: 0 }
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Question {
        self.count = self.count.saturating_add(1);
        *self
    }

    /// Whether it is this one or the one just before it.
    pub(super) fn is_just_before(self, last: Question) -> bool {
        self.life == last.life && self.count.saturating_add(1) >= last.count
    }

    /// How many there have been in this life.
    pub fn count(self) -> u32 {
        self.count
    }
}

/// How often clocks are set, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pace {
    /// T: an answer that takes longer is not waited for.
    pub timeout: Duration,
    /// From one round to the next.
    pub interval: Duration,
    /// How fast a correction is made.
    pub slew: Ppm,
    /// How much the clock of a machine gains or loses at most.
    pub drift: Ppm,
}

/// The options that go with it.
pub(super) const INTERVAL: Opt = Opt {
    name: "interval",
    value: Some("TIME"),
    help: "From one round to the next [default: 10s; for deadlock-central 4T]",
};
pub(super) const SLEW: Opt = Opt {
    name: "slew",
    value: Some("RATE"),
    help: "How fast a clock corrects its error, as in 5% or 500ppm [default: 5%]",
};
pub(super) const MAX_DRIFT: Opt = Opt {
    name: "max-drift",
    value: Some("RATE"),
    help: "The largest drift that the algorithm assumes [default: 100ppm]",
};

const USUAL_INTERVAL: Duration = Duration::from_secs(10);
const USUAL_SLEW: Ppm = Ppm::new(50_000);
const USUAL_DRIFT: Ppm = Ppm::new(100);

impl Pace {
    /// The usual pace, if a round takes so long at most.
    pub(super) fn usual(settings: &Settings, round: Duration) -> Pace {
        Pace {
            timeout: settings.timeout,
            interval: USUAL_INTERVAL.max(round.saturating_mul(2)),
            slew: USUAL_SLEW,
            drift: USUAL_DRIFT,
        }
    }

    /// What the options say; a round takes so long at most.
    pub(super) fn read(settings: &Settings, round: Duration) -> Result<Pace, BadOption> {
        let usual = Pace::usual(settings, round);
        let options = &settings.options;
        let interval = options.duration(INTERVAL.name, usual.interval)?;
        if interval <= round {
            let why = format!(
                "a round can take {}, so {} from one to the next is too little",
                show(round),
                show(interval)
            );
            return Err(BadOption { option: INTERVAL.name, why });
        }
        let drift = options.read(MAX_DRIFT.name, Ppm::parse)?.unwrap_or(usual.drift);
        let slew = options.read(SLEW.name, Ppm::parse)?.unwrap_or(usual.slew);
        if slew > Slewed::FASTEST {
            let why = format!("{slew} is too fast; expected {} at most", Slewed::FASTEST);
            return Err(BadOption { option: SLEW.name, why });
        }
        if slew.parts() <= drift.parts().saturating_mul(2) {
            let why = format!("{slew} does not make up for clocks that drift by {drift}");
            return Err(BadOption { option: SLEW.name, why });
        }
        Ok(Pace { timeout: settings.timeout, interval, slew, drift })
    }

    /// How fast two clocks drift apart at most.
    pub fn apart(&self) -> Ppm {
        Ppm::new(self.drift.parts().saturating_mul(2))
    }

    /// How long a run lasts at least by default.
    pub(super) fn lasts(&self, settles: Duration) -> Option<Duration> {
        Some(settles.max(Duration::from_secs(60)))
    }

    /// How often a referee looks at the clocks.
    pub(super) fn look(&self) -> Duration {
        (self.interval / 10).clamp(Duration::from_millis(1), Duration::from_millis(100))
    }
}
