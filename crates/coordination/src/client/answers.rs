//! What a client has asked for, and what comes of it.

use super::{Client, ClientEvent};
use crate::command::{Answer, Ask, Refusal};
use crate::ids::{Number, Token};
use bellwether_core::Time;

/// A request that has no final answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) ask: Ask,
    /// When it is sent again; not yet sent, if there is no time.
    pub(super) again: Option<Time>,
    /// How many it waits behind, if it is known that it waits.
    pub(super) behind: Option<u64>,
    /// Grants by this token and older ones are no news (K6).
    above: Token,
    /// What was heard about its grant before the grant (K7).
    early: Vec<ClientEvent>,
}

impl Asked {
    pub(super) fn new(ask: Ask, above: Token) -> Self {
        Asked { ask, again: None, behind: None, above, early: Vec::new() }
    }

    fn came_early(&mut self, note: ClientEvent) {
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
        heard: &mut Vec<ClientEvent>,
    ) {
        let token = match result {
            Ok(Answer::Granted(token) | Answer::Leads(token)) => Some(token),
            _ => None,
        };
        let (given_up, given_back) = self.is_left(number);
        let Some(asked) = self.asked.get_mut(&number) else { return };
        if let Ok(Answer::Waits { behind }) = result {
            if asked.behind.replace(behind) != Some(behind) {
                heard.push(ClientEvent::Answered(number, result));
            }
            return;
        }
        if token.is_some_and(|token| token <= asked.above) {
            return;
        }
        // The answer to giving it up, or back, tells what became of it (K6).
        let forgotten = matches!(result, Err(Refusal::Forgotten(_)));
        if token.is_some() && given_back || forgotten && (given_up || given_back) {
            asked.behind.get_or_insert(0);
            return;
        }
        let Some(Asked { ask, early, .. }) = self.asked.remove(&number) else { return };
        if token.is_none() {
            self.conclude(number, &ask, result.is_ok(), heard);
        }
        heard.push(ClientEvent::Answered(number, result));
        if let Some(token) = token {
            self.held.insert(number, Held { token, ask });
            heard.extend(early);
        }
    }

    /// What follows for earlier requests from the answer to this one.
    fn conclude(&mut self, number: Number, ask: &Ask, done: bool, heard: &mut Vec<ClientEvent>) {
        let over: Vec<Number> = match ask {
            Ask::GiveUp(earlier) if !done => {
                // It had been answered before. That answer may be lost, and is asked for at once.
                if let Some(earlier) = self.asked.get_mut(earlier) {
                    earlier.again = None;
                }
                return;
            }
            Ask::Release(earlier) | Ask::GiveUp(earlier) => vec![*earlier],
            Ask::Resign { role } => {
                let asked = self.asked.range(..number).map(|(by, asked)| (by, &asked.ask));
                let held = self.held.range(..number).map(|(by, held)| (by, &held.ask));
                let campaigns =
                    asked.chain(held).filter(|(_, ask)| campaign_for(ask) == Some(role));
                campaigns.map(|(by, _)| *by).collect()
            }
            Ask::HandOver { role, .. } if done => {
                // It campaigns again (K6).
                if let Some(by) = self.leads(role)
                    && let Some(Held { token, ask }) = self.held.remove(&by)
                {
                    self.asked.insert(by, Asked::new(ask, token));
                }
                return;
            }
            _ => return,
        };
        for number in over {
            self.held.remove(&number);
            // If it was not done, that is because the earlier one had not come.
            if done && self.asked.remove(&number).is_some() {
                heard.push(ClientEvent::Answered(number, Err(Refusal::GaveUp)));
            }
        }
    }

    /// Whether later requests without an answer yet give up what this one asks for; and whether they
    /// give it back.
    fn is_left(&self, number: Number) -> (bool, bool) {
        let role = self.asked.get(&number).and_then(|asked| campaign_for(&asked.ask));
        let later = || self.asked.range(number..).map(|(_, later)| &later.ask);
        let given_up = later().any(|later| *later == Ask::GiveUp(number));
        let given_back = later().any(|later| match later {
            Ask::Release(earlier) => *earlier == number,
            Ask::Resign { role: left } | Ask::HandOver { role: left, .. } => role == Some(left),
            _ => false,
        });
        (given_up, given_back)
    }

    /// Whether this one must not be sent yet, because nothing is known of an earlier one about the same
    /// role (K6).
    pub(super) fn is_held_back(&self, number: Number) -> bool {
        let Some(role) = self.asked.get(&number).and_then(|asked| role_of(&asked.ask)) else {
            return false;
        };
        let mut earlier = self.asked.range(..number).map(|(_, asked)| asked);
        earlier.any(|asked| asked.behind.is_none() && role_of(&asked.ask) == Some(role))
    }

    /// The campaign by which it leads this role, as far as it knows.
    pub(super) fn leads(&self, role: &String) -> Option<Number> {
        let mut held = self.held.iter();
        held.find(|(_, held)| campaign_for(&held.ask) == Some(role)).map(|(by, _)| *by)
    }

    pub(super) fn make_room(&mut self, role: String) -> Option<ClientEvent> {
        let room = ClientEvent::Preempt { role: role.clone() };
        if self.leads(&role).is_some() {
            return Some(room);
        }
        let campaigns = |asked: &&mut Asked| campaign_for(&asked.ask) == Some(&role);
        self.asked.values_mut().find(campaigns)?.came_early(room);
        None
    }

    pub(super) fn force_released(
        &mut self,
        lock: String,
        number: Number,
        by: String,
    ) -> Option<ClientEvent> {
        let taken = ClientEvent::ForceReleased { lock, number, by };
        if self.held.contains_key(&number) {
            return Some(taken);
        }
        self.asked.get_mut(&number)?.came_early(taken);
        None
    }
}

/// The role that this request campaigns for.
fn campaign_for(ask: &Ask) -> Option<&String> {
    match ask {
        Ask::Campaign { role, .. } => Some(role),
        _ => None,
    }
}

/// The role that this one is about.
fn role_of(ask: &Ask) -> Option<&String> {
    match ask {
        Ask::Campaign { role, .. }
        | Ask::Resign { role }
        | Ask::Proclaim { role, .. }
        | Ask::HandOver { role, .. } => Some(role),
        Ask::Lock { .. } | Ask::GiveUp(_) | Ask::Release(_) => None,
    }
}
