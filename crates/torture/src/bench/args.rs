//! The flags of `bellwether bench`.

use bellwether_ops::cluster::ShapeArgs;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// How long it takes until all members name a new coordinator
    Failover(FailoverArgs),
    /// What a fault of a member costs its clients, beside what it costs the cluster
    Clients(ClientsArgs),
    /// How long a lock takes from one waiting client to the next
    Queue(QueueArgs),
    /// What a cluster costs that nothing happens to, and whether it stays quiet
    Quiet(QuietArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ClientsArgs {
    /// How often each fault happens
    #[arg(long, value_name = "N", default_value = "10", allow_negative_numbers = true)]
    pub(crate) trials: String,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct QueueArgs {
    /// How many clients wait, one measurement for each number; a number may come several times
    #[arg(long, value_name = "N,N,..", default_value = "20,100,500")]
    pub(crate) waiters: String,
    /// Each waits as a process, `bellwether lock NAME -- true`, instead of in this one
    #[arg(long)]
    pub(crate) processes: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
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
