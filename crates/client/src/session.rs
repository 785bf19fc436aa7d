//! A session.

use crate::client::Client;
use crate::lock::LockRequest;
use crate::role::Campaign;
use crate::state::{Denied, Key, Outcome, Purpose, QueuePosition, SessionPhase};
use crate::{Error, SessionEnd, check, error};
use bellwether_coordination::{Ask, Mode, Number, Secret, SessionEnded, SessionId, Setup};
use bellwether_net::{Clock, draw};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};

/// A session ends for this process by these millionths of its TTL, or by this time if that is more, before it must: a task
/// that waits for the end must get its turn before another session holds what this one held.
const TURN_PPM: u32 = 20_000;
const TURN: Duration = Duration::from_millis(3);

/// The name and the TTL of a session.
///
/// ```
/// use bellwether::SessionOptions;
/// use std::time::Duration;
///
/// let options = SessionOptions { ttl: Duration::from_secs(2), ..SessionOptions::named("billing") };
/// assert_eq!(options.name, "billing");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// Its name for people: in `bellwether sessions`, in deadlocks, in histories. By default the program and the number of
    /// its process.
    pub name: String,
    /// How long the session lasts after the cluster last heard of it, in whole milliseconds; ten seconds by default. With a
    /// short TTL, others soon get what a lost host held. With a long one, the session survives longer pauses and network
    /// failures.
    pub ttl: Duration,
}

impl SessionOptions {
    /// The default options, with this name.
    pub fn named(name: impl Into<String>) -> Self {
        SessionOptions { name: name.into(), ..SessionOptions::default() }
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions { name: crate::program(), ttl: Duration::from_secs(10) }
    }
}

/// A session: it holds locks and leads roles, as a lease does in etcd.
///
/// It lasts while this process keeps it alive, which happens in the background. It survives broken connections and the loss
/// of members. When the process dies, a member on the same host sees it at once and releases what the session held;
/// otherwise that happens when its TTL has passed. When no coordinator can be reached, the session ends *here* before it
/// ends there: see [`Session::lost`].
///
/// Clones are handles to the same session. It is closed when the last handle, and the last of its locks and leaderships,
/// is dropped.
///
/// ```no_run
/// # async fn example(client: bellwether::Client) -> Result<(), bellwether::Error> {
/// use bellwether::SessionOptions;
///
/// let session = client.session(SessionOptions::named("billing")).await?;
/// println!("I am {}", session.id());
/// session.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Session {
    pub(crate) inner: Arc<Inner>,
}

/// Closes the session when the last one is dropped.
pub(crate) struct Inner {
    pub(crate) client: Client,
    pub(crate) key: Key,
    phase: watch::Receiver<SessionPhase>,
    id: SessionId,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.client.shared().with(|state, now| state.close(self.key, now));
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.id())
    }
}

impl Session {
    pub(crate) async fn open(client: Client, options: SessionOptions) -> Result<Session, Error> {
        let SessionOptions { name, ttl } = options;
        check::name(&name)?;
        let shared = client.shared().clone();
        (shared.rules.ttl)(ttl)?;
        shared.expects(ttl);
        let drift_ppm = shared.drift_ppm(ttl);
        let setup = Setup { key: Secret(draw()), name, ttl, drift_ppm };
        let key = setup.key;
        let phase = shared.with(|state, now| state.open(setup, now));
        // From here on it is closed if this is not finished.
        let mut inner = Inner { client, key, phase, id: SessionId::default() };
        let within = shared.endpoints.timeout;
        let began = inner.phase.wait_for(|phase| *phase != SessionPhase::Opening);
        let began = timeout(within, began).await.map(|phase| phase.map(|phase| phase.clone()));
        match began {
            Ok(Ok(SessionPhase::Open(id))) => {
                inner.id = id;
                Ok(Session { inner: Arc::new(inner) })
            }
            Ok(Ok(SessionPhase::SessionEnded(over))) => Err(error::ended(over)),
            Ok(Ok(SessionPhase::Opening) | Err(_)) => Err(error::ended(SessionEnded::Closed)),
            Err(_) => Err(inner.client.unanswered(within)),
        }
    }

    /// Its name in the cluster, such as `s3.17`: `bellwether sessions` lists them.
    pub fn id(&self) -> SessionId {
        self.inner.id
    }

