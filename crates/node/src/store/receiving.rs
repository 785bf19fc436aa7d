//! A snapshot that another member sends, written as its pieces come: at its end only the last piece is
//! left to write, so that a slow disk does not keep a member from answering for long.

use super::to_mark;
use crate::codec::packed::pack;
use bellwether_log::{Machine, Piece, Position, Received, Tail};
use bellwether_net::durable::{DurableError, Owner};
use bellwether_net::store::snapshot::{Snapshot, Writer};
use serde::Serialize;
use std::path::Path;

/// What is written of it.
#[derive(Debug)]
pub(super) struct Receiving<C> {
    at: Position,
    /// Up to where it is written; none if all of it is.
    reached: Option<C>,
    /// None if pieces were missed: then the whole is written when it is complete.
    writer: Option<Writer>,
}

/// Whether one cursor is further than the other. The end is further than all.
fn is_further<C: Ord>(one: Option<&C>, other: Option<&C>) -> bool {
    match (one, other) {
        (None, Some(_)) => true,
        (Some(one), Some(other)) => one > other,
        (_, None) => false,
    }
}

impl<C: Clone + Ord + Default> Receiving<C> {
    /// Whether pieces have come that are to be written.
    pub(super) fn is_behind<M: Machine<Cursor = C>>(
        own: Option<&Self>,
        received: &Received<M>,
    ) -> bool {
        own.is_none_or(|own| {
            let is_further = is_further(received.reached().as_ref(), own.reached.as_ref());
            own.at != received.at || own.writer.is_some() && is_further
        })
    }

    /// Writes the pieces that have come since, and syncs them. What is between two cursors is the same
    /// from any sender: the state at this position has one order of parts.
    pub(super) fn write<M: Machine<Cursor = C, Part: Serialize>>(
        own: Option<Self>,
        received: &Received<M>,
        folder: &Path,
        owner: &Owner,
    ) -> Result<Self, DurableError> {
        let mut own = match own.filter(|own| own.at == received.at) {
            Some(own) => own,
            None => {
                let (at, head) = (received.at, pack(&received.roster));
                let writer = Writer::create(folder, owner, to_mark(at), &head, "received")?;
                Receiving { at, reached: Some(C::default()), writer: Some(writer) }
            }
        };
        while let Some(writer) = &mut own.writer
            && is_further(received.reached().as_ref(), own.reached.as_ref())
        {
            let is_next = |piece: &&Piece<M>| Some(&piece.from) == own.reached.as_ref();
            match received.last.iter().find(is_next) {
                None => own.writer = None,
                Some(Piece { parts, next, .. }) => {
                    if !parts.is_empty() {
                        writer.part(&pack(&**parts))?;
                    }
                    own.reached.clone_from(next);
                }
            }
        }
        if let Some(writer) = &mut own.writer {
            writer.sync()?;
        }
        Ok(own)
    }

