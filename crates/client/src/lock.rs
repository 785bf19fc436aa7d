//! Locks.

use crate::session::Session;
use crate::state::{Granted, Hold, Outcome, Purpose, QueuePosition};
use crate::{Error, Lost, check};
use bellwether_coordination::{Ask, Mode, Number, Refusal, SessionEnded, Token, Want};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// A request for one or more locks, made when it is awaited.
///
/// It gets all of them or none, and waits in the queue of each. When its future is dropped while it waits, it is
/// given up; if it was granted just then, the locks are given back.
///
/// ```no_run
/// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
/// use std::time::Duration;
///
/// // Together with others that share it.
/// let reading = session.lock("catalogue").shared().await?;
/// // Two of the five permits of a semaphore.
/// let requests_by_number = session.lock("downloads").permits(2, 5).await?;
/// // Two locks at once; or neither, if they are not free within a second.
/// let both = session.lock("from").and("to").timeout(Duration::from_secs(1)).await?;
/// // Only if it is free.
/// let now = session.lock("report").try_lock().await;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is asked for before it is awaited"]
pub struct LockRequest {
    session: Session,
    wants: Vec<Want>,
    wait: bool,
    timeout: Option<Duration>,
    place: Option<QueuePosition>,
}

impl LockRequest {
    pub(crate) fn new(session: Session, name: String, mode: Mode) -> Self {
        let wants = vec![Want { name, mode }];
        LockRequest { session, wants, wait: true, timeout: None, place: None }
    }

    fn mode(mut self, mode: Mode) -> Self {
        if let Some(last) = self.wants.last_mut() {
            last.mode = mode;
        }
        self
    }

    /// The lock that was named last is wanted together with others that share it.
    pub fn shared(self) -> Self {
        self.mode(Mode::Shared)
    }

    /// What was named last is a semaphore of so many permits, and so many of them are wanted. All who use it
    /// must agree on how many there are.
    pub fn permits(self, take: u32, of: u32) -> Self {
        self.mode(Mode::Permits { take, of })
    }

    /// This lock, too, at the same time.
    pub fn and(mut self, name: impl Into<String>) -> Self {
        self.wants.push(Want { name: name.into(), mode: Mode::Exclusive });
        self
    }

    /// Does not wait: if they cannot be had at once, it fails with [`Refusal::Busy`].
    pub fn try_lock(mut self) -> Self {
        self.wait = false;
        self
    }

    /// Waits for so long at most, and then fails with [`Error::Timeout`].
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// Tells how many are before it while it waits, as far as is known.
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
    /// let (place, mut places) = tokio::sync::watch::channel(None);
    /// tokio::spawn(async move {
    ///     while places.changed().await.is_ok() {
    ///         if let Some(behind) = *places.borrow_and_update() {
    ///             println!("{behind} before us");
    ///         }
    ///     }
    /// });
    /// let lock = session.lock("orders").queue_position(place).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn queue_position(mut self, place: watch::Sender<Option<u64>>) -> Self {
        self.place = Some(place);
        self
    }

    async fn acquire(self) -> Result<Lock, Error> {
        let LockRequest { session, wants, wait, timeout, place } = self;
        check::wants(&wants)?;
        let names = wants.iter().map(|want| want.name.clone()).collect();
        let until = timeout.map(|time| Instant::now() + time);
        loop {
            let giving_back = session.giving_back();
            let ask = Ask::Lock { wants: wants.clone(), wait };
            let mut pending = session.ask(ask, Purpose::Lock, place.clone());
            let outcome = match until {
                None => Ok(pending.answered().await),
                Some(until) => timeout_at(until, pending.answered()).await,
            };
            let number = pending.number;
            match outcome {
                // It is given up when it is dropped.
                Err(_) => return Err(timed_out(names, timeout)),
                Ok(outcome) => {
                    pending.settled();
                    match outcome {
                        Outcome::Granted(granted) => {
                            return Ok(Lock { session, number, names, granted, held: true });
                        }
                        // This session has it still, as it was given back only a moment ago.
                        Outcome::Refused(Refusal::AlreadyAsked(_)) if !giving_back.is_empty() => {
                            session.given_back(&giving_back).await;
                        }
                        Outcome::Refused(refusal) => return Err(refusal.into()),
                        Outcome::SessionEnded(over) => return Err(over.into()),
                        Outcome::Done => return Err(SessionEnded::Closed.into()),
                    }
                }
            }
        }
    }
}

