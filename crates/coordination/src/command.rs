//! What can be asked for, and what comes of it.

use crate::bearer::Subject;
use crate::ids::{Number, Secret, SessionId, Token};
use crate::wants::Wants;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Milliseconds since 1970 by the clock of the coordinator that took the command. It is only shown
/// to people; nothing is decided by it.
pub type Stamp = u64;

/// A change, as members replicate it. The same commands in the same order give the same state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Command {
    /// A new mandate begins: the first command of every coordinator.
    Begin {
        /// Its term.
        term: u32,
        /// How much it serves.
        limits: Limits,
        /// What it does about deadlocks.
        on_deadlock: OnDeadlock,
    },
    /// A client begins a session.
    Open {
        /// Drawn by the client. A second `Open` with the same key is the first one again.
        key: Secret,
        /// What the client calls itself, for people.
        client: String,
        /// How long the session outlives the last that was heard of the client.
        ttl_ms: u64,
        /// When.
        at: Stamp,
    },
    /// A session asks for something.
    Ask {
        /// Which session.
        session: SessionId,
        /// The client's number for it. The same number again is the same request again.
        number: Number,
        /// The client has the answers to all requests below this number; they are forgotten.
        forget_below: Number,
        /// For what.
        ask: Ask,
        /// When.
        at: Stamp,
    },
    /// A session ends, and gives back all that it has.
    End {
        /// Which.
        session: SessionId,
        /// Why.
        why: Ending,
        /// When.
        at: Stamp,
    },
    /// An operator force-releases a lock from the session that holds it. The holder may not know: what is
    /// protected by the lock must look at tokens.
    Force {
        /// The lock.
        lock: String,
        /// The holder, as the operator saw it.
        session: SessionId,
        /// Who does it and why, for people.
        by: String,
        /// When.
        at: Stamp,
    },
}

/// What a session can ask for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ask {
    /// These locks: all of them or none.
    Lock {
        /// Which, and how.
        wants: Wants,
        /// Whether to wait if they cannot be had at once.
        wait: bool,
    },
    /// Not to wait any longer for what was asked for with this number.
    GiveUp(Number),
    /// To give back what was granted to the request of this number.
    Release(Number),
    /// Campaigns for a role.
    Campaign {
        /// The role.
        role: String,
        /// Higher ones are preferred where the role goes by priority.
        priority: i32,
        /// What the world is to know of this candidate when it leads.
        value: Vec<u8>,
        /// How the role is filled. All its candidates must agree on that.
        policy: Policy,
    },
    /// Stops campaigning for a role, or gives it up.
    Resign {
        /// The role.
        role: String,
    },
    /// To change what the world knows of the leader, which must be the session that asks.
    Proclaim {
        /// The role.
        role: String,
        /// The new value.
        value: Vec<u8>,
    },
    /// Gives a role to a named candidate, and campaigns again behind it.
    HandOver {
        /// The role.
        role: String,
        /// The candidate.
        to: SessionId,
    },
}

/// A lock and how it is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Want {
    /// Its name, which the state shares.
    pub name: Arc<str>,
    /// How.
    pub mode: Mode,
}

/// How a lock is wanted or held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// By one alone.
    Exclusive,
    /// Together with others that share it.
    Shared,
    /// As a semaphore.
    Permits {
        /// How many permits this one takes.
        take: u32,
        /// How many there are. All that use the semaphore must agree on that.
        of: u32,
    },
}

/// How a role is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Policy {
    /// In the order of arrival.
    FirstCome,
    /// By priority, and among equals in the order of arrival.
    Priority {
        /// Whether a leader is asked to yield to a candidate with a higher priority.
        preempt: bool,
    },
}

/// How a request was answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Answer {
    /// The locks are held. One token covers all of them.
    Granted(Token),
    /// The role is held.
    Leads(Token),
    /// It waits, with this number of requests ahead in the longest of its queues; another answer follows.
    Waits {
        /// How many.
        behind: u64,
    },
    /// It is done.
    Done,
}

impl Answer {
    /// Whether nothing more follows.
    pub fn is_final(&self) -> bool {
        !matches!(self, Answer::Waits { .. })
    }
}

