//! G1 Terms, G2 Campaign and G3 Vote: how a member becomes the leader.

use crate::campaign::{Campaign, VoteReply};
use crate::message::{Answer, Msg, Permit};
use crate::types::{Birth, Durability, Loss, Output, Position, Quorum, Term, Timer};
use crate::{Cx, Lease, Log, Role};
use bellwether_core::{Machine, NodeId};
use std::time::Duration;

/// What a candidate asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ask {
    pub(crate) term: Term,
    pub(crate) last: Position,
    pub(crate) sure: bool,
    pub(crate) permit: Option<Permit>,
}

impl Permit {
    fn frees_from(&self, lease: &Lease) -> bool {
        self.leader == lease.leader
            && self.term == lease.term
            && self.generation >= lease.generation
    }
}

/// The voter.
impl<M: Machine> Log<M> {
    /// G1 and G3: what it would answer.
    fn consider(&self, me: NodeId, candidate: NodeId, ask: &Ask, cx: &Cx<'_, M>) -> Answer {
        let (now, config) = (cx.now(), cx.config());
        let is_taken = ask.term == self.promised && self.vote != Some(candidate);
        if ask.term < self.promised || is_taken || ask.term == Term::ZERO {
            return Answer::No { promised: self.promised };
        }
        let is_below_floor = ask.last < self.floor;
        if ask.last < self.last() || is_below_floor && config.durability == Durability::Disk {
            return Answer::Behind { last: self.position() };
        }
        if candidate != me
            && let Some(until) = self.office_until(now)
        {
            return Answer::Wait { leader: Some(me), left: until.since(now) };
        }
        // A permit does not help here: it has forgotten whose lease it is.
        if let Some(until) = self.no_vote_until.filter(|until| now < *until) {
            return Answer::Wait { leader: None, left: until.since(now) };
        }
        let binds = |lease: &Lease| {
            let is_over = lease.until <= now || lease.leader == candidate;
            !is_over && !ask.permit.is_some_and(|permit| permit.frees_from(lease))
        };
        if let Some(lease) = self.lease.filter(binds) {
            return Answer::Wait { leader: Some(lease.leader), left: lease.until.since(now) };
        }
        let forgot = self.lost || is_below_floor;
        Answer::Yes { after: if forgot { self.longest_ttl() } else { Duration::ZERO } }
    }

    /// G11: whether a candidate may count on this member. One that does not vote by its own list is asked by
    /// candidates that have a newer list, and by those that know only a former folder of its id.
    fn may_answer(&self, cx: &Cx<'_, M>) -> bool {
        self.is_voter(cx.me(), cx.config()) || self.latest(cx.me()) == Some(self.birth)
    }

    /// The answer, and what follows from it.
    fn answer(&mut self, candidate: NodeId, ask: &Ask, cx: &mut Cx<'_, M>) -> Answer {
        let answer = self.consider(cx.me(), candidate, ask, cx);
        match answer {
            Answer::Yes { .. } if ask.sure => {
                cx.rule("G1");
                (self.promised, self.vote) = (ask.term, Some(candidate));
                self.lease = self.lease.filter(|lease| lease.leader == candidate);
                self.make_way(candidate, ask.term, cx);
            }
            Answer::No { .. } => cx.rule("G1"),
            Answer::Yes { .. } | Answer::Wait { .. } | Answer::Behind { .. } => cx.rule("G3"),
        }
        answer
    }

    pub(crate) fn be_asked_for_a_vote(&mut self, from: NodeId, ask: Ask, cx: &mut Cx<'_, M>) {
        // A term that is only spoken of leaves no trace (G2).
        if ask.sure {
            cx.emit(Output::Asked(from));
            self.seen = self.seen.max(ask.term);
        }
        self.tell_removed(from, cx);
        if !self.may_answer(cx) {
            return;
        }
        let answer = self.answer(from, &ask, cx);
        let Ask { term, sure, .. } = ask;
        cx.send(from, Msg::Vote { term, sure, answer, birth: self.birth });
    }

