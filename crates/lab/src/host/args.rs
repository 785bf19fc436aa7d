//! The flags of `bellwether host`.

use crate::args::{OutputArgs, RunArgs};
use clap::Args;
use std::path::PathBuf;

/// Real processes have another T.
const TIMEOUT: &str = "T: how long to wait for an answer. It must exceed a round trip on this machine when it is \
                       busy [default: 200ms]";

#[derive(Debug, Args)]
#[command(mut_arg("timeout", |arg| arg.help(TIMEOUT)))]
pub(crate) struct HostArgs {
    /// An algorithm (see `bellwether algorithms`)
    pub(crate) algorithm: String,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// Kill this process (SIGKILL); give several ids as 1,4@2s
    #[arg(long, value_name = "ID[@TIME]", help_heading = "What happens")]
    pub(crate) kill: Vec<String>,
    /// Start this process again, with its durable state
    #[arg(long, value_name = "ID@TIME", help_heading = "What happens")]
    pub(crate) revive: Vec<String>,
    /// Stop this process (SIGSTOP), and continue it (SIGCONT) at the end
    #[arg(long, value_name = "ID@FROM..TO", help_heading = "What happens")]
    pub(crate) stop: Vec<String>,

    /// Run for this long [default: until nothing is left to happen]
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, help_heading = "Run")]
    pub(crate) length: Option<String>,
    /// Keep certificates, journals and durable files in this new directory
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub(crate) keep: Option<PathBuf>,
    /// Start nothing: show the run that --keep stored in this directory
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "Run",
        conflicts_with_all = [
            "nodes", "ids", "coordinator", "timeout", "detection", "acknowledge", "detect",
            "all_start", "kill", "revive", "stop", "length", "keep", "requests", "load",
            "section", "textbook", "tree", "request", "release", "offset", "drift", "ask",
        ]
    )]
    pub(crate) again: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// One of the processes that `bellwether host` starts. It takes its orders from standard input.
#[derive(Debug, Args)]
pub(crate) struct HostProcessArgs {
    /// What to run
    pub(crate) algorithm: String,
    /// Where to listen on loopback; 0 lets the system choose
    pub(crate) port: u16,
}
