//! Playing scenarios.

use super::command::{Command, Deed, Expectation, Mend, Span, Who};
use super::next::{Next, sent};
use super::parse::{Paragraph, Scenario};
use super::refusals::Refusals;
use super::signs::{Asked, Signs};
use crate::engine::{Ended, Sim};
use crate::fault::{Action, Cut, CutKind, Scheduled};
use crate::monitor::Violation;
use crate::plan::{Outcome, Plan, work};
use crate::render;
use crate::trace::{Recorder, Trace};
use bellwether_algorithms::catalogue::Listed;
use bellwether_core::{AnyInput, AnyProcess, NodeId, Time};
use std::fmt;
use std::time::Duration;

/// How a scenario is played.
#[derive(Clone, Copy)]
pub struct Staging<'a> {
    /// Whether to record what the processes hold.
    pub states: bool,
    /// A run whose trace gets longer than this is cut off.
    pub events_max: usize,
    /// Asked now and then whether a run may go on.
    pub may_go_on: &'a dyn Fn() -> bool,
    /// Whether to end after all events of this microsecond, and look at what could happen next.
    pub look_at: Option<Time>,
}

/// A scenario is there to be read: one with more events than this has gone wrong.
impl Default for Staging<'_> {
    fn default() -> Self {
        Staging { states: false, events_max: 1_000_000, may_go_on: &|| true, look_at: None }
    }
}

impl fmt::Debug for Staging<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Staging { states, events_max, .. } = self;
        write!(f, "Staging {{ states: {states}, events_max: {events_max} }}")
    }
}

/// Between two looks at how far it has come, a run has this many events.
const EVENTS_BETWEEN_LOOKS: u64 = 1_000;

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
    /// When each `run` began and ended.
    pub runs: Vec<Ran>,
    /// When the run ended because an invariant was broken, if it did.
    pub broken: Option<Time>,
    /// Whether the run was cut off, and why.
    pub cut_off: Option<CutOff>,
    /// What could happen next, if that was to be looked at.
    pub next: Option<Next>,
}

/// A `run`, and the time that passed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The line of the scenario.
    pub line: usize,
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub to: Time,
}

/// Why a run was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutOff {
    /// It had more events than it may have, by this time.
    Long(Time),
    /// It was told to stop, at this time.
    Stopped(Time),
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
    /// Whether it is a line that was written by hand, which no update ever rewrites.
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
        self.stage(&Staging::default())
    }

    /// The same, with something to say about how.
    pub fn stage(&self, staging: &Staging<'_>) -> Played {
        let setup = &self.setup;
        let plan = Plan {
            algorithm: setup.algorithm.clone(),
            group: setup.group.clone(),
            settings: setup.settings(),
            network: setup.network.clone(),
            seed: setup.seed,
            script: Vec::new(),
            until: None,
        };
        let recorder =
            Recorder::new(&setup.algorithm, &setup.group, setup.seed).with_tree(setup.tree);
        let config = || plan.algorithm.config(&plan.settings, &plan.group);
        let recorder = if staging.states { recorder.with_states(config()) } else { recorder };
        let mut stage = Stage {
            staging,
            algorithm: setup.algorithm.clone(),
            runs: Vec::new(),
            cut_off: None,
            sim: plan.set_up(recorder),
            step: plan.settings.timeout.max(plan.network.bound()).saturating_mul(8),
            cuts: 0,
            open: Vec::new(),
            told: 0,
            asked: false,
            work: 0,
            missed: None,
            next: None,
            signs: Signs::default(),
            refusals: Refusals::default(),
            has_story: self.paragraphs.iter().any(|paragraph| !paragraph.story.is_empty()),
            last_run: None,
            judged: false,
            mismatches: Vec::new(),
        };
        let names = sent(&stage.sim.observer);
        stage.sim.name_messages(names);
        if setup.keeps_going {
            stage.sim.keep_going();
        }
        let rewritten: Vec<String> =
            self.paragraphs.iter().map(|paragraph| stage.play(paragraph, setup.overhead)).collect();
        let mut mismatches = std::mem::take(&mut stage.mismatches);
        let events = &stage.sim.observer.trace().events;
        mismatches.extend(stage.signs.left_over(events, stage.sim.now()));
        mismatches.extend(stage.refusals.left_over(stage.sim.refusals()));
        mismatches.extend(stage.surprise());
        mismatches.sort_by_key(|mismatch| mismatch.line);
        let outcome = stage.outcome(&plan);
        let broken = stage.sim.violation().map(|violation| violation.at);
        let broken = broken.filter(|_| !setup.keeps_going);
        // A moment after the end of the run is its end.
        let look = || Next::look(&stage.sim);
        let next = staging.look_at.map(|_| stage.next.take().unwrap_or_else(look));
        let (runs, cut_off) = (std::mem::take(&mut stage.runs), stage.cut_off);
        let trace = stage.sim.observer.into_trace();
        Played {
            trace,
            outcome,
            mismatches,
            rewritten: rewritten.join("\n"),
            runs,
            broken,
            cut_off,
            next,
        }
    }
}

