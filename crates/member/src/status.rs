//! What a member would say if asked now.

use bellwether_core::{NodeId, Time};
use bellwether_log::{Completeness, LeaseSettings, Members, Position, Term};
use std::sync::Arc;
use std::time::Duration;

/// A member's own view at one moment of its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// What this member is doing.
    pub stance: Stance,
    /// The mandate that this member knows of and that has not run out on its clock.
    pub mandate: Option<MandateStatus>,
    /// The member that the election or the mandate names; without a mandate it may do nothing.
    pub coordinator: Option<NodeId>,
    /// How often this member has started.
    pub incarnation: u32,
    /// How many members answered this one lately, itself included: known to a coordinator and to
    /// one that wants to be.
    pub reachable: Option<usize>,
    /// How many must agree.
    pub needed: usize,
    /// Whether it may lead: no witness, and its clock is in order.
    pub eligible: bool,
    /// The state of its log.
    pub log: LogStatus,
    /// What is known of each member, in ring order.
    pub members: Vec<MemberStatus>,
    /// The member list that it goes by (G11). Without one all members of the configuration vote.
    pub list: Option<Arc<Members>>,
    /// Whether that list is not committed yet.
    pub is_changing: bool,
}

/// The state of a member's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogStatus {
    /// The position of its last entry.
    pub last: Position,
    /// The commit index and its term.
    pub commit: Position,
    /// Whether it has its log.
    pub completeness: Completeness,
    /// Whether it holds everything that is committed, as far as its leader has said, so that it may
    /// serve reads and take over.
    pub is_complete: bool,
    /// G9: whether a lease has passed since its restart, so that it may vote.
    pub may_vote: bool,
    /// G16: the settings of leases that the log has.
    pub leases: Option<LeaseSettings>,
    /// Entries that its leader has and it has not.
    pub behind: u64,
    /// Bytes of the entries that it keeps.
    pub bytes: usize,
    /// G9: the members for which its campaign waits, and until when on its clock.
    pub waiting: Option<(Vec<NodeId>, Time)>,
}

/// What a member is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// It has just started and listens for a coordinator.
    Listening,
    /// An election is under way, or its winner has not shown itself.
    Electing,
    /// It was elected and has no mandate (yet).
    Campaigning,
    /// It holds the mandate.
    Leading,
    /// It follows a coordinator with a mandate.
    Following,
}

/// A mandate as seen by one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MandateStatus {
    /// The member that holds it.
    pub leader: NodeId,
    /// Its number; each has one leader, and they only grow.
    pub term: Term,
    /// How long it lasts if nothing more is heard.
    pub lease_left: Duration,
    /// Whether an operator appointed the leader, so that stronger members leave it alone.
    pub appointed: bool,
}

/// What is known of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    /// Who.
    pub id: NodeId,
    /// Whether it lives, as far as is known.
    pub health: Health,
    /// How long ago it was last heard: by this member, or else by the coordinator.
    pub heard: Option<Duration>,
    /// Its clock against the average of all, if the coordinator has measured it.
    pub clock: Option<ClockStatus>,
    /// How many entries it lacks, as far as the coordinator knows.
    pub behind: Option<u64>,
}

/// Whether a member lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Health {
    /// Heard lately.
    Alive,
    /// Not heard for longer than is usual.
    Silent,
    /// Nothing is known: no coordinator, or it has not said.
    Unknown,
}

/// A member's clock, as the coordinator measured it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct ClockStatus {
    /// By how much it is ahead of the average of all members.
    pub offset_us: i64,
    /// How wrong that may be.
    pub error_us: u64,
    /// By how much it gains against the average, in parts per billion, once that is known.
    pub rate_ppb: Option<i64>,
    /// Whether it runs at a rate beyond the bound.
    pub drifts: bool,
}
