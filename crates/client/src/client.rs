//! The client.

#[cfg(doc)]
use crate::ErrorKind;
use crate::observe::Observer;
use crate::session::{Session, SessionOptions};
use crate::state::ForceRelease;
use crate::tasks::{self, Shared};
use crate::{Endpoints, Error, check, error};
use bellwether_coordination::{SessionId, Subject, Token};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// A connection to the cluster, which any number of [sessions](Session) share.
///
/// When the connection breaks, the client connects to another member, and its sessions go on. Clones are handles to the
/// same client. It ends when the last handle, and the last of its sessions, is dropped.
///
/// ```no_run
/// use bellwether::{Client, Endpoints, SessionOptions};
///
/// # async fn example() -> Result<(), bellwether::Error> {
/// let client = Client::connect(Endpoints::from_env_or_default()?).await?;
/// let session = client.session(SessionOptions::default()).await?;
/// let lock = session.lock("migrations").await?;
/// println!("holds it with token {}", lock.token());
/// lock.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) handle: Arc<Handle>,
}

/// Ends the client when the last one is dropped.
pub(crate) struct Handle {
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.shared().status.borrow().clone();
        f.debug_struct("Client")
            .field("member", &status.member)
            .field("coordinator", &status.coordinator)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Connects to one of these members. Its tasks run in the tokio runtime in which you call this.
    ///
    /// Fails with [`ErrorKind::Unavailable`] if none answers in [time](Endpoints::timeout), with
    /// [`ErrorKind::Rejected`] if a member rejects this client, and with [`ErrorKind::Tls`] if a
    /// certificate is not accepted.
    pub async fn connect(endpoints: Endpoints) -> Result<Client, Error> {
        let shared = tasks::start(endpoints, crate::program()).await?;
        Ok(Client { handle: Arc::new(Handle { shared }) })
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// Opens a session, which holds locks and leads roles. It outlives this process by its TTL at most.
    ///
    /// Fails with [`ErrorKind::NoCoordinator`] if in [time](Endpoints::timeout) no member knows a
    /// coordinator, with [`ErrorKind::Unavailable`] if none answers any more, and with another kind if the
    /// cluster refuses it. When it is dropped before it is done, nothing is left behind.
    pub async fn session(&self, options: SessionOptions) -> Result<Session, Error> {
        Session::open(self.clone(), options).await
    }

    /// Observes a role: its leader, now and after each change, with the reason. No session is needed.
    ///
    /// Fails with [`ErrorKind::InvalidName`] if the role can have no such name, with [`ErrorKind::Unavailable`] if no member answers
    /// any more, and with [`ErrorKind::NoCoordinator`] if in [time](Endpoints::timeout) none has anything to tell: those
    /// that have just started have not, as long as there is no coordinator. When it is dropped before it is done, nothing is left
    /// behind.
    ///
    /// ```no_run
    /// # async fn example(client: bellwether::Client) -> Result<(), bellwether::Error> {
    /// let primary = client.observe("primary").await?;
    /// match primary.current().leader {
    ///     Some(leader) => println!("{} leads, by token {}", leader.client, leader.token),
    ///     None => println!("there is no leader"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn observe(&self, role: &str) -> Result<Observer, Error> {
        Observer::new(self.clone(), role).await
    }

