//! Roles.

use crate::lock::lost;
use crate::session::Session;
use crate::state::{Granted, Hold, Outcome, Purpose, QueuePosition};
use crate::{Error, Lost, check};
use bellwether_coordination::{Ask, Number, Policy, Refusal, SessionEnded, SessionId, Token};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// A candidacy for a role, which begins when it is awaited and is over when the role is led.
///
/// Who leads next is decided by the order of arrival, or by priority; all candidates must agree on which. When its
/// future is dropped while it waits, the session does not stand any longer.
///
/// ```no_run
/// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
/// // The first to stand leads, and then the next.
/// let leadership = session.campaign("cron").await?;
/// // The highest priority leads when the role is free; with `preempt` the leader is asked to make room for it.
/// let leadership = session.campaign("primary").priority(5).preempt().value(b"10.0.0.7").await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is stood for before it is awaited"]
pub struct Campaign {
    session: Session,
    role: String,
    priority: i32,
    policy: Policy,
    value: Vec<u8>,
    timeout: Option<Duration>,
    place: Option<QueuePosition>,
}

impl Campaign {
    pub(crate) fn new(session: Session, role: String) -> Self {
        let (policy, value) = (Policy::FirstCome, Vec::new());
        Campaign { session, role, priority: 0, policy, value, timeout: None, place: None }
    }

    /// The role goes by priority, and this candidate has that one. A leader stays, whatever its priority.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self.by_priority()
    }

    /// The role goes by priority; 0 if none is given.
    pub fn by_priority(mut self) -> Self {
        if self.policy == Policy::FirstCome {
            self.policy = Policy::Priority { preempt: false };
        }
        self
    }

    /// The role goes by priority, and a leader is [asked to make room](Leadership::preempt_requested) for a candidate with a
    /// higher one.
    pub fn preempt(mut self) -> Self {
        self.policy = Policy::Priority { preempt: true };
        self
    }

    /// What the world is to know of this candidate when it leads, such as its address.
    pub fn value(mut self, value: impl AsRef<[u8]>) -> Self {
        self.value = value.as_ref().to_vec();
        self
    }

    /// Stands for so long at most, and then fails with [`Error::Timeout`].
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// Tells how many would lead before it, while it waits, as far as is known.
    pub fn queue_position(mut self, place: watch::Sender<Option<u64>>) -> Self {
        self.place = Some(place);
        self
    }

    async fn win(self) -> Result<Leadership, Error> {
        let Campaign { session, role, priority, policy, value, timeout, place } = self;
        check::name(&role)?;
        check::value(&value)?;
        let until = timeout.map(|time| Instant::now() + time);
        loop {
            let giving_back = session.giving_back();
            let (name, value) = (role.clone(), value.clone());
            let ask = Ask::Campaign { role: name.clone(), priority, value, policy };
            let mut pending = session.ask(ask, Purpose::Role(name), place.clone());
            let outcome = match until {
                None => Ok(pending.answered().await),
                Some(until) => timeout_at(until, pending.answered()).await,
            };
            let number = pending.number;
            let Ok(outcome) = outcome else {
                let (what, after) = (format!("the role '{role}'"), timeout.unwrap_or_default());
                // The candidacy ends when it is dropped.
                return Err(Error::Timeout { what, after });
            };
            pending.settled();
            match outcome {
                Outcome::Granted(granted) => {
                    return Ok(Leadership { session, number, role, granted, stands: true });
                }
                // This session stands still, as it resigned only a moment ago.
                Outcome::Refused(Refusal::AlreadyCampaigns(_)) if !giving_back.is_empty() => {
                    session.given_back(&giving_back).await;
                }
                Outcome::Refused(refusal) => return Err(refusal.into()),
                Outcome::SessionEnded(over) => return Err(over.into()),
                Outcome::Done => return Err(SessionEnded::Closed.into()),
            }
        }
    }
}

impl IntoFuture for Campaign {
    type Output = Result<Leadership, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.win())
    }
}

impl fmt::Debug for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Campaign").field("role", &self.role).finish_non_exhaustive()
    }
}

/// A role that is led, until this is dropped, [resigned](Leadership::resign) or [handed
/// over](Leadership::hand_over).
///
/// It keeps its session open.
#[must_use = "the role is given up when it is dropped"]
pub struct Leadership {
    session: Session,
    number: Number,
    role: String,
    granted: Granted,
    /// Whether dropping it has to end the candidacy.
    stands: bool,
}