/// What a state has to tell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A session began; or began before, with this key.
    Opened(Result<SessionId, Refusal>, Secret),
    /// A request was answered.
    Answered(SessionId, Number, Result<Answer, Refusal>),
    /// A session ended.
    Ended(SessionId, Ending),
    /// A session ended because another than its client wanted it to.
    EndedBy {
        /// Which.
        session: SessionId,
        /// Who, and from where.
        by: String,
    },
    /// Processes wait for each other in a cycle.
    Deadlocked(Deadlock),
    /// The leader of a role has changed, or its value.
    RoleChanged(RoleChange),
    /// The leader of this role is asked to give it up.
    Preempt {
        /// The leader.
        session: SessionId,
        /// The role.
        role: String,
    },
    /// An operator wanted to take a lock away from a holder.
    Forced {
        /// The lock.
        lock: String,
        /// Who held it.
        session: SessionId,
        /// By which request, if it was done.
        number: Option<Number>,
        /// Who did it and why.
        by: String,
        /// Whether it was done.
        done: Result<(), Refusal>,
    },
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ending {
    /// The client said so.
    Closed,
    /// The client sent nothing for the whole TTL.
    Expired,
    /// The client's process has died: its member saw it.
    Died,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ending::Closed => "it was closed",
            Ending::Expired => "its TTL ran out",
            Ending::Died => "its process died",
        })
    }
}

/// A change of a role, as its history has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RoleChange {
    /// The role.
    pub role: String,
    /// The new leader.
    pub leader: Option<SessionId>,
    /// The leader's token.
    pub token: Option<Token>,
    /// What it proclaims.
    pub value: Vec<u8>,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Stamp,
}

/// As many waits of a deadlock are kept at most, and told: more than a person reads, and few enough to
/// travel in one piece.
pub const WAITS_KEPT: usize = 4_096;

/// A cycle of sessions that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Deadlock {
    /// Each waits for the next one, and the last one for the first. Of a longer cycle these are the
    /// first [`WAITS_KEPT`].
    pub cycle: Vec<Wait>,
    /// Whose request was aborted, if one was.
    pub aborted: Option<SessionId>,
    /// When it was found.
    pub at: Stamp,
}

/// A session that waits in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wait {
    /// Who.
    pub session: SessionId,
    /// What its client calls itself.
    pub client: String,
    /// For which lock.
    pub lock: String,
    /// By which request.
    pub number: Number,
    /// Since when.
    pub since: Stamp,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, wait) in self.cycle.iter().enumerate() {
            let next = &self.cycle[(index + 1) % self.cycle.len()];
            let Wait { session, client, lock, .. } = wait;
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{session} ({client}) waits for '{lock}' behind {}", next.session)?;
        }
        Ok(())
    }
}

/// What to do about a deadlock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OnDeadlock {
    /// The youngest request of the cycle is aborted.
    #[default]
    Abort,
    /// It is told, and left to people.
    Report,
}

/// No session outlives its client by more than an hour, whatever the limits say: what relies on a TTL
/// has a bound.
pub const LONGEST_TTL_MS: u64 = 3_600_000;

/// How much is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// Sessions at once.
    pub sessions: u32,
    /// Requests of a session that hold or wait, and answers that are remembered for it.
    pub requests: u32,
    /// Requests that wait for one lock, or campaign for one role.
    pub waiters: u32,
    /// Locks in one request.
    pub wants: u32,
    /// Bytes in the name of a lock or role, or in what a client calls itself.
    pub name: u32,
    /// Bytes in the value of a candidate.
    pub value: u32,
    /// The shortest time that a session may outlive its client.
    pub ttl_min_ms: u64,
    /// The longest.
    pub ttl_max_ms: u64,
    /// Bytes of memory that the state may take, by [`Coordination::bytes`](crate::Coordination::bytes). Beyond
    /// it nothing is added, and giving back goes on.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            sessions: 200_000,
            requests: 1_024,
            waiters: 20_000,
            wants: 64,
            name: 256,
            value: 4_096,
            ttl_min_ms: 100,
            ttl_max_ms: 60_000,
            bytes: 512 << 20,
        }
    }
}

