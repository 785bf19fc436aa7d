//! The flags of `bellwether bench`.

use bellwether_ops::cluster::ShapeArgs;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// How long it takes until all members name a new coordinator
    Failover(FailoverArgs),
    /// What a cluster costs that nothing happens to, and whether it stays quiet
    Quiet(QuietArgs),
}

#[derive(Debug, Args)]
pub(crate) struct FailoverArgs {
    /// How often each kind of fault happens
    #[arg(long, value_name = "N", default_value = "30", allow_negative_numbers = true)]
    pub(crate) trials: String,
    /// Measure graceful step-downs instead of faults
    #[arg(long)]
    pub(crate) step_down: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct QuietArgs {
    /// For how long
    #[arg(long = "for", value_name = "TIME", default_value = "10m", allow_hyphen_values = true)]
    pub(crate) length: String,
    /// Keep all cores busy meanwhile
    #[arg(long)]
    pub(crate) busy: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
}
