//! `bellwether host`: an algorithm of the catalogue between real processes.
//!
//! The parent starts one operating-system process per member, connected over loopback with mutual
//! TLS, and kills, stops and prompts them as the flags say. Each process writes a journal of what
//! came in. From the journals the parent tells the run again, through the same code as the
//! simulator's: so there is one trace, in the same formats, and the same invariants are checked.

pub(crate) mod args;
pub(crate) mod child;
mod cluster;
mod conduct;
mod plan;
pub(crate) mod record;
mod wire;

use crate::report::{Report, World, violation_text};
use crate::sections;
use crate::sim::{story, unknown};
use args::HostArgs;
use bellwether_algorithms::catalogue::{Catalogue, Listed};
use bellwether_algorithms::definition::Settings;
use bellwether_shell::{Failure, Folder, Verdict, complain, print};
use bellwether_sim::{Outcome, Recorder, Trace};
use record::Record;
use std::fs;
use std::path::Path;

pub(crate) fn run(args: &HostArgs, catalogue: &Catalogue) -> Result<Verdict, Failure> {
    args.output.check()?;
    match catalogue.get(&args.algorithm) {
        Some(algorithm) => host(args, algorithm),
        None => Err(unknown(&args.algorithm, catalogue)),
    }
}

fn host(args: &HostArgs, algorithm: &Listed) -> Result<Verdict, Failure> {
    let plan = match &args.again {
        Some(_) => None,
        None => Some(plan::plan(algorithm, args)?),
    };
    let given = plan.as_ref().map(plan::work);
    let script = plan.as_ref().map(|plan| plan.script.clone()).unwrap_or_default();
    let target = args.output.target()?;
    let (outcome, trace, record) = match (&args.again, plan) {
        (None, Some(plan)) => {
            let place = place(args.keep.as_deref())?;
            let record = conduct::conduct(&plan, place.path())?;
            if args.keep.is_some() {
                record.save(place.path())?;
            }
            let told = tell(algorithm, &record, place.path(), args.output.states);
            if let (Err(_), Folder::Temporary(folder)) = (&told, place) {
                // What cannot be explained must not be thrown away.
                let folder = folder.keep();
                record.save(&folder)?;
                complain(&format!("note: all files of this run are in {}", folder.display()));
            }
            told?
        }
        (again, _) => {
            let folder = again.as_deref().unwrap_or(Path::new("."));
            let record = Record::load(folder)?;
            if record.algorithm != algorithm.name() {
                let message = format!(
                    "{} holds a run of {}, not of {}",
                    folder.display(),
                    record.algorithm,
                    algorithm.name()
                );
                return Err(Failure::flag("again", message));
            }
            tell(algorithm, &record, folder, args.output.states)?
        }
    };
    let report = Report {
        algorithm: &record.algorithm,
        nodes: record.members.len(),
        outcome: &outcome,
        given,
        world: World::Real(&record),
    };
    args.output.show(target, Some(&trace), story, &report)?;
    if let Some(violation) = &outcome.violation {
        let settings = record.settings.clone().into();
        let why = sections::why_stuck(algorithm, &settings, &script, &outcome);
        let text = format!("{}{why}", violation_text(violation));
        match args.output.json || args.output.shows_trace() {
            true => complain(text.trim_end()),
            false => print(&text)?,
        }
    }
    sections::fail_if_refused(&outcome)?;
    Ok(if outcome.violation.is_some() { Verdict::Violated } else { Verdict::Well })
}

fn tell(
    algorithm: &Listed,
    record: &Record,
    folder: &Path,
    states: bool,
) -> Result<(Outcome, Trace, Record), Failure> {
    let settings: Settings = record.settings.clone().into();
    let algorithm = record.variant(algorithm)?;
    let group = record.group()?;
    let recorder = Recorder::real(&algorithm, &group).with_tree(settings.tree);
    let config = || algorithm.config(&settings, &group);
    let recorder = if states { recorder.with_states(config()) } else { recorder };
    let told = record.tell(&algorithm, folder, record.ended_us.unwrap_or(u64::MAX), recorder)?;
    Ok((told.outcome, told.observer.into_trace(), record.clone()))
}

/// Where the run keeps its files.
fn place(keep: Option<&Path>) -> Result<Folder, Failure> {
    let full = |path: &&Path| fs::read_dir(path).is_ok_and(|mut inside| inside.next().is_some());
    if let Some(path) = keep.filter(full) {
        let message = format!("{} is not empty; give a new directory", path.display());
        return Err(Failure::flag("keep", message));
    }
    Folder::new(keep, "bellwether-host-").map_err(|error| match keep {
        Some(path) => Failure::Write("keep", path.to_owned(), error),
        None => Failure::Input(format!("cannot make a temporary directory: {error}")),
    })
}
