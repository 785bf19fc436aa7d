//! Why a call failed, and how something that was held was lost.

use crate::{Deadlock, SessionEnd};
use bellwether_coordination::{Refusal, SessionEnded};
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why a call failed. [`Error::kind`] is for programs; the text says what failed, why, and what to do.
///
/// ```no_run
/// use bellwether::ErrorKind;
///
/// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
/// match session.lock("report").try_lock().await {
///     Ok(lock) => println!("locked with token {}", lock.token()),
///     Err(error) if error.kind() == ErrorKind::Busy => println!("another session has it"),
///     Err(error) => return Err(error),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    text: String,
    detail: Detail,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What an error knows beside its text.
#[derive(Clone, Debug)]
enum Detail {
    None,
    Deadlock(Deadlock),
    SessionEnd(SessionEnd),
    /// The endpoints that were tried, and the result of each.
    Tried(Vec<String>),
    /// The lock or role that the coordinator named.
    Name(String),
}

/// The kinds of [`Error`]. More may be added: match with a last arm for all others.
///
/// ```
/// use bellwether::{Endpoints, ErrorKind};
///
/// let error = Endpoints::parse("db-1", None, None).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidEndpoint);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is no endpoint of a member.
    InvalidEndpoint,
    /// A certificate cannot be used, or one side does not trust the other's.
    Tls,
    /// A member answered and rejected this client.
    Rejected,
    /// No member answered.
    Unavailable,
    /// Members answered, but no coordinator did: the reachable members are no majority, or an election takes long.
    NoCoordinator,
    /// The session ended, and with it all that it held. [`Error::session_end`] says why.
    SessionEnded,
    /// The request was not granted before its timeout.
    Timeout,
    /// A lock is not free, and the request does not wait.
    Busy,
    /// The request was aborted because it was part of a deadlock. [`Error::deadlock`] has the cycle.
    Deadlock,
    /// The lock or role is not held, or no longer.
    NotHeld,
    /// The token belongs to no current grant.
    StaleToken,
    /// The member cannot watch that process.
    NotWatched,
    /// Only an operator may do this.
    NotOperator,
    /// A limit of the cluster is reached: sessions, requests, waiters or memory.
    LimitReached,
    /// A name is empty, too long, or has control characters.
    InvalidName,
    /// A value is too large.
    ValueTooLarge,
    /// The cluster does not allow this TTL.
    InvalidTtl,
    /// The number of permits or the policy of a role differs from what its other users say, or makes no sense.
    Mismatch,
    /// This session holds the lock or waits for it already, or campaigns for the role already.
    AlreadyRequested,
    /// That session does not campaign for the role.
    NoSuchCandidate,
    /// The coordinator refused the request for another reason.
    InvalidRequest,
    /// The engine behind the address cannot do this. Nothing was asked for.
    Unsupported,
}

impl Error {
    fn new(kind: ErrorKind, text: String) -> Self {
        Error(Box::new(Inner { kind, text, detail: Detail::None, source: None }))
    }

