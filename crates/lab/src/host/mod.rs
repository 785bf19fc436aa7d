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
mod record;
mod summary;
mod wire;

use crate::report::violation_text;
use crate::sections;
use crate::sim::{check_states, rendered, story, unknown};
use args::HostArgs;
use bellwether_algorithms::catalogue::{Catalogue, Listed};
use bellwether_algorithms::definition::Settings;
use bellwether_shell::{Failure, Target, Verdict, complain, print};
use bellwether_sim::{Outcome, Recorder, Trace};
use record::Record;
use std::fs;
use std::path::{Path, PathBuf};
use summary::Summary;
use tempfile::TempDir;

pub(crate) fn run(args: &HostArgs, catalogue: &Catalogue) -> Result<Verdict, Failure> {
    if args.json && args.trace.is_some() && args.out.is_none() {
        return Err(Failure::Input(
            "--json and --trace both want standard output; give --out FILE for the trace".into(),
        ));
    }
    check_states(args.states, args.trace)?;
    if args.quiet && args.trace.is_some() && args.out.is_none() {
        return Err(Failure::Input(
            "--quiet and --trace contradict each other; give --out FILE for the trace".into(),
        ));
    }
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
    let given = plan.as_ref().map(plan::HostPlan::work);
    let script = plan.as_ref().map(|plan| plan.script.clone()).unwrap_or_default();
    let target = Target::file_or_terminal("out", args.out.as_deref())?;
    let (outcome, trace, record) = match (&args.again, plan) {
        (None, Some(plan)) => {
            let place = Place::new(args.keep.as_deref())?;
            let record = conduct::conduct(&plan, place.path())?;
            if args.keep.is_some() {
                record.save(place.path())?;
            }
            let told = tell(algorithm, &record, place.path(), args.states);
            if let (Err(_), Place::Temporary(folder)) = (&told, place) {
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
            tell(algorithm, &record, folder, args.states)?
        }
    };
    let summary = Summary { outcome: &outcome, record: &record, given };
    let why = sections::why_stuck(algorithm, &record.settings.clone().into(), &script, &outcome);
    show(args, target, &trace, &summary, &why)?;
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
    let recorder = Recorder::real(&algorithm, &record.group()?).with_tree(settings.tree);
    let recorder = if states { recorder.with_states() } else { recorder };
    let told = record.tell(&algorithm, folder, record.ended_us.unwrap_or(u64::MAX), recorder)?;
    Ok((told.outcome, told.observer.into_trace(), record.clone()))
}

fn show(
    args: &HostArgs,
    target: Target,
    trace: &Trace,
    summary: &Summary<'_>,
    why: &str,
) -> Result<(), Failure> {
    let shows_trace = args.trace.is_some() && args.out.is_none();
    if let Some(format) = args.trace {
        target.write(&rendered(trace, &summary.outcome.pictures, format)?)?;
    }
    if !args.quiet && !args.json && !shows_trace {
        print(&story(trace))?;
    }
    if args.json {
        print(&summary.json())?;
    } else if !shows_trace {
        print(&summary.text())?;
    }
    match &summary.outcome.violation {
        Some(violation) if args.json || shows_trace => {
            complain(format!("{}{why}", violation_text(violation)).trim_end());
        }
        Some(violation) => print(&format!("{}{why}", violation_text(violation)))?,
        None => {}
    }
    Ok(())
}

/// Where a run keeps its files.
enum Place {
    Temporary(TempDir),
    Kept(PathBuf),
}

impl Place {
    fn new(keep: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = keep else {
            let folder = tempfile::Builder::new().prefix("bellwether-host-").tempdir();
            return folder.map(Place::Temporary).map_err(|error| {
                Failure::Input(format!("cannot make a temporary directory: {error}"))
            });
        };
        let full = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
        if full {
            let message = format!("{} is not empty; give a new directory", path.display());
            return Err(Failure::flag("keep", message));
        }
        fs::create_dir_all(path)
            .and_then(|()| fs::canonicalize(path))
            .map(Place::Kept)
            .map_err(|error| Failure::Write("keep", path.to_owned(), error))
    }

    fn path(&self) -> &Path {
        match self {
            Place::Temporary(folder) => folder.path(),
            Place::Kept(path) => path,
        }
    }
}
