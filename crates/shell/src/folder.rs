//! Directories that a run keeps its files in.

use std::path::{Path, PathBuf};
use std::{fs, io};
use tempfile::TempDir;

/// Where a run keeps its files.
#[derive(Debug)]
pub enum Folder {
    /// It goes with the run.
    Temporary(TempDir),
    /// It stays.
    Kept(PathBuf),
}

impl Folder {
    /// The directory that is to be kept, which is made if it is not there; or a temporary one whose
    /// name begins so.
    pub fn new(kept: Option<&Path>, prefix: &str) -> io::Result<Self> {
        let Some(path) = kept else {
            return tempfile::Builder::new().prefix(prefix).tempdir().map(Folder::Temporary);
        };
        fs::create_dir_all(path)?;
        fs::canonicalize(path).map(Folder::Kept)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Folder::Temporary(folder) => folder.path(),
            Folder::Kept(path) => path,
        }
    }

    /// Keeps it in any case.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        match self {
            Folder::Temporary(folder) => folder.keep(),
            Folder::Kept(path) => path,
        }
    }
}