    fn with(mut self, detail: Detail) -> Self {
        self.0.detail = detail;
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The cycle of sessions that wait for each other, if this is a [deadlock](ErrorKind::Deadlock).
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) {
    /// if let Err(error) = session.lock("a").await
    ///     && let Some(deadlock) = error.deadlock()
    /// {
    ///     for wait in &deadlock.cycle {
    ///         eprintln!("{} waits for '{}'", wait.client, wait.lock);
    ///     }
    /// }
    /// # }
    /// ```
    pub fn deadlock(&self) -> Option<&Deadlock> {
        match &self.0.detail {
            Detail::Deadlock(deadlock) => Some(deadlock),
            _ => None,
        }
    }

    /// Why the session ended, if it [did](ErrorKind::SessionEnded).
    ///
    /// ```
    /// use bellwether::{Error, SessionEnd};
    ///
    /// fn may_have_expired(error: &Error) -> bool {
    ///     matches!(error.session_end(), Some(SessionEnd::Expired | SessionEnd::DeadlinePassed))
    /// }
    /// ```
    pub fn session_end(&self) -> Option<SessionEnd> {
        match self.0.detail {
            Detail::SessionEnd(why) => Some(why),
            _ => None,
        }
    }

    /// The endpoints that were tried, each with the result, if members [did not answer](ErrorKind::Unavailable) or
    /// [had no coordinator](ErrorKind::NoCoordinator).
    ///
    /// ```no_run
    /// use bellwether::{Client, Endpoints};
    ///
    /// # async fn example() {
    /// if let Err(error) = Client::connect(Endpoints::unix("/nowhere.sock")).await {
    ///     error.tried().iter().for_each(|line| eprintln!("{line}"));
    /// }
    /// # }
    /// ```
    pub fn tried(&self) -> &[String] {
        match &self.0.detail {
            Detail::Tried(tried) => tried,
            _ => &[],
        }
    }

    /// The lock or role that is [busy](ErrorKind::Busy) or [requested already](ErrorKind::AlreadyRequested).
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) {
    /// if let Err(error) = session.lock("a").and("b").try_lock().await {
    ///     println!("{:?} is not free", error.name());
    /// }
    /// # }
    /// ```
    pub fn name(&self) -> Option<&str> {
        match &self.0.detail {
            Detail::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Says first what failed.
    pub(crate) fn doing(mut self, what: impl fmt::Display) -> Self {
        self.0.text = format!("{what}: {}", self.0.text);
        self
    }

    pub(crate) fn endpoint(endpoint: &str, why: &str) -> Self {
        Error::new(ErrorKind::InvalidEndpoint, format!("'{endpoint}' is no endpoint: {why}"))
    }

    pub(crate) fn tls(why: impl Into<String>) -> Self {
        Error::new(ErrorKind::Tls, why.into())
    }

    /// A cause that has a type of its own.
    pub(crate) fn because(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    #[cfg(feature = "etcd")]
    pub(crate) fn of_kind(kind: ErrorKind, text: String) -> Self {
        Error::new(kind, text)
    }

    /// The engine cannot do this.
    #[cfg(feature = "etcd")]
    pub(crate) fn unsupported(why: impl Into<String>) -> Self {
        Error::new(ErrorKind::Unsupported, why.into())
    }

    /// Others use a name for something else.
    #[cfg(feature = "etcd")]
    pub(crate) fn used_by_others(why: impl Into<String>) -> Self {
        Error::new(ErrorKind::Mismatch, why.into())
    }

    pub(crate) fn rejected(endpoint: &str, why: &str) -> Self {
        Error::new(ErrorKind::Rejected, format!("{endpoint} rejected this client: {why}"))
    }

    pub(crate) fn unavailable(tried: Vec<String>) -> Self {
        let text = format!(
            "no member answers ({}); is the cluster running? Start it, or say where its members are",
            tried.join("; ")
        );
        Error::new(ErrorKind::Unavailable, text).with(Detail::Tried(tried))
    }

    pub(crate) fn no_coordinator(after: Duration, tried: Vec<String>) -> Self {
        let text = format!(
            "no coordinator answered for {after:?} ({}); try again when a majority of the members is up and connected",
            tried.join("; ")
        );
        Error::new(ErrorKind::NoCoordinator, text).with(Detail::Tried(tried))
    }

    pub(crate) fn session_ended(why: SessionEnd) -> Self {
        let text = format!("the session ended: {why}; open a new one");
        Error::new(ErrorKind::SessionEnded, text).with(Detail::SessionEnd(why))
    }

    pub(crate) fn timeout(after: Duration, ahead: Option<u64>) -> Self {
        let queue = match ahead {
            Some(0) => " (first in the queue)".to_owned(),
            Some(1) => " (1 request is ahead of this one)".to_owned(),
            Some(ahead) => format!(" ({ahead} requests are ahead of this one)"),
            None => String::new(),
        };
        let text = format!("timed out after {after:?}{queue}; try again, or wait longer");
        Error::new(ErrorKind::Timeout, text)
    }

    pub(crate) fn not_held(what: &str, why: impl fmt::Display) -> Self {
        let text = format!("{what} is no longer held: {why}; ask for it again");
        Error::new(ErrorKind::NotHeld, text)
    }

    pub(crate) fn no_lists(member: u32) -> Self {
        let text = format!("P{member} runs a version that has no lists; upgrade it");
        Error::new(ErrorKind::InvalidRequest, text)
    }

    pub(crate) fn not_watched(pid: u32, why: &str) -> Self {
        Error::new(ErrorKind::NotWatched, format!("the member cannot watch process {pid}: {why}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, text, detail, source } = &*self.0;
        let mut shown = f.debug_struct("Error");
        shown.field("kind", kind).field("text", text);
        if !matches!(detail, Detail::None) {
            shown.field("detail", detail);
        }
        if let Some(source) = source {
            shown.field("source", source);
        }
        shown.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// The coordinator refused a request, and nothing has changed.
pub(crate) fn refused(refusal: Refusal) -> Error {
    let (kind, advice) = explained(&refusal);
    let text = match &refusal {
        Refusal::Deadlock(deadlock) => format!("deadlock: {deadlock}{advice}"),
        Refusal::StaleToken(of, token) => {
            format!("{of} is not held by token {token} of term {}{advice}", token.term())
        }
        refusal => format!("{refusal}{advice}"),
    };
    let detail = match refusal {
        Refusal::Deadlock(deadlock) => Detail::Deadlock(Deadlock::of(deadlock)),
        Refusal::NoSession(_) => Detail::SessionEnd(SessionEnd::Unknown),
        Refusal::Busy(name) | Refusal::AlreadyAsked(name) | Refusal::AlreadyCampaigns(name) => {
            Detail::Name(name)
        }
        _ => Detail::None,
    };
    Error::new(kind, text).with(detail)
}

/// A session that could not be opened was refused; any other has ended.
pub(crate) fn ended(why: SessionEnded) -> Error {
    match why {
        SessionEnded::Refused(refusal) => refused(refusal),
        why => Error::session_ended(SessionEnd::of(why)),
    }
}

/// The kind of a refusal, and what to do about it where it does not say so itself.
fn explained(refusal: &Refusal) -> (ErrorKind, &'static str) {
    use ErrorKind as Kind;
    match refusal {
        Refusal::NoSession(_) => (Kind::SessionEnded, ""),
        Refusal::TooManyRequests(_) => (Kind::LimitReached, ""),
        Refusal::AlreadyAsked(_) => (Kind::AlreadyRequested, ""),
        Refusal::GaveUp => (Kind::Timeout, ""),
        Refusal::Deadlock(_) => (
            Kind::Deadlock,
            "; this request was aborted. Ask for locks in the same order everywhere, or for all at once",
        ),
        Refusal::StaleToken(..) => (Kind::StaleToken, "; reject requests that carry it"),
        Refusal::TooManySessions(_) => {
            (Kind::LimitReached, "; close some, or raise sessions.max of the members")
        }
        Refusal::TooManyOfClient(_) => {
            (Kind::LimitReached, "; close some, or raise sessions.per_client_max of that member")
        }
        Refusal::StateFull(_) => {
            (Kind::LimitReached, ", or raise sessions.bytes_max of the members")
        }
        Refusal::TooManyWaiters(_) => (Kind::LimitReached, "; try again later"),
        Refusal::TooManyWants(_) => (Kind::LimitReached, "; ask for fewer"),
        Refusal::NothingWanted => (Kind::InvalidRequest, "; name at least one"),
        Refusal::InvalidName(_) => (Kind::InvalidName, "; choose another one"),
        Refusal::ValueTooLarge(_) => {
            (Kind::ValueTooLarge, "; keep it elsewhere and proclaim where")
        }
        Refusal::InvalidTtl(..) => (Kind::InvalidTtl, "; choose one of those"),
        Refusal::NamedTwice(_) => (Kind::InvalidRequest, "; name it once"),
        Refusal::Busy(_) => (Kind::Busy, "; try again later, or wait for it"),
        Refusal::OtherPermits { .. } | Refusal::InvalidPermits(_) => {
            (Kind::Mismatch, "; all that use it must name the same number")
        }
        Refusal::OtherPolicy(..) => (Kind::Mismatch, "; all candidates must say the same"),
        Refusal::NotAsked(_) => (Kind::NotHeld, "; ask again"),
        Refusal::Forgotten(_) => (Kind::InvalidRequest, "; ask again"),
        Refusal::AlreadyCampaigns(_) => {
            (Kind::AlreadyRequested, "; resign first, or use another session")
        }
        Refusal::NotCandidate(_) | Refusal::NotLeader(_) => {
            (Kind::NotHeld, "; campaign for it first")
        }
        Refusal::NoSuchCandidate(..) => {
            (Kind::NoSuchCandidate, "; `bellwether roles` lists the candidates")
        }
        Refusal::NotHolder(..) => (Kind::NotHeld, "; `bellwether locks` lists the holders"),
        Refusal::NotOperator => (
            Kind::NotOperator,
            "; connect by a member's Unix socket as the member's user, or use `bellwether locks --release`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn an_error_says_what_failed_why_and_what_to_do() {
        let error = Error::timeout(Duration::from_millis(200), Some(2)).doing("cannot lock 'a'");
        assert_eq!(
            error.to_string(),
            "cannot lock 'a': timed out after 200ms (2 requests are ahead of this one); try again, or wait longer"
        );
        assert_eq!(error.kind(), ErrorKind::Timeout);
    }

    #[test]
    fn a_cause_is_kept() {
        let cause = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = Error::tls("cannot read 'ca.pem'").because(cause);
        assert!(error.source().is_some_and(<dyn StdError>::is::<io::Error>), "{error:?}");
        assert!(error.clone().source().is_some());
    }

    /// A session that the coordinator does not know has ended for every client.
    #[test]
    fn an_unknown_session_has_ended() {
        let error = refused(Refusal::NoSession(crate::SessionId(1)));
        assert_eq!(error.kind(), ErrorKind::SessionEnded);
        assert_eq!(error.session_end(), Some(SessionEnd::Unknown));
    }
}
