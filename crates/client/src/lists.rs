//! Lists of locks, roles and sessions.
#![allow(clippy::disallowed_types, reason = "moments that others noted; no clock is looked at")]

use crate::lost::time;
use crate::observe::Leader;
use crate::{Client, Error, error};
use bellwether_api::client::{List, Page, wire};
use bellwether_coordination::{SessionId, Token};
use std::time::{Duration, SystemTime};
use tokio::time::timeout;

/// A lock that is held or waited for, as [`Client::locks`] lists it.
///
/// ```
/// use bellwether::{LockHolder, LockInfo, LockMode, LockWaiter};
///
/// fn describe(lock: &LockInfo) -> String {
///     let reads = |holder: &LockHolder| holder.mode == LockMode::Shared;
///     let next = lock.waiters.first().map(|waiter: &LockWaiter| waiter.client.as_str());
///     format!("{}: shared {}, next {next:?}", lock.name, lock.holders.iter().any(reads))
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// Its name.
    pub name: String,
    /// The number of its permits, if it is a semaphore.
    pub permits: Option<u32>,
    /// The sessions that hold it: at most the first thousand.
    pub holders: Vec<LockHolder>,
    /// The number of sessions that hold it.
    pub holder_count: u64,
    /// The sessions that wait for it, the next one first: at most the first thousand.
    pub waiters: Vec<LockWaiter>,
    /// The number of sessions that wait for it.
    pub waiter_count: u64,
}

/// A session that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockHolder {
    /// The session.
    pub session: SessionId,
    /// [Its name](crate::SessionOptions::name).
    pub client: String,
    /// How it holds the lock.
    pub mode: LockMode,
    /// The token of its grant.
    pub token: Token,
    /// When it asked, by the clock of the coordinator of that time.
    pub since: SystemTime,
}

/// A session that waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockWaiter {
    /// The session.
    pub session: SessionId,
    /// [Its name](crate::SessionOptions::name).
    pub client: String,
    /// How it asks for the lock.
    pub mode: LockMode,
    /// When it asked, by the clock of the coordinator of that time.
    pub since: SystemTime,
}

/// How a session holds a lock, or asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockMode {
    /// Alone.
    Exclusive,
    /// [Together with others that share it](crate::LockRequest::shared).
    Shared,
    /// With this number of [permits](crate::LockRequest::permits) of a semaphore.
    Permits(u32),
}

/// A role, as [`Client::roles`] lists it.
///
/// ```
/// use bellwether::{Candidate, RoleInfo};
///
/// fn strongest(role: &RoleInfo) -> Option<&Candidate> {
///     role.candidates.iter().max_by_key(|candidate| candidate.priority)
/// }
/// ```
///
/// A role without candidates is listed as long as the cluster remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoleInfo {
    /// Its name.
    pub name: String,
    /// Its leader, if it has one.
    pub leader: Option<Leader>,
    /// The sessions that campaign for it, the leader included, in order of arrival: at most the first thousand.
    pub candidates: Vec<Candidate>,
    /// The number of sessions that campaign for it.
    pub candidate_count: u64,
}

/// A session that campaigns for a role.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The session.
    pub session: SessionId,
    /// [Its name](crate::SessionOptions::name).
    pub client: String,
    /// Its [priority](crate::Campaign::priority).
    pub priority: i32,
    /// Since when it campaigns, by the clock of the coordinator of that time.
    pub since: SystemTime,
}

/// A session, as [`Client::sessions`] lists it.
///
/// ```
/// use bellwether::SessionInfo;
///
/// fn is_idle(session: &SessionInfo) -> bool {
///     session.holds.is_empty() && session.leads.is_empty()
/// }
/// ```
///
/// Of each kind of name it has at most a thousand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// The session.
    pub session: SessionId,
    /// [Its name](crate::SessionOptions::name).
    pub client: String,
    /// How long it lasts after the last sign of life of its client.
    pub ttl: Duration,
    /// When it began, by the clock of the coordinator of that time.
    pub since: SystemTime,
    /// The locks that it holds.
    pub holds: Vec<String>,
    /// The locks that it waits for.
    pub waits_for: Vec<String>,
    /// The roles that it leads.
    pub leads: Vec<String>,
    /// The roles that it campaigns for and does not lead.
    pub campaigns_for: Vec<String>,
}

