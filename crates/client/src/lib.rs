//! Leader election and distributed locks for applications: the client of a Bellwether cluster.
//!
//! It does what etcd's `concurrency` package or Curator's recipes do, for a cluster of `bellwether node` processes, or
//! for an etcd cluster (feature `etcd`): sessions with a TTL, locks, semaphores, leadership, and fencing tokens.
//!
//! ```no_run
//! use bellwether::{Client, Endpoints, SessionOptions};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), bellwether::Error> {
//!     // By Unix socket on a member's host, or by TLS from elsewhere.
//!     let client = Client::connect(Endpoints::from_env_or_default()?).await?;
//!     let session = client.session(SessionOptions::named("billing")).await?;
//!
//!     let leadership = session.campaign("billing-leader").await?;
//!     println!("leads with token {}", leadership.token());
//!     tokio::select! {
//!         () = send_bills() => leadership.resign().await?,
//!         how = leadership.lost() => eprintln!("no longer leads: {how}"),
//!     }
//!     Ok(())
//! }
//! # async fn send_bills() {}
//! ```
//!
//! * A [`Client`] is a connection to any member. It moves to another member when its own fails or has no coordinator.
//! * A [`Session`] (etcd: lease) holds locks and leads roles. It has a TTL and is kept alive in the background.
//! * A [`Lock`] and a [`Leadership`] are guards: dropping one releases what it holds.
//! * [`Client::lead`] runs work on one process at a time, and again elsewhere when that process is lost.
//! * An [`Observer`] reports the leader of a role, now and after each change. It needs no session.
//! * [`Client::locks`], [`Client::roles`] and [`Client::sessions`] list what there is.
//!
//! # What is promised
//! * No other session holds what a guard holds, until the guard is [lost](Lock::lost). [`Lock::lost`] completes before
//!   another session can hold it. An acknowledged grant is committed: it survives the loss of any minority of members.
//! * Every grant has a [fencing token](Lock::token) that is larger than all tokens before it. A process that was paused may
//!   believe for a moment that it holds what it has lost, so the protected resource should reject a token that is smaller
//!   than the largest it has seen.
//! * Everything can be cancelled. A dropped request is withdrawn, and a dropped guard is released.
//! * A request is carried out once, however often a connection breaks.
//!
//! Every failure is an [`Error`]. Programs tell errors apart by their [`ErrorKind`].

mod check;
mod client;
mod endpoints;
mod engine;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod finder;
mod grant;
mod lead;
mod link;
mod lists;
mod lock;
mod lost;
mod observe;
mod role;
mod session;
mod spare;
mod state;
mod tasks;
pub mod up;

pub use bellwether_coordination::{NoSessionId, SessionId, Token};
pub use client::Client;
pub use endpoints::{CERTS, CLIENT, ENDPOINTS, Endpoint, Endpoints, SOCKET};
pub use error::{Error, ErrorKind};
#[cfg(feature = "etcd")]
pub use etcd::end_session;
pub use lists::{Candidate, LockHolder, LockInfo, LockMode, LockWaiter, RoleInfo, SessionInfo};
pub use lock::{Lock, LockRequest};
pub use lost::{Deadlock, Lost, SessionEnd, Wait};
pub use observe::{Leader, Observer, RoleStatus};
pub use role::{Campaign, Leadership};
pub use session::{Session, SessionOptions};

/// What this program is called, with its process's number.
fn program() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&path).file_name().unwrap_or_default();
    let name: String = name.to_string_lossy().chars().take(64).collect();
    format!("{name}[{}]", std::process::id())
}