    /// Another member has this member's vote for that term: what it did itself in lower ones is over.
    fn make_way(&mut self, other: NodeId, term: Term, cx: &mut Cx<'_, M>) {
        if other == cx.me() {
            return;
        }
        match &self.role {
            Role::Follower => {}
            Role::Candidate(campaign) if campaign.term > term => {}
            Role::Candidate(_) => self.stop_campaign(cx),
            Role::Leader(..) => self.retire(self.loss_to(other, term), cx),
        }
    }
}

/// The candidate.
impl<M: Machine> Log<M> {
    fn campaign_mut(&mut self) -> Option<&mut Campaign> {
        match &mut self.role {
            Role::Follower => None,
            Role::Candidate(campaign) => Some(campaign),
            Role::Leader(_, campaign) => campaign.as_mut(),
        }
    }

    fn campaign(&self) -> Option<&Campaign> {
        match &self.role {
            Role::Follower => None,
            Role::Candidate(campaign) => Some(campaign),
            Role::Leader(_, campaign) => campaign.as_ref(),
        }
    }

    /// The lowest term above all that it knows. Without a majority two members could take the same
    /// one, so then each has terms of its own.
    fn next_term(&self, cx: &Cx<'_, M>) -> Term {
        let next = self.seen.max(self.promised).next();
        match cx.config().quorum {
            Quorum::Majority => next,
            Quorum::None => {
                let (size, place) = (cx.group().len() as u64, cx.place() as u64);
                let ahead = (place + size - next.number() % size) % size;
                Term::new(next.number().saturating_add(ahead))
            }
        }
    }

    pub(crate) fn be_asked_to_campaign(
        &mut self,
        claim: bool,
        appointed: bool,
        cx: &mut Cx<'_, M>,
    ) {
        match &self.role {
            Role::Leader(..) => {}
            Role::Candidate(Campaign { probe: true, .. }) => {
                self.begin_campaign(claim, appointed, None, cx);
            }
            Role::Candidate(campaign) if campaign.sure || campaign.claim == claim => {}
            Role::Candidate(_) | Role::Follower => self.begin_campaign(claim, appointed, None, cx),
        }
    }

    /// Whether it could win at all.
    fn may_campaign(&self, cx: &Cx<'_, M>) -> bool {
        // With a disk, what is missing is with another member, and only there.
        let lacks = self.last() < self.floor || self.whole().is_none();
        let lacks = lacks && cx.config().durability == Durability::Disk;
        // G10: its own vote is needed, and one of an emptied folder does not count.
        // G11: nor does that of a member that does not vote.
        let counts = self.counts_vote(cx.me(), self.birth) && self.is_voter(cx.me(), cx.config());
        counts && !lacks
    }

    /// G2: asks who would vote for it, and nothing more.
    pub(crate) fn probe(&mut self, cx: &mut Cx<'_, M>) {
        if matches!(self.role, Role::Follower) && self.may_campaign(cx) {
            cx.rule("G2");
            let fresh = Campaign::new(self.next_term(cx), false, false, None);
            self.role = Role::Candidate(Campaign { probe: true, waited: true, ..fresh });
            self.ask_all(cx);
        }
    }

    /// G2: a fresh campaign, not sure.
    pub(crate) fn begin_campaign(
        &mut self,
        claim: bool,
        appointed: bool,
        permit: Option<Permit>,
        cx: &mut Cx<'_, M>,
    ) {
        cx.rule("G2");
        if !self.may_campaign(cx) {
            let needed = self.needed(cx.group(), cx.config());
            return cx.emit(Output::Stuck { heard: 0, needed, may_probe: false });
        }
        let campaign = Campaign::new(self.next_term(cx), claim, appointed, permit);
        cx.emit(Output::Asks(campaign.term));
        match &mut self.role {
            Role::Leader(_, beside) => *beside = Some(campaign),
            Role::Follower | Role::Candidate(_) => self.role = Role::Candidate(campaign),
        }
        self.ask_all(cx);
    }

