//! From the state to what people and pages see of it.
//!
//! This runs inside the member's task, which does nothing else meanwhile. So what is shown is
//! bounded: each list has at most as many entries as was asked for, and the lists within them
//! together ten times as many.

use crate::wall;
use bellwether_api::coordination as shown;
use bellwether_coordination::{
    Candidate, Coordination, Deadlock, Lock, Mode, Number, Policy, Role, RoleChange, Session,
    SessionId, SharedMap, Token,
};
use std::sync::Arc;

/// What is to be seen of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything.
    All,
    Sessions,
    Roles,
    Locks,
    /// The deadlocks, and who waits for whom now.
    Deadlocks,
}

/// How much of it fits into an answer.
struct Room {
    /// The most entries of each list.
    each: usize,
    /// The most entries of the lists within them, together.
    within: usize,
    /// What did not fit.
    left_out: u64,
}

impl Room {
    /// How many entries of a list are shown.
    fn of(&mut self, count: usize) -> usize {
        let shown = count.min(self.each);
        self.left_out += (count - shown) as u64;
        shown
    }

    /// The same of a list within an entry.
    fn within(&mut self, count: usize) -> usize {
        let shown = count.min(self.each).min(self.within);
        self.within -= shown;
        self.left_out += (count - shown) as u64;
        shown
    }
}

/// The lists of the state. Who tells of them and when is for the caller to say.
pub(crate) fn lists(coordination: &Coordination, part: Part, limit: usize) -> shown::Coordination {
    let mut room = Room { each: limit, within: limit.saturating_mul(10), left_out: 0 };
    let wants = |this: Part| part == Part::All || part == this;
    let mut all = shown::Coordination::default();
    if wants(Part::Sessions) {
        let sessions = coordination.sessions();
        let some = sessions.iter().take(room.of(sessions.len()));
        all.sessions =
            some.map(|(id, session)| of_session(coordination, *id, session, &mut room)).collect();
    }
    if wants(Part::Roles) {
        let roles = coordination.roles();
        let some = roles.iter().take(room.of(roles.len()));
        all.roles = some.map(|(name, role)| of_role(coordination, name, role, &mut room)).collect();
    }
    if wants(Part::Locks) {
        let locks = coordination.locks();
        let some = locks.iter().take(room.of(locks.len()));
        all.locks = some.map(|(name, lock)| of_lock(coordination, name, lock, &mut room)).collect();
    }
    if wants(Part::Deadlocks) {
        let mut found: Vec<_> = coordination.deadlocks().map(deadlock).collect();
        found.reverse();
        found.truncate(limit);
        all.deadlocks = found;
        let edge = |(from, to, lock): (SessionId, SessionId, &str)| shown::WaitsFor {
            from: from.to_string(),
            to: to.to_string(),
            lock: lock.to_owned(),
        };
        all.waits = coordination.waits_for().take(limit).map(edge).collect();
    }
    all.left_out = room.left_out;
    all
}

/// One role; one without candidates if there is none of this name.
pub(crate) fn role(coordination: &Coordination, name: &str, limit: usize) -> shown::Role {
    let mut room = Room { each: limit, within: limit, left_out: 0 };
    match coordination.roles().get(name) {
        Some(role) => of_role(coordination, name, role, &mut room),
        None => shown::Role {
            name: name.to_owned(),
            policy: shown::Policy::FirstCome,
            leader: None,
            candidates: Vec::new(),
            history: Vec::new(),
        },
    }
}

