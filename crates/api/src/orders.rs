//! What can be commanded of sessions, locks and roles over HTTP, and what comes of it: see
//! [`crate::coordination`].
//!
//! A request may have a `number`. Asked again with the same number in the same session it is the
//! same request again: it gets the same answer, and nothing is done twice. Numbers grow within a
//! session, and the answers to the last 256 of them are remembered. A client that numbers one request of a
//! session numbers all of them; a client that numbers none can ignore numbers.

use crate::coordination::{Mode, Policy};
use serde::{Deserialize, Serialize};

/// A request to begin a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OpenSession {
    /// What the client calls itself, for people.
    pub client: String,
    /// The TTL: how long the session lasts after the last sign of life of the client, in milliseconds.
    pub ttl_ms: u64,
    /// Thirty-two hexadecimal digits, drawn by the client: a second request with the same key finds
    /// the session that the first one began. One is drawn if it is left out.
    #[serde(default)]
    pub key: Option<String>,
}

/// A session was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Opened {
    /// Its name, like `s3.17`.
    pub session: String,
    /// The key that it was opened with.
    pub key: String,
    /// Its TTL. It counts from when the client *sent* the request, and again from each keep-alive.
    pub ttl_ms: u64,
}

/// A session was kept alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct KeptAlive {
    /// Its name. It lives for its TTL from the moment at which the request was *sent*.
    pub session: String,
}

/// A request for locks: all of them or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LockOrder {
    /// The locks, and how they are wanted.
    pub locks: Vec<Wanted>,
    /// How long to wait for them; 0 does not wait. Meanwhile the client must keep the session alive.
    #[serde(default)]
    pub wait_ms: u64,
    /// The client's number for this request.
    #[serde(default)]
    pub number: Option<u64>,
}

/// A lock and how it is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// The mode.
    #[serde(default = "exclusive")]
    pub mode: Mode,
    /// For a semaphore: how many permits to acquire; 1 if it is left out.
    #[serde(default)]
    pub permits: Option<u32>,
    /// For a semaphore: how many permits there are. All users must give the same number.
    #[serde(default)]
    pub of: Option<u32>,
}

fn exclusive() -> Mode {
    Mode::Exclusive
}

/// The locks were granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Granted {
    /// The session that holds them.
    pub session: String,
    /// The number of the request. It releases them.
    pub number: u64,
    /// The fencing token. It is larger than those of all grants before.
    pub token: u64,
    /// The locks.
    pub locks: Vec<String>,
}

/// The holder of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Bearer {
    /// The lock or the role.
    pub name: String,
    /// The token.
    pub token: u64,
    /// The term in which it was granted.
    pub term: u64,
    /// The session that holds the lock, or leads the role, by this token.
    pub session: String,
}

/// A request to campaign for a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CampaignOrder {
    /// The session.
    pub session: String,
    /// Higher values are preferred if the role is filled by priority.
    #[serde(default)]
    pub priority: i32,
    /// The value that this candidate publishes while it leads.
    #[serde(default)]
    pub value: String,
    /// How the role is filled. All candidates must give the same policy.
    #[serde(default = "first_come")]
    pub policy: Policy,
    /// How long to wait for the role before answering. The session campaigns for it in any case.
    #[serde(default)]
    pub wait_ms: u64,
    /// The client's number for this request.
    #[serde(default)]
    pub number: Option<u64>,
}

fn first_come() -> Policy {
    Policy::FirstCome
}

/// A session campaigns for a role, or leads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RoleStatus {
    /// The role.
    pub role: String,
    /// The session.
    pub session: String,
    /// The number of the request.
    pub number: u64,
    /// Whether it leads.
    pub leads: bool,
    /// The leader's fencing token.
    pub token: Option<u64>,
    /// How many candidates are ahead of it, if it does not lead.
    pub behind: Option<u64>,
}

/// A request to resign from a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ResignOrder {
    /// The session.
    pub session: String,
    /// The client's number for this request.
    #[serde(default)]
    pub number: Option<u64>,
}

/// A request of a leader to publish a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ProclaimOrder {
    /// The session that leads.
    pub session: String,
    /// The value.
    pub value: String,
    /// The client's number for this request.
    #[serde(default)]
    pub number: Option<u64>,
}

/// A request of a leader to hand its role to a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct HandOverOrder {
    /// The session that leads.
    pub session: String,
    /// The session that should lead. It must campaign for the role.
    pub to: String,
    /// The client's number for this request.
    #[serde(default)]
    pub number: Option<u64>,
}

/// A request to force-release a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ForceOrder {
    /// The session, as the operator saw it.
    pub session: String,
    /// The operator's name and reason. It is logged, and the session is told.
    pub by: String,
    /// Whether the next session gets the lock at once. Otherwise the holder's client is told first, and the
    /// next session gets the lock when that client has stopped, or when its session has ended.
    #[serde(default)]
    pub now: bool,
}

/// Something was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Done {
    /// What, in words.
    pub done: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_without_saying_may_be_left_out() {
        let order: LockOrder = serde_json::from_str(r#"{"locks": [{"name": "a"}]}"#).unwrap();
        assert_eq!((order.wait_ms, order.number), (0, None));
        assert_eq!(order.locks[0].mode, Mode::Exclusive);
        let order: CampaignOrder = serde_json::from_str(r#"{"session": "s1.1"}"#).unwrap();
        assert_eq!((order.priority, order.policy), (0, Policy::FirstCome));
        let typing_error = r#"{"session": "s1.1", "prioriti": 5}"#;
        assert!(serde_json::from_str::<CampaignOrder>(typing_error).is_err());
    }
}
