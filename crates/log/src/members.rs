//! The member list, which is an entry of the log (G11): who votes, who learns, and where each one is.

use crate::types::{Birth, ClusterId, LeaseSettings};
use bellwether_core::{Group, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Whether a member counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Suffrage {
    /// It votes, and what it acknowledges counts.
    Voter,
    /// It receives the log and counts for nothing.
    Learner,
    /// A learner that the leader promotes when it has caught up (G13).
    Joining,
}

impl fmt::Display for Suffrage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Suffrage::Voter => "voter",
            Suffrage::Learner => "learner",
            Suffrage::Joining => "joining",
        })
    }
}

/// One line of the member list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seat {
    /// Whether it counts.
    pub suffrage: Suffrage,
    /// Where it listens. The log carries it, and does not read it.
    pub address: Arc<str>,
    /// The member that leaves when this one votes (G13).
    pub replaces: Option<NodeId>,
}

impl Seat {
    /// A voter at this address.
    pub fn voter(address: &str) -> Self {
        Seat { suffrage: Suffrage::Voter, address: address.into(), replaces: None }
    }
}

/// The members of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Members {
    /// Counts the changes since the cluster was founded.
    pub version: u64,
    /// The members.
    pub seats: BTreeMap<NodeId, Seat>,
    /// Data folders of members that were removed (G14).
    pub removed: BTreeMap<NodeId, Birth>,
}

impl Members {
    /// The list that a cluster is founded with: these vote.
    pub fn founded(voters: impl IntoIterator<Item = (NodeId, Arc<str>)>) -> Self {
        let seat =
            |(id, address)| (id, Seat { suffrage: Suffrage::Voter, address, replaces: None });
        Members { seats: voters.into_iter().map(seat).collect(), ..Members::default() }
    }

    /// All of a group vote; without addresses.
    pub fn all(group: &Group) -> Self {
        Members::founded(group.ring().iter().map(|id| (*id, Arc::from(""))))
    }

    /// Whether this is a member, voting or not.
    pub fn contains(&self, id: NodeId) -> bool {
        self.seats.contains_key(&id)
    }

    /// Whether it votes.
    pub fn is_voter(&self, id: NodeId) -> bool {
        self.seats.get(&id).is_some_and(|seat| seat.suffrage == Suffrage::Voter)
    }

    /// The voters, ascending.
    pub fn voters(&self) -> impl Iterator<Item = NodeId> + '_ {
        let votes = |(_, seat): &(&NodeId, &Seat)| seat.suffrage == Suffrage::Voter;
        self.seats.iter().filter(votes).map(|(id, _)| *id)
    }

    /// How many voters must agree.
    pub fn majority(&self) -> usize {
        self.voters().count() / 2 + 1
    }

    /// The member that listens there.
    fn at(&self, address: &str) -> Option<NodeId> {
        let is_there = |(_, seat): &(&NodeId, &Seat)| &*seat.address == address;
        self.seats.iter().find(is_there).filter(|_| !address.is_empty()).map(|(id, _)| *id)
    }

    /// The list after a change (G12); none if it is so already.
    pub(crate) fn after(
        &self,
        change: &Change,
        birth_of: impl Fn(NodeId) -> Option<Birth>,
    ) -> Result<Option<Members>, ChangeError> {
        let mut next = self.clone();
        match change {
            Change::Add { id, address, learner, replaces } => {
                if let Some(other) = self.at(address).filter(|other| other != id) {
                    return Err(ChangeError::AddressTaken(other));
                }
                if let Some(old) = replaces.filter(|old| !self.contains(*old) || old == id) {
                    return Err(ChangeError::Unknown(old));
                }
                let suffrage = if *learner { Suffrage::Learner } else { Suffrage::Joining };
                let fresh = Seat { suffrage, address: address.clone(), replaces: None };
                let seat = next.seats.entry(*id).or_insert(fresh);
                match seat.suffrage {
                    Suffrage::Voter if *learner => return Err(ChangeError::Votes(*id)),
                    Suffrage::Voter => {}
                    Suffrage::Learner | Suffrage::Joining => seat.suffrage = suffrage,
                }
                (seat.address, seat.replaces) = (address.clone(), *replaces);
                next.removed.remove(id);
            }
            Change::Promote(id) => {
                let seat = next.seats.get_mut(id).ok_or(ChangeError::Unknown(*id))?;
                if seat.suffrage == Suffrage::Learner {
                    seat.suffrage = Suffrage::Joining;
                }
            }
            Change::Remove(id) => {
                if next.seats.remove(id).is_none() {
                    return Err(ChangeError::Unknown(*id));
                }
                if next.voters().next().is_none() {
                    return Err(ChangeError::LastVoter);
                }
                for seat in next.seats.values_mut() {
                    seat.replaces = seat.replaces.filter(|old| old != id);
                }
                if let Some(birth) = birth_of(*id) {
                    next.removed.insert(*id, birth);
                }
            }
        }
        if next == *self {
            return Ok(None);
        }
        next.version = self.version.saturating_add(1);
        Ok(Some(next))
    }

    /// G13: the list in which this member votes.
    pub(crate) fn with_voter(&self, id: NodeId) -> Members {
        let mut next = self.clone();
        if let Some(seat) = next.seats.get_mut(&id) {
            seat.suffrage = Suffrage::Voter;
        }
        next.version = self.version.saturating_add(1);
        next
    }

    /// G13: a member that another one has taken the place of.
    pub(crate) fn replaced(&self) -> Option<NodeId> {
        let voting = self.seats.values().filter(|seat| seat.suffrage == Suffrage::Voter);
        voting.filter_map(|seat| seat.replaces).find(|old| self.contains(*old))
    }

    /// What it weighs on the wire, roughly.
    pub(crate) fn weight(&self) -> usize {
        let seats: usize = self.seats.values().map(|seat| seat.address.len() + 24).sum();
        seats + self.removed.len() * 16
    }
}

