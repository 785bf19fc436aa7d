//! The log on disk: what a [`Log`] must not forget, as records in a [`Folder`] of segments.
//!
//! | record | what it says | when it is written |
//! | --- | --- | --- |
//! | 1 HardState | everything durable but the entries; whether a log is kept at all | when it changed, and first in every segment |
//! | 2 Entry | one entry | when it is written (G4, G6) |
//! | 3 Cut | the entries after this index are void | before the entries that replace them |
//! | 4 Commit | entries up to this index are committed | with other records; a reason to write only the first time, because the first entry names the cluster |
//! | 5 Snapshot | this file holds the state at this position | when the file is complete |
//! | 6 Filled | the same, and all entries before are void | when another member's snapshot was adopted |
//!
//! What is on disk is compared with the log by positions alone: two logs with an entry of the same term
//! at the same index are the same up to there (S2). So nothing in the log must remember what changed.
//!
//! In memory mode only HardState records are written, and they say that no log is kept: what was in the
//! folder is void. While a member receives a snapshot its former log stays on disk. After a crash it
//! comes back with that log, which is as much as it claims to have had (its floor).

mod found;
mod import;
mod inspect;
mod receiving;
mod recover;

#[cfg(test)]
mod bench;
#[cfg(test)]
mod tests;

pub use self::inspect::{Inspection, inspect};
use self::receiving::Receiving;
use crate::codec::packed::pack;
use bellwether_core::Process;
use bellwether_log::{
    Durability, Durable, HardState, Index, Log, Machine, Position, Roster, Tail, Term,
};
use bellwether_net::durable::{DurableError, Owner};
use bellwether_net::store::snapshot::{self, Snapshot, Writer};
use bellwether_net::store::{Batch, Folder, Mark};
use bellwether_net::{Clock, Store, Written};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

const HARD: u8 = 1;
const ENTRY: u8 = 2;
const CUT: u8 = 3;
const COMMIT: u8 = 4;
const SNAPSHOT: u8 = 5;
const FILLED: u8 = 6;

/// The size of a segment, and of one that has only HardState records.
const SEGMENT: u32 = 8 << 20;
const SMALL_SEGMENT: u32 = 64 << 10;
/// A snapshot is made when the log since the last one has grown to this, and to twice the snapshot.
const SNAPSHOT_AFTER: u64 = 16 << 20;
/// The parts of a snapshot are written in pieces of about this many bytes.
const PIECE: usize = 256 << 10;

/// A process that has a log.
pub trait HasLog: Process {
    /// What the log carries.
    type Machine: Machine;

    /// Its log.
    fn log(&self) -> &Log<Self::Machine>;
}

/// The log itself is one.
impl<M: Machine> HasLog for Log<M> {
    type Machine = M;

    fn log(&self) -> &Log<M> {
        self
    }
}

/// Keeps the log of a process in a folder.
#[derive(Debug)]
pub struct LogStore<M: Machine> {
    folder: Folder,
    hard: Option<HardState>,
    disk: OnDisk,
    /// The snapshot that the log on disk begins with, and the segment that refers to it.
    snapshot: Option<(Snapshot, u64)>,
    /// Bytes written since the last snapshot was begun, and how many are enough for the next one.
    since: u64,
    enough: u64,
    writing: Option<JoinHandle<Result<Snapshot, DurableError>>>,
    receiving: Option<Receiving<M::Cursor>>,
    snapshot_after: u64,
    machine: std::marker::PhantomData<fn() -> M>,
}

