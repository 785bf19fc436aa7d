//! What a member says about sessions, roles, locks and deadlocks, as JSON: see [`crate::json`].
//!
//! A member shows what it knows to be committed. Followers are behind the coordinator by a message or
//! so: this is for people and pages.

use serde::{Deserialize, Serialize};

/// Everything at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Coordination {
    /// The member that answers.
    pub id: u32,
    /// The coordinator, as far as the member knows.
    pub coordinator: Option<u32>,
    /// The term of the last entry that is committed, as far as the member knows.
    pub term: u64,
    /// How often it was changed in that term.
    pub sequence: u64,
    /// The sessions, the oldest first.
    pub sessions: Vec<Session>,
    /// The roles, by name.
    pub roles: Vec<Role>,
    /// The locks that are held or waited for, by name.
    pub locks: Vec<Lock>,
    /// The deadlocks that were found lately, the latest first.
    pub deadlocks: Vec<Deadlock>,
    /// The wait-for graph now.
    pub waits: Vec<WaitsFor>,
    /// How many more sessions, roles, locks, holders, waiters and candidates there are than this
    /// shows.
    #[serde(default)]
    pub left_out: u64,
}

/// One client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Session {
    /// Its name, like `s3.17`.
    pub session: String,
    /// What its client calls itself.
    pub client: String,
    /// Its TTL: how long it lasts after the last sign of life of its client.
    pub ttl_ms: u64,
    /// When it began.
    pub since: String,
    /// The locks that it holds.
    pub holds: Vec<String>,
    /// The locks that it waits for.
    pub waits_for: Vec<String>,
    /// The roles that it leads.
    pub leads: Vec<String>,
    /// The roles that it campaigns for without leading them.
    pub campaigns_for: Vec<String>,
}

/// How a lock is wanted or held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Exclusively.
    Exclusive,
    /// Together with others that share it.
    Shared,
    /// As a semaphore, of which `permits` are taken.
    Permits,
}

/// One lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// How many permits it has, if it is a semaphore.
    pub permits: Option<u32>,
    /// How many of them are taken.
    pub taken: u32,
    /// The sessions that hold it.
    pub holders: Vec<Holder>,
    /// The sessions that wait for it, the next one first.
    pub queue: Vec<Waiter>,
}

/// A holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Holder {
    /// The session.
    pub session: String,
    /// What its client calls itself.
    pub client: String,
    /// How it holds it.
    pub mode: Mode,
    /// How many permits it has taken; 0 if the lock is no semaphore.
    pub permits: u32,
    /// Its fencing token.
    pub token: u64,
    /// When it asked.
    pub since: String,
}

/// A session that waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Waiter {
    /// The session.
    pub session: String,
    /// What its client calls itself.
    pub client: String,
    /// How it wants it.
    pub mode: Mode,
    /// How many permits it wants; 0 if the lock is no semaphore.
    pub permits: u32,
    /// How many requests are ahead of it.
    pub behind: u64,
    /// Since when it waits.
    pub since: String,
}

/// How a role is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// In the order of arrival.
    FirstCome,
    /// By priority; a leader stays.
    Priority,
    /// By priority; a leader yields to a candidate with a higher priority.
    Preempt,
}

/// One role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Role {
    /// Its name.
    pub name: String,
    /// How it is filled.
    pub policy: Policy,
    /// The leader.
    pub leader: Option<Leader>,
    /// The candidates, the leader included, in order of arrival.
    pub candidates: Vec<Candidate>,
    /// The changes, the latest first. Old ones are forgotten.
    pub history: Vec<RoleChange>,
}

/// The leader of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Leader {
    /// The session.
    pub session: String,
    /// What its client calls itself.
    pub client: String,
    /// Its fencing token.
    pub token: u64,
    /// What it proclaims, as far as that is text.
    pub value: String,
    /// Whether it was asked to yield.
    pub preempt_requested: bool,
}

/// A candidate for a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Candidate {
    /// The session.
    pub session: String,
    /// What its client calls itself.
    pub client: String,
    /// Higher values are preferred if the role is filled by priority.
    pub priority: i32,
    /// What it would proclaim.
    pub value: String,
    /// Since when it campaigns.
    pub since: String,
    /// Whether it leads.
    pub leads: bool,
}

/// A change of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RoleChange {
    /// When.
    pub at: String,
    /// The leader since then; absent if there is none.
    pub leader: Option<String>,
    /// The leader's token.
    pub token: Option<u64>,
    /// What it proclaims.
    pub value: String,
    /// Why it changed.
    pub reason: String,
}

/// A cycle of sessions that wait, or waited, for each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Deadlock {
    /// When it was found.
    pub at: String,
    /// Each waits for the next one, and the last one for the first.
    pub cycle: Vec<Wait>,
    /// The session whose request was aborted, if one was.
    pub aborted: Option<String>,
    /// The same in words.
    pub text: String,
}

/// A session that waits in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Wait {
    /// The session.
    pub session: String,
    /// What its client calls itself.
    pub client: String,
    /// The lock that it waits for.
    pub lock: String,
    /// Since when.
    pub since: String,
}

/// An edge of the wait-for graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WaitsFor {
    /// The session that waits.
    pub from: String,
    /// The session that it waits for.
    pub to: String,
    /// The lock that it waits for.
    pub lock: String,
}
