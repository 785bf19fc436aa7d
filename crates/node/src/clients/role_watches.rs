//! Role watches: clients that follow the status of a role.
//!
//! # Rules
//! * O1 A client that begins to observe a role gets its status, and then every change, in order.
//!   Changes are read off the history in this member's committed state, so of very many at once the
//!   oldest are missing.
//! * O2 The state is looked at when this member, as the coordinator, has said that a role changed, and
//!   else every now and then: a follower applies entries and does not say what came of them.
//!   Nothing is looked at while no client observes.
//! * O3 No client is waited for. One that takes nothing is told later.

use super::requests::Conn;
use crate::coordination::look::Version;
use crate::handle::Handle;
use bellwether_api::client::{Leader, Observed, RoleStatus, ToClient};
use bellwether_coordination::{Coordination, Refusal, Role, RoleChange};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

/// The state is looked at this often (O2). It costs a comparison if nothing has changed.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// The most roles that may be observed over one connection.
pub(crate) const OBSERVED_MAX: u32 = 1_024;

/// All clients that observe.
#[derive(Default)]
pub(crate) struct RoleWatches {
    inner: Mutex<Inner>,
    /// Whether a client observes.
    open: AtomicBool,
    /// There may be something to tell.
    news: Notify,
}

#[derive(Default)]
struct Inner {
    /// By role, and the clients that observe it.
    roles: BTreeMap<String, BTreeMap<(Conn, u64), Observation>>,
    /// What each connection observes.
    of: BTreeMap<(Conn, u64), String>,
    /// The position of the log that all have been told of.
    told: Option<(u64, u64)>,
}

/// One role that one client observes.
struct Observation {
    /// The way to the client.
    own: mpsc::Sender<ToClient>,
    /// What it was told last.
    last: Option<Last>,
}

/// What was told last, as much as is needed to know what is new.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Last {
    /// The change; none if there had been none.
    mark: Option<u64>,
    /// Whether it had a leader.
    led: bool,
}

impl RoleWatches {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A role may have changed.
    pub(crate) fn wake(&self) {
        if self.open.load(Ordering::Relaxed) {
            self.news.notify_one();
        }
    }

    fn observe(&self, by: (Conn, u64), role: String, own: &mpsc::Sender<ToClient>) {
        let mut inner = self.inner();
        inner.remove(by);
        let of_conn = (by.0, u64::MIN)..=(by.0, u64::MAX);
        if inner.of.range(of_conn).count() >= OBSERVED_MAX as usize {
            let result = Err(Refusal::TooManyRequests(OBSERVED_MAX));
            // One that takes nothing is not told even that.
            let told = Observed { number: by.1, version: (0, 0), result };
            let _ = own.try_send(ToClient::Observed(told));
            return;
        }
        inner.of.insert(by, role.clone());
        let observation = Observation { own: own.clone(), last: None };
        inner.roles.entry(role).or_default().insert(by, observation);
        inner.told = None;
        self.open.store(true, Ordering::Relaxed);
        drop(inner);
        self.news.notify_one();
    }

    fn leave(&self, by: (Conn, u64)) {
        let mut inner = self.inner();
        inner.remove(by);
        self.open.store(!inner.of.is_empty(), Ordering::Relaxed);
    }

    fn leave_all(&self, conn: Conn) {
        let mut inner = self.inner();
        let of_conn = (conn, u64::MIN)..=(conn, u64::MAX);
        let all: Vec<_> = inner.of.range(of_conn).map(|(by, _)| *by).collect();
        all.into_iter().for_each(|by| inner.remove(by));
        self.open.store(!inner.of.is_empty(), Ordering::Relaxed);
    }

    /// Waits until a client observes.
    async fn observed(&self) {
        while !self.open.load(Ordering::Relaxed) {
            self.news.notified().await;
        }
    }

    /// O1: tells all observers what is new in this state.
    fn tell(&self, coordination: &Coordination, version: (u64, u64)) {
        let mut inner = self.inner();
        if inner.told == Some(version) {
            return;
        }
        let (mut all, mut refused) = (true, Vec::new());
        for (name, observations) in &mut inner.roles {
            if name.is_empty() || name.len() > coordination.limits().name as usize {
                refused.extend(observations.keys().copied());
                continue;
            }
            let role = coordination.roles().get(name.as_str()).map(|role| &**role);
            let now = Last::of(role);
            for ((_, number), observation) in observations {
                all &= observation.tell(*number, version, coordination, role, now);
            }
        }
        for by in refused {
            let result = Err(Refusal::InvalidName(coordination.limits().name));
            inner.say(by, ToClient::Observed(Observed { number: by.1, version, result }));
            inner.remove(by);
        }
        // O3: a client that could not be told everything is told at the next look.
        inner.told = all.then_some(version);
    }
}

