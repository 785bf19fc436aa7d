//! What one more request costs where ten thousand wait already: coming to wait, which looks for a
//! deadlock, and giving up again. The aim is below 50 microseconds for one new edge.
//!
//! `in_a_queue` is beside `plain_queue`, the same without anything that looks for cycles.

use bellwether_coordination::{
    Ask, Command, Coordination, Limits, Mode, Number, OnDeadlock, Outcome, Secret, SessionId, Want,
};
use divan::{Bencher, black_box};
use std::collections::VecDeque;

const WAITERS: usize = 10_000;

fn main() {
    divan::main();
}

/// A state with sessions.
struct World {
    coordination: Coordination,
    sessions: Vec<SessionId>,
    number: Number,
}

impl World {
    fn new(sessions: usize, on_deadlock: OnDeadlock) -> Self {
        let limits = Limits { sessions: 1 << 20, waiters: 1 << 20, ..Limits::default() };
        let mut coordination = Coordination::default();
        coordination.apply(&Command::Begin { term: 1, limits, on_deadlock });
        let opened = (0..sessions).filter_map(|key| {
            let client = format!("client {key}");
            let open = Command::Open { key: Secret(key as u128), client, ttl_ms: 60_000, at: 0 };
            match coordination.apply(&open).pop() {
                Some(Outcome::Opened(Ok(id), _)) => Some(id),
                _ => None,
            }
        });
        let sessions = opened.collect();
        World { coordination, sessions, number: 0 }
    }

    fn ask(&mut self, place: usize, ask: Ask) -> Number {
        self.number += 1;
        let (session, number) = (self.sessions[place], self.number);
        // The client has had all answers before.
        let command = Command::Ask { session, number, forget_below: number, ask, at: 0 };
        black_box(self.coordination.apply(&command));
        number
    }

    fn wait(
        &mut self,
        places: impl Iterator<Item = usize>,
        name: impl Fn(usize) -> String,
        mode: Mode,
    ) {
        for place in places {
            self.lock(place, &name(place), mode);
        }
    }

    fn lock(&mut self, place: usize, name: &str, mode: Mode) -> Number {
        let wants = vec![Want { name: name.into(), mode }].into();
        self.ask(place, Ask::Lock { wants, wait: true })
    }

    /// Comes to wait and gives up.
    fn comes_and_goes(&mut self, place: usize, name: &str, mode: Mode) {
        let number = self.lock(place, name, mode);
        self.ask(place, Ask::GiveUp(number));
    }
}

fn name(place: usize) -> String {
    format!("lock/{place}")
}

/// All wait for one lock, each behind the one before it.
#[divan::bench]
fn in_a_queue(bencher: Bencher<'_, '_>) {
    let mut world = World::new(WAITERS + 2, OnDeadlock::Abort);
    world.wait(0..=WAITERS, |_| "one".to_owned(), Mode::Exclusive);
    bencher.bench_local(|| world.comes_and_goes(WAITERS + 1, "one", Mode::Exclusive));
}

/// The queue alone: its end, and the search for the one that gives up.
#[divan::bench]
fn plain_queue(bencher: Bencher<'_, '_>) {
    let mut queue: VecDeque<usize> = (0..WAITERS).collect();
    bencher.bench_local(|| {
        queue.push_back(WAITERS);
        let place = queue.iter().position(|waiter| *waiter == black_box(WAITERS));
        place.and_then(|place| queue.remove(place))
    });
}

/// Each holds a lock and waits for that of the one before it: a chain of ten thousand edges.
fn chain(on_deadlock: OnDeadlock) -> World {
    let mut world = World::new(WAITERS + 2, on_deadlock);
    world.wait(0..=WAITERS + 1, name, Mode::Exclusive);
    world.wait(1..=WAITERS, |place| name(place - 1), Mode::Exclusive);
    world
}

/// One more joins a chain at its end.
#[divan::bench]
fn behind_a_chain(bencher: Bencher<'_, '_>) {
    let mut world = chain(OnDeadlock::Abort);
    bencher.bench_local(|| world.comes_and_goes(WAITERS + 1, &name(WAITERS), Mode::Exclusive));
}

/// One session waits for another in the middle of a chain, and the first of the chain waits for it: the
/// edge leads back, and what lies between must be searched.
#[divan::bench]
fn before_a_chain(bencher: Bencher<'_, '_>) {
    let mut world = chain(OnDeadlock::Abort);
    bencher.bench_local(|| world.comes_and_goes(0, &name(WAITERS + 1), Mode::Exclusive));
}

/// The last edge of a cycle of a hundred, where ten thousand wait: it is found, named and aborted.
#[divan::bench]
fn closes_a_circle_of_100(bencher: Bencher<'_, '_>) {
    let mut world = chain(OnDeadlock::Abort);
    bencher.bench_local(|| world.lock(WAITERS - 99, &name(WAITERS), Mode::Exclusive));
}

/// One more comes to wait for a lock of its own choice while a cycle is left to people.
#[divan::bench]
fn beside_a_circle_that_stays(bencher: Bencher<'_, '_>) {
    let mut world = chain(OnDeadlock::Report);
    world.lock(0, &name(1), Mode::Exclusive);
    bencher.bench_local(|| world.comes_and_goes(WAITERS + 1, &name(WAITERS), Mode::Exclusive));
}

/// One of many holders of a semaphore comes and goes while ten thousand wait for it.
#[divan::bench]
fn behind_a_semaphore(bencher: Bencher<'_, '_>) {
    let mut world = World::new(WAITERS + 102, OnDeadlock::Abort);
    let permit = Mode::Permits { take: 1, of: 100 };
    world.wait(0..WAITERS + 100, |_| "slots".to_owned(), permit);
    bencher.bench_local(|| world.comes_and_goes(WAITERS + 101, "slots", permit));
}
