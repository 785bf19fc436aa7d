//! Locks: asking, granting, giving back.
//!
//! A request is for one or more locks and gets all of them at once, or none. It waits in the queue
//! of each, and is granted when it is the first in all of them and no holder of one is in its
//! way. So requests for a lock are granted in the order in which they came, also those for several.

use crate::command::{Answer, Limits, Mode, Outcome, Refusal, Stamp, Want};
use crate::ids::{Number, SessionId};
use crate::session::Claim;
use crate::state::Coordination;
use crate::wants::Wants;
use std::borrow::Cow;
use std::sync::Arc;

/// The locks that a request names.
pub(crate) fn names(wants: &[Want]) -> Vec<Cow<'_, str>> {
    wants.iter().map(|want| Cow::Borrowed(&*want.name)).collect()
}

impl Coordination {
    pub(crate) fn lock(
        &mut self,
        id: SessionId,
        number: Number,
        wants: &Wants,
        wait: bool,
        at: Stamp,
        said: &mut Vec<Outcome>,
    ) {
        if let Err(refusal) = self.may_ask(id, wants, wait) {
            return self.answer(id, number, Err(refusal), said);
        }
        self.asked += 1;
        for want in wants {
            let lock = Arc::make_mut(self.locks.or_default(&want.name));
            if let Mode::Permits { of, .. } = want.mode {
                lock.permits = of;
            }
            self.waits.push(lock, (id, number, want.mode));
        }
        let request = Claim { wants: wants.clone(), order: self.asked, since: at, token: None };
        self.change_session(id, |session| session.add_claim(number, request));
        self.grant(names(wants), said);
        let Some(request) = self.request(id, number) else { return };
        if request.token.is_some() {
            return;
        }
        let deadlock = self.find_deadlock(id, at);
        // One that is aborted at once has never waited.
        if deadlock.as_ref().is_none_or(|deadlock| deadlock.aborted.is_none()) {
            let behind = self.behind(id, &request.wants);
            said.push(Outcome::Answered(id, number, Ok(Answer::Waits { behind })));
        }
        if let Some(deadlock) = deadlock {
            self.resolve(deadlock, number, said);
        }
    }

    /// Whether this can be asked for at all.
    fn may_ask(&self, id: SessionId, wants: &[Want], wait: bool) -> Result<(), Refusal> {
        let Limits { wants: most, waiters, .. } = self.limits;
        if wants.is_empty() {
            return Err(Refusal::NothingWanted);
        }
        if wants.len() > most as usize {
            return Err(Refusal::TooManyWants(most));
        }
        for (place, Want { name, mode }) in wants.iter().enumerate() {
            self.check_name(name)?;
            if wants[..place].iter().any(|before| before.name == *name) {
                return Err(Refusal::NamedTwice(name.to_string()));
            }
            if self.sessions.get(&id).is_some_and(|session| session.asked_for(name).is_some()) {
                return Err(Refusal::AlreadyAsked(name.to_string()));
            }
            let permits = match *mode {
                Mode::Permits { take, of } if take == 0 || take > of => {
                    return Err(Refusal::InvalidPermits(name.to_string()));
                }
                Mode::Permits { of, .. } => of,
                Mode::Exclusive | Mode::Shared => 0,
            };
            let Some(lock) = self.locks.get(&**name) else { continue };
            if lock.permits != permits {
                return Err(Refusal::OtherPermits { lock: name.to_string(), of: lock.permits });
            }
            let free = lock.queue.is_empty() && lock.admits(*mode);
            if !free && !wait {
                return Err(Refusal::Busy(name.to_string()));
            }
            if lock.queue.len() >= waiters as usize {
                return Err(Refusal::TooManyWaiters(waiters));
            }
        }
        Ok(())
    }

    pub(crate) fn request(&self, id: SessionId, number: Number) -> Option<&Claim> {
        self.sessions.get(&id)?.requests.get(&number)
    }

    /// How many are before a request in the longest of its queues.
    pub fn behind(&self, id: SessionId, wants: &[Want]) -> u64 {
        let place = |want: &Want| self.locks.get(&*want.name)?.place(id);
        wants.iter().filter_map(place).max().unwrap_or_default() as u64
    }

    /// Ends the waiting of an earlier request. One that has not come yet is refused when it comes.
    pub(crate) fn give_up(
        &mut self,
        id: SessionId,
        number: Number,
        earlier: Number,
        at: Stamp,
        said: &mut Vec<Outcome>,
    ) -> Result<Answer, Refusal> {
        match self.answered(id, earlier) {
            Some(Ok(Answer::Waits { .. })) => {
                if self.request(id, earlier).is_some() {
                    self.abort(id, earlier, Refusal::GaveUp, said);
                } else if let Some(role) = self.role_by(id, earlier).cloned() {
                    self.resign(id, &role, at, said)?;
                }
            }
            None if earlier < number => self.settle(id, earlier, Err(Refusal::GaveUp)),
            _ => return Err(Refusal::NotAsked(earlier)),
        }
        Ok(Answer::Done)
    }

