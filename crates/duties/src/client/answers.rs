//! What a client has asked for, and what comes of it.

use super::{Client, Heard};
use crate::command::{Answer, Ask, Refusal};
use crate::ids::{Number, Token};
use bellwether_core::Time;

/// A request that has no final answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) ask: Ask,
    /// When it is sent again.
    pub(super) again: Time,
    /// How many it waits behind, if it is known that it waits.
    pub(super) behind: Option<u64>,
    /// Whatever this token and older ones stood for is no news (K6).
    above: Token,
    /// What was heard about its grant before the grant (K7).
    early: Vec<Heard>,
}

impl Asked {
    pub(super) fn new(ask: Ask, again: Time, above: Token) -> Self {
        Asked { ask, again, behind: None, above, early: Vec::new() }
    }

    fn came_early(&mut self, note: Heard) {
        if !self.early.contains(&note) {
            self.early.push(note);
        }
    }
}

/// A request that was granted and is not known to be given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    token: Token,
    ask: Ask,
}

/// What requests come to.
impl Client {
    pub(super) fn answered(
        &mut self,
        number: Number,
        result: Result<Answer, Refusal>,
        now: Time,
        heard: &mut Vec<Heard>,
    ) {
        let token = match result {
            Ok(Answer::Granted(token) | Answer::Leads(token)) => Some(token),
            _ => None,
        };
        let Some(asked) = self.asked.get_mut(&number) else {
            // It leads again, and the answer to its handing over is late (K6).
            if let (Some(held), Some(token)) = (self.held.get_mut(&number), token)
                && token > held.token
            {
                held.token = token;
                heard.push(Heard::Answered(number, result));
            }
            return;
        };
        if let Ok(Answer::Waits { behind }) = result {
            if asked.behind.replace(behind) != Some(behind) {
                heard.push(Heard::Answered(number, result));
            }
            return;
        }
        if token.is_some_and(|token| token <= asked.above) {
            return;
        }
        let Some(asked) = self.asked.remove(&number) else { return };
        match (token, result) {
            (Some(token), result) => {
                self.held.insert(number, Held { token, ask: asked.ask });
                heard.push(Heard::Answered(number, result));
                heard.extend(asked.early);
            }
            // A candidate that waited is over by its own resignation alone (K2).
            (None, Err(Refusal::Forgotten(_))) if role_of(&asked.ask).is_some() => {
                heard.push(Heard::Answered(number, Err(Refusal::GaveUp)));
            }
            (None, result) => {
                self.conclude(number, &asked, result.is_ok(), now, heard);
                heard.push(Heard::Answered(number, result));
            }
        }
    }

    /// What follows for earlier requests from the answer to this one.
    fn conclude(
        &mut self,
        number: Number,
        asked: &Asked,
        done: bool,
        now: Time,
        heard: &mut Vec<Heard>,
    ) {
        match &asked.ask {
            // If it was not done, then because nothing was held.
            Ask::Release(earlier) => {
                self.held.remove(earlier);
            }
            Ask::Resign { role } => {
                self.held.retain(|by, held| *by > number || role_of(&held.ask) != Some(role));
            }
            Ask::GiveUp(earlier) if done => {
                let given_up = self.asked.remove(earlier).map(|_| *earlier);
                heard.extend(given_up.map(|it| Heard::Answered(it, Err(Refusal::GaveUp))));
            }
            // It waits again, unless it has been told already that it leads again (K6).
            Ask::HandOver { role, .. } if done => {
                let led = self.held.iter().find(|(_, held)| role_of(&held.ask) == Some(role));
                if let Some((&by, held)) = led
                    && held.token == asked.above
                    && let Some(Held { token, ask }) = self.held.remove(&by)
                {
                    self.asked.insert(by, Asked::new(ask, now, token));
                }
            }
            _ => {}
        }
    }

    pub(super) fn make_room(&mut self, role: String) -> Option<Heard> {
        let room = Heard::MakeRoom { role: role.clone() };
        if self.leads(&role).is_some() {
            return Some(room);
        }
        let stands = |asked: &&mut Asked| role_of(&asked.ask) == Some(&role);
        self.asked.values_mut().find(stands)?.came_early(room);
        None
    }

    pub(super) fn taken(&mut self, lock: String, number: Number, by: String) -> Option<Heard> {
        let taken = Heard::Taken { lock, number, by };
        if self.held.contains_key(&number) {
            return Some(taken);
        }
        self.asked.get_mut(&number)?.came_early(taken);
        None
    }

    /// By which token it leads this role, as far as it knows.
    pub(super) fn leads(&self, role: &String) -> Option<Token> {
        let held = self.held.values().find(|held| role_of(&held.ask) == Some(role));
        held.map(|held| held.token)
    }
}

/// The role that this one stands for.
fn role_of(ask: &Ask) -> Option<&String> {
    match ask {
        Ask::Campaign { role, .. } => Some(role),
        _ => None,
    }
}