    /// The file, if all of it is written and the log goes on from there.
    pub(super) fn finish<M: Machine<Cursor = C>>(
        self,
        received: &Received<M>,
        tail: &Tail<M::Command>,
    ) -> Result<Option<Snapshot>, DurableError> {
        let is_whole = received.complete.is_some() && self.reached.is_none();
        let is_it = received.at == self.at && tail.has(self.at);
        match self.writer.filter(|_| is_whole && is_it) {
            Some(writer) => writer.finish().map(Some),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{List, Opened, open};
    use bellwether_core::{Context, Effect, Group, Here, NodeId, Process, Time};
    use bellwether_log::{
        Birth, Body, Config, Heartbeat, Incarnation, Index, Log, Msg, Position, Roster, Saved, Term,
    };
    use bellwether_net::Store;
    use std::collections::VecDeque;
    use std::path::PathBuf;
    use std::time::Duration;
    use tempfile::TempDir;

    const PIECES: usize = 8;
    const PART: usize = 5_000;

    /// A member that is sent a snapshot of eight pieces.
    struct Receiver {
        folder: TempDir,
        opened: Opened,
        log: Log<List>,
    }

    impl Receiver {
        fn new() -> Self {
            let folder = TempDir::new().unwrap();
            let opened = open(&folder, 1);
            let mut receiver = Receiver { folder, opened, log: Log::default() };
            receiver.step(|log, cx| log.on_start(None, cx));
            receiver.save();
            receiver.step(|log, cx| log.on_message(NodeId::new(2), heartbeat(), cx));
            receiver
        }

        /// Whether it asks for more.
        fn step(&mut self, call: impl FnOnce(&mut Log<List>, &mut Context<'_, Log<List>>)) -> bool {
            let (heartbeat, lease) = (Duration::from_millis(100), Duration::from_millis(500));
            let birth = Some(Birth::new(1));
            let config = Config { birth, ..Config::new(heartbeat, lease, 500) };
            let group = Group::numbered(3).unwrap();
            let here = Here::new(&group, 0, Time::from_micros(1_000), false);
            let mut effects: Vec<Effect<Log<List>>> = Vec::new();
            call(&mut self.log, &mut Context::new(&here, &config, &mut effects));
            effects.iter().any(|effect| matches!(effect, Effect::Send(_, Msg::Fetch { .. })))
        }

        fn take(&mut self, piece: usize) -> bool {
            self.step(|log, cx| log.on_message(NodeId::new(2), supply(piece), cx))
        }

        fn save(&mut self) {
            self.opened.0.save(&self.log).unwrap();
        }

        fn is_dirty(&self) -> bool {
            Store::is_dirty(&self.opened.0, &self.log)
        }

        /// The size of the file that is being written.
        fn written(&self) -> Option<u64> {
            let path: PathBuf = self.folder.path().join("test-1.log");
            let mut files = std::fs::read_dir(path).unwrap().map(Result::unwrap);
            let file = files.find(|file| file.file_name().to_string_lossy().ends_with(".new"))?;
            Some(file.metadata().unwrap().len())
        }

        fn comes_back_with_all(self) {
            let Receiver { folder, opened, log } = self;
            assert_eq!(log.state().unwrap().1.0.len(), PIECES);
            drop((opened, log));
            let (_, saved) = open(&folder, 1);
            let Saved::Whole { state, commit, .. } = saved.unwrap().log else { panic!() };
            assert_eq!(
                (commit, state.0.clone()),
                (at(), (0..PIECES).map(part).collect::<Vec<_>>())
            );
        }
    }

    fn at() -> Position {
        Position::new(1, 50)
    }

    fn part(piece: usize) -> String {
        format!("{piece:0>PART$}")
    }

    fn beat() -> Heartbeat {
        Heartbeat {
            term: Term::new(1),
            generation: 0,
            sent: Time::ZERO,
            commit: Index::new(50),
            last: at(),
            appointed: false,
            welcome: None,
            incarnation: Incarnation::UNKNOWN,
            lease_us: 0,
        }
    }

    fn heartbeat() -> Msg<List> {
        Msg::Append { beat: beat(), prev: at(), entries: [].into() }
    }

    fn supply(piece: usize) -> Msg<List> {
        let next = (piece + 1 < PIECES).then_some(piece + 1);
        let roster = [(NodeId::new(1), Birth::new(1))].into_iter().collect::<Roster>();
        let parts = vec![part(piece)];
        let body = Body::Parts { at: at(), roster: Box::new(roster), from: piece, parts, next };
        Msg::Supply { beat: Some(beat()), last: at(), body }
    }

    #[test]
    fn a_snapshot_is_written_as_it_comes() {
        let mut receiver = Receiver::new();
        for piece in 0..PIECES - 1 {
            assert!(receiver.take(piece), "it asks for the next one");
            assert!(receiver.is_dirty(), "but not before this one is written");
            receiver.save();
            assert!(!receiver.is_dirty());
            let written = receiver.written().unwrap();
            assert!(written > ((piece + 1) * PART) as u64, "{piece}: {written}");
        }
        receiver.take(PIECES - 1);
        receiver.save();
        assert_eq!(receiver.written(), None, "it has its name");
        receiver.comes_back_with_all();
    }

    #[test]
    fn some_pieces_may_come_between_two_saves() {
        let mut receiver = Receiver::new();
        for piece in 0..PIECES {
            receiver.take(piece);
            if piece % 2 == 1 {
                receiver.save();
            }
        }
        receiver.comes_back_with_all();
    }

    #[test]
    fn a_snapshot_that_begins_again_is_written_once() {
        let mut receiver = Receiver::new();
        for piece in [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7] {
            receiver.take(piece);
            receiver.save();
            assert!(!receiver.is_dirty());
        }
        receiver.comes_back_with_all();
    }

    #[test]
    fn if_pieces_were_missed_the_whole_is_written_at_the_end() {
        let mut receiver = Receiver::new();
        for piece in 0..PIECES {
            receiver.take(piece);
            if piece == 5 {
                receiver.save();
                assert_eq!(receiver.written(), None);
            }
        }
        receiver.save();
        receiver.comes_back_with_all();
    }

    #[test]
    fn a_snapshot_that_is_not_finished_leaves_the_former_log() {
        let mut receiver = Receiver::new();
        for piece in 0..3 {
            receiver.take(piece);
        }
        receiver.save();
        let Receiver { folder, opened, log } = receiver;
        drop((opened, log));
        let (store, saved) = open(&folder, 1);
        let Saved::Whole { commit, .. } = saved.unwrap().log else { panic!() };
        assert_eq!(commit, Position::ZERO);
        drop(store);
        let left: VecDeque<_> =
            std::fs::read_dir(folder.path().join("test-1.log")).unwrap().collect();
        assert!(left.iter().all(|file| {
            !file.as_ref().unwrap().file_name().to_string_lossy().ends_with(".new")
        }));
    }
}
