//! What a coordinator does for applications: sessions, locks and roles, as a pure state machine.
//!
//! The coordinator turns each request into a [`Command`], and answers the client when the command is committed. Every member applies the same commands in the same order
//! and comes to the same state; a new coordinator goes on from there. So the state knows no clock:
//! that a session has outlived its client is a command too ([`Command::End`]), and times in it are
//! only for people.
//!
//! # Rules
//! * S1 A request has a number within its session. The same number again is the same request again:
//!   nothing is done twice. As long as it holds or waits, it is answered by what it has now; once it is
//!   over, by the answer that it got, until the client says that it has it. A grant that was given
//!   back is not told again.
//! * S2 When a session ends, its requests are withdrawn, its locks given back and its roles left.
//! * L1 A request for locks gets all of them or none. It waits in the queue of each.
//! * L2 It is granted when it is the first in all its queues and no holder is in its way: those that
//!   share do not exclude each other, and a semaphore admits as many as it has permits.
//! * L3 Every grant has a token that is larger than all before it.
//! * L4 A request that closes a cycle of sessions which wait for each other is a deadlock. The
//!   youngest request of the cycle is aborted, or the cycle is only reported.
//! * R1 The first candidate of a role leads it. When a leader is gone, the next one leads: by order of
//!   arrival, or by priority.
//! * R2 A leader is never replaced while it leads. If a role preempts, it is asked to yield, and
//!   does so by resigning.
//! * R3 A leader may hand its role over to a named candidate.
//! * R4 What a session asks about a role refers to its candidacy before. A request that comes late does
//!   not touch a later candidacy.
//! * R5 A role without candidates is remembered with its last changes, until too many such roles are:
//!   then the one that was left first is forgotten.
//! * T1 A token that is not held is over for good: by it nothing is held again, in no term.

mod bearer;
mod client;
mod command;
mod idle;
mod ids;
mod lock;
mod locking;
mod parts;
mod queue;
mod role;
mod session;
mod shared;
mod sizes;
mod small;
mod sound;
mod state;
mod stuck;
mod talk;
mod waits;
mod wants;

pub use bearer::Subject;
pub use client::{Client, ClientEvent, SessionEnded, Setup};
pub use command::{
    Answer, Ask, Command, Deadlock, Ending, LONGEST_TTL_MS, Limits, Mode, OnDeadlock, Outcome,
    Policy, Refusal, RoleChange, Stamp, WAITS_KEPT, Wait, Want,
};
pub use ids::{NoSecret, NoSessionId, Number, Secret, SessionId, Token};
pub use lock::Lock;
pub use parts::{Cursor, OfRole, OfSession, Part};
pub use queue::{Queue, Waiter};
pub use role::{Candidate, Role};
pub use session::{Claim, Session};
pub use shared::SharedMap;
pub use small::{SmallMap, UsualMap};
pub use state::Coordination;
pub use talk::{Reply, Request, Sent};
pub use wants::Wants;
