//! One session as its client sees it.
//!
//! The client keeps what it has asked for and asks again until it knows the answer, over broken
//! connections and changes of the coordinator; and it knows from when on it must not believe in
//! anything any more. It has no clock: its driver says what time it is, by a clock that only
//! goes forward and does not stand still while the machine sleeps, and comes back at
//! [`Client::next_wake`].
//!
//! # Rules
//! * K1 Numbers grow and are never used twice. A request that has no answer is sent again with its
//!   number, and an `Open` with its key; so the coordinator does nothing twice (S1).
//! * K2 `forget_below` is the smallest number of which nothing is known. What waits does not hold it
//!   back, however long: a request that holds or waits is answered by what it has now. When it is
//!   over, that is because the client itself gave up or gave back, and then the answer to *that*
//!   tells what became of it. If giving up is refused, the request has been answered meanwhile; it is
//!   sent again at once, in case that the answer was lost.
//! * K3 Only [`Reply::Opened`] and [`Reply::KeptAlive`] prove that the session lives, and they prove it
//!   from the moment at which the client *sent* what they answer. The deadline is the TTL after the
//!   latest such moment, less what two clocks may differ by: the client's may be slow, the
//!   coordinator's fast. Then the coordinator ends the session later than the client does.
//! * K4 When the deadline has passed the session is over for good, whatever comes late. An `Opened` that
//!   comes too late to open anything is no answer: the client asks again.
//! * K5 The session is over, too, when the coordinator says that there is none. Nothing is sent then, but
//!   a `Close` when a session turns out to live that this client has given up.
//! * K6 A request has one final answer. A candidate that hands its role over campaigns again by the same
//!   request: it may be told later that it leads, by a larger token. What is asked for about a role is
//!   sent in order, each when something is known of those before it; only who leads as far as it knows
//!   hands over; and no grant is reported while the outcome of its release is unknown. So
//!   a late reply never brings back what is gone.
//! * K7 What the coordinator says about a grant that the client has not heard of yet is told right behind
//!   it. Replies for other sessions and about requests that are not known, or over, are ignored.
//! * K8 `NoCoordinator` changes nothing: what has no answer is sent again when its time comes, or as soon
//!   as a coordinator is announced.
//! * K9 A session that another ends is over for its client at once ([`ClientEvent::Ending`]), and the client
//!   confirms it by [`Client::close`] when all that relied on the session has stopped. Until then, or
//!   until the deadline, no other session gets what this one holds.

mod answers;

use crate::command::{Answer, Ask, Ending, Refusal};
use crate::ids::{Number, Secret, SessionId, Token};
use crate::talk::{Reply, Request};
use answers::{Asked, Held};
use bellwether_core::Time;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is sent without an answer is sent again not sooner than this, and not later than that.
const RETRY_MIN: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// How many keep-alives go into a TTL.
const BEATS: u32 = 4;

/// What a session is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Drawn for this session alone, by a good random source.
    pub key: Secret,
    /// What the client calls itself, for people.
    pub name: String,
    /// How long the session outlives the last that the coordinator heard of it, in whole
    /// milliseconds.
    pub ttl: Duration,
    /// By how many millionths a clock may be too fast or too slow; as the members have it.
    pub drift_ppm: u32,
}

