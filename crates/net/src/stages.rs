//! When requests pass the stages of their way, for measurements.
//!
//! Each process notes the moments on the clock that all processes of a host share. With one client
//! there is one request at a time, so the marks of client and members can be put together by time alone:
//! no message carries anything for this. While nothing is [recorded](record) a mark costs one look at a
//! variable.

use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A stage that a request, or what it causes, has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The client writes its request.
    ClientWrites,
    /// The member has read the request.
    MemberReads,
    /// The request leaves the queue for the member.
    LeavesQueue,
    /// The process handles an input: requests are proposed.
    HandlesInput,
    /// The process handles a message of another member.
    HandlesMessage,
    /// A message to another member is encoded, and is written now.
    SendsMessage,
    /// A message of another member was read.
    MessageRead,
    /// The disk begins to work.
    SaveBegins,
    /// The disk has synced.
    SaveEnds,
    /// The reply is passed on to the connection.
    Replies,
    /// The member writes the reply.
    MemberWrites,
    /// The client has read the reply.
    ClientReads,
}

impl Stage {
    /// All stages, in the order in which a request passes them.
    pub const ALL: [Stage; 12] = [
        Stage::ClientWrites,
        Stage::MemberReads,
        Stage::LeavesQueue,
        Stage::HandlesInput,
        Stage::HandlesMessage,
        Stage::SendsMessage,
        Stage::MessageRead,
        Stage::SaveBegins,
        Stage::SaveEnds,
        Stage::Replies,
        Stage::MemberWrites,
        Stage::ClientReads,
    ];

    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Stage::ClientWrites => "client-writes",
            Stage::MemberReads => "member-reads",
            Stage::LeavesQueue => "leaves-queue",
            Stage::HandlesInput => "handles-input",
            Stage::HandlesMessage => "handles-message",
            Stage::SendsMessage => "sends-message",
            Stage::MessageRead => "message-read",
            Stage::SaveBegins => "save-begins",
            Stage::SaveEnds => "save-ends",
            Stage::Replies => "replies",
            Stage::MemberWrites => "member-writes",
            Stage::ClientReads => "client-reads",
        }
    }
}

/// That a stage was reached, and when, in nanoseconds of [`now_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// When.
    pub at_ns: u64,
    /// What.
    pub stage: Stage,
}

/// A process forgets no mark up to this number, and notes none beyond it.
const MARKS_MAX: usize = 4_000_000;

static RECORDS: AtomicBool = AtomicBool::new(false);
static MARKS: Mutex<Vec<Mark>> = Mutex::new(Vec::new());

fn marks() -> MutexGuard<'static, Vec<Mark>> {
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The clock of all processes of this host, in nanoseconds.
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// From now on this process notes marks.
pub fn record() {
    RECORDS.store(true, Ordering::Relaxed);
}

/// Notes that this stage is reached now, if marks are noted.
#[inline]
pub fn mark(stage: Stage) {
    if RECORDS.load(Ordering::Relaxed) {
        let mut marks = marks();
        if marks.len() < MARKS_MAX {
            marks.push(Mark { at_ns: now_ns(), stage });
        }
    }
}

/// Takes what was noted, in the order of time.
pub fn take() -> Vec<Mark> {
    std::mem::take(&mut *marks())
}

/// Marks as a file has them: one a line, the time and the stage.
pub fn to_text(marks: &[Mark]) -> String {
    let mut text = String::with_capacity(32 * marks.len());
    for Mark { at_ns, stage } in marks {
        let _ = writeln!(text, "{at_ns} {}", stage.name());
    }
    text
}

/// The marks of a file; lines of any other kind are left out.
pub fn from_text(text: &str) -> Vec<Mark> {
    let mark = |line: &str| {
        let (at, name) = line.split_once(' ')?;
        let stage = Stage::ALL.into_iter().find(|stage| stage.name() == name)?;
        Some(Mark { at_ns: at.parse().ok()?, stage })
    };
    text.lines().filter_map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_noted_only_when_asked_and_come_back_from_a_file() {
        mark(Stage::Replies);
        assert_eq!(take(), []);
        record();
        let before = now_ns();
        for stage in Stage::ALL {
            mark(stage);
        }
        RECORDS.store(false, Ordering::Relaxed);
        let marks = take();
        let stages: Vec<Stage> = marks.iter().map(|mark| mark.stage).collect();
        assert_eq!(stages, Stage::ALL);
        assert!(marks.is_sorted() && marks[0].at_ns >= before);
        assert_eq!(from_text(&to_text(&marks)), marks);
        assert_eq!(from_text("x\n7 replies\n8 nothing\n"), marks_of(7));
    }

    fn marks_of(at_ns: u64) -> Vec<Mark> {
        vec![Mark { at_ns, stage: Stage::Replies }]
    }
}
