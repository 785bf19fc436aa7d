//! The flags about critical sections, which `sim` and `host` share, and what they ask for.

use crate::planning::{Script, flag, ids_at};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::{Settings, Topology};
use bellwether_algorithms::mutex::Tree;
use bellwether_core::{AnyInput, Group, Time};
use bellwether_shell::Failure;
use bellwether_sim::workload::{self, Downtime, Load};
use bellwether_sim::{Action, Network, Scheduled, units};
use clap::Args;
use std::time::Duration;

/// More jobs than this would not fit into memory together with what comes of them.
pub(crate) const MOST_REQUESTS: u64 = 10_000_000;
/// How many requests there are if nobody says: so many for each process, and no more in all.
const REQUESTS_EACH: u64 = 2;
const REQUESTS: u64 = 1_000;

#[derive(Debug, Default, Args)]
pub(crate) struct WorkArgs {
    /// How many jobs there are for all processes together: entries into the critical section,
    /// broadcasts, transfers, transactions, letters [default: two for each process, but not more
    /// than 1000; none if there is a --request, --release or --ask]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Work")]
    pub(crate) requests: Option<u64>,
    /// Who has a job when: light (one random process at a time), saturated (all, all the time),
    /// bursts (all at once, again and again) or skewed (some much more often than others)
    /// [default: light]
    #[arg(long, value_name = "LOAD", help_heading = "Work")]
    pub(crate) load: Option<String>,
    /// How long each stays inside: 5ms, or at random 1ms..9ms [default: as long as a message
    /// takes]
    #[arg(
        long,
        value_name = "SPAN",
        allow_hyphen_values = true,
        help_heading = "Critical section"
    )]
    pub(crate) section: Option<String>,
    /// The algorithm just as its paper has it, without what makes it survive crashes
    #[arg(long, help_heading = "Critical section")]
    pub(crate) textbook: bool,
    /// The tree's shape, for algorithms on one: line, binary, star, or how many children each
    /// process has [default: binary]
    #[arg(
        long,
        value_name = "SHAPE",
        allow_hyphen_values = true,
        help_heading = "Critical section"
    )]
    pub(crate) tree: Option<String>,
    /// This process asks for the section then, and stays inside until it is told to leave
    #[arg(long, value_name = "ID[@TIME]", help_heading = "Critical section")]
    pub(crate) request: Vec<String>,
    /// This process leaves the section then
    #[arg(long, value_name = "ID[@TIME]", help_heading = "Critical section")]
    pub(crate) release: Vec<String>,
}

