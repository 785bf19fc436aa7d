//! `bellwether sim`: one run of an algorithm, many, or a scenario.

use crate::args::{SimArgs, TraceFormat};
use crate::panics::caught;
use crate::report::{Cost, Report, World, timed, violation_text};
use crate::{planning, replay, scenario, sections, sweep};
use bellwether_algorithms::catalogue::{Catalogue, Listed};
use bellwether_algorithms::referee::Picture;
use bellwether_core::AnyProcess;
use bellwether_shell::{Failure, Target, Verdict, print};
use bellwether_sim::workload::Downtime;
use bellwether_sim::{Outcome, Plan, Recorder, Trace, render, scenario as script, silent};
use std::path::Path;

/// How many lines of the story are shown without --trace.
const MOST_LINES: usize = 200;
/// Recording keeps a vector stamp of every process with every event.
const MOST_TRACED: usize = 2_000;
/// How many runs shrinking may take.
const SHRINKING_RUNS: u64 = 2_000;
/// How many events all of these may have together: some seconds' worth.
const SHRINKING_EVENTS: u64 = 20_000_000;
/// Runs with more events than this are not shrunk: it would take minutes.
const MOST_SHRUNK_EVENTS: u64 = 500_000;
/// A longer scenario is cut off on the screen.
const MOST_SHRUNK_LINES: usize = 60;

pub(crate) fn run(args: &SimArgs, catalogue: &Catalogue) -> Result<Verdict, Failure> {
    let output = &args.output;
    output.check()?;
    if output.out.is_some() && output.out == args.save {
        return Err(Failure::Input(
            "--out and --save name the same file; the trace and the scenario need one each".into(),
        ));
    }
    match catalogue.get(&args.target) {
        // An algorithm's name is never a file, even if there happens to be one called so.
        Some(algorithm) => simulate(args, algorithm),
        None if is_file(&args.target) => scenario::run(args, catalogue),
        None => Err(unknown(&args.target, catalogue)),
    }
}

/// Whether the target is meant as a scenario file.
fn is_file(target: &str) -> bool {
    let path = Path::new(target);
    path.extension().is_some_and(|extension| extension == "txt")
        || target.contains(std::path::MAIN_SEPARATOR)
        || path.is_file()
}

pub(crate) fn unknown(name: &str, catalogue: &Catalogue) -> Failure {
    let nearest = catalogue
        .iter()
        .map(|listed| (strsim::damerau_levenshtein(name, listed.name()), listed.name()))
        .min()
        .filter(|(distance, known)| *distance <= known.len().max(3) / 2);
    let hint = match nearest {
        Some((_, known)) => format!("did you mean '{known}'?"),
        None => "a scenario file's name ends in .txt.".to_owned(),
    };
    Failure::Input(format!("no algorithm '{name}'; {hint} `bellwether algorithms` lists them all"))
}

fn simulate(args: &SimArgs, algorithm: &Listed) -> Result<Verdict, Failure> {
    if args.chaos {
        refuse_with_chaos(args)?;
    }
    if let Some(seeds) = args.seeds {
        return sweep::run(algorithm, args, seeds);
    }
    let seed = args.seed.unwrap_or(0);
    let plan = planning::plan(algorithm, args, seed)?;
    let nodes = plan.group.len();
    let output = &args.output;
    if output.trace.is_some() && nodes > MOST_TRACED {
        return Err(Failure::flag(
            "trace",
            format!(
                "a trace stamps every event with {nodes} counters; at most {MOST_TRACED} \
                     processes can be traced. Use --quiet, or fewer --nodes"
            ),
        ));
    }
    let target = output.target()?;
    let saved = args.save.as_deref().map(|path| Target::file("save", path)).transpose()?;
    let wants_story = !output.quiet && !output.json && nodes <= MOST_TRACED;
    let (outcome, cost, trace) = if output.trace.is_some() || wants_story {
        let recorder =
            Recorder::new(&plan.algorithm, &plan.group, seed).with_tree(plan.settings.tree);
        let config = || plan.algorithm.config(&plan.settings, &plan.group);
        let recorder = if output.states { recorder.with_states(config()) } else { recorder };
        let (outcome, cost, recorder) =
            caught(|| recorded(&plan, recorder, args.keep_going), || repeat(&plan))?;
        (outcome, cost, Some(recorder.into_trace()))
    } else {
        let unseen = || {
            let (mut run, setup_s) = timed(|| silent::set_up(&plan, args.keep_going));
            let ((), wall_s) = timed(|| run.play());
            (run.judge(), Cost { setup_s, wall_s })
        };
        let (outcome, cost) = caught(unseen, || repeat(&plan))?;
        (outcome, cost, None)
    };
    let given = Some(Downtime::of(&plan.script).work(algorithm, &plan.script, &plan.group));
    let world = World::Simulated { seed, cost };
    let report = Report { algorithm: algorithm.name(), nodes, outcome: &outcome, given, world };
    output.show(target, trace.as_ref(), story, &report)?;
    let small = explain(args, &plan, &outcome)?;
    if let Some(saved) = saved {
        saved.write(&script::write(small.as_ref().unwrap_or(&plan)))?;
    }
    sections::fail_if_refused(&outcome)?;
    Ok(if outcome.violation.is_some() { Verdict::Violated } else { Verdict::Well })
}

