//! One session of a client: what it has asked for, and what came of it.

use super::*;

impl SessionState {
    pub(super) fn is_closing(&self) -> bool {
        matches!(*self.phase.borrow(), SessionPhase::SessionEnded(_))
    }

    pub(super) fn waits(&self, number: Number, behind: u64) {
        if let Some(RequestState::Asked { place: Some(place), .. }) = self.requests.get(&number) {
            place.send_replace(Some(behind));
        }
    }

    /// A request is answered for good. What has to be given back thereby is returned.
    pub(super) fn answered(
        &mut self,
        number: Number,
        result: Result<Answer, Refusal>,
    ) -> Option<Ask> {
        self.giving_back.send_if_modified(|numbers| numbers.remove(&number));
        let failed = self.failed.remove(&number);
        let token = match result {
            Ok(Answer::Granted(token) | Answer::Leads(token)) => Some(token),
            _ => None,
        };
        match self.requests.remove(&number)? {
            RequestState::Asked { purpose, answer, .. } => {
                if let (Purpose::HandOver(leader, by), Ok(_)) = (&purpose, &result) {
                    self.handed_over(*leader, *by);
                }
                let outcome = match (token, result) {
                    (Some(token), _) => {
                        let (hold, held) = watch::channel(Hold::Held(token));
                        let (preempt, preempts) = watch::channel(false);
                        self.requests.insert(number, RequestState::Held { purpose, hold, preempt });
                        Ok(Some(Granted { token, hold: held, preempt: preempts }))
                    }
                    (None, Ok(_)) => Ok(None),
                    (None, Err(refusal)) => {
                        Err(failed.map_or(Denied::Refused(refusal), Denied::Failed))
                    }
                };
                // Without a receiver the request was dropped, and its drop is about to say so (B1).
                let _ = answer.send(outcome);
                None
            }
            RequestState::Abandoned(Purpose::HandOver(leader, by)) => {
                if result.is_ok() {
                    self.handed_over(leader, by);
                }
                None
            }
            RequestState::Abandoned(purpose) => token.and_then(|_| give_back(&purpose, number)),
            request @ RequestState::Held { .. } => {
                if let (RequestState::Held { hold, preempt, .. }, Some(token)) = (&request, token) {
                    preempt.send_replace(false);
                    hold.send_replace(Hold::Held(token));
                }
                self.requests.insert(number, request);
                None
            }
        }
    }

    /// The role is another's now, unless it has come back already.
    pub(super) fn handed_over(&mut self, leader: Number, by: Token) {
        if let Some(RequestState::Held { hold, .. }) = self.requests.get(&leader) {
            let gone = *hold.borrow() == Hold::Held(by);
            if gone {
                hold.send_replace(Hold::Lost(Lost::HandedOver));
            }
        }
    }

    pub(super) fn request_preemption(&self, role: &str) {
        for request in self.requests.values() {
            if let RequestState::Held { purpose: Purpose::Role(led), preempt, .. } = request
                && led == role
            {
                preempt.send_replace(true);
            }
        }
    }

    pub(super) fn lose(&self, number: Number, how: Lost) {
        if let Some(RequestState::Held { hold, .. }) = self.requests.get(&number) {
            hold.send_replace(Hold::Lost(how));
        }
    }

    /// B2: it is over, and so is all that it held.
    pub(super) fn end(&mut self, over: &SessionEnded) {
        if !self.is_closing() {
            self.phase.send_replace(SessionPhase::SessionEnded(over.clone()));
        }
        self.giving_back.send_replace(BTreeSet::new());
        self.watched.clear();
        for request in mem::take(&mut self.requests).into_values() {
            match request {
                RequestState::Asked { answer, .. } => {
                    drop(answer.send(Err(Denied::SessionEnded(over.clone()))))
                }
                RequestState::Held { hold, .. } => {
                    hold.send_replace(Hold::Lost(Lost::SessionEnded(SessionEnd::of(over.clone()))));
                }
                RequestState::Abandoned(_) => {}
            }
        }
    }
}

/// How something that was granted is given back.
pub(super) fn give_back(purpose: &Purpose, number: Number) -> Option<Ask> {
    match purpose {
        Purpose::Lock => Some(Ask::Release(number)),
        Purpose::Role(role) => Some(Ask::Resign { role: role.clone() }),
        Purpose::GiveBack | Purpose::HandOver(..) | Purpose::Other => None,
    }
}