impl Leadership {
    /// The fencing token: larger than all that were given before. See [`Lock::token`](crate::Lock::token).
    pub fn token(&self) -> Token {
        self.granted.token
    }

    /// The role.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// The session that leads.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Waits until the role is lost, and says how: the session is over, or the role was handed over. It completes
    /// before anybody else can lead; at once, if it is lost already.
    pub async fn lost(&self) -> Lost {
        lost(&self.granted).await
    }

    /// Whether it is led, by a look at the clock.
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

    /// Waits until a candidate with a higher priority stands for the role, which goes by priority with
    /// [preemption](Campaign::preempt). Nobody takes it away: finish what must be finished, and
    /// [resign](Leadership::resign).
    ///
    /// ```no_run
    /// # async fn serve() {}
    /// # async fn example(leadership: bellwether::Leadership) -> Result<(), bellwether::Error> {
    /// tokio::select! {
    ///     () = serve() => {}
    ///     () = leadership.preempt_requested() => leadership.resign().await?,
    ///     how = leadership.lost() => eprintln!("{how}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn preempt_requested(&self) {
        let mut preempt = self.granted.preempt.clone();
        if preempt.wait_for(|asked| *asked).await.is_err() {
            // Nobody asks one who does not lead any more.
            std::future::pending().await
        }
    }

    /// Changes what the world knows of the leader.
    pub async fn proclaim(&self, value: impl AsRef<[u8]>) -> Result<(), Error> {
        let value = value.as_ref().to_vec();
        check::value(&value)?;
        let ask = Ask::Proclaim { role: self.role.clone(), value };
        self.session.act(ask, Purpose::Other).await.map_err(|error| self.not_leader(error))
    }

    /// Gives the role up, and waits until the cluster knows.
    pub async fn resign(mut self) -> Result<(), Error> {
        self.stands = false;
        let (key, number) = (self.session.inner.key, self.number);
        self.session.shared().with(|state, _| state.forget(key, number));
        let ask = Ask::Resign { role: self.role.clone() };
        self.session.act(ask, Purpose::GiveBack).await.map_err(|error| self.not_leader(error))
    }

    /// Gives the role to a named candidate, and stands behind it again. From then on it is
    /// [lost](Leadership::lost) here; [`Leadership::leads_again`] waits for its return, and dropping this ends
    /// the candidacy. If that session does not stand for the role, it fails with
    /// [`Refusal::NoSuchCandidate`] and nothing changes.
    pub async fn hand_over(&self, to: SessionId) -> Result<(), Error> {
        let ask = Ask::HandOver { role: self.role.clone(), to };
        let purpose = Purpose::HandOver(self.number, self.granted.token);
        self.session.act(ask, purpose).await.map_err(|error| self.not_leader(error))
    }

    /// Waits until the role that was handed over comes back, by a new token; at once, if it is led.
    ///
    /// ```no_run
    /// # async fn example(mut leadership: bellwether::Leadership) -> Result<(), bellwether::Error> {
    /// let other = "s3.17".parse().expect("as `bellwether roles` lists it");
    /// leadership.hand_over(other).await?;
    /// let token = leadership.leads_again().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn leads_again(&mut self) -> Result<Token, Error> {
        let over = |hold: &Hold| match hold {
            Hold::Held(_) | Hold::Lost(Lost::SessionEnded(_)) => true,
            Hold::Lost(_) => false,
        };
        let hold = match self.granted.hold.wait_for(over).await {
            Ok(hold) => hold.clone(),
            Err(_) => return Err(self.session.over()),
        };
        match hold {
            Hold::Held(token) => {
                self.granted.token = token;
                Ok(token)
            }
            Hold::Lost(_) => Err(self.session.over()),
        }
    }

    fn not_leader(&self, error: Error) -> Error {
        match error {
            Error::Refused(Refusal::NotLeader(_) | Refusal::NotCandidate(_)) => Error::NotHolder {
                what: format!("the role '{}'", self.role),
                why: match &*self.granted.hold.borrow() {
                    Hold::Lost(how) => how.to_string(),
                    Hold::Held(_) => "another session leads it".to_owned(),
                },
            },
            error => error,
        }
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        if self.stands {
            let key = self.session.inner.key;
            self.session.shared().with(|state, now| state.abandon(key, self.number, now));
        }
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leadership({} by {})", self.role, self.token())
    }
}
