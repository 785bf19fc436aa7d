//! Whether histories of clients, put together, can be those of locks and roles that work.
//!
//! Nothing here starts a process or looks at a clock: histories go in, violations come out.
//!
//! # Rules
//! * `exclusion`: no two hold at one moment what they cannot hold together; permits are not exceeded;
//!   a role has one leader. A client holds from the moment at which it hears of its grant until its
//!   last look at its clock that finds it held. A process that was stopped does not look, and what it
//!   does not look at does not count.
//! * `lost-grant`: no session is granted what another was told that it holds, while it does; also if
//!   the second one never looks. And no client that asks for nothing of the kind loses what it holds while
//!   its session lives.
//! * `token-twice`: no token is given twice.
//! * `token-order`: a grant's token is larger than those of all grants that were heard of before it
//!   was asked for; and what excludes each other is held in the order of tokens.
//! * `fifo`: a request that was told that it waits is granted before later requests for the same.
//!   Roles that go by priority, or are handed over, have other orders.
//! * `stale-leader`: no session proclaims with success that asks for it after another heard that it
//!   leads by a larger token.
//! * `deadlock`: of those whom a deadlock names each waited for what it is said to wait for, while the
//!   aborted request did; and the aborted one is the one that is told.
//! * `refusal`: nothing is refused for a reason that this work gives no cause for; no session is told
//!   that its process died.
//! * `answered`: a process that was not killed comes to its end, and all that it asked is answered.
//! * `history`: the lines of a history fit together.

mod answers;
mod book;
mod deadlocks;
mod exclusion;
mod fifo;
#[cfg(test)]
pub(super) mod tests;
mod tokens;

use super::history::History;
pub(super) use book::{Book, Grant, Request};
use std::fmt::Write;

/// A line of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) history: usize,
    pub(super) line: usize,
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// Which rule it breaks.
    pub(super) rule: &'static str,
    /// In words.
    pub(super) what: String,
    /// The lines that show it.
    pub(super) places: Vec<Place>,
}

impl Violation {
    pub(super) fn new(rule: &'static str, what: impl Into<String>, places: &[Place]) -> Self {
        Violation { rule, what: what.into(), places: places.to_vec() }
    }

    /// It, and the lines around.
    pub(super) fn show(&self, histories: &[History]) -> String {
        let mut text = format!("{}: {}\n", self.rule, self.what);
        for place in &self.places {
            let Some(history) = histories.get(place.history) else { continue };
            let _ = writeln!(text, "  {}", history.name);
            let from = place.line.saturating_sub(AROUND);
            let lines = history.lines.iter().enumerate().skip(from);
            for (index, line) in lines.take(place.line + AROUND + 1 - from) {
                let mark = if index == place.line { '>' } else { ' ' };
                let line = serde_json::to_string(line).unwrap_or_default();
                let _ = writeln!(text, "  {mark} {:>6}  {line}", index + 1);
            }
        }
        text
    }
}

/// The number of lines that are shown before and after one that matters.
const AROUND: usize = 3;

/// Everything that is wrong, and what was read.
pub(super) fn check(histories: &[History]) -> (Book, Vec<Violation>) {
    let (book, mut violations) = Book::of(histories);
    violations.extend(exclusion::check(&book));
    violations.extend(tokens::check(&book));
    violations.extend(fifo::check(&book));
    violations.extend(deadlocks::check(&book));
    violations.extend(answers::check(&book, histories));
    (book, violations)
}
