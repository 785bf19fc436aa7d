//! How sessions end, how what they held is lost, and deadlocks.
#![allow(clippy::disallowed_types, reason = "moments that others noted; no clock is looked at")]

use bellwether_coordination::{self as coordination, Ending, SessionEnded, SessionId, Stamp};
use std::fmt;
use std::time::{Duration, SystemTime};

/// Why a session ended.
///
/// ```no_run
/// use bellwether::SessionEnd;
///
/// # async fn example(session: bellwether::Session) {
/// match session.lost().await {
///     SessionEnd::DeadlinePassed => println!("no coordinator was reachable for too long"),
///     why => println!("the session ended: {why}"),
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionEnd {
    /// This client closed it.
    Closed,
    /// An operator or another client ended it.
    EndedByOther,
    /// The coordinator did not hear of it for its TTL.
    Expired,
    /// A member saw that its process died.
    ProcessDied,
    /// No coordinator was heard of in time, so that it may have ended the session.
    DeadlinePassed,
    /// The coordinator has no such session.
    Unknown,
}

impl fmt::Display for SessionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SessionEnd::Closed => "this client closed it",
            SessionEnd::EndedByOther => "an operator or another client ended it",
            SessionEnd::Expired => "the coordinator did not hear of it for its TTL",
            SessionEnd::ProcessDied => "its process died",
            SessionEnd::DeadlinePassed => "no coordinator was heard of in time",
            SessionEnd::Unknown => "the coordinator does not know it",
        })
    }
}

impl SessionEnd {
    pub(crate) fn of(why: SessionEnded) -> Self {
        match why {
            SessionEnded::Closed => SessionEnd::Closed,
            SessionEnded::DeadlinePassed => SessionEnd::DeadlinePassed,
            // This client has not closed it, or it would know.
            SessionEnded::Ended(Some(Ending::Closed)) => SessionEnd::EndedByOther,
            SessionEnded::Ended(Some(Ending::Expired)) => SessionEnd::Expired,
            SessionEnded::Ended(Some(Ending::Died)) => SessionEnd::ProcessDied,
            SessionEnded::Ended(None) | SessionEnded::Refused(_) => SessionEnd::Unknown,
        }
    }
}

/// How a lock or a role was lost.
///
/// ```no_run
/// use bellwether::Lost;
///
/// # async fn example(lock: bellwether::Lock) {
/// match lock.lost().await {
///     Lost::ForceReleased { by, .. } => println!("an operator force-released it: {by}"),
///     how => println!("{how}"),
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The session ended.
    SessionEnded(SessionEnd),
    /// An operator force-released a lock.
    ForceReleased {
        /// The lock.
        lock: String,
        /// The operator's name and reason.
        by: String,
    },
    /// The role was handed over to another candidate.
    HandedOver,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::SessionEnded(why) => write!(f, "the session ended: {why}"),
            Lost::ForceReleased { lock, by } => write!(f, "'{lock}' was force-released by {by}"),
            Lost::HandedOver => f.write_str("it was handed over"),
        }
    }
}

/// A cycle of sessions that wait for each other: see [`Error::deadlock`](crate::Error::deadlock).
///
/// ```
/// use bellwether::{Deadlock, Wait};
///
/// fn locks(deadlock: &Deadlock) -> Vec<&str> {
///     deadlock.cycle.iter().map(|wait: &Wait| wait.lock.as_str()).collect()
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlock {
    /// Each waits for the next one, and the last one for the first. A long cycle is cut off at its end.
    pub cycle: Vec<Wait>,
    /// The session whose request was aborted.
    pub aborted: Option<SessionId>,
}

/// A session that waits in a [deadlock](Deadlock).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// The session.
    pub session: SessionId,
    /// [Its name](crate::SessionOptions::name).
    pub client: String,
    /// The lock that it waits for.
    pub lock: String,
    /// Since when, by the clock of the coordinator.
    pub since: SystemTime,
}

impl Deadlock {
    pub(crate) fn of(deadlock: coordination::Deadlock) -> Self {
        let wait = |wait: coordination::Wait| Wait {
            session: wait.session,
            client: wait.client,
            lock: wait.lock,
            since: time(wait.since),
        };
        let coordination::Deadlock { cycle, aborted, .. } = deadlock;
        Deadlock { cycle: cycle.into_iter().map(wait).collect(), aborted }
    }
}

/// A moment that a coordinator noted. One that no calendar has is the beginning of time: nothing is decided by it.
pub(crate) fn time(stamp: Stamp) -> SystemTime {
    let since = Duration::from_millis(stamp);
    SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
}