/// Why something was not done. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Refusal {
    /// There is no such session, or it has ended.
    NoSession(SessionId),
    /// The limit of sessions is reached.
    TooManySessions(u32),
    /// The limit of the session's requests is reached.
    TooManyRequests(u32),
    /// The limit of waiting requests is reached.
    TooManyWaiters(u32),
    /// The request names more locks than one request may.
    TooManyWants(u32),
    /// No lock was named.
    NothingWanted,
    /// A name is empty, longer than this, or has control characters.
    InvalidName(u32),
    /// A value is longer than this.
    ValueTooLarge(u32),
    /// A session cannot outlive its client by this; from and to, in milliseconds.
    InvalidTtl(u64, u64),
    /// A lock is named twice.
    NamedTwice(String),
    /// The session holds this lock already, or waits for it.
    AlreadyAsked(String),
    /// The lock is not free, and the request does not wait.
    Busy(String),
    /// A semaphore has as many permits as its users say, and they say otherwise.
    OtherPermits {
        /// The semaphore.
        lock: String,
        /// How many it has; none if it is no semaphore at the moment.
        of: u32,
    },
    /// The permits asked for are none, or more than the semaphore has.
    InvalidPermits(String),
    /// The session has no such request that holds or waits.
    NotAsked(Number),
    /// The request was answered long ago, and the answer is forgotten.
    Forgotten(Number),
    /// It would have waited for ever.
    Deadlock(Deadlock),
    /// The session already campaigns for this role.
    AlreadyCampaigns(String),
    /// The session does not campaign for this role.
    NotCandidate(String),
    /// The session does not lead this role.
    NotLeader(String),
    /// The named session does not campaign for this role.
    NoSuchCandidate(String, SessionId),
    /// The role is filled in another way.
    OtherPolicy(String, Policy),
    /// The session named for the force-release does not hold the lock.
    NotHolder(String, SessionId),
    /// It timed out.
    GaveUp,
    /// This is not held by that token: it was given back or lost, or the token was never given.
    StaleToken(Subject, Token),
    /// The limit of bytes of the state is reached.
    StateFull(u64),
    /// Only an operator may do this.
    NotOperator,
    /// The limit of sessions per client is reached at the member that it asked.
    TooManyOfClient(u32),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Refusal::*;
        match self {
            NoSession(id) => write!(f, "session {id} does not exist or has ended; open a new one"),
            TooManySessions(max) => write!(f, "the limit of {max} sessions is reached"),
            TooManyRequests(max) => {
                write!(
                    f,
                    "the limit of {max} requests per session is reached; release some, or open another session"
                )
            }
            TooManyWaiters(max) => write!(f, "the limit of {max} waiting requests is reached"),
            TooManyWants(max) => write!(f, "one request can name at most {max} locks"),
            NothingWanted => f.write_str("the request names no lock"),
            InvalidName(max) => {
                write!(f, "a name must have 1 to {max} bytes and no control characters")
            }
            ValueTooLarge(max) => write!(f, "a value must have at most {max} bytes"),
            InvalidTtl(min, max) => {
                write!(f, "a session's TTL must be between {min} ms and {max} ms")
            }
            NamedTwice(lock) => write!(f, "the lock '{lock}' is named twice"),
            AlreadyAsked(lock) => write!(
                f,
                "this session already holds the lock '{lock}' or waits for it; use another session"
            ),
            Busy(lock) => write!(f, "the lock '{lock}' is not free"),
            OtherPermits { lock, of: 0 } => write!(f, "'{lock}' is a lock, not a semaphore"),
            OtherPermits { lock, of } => write!(f, "'{lock}' is a semaphore of {of} permits"),
            InvalidPermits(lock) => {
                write!(f, "permits for '{lock}' must be between 1 and the total of the semaphore")
            }
            NotAsked(number) => write!(f, "request {number} of this session holds nothing"),
            Forgotten(number) => write!(
                f,
                "request {number} was answered long ago, and the answer is no longer kept"
            ),
            Deadlock(deadlock) => write!(f, "deadlock: {deadlock}; this request was aborted"),
            AlreadyCampaigns(role) => write!(f, "this session already campaigns for '{role}'"),
            NotCandidate(role) => write!(f, "this session does not campaign for '{role}'"),
            NotLeader(role) => write!(f, "this session does not lead '{role}'"),
            NoSuchCandidate(role, id) => write!(f, "{id} does not campaign for '{role}'"),
            OtherPolicy(role, Policy::FirstCome) => {
                write!(f, "the role '{role}' is filled in order of arrival")
            }
            OtherPolicy(role, Policy::Priority { preempt }) => {
                let how = if *preempt { ", with preemption" } else { ", without preemption" };
                write!(f, "the role '{role}' is filled by priority{how}")
            }
            NotHolder(lock, id) => write!(f, "{id} does not hold the lock '{lock}'"),
            GaveUp => f.write_str("the request timed out"),
            StaleToken(of, token) => write!(
                f,
                "{of} is not held by token {token} of term {}; reject requests that carry it",
                token.term()
            ),
            TooManyOfClient(max) => {
                write!(f, "this client has reached the limit of {max} sessions at this member")
            }
            StateFull(max) => write!(
                f,
                "sessions, locks and roles have reached the limit of {max} bytes; release some"
            ),
            NotOperator => f.write_str("only an operator may do this"),
        }
    }
}
