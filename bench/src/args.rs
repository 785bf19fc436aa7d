//! The command line.

use crate::Outcome;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Locks and roles of Bellwether beside etcd, Redis and ZooKeeper, measured in the same run.
#[derive(Debug, Parser)]
#[command(name = "bellwether-bench", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Pairs of lock and unlock a second, contended hand-off, and memory
    Locks(LocksArgs),
    /// From the death of an application's leader until the next one leads
    Roles(RolesArgs),
    /// From the death of the leader's member until its successor takes a write
    Failover(FailoverArgs),
    /// Where the time of one request goes: a table and bars of its stages, with one client
    Trace(TraceArgs),
    /// Instructions and allocations of the members for a pair of lock and unlock, under valgrind
    Counts(CountsArgs),
    /// Checks of fencing tokens a second
    Reads(ReadsArgs),
    /// What idle members cost, with the fast profile, and whether they stay quiet
    Idle(IdleArgs),
    /// From a fault of the coordinator, or a request to step down, until the others know the next one
    HandOver(HandOverArgs),
    /// The simulator beside a bare loop, and a sweep on one core and on all
    Simulator(SimulatorArgs),
    /// One of the processes that `roles` starts and kills
    #[command(hide = true)]
    Candidate(CandidateArgs),
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Peer {
    /// Three members, defaults of the package
    Etcd,
    /// One server
    Redis,
    /// Three members, defaults of the package; left out if it is not here
    Zookeeper,
    /// Three members
    Bellwether,
}

/// A part of `locks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Uncontended pairs a second
    Pairs,
    /// From a release to the next grant, contended
    HandOff,
    /// Of members that keep many sessions and locks
    Memory,
}

#[derive(Debug, Args)]
pub(crate) struct WhatArgs {
    /// Measure only these
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    pub(crate) only: Vec<Peer>,
    /// The program of Bellwether
    #[arg(long, value_name = "PATH", default_value = "target/release/bellwether")]
    pub(crate) bellwether: PathBuf,
    /// The program of etcd
    #[arg(long, value_name = "PATH", default_value = "etcd")]
    pub(crate) etcd: PathBuf,
    /// The program of Redis
    #[arg(long, value_name = "PATH", default_value = "redis-server")]
    pub(crate) redis: PathBuf,
    /// The program of ZooKeeper, for java
    #[arg(long, value_name = "PATH", default_value = "/usr/share/java/zookeeper.jar")]
    pub(crate) zookeeper: PathBuf,
    /// Where the temporary folders are made, etcd's log on disk among them [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the figures in this file, too
    #[arg(long, value_name = "FILE")]
    pub(crate) figures: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct LocksArgs {
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    /// Measure only these parts
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    pub(crate) parts: Vec<Part>,
    /// How many clients at once, uncontended
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_values_t = [1, 16, 64])]
    pub(crate) clients: Vec<usize>,
    /// How many clients want the one lock
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) queue: usize,
    /// How long each measurement takes, in seconds
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 5.0)]
    pub(crate) length: f64,
    /// How long each goes on before it counts, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub(crate) warm_up: f64,
    /// How often each is measured; the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) rounds: usize,
    /// How many sessions, each with a lock, memory is measured with
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub(crate) sessions: usize,
}

#[derive(Debug, Args)]
pub(crate) struct RolesArgs {
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    /// How often a leader is killed
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) trials: usize,
}

#[derive(Debug, Args)]
pub(crate) struct FailoverArgs {
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    /// How often each leader is killed
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub(crate) trials: usize,
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    /// How the members keep their log
    #[arg(long, value_name = "disk|memory", default_value = "disk")]
    pub(crate) durability: String,
    /// How many pairs are followed
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pub(crate) pairs: usize,
    /// How many pairs go before them
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) warm_up: usize,
}

#[derive(Debug, Args)]
pub(crate) struct CountsArgs {
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    /// How the members keep their log
    #[arg(long, value_name = "disk|memory", default_value = "disk")]
    pub(crate) durability: String,
    /// How many pairs are counted, of all clients together
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(crate) pairs: usize,
    /// How many clients at once
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_values_t = [1, 16])]
    pub(crate) clients: Vec<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct ReadsArgs {
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    /// How many clients at once
    #[arg(long, value_delimiter = ',', value_name = "LIST", default_values_t = [1, 16, 64])]
    pub(crate) clients: Vec<usize>,
    /// How long each measurement takes, in seconds
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 3.0)]
    pub(crate) length: f64,
    /// How often each is measured; the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) rounds: usize,
}

#[derive(Debug, Args)]
pub(crate) struct IdleArgs {
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    /// How long the cluster is left alone, in seconds: once with nothing else, once with all cores busy
    #[arg(long = "for", value_name = "SECONDS", default_value_t = 600)]
    pub(crate) seconds: u64,
}

#[derive(Debug, Args)]
pub(crate) struct HandOverArgs {
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    /// How often each fault is made
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) trials: usize,
}

#[derive(Debug, Args)]
pub(crate) struct SimulatorArgs {
    #[command(flatten)]
    pub(crate) what: WhatArgs,
    /// How often each is measured; the median counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) rounds: usize,
    /// How many random schedules a sweep plays
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) seeds: usize,
}

#[derive(Debug, Args)]
pub(crate) struct CandidateArgs {
    /// Of what
    #[arg(value_enum)]
    pub(crate) peer: Peer,
    /// The TTL of its session in seconds; in etcd's own service it is always one
    #[arg(long, default_value_t = 60)]
    pub(crate) ttl: u64,
    /// Where that is
    pub(crate) endpoints: Vec<String>,
}

impl WhatArgs {
    /// Whether this one is measured.
    pub(crate) fn has(&self, peer: Peer) -> bool {
        self.only.is_empty() || self.only.contains(&peer)
    }

    /// A new folder for everything that is written.
    pub(crate) fn folder(&self) -> Outcome<tempfile::TempDir> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("bellwether-bench-");
        let made = match &self.dir {
            Some(dir) => builder.tempdir_in(dir),
            None => builder.tempdir(),
        };
        made.map_err(|error| format!("cannot make a temporary folder: {error}; give --dir"))
    }

    /// The same in memory, if this machine has a file system there.
    pub(crate) fn folder_in_memory() -> Option<tempfile::TempDir> {
        tempfile::Builder::new().prefix("bellwether-bench-").tempdir_in("/dev/shm").ok()
    }
}

impl LocksArgs {
    /// Whether this part is measured.
    pub(crate) fn has(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    /// How long a measurement warms up and takes.
    pub(crate) fn times(&self) -> Outcome<(Duration, Duration)> {
        let fine = |seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|error| format!("{seconds} is no number of seconds: {error}"))
        };
        if self.length <= 0.0 || self.rounds == 0 || self.queue < 2 || self.clients.contains(&0) {
            let what = "--for, --rounds and --clients are at least 1, --queue at least 2";
            return Err(what.to_owned());
        }
        Ok((fine(self.warm_up)?, fine(self.length)?))
    }
}
