//! Playing scenarios.

use super::command::{Command, Deed, Expectation};
use super::parse::{Paragraph, Scenario};
use crate::engine::Sim;
use crate::fault::{Action, Cut, Scheduled};
use crate::monitor::Violation;
use crate::plan::{Outcome, Plan};
use crate::render;
use crate::trace::{Recorder, Trace};
use bellwether_algorithms::catalogue::{Algorithm, Visitor, visit};
use bellwether_core::{Goal, NodeId, Role, Time};
use std::collections::BTreeMap;
use std::fmt;

/// A scenario that has been played.
#[derive(Clone, Debug)]
pub struct Played {
    /// The recorded run.
    pub trace: Trace,
    /// What came of it.
    pub outcome: Outcome,
    /// Where it went otherwise than written.
    pub mismatches: Vec<Mismatch>,
    /// The scenario with the stories that were really told.
    pub rewritten: String,
}

/// Something that is otherwise than the scenario says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The line of the scenario.
    pub line: usize,
    /// What it says.
    pub written: String,
    /// What happened.
    pub happened: String,
    /// Whether it is an `expect` line, which no update ever rewrites.
    pub by_hand: bool,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { line, written, happened, .. } = self;
        write!(f, "line {line}:\n  written:  {written}\n  happened: {happened}")
    }
}

impl Scenario {
    /// Plays it from beginning to end.
    pub fn play(&self) -> Played {
        // The parser accepts only algorithms that the catalogue has.
        visit(&self.setup.algorithm, Play(self))
            .unwrap_or_else(|| unreachable!("the catalogue has {}", self.setup.algorithm))
    }
}

struct Play<'a>(&'a Scenario);

impl Visitor for Play<'_> {
    type Output = Played;

    fn visit<A: Algorithm>(self) -> Played {
        let setup = &self.0.setup;
        let plan = Plan::<A> {
            group: setup.group.clone(),
            settings: setup.settings(),
            network: setup.network.clone(),
            seed: setup.seed,
            script: Vec::new(),
            until: None,
        };
        let recorder = Recorder::new(&A::ENTRY, &setup.group, setup.seed);
        let mut stage = Stage {
            sim: plan.set_up(recorder),
            goal: A::goal(),
            cuts: 0,
            told: 0,
            asked: false,
            missed: None,
            mismatches: Vec::new(),
        };
        let rewritten: Vec<String> = self
            .0
            .paragraphs
            .iter()
            .map(|paragraph| stage.play(paragraph, setup.overhead))
            .collect();
        let outcome = stage.outcome(&plan);
        Played {
            trace: stage.sim.observer.into_trace(),
            outcome,
            mismatches: stage.mismatches,
            rewritten: rewritten.join("\n"),
        }
    }
}

struct Stage<A: Algorithm> {
    sim: Sim<A, Recorder>,
    goal: Goal<A>,
    /// How many cuts there have been; the name of the next.
    cuts: u32,
    /// How many events of the trace have been told.
    told: usize,
    /// Whether anybody was ever asked for anything.
    asked: bool,
    /// The goal, if the last `run` ended without it.
    missed: Option<Violation>,
    mismatches: Vec<Mismatch>,
}

impl<A: Algorithm> Stage<A> {
    /// Plays a paragraph and writes it anew.
    fn play(&mut self, paragraph: &Paragraph, overhead: bool) -> String {
        for (line, command) in &paragraph.commands {
            match command {
                Command::Do(deed, at) => self.perform(deed, *at),
                Command::Run(span) => self.run(*span),
                Command::Expect(expectation) => self.expect(*line, expectation, paragraph),
            }
        }
        let events = &self.sim.observer.trace().events;
        let story = render::story(&events[self.told..], overhead);
        self.told = events.len();
        self.compare(paragraph, &story);
        let mut text = paragraph.source.join("\n");
        text.push('\n');
        if !story.is_empty() {
            text.push_str("---\n");
            text.extend(story.iter().flat_map(|line| [line.as_str(), "\n"]));
        }
        text
    }

    fn perform(&mut self, deed: &Deed, at: Option<Time>) {
        for action in self.actions(deed) {
            self.asked |= matches!(action, Action::Input(..));
            match at {
                Some(at) => self.sim.schedule([Scheduled { at, action }]),
                None => self.sim.act(action),
            }
        }
    }

    fn actions(&mut self, deed: &Deed) -> Vec<Action<A::Input>> {
        let each = |ids: &[NodeId], action: fn(NodeId) -> Action<A::Input>| {
            ids.iter().copied().map(action).collect()
        };
        match deed {
            Deed::Crash(ids) => each(ids, Action::Crash),
            Deed::Recover(ids) => each(ids, Action::Recover),
            Deed::Pause(ids) => each(ids, Action::Pause),
            Deed::Resume(ids) => each(ids, Action::Resume),
            Deed::CrashSending(node, kind, after) => {
                vec![Action::CrashSending { node: *node, kind: kind.clone(), after: *after }]
            }
            Deed::Slow(id, span) => vec![Action::Slow(*id, *span)],
            Deed::Cut(kind) => {
                self.cuts += 1;
                vec![Action::Cut(Cut { name: self.cuts, kind: kind.clone() })]
            }
            Deed::Heal => (1..=self.cuts).map(Action::Heal).collect(),
            Deed::Clock(node, offset_us, drift_ppm) => {
                vec![Action::Clock { node: *node, offset_us: *offset_us, drift_ppm: *drift_ppm }]
            }
            Deed::Input(verb, ids) => {
                let input = A::input(verb);
                let inputs = ids.iter().filter_map(|id| Some(Action::Input(*id, input.clone()?)));
                inputs.collect()
            }
        }
    }

