//! Backups: the committed state of a cluster in one file, and a data folder made of it.
//!
//! A backup is a [snapshot file](bellwether_net::store::snapshot) whose owner is the coordinator that wrote
//! it. It holds the keys of sessions, so only an operator gets one. The coordinator writes it under its
//! lease: all that clients were told before is in it.
//!
//! A restored cluster is another cluster. Its id follows from the file and the token floor alone, so that
//! every member may be restored on its own host and all of them agree; members of the former cluster are
//! refused. Its log begins after the snapshot, at a term above all that the former cluster is expected to
//! have reached: tokens begin with the term, so they grow.

use crate::about::{ANSWERS_WITHIN, About};
use crate::callers::Operator;
use crate::codec::packed::{pack, unpack};
use crate::http::{declined, silent};
use crate::store::LogStore;
use crate::wall;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bellwether_coordination::{Coordination, Token};
use bellwether_core::{Machine, NodeId};
use bellwether_http::ErrorResponse;
use bellwether_log::{Birth, ClusterId, HardState, Position, Roster, Term};
use bellwether_member::{Decline, Service};
use bellwether_net::View;
use bellwether_net::durable::{DurableError, Owner};
use bellwether_net::store::snapshot::{self, Encoder};
use bellwether_net::store::{Mark, damaged};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;

/// What the owner of a backup runs: tells it from the snapshots of a data folder.
const PROTOCOL: &str = "backup/1";
/// A backup travels in pieces of about this many bytes.
const PIECE: usize = 256 << 10;
/// How many terms the former cluster may have begun since the backup was made.
pub const TERMS_BETWEEN: u64 = 1_000;
/// Terms are half of a token, and some must be left.
const HIGHEST_TERM: u64 = u32::MAX as u64 / 2;
/// What a data folder may hold beside a member's log: operators put it there beforehand.
const HARMLESS: &str = "operator.token";

/// What a backup says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The members and the cluster.
    pub roster: Roster,
    /// The highest term that the coordinator knew.
    pub promised: Term,
    /// When it was made, in milliseconds since 1970: for people.
    pub taken_ms: u64,
    /// The version of the program that made it.
    pub version: String,
}

/// Writes the committed state while it is sent; one backup at a time.
#[cfg_attr(test, utoipa::path(get, path = "/v1/backup", security(("bearer" = [])), responses(
    (status = 200, description = "The committed state, as a file for `bellwether restore`", body = String, content_type = "application/octet-stream"),
    (status = 401, description = "The operator token is missing", body = bellwether_api::json::Problem),
    (status = 403, description = "The member has another operator token", body = bellwether_api::json::Problem),
    (status = 409, description = "The member is not the coordinator, or another backup is being made", body = bellwether_api::json::Problem),
    (status = 503, description = "The member has ended or hangs", body = bellwether_api::json::Problem),
)))]
pub(crate) async fn backup(
    State(about): State<Arc<About>>,
    Operator(by): Operator,
) -> Result<Response, ErrorResponse> {
    static ONE: Semaphore = Semaphore::const_new(1);
    let place = ONE.try_acquire().map_err(|_| {
        let error = "another backup is being made";
        ErrorResponse::new(StatusCode::CONFLICT, error, Some("try again when it is done"))
    })?;
    let look = |view: &View<'_, Service>| {
        let log = view.process.log();
        let status = view.process.status(view.here, view.config);
        let serving = view.process.serving(view.now);
        let found = serving.and_then(|_| Some((log.frozen()?, log.roster()?.clone())));
        found.map(|found| (found, log.promise().0)).ok_or(status.coordinator)
    };
    let found = timeout(ANSWERS_WITHIN, about.handle.running.inspect(look)).await;
    let found = found.ok().flatten().ok_or_else(silent)?;
    let not_here = |leader| declined(&about, Decline::NotCoordinator(leader));
    let (((at, state), roster), promised) = found.map_err(not_here)?;
    tracing::info!(term = %at.term, index = %at.index, "a backup is being made, ordered by {by}");
    let settings = &about.settings;
    let owner =
        Owner { cluster: settings.cluster.clone(), id: settings.id, protocol: PROTOCOL.to_owned() };
    let taken_ms = wall::micros() / 1_000;
    let head = Head { roster, promised, taken_ms, version: env!("CARGO_PKG_VERSION").to_owned() };
    let (pieces, sent) = mpsc::channel(2);
    tokio::task::spawn_blocking(move || {
        let _place = place;
        // If it fails, the reader is gone; or it sees that the end is missing.
        let _ = write(Pieces(pieces), &owner, at, &head, &state);
    });
    let body = Body::from_stream(ReceiverStream::new(sent));
    Ok(([(CONTENT_TYPE, "application/octet-stream")], body).into_response())
}

/// Gives what is written to a response.
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Ok(Bytes::copy_from_slice(bytes));
        self.0.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a backup.
