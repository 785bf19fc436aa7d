//! Snapshot files: a state in parts, written once and never changed.
//!
//! ```text
//! head     magic 8 | format u32 | term u64, index u64 | id u32 | cluster, protocol |
//!          length u32 | bytes | crc32 u32
//! part*    length u32 | crc32 u32 | bytes
//! trailer  0xffffffff u32 | number of parts u32 | bytes of all parts u64 | crc32 of all checksums u32
//! ```
//!
//! A snapshot is written under another name, synced, and renamed. The checksum of all checksums names
//! its content: the record that refers to a snapshot has it, too.

use super::segment::{Mark, check_owner, create, put_owner, take_owner};
use super::{FORMAT, damaged, io_error, is_known, other_format};
use crate::driver::durable::{DurableError, Owner, take};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"BWSNAP\n\x01";
const TRAILER: u32 = u32::MAX;
/// A head is never longer.
const LONGEST_HEAD: u64 = 1 << 20;

/// A complete snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Up to where in the log.
    pub at: Mark,
    /// The checksum of all checksums.
    pub sum: u32,
    /// The size of the file.
    pub bytes: u64,
}

/// The file name of the snapshot at this position.
pub fn name(at: Mark) -> String {
    format!("{:010}.{:017}.snap", at.term, at.index)
}

/// A snapshot as it is written anywhere.
#[derive(Debug)]
pub struct Encoder<W> {
    out: W,
    sums: crc32fast::Hasher,
    parts: u32,
    content: u64,
    bytes: u64,
}

impl<W: Write> Encoder<W> {
    /// Begins the snapshot at this position. `head` is what its reader is told first.
    pub fn new(out: W, owner: &Owner, at: Mark, head: &[u8]) -> io::Result<Self> {
        let mut bytes = Vec::with_capacity(128 + head.len());
        bytes.extend(MAGIC);
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend(at.term.to_le_bytes());
        bytes.extend(at.index.to_le_bytes());
        put_owner(&mut bytes, owner);
        bytes.extend((head.len() as u32).to_le_bytes());
        bytes.extend(head);
        let sum = crc32fast::hash(&bytes).to_le_bytes();
        bytes.extend(sum);
        let mut sums = crc32fast::Hasher::new();
        sums.update(&sum);
        let mut encoder = Encoder { out, sums, parts: 0, content: 0, bytes: 0 };
        encoder.put(&bytes)?;
        Ok(encoder)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Adds a part.
    pub fn part(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sum = crc32fast::hash(bytes).to_le_bytes();
        self.sums.update(&sum);
        self.parts += 1;
        self.content += bytes.len() as u64;
        self.put(&(bytes.len() as u32).to_le_bytes())?;
        self.put(&sum)?;
        self.put(bytes)
    }

    /// All parts are there. Gives the checksum of all checksums.
    pub fn finish(&mut self) -> io::Result<u32> {
        let sum = self.sums.clone().finalize();
        let (parts, content) = (self.parts.to_le_bytes(), self.content.to_le_bytes());
        self.put(&TRAILER.to_le_bytes())?;
        self.put(&parts)?;
        self.put(&content)?;
        self.put(&sum.to_le_bytes())?;
        self.out.flush()?;
        Ok(sum)
    }
}

/// A snapshot that is being written.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    beside: PathBuf,
    at: Mark,
    file: Encoder<BufWriter<File>>,
}

impl Writer {
    /// Begins the snapshot at this position. `head` is what its reader is told first, and `kind` tells
    /// files apart that are written at the same time. A snapshot that is not finished leaves no file.
    pub fn create(
        folder: &Path,
        owner: &Owner,
        at: Mark,
        head: &[u8],
        kind: &str,
    ) -> Result<Self, DurableError> {
        let beside = folder.join(format!("{}.{kind}.new", name(at)));
        let _ = std::fs::remove_file(&beside);
        let file = BufWriter::with_capacity(256 << 10, create(&beside)?);
        let file = Encoder::new(file, owner, at, head).map_err(io_error("write", &beside))?;
        Ok(Writer { folder: folder.to_owned(), beside, at, file })
    }

    /// Adds a part.
    pub fn part(&mut self, bytes: &[u8]) -> Result<(), DurableError> {
        self.file.part(bytes).map_err(io_error("write", &self.beside))
    }

    /// Writes all parts so far to the disk, so that less is left for the end.
    pub fn sync(&mut self) -> Result<(), DurableError> {
        self.file.out.flush().map_err(io_error("write", &self.beside))?;
        self.file.out.get_ref().sync_data().map_err(io_error("sync", &self.beside))
    }

    /// All parts are there: when this returns, the snapshot survives a crash of the machine.
    pub fn finish(mut self) -> Result<Snapshot, DurableError> {
        let sum = self.file.finish().map_err(io_error("write", &self.beside))?;
        self.file.out.get_ref().sync_all().map_err(io_error("sync", &self.beside))?;
        let path = self.folder.join(name(self.at));
        std::fs::rename(&self.beside, &path).map_err(io_error("rename", &self.beside))?;
        let synced = File::open(&self.folder).and_then(|folder| folder.sync_all());
        synced.map_err(io_error("sync the directory", &self.folder))?;
        Ok(Snapshot { at: self.at, sum, bytes: self.file.bytes })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // It has another name if it is finished. What cannot be removed is at the next start.
        let _ = std::fs::remove_file(&self.beside);
    }
}

