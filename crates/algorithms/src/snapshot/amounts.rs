//! What there is always the same amount of, in the algorithms of the catalogue: money in the bank,
//! and the one token where there is a token.

use super::{Bank, Quantity, Subject, bank};
use crate::catalogue::Algorithm;
use crate::mutex::{
    Guarded, Mutex, Raymond, RicartAgrawalaToken, Singhal, SuzukiKasami, TokenRing,
};
use crate::views::Epoch;
use bellwether_core::{Group, Message};
use std::any::Any;

/// What a process of a token algorithm has of its token.
enum Token {
    /// Whether it is here.
    Held(bool),
    /// The view in which there was one token is over here, or about to be. What is left of it may
    /// still be on the way, besides the one of the next view.
    AnotherView,
}

/// What a process has of a token; nothing if it is of another kind.
fn token(process: &dyn Any) -> Option<Token> {
    fn of<M: Mutex>(process: &dyn Any) -> Option<Token> {
        let guarded = process.downcast_ref::<Guarded<M>>()?;
        Some(match guarded.views().running() {
            Some(Epoch::FIRST) => Token::Held(guarded.algorithm().has_token()),
            _ => Token::AnotherView,
        })
    }
    of::<TokenRing>(process)
        .or_else(|| of::<RicartAgrawalaToken>(process))
        .or_else(|| of::<SuzukiKasami>(process))
        .or_else(|| of::<Raymond>(process))
        .or_else(|| of::<Singhal>(process))
}

/// What there is always the same amount of: money in the bank, the one token.
pub(crate) fn quantity<C: Algorithm>(config: &C::Config, group: &Group) -> Option<Quantity> {
    if let Some(config) = (config as &dyn Any).downcast_ref::<bank::Config>() {
        return Bank::quantity(config, group);
    }
    token(&C::default())?;
    Some(Quantity { name: "token", place: "held", total: 1 })
}

/// How much of it a process has.
pub(crate) fn held<C: Algorithm>(process: &C) -> Option<u64> {
    match (process as &dyn Any).downcast_ref::<Bank>() {
        Some(bank) => bank.held(),
        None => match token(process)? {
            Token::Held(here) => Some(u64::from(here)),
            Token::AnotherView => None,
        },
    }
}

/// How much of it a message carries.
pub(crate) fn carried<M: Message + 'static>(msg: &M) -> u64 {
    match (msg as &dyn Any).downcast_ref::<bank::Transfer>() {
        Some(bank::Transfer(amount)) => *amount,
        None => u64::from(matches!(msg.kind().name, "TOKEN" | "PRIVILEGE")),
    }
}

/// A word about the state of a process.
pub(crate) fn note<C: Algorithm>(process: &C) -> String {
    match (process as &dyn Any).downcast_ref::<Bank>() {
        Some(bank) => bank.note(),
        None if matches!(token(process), Some(Token::Held(true))) => "has the token".to_owned(),
        None => String::new(),
    }
}