impl Setup {
    /// The TTL as the coordinator hears of it.
    fn ttl_ms(&self) -> u64 {
        u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX)
    }

    /// How long the session may be relied on after something was sent that is answered (K3).
    fn client_ttl(&self) -> Duration {
        let (million, drift) = (1_000_000_u128, u128::from(self.drift_ppm.min(1_000_000)));
        let sure = u128::from(self.ttl_ms()) * 1_000 * (million - drift) / (million + drift);
        // Clocks are read in whole microseconds: one may be lost at either end of either clock.
        Duration::from_micros(u64::try_from(sure).unwrap_or(u64::MAX).saturating_sub(4))
    }

    fn beat(&self) -> Duration {
        (self.ttl / BEATS).max(Duration::from_millis(1))
    }

    fn retry(&self) -> Duration {
        (self.ttl / BEATS).clamp(RETRY_MIN, RETRY_MAX)
    }
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The session has begun.
    Opened(SessionId),
    /// A request is answered. After [`Answer::Waits`] another answer follows.
    Answered(Number, Result<Answer, Refusal>),
    /// This session leads the role and is asked to resign.
    Preempt {
        /// The role.
        role: String,
    },
    /// An operator force-released a lock.
    ForceReleased {
        /// The lock.
        lock: String,
        /// The request that it was granted to. What else it was granted stays.
        number: Number,
        /// Who did it and why.
        by: String,
    },
    /// Another ends the session. All that it held is lost, and what has no answer never gets one. When
    /// all that relied on it has stopped, [`Client::close`] says so; [`ClientEvent::SessionEnded`] follows.
    Ending(SessionEnded),
    /// The session is over, and with it all that it held. What has no answer never gets one.
    SessionEnded(SessionEnded),
}

/// Why a session is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEnded {
    /// It could not be begun.
    Refused(Refusal),
    /// The coordinator ended it, for this reason if that is known.
    Ended(Option<Ending>),
    /// The coordinator was not heard of in time, so that it may have ended it.
    DeadlinePassed,
    /// The client closed it.
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was said yet.
    New,
    /// The session is asked for, until it is there.
    Opening { again: Time },
    /// The session lives.
    Open {
        session: SessionId,
        /// When the latest was sent that proves it.
        proven: Time,
        /// When the latest was sent that may prove it.
        sent: Time,
    },
    /// K9: another ends it, and the client has not confirmed that yet.
    Leaving { session: SessionId, until: Time },
    /// The client has given it up, and says so until the coordinator knows.
    Closing { session: Option<SessionId>, until: Time, again: Time },
    /// Nothing follows. The coordinator may not know it of this session.
    SessionEnded { given_up: Option<SessionId> },
}

/// One session as its client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    setup: Setup,
    state: State,
    /// The number of the next request.
    next: Number,
    asked: BTreeMap<Number, Asked>,
    held: BTreeMap<Number, Held>,
    /// What is answered without the coordinator, and not told yet.
    refused: Vec<ClientEvent>,
}

impl Client {
    /// A session that is not begun yet.
    pub fn new(setup: Setup) -> Self {
        let (asked, held, refused) = Default::default();
        Client { setup, state: State::New, next: 1, asked, held, refused }
    }

    /// How far clocks may be off, by the TTL: it counts for what is confirmed from now on.
    pub fn set_drift(&mut self, drift_ppm: impl FnOnce(Duration) -> u32) {
        self.setup.drift_ppm = drift_ppm(self.setup.ttl);
    }

    /// The session, as long as it is open.
    pub fn session(&self) -> Option<SessionId> {
        match self.state {
            State::Open { session, .. } => Some(session),
            _ => None,
        }
    }