fn timed_out(names: Vec<String>, timeout: Option<Duration>) -> Error {
    let what = format!("'{}'", names.join("', '"));
    Error::Timeout { what, after: timeout.unwrap_or_default() }
}

impl IntoFuture for LockRequest {
    type Output = Result<Lock, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.acquire())
    }
}

impl fmt::Debug for LockRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockRequest").field("wants", &self.wants).finish_non_exhaustive()
    }
}

/// Locks that are held, until this is dropped or [released](Lock::release).
///
/// It keeps its session open.
#[must_use = "the locks are given back when it is dropped"]
pub struct Lock {
    session: Session,
    number: Number,
    names: Vec<String>,
    granted: Granted,
    /// Whether dropping it has to give something back.
    held: bool,
}

impl Lock {
    /// The fencing token: larger than all that were given before, for whatever. Pass it on with everything that
    /// is done under this lock, and let the receiver refuse a smaller one than it has seen. Then whoever was
    /// paused for too long and does not know yet that it has lost the lock can do no harm.
    pub fn token(&self) -> Token {
        self.granted.token
    }

    /// What is held.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The session that holds it.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Waits until it is lost, and says how: the session is over, or an operator took a lock away. It completes
    /// before anybody else can hold what is lost with the session; at once, if it is lost already.
    ///
    /// ```no_run
    /// # async fn migrate() {}
    /// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
    /// let lock = session.lock("migrations").await?;
    /// tokio::select! {
    ///     () = migrate() => lock.release().await?,
    ///     how = lock.lost() => panic!("stopped in the middle: {how}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn lost(&self) -> Lost {
        lost(&self.granted).await
    }

    /// Whether it is held, by a look at the clock.
    pub fn is_held(&self) -> bool {
        matches!(*self.granted.hold.borrow(), Hold::Held(_)) && self.session.is_alive()
    }

    /// How long it can be relied on if nothing more is heard of the cluster.
    pub fn time_left(&self) -> Duration {
        if self.is_held() { self.session.time_left() } else { Duration::ZERO }
    }

    /// Until when it can be relied on if nothing more is heard of the cluster.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.time_left()
    }

    /// Gives it back, and waits until the cluster knows. Fails with [`Error::NotHolder`] if an operator has taken
    /// it away, and with [`Error::SessionEnded`] if it was lost with the session.
    pub async fn release(mut self) -> Result<(), Error> {
        self.held = false;
        let (key, number) = (self.session.inner.key, self.number);
        let hold = self.granted.hold.borrow().clone();
        self.session.shared().with(|state, _| state.forget(key, number));
        let released = self.session.act(Ask::Release(number), Purpose::GiveBack).await;
        let what = || format!("'{}'", self.names.join("', '"));
        match (released, hold) {
            (Ok(()) | Err(Error::Refused(_)), Hold::Lost(how)) => {
                Err(Error::NotHolder { what: what(), why: how.to_string() })
            }
            (Err(Error::Refused(Refusal::NotAsked(_))), Hold::Held(_)) => {
                let why = "an operator has taken it away".to_owned();
                Err(Error::NotHolder { what: what(), why })
            }
            (released, _) => released,
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.held {
            let key = self.session.inner.key;
            self.session.shared().with(|state, now| state.abandon(key, self.number, now));
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lock({} by {})", self.names.join(", "), self.token())
    }
}

/// Waits until what was granted is lost.
pub(crate) async fn lost(granted: &Granted) -> Lost {
    let mut hold = granted.hold.clone();
    let gone = hold.wait_for(|hold| matches!(hold, Hold::Lost(_))).await;
    match gone.as_deref() {
        Ok(Hold::Lost(how)) => how.clone(),
        _ => Lost::SessionEnded(SessionEnded::Closed),
    }
}
