//! Roles: elections for applications.

use crate::command::{Answer, Outcome, Policy, Refusal, RoleChange, Stamp};
use crate::ids::{Number, SessionId, Token};
use crate::state::Coordination;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of changes of a role that are remembered.
pub(crate) const CHANGES_KEPT: usize = 32;

/// One role.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Role {
    /// How it is filled.
    pub policy: Policy,
    /// The leader, and its token.
    pub leader: Option<(SessionId, Token)>,
    /// Whether the leader was asked to yield.
    pub preempt_requested: bool,
    /// The candidates, the leader included, in order of arrival.
    pub candidates: Vec<Candidate>,
    /// The changes, the latest last. Old ones are forgotten.
    pub history: VecDeque<RoleChange>,
    /// The memory that candidates and changes hold: it follows from them, so it is not sent.
    #[serde(skip)]
    pub(crate) content: u64,
}

/// A candidate for a role.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Candidate {
    /// Who.
    pub session: SessionId,
    /// By which request.
    pub number: Number,
    /// Higher ones are preferred where the role goes by priority.
    pub priority: i32,
    /// What the world knows of it when it leads.
    pub value: Vec<u8>,
    /// Since when.
    pub since: Stamp,
}

impl Role {
    /// One that has had no candidate yet.
    pub(crate) fn new(policy: Policy) -> Self {
        Role {
            policy,
            leader: None,
            preempt_requested: false,
            candidates: Vec::new(),
            history: VecDeque::new(),
            content: 0,
        }
    }

    pub(crate) fn add_candidate(&mut self, candidate: Candidate) {
        self.content += candidate.bytes();
        self.candidates.push(candidate);
    }

    fn remove_candidate(&mut self, id: SessionId) {
        if let Some(place) = self.place(id) {
            let candidate = self.candidates.remove(place);
            self.content = self.content.saturating_sub(candidate.bytes());
        }
    }

    fn set_value(&mut self, place: usize, value: &[u8]) {
        let candidate = &mut self.candidates[place];
        let before = candidate.bytes();
        candidate.value = value.to_vec();
        self.content = (self.content + candidate.bytes()).saturating_sub(before);
    }

    /// Remembers a change; the oldest is forgotten if there are too many.
    pub(crate) fn add_change(&mut self, change: RoleChange) {
        if self.history.len() == CHANGES_KEPT
            && let Some(oldest) = self.history.pop_front()
        {
            self.content = self.content.saturating_sub(oldest.bytes());
        }
        self.content += change.bytes();
        self.history.push_back(change);
    }

    /// The place of a candidate among all candidates, from 0.
    pub fn place(&self, session: SessionId) -> Option<usize> {
        self.candidates.iter().position(|candidate| candidate.session == session)
    }

    /// The candidate that should lead: an index.
    fn best(&self) -> Option<usize> {
        match self.policy {
            Policy::FirstCome => (!self.candidates.is_empty()).then_some(0),
            Policy::Priority { .. } => {
                let rank = |(index, candidate): &(usize, &Candidate)| {
                    (candidate.priority, std::cmp::Reverse(*index))
                };
                self.candidates.iter().enumerate().max_by_key(rank).map(|(index, _)| index)
            }
        }
    }

    /// How many would lead before this candidate.
    fn behind(&self, place: usize) -> u64 {
        let me = &self.candidates[place];
        let before = |(index, other): &(usize, &Candidate)| match self.policy {
            Policy::FirstCome => *index < place,
            Policy::Priority { .. } => {
                other.priority > me.priority || other.priority == me.priority && *index < place
            }
        };
        let leads = |other: &Candidate| self.leader.is_some_and(|(id, _)| id == other.session);
        let ahead = self.candidates.iter().enumerate();
        ahead
            .filter(|(index, other)| *index != place && (before(&(*index, other)) || leads(other)))
            .count() as u64
    }

    /// What its candidate has by now.
    pub(crate) fn answer(&self, session: SessionId) -> Answer {
        match self.leader {
            Some((leader, token)) if leader == session => Answer::Leads(token),
            _ => {
                Answer::Waits { behind: self.place(session).map_or(0, |place| self.behind(place)) }
            }
        }
    }
}

