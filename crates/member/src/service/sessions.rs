//! What a coordinator knows of its clients and does not replicate: where they are, and when they were
//! last heard of. A new coordinator begins without it.

use super::Service;
use super::types::{Conn, PASSING, Timer};
use bellwether_coordination::{
    Command, Coordination, Ending, Number, Outcome, Reply, Request, Secret, Sent, SessionId, Stamp,
};
use bellwether_core::{Context, NodeId, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The way to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Route {
    /// The member that it talks to.
    pub(super) via: NodeId,
    /// Its connection there.
    pub(super) conn: Conn,
}

impl Route {
    /// Whether the client stays at the other end and hears what is said later.
    fn stays(self) -> bool {
        self.conn & PASSING == 0
    }
}

/// D6: what a client has to give up, and has not confirmed to have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Notice {
    /// The whole session; and who ends it.
    ends: Option<String>,
    /// Locks, the requests that hold them, and who takes them.
    taken: Vec<(String, Number, String)>,
}

impl Notice {
    /// What the client is told.
    fn replies(&self, session: SessionId) -> Vec<Reply> {
        let taken = self.taken.iter().map(|(lock, number, by)| Reply::ForceReleased {
            session,
            lock: lock.clone(),
            number: *number,
            by: by.clone(),
        });
        let why = Ending::Closed;
        taken.chain(self.ends.is_some().then_some(Reply::Ending { session, why })).collect()
    }
}

/// What is known of a session's client. There is one for each session, so it is small.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Alive {
    /// D3: when it will have been silent for too long.
    until: Time,
    ttl_ms: u32,
    /// D4: whether its end was proposed.
    ends: bool,
    whereabouts: Whereabouts,
}

/// Where a session's client is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Whereabouts {
    /// It was not heard of yet.
    Unknown,
    /// D6: it listens where it was last heard of.
    Home(Route),
    /// It was last heard of where it does not listen, and it listens nowhere.
    Passing(Route),
    /// It was last heard of at the first, where it does not listen, and it listens at the second. That is rare.
    Away(Box<(Route, Route)>),
}

impl Alive {
    fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms.into())
    }

    /// Where it was last heard of.
    fn route(&self) -> Option<Route> {
        match &self.whereabouts {
            Whereabouts::Unknown => None,
            Whereabouts::Home(route) | Whereabouts::Passing(route) => Some(*route),
            Whereabouts::Away(away) => Some(away.0),
        }
    }

    /// D6: where it listens, if it does.
    fn home(&self) -> Option<Route> {
        match &self.whereabouts {
            Whereabouts::Unknown | Whereabouts::Passing(_) => None,
            Whereabouts::Home(home) => Some(*home),
            Whereabouts::Away(away) => Some(away.1),
        }
    }

    fn came_by(&mut self, route: Route) {
        self.whereabouts = match self.home() {
            _ if route.stays() => Whereabouts::Home(route),
            None => Whereabouts::Passing(route),
            Some(home) => Whereabouts::Away(Box::new((route, home))),
        };
    }
}

/// What a coordinator knows of its clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Sessions {
    clients: BTreeMap<SessionId, Alive>,
    /// When to look at which session. It may have been heard of since: then it is looked at again
    /// later. So that hearing of one costs nothing here.
    looks: BTreeSet<(Time, SessionId)>,
    /// For when the timer is set.
    timer: Option<Time>,
    /// Who wants a session, by its key: one for each command on its way, in their order. An answer
    /// must not prove more than the question that it is for.
    opening: BTreeMap<Secret, VecDeque<(Route, Sent)>>,
    /// The operators behind force-releases in flight, one for each command.
    forcing: BTreeMap<(String, SessionId), VecDeque<Route>>,
    /// D6: what clients have not confirmed.
    notices: BTreeMap<SessionId, Notice>,
    /// Who wants a session of another to end, and waits for that.
    closing: BTreeMap<SessionId, Vec<Route>>,
    /// Requests that have been proposed and not answered at all: who asks for them again has to
    /// wait for the same.
    proposed: BTreeSet<(SessionId, Number)>,
    /// D2: what waits until the entries under way are committed.
    waiting: Vec<Command>,
    /// What is to be said, and to whose clients; empty between two steps.
    replies: BTreeMap<NodeId, Vec<(Conn, Reply)>>,
}

