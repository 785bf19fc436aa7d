//! The `bellwether` command.
//!
//! Exit codes: 0 all well; 1 an invariant was broken, an expectation missed or a formula not met;
//! 2 the command could not be carried out as given; 3 a limit was reached before the answer.
//! `campaign` and `lock` pass on those of the command that they run, and have some of their own.

mod algorithms;
mod args;
mod asking;
mod bench;
mod certs;
mod check;
mod checks;
mod compare;
mod duties;
mod explore;
mod failure;
mod host;
mod members;
mod node;
mod output;
mod own;
mod planning;
mod replay;
mod report;
mod running;
mod scenario;
mod sections;
mod sim;
mod status;
mod sweep;
mod torture;
mod up;
mod watching;
mod whom;
mod work;

use args::{Cli, Verb};
use clap::Parser;
use failure::{Failure, Verdict};
use std::process::ExitCode;

fn main() -> ExitCode {
    let verdict = match Cli::parse().verb {
        Verb::Algorithms(args) => algorithms::run(&args),
        Verb::Sim(args) => sim::run(&args),
        Verb::Host(args) => host::run(&args),
        Verb::HostProcess(args) => host::child::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Explore(args) => explore::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Checks(args) => checks::run(&args),
        Verb::Node(args) => node::run(&args),
        Verb::Certs(args) => certs::run(&args),
        Verb::Up(args) => up::run(&args),
        Verb::UpMember(args) => up::member::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Torture(args) => torture::run(&args),
        Verb::TortureClient(args) => torture::client::run(&args),
        Verb::Status(args) => status::run(&args),
        Verb::Members(args) => members::run(&args),
        Verb::Campaign(args) => running::campaign::run(&args),
        Verb::Lock(args) => running::lock::run(&args),
        Verb::Keep(args) => running::keeper::keep(&args),
        Verb::Become(args) => running::keeper::become_job(&args),
        Verb::Sessions(args) => duties::sessions::run(&args),
        Verb::Roles(args) => duties::roles::run(&args),
        Verb::Locks(args) => duties::locks::run(&args),
        Verb::Deadlocks(args) => duties::deadlocks::run(&args),
    };
    match verdict {
        Ok(Verdict::Well) => ExitCode::SUCCESS,
        Ok(Verdict::Violated) => ExitCode::from(1),
        Ok(Verdict::Unfinished) => ExitCode::from(3),
        // Whoever reads our output has had enough, as in `bellwether ... | head`.
        Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Silent(code)) => ExitCode::from(code),
        Err(failure) => {
            output::complain(&format!("error: {failure}"));
            ExitCode::from(failure.exit_code())
        }
    }
}
