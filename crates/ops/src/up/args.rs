//! The flags of `bellwether up`.

use bellwether_algorithms::election::any::Choice;
use bellwether_shell::{Failure, whole_number};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// More members than this on one machine would only measure the machine.
const NODES_MAX: u64 = 64;

const PROFILES: [&str; 3] = ["default", "fast", "wide"];

#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
    /// Keep certificates, configurations, states and logs in this directory, and continue from what
    /// is there [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The HTTP port of member 1; the others follow. 0: any that are free
    #[arg(long, value_name = "PORT", default_value = "0", allow_negative_numbers = true)]
    pub(crate) http_port: String,
    /// The HTTP port of the dashboard, from which the cluster can be watched and broken. 0: any that
    /// is free
    #[arg(long, value_name = "PORT", default_value = "0", allow_negative_numbers = true)]
    pub(crate) http: String,
    /// End after this time [default: when told to]
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, help_heading = "Run")]
    pub(crate) length: Option<String>,
    /// One line per change instead of the live view, and commands from standard input
    #[arg(long, help_heading = "Run")]
    pub(crate) plain: bool,
}

/// What all commands that start a whole cluster have in common.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub struct ShapeArgs {
    /// Members 1 to N
    #[arg(long, value_name = "N", default_value = "5", allow_negative_numbers = true)]
    pub(crate) nodes: String,
    /// The election (see `bellwether algorithms`)
    #[arg(long, value_name = "NAME", default_value = "bully")]
    pub(crate) election: String,
    /// The time-outs: default, fast or wide
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// When a stronger member takes over from a weaker one: always, never or "after 30s"
    /// [default: always]
    #[arg(long, value_name = "WHEN")]
    pub(crate) preempt: Option<String>,
}

/// One of the members that a whole cluster consists of.
#[derive(Debug, Args)]
pub(crate) struct UpMemberArgs {
    /// The process that starts it, with which it ends
    pub(crate) parent: i32,
    /// Its configuration
    pub(crate) config: PathBuf,
    /// Where that process serves its dashboard, if it does
    pub(crate) dashboard: Option<String>,
}

/// A cluster to be started, checked.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Members 1 to this.
    pub nodes: u32,
    /// How they elect their coordinator.
    pub election: String,
    /// Their time-outs.
    pub profile: &'static str,
    /// When a stronger member takes over from a weaker one.
    pub preempt: Option<String>,
    /// Where HTTP is served by member 1; anywhere if 0.
    pub http_port: u16,
}

impl ShapeArgs {
    /// Checks everything.
    pub fn shape(&self, profile: &str, http_port: u16) -> Result<Shape, Failure> {
        let nodes = whole_number("nodes", &self.nodes, 1..=NODES_MAX)? as u32;
        if Choice::named(&self.election).is_none() {
            let all = Choice::NAMES.join(", ");
            let what = format!("no election '{}'; there are {all}", self.election);
            return Err(Failure::flag("election", what));
        }
        let wanted = self.profile.as_deref().unwrap_or(profile);
        let Some(profile) = PROFILES.into_iter().find(|known| *known == wanted) else {
            let what = format!("no profile '{wanted}'; there are {}", PROFILES.join(", "));
            return Err(Failure::flag("profile", what));
        };
        if let Some(when) = &self.preempt {
            let span = when.strip_prefix("after ").map(bellwether_algorithms::options::duration);
            if !matches!(when.as_str(), "always" | "never") && !matches!(span, Some(Ok(_))) {
                let what = format!("'{when}' is not one of always, never, \"after 30s\"");
                return Err(Failure::flag("preempt", what));
            }
        }
        Ok(Shape {
            nodes,
            election: self.election.clone(),
            profile,
            preempt: self.preempt.clone(),
            http_port,
        })
    }
}

impl UpArgs {
    pub(crate) fn shape(&self) -> Result<Shape, Failure> {
        let port = port("http-port", &self.http_port)?;
        let shape = self.shape.shape("default", port)?;
        if port > 0 && u32::from(port) + shape.nodes - 1 > u32::from(u16::MAX) {
            let what = format!("{} ports from {port} on go beyond 65535", shape.nodes);
            return Err(Failure::flag("http-port", what));
        }
        Ok(shape)
    }

    /// The port of the dashboard; any if 0.
    pub(crate) fn dashboard(&self) -> Result<u16, Failure> {
        port("http", &self.http)
    }

    pub(crate) fn length(&self) -> Result<Option<Duration>, Failure> {
        let length =
            self.length.as_deref().map(bellwether_algorithms::options::duration).transpose();
        length.map_err(|what| Failure::flag("for", what))
    }
}

fn port(flag: &'static str, text: &str) -> Result<u16, Failure> {
    text.parse().map_err(|_| {
        let what = format!("'{text}' is not a port: a whole number up to 65535");
        Failure::flag(flag, what)
    })
}
