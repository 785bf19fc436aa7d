//! A program with the laboratory's commands, for any catalogue.

use crate::args::Command;
use bellwether_algorithms::catalogue::{self, Catalogue};
use bellwether_shell::{Failure, exit};
use bellwether_sim::scenario::COMMANDS;
use clap::{Parser, Subcommand};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use tokio::runtime::Runtime;

/// The catalogue of this program. A program has one: its flags are made of it.
static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();

/// The catalogue of this program; that of the textbooks, unless one was [installed](install).
pub(crate) fn catalogue() -> &'static Catalogue {
    CATALOGUE.get_or_init(default)
}

#[cfg(not(test))]
fn default() -> Catalogue {
    catalogue::catalogue()
}

/// As the command line has it: the gallery has runs of the member.
#[cfg(test)]
fn default() -> Catalogue {
    catalogue::catalogue().with::<bellwether_member::Member>()
}

/// Makes this the catalogue of the program. To be called once, before the command line is read.
///
/// ```
/// use bellwether_algorithms::catalogue::Catalogue;
///
/// let refused = bellwether_lab::install(Catalogue::empty()).unwrap_err();
/// assert!(refused.to_string().contains("lists no algorithm"));
/// ```
pub fn install(catalogue: Catalogue) -> Result<&'static Catalogue, Failure> {
    catalogue.check().map_err(|error| Failure::Input(error.to_string()))?;
    let mut fresh = Some(catalogue);
    let installed = CATALOGUE.get_or_init(|| fresh.take().unwrap_or_default());
    if fresh.is_some() {
        return Err(Failure::Input("this program has a catalogue already".to_owned()));
    }
    refuse_taken_names(installed)?;
    Ok(installed)
}

/// Every option becomes a flag and a setting of scenarios, and every verb a command of scenarios. None
/// may have the name of one that is there for all algorithms.
fn refuse_taken_names(catalogue: &Catalogue) -> Result<(), Failure> {
    let program = Command::augment_subcommands(clap::Command::new("laboratory"));
    for listed in catalogue.iter() {
        let (algorithm, options) = (listed.name(), listed.options.iter().map(|option| option.name));
        for option in options {
            let taken = if option == SETTING {
                Some(format!("scenarios have a setting {option}="))
            } else {
                let mut commands = program.get_subcommands();
                let command = commands.find(|command| is_taken(command, option));
                command.map(|command| format!("`{}` has a flag --{option}", command.get_name()))
            };
            if let Some(taken) = taken {
                return Err(Failure::Input(format!(
                    "{algorithm} declares the option '{option}', but {taken} for all algorithms; \
                     rename the option"
                )));
            }
        }
        // A verb may say which parts it has: `add:N`.
        let words = listed.verbs.iter().map(|verb| verb.split(':').next().unwrap_or(verb));
        for verb in words {
            if COMMANDS.contains(&verb) || verb.is_empty() || verb.contains(char::is_whitespace) {
                return Err(Failure::Input(format!(
                    "{algorithm} has the verb '{verb}', which a scenario cannot tell from a command \
                     for all algorithms; rename the verb"
                )));
            }
        }
    }
    Ok(())
}

/// A setting of scenarios that no command has as a flag.
const SETTING: &str = "show";

/// Whether a command has an argument of this name besides that of the option.
fn is_taken(command: &clap::Command, option: &str) -> bool {
    let same = |arg: &&clap::Arg| arg.get_long() == Some(option) || arg.get_id() == option;
    option == "help" || command.get_arguments().filter(same).count() > 1
}

/// Simulate, check and see distributed algorithms.
#[derive(Parser)]
#[command(arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

/// A whole program: reads the command line, and carries it out with the algorithms of this
/// catalogue.
///
/// ```no_run
/// use bellwether_algorithms::catalogue::catalogue;
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     bellwether_lab::main(catalogue())
/// }
/// ```
#[must_use]
pub fn main(catalogue: Catalogue) -> ExitCode {
    exit(install(catalogue).and_then(|_| Program::parse().command.run()))
}

/// What runs a command that waits for something: one thread is enough.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Input(format!("cannot start the runtime: {error}")))
}

/// What this program is called, for commands that users can repeat.
pub(crate) fn name() -> String {
    let path = std::env::args().next().unwrap_or_default();
    let name = Path::new(&path).file_stem().map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "bellwether".to_owned())
}
