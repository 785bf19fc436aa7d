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

use crate::failure::{Failure, Verdict};
use crate::output::{Target, complain, print};
use crate::report::timed;
use crate::sim::unknown;
use args::CheckArgs;
use bellwether_algorithms::catalogue::{Algorithm, Registry, Visitor};
use bellwether_check::check;
use bellwether_member::WithMember;
use limits::Watcher;
use result::Found;

pub(crate) fn run(args: &CheckArgs) -> Result<Verdict, Failure> {
    if args.json && args.trace.is_some() && args.out.is_none() {
        return Err(Failure::Input(
            "--json and --trace both want standard output; give --out FILE for the trace".into(),
        ));
    }
    if args.quiet && args.trace.is_some() && args.out.is_none() {
        return Err(Failure::Input(
            "--quiet and --trace contradict each other; give --out FILE for the trace".into(),
        ));
    }
    WithMember::visit(&args.algorithm, Check(args)).unwrap_or_else(|| Err(unknown(&args.algorithm)))
}

struct Check<'a>(&'a CheckArgs);

impl Visitor for Check<'_> {
    type Output = Result<Verdict, Failure>;

    fn visit<A: Algorithm>(self) -> Result<Verdict, Failure> {
        let args = self.0;
        let setup = bounds::setup::<A>(args)?;
        let mut model = setup.model::<A>();
        let properties = properties::choose(args, &mut model)?;
        let limits = limits::limits(args)?;
        let target = Target::file_or_terminal("out", args.out.as_deref())?;
        let watcher = Watcher::new(args.quiet);
        let (report, wall_s) = timed(|| check(&model, limits, &mut |now| watcher.tell(now)));
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
}
