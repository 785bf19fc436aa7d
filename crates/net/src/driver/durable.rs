//! The file that keeps what must survive a crash.
//!
//! It is small and written whole: to a file beside it, synced, renamed over the old one, and the
//! directory synced. So at every moment there is one complete file, the old or the new. A checksum
//! finds what the disk did to it later. The file says whose it is, because a member that took
//! another's promises for its own could break them.
//!
//! ```text
//! magic 8 | format u32 | length u64 | crc32 u32 | body: cluster, id u32, protocol, state
//! ```
//!
//! Numbers are little-endian; cluster and protocol are preceded by their length as u16. The checksum
//! covers format, length and body.

use super::store::{Store, Written};
use crate::clock::Clock;
use crate::decode::Malformed;
use bellwether_core::{NodeId, Process};
use rustix::fs::{FlockOperation, OFlags, flock};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"BWSTATE\n";
const FORMAT: u32 = 1;
const HEADER: usize = 8 + 4 + 8 + 4;
/// No member's promises are larger; more is damage.
const LARGEST: usize = 64 << 20;

/// Whose state a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The cluster's name.
    pub cluster: String,
    /// The process's number.
    pub id: NodeId,
    /// What it runs.
    pub protocol: String,
}

/// Why a file's content cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It does not begin as such a file does.
    #[error("it is not a state file")]
    Foreign,
    /// It was written by a later version.
    #[error("it has format {0}, and this version knows only format {FORMAT}")]
    Format(u32),
    /// It is too short or too long.
    #[error("it is truncated: {found} bytes, and its header says {wanted}")]
    Length {
        /// How long it is.
        found: u64,
        /// How long it should be.
        wanted: u64,
    },
    /// Its content is not what was written.
    #[error("its checksum is wrong")]
    Checksum,
    /// It is whole, but its content means nothing to this version.
    #[error("its content cannot be read: {0}")]
    Content(Malformed),
}

/// Why the state of a process cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DurableError {
    /// The system does not let us.
    #[error("cannot {action} `{}`: {error}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Another process uses it now.
    #[error(
        "`{}` is in use by another process; stop that process first, or give this one \
         its own data file", .0.display()
    )]
    InUse(PathBuf),
    /// It is damaged.
    #[error(
        "the state file `{}` cannot be used: {damage}. Restore it from a copy made since the last \
         stop. If the disk was really lost, move the file away, and wait at least the longest \
         lease before you start: without the file the member forgets what it has promised",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// A file of a log folder is damaged, or was not written by this version.
    #[error("the log file `{}` cannot be used: at byte {offset}: {what}. {advice}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        what: String,
        /// What to do.
        advice: String,
    },
    /// It belongs to another process.
    #[error(
        "`{}` belongs to member {} of cluster `{}` running `{}`, and this is member \
         {} of cluster `{}` running `{}`; correct the path of the data",
        path.display(), found.id.number(), found.cluster, found.protocol,
        wanted.id.number(), wanted.cluster, wanted.protocol
    )]
    NotMine {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        found: Box<Owner>,
        /// Whose it should be.
        wanted: Box<Owner>,
    },
}

type Encode<D> = Box<dyn Fn(&D) -> Vec<u8> + Send>;

/// The store of small states: one file, which is written whole at every change.
pub struct WholeFile<P: Process> {
    file: StateFile,
    encode: Encode<P::Durable>,
    on_disk: Option<P::Durable>,
}

impl<P: Process> WholeFile<P> {
    /// Opens the file of this owner and reads what it holds: nothing, if it does not exist.
    pub fn open(
        path: &Path,
        owner: Owner,
        encode: impl Fn(&P::Durable) -> Vec<u8> + Send + 'static,
        decode: impl Fn(&[u8]) -> Result<P::Durable, Malformed>,
    ) -> Result<(Self, Option<P::Durable>), DurableError> {
        let (file, saved) = StateFile::open(path, owner)?;
        let decode = |bytes: Vec<u8>| {
            decode(&bytes).map_err(|what| DurableError::Damaged {
                path: path.to_owned(),
                damage: Damage::Content(what),
            })
        };
        let on_disk = saved.map(decode).transpose()?;
        let encode = Box::new(encode);
        Ok((WholeFile { file, encode, on_disk: on_disk.clone() }, on_disk))
    }
}

impl<P: Process<Durable: Send> + 'static> Store<P> for WholeFile<P> {
    fn is_dirty(&self, process: &P) -> bool {
        self.on_disk.as_ref() != Some(&process.durable())
    }

    fn save(&mut self, process: &P) -> Result<Written, DurableError> {
        let begun = Clock::shared();
        let durable = process.durable();
        let state = (self.encode)(&durable);
        self.file.write(&state)?;
        self.on_disk = Some(durable);
        let (bytes, took) = (state.len() as u64, Clock::shared().since(begun));
        Ok(Written { bytes, took })
    }
}

impl<P: Process> std::fmt::Debug for WholeFile<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WholeFile").field(&self.file).finish()
    }
}

/// An open state file: locked against a second process for as long as this lives.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    beside: PathBuf,
    folder: File,
    owner: Owner,
    _lock: File,
}