/// What an operator wants of the member list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Change {
    /// A member comes: as a learner, and unless it is to stay one, it votes when it has caught up. A
    /// member that is there already gets this address; if it does not vote yet, this also says whether it will.
    Add {
        /// Who.
        id: NodeId,
        /// Where it listens.
        address: Arc<str>,
        /// Whether it stays a learner.
        learner: bool,
        /// Who leaves when it votes.
        replaces: Option<NodeId>,
    },
    /// A learner votes as soon as it has caught up.
    Promote(NodeId),
    /// A member leaves.
    Remove(NodeId),
}

/// Why the member list, or the settings of leases, do not change (G12, G16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeError {
    /// This member does not serve.
    NotServing,
    /// The change before this one is not committed yet, or the leader hands over.
    Busy,
    /// Without a disk, or without majorities, the members are fixed.
    Fixed,
    /// There is no such member.
    Unknown(NodeId),
    /// Another member listens there.
    AddressTaken(NodeId),
    /// It votes, so it is no learner. It can be removed and added again.
    Votes(NodeId),
    /// This member leads: it has to hand over before it leaves.
    Leads(NodeId),
    /// No voter would be left.
    LastVoter,
    /// Of the voters that would be left, too few work.
    TooFewWork {
        /// How many of them have answered lately and hold what is committed.
        working: usize,
        /// How many would have to.
        needed: usize,
    },
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::NotServing => f.write_str("this member is not the coordinator"),
            ChangeError::Busy => {
                f.write_str("another change of this kind, or a hand-over, is under way; try again")
            }
            ChangeError::Fixed => f.write_str(
                "members are fixed with durability = \"memory\" and with quorum = \"none\"",
            ),
            ChangeError::Unknown(id) => write!(f, "{id} is not a member"),
            ChangeError::AddressTaken(id) => write!(f, "{id} has this address"),
            ChangeError::Votes(id) => write!(f, "{id} votes, and cannot become a learner"),
            ChangeError::Leads(id) => {
                write!(f, "{id} is the coordinator and has to hand over first")
            }
            ChangeError::LastVoter => f.write_str("no voter would be left"),
            ChangeError::TooFewWork { working, needed } => write!(
                f,
                "only {working} of the voters that would be left work, and {needed} must; start the \
                 others first, or force the change"
            ),
        }
    }
}

impl std::error::Error for ChangeError {}

/// What is known of the members at the commit index: which data folder of each counts (G10), and the
/// member list and the settings of leases, if they have ever changed (G11, G16), and which cluster this is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Roster {
    /// Each member's data folder.
    pub births: BTreeMap<NodeId, Birth>,
    /// The member list.
    pub members: Option<Arc<Members>>,
    /// The cluster. A log of an earlier version that has dropped its first entry does not say.
    pub cluster: Option<ClusterId>,
    /// How long leases last.
    pub leases: Option<LeaseSettings>,
}

impl Roster {
    /// Nothing is known.
    pub fn new() -> Self {
        Roster::default()
    }

    /// A member's data folder.
    pub fn birth(&self, id: NodeId) -> Option<Birth> {
        self.births.get(&id).copied()
    }

    /// What it weighs on the wire, roughly.
    pub(crate) fn weight(&self) -> usize {
        self.births.len() * 16 + self.members.as_ref().map_or(0, |members| members.weight())
    }
}

/// Without a member list.
impl FromIterator<(NodeId, Birth)> for Roster {
    fn from_iter<T: IntoIterator<Item = (NodeId, Birth)>>(births: T) -> Self {
        Roster { births: births.into_iter().collect(), ..Roster::default() }
    }
}