impl Coordination {
    pub(crate) fn campaign(
        &mut self,
        id: SessionId,
        number: Number,
        (name, priority, value, policy): (&str, i32, &[u8], Policy),
        at: Stamp,
        said: &mut Vec<Outcome>,
    ) {
        if let Err(refusal) = self.may_stand(id, name, value, policy) {
            return self.answer(id, number, Err(refusal), said);
        }
        self.awaken(name);
        if !self.roles.contains_key(name) {
            let role = Role::new(policy);
            self.bytes += role.bytes(name);
            self.roles.insert(name.into(), Arc::new(role));
        }
        let value = value.to_vec();
        self.change_role(name, |role| {
            // One that had no candidate may be filled in another way from now on.
            role.policy = policy;
            role.add_candidate(Candidate { session: id, number, priority, value, since: at });
        });
        if let Some((role, _)) = self.roles.get_key_value(name) {
            let role = role.clone();
            self.change_session(id, |session| session.add_role(role, number));
        }
        self.fill(name, "the first candidate", at, said);
        let Some(role) = self.roles.get(name) else { return };
        if role.leader.is_some_and(|(leader, _)| leader == id) {
            return;
        }
        said.push(Outcome::Answered(id, number, Ok(role.answer(id))));
        self.make_room(name, said);
    }

    fn may_stand(
        &self,
        id: SessionId,
        name: &str,
        value: &[u8],
        policy: Policy,
    ) -> Result<(), Refusal> {
        self.check_name(name)?;
        self.check_value(value)?;
        let Some(role) = self.roles.get(name).filter(|role| !role.candidates.is_empty()) else {
            return Ok(());
        };
        if role.place(id).is_some() {
            return Err(Refusal::AlreadyCampaigns(name.to_owned()));
        }
        if role.policy != policy {
            return Err(Refusal::OtherPolicy(name.to_owned(), role.policy));
        }
        if role.candidates.len() >= self.limits.waiters as usize {
            return Err(Refusal::TooManyWaiters(self.limits.waiters));
        }
        Ok(())
    }

    fn check_value(&self, value: &[u8]) -> Result<(), Refusal> {
        let fits = value.len() <= self.limits.value as usize;
        if fits { Ok(()) } else { Err(Refusal::ValueTooLarge(self.limits.value)) }
    }

    /// Gives the role to the best candidate, if it has no leader.
    fn fill(&mut self, name: &str, reason: &str, at: Stamp, said: &mut Vec<Outcome>) {
        let best = match self.roles.get(name) {
            Some(role) if role.leader.is_none() => role.best(),
            _ => None,
        };
        if let Some(best) = best {
            self.appoint(name, best, reason, at, said);
        }
    }

    fn appoint(
        &mut self,
        name: &str,
        who: usize,
        reason: &str,
        at: Stamp,
        said: &mut Vec<Outcome>,
    ) {
        let token = self.next_token();
        let Some(role) = self.roles.get_mut(name).map(Arc::make_mut) else { return };
        let Candidate { session, number, .. } = role.candidates[who];
        role.leader = Some((session, token));
        role.preempt_requested = false;
        said.push(Outcome::Answered(session, number, Ok(Answer::Leads(token))));
        self.note(name, reason, at, said);
    }

    /// Asks a leader to yield if a better candidate is there.
    fn make_room(&mut self, name: &str, said: &mut Vec<Outcome>) {
        let Some(role) = self.roles.get_mut(name) else { return };
        let Policy::Priority { preempt: true } = role.policy else { return };
        let (Some((leader, _)), Some(best)) = (role.leader, role.best()) else { return };
        let leads = role.place(leader).map(|place| role.candidates[place].priority);
        let better = leads.is_none_or(|priority| role.candidates[best].priority > priority);
        if better && !role.preempt_requested {
            Arc::make_mut(role).preempt_requested = true;
            said.push(Outcome::Preempt { session: leader, role: name.to_owned() });
        }
    }

    /// R4: whether the session campaigns for a role by a request that it made after this one.
    pub(crate) fn stands_later(&self, id: SessionId, name: &str, number: Number) -> bool {
        let by = self.sessions.get(&id).and_then(|session| session.roles.get(name));
        by.is_some_and(|by| *by > number)
    }

