//! The flags of `bellwether torture`.

use super::plan::Kind;
use super::sequences::{self, Sequence};
use bellwether_shell::{Failure, whole_number};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

const MEMBERS: std::ops::RangeInclusive<u64> = 3..=9;
const CLIENTS: std::ops::RangeInclusive<u64> = 1..=64;
const LOCKS: std::ops::RangeInclusive<u64> = 1..=1_000;
const STATE: std::ops::RangeInclusive<u64> = 0..=100_000;
const ROLES: std::ops::RangeInclusive<u64> = 0..=1_000;
/// In a shorter time nothing could happen.
const SHORTEST: Duration = Duration::from_secs(1);

/// What the clients use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Engine {
    /// Members of Bellwether
    #[default]
    Members,
    /// Servers of etcd
    Etcd,
}

// Values may begin with a hyphen so that a negative one reaches the parser that says what is wrong
// with it, and is not taken for a flag.
#[derive(Debug, Args)]
#[command(after_help = Kind::table())]
pub(crate) struct TortureArgs {
    /// What runs: members of Bellwether, or servers of etcd, which must be installed
    #[arg(
        long,
        value_name = "ENGINE",
        value_enum,
        default_value = "members",
        hide_possible_values = true
    )]
    engine: Engine,
    /// Members 1 to N
    #[arg(long, value_name = "N", default_value = "3", allow_hyphen_values = true)]
    members: String,
    /// How many clients; each is a process with two sessions at a time
    #[arg(long, value_name = "N", default_value = "6", allow_hyphen_values = true)]
    clients: String,
    /// How long faults happen
    #[arg(long = "for", value_name = "TIME", default_value = "60s", allow_hyphen_values = true)]
    length: String,
    /// The seed: it decides which faults and requests happen, not when; timing depends on the machine
    /// [default: random]
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    seed: Option<String>,
    /// Kinds of faults from the table below, separated by commas, or none [default: all of them]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    faults: Option<String>,
    /// How many locks; every third is a semaphore
    #[arg(long, value_name = "K", default_value = "6", allow_hyphen_values = true)]
    locks: String,
    /// How many roles
    #[arg(long, value_name = "R", default_value = "3", allow_hyphen_values = true)]
    roles: String,
    /// Put members and clients into network namespaces of their own, joined by a switch that loses,
    /// delays, repeats and cuts, and give each member a disk; more kinds of faults. Linux, as root
    #[arg(long)]
    namespaces: bool,
    /// Instead of random faults, replay sequences that once failed, in namespaces: letters from a to
    /// j, or all
    #[arg(long, value_name = "LETTERS", requires = "namespaces")]
    sequence: Option<String>,
    /// Sessions with one lock each that exist from the start, so that the state is large
    #[arg(long, value_name = "N", default_value = "0", requires = "namespaces")]
    state: String,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(super) json: bool,
    /// Keep histories, configurations and logs in this directory, which must be empty or not there
    /// yet [default: they are kept only if something is wrong]
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
}

/// What is to be done, checked.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) engine: Engine,
    pub(super) members: u32,
    pub(super) clients: u32,
    pub(super) length: Duration,
    pub(super) seed: u64,
    pub(super) faults: Vec<Kind>,
    pub(super) locks: u64,
    pub(super) roles: u64,
    /// Sessions with a lock each that are there from the start.
    pub(super) state: u64,
    /// Whether members and clients have networks of their own, and what is done then.
    pub(super) namespaces: Option<Work>,
}

/// What is done in namespaces.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// Faults at random.
    Random,
    /// One sequence.
    Sequence(&'static Sequence),
}

impl TortureArgs {
    pub(super) fn setup(&self) -> Result<Setup, Failure> {
        let length = bellwether_algorithms::options::duration(&self.length)
            .map_err(|what| Failure::flag("for", what))?;
        if length < SHORTEST {
            return Err(Failure::flag("for", "too short for anything to happen; give at least 1s"));
        }
        let seed = match &self.seed {
            Some(text) => text.parse().map_err(|_| {
                Failure::flag("seed", format!("'{text}' is not a whole number from 0"))
            })?,
            None => u64::from(bellwether_net::draw() as u32),
        };
        if self.engine == Engine::Etcd && self.namespaces {
            let what = "there are only members of Bellwether in namespaces; leave out one of both";
            return Err(Failure::flag("engine etcd --namespaces", what));
        }
        Ok(Setup {
            engine: self.engine,
            members: whole_number("members", &self.members, MEMBERS)? as u32,
            clients: whole_number("clients", &self.clients, CLIENTS)? as u32,
            length,
            seed,
            faults: kinds(self.faults.as_deref(), self.engine, self.namespaces)?,
            locks: whole_number("locks", &self.locks, LOCKS)?,
            roles: whole_number("roles", &self.roles, ROLES)?,
            state: whole_number("state", &self.state, STATE)?,
            namespaces: self.namespaces.then_some(Work::Random),
        })
    }

    pub(super) fn sequences(&self) -> Result<Vec<&'static Sequence>, Failure> {
        let Some(text) = &self.sequence else { return Ok(Vec::new()) };
        sequences::find(text).map_err(|what| Failure::flag("sequence", what))
    }
}

fn kinds(text: Option<&str>, engine: Engine, namespaces: bool) -> Result<Vec<Kind>, Failure> {
    let possible = match engine {
        Engine::Members => Kind::possible(namespaces),
        Engine::Etcd => Kind::ON_ETCD.to_vec(),
    };
    let mut kinds = Vec::new();
    for word in text.into_iter().flat_map(|text| text.split(',')).map(str::trim) {
        if text == Some("none") {
            return Ok(kinds);
        }
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == word) else {
            let known: Vec<_> = possible.iter().map(|kind| kind.name()).collect();
            let known = known.join(", ");
            let what = format!("no fault '{word}'; there are {known}, or none");
            return Err(Failure::flag("faults", what));
        };
        if !possible.contains(&kind) {
            let why = match engine {
                Engine::Members => "needs --namespaces",
                Engine::Etcd => "is not made on etcd",
            };
            return Err(Failure::flag("faults", format!("'{word}' {why}")));
        }
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    Ok(if text.is_none() { possible } else { kinds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_a_list() {
        assert_eq!(kinds(None, Engine::Members, true).unwrap(), Kind::ALL);
        assert_eq!(kinds(None, Engine::Members, false).unwrap(), Kind::possible(false));
        assert_eq!(kinds(Some("none"), Engine::Members, false).unwrap(), []);
        assert_eq!(
            kinds(Some("stop, kill,stop"), Engine::Members, false).unwrap(),
            [Kind::Stop, Kind::Kill]
        );
        let complaint = kinds(Some("kill,none"), Engine::Members, false).unwrap_err().to_string();
        assert!(complaint.contains("no fault 'none'; there are kill, stop"), "{complaint}");
        let complaint = kinds(Some("star"), Engine::Members, false).unwrap_err().to_string();
        assert!(complaint.contains("'star' needs --namespaces"), "{complaint}");
        assert!(kinds(Some(""), Engine::Members, false).is_err());
        assert_eq!(kinds(None, Engine::Etcd, false).unwrap(), Kind::ON_ETCD);
        let complaint = kinds(Some("loss"), Engine::Etcd, false).unwrap_err().to_string();
        assert!(complaint.contains("'loss' is not made on etcd"), "{complaint}");
    }
}