/// D2: this many entries may be uncommitted without keeping others back.
const FEW: u64 = 4;

/// The one whose turn it is.
fn next<K: Ord, V>(waiting: &mut BTreeMap<K, VecDeque<V>>, key: &K) -> Option<V> {
    let queue = waiting.get_mut(key)?;
    let first = queue.pop_front();
    if queue.is_empty() {
        waiting.remove(key);
    }
    first
}

impl Sessions {
    /// D3: a session that has to be heard of from now on.
    pub(super) fn expect(&mut self, id: SessionId, ttl: Duration, now: Time) {
        let until = now + ttl;
        // No TTL is longer than an hour.
        let ttl_ms = u32::try_from(ttl.as_millis()).unwrap_or(u32::MAX);
        let new = Alive { until, ttl_ms, ends: false, whereabouts: Whereabouts::Unknown };
        let known = self.clients.entry(id).or_insert(new);
        known.until = known.until.max(until);
        self.looks.insert((until, id));
    }

    /// Something came from a session's client.
    fn hear_of(&mut self, id: SessionId, route: Route, now: Time) {
        let confirmed = !self.notices.contains_key(&id);
        if let Some(client) = self.clients.get_mut(&id) {
            // D6: nothing proves to the client that it lives longer.
            if confirmed {
                client.until = now + client.ttl();
            }
            client.came_by(route);
        }
    }

    /// Whether the session's client listens, and can be told something.
    fn listens(&self, session: SessionId) -> bool {
        self.clients.get(&session).is_some_and(|client| client.home().is_some())
    }

    /// Who ends the session of another, if this request does: the session's own client closes it where
    /// it listens.
    fn ended_by(&self, request: &Request, route: Route) -> Option<String> {
        match request {
            Request::End { by, .. } => Some(by.clone()),
            Request::Close { session, .. } if !route.stays() && self.listens(*session) => {
                Some(format!("a request with its key, through {}", route.via))
            }
            _ => None,
        }
    }

    /// D6: tells a client what it has to give up.
    fn warn(&mut self, session: SessionId, route: Option<Route>) {
        let replies = self.notices.get(&session).map(|notice| notice.replies(session));
        for reply in replies.into_iter().flatten() {
            if let Some(route) = route {
                self.reply(route, reply);
            }
        }
    }

    /// D6: takes a lock away from a session. The command for it, if its holder is not waited for.
    fn force(
        &mut self,
        (lock, session, by, at_once): (String, SessionId, String, bool),
        coordination: &Coordination,
        at: Stamp,
    ) -> Option<Command> {
        let holder =
            coordination.locks().get(lock.as_str()).and_then(|lock| lock.holders.get(&session));
        let number = match holder {
            Some((number, _)) if !at_once => *number,
            _ => return Some(Command::Force { lock, session, by, at }),
        };
        let notice = self.notices.entry(session).or_default();
        if !notice.taken.iter().any(|(taken, ..)| *taken == lock) {
            notice.taken.push((lock, number, by));
        }
        self.warn(session, self.clients.get(&session).and_then(Alive::home));
        None
    }

    /// D6: locks that their holders have given back. Returns what people may want to read of.
    pub(super) fn conclude(&mut self, coordination: &Coordination) -> Vec<Outcome> {
        let mut notes = Vec::new();
        let mut replies = Vec::new();
        let (notices, forcing) = (&mut self.notices, &mut self.forcing);
        notices.retain(|session, notice| {
            notice.taken.retain(|(lock, number, by)| {
                let holders = coordination.locks().get(lock.as_str()).map(|lock| &lock.holders);
                let holder = holders.and_then(|holders| holders.get(session));
                if holder.is_some_and(|(holds, _)| holds == number) {
                    return true;
                }
                for route in forcing.remove(&(lock.clone(), *session)).unwrap_or_default() {
                    let (lock, session, result) = (lock.clone(), *session, Ok(()));
                    replies.push((route, Reply::Forced { lock, session, result }));
                }
                let (lock, by, number) = (lock.clone(), by.clone(), Some(*number));
                notes.push(Outcome::Forced { lock, session: *session, number, by, done: Ok(()) });
                false
            });
            notice.ends.is_some() || !notice.taken.is_empty()
        });
        for (route, reply) in replies {
            self.reply(route, reply);
        }
        notes
    }

