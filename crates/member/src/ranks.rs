//! Who is stronger than whom.
//!
//! The elections of the catalogue prefer the larger number. An operator wants to say so by
//! priority, and change it without renaming a member. So an election runs among *ranks*: the
//! members sorted by priority, equal ones by number, and numbered from 1. Where all priorities are
//! equal and the members are 1 to n, a rank is a number.

use bellwether_core::{Group, GroupError, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// The members in order of strength.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Members by rank, the weakest first.
    members: Vec<NodeId>,
    /// The same ring as the cluster's, in ranks.
    ring: Group,
    priorities: BTreeMap<NodeId, u32>,
    witnesses: BTreeSet<NodeId>,
}

impl Ranks {
    /// Everybody has the same priority.
    pub fn equal(group: &Group) -> Self {
        Ranks::new(group, BTreeMap::new(), BTreeSet::new())
    }

    /// Members with these priorities; 0 for those that are not listed. Witnesses vote and never
    /// lead.
    pub fn new(
        group: &Group,
        priorities: BTreeMap<NodeId, u32>,
        witnesses: BTreeSet<NodeId>,
    ) -> Self {
        let strength = |id: &NodeId| (priorities.get(id).copied().unwrap_or(0), *id);
        let mut members = group.ring().to_vec();
        members.sort_by_key(strength);
        let rank = |id: &NodeId| members.iter().position(|other| other == id).unwrap_or(0);
        let ring = group.ring().iter().map(|id| NodeId::new(rank(id) as u32 + 1)).collect();
        let ring = Group::new(ring)
            .unwrap_or_else(|_: GroupError| unreachable!("ranks are distinct and not none"));
        Ranks { members, ring, priorities, witnesses }
    }

    /// The cluster's ring in ranks.
    pub fn ring(&self) -> &Group {
        &self.ring
    }

    /// The member of this rank.
    pub fn member(&self, rank: NodeId) -> Option<NodeId> {
        self.members.get((rank.number() as usize).checked_sub(1)?).copied()
    }

    /// The rank of a member.
    pub fn rank(&self, id: NodeId) -> Option<NodeId> {
        let index = self.members.iter().position(|member| *member == id)?;
        Some(NodeId::new(index as u32 + 1))
    }

    /// Whether `one` is stronger than `other`.
    pub fn outranks(&self, one: NodeId, other: NodeId) -> bool {
        self.rank(one) > self.rank(other)
    }

    /// A member's priority.
    pub fn priority(&self, id: NodeId) -> u32 {
        self.priorities.get(&id).copied().unwrap_or(0)
    }

    /// Whether this member votes and never leads.
    pub fn is_witness(&self, id: NodeId) -> bool {
        self.witnesses.contains(&id)
    }

    /// The members that may lead, the strongest first.
    pub fn strongest_first(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.members.iter().rev().copied().filter(|id| !self.is_witness(*id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> NodeId {
        NodeId::new(number)
    }

    #[test]
    fn equal_members_keep_their_numbers() {
        let group = Group::numbered(5).unwrap();
        let ranks = Ranks::equal(&group);
        for number in 1..=5 {
            assert_eq!(ranks.rank(id(number)), Some(id(number)));
            assert_eq!(ranks.member(id(number)), Some(id(number)));
        }
        assert_eq!(ranks.ring(), &group);
        assert_eq!(ranks.member(id(0)), None);
        assert_eq!(ranks.member(id(6)), None);
        assert_eq!(ranks.rank(id(9)), None);
    }

    #[test]
    fn priority_comes_before_number_and_the_ring_keeps_its_order() {
        let group = Group::new([30, 10, 20].map(NodeId::new).to_vec()).unwrap();
        let ranks = Ranks::new(&group, BTreeMap::from([(id(10), 7)]), BTreeSet::from([id(30)]));
        assert!(ranks.outranks(id(10), id(30)) && ranks.outranks(id(30), id(20)));
        assert_eq!(ranks.ring().ring(), [2, 3, 1].map(NodeId::new));
        assert_eq!(ranks.strongest_first().collect::<Vec<_>>(), [10, 20].map(NodeId::new));
    }
}