impl StateFile {
    /// Opens the file of this owner and reads what it holds: nothing, if it does not exist.
    pub fn open(path: &Path, owner: Owner) -> Result<(Self, Option<Vec<u8>>), DurableError> {
        let folder_path = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |error| DurableError::Io { action, path, error }
        };
        let folder = File::open(&folder_path).map_err(io("open the directory", &folder_path))?;
        let lock_path = with_suffix(path, ".lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        options.custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let lock = options.open(&lock_path).map_err(io("create", &lock_path))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(DurableError::InUse(path.to_owned())),
            Err(error) => return Err(io("lock", &lock_path)(error.into())),
        }
        let saved = match std::fs::read(path) {
            Ok(bytes) => Some(own_state(path, &bytes, &owner)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io("read", path)(error)),
        };
        let beside = with_suffix(path, ".new");
        Ok((StateFile { path: path.to_owned(), beside, folder, owner, _lock: lock }, saved))
    }

    /// Replaces the content; when this returns, it survives a crash of the machine.
    pub fn write(&self, state: &[u8]) -> Result<(), DurableError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |error| DurableError::Io { action, path, error }
        };
        let bytes = compose(&self.owner, state);
        // What is there was left by a crash, or leads elsewhere.
        let _ = std::fs::remove_file(&self.beside);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(&self.beside).map_err(io("create", &self.beside))?;
        file.write_all(&bytes).map_err(io("write", &self.beside))?;
        file.sync_all().map_err(io("sync", &self.beside))?;
        std::fs::rename(&self.beside, &self.path).map_err(io("replace", &self.path))?;
        self.folder.sync_all().map_err(io("sync the directory of", &self.path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn own_state(path: &Path, bytes: &[u8], wanted: &Owner) -> Result<Vec<u8>, DurableError> {
    match parse(bytes) {
        Err(damage) => Err(DurableError::Damaged { path: path.to_owned(), damage }),
        Ok((found, _)) if found != *wanted => Err(DurableError::NotMine {
            path: path.to_owned(),
            found: Box::new(found),
            wanted: Box::new(wanted.clone()),
        }),
        Ok((_, state)) => Ok(state),
    }
}

/// A file's bytes.
pub fn compose(owner: &Owner, state: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(state.len() + 64);
    put_text(&mut body, &owner.cluster);
    body.extend(owner.id.number().to_le_bytes());
    put_text(&mut body, &owner.protocol);
    body.extend(state);
    let (format, length) = (FORMAT.to_le_bytes(), (body.len() as u64).to_le_bytes());
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend(MAGIC);
    bytes.extend(format);
    bytes.extend(length);
    bytes.extend(checksum(&format, &length, &body).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// Whose state a file's bytes hold, and the state.
pub fn parse(bytes: &[u8]) -> Result<(Owner, Vec<u8>), Damage> {
    let truncated = |wanted| Damage::Length { found: bytes.len() as u64, wanted };
    if bytes.len() < HEADER {
        let begins_well = bytes.iter().zip(MAGIC).all(|(found, wanted)| found == wanted);
        return Err(if begins_well { truncated(HEADER as u64) } else { Damage::Foreign });
    }
    let mut rest = bytes;
    let magic: [u8; 8] = take(&mut rest).ok_or(Damage::Foreign)?;
    if magic != *MAGIC {
        return Err(Damage::Foreign);
    }
    let format: [u8; 4] = take(&mut rest).ok_or(Damage::Foreign)?;
    let length: [u8; 8] = take(&mut rest).ok_or(Damage::Foreign)?;
    let sum: [u8; 4] = take(&mut rest).ok_or(Damage::Foreign)?;
    if u32::from_le_bytes(format) != FORMAT {
        return Err(Damage::Format(u32::from_le_bytes(format)));
    }
    let wanted = u64::from_le_bytes(length);
    if rest.len() as u64 != wanted || rest.len() > LARGEST {
        return Err(truncated(wanted.saturating_add(HEADER as u64)));
    }
    if checksum(&format, &length, rest) != u32::from_le_bytes(sum) {
        return Err(Damage::Checksum);
    }
    let unreadable = || Damage::Content(Malformed::new("its owner is not named"));
    let cluster = take_text(&mut rest).ok_or_else(unreadable)?;
    let id = take(&mut rest).map(u32::from_le_bytes).ok_or_else(unreadable)?;
    let protocol = take_text(&mut rest).ok_or_else(unreadable)?;
    Ok((Owner { cluster, id: NodeId::new(id), protocol }, rest.to_vec()))
}

fn checksum(format: &[u8], length: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in [format, length, body] {
        hasher.update(part);
    }
    hasher.finalize()
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    let length = text.len().min(usize::from(u16::MAX));
    out.extend((length as u16).to_le_bytes());
    out.extend(&text.as_bytes()[..length]);
}

pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*head)
}

pub(crate) fn take_text(rest: &mut &[u8]) -> Option<String> {
    let length = usize::from(u16::from_le_bytes(take(rest)?));
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    String::from_utf8(head.to_vec()).ok()
}
