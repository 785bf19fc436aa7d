//! From records to what is durable of a log.

use super::{COMMIT, CUT, ENTRY, FILLED, HARD, OnDisk, SNAPSHOT, from_mark, to_mark};
use crate::codec::packed::{unpack, unpack_earlier};
use bellwether_log::{
    Durable, Entry, HardState, Index, Machine, Position, Roster, Saved, Tail, Term, Unsound,
};
use bellwether_net::durable::{DurableError, Owner};
use bellwether_net::store::snapshot::{self, Snapshot};
use bellwether_net::store::{Folder, Found, damaged};
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the records have said so far.
pub(super) struct Reading<M: Machine> {
    hard: Option<HardState>,
    /// The position before the first entry. Its term is zero if it is not known.
    first: Option<Position>,
    entries: VecDeque<Arc<Entry<M::Command>>>,
    commit: Index,
    /// Where the last snapshot is, its checksum, and the segment that refers to it.
    snapshot: Option<(Position, u32, u64)>,
    bytes: u64,
}

impl<M: Machine> Default for Reading<M> {
    fn default() -> Self {
        let (entries, commit) = (VecDeque::new(), Index::ZERO);
        Reading { hard: None, first: None, entries, commit, snapshot: None, bytes: 0 }
    }
}

/// Which folder the records are from.
pub(super) struct Place<'f> {
    pub(super) path: &'f Path,
    pub(super) owner: &'f Owner,
    /// The first segment, or the folder if it has none.
    pub(super) first: PathBuf,
    pub(super) has_segments: bool,
}

impl<'f> Place<'f> {
    pub(super) fn of(folder: &'f Folder) -> Self {
        let (path, owner) = (folder.path(), folder.owner());
        Place { path, owner, first: folder.first(), has_segments: folder.segment() > 0 }
    }
}

/// What a store begins with.
pub(super) struct Recovered<M: Machine> {
    pub(super) disk: OnDisk,
    pub(super) snapshot: Option<(Snapshot, u64)>,
    pub(super) durable: Option<Durable<M>>,
}