    /// One round: asks those who have not voted, itself first.
    pub(crate) fn ask_all(&mut self, cx: &mut Cx<'_, M>) {
        let (last, birth, me) = (self.last(), self.birth, cx.me());
        let (voters, ended) = (self.voters(cx), self.freed_by);
        let Some(campaign) = self.campaign_mut() else { return };
        (campaign.claimed, campaign.refused) = (false, false);
        if !campaign.sure {
            campaign.answers.clear();
        }
        let Campaign { term, sure, permit, .. } = *campaign;
        // G9: while it waits, those who have voted should know that it still does.
        let is_missing = |id: &NodeId| !campaign.has_voted(*id) || campaign.complete.is_some();
        let missing: Vec<NodeId> = voters.into_iter().filter(is_missing).collect();
        let ask = Ask { term, last, sure, permit };
        if missing.contains(&me) {
            let answer = self.answer(me, &ask, cx);
            self.note_answer(me, answer, birth, cx);
        }
        for other in missing.into_iter().filter(|id| *id != me) {
            cx.send(other, Msg::RequestVote { term, last, sure, permit, ended });
        }
        let heartbeat = self.leases(cx.config()).heartbeat;
        cx.set_timer_within(Timer::Ask, heartbeat..heartbeat.saturating_mul(2));
        self.tally(cx);
    }

    pub(crate) fn count_vote(
        &mut self,
        from: NodeId,
        (term, sure): (Term, bool),
        answer: Answer,
        birth: Birth,
        cx: &mut Cx<'_, M>,
    ) {
        let is_asked = |campaign: &Campaign| campaign.term == term && campaign.sure == sure;
        if !self.campaign().is_some_and(is_asked) {
            return;
        }
        self.note_answer(from, answer, birth, cx);
        // G5: once votes are given to its log as it is, it stays as it is.
        if let Answer::Behind { last } = answer
            && last > self.last()
            && matches!(self.role, Role::Candidate(_))
            && !sure
        {
            self.fetch_from(from, cx);
        }
        let raises = |campaign: &Campaign| {
            self.seen >= campaign.term && !campaign.raised && !campaign.sure && !campaign.probe
        };
        if self.campaign().is_some_and(raises) {
            return self.raise(cx);
        }
        self.tally(cx);
    }

    fn note_answer(&mut self, from: NodeId, answer: Answer, birth: Birth, cx: &Cx<'_, M>) {
        let (now, lease) = (cx.now(), self.leases(cx.config()).lease);
        let counts = self.counts_vote(from, birth);
        if let Answer::No { promised } = answer {
            self.seen = self.seen.max(promised);
        }
        let Some(campaign) = self.campaign_mut() else { return };
        campaign.refused |= matches!(answer, Answer::No { .. });
        let standing = match answer {
            Answer::Yes { after } if counts => VoteReply::Yes { after, birth },
            Answer::Wait { leader, left } if counts => {
                VoteReply::Free { at: now + left.min(lease), leader }
            }
            Answer::Behind { last } => VoteReply::Behind(last),
            Answer::Yes { .. } | Answer::Wait { .. } | Answer::No { .. } => return,
        };
        // A vote that was given stays given.
        if !campaign.has_voted(from) {
            campaign.answers.insert(from, standing);
        }
    }

    /// G2: the same campaign in a higher term.
    fn raise(&mut self, cx: &mut Cx<'_, M>) {
        let term = self.next_term(cx);
        let Some(campaign) = self.campaign_mut() else { return };
        let Campaign { claim, appointed, permit, rounds, waited, .. } = *campaign;
        let fresh = Campaign::new(term, claim, appointed, permit);
        *campaign = Campaign { raised: true, rounds, waited, ..fresh };
        cx.emit(Output::Asks(term));
        self.ask_all(cx);
    }

    /// G11: its log, and with it the list of voters, may have changed since it asked.
    fn drop_answers_of_others(&mut self, cx: &Cx<'_, M>) {
        let voters = self.voters(cx);
        if let Some(campaign) = self.campaign_mut() {
            campaign.answers.retain(|id, _| voters.contains(id));
        }
    }

