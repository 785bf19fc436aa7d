//! The flags about critical sections, which `sim` and `host` share, and what they ask for.

use crate::planning::{Script, flag};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::{Settings, Topology};
use bellwether_algorithms::mutex::Tree;
use bellwether_core::{AnyProcess, Group};
use bellwether_shell::Failure;
use bellwether_sim::workload::{self, Downtime, Load};
use bellwether_sim::{Action, Plan, units};
use clap::Args;

/// More jobs than this would not fit into memory together with what comes of them.
pub(crate) const MOST_REQUESTS: u64 = 10_000_000;
/// The default number of requests: for each process, and at most in all.
const REQUESTS_EACH: u64 = 2;
const REQUESTS: u64 = 1_000;

#[derive(Debug, Default, Args)]
pub(crate) struct WorkArgs {
    /// How many jobs there are for all processes together: entries into the critical section,
    /// broadcasts, transfers, transactions, letters [default: two for each process, but not more
    /// than 1000; none if there is a --request, --release or --ask]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Work")]
    pub(crate) requests: Option<u64>,
    /// How the jobs are spread: light (one random process at a time), saturated (all, all the time),
    /// bursts (all at once, again and again) or skewed (some much more often than others)
    /// [default: light]
    #[arg(long, value_name = "LOAD", help_heading = "Work")]
    pub(crate) load: Option<String>,
    #[command(flatten, next_help_heading = "Critical section")]
    pub(crate) section: SectionArgs,
    /// Let this process ask for the section, and stay inside until its --release
    #[arg(long, value_name = "ID[@TIME]", help_heading = "Critical section")]
    pub(crate) request: Vec<String>,
    /// Let this process leave the section
    #[arg(long, value_name = "ID[@TIME]", help_heading = "Critical section")]
    pub(crate) release: Vec<String>,
}

/// How critical sections are set: also for `check`.
#[derive(Debug, Default, Args)]
pub(crate) struct SectionArgs {
    /// How long a process stays inside: 5ms, or at random 1ms..9ms [default: as long as a message
    /// takes]
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    pub(crate) section: Option<String>,
    /// Run the algorithm exactly as in its paper: a crash may leave it stuck
    #[arg(long)]
    pub(crate) textbook: bool,
    /// The tree's shape, for algorithms on one: line, binary, star, or how many children each
    /// process has [default: binary]
    #[arg(long, value_name = "SHAPE", allow_hyphen_values = true)]
    pub(crate) tree: Option<String>,
}

impl SectionArgs {
    /// Refuses a tree's shape where there is none.
    pub(crate) fn suits(&self, algorithm: &Listed) -> Result<(), Failure> {
        if self.tree.is_some() && algorithm.entry.topology != Topology::Tree {
            let what = format!("{} is on no tree; leave the flag out", algorithm.name());
            return Err(Failure::flag("tree", what));
        }
        Ok(())
    }

    /// Without elections no process can be told to elect.
    pub(crate) fn refuse_elections(&self, given: &[(&str, bool)]) -> Result<(), Failure> {
        match given.iter().find(|(_, given)| *given && self.textbook) {
            Some((flag, _)) => Err(Failure::Input(format!(
                "--textbook and --{flag} contradict each other: in its paper the algorithm has no \
                 election beside it; leave one of them out"
            ))),
            None => Ok(()),
        }
    }

    /// Fills in the settings.
    pub(crate) fn apply(&self, settings: &mut Settings) -> Result<(), Failure> {
        settings.textbook = self.textbook;
        if let Some(text) = &self.section {
            settings.section = flag("section", units::span(text))?;
        }
        if let Some(text) = &self.tree {
            settings.tree = flag("tree", text.parse::<Tree>().map_err(|error| error.to_string()))?;
        }
        Ok(())
    }
}

impl WorkArgs {
    /// The flags, and whether they are given.
    pub(crate) fn flags(&self) -> [(&'static str, bool); 7] {
        [
            ("requests", self.requests.is_some()),
            ("load", self.load.is_some()),
            ("section", self.section.section.is_some()),
            ("textbook", self.section.textbook),
            ("tree", self.section.tree.is_some()),
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
        self.section.suits(algorithm)
    }

    /// Adds single requests and releases to a script.
    pub(crate) fn deeds(
        &self,
        algorithm: &Listed,
        group: &Group,
        script: &mut Script,
    ) -> Result<(), Failure> {
        for (verb, texts) in [("request", &self.request), ("release", &self.release)] {
            let Some(input) = algorithm.input(verb) else { continue };
            let asked = |id| Action::Input(id, input.clone());
            script.add_each(verb, texts, group, false, asked)?;
        }
        Ok(())
    }

    /// Adds the workload's jobs to a plan, `most` at most, for those that are up then according to
    /// its script. Where a process gets inputs by name there are none unless they are
    /// wanted.
    pub(crate) fn add_jobs(
        &self,
        plan: &mut Plan<AnyProcess>,
        most: u64,
        asked: bool,
    ) -> Result<(), Failure> {
        let Plan { algorithm, group, settings, network, seed, script, .. } = plan;
        if algorithm.input("work").is_none() {
            return Ok(());
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
        let mut jobs = workload::jobs(algorithm, load, requests, group, settings, network, *seed);
        Downtime::of(script).spare(&mut jobs);
        script.extend(jobs);
        Ok(())
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
