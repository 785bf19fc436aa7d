//! G11 Members, G12 Changes, G13 Learners and G14 Removal: who counts, and how that changes.

use crate::members::{Change, ChangeError, Members, Roster, Suffrage};
use crate::message::Msg;
use crate::tail::Tail;
use crate::types::{Birth, Config, Entry, Index, Loss, Output, Payload, Position, Quorum};
use crate::{Cx, Log, Role, Whole};
use bellwether_core::{Group, Here, Machine, NodeId, Time};
use std::sync::Arc;

/// G11: whose list counts.
impl<M: Machine> Log<M> {
    /// The newest member list: of the log, else the one that the cluster was founded with. Without
    /// one, all of the group vote.
    pub fn members<'s>(&'s self, config: &'s Config) -> Option<&'s Arc<Members>> {
        let listed = match self.whole() {
            Some(whole) => whole.newest.as_ref().map(|(_, list)| list),
            None => self.shown.as_ref().map(|(list, _)| list),
        };
        listed.or(config.founders.as_ref())
    }

    /// Whether this is a member, voting or not.
    pub fn knows(&self, id: NodeId, config: &Config) -> bool {
        self.members(config).is_none_or(|members| members.contains(id))
    }

    /// Whether a member's votes and acknowledgements count here.
    pub fn is_voter(&self, id: NodeId, config: &Config) -> bool {
        self.members(config).is_none_or(|members| members.is_voter(id))
    }

    /// How many voters must agree.
    pub fn needed(&self, group: &Group, config: &Config) -> usize {
        match (config.quorum, self.members(config)) {
            (Quorum::Majority, Some(members)) => members.majority(),
            (Quorum::None, _) | (Quorum::Majority, None) => config.needed(group),
        }
    }

    /// Whether this member was removed (G14).
    pub fn is_removed(&self) -> bool {
        self.removed
    }

    /// The version of the committed list; 0 if it has never changed.
    pub fn members_version(&self) -> u64 {
        let list = self.whole().and_then(|whole| whole.roster.members.as_ref());
        list.map_or(0, |list| list.version)
    }

    /// Whether this member is to leave, because another one votes in its place (G13).
    pub fn is_replaced(&self, id: NodeId, config: &Config) -> bool {
        self.members(config).is_some_and(|list| list.replaced() == Some(id))
    }

    /// Whether the newest list is not committed yet.
    pub fn is_changing(&self) -> bool {
        let is_open = |whole: &Whole<M>| {
            whole.newest.as_ref().is_some_and(|(at, _)| *at > whole.commit.index)
        };
        self.whole().is_some_and(is_open)
    }

    /// The voters that can be reached, in ring order.
    pub(crate) fn voters(&self, cx: &Cx<'_, M>) -> Vec<NodeId> {
        let voters = cx.group().ring().iter().copied();
        voters.filter(|id| self.is_voter(*id, cx.config())).collect()
    }

    /// The other members that can be reached, in ring order.
    pub(crate) fn other_members(&self, cx: &Cx<'_, M>) -> Vec<NodeId> {
        cx.others().filter(|id| self.knows(*id, cx.config())).collect()
    }

    /// Tells the newest list and the settings of leases if they are others than before, and whether this member
    /// was removed.
    pub(crate) fn show_roster(&mut self, cx: &mut Cx<'_, M>) {
        let Some(whole) = self.whole() else { return };
        let leases = whole.roster.leases;
        let newest = match (&whole.newest, &self.shown) {
            (Some((at, list)), _) => Some((list.clone(), *at <= whole.commit.index)),
            (None, None) => None,
            (None, Some(_)) => {
                let founders = cx.config().founders.clone();
                Some((founders.unwrap_or_else(|| Arc::new(Members::all(cx.group()))), true))
            }
        };
        let committed = whole.roster.members.as_ref();
        let is_removed =
            committed.is_some_and(|list| list.removed.get(&cx.me()) == Some(&self.birth));
        if leases != self.shown_leases {
            self.shown_leases = leases;
            cx.rule("G16");
            cx.emit(Output::LeaseSettings(self.leases(cx.config())));
        }
        if newest != self.shown {
            self.shown = newest;
            if let Some((members, committed)) = self.shown.clone() {
                cx.rule("G11");
                cx.emit(Output::Members { members, committed });
            }
        }
        if is_removed {
            self.be_removed(cx);
        }
    }
}

