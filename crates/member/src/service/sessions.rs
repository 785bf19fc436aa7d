//! What a coordinator knows of its clients and does not replicate: where they are, and when they were
//! last heard of. A new coordinator begins without it.

use super::Service;
use super::types::{Conn, Timer};
use bellwether_core::{Context, NodeId, Time};
use bellwether_duties::{
    Command, Duties, Ending, Number, Reply, Request, Said, Sent, SessionId, Stamp,
};
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

/// What is known of a session's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Alive {
    /// D3: when it will have been silent for too long.
    until: Time,
    ttl: Duration,
    /// Where it was last heard of.
    route: Option<Route>,
    /// D4: whether its end was proposed.
    ends: bool,
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
    opening: BTreeMap<u128, VecDeque<(Route, Sent)>>,
    /// Who wants a lock taken away, one for each command on its way.
    forcing: BTreeMap<(String, SessionId), VecDeque<Route>>,
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
        let known =
            self.clients.entry(id).or_insert(Alive { until, ttl, route: None, ends: false });
        known.until = known.until.max(until);
        self.looks.insert((until, id));
    }

    /// Something came from a session's client.
    fn hear_of(&mut self, id: SessionId, route: Route, now: Time) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.until = now + client.ttl;
            client.route = Some(route);
        }
    }

    /// D2: the command that a request is; if it needs none, it is answered.
    pub(super) fn take_up(
        &mut self,
        route: Route,
        request: Request,
        duties: &Duties,
        at: Stamp,
        now: Time,
    ) -> Option<Command> {
        if let Some(session) = request.session() {
            let lives = duties.sessions().contains_key(&session);
            if !lives && !self.clients.contains_key(&session) {
                self.reply(route, Reply::Ended { session, why: None });
                return None;
            }
            // The client does not tell of its own death.
            if !matches!(request, Request::Died { .. }) {
                self.hear_of(session, route, now);
            }
            // D4: its end is told when it is committed.
            if !lives || self.clients.get(&session).is_some_and(|client| client.ends) {
                return None;
            }
        }
        match request {
            Request::Open { key, client, ttl_ms, sent } => {
                // Asked for again: it must outlive this question, too, and not only the answer.
                if let Some(session) = duties.session_of(key) {
                    self.hear_of(session, route, now);
                }
                self.opening.entry(key).or_default().push_back((route, sent));
                Some(Command::Open { key, client, ttl_ms, at })
            }
            // D4: the caller is in office.
            Request::KeepAlive { session, sent } => {
                self.reply(route, Reply::KeptAlive { session, sent });
                None
            }
            Request::Ask { session, number, forget_below, ask } => {
                let ask = Command::Ask { session, number, forget_below, ask, at };
                self.proposed.insert((session, number)).then_some(ask)
            }
            Request::Close { session } => Some(self.end(session, Ending::Closed, at)),
            Request::Died { session } => Some(self.end(session, Ending::Died, at)),
            // S7: what is committed, read in office.
            Request::Check { number, of, token } => {
                let result = duties.bearer(&of, token);
                self.reply(route, Reply::Checked { number, result });
                None
            }
            Request::Force { lock, session, by } => {
                self.forcing.entry((lock.clone(), session)).or_default().push_back(route);
                Some(Command::Force { lock, session, by, at })
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
        said: Said,
        ttl_ms: impl Fn(SessionId) -> Option<u64>,
        now: Time,
    ) -> Option<Said> {
        match said {
            Said::Opened(result, key) => {
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
            Said::Answered(session, number, result) => {
                self.proposed.remove(&(session, number));
                self.reply_to(session, Reply::Answered { session, number, result });
                None
            }
            Said::MakeRoom { session, role } => {
                self.reply_to(session, Reply::MakeRoom { session, role });
                None
            }
            Said::Ended(session, why) => {
                self.reply_to(session, Reply::Ended { session, why: Some(why) });
                self.clients.remove(&session);
                let of_it = (session, Number::MIN)..=(session, Number::MAX);
                self.proposed.extract_if(of_it, |_| true).for_each(drop);
                (why != Ending::Closed).then_some(Said::Ended(session, why))
            }
            Said::Forced { lock, session, number, by, done } => {
                if let Some(route) = next(&mut self.forcing, &(lock.clone(), session)) {
                    let (lock, result) = (lock.clone(), done.clone());
                    self.reply(route, Reply::Forced { lock, session, result });
                }
                if done.is_ok()
                    && let Some(number) = number
                {
                    let (lock, by) = (lock.clone(), by.clone());
                    self.reply_to(session, Reply::Taken { session, lock, number, by });
                }
                Some(Said::Forced { lock, session, number, by, done })
            }
            note @ (Said::Deadlocked(_) | Said::RoleChanged(_)) => Some(note),
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
        if let Some(route) = client.and_then(|client| client.route) {
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
                commands.push(self.end(id, Ending::Expired, at));
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
