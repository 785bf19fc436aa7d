//! The flags of `bellwether host`.

use crate::args::{Switch, TraceFormat};
use crate::own::{AskArgs, OwnArgs};
use crate::work::WorkArgs;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct HostArgs {
    /// An algorithm (see `bellwether algorithms`)
    pub(crate) algorithm: String,

    /// Processes 1 to N [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Cluster")]
    pub(crate) nodes: Option<u32>,
    /// Processes with these ids, in this order on the ring: 3,5,0,1,4,6 or 0..7
    #[arg(long, value_name = "LIST", conflicts_with = "nodes", help_heading = "Cluster")]
    pub(crate) ids: Option<String>,
    /// Who coordinates at the beginning: an id or none [default: the largest id]
    #[arg(long, value_name = "ID|none", help_heading = "Cluster")]
    pub(crate) coordinator: Option<String>,
    /// T: how long to wait for an answer. It must exceed a round trip on this machine when it is
    /// busy [default: 200ms]
    #[arg(long, value_name = "T", allow_hyphen_values = true, help_heading = "Cluster")]
    pub(crate) timeout: Option<String>,
    /// Whether processes watch their coordinator by themselves [default: on, but off with
    /// --detect or --all-start; where there is a critical section, on only if anything can fail]
    #[arg(long, value_enum, value_name = "ON|OFF", help_heading = "Cluster")]
    pub(crate) detection: Option<Switch>,
    /// Whether a ring's messages are acknowledged, so that dead neighbours are found [default: on
    /// if anything can fail]
    #[arg(long, value_enum, value_name = "ON|OFF", help_heading = "Cluster")]
    pub(crate) acknowledge: Option<Switch>,

    /// This process suspects the coordinator then; nobody detects anything by itself
    #[arg(long, value_name = "ID[@TIME]", help_heading = "What happens")]
    pub(crate) detect: Vec<String>,
    /// Everybody starts an election at the beginning; nobody detects anything by itself
    #[arg(long, help_heading = "What happens")]
    pub(crate) all_start: bool,
    /// This process gets a SIGKILL; several ids may be given: 1,4@2s
    #[arg(long, value_name = "ID[@TIME]", help_heading = "What happens")]
    pub(crate) kill: Vec<String>,
    /// This process is started again, with what it had made durable
    #[arg(long, value_name = "ID@TIME", help_heading = "What happens")]
    pub(crate) revive: Vec<String>,
    /// This process gets a SIGSTOP, and a SIGCONT at the end
    #[arg(long, value_name = "ID@FROM..TO", help_heading = "What happens")]
    pub(crate) stop: Vec<String>,

    #[command(flatten)]
    pub(crate) asked: AskArgs,

    #[command(flatten)]
    pub(crate) work: WorkArgs,

    #[command(flatten)]
    pub(crate) own: OwnArgs,

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

    /// Print every event in this format
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) trace: Option<TraceFormat>,
    /// Write the trace to this file
    #[arg(long, value_name = "FILE", requires = "trace", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Put what every process holds into a trace in JSON, for the explorer
    #[arg(long, requires = "trace", help_heading = "Output")]
    pub(crate) states: bool,
    /// Print no events, only the summary
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print the summary as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// One of the processes that `bellwether host` starts. It takes its orders from standard input.
#[derive(Debug, Args)]
pub struct HostProcessArgs {
    /// What to run
    pub(crate) algorithm: String,
    /// Where to listen on loopback; 0 lets the system choose
    pub(crate) port: u16,
}
