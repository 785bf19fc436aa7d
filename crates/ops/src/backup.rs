//! `bellwether backup`, `restore` and `inspect`: the state of a cluster in a file, a new cluster of it, and
//! what a data folder holds.

use crate::asking::{ANSWERS_WITHIN, Sent, Unanswered, refusal};
use crate::up::link::Link;
use crate::watching::runtime;
use crate::whom::Whom;
use bellwether_core::NodeId;
use bellwether_node::backup::{Backup, NotRestored, Restore, Restored, Summary};
use bellwether_node::store::{Inspection, inspect};
use bellwether_shell::{Failure, Verdict, harmless, print, whole_number};
use clap::Args;
use http_body_util::BodyExt;
use hyper::Method;
use serde::Serialize;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::timeout;

/// A file or a folder cannot be used.
const UNUSABLE: u8 = 3;
/// A member that sends nothing for so long hangs.
const STALLED_AFTER: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The HTTP address of any member: the coordinator is asked [default: those of `bellwether up`, or of an
    /// installed member: 127.0.0.1:7480]
    #[arg(long, value_name = "HOST:PORT", env = "BELLWETHER_HTTP")]
    address: Option<String>,
    /// The file to write; it holds secrets, so only you may read it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The file of the coordinator's operator token: operator.token in its data folder [default: that of
    /// `bellwether up`]
    #[arg(long, value_name = "FILE", env = "BELLWETHER_OPERATOR_TOKEN")]
    operator_token: Option<PathBuf>,
    /// Print JSON instead of a summary
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The file that `bellwether backup` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The member's data folder ('data' in its configuration); empty, or not there yet
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The member's number
    #[arg(long, value_name = "ID")]
    id: String,
    /// The name of the new cluster [default: that of the former one]
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// Give only tokens above this one; the same for all members [default: leave room for 1000 terms since
    /// the backup]
    #[arg(long, value_name = "TOKEN")]
    token_floor: Option<String>,
    /// Print JSON instead of a summary
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A member's data folder, or a log folder in it; or a backup
    #[arg(value_name = "DIR|FILE")]
    folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Writes a backup. It is at its place only when it is complete and was read again.
pub(crate) fn backup(args: &BackupArgs) -> Result<Verdict, Failure> {
    let mut whom = Whom::find(args.address.as_deref())?;
    let mut draft = Draft::beside(&args.out)?;
    let member = runtime()?.block_on(async {
        let (link, member) = whom.coordinator().await?;
        let token = whom.operator_token(args.operator_token.as_deref())?;
        download(link, token.as_deref(), &mut draft).await?;
        Ok::<_, Failure>(member)
    })?;
    let backup = Backup::read(&draft.path).map_err(|error| Failure::Exit(65, error.to_string()))?;
    let bytes = draft.keep(&args.out)?;
    let summary = Summary::from(&backup);
    show(args.json, &summary, || {
        let Summary { cluster, term, index, last_token, .. } = &summary;
        let id = summary.cluster_id.as_ref().map_or(String::new(), |id| format!(" (id {id})"));
        format!(
            "wrote {} ({bytes} bytes) from P{member}, the coordinator of cluster {cluster}{id}\n\
             {}, up to entry {index} of term {term}; last token {last_token}\n\
             it holds the keys of sessions: keep it where only operators may read\n",
            args.out.display(),
            counted(summary.sessions, summary.locks, summary.roles)
        )
    })
}

async fn download(mut link: Link, token: Option<&str>, draft: &mut Draft) -> Result<(), Failure> {
    let address = link.address().clone();
    let no_answer = |why: String| Failure::from(Unanswered::NoAnswer(address.clone(), why));
    let sent = Sent { secret: token, ..Sent::default() };
    let asked = timeout(ANSWERS_WITHIN, link.request(Method::GET, "/v1/backup", sent)).await;
    let late = |_| no_answer(format!("no answer within {ANSWERS_WITHIN:?}"));
    let mut response = asked.map_err(late)?.map_err(no_answer)?;
    let status = response.status();
    if !status.is_success() {
        let body = response.into_body().collect().await;
        let body = body.map_err(|error| no_answer(error.to_string()))?.to_bytes();
        return Err(refusal(&address, status, &body).into());
    }
    loop {
        let frame = timeout(STALLED_AFTER, response.body_mut().frame()).await;
        let late = |_| no_answer(format!("nothing more came within {STALLED_AFTER:?}"));
        match frame.map_err(late)? {
            None => return Ok(()),
            Some(Err(error)) => return Err(no_answer(error.to_string())),
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    draft.write(bytes)?;
                }
            }
        }
    }
}

