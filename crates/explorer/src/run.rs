//! Playing a scenario for the page.

use crate::Explorer;
use crate::catalogue::LIMITS;
use crate::wire::{
    Branch, ClockChart, Count, Fact, GraphPicture, Outcome, Run, RunRequest, Violation,
};
use bellwether_algorithms::referee::Picture;
use bellwether_algorithms::show::{Item, Tone};
use bellwether_core::{NodeId, Panicked, Role, Time};
use bellwether_sim::render::json;
use bellwether_sim::scenario::{CutOff, Played, Scenario, Staging, SyntaxError, branch};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Asked now and then whether a run may go on.
pub type MayGoOn<'a> = &'a dyn Fn() -> bool;

/// Why there is no answer, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// One of HTTP's numbers.
    pub status: u16,
    /// What is wrong.
    pub error: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Refused {
    pub(crate) fn new(status: u16, error: String, hint: Option<&str>) -> Refused {
        Refused { status, error, hint: hint.map(str::to_owned) }
    }
}

/// Answers a request about a scenario. If a part of its algorithm panics, that is the answer, and the
/// server goes on.
pub(crate) fn caught<T>(
    scenario: &str,
    answer: impl FnOnce() -> Result<T, Refused>,
) -> Result<T, Refused> {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|payload| {
        let panicked = Panicked::new(payload, || "the run panicked".to_owned());
        let cluster = scenario.lines().find(|line| line.starts_with("cluster "));
        let mut words = cluster.unwrap_or_default().split(' ');
        let seed = words.find_map(|word| word.strip_prefix("seed=")).unwrap_or("0");
        let hint = "correct the process; the explorer goes on";
        Err(refuse(format!("{panicked}; seed {seed}"), hint))
    })
}

pub(crate) fn run(
    explorer: &Explorer,
    request: &RunRequest,
    may_go_on: MayGoOn<'_>,
) -> Result<Run, Refused> {
    let (scenario, played) = play(explorer, &request.scenario, None, may_go_on)?;
    match &request.branch {
        None => Ok(answer(explorer, request.scenario.clone(), &scenario, &played)),
        Some(branch) => another_way(explorer, &request.scenario, &played, branch, may_go_on),
    }
}

/// The same, but from some moment on it goes another way.
fn another_way(
    explorer: &Explorer,
    text: &str,
    played: &Played,
    request: &Branch,
    may_go_on: MayGoOn<'_>,
) -> Result<Run, Refused> {
    let (text, scenario, played) = grown(explorer, text, played, request, may_go_on)?;
    Ok(answer(explorer, text, &scenario, &played))
}

/// The scenario of a branch, and its run.
pub(crate) fn grown(
    explorer: &Explorer,
    text: &str,
    played: &Played,
    request: &Branch,
    may_go_on: MayGoOn<'_>,
) -> Result<(String, Scenario, Played), Refused> {
    let mut grown: Option<(String, Scenario, Played)> = None;
    for (number, command) in request.command.split(';').enumerate() {
        let after = Time::from_micros(request.after_us.saturating_add(number as u64));
        let (text, played) = match &grown {
            Some((text, _, played)) => (text.as_str(), played),
            None => (text, played),
        };
        let branched = branch(&explorer.known, text, played, after, command)
            .map_err(|error| refuse(error.to_string(), error.hint()))?;
        let (scenario, played) = play(explorer, &branched.text, None, may_go_on)?;
        // What cannot be done, such as the crash of a process that is down, is no other way.
        if let Some(failed) = played.mismatches.iter().find(|wrong| wrong.line == branched.line) {
            let why = failed.happened.trim_start_matches("nothing: ");
            let error = format!("`{}` cannot happen then: {why}", command.trim());
            return Err(refuse(error, "choose another moment, or another process"));
        }
        grown = Some((branched.text, scenario, played));
    }
    // Even an empty text has one part.
    grown.ok_or_else(|| {
        refuse("the branch has no command".to_owned(), "give one, such as `crash 3`")
    })
}

pub(crate) fn play(
    explorer: &Explorer,
    text: &str,
    look_at: Option<Time>,
    may_go_on: MayGoOn<'_>,
) -> Result<(Scenario, Played), Refused> {
    if text.len() > LIMITS.scenario_bytes {
        let (size, most) = (text.len(), LIMITS.scenario_bytes);
        let error = format!("a scenario of {size} bytes is too long; {most} are allowed");
        let hint = "leave stories and comments out, or use `bellwether sim` on the command line";
        return Err(Refused::new(413, error, Some(hint)));
    }
    let scenario = Scenario::parse_up_to(&explorer.known, text, LIMITS.nodes as usize)
        .map_err(|error| mistake(&error))?;
    let events_max = usize::try_from(LIMITS.events).unwrap_or(usize::MAX);
    let staging = Staging { states: look_at.is_none(), events_max, may_go_on, look_at };
    let played = scenario.stage(&staging);
    let shorter = "let it `run until=` an earlier time, take fewer processes, or longer time-outs \
                   and intervals";
    match played.cut_off {
        None => Ok((scenario, played)),
        Some(CutOff::Long(at)) => {
            let most = LIMITS.events;
            Err(refuse(format!("the run has more than {most} events by {at}"), shorter))
        }
        Some(CutOff::Stopped(at)) => {
            Err(refuse(format!("the run takes too long to compute; it came to {at}"), shorter))
        }
    }
}