fn of_session(
    coordination: &Coordination,
    id: SessionId,
    session: &Session,
    room: &mut Room,
) -> shown::Session {
    let (mut holds, mut waits_for) = (Vec::new(), Vec::new());
    for claim in session.requests.values() {
        let list = if claim.token.is_some() { &mut holds } else { &mut waits_for };
        let some = claim.wants.iter().take(room.within(claim.wants.len()));
        list.extend(some.map(|want| want.name.to_string()));
    }
    let leads = |role: &&Arc<str>| {
        let leader = coordination.roles().get(&***role).and_then(|role| role.leader);
        leader.is_some_and(|(leader, _)| leader == id)
    };
    let some = session.roles.keys().take(room.within(session.roles.len()));
    let (leads, campaigns_for) = some.partition::<Vec<_>, _>(leads);
    let names = |list: Vec<&Arc<str>>| list.into_iter().map(|role| role.to_string()).collect();
    shown::Session {
        session: id.to_string(),
        client: session.client.to_string(),
        ttl_ms: session.ttl_ms,
        since: wall::at(session.since),
        holds,
        waits_for,
        leads: names(leads),
        campaigns_for: names(campaigns_for),
    }
}

fn of_lock(coordination: &Coordination, name: &str, lock: &Lock, room: &mut Room) -> shown::Lock {
    let sessions = coordination.sessions();
    let holders = lock.holders.iter().take(room.within(lock.holders.len()));
    let queue = lock.queue.iter().enumerate().take(room.within(lock.queue.len()));
    shown::Lock {
        name: name.to_owned(),
        permits: (lock.permits > 0).then_some(lock.permits),
        taken: lock.taken(),
        holders: holders
            .map(|(id, (number, held))| {
                let (mode, permits) = mode(*held);
                let (since, token) = asked(sessions, *id, *number);
                shown::Holder {
                    session: id.to_string(),
                    client: client(sessions, *id),
                    mode,
                    permits,
                    token: token.unwrap_or_default().0,
                    since,
                }
            })
            .collect(),
        queue: queue
            .map(|(place, (id, number, wanted))| {
                let (mode, permits) = mode(*wanted);
                shown::Waiter {
                    session: id.to_string(),
                    client: client(sessions, *id),
                    mode,
                    permits,
                    behind: place as u64,
                    since: asked(sessions, *id, *number).0,
                }
            })
            .collect(),
    }
}

/// When a request came, and what it holds by.
fn asked(
    sessions: &SharedMap<SessionId, Arc<Session>>,
    id: SessionId,
    number: Number,
) -> (String, Option<Token>) {
    let claim = sessions.get(&id).and_then(|session| session.requests.get(&number));
    claim.map(|claim| (wall::at(claim.since), claim.token)).unwrap_or_default()
}

fn client(sessions: &SharedMap<SessionId, Arc<Session>>, id: SessionId) -> String {
    sessions.get(&id).map(|session| session.client.to_string()).unwrap_or_default()
}

fn mode(mode: Mode) -> (shown::Mode, u32) {
    match mode {
        Mode::Exclusive => (shown::Mode::Exclusive, 0),
        Mode::Shared => (shown::Mode::Shared, 0),
        Mode::Permits { take, .. } => (shown::Mode::Permits, take),
    }
}

fn of_role(coordination: &Coordination, name: &str, role: &Role, room: &mut Room) -> shown::Role {
    let sessions = coordination.sessions();
    let leads = |session: SessionId| role.leader.is_some_and(|(leader, _)| leader == session);
    let candidates = role.candidates.iter().take(room.within(role.candidates.len()));
    let leader = role.leader.map(|(session, token)| {
        let candidate = role.place(session).map(|place| &role.candidates[place]);
        shown::Leader {
            session: session.to_string(),
            client: client(sessions, session),
            token: token.0,
            value: candidate.map(|candidate| text(&candidate.value)).unwrap_or_default(),
            preempt_requested: role.preempt_requested,
        }
    });
    let candidate = |candidate: &Candidate| shown::Candidate {
        session: candidate.session.to_string(),
        client: client(sessions, candidate.session),
        priority: candidate.priority,
        value: text(&candidate.value),
        since: wall::at(candidate.since),
        leads: leads(candidate.session),
    };
    shown::Role {
        name: name.to_owned(),
        policy: policy(role.policy),
        leader,
        candidates: candidates.map(candidate).collect(),
        history: role.history.iter().rev().map(change).collect(),
    }
}