/// G12: the leader changes the list.
impl<M: Machine> Log<M> {
    /// Changes the member list. The change is done when a list of the version that is returned, or a
    /// later one, is committed.
    pub fn change(
        &mut self,
        change: &Change,
        forced: bool,
        cx: &mut Cx<'_, M>,
    ) -> Result<u64, ChangeError> {
        let (next, is_new) = self.may_change(change, forced, Time::ZERO, cx.here(), cx.config())?;
        let version = next.version;
        if is_new {
            self.enter_members(next, cx);
        }
        Ok(version)
    }

    /// The list that a change would lead to, and whether it is another one. Voters work that have answered
    /// within a lease, and something that was sent at this time or later.
    pub fn may_change(
        &self,
        change: &Change,
        forced: bool,
        since: Time,
        here: &Here<'_>,
        config: &Config,
    ) -> Result<(Members, bool), ChangeError> {
        if !self.has_begun() {
            return Err(ChangeError::NotServing);
        }
        if !config.may_change() {
            return Err(ChangeError::Fixed);
        }
        let list = match self.members(config) {
            Some(list) => list.clone(),
            None => Arc::new(Members::all(here.group())),
        };
        let Some(next) = list.after(change, |id| self.latest(id))? else {
            return Ok(((*list).clone(), false));
        };
        let takes_entries = self.leader_state().is_some_and(|state| state.takes_entries());
        if self.is_changing() || !takes_entries {
            return Err(ChangeError::Busy);
        }
        let (working, needed) = (self.working(&next, since, here, config), next.majority());
        if working < needed && !forced {
            return Err(ChangeError::TooFewWork { working, needed });
        }
        if *change == Change::Remove(here.me()) {
            return Err(ChangeError::Leads(here.me()));
        }
        Ok((next, true))
    }

    /// Whether it leads and has committed an entry of its term.
    pub(crate) fn has_begun(&self) -> bool {
        self.leader_state().is_some_and(|state| state.begin <= self.commit().index)
    }

    /// How many voters of a list have answered lately and hold what is committed.
    fn working(&self, list: &Members, since: Time, here: &Here<'_>, config: &Config) -> usize {
        let works = |id: &NodeId| *id == here.me() || self.works(*id, since, here.now(), config);
        list.voters().filter(works).count()
    }

    fn works(&self, id: NodeId, since: Time, now: Time, config: &Config) -> bool {
        let Some(peer) = self.leader_state().and_then(|state| state.peers.get(&id)) else {
            return false;
        };
        let holds = !peer.lost && peer.matched >= self.commit().index;
        let answers = peer.has_answered(since) && now <= peer.heard + self.leases(config).lease;
        holds && self.counts_ack(id, peer.birth) && answers
    }

    /// For tests that plant a fault: appends a list without asking whether it may.
    #[doc(hidden)]
    pub fn plant_members(&mut self, list: Members, cx: &mut Cx<'_, M>) {
        self.enter_members(list, cx);
    }

    /// From now on it counts by this list: entries, and the leases that it serves by.
    pub(crate) fn enter_members(&mut self, list: Members, cx: &mut Cx<'_, M>) {
        let is_idle = self.commit() == self.last();
        let Some(state) = self.leader_state_mut() else { return };
        if is_idle {
            state.progress = cx.now();
        }
        let term = state.term;
        state.peers.retain(|id, _| list.contains(*id));
        cx.rule("G12");
        if self.enter(term, Payload::Members(Arc::new(list))).is_none() {
            return;
        }
        self.show_roster(cx);
        self.push(cx);
        self.renew(cx);
        self.tell_commit_soon(cx);
        self.write_soon(cx);
    }
}

/// G13: what a leader does by itself.
impl<M: Machine> Log<M> {
    /// Promotes a learner that has caught up; removes a member that has been replaced.
    pub(crate) fn tend_members(&mut self, cx: &mut Cx<'_, M>) {
        let (now, config) = (cx.now(), cx.config());
        let takes_entries = self.leader_state().is_some_and(|state| state.takes_entries());
        if !self.has_begun() || !takes_entries || self.is_changing() {
            return;
        }
        let Some(list) = self.members(config).filter(|_| config.may_change()).cloned() else {
            return;
        };
        let joins = |id: &NodeId| list.seats[id].suffrage == Suffrage::Joining;
        let joining = list.seats.keys().copied().filter(joins);
        if let Some(id) = joining.into_iter().find(|id| self.keeps_up(*id, now, config)) {
            cx.rule("G13");
            return self.enter_members(list.with_voter(id), cx);
        }
        match list.replaced() {
            None => {}
            Some(old) if old == cx.me() => cx.emit(Output::MustHandOver),
            Some(old) => {
                cx.rule("G13");
                // If too few would work, the next heartbeat tries again.
                let _ = self.change(&Change::Remove(old), false, cx);
            }
        }
    }

