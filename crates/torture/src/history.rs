//! What a client writes down while it works: one line for everything that it asks, hears and sees.
//!
//! # Rules
//! * H1 Moments are microseconds of the clock that all processes of the machine share.
//! * H2 What a client is about to do is written before it does it; what it has heard, after.
//! * H3 A line is on disk, or at least the system's, before the next thing happens: a killed process
//!   leaves everything but what it did not live to write.
//! * H4 [`Event::Looked`] has the moment *before* the look. A client that finds at a look that it holds
//!   something has held it since it was granted, so it held it at that moment, too, whatever happened
//!   to the process between the two.

use bellwether_net::Clock;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Line {
    /// When (H1).
    pub(super) at: u64,
    #[serde(flatten)]
    pub(super) event: Event,
}

/// What is written down. `ask` is the number of a request within the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Event {
    /// The process works from now on.
    Begins { pid: u32 },
    /// A session is wanted.
    Opens { seat: u32 },
    /// It has begun.
    Opened { seat: u32, session: String, ttl_ms: u64 },
    /// It could not be begun.
    NotOpened { seat: u32, why: String },
    /// A session is over, and not because this client closed it.
    SessionEnded { session: String, why: Ended },
    /// The client closes a session, and waits until the cluster knows.
    Closes { session: String },
    /// The cluster knows.
    Closed { session: String },
    /// Locks or a role are wanted. With patience, it is given up after this number of microseconds.
    Asks {
        ask: u64,
        session: String,
        wants: Vec<Want>,
        /// Whether it waits for its turn.
        waits: bool,
        patience_us: Option<u64>,
        /// The member that the client is connected to.
        via: Option<u32>,
    },
    /// It waits in the queue.
    Waits { ask: u64, behind: u64 },
    /// What has become of it.
    Answered { ask: u64, outcome: Outcome },
    /// A look at the clock says that it is held (H4).
    Looked { ask: u64 },
    /// The client gives it back; it counts on nothing any more.
    GivesBack { ask: u64, how: Way },
    /// It was given back, as far as the client is told.
    GaveBack { ask: u64, error: Option<Refused> },
    /// It was lost.
    Lost { ask: u64, why: Ended },
    /// The leader gives its role to another session.
    HandsOver { ask: u64, to: String },
    /// It has done so, or may not.
    HandedOver { ask: u64, error: Option<Refused> },
    /// The role came back, by a new token.
    LeadsAgain { ask: u64, token: u64 },
    /// The leader changes what the world knows of it.
    Proclaims { ask: u64 },
    /// It has, or may not.
    Proclaimed { ask: u64, error: Option<Refused> },
    /// The process has done all that it began, and ends.
    Done,
}

/// Something that is wanted, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Want {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) mode: Mode,
}

/// How something is wanted or held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub(super) enum Mode {
    Exclusive,
    Shared,
    Permits {
        take: u32,
        of: u32,
    },
    /// A role, which goes in the order of coming, or by priority.
    Role {
        first_come: bool,
    },
}

impl Mode {
    /// Whether two cannot be held at the same time. Permits are counted instead.
    pub(super) fn excludes(self, other: Mode) -> bool {
        match (self, other) {
            (Mode::Shared, Mode::Shared) | (Mode::Permits { .. }, Mode::Permits { .. }) => false,
            (Mode::Exclusive | Mode::Shared | Mode::Permits { .. } | Mode::Role { .. }, _) => true,
        }
    }
}

/// How something is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Way {
    /// By a request that is answered.
    Asks,
    /// The guard is dropped.
    Drops,
    /// The session is closed with it.
    WithSession,
}

/// What has become of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub(super) enum Outcome {
    Granted {
        token: u64,
    },
    /// It was not free, and not to be waited for.
    Busy,
    /// The client's patience was at its end.
    TimedOut,
    /// It was aborted: these sessions waited for these locks in a cycle.
    Deadlock {
        aborted: Option<String>,
        cycle: Vec<(String, String)>,
    },
    /// Its session is over.
    SessionEnded {
        why: Ended,
    },
    /// Anything else, which should not be.
    Refused {
        why: String,
    },
}