    /// Takes a request that waits out of its queues and refuses it.
    pub(crate) fn abort(
        &mut self,
        id: SessionId,
        number: Number,
        why: Refusal,
        said: &mut Vec<Outcome>,
    ) {
        let Some(request) = self.withdraw(id, number) else { return };
        self.answer(id, number, Err(why), said);
        self.grant(names(&request.wants), said);
    }

    pub(crate) fn release(
        &mut self,
        id: SessionId,
        number: Number,
        said: &mut Vec<Outcome>,
    ) -> Result<Answer, Refusal> {
        let holds = self.request(id, number).is_some_and(|request| request.token.is_some());
        let request = if holds { self.withdraw(id, number) } else { None };
        let request = request.ok_or(Refusal::NotAsked(number))?;
        self.grant(names(&request.wants), said);
        Ok(Answer::Done)
    }

    /// Takes a request out of all locks, whether it holds them or waits.
    pub(crate) fn withdraw(&mut self, id: SessionId, number: Number) -> Option<Claim> {
        let request = self.change_session(id, |session| session.remove_claim(number))??;
        for want in &request.wants {
            let Some(lock) = self.locks.get_mut(&*want.name) else { continue };
            let lock = Arc::make_mut(lock);
            match request.token {
                Some(_) => self.waits.remove_holder(lock, id, number),
                None => self.waits.remove_waiter(lock, id, number),
            }
            if lock.is_idle() {
                self.locks.remove(&*want.name);
            }
        }
        if request.token.is_some() {
            // If it comes again it is not told of what it had.
            self.settle(id, number, Err(Refusal::NotAsked(number)));
        }
        Some(request)
    }

    /// Takes one lock away from its holder. What else its request was granted stays.
    pub(crate) fn force(&mut self, name: &str, id: SessionId, by: &str, said: &mut Vec<Outcome>) {
        let (lock, by) = (name.to_owned(), by.replace(char::is_control, "?"));
        let held = self.locks.get(name).and_then(|lock| lock.holders.get(&id));
        let Some((number, _)) = held.copied() else {
            let done = Err(Refusal::NotHolder(name.to_owned(), id));
            return said.push(Outcome::Forced { lock, session: id, number: None, by, done });
        };
        if let Some(lock) = self.locks.get_mut(name) {
            let lock = Arc::make_mut(lock);
            self.waits.remove_holder(lock, id, number);
            if lock.is_idle() {
                self.locks.remove(name);
            }
        }
        if self.change_session(id, |session| session.drop_want(number, name)) == Some(true) {
            self.settle(id, number, Err(Refusal::NotAsked(number)));
        }
        said.push(Outcome::Forced { lock, session: id, number: Some(number), by, done: Ok(()) });
        self.grant(vec![Cow::Borrowed(name)], said);
    }

    /// Grants what can be granted, after something has changed about these locks.
    pub(crate) fn grant(&mut self, changed: Vec<Cow<'_, str>>, said: &mut Vec<Outcome>) {
        // Mostly it is one. Of several, the first by name comes first, at every member.
        let mut changed = changed;
        changed.sort_unstable_by(|one, other| other.cmp(one));
        while let Some(name) = changed.pop() {
            while let Some((id, number)) = self.grantable(&name) {
                let token = self.next_token();
                let session = self.sessions.get_mut(&id).map(Arc::make_mut);
                let Some(request) = session.and_then(|it| it.requests.get_mut(&number)) else {
                    break;
                };
                request.token = Some(token);
                for want in &request.wants {
                    if let Some(lock) = self.locks.get_mut(&*want.name) {
                        self.waits.admit(Arc::make_mut(lock));
                    }
                    // The next one may be of those who share it.
                    if *want.name != *name
                        && let Err(place) = changed.binary_search_by(|it| (*want.name).cmp(it))
                    {
                        changed.insert(place, Cow::Owned(want.name.to_string()));
                    }
                }
                said.push(Outcome::Answered(id, number, Ok(Answer::Granted(token))));
            }
        }
    }

    /// The first request in this queue, if it can have all that it wants.
    fn grantable(&self, name: &str) -> Option<(SessionId, Number)> {
        let (id, number, _) = *self.locks.get(name)?.queue.front()?;
        let request = self.request(id, number)?;
        let can = |want: &Want| {
            let lock = self.locks.get(&*want.name);
            lock.is_some_and(|lock| lock.is_next(id) && lock.admits(want.mode))
        };
        request.wants.iter().all(can).then_some((id, number))
    }
}
