//! The commands and their arguments.

use crate::own::{AskArgs, OwnArgs};
use crate::panics::caught;
use crate::replay;
use crate::report::Report;
use crate::sim::rendered;
use crate::work::WorkArgs;
use bellwether_algorithms::catalogue::Catalogue;
use bellwether_shell::{Failure, Target, Verdict, commands, print};
use bellwether_sim::Trace;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

commands! {
    /// The laboratory's commands.
    pub struct Command(Chosen);
}

#[derive(Subcommand)]
enum Chosen {
    /// List the catalogue: family, assumptions, cost, source
    Algorithms(AlgorithmsArgs),
    /// Simulate an algorithm, or play a scenario file
    Sim(Box<SimArgs>),
    /// Run an algorithm between real processes on this machine
    Host(Box<crate::host::args::HostArgs>),
    /// One of the processes that `host` starts
    #[command(hide = true)]
    HostProcess(crate::host::args::HostProcessArgs),
    /// Explore every run of a small cluster, and prove what must hold or show a run in which it
    /// does not
    Check(Box<crate::check::args::CheckArgs>),
    /// Run all checks of a list
    #[command(hide = true)]
    Checks(crate::checks::ChecksArgs),
    /// Measure costs and compare them with the textbook's formulas
    Compare(CompareArgs),
    /// See runs in the browser: step through them, break them, send a link
    Explore(crate::explore::ExploreArgs),
}

impl Command {
    /// Carries the command out, with the algorithms of the program's [catalogue](crate::install).
    pub fn run(self) -> Result<Verdict, Failure> {
        let catalogue = crate::program::catalogue();
        // What plays a run says more of it: its seed.
        caught(|| self.0.run(catalogue), || format!("repeat it: {}", replay::bare()))?
    }
}

