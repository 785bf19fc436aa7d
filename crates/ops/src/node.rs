//! `bellwether node`: one member of a real cluster.

use bellwether_http::Extra;
use bellwether_net::stages;
use bellwether_node::config::{self, Overrides, Settings};
use bellwether_shell::{Failure, Verdict, complain, print};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// The configuration, in TOML
    #[arg(long, value_name = "FILE", env = "BELLWETHER_CONFIG")]
    config: PathBuf,
    /// Print the effective configuration and its warnings, and start nothing
    #[arg(long)]
    check_config: bool,
    /// Write to this file, at the end, when requests passed each stage: for measurements
    #[arg(long, value_name = "FILE", hide = true)]
    stages: Option<PathBuf>,

    #[command(flatten)]
    over: OverrideArgs,
}

/// What is set here goes before what the configuration says.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Over the configuration")]
struct OverrideArgs {
    /// Which of the members this is
    #[arg(long, value_name = "ID", env = "BELLWETHER_ID", allow_hyphen_values = true)]
    id: Option<String>,
    /// Where to listen for the other members
    #[arg(long, value_name = "IP:PORT", env = "BELLWETHER_LISTEN")]
    listen: Option<String>,
    /// Where to serve the API and metrics, or off
    #[arg(long, value_name = "IP:PORT|off", env = "BELLWETHER_HTTP")]
    http: Option<String>,
    /// The directory of the durable state
    #[arg(long, value_name = "DIR", env = "BELLWETHER_DATA")]
    data: Option<String>,
    /// The election; all members must have the same
    #[arg(long, value_name = "NAME", env = "BELLWETHER_ELECTION")]
    election: Option<String>,
    /// The time-outs: default, fast or wide
    #[arg(long, value_name = "PROFILE", env = "BELLWETHER_PROFILE")]
    profile: Option<String>,
    /// What to log: error, warn, info, debug, trace, or levels by module
    #[arg(long, value_name = "LEVEL", env = "BELLWETHER_LOG")]
    log: Option<String>,
    /// How to log: text or json
    #[arg(long, value_name = "FORMAT", env = "BELLWETHER_LOG_FORMAT")]
    log_format: Option<String>,
    /// Join a cluster that runs: wait until `bellwether members add` has added this member
    #[arg(long, env = "BELLWETHER_JOIN")]
    join: bool,
    /// Allow partitions to be made over HTTP: for development only
    #[arg(long, hide = true)]
    dev_faults: bool,
}

pub(crate) fn run(args: &NodeArgs, extra: Extra) -> Result<Verdict, Failure> {
    let OverrideArgs { id, listen, http, data, election, profile, log, log_format, .. } =
        args.over.clone();
    let OverrideArgs { join, dev_faults, .. } = args.over;
    let overrides =
        Overrides { id, listen, http, data, election, profile, log, log_format, join, dev_faults };
    let settings = load(&args.config, &overrides)?;
    if args.check_config {
        return check(&settings);
    }
    let Some(file) = &args.stages else { return start(settings, extra) };
    stages::record();
    let verdict = start(settings, extra);
    std::fs::write(file, stages::to_text(&stages::take()))
        .map_err(|error| Failure::Write("--stages", file.clone(), error))?;
    verdict
}

/// Reads a configuration.
pub(crate) fn load(config: &Path, overrides: &Overrides) -> Result<Settings, Failure> {
    config::load(config, overrides)
        .map_err(|error| failed(&bellwether_node::Failure::Config(error)))
}

/// Is a member until it is told to end.
pub(crate) fn start(settings: Settings, extra: Extra) -> Result<Verdict, Failure> {
    if settings.proof_of_death {
        // First of all: a process with threads cannot be split.
        bellwether_node::proof::split(settings.id).map_err(|error| {
            let what = format!("cannot start the parent that waits for this member: {error}");
            let advice = "set 'proof_of_death = \"off\"' in the configuration to run without it";
            failed(&bellwether_node::Failure::Start(format!("{what}; {advice}")))
        })?;
    }
    bellwether_node::logs::start(&settings.log);
    bellwether_node::run(settings, extra).map_err(|error| failed(&error))?;
    Ok(Verdict::Well)
}

/// The configuration on standard output, so that it can be kept; the warnings beside it.
fn check(settings: &Settings) -> Result<Verdict, Failure> {
    for warning in &settings.warnings {
        complain(&format!("warning: {warning}"));
    }
    print(&settings.to_string())?;
    bellwether_node::identity(settings).map_err(|error| {
        Failure::Exit(error.exit_code(), format!("the member would not start: {error}"))
    })?;
    Ok(Verdict::Well)
}

fn failed(failure: &bellwether_node::Failure) -> Failure {
    Failure::Exit(failure.exit_code(), failure.to_string())
}
