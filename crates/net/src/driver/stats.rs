//! What the driver counts, and what it logs only once.

use bellwether_api::envelope;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Everything counted since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Handler calls.
    pub steps: u64,
    /// Frames received after the greeting.
    pub frames_in: u64,
    /// Frames sent after the greeting.
    pub frames_out: u64,
    /// Bytes received after the greeting, before encryption.
    pub bytes_in: u64,
    /// Bytes sent after the greeting, before encryption.
    pub bytes_out: u64,
    /// Outgoing connections that were greeted.
    pub connects: u64,
    /// Those of them that replaced a lost one.
    pub reconnects: u64,
    /// Incoming connections that were refused or closed for cause.
    pub refused: BTreeMap<Reason, u64>,
    /// Messages that did not reach their peer's process, or that the process may not see.
    pub dropped: BTreeMap<Dropped, u64>,
    /// Times that the durable state was written.
    pub durable_writes: u64,
    /// The bytes of these writes.
    pub durable_bytes: u64,
    /// How long these writes took, all together.
    pub durable_time: Duration,
}

bellwether_core::named! {
    /// Why an incoming connection was refused or closed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Reason {
        /// It was no TLS, or its certificate is not of the cluster's authority, or expired.
        Tls = "tls",
        /// It showed no certificate.
        NoCertificate = "no-certificate",
        /// Its certificate is not for the number or the cluster that it claims.
        Identity = "wrong-identity",
        /// It claims a number that no other member has.
        UnknownId = "unknown-id",
        /// It was removed from the cluster.
        Removed = "removed",
        /// It wanted to reach another process.
        Recipient = "wrong-recipient",
        /// It belongs to another cluster.
        Cluster = "cluster",
        /// It runs another protocol.
        Protocol = "protocol",
        /// It speaks no version that this process knows.
        Version = "version",
        /// A setting that must be the same at both ends is not.
        Settings = "settings",
        /// Another process with its number is connected and alive.
        Duplicate = "duplicate",
        /// It announced a frame larger than allowed.
        TooLarge = "too-large",
        /// It sent something that is no message, or ended in the middle of one.
        Malformed = "malformed",
        /// It took too long to say who it is, or to finish a frame.
        Slow = "slow",
        /// Too many connections were in the middle of their greeting, and it was the oldest; or as many
        /// clients are connected as are served.
        Overflow = "overflow",
    }
}

impl Reason {
    /// How a refusal says it to the caller.
    pub(crate) fn on_the_wire(self) -> envelope::Reason {
        match self {
            Reason::Identity => envelope::Reason::Identity,
            Reason::UnknownId => envelope::Reason::UnknownId,
            Reason::Removed => envelope::Reason::Removed,
            Reason::Recipient => envelope::Reason::Recipient,
            Reason::Cluster => envelope::Reason::Cluster,
            Reason::Protocol => envelope::Reason::Protocol,
            Reason::Version => envelope::Reason::Version,
            Reason::Settings => envelope::Reason::Settings,
            Reason::Duplicate => envelope::Reason::Duplicate,
            Reason::Malformed => envelope::Reason::Malformed,
            Reason::Overflow => envelope::Reason::TooMany,
            _ => envelope::Reason::Unspecified,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

bellwether_core::named! {
    /// Why a message was dropped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Dropped {
        /// A newer one made it pointless before it was sent.
        Superseded = "superseded",
        /// Its peer was not connected for too long.
        Stale = "stale",
        /// Too many waited for a peer that was not connected.
        Unreachable = "unreachable",
        /// Too many waited for a connected peer; the connection was closed.
        Overflow = "overflow",
        /// It was being written when the connection broke.
        Broken = "broken",
        /// It is larger than a frame may be.
        TooLarge = "too-large",
        /// It was for a number that is no member's.
        NoSuchPeer = "no-such-peer",
        /// The process was stopping and its peer could not be reached in time.
        Stopped = "stopped",
        /// A partition made for development swallowed it.
        Partition = "partition",
        /// It came from a member of another version, and this one does not know it.
        NotUnderstood = "not-understood",
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Locks, even if the holder before panicked: nothing here is left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The counters, and what was logged already.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    counters: Mutex<Counters>,
    logged: Mutex<BTreeSet<(String, &'static str)>>,
}

/// The number of different peers and reasons that are remembered; a scanner must not fill the memory.
const LOGGED_AT_MOST: usize = 1000;

impl Stats {
    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        change(&mut lock(&self.counters));
    }

    pub(crate) fn dropped(&self, why: Dropped, how_many: usize) {
        if how_many > 0 {
            self.count(|counters| *counters.dropped.entry(why).or_default() += how_many as u64);
        }
    }

    pub(crate) fn refused(&self, why: Reason) {
        self.count(|counters| *counters.refused.entry(why).or_default() += 1);
    }

    pub(crate) fn snapshot(&self) -> Counters {
        lock(&self.counters).clone()
    }

    /// Whether this was not said of this peer before.
    pub(crate) fn first_time(&self, peer: &str, what: &'static str) -> bool {
        let mut logged = lock(&self.logged);
        logged.len() < LOGGED_AT_MOST && logged.insert((peer.to_owned(), what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_a_thing_once_per_peer_and_not_without_end() {
        let stats = Stats::default();
        assert!(stats.first_time("10.0.0.1", "tls"));
        assert!(!stats.first_time("10.0.0.1", "tls"));
        assert!(stats.first_time("10.0.0.1", "slow"));
        let new = (0..2 * LOGGED_AT_MOST).filter(|n| stats.first_time(&n.to_string(), "tls"));
        assert_eq!(new.count(), LOGGED_AT_MOST - 2);
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), Reason::ALL.len());
        let names: BTreeSet<_> = Dropped::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), Dropped::ALL.len());
    }
}
