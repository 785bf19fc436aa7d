//! Engines: where sessions, locks and roles are kept.
//!
//! Everything that users see is written once, above the engine: the session's state machine with its deadline counted
//! from sending, guards, cancellation, the leader loop, retries. It says [`ToMember`] and hears [`ToClient`], whichever
//! engine carries them. An engine is what carries: connections to members of our own ([`crate::tasks`]), or an etcd
//! cluster that is asked to do the same (`etcd`). The address says which.

use crate::Error;
use crate::endpoints::Endpoints;
use crate::finder::{Places, Tried};
use crate::tasks::{Shared, Status};
#[cfg(doc)]
use bellwether_api::client::{ToClient, ToMember};
use bellwether_coordination::Ask;
use std::time::Duration;

/// Carries what is said to where sessions, locks and roles are kept, and back.
pub(crate) trait Engine: Sized + Send + 'static {
    /// What it refuses before anything is asked.
    const RULES: Rules;

    /// Connects, within the time that the endpoints give for it.
    async fn connect(endpoints: &Endpoints, name: String) -> Result<(Self, Greeting), Error>;

    /// Carries, for ever. When a connection breaks, another is found, and
    /// [all that has no answer](crate::state::ClientState::connect) is asked for again there: so an engine must do
    /// nothing twice that has the same key or number.
    fn carry(self, shared: &Shared) -> impl Future<Output = ()> + Send;
}

/// What an engine cannot do is refused with the reason.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// Why a session with this TTL cannot be.
    pub(crate) ttl: fn(Duration) -> Result<(), Error>,
    /// Why this cannot be asked for.
    pub(crate) ask: fn(&Ask) -> Result<(), Error>,
    /// Why no lock can be force-released in this way.
    pub(crate) force: fn(now: bool) -> Result<(), Error>,
    /// Why nothing can be listed at these endpoints.
    pub(crate) list: fn(&Endpoints) -> Result<(), Error>,
}

impl Rules {
    /// The engine says itself what it refuses.
    pub(crate) const NONE: Rules =
        Rules { ttl: |_| Ok(()), ask: |_| Ok(()), force: |_| Ok(()), list: |_| Ok(()) };
}

/// What is known of an engine that has connected.
pub(crate) struct Greeting {
    pub(crate) status: Status,
    /// By how many millionths its clocks may be wrong.
    pub(crate) drift_ppm: u32,
    /// What came of attempts to connect, now and later.
    pub(crate) tried: Tried,
    /// Where the members are, now and later.
    pub(crate) places: Places,
}