impl<M: Machine> Reading<M>
where
    M::Command: DeserializeOwned,
    M::Part: DeserializeOwned,
{
    pub(super) fn hard(&self) -> Option<HardState> {
        self.hard
    }

    /// The bytes of the records since the last snapshot.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn last(&self) -> Position {
        let last = self.entries.back().map(|entry| entry.position);
        last.or(self.first).unwrap_or(Position::ZERO)
    }

    pub(super) fn take(&mut self, found: Found<'_>) -> Result<(), String> {
        match found {
            Found::Segment { base } => {
                let base = from_mark(base);
                if self.first.is_none() {
                    self.first = Some(base);
                } else if base.index != self.last().index {
                    return Err(format!(
                        "it begins after {base}, and the log ends at {}",
                        self.last()
                    ));
                }
                Ok(())
            }
            Found::Record { segment, kind, bytes } => {
                self.bytes += bytes.len() as u64;
                self.take_record(segment, kind, bytes)
            }
        }
    }

    fn take_record(&mut self, segment: u64, kind: u8, bytes: &[u8]) -> Result<(), String> {
        match kind {
            HARD => {
                // The first folders did not know for how long the member was bound: two numbers.
                let hard: HardState =
                    unpack_earlier(bytes, 2, "hard").map_err(|what| what.to_string())?;
                if !hard.keeps_log {
                    self.begin_at(Position::ZERO);
                    self.snapshot = None;
                }
                self.hard = Some(hard);
                Ok(())
            }
            ENTRY => self.take_entry(bytes),
            CUT => self.cut(to_index(bytes)?),
            COMMIT => {
                let index = to_index(bytes)?;
                if index < self.commit || index > self.last().index {
                    let (commit, last) = (self.commit, self.last());
                    return Err(format!(
                        "commit index {index} after {commit} in a log up to {last}"
                    ));
                }
                self.commit = index;
                Ok(())
            }
            SNAPSHOT | FILLED => {
                let (at, sum) = to_snapshot(bytes)?;
                if kind == FILLED {
                    self.begin_at(at);
                } else if at.index > self.last().index {
                    return Err(format!("a snapshot at {at} of a log up to {}", self.last()));
                }
                self.commit = self.commit.max(at.index);
                self.snapshot = Some((at, sum, segment));
                self.bytes = 0;
                Ok(())
            }
            kind => Err(format!("a record of kind {kind}, which this version does not know")),
        }
    }

    /// All entries so far are void.
    fn begin_at(&mut self, first: Position) {
        self.first = Some(first);
        self.entries.clear();
        self.commit = Index::ZERO;
    }

    fn take_entry(&mut self, bytes: &[u8]) -> Result<(), String> {
        let entry: Entry<M::Command> = unpack(bytes, "entry").map_err(|what| what.to_string())?;
        let (last, position) = (self.last(), entry.position);
        if position.index != last.index.next() || position.term < last.term {
            return Err(format!("entry {position} follows {last}"));
        }
        self.entries.push_back(Arc::new(entry));
        Ok(())
    }

    fn cut(&mut self, index: Index) -> Result<(), String> {
        if index < self.commit || index > self.last().index {
            let (commit, last) = (self.commit, self.last());
            return Err(format!("a cut after {index} in a log from {commit} to {last}"));
        }
        while self.entries.back().is_some_and(|entry| entry.position.index > index) {
            self.entries.pop_back();
        }
        // The entries before were in segments that a snapshot has made superfluous.
        if self.first.is_some_and(|first| index < first.index) {
            self.first = Some(Position { term: Term::ZERO, index });
        }
        Ok(())
    }

    /// All records are read.
    pub(super) fn finish(mut self, place: &Place<'_>) -> Result<Recovered<M>, DurableError> {
        let wrong = |what: String| damaged(&place.first, 0, what);
        let Some(hard) = self.hard else {
            if place.has_segments {
                return Err(wrong("there is no record of what was promised".to_owned()));
            }
            let (disk, snapshot) = (OnDisk::default(), None);
            return Ok(Recovered { disk, snapshot, durable: None });
        };
        if !hard.keeps_log {
            let durable = Some(Durable { hard, log: Saved::Nothing });
            return Ok(Recovered { disk: OnDisk::default(), snapshot: None, durable });
        }
        let (state, at, roster, snapshot) = self.read_snapshot(place)?;
        let first = self.first.unwrap_or(Position::ZERO);
        if first.index > at.index {
            return Err(wrong(format!(
                "the log begins after {first}, and the snapshot ends at {at}"
            )));
        }
        let mut tail = Tail::new(at);
        for entry in std::mem::take(&mut self.entries) {
            let position = entry.position;
            if position.index == at.index && position.term != at.term {
                return Err(wrong(format!("entry {position}, and a snapshot at {at}")));
            }
            if position.index > at.index && !tail.push::<M>(entry) {
                return Err(wrong(format!("entry {position} does not follow {}", tail.last())));
            }
        }
        let mut disk = OnDisk::new(at, self.commit);
        tail.iter().for_each(|entry| disk.push(entry.position));
        let saved = Saved::recovered(state, at, roster, tail, self.commit);
        Ok(Recovered { disk, snapshot, durable: Some(Durable { hard, log: saved }) })
    }

    #[allow(clippy::type_complexity, reason = "used once")]
    fn read_snapshot(
        &self,
        place: &Place<'_>,
    ) -> Result<(M, Position, Roster, Option<(Snapshot, u64)>), DurableError> {
        let Some((at, sum, segment)) = self.snapshot else {
            return Ok((M::default(), Position::ZERO, Roster::new(), None));
        };
        let (mut state, mut roster) = (M::default(), Roster::new());
        let mut head = |bytes: &[u8]| {
            roster = to_roster(bytes)?;
            Ok(())
        };
        let mut part = |bytes: &[u8]| {
            let parts: Vec<M::Part> = unpack(bytes, "parts").map_err(|what| what.to_string())?;
            state.absorb(parts).map_err(|Unsound(what)| what.to_owned())
        };
        let named = (to_mark(at), sum);
        let Place { path, owner, .. } = *place;
        let snapshot = snapshot::read(path, owner, named, &mut head, &mut part)?;
        let unsound = |Unsound(what)| damaged(&path.join(snapshot::name(named.0)), 0, what);
        let state = state.complete().map_err(unsound)?;
        Ok((state, at, roster, Some((snapshot, segment))))
    }
}

/// Format 1 knew no member lists, and the first folders of format 2 no cluster, and then no settings of leases.
fn to_roster(bytes: &[u8]) -> Result<Roster, String> {
    unpack_earlier(bytes, 3, "roster").map_err(|what| what.to_string())
}

fn to_index(bytes: &[u8]) -> Result<Index, String> {
    let number = bytes.try_into().map(u64::from_le_bytes);
    number.map(Index::new).map_err(|_| "an index has 8 bytes".to_owned())
}

fn to_snapshot(bytes: &[u8]) -> Result<(Position, u32), String> {
    let wrong = || "a reference to a snapshot has 20 bytes".to_owned();
    let bytes: [u8; 20] = bytes.try_into().map_err(|_| wrong())?;
    let (term, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
    let (index, rest) = rest.split_first_chunk().ok_or_else(wrong)?;
    let sum = rest.try_into().map_err(|_| wrong())?;
    let at = Position::new(u64::from_le_bytes(*term), u64::from_le_bytes(*index));
    Ok((at, u32::from_le_bytes(sum)))
}
