//! G9 Restart and G10 Births: what survives, what is forgotten, and which data folders count.

use crate::members::Roster;
use crate::tail::Tail;
use crate::types::{Birth, Config, Durability, Entry, Index, Payload, Portable, Position, Term};
use crate::{Log, Memory, Whole};
use bellwether_core::{Machine, NodeId, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// What must survive a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "M: Portable")]
pub struct Durable<M: Machine> {
    /// All but the log.
    pub hard: HardState,
    /// The log, on a disk.
    pub log: Saved<M>,
}

/// What is on disk of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "M: Portable")]
pub enum Saved<M: Machine> {
    /// No log was kept: memory mode.
    Nothing,
    /// It was receiving a snapshot.
    Filling,
    /// The state at the commit index, and the entries that are written.
    Whole {
        /// The state.
        state: Arc<M>,
        /// The commit index and its term.
        commit: Position,
        /// The roster at the commit index.
        roster: Roster,
        /// The entries.
        tail: Tail<M::Command>,
    },
}

/// What is durable besides the entries: small, and it changes rarely (Raft calls it the hard state).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HardState {
    /// Names this data folder.
    pub birth: Birth,
    /// How often a process has started with it.
    pub starts: u32,
    /// The highest term that was promised.
    pub promised: Term,
    /// To whom.
    pub vote: Option<NodeId>,
    /// Without a disk: how long a client may rely on what was acknowledged.
    pub longest_ttl_ms: u64,
    /// A position that the log had and has not reached again; zero if it has.
    pub floor: Position,
    /// Whether it has forgotten what it acknowledged.
    pub lost: bool,
    /// Whether the log is kept, too: not in memory mode.
    pub keeps_log: bool,
    /// G9: the longest lease that may still bind it; zero in folders that were made before this was noted.
    pub granted: Duration,
}

impl<M: Machine> Saved<M> {
    /// The log as a store finds it: the state and the roster at a snapshot, the entries after it, and
    /// up to where they are known to be committed. These are applied.
    pub fn recovered(
        state: M,
        at: Position,
        roster: Roster,
        tail: Tail<M::Command>,
        committed: Index,
    ) -> Self {
        let mut whole = Whole::new(Arc::new(state), at, roster, tail);
        while whole.commit.index < committed
            && let Some(entry) = whole.tail.get(whole.commit.index.next()).cloned()
        {
            whole.apply(&entry);
        }
        let Whole { state, commit, roster, tail, .. } = whole;
        Saved::Whole { state, commit, roster, tail }
    }
}

impl<M: Machine> Log<M> {
    /// For a store: what is durable besides the entries.
    pub fn hard(&self) -> HardState {
        HardState {
            birth: self.birth,
            starts: self.starts,
            promised: self.promised,
            vote: self.vote,
            longest_ttl_ms: self.longest_ttl_ms,
            floor: self.floor,
            lost: self.lost,
            keeps_log: !self.forgets,
            granted: self.granted,
        }
    }

    /// What is durable now. Whether a log is kept was decided at the start: a member in memory mode
    /// keeps none, see [`Log::start`].
    pub(crate) fn saved(&self) -> Durable<M> {
        let log = match &self.memory {
            _ if self.forgets => Saved::Nothing,
            Memory::Filling(_) => Saved::Filling,
            Memory::Whole(whole) => {
                let mut tail = whole.tail.clone();
                tail.cut_after::<M>(whole.written);
                let Whole { state, commit, roster, .. } = whole.clone();
                Saved::Whole { state, commit, roster, tail }
            }
        };
        Durable { hard: self.hard(), log }
    }

    /// G9: the first start, or a restart.
    pub(crate) fn start(&mut self, saved: Option<Durable<M>>, now: Time, config: &Config) {
        self.forgets = config.durability == Durability::Memory;
        let Some(Durable { hard, log }) = saved else {
            self.birth = config.birth.unwrap_or(Birth::new(now.as_micros()));
            self.starts = 1;
            return self.be_incarnated(config);
        };
        self.birth = hard.birth;
        self.starts = hard.starts.saturating_add(1);
        self.be_incarnated(config);
        (self.promised, self.vote) = (hard.promised, hard.vote);
        self.seen = hard.promised;
        self.longest_ttl_ms = hard.longest_ttl_ms;
        self.granted = hard.granted;
        let granted = Some(hard.granted).filter(|granted| !granted.is_zero());
        self.no_vote_until = Some(now + granted.unwrap_or(config.leases.lease));
        match log {
            // What acknowledges or votes also promises: without a promise there is nothing to forget.
            Saved::Nothing => self.lost = hard.promised > Term::ZERO,
            Saved::Filling => {
                (self.floor, self.lost) = (hard.floor, hard.lost);
                self.memory = Memory::Filling(None);
            }
            Saved::Whole { state, commit, roster, tail } => {
                (self.floor, self.lost) = (hard.floor, hard.lost);
                self.memory = Memory::Whole(Whole::new(state, commit, roster, tail));
                self.rely_on_all();
            }
        }
    }

