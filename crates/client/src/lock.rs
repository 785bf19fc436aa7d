//! Locks.

use crate::grant::{Guard, Patience};
use crate::session::Session;
use crate::state::{Denied, Hold, Purpose};
use crate::{Error, Lost, check};
use bellwether_coordination::{Ask, Mode, Refusal, Token, Want};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// A request for one or more locks, made when it is awaited.
///
/// It gets all of them or none, and waits in the queue of each. When its future is dropped while it waits, it is
/// given up; if it was granted just then, the locks are released.
///
/// ```no_run
/// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
/// use std::time::Duration;
///
/// // Together with others that share it.
/// let reading = session.lock("catalogue").shared().await?;
/// // Two of the five permits of a semaphore.
/// let permits = session.lock("downloads").permits(2, 5).await?;
/// // Two locks at once; or neither, if they are not free within a second.
/// let both = session.lock("from").and("to").timeout(Duration::from_secs(1)).await?;
/// // Only if it is free.
/// let request: bellwether::LockRequest = session.lock("report").try_lock();
/// let now = request.await;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is asked for before it is awaited"]
pub struct LockRequest {
    session: Session,
    wants: Vec<Want>,
    wait: bool,
    patience: Patience,
}

impl LockRequest {
    pub(crate) fn new(session: Session, name: String, mode: Mode) -> Self {
        let wants = vec![Want { name: name.into(), mode }];
        LockRequest { session, wants, wait: true, patience: Patience::default() }
    }

    fn mode(mut self, mode: Mode) -> Self {
        if let Some(last) = self.wants.last_mut() {
            last.mode = mode;
        }
        self
    }

    /// Shares the lock that was named last with others that share it.
    pub fn shared(self) -> Self {
        self.mode(Mode::Shared)
    }

    /// The lock that was named last is a semaphore with `of` permits; acquires `take` of them. All users
    /// must give the same `of`.
    pub fn permits(self, take: u32, of: u32) -> Self {
        self.mode(Mode::Permits { take, of })
    }

    /// Requests this lock, too: all or none.
    pub fn and(mut self, name: impl Into<String>) -> Self {
        let name: String = name.into();
        self.wants.push(Want { name: name.into(), mode: Mode::Exclusive });
        self
    }

    /// Does not wait: if the locks are not free, it fails with
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    pub fn try_lock(mut self) -> Self {
        self.wait = false;
        self
    }

    /// Waits for this time at most, and then fails with [`ErrorKind::Timeout`](crate::ErrorKind::Timeout).
    pub fn timeout(mut self, time: Duration) -> Self {
        self.patience.timeout = Some(time);
        self
    }

    /// Reports the number of requests ahead while it waits, as far as is known.
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
    /// let (place, mut places) = tokio::sync::watch::channel(None);
    /// tokio::spawn(async move {
    ///     while places.changed().await.is_ok() {
    ///         if let Some(behind) = *places.borrow_and_update() {
    ///             println!("{behind} ahead of us");
    ///         }
    ///     }
    /// });
    /// let lock = session.lock("orders").queue_position(place).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn queue_position(mut self, position: watch::Sender<Option<u64>>) -> Self {
        self.patience.position = Some(position);
        self
    }

    async fn acquire(self) -> Result<Lock, Error> {
        let LockRequest { session, wants, wait, patience } = self;
        check::wants(&wants)?;
        let names: Vec<_> = wants.iter().map(|want| want.name.to_string()).collect();
        let failed = format!("cannot lock {}", quoted(&names));
        let ask = Ask::Lock { wants: wants.into(), wait };
        let guard = Guard::acquire(session, ask, Purpose::Lock, patience, failed).await?;
        Ok(Lock { guard, names })
    }
}

fn quoted(names: &[String]) -> String {
    format!("'{}'", names.join("', '"))
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

/// Locks that are held, until this guard is dropped or [released](Lock::release). It keeps its session open.
///
/// ```no_run
/// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
/// let lock: bellwether::Lock = session.lock("from").and("to").await?;
/// assert_eq!(lock.names(), ["from", "to"]);
/// if lock.is_held() {
///     println!("held until {:?} at least", lock.deadline());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "the locks are given back when it is dropped"]
pub struct Lock {
    guard: Guard,
    names: Vec<String>,
}

impl Lock {
    /// The fencing token: larger than all tokens before it, of any lock or role. Pass it along with everything that is done
    /// under this lock, and let the receiver reject a token that is smaller than the largest it has seen. Then a process
    /// that was paused, and does not know yet that it has lost the lock, can do no harm.
    pub fn token(&self) -> Token {
        self.guard.token()
    }

    /// The names of the locks.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The session that holds it.
    pub fn session(&self) -> &Session {
        &self.guard.session
    }

    /// Waits until it is lost, and says how: the session is over, or an operator force-released a lock. It
    /// completes before another session can hold what is lost with the session; at once, if it is lost already.
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
        self.guard.lost().await
    }

    /// Whether it is held, by a look at the clock.
    pub fn is_held(&self) -> bool {
        self.guard.is_held()
    }

    /// How long you can rely on it if no member answers any more.
    pub fn time_left(&self) -> Duration {
        self.guard.time_left()
    }

    /// Until when you can rely on it if no member answers any more.
    pub fn deadline(&self) -> Instant {
        self.guard.deadline()
    }

    /// Releases it, and waits until that is committed. Fails with [`ErrorKind::NotHeld`](crate::ErrorKind::NotHeld) if
    /// an operator has force-released it, and with [`ErrorKind::SessionEnded`](crate::ErrorKind::SessionEnded) if it was
    /// lost with the session.
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
    /// let lock = session.lock("orders").await?;
    /// lock.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn release(mut self) -> Result<(), Error> {
        let (hold, what) = (self.guard.hold(), quoted(&self.names));
        let released = self.guard.give_back(Ask::Release(self.guard.number)).await;
        match (released, hold) {
            (Ok(()) | Err(Denied::Refused(_)), Hold::Lost(how)) => Err(Error::not_held(&what, how)),
            (Err(Denied::Refused(Refusal::NotAsked(_))), Hold::Held(_)) => {
                Err(Error::not_held(&what, "an operator has force-released it"))
            }
            (released, _) => Ok(released?),
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lock({} by {})", self.names.join(", "), self.token())
    }
}
