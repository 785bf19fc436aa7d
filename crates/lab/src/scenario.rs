//! `bellwether sim SCENARIO.txt`.

use crate::args::SimArgs;
use crate::panics::caught;
use crate::replay;
use crate::report::{Cost, Report, World, timed, violation_text};
use bellwether_algorithms::catalogue::Catalogue;
use bellwether_shell::{Failure, Verdict, print};
use bellwether_sim::scenario::{Scenario, Staging};
use bellwether_sim::{Trace, render};
use std::fmt::Write;
use std::path::Path;

pub(crate) fn run(args: &SimArgs, catalogue: &Catalogue) -> Result<Verdict, Failure> {
    refuse_with_scenario(args)?;
    let path = Path::new(&args.target);
    let source =
        std::fs::read_to_string(path).map_err(|error| Failure::Read(path.to_owned(), error))?;
    let scenario = Scenario::parse(catalogue, &source)
        .map_err(|error| Failure::Input(format!("{}:{error}", path.display())))?;
    let target = args.output.target()?;
    let staging = Staging { states: args.output.states, ..Staging::default() };
    let (played, wall_s) = timed(|| {
        let repeat = || format!("seed {}, repeat it: {}", scenario.setup.seed, replay::bare());
        caught(|| scenario.stage(&staging), repeat)
    });
    let played = played?;
    let report = Report {
        algorithm: scenario.setup.algorithm.name(),
        nodes: scenario.setup.group.len(),
        outcome: &played.outcome,
        given: None,
        world: World::Simulated { seed: scenario.setup.seed, cost: Cost { setup_s: 0.0, wall_s } },
    };
    let story = |trace: &Trace| {
        format!("{}\n\n", render::story(&trace.events, scenario.setup.overhead).join("\n"))
    };
    args.output.show(target, Some(&played.trace), story, &report)?;
    let tells = !args.output.json && !args.output.shows_trace();
    if let Some(violation) = played.outcome.violation.as_ref().filter(|_| tells) {
        print(&violation_text(violation))?;
    }
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
