//! Where `bellwether up` leaves the sockets of its members, so that commands on the same host find
//! them.
//!
//! In a directory that belongs to the user alone there is one for each cluster that runs, by the
//! number of the process that started it, and in that a socket for each member. They are short
//! paths, as the system wants them for sockets, wherever the cluster keeps its other files.

use crate::failure::Failure;
use rustix::process::getuid;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The sockets of one cluster. Their directory goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Sockets {
    folder: PathBuf,
}

impl Sockets {
    /// A place for the sockets of the cluster that this process starts.
    pub(crate) fn new() -> io::Result<Self> {
        let folder = home().join(format!("up-{}", std::process::id()));
        let private = || DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        private()?;
        if !is_mine(&home()) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        for old in clusters(&home()).iter().filter(|old| **old != folder && is_over(old)) {
            let _ = fs::remove_dir_all(old);
        }
        Ok(Sockets { folder })
    }

    /// Where the socket of a member is.
    pub(crate) fn of(&self, member: u32) -> PathBuf {
        self.folder.join(format!("{member}.sock"))
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The directory of this user.
fn home() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|path| path.is_absolute() && is_mine(path)) {
        Some(runtime) => runtime.join("bellwether"),
        None => std::env::temp_dir().join(format!("bellwether-{}", getuid().as_raw())),
    }
}

/// Whether a directory belongs to this user, who alone may write into it.
fn is_mine(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    found.is_ok_and(|found| {
        found.is_dir() && found.uid() == getuid().as_raw() && found.mode() & 0o022 == 0
    })
}

/// The sockets of the cluster that runs on this host, if one does.
pub(super) fn of_up() -> Result<Vec<PathBuf>, Failure> {
    let home = home();
    if !is_mine(&home) {
        return Ok(Vec::new());
    }
    let mut clusters = clusters(&home);
    clusters.retain(|cluster| answers(cluster));
    match clusters.as_slice() {
        [] => Ok(Vec::new()),
        [cluster] => Ok(sockets(cluster)),
        several => {
            let list: Vec<_> = several.iter().map(|path| path.display().to_string()).collect();
            let what = format!(
                "{} clusters of `bellwether up` run on this host; say which is meant: --socket \
                 {}/1.sock",
                several.len(),
                list.join("/1.sock, or --socket ")
            );
            Err(Failure::Exit(64, what))
        }
    }
}

/// The places of the clusters that run, and of those that were killed.
fn clusters(home: &Path) -> Vec<PathBuf> {
    listed(home, |name| name.starts_with("up-"))
}

/// Whether a member of it does.
fn answers(cluster: &Path) -> bool {
    sockets(cluster).iter().any(|socket| UnixStream::connect(socket).is_ok())
}

/// Whether whoever started it was killed, and could not clear away.
fn is_over(cluster: &Path) -> bool {
    let name = cluster.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let pid = name.strip_prefix("up-").unwrap_or_default();
    !Path::new("/proc").join(pid).exists() && !answers(cluster)
}

fn sockets(cluster: &Path) -> Vec<PathBuf> {
    listed(cluster, |name| name.ends_with(".sock") && !name.starts_with('.'))
}

fn listed(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter(|entry| entry.file_name().to_str().is_some_and(&wanted));
    let mut found: Vec<_> = found.map(|entry| entry.path()).collect();
    found.sort();
    found
}