/// Takes a piece of a snapshot; an error says what is wrong with it.
pub type Take<'t> = &'t mut dyn FnMut(&[u8]) -> Result<(), String>;

/// What a snapshot file says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The format of the file.
    pub format: u32,
    /// Whose it is.
    pub owner: Owner,
    /// Up to where in the log.
    pub at: Mark,
}

/// Reads the snapshot at this position, which must have this checksum: its head, and then its parts.
pub fn read(
    folder: &Path,
    owner: &Owner,
    (at, sum): (Mark, u32),
    head: Take<'_>,
    part: Take<'_>,
) -> Result<Snapshot, DurableError> {
    let path = folder.join(name(at));
    let judge = |about: &About| {
        check_owner(&path, &about.owner, owner)?;
        match about.at == at {
            true => Ok(()),
            false => Err(damaged(&path, 12, "it is of another position; it was renamed")),
        }
    };
    let (_, found) = read_file(&path, judge, head, part)?;
    if found.sum != sum {
        let what = "it is not the snapshot that the log refers to";
        return Err(damaged(&path, found.bytes, what));
    }
    Ok(found)
}

/// Reads a snapshot wherever it is: what it says of itself, which may be refused, its head, and then its
/// parts.
pub fn read_file(
    path: &Path,
    judge: impl FnOnce(&About) -> Result<(), DurableError>,
    head: Take<'_>,
    part: Take<'_>,
) -> Result<(About, Snapshot), DurableError> {
    let file = File::open(path).map_err(io_error("open", path))?;
    let size = file.metadata().map_err(io_error("read", path))?.len();
    let file = BufReader::with_capacity(256 << 10, file);
    let mut reader = Reader { path, file, size, offset: 0 };
    let mut sums = crc32fast::Hasher::new();
    let (about, bytes) = reader.head(&mut sums)?;
    judge(&about)?;
    head(&bytes).map_err(|what| damaged(path, 0, what))?;
    let (mut parts, mut content) = (0_u32, 0_u64);
    loop {
        let offset = reader.offset;
        let length = reader.u32()?;
        if length == TRAILER {
            break;
        }
        let wanted = reader.u32()?;
        let bytes = reader.bytes(u64::from(length))?;
        if crc32fast::hash(&bytes) != wanted {
            return Err(damaged(path, offset, format!("the checksum of part {parts} is wrong")));
        }
        sums.update(&wanted.to_le_bytes());
        part(&bytes).map_err(|what| damaged(path, offset, what))?;
        parts += 1;
        content += u64::from(length);
    }
    let offset = reader.offset;
    let told = (reader.u32()?, reader.u64()?, reader.u32()?);
    if told != (parts, content, sums.finalize()) || reader.offset != size {
        return Err(damaged(path, offset, "its end does not match its parts"));
    }
    let snapshot = Snapshot { at: about.at, sum: told.2, bytes: size };
    Ok((about, snapshot))
}

struct Reader<'p> {
    path: &'p Path,
    file: BufReader<File>,
    size: u64,
    offset: u64,
}

impl Reader<'_> {
    fn bytes(&mut self, length: u64) -> Result<Vec<u8>, DurableError> {
        // Before anything is allocated: the length may be damaged.
        if length > self.size.saturating_sub(self.offset) {
            return Err(damaged(self.path, self.offset, "it is truncated"));
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged(self.path, self.offset, "it is truncated"),
            _ => io_error("read", self.path)(error),
        })?;
        self.offset += length;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DurableError> {
        let bytes = self.bytes(N as u64)?;
        let truncated = |_| damaged(self.path, self.offset, "it is truncated");
        bytes.try_into().map_err(truncated)
    }

    fn u32(&mut self) -> Result<u32, DurableError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, DurableError> {
        self.array().map(u64::from_le_bytes)
    }

    /// What the file says of itself, and the head that its writer gave.
    fn head(&mut self, sums: &mut crc32fast::Hasher) -> Result<(About, Vec<u8>), DurableError> {
        let mut whole = self.bytes(28.min(self.size))?;
        if !whole.starts_with(MAGIC) {
            return Err(damaged(self.path, 0, "it is not a snapshot of a log"));
        }
        let mut rest = &whole[8..];
        let truncated = || damaged(self.path, 8, "it is truncated");
        let format = take(&mut rest).map(u32::from_le_bytes).ok_or_else(truncated)?;
        if !is_known(format) {
            return Err(other_format(self.path, 8, format));
        }
        let term = take(&mut rest).map(u64::from_le_bytes).ok_or_else(truncated)?;
        let index = take(&mut rest).map(u64::from_le_bytes).ok_or_else(truncated)?;
        let begin = whole.len();
        whole.extend(self.bytes(4)?);
        for _ in 0..2 {
            let length = self.array::<2>()?;
            whole.extend(length);
            whole.extend(self.bytes(u64::from(u16::from_le_bytes(length)))?);
        }
        let found = take_owner(&mut &whole[begin..]);
        let length = self.array::<4>()?;
        whole.extend(length);
        let length = u64::from(u32::from_le_bytes(length)).min(LONGEST_HEAD);
        let head = self.bytes(length)?;
        whole.extend(&head);
        let sum = self.u32()?;
        let wrong_sum = || damaged(self.path, 0, "the checksum of its head is wrong");
        if crc32fast::hash(&whole) != sum {
            return Err(wrong_sum());
        }
        sums.update(&sum.to_le_bytes());
        let (owner, at) = (found.ok_or_else(wrong_sum)?, Mark { term, index });
        Ok((About { format, owner, at }, head))
    }
}
