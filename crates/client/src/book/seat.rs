//! One session of a client: what it has asked for, and what came of it.

use super::*;

impl Seat {
    pub(super) fn is_closing(&self) -> bool {
        matches!(*self.life.borrow(), Life::SessionEnded(_))
    }

    pub(super) fn waits(&self, number: Number, behind: u64) {
        if let Some(Slot::Asked { place: Some(place), .. }) = self.slots.get(&number) {
            place.send_replace(Some(behind));
        }
    }

    /// A request is answered for good. What has to be given back thereby is returned.
    pub(super) fn answered(
        &mut self,
        number: Number,
        result: Result<Answer, Refusal>,
    ) -> Option<Ask> {
        self.giving_back.remove(&number);
        let token = match result {
            Ok(Answer::Granted(token) | Answer::Leads(token)) => Some(token),
            _ => None,
        };
        match self.slots.remove(&number)? {
            Slot::Asked { purpose, answer, .. } => {
                if let (Purpose::HandOver(leader, by), Ok(_)) = (&purpose, &result) {
                    self.handed_over(*leader, *by);
                }
                let outcome = match (token, result) {
                    (Some(token), _) => {
                        let (hold, held) = watch::channel(Hold::Held(token));
                        let (room, rooms) = watch::channel(false);
                        self.slots.insert(number, Slot::Held { purpose, hold, room });
                        Outcome::Granted(Granted { token, hold: held, room: rooms })
                    }
                    (None, Ok(_)) => Outcome::Done,
                    (None, Err(refusal)) => Outcome::Refused(refusal),
                };
                // Without a receiver the request was dropped, and its drop is about to say so (B1).
                let _ = answer.send(outcome);
                None
            }
            Slot::Abandoned(Purpose::HandOver(leader, by)) => {
                if result.is_ok() {
                    self.handed_over(leader, by);
                }
                None
            }
            Slot::Abandoned(purpose) => token.and_then(|_| give_back(&purpose, number)),
            slot @ Slot::Held { .. } => {
                if let (Slot::Held { hold, room, .. }, Some(token)) = (&slot, token) {
                    room.send_replace(false);
                    hold.send_replace(Hold::Held(token));
                }
                self.slots.insert(number, slot);
                None
            }
        }
    }

    /// The role is another's now, unless it has come back already.
    pub(super) fn handed_over(&mut self, leader: Number, by: Token) {
        if let Some(Slot::Held { hold, .. }) = self.slots.get(&leader) {
            let gone = *hold.borrow() == Hold::Held(by);
            if gone {
                hold.send_replace(Hold::Lost(Lost::HandedOver));
            }
        }
    }

    pub(super) fn make_room(&self, role: &str) {
        for slot in self.slots.values() {
            if let Slot::Held { purpose: Purpose::Role(led), room, .. } = slot
                && led == role
            {
                room.send_replace(true);
            }
        }
    }

    pub(super) fn lose(&self, number: Number, how: Lost) {
        if let Some(Slot::Held { hold, .. }) = self.slots.get(&number) {
            hold.send_replace(Hold::Lost(how));
        }
    }

    /// B2: it is over, and so is all that it held.
    pub(super) fn end(&mut self, over: &SessionEnded) {
        if !self.is_closing() {
            self.life.send_replace(Life::SessionEnded(over.clone()));
        }
        self.giving_back.clear();
        self.watched.clear();
        for slot in mem::take(&mut self.slots).into_values() {
            match slot {
                Slot::Asked { answer, .. } => {
                    drop(answer.send(Outcome::SessionEnded(over.clone())))
                }
                Slot::Held { hold, .. } => {
                    hold.send_replace(Hold::Lost(Lost::SessionOver(over.clone())));
                }
                Slot::Abandoned(_) => {}
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
