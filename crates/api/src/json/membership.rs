//! The member list: who counts, and how it changes.

use super::Member;
use serde::{Deserialize, Serialize};

/// All members, as one of them sees them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Members {
    /// The cluster's name.
    pub cluster: String,
    /// The member that answers.
    pub id: u32,
    /// The members, those of the configuration first.
    pub members: Vec<Member>,
    /// The version of the member list: it counts the changes since the cluster was founded.
    #[serde(default)]
    pub version: u64,
    /// What a change of the members that is under way waits for.
    #[serde(default)]
    pub waits_for: Vec<String>,
    /// Processes with a member's certificate that called this member and were refused, because they are not in the
    /// list: they were removed, or were not added yet.
    #[serde(default)]
    pub refused: Vec<RefusedMember>,
}

/// A process that has a member's certificate and is not in the member list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RefusedMember {
    /// Its number.
    pub id: u32,
    /// Why it is refused, and what to do.
    pub why: String,
    /// How long ago it called last.
    pub ago_ms: u64,
}

/// Whether a member counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Suffrage {
    /// It votes.
    #[default]
    Voter,
    /// It has the log, serves reads and watches, and does not vote.
    Learner,
    /// A learner that is promoted when it has caught up.
    Joining,
}

impl Suffrage {
    /// The word for it, as in the JSON.
    pub fn word(self) -> &'static str {
        match self {
            Suffrage::Voter => "voter",
            Suffrage::Learner => "learner",
            Suffrage::Joining => "joining",
        }
    }
}

/// A new member, or a new address of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AddMember {
    /// Its number.
    pub id: u32,
    /// Where the others reach it: `host:port`.
    pub address: String,
    /// Whether it stays a learner. Otherwise it is promoted when it has caught up.
    #[serde(default)]
    pub learner: bool,
    /// The member that leaves when this one votes.
    #[serde(default)]
    pub replaces: Option<u32>,
    /// Whether to do it though too few of the voters work.
    #[serde(default)]
    pub force: bool,
}

/// How to remove a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RemoveMember {
    /// Whether to do it though too few of the voters that are left work: then the cluster may stop.
    #[serde(default)]
    pub force: bool,
}

/// The member list has changed, or was as wanted already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChangedMembers {
    /// What has happened, in words.
    pub done: String,
    /// The version of the list, which is committed.
    pub version: u64,
}