    /// G2 and G3: what the answers so far are enough for.
    pub(crate) fn tally(&mut self, cx: &mut Cx<'_, M>) {
        self.drop_answers_of_others(cx);
        let (me, now, needed) = (cx.me(), cx.now(), self.needed(cx.group(), cx.config()));
        let all = self.members(cx.config()).map_or(cx.group().len(), |list| list.voters().count());
        let Some(campaign) = self.campaign() else { return };
        if campaign.sure {
            return self.tally_votes(cx);
        }
        let Some(free) = campaign.majority_at(me, needed, now) else { return };
        // G9, G10: members without a log may be a new cluster, or may have forgotten an old one. Every
        // member that has its log gets a round to say so.
        let is_doubtful = self.last() == Position::ZERO || campaign.remembering() < needed;
        let is_known = campaign.answers.len() == all || campaign.waited;
        if is_doubtful && (!is_known || campaign.newest().is_some()) {
            return;
        }
        if campaign.probe {
            self.stop_campaign(cx);
            return cx.emit(Output::CouldWin);
        }
        if free <= now {
            return self.become_sure(cx);
        }
        if campaign.claim {
            return self.claim(cx);
        }
        cx.set_timer(Timer::Ask, free.since(now));
    }

    /// G8: a majority would vote if its leader let it.
    fn claim(&mut self, cx: &mut Cx<'_, M>) {
        let (me, needed) = (cx.me(), self.needed(cx.group(), cx.config()));
        let Some(campaign) = self.campaign_mut().filter(|campaign| !campaign.claimed) else {
            return;
        };
        let leaders = campaign.answers.values().filter_map(|standing| match standing {
            VoteReply::Free { leader, .. } => *leader,
            VoteReply::Yes { .. } | VoteReply::Behind(_) => None,
        });
        let Some(leader) = leaders.max().filter(|leader| *leader != cx.me()) else { return };
        // Only this leader may be in the way of a majority, the candidate among it: a member that has
        // just restarted would not be free when the leader has yielded (G9).
        let yields = |standing: &VoteReply| match standing {
            VoteReply::Yes { .. } => true,
            VoteReply::Free { leader: bound, .. } => *bound == Some(leader),
            VoteReply::Behind(_) => false,
        };
        let own = campaign.answers.get(&me).is_some_and(yields);
        if !own || campaign.answers.values().filter(|s| yields(s)).count() < needed {
            return;
        }
        campaign.claimed = true;
        let term = campaign.term;
        cx.rule("G8");
        cx.send(leader, Msg::Claim { term });
    }

    /// G2: asks for the votes themselves. Its own comes first: without it the others' would be of no
    /// use, and would only keep them from a leader that lives.
    fn become_sure(&mut self, cx: &mut Cx<'_, M>) {
        let (me, last) = (cx.me(), self.last());
        let floor = self.seen.max(self.promised);
        let higher = self.next_term(cx);
        let Some(campaign) = self.campaign_mut() else { return };
        if campaign.term <= floor {
            campaign.term = higher;
        }
        let ask = Ask { term: campaign.term, last, sure: true, permit: campaign.permit };
        if !matches!(self.consider(me, me, &ask, cx), Answer::Yes { .. }) {
            return;
        }
        cx.rule("G2");
        // S4: a leader stops serving before it asks for votes in another term.
        if let Role::Leader(_, beside) = &mut self.role
            && let Some(campaign) = beside.take()
        {
            self.retire(Loss::Superseded(ask.term), cx);
            self.role = Role::Candidate(campaign);
        }
        self.fetch = None;
        cx.cancel_timer(Timer::Fetch);
        if let Some(campaign) = self.campaign_mut() {
            (campaign.sure, campaign.rounds, campaign.complete) = (true, 0, None);
            campaign.answers.clear();
        }
        self.ask_all(cx);
    }

    fn tally_votes(&mut self, cx: &mut Cx<'_, M>) {
        let (me, now, needed) = (cx.me(), cx.now(), self.needed(cx.group(), cx.config()));
        let voters = self.voters(cx);
        let Some(campaign) = self.campaign_mut() else { return };
        let Some(wait) = campaign.wait(me, needed) else { return };
        let is_new = campaign.complete.is_none();
        let until = *campaign.complete.get_or_insert(now) + wait;
        if until <= now {
            return self.lead(cx);
        }
        cx.set_timer(Timer::Wait, until.since(now));
        if is_new {
            cx.rule("G9");
            let remembers = |standing: &VoteReply| matches!(standing, VoteReply::Yes { after, .. } if after.is_zero());
            let missing = |id: &NodeId| !campaign.answers.get(id).is_some_and(remembers);
            let members = voters.into_iter().filter(|id| *id != me).filter(missing).collect();
            cx.emit(Output::Waiting { members, left: wait });
        }
    }

