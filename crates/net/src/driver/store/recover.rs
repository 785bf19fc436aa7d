//! Reading segments after a stop or a crash.

use super::batch::{self, Head};
use super::segment::{Header, Mark};
use super::{damaged, io_error};
use crate::driver::durable::{DurableError, Owner};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// What recovery finds, in the order in which it was written.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A segment begins.
    Segment {
        /// How far the log went when it was made.
        base: Mark,
    },
    /// A record.
    Record {
        /// The segment's number.
        segment: u64,
        /// What it is.
        kind: u8,
        /// What it says.
        bytes: &'a [u8],
    },
}

/// Takes what is found; an error says what is wrong with a record.
pub(super) type Take<'t> = dyn FnMut(Found<'_>) -> Result<(), String> + 't;

/// A segment that was read.
pub(super) struct Segment {
    pub(super) file: File,
    pub(super) header: Header,
    /// Where the next batch goes.
    pub(super) end: u64,
    /// The number of the next batch.
    pub(super) batch: u64,
}

/// Reads a segment of this owner and makes it ready to be appended to. `expected` are its number, and
/// that of its first batch if there is a segment before it.
pub(super) fn read(
    path: &Path,
    owner: &Owner,
    expected: (u64, Option<u64>),
    is_last: bool,
    take: &mut Take<'_>,
) -> Result<Segment, DurableError> {
    let Scanned { header, end, batch, torn } = scan(path, Some(owner), expected, is_last, take)?;
    let options = OpenOptions::new().read(true).write(true).custom_flags(no_follow()).open(path);
    let file = options.map_err(io_error("open", path))?;
    if torn > 0 {
        cut(path, &file, end, torn)?;
    }
    Ok(Segment { file, header, end: end as u64, batch })
}

/// A segment that was read and not changed.
pub(super) struct Scanned {
    pub(super) header: Header,
    end: usize,
    /// The number of the next batch.
    pub(super) batch: u64,
    /// The length of a torn tail.
    torn: usize,
}

/// Reads a segment: of this owner, or of any.
pub(super) fn scan(
    path: &Path,
    owner: Option<&Owner>,
    expected: (u64, Option<u64>),
    is_last: bool,
    take: &mut Take<'_>,
) -> Result<Scanned, DurableError> {
    let bytes = std::fs::read(path).map_err(io_error("read", path))?;
    let (header, begin) = Header::read(path, &bytes, owner)?;
    if header.segment != expected.0 {
        let what = format!("it says that it is segment {}; it was renamed", header.segment);
        return Err(damaged(path, 16, what));
    }
    if bytes.len() as u64 != u64::from(header.size) {
        let what = format!("it has {} bytes, and its header says {}", bytes.len(), header.size);
        return Err(damaged(path, bytes.len() as u64, what));
    }
    if let Some(batch) = expected.1
        && batch != header.batch
    {
        let what = format!(
            "it begins with batch {}, and the segment before it ends before batch {batch}: batches \
             are missing there",
            header.batch
        );
        return Err(damaged(path, 24, what));
    }
    take(Found::Segment { base: header.base }).map_err(|what| damaged(path, 0, what))?;

    let (mut end, mut number) = (begin, header.batch);
    while let Some(body) = batch_at(&bytes[end..], header.salt, number) {
        for record in batch::records(body) {
            let at = |offset: usize| (end + batch::HEAD + offset) as u64;
            let (offset, kind, record) =
                record.map_err(|offset| damaged(path, at(offset), "a record is not understood"))?;
            take(Found::Record { segment: header.segment, kind, bytes: record })
                .map_err(|what| damaged(path, at(offset), what))?;
        }
        end += batch::HEAD + body.len();
        number += 1;
    }
    let rest = &bytes[end..];
    let torn = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let is_first = number == header.batch;
    if torn > 0 {
        judge_rest(path, rest, (end, number), header.salt, is_last && !is_first)?;
    } else if is_first {
        return Err(damaged(path, end as u64, "its first batch is missing"));
    }
    Ok(Scanned { header, end, batch: number, torn })
}

fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits() as i32
}

/// The body of the batch with this number at the beginning of these bytes.
fn batch_at(bytes: &[u8], salt: u64, number: u64) -> Option<&[u8]> {
    let head = Head::read(salt, bytes).filter(|head| head.number == number)?;
    head.body(salt, bytes)
}

/// Whether what follows the last good batch is the torn tail of a save that was not synced. If not, it
/// is damage.
fn judge_rest(
    path: &Path,
    rest: &[u8],
    (end, number): (usize, u64),
    salt: u64,
    may_be_torn: bool,
) -> Result<(), DurableError> {
    if !may_be_torn {
        let what = format!("batch {number} is damaged");
        return Err(damaged(path, end as u64, what));
    }
    let mut places = (batch::ALIGN..rest.len()).step_by(batch::ALIGN);
    let later = places.find_map(|offset| {
        let head = Head::read(salt, &rest[offset..]).filter(|head| head.number > number)?;
        Some((offset, head))
    });
    match later {
        None => Ok(()),
        Some((offset, head)) => {
            let what = format!(
                "batch {number} is damaged, and batch {} at byte {} shows that it was complete once",
                head.number,
                end + offset
            );
            Err(damaged(path, end as u64, what))
        }
    }
}

/// Cuts off a torn tail.
fn cut(path: &Path, file: &File, end: usize, length: usize) -> Result<(), DurableError> {
    tracing::warn!(
        file = %path.display(),
        offset = end,
        bytes = length,
        "cut off the end of the log: an incomplete save that a crash interrupted, and that was never acknowledged"
    );
    file.write_all_at(&vec![0; length], end as u64).map_err(io_error("write", path))?;
    file.sync_data().map_err(io_error("sync", path))
}
