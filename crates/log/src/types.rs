//! Terms, indexes, entries, and what the log is told and tells.

use crate::members::Members;
use bellwether_core::{Group, Machine, NodeId, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Numbers terms: each has at most one leader, and they only grow. 0 is before the first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Term(u64);

impl Term {
    /// Before the first.
    pub const ZERO: Term = Term(0);

    /// The term of this number.
    pub const fn new(number: u64) -> Self {
        Term(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The one after it.
    pub const fn next(self) -> Self {
        Term(self.0.saturating_add(1))
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Numbers entries from 1. 0 is before the first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Index(u64);

impl Index {
    /// Before the first.
    pub const ZERO: Index = Index(0);

    /// The index of this number.
    pub const fn new(number: u64) -> Self {
        Index(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The one after it.
    pub const fn next(self) -> Self {
        Index(self.0.saturating_add(1))
    }

    /// The one before it; zero has none and stays.
    pub const fn prev(self) -> Self {
        Index(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Where an entry is. A log's position is that of its last entry. Ordered by term first: the log
/// with the larger position is the newer one (Raft §5.4.1).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    /// The term in which a leader made the entry.
    pub term: Term,
    /// Its place in the log.
    pub index: Index,
}

impl Position {
    /// Before the first entry.
    pub const ZERO: Position = Position { term: Term::ZERO, index: Index::ZERO };

    /// The position of this index in this term.
    pub const fn new(term: u64, index: u64) -> Self {
        Position { term: Term(term), index: Index(index) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.term, self.index)
    }
}

/// Names a data folder: an emptied folder gets another one (G10).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Birth(u64);

impl Birth {
    /// The birth with this number.
    pub const fn new(number: u64) -> Self {
        Birth(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// One start of a member's process. No two starts of a member have the same (G15).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Incarnation(u64);

impl Incarnation {
    /// Of a member that does not say: nothing can be proved of it.
    pub const UNKNOWN: Incarnation = Incarnation(0);

    /// The incarnation with this number.
    pub const fn new(number: u64) -> Self {
        Incarnation(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// Names a cluster: two clusters with the same name and members have different ones. It follows from
/// the first entry of the log (G11), or from the backup that a cluster was restored from.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ClusterId(u64);

impl ClusterId {
    /// The id with this number.
    pub const fn new(number: u64) -> Self {
        ClusterId(number)
    }

    /// Its number.
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The id that follows from these numbers, the same on every machine (FNV-1a). It is not zero, which
    /// stands for none where ids travel.
    pub fn from_numbers(numbers: impl IntoIterator<Item = u64>) -> Self {
        let bytes = numbers.into_iter().flat_map(u64::to_le_bytes);
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        ClusterId(hash.max(1))
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry<C> {
    /// Where it is. Two entries with the same position are the same entry (S2).
    pub position: Position,
    /// What it says.
    pub payload: Payload<C>,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Payload<C> {
    /// The first entry of a term.
    Begin {
        /// The term's leader.
        leader: NodeId,
        /// The births of the members whose votes made it the leader, its own included.
        births: Vec<(NodeId, Birth)>,
    },
    /// G10: from now on this is the member's data folder.
    Joined {
        /// Which member.
        member: NodeId,
        /// Which folder.
        birth: Birth,
    },
    /// A command for the state machine.
    Command(C),
    /// G11: from here on these are the members.
    Members(Arc<Members>),
    /// G16: from here on, once it is committed, leases are of this kind.
    LeaseSettings(LeaseSettings),
}

/// How long leases last and what that takes (G16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseSettings {
    /// How often a leader shows that it lives.
    pub heartbeat: Duration,
    /// How long a follower stays bound to a leader that it heard.
    pub lease: Duration,
    /// By how much a clock may be too fast or too slow, in parts per million.
    pub drift_ppm: u32,
}

impl LeaseSettings {
    /// How long a leader may rely on a lease, on its own clock, from the moment at which it sent
    /// what is answered. The follower's clock may be too fast and its own too slow, each by the
    /// bound.
    pub fn relied_on(&self, lease: Duration) -> Duration {
        let million = 1_000_000_u128;
        let drift = u128::from(self.drift_ppm).min(million);
        let micros = lease.as_micros() * (million - drift) / (million + drift);
        // A clock is read in whole microseconds: one may be lost at either end of either clock.
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX).saturating_sub(4))
    }

    /// The lease in microseconds, as messages have it: at most an hour and some minutes.
    pub fn lease_us(&self) -> u32 {
        u32::try_from(self.lease.as_micros()).unwrap_or(u32::MAX)
    }

    /// How long a hand-over, or a piece, may take.
    pub(crate) fn patience(&self) -> Duration {
        self.heartbeat.saturating_mul(2)
    }
}

/// What an entry weighs besides its command.
const ENTRY_WEIGHT: usize = 32;

impl<C> Entry<C> {
    /// Its bytes on the wire, roughly.
    pub fn weight<M: Machine<Command = C>>(&self) -> usize {
        let payload = match &self.payload {
            Payload::Begin { births, .. } => births.len() * 16,
            Payload::Joined { .. } => 16,
            Payload::Command(command) => M::weight(command),
            Payload::Members(members) => members.weight(),
            Payload::LeaseSettings(_) => 16,
        };
        payload.saturating_add(ENTRY_WEIGHT)
    }
}

/// A machine whose values can wait in a file or travel as serde has them.
pub trait Portable:
    Machine<
        Command: Serialize + DeserializeOwned,
        Part: Serialize + DeserializeOwned,
        Cursor: Serialize + DeserializeOwned,
    > + Serialize
    + DeserializeOwned
{
}

impl<M> Portable for M
where
    M: Machine + Serialize + DeserializeOwned,
    M::Command: Serialize + DeserializeOwned,
    M::Part: Serialize + DeserializeOwned,
    M::Cursor: Serialize + DeserializeOwned,
{
}

/// Whose agreement a leader needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Quorum {
    /// A majority of all configured members.
    Majority,
    /// Only its own: the textbook's behaviour. In a partition every side has a leader.
    None,
}

/// Whether the log survives a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Durability {
    /// Everything that a member acknowledges is on its disk.
    Disk,
    /// Only promises are on its disk; entries are in memory (G9).
    Memory,
}

/// What is fixed while a member runs. All members must agree on `quorum`, and on the settings of leases as long as
/// the log has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// G16: leases as long as the log does not say otherwise.
    pub leases: LeaseSettings,
    /// Whose agreement a leader needs.
    pub quorum: Quorum,
    /// Whether the log survives a restart.
    pub durability: Durability,
    /// G7: a leader for which nothing advances for this long gives up. Two leases if it is not given.
    pub stall: Option<Duration>,
    /// Bytes of committed entries that are kept for followers that lag.
    pub keep_bytes: usize,
    /// Bytes of entries that may be on their way to one follower.
    pub push_bytes: usize,
    /// The smallest and the largest piece that is fetched, in bytes.
    pub piece: (u32, u32),
    /// G10: what a new data folder is called. Without it, the clock's reading at the first start,
    /// which is enough where the clock never begins again.
    pub birth: Option<Birth>,
    /// G15: which start of the process this is. Without it, it follows from the birth and the number of starts.
    pub incarnation: Option<Incarnation>,
    /// G11: who votes as long as the log has no member list; all of the group if it is not given. The
    /// list of a member that joins a cluster is empty.
    pub founders: Option<Arc<Members>>,
}

impl Config {
    /// The usual configuration for these times.
    pub fn new(heartbeat: Duration, lease: Duration, drift_ppm: u32) -> Self {
        Config {
            leases: LeaseSettings { heartbeat, lease, drift_ppm },
            quorum: Quorum::Majority,
            durability: Durability::Disk,
            stall: None,
            keep_bytes: 8 << 20,
            push_bytes: 1 << 20,
            piece: (4 << 10, 1 << 20),
            birth: None,
            incarnation: None,
            founders: None,
        }
    }

    /// How long a lease is, by a message that may not say.
    pub(crate) fn lease_of(&self, said_us: u32) -> Duration {
        if said_us == 0 { self.leases.lease } else { Duration::from_micros(said_us.into()) }
    }

    /// How many members must agree if all of the group vote.
    pub fn needed(&self, group: &Group) -> usize {
        match self.quorum {
            Quorum::Majority => group.len() / 2 + 1,
            Quorum::None => 1,
        }
    }

    /// G12: whether members may come and go. Without a disk a restart would forget who they are, and
    /// without majorities there is nothing to change.
    pub fn may_change(&self) -> bool {
        self.quorum == Quorum::Majority && self.durability == Durability::Disk
    }
}

/// What the log waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The time to ask again for votes, or the moment at which a majority is free (G2).
    Ask,
    /// The end of the wait that forgetful voters asked for (G9).
    Wait,
    /// The time of the next heartbeat (G7).
    Heartbeat,
    /// The end of the own lease, unless followers renew it (G7).
    Lapse,
    /// The time to write what was proposed (G6).
    Write,
    /// A piece that was fetched should have come (G5).
    Fetch,
    /// A hand-over should have come to its end (G8).
    HandOver,
}

/// What the rest of the member wants of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Become the leader.
    Campaign {
        /// Whether a working leader should be asked to hand over.
        claim: bool,
        /// Whether an operator wants it so.
        appointed: bool,
    },
    /// Find out when a majority would vote for this member, without campaigning.
    Probe,
    /// Stop asking for votes.
    Desist,
    /// Hand over to this member if it can take over.
    HandOver {
        /// Who should lead.
        to: NodeId,
        /// Whether an operator wants it so.
        appointed: bool,
    },
    /// This process is about to end: hand over to this member if it can be, and else free all.
    Resign {
        /// Who should lead.
        to: Option<NodeId>,
    },
    /// G15: that incarnation of another member has ended. The caller has proof of it.
    Ended(NodeId, Incarnation),
    /// The member's verdict on a clock: whether it drifts beyond the bound.
    Drifts(NodeId, bool),
}

/// What the log tells the rest of the member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Votes are being asked for.
    Asks(Term),
    /// Fewer members than needed would vote for this one.
    TooFew {
        /// Members that would, itself included.
        heard: usize,
        /// Members that must.
        needed: usize,
    },
    /// Two rounds without a majority: another member should try.
    Stuck {
        /// Members that would vote for this one.
        heard: usize,
        /// Members that must.
        needed: usize,
        /// Whether [`Input::Probe`] can tell when to try again: not if a majority had said that it would
        /// vote for this one and then did not.
        may_probe: bool,
    },
    /// The answer to [`Input::Probe`]: a majority would vote for this member, now or later.
    CouldWin,
    /// Another member has a newer log, and this one cannot win without it: the other one should try.
    Behind {
        /// The member that has it.
        of: NodeId,
        /// Its position.
        last: Position,
    },
    /// G9: a majority has voted, some of it only with a wait: for these members, or this long.
    Waiting {
        /// Members whose return would end the wait.
        members: Vec<NodeId>,
        /// How long it lasts at most.
        left: Duration,
    },
    /// This member leads, and does not serve yet.
    Leads(Term),
    /// This member begins to serve.
    Serving(Term),
    /// It leads no more.
    StoppedServing(Term, Loss),
    /// A leader showed that it lives.
    Heartbeat {
        /// Who.
        leader: NodeId,
        /// Its term.
        term: Term,
    },
    /// G15: this leader's process has ended, and binds this member no more.
    LeaderEnded(NodeId),
    /// Another member asks for votes, because a majority would vote for it.
    Asked(NodeId),
    /// Another member wants this one to hand over. [`Input::HandOver`] to it says yes.
    Claimed(NodeId),
    /// The leader wants this member to take over.
    Invited {
        /// The leader.
        by: NodeId,
        /// Whether an operator wants it so.
        appointed: bool,
    },
    /// This leader has stopped serving for that member.
    HandingOver(NodeId),
    /// A hand-over came to nothing: this leader goes on.
    HandOverFailed(NodeId),
    /// A leader stopped serving, for that member if it names one.
    Yielded {
        /// The leader that was.
        by: NodeId,
        /// Who should lead.
        to: Option<NodeId>,
        /// Whether an operator wants it so.
        appointed: bool,
    },
    /// This member dropped its state and receives another one.
    Filling {
        /// From whom.
        from: NodeId,
        /// The position that its log had.
        floor: Position,
    },
    /// It has got all that this member had, which does not lead: it may be able to win now.
    CaughtUp(NodeId),
    /// It has everything again that it ever acknowledged.
    Recovered,
    /// A leader enters another data folder of this member (G10).
    Joined(NodeId),
    /// G11: the newest member list of its log is another one, or is committed now.
    Members {
        /// The list.
        members: Arc<Members>,
        /// Whether it is committed.
        committed: bool,
    },
    /// G16: these settings of leases are in force now, by the log.
    LeaseSettings(LeaseSettings),
    /// G13: this leader is to leave, and has to hand over first.
    MustHandOver,
    /// G14: this member was removed. It does nothing any more.
    Removed,
    /// The leader's log contradicts what this member knows to be committed (S8).
    Diverged {
        /// The leader.
        leader: NodeId,
        /// What this member had committed.
        at: Index,
    },
    /// A follower's clock, for those who measure clocks.
    Reading {
        /// Whose.
        member: NodeId,
        /// When this leader sent what is answered, on its own clock.
        sent: Time,
        /// What the follower's clock showed.
        clock: Time,
    },
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// Why a leader leads no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Loss {
    /// Its leases ran out.
    Lapsed,
    /// It handed over.
    HandedOver(NodeId),
    /// It was told to end.
    GivenUp,
    /// A higher term began.
    Superseded(Term),
    /// Nothing advanced (G7).
    Stalled,
    /// It is not a member any more (G14).
    Removed,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Lapsed => f.write_str("too few members answered within the lease"),
            Loss::HandedOver(member) => write!(f, "handed over to {member}"),
            Loss::GivenUp => f.write_str("the mandate was given up"),
            Loss::Superseded(term) => write!(f, "term {term} has begun"),
            Loss::Removed => f.write_str("it was removed from the cluster"),
            Loss::Stalled => f.write_str("no entry could be committed for two leases"),
        }
    }
}

/// Why a member cannot take over (G8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misfit {
    /// This member does not lead.
    NotLeading,
    /// It has not answered this leader, or is not counted (G10).
    Unknown,
    /// It has been silent for a lease.
    Silent,
    /// Its clock drifts.
    Drifts,
    /// It has forgotten its log.
    Lost,
    /// It lacks committed entries.
    Behind,
    /// It does not vote (G11).
    Learns,
}
