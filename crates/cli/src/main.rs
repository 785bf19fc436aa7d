//! The `bellwether` command.
//!
//! Exit codes are those of `bellwether_shell`. `campaign` and `lock` pass on those of the command
//! that they run, and have some of their own.

#[cfg(not(any(feature = "lab", feature = "node")))]
compile_error!("without the feature `lab` and without `node` there are no commands");

mod args;

use args::{Cli, Verb};
#[cfg(feature = "lab")]
use bellwether_algorithms::catalogue::catalogue;
#[cfg(feature = "lab")]
use bellwether_member::Member;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "lab")]
    if let Err(failure) = bellwether_lab::install(catalogue().with::<Member>()) {
        return bellwether_shell::exit(Err(failure));
    }
    bellwether_shell::exit(match Cli::parse().verb {
        #[cfg(feature = "lab")]
        Verb::Lab(command) => command.run(),
        #[cfg(feature = "node")]
        Verb::Server(command) => command.run(explorer()),
        #[cfg(feature = "torture")]
        Verb::Torture(command) => command.run(),
        #[cfg(feature = "node")]
        Verb::Client(command) => command.run(),
    })
}

/// The explorer's routes, which members serve too where the laboratory is there.
#[cfg(all(feature = "node", feature = "lab"))]
fn explorer() -> bellwether_http::Extra {
    bellwether_lab::explorer::extra()
}

#[cfg(all(feature = "node", not(feature = "lab")))]
fn explorer() -> bellwether_http::Extra {
    bellwether_http::Extra::default()
}
