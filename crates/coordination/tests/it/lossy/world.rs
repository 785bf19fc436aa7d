//! One schedule: three clients, a network and a coordinator.

use bellwether_coordination::{
    Answer, Ask, Client, ClientEvent, Command, Coordination, Ending, Limits, Mode, Number,
    OnDeadlock, Outcome, Policy, Refusal, Reply, Request, Secret, SessionEnded, SessionId, Setup,
    Token, Want,
};
use bellwether_core::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The time of the world, in microseconds; no clock shows it.
type True = u64;

const CLIENTS: usize = 3;
const DRIFT_PPM: u32 = 50_000;
const TTL_MS: u64 = 200;
/// Until then everything may be lost.
const TROUBLE: True = 1_000_000;
/// Until then everything must be answered.
const END: True = 6_000_000;

/// What the schedules have seen, so that they are known to test something.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) grants: u64,
    pub(crate) leads: u64,
    pub(crate) passed: u64,
    pub(crate) deadlocks: u64,
    pub(crate) gave_up: u64,
    pub(crate) not_asked: u64,
    pub(crate) lost: u64,
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// A clock that is off and runs off.
#[derive(Clone, Copy)]
struct Clock {
    offset: u64,
    ppm: i64,
}

impl Clock {
    fn draw(dice: &mut Dice) -> Self {
        let drift = i64::from(DRIFT_PPM);
        let ppm = [-drift, 0, drift][dice.below(3) as usize];
        Clock { offset: dice.below(1_000_000), ppm }
    }

    fn read(&self, now: True) -> Time {
        let run = i128::from(now) * (1_000_000 + i128::from(self.ppm)) / 1_000_000;
        Time::from_micros(self.offset + run as u64)
    }

    /// A moment at which it shows this or more.
    fn when(&self, time: Time) -> True {
        let run = i128::from(time.as_micros().saturating_sub(self.offset));
        (run * 1_000_000 / (1_000_000 + i128::from(self.ppm)) + 1) as u64
    }
}

enum Event {
    /// A request arrives.
    Request(usize, Request),
    /// A reply arrives at a client, if it is still this one.
    Reply(usize, Secret, Reply),
    /// A client's time has come, unless it was given another one since.
    Wake(usize, u64),
    /// The program does something.
    Program(usize),
    /// The program of a client gives something back: a lock by its request, or a role.
    GiveBack(usize, Secret, Number),
    /// The coordinator looks who has not been heard of.
    Expire,
    /// Another coordinator takes over.
    Begin,
}

/// A client and the program that uses it.
struct User {
    client: Client,
    clock: Clock,
    key: Secret,
    /// What was asked for and has no final answer.
    open: BTreeMap<Number, Ask>,
    /// What the program thinks that it holds, as long as the deadline has not passed.
    holds: BTreeMap<Number, (Token, Option<String>)>,
    /// Those that had a final answer.
    over: BTreeSet<Number>,
    /// The campaign that led last.
    led: Option<(Number, Ask)>,
    /// How often it was told when to wake.
    wakes: u64,
}

