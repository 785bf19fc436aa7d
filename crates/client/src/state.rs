//! The state that the sessions of one client share: pending requests, grants, and callers that wait for an answer.
//!
//! Every change is made under one lock and without waiting. What is to be sent goes into a buffer, and waiting callers
//! are woken. The tasks write the buffer and come back when something is due.
//!
//! # Rules
//! * B1 A request whose caller has gone is given up; if it was granted meanwhile, what it was granted is
//!   given back. So a dropped future or guard never leaves anything behind.
//! * B2 What is held is lost to its holder at the moment at which its session is over: nothing is
//!   believed that the session does not prove.
//! * B3 What has no answer is asked for again by the session itself, on whatever connection there is.
//! * B4 A session that another ends is lost at once, and closed when its last handle is gone: that tells
//!   the cluster that all which relied on it has stopped.

mod checks;
mod lists;
mod session;
mod watches;

use crate::Error;
use crate::lost::{Lost, SessionEnd};
use bellwether_api::client::{ToClient, ToMember};
use bellwether_coordination::{
    Answer, Ask, Client as SessionClient, ClientEvent, Number, Refusal, Reply, Request, Secret,
    SessionEnded, SessionId, Setup, Token,
};
use bellwether_core::Time;
use checks::TokenChecks;
use lists::Lists;
use session::give_back;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use watches::RoleWatches;

/// A session, by the key that was drawn for it.
pub(crate) type Key = Secret;

/// The state of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionPhase {
    Opening,
    Open(SessionId),
    SessionEnded(SessionEnded),
}

/// Whether something is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Held(Token),
    Lost(Lost),
}

/// What a granted request gives to its caller.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) token: Token,
    pub(crate) hold: watch::Receiver<Hold>,
    /// Whether the leader is asked to yield the role to a higher priority.
    pub(crate) preempt: watch::Receiver<bool>,
}

/// The answer to a request: what it was granted, if it was one for that.
pub(crate) type Outcome = Result<Option<Granted>, Denied>;

/// Why a request was not granted, or not done.
#[derive(Debug)]
pub(crate) enum Denied {
    Refused(Refusal),
    /// The engine says why.
    Failed(Error),
    SessionEnded(SessionEnded),
}

/// What a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Locks.
    Lock,
    /// A role.
    Role(String),
    /// Giving something back, which allows asking for it again.
    GiveBack,
    /// To hand over what this request holds by this token.
    HandOver(Number, Token),
    /// Something else that is done or not.
    Other,
}

/// Where a waiting request tells its place.
pub(crate) type QueuePosition = watch::Sender<Option<u64>>;

enum RequestState {
    /// Its caller waits for it.
    Asked { purpose: Purpose, answer: oneshot::Sender<Outcome>, place: Option<QueuePosition> },
    /// Its caller has gone (B1).
    Abandoned(Purpose),
    /// It was granted.
    Held { purpose: Purpose, hold: watch::Sender<Hold>, preempt: watch::Sender<bool> },
}

/// A process that the member shall watch, and the caller that waits for the answer.
type Watched = Option<oneshot::Sender<Option<String>>>;

struct SessionState {
    protocol: SessionClient,
    phase: watch::Sender<SessionPhase>,
    requests: BTreeMap<Number, RequestState>,
    /// What is being given back and may not be yet.
    giving_back: watch::Sender<BTreeSet<Number>>,
    watched: BTreeMap<u32, Watched>,
    /// What the engine says about requests that it refuses, beside the refusal.
    failed: BTreeMap<Number, Error>,
    /// Its name at the coordinator, once it has one.
    session: Option<SessionId>,
    /// When it is looked at next.
    look: Option<Time>,
}

/// An operator's request.
pub(crate) struct ForceRelease {
    pub(crate) lock: String,
    pub(crate) session: SessionId,
    pub(crate) by: String,
    /// Whether the holder is not waited for.
    pub(crate) now: bool,
    pub(crate) answer: oneshot::Sender<Result<(), Refusal>>,
}

/// All sessions of a client.
#[derive(Default)]
pub(crate) struct ClientState {
    sessions: BTreeMap<Key, SessionState>,
    keys: BTreeMap<SessionId, Key>,
    looks: BTreeSet<(Time, Key)>,
    force_releases: Vec<ForceRelease>,
    checks: TokenChecks,
    lists: Lists,
    watches: RoleWatches,
    /// What the member is to be told, if there is one.
    outgoing: Vec<ToMember>,
    /// Whether frames were taken that may not be written yet.
    writing: bool,
    connected: bool,
    /// Something was asked, and nothing was heard since then.
    unanswered: Option<Time>,
    /// When the member was last heard of, or connected.
    heard: Time,
}