/// A file under another name; it is removed if it does not become the result.
struct Draft {
    path: PathBuf,
    file: File,
}

impl Draft {
    fn beside(out: &Path) -> Result<Self, Failure> {
        let error = match fs::metadata(out) {
            Ok(found) if found.is_dir() => Some(io::ErrorKind::IsADirectory.into()),
            // A device is not a place for a file: it would be replaced by one.
            Ok(found) if !found.is_file() => {
                Some(io::Error::other("it is a device, a socket or a pipe"))
            }
            Ok(_) | Err(_) => None,
        };
        if let Some(error) = error {
            return Err(Failure::Write("out", out.to_owned(), error));
        }
        let mut path = OsString::from(out);
        path.push(format!(".{}.new", std::process::id()));
        let path = PathBuf::from(path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(&path);
        let file = file.map_err(|error| Failure::Write("out", out.to_owned(), error))?;
        Ok(Draft { path, file })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let failed = |error| Failure::Write("out", self.path.clone(), error);
        self.file.write_all(bytes).map_err(failed)
    }

    /// Puts it at its place; when this returns, it survives a crash of the machine.
    fn keep(self, out: &Path) -> Result<u64, Failure> {
        let folder = match out.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let kept = self.file.sync_all().and_then(|()| {
            fs::rename(&self.path, out)?;
            File::open(folder)?.sync_all()?;
            Ok(self.file.metadata()?.len())
        });
        kept.map_err(|error| Failure::Write("out", out.to_owned(), error))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // It has another name if it was kept.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes the data folder of one member of a new cluster.
pub(crate) fn restore(args: &RestoreArgs) -> Result<Verdict, Failure> {
    let id = whole_number("id", &args.id, 0..=u64::from(u32::MAX))?;
    let floor = args.token_floor.as_deref();
    let token_floor =
        floor.map(|text| whole_number("token-floor", text, 0..=u64::MAX)).transpose()?;
    let cluster = args.cluster.as_deref();
    if let Some(name) = cluster {
        bellwether_net::check_cluster(name).map_err(|error| Failure::flag("cluster", error))?;
    }
    let unusable = |error: &dyn std::fmt::Display| Failure::Exit(UNUSABLE, error.to_string());
    let backup = Backup::read(&args.file).map_err(|error| unusable(&error))?;
    let restore = Restore { data: &args.data, id: NodeId::new(id as u32), cluster, token_floor };
    let restored = restore.run(&backup).map_err(|error| match error {
        NotRestored::Floor { .. } => Failure::Input(error.to_string()),
        NotRestored::NotEmpty { .. } | NotRestored::Failed(_) => unusable(&error),
    })?;
    show(args.json, &restored, || told(&restored, &backup))
}

fn told(restored: &Restored, backup: &Backup) -> String {
    let Restored { member, cluster, cluster_id, token_floor, .. } = restored;
    let from = match &restored.restored_from {
        Some(id) => format!("cluster id {id}"),
        None => "a cluster without an id".to_owned(),
    };
    format!(
        "made {} for P{member} of cluster {cluster}, which has the new id {cluster_id}\n\
         {}, as of {}, from {from}\n\
         every token of the new cluster is above {token_floor}\n\
         run the same command with the same file and floor, and its own --id, for every other member; then \
         start all of them. Members of the former cluster are refused\n",
        restored.folder.display(),
        counted(restored.sessions, restored.locks, restored.roles),
        Summary::from(backup).taken,
    )
}

/// Shows what a data folder or a backup holds.
pub(crate) fn inspect_folder(args: &InspectArgs) -> Result<Verdict, Failure> {
    let unusable = |what: String| Failure::Exit(UNUSABLE, what);
    if args.folder.is_file() {
        let backup = Backup::read(&args.folder).map_err(|error| unusable(error.to_string()))?;
        let summary = Summary::from(&backup);
        return show(args.json, &summary, || described(&args.folder, &summary));
    }
    let found = inspect(&args.folder).map_err(|error| {
        unusable(format!("{error}; name a member's data folder ('data' in its configuration)"))
    })?;
    if found.is_empty() {
        return Err(unusable(format!(
            "`{}` holds no log folder of a member; name a member's data folder ('data' in its \
             configuration)",
            args.folder.display()
        )));
    }
    let text = || found.iter().map(listed).collect::<Vec<_>>().join("\n");
    show(args.json, &serde_json::json!({ "folders": found }), text)?;
    match found.iter().all(|folder| folder.damage.is_empty()) {
        true => Ok(Verdict::Well),
        false => Err(Failure::Silent(UNUSABLE)),
    }
}

/// What a backup holds.
fn described(file: &Path, summary: &Summary) -> String {
    let Summary { cluster, taken, term, index, last_token, .. } = summary;
    let id = summary.cluster_id.as_deref().unwrap_or("not known");
    format!(
        "backup     {}, taken {taken}\n\
         of         cluster {cluster}, cluster id {id}\n\
         log        up to entry {index} of term {term}\n\
         state      {}; last token {last_token}\n",
        file.display(),
        counted(summary.sessions, summary.locks, summary.roles)
    )
}

fn listed(found: &Inspection) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<10} {value}");
    };
    let used = match found.used_by {
        Some(0) => ", in use".to_owned(),
        Some(pid) => format!(", in use by process {pid}"),
        None => String::new(),
    };
    row("folder", format!("{}{used}", found.folder.display()));
    if let (Some(member), Some(cluster)) = (found.member, &found.cluster) {
        let id = found.cluster_id.as_deref().unwrap_or("not known");
        row("member", format!("P{member} of cluster {cluster}, cluster id {id}"));
        row("format", found.format.to_string());
    }
    if let (Some(term), Some(starts), Some(birth)) = (found.term, found.starts, &found.birth) {
        let vote = found.vote.map_or("no vote in it".to_owned(), |id| format!("voted for P{id}"));
        row("term", format!("{term}, {vote}"));
        row("starts", format!("{starts}, of folder {birth}"));
    }
    if found.keeps_log == Some(false) {
        row("log", "in memory only (durability = \"memory\")".to_owned());
    }
    if let (Some(snapshot), Some(entries), Some(last), Some(commit)) =
        (found.snapshot_index, found.entries, found.last_index, found.commit_index)
    {
        let before = match snapshot {
            0 => String::new(),
            index => format!("snapshot up to entry {index}, "),
        };
        let term = found.last_term.unwrap_or_default();
        row(
            "log",
            format!("{before}{entries} entries up to {last} of term {term}, {commit} committed"),
        );
    }
    if let (Some(sessions), Some(locks), Some(roles), Some(token)) =
        (found.sessions, found.locks, found.roles, found.last_token)
    {
        row("state", format!("{}; last token {token}", counted(sessions, locks, roles)));
    }
    if let Some(members) = found.members {
        row("members", format!("{members}, as the log lists them"));
    }
    for damage in &found.damage {
        row("damaged", damage.clone());
    }
    text
}

fn counted(sessions: usize, locks: usize, roles: usize) -> String {
    let of =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}, {}", of(sessions, "session"), of(locks, "lock"), of(roles, "role"))
}

fn show(
    json: bool,
    value: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<Verdict, Failure> {
    let json = json.then(|| serde_json::to_string_pretty(value).unwrap_or_default() + "\n");
    print(&json.unwrap_or_else(|| harmless(&text()).into_owned()))?;
    Ok(Verdict::Well)
}