impl WorkArgs {
    /// The flags, and whether they are given.
    pub(crate) fn flags(&self) -> [(&'static str, bool); 7] {
        [
            ("requests", self.requests.is_some()),
            ("load", self.load.is_some()),
            ("section", self.section.is_some()),
            ("textbook", self.textbook),
            ("tree", self.tree.is_some()),
            ("request", !self.request.is_empty()),
            ("release", !self.release.is_empty()),
        ]
    }

    /// Refuses what the algorithm has no use for.
    pub(crate) fn suits(&self, algorithm: &Listed) -> Result<(), Failure> {
        let name = algorithm.name();
        if !algorithm.has_section() {
            let works = algorithm.input("work").is_some();
            let suits = |flag: &str| works && matches!(flag, "requests" | "load");
            return match self.flags().iter().find(|(flag, given)| *given && !suits(flag)) {
                None => Ok(()),
                Some((flag @ ("requests" | "load"), _)) => Err(Failure::flag(
                    flag,
                    format!("{name} has no jobs to do; leave the flag out"),
                )),
                Some((flag, _)) => Err(Failure::flag(
                    flag,
                    format!(
                        "{name} has no critical section; leave the flag out, or choose an \
                         algorithm of the family mutex (`bellwether algorithms` lists them)"
                    ),
                )),
            };
        }
        if self.tree.is_some() && algorithm.entry.topology != Topology::Tree {
            return Err(Failure::flag("tree", format!("{name} is on no tree; leave the flag out")));
        }
        Ok(())
    }

    /// Without elections nobody can be told to elect.
    pub(crate) fn refuse_elections(&self, given: &[(&str, bool)]) -> Result<(), Failure> {
        match given.iter().find(|(_, given)| *given && self.textbook) {
            Some((flag, _)) => Err(Failure::Input(format!(
                "--textbook and --{flag} contradict each other: in its paper the algorithm has no \
                 election beside it; leave one of them out"
            ))),
            None => Ok(()),
        }
    }

    /// Fills in the settings; a message takes about a hop.
    pub(crate) fn apply(&self, settings: &mut Settings, hop: Duration) -> Result<(), Failure> {
        settings.textbook = self.textbook;
        settings.section = match &self.section {
            Some(text) => flag("section", units::span(text))?,
            None => (hop, hop),
        };
        if let Some(text) = &self.tree {
            settings.tree = flag("tree", text.parse::<Tree>().map_err(|error| error.to_string()))?;
        }
        Ok(())
    }

    /// Adds single requests and releases to a script.
    pub(crate) fn deeds(
        &self,
        algorithm: &Listed,
        group: &Group,
        script: &mut Script,
    ) -> Result<(), Failure> {
        for (verb, texts) in [("request", &self.request), ("release", &self.release)] {
            for text in texts {
                let Some(input) = algorithm.input(verb) else { continue };
                let (ids, at) = ids_at(verb, text, group)?;
                for id in ids {
                    let action = Action::Input(id, input.clone());
                    script.add(verb, text, at.unwrap_or_default(), action);
                }
            }
        }
        Ok(())
    }

    /// The workload's jobs, `most` at most, for those that are up then according to the script.
    /// Where somebody is asked for something by itself there are none unless they are wanted.
    #[expect(clippy::too_many_arguments, reason = "a run has so many sides")]
    pub(crate) fn jobs(
        &self,
        algorithm: &Listed,
        group: &Group,
        settings: &Settings,
        network: &Network,
        seed: u64,
        script: &[Scheduled<AnyInput>],
        most: u64,
        asked: bool,
    ) -> Result<Vec<Scheduled<AnyInput>>, Failure> {
        if algorithm.input("work").is_none() {
            return Ok(Vec::new());
        }
        let load = match &self.load {
            None => Load::default(),
            Some(text) => {
                flag("load", text.parse::<Load>().map_err(|unknown| unknown.to_string()))?
            }
        };
        let single = asked || !self.request.is_empty() || !self.release.is_empty();
        let requests = match self.requests {
            Some(requests) if requests > most => {
                let message = format!("{requests} requests are too many; at most {most}");
                return Err(Failure::flag("requests", message));
            }
            Some(requests) => requests,
            None if single && self.load.is_some() => {
                return Err(Failure::flag(
                    "load",
                    "nothing is asked for but what --request and --ask say; give --requests too",
                ));
            }
            None if single => 0,
            None => (group.len() as u64 * REQUESTS_EACH).min(REQUESTS).min(most),
        };
        let mut jobs = workload::jobs(algorithm, load, requests, group, settings, network, seed);
        Downtime::of(script).spare(&mut jobs);
        Ok(jobs)
    }
}

/// A process that is down can do nothing, and with a critical section one can say what.
pub(crate) fn in_words_of_sections(flag: &str, why: &str) -> String {
    let deed = match flag.split(' ').next() {
        Some("--request") => "cannot ask for the section",
        Some("--release") => "cannot leave the section",
        _ => return why.to_owned(),
    };
    why.replace("cannot do anything", deed)
}

/// Takes out what would come after the end.
pub(crate) fn until<I>(jobs: &mut Vec<Scheduled<I>>, end: Option<Time>) {
    jobs.retain(|job| end.is_none_or(|end| job.at <= end));
}