    pub(crate) fn resign(
        &mut self,
        id: SessionId,
        name: &str,
        at: Stamp,
        said: &mut Vec<Outcome>,
    ) -> Result<Answer, Refusal> {
        let number = self.sessions.get(&id).and_then(|session| session.roles.get(name)).copied();
        let (Some(number), Some(role)) = (number, self.roles.get(name)) else {
            return Err(Refusal::NotCandidate(name.to_owned()));
        };
        let had = role.answer(id);
        let why = match role.preempt_requested && matches!(had, Answer::Leads(_)) {
            true => "yielded to a candidate with a higher priority",
            false => "resigned",
        };
        self.leave(id, name, &format!("session {id} {why}"), at, said);
        match had {
            // If it comes again it is not told of what it had.
            Answer::Leads(_) => self.settle(id, number, Err(Refusal::NotAsked(number))),
            _ => self.answer(id, number, Err(Refusal::GaveUp), said),
        }
        Ok(Answer::Done)
    }

    /// A candidate is gone; if it led, the next one does.
    pub(crate) fn leave(
        &mut self,
        id: SessionId,
        name: &str,
        reason: &str,
        at: Stamp,
        said: &mut Vec<Outcome>,
    ) {
        let left = self.change_role(name, |role| {
            role.remove_candidate(id);
            let led = role.leader.is_some_and(|(leader, _)| leader == id);
            if led {
                role.leader = None;
                role.preempt_requested = false;
            }
            (led, role.candidates.is_empty())
        });
        let Some((led, empty)) = left else { return };
        self.change_session(id, |session| session.remove_role(name));
        match (led, empty) {
            (false, _) => {}
            (true, true) => {
                self.note(name, reason, at, said);
                self.rest(name);
            }
            (true, false) => self.fill(name, reason, at, said),
        }
    }

    pub(crate) fn proclaim(
        &mut self,
        id: SessionId,
        name: &str,
        value: &[u8],
        at: Stamp,
        said: &mut Vec<Outcome>,
    ) -> Result<Answer, Refusal> {
        self.check_value(value)?;
        if let Some(place) = self.led(id, name)?.place(id) {
            self.change_role(name, |role| role.set_value(place, value));
        }
        self.note(name, &format!("session {id} proclaimed another value"), at, said);
        Ok(Answer::Done)
    }

    pub(crate) fn hand_over(
        &mut self,
        id: SessionId,
        name: &str,
        to: SessionId,
        at: Stamp,
        said: &mut Vec<Outcome>,
    ) -> Result<Answer, Refusal> {
        let role = self.led(id, name)?;
        let none = || Refusal::NoSuchCandidate(name.to_owned(), to);
        let heir = role.place(to).filter(|_| to != id).ok_or_else(none)?;
        self.appoint(name, heir, &format!("session {id} handed over"), at, said);
        Ok(Answer::Done)
    }

    /// The role, if this session leads it.
    fn led(&self, id: SessionId, name: &str) -> Result<&Role, Refusal> {
        let role = self.roles.get(name).map(|role| &**role);
        let leads = |role: &&Role| role.leader.is_some_and(|(leader, _)| leader == id);
        role.filter(leads).ok_or_else(|| Refusal::NotLeader(name.to_owned()))
    }

    /// Writes a change down and tells of it.
    fn note(&mut self, name: &str, reason: &str, at: Stamp, said: &mut Vec<Outcome>) {
        let change = self.change_role(name, |role| {
            let leader = role.leader.map(|(leader, _)| leader);
            let candidate = leader.and_then(|leader| role.place(leader));
            let value = candidate.map(|place| role.candidates[place].value.clone());
            let change = RoleChange {
                role: name.to_owned(),
                leader,
                token: role.leader.map(|(_, token)| token),
                value: value.unwrap_or_default(),
                reason: reason.to_owned(),
                at,
            };
            role.add_change(change.clone());
            change
        });
        let Some(change) = change else { return };
        said.push(Outcome::RoleChanged(change));
    }
}