/// A random cluster leaves nothing to be set.
fn refuse_with_chaos(args: &SimArgs) -> Result<(), Failure> {
    match args.cluster_flags().iter().find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::Input(format!(
            "--chaos draws the whole cluster and its faults at random; leave out --{flag}"
        ))),
        None => Ok(()),
    }
}

/// Runs a recorded plan and measures what it takes.
fn recorded(
    plan: &Plan<AnyProcess>,
    recorder: Recorder,
    keep_going: bool,
) -> (Outcome, Cost, Recorder) {
    let (mut run, setup_s) = timed(|| silent::set_up_recorded(plan, keep_going, recorder));
    let ((), wall_s) = timed(|| run.play());
    let outcome = run.judge();
    (outcome, Cost { setup_s, wall_s }, run.into_recorder())
}

/// How a run that ended badly is repeated.
fn repeat(plan: &Plan<AnyProcess>) -> String {
    format!("seed {}, repeat it: {}", plan.seed, replay::command(plan.seed))
}

/// A trace in a format, with the pictures that go with it where it has room for them.
pub(crate) fn rendered(
    trace: &Trace,
    pictures: &[Picture],
    format: TraceFormat,
) -> Result<String, Failure> {
    Ok(match format {
        TraceFormat::Text => render::text(trace),
        TraceFormat::Json => render::json(trace),
        TraceFormat::Svg => render::illustrated(trace, pictures),
        TraceFormat::Mermaid => render::mermaid(trace),
        TraceFormat::Plantuml => render::plantuml(trace),
        TraceFormat::Shiviz => render::shiviz(trace),
        TraceFormat::Dot => match render::dot(pictures) {
            dot if !dot.is_empty() => dot,
            _ => {
                let message = "this run has no graph to draw; the deadlock detectors draw the \
                               cycles that they find";
                return Err(Failure::flag("trace", message));
            }
        },
    })
}

/// The beginning of what happened, and how to see the rest.
pub(crate) fn story(trace: &Trace) -> String {
    let lines = render::story(&trace.events, false);
    let mut text: String =
        lines.iter().take(MOST_LINES).flat_map(|line| [line.as_str(), "\n"]).collect();
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        text.push_str(&format!("... {more} more (--trace text shows all, --quiet none)\n"));
    }
    if !lines.is_empty() {
        text.push('\n');
    }
    text
}

/// Says what went wrong, how to repeat it, and the least that is needed for it. Returns that.
pub(crate) fn explain(
    args: &SimArgs,
    plan: &Plan<AnyProcess>,
    outcome: &Outcome,
) -> Result<Option<Plan<AnyProcess>>, Failure> {
    let Some(violation) = &outcome.violation else { return Ok(None) };
    let mut text = violation_text(violation);
    text.push_str(&sections::why_stuck(&plan.algorithm, &plan.settings, &plan.script, outcome));
    text.push_str(&format!("replay       {}\n", replay::command(plan.seed)));
    let small = if outcome.events > MOST_SHRUNK_EVENTS {
        text.push_str("shrunk       not tried: the run is too long\n");
        None
    } else {
        let runs = SHRINKING_RUNS.min(SHRINKING_EVENTS / outcome.events.max(1));
        silent::shrunk(plan, violation.name, runs as usize)
    };
    if let Some(small) = &small {
        text.push_str(&format!(
            "shrunk       from {} faults, inputs and odd deliveries to {}, in {} runs; as a scenario:\n\n",
            small.pieces_before, small.pieces_after, small.runs
        ));
        let lines = script::write(&small.plan);
        let shown = lines.lines().take(MOST_SHRUNK_LINES);
        text.extend(shown.flat_map(|line| ["    ", line, "\n"]));
        let more = lines.lines().count().saturating_sub(MOST_SHRUNK_LINES);
        if more > 0 {
            text.push_str(&format!("    ... {more} more lines; --save FILE writes them all\n"));
        }
    }
    if args.output.json {
        bellwether_shell::complain(text.trim_end())
    } else {
        print(&text)?
    }
    Ok(small.map(|small| small.plan))
}
