//! What the client says, in the words of a history.

use super::super::history::{Ended, Outcome, Refused};
use bellwether::{Deadlock, Error, ErrorKind, Lost, SessionEnd};

pub(super) fn over(why: SessionEnd) -> Ended {
    match why {
        SessionEnd::DeadlinePassed => Ended::DeadlinePassed,
        SessionEnd::Expired => Ended::Expired,
        SessionEnd::ProcessDied => Ended::Died,
        SessionEnd::EndedByOther | SessionEnd::Closed => Ended::Closed,
        _ => Ended::Unknown,
    }
}

pub(super) fn lost(how: &Lost) -> Ended {
    match how {
        Lost::SessionEnded(why) => over(*why),
        Lost::HandedOver => Ended::HandedOver,
        _ => Ended::Taken,
    }
}

/// What has become of a request that was not granted.
pub(super) fn outcome(error: &Error) -> Outcome {
    match (error.kind(), error.session_end(), error.deadlock()) {
        (_, Some(why), _) => Outcome::SessionEnded { why: over(why) },
        (_, _, Some(deadlock)) => cycle(deadlock),
        (ErrorKind::Busy, ..) => Outcome::Busy,
        (ErrorKind::Timeout, ..) => Outcome::TimedOut,
        _ => Outcome::Refused { why: error.to_string() },
    }
}

fn cycle(deadlock: &Deadlock) -> Outcome {
    let wait = |wait: &bellwether::Wait| (wait.session.to_string(), wait.lock.clone());
    Outcome::Deadlock {
        aborted: deadlock.aborted.map(|session| session.to_string()),
        cycle: deadlock.cycle.iter().map(wait).collect(),
    }
}

pub(super) fn refused(error: &Error) -> Refused {
    match (error.kind(), error.session_end()) {
        (_, Some(why)) => Refused::SessionEnded(over(why)),
        (ErrorKind::NoSuchCandidate, _) => Refused::NoSuchCandidate,
        _ => Refused::Other(error.to_string()),
    }
}
