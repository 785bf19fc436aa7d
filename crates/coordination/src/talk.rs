//! What clients and the coordinator say to each other.
//!
//! A client talks to any member. A follower forwards what it receives, in both
//! directions. Requests and replies may be lost whenever a connection breaks or the coordinator
//! changes: a client that has no answer asks again, with the same number or key, and nothing is done
//! twice (S1).

use crate::bearer::Subject;
use crate::command::{Answer, Ask, Ending, Refusal};
use crate::ids::{Number, Secret, SessionId, Token};
use serde::{Deserialize, Serialize};

/// A reading of the client's own clock, in microseconds. The coordinator only gives it back: a
/// session is alive for its TTL from the moment at which the client *sent* what was answered.
pub type Sent = u64;

/// What a client wants of the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Request {
    /// To begin a session, or to find the one that was begun with this key.
    Open {
        /// Drawn by the client. From then on it is the session's secret.
        key: Secret,
        /// What the client calls itself, for people.
        client: String,
        /// How long the session outlives the last that was heard of the client.
        ttl_ms: u64,
        /// The client's clock.
        sent: Sent,
    },
    /// That this session goes on: its client lives.
    KeepAlive {
        /// Which.
        session: SessionId,
        /// Its secret.
        key: Secret,
        /// The client's clock.
        sent: Sent,
    },
    /// Something for a session.
    Ask {
        /// Which.
        session: SessionId,
        /// Its secret.
        key: Secret,
        /// The client's number for it.
        number: Number,
        /// The client has all answers below this number.
        forget_below: Number,
        /// What.
        ask: Ask,
    },
    /// That this session ends.
    Close {
        /// Which.
        session: SessionId,
        /// Its secret.
        key: Secret,
    },
    /// That this session ends because its process is dead: only a member that watched it says so.
    Died {
        /// Which.
        session: SessionId,
        /// Its secret, as the process that has died used it.
        key: Secret,
    },
    /// To force-release a lock: an operator asks for it, through a member that knows it
    /// to be one.
    Force {
        /// The lock.
        lock: String,
        /// The holder, as the operator saw it.
        session: SessionId,
        /// Who does it and why, for people.
        by: String,
        /// Whether the next gets it at once. Else the holder has to stop first, or to be out of time.
        now: bool,
    },
    /// Whether a lock or role is held by a token.
    Check {
        /// The client's number for the question.
        number: Number,
        /// What.
        of: Subject,
        /// The token.
        token: Token,
    },
    /// That this session ends: an operator says so, through a member that knows it to be one.
    End {
        /// Which.
        session: SessionId,
        /// Who does it, for people.
        by: String,
        /// Whether it ends at once. Else its client has to stop first, or to be out of time.
        now: bool,
    },
}

impl Request {
    /// The session that it is about, if that is known already.
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Request::Open { .. } | Request::Force { .. } | Request::Check { .. } => None,
            Request::KeepAlive { session, .. }
            | Request::Ask { session, .. }
            | Request::Close { session, .. }
            | Request::End { session, .. }
            | Request::Died { session, .. } => Some(*session),
        }
    }

    /// The key that it shows for its session. What an operator wants needs none.
    pub fn key(&self) -> Option<Secret> {
        match self {
            Request::KeepAlive { key, .. }
            | Request::Ask { key, .. }
            | Request::Close { key, .. }
            | Request::Died { key, .. } => Some(*key),
            Request::Open { .. }
            | Request::Force { .. }
            | Request::Check { .. }
            | Request::End { .. } => None,
        }
    }
}

/// What the coordinator says to a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reply {
    /// The session of this key.
    Opened {
        /// The key of the request.
        key: Secret,
        /// The session, if it could be begun.
        result: Result<SessionId, Refusal>,
        /// As in the request that is answered.
        sent: Sent,
    },
    /// The session lives, for its TTL from `sent` on the client's clock.
    KeptAlive {
        /// Which.
        session: SessionId,
        /// As in the request that is answered.
        sent: Sent,
    },
    /// A request is answered. After [`Answer::Waits`] another answer follows.
    Answered {
        /// Whose.
        session: SessionId,
        /// Which.
        number: Number,
        /// How.
        result: Result<Answer, Refusal>,
    },
    /// The leader of this role is asked to resign, because a candidate with a higher priority campaigns.
    Preempt {
        /// The leader.
        session: SessionId,
        /// The role.
        role: String,
    },
    /// An operator force-releases this lock. The session's client gives back what it holds by that
    /// request; until then the session is not confirmed any more.
    ForceReleased {
        /// The session that held it.
        session: SessionId,
        /// The lock.
        lock: String,
        /// By which request it was held.
        number: Number,
        /// Who did it and why.
        by: String,
    },
    /// What came of [`Request::Force`].
    Forced {
        /// The lock.
        lock: String,
        /// The session that held it.
        session: SessionId,
        /// Whether it was done.
        result: Result<(), Refusal>,
    },
    /// There is no such session: it has ended, for this reason if that is known.
    Ended {
        /// Which.
        session: SessionId,
        /// Why.
        why: Option<Ending>,
    },
    /// There is no coordinator at the moment, so nothing was done. To be asked again when a
    /// coordinator is announced.
    NoCoordinator,
    /// What came of [`Request::Check`], at some moment after it was asked.
    Checked {
        /// As in the question.
        number: Number,
        /// Who holds it by that token.
        result: Result<SessionId, Refusal>,
    },
    /// An operator wants the session to end. It has not ended yet: its client stops all that relies on
    /// it, and closes it.
    Ending {
        /// Which.
        session: SessionId,
        /// Why.
        why: Ending,
    },
    /// The session has another key than was shown, so nothing was done.
    Denied {
        /// Which.
        session: SessionId,
        /// The key that was shown.
        key: Secret,
    },
}

impl Reply {
    /// The session that it is for, if that is known.
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Reply::Opened { result, .. } => result.as_ref().ok().copied(),
            Reply::KeptAlive { session, .. }
            | Reply::Answered { session, .. }
            | Reply::Preempt { session, .. }
            | Reply::ForceReleased { session, .. }
            | Reply::Ending { session, .. }
            | Reply::Denied { session, .. }
            | Reply::Ended { session, .. } => Some(*session),
            Reply::Forced { .. } | Reply::Checked { .. } | Reply::NoCoordinator => None,
        }
    }
}
