//! Telling one election from the next.
//!
//! Where a process's part in an election spans several messages, what is left of an earlier
//! election must not be taken for the present one. Such an election has a round number: who
//! starts one takes the next number, who meets a larger number joins that election afresh, and
//! smaller numbers belong to the past.

/// The number of an election as a process knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Round(u32);

/// How a message's round relates to the process that it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A new election: join it.
    Newer,
    /// The election that this process takes part in.
    Current,
    /// The election that is over here: an orphan, to be dropped.
    Finished,
    /// An old election while another goes on: to be dropped.
    Older,
    /// An old number while no election goes on: its sender has been away and wants one. Start one
    /// with a number that it will respect.
    Behind,
}

impl Round {
    /// Begins the next election.
    pub fn advance(&mut self) -> Round {
        self.0 += 1;
        *self
    }

    /// How `theirs` relates to a process in this round that is `electing` or not.
    pub fn standing(self, theirs: Round, electing: bool) -> Standing {
        match (theirs.cmp(&self), electing) {
            (std::cmp::Ordering::Greater, _) => Standing::Newer,
            (std::cmp::Ordering::Equal, true) => Standing::Current,
            (std::cmp::Ordering::Equal, false) => Standing::Finished,
            (std::cmp::Ordering::Less, true) => Standing::Older,
            (std::cmp::Ordering::Less, false) => Standing::Behind,
        }
    }
}
