//! Roles.

use crate::grant::{Guard, Patience};
use crate::session::Session;
use crate::state::{Denied, Hold, Purpose};
use crate::{Error, Lost, check};
use bellwether_coordination::{Ask, Policy, Refusal, SessionId, Token};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// A campaign for a role. Await it to campaign; it completes when this session leads.
///
/// The next leader is chosen in order of arrival, or by priority; all candidates must use the same policy. When its
/// future is dropped while it waits, the campaign ends.
///
/// ```no_run
/// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
/// // In order of arrival.
/// let campaign: bellwether::Campaign = session.campaign("cron");
/// let leadership = campaign.await?;
/// // By priority, where this candidate has none of its own.
/// let leadership = session.campaign("standby").by_priority().await?;
/// // The highest priority leads when the role is free; with `preempt` the leader is asked to yield to it.
/// let leadership = session.campaign("primary").priority(5).preempt().value(b"10.0.0.7").await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a campaign begins when it is awaited"]
pub struct Campaign {
    session: Session,
    role: String,
    priority: i32,
    policy: Policy,
    value: Vec<u8>,
    patience: Patience,
}

impl Campaign {
    pub(crate) fn new(session: Session, role: String) -> Self {
        let (policy, value) = (Policy::FirstCome, Vec::new());
        Campaign { session, role, priority: 0, policy, value, patience: Patience::default() }
    }

    /// Fills the role by priority; this candidate has the given one. A leader stays, even if its priority is lower.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self.by_priority()
    }

    /// Fills the role by priority; this candidate has priority 0 unless another is given.
    pub fn by_priority(mut self) -> Self {
        if self.policy == Policy::FirstCome {
            self.policy = Policy::Priority { preempt: false };
        }
        self
    }

    /// Fills the role by priority; the leader is [asked to yield](Leadership::preempt_requested) to a candidate with a
    /// higher one.
    pub fn preempt(mut self) -> Self {
        self.policy = Policy::Priority { preempt: true };
        self
    }

    /// The value that this candidate publishes while it leads, such as its address.
    pub fn value(mut self, value: impl AsRef<[u8]>) -> Self {
        self.value = value.as_ref().to_vec();
        self
    }

    /// Campaigns for this time at most, and then fails with [`ErrorKind::Timeout`](crate::ErrorKind::Timeout).
    ///
    /// ```no_run
    /// # async fn example(session: bellwether::Session) -> Result<(), bellwether::Error> {
    /// let patience = std::time::Duration::from_secs(10);
    /// let leadership = session.campaign("primary").timeout(patience).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn timeout(mut self, time: Duration) -> Self {
        self.patience.timeout = Some(time);
        self
    }

    /// Reports the number of candidates ahead while it waits, as far as is known.
    pub fn queue_position(mut self, position: watch::Sender<Option<u64>>) -> Self {
        self.patience.position = Some(position);
        self
    }

    async fn win(self) -> Result<Leadership, Error> {
        let Campaign { session, role, priority, policy, value, patience } = self;
        check::name(&role)?;
        check::value(&value)?;
        let failed = format!("cannot lead '{role}'");
        let ask = Ask::Campaign { role: role.clone(), priority, value, policy };
        let purpose = Purpose::Role(role.clone());
        let guard = Guard::acquire(session, ask, purpose, patience, failed).await?;
        Ok(Leadership { guard, role })
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
    guard: Guard,
    role: String,
}

impl Leadership {
    /// The fencing token: larger than all tokens before it. See [`Lock::token`](crate::Lock::token).
    pub fn token(&self) -> Token {
        self.guard.token()
    }

    /// The role.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// The session that leads.
    pub fn session(&self) -> &Session {
        &self.guard.session
    }

    /// Waits until the role is lost, and says how: the session is over, or the role was handed over. It completes
    /// before another session can lead; at once, if it is lost already.
    ///
    /// ```no_run
    /// # async fn example(leadership: bellwether::Leadership) -> Result<(), bellwether::Error> {
    /// let how = leadership.lost().await;
    /// eprintln!("no longer leads '{}': {how}", leadership.role());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn lost(&self) -> Lost {
        self.guard.lost().await
    }

    /// Whether this session leads, by the clock.
    ///
    /// ```no_run
    /// # fn example(leadership: bellwether::Leadership) {
    /// if leadership.is_held() {
    ///     println!("leads until {:?} at least", leadership.deadline());
    /// }
    /// # }
    /// ```
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

    /// Waits until a candidate with a higher priority campaigns for the role, which is filled by priority with
    /// [preemption](Campaign::preempt). Leadership is not lost by that: finish what must be finished, and
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
        let mut preempt = self.guard.granted.preempt.clone();
        if preempt.wait_for(|asked| *asked).await.is_err() {
            // A session that does not lead any more is not asked.
            std::future::pending().await
        }
    }

    /// Changes the value of the leader, which observers see.
    ///
    /// ```no_run
    /// # async fn example(leadership: bellwether::Leadership) -> Result<(), bellwether::Error> {
    /// leadership.proclaim("10.0.0.8:5432").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn proclaim(&self, value: impl AsRef<[u8]>) -> Result<(), Error> {
        let value = value.as_ref().to_vec();
        check::value(&value)?;
        let ask = Ask::Proclaim { role: self.role.clone(), value };
        self.guard.session.act(ask, Purpose::Other).await.map_err(|denied| self.not_leader(denied))
    }

    /// Resigns, and waits until that is committed.
    ///
    /// ```no_run
    /// # async fn example(leadership: bellwether::Leadership) -> Result<(), bellwether::Error> {
    /// leadership.resign().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resign(mut self) -> Result<(), Error> {
        let ask = Ask::Resign { role: self.role.clone() };
        self.guard.give_back(ask).await.map_err(|denied| self.not_leader(denied))
    }

    /// Hands the role over to a named candidate, and campaigns behind it again. From then on the role is
    /// [lost](Leadership::lost) here; [`Leadership::leads_again`] waits for its return, and dropping this ends
    /// the candidacy. If that session does not campaign for the role, it fails with
    /// [`ErrorKind::NoSuchCandidate`](crate::ErrorKind::NoSuchCandidate) and nothing changes.
    pub async fn hand_over(&self, to: SessionId) -> Result<(), Error> {
        let ask = Ask::HandOver { role: self.role.clone(), to };
        let purpose = Purpose::HandOver(self.guard.number, self.guard.token());
        self.guard.session.act(ask, purpose).await.map_err(|denied| self.not_leader(denied))
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
        let hold = match self.guard.granted.hold.wait_for(over).await {
            Ok(hold) => hold.clone(),
            Err(_) => return Err(self.guard.session.over()),
        };
        match hold {
            Hold::Held(token) => {
                self.guard.granted.token = token;
                Ok(token)
            }
            Hold::Lost(_) => Err(self.guard.session.over()),
        }
    }

    fn not_leader(&self, denied: Denied) -> Error {
        match denied {
            Denied::Refused(Refusal::NotLeader(_) | Refusal::NotCandidate(_)) => {
                let what = format!("the role '{}'", self.role);
                match self.guard.hold() {
                    Hold::Lost(how) => Error::not_held(&what, how),
                    Hold::Held(_) => Error::not_held(&what, "another session leads it"),
                }
            }
            denied => denied.into(),
        }
    }
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leadership({} by {})", self.role, self.token())
    }
}
