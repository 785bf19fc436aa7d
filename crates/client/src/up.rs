//! Where `bellwether up` leaves the sockets of its members, so that clients on the same host find them.
//!
//! The user's own directory has one directory for each cluster, named after the process that started it, with a socket for
//! each member. A directory that others may write to is not used.
//!
//! ```
//! use bellwether::up;
//!
//! for cluster in up::running() {
//!     println!("{} runs, at {:?}", cluster.display(), up::sockets(&cluster));
//! }
//! // The same step by step, with those that were killed.
//! if up::is_private(&up::home()) {
//!     for cluster in up::clusters(&up::home()) {
//!         println!("{} answers: {}", cluster.display(), up::answers(&cluster));
//!     }
//! }
//! ```

use rustix::process::getuid;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The directory of this user.
pub fn home() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|path| path.is_absolute() && is_private(path)) {
        Some(runtime) => runtime.join("bellwether"),
        None => std::env::temp_dir().join(format!("bellwether-{}", getuid().as_raw())),
    }
}

/// Whether a directory belongs to this user, who alone may write into it.
pub fn is_private(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    found.is_ok_and(|found| {
        found.is_dir() && found.uid() == getuid().as_raw() && found.mode() & 0o022 == 0
    })
}

/// The places of the clusters that run.
pub fn running() -> Vec<PathBuf> {
    let home = home();
    if !is_private(&home) {
        return Vec::new();
    }
    let mut clusters = clusters(&home);
    clusters.retain(|cluster| answers(cluster));
    clusters
}

/// The places of the clusters that run, and of those that were killed.
pub fn clusters(home: &Path) -> Vec<PathBuf> {
    listed(home, |name| name.starts_with("up-"))
}

/// Whether a member of the cluster at this place listens.
pub fn answers(cluster: &Path) -> bool {
    sockets(cluster).iter().any(|socket| UnixStream::connect(socket).is_ok())
}

/// The sockets of the members of the cluster at this place.
pub fn sockets(cluster: &Path) -> Vec<PathBuf> {
    listed(cluster, |name| name.ends_with(".sock") && !name.starts_with('.'))
}

fn listed(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter(|entry| entry.file_name().to_str().is_some_and(&wanted));
    let mut found: Vec<_> = found.map(|entry| entry.path()).collect();
    found.sort();
    found
}
