//! Telling one election from the next.
//!
//! Where a process's part in an election spans several messages, it must not take a leftover of an
//! earlier election for the present one. Such an election has a round number: a process that starts
//! one takes the next number, a process that meets a larger number joins that election afresh, and
//! smaller numbers belong to the past.
//!
//! A recovered process has forgotten the number. If it guessed one it could hit that of the last
//! election, which is over for all others, and be taken for a leftover of it. So it calls for an
//! election without a number, and a process that hears the call starts one.

use serde::{Deserialize, Serialize};

/// The number of an election as a process knows it. The default is that of a recovered process:
/// unknown.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Round(u32);

/// How a message's round relates to the process that it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// A new election: join it.
    Newer,
    /// The election that this process takes part in.
    Current,
    /// The election that is over here: an orphan, to be dropped.
    Finished,
    /// An old election while another goes on: to be dropped.
    Older,
    /// An old number, or none, while no election goes on: its sender has been away and wants one.
    /// Start one with a number that it will respect.
    Behind,
}

impl Round {
    const UNKNOWN: Round = Round(0);

    /// What a process knows at its first start: no election has been.
    pub const FIRST: Round = Round(1);

    /// Begins the next election.
    pub fn advance(&mut self) -> Round {
        // The number comes from other processes, too: it must not overflow.
        self.0 = self.0.saturating_add(1);
        *self
    }

    /// How `theirs` relates to a process in this round that is `electing` or not.
    pub fn relation(self, theirs: Round, electing: bool) -> Relation {
        // Both have been away: there is no election here that the caller could be part of.
        if theirs == Round::UNKNOWN && self == Round::UNKNOWN {
            return Relation::Behind;
        }
        match (theirs.cmp(&self), electing) {
            (std::cmp::Ordering::Greater, _) => Relation::Newer,
            (std::cmp::Ordering::Equal, true) => Relation::Current,
            (std::cmp::Ordering::Equal, false) => Relation::Finished,
            (std::cmp::Ordering::Less, true) => Relation::Older,
            (std::cmp::Ordering::Less, false) => Relation::Behind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::tests::round;

    #[test]
    fn advancing_gives_the_next_number() {
        let mut present = Round::FIRST;
        assert_eq!(present.advance(), round(2));
        assert_eq!(present, round(2));
    }

    #[test]
    fn a_larger_number_is_newer_whatever_goes_on() {
        assert_eq!(round(2).relation(round(3), true), Relation::Newer);
        assert_eq!(round(2).relation(round(3), false), Relation::Newer);
        assert_eq!(Round::default().relation(Round::FIRST, true), Relation::Newer);
    }

    #[test]
    fn the_same_number_is_current_until_the_election_ends() {
        assert_eq!(round(2).relation(round(2), true), Relation::Current);
    }

    #[test]
    fn the_same_number_is_finished_afterwards() {
        assert_eq!(round(2).relation(round(2), false), Relation::Finished);
        assert_eq!(Round::FIRST.relation(Round::FIRST, false), Relation::Finished);
    }

    #[test]
    fn a_smaller_number_is_older_while_another_election_goes_on() {
        assert_eq!(round(3).relation(round(2), true), Relation::Older);
        assert_eq!(Round::FIRST.relation(Round::default(), true), Relation::Older);
    }

    #[test]
    fn a_smaller_number_is_behind_when_none_goes_on() {
        assert_eq!(round(3).relation(round(2), false), Relation::Behind);
        // Before any election too: a recovered process is always heard.
        assert_eq!(Round::FIRST.relation(Round::default(), false), Relation::Behind);
    }

    #[test]
    fn two_that_have_been_away_are_behind_each_other() {
        assert_eq!(Round::default().relation(Round::default(), true), Relation::Behind);
        assert_eq!(Round::default().relation(Round::default(), false), Relation::Behind);
    }
}
