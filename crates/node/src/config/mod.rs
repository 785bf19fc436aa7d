//! The configuration of one member: a TOML file, with flags and environment over it.
//!
//! Everything that is wrong is found before anything is started, and as much of it as possible at
//! once. What is not wrong but probably not wanted is a warning.

mod load;
mod problem;
mod read;
mod sessions;
mod show;
mod units;

pub use load::load;
pub use problem::{ConfigError, Place, Problem};
pub use units::address as member_address;

use bellwether_core::{Group, GroupError, NodeId};
use bellwether_member::{Choices, Members, Ranks};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The name of the socket's file if nothing is said.
const DEFAULT_SOCKET: &str = "bellwether.sock";

/// The same of the operator token's.
const DEFAULT_TOKEN: &str = "operator.token";

/// Everything that a member is started with, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The file that it came from.
    pub file: PathBuf,
    /// What the command line and the environment said over it.
    pub overrides: Overrides,
    /// The cluster's name.
    pub cluster: String,
    /// This member's number.
    pub id: NodeId,
    /// Where it listens for the other members.
    pub listen: SocketAddr,
    /// Where it serves HTTP; nowhere if `None`.
    pub http: Option<SocketAddr>,
    /// Names of this host that HTTP requests may use, beside those that the members are configured with.
    pub http_names: Vec<String>,
    /// The file of the operator token, which commands over HTTP need.
    pub operator_token: PathBuf,
    /// The Unix socket for clients of the same host; none if `None`.
    pub socket: Option<PathBuf>,
    /// Which users may connect there.
    pub socket_access: SocketAccess,
    /// The directory of its durable state.
    pub data: PathBuf,
    /// The set of time-outs that was chosen.
    pub profile: Profile,
    /// The election, the time-outs, the quorum and the durability.
    pub choices: Choices,
    /// Whether it runs under a parent that proves its death to the others.
    pub proof_of_death: bool,
    /// Its certificate.
    pub tls: Tls,
    /// Its log.
    pub log: Log,
    /// What the network may take.
    pub limits: Limits,
    /// What clients may have.
    pub sessions: Sessions,
    /// Whether this member joins a cluster that runs. It votes only when the cluster has added it, and it asks the
    /// other members of the list below.
    pub join: bool,
    /// The members that found the cluster, itself included, in ring order. As soon as the log has a member list, that
    /// counts.
    pub members: Vec<Peer>,
    /// Whether partitions can be made over HTTP: for development only.
    pub dev_faults: bool,
    /// Where the process that started the whole cluster serves its dashboard, `host:port`, if one
    /// did. Not in the file: that process says so.
    pub up: Option<String>,
    /// What an operator should know.
    pub warnings: Vec<String>,
}

/// Which users may connect to the Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketAccess {
    /// The permissions of its file.
    pub mode: u32,
    /// The number of its group; the member's own if `None`.
    pub group: Option<u32>,
}

/// A set of time-outs by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// A lost coordinator is replaced within half a second.
    Default,
    /// Within a tenth of a second; for a quiet local network.
    Fast,
    /// Within three seconds; for long or uneven delays.
    Wide,
}

/// The files of a member's certificate, in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificate of the cluster's authority.
    pub ca: PathBuf,
    /// The member's own.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// How the log is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// For people or for programs.
    pub format: LogFormat,
    /// What is worth a line: a level, or a filter in the words of the `tracing` crate.
    pub level: String,
}

/// The readers that the log is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people: a line of text.
    Text,
    /// For programs: a line of JSON.
    Json,
}

/// What the network may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many messages may wait for one member.
    pub queue: usize,
    /// How long a message waits for a member that is not connected.
    pub stale_after: Duration,
    /// How many connections may be in the middle of their greeting.
    pub greetings: usize,
}

/// What clients may have. A coordinator serves by its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sessions {
    /// How much is served, of sessions and all that they ask for.
    pub limits: bellwether_coordination::Limits,
    /// What is done about deadlocks.
    pub on_deadlock: bellwether_coordination::OnDeadlock,
    /// How many clients may be connected to this member.
    pub connections: usize,
    /// How many sessions one client may have at this member.
    pub per_client: u32,
}

