//! What can be commanded of sessions, locks and roles over HTTP, and what comes of it: see
//! [`crate::coordination`].
//!
//! A request may have a `number`. Asked again with the same number in the same session it is the
//! same request again: it gets the same answer, and nothing is done twice. Numbers grow within a
//! session, and the answers to the last 256 of them are remembered. A client that numbers one request of a
//! session numbers all of them; a client that numbers none can ignore numbers.

use crate::coordination::{Mode, Policy};
use serde::{Deserialize, Serialize};

/// A session is to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OpenSession {
    /// What the client calls itself, for people.
    pub client: String,
    /// How long the session outlives the last that is heard of the client, in milliseconds.
    pub ttl_ms: u64,
    /// Thirty-two hexadecimal digits, drawn by the client: a second request with the same key finds
    /// the session that the first one began. One is drawn if it is left out.
    #[serde(default)]
    pub key: Option<String>,
}

/// A session is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Opened {
    /// Its name, like `s3.17`.
    pub session: String,
    /// The key that it was opened with.
    pub key: String,
    /// It lives for so long from the moment at which the request was *sent*, and no longer unless
    /// it is kept alive.
    pub ttl_ms: u64,
}

/// A session lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct KeptAlive {
    /// Its name. It lives for its TTL from the moment at which the request was *sent*.
    pub session: String,
}

/// Locks are wanted: all of them or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct LockOrder {
    /// Which, and how.
    pub locks: Vec<Wanted>,
    /// How long to wait for them; 0 is to try. Meanwhile the session must be kept alive.
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
    /// How.
    #[serde(default = "exclusive")]
    pub mode: Mode,
    /// For a semaphore: how many permits are to be taken; 1 if it is left out.
    #[serde(default)]
    pub permits: Option<u32>,
    /// For a semaphore: how many permits there are. All that use it must agree on that.
    #[serde(default)]
    pub of: Option<u32>,
}

fn exclusive() -> Mode {
    Mode::Exclusive
}

/// The locks are held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Granted {
    /// By whom.
    pub session: String,
    /// By which request: what they are given back by.
    pub number: u64,
    /// The fencing token. It is larger than that of any grant before.
    pub token: u64,
    /// Which locks.
    pub locks: Vec<String>,
}

/// Something is held by this token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Bearer {
    /// The lock or the role.
    pub name: String,
    /// The token.
    pub token: u64,
    /// The term in which it was given.
    pub term: u64,
    /// Who holds it by that, or leads.
    pub session: String,
}

/// A session campaigns for a role: the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CampaignOrder {
    /// The session.
    pub session: String,
    /// Higher ones are preferred where the role goes by priority.
    #[serde(default)]
    pub priority: i32,
    /// What the world is to know of this candidate when it leads.
    #[serde(default)]
    pub value: String,
    /// How the role is filled. All its candidates must agree on that.
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

/// A session campaigns for a role: the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RoleStatus {
    /// The role.
    pub role: String,
    /// The session.
    pub session: String,
    /// By which request.
    pub number: u64,
    /// Whether it leads.
    pub leads: bool,
    /// The leader's fencing token.
    pub token: Option<u64>,
    /// How many are before it, if it does not lead.
    pub behind: Option<u64>,
}

/// A session is to leave a role.
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

/// A leader is to be known by another value.
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

/// A leader is to give its role to a candidate.
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

/// A lock is force-released from a session that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ForceOrder {
    /// The session, as the operator saw it.
    pub session: String,
    /// Who does it and why. It is logged, and the session is told.
    pub by: String,
    /// Whether the next gets the lock at once. Else the holder's client is told first, and the next gets
    /// it when that client has stopped, or when its session's time is over.
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