    /// Force-releases a lock. This is for operators. The holder is told, and this waits until the holder has released the
    /// lock, or the deadline of its session has passed: only then the next session gets the lock. `by` says who does it and why, for people.
    ///
    /// ```no_run
    /// use bellwether::{NoSessionId, SessionId};
    ///
    /// # async fn example(client: bellwether::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let named: Result<SessionId, NoSessionId> = "s3.17".parse();
    /// let holder = named?;
    /// client.force_release("migrations", holder, "anna: the job hangs").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn force_release(
        &self,
        lock: &str,
        holder: SessionId,
        by: &str,
    ) -> Result<(), Error> {
        self.force(lock, holder, by, false).await
    }

    /// Force-releases a lock and grants it to the next session at once. The holder is told, but it may be unable to listen
    /// and may still be at work: the protected resource must reject its token. Prefer [`Client::force_release`].
    ///
    /// ```no_run
    /// # async fn example(client: bellwether::Client) -> Result<(), bellwether::Error> {
    /// let holder = "s3.17".parse().expect("as `bellwether locks` lists it");
    /// client.force_release_now("migrations", holder, "anna: its host burnt down").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn force_release_now(
        &self,
        lock: &str,
        holder: SessionId,
        by: &str,
    ) -> Result<(), Error> {
        self.force(lock, holder, by, true).await
    }

    async fn force(&self, lock: &str, holder: SessionId, by: &str, now: bool) -> Result<(), Error> {
        check::name(lock)?;
        check::name(by)?;
        (self.shared().rules.force)(now)?;
        let (answer, mut answered) = oneshot::channel();
        let (lock, by) = (lock.to_owned(), by.to_owned());
        let release = ForceRelease { lock, session: holder, by, now, answer };
        self.shared().with(|state, now| state.force(release, now));
        let within = self.shared().endpoints.timeout;
        loop {
            match timeout(within, &mut answered).await {
                Ok(Ok(result)) => return result.map_err(error::refused),
                Ok(Err(_)) => return Err(self.unanswered(within)),
                // The holder has not confirmed yet, and its time is not over.
                Err(_) if !now && self.shared().status.borrow().follows => {}
                Err(_) => return Err(self.unanswered(within)),
            }
        }
    }

    /// The session that holds a lock by this token: for a resource that was shown a token. The coordinator answers,
    /// under its lease.
    ///
    /// Fails with [`ErrorKind::StaleToken`] if no session does. Then none ever will again, from whatever term the token
    /// is. That a session holds the lock may change in the next moment: a resource that keeps the largest token that it
    /// has seen, and rejects smaller ones, is safer and need not ask.
    ///
    /// ```no_run
    /// use bellwether::{ErrorKind, Token};
    ///
    /// # async fn example(client: bellwether::Client, shown: Token) -> Result<(), bellwether::Error> {
    /// match client.check_lock("migrations", shown).await {
    ///     Ok(session) => println!("{session} holds it"),
    ///     Err(error) if error.kind() == ErrorKind::StaleToken => println!("reject the request: {error}"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn check_lock(&self, lock: &str, token: Token) -> Result<SessionId, Error> {
        check::name(lock)?;
        self.check(Subject::Lock(lock.to_owned()), token).await
    }

    /// The session that leads a role by this token, as [`Client::check_lock`] does it for locks.
    ///
    /// ```no_run
    /// # async fn example(client: bellwether::Client, shown: bellwether::Token) -> Result<(), bellwether::Error> {
    /// let leader = client.check_role("primary", shown).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn check_role(&self, role: &str, token: Token) -> Result<SessionId, Error> {
        check::name(role)?;
        self.check(Subject::Role(role.to_owned()), token).await
    }

    async fn check(&self, of: Subject, token: Token) -> Result<SessionId, Error> {
        let answered = self.shared().with(|state, now| state.check(of, token, now));
        let within = self.shared().endpoints.timeout;
        match timeout(within, answered).await {
            Ok(Ok(checked)) => checked.map_err(error::refused),
            Ok(Err(_)) | Err(_) => Err(self.unanswered(within)),
        }
    }

    /// The member that this client is connected to at the moment.
    ///
    /// ```no_run
    /// # async fn example(client: bellwether::Client) -> Result<(), bellwether::Error> {
    /// println!("connected to {:?}, led by {:?}", client.member(), client.coordinator());
    /// # Ok(())
    /// # }
    /// ```
    pub fn member(&self) -> Option<u32> {
        self.shared().status.borrow().member
    }

    /// The coordinator, as far as is known.
    pub fn coordinator(&self) -> Option<u32> {
        self.shared().status.borrow().coordinator
    }

    /// Why there was no answer in time.
    pub(crate) fn unanswered(&self, after: Duration) -> Error {
        let tried = self.shared().tried();
        let member = self.shared().status.borrow().member;
        match member {
            None => Error::unavailable(tried),
            Some(_) => Error::no_coordinator(after, tried),
        }
    }
}
