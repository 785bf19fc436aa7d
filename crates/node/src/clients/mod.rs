//! Clients: their connections, and the requests at which they meet the member.
//!
//! ```text
//!   Unix socket ---> greeting --+                     requests
//!   (local.rs)                  +--> connection ----> requests -----> the member
//!   net's listener -------------+    (serve.rs) <---- (requests.rs) <----
//!   (certificate and greeting       one task each     replies
//!    are judged there)                 |
//!                                      +--> process_watcher (process_watcher.rs): the processes behind Unix sockets
//!                                      +--> role_watches (role_watches.rs): roles, and who observes them
//!                                      +--> lists (lists.rs): pages of locks, roles and sessions
//! ```
//!
//! Other users of the coordinator, such as HTTP, open a [visitor](requests::Visitor) at
//! the requests like a connection.

mod lists;
mod local;
mod process_watcher;
mod quota;
mod requests;
mod role_watches;
mod serve;

pub(crate) use lists::Lists;
pub(crate) use local::NoSocket;
pub(crate) use quota::{Quota, keep_count};
pub(crate) use requests::{Coordinator, Note, RequestQueue, Visitor};
pub(crate) use role_watches::{RoleWatches, watch_over};

use crate::callers::Caller;
use crate::config::Settings;
use bellwether_net::{ClientConnection, Reason, Refused, refuse};
use process_watcher::ProcessWatcher;
use serve::Guest;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWrite;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// How long a client may take to say who it is.
const GREETED_WITHIN: Duration = Duration::from_secs(3);

/// How long a frame that has begun may take to arrive, and how long a write may make no progress.
const STALLED_AFTER: Duration = Duration::from_secs(5);

/// The most clients that may wait to be welcomed.
const WELCOMES_MAX: usize = 256;

/// The most clients that are told that there is no place for them; beyond that, they are only closed.
const REFUSALS_MAX: usize = 64;

/// What all connections share.
struct Shared {
    requests: Arc<RequestQueue>,
    process_watcher: Arc<ProcessWatcher>,
    role_watches: Arc<RoleWatches>,
    quota: Arc<Quota>,
    lists: Lists,
    places: Arc<Semaphore>,
    connections_max: usize,
    member: u32,
    cluster: String,
}

impl Shared {
    fn new(
        settings: &Settings,
        requests: Arc<RequestQueue>,
        process_watcher: Arc<ProcessWatcher>,
        role_watches: Arc<RoleWatches>,
        quota: Arc<Quota>,
        lists: Lists,
    ) -> Self {
        let connections_max = settings.sessions.connections;
        Shared {
            requests,
            process_watcher,
            role_watches,
            quota,
            lists,
            places: Arc::new(Semaphore::new(connections_max)),
            connections_max,
            member: settings.id.number(),
            cluster: settings.cluster.clone(),
        }
    }

    /// Serves a client in a task of its own, if there is a place for it; else tells it so.
    fn admit<W: AsyncWrite + Unpin + Send + 'static>(
        self: &Arc<Self>,
        connections: &mut JoinSet<()>,
        mut out: W,
        serve: impl FnOnce(W) -> BoxedFuture,
    ) {
        while connections.try_join_next().is_some() {}
        match self.places.clone().try_acquire_owned() {
            Ok(place) => {
                let served = serve(out);
                connections.spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            Err(_) => {
                let most = self.connections_max;
                let text = format!("the limit of {most} connected clients is reached");
                tracing::debug!("{text}");
                if connections.len() < most.saturating_add(REFUSALS_MAX) {
                    let refused = Refused::new(Reason::Overflow, text);
                    connections
                        .spawn(async move { refuse(&mut out, &refused, STALLED_AFTER).await });
                }
            }
        }
    }
}

type BoxedFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where the driver hands over clients that come by the members' address, and where they are welcomed.
pub(crate) fn door() -> (mpsc::Sender<ClientConnection>, mpsc::Receiver<ClientConnection>) {
    mpsc::channel(WELCOMES_MAX)
}

/// The ways in. When it is dropped they are closed, and so are all connections.
pub(crate) struct Clients {
    process_watcher: Arc<ProcessWatcher>,
    _tasks: JoinSet<()>,
    _socket: Option<local::Socket>,
}

impl Clients {
    /// Opens the ways in for clients that meet the member at this queue of requests.
    pub(crate) fn start(
        settings: &Settings,
        requests: &Arc<RequestQueue>,
        role_watches: &Arc<RoleWatches>,
        quota: &Arc<Quota>,
        lists: Lists,
        remote: mpsc::Receiver<ClientConnection>,
    ) -> Result<Clients, NoSocket> {
        let configured = settings.members.iter();
        requests.know_members(
            configured.map(|peer| (peer.id.number(), peer.address.clone())).collect(),
        );
        let mut tasks = JoinSet::new();
        let socket = match &settings.socket {
            None => None,
            Some(path) => match local::listen(path, settings.socket_access) {
                Ok(socket) => Some(socket),
                // It is the default, not asked for, and members may share a directory.
                Err(no_socket) if *path == settings.default_socket() => {
                    tracing::warn!("no Unix socket for clients: {no_socket} ('socket')");
                    None
                }
                Err(no_socket) => return Err(no_socket),
            },
        };
        let process_watcher = ProcessWatcher::start(requests, &mut tasks);
        let shared = Arc::new(Shared::new(
            settings,
            requests.clone(),
            process_watcher.clone(),
            role_watches.clone(),
            quota.clone(),
            lists,
        ));
        let socket = socket.map(|(listener, socket)| {
            tasks.spawn(local::accept(listener, shared.clone()));
            socket
        });
        tasks.spawn(accept_remote(remote, shared));
        Ok(Clients { process_watcher, _tasks: tasks, _socket: socket })
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.process_watcher.end();
    }
}

/// Serves clients that come by the members' address, until it is aborted.
async fn accept_remote(mut clients: mpsc::Receiver<ClientConnection>, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Some(client) = clients.recv().await {
        let ClientConnection { version, name, address, frames, out, .. } = client;
        let inside = shared.clone();
        shared.admit(&mut connections, out, |out| {
            Box::pin(async move {
                let caller = Caller::Certificate { name, from: address };
                let gone = format!("{caller} disconnected");
                let guest = Guest { version, frames, out, caller, owner: None };
                let end = guest.serve(&inside).await;
                tracing::debug!("{gone}: {end}");
            })
        });
    }
}

#[cfg(test)]
mod tests;
