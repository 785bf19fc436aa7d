//! Lists of locks, roles and sessions, page by page.
//!
//! A page is bounded by its entries and by its bytes, so that writing it down takes a member a moment only.

use super::refusal::{from_refusal, to_refusal};
use super::wire::list::After;
use super::{Malformed, require, wire};
use bellwether_coordination::{
    Claim, Coordination, Lock, Mode, Number, Refusal, Role, Session, SessionId, SharedMap,
};
use std::ops::Bound;
use std::sync::Arc;

/// The most entries of a page.
const ENTRIES_MAX: usize = 500;

/// A page with this number of bytes, or more, gets no further entry.
const BYTES_MAX: usize = 512 * 1024;

/// The most holders, waiters, candidates or names within an entry.
const WITHIN_MAX: usize = 1_000;

/// Which list is asked for, and after which entry the page begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum List {
    /// The locks after this name. All names are after the empty one.
    Locks(String),
    /// The roles after this name.
    Roles(String),
    /// The sessions after this one. All are after 0.
    Sessions(SessionId),
}

/// The answer to [`ToMember::List`](super::ToMember::List).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The client's number for it.
    pub number: u64,
    /// The position of the copy that was read: term and index.
    pub version: (u64, u64),
    /// The page; or why there is none.
    pub result: Result<Page, Refusal>,
}

/// A part of a list. Only one of the three has entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Locks, by name.
    pub locks: Vec<wire::LockEntry>,
    /// Roles, by name.
    pub roles: Vec<wire::RoleEntry>,
    /// Sessions, the oldest first.
    pub sessions: Vec<wire::SessionEntry>,
    /// Whether another page follows.
    pub more: bool,
}

/// Entries have numbers and texts only.
impl Eq for Page {}

impl Page {
    /// The page that was asked for.
    pub fn of(coordination: &Coordination, list: &List) -> Page {
        let mut page = Page::default();
        match list {
            List::Locks(after) => {
                let rest = coordination.locks().range_after(after.as_str());
                (page.locks, page.more) =
                    take(rest, |name, lock| of_lock(coordination, name, lock));
            }
            List::Roles(after) => {
                let rest = coordination.roles().range::<str, _>(beyond(after.as_str()));
                (page.roles, page.more) =
                    take(rest, |name, role| of_role(coordination, name, role));
            }
            List::Sessions(after) => {
                let rest = coordination.sessions().range_after(after);
                let entry =
                    |id: &SessionId, session: &Arc<Session>| of_session(coordination, *id, session);
                (page.sessions, page.more) = take(rest, entry);
            }
        }
        page
    }
}

fn beyond<T: ?Sized>(after: &T) -> (Bound<&T>, Bound<&T>) {
    (Bound::Excluded(after), Bound::Unbounded)
}

/// As many entries as a page has room for, and whether there are more.
fn take<'a, K: 'a, V: 'a, E: prost::Message>(
    mut rest: impl Iterator<Item = (&'a K, &'a V)>,
    entry: impl Fn(&K, &V) -> E,
) -> (Vec<E>, bool) {
    let (mut entries, mut bytes) = (Vec::new(), 0);
    while entries.len() < ENTRIES_MAX && bytes < BYTES_MAX {
        let Some((key, value)) = rest.next() else { return (entries, false) };
        let entry = entry(key, value);
        bytes += entry.encoded_len();
        entries.push(entry);
    }
    (entries, rest.next().is_some())
}

fn of_lock(coordination: &Coordination, name: &str, lock: &Lock) -> wire::LockEntry {
    let sessions = coordination.sessions();
    let holders = lock.holders.iter().map(|(id, (number, mode))| (*id, *number, *mode));
    let user = |used| of_user(sessions, used);
    wire::LockEntry {
        name: name.to_owned(),
        permits: lock.permits,
        holders: holders.take(WITHIN_MAX).map(user).collect(),
        held_by: lock.holders.len() as u64,
        queue: lock.queue.iter().take(WITHIN_MAX).copied().map(user).collect(),
        waited_for_by: lock.queue.len() as u64,
    }
}