    /// G9: how long a candidate must wait if this member's vote is needed.
    pub(crate) fn longest_ttl(&self) -> Duration {
        Duration::from_millis(self.longest_ttl_ms)
    }

    /// G9: an entry is about to be acknowledged.
    pub(crate) fn rely_on(&mut self, entry: &Entry<M::Command>) {
        if let Payload::Command(command) = &entry.payload
            && self.forgets
        {
            self.longest_ttl_ms = self.longest_ttl_ms.max(rounded(M::ttl_of(command)));
        }
    }

    /// G9: the state is all that there is, and all that was acknowledged is in it.
    pub(crate) fn rely_on_state(&mut self) {
        let is_settled = self.forgets && !self.lost && self.floor == Position::ZERO;
        if let Memory::Whole(whole) = &self.memory
            && is_settled
            && whole.commit == whole.tail.last()
        {
            self.longest_ttl_ms = rounded(whole.state.longest_ttl());
        }
    }

    /// G9: the state and the entries after it.
    pub(crate) fn rely_on_all(&mut self) {
        if let Memory::Whole(whole) = &self.memory
            && self.forgets
        {
            let commands = whole.tail.iter().filter_map(|entry| match &entry.payload {
                Payload::Command(command) => Some(rounded(M::ttl_of(command))),
                Payload::Begin { .. }
                | Payload::Joined { .. }
                | Payload::Members(_)
                | Payload::LeaseSettings(_) => None,
            });
            let most = commands.max().unwrap_or(0).max(rounded(whole.state.longest_ttl()));
            self.longest_ttl_ms = self.longest_ttl_ms.max(most);
        }
    }

    /// G10: the birth of a member by the whole log, uncommitted entries included.
    pub(crate) fn latest(&self, member: NodeId) -> Option<Birth> {
        let whole = self.whole()?;
        let named = |entry: &Entry<M::Command>| match &entry.payload {
            Payload::Begin { births, .. } => {
                births.iter().find(|(id, _)| *id == member).map(|(_, birth)| *birth)
            }
            Payload::Joined { member: id, birth } => (*id == member).then_some(*birth),
            Payload::Command(_) | Payload::Members(_) | Payload::LeaseSettings(_) => None,
        };
        let uncommitted =
            whole.tail.iter().rev().take_while(|e| e.position.index > whole.commit.index);
        let found = uncommitted.filter_map(|entry| named(entry)).next();
        found.or_else(|| whole.roster.birth(member))
    }

    /// G10: whether a vote counts.
    pub(crate) fn counts_vote(&self, member: NodeId, birth: Birth) -> bool {
        let committed = self.whole().and_then(|whole| whole.roster.birth(member));
        let is_it = |known: Birth| known == birth;
        committed.is_none_or(is_it) && self.latest(member).is_none_or(is_it)
    }

    /// G10: whether an ACK counts at the leader.
    pub(crate) fn counts_ack(&self, member: NodeId, birth: Birth) -> bool {
        let (Some(whole), Some(state)) = (self.whole(), self.leader_state()) else { return false };
        let is_it = |known: Option<Birth>| known == Some(birth);
        let committed = is_it(whole.roster.birth(member));
        let admitted = match state.births.get(&member) {
            _ if whole.commit.index >= state.begin => committed,
            // Its vote made this leader. Without those votes nothing could be committed.
            Some(voted) => *voted == birth,
            None => committed && is_it(self.latest(member)),
        };
        let joins = |entry: &Arc<Entry<M::Command>>| matches!(entry.payload, Payload::Joined { member: id, .. } if id == member);
        let since = whole.commit.index.max(state.begin);
        let mut uncommitted = whole.tail.iter().rev().take_while(|e| e.position.index > since);
        admitted && !uncommitted.any(joins)
    }
}

/// In milliseconds, rounded up to three significant bits: so it changes rarely, and a wait is at most
/// a quarter too long.
fn rounded(span: Duration) -> u64 {
    let ms = u64::try_from(span.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
    let bits = u64::BITS - ms.leading_zeros();
    let unit = 1_u64 << bits.saturating_sub(3);
    ms.div_ceil(unit).saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_ttl_is_rounded_up_by_a_quarter_at_most() {
        for ms in (0..5_000).chain([u64::MAX / 1_000]) {
            let up = rounded(Duration::from_millis(ms));
            assert!(up >= ms && up - ms <= ms / 4, "{ms} {up}");
        }
        assert_eq!(rounded(Duration::from_micros(1)), 1);
    }
}