    /// The client must not believe in anything it holds from this moment on. Without a deadline there
    /// is nothing to believe in: the session is not open yet, or is given up, or over.
    pub fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Open { proven, .. } => Some(proven + self.setup.client_ttl()),
            _ => None,
        }
    }

    /// Whether the coordinator may say something any moment: the session is asked for, or something in it,
    /// or its end.
    pub fn waits(&self) -> bool {
        match self.state {
            State::New | State::Leaving { .. } | State::SessionEnded { .. } => false,
            State::Opening { .. } | State::Closing { .. } => true,
            State::Open { .. } => !self.asked.is_empty(),
        }
    }

    /// Whether the session is over for good.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::SessionEnded { .. })
    }

    /// When to come back to [`Client::wake`], if nothing happens before.
    pub fn next_wake(&self) -> Option<Time> {
        match self.state {
            State::New | State::SessionEnded { .. } => None,
            State::Opening { again } => Some(again),
            State::Leaving { until, .. } => Some(until),
            State::Closing { until, again, .. } => Some(until.min(again)),
            // Something is to be told.
            State::Open { .. } if !self.refused.is_empty() => Some(Time::ZERO),
            State::Open { .. } => {
                let again = self.asked.values().filter_map(|asked| asked.again).min();
                let times = [self.next_beat(), self.deadline(), again];
                times.into_iter().flatten().min()
            }
        }
    }

    /// Begins the session.
    pub fn open(&mut self, now: Time) -> Vec<Request> {
        match self.state {
            State::New | State::Opening { .. } => {
                self.state = State::Opening { again: now + self.setup.retry() };
                vec![self.request_open(now)]
            }
            _ => Vec::new(),
        }
    }

    /// Asks for something: at once if the session is open, or as soon as it is. A session that is
    /// given up or over answers nothing.
    pub fn ask(&mut self, ask: Ask, now: Time) -> (Number, Vec<Request>) {
        let number = self.next;
        self.next += 1;
        if matches!(
            self.state,
            State::Leaving { .. } | State::Closing { .. } | State::SessionEnded { .. }
        ) {
            return (number, Vec::new());
        }
        self.asked.insert(number, Asked::new(ask, Token::default()));
        let request = if self.lives(now) { self.send(number, now) } else { None };
        (number, request.into_iter().collect())
    }

    /// Ends the session. The client must not believe in anything it holds from now on.
    /// [`ClientEvent::SessionEnded`] follows when the coordinator knows it, or would know it by itself.
    pub fn close(&mut self, now: Time) -> Vec<Request> {
        let again = now + self.setup.retry();
        let (session, until) = match self.state {
            State::Closing { .. } | State::SessionEnded { .. } => return Vec::new(),
            State::New | State::Opening { .. } => (None, now),
            State::Open { session, proven, .. } => {
                (Some(session), proven + self.setup.client_ttl())
            }
            State::Leaving { session, until } => (Some(session), until),
        };
        self.forget_all();
        self.state = State::Closing { session, until, again };
        session.map(|session| self.closing(session)).into_iter().collect()
    }

    /// Does what is due by now: a keep-alive, what has no answer again, the end.
    pub fn wake(&mut self, now: Time) -> (Vec<ClientEvent>, Vec<Request>) {
        if let Some(over) = self.overdue(now) {
            return over;
        }
        let requests = match self.state {
            State::New | State::Leaving { .. } | State::SessionEnded { .. } => Vec::new(),
            State::Opening { again } if again > now => Vec::new(),
            State::Opening { .. } => self.open(now),
            State::Closing { session, ref mut again, .. } if *again <= now => {
                *again = now + self.setup.retry();
                session.map(|session| self.closing(session)).into_iter().collect()
            }
            State::Closing { .. } => Vec::new(),
            State::Open { .. } => {
                let beat = if self.next_beat() <= Some(now) { self.keep_alive(now) } else { None };
                let due = |asked: &Asked| asked.again.is_none_or(|again| again <= now);
                beat.into_iter().chain(self.send_all(now, due)).collect()
            }
        };
        (std::mem::take(&mut self.refused), requests)
    }

    /// There is a new connection, or a coordinator was announced: all that has no answer is sent
    /// again (K8).
    pub fn reconnected(&mut self, now: Time) -> Vec<Request> {
        match self.state {
            State::Opening { .. } => self.open(now),
            State::Open { .. } if self.lives(now) => {
                self.keep_alive(now).into_iter().chain(self.send_all(now, |_| true)).collect()
            }
            State::Closing { session, ref mut again, .. } => {
                *again = now + self.setup.retry();
                session.map(|session| self.closing(session)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Takes a reply.
    pub fn hear(&mut self, reply: Reply, now: Time) -> (Vec<ClientEvent>, Vec<Request>) {
        // Late is late, whatever came (K4).
        let (mut heard, mut requests) = self.overdue(now).unwrap_or_default();
        match reply {
            Reply::NoCoordinator | Reply::Forced { .. } | Reply::Checked { .. } => {}
            Reply::Opened { key, .. } if key != self.setup.key => {}
            Reply::Opened { result, sent, .. } => {
                self.opened(result, Time::from_micros(sent), now, &mut heard, &mut requests);
            }
            Reply::Ended { session, why } => heard.extend(self.ended(session, why)),
            // The session that it believes to have is another's.
            Reply::Denied { session, key } if key == self.setup.key => {
                heard.extend(self.ended(session, None));
            }
            Reply::Denied { .. } => {}
            Reply::Ending { session, why } => heard.extend(self.leave(session, why)),
            Reply::Answered { result: Err(Refusal::NoSession(session)), .. } => {
                heard.extend(self.ended(session, None));
            }
            reply if reply.session() != self.session() => requests.extend(self.stray(&reply)),
            Reply::KeptAlive { sent, .. } => self.prove(Time::from_micros(sent), now),
            Reply::Answered { number, result, .. } => {
                self.answered(number, result, &mut heard);
                requests.extend(self.send_all(now, |asked| asked.again.is_none()));
                heard.append(&mut self.refused);
            }
            Reply::Preempt { role, .. } => heard.extend(self.make_room(role)),
            Reply::ForceReleased { lock, number, by, .. } => {
                heard.extend(self.force_released(lock, number, by))
            }
        }
        (heard, requests)
    }
}

/// What is sent.
impl Client {
    fn request_open(&self, now: Time) -> Request {
        let Setup { key, name, .. } = &self.setup;
        let (client, ttl_ms) = (name.clone(), self.setup.ttl_ms());
        Request::Open { key: *key, client, ttl_ms, sent: now.as_micros() }
    }

    fn closing(&self, session: SessionId) -> Request {
        Request::Close { session, key: self.setup.key }
    }

    fn keep_alive(&mut self, now: Time) -> Option<Request> {
        let State::Open { session, ref mut sent, .. } = self.state else { return None };
        *sent = now;
        let key = self.setup.key;
        Some(Request::KeepAlive { session, key, sent: now.as_micros() })
    }

    /// When the next keep-alive is due: sooner, if the last one has no answer.
    fn next_beat(&self) -> Option<Time> {
        let State::Open { proven, sent, .. } = self.state else { return None };
        let beat = self.setup.beat();
        Some(sent + if proven < sent { beat.min(self.setup.retry()) } else { beat })
    }

    /// The smallest number of which nothing is known (K2).
    fn forget_below(&self) -> Number {
        let unknown = self.asked.iter().find(|(_, asked)| asked.behind.is_none());
        unknown.map_or(self.next, |(number, _)| *number)
    }

    fn send(&mut self, number: Number, now: Time) -> Option<Request> {
        let (session, forget_below) = (self.session()?, self.forget_below());
        let (retry, beat) = (self.setup.retry(), self.setup.beat());
        if self.is_held_back(number) {
            return None;
        }
        if let Asked { ask: Ask::HandOver { role, .. }, again: None, .. } =
            self.asked.get(&number)?
            && self.leads(role).is_none()
        {
            let refusal = Refusal::NotLeader(role.clone());
            self.asked.remove(&number);
            self.refused.push(ClientEvent::Answered(number, Err(refusal)));
            return None;
        }
        let asked = self.asked.get_mut(&number)?;
        // What is known to wait is only asked for again in case that its grant was lost.
        asked.again = Some(now + if asked.behind.is_none() { retry } else { beat.max(retry) });
        let (key, ask) = (self.setup.key, asked.ask.clone());
        Some(Request::Ask { session, key, number, forget_below, ask })
    }

    fn send_all(&mut self, now: Time, which: impl Fn(&Asked) -> bool) -> Vec<Request> {
        let due = self.asked.iter().filter(|(_, asked)| which(asked));
        let due: Vec<Number> = due.map(|(number, _)| *number).collect();
        due.into_iter().filter_map(|number| self.send(number, now)).collect()
    }
}

/// The session's life.
impl Client {
    fn lives(&self, now: Time) -> bool {
        self.deadline().is_some_and(|deadline| now < deadline)
    }

    /// A session lives, or cannot be begun.
    fn opened(
        &mut self,
        result: Result<SessionId, Refusal>,
        sent: Time,
        now: Time,
        heard: &mut Vec<ClientEvent>,
        requests: &mut Vec<Request>,
    ) {
        match (result, &self.state) {
            (Err(refusal), State::Opening { .. }) => {
                heard.push(self.end(SessionEnded::Refused(refusal), None));
            }
            (Ok(session), State::Opening { .. }) => {
                // Too late to be of use, or from a future that this clock has not seen (K4).
                if sent > now || sent + self.setup.client_ttl() <= now {
                    return;
                }
                self.state = State::Open { session, proven: sent, sent };
                heard.push(ClientEvent::Opened(session));
                requests.extend(self.send_all(now, |_| true));
            }
            (Ok(session), State::Open { session: mine, .. }) if session == *mine => {
                self.prove(sent, now);
            }
            // A session that is not needed: one that is given up, or that an `Open` has begun which
            // came late (K5).
            (
                Ok(session),
                State::Open { .. } | State::Closing { .. } | State::SessionEnded { .. },
            ) => {
                requests.push(self.closing(session));
            }
            // Its client has not stopped yet (K9).
            (Ok(_), State::Leaving { .. }) | (Ok(_), State::New) | (Err(_), _) => {}
        }
    }

    /// The session lived when an answer was given to what was sent then (K3).
    fn prove(&mut self, sent: Time, now: Time) {
        if let State::Open { proven, .. } = &mut self.state
            && sent <= now
        {
            *proven = sent.max(*proven);
        }
    }

    /// The coordinator has no such session.
    fn ended(&mut self, which: SessionId, why: Option<Ending>) -> Option<ClientEvent> {
        match self.state {
            State::Open { session, .. } if session == which => {
                Some(self.end(SessionEnded::Ended(why), None))
            }
            State::Leaving { session, .. } if session == which => {
                Some(self.end(SessionEnded::Ended(why), None))
            }
            State::Closing { session, .. } if session == Some(which) => {
                Some(self.end(SessionEnded::Closed, None))
            }
            _ => None,
        }
    }

    /// K9: another ends the session.
    fn leave(&mut self, which: SessionId, why: Ending) -> Option<ClientEvent> {
        let until = self.deadline()?;
        let State::Open { session, .. } = self.state else { return None };
        if session != which {
            return None;
        }
        self.forget_all();
        self.state = State::Leaving { session, until };
        Some(ClientEvent::Ending(SessionEnded::Ended(Some(why))))
    }

    /// Ends it, if its time is over (K4).
    fn overdue(&mut self, now: Time) -> Option<(Vec<ClientEvent>, Vec<Request>)> {
        let (over, session) = match self.state {
            State::Open { session, .. } if !self.lives(now) => {
                (SessionEnded::DeadlinePassed, Some(session))
            }
            State::Leaving { session, until } if until <= now => {
                (SessionEnded::DeadlinePassed, Some(session))
            }
            State::Closing { session, until, .. } if until <= now => {
                (SessionEnded::Closed, session)
            }
            _ => return None,
        };
        let requests = session.map(|session| self.closing(session)).into_iter().collect();
        Some((vec![self.end(over, session)], requests))
    }

    /// It is over. The coordinator may still have the session that is given up thereby.
    fn end(&mut self, over: SessionEnded, given_up: Option<SessionId>) -> ClientEvent {
        self.state = State::SessionEnded { given_up };
        self.forget_all();
        ClientEvent::SessionEnded(over)
    }

    fn forget_all(&mut self) {
        self.asked.clear();
        self.held.clear();
        self.refused.clear();
    }

    /// A reply that is not for the session that lives: is it for one that this client gave up (K5)?
    fn stray(&self, reply: &Reply) -> Option<Request> {
        let State::SessionEnded { given_up: Some(session) } = self.state else { return None };
        (reply.session() == Some(session)).then_some(self.closing(session))
    }
}