fn of_user(
    sessions: &SharedMap<SessionId, Arc<Session>>,
    (id, number, mode): (SessionId, Number, Mode),
) -> wire::LockUser {
    let session = sessions.get(&id);
    let claim = session.and_then(|session| session.requests.get(&number));
    wire::LockUser {
        session: id.0,
        client: session.map(|session| session.client.to_string()).unwrap_or_default(),
        shared: mode == Mode::Shared,
        permits: mode.permits(),
        token: claim.and_then(|claim| claim.token).unwrap_or_default().0,
        since_ms: claim.map_or(0, |claim| claim.since),
    }
}

fn of_role(coordination: &Coordination, name: &str, role: &Role) -> wire::RoleEntry {
    let client = |id: SessionId| {
        coordination
            .sessions()
            .get(&id)
            .map(|session| session.client.to_string())
            .unwrap_or_default()
    };
    let leader = role.leader.map(|(session, token)| {
        let candidate = role.candidates.iter().find(|candidate| candidate.session == session);
        let elected = role.history.iter().find(|change| change.token == Some(token));
        wire::Leader {
            session: Some(session.0),
            client: client(session),
            token: token.0,
            value: candidate.map(|candidate| candidate.value.clone()).unwrap_or_default(),
            since_ms: elected.map_or(0, |elected| elected.at),
        }
    });
    let candidates = role.candidates.iter().take(WITHIN_MAX).map(|candidate| wire::RoleCandidate {
        session: candidate.session.0,
        client: client(candidate.session),
        priority: candidate.priority,
        since_ms: candidate.since,
    });
    wire::RoleEntry {
        name: name.to_owned(),
        leader,
        candidates: candidates.collect(),
        campaigned_for_by: role.candidates.len() as u64,
    }
}

fn of_session(coordination: &Coordination, id: SessionId, session: &Session) -> wire::SessionEntry {
    let locks = |held: bool| {
        let claims =
            session.requests.values().filter(|claim: &&Claim| claim.token.is_some() == held);
        let names = claims.flat_map(|claim| claim.wants.iter().map(|want| want.name.to_string()));
        names.take(WITHIN_MAX).collect()
    };
    let roles = |led: bool| {
        let leads = |role: &&Arc<str>| {
            let leader = coordination.roles().get(&***role).and_then(|role| role.leader);
            leader.is_some_and(|(leader, _)| leader == id) == led
        };
        let names = session.roles.keys().filter(leads).take(WITHIN_MAX);
        names.map(|role| role.to_string()).collect()
    };
    wire::SessionEntry {
        session: id.0,
        client: session.client.to_string(),
        ttl_ms: session.ttl_ms,
        since_ms: session.since,
        holds: locks(true),
        waits_for: locks(false),
        leads: roles(true),
        campaigns_for: roles(false),
    }
}

impl From<List> for After {
    fn from(list: List) -> Self {
        match list {
            List::Locks(after) => After::Locks(after),
            List::Roles(after) => After::Roles(after),
            List::Sessions(after) => After::Sessions(after.0),
        }
    }
}

impl From<After> for List {
    fn from(after: After) -> Self {
        match after {
            After::Locks(after) => List::Locks(after),
            After::Roles(after) => List::Roles(after),
            After::Sessions(after) => List::Sessions(SessionId(after)),
        }
    }
}

impl From<Listed> for wire::Listed {
    fn from(listed: Listed) -> Self {
        let Listed { number, version: (term, sequence), result } = listed;
        let (page, refused) = match result {
            Ok(page) => (page, None),
            Err(refusal) => (Page::default(), Some(from_refusal(refusal))),
        };
        let Page { locks, roles, sessions, more } = page;
        wire::Listed { number: Some(number), term, sequence, locks, roles, sessions, more, refused }
    }
}

impl TryFrom<wire::Listed> for Listed {
    type Error = Malformed;

    fn try_from(listed: wire::Listed) -> Result<Self, Malformed> {
        let wire::Listed { number, term, sequence, locks, roles, sessions, more, refused } = listed;
        let result = match refused {
            Some(refusal) => Err(to_refusal(refusal)?),
            None => Ok(Page { locks, roles, sessions, more }),
        };
        let number = require(number, "listed.number")?;
        Ok(Listed { number, version: (term, sequence), result })
    }
}
