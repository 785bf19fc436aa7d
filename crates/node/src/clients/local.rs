//! The Unix socket: the way in for clients on the same host.
//!
//! Who may connect is what the permissions of the socket's file say (`socket_mode`, `socket_group`), and by
//! default that is the member's own user.

use super::serve::Guest;
use super::{GREETED_WITHIN, STALLED_AFTER, Shared};
use crate::callers::Caller;
use crate::config::SocketAccess;
use bellwether_api::envelope::{Body, Envelope};
use bellwether_net::decode::judge_client;
use bellwether_net::frame::Frames;
use bellwether_net::{GREETING_MAX, Reason, Refused, UnixReader, UnixWriter, refuse, split_unix};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::net::unix::UCred;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The longest path that the system takes for a socket.
const PATH_MAX: usize = 107;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoSocket {
    /// The system takes no such path.
    #[error(
        "the path of a socket has at most {PATH_MAX} bytes, and '{}' has more; choose a shorter one",
        .0.display()
    )]
    TooLong(PathBuf),
    /// Something else is there.
    #[error("'{}' exists and is not a socket; move it away, or choose another path", .0.display())]
    Taken(PathBuf),
    /// Another process listens there.
    #[error(
        "another process listens at '{}'; stop it, or give every member its own socket: {{id}} in \
         the path becomes its number",
        .0.display()
    )]
    InUse(PathBuf),
    /// The system refused.
    #[error("cannot listen at '{}': {error}; choose another path", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// A socket that is listened at. Its file goes when this does.
pub(super) struct Socket {
    path: PathBuf,
    /// The file's device and number.
    file: (u64, u64),
}

/// Makes the socket's file. One that a dead process left behind is replaced.
pub(super) fn listen(
    path: &Path,
    access: SocketAccess,
) -> Result<(UnixListener, Socket), NoSocket> {
    let failed = |error| NoSocket::Io { path: path.to_owned(), error };
    if path.as_os_str().len() > PATH_MAX {
        return Err(NoSocket::TooLong(path.to_owned()));
    }
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
        Ok(file) if !file.file_type().is_socket() => return Err(NoSocket::Taken(path.to_owned())),
        // A process answers, or the socket was left behind.
        Ok(_) => match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => return Err(NoSocket::InUse(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(failed(error)),
        },
    }
    // It appears under its name only when its permissions are set.
    let beside = path.with_file_name(format!(".bw{}", std::process::id()));
    let _ = fs::remove_file(&beside);
    let listener = UnixListener::bind(&beside).map_err(failed)?;
    let named = permit(&beside, access)
        .and_then(|()| fs::symlink_metadata(&beside))
        .and_then(|file| fs::rename(&beside, path).map(|()| (file.dev(), file.ino())));
    match named {
        Ok(file) => Ok((listener, Socket { path: path.to_owned(), file })),
        Err(error) => {
            let _ = fs::remove_file(&beside);
            Err(failed(error))
        }
    }
}

/// Sets the mode and group that decide which users may connect. The group comes first: until then only the owner may.
fn permit(path: &Path, SocketAccess { mode, group }: SocketAccess) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    if let Some(group) = group {
        chown(path, None, Some(group))?;
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Unless another process has put its own there.
        let ours = |file: fs::Metadata| (file.dev(), file.ino()) == self.file;
        if fs::symlink_metadata(&self.path).is_ok_and(ours) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Lets clients in until it is aborted.
pub(super) async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let peer = stream.peer_cred().ok();
                let Ok((read, out)) = split_unix(stream) else { continue };
                let inside = shared.clone();
                shared.admit(&mut connections, out, |out| Box::pin(visit(read, out, peer, inside)));
            }
            Err(error) => {
                // Most likely too many open files. It passes.
                tracing::warn!("cannot accept clients for now: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn visit(read: UnixReader, out: UnixWriter, peer: Option<UCred>, shared: Arc<Shared>) {
    // 0 is one that this member cannot see: of another namespace.
    let pid = peer.and_then(|peer| peer.pid()).and_then(|pid| u32::try_from(pid).ok());
    let pid = pid.filter(|pid| *pid != 0);
    let caller = Caller::Process { uid: peer.map(|peer| peer.uid()), pid };
    let frames = Frames::new(read, GREETING_MAX, STALLED_AFTER);
    match timeout(GREETED_WITHIN, greet(frames, out, (caller, pid), &shared)).await {
        Ok(Ok(guest)) => {
            let end = guest.serve(&shared).await;
            tracing::debug!(pid, "a local client disconnected: {end}");
        }
        Ok(Err(refused)) => tracing::info!(pid, "a local client was refused: {}", refused.text),
        Err(_) => tracing::debug!(pid, "a local client did not identify itself"),
    }
}

async fn greet(
    mut frames: Frames<UnixReader>,
    mut out: UnixWriter,
    (caller, pid): (Caller, Option<u32>),
    shared: &Shared,
) -> Result<Guest<UnixReader, UnixWriter>, Refused> {
    let malformed = |text: &str| Refused::new(Reason::Malformed, text);
    let judged = match frames.next().await {
        Ok(Some((Envelope { body: Some(Body::ClientHello(hello)), .. }, _))) => {
            judge_client(&hello, &shared.cluster, true)
        }
        Ok(Some(_)) => Err(malformed("the first frame is not a client's greeting")),
        Ok(None) => return Err(malformed("closed before it identified itself")),
        Err(broken) => Err(malformed(&broken.to_string())),
    };
    match judged {
        Ok(version) => {
            let owner = pid.and_then(|pid| match shared.process_watcher.meet(pid) {
                Ok(owner) => Some(owner),
                Err(error) => {
                    tracing::info!(pid, "a client's process cannot be watched: {error}");
                    None
                }
            });
            Ok(Guest { version, frames, out, caller, owner })
        }
        Err(refused) => {
            refuse(&mut out, &refused, STALLED_AFTER).await;
            Err(refused)
        }
    }
}
