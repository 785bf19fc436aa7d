//! What a member tells the application, each with its reason.

use bellwether_core::NodeId;
use bellwether_log::{LeaseSettings, Loss, Members, Suffrage, Term};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Something worth a line in the history.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// This member began an election.
    Electing(Reason),
    /// The election named a coordinator. It has no mandate yet.
    Elected(NodeId),
    /// This member was elected and asks the others for a mandate.
    Campaigning(Term),
    /// This member holds the mandate.
    Won(Term),
    /// This member holds the mandate no more.
    Lost(Term, Loss),
    /// This member follows a coordinator that holds a mandate.
    Follows(NodeId, Term),
    /// This member asks for votes, and too few members would vote for it.
    TooFew {
        /// Members that would agree, itself included.
        heard: usize,
        /// Members that must agree.
        needed: usize,
    },
    /// Another member's clock, or its own, runs at a rate beyond the bound: it may not lead, and
    /// its promises do not count.
    Drifting {
        /// Whose.
        member: NodeId,
        /// By how much it gains against the others, in parts per billion.
        rate_ppb: i64,
    },
    /// The clock that was beyond the bound is within it again.
    Steady(NodeId),
    /// P10: this member was elected and cannot win; it passes, so that another member can try.
    Passed,
    /// G9: a majority has voted, some of it only with a wait: for these members, or this long.
    Waiting {
        /// Members whose return would end the wait.
        members: Vec<NodeId>,
        /// How long it lasts at most.
        left: Duration,
    },
    /// That member did not take over: this one leads on.
    HandOverFailed(NodeId),
    /// This member has dropped its state and receives a snapshot.
    Filling(NodeId),
    /// This member has its complete log again.
    Recovered,
    /// This leader enters a data folder of that member that the log did not have (G10).
    Joined(NodeId),
    /// The leader's log contradicts what this member knows to be committed (S8).
    Diverged(NodeId),
    /// G11: the newest member list of this member's log.
    Members {
        /// The list.
        members: Arc<Members>,
        /// Whether it is committed.
        committed: bool,
    },
    /// G16: these settings of leases are in force now.
    LeaseSettings(LeaseSettings),
    /// G14: this member was removed from the cluster, and does nothing any more.
    Removed,
    /// What was asked for cannot be done.
    Declined(Decline),
}

/// Why an election began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No other member was heard of since the start.
    Alone,
    /// This member came back.
    Recovered,
    /// The coordinator was silent for this long.
    Silent(NodeId, Duration),
    /// The connection to the coordinator broke, and no heartbeat came since.
    Broken(NodeId, Duration),
    /// There is proof that the coordinator's process has ended.
    Ended(NodeId),
    /// The coordinator gave up its mandate and named no successor.
    Resigned(NodeId),
    /// The one that was elected, or named, never took over.
    Absent(NodeId),
    /// The last election did not end.
    Stuck,
    /// This member's own mandate ran out.
    Lapsed,
    /// The member that was elected, or led, said that it cannot win.
    Passed(NodeId),
    /// Another member holds an election.
    Called,
    /// The application asked.
    Asked,
}

