//! Observing a role.
#![allow(clippy::disallowed_types, reason = "moments that others noted; no clock is looked at")]

use crate::lost::time;
use crate::{Client, Error, check, error};
use bellwether_api::client as wire;
use bellwether_coordination::{Refusal, SessionId, Token};
use futures_core::Stream;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::SystemTime;
use tokio::time::timeout;

/// The status of a role: its leader, and the reason of the last change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoleStatus {
    /// The leader, if there is one.
    pub leader: Option<Leader>,
    /// The reason of the last change, for people: "session s3.17 resigned". Empty if the role never had a leader, or
    /// the cluster has forgotten it.
    pub reason: String,
    /// When that was, by the clock of the coordinator of that time.
    pub at: SystemTime,
}

/// The leader of a role.
///
/// ```
/// use bellwether::Leader;
///
/// /// Where clients find it, if it has proclaimed an address.
/// fn address(leader: &Leader) -> Option<&str> {
///     std::str::from_utf8(&leader.value).ok()
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The session.
    pub session: SessionId,
    /// What [it is called](crate::SessionOptions::name); empty if it has ended meanwhile.
    pub client: String,
    /// Its fencing token: larger than those of all leaders before.
    pub token: Token,
    /// [Its value](crate::Leadership::proclaim), such as its address.
    pub value: Vec<u8>,
    /// Since when it leads, as far as the role's history goes back.
    pub since: SystemTime,
}

impl RoleStatus {
    fn of(status: wire::RoleStatus) -> Self {
        let wire::RoleStatus { leader, reason, at } = status;
        let leader = leader.map(|wire::Leader { session, client, token, value, since }| Leader {
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
/// let mut primary: bellwether::Observer = client.observe("primary").await?;
/// while let Some(status) = primary.next().await {
///     match status.leader {
///         Some(leader) => println!("ask {}", String::from_utf8_lossy(&leader.value)),
///         None => println!("there is no primary: {}", status.reason),
///     }
/// }
/// # Ok(())
/// # }
/// ```
///
/// # What is seen
/// * First the current status, and then every change, in order, each with its reason.
/// * The connected member answers from what it knows to be committed. A follower may be behind by some milliseconds, and a
///   member that is cut off for as long as that lasts. Nothing is ever seen that is older than what was seen before.
/// * When the connection breaks or the coordinator changes it goes on by itself with another member. The
///   latest is not missed; what came and went in between may be.
/// * So may the oldest of more than a thousand changes that were not taken, and of more than thirty-two that came within
///   the same few milliseconds.
/// * A leader that you see may already be replaced. Protect exclusive work with its [token](crate::Leadership::token).
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
