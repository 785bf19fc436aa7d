//! The entries that a member keeps: those after its base, without holes.

use crate::types::{Entry, Index, Position, Term};
use bellwether_core::Machine;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

/// Entries after a base, without holes: each index is the one before it plus one, and terms do not
/// fall.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tail<C> {
    base: Position,
    entries: VecDeque<Arc<Entry<C>>>,
    bytes: usize,
}

impl<C> Tail<C> {
    /// No entries after this base.
    pub fn new(base: Position) -> Self {
        Tail { base, entries: VecDeque::new(), bytes: 0 }
    }

    /// Where it begins: the entry at this position is not kept any more.
    pub fn base(&self) -> Position {
        self.base
    }

    /// The last position; the base if there are no entries.
    pub fn last(&self) -> Position {
        self.entries.back().map_or(self.base, |entry| entry.position)
    }

    /// The bytes of all entries, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where in the deque an index is.
    fn offset(&self, index: Index) -> Option<usize> {
        let after = index.number().checked_sub(self.base.index.number())?.checked_sub(1)?;
        usize::try_from(after).ok().filter(|offset| *offset < self.entries.len())
    }

    /// The entry at an index.
    pub fn get(&self, index: Index) -> Option<&Arc<Entry<C>>> {
        self.offset(index).map(|offset| &self.entries[offset])
    }

    /// The term of the entry at an index; the base's is known too.
    pub fn term_at(&self, index: Index) -> Option<Term> {
        if index == self.base.index {
            return Some(self.base.term);
        }
        self.get(index).map(|entry| entry.position.term)
    }

    /// Whether this very entry is in the log.
    pub fn has(&self, position: Position) -> bool {
        self.term_at(position.index) == Some(position.term)
    }

    /// The position at an index.
    pub fn position_at(&self, index: Index) -> Option<Position> {
        self.term_at(index).map(|term| Position { term, index })
    }

    /// The entries after an index: up to `budget` bytes, but one at least if there is one.
    pub fn after<M: Machine<Command = C>>(
        &self,
        index: Index,
        budget: usize,
    ) -> Vec<Arc<Entry<C>>> {
        let mut taken: Vec<Arc<Entry<C>>> = Vec::new();
        let Some(first) = self.offset(index.next()) else { return taken };
        let mut bytes = 0_usize;
        for entry in self.entries.iter().skip(first) {
            bytes = bytes.saturating_add(entry.weight::<M>());
            if bytes > budget && !taken.is_empty() {
                break;
            }
            taken.push(entry.clone());
        }
        taken
    }

    /// Adds the next entry. One that is not the next is not added.
    pub fn push<M: Machine<Command = C>>(&mut self, entry: Arc<Entry<C>>) -> bool {
        let last = self.last();
        let follows = last.index.number().checked_add(1) == Some(entry.position.index.number());
        if !follows || entry.position.term < last.term {
            return false;
        }
        self.bytes = self.bytes.saturating_add(entry.weight::<M>());
        self.entries.push_back(entry);
        true
    }

    /// Drops the entries after an index.
    pub fn cut_after<M: Machine<Command = C>>(&mut self, index: Index) {
        while self.last().index > index
            && let Some(entry) = self.entries.pop_back()
        {
            self.bytes = self.bytes.saturating_sub(entry.weight::<M>());
        }
    }

    /// Drops entries from the front, up to an index, while they are more than `keep` bytes.
    pub fn forget_to<M: Machine<Command = C>>(&mut self, index: Index, keep: usize) {
        while self.bytes > keep
            && self.entries.front().is_some_and(|entry| entry.position.index <= index)
            && let Some(entry) = self.entries.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(entry.weight::<M>());
            self.base = entry.position;
        }
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Entry<C>>> {
        self.entries.iter()
    }

    /// Where each term begins: what a store compares with what it has written (S2).
    pub fn terms(&self) -> impl Iterator<Item = (Index, Term)> {
        let mut before = None;
        self.entries.iter().filter_map(move |entry| {
            let Position { term, index } = entry.position;
            (before.replace(term) != Some(term)).then_some((index, term))
        })
    }
}
