//! Each refusal as HTTP says it: a status, a word that does not change, and what to do.

use super::look::Blind;
use super::shown;
use axum::http::StatusCode;
use bellwether_coordination::{Ending, Refusal, SessionId};
use bellwether_http::ErrorResponse;

/// A lock that is being force-released: until it is released, the session is not kept alive.
pub(super) fn force_released(lock: &str, request: u64, by: &str) -> ErrorResponse {
    let error = format!("the lock '{lock}' is being force-released by {by}");
    let hint = format!("stop the work that relies on it, then release request {request}");
    ErrorResponse::new(StatusCode::CONFLICT, error, Some(&hint)).coded("force-released")
}

/// What the coordinator refused.
pub(super) fn refused(refusal: &Refusal) -> ErrorResponse {
    use Refusal::*;
    let (conflict, crowded) = (StatusCode::CONFLICT, StatusCode::TOO_MANY_REQUESTS);
    let senseless = StatusCode::UNPROCESSABLE_ENTITY;
    let (status, code, hint) = match refusal {
        NoSession(_) => (StatusCode::GONE, "no-session", "open one with POST /v1/sessions"),
        TooManySessions(_) => (
            crowded,
            "too-many-sessions",
            "end some, or raise [sessions] in the configuration of the members",
        ),
        TooManyOfClient(_) => (
            crowded,
            "too-many-sessions-of-client",
            "end some, or raise per_client_max of [sessions] in the configuration of this member",
        ),
        StateFull(_) => (
            crowded,
            "state-full",
            "release what is not needed, or raise bytes_max of [sessions] in the configuration of the members",
        ),
        TooManyRequests(_) => {
            (crowded, "too-many-requests", "release what is not needed, or use another session")
        }
        TooManyWaiters(_) => (crowded, "too-many-waiters", "try again later"),
        TooManyWants(_) => (senseless, "too-many-locks", "ask for fewer at once"),
        NothingWanted => (senseless, "nothing-wanted", "name at least one lock"),
        InvalidName(_) => (senseless, "bad-name", "choose another name"),
        ValueTooLarge(_) => {
            (senseless, "value-too-large", "keep the value elsewhere and proclaim where")
        }
        InvalidTtl(..) => (senseless, "bad-ttl", "choose another ttl_ms"),
        NamedTwice(_) => (senseless, "named-twice", "name each lock once"),
        AlreadyAsked(_) => (conflict, "already-asked", "release it first, or use another session"),
        Busy(_) => (conflict, "busy", "try again later, or wait with wait_ms"),
        OtherPermits { .. } => (
            conflict,
            "other-permits",
            "all that use a semaphore must name the same number of permits",
        ),
        InvalidPermits(_) => (senseless, "bad-permits", "see 'permits' and 'of'"),
        NotAsked(_) => (conflict, "not-held", "see /v1/locks for the holders and their requests"),
        Forgotten(_) => (
            conflict,
            "forgotten",
            "numbers grow within a session: number all its requests, or none",
        ),
        Deadlock(deadlock) => {
            let hint = "release what this session holds, then ask again; ask for locks in the \
                        same order everywhere, or for all of them at once";
            let cycle = shown::deadlock(deadlock);
            return ErrorResponse::new(conflict, refusal.to_string(), Some(hint))
                .coded("deadlock")
                .deadlocked(cycle);
        }
        AlreadyCampaigns(_) => {
            (conflict, "already-campaigns", "resign first, or use another session")
        }
        NotCandidate(_) => (conflict, "not-candidate", "see /v1/roles for the candidates"),
        NotLeader(_) => (conflict, "not-leader", "see /v1/roles for the leader"),
        NoSuchCandidate(..) => (conflict, "no-such-candidate", "see /v1/roles for the candidates"),
        OtherPolicy(..) => {
            (conflict, "other-policy", "all candidates of a role must name the same policy")
        }
        NotHolder(..) => (conflict, "not-holder", "see /v1/locks for the holder"),
        GaveUp => (
            StatusCode::REQUEST_TIMEOUT,
            "timeout",
            "wait longer with wait_ms; see /v1/locks for the holder",
        ),
        NotOperator => (
            StatusCode::FORBIDDEN,
            "not-operator",
            "send the operator token of the member in the header Authorization",
        ),
        StaleToken(..) => (
            conflict,
            "stale-token",
            "its owner has lost the lock or role, and must ask for it again",
        ),
    };
    ErrorResponse::new(status, refusal.to_string(), Some(hint)).coded(code)
}

/// The session is no more, for this reason if that is known.
pub(super) fn ended(session: SessionId, why: Option<Ending>) -> ErrorResponse {
    let error = match why {
        Some(why) => format!("session {session} has ended: {why}"),
        None => format!("session {session} has ended"),
    };
    let hint = "open another one with POST /v1/sessions; its locks and roles are released";
    ErrorResponse::new(StatusCode::GONE, error, Some(hint)).coded("no-session")
}