fn refuse(error: String, hint: &str) -> Refused {
    Refused::new(422, error, Some(hint))
}

fn mistake(error: &SyntaxError) -> Refused {
    let SyntaxError { line, column, message, source } = error;
    let error = format!("line {line}, column {column}: {message}");
    refuse(error, &format!("the line is: {source}"))
}

fn answer(explorer: &Explorer, text: String, scenario: &Scenario, played: &Played) -> Run {
    let (header, events) = json::parts(&played.trace);
    let violated = played.outcome.violation.as_ref().map(|broken| format!("violation {broken}"));
    // That an invariant was broken is said elsewhere.
    let remarks =
        played.mismatches.iter().filter(|wrong| Some(&wrong.happened) != violated.as_ref());
    Run {
        scenario: text,
        header,
        events,
        outcome: outcome(explorer, scenario, played),
        remarks: remarks.map(ToString::to_string).collect(),
    }
}

fn outcome(explorer: &Explorer, scenario: &Scenario, played: &Played) -> Outcome {
    let outcome = &played.outcome;
    let number = |id: NodeId| id.number();
    let counts = outcome.tally.iter().map(|(kind, sent)| Count {
        kind: kind.name.to_owned(),
        role: json::role(kind.role).to_owned(),
        sent,
    });
    let mut messages: Vec<Count> = counts.collect();
    messages.sort_by_key(|count| (count.role != json::role(Role::Protocol), count.kind.clone()));
    let algorithm = &scenario.setup.algorithm;
    Outcome {
        us: outcome.now.as_micros(),
        messages,
        agreed: outcome.agreed,
        goal: algorithm.goal.as_ref().map_or("", |goal| goal.text).to_owned(),
        violation: outcome.violation.as_ref().map(|violation| Violation {
            name: violation.name.to_owned(),
            text: violation.text.to_owned(),
            us: violation.at.as_micros(),
            by: violation.by.iter().copied().map(number).collect(),
        }),
        coordinators: outcome
            .coordinators
            .iter()
            .map(|(id, whom)| (id.number(), whom.map(number)))
            .collect(),
        facts: outcome
            .facts
            .iter()
            .map(|fact| Fact { name: fact.name.to_owned(), text: fact.text.clone() })
            .collect(),
        clocks: clocks(&outcome.pictures),
        graphs: graphs(&outcome.pictures),
        costs: explorer.costs.of(&explorer.known, algorithm, scenario.setup.group.len()),
    }
}

/// How far clocks were off, if a picture says so.
fn clocks(pictures: &[Picture]) -> Option<ClockChart> {
    let line = |points: &[(Time, i64)]| -> Vec<[i64; 2]> {
        points.iter().map(|(at, off)| [micros(*at), *off]).collect()
    };
    pictures.iter().find_map(|picture| match picture {
        Picture::Clocks(clocks) => Some(ClockChart {
            against: clocks.against.clone(),
            lines: clocks.lines.iter().map(|(id, points)| (id.number(), line(points))).collect(),
            spread: line(&clocks.spread),
            bound: clocks.bound.map(|(from, off)| [micros(from), off]),
        }),
        Picture::Graph(_) => None,
    })
}

fn micros(at: Time) -> i64 {
    i64::try_from(at.as_micros()).unwrap_or(i64::MAX)
}

fn graphs(pictures: &[Picture]) -> Vec<GraphPicture> {
    let graphs = pictures.iter().filter_map(|picture| match picture {
        Picture::Graph(graph) => Some(graph),
        Picture::Clocks(_) => None,
    });
    graphs
        .map(|graph| {
            let name = |at: usize| graph.nodes.get(at).map_or("", |node| node.name.as_str());
            let nodes = graph
                .nodes
                .iter()
                .map(|node| Item::new(&node.name).note(&node.note).tone_if(node.marked, Tone::Bad));
            let edges = graph.edges.iter().map(|edge| {
                let item = Item::edge(name(edge.from), name(edge.to)).note(&edge.label);
                item.tone_if(edge.marked, Tone::Bad)
            });
            GraphPicture { title: graph.title.clone(), items: nodes.chain(edges).collect() }
        })
        .collect()
}
