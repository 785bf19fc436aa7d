//! How much memory the state takes.
//!
//! Memory is what [`Limits::bytes`](crate::Limits) bounds. The figures are estimates by constants, not
//! by asking an allocator: every member must come to the same sum, on every platform. They count
//! what was measured on 64 bits. Each session and each role has a sum of what its entries
//! hold; with the number of its entries that gives its bytes without a look at every entry.

use crate::command::{Answer, Deadlock, Limits, Refusal, RoleChange, Want};
use crate::role::{Candidate, Role};
use crate::session::{Claim, Session};
use crate::state::Coordination;

/// A string or another allocation, besides its content: what the allocator adds and rounds up.
const ALLOCATION: u64 = 16;
/// A session with up to one request: itself, its places in two maps, and its count of references.
const SESSION: u64 = 288;
/// From two requests on, there is a list of them.
const LIST_OF_CLAIMS: u64 = 48;
/// An entry in such a list, and in those of answers and of roles.
const CLAIM: u64 = 72;
const ANSWER: u64 = 64;
const ROLE_OF_SESSION: u64 = 24;
/// More entries than these are in a tree, of which a third is empty on average.
const FEW: u64 = 16;
/// A lock in a request, its place at that lock, and a share of the lock itself.
const WANT: u64 = 144;
const ROLE: u64 = 256;
/// Lists grow by doubling: a third of them is empty on average.
const CANDIDATE: u64 = 96;
const CHANGE: u64 = 160;
const DEADLOCK: u64 = 96;
const WAIT: u64 = 88;

fn text(bytes: usize) -> u64 {
    bytes as u64 + ALLOCATION
}

fn list(entries: usize, entry: u64) -> u64 {
    let full = entries as u64 * entry;
    if entries as u64 <= FEW { full } else { full + full / 2 }
}

impl Session {
    /// The memory that it takes, and its places at locks.
    pub(crate) fn bytes(&self) -> u64 {
        SESSION
            + text(self.client.len())
            + match self.requests.len() {
                0 | 1 => 0,
                claims => LIST_OF_CLAIMS + list(claims, CLAIM),
            }
            + list(self.answers.len(), ANSWER)
            + list(self.roles.len(), ROLE_OF_SESSION)
            + self.content
    }

    /// Counts what its entries hold.
    pub(crate) fn recount(&mut self) {
        let claims: u64 = self.requests.values().map(Claim::bytes).sum();
        let answers: u64 = self.answers.values().map(of_answer).sum();
        self.content = claims + answers;
    }
}

impl Claim {
    pub(crate) fn bytes(&self) -> u64 {
        self.wants.iter().map(of_want).sum()
    }
}

/// The request and the lock share the lock's name.
pub(crate) fn of_want(want: &Want) -> u64 {
    WANT + text(want.name.len())
}

/// What an answer holds besides its place in a map.
pub(crate) fn of_answer(answer: &Result<Answer, Refusal>) -> u64 {
    use Refusal::*;
    match answer {
        Ok(_) => 0,
        Err(Deadlock(deadlock)) => deadlock.bytes(),
        Err(
            NamedTwice(name)
            | AlreadyAsked(name)
            | Busy(name)
            | OtherPermits { lock: name, .. }
            | InvalidPermits(name)
            | AlreadyCampaigns(name)
            | NotCandidate(name)
            | NotLeader(name)
            | NoSuchCandidate(name, _)
            | OtherPolicy(name, _)
            | NotHolder(name, _),
        ) => text(name.len()),
        Err(StaleToken(subject, _)) => text(subject.name().len()),
        Err(
            NoSession(_) | TooManySessions(_) | TooManyRequests(_) | TooManyWaiters(_)
            | TooManyWants(_) | NothingWanted | InvalidName(_) | ValueTooLarge(_) | InvalidTtl(..)
            | NotAsked(_) | Forgotten(_) | GaveUp | StateFull(_) | TooManyOfClient(_) | NotOperator,
        ) => 0,
    }
}

impl Deadlock {
    pub(crate) fn bytes(&self) -> u64 {
        let waits = self.cycle.iter();
        let waits = waits.map(|wait| WAIT + text(wait.client.len()) + text(wait.lock.len()));
        DEADLOCK + waits.sum::<u64>()
    }
}

impl Role {
    /// The memory that it takes under this name.
    pub(crate) fn bytes(&self, name: &str) -> u64 {
        ROLE + text(name.len())
            + CANDIDATE * self.candidates.len() as u64
            + CHANGE * self.history.len() as u64
            + self.content
    }

    /// Counts what its entries hold.
    pub(crate) fn recount(&mut self) {
        let candidates: u64 = self.candidates.iter().map(Candidate::bytes).sum();
        let changes: u64 = self.history.iter().map(RoleChange::bytes).sum();
        self.content = candidates + changes;
    }
}

impl Candidate {
    pub(crate) fn bytes(&self) -> u64 {
        text(self.value.len())
    }
}

impl RoleChange {
    pub(crate) fn bytes(&self) -> u64 {
        text(self.role.len()) + text(self.value.len()) + text(self.reason.len())
    }
}

impl Coordination {
    /// The memory that the state takes, by the estimate that all members make alike.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the state has grown as far as it may.
    pub(crate) fn is_full(&self) -> bool {
        let Limits { bytes, .. } = self.limits;
        self.bytes >= bytes
    }

    /// The sum over all that is there, if each session and role knows what its entries hold.
    pub(crate) fn count_bytes(&self) -> u64 {
        let sessions: u64 = self.sessions.values().map(|session| session.bytes()).sum();
        let roles: u64 = self.roles.iter().map(|(name, role)| role.bytes(name)).sum();
        let deadlocks: u64 = self.deadlocks.iter().map(|deadlock| deadlock.bytes()).sum();
        sessions + roles + deadlocks
    }
}