    /// Whether a learner holds what is committed and receives entries as they come.
    fn keeps_up(&self, id: NodeId, now: Time, config: &Config) -> bool {
        let peer = self.leader_state().and_then(|state| state.peers.get(&id));
        peer.is_some_and(|peer| peer.is_pushed_to()) && self.works(id, Time::ZERO, now, config)
    }
}

/// G14: members that were removed.
impl<M: Machine> Log<M> {
    /// The data folder of a member that was removed, and is not back.
    fn removed_folder(&self, id: NodeId) -> Option<Birth> {
        let whole = self.whole()?;
        let birth = whole.roster.members.as_ref()?.removed.get(&id).copied();
        birth.filter(|_| whole.newest.as_ref().is_none_or(|(_, list)| !list.contains(id)))
    }

    /// Tells a member that was removed and does not seem to know it.
    pub(crate) fn tell_removed(&self, to: NodeId, cx: &mut Cx<'_, M>) {
        if let Some(birth) = self.removed_folder(to) {
            cx.rule("G14");
            cx.send(to, Msg::Removed { birth });
        }
    }

    /// A leader has committed these lists: who is not in the later one any more should know.
    pub(crate) fn tell_removals(&self, before: Option<Arc<Members>>, cx: &mut Cx<'_, M>) {
        let after = self.whole().and_then(|whole| whole.roster.members.as_ref());
        if self.leader_state().is_none() || before.as_ref() == after {
            return;
        }
        let is_gone = |id: &NodeId| after.is_some_and(|list| list.removed.contains_key(id));
        for id in cx.others().filter(is_gone) {
            self.tell_removed(id, cx);
        }
    }

    pub(crate) fn be_removed(&mut self, cx: &mut Cx<'_, M>) {
        if self.removed {
            return;
        }
        cx.rule("G14");
        match self.role {
            Role::Leader(..) => self.retire(Loss::Removed, cx),
            Role::Candidate(_) | Role::Follower => self.stop_campaign(cx),
        }
        self.removed = true;
        cx.emit(Output::Removed);
    }
}

impl<M: Machine> Whole<M> {
    pub(crate) fn new(
        state: Arc<M>,
        commit: Position,
        roster: Roster,
        tail: Tail<M::Command>,
    ) -> Self {
        let written = tail.last().index;
        let mut whole = Whole { state, commit, roster, tail, written, newest: None };
        whole.find_newest();
        whole
    }

    /// G11: the newest list among its entries, or the committed one.
    fn find_newest(&mut self) {
        let listed = |entry: &Arc<Entry<M::Command>>| match &entry.payload {
            Payload::Members(list) => Some((entry.position.index, list.clone())),
            Payload::Begin { .. }
            | Payload::Joined { .. }
            | Payload::Command(_)
            | Payload::LeaseSettings(_) => None,
        };
        let committed = self.roster.members.clone().map(|list| (Index::ZERO, list));
        self.newest = self.tail.iter().rev().find_map(listed).or(committed);
    }

    #[cfg(test)]
    pub(crate) fn rescanned(mut self) -> Option<(Index, Arc<Members>)> {
        self.find_newest();
        self.newest
    }

    /// Adds the next entry.
    pub(crate) fn push(&mut self, entry: Arc<Entry<M::Command>>) -> bool {
        let listed = match &entry.payload {
            Payload::Members(list) => Some((entry.position.index, list.clone())),
            Payload::Begin { .. }
            | Payload::Joined { .. }
            | Payload::Command(_)
            | Payload::LeaseSettings(_) => None,
        };
        let is_added = self.tail.push::<M>(entry);
        if is_added && listed.is_some() {
            self.newest = listed;
        }
        is_added
    }

    /// Drops the entries after an index.
    pub(crate) fn cut_after(&mut self, index: Index) {
        self.tail.cut_after::<M>(index);
        if self.newest.as_ref().is_some_and(|(at, _)| *at > index) {
            self.find_newest();
        }
    }
}
