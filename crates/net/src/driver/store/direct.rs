//! Appending past the page cache: one system call writes and syncs, in two thirds of the time of a
//! write and an `fdatasync`.
//!
//! The kernel takes whole blocks then. So a batch is written together with what is before it in its first
//! block, which stays as it is, and with zeros to the end of its last one. A crash may leave some sectors
//! of a block old and others new; what was synced before is the same in both.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// What the kernel may ask for: addresses, offsets and lengths in multiples of this.
const BLOCK: usize = 4096;
/// Room for more than this is not kept.
const ROOM_MAX: usize = 64 * BLOCK;

/// A file that is written to past the page cache, at its end.
#[derive(Debug)]
pub(super) struct Direct {
    file: File,
    /// What is in the block of the end, up to the end.
    begun: Vec<u8>,
    /// Where blocks are put together.
    room: Vec<u8>,
}

impl Direct {
    /// Opens a segment of this size whose batches end here. None if it does not consist of whole blocks,
    /// or where the file system does not know this way.
    pub(super) fn open(path: &Path, size: u64, end: u64) -> Option<Self> {
        if !size.is_multiple_of(BLOCK as u64) {
            return None;
        }
        let flags = (OFlags::DIRECT | OFlags::DSYNC).bits();
        let flags = i32::try_from(flags).ok()?;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).ok()?;
        let begun = end % BLOCK as u64;
        let mut bytes = vec![0; usize::try_from(begun).ok()?];
        File::open(path).ok()?.read_exact_at(&mut bytes, end - begun).ok()?;
        Some(Direct { file, begun: bytes, room: Vec::new() })
    }

    /// Writes these bytes at `end`, synced when it returns.
    pub(super) fn append(&mut self, bytes: &[u8], end: u64) -> io::Result<()> {
        let (begun, length) = (self.begun.len(), self.begun.len() + bytes.len());
        let whole = length.next_multiple_of(BLOCK);
        if self.room.len() < whole + BLOCK {
            self.room = vec![0; whole + BLOCK];
        }
        let aligned = self.room.as_ptr().align_offset(BLOCK);
        let blocks = &mut self.room[aligned..aligned + whole];
        blocks[..begun].copy_from_slice(&self.begun);
        blocks[begun..length].copy_from_slice(bytes);
        blocks[length..].fill(0);
        self.file.write_all_at(blocks, end - begun as u64)?;
        let kept = length - length % BLOCK;
        self.begun.clear();
        self.begun.extend_from_slice(&blocks[kept..length]);
        if self.room.len() > ROOM_MAX {
            self.room = Vec::new();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 64 * BLOCK as u64;

    /// Pieces of any length, one after the other, with the file opened again in between.
    #[test]
    fn what_is_appended_stands_one_after_the_other() {
        // The folder of the build is on a disk; that of temporary files may not be.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("segment");
        std::fs::write(&path, vec![0; 64 * BLOCK]).unwrap();
        let Some(mut direct) = Direct::open(&path, SIZE, 0) else {
            // Only a file system that cannot do it may be left out.
            let flags = i32::try_from(OFlags::DIRECT.bits()).unwrap();
            let plain = OpenOptions::new().write(true).custom_flags(flags).open(&path);
            return assert!(plain.is_err(), "this file system can write past the page cache");
        };
        let mut wanted = Vec::new();
        for round in 0..60_usize {
            let piece = vec![round as u8 + 1; 1 + round * 131 % 9_000];
            if wanted.len() + piece.len() > 63 * BLOCK {
                break;
            }
            direct.append(&piece, wanted.len() as u64).unwrap();
            wanted.extend(piece);
            if round % 7 == 0 {
                direct = Direct::open(&path, SIZE, wanted.len() as u64).unwrap();
            }
        }
        let found = std::fs::read(&path).unwrap();
        assert_eq!(found.len(), 64 * BLOCK);
        assert_eq!(found[..wanted.len()], wanted);
        assert!(found[wanted.len()..].iter().all(|byte| *byte == 0));
    }
}
