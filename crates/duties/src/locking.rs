//! Locks: asking, granting, giving back.
//!
//! A request is for one or more locks and gets all of them at once, or none. It waits in the queue
//! of each, and is granted when it is the first in all of them and nobody who holds one is in its
//! way. So requests for a lock are granted in the order in which they came, also those for several.

use crate::command::{Answer, Limits, Mode, Refusal, Said, Stamp, Want};
use crate::ids::{Number, SessionId};
use crate::session::Claim;
use crate::state::Duties;

impl Duties {
    pub(crate) fn lock(
        &mut self,
        id: SessionId,
        number: Number,
        wants: Vec<Want>,
        wait: bool,
        at: Stamp,
        said: &mut Vec<Said>,
    ) {
        if let Err(refusal) = self.may_ask(id, &wants, wait) {
            return self.answer(id, number, Err(refusal), said);
        }
        self.asked += 1;
        let names: Vec<_> = wants.iter().map(|want| want.name.clone()).collect();
        for want in &wants {
            let lock = self.locks.entry(want.name.clone()).or_default();
            if let Mode::Permits { of, .. } = want.mode {
                lock.permits = of;
            }
            self.waits.push(lock, (id, number, want.mode));
        }
        let request = Claim { wants, order: self.asked, since: at, token: None };
        if let Some(session) = self.sessions.get_mut(&id) {
            session.requests.insert(number, request);
        }
        self.grant(names, said);
        let Some(request) = self.request(id, number) else { return };
        if request.token.is_some() {
            return;
        }
        let deadlock = self.find_deadlock(id, at);
        // One that is aborted at once has never waited.
        if deadlock.as_ref().is_none_or(|deadlock| deadlock.aborted.is_none()) {
            let behind = self.behind(id, &request.wants);
            said.push(Said::Answered(id, number, Ok(Answer::Waits { behind })));
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
                return Err(Refusal::NamedTwice(name.clone()));
            }
            if self.sessions.get(&id).is_some_and(|session| session.asked_for(name).is_some()) {
                return Err(Refusal::AlreadyAsked(name.clone()));
            }
            let permits = match *mode {
                Mode::Permits { take, of } if take == 0 || take > of => {
                    return Err(Refusal::BadPermits(name.clone()));
                }
                Mode::Permits { of, .. } => of,
                Mode::Exclusive | Mode::Shared => 0,
            };
            let Some(lock) = self.locks.get(name) else { continue };
            if lock.permits != permits {
                return Err(Refusal::OtherPermits { lock: name.clone(), of: lock.permits });
            }
            let free = lock.queue.is_empty() && lock.admits(*mode);
            if !free && !wait {
                return Err(Refusal::Busy(name.clone()));
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
        let place = |want: &Want| self.locks.get(&want.name)?.place(id);
        wants.iter().filter_map(place).max().unwrap_or_default() as u64
    }

    /// Ends the waiting of an earlier request. One that has not come yet is refused when it comes.
    pub(crate) fn give_up(
        &mut self,
        id: SessionId,
        number: Number,
        earlier: Number,
        at: Stamp,
        said: &mut Vec<Said>,
    ) -> Result<Answer, Refusal> {
        match self.answered(id, earlier) {
            Some(Ok(Answer::Waits { .. })) => {
                if let Some(request) = self.request(id, earlier).cloned() {
                    self.abort(id, earlier, &request, Refusal::GaveUp, said);
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
        request: &Claim,
        why: Refusal,
        said: &mut Vec<Said>,
    ) {
        self.withdraw(id, number, request);
        self.answer(id, number, Err(why), said);
        self.grant(request.wants.iter().map(|want| want.name.clone()).collect(), said);
    }

    pub(crate) fn release(
        &mut self,
        id: SessionId,
        number: Number,
        said: &mut Vec<Said>,
    ) -> Result<Answer, Refusal> {
        let request = self.request(id, number).filter(|request| request.token.is_some()).cloned();
        let request = request.ok_or(Refusal::NotAsked(number))?;
        self.withdraw(id, number, &request);
        self.grant(request.wants.iter().map(|want| want.name.clone()).collect(), said);
        Ok(Answer::Done)
    }

    /// Takes a request out of all locks, whether it holds them or waits.
    pub(crate) fn withdraw(&mut self, id: SessionId, number: Number, request: &Claim) {
        for want in &request.wants {
            let Some(lock) = self.locks.get_mut(&want.name) else { continue };
            match request.token {
                Some(_) => self.waits.remove_holder(lock, id, number),
                None => self.waits.remove_waiter(lock, id, number),
            }
            if lock.is_idle() {
                self.locks.remove(&want.name);
            }
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.requests.remove(&number);
        }
        if request.token.is_some() {
            // If it comes again it is not told of what it had.
            self.settle(id, number, Err(Refusal::NotAsked(number)));
        }
    }

    /// Takes one lock away from its holder. What else its request was granted stays.
    pub(crate) fn force(&mut self, name: String, id: SessionId, by: String, said: &mut Vec<Said>) {
        let held = self.locks.get(&name).and_then(|lock| lock.holders.get(&id));
        let Some((number, _)) = held.copied() else {
            let done = Err(Refusal::NotHolder(name.clone(), id));
            let number = None;
            return said.push(Said::Forced { lock: name, session: id, number, by, done });
        };
        if let Some(lock) = self.locks.get_mut(&name) {
            self.waits.remove_holder(lock, id, number);
            if lock.is_idle() {
                self.locks.remove(&name);
            }
        }
        if let Some(session) = self.sessions.get_mut(&id)
            && let Some(request) = session.requests.get_mut(&number)
        {
            request.wants.retain(|want| want.name != name);
            if request.wants.is_empty() {
                session.requests.remove(&number);
                self.settle(id, number, Err(Refusal::NotAsked(number)));
            }
        }
        let number = Some(number);
        said.push(Said::Forced { lock: name.clone(), session: id, number, by, done: Ok(()) });
        self.grant(vec![name], said);
    }

    /// Grants what can be granted, after something has changed about these locks.
    pub(crate) fn grant(&mut self, changed: Vec<String>, said: &mut Vec<Said>) {
        // Mostly it is one. Of several, the first by name comes first, for everybody alike.
        let mut changed = changed;
        changed.sort_unstable_by(|one, other| other.cmp(one));
        while let Some(name) = changed.pop() {
            while let Some((id, number)) = self.grantable(&name) {
                let token = self.next_token();
                let Some(request) = self
                    .sessions
                    .get_mut(&id)
                    .and_then(|session| session.requests.get_mut(&number))
                else {
                    break;
                };
                request.token = Some(token);
                for want in &request.wants {
                    if let Some(lock) = self.locks.get_mut(&want.name) {
                        self.waits.admit(lock);
                    }
                    // The next one may be of those who share it.
                    if want.name != name
                        && let Err(place) = changed.binary_search_by(|it| want.name.cmp(it))
                    {
                        changed.insert(place, want.name.clone());
                    }
                }
                said.push(Said::Answered(id, number, Ok(Answer::Granted(token))));
            }
        }
    }

    /// The first request in this queue, if it can have all that it wants.
    fn grantable(&self, name: &str) -> Option<(SessionId, Number)> {
        let (id, number, _) = *self.locks.get(name)?.queue.front()?;
        let request = self.request(id, number)?;
        let can = |want: &Want| {
            let lock = self.locks.get(&want.name);
            lock.is_some_and(|lock| lock.is_next(id) && lock.admits(want.mode))
        };
        request.wants.iter().all(can).then_some((id, number))
    }
}