/// Why a session or a hold is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ended {
    /// The client's own deadline has passed.
    DeadlinePassed,
    /// The coordinator says that it was not heard of in time.
    Expired,
    /// The coordinator has no such session.
    Unknown,
    /// The coordinator says that its process has died. It has not.
    Died,
    /// It was closed.
    Closed,
    /// It was handed over.
    HandedOver,
    /// An operator took it away. There is none.
    Taken,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Refused {
    /// The session is over.
    SessionEnded(Ended),
    /// The session that was named does not campaign for the role.
    NoSuchCandidate,
    /// Anything else.
    Other(String),
}

/// Now, by the clock of H1.
pub(super) fn now() -> u64 {
    Clock::shared().as_micros()
}

/// Writes a history.
#[derive(Debug)]
pub(super) struct Pen(Mutex<File>);

impl Pen {
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        File::options().create_new(true).append(true).open(path).map(|file| Pen(Mutex::new(file)))
    }

    /// Writes down what happens now. A history that cannot be written is worth nothing, so the
    /// process ends, and its parent sees that.
    pub(super) fn write(&self, event: Event) {
        self.write_at(now(), event);
    }

    /// The same for a moment that was taken before.
    pub(super) fn write_at(&self, at: u64, event: Event) {
        let mut text = serde_json::to_string(&Line { at, event }).unwrap_or_default();
        text.push('\n');
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if file.write_all(text.as_bytes()).is_err() {
            std::process::exit(2);
        }
    }
}

/// The history of one process.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// What it is called where it is shown.
    pub(super) name: String,
    /// Whether its process was killed, so that it may end anywhere.
    pub(super) killed: bool,
    pub(super) lines: Vec<Line>,
}

impl History {
    /// Reads one. Only the last line of a killed process may be half written.
    pub(super) fn parse(name: &str, killed: bool, text: &str) -> Result<Self, String> {
        let mut lines = Vec::new();
        let count = text.lines().count();
        for (index, line) in text.lines().enumerate() {
            match serde_json::from_str(line) {
                Ok(line) => lines.push(line),
                Err(_) if killed && index + 1 == count => {}
                Err(error) => return Err(format!("{name}:{}: {error}", index + 1)),
            }
        }
        Ok(History { name: name.to_owned(), killed, lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_reads_what_a_pen_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let pen = Pen::new(&path).unwrap();
        assert!(Pen::new(&path).is_err(), "no history is written into another one");
        let mode = Mode::Permits { take: 2, of: 3 };
        let wants = vec![Want { name: "p".to_owned(), mode }];
        let (session, via) = ("s1.1".to_owned(), Some(3));
        let asks = Event::Asks { ask: 1, session, wants, waits: true, patience_us: None, via };
        let cycle = vec![("s1.1".to_owned(), "a".to_owned())];
        let outcome = Outcome::Deadlock { aborted: None, cycle };
        pen.write_at(5, asks.clone());
        pen.write(Event::Answered { ask: 1, outcome });
        let error = Some(Refused::SessionEnded(Ended::Expired));
        pen.write(Event::GaveBack { ask: 1, error });
        let text = std::fs::read_to_string(&path).unwrap();
        let history = History::parse("a", false, &text).unwrap();
        assert_eq!(history.lines[0], Line { at: 5, event: asks });
        assert_eq!(history.lines.len(), 3);
        assert!(history.lines[1].at >= 5);
    }

    #[test]
    fn only_a_killed_process_leaves_half_a_line() {
        let text = "{\"at\":1,\"event\":\"done\"}\n{\"at\":2,\"eve";
        assert_eq!(History::parse("a", true, text).unwrap().lines.len(), 1);
        assert!(History::parse("a", false, text).unwrap_err().starts_with("a:2: "));
        let torn = format!("{text}\n{{\"at\":3,\"event\":\"done\"}}\n");
        assert!(History::parse("a", true, &torn).unwrap_err().starts_with("a:2: "));
    }

    #[test]
    fn what_excludes_what() {
        let permits = Mode::Permits { take: 1, of: 2 };
        let role = Mode::Role { first_come: true };
        assert!(Mode::Exclusive.excludes(Mode::Exclusive));
        assert!(Mode::Exclusive.excludes(Mode::Shared) && Mode::Shared.excludes(Mode::Exclusive));
        assert!(!Mode::Shared.excludes(Mode::Shared) && !permits.excludes(permits));
        assert!(role.excludes(role));
    }
}
