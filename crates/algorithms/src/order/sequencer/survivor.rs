//! How a view goes on where the one before has stopped.

use super::super::Post;
use crate::views::{Epoch, Reported, Survivor};
use bellwether_core::{NodeId, SortedMap};
use serde::{Deserialize, Serialize};

/// What a survivor tells of itself: not all that it ever delivered, only what a process may lack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Report {
    /// How many messages it has delivered, or came too late for.
    pub delivered: u64,
    /// The messages that not everybody is known to have, by position.
    pub log: Vec<(u64, Post)>,
}

/// How a view begins: with some messages that not everybody may have delivered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Opening {
    /// Who numbers the messages in this view.
    pub sequencer: NodeId,
    /// The position of the first of `tail`. Everybody has delivered all before it.
    pub first: u64,
    /// The messages from there on that are to be delivered before all that the view brings.
    pub tail: Vec<Post>,
}

impl Opening {
    /// The opening of the first view.
    pub fn first(sequencer: NodeId) -> Self {
        Opening { sequencer, first: 0, tail: Vec::new() }
    }

    /// The position of the first message of the view itself.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.tail.len() as u64)
    }

    /// The tail with its positions.
    pub fn log(&self) -> impl Iterator<Item = (u64, Post)> + '_ {
        let position = |index: usize| self.first.saturating_add(index as u64);
        self.tail.iter().enumerate().map(move |(index, post)| (position(index), *post))
    }
}

impl Survivor for Report {
    type Opening = Opening;

    /// TS7. Only the newest view that any survivor has been in counts: its opening held all that
    /// those know who did not get so far. They may still have what the others have forgotten,
    /// because all have it.
    fn open(sequencer: NodeId, reports: &[(NodeId, Reported<Report>)]) -> Opening {
        let newest: Option<Epoch> = reports.iter().filter_map(|(_, r)| r.was_in).max();
        let known = || reports.iter().map(|(_, r)| r).filter(|r| r.was_in.is_some());
        let (Some(newest), Some(first)) = (newest, known().map(|r| r.report.delivered).min())
        else {
            return Opening::first(sequencer);
        };
        let (mut log, mut older) = (SortedMap::new(), SortedMap::new());
        let mut end = 0;
        for Reported { was_in, report } in known() {
            if *was_in == Some(newest) {
                log.extend(report.log.iter().copied());
                end = end.max(report.delivered);
            } else {
                older.extend(report.log.iter().copied());
            }
        }
        let delivered = end;
        // A message behind a gap was delivered by no process that lives. Without the one before it, it
        // has no place; if its sender lives, it will be published again.
        while end < u64::MAX && log.contains_key(&end) {
            end += 1;
        }
        // No process lacks what no process has, as long as silence proves death; else go on without.
        let mut tail = Vec::new();
        let mut position = end;
        while position > first {
            let found = log.get(&(position - 1));
            let found =
                found.or_else(|| older.get(&(position - 1)).filter(|_| position <= delivered));
            let Some(post) = found else { break };
            tail.push(*post);
            position -= 1;
        }
        tail.reverse();
        Opening { sequencer, first: position, tail }
    }
}

#[cfg(test)]
#[path = "../tests/survivor.rs"]
mod tests;