impl ClientState {
    /// Begins a session.
    pub(crate) fn open(&mut self, setup: Setup, now: Time) -> watch::Receiver<SessionPhase> {
        let (phase, phases) = watch::channel(SessionPhase::Opening);
        let key = setup.key;
        let mut protocol = SessionClient::new(setup);
        let requests = protocol.open(now);
        let state = SessionState {
            protocol,
            phase,
            requests: BTreeMap::new(),
            giving_back: watch::Sender::default(),
            watched: BTreeMap::new(),
            failed: BTreeMap::new(),
            session: None,
            look: None,
        };
        self.sessions.insert(key, state);
        self.send_all(requests, now);
        self.plan(key);
        phases
    }

    /// The members have another bound on clocks.
    pub(crate) fn set_drift(&mut self, drift_ppm: impl Fn(Duration) -> u32) {
        for session in self.sessions.values_mut() {
            session.protocol.set_drift(&drift_ppm);
        }
    }

    /// Ends a session. What it holds is lost at once.
    pub(crate) fn close(&mut self, key: Key, now: Time) {
        let Some(state) = self.sessions.get_mut(&key) else { return };
        let requests = state.protocol.close(now);
        state.end(&SessionEnded::Closed);
        self.send_all(requests, now);
        self.plan(key);
    }

    /// From when on nothing of a session can be relied on, if nothing more is heard.
    pub(crate) fn deadline(&self, key: Key) -> Option<Time> {
        self.sessions.get(&key)?.protocol.deadline()
    }

    /// Asks for something in a session. Nothing comes of it if that is over: then the receiver is closed.
    pub(crate) fn ask(
        &mut self,
        key: Key,
        ask: Ask,
        purpose: Purpose,
        place: Option<QueuePosition>,
        now: Time,
    ) -> (Number, oneshot::Receiver<Outcome>) {
        let (answer, answered) = oneshot::channel();
        let Some(state) = self.sessions.get_mut(&key) else { return (0, answered) };
        let (number, requests) = state.protocol.ask(ask, now);
        if state.is_closing() {
            return (number, answered);
        }
        if purpose == Purpose::GiveBack {
            state.giving_back.send_if_modified(|numbers| numbers.insert(number));
        }
        state.requests.insert(number, RequestState::Asked { purpose, answer, place });
        self.send_all(requests, now);
        self.plan(key);
        (number, answered)
    }

    /// The caller of a request has gone, or the holder of its grant (B1).
    pub(crate) fn abandon(&mut self, key: Key, number: Number, now: Time) {
        let Some(state) = self.sessions.get_mut(&key) else { return };
        let Some(request) = state.requests.remove(&number) else { return };
        let ask = match request {
            RequestState::Asked { purpose, .. } => {
                let ask = match &purpose {
                    Purpose::Lock => Some(Ask::GiveUp(number)),
                    Purpose::Role(role) => Some(Ask::Resign { role: role.clone() }),
                    Purpose::GiveBack | Purpose::HandOver(..) | Purpose::Other => None,
                };
                state.requests.insert(number, RequestState::Abandoned(purpose));
                // It may be granted meanwhile, and is only given back when that is known.
                if ask.is_some() {
                    state.giving_back.send_if_modified(|numbers| numbers.insert(number));
                }
                ask
            }
            RequestState::Held { purpose, .. } => give_back(&purpose, number),
            request @ RequestState::Abandoned(_) => {
                state.requests.insert(number, request);
                None
            }
        };
        if let Some(ask) = ask {
            self.give(key, ask, now);
        }
    }

    /// What a guard held is given back by a request of its own: forget the guard.
    pub(crate) fn forget(&mut self, key: Key, number: Number) {
        if let Some(state) = self.sessions.get_mut(&key) {
            state.requests.remove(&number);
        }
    }

    /// Gives something back without waiting for the answer.
    fn give(&mut self, key: Key, ask: Ask, now: Time) {
        let (_, answered) = self.ask(key, ask, Purpose::GiveBack, None, now);
        drop(answered);
    }

    /// What the session is giving back, now and whenever that changes. `None` if the session is gone.
    pub(crate) fn giving_back(&self, key: Key) -> Option<watch::Receiver<BTreeSet<Number>>> {
        self.sessions.get(&key).map(|state| state.giving_back.subscribe())
    }

    /// The member shall watch this process, too.
    pub(crate) fn watch(
        &mut self,
        key: Key,
        pid: u32,
        now: Time,
    ) -> Option<oneshot::Receiver<Option<String>>> {
        let (answer, answered) = oneshot::channel();
        let state = self.sessions.get_mut(&key)?;
        let session = state.protocol.session()?;
        state.watched.insert(pid, Some(answer));
        self.put(ToMember::Watch { session, key, pid }, now);
        Some(answered)
    }