fn write(
    out: impl Write,
    owner: &Owner,
    at: Position,
    head: &Head,
    state: &Coordination,
) -> io::Result<()> {
    let mark = Mark { term: at.term.number(), index: at.index.number() };
    let out = BufWriter::with_capacity(PIECE, out);
    let mut file = Encoder::new(out, owner, mark, &pack(head))?;
    let mut cursor = Some(Default::default());
    while let Some(from) = cursor {
        let (parts, next) = state.cut(&from, PIECE);
        if !parts.is_empty() {
            file.part(&pack(&parts))?;
        }
        cursor = next;
    }
    file.finish().map(drop)
}

/// A backup that was read whole, with all checksums right.
#[derive(Debug)]
pub struct Backup {
    /// The name of the cluster.
    pub cluster: String,
    /// Up to where in its log.
    pub at: Position,
    /// What the file says first.
    pub head: Head,
    /// Sessions, locks and roles.
    pub state: Arc<Coordination>,
    /// The checksum of all checksums.
    sum: u32,
}

/// Why a file cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum NoBackup {
    /// It cannot be read.
    #[error(
        "{0}; name the file that `bellwether backup` wrote, and run this as a user who may read it"
    )]
    Unreadable(DurableError),
    /// It is damaged, or no backup, or one of a later version.
    #[error("`{}` cannot be restored: at byte {offset}: {what}. {advice}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        what: String,
        /// What to do.
        advice: &'static str,
    },
}

impl NoBackup {
    fn of(error: DurableError) -> Self {
        match error {
            DurableError::Unusable { path, offset, what, .. } => {
                let advice = match what.as_str() {
                    what if what.contains("this version knows") => {
                        "Use the version of bellwether that wrote it"
                    }
                    what if what.contains("not a snapshot") || what.contains("not a backup") => {
                        "Name a file that `bellwether backup` wrote"
                    }
                    _ => "Copy the file again from where it is kept, or use another backup",
                };
                NoBackup::Unusable { path, offset, what, advice }
            }
            other => NoBackup::Unreadable(other),
        }
    }
}

impl Backup {
    /// Reads a file and checks all of it.
    pub fn read(path: &Path) -> Result<Backup, NoBackup> {
        let mut head = None;
        let mut state = Coordination::default();
        let judge = |about: &snapshot::About| match about.owner.protocol == PROTOCOL {
            true => Ok(()),
            false => Err(damaged(path, 28, "it is a snapshot of a data folder and not a backup")),
        };
        let mut take_head = |bytes: &[u8]| {
            head = Some(unpack::<Head>(bytes, "head").map_err(|what| what.to_string())?);
            Ok(())
        };
        let mut take_part = |bytes: &[u8]| {
            let parts = unpack(bytes, "parts").map_err(|what| what.to_string())?;
            state.absorb(parts).map_err(|what| what.to_string())
        };
        let (about, found) = snapshot::read_file(path, judge, &mut take_head, &mut take_part)
            .map_err(NoBackup::of)?;
        let wrong = |what: String| NoBackup::of(damaged(path, 0, what));
        let head = head.ok_or_else(|| wrong("it has no head".to_owned()))?;
        let state = state.complete().map_err(|what| wrong(what.to_string()))?;
        let at = Position::new(about.at.term, about.at.index);
        let (cluster, state) = (about.owner.cluster, Arc::new(state));
        Ok(Backup { cluster, at, head, state, sum: found.sum })
    }

    /// The highest term that is known of the former cluster. A token may have run over into the next one.
    fn known(&self) -> Term {
        let token = Term::new(self.state.last_token().term());
        self.at.term.max(self.head.promised).max(token)
    }
}

/// What to make of a backup.
#[derive(Debug)]
pub struct Restore<'a> {
    /// The data folder, which is empty or does not exist.
    pub data: &'a Path,
    /// Whose it will be.
    pub id: NodeId,
    /// The name of the new cluster; that of the former one if it is not given.
    pub cluster: Option<&'a str>,
    /// No token up to this one is given again; if it is not given, [`TERMS_BETWEEN`] terms are left out.
    pub token_floor: Option<u64>,
}

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// The log folder.
    pub folder: PathBuf,
    /// The member.
    pub member: u32,
    /// The name of the cluster.
    pub cluster: String,
    /// Its id.
    pub cluster_id: String,
    /// The id of the cluster that the backup is of, if that had one.
    pub restored_from: Option<String>,
    /// The last term that is left out.
    pub term: u64,
    /// Every token that the cluster will give is larger.
    pub token_floor: u64,
    /// How many sessions there are.
    pub sessions: usize,
    /// How many locks are held.
    pub locks: usize,
    /// How many roles there are.
    pub roles: usize,
}

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum NotRestored {
    /// The floor is below what was given already, or leaves no terms.
    #[error(
        "--token-floor {floor} is not between {least} and {most}: {least} is the last token in the backup. \
         Give the largest token that any protected resource has seen"
    )]
    Floor {
        /// What was asked for.
        floor: u64,
        /// The least that is allowed.
        least: u64,
        /// The most.
        most: u64,
    },
    /// The folder holds something.
    #[error(
        "the data folder `{}` is not empty: it holds `{found}`. Name another folder, or move what is there \
         away", folder.display()
    )]
    NotEmpty {
        /// The data folder.
        folder: PathBuf,
        /// What is in it.
        found: String,
    },
    /// It cannot be written.
    #[error("{0}; make the folder writable for this user, or choose another")]
    Failed(DurableError),
}