    /// D2: the command that a request is; if it needs none, it is answered.
    pub(super) fn take_up(
        &mut self,
        route: Route,
        request: Request,
        coordination: &Coordination,
        at: Stamp,
        now: Time,
    ) -> Option<Command> {
        if let Some(session) = request.session() {
            let lives = coordination.sessions().contains_key(&session);
            if !lives && !self.clients.contains_key(&session) {
                self.reply(route, Reply::Ended { session, why: None });
                return None;
            }
            // D7.
            if let Some(key) = request.key()
                && coordination
                    .sessions()
                    .get(&session)
                    .is_some_and(|owned| !owned.key.matches(key))
            {
                self.reply(route, Reply::Denied { session, key });
                return None;
            }
            let ended_by = self.ended_by(&request, route);
            if ended_by.is_some() {
                let closing = self.closing.entry(session).or_default();
                if !closing.contains(&route) {
                    closing.push(route);
                }
            } else if !matches!(request, Request::Died { .. }) {
                // The client does not tell of its own death.
                self.hear_of(session, route, now);
            }
            // D4: its end is told when it is committed.
            if !lives || self.clients.get(&session).is_some_and(|client| client.ends) {
                return None;
            }
            if let Some(by) = ended_by {
                self.notices.entry(session).or_default().ends = Some(by);
                if self.listens(session) && !matches!(request, Request::End { now: true, .. }) {
                    self.warn(session, self.clients.get(&session).and_then(Alive::home));
                    return None;
                }
            }
        }
        match request {
            Request::Open { key, client, ttl_ms, sent } => {
                // Asked for again: it must outlive this question, too, and not only the answer.
                if let Some(session) = coordination.session_of(key) {
                    self.hear_of(session, route, now);
                    if self.notices.contains_key(&session) {
                        self.warn(session, Some(route));
                        return None;
                    }
                }
                self.opening.entry(key).or_default().push_back((route, sent));
                Some(Command::Open { key, client, ttl_ms, at })
            }
            // D4: the caller serves.
            Request::KeepAlive { session, .. } if self.notices.contains_key(&session) => {
                self.warn(session, Some(route));
                None
            }
            Request::KeepAlive { session, sent, .. } => {
                self.reply(route, Reply::KeptAlive { session, sent });
                None
            }
            Request::Ask { session, number, forget_below, ask, .. } => {
                let ask = Command::Ask { session, number, forget_below, ask, at };
                self.proposed.insert((session, number)).then_some(ask)
            }
            Request::Close { session, .. } | Request::End { session, .. } => {
                Some(self.end(session, Ending::Closed, at))
            }
            Request::Died { session, .. } => Some(self.end(session, Ending::Died, at)),
            // S7: what is committed, read while serving.
            Request::Check { number, of, token } => {
                let result = coordination.bearer(&of, token);
                self.reply(route, Reply::Checked { number, result });
                None
            }
            Request::Force { lock, session, by, now } => {
                self.forcing.entry((lock.clone(), session)).or_default().push_back(route);
                self.force((lock, session, by, now), coordination, at)
            }
        }
    }

    /// D2: the commands to propose now, `more` at the end, while `underway` entries are not committed.
    /// None if there are none or they have to wait; without `underway` the log takes none.
    pub(super) fn next_batch(
        &mut self,
        mut more: Vec<Command>,
        underway: Option<u64>,
    ) -> Option<Vec<Command>> {
        if self.waiting.is_empty() {
            std::mem::swap(&mut self.waiting, &mut more);
        } else {
            self.waiting.append(&mut more);
        }
        let all = self.waiting.len() as u64;
        let goes = |underway| all >= underway || underway + all <= FEW;
        (all > 0 && underway.is_some_and(goes)).then(|| std::mem::take(&mut self.waiting))
    }

