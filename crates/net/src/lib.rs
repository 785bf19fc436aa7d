//! The tokio driver: hosts any [`Process`] over mutual TLS.
//!
//! The simulator and this crate run the same state machines. Here the network is real, so this is
//! where everything lives that a state machine need not know: sockets, certificates, clocks, files,
//! and strangers.
//!
//! ```text
//!            commands (input, inspect, stop)         outputs
//!                         |                             ^
//!                         v                             |
//!   accept ---> inbox --> runner: one event, one handler call; state saved, then effects
//!   (one task per                                       |
//!    incoming connection)                               v
//!                                        one outbox and one dialler task per peer
//! ```
//!
//! * A [`Protocol`] says how a process's messages look on the wire and where its durable state is kept.
//!   [`Coded`] does it for any process whose parts serde can carry, and there is nothing to write.
//! * A connection carries messages one way. Each process keeps one to every other member, and
//!   accepts one from each. Frames are a length and a protobuf envelope; the first on a connection
//!   is a greeting, which is [judged](decode::judge) before anything else is believed.
//! * Messages to one peer arrive in the order of sending, at most once, as long as the connection
//!   lives. When it breaks, what was on the way is lost. The bounded queue in front of it never
//!   leaves out a message of a live connection, except a heartbeat that a newer one replaces; if it
//!   runs full the connection is closed. Without a connection a message waits for a short while.
//!   Everything that is dropped is [counted](Counters::dropped) with the reason.
//! * Whatever a step promises is in the [store] before a message of that step leaves. One save may be
//!   for several steps. If it fails, nothing leaves and the process ends with an error.
//! * Clients come to the same address with certificates of their own. They are let in here and
//!   [served](Options::clients) elsewhere; a [`ClientIdentity`] is their side of it.
//! * Strangers are refused and [counted](Counters::refused) by reason, and logged once per peer and
//!   reason.
//!
//! All this is the feature `driver`, which is on by default. Without it the crate is a client's side
//! of a connection: frames, TLS, Unix sockets, clock.
//!
//! ```no_run
//! use bellwether_algorithms::definition::{Algorithm, Settings};
//! use bellwether_algorithms::election::{Bully, Watched};
//! use bellwether_core::{Group, NodeId};
//! use bellwether_net::{Options, Coded, certs, start};
//! use std::collections::BTreeMap;
//! use std::time::Duration;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let (group, me) = (Group::numbered(2)?, NodeId::new(1));
//! let folder = std::path::Path::new("certs");
//! certs::prepare_all(folder, "demo", group.ring(), &[], 365)?;
//! let identity = certs::Files::of(folder, me).load("demo", me)?;
//!
//! let listen = tokio::net::TcpListener::bind("127.0.0.1:7001").await?;
//! let others = BTreeMap::from([(NodeId::new(2), "127.0.0.1:7002".to_owned())]);
//! let options = Options::new(identity, group.clone(), others, listen);
//!
//! let settings = Settings {
//!     detection: true,
//!     acknowledge: true,
//!     ..Settings::new(Duration::from_millis(500))
//! };
//! let bully = Watched::<Bully>::definition();
//! let config = bully.config(&settings, &group);
//! let running = start(Coded::new("host/bully", bully.codec), config, options)?;
//! let mut outputs = running.outputs();
//! while let Ok((at, output)) = outputs.recv().await {
//!     tracing::info!(%at, "{output}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Process`]: bellwether_core::Process

mod client;
mod clock;
pub mod decode;
#[cfg(feature = "driver")]
mod driver;
pub mod frame;
mod identity;
mod seldom;
mod socket;
pub mod stages;
mod trust;
mod unix;

pub use client::{ClientIdentity, ClientStream, NoConnection};
pub use clock::Clock;
pub use decode::Malformed;
#[cfg(feature = "driver")]
pub use driver::*;
pub use identity::{Files, IdentityError};
pub use identity::{check_client, check_cluster, client_name, member_name};
pub use seldom::Seldom;
pub use trust::ServerTrust;
pub use unix::{UnixReader, UnixWriter, split_unix};

/// Sixteen random bytes as a number, to tell one thing from all others that were ever begun.
pub fn draw() -> u128 {
    let mut bytes = [0; 16];
    // A process without random numbers could not speak TLS either.
    identity::provider().secure_random.fill(&mut bytes).expect("the system gives random numbers");
    u128::from_ne_bytes(bytes)
}
