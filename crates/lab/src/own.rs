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

/// What is asked of single processes, and how wrong their clocks are. Commands have other flags
/// of what happens, which come first.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "What happens")]
pub(crate) struct AskArgs {
    /// This process's clock is ahead (or, with -, behind)
    #[arg(long, value_name = "ID=+200ms", allow_hyphen_values = true, display_order = 100)]
    pub(crate) offset: Vec<String>,
    /// This process's clock gains (or, with -, loses)
    #[arg(long, value_name = "ID=50ppm", allow_hyphen_values = true, display_order = 101)]
    pub(crate) drift: Vec<String>,
    /// Give this process an input of its algorithm: 1=work@1s. For an unknown verb, the error lists all
    #[arg(long, value_name = "ID=VERB[@TIME]", display_order = 102)]
    pub(crate) ask: Vec<String>,
}

/// Flags that are made of what the catalogue's algorithms declare; for `check` but for those whose
/// names have another meaning there.
#[derive(Debug, Default)]
pub(crate) struct OwnArgs<const CHECK: bool> {
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

/// Those of them whose names are free: Chandy-Lamport calls `channels` which processes there are
/// channels between.
fn free(check: bool) -> impl Iterator<Item = (&'static Opt, Vec<&'static str>)> {
    declared().into_iter().filter(move |(option, _)| !check || option.name != "channels")
}

impl<const CHECK: bool> Args for OwnArgs<CHECK> {
    fn augment_args(command: Command) -> Command {
        free(CHECK).fold(command, |command, (option, owners)| {
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

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const CHECK: bool> FromArgMatches for OwnArgs<CHECK> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |option: &Opt| match option.value {
            Some(_) => matches.get_one::<String>(option.name).cloned(),
            None => matches.get_flag(option.name).then(String::new),
        };
        let given = free(CHECK).filter_map(|(option, _)| Some((option.name, value(option)?)));
        Ok(OwnArgs { given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<const CHECK: bool> OwnArgs<CHECK> {
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
