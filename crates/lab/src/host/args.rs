//! The flags of `bellwether host`.

use crate::args::{OutputArgs, RunArgs};
use clap::Args;
use std::path::PathBuf;

/// Real processes have another T.
const TIMEOUT: &str = "T: how long to wait for an answer. It must exceed a round trip on this machine when it is \
                       busy [default: 200ms]";

#[derive(Debug, Args)]
#[command(mut_arg("timeout", |arg| arg.help(TIMEOUT)))]
pub struct HostArgs {
    /// An algorithm (see `bellwether algorithms`)
    pub(crate) algorithm: String,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    /// This process gets a SIGKILL; several ids may be given: 1,4@2s
    #[arg(long, value_name = "ID[@TIME]", help_heading = "What happens")]
    pub(crate) kill: Vec<String>,
    /// This process is started again, with what it had made durable
    #[arg(long, value_name = "ID@TIME", help_heading = "What happens")]
    pub(crate) revive: Vec<String>,
    /// This process gets a SIGSTOP, and a SIGCONT at the end
    #[arg(long, value_name = "ID@FROM..TO", help_heading = "What happens")]
    pub(crate) stop: Vec<String>,

    /// Run for so long [default: until it is over]
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, help_heading = "Run")]
    pub(crate) length: Option<String>,
    /// Keep certificates, journals and durable files in this new directory
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub(crate) keep: Option<PathBuf>,
    /// Start nothing: tell the run again that was kept in this directory
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
pub struct HostProcessArgs {
    /// What to run
    pub(crate) algorithm: String,
    /// Where to listen on loopback; 0 lets the system choose
    pub(crate) port: u16,
}
