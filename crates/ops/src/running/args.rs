//! The flags of `bellwether campaign` and `bellwether lock`.

use bellwether::{Endpoints, SessionOptions};
use bellwether_algorithms::options;
use bellwether_shell::Failure;
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names longer than this are cut where people read them.
const NAME_MAX: usize = 64;

#[derive(Debug, Args)]
pub(crate) struct CampaignArgs {
    /// The role
    pub(super) role: String,
    /// Fill the role by priority; higher numbers are preferred. All candidates of a role must use the
    /// same policy
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Role")]
    pub(super) priority: Option<String>,
    /// Fill the role by priority; the leader yields to a candidate with a higher priority
    #[arg(long, help_heading = "Role")]
    pub(super) preempt: bool,
    /// Fill the role by priority; this candidate has priority 0 unless --priority is given
    #[arg(long, help_heading = "Role")]
    pub(super) by_priority: bool,
    /// A value that this candidate publishes while it leads, such as its address
    #[arg(long, value_name = "TEXT", default_value = "", help_heading = "Role")]
    pub(super) value: String,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    /// The lock; several, separated by commas or blanks, are acquired all at once or not at all
    #[arg(value_name = "NAME", required = true, value_delimiter = ',')]
    pub(super) names: Vec<String>,
    /// Acquire it shared, together with other readers
    #[arg(long, conflicts_with = "permits", help_heading = "Lock")]
    pub(super) shared: bool,
    /// Acquire it as a semaphore: 5 is one of five permits, 2/5 are two of five. All users must give
    /// the same total
    #[arg(long, value_name = "[N/]OF", help_heading = "Lock")]
    pub(super) permits: Option<String>,
    /// Wait at most this long; 0s does not wait [default: no limit]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Lock")]
    pub(super) wait: Option<String>,
    #[command(flatten)]
    pub(super) run: RunArgs,
}

/// What both have in common.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Print only errors
    #[arg(long)]
    pub(super) quiet: bool,
    /// The command and its arguments
    #[arg(
        last = true,
        required_unless_present = "serve",
        conflicts_with = "serve",
        value_name = "COMMAND"
    )]
    pub(super) job: Vec<OsString>,
    #[command(flatten)]
    pub(super) hooks: Hooks,
    #[command(flatten)]
    session: SessionArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// For programs that ask instead of being run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Without a command")]
pub(super) struct Hooks {
    /// Run no command; answer over HTTP whether it is held: GET /, /watch and /ready
    #[arg(long, value_name = "HOST:PORT|unix:PATH")]
    pub(super) serve: Option<String>,
    /// Run this shell command when it is held, with BELLWETHER_TOKEN in its environment
    #[arg(long, value_name = "LINE", requires = "serve")]
    pub(super) on_elected: Option<String>,
    /// Run this shell command when it is lost or given up
    #[arg(long, value_name = "LINE", requires = "serve")]
    pub(super) on_lost: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Session")]
struct SessionArgs {
    /// TTL: how long the session lasts after its last sign of life; others wait this long if this host
    /// is lost
    #[arg(long, value_name = "TIME", default_value = "10s", allow_hyphen_values = true)]
    ttl: String,
    /// How long the command may take to end when it is asked to (SIGTERM), before it is killed
    #[arg(long, value_name = "TIME", default_value = "3s", allow_hyphen_values = true)]
    grace: String,
    /// The name of the session in lists [default: the command's name and this process's number]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
struct ClusterArgs {
    /// The Unix socket of a member on this host; may be given several times [default: those of
    /// `bellwether up`, or of an installed member]
    #[arg(
        long,
        value_name = "PATH",
        env = "BELLWETHER_SOCKET",
        value_delimiter = ',',
        conflicts_with = "connect"
    )]
    socket: Vec<PathBuf>,
    /// The members' addresses, over TLS; or an etcd cluster: etcd://HOST:PORT,...[/PREFIX]
    #[arg(
        long,
        visible_alias = "address",
        value_name = "HOST:PORT,...",
        env = "BELLWETHER_ENDPOINTS"
    )]
    connect: Option<String>,
    /// The directory with ca.pem and the certificate of this client, for --connect
    #[arg(long, value_name = "DIR", env = "BELLWETHER_CERTS")]
    certs: Option<String>,
    /// The client whose certificate is used, if the directory has several
    #[arg(long, value_name = "NAME", env = "BELLWETHER_CLIENT")]
    client: Option<String>,
}