impl Chosen {
    fn run(self, catalogue: &Catalogue) -> Result<Verdict, Failure> {
        match self {
            Chosen::Algorithms(args) => crate::algorithms::run(&args, catalogue),
            Chosen::Sim(args) => crate::sim::run(&args, catalogue),
            Chosen::Host(args) => crate::host::run(&args, catalogue),
            Chosen::HostProcess(args) => crate::host::child::run(&args, catalogue),
            Chosen::Check(args) => crate::check::run(&args, catalogue),
            Chosen::Checks(args) => crate::checks::run(&args),
            Chosen::Compare(args) => crate::compare::run(&args, catalogue),
            Chosen::Explore(args) => crate::explore::run(&args),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct AlgorithmsArgs {
    /// Print a JSON array instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The family to compare: election, mutex, time, order, snapshot, deadlock or agreement
    pub(crate) family: String,
    /// How many processes, from and to [default: 3..64 for elections; each family has its own]
    #[arg(long, value_name = "FROM..TO")]
    pub(crate) nodes: Option<String>,
    /// Only the cases of mutex under this load: light or saturated
    #[arg(long, value_name = "LOAD")]
    pub(crate) load: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a plot to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

// Values may begin with a hyphen so that a negative one reaches the parser that says what is wrong
// with it, and is not taken for a flag.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// An algorithm (see `bellwether algorithms`) or a scenario file
    #[arg(value_name = "ALGORITHM|SCENARIO.txt")]
    pub(crate) target: String,

    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// The order of the processes on the ring
    #[arg(long, value_enum, conflicts_with = "ids", help_heading = "Cluster", display_order = 1)]
    pub(crate) order: Option<Order>,

    /// Crash this process; give several ids as 1,4@2s
    #[arg(long, value_name = "ID[@TIME]", help_heading = "What happens")]
    pub(crate) crash: Vec<String>,
    /// Start this process again, with its durable state
    #[arg(long, value_name = "ID@TIME", help_heading = "What happens")]
    pub(crate) recover: Vec<String>,
    /// Pause this process: its messages and timers wait
    #[arg(long, value_name = "ID@FROM..TO", help_heading = "What happens")]
    pub(crate) pause: Vec<String>,
    /// Slow this process down: every event takes it this long
    #[arg(long, value_name = "ID=SPAN@FROM..TO", help_heading = "What happens")]
    pub(crate) slow: Vec<String>,
    /// Stop all messages between the sides
    #[arg(long, value_name = "1,2|3,4,5@FROM..TO", help_heading = "What happens")]
    pub(crate) partition: Vec<String>,
    /// Stop all messages from the first to the second; the other direction works
    #[arg(long, value_name = "1,2>3@FROM..TO", help_heading = "What happens")]
    pub(crate) cut: Vec<String>,
    /// A random cluster and random crashes and recoveries instead, within what the algorithm
    /// assumes
    #[arg(long, help_heading = "What happens", display_order = 103)]
    pub(crate) chaos: bool,

    /// How long messages take: 10ms, 5ms..20ms, exp:10ms, lognormal:10ms,0.5 [default: 10ms]
    #[arg(long, value_name = "LATENCY", allow_hyphen_values = true, help_heading = "Network")]
    pub(crate) latency: Option<String>,
    /// A link with a latency of its own: 1->2=50ms
    #[arg(long, value_name = "LINK=LATENCY", help_heading = "Network")]
    pub(crate) link: Vec<String>,
    /// The probability that a message is lost
    #[arg(long, value_name = "P", allow_negative_numbers = true, help_heading = "Network")]
    pub(crate) loss: Option<String>,
    /// The probability that a message arrives twice
    #[arg(long, value_name = "P", allow_negative_numbers = true, help_heading = "Network")]
    pub(crate) duplicate: Option<String>,
    /// Messages may overtake each other on a link
    #[arg(long, help_heading = "Network")]
    pub(crate) reorder: bool,

    /// The seed of everything random [default: 0]
    #[arg(long, value_name = "S", allow_negative_numbers = true, help_heading = "Run")]
    pub(crate) seed: Option<u64>,
    /// Run N seeds from --seed on, on all cores, and list those that fail
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Run")]
    pub(crate) seeds: Option<u64>,
    /// Stop at this time [default: when nothing is left to happen]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Run")]
    pub(crate) until: Option<String>,

    /// Go on after a violation, which otherwise ends the run
    #[arg(long, conflicts_with = "seeds", help_heading = "Run")]
    pub(crate) keep_going: bool,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Write this run as a scenario; a failing run is shrunk first
    #[arg(long, value_name = "FILE", conflicts_with = "seeds", help_heading = "Output")]
    pub(crate) save: Option<PathBuf>,
}

/// The flags that `sim` and `host` share.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Let this process suspect the coordinator; switches detection off
    #[arg(long, value_name = "ID[@TIME]", help_heading = "What happens")]
    pub(crate) detect: Vec<String>,
    /// Let all processes start an election at the beginning; switches detection off
    #[arg(long, help_heading = "What happens")]
    pub(crate) all_start: bool,
    #[command(flatten)]
    pub(crate) asked: AskArgs,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) own: OwnArgs<false>,
}

/// Who takes part, and how they are set: for `sim` and `host`, and in other words for `check`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Processes 1 to N [default: 5]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) nodes: Option<u32>,
    /// Processes with these ids, in this order on the ring: 3,5,0,1,4,6 or 0..7
    #[arg(long, value_name = "LIST", conflicts_with = "nodes")]
    pub(crate) ids: Option<String>,
    /// The coordinator at the beginning: an id or none [default: the largest id]
    #[arg(long, value_name = "ID|none")]
    pub(crate) coordinator: Option<String>,
    /// T: how long to wait for an answer [default: three times the longest latency]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) timeout: Option<String>,
    /// Whether processes watch their coordinator [default: on, but off with
    /// --detect or --all-start; where there is a critical section, on only if anything can fail]
    #[arg(long, value_enum, value_name = "ON|OFF")]
    pub(crate) detection: Option<Switch>,
    /// Whether processes on a ring acknowledge messages, to find dead neighbours [default: on
    /// if anything can fail]
    #[arg(long, value_enum, value_name = "ON|OFF")]
    pub(crate) acknowledge: Option<Switch>,
}