impl<M: Machine> LogStore<M>
where
    M::Command: Serialize + DeserializeOwned,
    M::Part: Serialize + DeserializeOwned,
{
    /// Opens the folder of this owner and reads what is durable: nothing at the first start. If there is
    /// no folder yet, but the state file of version 0.1 beside it (`demo-1.state` beside `demo-1.log`),
    /// its promises are taken over.
    pub fn open(
        path: &Path,
        owner: Owner,
        durability: Durability,
    ) -> Result<(Self, Option<Durable<M>>), DurableError> {
        let segment = match durability {
            Durability::Disk => SEGMENT,
            Durability::Memory => SMALL_SEGMENT,
        };
        LogStore::open_with(path, owner, segment, SNAPSHOT_AFTER)
    }

    /// The same with other sizes.
    fn open_with(
        path: &Path,
        owner: Owner,
        segment: u32,
        snapshot_after: u64,
    ) -> Result<(Self, Option<Durable<M>>), DurableError> {
        let mut read = recover::Reading::default();
        let folder = Folder::open(path, owner, segment, |found| read.take(found))?;
        let (hard, bytes) = (read.hard(), read.bytes());
        let recovered = read.finish(&recover::Place::of(&folder))?;
        let mut store = LogStore {
            folder,
            hard,
            disk: recovered.disk,
            snapshot: recovered.snapshot,
            since: bytes,
            enough: 0,
            writing: None,
            receiving: None,
            snapshot_after,
            machine: std::marker::PhantomData,
        };
        store.enough = store.enough();
        let durable = store.import(path, recovered.durable)?;
        store.remove_snapshots();
        Ok((store, durable))
    }

    /// How much log is enough for a snapshot.
    fn enough(&self) -> u64 {
        let last = self.snapshot.map_or(0, |(snapshot, _)| snapshot.bytes);
        self.snapshot_after.max(2 * last)
    }

    /// Puts what is not on disk yet into a batch.
    fn difference(&mut self, log: &Log<M>, batch: &mut Batch) -> Result<Changes, DurableError> {
        let mut changes = Changes::default();
        let hard = log.hard();
        if self.hard != Some(hard) {
            batch.push(HARD, &pack(&hard));
            changes.hard = true;
        }
        if !hard.keeps_log {
            self.disk = OnDisk::default();
            self.snapshot = None;
            return Ok(changes);
        }
        let Some((written, tail)) = log.written() else { return Ok(changes) };
        match self.disk.common(written, tail) {
            Some(index) => {
                if index < self.disk.last.index {
                    batch.push(CUT, &index.number().to_le_bytes());
                    self.disk.cut(index);
                }
            }
            None => changes.snapshot = self.adopt(log, batch)?,
        }
        self.receiving = None;
        while self.disk.last.index < written
            && let Some(entry) = tail.get(self.disk.last.index.next())
        {
            batch.push(ENTRY, &pack(&**entry));
            self.disk.push(entry.position);
        }
        if let Some(snapshot) = self.finished_snapshot(tail) {
            batch.push(SNAPSHOT, &to_record(&snapshot));
            changes.snapshot = Some(snapshot);
        }
        let commit = committed(log);
        if commit > self.disk.commit {
            batch.push(COMMIT, &commit.number().to_le_bytes());
            self.disk.commit = commit;
        }
        Ok(changes)
    }

    /// G1: whether everything is on disk but the last promise.
    pub(crate) fn lacks_only_a_promise(&self, log: &Log<M>) -> bool {
        let hard = log.hard();
        let promises = |saved| HardState { promised: hard.promised, vote: hard.vote, ..saved };
        let last = log.written().and_then(|(written, tail)| tail.position_at(written));
        hard.keeps_log && self.hard.map(promises) == Some(hard) && last == Some(self.disk.last)
    }

    /// Writes what has come of another member's snapshot.
    fn receive(&mut self, log: &Log<M>) -> Result<(), DurableError> {
        let is_wanted = log.written().is_none() || self.receiving.is_some();
        if let Some(received) = log.received()
            && is_wanted
            && Receiving::is_behind(self.receiving.as_ref(), received)
        {
            let own = self.receiving.take();
            let (folder, owner) = (self.folder.path(), self.folder.owner());
            self.receiving = Some(Receiving::write(own, received, folder, owner)?);
        }
        Ok(())
    }

    /// The log has nothing in common with what is on disk: it came as another member's snapshot. Its
    /// last piece is written here and now, because the process is about to tell that it has it; all of
    /// it, if its pieces were not written as they came.
    fn adopt(&mut self, log: &Log<M>, batch: &mut Batch) -> Result<Option<Snapshot>, DurableError> {
        let (Some((at, state)), Some(roster)) = (log.frozen(), log.roster()) else {
            return Ok(None);
        };
        self.settle_writing();
        let pieces = match (self.receiving.take(), log.received(), log.written()) {
            (Some(own), Some(received), Some((_, tail))) => own.finish(received, tail)?,
            _ => None,
        };
        let snapshot = match pieces {
            Some(snapshot) => snapshot,
            None => write(self.folder.path(), self.folder.owner(), at, roster, &state)?,
        };
        let at = from_mark(snapshot.at);
        batch.push(FILLED, &to_record(&snapshot));
        self.disk = OnDisk::new(at, at.index);
        self.since = 0;
        Ok(Some(snapshot))
    }

    /// Waits for a snapshot in the making, which is of no use any more.
    fn settle_writing(&mut self) {
        if let Some(writing) = self.writing.take() {
            let _ = writing.join();
        }
    }

    /// A snapshot that was finished in the background, if it is newer than the last one.
    fn finished_snapshot(&mut self, tail: &Tail<M::Command>) -> Option<Snapshot> {
        let writing = self.writing.take_if(|writing| writing.is_finished())?;
        match writing.join() {
            Ok(Ok(snapshot)) => {
                let at = from_mark(snapshot.at);
                let last = self.snapshot.map_or(0, |(last, _)| last.at.index);
                let is_of_this_log = self.disk.has(at) || tail.has(at);
                (is_of_this_log && snapshot.at.index > last).then_some(snapshot)
            }
            Ok(Err(error)) => {
                tracing::warn!("cannot write a snapshot, so the log on disk grows: {error}");
                self.enough = self.since.saturating_mul(2);
                None
            }
            Err(_) => None,
        }
    }

    /// Begins a snapshot in the background if the log has grown enough.
    fn begin_snapshot(&mut self, log: &Log<M>) {
        if self.since < self.enough || self.writing.is_some() {
            return;
        }
        let (Some((at, state)), Some(roster)) = (log.frozen(), log.roster()) else { return };
        if at.index.number() <= self.snapshot.map_or(0, |(last, _)| last.at.index) {
            return;
        }
        self.since = 0;
        let (folder, owner) = (self.folder.path().to_owned(), self.folder.owner().clone());
        let roster = roster.clone();
        self.writing =
            Some(std::thread::spawn(move || write(&folder, &owner, at, &roster, &state)));
    }

    /// Forgets what is not needed after a save.
    fn tidy(&mut self, snapshot: Option<Snapshot>) {
        let segment = self.folder.segment();
        if let Some(snapshot) = snapshot {
            self.snapshot = Some((snapshot, segment));
            self.disk.trim(from_mark(snapshot.at));
            self.enough = self.enough();
            self.remove_snapshots();
        }
        let keeps_log = self.hard.is_some_and(|hard| hard.keeps_log);
        match self.snapshot {
            _ if !keeps_log => self.folder.retire(segment, u64::MAX),
            None => self.folder.retire(segment, 0),
            Some((snapshot, segment)) => self.folder.retire(segment, snapshot.at.index),
        }
    }

    /// Removes the snapshots to which nothing refers.
    fn remove_snapshots(&self) {
        let needed = self.snapshot.map(|(snapshot, _)| snapshot::name(snapshot.at));
        let Ok(entries) = std::fs::read_dir(self.folder.path()) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".snap") && Some(&name) != needed.as_ref() {
                // What stays takes room, and is removed the next time.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Appends a batch. A segment begins with a HardState record.
    fn append(
        &mut self,
        mut batch: Batch,
        has_hard: bool,
        hard: &HardState,
        base: Position,
    ) -> Result<u64, DurableError> {
        if !has_hard && !self.folder.fits(&batch) {
            batch.push_front(HARD, &pack(hard));
        }
        let bytes = self.folder.append(batch, to_mark(base))?;
        self.hard = Some(*hard);
        self.since += bytes;
        Ok(bytes)
    }
}

impl<P: HasLog> Store<P> for LogStore<P::Machine>
where
    <P::Machine as Machine>::Command: Serialize + DeserializeOwned,
    <P::Machine as Machine>::Part: Serialize + DeserializeOwned,
{
    fn is_dirty(&self, process: &P) -> bool {
        let log = process.log();
        let hard = log.hard();
        let last = || log.written().and_then(|(written, tail)| tail.position_at(written));
        let receives = || {
            let own = self.receiving.as_ref();
            let is_behind = |received| Receiving::is_behind(own, received);
            log.written().is_none() && log.received().is_some_and(is_behind)
        };
        let is_named = || self.disk.commit > Index::ZERO || committed(log) == Index::ZERO;
        let is_behind =
            || last().is_some_and(|last| last != self.disk.last) || receives() || !is_named();
        self.hard != Some(hard) || hard.keeps_log && is_behind()
    }

    fn save(&mut self, process: &P) -> Result<Written, DurableError> {
        let begun = Clock::shared();
        let (log, base) = (process.log(), self.disk.last);
        let mut batch = Batch::new();
        if log.hard().keeps_log {
            self.receive(log)?;
        }
        let changes = self.difference(log, &mut batch)?;
        let mut bytes = 0;
        if !batch.is_empty() {
            bytes = self.append(batch, changes.hard, &log.hard(), base)?;
            self.tidy(changes.snapshot);
        }
        self.begin_snapshot(log);
        Ok(Written { bytes, took: Clock::shared().since(begun) })
    }
}

impl<M: Machine> Drop for LogStore<M> {
    /// Nothing writes to the folder after its lock is gone.
    fn drop(&mut self) {
        if let Some(writing) = self.writing.take() {
            let _ = writing.join();
        }
    }
}

/// What a batch has besides entries.
#[derive(Debug, Default)]
struct Changes {
    hard: bool,
    snapshot: Option<Snapshot>,
}

/// Which log is on disk: where it begins, where each later term begins, and its last position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OnDisk {
    base: Position,
    terms: Vec<(Index, Term)>,
    last: Position,
    commit: Index,
}

