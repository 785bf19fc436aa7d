//! An application with one session at a time that asks for locks and roles at random, and holds some
//! while it waits for others.

use super::world::Observed;
use bellwether_coordination::{
    Answer, Ask, Mode, Number, Policy, Refusal, Reply, Request, Token, Want,
};
use bellwether_coordination::{Client, ClientEvent, Secret, SessionEnded, Setup, Subject};
use bellwether_core::Time;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::time::Duration;

/// Two that are only ever wanted alone, one that is also shared, and a semaphore of two permits.
pub(crate) const LOCKS: [&str; 4] = ["a", "b", "c", "d"];

const ROLE: &str = "r";

/// An application.
#[derive(Clone, Debug)]
pub(crate) struct User {
    me: u32,
    draws: u64,
    /// How often it has started.
    life: u64,
    sessions: u64,
    /// Whether it believed in its session when it last looked.
    believes: bool,
    pub(crate) client: Client,
    /// What it has asked for and has no final answer to.
    pub(crate) open: BTreeMap<Number, Ask>,
    pub(crate) held: BTreeMap<Number, (Vec<Want>, Token)>,
    pub(crate) leads: Option<Token>,
    stands: bool,
    /// The requests of this life that were granted, with a lock and the token of each.
    granted: Vec<(u64, Number, String, Token)>,
    checks: u64,
    /// Something that must never happen has happened to it.
    pub(crate) wronged: Option<String>,
    ttl: Duration,
    drift_ppm: u32,
    seed: u64,
}

/// It is only looked at as a whole.
impl PartialEq for User {
    fn eq(&self, other: &Self) -> bool {
        (self.me, self.draws) == (other.me, other.draws) && self.client == other.client
    }
}

impl Eq for User {}

impl Hash for User {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.me, self.draws, self.sessions).hash(state);
    }
}

impl User {
    pub(crate) fn new(me: u32, life: u64, seed: u64, ttl: Duration, drift_ppm: u32) -> Self {
        let seed = seed ^ (u64::from(me) << 40) ^ (life << 20);
        let client = Client::new(Setup { key: Secret(0), name: "u".to_owned(), ttl, drift_ppm });
        let mut user = User {
            me,
            draws: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            life,
            sessions: 0,
            believes: false,
            client,
            open: BTreeMap::new(),
            held: BTreeMap::new(),
            leads: None,
            stands: false,
            granted: Vec::new(),
            checks: 0,
            wronged: None,
            ttl,
            drift_ppm,
            seed,
        };
        user.renew();
        user
    }

    /// A session after another.
    fn renew(&mut self) {
        self.sessions += 1;
        let key = Secret(u128::from(self.seed) << 64 | u128::from(self.sessions));
        let (name, ttl, drift_ppm) = (format!("user {}", self.me), self.ttl, self.drift_ppm);
        self.client = Client::new(Setup { key, name, ttl, drift_ppm });
        self.forget();
    }

    fn forget(&mut self) {
        self.open.clear();
        self.held.clear();
        (self.leads, self.stands) = (None, false);
    }

    pub(crate) fn draw(&mut self, limit: u64) -> u64 {
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        (self.draws >> 11) % limit
    }

    /// Looks at its clock.
    pub(crate) fn look(&mut self, now: Time) {
        self.believes = self.client.deadline().is_some_and(|deadline| now < deadline);
    }

    /// The session that it believed in when it last looked.
    pub(crate) fn believes_in(&self) -> Option<u64> {
        self.believes.then(|| self.session())
    }

    /// Its session, by a number that no other one of any user has.
    fn session(&self) -> u64 {
        u64::from(self.me) << 48 | self.life << 24 | self.sessions
    }

    /// Whether it believes at this moment of its clock that it holds a lock like this.
    pub(crate) fn holds(&self, lock: &str, now: Time, how: impl Fn(Mode) -> bool) -> Option<Token> {
        self.client.deadline().filter(|deadline| now < *deadline)?;
        let mut held = self.held.values();
        let has = |wants: &[Want]| wants.iter().any(|want| *want.name == *lock && how(want.mode));
        held.find(|(wants, _)| has(wants)).map(|(_, token)| *token)
    }

    /// Whether it believes that it leads.
    pub(crate) fn leading(&self, now: Time) -> Option<Token> {
        self.client.deadline().filter(|deadline| now < *deadline)?;
        self.leads
    }

    /// Does something. When it is to be quiet it begins nothing, waits for what it has asked for and
    /// gives back what it has.
    pub(crate) fn act(&mut self, quiet: bool, now: Time, told: &mut Vec<Observed>) -> Vec<Request> {
        if self.client.is_over() {
            if quiet {
                return Vec::new();
            }
            self.renew();
        }
        if self.client.session().is_none() {
            return self.client.open(now);
        }
        let waits = self.open.values().any(|ask| matches!(ask, Ask::Lock { .. }));
        if quiet {
            let Some(number) = self.held.keys().next().copied().filter(|_| !waits) else {
                return Vec::new();
            };
            return self.release(number, now, told);
        }
        match self.draw(20) {
            0..=6 if self.open.len() < 3 => self.lock(now, told),
            7..=11 => match self.held.keys().next().copied() {
                Some(number) => self.release(number, now, told),
                None => Vec::new(),
            },
            12 => {
                let waiting = self.open.iter().find(|(_, ask)| matches!(ask, Ask::Lock { .. }));
                match waiting.map(|(number, _)| *number) {
                    Some(number) => self.ask(Ask::GiveUp(number), now, told),
                    None => Vec::new(),
                }
            }
            13 | 14 if !self.stands => {
                self.stands = true;
                let (role, value) = (ROLE.to_owned(), Vec::new());
                let (priority, policy) = (self.me as i32, Policy::Priority { preempt: true });
                self.ask(Ask::Campaign { role, priority, value, policy }, now, told)
            }
            15 if self.leads.is_some() => {
                let (role, value) = (ROLE.to_owned(), b"new".to_vec());
                self.ask(Ask::Proclaim { role, value }, now, told)
            }
            16 if self.stands => self.resign(now, told),
            17 if self.draw(10) == 0 => {
                self.forget();
                self.client.close(now)
            }
            18 | 19 => self.check(told),
            _ => Vec::new(),
        }
    }

