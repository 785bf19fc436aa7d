//! A leader's changes of the state: M12 and M13.

use super::office::{Office, Role};
use super::types::{Epoch, Msg, Replica};
use super::{Cx, Mandate};
use bellwether_core::{NodeId, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// So many changes are kept for followers that missed some. Whoever missed more gets the whole state.
const KEPT: usize = 4096;

/// So many changes are sent at once to one who missed some.
const AT_ONCE: usize = 1024;

/// The changes of an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ledger<S: Replica> {
    /// The latest changes, in the batches in which they were sent, each with how many came before.
    recent: VecDeque<(u64, Arc<[S::Command]>)>,
    /// How many changes are in them.
    kept: usize,
    /// M13: what came of each change that a majority may not have yet, with its number.
    untold: VecDeque<(u64, Vec<S::Outcome>)>,
    /// How many changes each follower had been sent when it was last supplied, and when that was.
    supplied: BTreeMap<NodeId, (u64, Time)>,
}

impl<S: Replica> Default for Ledger<S> {
    fn default() -> Self {
        Ledger {
            recent: VecDeque::new(),
            kept: 0,
            untold: VecDeque::new(),
            supplied: BTreeMap::new(),
        }
    }
}

impl<S: Replica> Ledger<S> {
    fn keep(&mut self, after: u64, commands: Arc<[S::Command]>) {
        self.kept += commands.len();
        self.recent.push_back((after, commands));
        while self.kept > KEPT
            && let Some((_, oldest)) = self.recent.pop_front()
        {
            self.kept -= oldest.len();
        }
    }

    /// The next changes for one who has so many, if they are kept: not too many for one message.
    fn since(&self, held: u64) -> Option<Arc<[S::Command]>> {
        let (first, _) = self.recent.front()?;
        let mut skip = usize::try_from(held.checked_sub(*first)?).ok()?;
        let mut next = Vec::new();
        for (_, batch) in &self.recent {
            let from = skip.min(batch.len());
            skip -= from;
            next.extend(batch[from..].iter().take(AT_ONCE - next.len()).cloned());
        }
        (!next.is_empty()).then(|| next.into())
    }

    /// M13: takes what came of the first so many changes.
    fn told(&mut self, spread: u64, done: &mut Vec<S::Outcome>) {
        while let Some((_, outcomes)) = self.untold.pop_front_if(|(number, _)| *number <= spread) {
            done.extend(outcomes);
        }
    }

    /// Whoever lacks something may be supplied more often than need be.
    pub(super) fn forget_who_was_supplied(&mut self) {
        self.supplied.clear();
    }

    /// Whether a follower that has so many changes is to be supplied with all up to this one: not
    /// again before what it was sent last time can have come.
    fn is_due(&mut self, to: NodeId, held: Option<u64>, all: u64, cx: &Cx<'_, S>) -> bool {
        let now = cx.now();
        let on_its_way = self.supplied.get(&to).is_some_and(|(sent, at)| {
            held.is_none_or(|held| held < *sent) && now.since(*at) < cx.config().heartbeat
        });
        if !on_its_way {
            self.supplied.insert(to, (all, now));
        }
        !on_its_way
    }
}

impl<S: Replica> Mandate<S> {
    /// M12: changes the state, if this member leads and its mandate has not run out. Whether it
    /// does so; what comes of it is told by [`Mandate::take_done`], later or never.
    pub fn propose(&mut self, commands: Vec<S::Command>, cx: &mut Cx<'_, S>) -> bool {
        let needed = cx.config().needed(cx.group());
        if self.holds(cx.now()).is_none() {
            return false;
        }
        let Role::Leading(Office { epoch, appointed, ledger, .. }) = &mut self.role else {
            return false;
        };
        if commands.is_empty() {
            return true;
        }
        cx.rule("M12");
        let (epoch, appointed, sent) = (*epoch, *appointed, cx.now());
        let after = self.voter.held(epoch).unwrap_or_default();
        let commands: Arc<[S::Command]> = commands.into();
        for (number, command) in (after + 1..).zip(commands.iter()) {
            let outcomes = self.voter.apply(command.clone());
            if !outcomes.is_empty() {
                ledger.untold.push_back((number, outcomes));
            }
        }
        ledger.keep(after, commands.clone());
        for member in cx.group().ring() {
            if *member != cx.me() {
                let commands = commands.clone();
                cx.send(*member, Msg::Append { epoch, sent, appointed, after, commands });
            }
        }
        self.settle(needed);
        true
    }

    /// How many changes a majority may not have yet.
    pub fn underway(&self, needed: usize) -> u64 {
        let Role::Leading(office) = &self.role else { return 0 };
        let own = self.voter.held(office.epoch).unwrap_or_default();
        own.saturating_sub(office.spread_to(needed, own))
    }

    /// Whether a majority comes about without this follower: as many as are needed beside the leader
    /// have acknowledged more than it, or as much and are named before it.
    pub fn is_spare(&self, follower: NodeId, needed: usize) -> bool {
        let Role::Leading(office) = &self.role else { return false };
        office.ahead_of(follower) + 1 >= needed
    }

    /// M13: what a majority has may be told, while the mandate lasts.
    pub(super) fn settle(&mut self, needed: usize) {
        let Role::Leading(office) = &mut self.role else { return };
        let own = self.voter.held(office.epoch).unwrap_or_default();
        let spread = office.spread_to(needed, own);
        office.ledger.told(spread, &mut self.done);
    }

    /// M4 and M12: a follower that has restarted, or missed something, gets it.
    pub(super) fn supply(
        &mut self,
        to: NodeId,
        epoch: Epoch,
        held: Option<u64>,
        start: Option<u32>,
        cx: &mut Cx<'_, S>,
    ) {
        let (Role::Installing(office, _) | Role::Leading(office)) = &mut self.role else { return };
        let all = self.voter.held(epoch).unwrap_or_default();
        let all = held.map_or(all, |held| all.min(held + AT_ONCE as u64));
        if office.epoch != epoch || !office.ledger.is_due(to, held, all, cx) {
            return;
        }
        let (sent, appointed) = (cx.now(), office.appointed);
        if let Some(after) = held
            && let Some(commands) = office.ledger.since(after)
        {
            cx.rule("M12");
            return cx.send(to, Msg::Append { epoch, sent, appointed, after, commands });
        }
        let (version, copy) = self.voter.copy.clone().unwrap_or_default();
        cx.send(to, Msg::Spread { epoch, sent, version, copy, appointed, start });
    }
}