    fn run(&mut self, span: Option<std::time::Duration>) {
        let settings_time = A::settles_within(self.sim.config(), self.sim.group());
        let limit = match span {
            Some(span) => self.sim.now() + span,
            None if self.sim.has_goal() => self.sim.last_scheduled() + settings_time,
            None => Time::MAX,
        };
        self.sim.run(limit);
        let promised = span.is_none() && (self.asked || self.sim.has_goal());
        self.missed = (promised && !self.agreed()).then(|| Violation {
            name: self.goal.name,
            text: self.goal.text,
            at: self.sim.now(),
            by: Vec::new(),
        });
    }

    fn agreed(&self) -> bool {
        (self.goal.holds)(&mut self.sim.live())
    }

    fn violation(&self) -> Option<&Violation> {
        self.sim.violation().or(self.missed.as_ref())
    }

    fn compare(&mut self, paragraph: &Paragraph, story: &[String]) {
        let (written, happened) = (&paragraph.story, story);
        let nothing = String::from("(nothing)");
        for index in 0..written.len().max(happened.len()) {
            let (written, happened) = (written.get(index), happened.get(index));
            if written != happened {
                // What follows the first difference is rarely worth reading.
                return self.mismatches.push(Mismatch {
                    line: paragraph.story_line + index,
                    written: written.unwrap_or(&nothing).clone(),
                    happened: happened.unwrap_or(&nothing).clone(),
                    by_hand: false,
                });
            }
        }
    }

    fn expect(&mut self, line: usize, expectation: &Expectation, paragraph: &Paragraph) {
        let Err(happened) = self.check(expectation) else { return };
        let first = paragraph.story_line - paragraph.source.len();
        let first = if paragraph.story.is_empty() { first } else { first - 1 };
        let written = paragraph.source.get(line.wrapping_sub(first) + 1).cloned();
        let written = written.unwrap_or_else(|| format!("{expectation:?}"));
        self.mismatches.push(Mismatch { line, written, happened, by_hand: true });
    }

    fn check(&self, expectation: &Expectation) -> Result<(), String> {
        match expectation {
            Expectation::Coordinator(ids, whom) => {
                for id in ids {
                    let found = match self.sim.live().find(|(live, _)| live == id) {
                        Some((_, process)) => process.coordinator(),
                        None => return Err(format!("{id} is down")),
                    };
                    if found != *whom {
                        return Err(format!("{id} takes {} for the coordinator", name(found)));
                    }
                }
                Ok(())
            }
            Expectation::Members(id, expected) => {
                let mut found: Vec<NodeId> =
                    self.sim.process(*id).map_or(&[][..], A::members).to_vec();
                let mut expected = expected.clone();
                found.sort_unstable();
                expected.sort_unstable();
                let shown: Vec<String> = found.iter().map(|id| id.number().to_string()).collect();
                if found == expected { Ok(()) } else { Err(format!("[{}]", shown.join(","))) }
            }
            Expectation::Messages(expected) => self.check_counts(Role::Protocol, expected),
            Expectation::Overhead(expected) => self.check_counts(Role::Overhead, expected),
            Expectation::Agreement(expected) => match (self.agreed(), expected) {
                (true, false) => Err("agreement".to_owned()),
                (false, true) => Err(format!("no agreement: {}", self.beliefs())),
                _ => Ok(()),
            },
            Expectation::Violation(expected) => {
                let found = self.violation().map(|violation| violation.name);
                if found == expected.as_deref() {
                    Ok(())
                } else {
                    Err(format!("violation {}", found.unwrap_or("none")))
                }
            }
        }
    }

    fn check_counts(&self, role: Role, expected: &BTreeMap<String, u64>) -> Result<(), String> {
        let found = self.sim.tally().of(role);
        let same = found.len() == expected.len()
            && found.iter().all(|(kind, count)| expected.get(*kind) == Some(count));
        let shown: Vec<String> =
            found.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
        if same { Ok(()) } else { Err(shown.join(" ")) }
    }

    fn beliefs(&self) -> String {
        let belief = |(id, process): (NodeId, &A)| format!("{id}: {}", name(process.coordinator()));
        self.sim.live().map(belief).collect::<Vec<_>>().join(", ")
    }

    fn outcome(&self, plan: &Plan<A>) -> Outcome {
        let mut outcome = plan.outcome(&self.sim);
        outcome.violation = self.violation().cloned();
        outcome
    }
}

fn name(id: Option<NodeId>) -> String {
    id.map_or_else(|| "nobody".to_owned(), |id| id.to_string())
}
