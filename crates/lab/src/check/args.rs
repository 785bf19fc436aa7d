//! The flags of `check`.

use crate::args::{ClusterArgs, Switch, TraceFormat};
use crate::own::OwnArgs;
use crate::work::SectionArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

// Flags that `sim` has too, and that have another default here.
const TIMEOUT: &str = "T: how long to wait for an answer [default: three times the longest delay]";
const DETECTION: &str = "Whether processes watch their coordinator [default: on if \
                         a process may crash]";
const SECTION: &str = "How long a process stays in the critical section: 5ms, or any time of 1ms..9ms \
                       [default: T]";

// Values may begin with a hyphen so that a negative one reaches the parser that says what is wrong
// with it, and is not taken for a flag.
#[derive(Debug, Args)]
#[command(
    mut_arg("nodes", |arg| arg.help("Processes 1 to N [default: 3]")),
    mut_arg("timeout", |arg| arg.help(TIMEOUT)),
    mut_arg("detection", |arg| arg.help(DETECTION)),
    mut_arg("section", |arg| arg.help(SECTION)),
)]
pub(crate) struct CheckArgs {
    /// An algorithm (see `bellwether algorithms`)
    pub(crate) algorithm: String,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) section: SectionArgs,
    /// This process's clock is ahead (or, with -, behind)
    #[arg(long, value_name = "ID=+200ms", allow_hyphen_values = true, help_heading = "Cluster")]
    pub(crate) offset: Vec<String>,

    /// How many crashes may happen, of any process, at any moment
    #[arg(long, value_name = "K", allow_negative_numbers = true, help_heading = "What may happen")]
    pub(crate) crashes: Option<u32>,
    /// How often a crashed process may come back
    #[arg(long, value_name = "R", allow_negative_numbers = true, help_heading = "What may happen")]
    pub(crate) recoveries: Option<u32>,
    /// How many messages may be lost
    #[arg(long, value_name = "L", allow_negative_numbers = true, help_heading = "What may happen")]
    pub(crate) losses: Option<u32>,
    /// How many messages may arrive twice
    #[arg(long, value_name = "D", allow_negative_numbers = true, help_heading = "What may happen")]
    pub(crate) duplicates: Option<u32>,
    /// How often each process may be asked to do its work: enter the section, elect, send
    /// [default: 1; none if there is an --ask, or if processes watch their coordinator]
    #[arg(long, value_name = "Q", allow_negative_numbers = true, help_heading = "What may happen")]
    pub(crate) requests: Option<u32>,
    /// Begin without a coordinator: all processes start an election before anything else happens
    #[arg(long, conflicts_with = "requests", help_heading = "What may happen")]
    pub(crate) all_start: bool,
    /// This process may get this input, at any moment or never: 1=work
    #[arg(long, value_name = "ID=VERB", help_heading = "What may happen")]
    pub(crate) ask: Vec<String>,
    /// Processes on different sides never reach each other
    #[arg(long, value_name = "1,2|3", help_heading = "What may happen")]
    pub(crate) partition: Option<String>,

    /// What is known about time [default: what the algorithm assumes]
    #[arg(long, value_enum, help_heading = "World")]
    pub(crate) timing: Option<TimingName>,
    /// How long messages take, with bounded timing: 10ms..20ms
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, help_heading = "World")]
    pub(crate) delay: Option<String>,
    /// The length of a tick [default: T; with bounded timing, the largest span that
    /// divides T and the delays]
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, help_heading = "World")]
    pub(crate) tick: Option<String>,
    /// How many ticks two clocks may be apart, with drifting timing [default: 1]
    #[arg(long, value_name = "TICKS", allow_negative_numbers = true, help_heading = "World")]
    pub(crate) apart: Option<u32>,
    /// Where processes read their clocks, follow runs up to this time [default: 8 ticks]
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, help_heading = "World")]
    pub(crate) until: Option<String>,
    /// In which order messages arrive: fifo (in the order of sending, between any two processes),
    /// reorder (in any order) or causal (a cause before its effect) [default: what
    /// the algorithm assumes]. For chandy-lamport also mesh or ring, as in sim
    #[arg(long, value_name = "CHANNELS", help_heading = "World")]
    pub(crate) channels: Vec<String>,

    /// Check only this property; may be given several times. For an unknown name, the error lists all
    #[arg(long, value_name = "NAME", help_heading = "What must hold")]
    pub(crate) property: Vec<String>,
    /// Check invariants only, not the goal: saves memory and time
    #[arg(long, help_heading = "What must hold")]
    pub(crate) safety: bool,

    #[command(flatten)]
    pub(crate) own: OwnArgs<true>,

    /// How many threads explore [default: one for each core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Limits")]
    pub(crate) threads: Option<usize>,
    /// Stop at this number of states
    #[arg(long, value_name = "M", allow_negative_numbers = true, help_heading = "Limits")]
    pub(crate) max_states: Option<u64>,
    /// Stop when the states take this much memory: 8GiB, 500MiB [default: three quarters of what is free]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "Limits")]
    pub(crate) max_memory: Option<String>,
    /// Stop at this number of steps from the beginning
    #[arg(long, value_name = "STEPS", allow_negative_numbers = true, help_heading = "Limits")]
    pub(crate) max_depth: Option<u32>,
    /// Whether the checker takes steps that only differ in their order once; it visits all states all
    /// the same [default: on; without effect unless --safety]
    #[arg(long, value_enum, value_name = "ON|OFF", help_heading = "Limits")]
    pub(crate) reduction: Option<Switch>,

    /// Show the counterexample in this format
    #[arg(long, value_enum, help_heading = "Output")]
    pub(crate) trace: Option<Shape>,
    /// Write the counterexample to this file
    #[arg(long, value_name = "FILE", requires = "trace", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print only the verdict
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimingName {
    /// A timer fires only when no message is on its way
    Synchronous,
    /// Messages take as long as --delay says, and timers as long as they are set for
    Bounded,
    /// Messages take any time, and any timer may fire at any moment
    Asynchronous,
    /// Messages take any time, and clocks are at most --apart ticks apart
    Drifting,
}

/// How a counterexample is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// An aligned table with Lamport and vector stamps
    Text,
    /// JSON Lines; see docs/traces.md
    Json,
    /// A space-time diagram
    Svg,
    /// A Mermaid sequence diagram
    Mermaid,
    /// A PlantUML sequence diagram
    Plantuml,
    /// For the ShiViz visualiser
    Shiviz,
    /// For Graphviz: the graphs of the run, such as the deadlocks that were found
    Dot,
    /// A scenario, which `bellwether sim` plays
    Scenario,
}

impl Shape {
    /// The same as a format of traces; a scenario is none.
    pub(crate) fn format(self) -> Option<TraceFormat> {
        Some(match self {
            Shape::Text => TraceFormat::Text,
            Shape::Json => TraceFormat::Json,
            Shape::Svg => TraceFormat::Svg,
            Shape::Mermaid => TraceFormat::Mermaid,
            Shape::Plantuml => TraceFormat::Plantuml,
            Shape::Shiviz => TraceFormat::Shiviz,
            Shape::Dot => TraceFormat::Dot,
            Shape::Scenario => return None,
        })
    }
}
