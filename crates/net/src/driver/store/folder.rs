//! A folder of segments: opened, appended to, and relieved of what is not needed any more.
//!
//! | name | what |
//! | --- | --- |
//! | `LOCK` | locked while a process uses the folder |
//! | `0000000000000007.seg` | segments, numbered without gaps |
//! | `next` | the next segment, prepared in the background; renamed when its first batch is synced |
//! | `*.snap` | [snapshots](super::snapshot) |
//! | `*.new` | files that are being written; removed at the start |

use super::batch::Batch;
use super::direct::Direct;
use super::recover::{self, Found};
use super::segment::{self, Header, Mark, name, prepare};
use super::{damaged, io_error};
use crate::driver::durable::{DurableError, Owner};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

const NEXT: &str = "next";

/// An open folder: locked against a second process for as long as this lives.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    owner: Owner,
    directory: File,
    segment_bytes: u32,
    /// All segments, with how far the log went when each was made. The last one is written to.
    bases: BTreeMap<u64, Mark>,
    current: Option<Current>,
    /// The number of the next batch.
    batch: u64,
    next: Option<JoinHandle<Result<File, DurableError>>>,
    _lock: File,
}

#[derive(Debug)]
struct Current {
    path: PathBuf,
    file: File,
    /// The same file past the page cache, where that is possible.
    direct: Option<Direct>,
    salt: u64,
    size: u64,
    /// Where the next batch goes.
    end: u64,
}

impl Current {
    /// Writes these bytes at the end and syncs them.
    fn append(&mut self, bytes: &[u8]) -> Result<(), DurableError> {
        let past_cache = self.direct.as_mut().map(|direct| direct.append(bytes, self.end));
        match past_cache {
            Some(Ok(())) => {}
            // The file system asks for other blocks, and has written nothing.
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => {
                self.direct = None;
                return self.append(bytes);
            }
            Some(Err(error)) => return Err(io_error("write", &self.path)(error)),
            None => {
                self.file.write_all_at(bytes, self.end).map_err(io_error("write", &self.path))?;
                self.file.sync_data().map_err(io_error("sync", &self.path))?;
            }
        }
        self.end += bytes.len() as u64;
        Ok(())
    }
}

/// What a folder holds, as one sees it who does not use it.
#[derive(Debug)]
pub struct Listing {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is; not known if it has no segment that can be read.
    pub owner: Option<Owner>,
    /// The highest format of its segments.
    pub format: u32,
    /// The first segment that was read, and how many were.
    pub segments: (u64, u64),
    /// The first thing that is wrong with the segments; those after it are not read.
    pub damage: Option<DurableError>,
}

