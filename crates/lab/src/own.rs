//! The flags that single algorithms declare, inputs by their verbs and wrong clocks: what `sim` and
//! `host` share.

use crate::planning::{Script, flag};
use crate::program::catalogue;
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_algorithms::options::{BadOption, Opt, Options};
use bellwether_core::{Group, Time};
use bellwether_shell::Failure;
use bellwether_sim::{Action, units};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// What is asked of single processes, and how wrong their clocks are.
#[derive(Debug, Default, Args)]
pub(crate) struct AskArgs {
    /// This process's clock is ahead (or, with -, behind)
    #[arg(
        long,
        value_name = "ID=+200ms",
        allow_hyphen_values = true,
        help_heading = "What happens"
    )]
    pub(crate) offset: Vec<String>,
    /// This process's clock gains (or, with -, loses)
    #[arg(
        long,
        value_name = "ID=50ppm",
        allow_hyphen_values = true,
        help_heading = "What happens"
    )]
    pub(crate) drift: Vec<String>,
    /// This process is asked for this then; the algorithm says what it can be asked for: 1=work@1s
    #[arg(long, value_name = "ID=VERB[@TIME]", help_heading = "What happens")]
    pub(crate) ask: Vec<String>,
}

/// Flags that are made of what the catalogue's algorithms declare.
#[derive(Debug, Default)]
pub(crate) struct OwnArgs {
    /// Which were given, with their values; a switch has an empty one.
    given: Vec<(&'static str, String)>,
}

/// Every option of the catalogue once, with the algorithms that have it.
fn declared() -> Vec<(&'static Opt, Vec<&'static str>)> {
    let mut all: Vec<(&Opt, Vec<&str>)> = Vec::new();
    for listed in catalogue().iter() {
        for option in listed.options {
            match all.iter_mut().find(|(other, _)| other.name == option.name) {
                Some((_, owners)) => owners.push(listed.name()),
                None => all.push((option, vec![listed.name()])),
            }
        }
    }
    all
}

impl OwnArgs {
    /// Adds the flags to a command that has flags called like some of them.
    pub(crate) fn augment_except(command: Command, taken: &[&str]) -> Command {
        let free = declared().into_iter().filter(|(option, _)| !taken.contains(&option.name));
        free.fold(command, |command, (option, owners)| {
            let arg = Arg::new(option.name)
                .long(option.name)
                .help(format!("{}; {}", owners.join(", "), option.help))
                .help_heading("Options of single algorithms");
            command.arg(match option.value {
                Some(value) => arg.value_name(value).allow_hyphen_values(true),
                None => arg.action(ArgAction::SetTrue),
            })
        })
    }

    /// Those of the flags that were given.
    pub(crate) fn given_except(matches: &ArgMatches, taken: &[&str]) -> Self {
        let mut given = Vec::new();
        for (option, _) in declared() {
            if taken.contains(&option.name) {
                continue;
            }
            let value = match option.value {
                Some(_) => matches.get_one::<String>(option.name).cloned(),
                None => matches.get_flag(option.name).then(String::new),
            };
            given.extend(value.map(|value| (option.name, value)));
        }
        OwnArgs { given }
    }
}

impl clap::Args for OwnArgs {
    fn augment_args(command: Command) -> Command {
        OwnArgs::augment_except(command, &[])
    }

    fn augment_args_for_update(command: Command) -> Command {
        OwnArgs::augment_args(command)
    }
}

impl FromArgMatches for OwnArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(OwnArgs::given_except(matches, &[]))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = OwnArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

impl OwnArgs {
    /// The flags that were given.
    pub(crate) fn flags(&self) -> impl Iterator<Item = (&'static str, bool)> {
        self.given.iter().map(|(name, _)| (*name, true))
    }

    /// The options for an algorithm, which must have them all.
    pub(crate) fn options(&self, algorithm: &Listed) -> Result<Options, Failure> {
        let mut options = Options::default();
        for (name, value) in &self.given {
            if !algorithm.options.iter().any(|option| option.name == *name) {
                let owners = declared().into_iter().find(|(option, _)| option.name == *name);
                let owners = owners.map_or_else(Vec::new, |(_, owners)| owners);
                let message = format!(
                    "{} has no such option, only {} has; leave the flag out",
                    algorithm.name(),
                    owners.join(", ")
                );
                return Err(Failure::flag(name, message));
            }
            options.set(name, value);
        }
        Ok(options)
    }
}

/// The algorithm that these settings make of it, if it can do anything with them.
pub(crate) fn check(
    algorithm: &Listed,
    settings: &Settings,
    group: &Group,
) -> Result<Listed, Failure> {
    let checked = algorithm.variant(settings).and_then(|variant| {
        variant.check(settings, group)?;
        Ok(variant)
    });
    checked.map_err(|BadOption { option, why }| Failure::flag(option, why))
}

/// Adds `--ask 1=snapshot@100ms` to a script.
pub(crate) fn asks(
    algorithm: &Listed,
    texts: &[String],
    group: &Group,
    script: &mut Script,
) -> Result<(), Failure> {
    for text in texts {
        let (deed, at) = match text.rsplit_once('@') {
            Some((deed, at)) => (deed, flag("ask", units::time(at))?),
            None => (text.as_str(), Time::ZERO),
        };
        let Some((ids, verb)) = deed.split_once('=') else {
            let message = format!("'{text}' does not say who and what; write ID=VERB@TIME");
            return Err(Failure::flag("ask", message));
        };
        let Some(input) = algorithm.input(verb) else {
            let message = format!(
                "{} cannot be asked for '{verb}'; it knows: {}",
                algorithm.name(),
                algorithm.verbs.join(", ")
            );
            return Err(Failure::flag("ask", message));
        };
        for id in flag("ask", units::ids(ids))? {
            let id = flag("ask", units::member(&id.number().to_string(), group))?;
            script.add("ask", text, at, Action::Input(id, input.clone()));
        }
    }
    Ok(())
}