/// What they come to.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) ttl: Duration,
    pub(super) grace: Duration,
    pub(super) name: String,
}

impl RunArgs {
    pub(super) fn terms(&self) -> Result<Terms, Failure> {
        let ttl =
            options::duration(&self.session.ttl).map_err(|what| Failure::flag("ttl", what))?;
        let grace = &self.session.grace;
        let grace = options::duration(grace).map_err(|what| Failure::flag("grace", what))?;
        if ttl < Duration::from_millis(200) {
            return Err(Failure::flag("ttl", "it is too short; give at least 200ms"));
        }
        // So that an ordinary session never comes near the end of what it can be relied on for.
        if grace > ttl / 2 {
            let what = format!(
                "{grace:?} is more than half of the TTL of {ttl:?}: the command is asked to end so \
                 long before the session does; give a longer --ttl"
            );
            return Err(Failure::flag("grace", what));
        }
        let name = match &self.session.name {
            Some(name) => name.clone(),
            None => {
                let program = self.job.first().map(Path::new).and_then(Path::file_name);
                let program = program.unwrap_or("bellwether".as_ref()).to_string_lossy();
                let program: String = program.chars().take(NAME_MAX).collect();
                format!("{program}[{}]", std::process::id())
            }
        };
        Ok(Terms { ttl, grace, name })
    }

    pub(super) fn endpoints(&self) -> Result<Endpoints, Failure> {
        let ClusterArgs { socket, connect, certs, client } = &self.cluster;
        if let Some(list) = connect {
            return Endpoints::parse(list, certs.as_deref(), client.as_deref())
                .map_err(super::failed);
        }
        let sockets = match socket.as_slice() {
            [] => super::sockets::of_up()?,
            given => given.to_vec(),
        };
        if sockets.is_empty() {
            return Endpoints::from_env_or_default().map_err(super::failed);
        }
        let list: Vec<_> = sockets.iter().map(|path| format!("unix:{}", path.display())).collect();
        Endpoints::parse(&list.join(","), None, None).map_err(super::failed)
    }
}

impl RunArgs {
    /// How the keeper finds the etcd cluster, if it is one: there it ends the session of a command that was killed.
    pub(super) fn on_etcd(&self) -> Option<Vec<String>> {
        let ClusterArgs { connect, certs, client, .. } = &self.cluster;
        let address = connect.as_ref().filter(|list| list.contains("etcd://"))?;
        let mut words = vec!["--address".to_owned(), address.clone()];
        for (flag, value) in [("--certs", certs), ("--client", client)] {
            words.extend(value.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
        }
        Some(words)
    }
}

impl Terms {
    pub(super) fn session(&self) -> SessionOptions {
        SessionOptions { name: self.name.clone(), ttl: self.ttl }
    }
}

impl LockArgs {
    /// How the locks are wanted.
    pub(super) fn how(&self) -> Result<How, Failure> {
        let Some(text) = &self.permits else {
            return Ok(if self.shared { How::Shared } else { How::Exclusive });
        };
        let (take, of) = text.split_once('/').unwrap_or(("1", text));
        match (take.parse(), of.parse()) {
            (Ok(take @ 1..), Ok(of)) if take <= of => Ok(How::Permits(take, of)),
            _ => {
                let what = format!(
                    "'{text}' is not a number of permits; 5 is one of five permits, 2/5 are two of five"
                );
                Err(Failure::flag("permits", what))
            }
        }
    }

    /// How long to wait; as long as it takes if nothing is said.
    pub(super) fn patience(&self) -> Result<Option<Duration>, Failure> {
        let wait = self.wait.as_deref().map(|text| match text {
            "0" => Ok(Duration::ZERO),
            text => options::duration(text),
        });
        wait.transpose().map_err(|what| Failure::flag("wait", what))
    }
}

impl CampaignArgs {
    pub(super) fn rank(&self) -> Result<Option<i32>, Failure> {
        let number = |text: &String| {
            text.parse().map_err(|_| {
                Failure::flag("priority", format!("'{text}' is not a whole number such as 5 or -1"))
            })
        };
        self.priority.as_ref().map(number).transpose()
    }
}

/// How a lock is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum How {
    Exclusive,
    Shared,
    /// The permits to take, and the permits that there are.
    Permits(u32, u32),
}