/// The session has another key than was shown.
pub(super) fn denied(session: SessionId) -> ErrorResponse {
    let error = format!("wrong key for session {session}; nothing was done");
    let hint = "send the 'key' that POST /v1/sessions answered when this session was opened";
    ErrorResponse::new(StatusCode::FORBIDDEN, error, Some(hint)).coded(WRONG_KEY)
}

/// The word for a session that is another's.
pub(super) const WRONG_KEY: &str = "wrong-key";

/// There is no such session, or none is written like this.
pub(super) fn unknown(session: &str) -> ErrorResponse {
    let error = format!("there is no session '{session}'");
    let hint = "see /v1/sessions for all sessions";
    ErrorResponse::new(StatusCode::NOT_FOUND, error, Some(hint)).coded("no-session")
}

/// There is no coordinator, so nothing was done.
pub(super) fn no_coordinator(why: Option<String>) -> ErrorResponse {
    let error = match why {
        Some(why) => format!("no coordinator: {why}; nothing was done"),
        None => "no coordinator; nothing was done".to_owned(),
    };
    let hint = "see /v1/status; a majority of the members must reach each other";
    ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, error, Some(hint)).coded("no-coordinator")
}

/// There was no answer in time, and it is not known whether anything was done.
pub(super) fn unanswered() -> ErrorResponse {
    let error =
        "the coordinator did not answer in time; the request may have been carried out or not";
    let hint = "ask again with the same number (or key); it is not carried out twice";
    ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, error, Some(hint)).coded("no-answer")
}

/// The member's state cannot be seen.
pub(super) fn blind(why: Blind) -> ErrorResponse {
    let (code, error, hint) = match why {
        Blind::Silent => {
            ("silent", "the member does not answer", "it has ended or hangs; see its log")
        }
        Blind::NoCopy => (
            "no-copy",
            "the member receives a snapshot and has no state yet",
            "ask again in a moment, or ask another member",
        ),
    };
    ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, error, Some(hint)).coded(code)
}

/// Something in the request makes no sense.
pub(super) fn senseless(code: &str, error: &str, hint: &str) -> ErrorResponse {
    ErrorResponse::new(StatusCode::UNPROCESSABLE_ENTITY, error, Some(hint)).coded(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;
    use bellwether_coordination::{Deadlock, Policy, Subject, Token};
    use std::collections::BTreeSet;

    #[test]
    fn every_refusal_has_a_status_and_a_word_of_its_own() {
        let (name, id) = ("x".to_owned(), SessionId(1));
        let deadlock = Deadlock { cycle: Vec::new(), aborted: Some(id), at: 0 };
        let all = [
            (Refusal::NoSession(id), 410),
            (Refusal::TooManySessions(1), 429),
            (Refusal::TooManyOfClient(1), 429),
            (Refusal::TooManyRequests(1), 429),
            (Refusal::StateFull(1), 429),
            (Refusal::TooManyWaiters(1), 429),
            (Refusal::TooManyWants(1), 422),
            (Refusal::NothingWanted, 422),
            (Refusal::InvalidName(1), 422),
            (Refusal::ValueTooLarge(1), 422),
            (Refusal::InvalidTtl(1, 2), 422),
            (Refusal::NamedTwice(name.clone()), 422),
            (Refusal::AlreadyAsked(name.clone()), 409),
            (Refusal::Busy(name.clone()), 409),
            (Refusal::OtherPermits { lock: name.clone(), of: 1 }, 409),
            (Refusal::InvalidPermits(name.clone()), 422),
            (Refusal::NotAsked(1), 409),
            (Refusal::Forgotten(1), 409),
            (Refusal::Deadlock(deadlock), 409),
            (Refusal::AlreadyCampaigns(name.clone()), 409),
            (Refusal::NotCandidate(name.clone()), 409),
            (Refusal::NotLeader(name.clone()), 409),
            (Refusal::NoSuchCandidate(name.clone(), id), 409),
            (Refusal::OtherPolicy(name.clone(), Policy::FirstCome), 409),
            (Refusal::NotHolder(name, id), 409),
            (Refusal::GaveUp, 408),
            (Refusal::NotOperator, 403),
            (Refusal::StaleToken(Subject::Lock("x".to_owned()), Token(1)), 409),
        ];
        let mut words = BTreeSet::new();
        for (refusal, status) in &all {
            let answer = refused(refusal);
            let problem = answer.problem().clone();
            assert!(problem.hint.is_some(), "{refusal}");
            assert_eq!(problem.error, refusal.to_string());
            assert!(words.insert(problem.code.unwrap_or_default()), "{refusal}");
            assert_eq!(answer.into_response().status().as_u16(), *status, "{refusal}");
        }
        assert_eq!(words.len(), all.len());
    }

    #[test]
    fn a_session_that_ended_is_gone_and_one_that_never_was_is_not_found() {
        let status = |answer: ErrorResponse| answer.into_response().status().as_u16();
        assert_eq!(status(ended(SessionId(1), Some(Ending::Expired))), 410);
        assert_eq!(status(ended(SessionId(1), None)), 410);
        assert_eq!(status(unknown("x")), 404);
    }
}
