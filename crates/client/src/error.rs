//! What can go wrong.

use bellwether_coordination::{Deadlock, Ending, Refusal, SessionEnded, Subject, Token};
use std::time::Duration;

/// Why something was not done, each situation by itself.
///
/// Every one has an [exit code](Error::exit_code) that `bellwether lock` and `campaign` end with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text names no place where a member could be.
    #[error("'{endpoint}' is no endpoint: {why}")]
    BadEndpoint {
        /// The text.
        endpoint: String,
        /// What is wrong with it.
        why: String,
    },
    /// The certificate is not usable, or one side does not believe the other's.
    #[error("{0}")]
    Tls(String),
    /// A member answers, and does not let this client in.
    #[error("{endpoint} does not let this client in: {why}")]
    Rejected {
        /// Where the member is.
        endpoint: String,
        /// What it says.
        why: String,
    },
    /// No member answers.
    #[error(
        "no member answers ({}); is the cluster running? Start it, or say where its members are",
        .tried.join("; ")
    )]
    Unavailable {
        /// Where members were looked for, and what came of it.
        tried: Vec<String>,
    },
    /// Members answer, and none of them knows a coordinator, or the coordinator does not answer: those
    /// that can be reached are no majority, or an election takes long.
    #[error(
        "no coordinator answered for {} ({}); try again when a majority of the members is up and connected",
        shown(.after),
        .tried.join("; ")
    )]
    NoCoordinator {
        /// So long.
        after: Duration,
        /// The members that were asked, and what came of it.
        tried: Vec<String>,
    },
    /// The session is over, and with it all that it held.
    #[error("the session is over: {}; open a new one", over(.why))]
    SessionEnded {
        /// Why.
        why: SessionEnded,
    },
    /// It could not be had within the time that it was worth waiting for.
    #[error("{what} could not be had within {}", shown(.after))]
    Timeout {
        /// What was wanted.
        what: String,
        /// How long.
        after: Duration,
    },
    /// The request would have waited for ever, and was chosen to be given up.
    #[error("deadlock: {0}; this request was aborted")]
    Deadlock(Deadlock),
    /// It is not held, or not any more.
    #[error("{what} is not held any more: {why}; ask for it again")]
    NotHolder {
        /// What.
        what: String,
        /// How it was lost.
        why: String,
    },
    /// Nothing is held by that token: what it was given for was given back or lost.
    #[error("{of} is not held by token {token} of term {}; refuse whoever shows it", .token.term())]
    StaleToken {
        /// What it is said to be for.
        of: Subject,
        /// The token.
        token: Token,
    },
    /// That process cannot be watched.
    #[error("process {pid} is not watched: {why}")]
    NotWatched {
        /// Which.
        pid: u32,
        /// Why.
        why: String,
    },
    /// The coordinator refused it. Nothing has changed.
    #[error("{refusal}{advice}", refusal = .0, advice = advice(.0))]
    Refused(Refusal),
}

impl Error {
    /// What a program ends with that could not do its work because of this. The codes are above those that
    /// most programs use for themselves, and never change their meaning:
    ///
    /// | code | situation |
    /// | --- | --- |
    /// | 64 | [`BadEndpoint`](Error::BadEndpoint) |
    /// | 65 | refused for another reason than those below |
    /// | 69 | [`Unavailable`](Error::Unavailable): no member answers |
    /// | 70 | [`NoCoordinator`](Error::NoCoordinator): a minority only |
    /// | 71 | [`SessionEnded`](Error::SessionEnded), or there is no such session |
    /// | 72 | [`NotHolder`](Error::NotHolder): releasing what is not held, leading no more |
    /// | 73 | a limit of the cluster is reached: sessions, requests, waiters |
    /// | 74 | a name is too long, empty, or has control characters |
    /// | 75 | [`Timeout`](Error::Timeout), or it is not free and was not to be waited for |
    /// | 76 | [`Deadlock`](Error::Deadlock) |
    /// | 77 | [`Tls`](Error::Tls) or [`Rejected`](Error::Rejected), or only an operator may do this |
    /// | 78 | the TTL, the permits or the policy is not what the cluster allows or others use |
    /// | 79 | a value is too large |
    /// | 80 | the session stands for this role already, or has asked for this lock already |
    /// | 81 | [`NotWatched`](Error::NotWatched) |
    /// | 82 | [`StaleToken`](Error::StaleToken): a token of an older grant, or of an older term |
    ///
    /// ```
    /// use bellwether::{Error, Refusal};
    ///
    /// assert_eq!(Error::Unavailable { tried: vec![] }.exit_code(), 69);
    /// assert_eq!(Error::Refused(Refusal::InvalidName(256)).exit_code(), 74);
    /// ```
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::BadEndpoint { .. } => 64,
            Error::Unavailable { .. } => 69,
            Error::NoCoordinator { .. } => 70,
            Error::SessionEnded { .. } => 71,
            Error::NotHolder { .. } => 72,
            Error::Timeout { .. } => 75,
            Error::Deadlock(_) => 76,
            Error::Tls(_) | Error::Rejected { .. } => 77,
            Error::NotWatched { .. } => 81,
            Error::StaleToken { .. } => 82,
            Error::Refused(refusal) => match refusal {
                Refusal::NoSession(_) => 71,
                Refusal::NotAsked(_)
                | Refusal::NotHolder(..)
                | Refusal::NotLeader(_)
                | Refusal::NotCandidate(_) => 72,
                Refusal::TooManySessions(_)
                | Refusal::TooManyOfClient(_)
                | Refusal::TooManyRequests(_)
                | Refusal::TooManyWaiters(_)
                | Refusal::TooManyWants(_)
                | Refusal::StateFull(_) => 73,
                Refusal::InvalidName(_) => 74,
                Refusal::Busy(_) | Refusal::GaveUp => 75,
                Refusal::Deadlock(_) => 76,
                Refusal::StaleToken(..) => 82,
                Refusal::InvalidTtl(..)
                | Refusal::InvalidPermits(_)
                | Refusal::OtherPermits { .. }
                | Refusal::OtherPolicy(..) => 78,
                Refusal::NotOperator => 77,
                Refusal::ValueTooLarge(_) => 79,
                Refusal::AlreadyCampaigns(_) | Refusal::AlreadyAsked(_) => 80,
                Refusal::NothingWanted
                | Refusal::NamedTwice(_)
                | Refusal::Forgotten(_)
                | Refusal::NoSuchCandidate(..) => 65,
            },
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Deadlock(deadlock) => Error::Deadlock(deadlock),
            Refusal::StaleToken(of, token) => Error::StaleToken { of, token },
            refusal => Error::Refused(refusal),
        }
    }
}