/// A cluster that a scenario is being played on.
pub(super) struct Stage<'a> {
    pub(super) algorithm: Listed,
    pub(super) sim: Sim<AnyProcess, Recorder>,
    staging: &'a Staging<'a>,
    runs: Vec<Ran>,
    cut_off: Option<CutOff>,
    /// Time passes in steps of about this length.
    step: Duration,
    /// How many cuts there have been; the name of the last.
    cuts: u32,
    /// The cuts that no `heal` has mended yet.
    open: Vec<(u32, CutKind)>,
    /// How many events of the trace have been told.
    told: usize,
    /// Whether anybody was ever asked for anything.
    asked: bool,
    /// How much of it was work.
    work: u64,
    /// The goal, if the last `run` ended without it.
    missed: Option<Violation>,
    /// What could happen next at the moment that was to be looked at, once it was reached.
    next: Option<Next>,
    signs: Signs,
    refusals: Refusals,
    /// Whether the scenario claims any story at all. One that was just saved does not.
    has_story: bool,
    /// The last `run`.
    last_run: Option<Asked>,
    /// Whether the scenario has said which violation it expects.
    judged: bool,
    mismatches: Vec<Mismatch>,
}

impl Stage<'_> {
    /// Plays a paragraph and rewrites it.
    fn play(&mut self, paragraph: &Paragraph, overhead: bool) -> String {
        for (line, command) in &paragraph.commands {
            if self.next.is_some() {
                break;
            }
            let since = self.sim.observer.trace().events.len();
            let asked = Asked { line: *line, written: paragraph.written(*line), since };
            let done = match command {
                Command::Do(deed, at) => self.perform(deed, *at, &asked),
                Command::Run(span) => {
                    self.last_run = Some(asked.clone());
                    let from = self.sim.now();
                    let done = self.run(*span);
                    self.runs.push(Ran { line: *line, from, to: self.sim.now() });
                    done
                }
                Command::Expect(expectation) => {
                    self.judged |= matches!(expectation, Expectation::Violation(_));
                    if let Expectation::Refusals(_) = expectation {
                        self.refusals.speak_of(self.sim.refusals());
                    }
                    self.check(expectation)
                }
            };
            self.mismatches.extend(done.err().map(|happened| asked.instead(happened)));
            let unsteered = self.sim.take_unsteered();
            self.mismatches.extend(unsteered.iter().filter_map(|one| self.signs.unsteered(one)));
            let events = &self.sim.observer.trace().events;
            let ran = matches!(command, Command::Run(_));
            self.mismatches.extend(self.signs.look(events, self.sim.now(), ran));
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

    fn perform(&mut self, deed: &Deed, at: Option<Time>, asked: &Asked) -> Result<(), String> {
        let now = self.sim.now();
        if at.is_some_and(|at| at < now) {
            return Err(format!("nothing: it is {now} already"));
        }
        for action in self.actions(deed)? {
            self.asked |= action.is_input();
            self.work += work(&self.algorithm, &action, self.sim.group());
            self.refusals.given(&self.algorithm, asked, &action, at.unwrap_or(now));
            self.signs.await_sign(asked.clone(), &action, at, now);
            match at {
                Some(at) => self.sim.schedule([Scheduled { at, action }]),
                None => self.sim.act(action),
            }
        }
        Ok(())
    }

    fn actions(&mut self, deed: &Deed) -> Result<Vec<Action<AnyInput>>, String> {
        let each = |ids: &[NodeId], action: fn(NodeId) -> Action<AnyInput>| {
            ids.iter().copied().map(action).collect()
        };
        Ok(match deed {
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
                self.open.push((self.cuts, kind.clone()));
                vec![Action::Cut(Cut { name: self.cuts, kind: kind.clone() })]
            }
            Deed::Heal(which) => {
                let is_mended = |(number, kind): &mut (u32, CutKind)| match which {
                    Mend::All => true,
                    Mend::Number(which) => which == number,
                    Mend::Same(which) => which == kind,
                };
                let mended: Vec<_> = self.open.extract_if(.., is_mended).collect();
                if mended.is_empty() {
                    return Err("nothing: there is no such cut".to_owned());
                }
                mended.into_iter().map(|(number, _)| Action::Heal(number)).collect()
            }
            Deed::Calm => vec![Action::Calm],
            Deed::Steer(steer) => vec![Action::Steer(*steer)],
            Deed::Clock(node, offset_us, drift_ppm) => {
                vec![Action::Clock { node: *node, offset_us: *offset_us, drift_ppm: *drift_ppm }]
            }
            Deed::Input(verb, who) => match (self.algorithm.input(verb), who) {
                // The parser accepts only verbs that the algorithm knows.
                (None, _) => Vec::new(),
                (Some(input), Who::All) => vec![Action::InputAll(input)],
                (Some(input), Who::These(ids)) => {
                    ids.iter().map(|id| Action::Input(*id, input.clone())).collect()
                }
            },
        })
    }

    /// Lets time pass. What counts as a missed goal is as in [`Plan::finish`].
    fn run(&mut self, span: Span) -> Result<(), String> {
        let now = self.sim.now();
        let settles = self.algorithm.settling_time(self.sim.config(), self.sim.group(), self.work);
        let overdue = self.sim.last_scheduled() + settles;
        let lasts = self.algorithm.duration(self.sim.config());
        let limit = match span {
            Span::Over if self.sim.has_goal() => overdue,
            Span::Over => lasts.map_or(Time::MAX, |span| now.max(self.sim.last_scheduled()) + span),
            Span::For(span) => now + span,
            Span::Until(time) if time < now => return Err(format!("it is {now} already")),
            Span::Until(time) => time,
        };
        if let Span::For(_) = span {
            self.sim.schedule([Scheduled { at: limit, action: self.alarm() }]);
        }
        let ended = self.run_to(limit);
        let promised = match (span, &ended) {
            (Span::For(_), _) => false,
            (_, Ok(Ended::TimeUp)) => (self.sim.has_goal() || lasts.is_some()) && limit >= overdue,
            (_, Ok(Ended::Quiet)) => self.asked,
            (_, Ok(Ended::Settled | Ended::Violated | Ended::Storm) | Err(_)) => false,
        };
        if let Ok(Ended::Quiet | Ended::Settled) = ended {
            self.sim.close();
        }
        let missed = promised && !self.agreed();
        self.missed = self.algorithm.goal.as_ref().filter(|_| missed).map(|goal| Violation {
            name: goal.name,
            text: goal.text,
            at: self.sim.now(),
            by: Vec::new(),
        });
        if let Ok(Ended::Violated) | Err(_) = ended {
            self.signs.forget();
        }
        ended.map(|_| ())
    }

    /// Does nothing, but makes its time come: a cluster in which nothing is left to happen, or
    /// whose goal is reached, would otherwise stop the clock.
    fn alarm(&self) -> Action<AnyInput> {
        let group = self.sim.group();
        let absent = (0..=u32::MAX).map(NodeId::new).find(|id| !group.contains(*id));
        Action::Resume(absent.unwrap_or(NodeId::new(u32::MAX)))
    }

    /// Runs in steps, so as to notice a run without end.
    fn run_to(&mut self, limit: Time) -> Result<Ended, String> {
        if let Some(moment) = self.staging.look_at.filter(|moment| *moment < limit) {
            return self.run_up_to(moment);
        }
        self.pass_to(limit)
    }

    fn pass_to(&mut self, limit: Time) -> Result<Ended, String> {
        let mut step = self.step;
        loop {
            let before = self.sim.events();
            let until = limit.min(self.sim.now() + step);
            let is_last = until == limit;
            self.sim.stop_after(self.sim.activity() + EVENTS_BETWEEN_LOOKS);
            let ended = if is_last { self.sim.run(until) } else { self.sim.pass(until) };
            if ended == Ended::Storm {
                self.look_after()?;
                continue;
            }
            if ended != Ended::TimeUp || is_last {
                return Ok(ended);
            }
            self.look_after()?;
            // A quiet time is passed in ever longer steps.
            let quiet = self.sim.events() == before;
            step = if quiet { step.saturating_mul(2) } else { self.step };
        }
    }

    /// Runs to a moment before the end, and looks at what could happen next there.
    fn run_up_to(&mut self, moment: Time) -> Result<Ended, String> {
        let ended = self.pass_to(moment)?;
        // What ends before is as it always is.
        if ended == Ended::TimeUp {
            self.next = Some(Next::look(&self.sim));
        }
        Ok(ended)
    }

    /// Sees to it that a run does not go on and on.
    fn look_after(&mut self) -> Result<(), String> {
        let now = self.sim.now();
        let Staging { events_max, may_go_on, .. } = self.staging;
        if self.sim.observer.trace().events.len() > *events_max {
            self.cut_off = Some(CutOff::Long(now));
            return Err(format!("no end: more than {events_max} events, and it is only {now}"));
        }
        if !may_go_on() {
            self.cut_off = Some(CutOff::Stopped(now));
            return Err(format!("no end: it was stopped, and it is only {now}"));
        }
        Ok(())
    }

    pub(super) fn agreed(&self) -> bool {
        self.algorithm.agreed(self.sim.live())
    }

    pub(super) fn violation(&self) -> Option<&Violation> {
        self.sim.violation().or(self.missed.as_ref())
    }

    /// A violation that the scenario says nothing about; otherwise an update could bless it.
    fn surprise(&self) -> Option<Mismatch> {
        let violation = self.violation().filter(|_| !self.judged)?;
        Some(self.last_run.clone()?.instead(format!("violation {violation}")))
    }

    fn compare(&mut self, paragraph: &Paragraph, story: &[String]) {
        if !self.has_story {
            return;
        }
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

    fn outcome(&self, plan: &Plan<AnyProcess>) -> Outcome {
        let mut outcome = plan.outcome(&self.sim);
        outcome.violation = self.violation().cloned();
        outcome
    }
}