impl Inner {
    fn remove(&mut self, by: (Conn, u64)) {
        let Some(role) = self.of.remove(&by) else { return };
        if let Some(observations) = self.roles.get_mut(&role) {
            observations.remove(&by);
            if observations.is_empty() {
                self.roles.remove(&role);
            }
        }
    }

    fn say(&self, by: (Conn, u64), frame: ToClient) {
        let observations = self.of.get(&by).and_then(|role| self.roles.get(role));
        if let Some(observation) = observations.and_then(|all| all.get(&by)) {
            let _ = observation.own.try_send(frame);
        }
    }
}

impl Last {
    /// Its status.
    fn of(role: Option<&Role>) -> Last {
        let mark = role.and_then(|role| role.history.back()).map(mark);
        Last { mark, led: role.is_some_and(|role| role.leader.is_some()) }
    }
}

impl Observation {
    /// Tells what is new; whether all could be told.
    fn tell(
        &mut self,
        number: u64,
        version: (u64, u64),
        coordination: &Coordination,
        role: Option<&Role>,
        now: Last,
    ) -> bool {
        let say = |status| {
            let told = Observed { number, version, result: Ok(status) };
            self.own.try_send(ToClient::Observed(told)).is_ok()
        };
        let Some(role) = role.filter(|role| !role.history.is_empty()) else {
            // A role that was forgotten has no leader, as before.
            let same = self.last.is_some_and(|last| !last.led);
            let told = same || say(RoleStatus::default());
            if told {
                self.last = Some(now);
            }
            return told;
        };
        let history = &role.history;
        let first = match self.last {
            None => history.len() - 1,
            Some(last) if last.mark == now.mark => return true,
            Some(Last { mark: None, .. }) => 0,
            Some(last) => {
                let told = |change: &RoleChange| Some(mark(change)) == last.mark;
                history.iter().rposition(told).map_or(0, |place| place + 1)
            }
        };
        for place in first..history.len() {
            if !say(status_after(coordination, history, place)) {
                return false;
            }
            let (mark, led) = (Some(mark(&history[place])), history[place].leader.is_some());
            self.last = Some(Last { mark, led });
        }
        true
    }
}

/// Tells one change from another without keeping its value.
fn mark(change: &RoleChange) -> u64 {
    let mut hasher = DefaultHasher::new();
    change.hash(&mut hasher);
    hasher.finish()
}

/// The status after a change.
fn status_after(
    coordination: &Coordination,
    history: &VecDeque<RoleChange>,
    place: usize,
) -> RoleStatus {
    let change = &history[place];
    let leader = change.leader.zip(change.token).map(|(session, token)| {
        // It may have changed its value since it was elected.
        let elected = history.iter().find(|earlier| earlier.token == change.token);
        Leader {
            session,
            client: coordination
                .sessions()
                .get(&session)
                .map_or(String::new(), |of| of.client.to_string()),
            token,
            value: change.value.clone(),
            since: elected.map_or(change.at, |elected| elected.at),
        }
    });
    RoleStatus { leader, reason: change.reason.clone(), at: change.at }
}

/// What one connection observes. When it is dropped, it observes nothing.
pub(super) struct ConnectionWatches<'a> {
    role_watches: &'a RoleWatches,
    conn: Conn,
    own: mpsc::Sender<ToClient>,
    /// Most connections never do.
    used: bool,
}

impl<'a> ConnectionWatches<'a> {
    pub(super) fn new(
        role_watches: &'a RoleWatches,
        conn: Conn,
        own: mpsc::Sender<ToClient>,
    ) -> Self {
        ConnectionWatches { role_watches, conn, own, used: false }
    }

    pub(super) fn observe(&mut self, number: u64, role: String) {
        self.used = true;
        self.role_watches.observe((self.conn, number), role, &self.own);
    }

    pub(super) fn leave(&mut self, number: u64) {
        self.role_watches.leave((self.conn, number));
    }
}

impl Drop for ConnectionWatches<'_> {
    fn drop(&mut self) {
        if self.used {
            self.role_watches.leave_all(self.conn);
        }
    }
}

/// O2: looks at the member's state for all observers, until the member has ended.
pub(crate) async fn watch_over(role_watches: Arc<RoleWatches>, handle: Handle) {
    loop {
        role_watches.observed().await;
        let eye = role_watches.clone();
        let look = move |coordination: &Coordination, version: Version| {
            eye.tell(coordination, (version.term, version.sequence));
        };
        if handle.look(Box::new(look)).await.is_none() {
            return;
        }
        let _ = timeout(LOOKS_EVERY, role_watches.news.notified()).await;
    }
}

#[cfg(test)]
#[path = "role_watches_tests.rs"]
mod tests;
