//! One worker: begins a session, does something at random with it, and begins again.

use super::super::chance::Chance;
use super::super::history::{Ended, Event, Outcome, Refused, Want, Way, now};
use super::{Context, words};
use bellwether::{Error, Leadership, Lock, Lost, Session, SessionOptions};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// The TTLs of sessions, in milliseconds.
const TTL_MS: [u64; 3] = [1_000, 2_000, 3_000];
/// How much longer they are on etcd, which keeps none below 2 s.
const ON_ETCD_MS: u64 = 1_000;
/// How often to look at what is held.
const LOOKS_EVERY: Duration = Duration::from_millis(8);
/// How long after its session is over a guard may take to say so.
const TOLD_WITHIN: Duration = Duration::from_secs(30);

pub(super) struct Worker {
    pub(super) context: Arc<Context>,
    seat: u32,
    pub(super) chance: Chance,
    session: Option<Session>,
}

/// Something that is held, and by which request.
pub(super) struct Held<G> {
    pub(super) ask: u64,
    pub(super) guard: G,
}

/// What locks and leaderships have in common.
pub(super) trait Guard {
    fn token(&self) -> u64;
    fn is_held(&self) -> bool;
    fn lost(&self) -> impl Future<Output = Lost> + Send;
}

impl Guard for Lock {
    fn token(&self) -> u64 {
        Lock::token(self).0
    }

    fn is_held(&self) -> bool {
        Lock::is_held(self)
    }

    async fn lost(&self) -> Lost {
        Lock::lost(self).await
    }
}

impl Guard for Leadership {
    fn token(&self) -> u64 {
        Leadership::token(self).0
    }

    fn is_held(&self) -> bool {
        Leadership::is_held(self)
    }

    async fn lost(&self) -> Lost {
        Leadership::lost(self).await
    }
}

impl Worker {
    pub(super) fn new(context: Arc<Context>, seat: u32, chance: Chance) -> Self {
        Worker { context, seat, chance, session: None }
    }

    pub(super) async fn work(mut self) {
        while !self.context.is_ending() {
            let Some(session) = self.session().await else { continue };
            match self.chance.below(100) {
                0..60 => self.lock_some(&session).await,
                60..85 => self.lead(&session).await,
                85..90 => self.close(session).await,
                90..92 => self.forget(session),
                _ => sleep(self.chance.millis(1, 60)).await,
            }
        }
        if let Some(session) = self.session.take() {
            self.close(session).await;
        }
    }

    /// The session, or a new one if it is over.
    async fn session(&mut self) -> Option<Session> {
        if let Some(session) = &self.session {
            if session.is_alive() {
                return Some(session.clone());
            }
            let why = timeout(TOLD_WITHIN, session.lost()).await;
            let why = why.map_or(Ended::Unknown, words::over);
            self.write(Event::SessionEnded { session: session.id().to_string(), why });
            self.session = None;
        }
        let (seat, ttl_ms) = (self.seat, TTL_MS[self.chance.below(TTL_MS.len() as u64) as usize]);
        let ttl_ms = ttl_ms + if self.context.on_etcd { ON_ETCD_MS } else { 0 };
        let name = format!("{}.{seat}", self.context.name);
        let options = SessionOptions { name, ttl: Duration::from_millis(ttl_ms) };
        self.write(Event::Opens { seat });
        match self.context.client.session(options).await {
            Ok(session) => {
                self.write(Event::Opened { seat, session: session.id().to_string(), ttl_ms });
                self.session = Some(session.clone());
                Some(session)
            }
            Err(error) => {
                self.write(Event::NotOpened { seat, why: error.to_string() });
                sleep(self.chance.millis(10, 100)).await;
                None
            }
        }
    }

    async fn close(&mut self, session: Session) {
        self.session = None;
        let id = session.id().to_string();
        self.write(Event::Closes { session: id.clone() });
        session.close().await;
        self.write(Event::Closed { session: id });
    }

    /// Drops the session, which closes it without waiting.
    fn forget(&mut self, session: Session) {
        self.session = None;
        self.write(Event::Closes { session: session.id().to_string() });
        let id = session.id().to_string();
        drop(session);
        self.write(Event::Closed { session: id });
    }

    pub(super) fn write(&self, event: Event) {
        self.context.pen.write(event);
    }

    /// Writes down that something is wanted; its number, and where to tell that it waits.
    pub(super) fn asks(
        &self,
        session: &Session,
        wants: Vec<Want>,
        waits: bool,
        patience: Option<Duration>,
    ) -> (u64, watch::Sender<Option<u64>>) {
        let ask = self.context.next_ask();
        let patience_us = patience.map(|span| span.as_micros() as u64);
        let (session, via) = (session.id().to_string(), self.context.client.member());
        self.write(Event::Asks { ask, session, wants, waits, patience_us, via });
        let (place, mut places) = watch::channel(None);
        let context = self.context.clone();
        tokio::spawn(async move {
            while places.changed().await.is_ok() {
                let behind = *places.borrow_and_update();
                behind
                    .into_iter()
                    .for_each(|behind| context.pen.write(Event::Waits { ask, behind }));
            }
        });
        (ask, place)
    }

    /// Writes down what became of it.
    pub(super) fn answered<G: Guard>(
        &self,
        ask: u64,
        result: Option<Result<G, Error>>,
    ) -> Option<Held<G>> {
        let outcome = match &result {
            Some(Ok(guard)) => Outcome::Granted { token: guard.token() },
            Some(Err(error)) => words::outcome(error),
            None => Outcome::TimedOut,
        };
        self.write(Event::Answered { ask, outcome });
        let held = result.and_then(Result::ok).map(|guard| Held { ask, guard });
        if let Some(held) = &held {
            self.look(held);
        }
        held
    }

    /// Looks once; whether it is held.
    pub(super) fn look<G: Guard>(&self, held: &Held<G>) -> bool {
        let at = now();
        let is_held = held.guard.is_held();
        if is_held {
            self.context.pen.write_at(at, Event::Looked { ask: held.ask });
        }
        is_held
    }

    /// Looks again and again, as long as all of it is held.
    pub(super) async fn keep_looking<G: Guard>(&self, all: &[Held<G>]) {
        while all.iter().all(|held| self.look(held)) {
            sleep(LOOKS_EVERY).await;
        }
    }

    /// Does something else meanwhile.
    pub(super) async fn meanwhile<G: Guard, T>(
        &self,
        all: &[Held<G>],
        work: impl Future<Output = T>,
    ) -> T {
        let looking = async {
            self.keep_looking(all).await;
            std::future::pending().await
        };
        tokio::select! {
            biased;
            done = work => done,
            never = looking => never,
        }
    }

    /// If it is not held any more, writes down why. Whether it is held.
    pub(super) async fn still<G: Guard>(&self, held: &Held<G>) -> bool {
        if self.look(held) {
            return true;
        }
        let why = timeout(TOLD_WITHIN, held.guard.lost()).await;
        if let Ok(how) = why {
            self.write(Event::Lost { ask: held.ask, why: words::lost(&how) });
        }
        false
    }

    pub(super) fn gives_back(&self, ask: u64, how: Way) {
        self.write(Event::GivesBack { ask, how });
    }

    pub(super) fn gave_back(&self, ask: u64, result: Result<(), Error>) {
        let error: Option<Refused> = result.err().map(|error| words::refused(&error));
        self.write(Event::GaveBack { ask, error });
    }
}