    /// Requests a lock; await the request to acquire it. It is exclusive and waits for its turn, unless the
    /// [request](LockRequest) says otherwise.
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
    /// let lock = session.lock("orders").await?;
    /// // Pass lock.token() to the protected resource, which rejects smaller tokens than it has seen.
    /// lock.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn lock(&self, name: impl Into<String>) -> LockRequest {
        LockRequest::new(self.clone(), name.into(), Mode::Exclusive)
    }

    /// Campaigns for a role. The session leads it when the campaign is awaited.
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
    /// let leadership = session.campaign("cron").value(b"host-7").await?;
    /// tokio::select! {
    ///     () = run_jobs() => leadership.resign().await?,
    ///     how = leadership.lost() => eprintln!("no longer the leader: {how}"),
    /// }
    /// # async fn run_jobs() {}
    /// # Ok(())
    /// # }
    /// ```
    pub fn campaign(&self, role: impl Into<String>) -> Campaign {
        Campaign::new(self.clone(), role.into())
    }

    /// Lets the member watch a second process: the session ends by proof of death only when both are dead. This is for a
    /// process that works on when this one dies. Fails with [`ErrorKind::NotWatched`](crate::ErrorKind::NotWatched) if the client is not
    /// connected by Unix socket, or there is no such process.
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) -> Result<(), Box<dyn std::error::Error>> {
    /// let job = std::process::Command::new("./job").spawn()?;
    /// session.watch_process(job.id()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn watch_process(&self, pid: u32) -> Result<(), Error> {
        let shared = self.shared();
        let watching = shared.with(|state, now| state.watch(self.inner.key, pid, now));
        let watching = watching.ok_or_else(|| self.over())?;
        match timeout(shared.endpoints.timeout, watching).await {
            Ok(Ok(None)) => Ok(()),
            Ok(Ok(Some(why))) => Err(Error::not_watched(pid, &why)),
            Ok(Err(_)) => Err(self.over()),
            Err(_) => Err(self.inner.client.unanswered(shared.endpoints.timeout)),
        }
    }

    /// Waits until the session has ended, and returns why. It completes before another session can hold what this one
    /// held; at once, if the session has ended already.
    ///
    /// The cluster ends a session only after this has completed, unless this process or its whole host is paused just then. Against that only [tokens](crate::Lock::token) help.
    pub async fn lost(&self) -> SessionEnd {
        let mut phase = self.inner.phase.clone();
        let over = phase.wait_for(|phase| matches!(phase, SessionPhase::SessionEnded(_))).await;
        match over.as_deref() {
            Ok(SessionPhase::SessionEnded(over)) => SessionEnd::of(over.clone()),
            _ => SessionEnd::Closed,
        }
    }

    /// Whether the session is alive, by the clock.
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) {
    /// while session.is_alive() {
    ///     println!("{:?} left, until {:?}", session.time_left(), session.deadline());
    ///     tokio::time::sleep(session.time_left() / 2).await;
    /// }
    /// # }
    /// ```
    pub fn is_alive(&self) -> bool {
        !self.time_left().is_zero()
    }

    /// How long you can rely on it if no member answers any more. Every confirmed keep-alive extends
    /// it.
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
    /// if session.time_left() > std::time::Duration::from_secs(2) {
    ///     println!("enough time for one more step");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn time_left(&self) -> Duration {
        let deadline = self.shared().with(|state, _| state.deadline(self.inner.key));
        deadline.map_or(Duration::ZERO, |deadline| deadline.since(Clock::shared()))
    }

    /// Until when you can rely on it if no member answers any more.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.time_left()
    }

    /// Ends the session and releases everything that it holds. Waits until that is committed, or the session has ended by
    /// itself.
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
    /// session.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn close(self) {
        let mut phase = self.inner.phase.clone();
        self.shared().with(|state, now| state.close(self.inner.key, now));
        // It is forgotten when that is so.
        while phase.changed().await.is_ok() {}
    }

    pub(crate) fn shared(&self) -> &crate::tasks::Shared {
        self.inner.client.shared()
    }

    /// Why the session answers no more requests.
    pub(crate) fn ended(&self) -> SessionEnded {
        match &*self.inner.phase.borrow() {
            SessionPhase::SessionEnded(over) => over.clone(),
            _ => SessionEnded::Closed,
        }
    }

    pub(crate) fn over(&self) -> Error {
        error::ended(self.ended())
    }

    /// Asks for something that is given up when the request is dropped before it is answered.
    pub(crate) fn ask(&self, ask: Ask, purpose: Purpose, place: Option<QueuePosition>) -> Pending {
        let key = self.inner.key;
        let (number, answer) =
            self.shared().with(|state, now| state.ask(key, ask, purpose, place, now));
        Pending { session: Some(self.clone()), number, answer }
    }

    /// Asks for something that is done or not.
    pub(crate) async fn act(&self, ask: Ask, purpose: Purpose) -> Result<(), Denied> {
        (self.shared().rules.ask)(&ask).map_err(Denied::Failed)?;
        self.ask(ask, purpose, None).outcome().await.map(drop)
    }

    /// What is being given back, now and whenever that changes.
    pub(crate) fn giving_back(&self) -> Option<watch::Receiver<BTreeSet<Number>>> {
        self.shared().with(|state, _| state.giving_back(self.inner.key))
    }
}

/// The margin as millionths of the TTL.
pub(crate) fn turn_ppm(ttl: Duration) -> u32 {
    let millionths = TURN.as_micros() * 1_000_000 / ttl.as_micros().max(1);
    u32::try_from(millionths).unwrap_or(u32::MAX).clamp(TURN_PPM, 500_000)
}

/// A request that waits for its answer. It is given up when this is dropped.
pub(crate) struct Pending {
    session: Option<Session>,
    pub(crate) number: Number,
    answer: oneshot::Receiver<Outcome>,
}

impl Pending {
    /// Waits for the answer. May be cancelled, and then dropped.
    pub(crate) async fn answered(&mut self) -> Outcome {
        let closed = |session: &Session| session.ended();
        (&mut self.answer).await.unwrap_or_else(|_| {
            let ended = self.session.as_ref().map_or(SessionEnded::Closed, closed);
            Err(Denied::SessionEnded(ended))
        })
    }

    /// Waits for the answer, which is taken care of from then on.
    pub(crate) async fn outcome(mut self) -> Outcome {
        let outcome = self.answered().await;
        self.session = None;
        outcome
    }

    /// The answer is taken care of.
    pub(crate) fn settled(mut self) {
        self.session = None;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let key = session.inner.key;
            session.shared().with(|state, now| state.abandon(key, self.number, now));
        }
    }
}
