//! The command line.

use clap::{Parser, Subcommand};

/// Leader election and locks for your services, and a laboratory of distributed algorithms.
#[derive(Parser)]
#[command(name = "bellwether", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand)]
pub(crate) enum Verb {
    #[cfg(feature = "lab")]
    #[command(flatten)]
    Lab(bellwether_lab::Command),
    #[cfg(feature = "node")]
    #[command(flatten)]
    Server(bellwether_ops::ServerCommand),
    #[cfg(feature = "torture")]
    #[command(flatten)]
    Torture(bellwether_torture::Command),
    #[cfg(feature = "node")]
    #[command(flatten)]
    Client(bellwether_ops::ClientCommand),
}