    /// An operator's request.
    pub(crate) fn force(&mut self, release: ForceRelease, now: Time) {
        self.put(ToMember::Request(release.request()), now);
        self.force_releases.push(release);
    }

    /// Whether no session is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Ends all sessions.
    pub(crate) fn close_all(&mut self, now: Time) {
        for key in self.keys_of_all() {
            self.close(key, now);
        }
    }

    fn keys_of_all(&self) -> Vec<Key> {
        self.sessions.keys().copied().collect()
    }

    /// A member says something.
    pub(crate) fn hear(&mut self, frame: ToClient, now: Time) {
        self.unanswered = None;
        self.heard = now;
        match frame {
            ToClient::Reply(Reply::Forced { lock, session, result }) => {
                let ours =
                    |release: &ForceRelease| release.lock == lock && release.session == session;
                if let Some(place) = self.force_releases.iter().position(ours) {
                    let _ = self.force_releases.remove(place).answer.send(result);
                }
            }
            ToClient::Reply(Reply::Checked { number, result }) => self.checks.hear(number, result),
            ToClient::Reply(reply) => self.hear_reply(reply, now),
            ToClient::Watching { session, pid, refused } => {
                let state = self.keys.get(&session).and_then(|key| self.sessions.get_mut(key));
                let watched = state.and_then(|state| state.watched.get_mut(&pid));
                if let Some(answer) = watched.and_then(Option::take) {
                    let _ = answer.send(refused);
                }
            }
            ToClient::Observed(observed) => self.watches.hear(observed),
            ToClient::Listed(listed) => self.lists.hear(listed),
            // The tasks look at that.
            ToClient::Announcement(_) => {}
        }
    }

    fn hear_reply(&mut self, reply: Reply, now: Time) {
        let key = match &reply {
            Reply::Opened { key, .. } => Some(*key),
            reply => reply.session().and_then(|session| self.keys.get(&session)).copied(),
        };
        let state = key.and_then(|key| Some((key, self.sessions.get_mut(&key)?)));
        let Some((key, state)) = state else {
            // A session that was given up before it was there.
            if let Reply::Opened { key, result: Ok(session), .. } = reply {
                self.put(ToMember::Request(Request::Close { session, key }), now);
            }
            return;
        };
        let (heard, requests) = state.protocol.hear(reply, now);
        self.settle(key, heard, requests, now);
    }

    /// The engine could not do what was asked for, and says why.
    #[cfg(feature = "etcd")]
    pub(crate) fn fail(&mut self, session: SessionId, number: Number, why: Error, now: Time) {
        let key = self.keys.get(&session);
        if let Some(state) = key.and_then(|key| self.sessions.get_mut(key)) {
            state.failed.insert(number, why);
        }
        let result = Err(Refusal::NotAsked(number));
        self.hear(ToClient::Reply(Reply::Answered { session, number, result }), now);
    }

    /// The engine is there, and had nothing else to say.
    #[cfg(feature = "etcd")]
    pub(crate) fn is_there(&mut self, now: Time) {
        (self.unanswered, self.heard) = (None, now);
    }

    /// Does what is due.
    pub(crate) fn wake(&mut self, now: Time) {
        while let Some(&(at, key)) = self.looks.first() {
            if at > now {
                break;
            }
            self.looks.pop_first();
            let Some(state) = self.sessions.get_mut(&key) else { continue };
            state.look = None;
            let (heard, requests) = state.protocol.wake(now);
            self.settle(key, heard, requests, now);
        }
    }

    /// When to come back, if nothing happens before.
    pub(crate) fn next_look(&self) -> Option<Time> {
        self.looks.first().map(|(at, _)| *at)
    }

    /// There is a member to talk to: all that has no answer is asked for again (B3).
    pub(crate) fn connect(&mut self, lists: bool, now: Time) {
        self.connected = true;
        self.outgoing.clear();
        self.unanswered = None;
        self.heard = now;
        self.ask_again(now);
        let mut frames = self.watches.again();
        frames.extend(self.lists.again(lists));
        for (&key, state) in &self.sessions {
            let Some(session) = state.protocol.session() else { continue };
            let watch = |&pid| ToMember::Watch { session, key, pid };
            frames.extend(state.watched.keys().map(watch));
        }
        frames.into_iter().for_each(|frame| self.put(frame, now));
    }

    /// There is none any more.
    pub(crate) fn disconnect(&mut self) {
        self.connected = false;
        self.writing = false;
        self.outgoing.clear();
    }

