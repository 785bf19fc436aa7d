//! Observing a role.
#![allow(clippy::disallowed_types, reason = "moments that others noted; no clock is looked at")]

use crate::lost::time;
use crate::{Client, Error, check, error};
use bellwether_api::client as said;
use bellwether_coordination::{Refusal, SessionId, Token};
use futures_core::Stream;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::SystemTime;
use tokio::time::timeout;

/// How it stands with a role: who leads it, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoleStatus {
    /// Who leads; nobody, if there is none.
    pub leader: Option<Leader>,
    /// The reason of the last change, for people: "session s3.17 resigned". Empty if nobody has ever led, or
    /// nobody remembers.
    pub reason: String,
    /// When that was, by the clock of the coordinator of that time.
    pub at: SystemTime,
}

/// Who leads a role.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The session.
    pub session: SessionId,
    /// What [it is called](crate::SessionOptions::name); empty if it has ended meanwhile.
    pub client: String,
    /// By which token it leads: larger than those of all leaders before.
    pub token: Token,
    /// What [it wants the world to know](crate::Leadership::proclaim).
    pub value: Vec<u8>,
    /// Since when it leads, as far as the role's history goes back.
    pub since: SystemTime,
}

impl RoleStatus {
    fn of(status: said::RoleStatus) -> Self {
        let said::RoleStatus { leader, reason, at } = status;
        let leader = leader.map(|said::Leader { session, client, token, value, since }| Leader {
            session,
            client,
            token,
            value,
            since: time(since),
        });
        RoleStatus { leader, reason, at: time(at) }
    }
}

/// A role that is observed, until this is dropped.
///
/// It needs no [session](crate::Session), and keeps its client connected.
///
/// ```no_run
/// use bellwether::{Client, Endpoints};
///
/// # async fn example() -> Result<(), bellwether::Error> {
/// let client = Client::connect(Endpoints::from_env_or_default()?).await?;
/// let mut primary = client.observe("primary").await?;
/// while let Some(status) = primary.next().await {
///     match status.leader {
///         Some(leader) => println!("ask {}", String::from_utf8_lossy(&leader.value)),
///         None => println!("nobody serves: {}", status.reason),
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// # What is seen
/// * First how it stands now, and then every change, in order, each with its reason.
/// * The member answers from what it knows to be committed. One that does not coordinate may be behind by some milliseconds; one that
///   is cut off from the others by as long as that lasts. Nothing is ever seen that is older than what was seen before.
/// * When the connection breaks or the coordinator changes it goes on by itself with whichever member is found. The
///   latest is not missed; what came and went in between may be.
/// * So may the oldest of more than a thousand changes that were not taken, and of more than thirty-two that came within
///   the same few milliseconds.
/// * That a session is seen to lead proves nothing: it may have stopped in this moment. What must not be done by two is
///   done under a [token](crate::Leadership::token).
pub struct Observer {
    client: Client,
    role: String,
    number: u64,
}

impl Observer {
    pub(crate) async fn new(client: Client, role: &str) -> Result<Observer, Error> {
        check::name(role)?;
        let role = role.to_owned();
        let number = client.shared().with(|state, now| state.observe(role.clone(), now));
        // From here on it is ended if this is not finished.
        let observer = Observer { client, role, number };
        let within = observer.client.shared().endpoints.timeout;
        match timeout(within, observer.begun()).await {
            Ok(Ok(())) => Ok(observer),
            Ok(Err(refusal)) => Err(error::refused(refusal)),
            Err(_) => Err(observer.client.unanswered(within)),
        }
    }

    /// Waits for the first answer.
    async fn begun(&self) -> Result<(), Refusal> {
        let poll = |cx: &mut Context<'_>| {
            self.client.shared().with(|state, _| state.poll_begun(self.number, cx))
        };
        poll_fn(poll).await
    }

    /// Waits for the next change; the first call returns the current status at once. You can cancel it, and no change is
    /// missed. It is the same as the next item of the [`Stream`].
    ///
    /// There is always a next one, unless the members were configured otherwise meanwhile and accept no such name: then
    /// it is `None`.
    pub async fn next(&mut self) -> Option<RoleStatus> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// The latest that is known, whether it was [taken](Observer::next) or not.
    ///
    /// ```no_run
    /// # async fn example(client: bellwether::Client) -> Result<(), bellwether::Error> {
    /// let primary = client.observe("primary").await?;
    /// println!("{} is led: {}", primary.role(), primary.current().leader.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn current(&self) -> RoleStatus {
        let latest = self.client.shared().with(|state, _| state.latest(self.number));
        RoleStatus::of(latest.unwrap_or_default())
    }

    /// The role.
    pub fn role(&self) -> &str {
        &self.role
    }
}

/// ```no_run
/// use futures_core::Stream;
/// use bellwether::RoleStatus;
///
/// // Everything that takes a stream takes an observer.
/// fn show(changes: impl Stream<Item = RoleStatus>) {
///     // ..
/// }
/// # async fn example(client: bellwether::Client) -> Result<(), bellwether::Error> {
/// show(client.observe("primary").await?);
/// # Ok(())
/// # }
/// ```
impl Stream for Observer {
    type Item = RoleStatus;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<RoleStatus>> {
        let polled = self.client.shared().with(|state, _| state.poll_next(self.number, cx));
        polled.map(|status| status.map(RoleStatus::of))
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.client.shared().with(|state, now| state.unobserve(self.number, now));
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("role", &self.role).finish_non_exhaustive()
    }
}