    /// Timer Ask: a majority is free now, or a round is over.
    pub(crate) fn end_round(&mut self, cx: &mut Cx<'_, M>) {
        let needed = self.needed(cx.group(), cx.config());
        let Some(campaign) = self.campaign_mut() else { return };
        campaign.waited = true;
        let was_sure = campaign.sure;
        self.tally(cx);
        let Some(campaign) = self.campaign() else { return };
        if campaign.probe {
            // What it asks in the next round follows from what it knows then.
            self.stop_campaign(cx);
            return self.probe(cx);
        }
        if campaign.sure && !was_sure {
            return;
        }
        // G9: one that waits may get a vote without a wait in a higher term.
        if self.seen >= campaign.term && (campaign.complete.is_none() || campaign.refused) {
            return self.raise(cx);
        }
        let heard = campaign.heard();
        let will_be_free = campaign.majority_at(cx.me(), needed, cx.now()).is_some();
        let is_waiting = campaign.complete.is_some() || !campaign.sure && will_be_free;
        let (rounds, claim) = (campaign.rounds + 1, campaign.claim);
        let newest = campaign.newest().filter(|(_, last)| *last > self.last());
        // G9: a member that remembers has come back while this one waited for it.
        if is_waiting && !claim && newest.is_none() {
            return self.ask_all(cx);
        }
        if heard < needed {
            cx.emit(Output::TooFew { heard, needed });
        }
        if let Some((of, last)) = newest {
            self.stop_campaign(cx);
            cx.emit(Output::Behind { of, last });
            self.fetch_from(of, cx);
        } else if rounds >= 2 {
            self.stop_campaign(cx);
            // A claim that is not heard leaves a leader that works.
            if !claim {
                cx.emit(Output::Stuck { heard, needed, may_probe: !was_sure });
            }
        } else {
            if let Some(campaign) = self.campaign_mut() {
                (campaign.rounds, campaign.raised) = (rounds, false);
            }
            self.ask_all(cx);
        }
    }

    /// G1: a follower has promised a higher term.
    pub(crate) fn be_refused(&mut self, term: Term, promised: Term, cx: &mut Cx<'_, M>) {
        let is_own = self.leader_state().is_some_and(|state| state.term == term);
        if !is_own || promised <= term {
            return;
        }
        self.seen = self.seen.max(promised);
        if let Role::Leader(state, None) = &self.role {
            let appointed = state.appointed;
            self.begin_campaign(false, appointed, None, cx);
        }
    }

    /// A piece has come: if the log is now as new as the voters', it asks again at once.
    pub(crate) fn ask_with_newer_log(&mut self, cx: &mut Cx<'_, M>) {
        let last = self.last();
        let was_behind = |campaign: &Campaign| campaign.newest().is_some_and(|(_, of)| of <= last);
        if let Role::Candidate(campaign) = &self.role
            && !campaign.sure
            && was_behind(campaign)
        {
            self.ask_all(cx);
        }
    }

    pub(crate) fn desist(&mut self, cx: &mut Cx<'_, M>) {
        if self.campaigns() {
            self.stop_campaign(cx);
        }
    }

    pub(crate) fn stop_campaign(&mut self, cx: &mut Cx<'_, M>) {
        cx.cancel_timer(Timer::Ask);
        cx.cancel_timer(Timer::Wait);
        match &mut self.role {
            Role::Follower => {}
            Role::Candidate(_) => self.role = Role::Follower,
            Role::Leader(_, campaign) => *campaign = None,
        }
    }

    /// G8: the leader has stopped serving for this member.
    pub(crate) fn use_permit(&mut self, permit: Permit, appointed: bool, cx: &mut Cx<'_, M>) {
        match &mut self.role {
            Role::Leader(..) => {}
            Role::Candidate(campaign) if campaign.sure => {}
            Role::Candidate(campaign) if !campaign.probe => {
                (campaign.permit, campaign.claim) = (Some(permit), false);
                self.tally(cx);
                if self.campaign().is_some_and(|campaign| !campaign.sure) {
                    self.ask_all(cx);
                }
            }
            Role::Candidate(_) | Role::Follower => {
                self.begin_campaign(false, appointed, Some(permit), cx);
            }
        }
    }
}