/// One member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its number.
    pub id: NodeId,
    /// Where the others reach it.
    pub address: String,
    /// Where its HTTP API is, for programs that look for the others.
    pub http: Option<String>,
    /// Higher ones are preferred; equal ones by number.
    pub priority: u32,
    /// Whether it votes and never leads.
    pub witness: bool,
}

/// What the command line and the environment say, over what the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--id`
    pub id: Option<String>,
    /// `--listen`
    pub listen: Option<String>,
    /// `--http`
    pub http: Option<String>,
    /// `--data`
    pub data: Option<String>,
    /// `--election`
    pub election: Option<String>,
    /// `--profile`
    pub profile: Option<String>,
    /// `--log`
    pub log: Option<String>,
    /// `--log-format`
    pub log_format: Option<String>,
    /// `--join`
    pub join: bool,
    /// `--dev-faults`
    pub dev_faults: bool,
}

impl Settings {
    /// The members in ring order.
    pub fn group(&self) -> Result<Group, GroupError> {
        Group::new(self.members.iter().map(|peer| peer.id).collect())
    }

    /// The order of the members by strength.
    pub fn ranks(&self, group: &Group) -> Ranks {
        let priorities: BTreeMap<_, _> =
            self.members.iter().map(|peer| (peer.id, peer.priority)).collect();
        let witnesses: BTreeSet<_> =
            self.members.iter().filter(|peer| peer.witness).map(|peer| peer.id).collect();
        Ranks::new(group, priorities, witnesses)
    }

    /// Where the socket is if nothing is said.
    pub fn default_socket(&self) -> PathBuf {
        self.data.join(DEFAULT_SOCKET)
    }

    /// What must be the same at all members: with different values there would be two coordinators, or
    /// none.
    pub fn must_agree(&self) -> Vec<(&'static str, String)> {
        let choices = &self.choices;
        vec![
            ("quorum", format!("{:?}", choices.quorum).to_lowercase()),
            ("election", choices.election.name().to_owned()),
        ]
    }

    /// The same of what the log can change (G16), as long as it has not.
    pub fn leases_agree(&self) -> Vec<(&'static str, String)> {
        let Choices { lease, drift_ppm, .. } = self.choices;
        vec![("lease", format!("{lease:?}")), ("drift_ppm", drift_ppm.to_string())]
    }

    /// The same of the list of members, which must agree until the log has one.
    pub fn founders_agree(&self) -> Vec<(&'static str, String)> {
        let member = |peer: &Peer| {
            let witness = if peer.witness { "w" } else { "" };
            let priority = match peer.priority {
                0 => String::new(),
                priority => format!("+{priority}"),
            };
            format!("{}{witness}{priority}", peer.id.number())
        };
        let mut members: Vec<&Peer> = self.members.iter().collect();
        members.sort_by_key(|peer| peer.id);
        vec![("members", members.into_iter().map(member).collect::<Vec<_>>().join(" "))]
    }

    /// The list by which this member goes until its log has one: empty for a member that joins.
    pub fn founders(&self) -> Members {
        let founders = self.members.iter().filter(|_| !self.join);
        Members::founded(founders.map(|peer| (peer.id, peer.address.as_str().into())))
    }

    /// How the configuration describes a member, if it does.
    pub fn peer(&self, id: NodeId) -> Option<&Peer> {
        self.members.iter().find(|peer| peer.id == id)
    }

    /// The folder of the log. Its name says whose it is, so that members may share a directory.
    pub fn log_folder(&self) -> PathBuf {
        self.data.join(format!("{}-{}.log", self.cluster, self.id.number()))
    }
}

impl Profile {
    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Default => "default",
            Profile::Fast => "fast",
            Profile::Wide => "wide",
        }
    }

    fn choices(self) -> Choices {
        match self {
            Profile::Default => Choices::default(),
            Profile::Fast => Choices::fast(),
            Profile::Wide => Choices::wide(),
        }
    }
}

impl LogFormat {
    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { queue: 1024, stale_after: Duration::from_secs(1), greetings: 64 }
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Sessions {
            limits: Default::default(),
            on_deadlock: Default::default(),
            connections: 10_000,
            per_client: 10_000,
        }
    }
}