    /// A coordinator was announced.
    pub(crate) fn ask_again(&mut self, now: Time) {
        for key in self.keys_of_all() {
            let Some(state) = self.sessions.get_mut(&key) else { continue };
            let requests = state.protocol.reconnected(now);
            self.send_all(requests, now);
            self.plan(key);
        }
        let mut again: Vec<_> = self.force_releases.iter().map(ForceRelease::request).collect();
        again.extend(self.checks.again());
        self.send_all(again, now);
    }

    /// Takes what is to be sent, and gives an empty buffer for it.
    pub(crate) fn take_outgoing(&mut self, frames: &mut Vec<ToMember>) {
        frames.clear();
        mem::swap(&mut self.outgoing, frames);
        self.writing = !frames.is_empty();
    }

    /// What was taken is written.
    pub(crate) fn written(&mut self) {
        self.writing = false;
    }

    /// Whether all that was to be sent is written, or cannot be.
    pub(crate) fn is_flushed(&self) -> bool {
        !self.writing && self.outgoing.is_empty()
    }

    /// Whether there is something to be sent.
    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Pings the member if something is waited for and nothing was heard for this time. Since when
    /// nothing was heard that should have been.
    pub(crate) fn ping(&mut self, now: Time, after: Duration) -> Option<Time> {
        let since = match self.unanswered {
            Some(asked) => asked,
            None if self.waits() => self.heard,
            None => return None,
        };
        if now.since(since) >= after {
            self.put(ToMember::Ping, now);
            self.unanswered = Some(since);
        }
        Some(since)
    }

    /// Whether anything is waited for that a member may say any moment.
    fn waits(&self) -> bool {
        let asked = !self.force_releases.is_empty()
            || !self.checks.is_empty()
            || !self.lists.is_empty()
            || !self.watches.is_empty();
        asked || self.sessions.values().any(|state| state.protocol.waits())
    }

    /// Whether there is anything that a member is needed for.
    pub(crate) fn is_in_use(&self) -> bool {
        !self.sessions.is_empty() || !self.watches.is_empty()
    }

    fn send_all(&mut self, requests: Vec<Request>, now: Time) {
        for request in requests {
            self.put(ToMember::Request(request), now);
        }
    }

    fn put(&mut self, frame: ToMember, now: Time) {
        if self.connected {
            self.unanswered.get_or_insert(now);
            self.outgoing.push(frame);
        }
    }

    /// Passes on what a session heard.
    fn settle(&mut self, key: Key, heard: Vec<ClientEvent>, requests: Vec<Request>, now: Time) {
        self.send_all(requests, now);
        for news in heard {
            let Some(state) = self.sessions.get_mut(&key) else { return };
            let ask = match news {
                ClientEvent::Opened(session) => {
                    state.phase.send_replace(SessionPhase::Open(session));
                    state.session = Some(session);
                    self.keys.insert(session, key);
                    None
                }
                ClientEvent::Answered(number, Ok(Answer::Waits { behind })) => {
                    state.waits(number, behind);
                    None
                }
                ClientEvent::Answered(number, result) => state.answered(number, result),
                ClientEvent::Preempt { role } => {
                    state.request_preemption(&role);
                    None
                }
                ClientEvent::ForceReleased { lock, number, by } => {
                    state.lose(number, Lost::ForceReleased { lock, by });
                    None
                }
                // It is closed when its last handle is dropped, and that confirms its end (B4).
                ClientEvent::Ending(over) => {
                    state.end(&over);
                    None
                }
                ClientEvent::SessionEnded(over) => {
                    state.end(&over);
                    self.remove(key);
                    return;
                }
            };
            if let Some(ask) = ask {
                self.give(key, ask, now);
            }
        }
        self.plan(key);
    }

    fn remove(&mut self, key: Key) {
        let Some(state) = self.sessions.remove(&key) else { return };
        if let Some(look) = state.look {
            self.looks.remove(&(look, key));
        }
        if let Some(session) = state.session {
            self.keys.remove(&session);
        }
    }

    /// Sees to it that the session is looked at in time. Looking too early does no harm, so a later
    /// moment is not written down before the earlier one has come.
    fn plan(&mut self, key: Key) {
        let Some(state) = self.sessions.get_mut(&key) else { return };
        let Some(next) = state.protocol.next_wake() else { return };
        if state.look.is_some_and(|look| look <= next) {
            return;
        }
        if let Some(look) = state.look.replace(next) {
            self.looks.remove(&(look, key));
        }
        self.looks.insert((next, key));
    }
}

impl ForceRelease {
    fn request(&self) -> Request {
        let ForceRelease { lock, session, by, now, .. } = self;
        Request::Force { lock: lock.clone(), session: *session, by: by.clone(), now: *now }
    }
}
