//! `bellwether node`: one member of a real cluster.

use bellwether_http::Extra;
use bellwether_node::config::{self, Overrides, Settings};
use bellwether_shell::{Failure, Verdict, complain, print};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct NodeArgs {
    /// The configuration, in TOML
    #[arg(long, value_name = "FILE", env = "BELLWETHER_CONFIG")]
    config: PathBuf,
    /// Print the effective configuration and its warnings, and start nothing
    #[arg(long)]
    check_config: bool,

    /// Which of the members this is
    #[arg(
        long,
        value_name = "ID",
        env = "BELLWETHER_ID",
        allow_hyphen_values = true,
        help_heading = "Over the configuration"
    )]
    id: Option<String>,
    /// Where to listen for the other members
    #[arg(
        long,
        value_name = "IP:PORT",
        env = "BELLWETHER_LISTEN",
        help_heading = "Over the configuration"
    )]
    listen: Option<String>,
    /// Where to serve the API and metrics, or off
    #[arg(
        long,
        value_name = "IP:PORT|off",
        env = "BELLWETHER_HTTP",
        help_heading = "Over the configuration"
    )]
    http: Option<String>,
    /// The directory of the durable state
    #[arg(
        long,
        value_name = "DIR",
        env = "BELLWETHER_DATA",
        help_heading = "Over the configuration"
    )]
    data: Option<String>,
    /// The election; all members must have the same
    #[arg(
        long,
        value_name = "NAME",
        env = "BELLWETHER_ELECTION",
        help_heading = "Over the configuration"
    )]
    election: Option<String>,
    /// The time-outs: default, fast or wide
    #[arg(
        long,
        value_name = "PROFILE",
        env = "BELLWETHER_PROFILE",
        help_heading = "Over the configuration"
    )]
    profile: Option<String>,
    /// What to log: error, warn, info, debug, trace, or levels by module
    #[arg(
        long,
        value_name = "LEVEL",
        env = "BELLWETHER_LOG",
        help_heading = "Over the configuration"
    )]
    log: Option<String>,
    /// How to log: text or json
    #[arg(
        long,
        value_name = "FORMAT",
        env = "BELLWETHER_LOG_FORMAT",
        help_heading = "Over the configuration"
    )]
    log_format: Option<String>,
    /// Allow partitions to be made over HTTP: for development only
    #[arg(long, hide = true)]
    dev_faults: bool,
}

pub(crate) fn run(args: &NodeArgs, extra: Extra) -> Result<Verdict, Failure> {
    let overrides = Overrides {
        id: args.id.clone(),
        listen: args.listen.clone(),
        http: args.http.clone(),
        data: args.data.clone(),
        election: args.election.clone(),
        profile: args.profile.clone(),
        log: args.log.clone(),
        log_format: args.log_format.clone(),
        dev_faults: args.dev_faults,
    };
    let settings = config::load(&args.config, &overrides)
        .map_err(|error| failed(&bellwether_node::Failure::Config(error)))?;
    if args.check_config {
        return check(&settings);
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
    if let Err(error) = bellwether_node::identity(settings) {
        complain(&format!("warning: the member would not start: {error}"));
    }
    print(&settings.to_string())?;
    Ok(Verdict::Well)
}

fn failed(failure: &bellwether_node::Failure) -> Failure {
    Failure::Exit(failure.exit_code(), failure.to_string())
}
