//! `bellwether certs`: an authority and certificates for development.

use bellwether_algorithms::options;
use bellwether_core::{Group, NodeId};
use bellwether_net::certs::{Files, prepare_all};
use bellwether_shell::{Failure, Verdict, print, whole_number};
use clap::Args;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// No cluster has more, and a typing error should not fill the disk.
const MEMBERS_MAX: usize = 1_000;

#[derive(Debug, Args)]
pub(crate) struct CertsArgs {
    /// The cluster's name, as in its configuration
    #[arg(long, value_name = "NAME")]
    cluster: String,
    /// The members: 1..5 or 1,2,3
    #[arg(long, value_name = "LIST", required_unless_present = "client")]
    ids: Option<String>,
    /// A client's name, for its certificate; may be given several times
    #[arg(long, value_name = "NAME")]
    client: Vec<String>,
    /// The directory for the files; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How long the certificates are valid
    #[arg(long, value_name = "DAYS", default_value = "365", allow_negative_numbers = true)]
    days: String,
}

pub(crate) fn run(args: &CertsArgs) -> Result<Verdict, Failure> {
    let members = args.ids.as_deref().map_or(Ok(Vec::new()), members)?;
    let days = whole_number("days", &args.days, 1..=3_650)? as u32;
    bellwether_net::check_cluster(&args.cluster)
        .map_err(|error| Failure::flag("cluster", error))?;
    for name in &args.client {
        bellwether_net::check_client(name).map_err(|error| Failure::flag("client", error))?;
    }
    let clients: Vec<&str> = args.client.iter().map(String::as_str).collect();
    let written = prepare_all(&args.out, &args.cluster, &members, &clients, days)
        .map_err(|error| Failure::flag("out", error))?;
    if written.is_empty() {
        let what = format!(
            "all of these certificates are in {} already, and nothing is ever overwritten; move \
             them away to have new ones made, or name another directory",
            args.out.display()
        );
        return Err(Failure::flag("out", what));
    }
    print(&summary(args, days, &members, &written))?;
    Ok(Verdict::Well)
}

fn members(list: &str) -> Result<Vec<NodeId>, Failure> {
    let ids = options::ids(list).map_err(|what| Failure::flag("ids", what))?;
    if ids.len() > MEMBERS_MAX {
        let what = format!("{} members are too many; at most {MEMBERS_MAX}", ids.len());
        return Err(Failure::flag("ids", what));
    }
    let group = Group::new(ids).map_err(|error| Failure::flag("ids", error))?;
    Ok(group.ring().to_vec())
}

fn summary(args: &CertsArgs, days: u32, members: &[NodeId], written: &[PathBuf]) -> String {
    let mut text = String::new();
    let cluster = &args.cluster;
    let _ = writeln!(text, "made, valid for {days} days, for cluster {cluster}:");
    for path in written {
        let _ = writeln!(text, "  {}{}", path.display(), note(path));
    }
    let kept = (2 * (members.len() + args.client.len()) + 2).saturating_sub(written.len());
    if kept > 0 {
        let _ = writeln!(text, "{kept} files were there already and are kept");
    }
    let Some(first) = members.first() else { return text };
    let folder = std::fs::canonicalize(&args.out).unwrap_or_else(|_| args.out.clone());
    let files = Files::of(&folder, *first);
    let with_id = |path: &Path| {
        // All members can share one configuration: {id} is replaced by the number.
        let (from, to) = (format!("member-{}", first.number()), "member-{id}");
        path.display().to_string().replace(&from, to)
    };
    let _ = writeln!(text, "\nfor the configuration of every member:\n");
    let _ = writeln!(text, "[tls]\nca = \"{}\"", files.ca.display());
    let _ = writeln!(text, "certificate = \"{}\"", with_id(&files.certificate));
    let _ = writeln!(text, "key = \"{}\"", with_id(&files.key));
    text
}

fn note(path: &Path) -> &'static str {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    match name.as_deref() {
        Some("ca-key.pem") => {
            "  signs further certificates; keep it off the hosts of members and clients"
        }
        Some("ca.pem") => "  every member and every client needs it",
        Some(name) if name.starts_with("client-") && name.ends_with("-key.pem") => {
            "  secret, for this client only"
        }
        Some(name) if name.ends_with("-key.pem") => "  secret, for this member only",
        _ => "",
    }
}