impl OnDisk {
    /// A log without entries after this position.
    fn new(base: Position, commit: Index) -> Self {
        OnDisk { base, terms: Vec::new(), last: base, commit }
    }

    fn push(&mut self, position: Position) {
        if position.term != self.last.term {
            self.terms.push((position.index, position.term));
        }
        self.last = position;
    }

    fn term_at(&self, index: Index) -> Option<Term> {
        if index < self.base.index || index > self.last.index {
            return None;
        }
        let after = self.terms.partition_point(|(begin, _)| *begin <= index);
        Some(after.checked_sub(1).map_or(self.base.term, |place| self.terms[place].1))
    }

    fn has(&self, position: Position) -> bool {
        self.term_at(position.index) == Some(position.term)
    }

    /// Drops the entries after an index.
    fn cut(&mut self, index: Index) {
        let term = self.term_at(index).unwrap_or(self.base.term);
        self.terms.retain(|(begin, _)| *begin <= index);
        self.last = Position { term, index };
    }

    /// Begins at a later position, which it has.
    fn trim(&mut self, base: Position) {
        if base.index > self.base.index {
            self.terms.retain(|(begin, _)| *begin > base.index);
            self.base = base;
        }
    }

    /// The last index up to which this log and the tail are the same; none if they share no index.
    fn common<C>(&self, written: Index, tail: &Tail<C>) -> Option<Index> {
        let low = self.base.index.max(tail.base().index).number();
        let high = self.last.index.min(written).number();
        let same = |index: u64| {
            let term = self.term_at(Index::new(index));
            term.is_some() && term == tail.term_at(Index::new(index))
        };
        if low > high || !same(low) {
            return None;
        }
        if same(high) {
            return Some(Index::new(high));
        }
        // They are the same at `low`, and not at `high`.
        let (mut low, mut high) = (low, high);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match same(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        Some(Index::new(low))
    }
}

fn to_mark(position: Position) -> Mark {
    Mark { term: position.term.number(), index: position.index.number() }
}

fn from_mark(mark: Mark) -> Position {
    Position::new(mark.term, mark.index)
}

/// The last written entry that is known to be committed.
fn committed<M: Machine>(log: &Log<M>) -> Index {
    let written = log.written().map_or(Index::ZERO, |(written, _)| written);
    log.state().map_or(Index::ZERO, |(commit, _)| commit.index).min(written)
}

/// A snapshot as a record refers to it.
fn to_record(snapshot: &Snapshot) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(20);
    bytes.extend(snapshot.at.term.to_le_bytes());
    bytes.extend(snapshot.at.index.to_le_bytes());
    bytes.extend(snapshot.sum.to_le_bytes());
    bytes
}

/// Writes a state to a snapshot file.
fn write<M: Machine<Part: Serialize>>(
    folder: &Path,
    owner: &Owner,
    at: Position,
    roster: &Roster,
    state: &Arc<M>,
) -> Result<Snapshot, DurableError> {
    let mut writer = Writer::create(folder, owner, to_mark(at), &pack(roster), "own")?;
    let mut cursor = Some(M::Cursor::default());
    while let Some(from) = cursor {
        let (parts, next) = state.cut(&from, PIECE);
        if !parts.is_empty() {
            writer.part(&pack(&parts))?;
        }
        cursor = next;
    }
    writer.finish()
}
