//! Keeping what must survive a crash.
//!
//! A [`Store`] keeps the durable state of a process. [`WholeFile`](super::durable::WholeFile) is enough
//! for a small state. A state that grows entry by entry is kept in a [`Folder`] of segments, to
//! which batches of records are appended, and [snapshots](snapshot). What the records mean is not
//! known here.
//!
//! # What is assumed of a disk
//! A write changes no bytes outside its range. When a sync returns, all that was written before it
//! survives. Before that, any part of a write may be on the disk, in any order of its sectors; a sector is
//! written as a whole or not at all.
//!
//! # What follows
//! * One save is one [batch](batch), one write and one sync. Segments are filled with zeros and synced
//!   before they are used, so a sync changes no metadata.
//! * A batch that was not synced completely is the last one. It is recognised by its checksums and
//!   cut off: nothing of it was told (a torn tail).
//! * A batch is begun only when the one before it is synced. So a damaged batch that is followed by a
//!   later one was complete once: this is damage (a hole), and the folder is refused. It is never
//!   cut off there, because the process has told others of what it would lose.

pub mod batch;
mod direct;
mod folder;
mod recover;
mod segment;
pub mod snapshot;

pub use batch::Batch;
pub use folder::{Folder, Listing};
pub use recover::Found;
pub use segment::Mark;

use super::durable::DurableError;
use bellwether_core::Process;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Keeps what is durable of a process.
pub trait Store<P: Process>: Send + 'static {
    /// Whether something is durable now that was not at the last save. Asked after every step, so
    /// it must be cheap.
    fn is_dirty(&self, process: &P) -> bool;

    /// Writes the difference and syncs. When it returns, all of it survives a crash of the machine.
    /// An error is final: the process ends, and the store is not used again.
    fn save(&mut self, process: &P) -> Result<Written, DurableError>;
}

/// What a save has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Bytes that were written.
    pub bytes: u64,
    /// How long that and the sync took.
    pub took: Duration,
}

/// The format of segments and snapshots that this version writes.
const FORMAT: u32 = 2;
/// The oldest format that this version reads: 2 differs in what a folder may hold, not in how.
const OLDEST: u32 = 1;

fn is_known(format: u32) -> bool {
    (OLDEST..=FORMAT).contains(&format)
}

/// An error of the system, with what was attempted.
fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DurableError {
    let path = path.to_owned();
    move |error| DurableError::Io { action, path, error }
}

/// Something is wrong with a file of a log folder.
pub fn damaged(path: &Path, offset: u64, what: impl Into<String>) -> DurableError {
    let folder = path.parent().unwrap_or(path).display();
    let advice = format!(
        "Restore the folder from a copy made since the last stop, or move `{folder}` away: then the \
         member starts as one that has lost its data, and the others fill it. This needs a \
         majority of the others"
    );
    DurableError::Unusable { path: path.to_owned(), offset, what: what.into(), advice }
}

/// A file has a format that this version does not know.
fn other_format(path: &Path, offset: u64, format: u32) -> DurableError {
    let what =
        format!("it has format {format}, and this version knows formats {OLDEST} to {FORMAT}");
    let advice = match format > FORMAT {
        true => "It was written by a later version: use that version, or restore a backup",
        false => "It was written by an earlier version: start that version, or restore a backup",
    };
    DurableError::Unusable { path: path.to_owned(), offset, what, advice: advice.to_owned() }
}
