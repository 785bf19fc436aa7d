//! Where `bellwether up` leaves the sockets of its members and the addresses of their HTTP API, so
//! that commands on the same host find them.
//!
//! In a directory that belongs to the user alone there is one for each cluster that runs, by the
//! number of the process that started it, and in that a socket for each member, a file
//! with one address in a line, and one that says where the operator token is. They are short paths, as the system wants them for sockets, wherever
//! the cluster keeps its other files.

use crate::asking::Address;
use bellwether::up::{answers, clusters, home, is_private, running, sockets};
use bellwether_shell::Failure;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The file with the addresses of the HTTP API.
const HTTP: &str = "http";
/// The file that says where the operator token is.
const TOKEN: &str = "operator-token";

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
        if !is_private(&home()) {
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

    /// Leaves word of where the members serve HTTP, and of where their operator token is.
    pub(crate) fn tell(&self, http: &[Address], token: &Path) -> io::Result<()> {
        fs::write(self.folder.join(TOKEN), token.as_os_str().as_encoded_bytes())?;
        let lines: Vec<_> = http.iter().map(|address| format!("{address}\n")).collect();
        // A reader at this moment finds nothing rather than half of it.
        let draft = self.folder.join(".http");
        fs::write(&draft, lines.concat())?;
        fs::rename(draft, self.folder.join(HTTP))
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The sockets of the cluster that runs on this host, if one does.
pub(super) fn of_up() -> Result<Vec<PathBuf>, Failure> {
    let named = |cluster: &Path| cluster.join("1.sock").display().to_string();
    match running().as_slice() {
        [] => Ok(Vec::new()),
        [cluster] => Ok(sockets(cluster)),
        several => Err(Failure::Exit(64, which("--socket", several.iter().map(|c| named(c))))),
    }
}

/// Where the members of that cluster serve HTTP.
pub(crate) fn http_of_up() -> Result<Vec<Address>, Failure> {
    let mut found: Vec<_> = running().iter().map(|cluster| http(cluster)).collect();
    // It is about to start, or of a version that leaves no word.
    found.retain(|cluster| !cluster.is_empty());
    match found.as_slice() {
        [] => Ok(Vec::new()),
        [cluster] => Ok(cluster.clone()),
        several => {
            let first = several.iter().map(|cluster| cluster[0].to_string());
            Err(Failure::Input(which("--address", first)))
        }
    }
}

/// Where the operator token of the cluster is that this member is of, if `up` runs it for this user.
pub(crate) fn token_of_up(member: &Address) -> Option<PathBuf> {
    let cluster = running().into_iter().find(|cluster| http(cluster).contains(member))?;
    let path = fs::read(cluster.join(TOKEN)).ok()?;
    Some(PathBuf::from(OsString::from_vec(path)))
}

/// What to do about several clusters.
fn which(flag: &str, names: impl Iterator<Item = String>) -> String {
    let names: Vec<_> = names.map(|name| format!("{flag} {name}")).collect();
    format!(
        "{} clusters of `bellwether up` run on this host; choose one: {}",
        names.len(),
        names.join(", or ")
    )
}

/// The addresses that a cluster has left word of.
fn http(cluster: &Path) -> Vec<Address> {
    let text = fs::read_to_string(cluster.join(HTTP)).unwrap_or_default();
    text.lines().filter_map(|line| Address::parse(line).ok()).collect()
}

/// Whether the process that started it was killed, and could not clear away.
fn is_over(cluster: &Path) -> bool {
    let name = cluster.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let pid = name.strip_prefix("up-").unwrap_or_default();
    !Path::new("/proc").join(pid).exists() && !answers(cluster)
}
