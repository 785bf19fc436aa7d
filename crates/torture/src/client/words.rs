//! What the client says, in the words of a history.

use super::super::history::{Ended, Outcome, Refused};
use bellwether::{Deadlock, Ending, Error, Lost, Refusal, SessionEnded};

pub(super) fn over(why: &SessionEnded) -> Ended {
    match why {
        SessionEnded::DeadlinePassed => Ended::DeadlinePassed,
        SessionEnded::Ended(Some(Ending::Expired)) => Ended::Expired,
        SessionEnded::Ended(Some(Ending::Died)) => Ended::Died,
        SessionEnded::Ended(Some(Ending::Closed)) | SessionEnded::Closed => Ended::Closed,
        SessionEnded::Ended(None) | SessionEnded::Refused(_) => Ended::Unknown,
    }
}

pub(super) fn lost(how: &Lost) -> Ended {
    match how {
        Lost::SessionEnded(why) => over(why),
        Lost::HandedOver => Ended::HandedOver,
        _ => Ended::Taken,
    }
}

/// What has become of a request that was not granted.
pub(super) fn outcome(error: &Error) -> Outcome {
    match error {
        Error::SessionEnded { why } => Outcome::SessionEnded { why: over(why) },
        Error::Refused(Refusal::NoSession(_)) => Outcome::SessionEnded { why: Ended::Unknown },
        Error::Refused(Refusal::Busy(_)) => Outcome::Busy,
        Error::Timeout { .. } => Outcome::InVain,
        Error::Deadlock(deadlock) => circle(deadlock),
        error => Outcome::Refused { why: error.to_string() },
    }
}

fn circle(deadlock: &Deadlock) -> Outcome {
    let wait = |wait: &bellwether::Wait| (wait.session.to_string(), wait.lock.clone());
    Outcome::Deadlock {
        aborted: deadlock.aborted.map(|session| session.to_string()),
        cycle: deadlock.cycle.iter().map(wait).collect(),
    }
}

pub(super) fn refused(error: &Error) -> Refused {
    match error {
        Error::SessionEnded { why } => Refused::SessionEnded(over(why)),
        Error::Refused(Refusal::NoSession(_)) => Refused::SessionEnded(Ended::Unknown),
        Error::Refused(Refusal::NoSuchCandidate(..)) => Refused::NoSuchCandidate,
        error => Refused::Other(error.to_string()),
    }
}
