//! Leadership and locks for applications: a client of a Bellwether cluster.
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
//!     println!("leads, by token {}", leadership.token());
//!     tokio::select! {
//!         () = bill_everybody() => leadership.resign().await?,
//!         how = leadership.lost() => eprintln!("leads no more: {how}"),
//!     }
//!     Ok(())
//! }
//! # async fn bill_everybody() {}
//! ```
//!
//! * A [`Client`] is a connection, which finds members and follows the coordinator by itself.
//! * A [`Session`] is what holds and leads. It phases as long as this process keeps it alive.
//! * A [`Lock`] and a [`Leadership`] are guards: dropping one gives back what it holds.
//! * [`Client::lead`] runs work on one process at a time, and again elsewhere when that process is lost.
//! * An [`Observer`] sees who leads a role, now and whenever that changes. It needs no session.
//!
//! # What is promised
//! * What a guard stands for is held by nobody else, as long as it is not [lost](Lock::lost). That completes before
//!   anybody else can hold it, and an acknowledged grant survives the loss of any minority of members.
//! * Every grant has a [token](Lock::token) that is larger than all before it. A process that was paused may
//!   believe for a moment that it holds what it has lost: whatever is protected should refuse smaller tokens
//!   than it has seen.
//! * Everything may be cancelled. A dropped future or guard leaves nothing behind: what it waited for is given up, what
//!   it held is given back.
//! * A request is never done twice, however often a connection breaks.
//!
//! Everything that can go wrong is an [`Error`], which programs tell apart by its [`ErrorKind`].

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
