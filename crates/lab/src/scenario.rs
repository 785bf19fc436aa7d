//! `bellwether sim SCENARIO.txt`.

use crate::args::SimArgs;
use crate::panics::caught;
use crate::replay;
use crate::report::{Cost, Report, timed, violation_text};
use crate::sim::rendered;
use bellwether_algorithms::catalogue::Catalogue;
use bellwether_shell::{Failure, Target, Verdict, print};
use bellwether_sim::render;
use bellwether_sim::scenario::{Scenario, Staging};
use std::fmt::Write;
use std::path::Path;

pub(crate) fn run(args: &SimArgs, catalogue: &Catalogue) -> Result<Verdict, Failure> {
    refuse_with_scenario(args)?;
    let path = Path::new(&args.target);
    let source =
        std::fs::read_to_string(path).map_err(|error| Failure::Read(path.to_owned(), error))?;
    let scenario = Scenario::parse(catalogue, &source)
        .map_err(|error| Failure::Input(format!("{}:{error}", path.display())))?;
    let target = Target::file_or_terminal("out", args.out.as_deref())?;
    let staging = Staging { states: args.states, ..Staging::default() };
    let (played, wall_s) = timed(|| {
        let repeat = || format!("seed {}, repeat it: {}", scenario.setup.seed, replay::bare());
        caught(|| scenario.stage(&staging), repeat)
    });
    let played = played?;
    if let Some(format) = args.trace {
        target.write(&rendered(&played.trace, &played.outcome.pictures, format)?)?;
    }
    let shows_trace = args.trace.is_some() && args.out.is_none();
    if !args.quiet && !args.json && !shows_trace {
        let lines = render::story(&played.trace.events, scenario.setup.overhead);
        print(&format!("{}\n\n", lines.join("\n")))?;
    }
    let report = Report {
        algorithm: scenario.setup.algorithm.name(),
        nodes: scenario.setup.group.len(),
        seed: scenario.setup.seed,
        outcome: &played.outcome,
        given: None,
        cost: Cost { setup_s: 0.0, wall_s },
    };
    let mut text = String::new();
    if args.json {
        text = report.json();
    } else if !shows_trace {
        text = report.text();
        if let Some(violation) = &played.outcome.violation {
            text.push_str(&violation_text(violation));
        }
    }
    print(&text)?;
    // A scenario may be about a violation; then it says so. What counts is whether all is as
    // written.
    if played.mismatches.is_empty() {
        return Ok(Verdict::Well);
    }
    let mut complaint = format!("{} does not go as written:", path.display());
    for mismatch in &played.mismatches {
        // Writing to a string cannot fail.
        let _ = write!(complaint, "\n{mismatch}");
    }
    bellwether_shell::complain(&complaint);
    Ok(Verdict::Violated)
}

/// A scenario says everything itself.
fn refuse_with_scenario(args: &SimArgs) -> Result<(), Failure> {
    let set = [
        ("seed", args.seed.is_some()),
        ("seeds", args.seeds.is_some()),
        ("until", args.until.is_some()),
        ("keep-going", args.keep_going),
        ("save", args.save.is_some()),
        ("chaos", args.chaos),
    ];
    match set.iter().chain(&args.cluster_flags()).find(|(_, given)| *given) {
        Some((flag, _)) => Err(Failure::Input(format!(
            "--{flag}: a scenario file says what happens; change {} instead",
            args.target
        ))),
        None => Ok(()),
    }
}
