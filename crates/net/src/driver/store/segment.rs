//! Segments: files of a fixed size to which batches are appended.
//!
//! ```text
//! magic 8 | format u32 | size u32 | segment u64 | first batch u64 | salt u64 | term u64, index u64 |
//! id u32 | cluster, protocol | crc32 u32 | zeros to a multiple of 8 | batch* | zeros
//! ```
//!
//! Numbers are little-endian; texts are preceded by their length as u16. A segment gets its final name
//! when its first batch is synced, so a crash leaves no segment without one.

use super::{damaged, io_error, is_known, other_format};
use crate::driver::durable::{DurableError, Owner, put_text, take, take_text};
use bellwether_core::NodeId;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const MAGIC: &[u8; 8] = b"BWLOG\n\0\x01";

/// How far the log went when a segment was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The term of the log's last entry.
    pub term: u64,
    /// Its index.
    pub index: u64,
}

/// What a segment says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) format: u32,
    pub(super) size: u32,
    pub(super) segment: u64,
    pub(super) batch: u64,
    pub(super) salt: u64,
    pub(super) base: Mark,
    pub(super) owner: Owner,
}

impl Header {
    /// Its bytes, padded so that the first batch can follow.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        bytes.extend(MAGIC);
        bytes.extend(self.format.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        for number in [self.segment, self.batch, self.salt, self.base.term, self.base.index] {
            bytes.extend(number.to_le_bytes());
        }
        put_owner(&mut bytes, &self.owner);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes.resize(bytes.len().next_multiple_of(super::batch::ALIGN), 0);
        bytes
    }

    /// The header of these bytes, and its length; it must be of this owner, if one is given.
    pub(super) fn read(
        path: &Path,
        bytes: &[u8],
        wanted: Option<&Owner>,
    ) -> Result<(Self, usize), DurableError> {
        let mut rest = bytes;
        if take(&mut rest) != Some(*MAGIC) {
            return Err(damaged(path, 0, "it is not a segment of a log"));
        }
        let truncated =
            || damaged(path, bytes.len() as u64, "it is truncated: its header ends here");
        let format = take(&mut rest).map(u32::from_le_bytes).ok_or_else(truncated)?;
        if !is_known(format) {
            return Err(other_format(path, 8, format));
        }
        let size = take(&mut rest).map(u32::from_le_bytes).ok_or_else(truncated)?;
        let mut numbers = [0; 5];
        for number in &mut numbers {
            *number = take(&mut rest).map(u64::from_le_bytes).ok_or_else(truncated)?;
        }
        let [segment, batch, salt, term, index] = numbers;
        let wrong_sum = || damaged(path, 0, "the checksum of its header is wrong");
        let owner = take_owner(&mut rest).ok_or_else(wrong_sum)?;
        let end = bytes.len() - rest.len();
        let sum = take(&mut rest).map(u32::from_le_bytes).ok_or_else(truncated)?;
        let length = (end + 4).next_multiple_of(super::batch::ALIGN);
        let is_padded = bytes.get(end + 4..length).is_some_and(|pad| pad.iter().all(|b| *b == 0));
        if crc32fast::hash(&bytes[..end]) != sum || !is_padded {
            return Err(wrong_sum());
        }
        if let Some(wanted) = wanted {
            check_owner(path, &owner, wanted)?;
        }
        let base = Mark { term, index };
        Ok((Header { format, size, segment, batch, salt, base, owner }, length))
    }
}

pub(super) fn put_owner(out: &mut Vec<u8>, owner: &Owner) {
    out.extend(owner.id.number().to_le_bytes());
    put_text(out, &owner.cluster);
    put_text(out, &owner.protocol);
}

pub(super) fn take_owner(rest: &mut &[u8]) -> Option<Owner> {
    let id = NodeId::new(u32::from_le_bytes(take(rest)?));
    let (cluster, protocol) = (take_text(rest)?, take_text(rest)?);
    Some(Owner { cluster, id, protocol })
}

pub(super) fn check_owner(path: &Path, found: &Owner, wanted: &Owner) -> Result<(), DurableError> {
    if found == wanted {
        return Ok(());
    }
    Err(DurableError::NotMine {
        path: path.to_owned(),
        found: Box::new(found.clone()),
        wanted: Box::new(wanted.clone()),
    })
}

/// The name of a segment.
pub(super) fn name(number: u64) -> String {
    format!("{number:016}.seg")
}

/// The number of the segment with this name.
pub(super) fn number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg")?;
    let number = digits.parse().ok()?;
    (self::name(number) == name).then_some(number)
}

/// Creates a file that is not there yet, for this user only. A link is not followed.
pub(super) fn create(path: &Path) -> Result<File, DurableError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    options.open(path).map_err(io_error("create", path))
}

/// Makes a file of zeros and syncs it, so that later writes allocate nothing.
pub(super) fn prepare(path: &Path, size: u64) -> Result<File, DurableError> {
    let mut file = create(path)?;
    let zeros = vec![0; 256 << 10];
    let mut left = size;
    while left > 0 {
        let now = left.min(zeros.len() as u64);
        file.write_all(&zeros[..now as usize]).map_err(io_error("write", path))?;
        left -= now;
    }
    file.sync_all().map_err(io_error("sync", path))?;
    Ok(file)
}