    /// Asks whether one of its tokens is still good, of this session or of one before.
    fn check(&mut self, told: &mut Vec<Observed>) -> Vec<Request> {
        let latest = self.granted.len().saturating_sub(4) as u64;
        let draw = latest + self.draw(4);
        let Some((session, request, lock, token)) = self.granted.get(draw as usize).cloned() else {
            return Vec::new();
        };
        self.checks += 1;
        let number = u64::from(self.me) << 48 | self.life << 24 | self.checks;
        told.push(Observed::Checks(number, session, request));
        vec![Request::Check { number, of: Subject::Lock(lock), token }]
    }

    fn resign(&mut self, now: Time, told: &mut Vec<Observed>) -> Vec<Request> {
        (self.leads, self.stands) = (None, false);
        self.open.retain(|_, ask| !matches!(ask, Ask::Campaign { .. }));
        self.ask(Ask::Resign { role: ROLE.to_owned() }, now, told)
    }

    fn lock(&mut self, now: Time, told: &mut Vec<Observed>) -> Vec<Request> {
        let mut wants = Vec::new();
        for _ in 0..=self.draw(2) {
            let name = LOCKS[self.draw(4) as usize];
            let asked = |ask: &Ask| matches!(ask, Ask::Lock { wants, .. } if names(wants, name));
            if names(&wants, name)
                || self.held.values().any(|(held, _)| names(held, name))
                || self.open.values().any(asked)
            {
                continue;
            }
            let mode = match (name, self.draw(2)) {
                ("c", 0) => Mode::Shared,
                ("d", take) => Mode::Permits { take: 1 + take as u32, of: 2 },
                _ => Mode::Exclusive,
            };
            wants.push(Want { name: name.into(), mode });
        }
        if wants.is_empty() {
            return Vec::new();
        }
        let wait = self.draw(4) > 0;
        self.ask(Ask::Lock { wants: wants.into(), wait }, now, told)
    }

    fn release(&mut self, number: Number, now: Time, told: &mut Vec<Observed>) -> Vec<Request> {
        self.held.remove(&number);
        self.ask(Ask::Release(number), now, told)
    }

    fn ask(&mut self, ask: Ask, now: Time, told: &mut Vec<Observed>) -> Vec<Request> {
        let (number, requests) = self.client.ask(ask.clone(), now);
        told.push(Observed::Asks(self.session(), number, ask.clone()));
        self.open.insert(number, ask);
        requests
    }

    /// The coordinator says something.
    pub(crate) fn receive(
        &mut self,
        reply: Reply,
        now: Time,
        told: &mut Vec<Observed>,
    ) -> Vec<Request> {
        let believes = self.client.deadline().is_some_and(|deadline| now < deadline);
        let (news, mut requests) = self.client.hear(reply.clone(), now);
        // Its own deadline lies before the coordinator's: no member may end the session of a client that
        // still believes in it.
        if believes
            && news
                .iter()
                .any(|heard| matches!(heard, ClientEvent::SessionEnded(SessionEnded::Ended(_))))
        {
            self.wronged = Some(format!("its session was ended while it lived: {reply:?}"));
        }
        requests.extend(self.hear(news, now, told));
        requests
    }

    /// Takes in what its session tells it.
    pub(crate) fn hear(
        &mut self,
        news: Vec<ClientEvent>,
        now: Time,
        told: &mut Vec<Observed>,
    ) -> Vec<Request> {
        let mut requests = Vec::new();
        for heard in news {
            match heard {
                ClientEvent::Opened(name) => told.push(Observed::Opened(self.session(), name)),
                ClientEvent::ForceReleased { .. } => {}
                ClientEvent::Answered(number, result) => self.answered(number, result, told),
                ClientEvent::Preempt { .. } => requests.extend(self.resign(now, told)),
                ClientEvent::Ending(_) | ClientEvent::SessionEnded(_) => self.forget(),
            }
        }
        requests
    }

    fn answered(
        &mut self,
        number: Number,
        result: Result<Answer, Refusal>,
        told: &mut Vec<Observed>,
    ) {
        let Some(ask) = self.open.get(&number).cloned() else {
            return;
        };
        told.push(Observed::Hears(self.session(), number, result.clone()));
        match (&ask, result) {
            (_, Ok(Answer::Waits { .. })) => return,
            (Ask::Lock { wants, .. }, Ok(Answer::Granted(token))) => {
                self.held.insert(number, (wants.to_vec(), token));
                let lock = wants[0].name.to_string();
                self.granted.push((self.session(), number, lock, token));
            }
            (Ask::Campaign { .. }, Ok(Answer::Leads(token))) => self.leads = Some(token),
            (Ask::Campaign { .. }, Err(_)) => self.stands = false,
            (Ask::Release(_), Err(refusal)) => {
                self.wronged = Some(format!("what it held was not its own: {refusal}"));
            }
            _ => {}
        }
        self.open.remove(&number);
    }
}

fn names(wants: &[Want], name: &str) -> bool {
    wants.iter().any(|want| &*want.name == name)
}