impl Restore<'_> {
    /// Makes a data folder from which a member of a new cluster starts.
    pub fn run(&self, backup: &Backup) -> Result<Restored, NotRestored> {
        let term = self.term(backup)?;
        self.check_empty()?;
        let cluster = self.cluster.unwrap_or(&backup.cluster).to_owned();
        let (Backup { at, head, state, sum, .. }, id) = (backup, u64::from(self.id.number()));
        let former = head.roster.cluster;
        let of_file = [u64::from(*sum), at.term.number(), at.index.number(), term.number()];
        let former_number = former.map_or(0, ClusterId::number);
        let new = ClusterId::from_numbers(of_file.into_iter().chain([former_number]));
        let hard = HardState {
            birth: Birth::new(ClusterId::from_numbers([new.number(), id]).number()),
            starts: 0,
            promised: term,
            vote: None,
            longest_ttl_ms: 0,
            floor: Position::ZERO,
            lost: false,
            keeps_log: true,
            granted: Duration::ZERO,
        };
        let roster = Roster { cluster: Some(new), ..Roster::default() };
        let owner =
            Owner { cluster: cluster.clone(), id: self.id, protocol: crate::Wire::NAME.to_owned() };
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |error| NotRestored::Failed(DurableError::Io { action, path, error })
        };
        std::fs::create_dir_all(self.data).map_err(io("create the directory", self.data))?;
        let folder = self.data.join(format!("{cluster}-{id}.log"));
        let beside = self.data.join(format!("{cluster}-{id}.log.new"));
        let at = Position { term, index: at.index };
        LogStore::found(&beside, owner, (at, hard), &roster, state).map_err(NotRestored::Failed)?;
        std::fs::rename(&beside, &folder).map_err(io("rename", &beside))?;
        let synced = std::fs::File::open(self.data).and_then(|data| data.sync_all());
        synced.map_err(io("sync the directory", self.data))?;
        Ok(Restored {
            folder,
            member: self.id.number(),
            cluster,
            cluster_id: new.to_string(),
            restored_from: former.map(|id| id.to_string()),
            term: term.number(),
            token_floor: (term.number() + 1) << 32,
            sessions: state.sessions().len(),
            locks: state.locks().len(),
            roles: state.roles().len(),
        })
    }

    /// The last term that the new cluster leaves out.
    fn term(&self, backup: &Backup) -> Result<Term, NotRestored> {
        let known = backup.known();
        let Some(floor) = self.token_floor else {
            return Ok(Term::new(known.number().saturating_add(TERMS_BETWEEN)));
        };
        let (least, most) = (backup.state.last_token().0, HIGHEST_TERM << 32);
        if !(least..=most).contains(&floor) {
            return Err(NotRestored::Floor { floor, least, most });
        }
        Ok(known.max(Term::new(Token(floor).term())))
    }

    fn check_empty(&self) -> Result<(), NotRestored> {
        let found = match std::fs::read_dir(self.data) {
            Ok(entries) => entries.flatten().map(|entry| entry.file_name()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let (action, path) = ("list the directory", self.data.to_owned());
                return Err(NotRestored::Failed(DurableError::Io { action, path, error }));
            }
        };
        let mut found = found.map(|name| name.to_string_lossy().into_owned());
        match found.find(|name| name != HARMLESS) {
            None => Ok(()),
            Some(found) => Err(NotRestored::NotEmpty { folder: self.data.to_owned(), found }),
        }
    }
}

/// Makes sure that a file is a whole backup: what a command prints of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// The name of the cluster.
    pub cluster: String,
    /// Its id, if it has one.
    pub cluster_id: Option<String>,
    /// When it was made.
    pub taken: String,
    /// The term of the last entry in it.
    pub term: u64,
    /// The index of the last entry in it.
    pub index: u64,
    /// The last token in it.
    pub last_token: u64,
    /// How many sessions there are.
    pub sessions: usize,
    /// How many locks are held.
    pub locks: usize,
    /// How many roles there are.
    pub roles: usize,
}

impl From<&Backup> for Summary {
    fn from(backup: &Backup) -> Self {
        let Backup { cluster, at, head, state, .. } = backup;
        Summary {
            cluster: cluster.clone(),
            cluster_id: head.roster.cluster.map(|id| id.to_string()),
            taken: wall::at(head.taken_ms),
            term: at.term.number(),
            index: at.index.number(),
            last_token: state.last_token().0,
            sessions: state.sessions().len(),
            locks: state.locks().len(),
            roles: state.roles().len(),
        }
    }
}
