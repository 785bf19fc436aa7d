//! `bellwether check`: every run of a small cluster.

pub(crate) mod args;
mod bounds;
mod example;
mod limits;
mod properties;
mod result;
mod steps;
mod time;
mod words;

use crate::args::one_output;
use crate::report::timed;
use crate::sim::unknown;
use args::CheckArgs;
use bellwether_algorithms::catalogue::Catalogue;
use bellwether_check::check_erased;
use bellwether_shell::{Failure, Target, Verdict, complain, print};
use limits::Watcher;
use result::Found;

pub(crate) fn run(args: &CheckArgs, catalogue: &Catalogue) -> Result<Verdict, Failure> {
    one_output(args.json, args.quiet, args.trace.is_some() && args.out.is_none())?;
    let Some(algorithm) = catalogue.get(&args.algorithm) else {
        return Err(unknown(&args.algorithm, catalogue));
    };
    let setup = bounds::setup(algorithm, args)?;
    let mut model = setup.model();
    let properties = properties::choose(&setup.algorithm, args, &mut model)?;
    let limits = limits::limits(args)?;
    let target = Target::file_or_terminal("out", args.out.as_deref())?;
    let watcher = Watcher::new(args.quiet);
    let (report, wall_s) = timed(|| {
        let begun = bounds::begun(&setup, args);
        check_erased(&model, &begun, limits, &mut |now| watcher.tell(now))
    });
    watcher.done();
    let found = Found::new(&setup, &model, properties, limits, report, wall_s);
    let shown = args.trace.zip(found.example.as_ref());
    match (shown, &args.out) {
        // The trace has the whole of standard output.
        (Some((shape, example)), None) => {
            complain(&found.headline());
            target.write(&example.shown(shape)?)?;
        }
        (shown, out) => {
            print(&if args.json { found.json() } else { found.text(args.quiet) })?;
            if let Some((shape, example)) = shown {
                target.write(&example.shown(shape)?)?;
            } else if let Some(out) = out {
                let file = out.display();
                complain(&format!("note: nothing is violated; nothing was written to {file}"));
            }
        }
    }
    Ok(found.verdict())
}
