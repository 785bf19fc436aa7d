//! A template: a process of your own in the laboratory.
//!
//! Processes claim one thing that all of them share. The algorithm is simple, and wrong: `claimer
//! check claimer` says why. `README.md` tells how to find that out and what to try then.
//!
//! # Rules
//! * C1 To claim, ask all others, and wait.
//! * C2 Asked while holding: answer when done.
//! * C3 Asked otherwise: answer GRANT at once.
//! * C4 When all others have granted, hold the thing for a while.
//! * C5 When done, answer all that were kept waiting.

use bellwether_lab::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    bellwether_lab::main(catalogue().with::<Claimer>())
}

/// What processes send each other. `Display` is how a trace shows it, `kind` how it is counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Msg {
    /// May I have it?
    Claim,
    /// You may, as far as I am concerned.
    Grant,
}

impl fmt::Display for Msg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind().name)
    }
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        Kind::protocol(match self {
            Msg::Claim => "CLAIM",
            Msg::Grant => "GRANT",
        })
    }
}

/// What the application asks for: `claim` on the command line and in scenarios.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Claim;

/// What the application is told.
#[derive(Clone, Debug)]
enum Output {
    /// The thing is here now.
    Holds,
    /// It is given back.
    Done,
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Output::Holds => "holds it",
            Output::Done => "is done",
        })
    }
}

/// What a process is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    /// Nothing.
    #[default]
    Idle,
    /// It has asked, and these have granted.
    Claiming { granted: BTreeSet<NodeId> },
    /// It has it.
    Holding,
}

/// A process. It must be possible to compare, hash and show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Claimer {
    phase: Phase,
    /// Those whose claims wait until this process is done.
    waiting: BTreeSet<NodeId>,
}

/// What is fixed for a whole run.
#[derive(Clone, Debug)]
struct Config {
    /// How long a process holds the thing.
    hold: Duration,
}

type Cx<'a> = Context<'a, Claimer>;

impl Process for Claimer {
    type Msg = Msg;
    /// There is one timer: how long the thing is held.
    type Timer = ();
    type Input = Claim;
    type Output = Output;
    /// Nothing survives a crash.
    type Durable = ();
    type Config = Config;

    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Fifo);

    fn durable(&self) {}

    fn on_start(&mut self, _: Option<()>, _: &mut Cx<'_>) {}

    fn on_input(&mut self, Claim: Claim, cx: &mut Cx<'_>) {
        if self.phase == Phase::Idle {
            cx.rule("C1");
            self.phase = Phase::Claiming { granted: BTreeSet::new() };
            cx.others().for_each(|other| cx.send(other, Msg::Claim));
            self.hold_if_granted(cx);
        }
    }

    fn on_message(&mut self, from: NodeId, msg: Msg, cx: &mut Cx<'_>) {
        match (msg, &mut self.phase) {
            (Msg::Claim, Phase::Holding) => {
                cx.rule("C2");
                self.waiting.insert(from);
            }
            (Msg::Claim, Phase::Idle | Phase::Claiming { .. }) => {
                cx.rule("C3");
                cx.send(from, Msg::Grant);
            }
            (Msg::Grant, Phase::Claiming { granted }) => {
                granted.insert(from);
                self.hold_if_granted(cx);
            }
            (Msg::Grant, Phase::Idle | Phase::Holding) => {}
        }
    }

    fn on_timer(&mut self, (): (), cx: &mut Cx<'_>) {
        cx.rule("C5");
        self.phase = Phase::Idle;
        cx.emit(Output::Done);
        for waiting in std::mem::take(&mut self.waiting) {
            cx.send(waiting, Msg::Grant);
        }
    }
}

impl Claimer {
    /// C4.
    fn hold_if_granted(&mut self, cx: &mut Cx<'_>) {
        let Phase::Claiming { granted } = &self.phase else { return };
        if granted.len() + 1 == cx.group().len() {
            cx.rule("C4");
            self.phase = Phase::Holding;
            cx.set_timer((), cx.config().hold);
            cx.emit(Output::Holds);
        }
    }
}

/// What the laboratory should know. A name is enough; every other part is optional.
impl Algorithm for Claimer {
    fn definition() -> Definition<Self> {
        let entry = Entry {
            title: "Claimer",
            cost: "2(n-1) a claim",
            ..Entry::new("claimer", Self::ASSUMES)
        };
        Definition::new(entry, |settings, _| Config { hold: settings.timeout })
            // What it can be asked for, and how `work`, the word for workloads, is read.
            .verbs(
                &["claim", "work"],
                |verb| matches!(verb, "claim" | "work").then_some(Claim),
                |Claim| Cow::Borrowed("claim"),
            )
            .work(|Claim| true)
            .kinds(&["CLAIM", "GRANT"])
            // What must hold at every moment, and what every run must come to.
            .invariant(Invariant::<Self>::at_most_one(
                "one-holder",
                "at most one process holds the thing",
                |_, process| (process.phase == Phase::Holding).then_some(0),
            ))
            .goal(Goal::<Self>::new("served", "no process claims or holds it", |mut processes| {
                Iterator::all(&mut processes, |(_, process)| process.phase == Phase::Idle)
            }))
            .costs(|n| {
                let messages = Expected::Exact(2 * u64::from(n - 1));
                vec![Cost::new("one claims", "2(n-1)", messages, [Script::of(n).ask(1, "claim")])]
            })
    }
}
