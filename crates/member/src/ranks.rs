//! The order of the members by strength.
//!
//! The elections of the catalogue prefer the larger number. An operator wants to say so by
//! priority, and change it without renaming a member. So an election runs among *ranks*: the
//! members sorted by priority, equal ones by number, and numbered from 1. Where all priorities are
//! equal and numbers are small, a rank is the member's number.

use bellwether_core::{Group, GroupError, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// The members in order of strength.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ranks {
    /// Members and their ranks, the weakest first.
    members: Vec<(NodeId, NodeId)>,
    /// The members among which there is an election, in ring order.
    group: Group,
    /// The same ring in ranks.
    ring: Group,
    priorities: BTreeMap<NodeId, u32>,
    witnesses: BTreeSet<NodeId>,
}

impl Ranks {
    /// All members have the same priority.
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
        // Where all are equal a rank is the member's number: so members that do not know of the same changes still
        // mean the same by it.
        let are_equal = members.iter().all(|id| strength(id).0 == strength(&members[0]).0);
        let are_small = members.iter().all(|id| (1..=64).contains(&id.number()));
        let name = |(place, id): (usize, NodeId)| {
            (id, if are_equal && are_small { id } else { NodeId::new(place as u32 + 1) })
        };
        let members: Vec<(NodeId, NodeId)> = members.into_iter().enumerate().map(name).collect();
        let rank =
            |id: &NodeId| members.iter().find(|(other, _)| other == id).map(|(_, rank)| *rank);
        let ring = Group::new(group.ring().iter().filter_map(rank).collect())
            .unwrap_or_else(|_: GroupError| unreachable!("ranks are distinct and not none"));
        Ranks { members, group: group.clone(), ring, priorities, witnesses }
    }

    /// The same priorities and witnesses among these members.
    pub fn among(&self, group: &Group) -> Self {
        Ranks::new(group, self.priorities.clone(), self.witnesses.clone())
    }

    /// The members among which there is an election.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The cluster's ring in ranks.
    pub fn ring(&self) -> &Group {
        &self.ring
    }

    /// The member of this rank.
    pub fn member(&self, rank: NodeId) -> Option<NodeId> {
        self.members.iter().find(|(_, other)| *other == rank).map(|(id, _)| *id)
    }

    /// The rank of a member.
    pub fn rank(&self, id: NodeId) -> Option<NodeId> {
        self.members.iter().find(|(other, _)| *other == id).map(|(_, rank)| *rank)
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
        self.members.iter().rev().map(|(id, _)| *id).filter(|id| !self.is_witness(*id))
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