pub(crate) struct World {
    seed: u64,
    dice: Dice,
    now: True,
    events: BTreeMap<(True, u64), Event>,
    scheduled: u64,
    users: Vec<User>,
    coordination: Coordination,
    term: u32,
    clock: Clock,
    /// When the coordinator heard of each session, by its clock, and from whom.
    seen: BTreeMap<SessionId, (Time, usize, Secret)>,
    /// What each request was granted by.
    tokens: BTreeMap<(SessionId, Number), Token>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let clock = Clock::draw(&mut dice);
        let mut world = World {
            seed,
            dice,
            now: 0,
            events: BTreeMap::new(),
            scheduled: 0,
            users: Vec::new(),
            coordination: Coordination::default(),
            term: 0,
            clock,
            seen: BTreeMap::new(),
            tokens: BTreeMap::new(),
        };
        world.begin();
        for index in 0..CLIENTS {
            let user = world.user();
            world.users.push(user);
            world.at(index as u64, Event::Program(index));
        }
        world.at(1_000, Event::Expire);
        world
    }

    fn user(&mut self) -> User {
        let key = Secret(u128::from(self.dice.below(u64::MAX)));
        let ttl = Duration::from_millis(TTL_MS);
        let setup = Setup { key, name: "a client".to_owned(), ttl, drift_ppm: DRIFT_PPM };
        let (open, holds, over, led, wakes) = Default::default();
        let clock = Clock::draw(&mut self.dice);
        User { client: Client::new(setup), clock, key, open, holds, over, led, wakes }
    }

    fn at(&mut self, when: True, event: Event) {
        self.scheduled += 1;
        self.events.insert((when.max(self.now), self.scheduled), event);
    }

    fn troubled(&self) -> bool {
        self.now < TROUBLE
    }

    pub(crate) fn run(mut self, counts: &mut Counts) {
        while let Some(((when, _), event)) = self.events.pop_first() {
            if when > END {
                break;
            }
            self.now = when;
            match event {
                Event::Request(who, request) => self.serve(who, request),
                Event::Reply(who, key, reply) if self.users[who].key == key => {
                    let time = self.time(who);
                    let (heard, requests) = self.users[who].client.hear(reply, time);
                    self.tell(who, heard, counts);
                    self.send(who, requests, counts);
                }
                Event::Reply(..) => {}
                Event::Wake(who, which) if self.users[who].wakes != which => {}
                Event::Wake(who, _) => {
                    let time = self.time(who);
                    let (heard, requests) = self.users[who].client.wake(time);
                    self.tell(who, heard, counts);
                    self.send(who, requests, counts);
                }
                Event::Program(who) => self.program(who, counts),
                Event::GiveBack(who, key, number) if self.users[who].key == key => {
                    self.give_back(who, number, counts);
                }
                Event::GiveBack(..) => {}
                Event::Expire => {
                    self.expire();
                    let ttl = Duration::from_millis(TTL_MS);
                    let due = self.seen.values().map(|(seen, ..)| self.clock.when(*seen + ttl));
                    let next = due.min().unwrap_or(True::MAX);
                    self.at(next.clamp(self.now + 1, self.now + 10_000), Event::Expire);
                }
                Event::Begin => {
                    self.begin();
                    for who in 0..CLIENTS {
                        if self.dice.one_in(2) {
                            let time = self.time(who);
                            let requests = self.users[who].client.reconnected(time);
                            self.send(who, requests, counts);
                        }
                    }
                }
            }
            self.assert_no_client_believes_in_what_is_lost();
            if !self.troubled() && self.is_quiet() {
                break;
            }
        }
        self.assert_all_answered();
    }

    fn time(&self, who: usize) -> Time {
        self.users[who].clock.read(self.now)
    }

    // The network.

    /// When something arrives that is sent now: never, once, or more often.
    fn ways(&mut self, counts: &mut Counts) -> Vec<True> {
        if !self.troubled() {
            return vec![self.now + 1 + self.dice.below(2_000)];
        }
        let times = match self.dice.below(10) {
            0..3 => 0,
            9 => 2,
            _ => 1,
        };
        counts.lost += u64::from(times == 0);
        let mut ways = Vec::new();
        for _ in 0..times {
            let late = if self.dice.one_in(8) { 400_000 } else { 20_000 };
            ways.push(self.now + 1 + self.dice.below(late));
        }
        ways
    }

    fn send(&mut self, who: usize, requests: Vec<Request>, counts: &mut Counts) {
        for request in requests {
            for when in self.ways(counts) {
                self.at(when, Event::Request(who, request.clone()));
            }
        }
        let user = &self.users[who];
        if let Some(wake) = user.client.next_wake() {
            let late = if self.troubled() && self.dice.one_in(10) { 300_000 } else { 3_000 };
            let when = user.clock.when(wake) + self.dice.below(late);
            self.users[who].wakes += 1;
            self.at(when, Event::Wake(who, self.users[who].wakes));
        }
    }

    fn reply(&mut self, (who, key): (usize, Secret), reply: Reply) {
        let mut counts = Counts::default();
        for when in self.ways(&mut counts) {
            self.at(when, Event::Reply(who, key, reply.clone()));
        }
    }

    // The coordinator.

    fn begin(&mut self) {
        self.term += 1;
        let on_deadlock = OnDeadlock::Abort;
        self.apply(&Command::Begin { term: self.term, limits: Limits::default(), on_deadlock });
        // It does not know when others were last heard of.
        let now = self.clock.read(self.now);
        self.seen.values_mut().for_each(|(seen, ..)| *seen = now);
    }

    fn serve(&mut self, who: usize, request: Request) {
        let now = self.clock.read(self.now);
        let key = self.users[who].key;
        match request {
            Request::Open { key, client, ttl_ms, sent } => {
                for said in self.apply(&Command::Open { key, client, ttl_ms, at: 0 }) {
                    let Outcome::Opened(result, key) = said else { continue };
                    if let Ok(session) = result {
                        self.seen.insert(session, (now, who, key));
                    }
                    self.reply((who, key), Reply::Opened { key, result, sent });
                }
            }
            Request::KeepAlive { session, sent, .. } => match self.seen.get_mut(&session) {
                Some((seen, ..)) => {
                    *seen = now;
                    self.reply((who, key), Reply::KeptAlive { session, sent });
                }
                None => self.reply((who, key), Reply::Ended { session, why: None }),
            },
            Request::Ask { session, number, forget_below, ask, .. } => {
                if !self.seen.contains_key(&session) {
                    return self.reply((who, key), Reply::Ended { session, why: None });
                }
                let command = Command::Ask { session, number, forget_below, ask, at: 0 };
                self.apply_and_tell(command);
            }
            Request::Close { session, .. } => {
                self.apply_and_tell(Command::End { session, why: Ending::Closed, at: 0 });
                self.reply((who, key), Reply::Ended { session, why: None });
            }
            Request::Died { .. }
            | Request::End { .. }
            | Request::Force { .. }
            | Request::Check { .. } => {
                unreachable!("no client says so")
            }
        }
    }

    fn expire(&mut self) {
        let now = self.clock.read(self.now);
        let ttl = Duration::from_millis(TTL_MS);
        let late = self.seen.iter().filter(|(_, (seen, ..))| *seen + ttl <= now);
        for session in late.map(|(session, _)| *session).collect::<Vec<_>>() {
            self.apply_and_tell(Command::End { session, why: Ending::Expired, at: 0 });
        }
    }

    fn apply_and_tell(&mut self, command: Command) {
        for said in self.apply(&command) {
            let (session, reply) = match said {
                Outcome::Answered(session, number, result) => {
                    (session, Reply::Answered { session, number, result })
                }
                Outcome::Preempt { session, role } => (session, Reply::Preempt { session, role }),
                Outcome::Ended(session, why) => (session, Reply::Ended { session, why: Some(why) }),
                _ => continue,
            };
            if let Some((_, who, key)) = self.seen.get(&session).copied() {
                self.reply((who, key), reply.clone());
            }
            if let Reply::Ended { .. } = reply {
                self.seen.remove(&session);
            }
        }
    }

    fn apply(&mut self, command: &Command) -> Vec<Outcome> {
        let said = self.coordination.apply(command);
        for said in &said {
            if let Outcome::Answered(id, number, Ok(Answer::Granted(token))) = said {
                let first = *self.tokens.entry((*id, *number)).or_insert(*token);
                assert_eq!(first, *token, "seed {}: {id} {number} is granted twice", self.seed);
            }
        }
        said
    }

    // The programs.

    fn tell(&mut self, who: usize, heard: Vec<ClientEvent>, counts: &mut Counts) {
        let seed = self.seed;
        for heard in heard {
            let user = &mut self.users[who];
            match heard {
                ClientEvent::Opened(_) | ClientEvent::Preempt { .. } => {}
                ClientEvent::ForceReleased { .. } => unreachable!("no operator is at work"),
                ClientEvent::Answered(_, Ok(Answer::Waits { .. })) => {}
                ClientEvent::Answered(number, result) => {
                    let ask = user.open.remove(&number);
                    assert!(user.over.insert(number), "seed {seed}: {number} again");
                    let Some(ask) = ask else {
                        unreachable!("seed {seed}: {number} was not asked")
                    };
                    let role = match (&result, &ask) {
                        (Ok(Answer::Leads(_)), Ask::Campaign { role, .. }) => {
                            user.led = Some((number, ask.clone()));
                            Some(role.clone())
                        }
                        (Ok(Answer::Granted(_)), Ask::Lock { .. }) | (Err(_), _) => None,
                        (Ok(Answer::Done), Ask::HandOver { .. }) => {
                            // It stands again, and may be told again that it leads.
                            let led = user.led.take();
                            user.over.retain(|over| led.as_ref().is_none_or(|led| led.0 != *over));
                            user.open.extend(led);
                            None
                        }
                        (Ok(Answer::Done), _) => None,
                        (Ok(answer), ask) => unreachable!("{answer:?} to {ask:?}"),
                    };
                    match result {
                        Ok(Answer::Granted(token) | Answer::Leads(token)) => {
                            counts.grants += u64::from(role.is_none());
                            counts.leads += u64::from(role.is_some());
                            let old = user.holds.insert(number, (token, role));
                            assert!(old.is_none_or(|(old, _)| old < token), "seed {seed}");
                            let (key, after) = (user.key, self.dice.below(60_000));
                            self.at(self.now + after, Event::GiveBack(who, key, number));
                        }
                        Err(Refusal::Deadlock(_)) => counts.deadlocks += 1,
                        Err(Refusal::GaveUp) => counts.gave_up += 1,
                        Err(Refusal::NotAsked(_)) => counts.not_asked += 1,
                        Err(Refusal::Forgotten(_) | Refusal::NoSession(_)) => {
                            unreachable!("seed {seed}: {result:?}")
                        }
                        _ => {}
                    }
                }
                ClientEvent::Ending(over) => {
                    unreachable!("seed {seed}: no operator ends it: {over:?}")
                }
                ClientEvent::SessionEnded(over) => {
                    counts.passed += u64::from(over == SessionEnded::DeadlinePassed);
                    // The client is always the first to know.
                    assert!(!matches!(over, SessionEnded::Ended(_)), "seed {seed}: {over:?}");
                    assert!(user.client.is_over());
                    // What is told to the old one is not for the new one.
                    let wakes = user.wakes;
                    self.users[who] = User { wakes: wakes + 1, ..self.user() };
                    let soon = self.dice.below(30_000);
                    self.at(self.now + soon, Event::Program(who));
                    return;
                }
            }
        }
    }

    fn ask(&mut self, who: usize, ask: Ask, counts: &mut Counts) -> Number {
        let time = self.time(who);
        let (number, requests) = self.users[who].client.ask(ask.clone(), time);
        self.users[who].open.insert(number, ask);
        self.send(who, requests, counts);
        number
    }

    fn program(&mut self, who: usize, counts: &mut Counts) {
        if self.users[who].client.next_wake().is_none() {
            let time = self.time(who);
            let requests = self.users[who].client.open(time);
            self.send(who, requests, counts);
        }
        if !self.troubled() {
            return;
        }
        let again = self.now + 1 + self.dice.below(60_000);
        match self.dice.below(40) {
            0 => {
                let time = self.time(who);
                let requests = self.users[who].client.close(time);
                self.users[who].holds.clear();
                return self.send(who, requests, counts);
            }
            1 => {
                let time = self.time(who);
                let requests = self.users[who].client.reconnected(time);
                self.send(who, requests, counts);
            }
            2 => self.at(self.now, Event::Begin),
            3..30 => self.lock(who, counts),
            30..36 => {
                let (role, priority) = ("role".to_owned(), self.dice.below(3) as i32);
                let policy = Policy::Priority { preempt: true };
                self.ask(who, Ask::Campaign { role, priority, value: vec![], policy }, counts);
            }
            _ => {
                // Something is given up, perhaps too late.
                let open = &self.users[who].open;
                let waits = |ask: &Ask| matches!(ask, Ask::Lock { .. } | Ask::Campaign { .. });
                let last = open.iter().rev().find(|(_, ask)| waits(ask)).map(|(number, _)| *number);
                if let Some(number) = last {
                    self.ask(who, Ask::GiveUp(number), counts);
                }
            }
        }
        self.at(again, Event::Program(who));
    }

    fn lock(&mut self, who: usize, counts: &mut Counts) {
        let mut wants = Vec::new();
        for _ in 0..1 + self.dice.below(2) {
            let name = format!("lock {}", self.dice.below(3));
            let mode = if self.dice.one_in(3) { Mode::Shared } else { Mode::Exclusive };
            wants.push(Want { name: name.into(), mode });
        }
        wants.dedup_by(|a, b| a.name == b.name);
        let wait = !self.dice.one_in(5);
        self.ask(who, Ask::Lock { wants: wants.into(), wait }, counts);
    }

    fn give_back(&mut self, who: usize, number: Number, counts: &mut Counts) {
        let Some((_, role)) = self.users[who].holds.remove(&number) else { return };
        let Some(role) = role else {
            self.ask(who, Ask::Release(number), counts);
            return;
        };
        self.users[who].holds.retain(|_, (_, role)| role.is_none());
        // Sometimes to another session, which may not campaign for it.
        let heir = self.users[(who + 1) % CLIENTS].client.session();
        match heir {
            Some(to) if self.troubled() && self.dice.one_in(2) => {
                let handed = self.ask(who, Ask::HandOver { role: role.clone(), to }, counts);
                // It does not believe in it any more, and leaves it in the end.
                let (key, later) = (self.users[who].key, self.now + 100_000);
                self.users[who].holds.insert(handed, (Token::default(), Some(role)));
                self.at(later, Event::GiveBack(who, key, handed));
            }
            _ => {
                self.ask(who, Ask::Resign { role }, counts);
            }
        }
    }

    // What must hold.

    fn assert_no_client_believes_in_what_is_lost(&self) {
        for (who, user) in self.users.iter().enumerate() {
            let Some(deadline) = user.client.deadline().filter(|end| self.time(who) < *end) else {
                continue;
            };
            let session = user.client.session().unwrap();
            for (number, (token, _)) in &user.holds {
                if *token == Token::default() {
                    continue;
                }
                let now = self.coordination.answered(session, *number);
                assert!(
                    matches!(now, Some(Ok(Answer::Granted(now) | Answer::Leads(now))) if now == *token),
                    "seed {}, {} us: {session} believes in {token} until {deadline}, but {now:?}",
                    self.seed,
                    self.now
                );
            }
        }
    }

    fn is_quiet(&self) -> bool {
        self.users.iter().all(|user| user.open.is_empty() && user.holds.is_empty())
    }

    fn assert_all_answered(&self) {
        for user in &self.users {
            assert!(
                user.open.is_empty(),
                "seed {}: {:?} without an answer, {:?}, {:?}",
                self.seed,
                user.open,
                user.client,
                self.coordination
            );
        }
        // Sessions that no client believes in any more may still have something.
        for user in &self.users {
            let session =
                user.client.session().and_then(|id| self.coordination.sessions().get(&id));
            let holds = session.is_some_and(|session| !session.requests.is_empty());
            assert!(!holds || !user.holds.is_empty(), "seed {}: {session:?}", self.seed);
        }
    }
}