impl Client {
    /// Lists all locks that are held or waited for, by name.
    ///
    /// The connected member answers from what it knows to be committed, in pages of some hundred entries. So a list may
    /// be some milliseconds old, longer if the member is cut off from the others, and a long list is not one moment's.
    /// Use it to look, not to decide: what must not be done twice is done under a [lock](crate::Session::lock).
    ///
    /// Fails with [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) or
    /// [`ErrorKind::NoCoordinator`](crate::ErrorKind::NoCoordinator) if no member answers in
    /// [time](crate::Endpoints::timeout), and with [`ErrorKind::InvalidRequest`](crate::ErrorKind::InvalidRequest) if the
    /// member's version has no lists yet.
    ///
    /// ```no_run
    /// # async fn example(client: bellwether::Client) -> Result<(), bellwether::Error> {
    /// for lock in client.locks().await? {
    ///     for holder in &lock.holders {
    ///         println!("{} holds '{}' {:?}, by token {}", holder.client, lock.name, holder.mode, holder.token);
    ///     }
    ///     println!("{} wait for it, {:?} is next", lock.waiter_count, lock.waiters.first());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn locks(&self) -> Result<Vec<LockInfo>, Error> {
        let mut all: Vec<LockInfo> = Vec::new();
        loop {
            let after = all.last().map(|lock| lock.name.clone()).unwrap_or_default();
            let Page { locks, more, .. } = self.page(List::Locks(after), "locks").await?;
            let more = more && !locks.is_empty();
            all.extend(locks.into_iter().map(LockInfo::of));
            if !more {
                return Ok(all);
            }
        }
    }

    /// Lists all roles that have candidates, or had some lately, by name. The notes of [`Client::locks`] apply here, too.
    ///
    /// ```no_run
    /// # async fn example(client: bellwether::Client) -> Result<(), bellwether::Error> {
    /// for role in client.roles().await? {
    ///     match &role.leader {
    ///         Some(leader) => println!("{} leads '{}'", leader.client, role.name),
    ///         None => println!("'{}' has no leader", role.name),
    ///     }
    ///     for candidate in &role.candidates {
    ///         println!("  {} campaigns with priority {}", candidate.client, candidate.priority);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn roles(&self) -> Result<Vec<RoleInfo>, Error> {
        let mut all: Vec<RoleInfo> = Vec::new();
        loop {
            let after = all.last().map(|role| role.name.clone()).unwrap_or_default();
            let Page { roles, more, .. } = self.page(List::Roles(after), "roles").await?;
            let more = more && !roles.is_empty();
            all.extend(roles.into_iter().map(RoleInfo::of));
            if !more {
                return Ok(all);
            }
        }
    }

    /// Lists all sessions of the cluster, the oldest first. The notes of [`Client::locks`] apply here, too.
    ///
    /// ```no_run
    /// # async fn example(client: bellwether::Client) -> Result<(), bellwether::Error> {
    /// for session in client.sessions().await? {
    ///     println!("{} ({}) holds {:?}", session.session, session.client, session.holds);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn sessions(&self) -> Result<Vec<SessionInfo>, Error> {
        let mut all: Vec<SessionInfo> = Vec::new();
        loop {
            let after = all.last().map_or(SessionId(0), |session| session.session);
            let Page { sessions, more, .. } = self.page(List::Sessions(after), "sessions").await?;
            let more = more && !sessions.is_empty();
            all.extend(sessions.into_iter().map(SessionInfo::of));
            if !more {
                return Ok(all);
            }
        }
    }

    async fn page(&self, list: List, what: &str) -> Result<Page, Error> {
        let doing = |error: Error| error.doing(format!("cannot list the {what}"));
        let old = |member: Option<u32>| doing(Error::no_lists(member.unwrap_or_default()));
        (self.shared().rules.list)(&self.shared().endpoints).map_err(doing)?;
        let status = self.shared().status.borrow().clone();
        if status.member.is_some() && !status.lists {
            return Err(old(status.member));
        }
        let within = self.shared().endpoints.timeout;
        let answered = self.shared().with(|state, now| state.list(list, now));
        match timeout(within, answered).await {
            Ok(Ok(page)) => page.map_err(|refusal| doing(error::refused(refusal))),
            // It has moved to a member that has no lists.
            Ok(Err(_)) => Err(old(self.member())),
            Err(_) => Err(doing(self.unanswered(within))),
        }
    }
}

impl LockInfo {
    fn of(entry: wire::LockEntry) -> Self {
        let wire::LockEntry { name, permits, holders, held_by, queue, waited_for_by } = entry;
        LockInfo {
            name,
            permits: (permits > 0).then_some(permits),
            holders: holders.into_iter().map(LockHolder::of).collect(),
            holder_count: held_by,
            waiters: queue.into_iter().map(LockWaiter::of).collect(),
            waiter_count: waited_for_by,
        }
    }
}

impl LockHolder {
    fn of(user: wire::LockUser) -> Self {
        let (mode, token) = (LockMode::of(&user), Token(user.token));
        let (session, since) = (SessionId(user.session), time(user.since_ms));
        LockHolder { session, client: user.client, mode, token, since }
    }
}

impl LockWaiter {
    fn of(user: wire::LockUser) -> Self {
        let (session, mode) = (SessionId(user.session), LockMode::of(&user));
        LockWaiter { session, client: user.client, mode, since: time(user.since_ms) }
    }
}

impl LockMode {
    fn of(user: &wire::LockUser) -> Self {
        match (user.permits, user.shared) {
            (1.., _) => LockMode::Permits(user.permits),
            (0, true) => LockMode::Shared,
            (0, false) => LockMode::Exclusive,
        }
    }
}

impl RoleInfo {
    fn of(entry: wire::RoleEntry) -> Self {
        let wire::RoleEntry { name, leader, candidates, campaigned_for_by } = entry;
        let leader = leader.map(|leader| Leader {
            session: SessionId(leader.session.unwrap_or_default()),
            client: leader.client,
            token: Token(leader.token),
            value: leader.value,
            since: time(leader.since_ms),
        });
        let candidate = |candidate: wire::RoleCandidate| Candidate {
            session: SessionId(candidate.session),
            client: candidate.client,
            priority: candidate.priority,
            since: time(candidate.since_ms),
        };
        let candidates = candidates.into_iter().map(candidate).collect();
        RoleInfo { name, leader, candidates, candidate_count: campaigned_for_by }
    }
}

impl SessionInfo {
    fn of(entry: wire::SessionEntry) -> Self {
        SessionInfo {
            session: SessionId(entry.session),
            client: entry.client,
            ttl: Duration::from_millis(entry.ttl_ms),
            since: time(entry.since_ms),
            holds: entry.holds,
            waits_for: entry.waits_for,
            leads: entry.leads,
            campaigns_for: entry.campaigns_for,
        }
    }
}