/// Why something cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decline {
    /// Only the coordinator can do it: another member, or none at present.
    NotCoordinator(Option<NodeId>),
    /// No member of that number.
    Unknown(NodeId),
    /// It votes and never leads.
    Witness(NodeId),
    /// It has not answered lately.
    Silent(NodeId),
    /// Its clock is off.
    Drifts(NodeId),
    /// It is the coordinator already.
    Already(NodeId),
    /// It lacks committed entries.
    Behind(NodeId),
    /// It is a learner: it does not vote.
    Learner(NodeId),
    /// No other member could lead.
    NoSuccessor,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Electing(reason) => write!(f, "holds an election: {reason}"),
            Event::Elected(member) => write!(f, "elected {member}"),
            Event::Campaigning(term) => write!(f, "asks for the mandate of term {term}"),
            Event::Won(term) => write!(f, "holds the mandate of term {term}"),
            Event::Lost(term, loss) => write!(f, "lost the mandate of term {term}: {loss}"),
            Event::Follows(leader, term) => write!(f, "follows {leader} in term {term}"),
            Event::TooFew { heard, needed } => {
                write!(f, "has no mandate: {heard} of the {needed} members needed agree")
            }
            Event::Drifting { member, rate_ppb } => {
                let rate = *rate_ppb as f64 / 1_000.0;
                write!(
                    f,
                    "found that the clock of {member} is off by {rate:+.1} ppm: it may not lead"
                )
            }
            Event::Steady(member) => {
                write!(f, "found that the clock of {member} is in order again")
            }
            Event::Passed => f.write_str("passes: it cannot win the mandate"),
            Event::Waiting { members, left } => {
                f.write_str("waits for ")?;
                for (place, member) in members.iter().enumerate() {
                    write!(f, "{}{member}", if place > 0 { " or " } else { "" })?;
                }
                let left = left.as_secs_f64();
                write!(
                    f,
                    ", or {left:.1} s: clients may still rely on sessions that the members have forgotten"
                )
            }
            Event::HandOverFailed(to) => {
                write!(f, "remains the coordinator: {to} did not take over")
            }
            Event::Filling(from) => write!(f, "receives a snapshot from {from}"),
            Event::Recovered => f.write_str("has its complete log again"),
            Event::Joined(member) => write!(f, "enters the data folder of {member} into the log"),
            Event::Diverged(leader) => {
                write!(f, "has committed entries that contradict the log of {leader}")
            }
            Event::Members { members, committed } => {
                let committed = if *committed { "committed" } else { "not committed yet" };
                write!(f, "knows the members of version {}, {committed}:", members.version)?;
                members.seats.iter().try_for_each(|(id, seat)| match seat.suffrage {
                    Suffrage::Voter => write!(f, " {id}"),
                    other => write!(f, " {id} ({other})"),
                })
            }
            Event::LeaseSettings(LeaseSettings { heartbeat, lease, drift_ppm }) => write!(
                f,
                "goes by the settings of the log: heartbeat {heartbeat:?}, lease {lease:?}, drift_ppm {drift_ppm}"
            ),
            Event::Removed => f.write_str("was removed from the cluster"),
            Event::Declined(decline) => write!(f, "declined: {decline}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Alone => f.write_str("no other member answered since the start"),
            Reason::Recovered => f.write_str("this member came back"),
            Reason::Silent(member, span) => {
                write!(f, "suspected {member} after {} ms without a heartbeat", span.as_millis())
            }
            Reason::Broken(member, span) => write!(
                f,
                "suspected {member}: its connection broke and no heartbeat came for {} ms",
                span.as_millis()
            ),
            Reason::Ended(member) => write!(f, "the process of {member} has ended"),
            Reason::Resigned(member) => write!(f, "{member} resigned"),
            Reason::Absent(member) => write!(f, "{member} was elected and did not take over"),
            Reason::Stuck => f.write_str("the last election did not end"),
            Reason::Lapsed => f.write_str("the mandate of this member ran out"),
            Reason::Passed(member) => write!(f, "{member} cannot win"),
            Reason::Called => f.write_str("another member called an election"),
            Reason::Asked => f.write_str("an operator asked for it"),
        }
    }
}

impl fmt::Display for Decline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decline::NotCoordinator(Some(leader)) => {
                write!(f, "this member is not the coordinator; ask {leader}")
            }
            Decline::NotCoordinator(None) => {
                f.write_str("this member is not the coordinator, and knows of none")
            }
            Decline::Unknown(member) => write!(f, "there is no member {member}"),
            Decline::Witness(member) => {
                write!(f, "{member} is a witness: it votes and never leads")
            }
            Decline::Silent(member) => write!(f, "{member} has not answered lately"),
            Decline::Drifts(member) => write!(f, "the clock of {member} drifts too much"),
            Decline::Already(member) => write!(f, "{member} is already the coordinator"),
            Decline::Behind(member) => write!(f, "{member} lacks committed entries"),
            Decline::Learner(member) => write!(f, "{member} is a learner: it does not vote"),
            Decline::NoSuccessor => f.write_str("no other member could lead now"),
        }
    }
}