/// How a run is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print every event in this format
    #[arg(long, value_enum)]
    pub(crate) trace: Option<TraceFormat>,
    /// Write the trace to this file
    #[arg(long, value_name = "FILE", requires = "trace")]
    pub(crate) out: Option<PathBuf>,
    /// Record the state of every process: in a JSON trace after every step, for the explorer; in an
    /// SVG trace at the end
    #[arg(long, requires = "trace")]
    pub(crate) states: bool,
    /// Print no events, only the summary
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// 1, 2, 3, ...
    Ascending,
    /// ..., 3, 2, 1
    Descending,
    /// At random, by the seed
    Shuffled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// An aligned table with Lamport and vector stamps
    Text,
    /// JSON Lines; see docs/traces.md
    Json,
    /// A space-time diagram, below the pictures of the run, such as clocks over time
    Svg,
    /// A Mermaid sequence diagram
    Mermaid,
    /// A PlantUML sequence diagram
    Plantuml,
    /// For the ShiViz visualiser
    Shiviz,
    /// For Graphviz: the graphs of the run, such as the deadlocks that were found
    Dot,
}

impl SimArgs {
    /// The flags that say what the cluster is and what happens to it, and whether they are given.
    pub(crate) fn cluster_flags(&self) -> Vec<(&'static str, bool)> {
        let cluster = &self.run.cluster;
        let mut flags = vec![
            ("nodes", cluster.nodes.is_some()),
            ("ids", cluster.ids.is_some()),
            ("order", self.order.is_some()),
            ("coordinator", cluster.coordinator.is_some()),
            ("timeout", cluster.timeout.is_some()),
            ("detection", cluster.detection.is_some()),
            ("acknowledge", cluster.acknowledge.is_some()),
            ("detect", !self.run.detect.is_empty()),
            ("all-start", self.run.all_start),
            ("crash", !self.crash.is_empty()),
            ("recover", !self.recover.is_empty()),
            ("pause", !self.pause.is_empty()),
            ("slow", !self.slow.is_empty()),
            ("partition", !self.partition.is_empty()),
            ("cut", !self.cut.is_empty()),
            ("offset", !self.run.asked.offset.is_empty()),
            ("drift", !self.run.asked.drift.is_empty()),
            ("ask", !self.run.asked.ask.is_empty()),
            ("latency", self.latency.is_some()),
            ("link", !self.link.is_empty()),
            ("loss", self.loss.is_some()),
            ("duplicate", self.duplicate.is_some()),
            ("reorder", self.reorder),
        ];
        flags.extend(self.run.work.flags());
        flags.extend(self.run.own.flags());
        flags
    }
}

impl OutputArgs {
    /// Refuses what contradicts itself.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        one_output(self.json, self.quiet, self.shows_trace())?;
        if self.states && !matches!(self.trace, Some(TraceFormat::Json | TraceFormat::Svg)) {
            let what = "only a trace in JSON or SVG has states; use --trace json or --trace svg";
            return Err(Failure::flag("states", what));
        }
        Ok(())
    }

    /// Whether the trace has the whole of standard output.
    pub(crate) fn shows_trace(&self) -> bool {
        self.trace.is_some() && self.out.is_none()
    }

    /// Where the trace goes.
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        Target::file_or_terminal("out", self.out.as_deref())
    }

    /// Shows a run: its trace in the format that was asked for, its story and its summary.
    pub(crate) fn show(
        &self,
        target: Target,
        trace: Option<&Trace>,
        story: impl FnOnce(&Trace) -> String,
        report: &Report<'_>,
    ) -> Result<(), Failure> {
        if let (Some(trace), Some(format)) = (trace, self.trace) {
            target.write(&rendered(trace, &report.outcome.pictures, format)?)?;
        }
        if self.json {
            return print(&report.json());
        }
        if self.shows_trace() {
            return Ok(());
        }
        if let Some(trace) = trace.filter(|_| !self.quiet) {
            print(&story(trace))?;
        }
        print(&report.text())
    }
}

/// Refuses a trace on standard output beside something else.
pub(crate) fn one_output(json: bool, quiet: bool, shows_trace: bool) -> Result<(), Failure> {
    let why = match (json, quiet) {
        (true, _) => "--json and --trace both want standard output",
        (false, true) => "--quiet and --trace contradict each other",
        (false, false) => return Ok(()),
    };
    match shows_trace {
        true => Err(Failure::Input(format!("{why}; give --out FILE for the trace"))),
        false => Ok(()),
    }
}
