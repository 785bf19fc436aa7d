//! What a data folder holds, for people: read without a lock, so also while a member runs.

use super::recover::{Place, Reading, Recovered};
use bellwether_coordination::Coordination;
use bellwether_log::{Durable, Saved};
use bellwether_net::durable::DurableError;
use bellwether_net::store::Listing;
use serde::Serialize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A running member removes files meanwhile: then all is read again.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(50);

/// What a log folder holds. What is damaged is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// The folder.
    pub folder: PathBuf,
    /// The process that uses it now.
    pub used_by: Option<u32>,
    /// The format of its files.
    pub format: u32,
    /// The member.
    pub member: Option<u32>,
    /// The name of the cluster.
    pub cluster: Option<String>,
    /// The id of the cluster, if the log says it.
    pub cluster_id: Option<String>,
    /// Names this folder: an emptied one gets another number.
    pub birth: Option<String>,
    /// How often a process has started with it.
    pub starts: Option<u32>,
    /// The highest term that was promised.
    pub term: Option<u64>,
    /// To whom.
    pub vote: Option<u32>,
    /// Whether it keeps the log: not with `durability = "memory"`.
    pub keeps_log: Option<bool>,
    /// The index of the last entry in the snapshot; 0 without a snapshot.
    pub snapshot_index: Option<u64>,
    /// How many entries there are after it.
    pub entries: Option<u64>,
    /// The term of the last entry.
    pub last_term: Option<u64>,
    /// The index of the last entry.
    pub last_index: Option<u64>,
    /// The commit index, as far as the folder says it.
    pub commit_index: Option<u64>,
    /// The last token that was given, as far as the folder says it.
    pub last_token: Option<u64>,
    /// Sessions at the commit index.
    pub sessions: Option<usize>,
    /// Locks that are held at the commit index.
    pub locks: Option<usize>,
    /// Roles at the commit index.
    pub roles: Option<usize>,
    /// The voters and learners of the member list, if it has ever changed.
    pub members: Option<usize>,
    /// What is wrong with it.
    pub damage: Vec<String>,
}

/// Looks at the log folders of a data folder, or at one log folder. It changes nothing.
pub fn inspect(path: &Path) -> Result<Vec<Inspection>, DurableError> {
    let failed = |error| {
        let action = "list the directory";
        DurableError::Io { action, path: path.to_owned(), error }
    };
    let mut folders = Vec::new();
    let mut is_log = false;
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        is_log |= name == "LOCK" || name.ends_with(".seg");
        if name.ends_with(".log") && entry.path().is_dir() {
            folders.push(entry.path());
        }
    }
    if is_log {
        folders = vec![path.to_owned()];
    }
    folders.sort();
    folders.iter().map(|folder| patiently(folder)).collect()
}

/// Reads a folder; again if its member has changed the files meanwhile.
fn patiently(folder: &Path) -> Result<Inspection, DurableError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let found = read(folder);
        let is_whole = found.as_ref().is_ok_and(|found| found.damage.is_empty());
        let is_used = user_of(folder).is_some();
        if is_whole || !is_used || tries == TRIES {
            return found;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "a command, and not a process of the contract"
        )]
        std::thread::sleep(PAUSE);
    }
}

fn read(folder: &Path) -> Result<Inspection, DurableError> {
    let mut reading = Reading::<Coordination>::default();
    let listing = Listing::read(folder, |found| reading.take(found))?;
    let mut found = Inspection {
        folder: folder.to_owned(),
        used_by: user_of(folder),
        format: listing.format,
        member: listing.owner.as_ref().map(|owner| owner.id.number()),
        cluster: listing.owner.as_ref().map(|owner| owner.cluster.clone()),
        ..Inspection::default()
    };
    found.damage.extend(listing.damage.as_ref().map(said));
    if let Some(hard) = reading.hard() {
        found.birth = Some(format!("{:016x}", hard.birth.number()));
        found.starts = Some(hard.starts);
        found.term = Some(hard.promised.number());
        found.vote = hard.vote.map(|id| id.number());
        found.keeps_log = Some(hard.keeps_log);
    }
    let Some(owner) = &listing.owner else { return Ok(found) };
    let place = Place { path: folder, owner, first: folder.to_owned(), has_segments: true };
    match reading.finish(&place) {
        Ok(Recovered { durable: Some(durable), snapshot, .. }) => {
            found.snapshot_index = Some(snapshot.map_or(0, |(snapshot, _)| snapshot.at.index));
            found.know(&durable);
        }
        Ok(_) => {}
        Err(error) => found.damage.push(said(&error)),
    }
    Ok(found)
}

impl Inspection {
    fn know(&mut self, durable: &Durable<Coordination>) {
        let Saved::Whole { state, commit, roster, tail } = &durable.log else { return };
        let (base, last) = (self.snapshot_index.unwrap_or(0), tail.last());
        self.cluster_id = roster.cluster.map(|id| id.to_string());
        self.entries = Some(last.index.number().saturating_sub(base));
        (self.last_term, self.last_index) = (Some(last.term.number()), Some(last.index.number()));
        self.commit_index = Some(commit.index.number());
        self.last_token = Some(state.last_token().0);
        self.sessions = Some(state.sessions().len());
        self.locks = Some(state.locks().len());
        self.roles = Some(state.roles().len());
        self.members = roster.members.as_ref().map(|list| list.seats.len());
    }
}

/// What is wrong, without advice for one who starts a member.
fn said(error: &DurableError) -> String {
    match error {
        DurableError::Unusable { path, offset, what, .. } => {
            format!("`{}`, at byte {offset}: {what}", path.display())
        }
        other => other.to_string(),
    }
}

/// The process that has locked a folder: the system's list of locks names it by device and inode. To try
/// the lock could keep a member from starting.
fn user_of(folder: &Path) -> Option<u32> {
    let lock = std::fs::metadata(folder.join("LOCK")).ok()?;
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let inode = format!(":{}", lock.ino());
    let held = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, file, ..] = words[..] else { return None };
        file.ends_with(&inode).then(|| pid.parse::<i64>().ok())?
    })?;
    // A process of another namespace has no number here.
    Some(u32::try_from(held).unwrap_or(0))
}