pub(crate) fn policy(policy: Policy) -> shown::Policy {
    match policy {
        Policy::FirstCome => shown::Policy::FirstCome,
        Policy::Priority { preempt: false } => shown::Policy::Priority,
        Policy::Priority { preempt: true } => shown::Policy::Preempt,
    }
}

fn change(change: &RoleChange) -> shown::RoleChange {
    shown::RoleChange {
        at: wall::at(change.at),
        leader: change.leader.map(|leader| leader.to_string()),
        token: change.token.map(|token| token.0),
        value: text(&change.value),
        reason: change.reason.clone(),
    }
}

/// A cycle, as people and pages see it.
pub(crate) fn deadlock(deadlock: &Deadlock) -> shown::Deadlock {
    let waits = deadlock.cycle.iter().map(|wait| shown::Wait {
        session: wait.session.to_string(),
        client: wait.client.clone(),
        lock: wait.lock.clone(),
        since: wall::at(wait.since),
    });
    shown::Deadlock {
        at: wall::at(deadlock.at),
        cycle: waits.collect(),
        aborted: deadlock.aborted.map(|session| session.to_string()),
        text: deadlock.to_string(),
    }
}

/// Values are bytes; what is no text shows where it is none.
fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_coordination::{Ask, Command, Limits, OnDeadlock, Outcome, Secret, Want};

    struct Scene(Coordination, Number);

    impl Scene {
        fn new() -> Self {
            let mut coordination = Coordination::default();
            let (limits, on_deadlock) = (Limits::default(), OnDeadlock::Abort);
            coordination.apply(&Command::Begin { term: 3, limits, on_deadlock });
            Scene(coordination, 0)
        }

        fn open(&mut self, key: u128) -> SessionId {
            let client = format!("client {key}");
            let open = Command::Open { key: Secret(key), client, ttl_ms: 1_000, at: 1_000 };
            match self.0.apply(&open).remove(0) {
                Outcome::Opened(Ok(id), _) => id,
                other => unreachable!("{other:?}"),
            }
        }

        fn ask(&mut self, session: SessionId, ask: Ask) -> Number {
            self.1 += 1;
            let (number, forget_below, at) = (self.1, 0, 2_000);
            self.0.apply(&Command::Ask { session, number, forget_below, ask, at });
            number
        }

        fn lock(&mut self, session: SessionId, name: &str, mode: Mode) -> Number {
            let wants = vec![Want { name: name.into(), mode }].into();
            self.ask(session, Ask::Lock { wants, wait: true })
        }

        fn campaign(&mut self, session: SessionId, priority: i32) {
            let (role, value) = ("cron".to_owned(), b"here".to_vec());
            let policy = Policy::Priority { preempt: true };
            self.ask(session, Ask::Campaign { role, priority, value, policy });
        }
    }

    #[test]
    fn a_lock_shows_who_holds_it_and_who_waits_where() {
        let mut scene = Scene::new();
        let [a, b, c] = [1, 2, 3].map(|key| scene.open(key));
        for session in [a, b, c] {
            scene.lock(session, "table", Mode::Exclusive);
        }
        scene.lock(a, "slots", Mode::Permits { take: 2, of: 5 });
        let all = lists(&scene.0, Part::All, 10);
        let [slots, table] = all.locks.as_slice() else { unreachable!("{:?}", all.locks) };
        assert_eq!((slots.permits, slots.taken, slots.holders[0].permits), (Some(5), 2, 2));
        assert_eq!((table.permits, table.taken), (None, 0));
        let holder = &table.holders[0];
        assert_eq!((holder.session.as_str(), holder.client.as_str()), ("s3.1", "client 1"));
        assert_eq!((holder.token >> 32, holder.since.as_str()), (3, "1970-01-01T00:00:02.000Z"));
        let queue: Vec<_> =
            table.queue.iter().map(|waiter| (waiter.session.as_str(), waiter.behind)).collect();
        assert_eq!(queue, [("s3.2", 0), ("s3.3", 1)]);
        let waits: Vec<_> =
            all.waits.iter().map(|edge| (edge.from.as_str(), edge.to.as_str())).collect();
        assert_eq!(waits, [("s3.2", "s3.1"), ("s3.3", "s3.2")]);
        assert_eq!(all.sessions[0].holds, ["table", "slots"]);
        assert_eq!(all.sessions[2].waits_for, ["table"]);
        assert_eq!(all.left_out, 0);
    }

    #[test]
    fn a_role_shows_its_leader_its_candidates_and_its_history() {
        let mut scene = Scene::new();
        let [a, b] = [1, 2].map(|key| scene.open(key));
        scene.campaign(a, 1);
        scene.campaign(b, 5);
        let cron = role(&scene.0, "cron", 10);
        assert_eq!(cron.policy, shown::Policy::Preempt);
        let leader = cron.leader.as_ref().unwrap();
        assert_eq!((leader.session.as_str(), leader.preempt_requested), ("s3.1", true));
        assert_eq!(leader.value, "here");
        let leads: Vec<_> = cron.candidates.iter().map(|one| (one.priority, one.leads)).collect();
        assert_eq!(leads, [(1, true), (5, false)]);
        scene.ask(a, Ask::Resign { role: "cron".to_owned() });
        let cron = role(&scene.0, "cron", 10);
        assert_eq!(cron.history[0].leader.as_deref(), Some("s3.2"));
        assert_eq!(
            cron.history[0].reason,
            "session s3.1 yielded to a candidate with a higher priority"
        );
        let all = lists(&scene.0, Part::Sessions, 10);
        assert_eq!((all.sessions[1].leads.len(), all.roles.len()), (1, 0));
        assert_eq!(role(&scene.0, "unknown", 10).leader, None);
    }

    #[test]
    fn a_deadlock_shows_its_cycle() {
        let mut scene = Scene::new();
        let [a, b] = [1, 2].map(|key| scene.open(key));
        scene.lock(a, "a", Mode::Exclusive);
        scene.lock(b, "b", Mode::Exclusive);
        scene.lock(a, "b", Mode::Exclusive);
        scene.lock(b, "a", Mode::Exclusive);
        let all = lists(&scene.0, Part::Deadlocks, 10);
        let [found] = all.deadlocks.as_slice() else { unreachable!("{:?}", all.deadlocks) };
        assert_eq!(found.aborted.as_deref(), Some("s3.2"));
        let cycle: Vec<_> =
            found.cycle.iter().map(|wait| (wait.client.as_str(), wait.lock.as_str())).collect();
        assert_eq!(cycle, [("client 2", "a"), ("client 1", "b")]);
        assert!(found.text.contains("s3.1 (client 1) waits for 'b' behind s3.2"), "{}", found.text);
        assert_eq!((all.waits.len(), all.sessions.len()), (1, 0));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut scene = Scene::new();
        let sessions: Vec<_> = (0..30).map(|key| scene.open(key)).collect();
        for session in &sessions {
            scene.lock(*session, "table", Mode::Shared);
        }
        for name in ["x", "y", "z"] {
            scene.lock(sessions[0], name, Mode::Exclusive);
        }
        let all = lists(&scene.0, Part::All, 2);
        assert_eq!((all.sessions.len(), all.locks.len()), (2, 2));
        assert_eq!(all.locks[0].holders.len(), 2);
        // Sessions, locks, and holders of the first lock.
        assert_eq!(all.left_out, 28 + 2 + 28);
        let none = lists(&scene.0, Part::Locks, 0);
        assert_eq!((none.locks.len(), none.left_out), (0, 4));
    }
}