impl Listing {
    /// Reads a folder without a lock, and changes nothing: while a process uses the folder, files may come
    /// and go meanwhile.
    pub fn read(
        path: &Path,
        mut take: impl FnMut(Found<'_>) -> Result<(), String>,
    ) -> Result<Self, DurableError> {
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(path).map_err(io_error("list the directory", path))? {
            let entry = entry.map_err(io_error("list the directory", path))?;
            numbers.extend(segment::number(&entry.file_name().to_string_lossy()));
        }
        numbers.sort_unstable();
        let segments = (numbers.first().copied().unwrap_or(0), 0);
        let path = path.to_owned();
        let mut listing = Listing { path, owner: None, format: 0, segments, damage: None };
        let mut batch = None;
        for (place, number) in numbers.iter().copied().enumerate() {
            let path = listing.path.join(name(number));
            let wanted = segments.0 + place as u64;
            if number != wanted {
                let what = format!("the segment `{}` before it is missing", name(wanted));
                listing.damage = Some(damaged(&path, 0, what));
                break;
            }
            let is_last = place + 1 == numbers.len();
            let owner = listing.owner.as_ref();
            match recover::scan(&path, owner, (number, batch), is_last, &mut take) {
                Ok(scanned) => {
                    batch = Some(scanned.batch);
                    listing.format = listing.format.max(scanned.header.format);
                    listing.owner = Some(scanned.header.owner);
                    listing.segments.1 += 1;
                }
                Err(error) => {
                    listing.damage = Some(error);
                    break;
                }
            }
        }
        Ok(listing)
    }
}

impl Folder {
    /// Opens the folder of this owner, which is made if it does not exist, and gives `take` what is in
    /// it. New segments have this many bytes.
    pub fn open(
        path: &Path,
        owner: Owner,
        segment_bytes: u32,
        mut take: impl FnMut(Found<'_>) -> Result<(), String>,
    ) -> Result<Self, DurableError> {
        make(path)?;
        let directory = File::open(path).map_err(io_error("open the directory", path))?;
        let lock = lock(path)?;
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(path).map_err(io_error("list the directory", path))? {
            let entry = entry.map_err(io_error("list the directory", path))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == NEXT || name.ends_with(".new") {
                std::fs::remove_file(entry.path()).map_err(io_error("remove", &entry.path()))?;
            }
            numbers.extend(segment::number(&name));
        }
        numbers.sort_unstable();
        let mut folder = Folder {
            path: path.to_owned(),
            owner,
            directory,
            segment_bytes,
            bases: BTreeMap::new(),
            current: None,
            batch: 1,
            next: None,
            _lock: lock,
        };
        for (place, number) in numbers.iter().copied().enumerate() {
            let path = folder.path.join(name(number));
            let before = folder.bases.last_key_value().map(|(number, _)| *number);
            if let Some(before) = before.filter(|before| before + 1 != number) {
                let missing = segment::name(before + 1);
                return Err(damaged(
                    &path,
                    0,
                    format!("the segment `{missing}` before it is missing"),
                ));
            }
            let batch = before.map(|_| folder.batch);
            let is_last = place + 1 == numbers.len();
            let read = recover::read(&path, &folder.owner, (number, batch), is_last, &mut take)?;
            let recover::Segment { file, header, end, batch } = read;
            folder.bases.insert(number, header.base);
            folder.batch = batch;
            let (salt, size) = (header.salt, u64::from(header.size));
            let direct = Direct::open(&path, size, end);
            folder.current = Some(Current { path, file, direct, salt, size, end });
        }
        folder.prepare_next();
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its first segment, or the folder if it has none.
    pub fn first(&self) -> PathBuf {
        let first = self.bases.first_key_value().map(|(number, _)| name(*number));
        self.path.join(first.unwrap_or_default())
    }

    /// Whose it is.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The number of the segment that is written to; 0 before the first batch.
    pub fn segment(&self) -> u64 {
        self.bases.last_key_value().map_or(0, |(number, _)| *number)
    }

    /// Whether this batch fits into the present segment. If not, it will be the first of another one.
    pub fn fits(&self, batch: &Batch) -> bool {
        self.current.as_ref().is_some_and(|c| c.end + batch.len() as u64 <= c.size)
    }

    /// Appends a batch and syncs it; gives the number of bytes. `base` is how far the log goes without
    /// this batch.
    pub fn append(&mut self, batch: Batch, base: Mark) -> Result<u64, DurableError> {
        if !self.fits(&batch) {
            return self.begin_segment(batch, base);
        }
        let Some(current) = &mut self.current else { return self.begin_segment(batch, base) };
        let bytes = batch.seal(current.salt, self.batch);
        current.append(&bytes)?;
        self.batch += 1;
        Ok(bytes.len() as u64)
    }

    /// Begins another segment with this batch.
    fn begin_segment(&mut self, batch: Batch, base: Mark) -> Result<u64, DurableError> {
        let number = self.segment() + 1;
        let salt = rand::random();
        let mut header = Header {
            format: super::FORMAT,
            size: self.segment_bytes,
            segment: number,
            batch: self.batch,
            salt,
            base,
            owner: self.owner.clone(),
        };
        let wanted = header.to_bytes().len() + batch.len();
        // A batch is never divided: a larger one gets a larger segment.
        let size = u64::from(self.segment_bytes).max(wanted as u64);
        header.size = u32::try_from(size).map_err(|_| {
            let error = io::Error::new(io::ErrorKind::FileTooLarge, "4 GiB in one save");
            io_error("write", &self.path)(error)
        })?;
        let next = self.path.join(NEXT);
        let prepared = self.next.take().and_then(|next| next.join().ok()).and_then(Result::ok);
        let file = match prepared.filter(|_| size == u64::from(self.segment_bytes)) {
            Some(file) => file,
            None => {
                let _ = std::fs::remove_file(&next);
                prepare(&next, size)?
            }
        };
        let mut bytes = header.to_bytes();
        bytes.extend(batch.seal(salt, self.batch));
        file.write_all_at(&bytes, 0).map_err(io_error("write", &next))?;
        file.sync_data().map_err(io_error("sync", &next))?;
        let path = self.path.join(name(number));
        std::fs::rename(&next, &path).map_err(io_error("rename", &next))?;
        self.directory.sync_all().map_err(io_error("sync the directory", &self.path))?;
        self.bases.insert(number, base);
        let end = bytes.len() as u64;
        let direct = Direct::open(&path, size, end);
        self.current = Some(Current { path, file, direct, salt, size, end });
        self.batch += 1;
        self.prepare_next();
        Ok(bytes.len() as u64)
    }

    /// Makes the next segment in the background. If that fails it is tried again when it is needed,
    /// and only then is it fatal.
    fn prepare_next(&mut self) {
        let (path, size) = (self.path.join(NEXT), u64::from(self.segment_bytes));
        self.next = Some(std::thread::spawn(move || {
            prepare(&path, size).inspect_err(|error| {
                tracing::warn!("the next segment of the log cannot be made yet: {error}");
            })
        }));
    }

    /// Removes the segments before this one whose entries all have an index up to `index`.
    pub fn retire(&mut self, before: u64, index: u64) {
        while let Some((number, _)) = self.bases.first_key_value()
            && *number < before
            && let Some((_, after)) = self.bases.iter().nth(1)
            && after.index <= index
        {
            let path = self.path.join(name(*number));
            // The lowest first, and synced one by one: after a crash there is no gap.
            let removed = std::fs::remove_file(&path).and_then(|()| self.directory.sync_all());
            if let Err(error) = removed {
                tracing::warn!("cannot remove `{}`, which is not needed: {error}", path.display());
                return;
            }
            self.bases.pop_first();
        }
    }
}

impl Drop for Folder {
    /// Nothing writes to the folder after its lock is gone.
    fn drop(&mut self) {
        if let Some(next) = self.next.take() {
            let _ = next.join();
        }
    }
}

/// Makes the folder if it does not exist.
fn make(path: &Path) -> Result<(), DurableError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {
            let parent = match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            let synced = File::open(parent).and_then(|parent| parent.sync_all());
            synced.map_err(io_error("sync the directory", parent))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(io_error("create the directory", path)(error)),
    }
}

fn lock(path: &Path) -> Result<File, DurableError> {
    let file = path.join("LOCK");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let lock = options.open(&file).map_err(io_error("create", &file))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(DurableError::InUse(path.to_owned())),
        Err(error) => Err(io_error("lock", &file)(error.into())),
    }
}