/// A session that could not be begun was refused; any other is over.
impl From<SessionEnded> for Error {
    fn from(why: SessionEnded) -> Self {
        match why {
            SessionEnded::Refused(refusal) => refusal.into(),
            why => Error::SessionEnded { why },
        }
    }
}

fn over(why: &SessionEnded) -> String {
    match why {
        SessionEnded::Refused(refusal) => refusal.to_string(),
        // Its own client has not closed it.
        SessionEnded::Ended(Some(Ending::Closed)) => {
            "an operator or another client ended it".to_owned()
        }
        SessionEnded::Ended(Some(ending)) => ending.to_string(),
        SessionEnded::Ended(None) => "the coordinator has none".to_owned(),
        SessionEnded::DeadlinePassed => "the coordinator was not heard of in time".to_owned(),
        SessionEnded::Closed => "it was closed".to_owned(),
    }
}

/// What to do about a refusal that does not say so itself.
fn advice(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NoSession(_)
        | Refusal::TooManyRequests(_)
        | Refusal::AlreadyAsked(_)
        | Refusal::Deadlock(_)
        | Refusal::StaleToken(..)
        | Refusal::GaveUp => "",
        Refusal::TooManySessions(_) => "; close some, or raise sessions.max of the members",
        Refusal::TooManyOfClient(_) => {
            "; close some, or raise sessions.per_client_max of that member"
        }
        Refusal::StateFull(_) => ", or raise sessions.bytes_max of the members",
        Refusal::TooManyWaiters(_) => "; try again later",
        Refusal::TooManyWants(_) => "; ask for fewer",
        Refusal::NothingWanted => "; name at least one",
        Refusal::InvalidName(_) => "; choose another one",
        Refusal::ValueTooLarge(_) => "; keep it elsewhere and proclaim where",
        Refusal::InvalidTtl(..) => "; choose one of those",
        Refusal::NamedTwice(_) => "; name it once",
        Refusal::Busy(_) => "; try again later, or wait for it",
        Refusal::OtherPermits { .. } | Refusal::InvalidPermits(_) => {
            "; all that use it must name the same number"
        }
        Refusal::NotAsked(_) | Refusal::Forgotten(_) => "; ask anew",
        Refusal::AlreadyCampaigns(_) => "; resign first, or use another session",
        Refusal::NotCandidate(_) | Refusal::NotLeader(_) => "; stand for it first",
        Refusal::NoSuchCandidate(..) => "; `bellwether roles` lists who does",
        Refusal::OtherPolicy(..) => "; all candidates must say the same",
        Refusal::NotHolder(..) => "; `bellwether locks` lists who holds it",
        Refusal::NotOperator => {
            "; connect by a member's Unix socket as the member's user, or use `bellwether locks --release`"
        }
    }
}

fn shown(span: &Duration) -> String {
    format!("{span:?}")
}

/// How something that was held was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// The session is over.
    SessionEnded(SessionEnded),
    /// An operator took a lock away.
    Taken {
        /// The lock.
        lock: String,
        /// Who did it and why.
        by: String,
    },
    /// The role was handed over to another candidate.
    HandedOver,
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Lost::SessionEnded(why) => write!(f, "the session is over: {}", over(why)),
            Lost::Taken { lock, by } => write!(f, "'{lock}' was taken away by {by}"),
            Lost::HandedOver => f.write_str("it was handed over"),
        }
    }
}
