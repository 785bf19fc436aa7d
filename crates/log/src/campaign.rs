//! G2: what a candidate has asked, and what was answered.

use crate::message::Permit;
use crate::types::{Birth, Position, Term};
use bellwether_core::{NodeId, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// G2: a candidate's questions and their answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Campaign {
    pub(crate) term: Term,
    /// Whether it asks for the votes themselves.
    pub(crate) sure: bool,
    /// Whether it only wants to know when a majority would vote for it.
    pub(crate) probe: bool,
    pub(crate) claim: bool,
    pub(crate) appointed: bool,
    pub(crate) permit: Option<Permit>,
    /// Whether a refusal has already led to a higher term in this round.
    pub(crate) raised: bool,
    /// Whether a member has answered in this round that its promise is another's.
    pub(crate) refused: bool,
    /// Rounds without a majority.
    pub(crate) rounds: u8,
    /// Whether all members have had a round to answer.
    pub(crate) waited: bool,
    /// Whether the leader in the way was asked to hand over in this round.
    pub(crate) claimed: bool,
    pub(crate) answers: BTreeMap<NodeId, VoteReply>,
    /// G9: since when a majority has voted.
    pub(crate) complete: Option<Time>,
}

/// What a member has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum VoteReply {
    Yes {
        after: Duration,
        birth: Birth,
    },
    /// It will be free at this time on the own clock.
    Free {
        at: Time,
        leader: Option<NodeId>,
    },
    Behind(Position),
}

impl Campaign {
    pub(crate) fn new(term: Term, claim: bool, appointed: bool, permit: Option<Permit>) -> Self {
        Campaign {
            term,
            sure: false,
            probe: false,
            claim,
            appointed,
            permit,
            raised: false,
            refused: false,
            rounds: 0,
            waited: false,
            claimed: false,
            answers: BTreeMap::new(),
            complete: None,
        }
    }

    /// When a member that has answered may vote: now, later, or not at all.
    pub(crate) fn free_at(&self, standing: &VoteReply, now: Time) -> Option<Time> {
        match standing {
            VoteReply::Yes { .. } => Some(now),
            VoteReply::Free { leader: Some(leader), .. }
                if self.permit.is_some_and(|permit| permit.leader == *leader) =>
            {
                Some(now)
            }
            VoteReply::Free { at, .. } => Some(*at),
            VoteReply::Behind(_) => None,
        }
    }

    /// When a majority is free, the candidate among it.
    pub(crate) fn majority_at(&self, me: NodeId, needed: usize, now: Time) -> Option<Time> {
        let own = self.free_at(self.answers.get(&me)?, now)?;
        let others = self.answers.iter().filter(|(id, _)| **id != me);
        let mut others: Vec<Time> =
            others.filter_map(|(_, standing)| self.free_at(standing, now)).collect();
        others.sort_unstable();
        match needed.checked_sub(2) {
            None => Some(own),
            Some(most) => others.get(most).map(|at| own.max(*at)),
        }
    }

    /// How many have voted; before votes are asked for, how many would, now or later.
    pub(crate) fn heard(&self) -> usize {
        let would = |standing: &&VoteReply| match standing {
            VoteReply::Yes { .. } => true,
            VoteReply::Free { .. } => !self.sure,
            VoteReply::Behind(_) => false,
        };
        self.answers.values().filter(would).count()
    }

    /// How many would vote, now or later, without a wait for what they forgot (G9).
    pub(crate) fn remembering(&self) -> usize {
        let remembers = |standing: &&VoteReply| match standing {
            VoteReply::Yes { after, .. } => after.is_zero(),
            VoteReply::Free { .. } => true,
            VoteReply::Behind(_) => false,
        };
        self.answers.values().filter(remembers).count()
    }

    pub(crate) fn has_voted(&self, member: NodeId) -> bool {
        self.sure && matches!(self.answers.get(&member), Some(VoteReply::Yes { .. }))
    }

    /// G9: how long to wait with the votes that came, if they are enough. The candidate's own must be
    /// there, but need not be one of those that count: if it has forgotten, and a majority that has
    /// not votes for the log that it has now, nothing is missing in that.
    pub(crate) fn wait(&self, me: NodeId, needed: usize) -> Option<Duration> {
        let after = |standing: &VoteReply| match standing {
            VoteReply::Yes { after, .. } => Some(*after),
            VoteReply::Free { .. } | VoteReply::Behind(_) => None,
        };
        self.answers.get(&me).and_then(after)?;
        let mut all: Vec<Duration> = self.answers.values().filter_map(after).collect();
        all.sort_unstable();
        all.get(needed.saturating_sub(1)).copied()
    }

    /// The newest log that it was told of.
    pub(crate) fn newest(&self) -> Option<(NodeId, Position)> {
        let behind = |(id, standing): (&NodeId, &VoteReply)| match standing {
            VoteReply::Behind(last) => Some((*id, *last)),
            VoteReply::Yes { .. } | VoteReply::Free { .. } => None,
        };
        self.answers.iter().filter_map(behind).max_by_key(|(_, last)| *last)
    }
}

/// What a leader carries over from its campaign.
impl Campaign {
    pub(crate) fn births(&self) -> impl Iterator<Item = (NodeId, Birth)> + '_ {
        self.answers.iter().filter_map(|(id, standing)| match standing {
            VoteReply::Yes { birth, .. } => Some((*id, *birth)),
            VoteReply::Free { .. } | VoteReply::Behind(_) => None,
        })
    }
}