    /// D2: tells those whom it concerns what came of a command. Returns what people may want to
    /// read of.
    pub(super) fn report(
        &mut self,
        said: Outcome,
        ttl_ms: impl Fn(SessionId) -> Option<u64>,
        now: Time,
    ) -> Option<Outcome> {
        match said {
            Outcome::Opened(result, key) => {
                let opening = next(&mut self.opening, &key);
                if let Ok(id) = result
                    && let Some(ttl_ms) = ttl_ms(id)
                {
                    self.expect(id, Duration::from_millis(ttl_ms), now);
                    if let Some((route, _)) = opening {
                        self.hear_of(id, route, now);
                    }
                }
                if let Some((route, sent)) = opening {
                    self.reply(route, Reply::Opened { key, result, sent });
                }
                None
            }
            Outcome::Answered(session, number, result) => {
                self.proposed.remove(&(session, number));
                self.reply_to(session, Reply::Answered { session, number, result });
                None
            }
            Outcome::Preempt { session, role } => {
                self.reply_to(session, Reply::Preempt { session, role });
                None
            }
            Outcome::Ended(session, why) => {
                let ended = Reply::Ended { session, why: Some(why) };
                for route in self.closing.remove(&session).unwrap_or_default() {
                    self.reply(route, ended.clone());
                }
                self.tell_client(session, ended);
                self.clients.remove(&session);
                let ended_by = self.notices.get_mut(&session).and_then(|it| it.ends.take());
                let of_it = (session, Number::MIN)..=(session, Number::MAX);
                self.proposed.extract_if(of_it, |_| true).for_each(drop);
                match ended_by {
                    Some(by) => Some(Outcome::EndedBy { session, by }),
                    None => (why != Ending::Closed).then_some(Outcome::Ended(session, why)),
                }
            }
            Outcome::Forced { lock, session, number, by, done } => {
                if let Some(route) = next(&mut self.forcing, &(lock.clone(), session)) {
                    let (lock, result) = (lock.clone(), done.clone());
                    self.reply(route, Reply::Forced { lock, session, result });
                }
                if done.is_ok()
                    && let Some(number) = number
                {
                    let (lock, by) = (lock.clone(), by.clone());
                    self.tell_client(session, Reply::ForceReleased { session, lock, number, by });
                }
                Some(Outcome::Forced { lock, session, number, by, done })
            }
            note @ (Outcome::Deadlocked(_) | Outcome::RoleChanged(_) | Outcome::EndedBy { .. }) => {
                Some(note)
            }
        }
    }

    /// D4: from now on it is not confirmed that this session lives.
    fn end(&mut self, session: SessionId, why: Ending, at: Stamp) -> Command {
        if let Some(client) = self.clients.get_mut(&session) {
            client.ends = true;
        }
        Command::End { session, why, at }
    }

    fn reply(&mut self, route: Route, reply: Reply) {
        self.replies.entry(route.via).or_default().push((route.conn, reply));
    }

    /// To where the session was last heard of. If it was not yet, its client will ask again.
    fn reply_to(&mut self, session: SessionId, reply: Reply) {
        let client = self.clients.get(&session);
        if let Some(route) = client.and_then(Alive::route) {
            self.reply(route, reply);
        }
    }

    /// To where the session's client listens; if it does not, to where it was last heard of.
    fn tell_client(&mut self, session: SessionId, reply: Reply) {
        let client = self.clients.get(&session);
        if let Some(route) = client.and_then(|client| client.home().or(client.route())) {
            self.reply(route, reply);
        }
    }

    /// What is to be said, and to whose clients.
    pub(super) fn take_replies(&mut self) -> BTreeMap<NodeId, Vec<(Conn, Reply)>> {
        std::mem::take(&mut self.replies)
    }

    /// D3: the commands that end the sessions which were silent for too long.
    pub(super) fn end_the_silent(&mut self, now: Time, at: Stamp) -> Vec<Command> {
        self.timer = None;
        let mut commands = Vec::new();
        while let Some((_, id)) = self.looks.first().copied().filter(|(look, _)| *look <= now) {
            self.looks.pop_first();
            let Some(client) = self.clients.get(&id) else { continue };
            if client.until > now {
                self.looks.insert((client.until, id));
            } else {
                let ended = self.notices.get(&id).is_some_and(|notice| notice.ends.is_some());
                let why = if ended { Ending::Closed } else { Ending::Expired };
                commands.push(self.end(id, why, at));
            }
        }
        commands
    }

    /// Sets the timer for the next look.
    pub(super) fn watch(&mut self, cx: &mut Context<'_, Service>) {
        let Some((look, _)) = self.looks.first() else { return };
        if self.timer.is_none_or(|timer| *look < timer) {
            self.timer = Some(*look);
            cx.set_timer(Timer::Sessions, look.since(cx.now()));
        }
    }
}
