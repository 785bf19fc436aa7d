//! Random clients: what must hold after every command, whatever they do.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_coordination::{
    Answer, Ask, Command, Coordination, Ending, Limits, Mode, Number, OnDeadlock, Outcome, Policy,
    Refusal, Secret, SessionId, Token, Want,
};
use std::collections::{BTreeMap, BTreeSet};

const RUNS: u64 = 2_000;
const COMMANDS: u64 = 120;

/// SplitMix64.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Modes are fixed by name, so that clients agree about semaphores.
fn want(dice: &mut Dice) -> Want {
    match dice.below(6) {
        index @ 0..4 => {
            let mode = if dice.below(2) == 0 { Mode::Shared } else { Mode::Exclusive };
            Want { name: format!("lock {index}").into(), mode }
        }
        index => {
            let take = 1 + dice.below(2) as u32;
            Want { name: format!("pool {index}").into(), mode: Mode::Permits { take, of: 3 } }
        }
    }
}

fn ask(dice: &mut Dice, number: Number) -> Ask {
    let earlier = |dice: &mut Dice| number.saturating_sub(1 + dice.below(12));
    let role = format!("role {}", dice.below(2));
    match dice.below(12) {
        0..6 => {
            let mut wants: Vec<Want> = (0..1 + dice.below(3)).map(|_| want(dice)).collect();
            wants.sort_by(|a, b| a.name.cmp(&b.name));
            wants.dedup_by(|a, b| a.name == b.name);
            Ask::Lock { wants: wants.into(), wait: dice.below(5) > 0 }
        }
        6..9 => Ask::Release(earlier(dice)),
        9 => Ask::GiveUp(earlier(dice)),
        10 => {
            let priority = dice.below(3) as i32;
            let policy = Policy::Priority { preempt: true };
            Ask::Campaign { role, priority, value: Vec::new(), policy }
        }
        _ => Ask::Resign { role },
    }
}

pub(crate) fn command(dice: &mut Dice, number: Number, sessions: &[SessionId]) -> Command {
    let at = number;
    let session = match sessions.len() as u64 {
        0 => SessionId(1),
        some => sessions[dice.below(some) as usize],
    };
    match dice.below(20) {
        0..2 => Command::Open {
            key: Secret(dice.below(8).into()),
            client: "c".to_owned(),
            ttl_ms: 500,
            at,
        },
        2 => Command::End { session, why: Ending::Expired, at },
        3 if dice.below(4) == 0 => {
            let (lock, by) = (want(dice).name, String::from("op"));
            Command::Force { lock: lock.to_string(), session, by, at }
        }
        4 if dice.below(4) == 0 => {
            let (limits, on_deadlock) = (Limits::default(), OnDeadlock::Abort);
            Command::Begin { term: number as u32, limits, on_deadlock }
        }
        _ => Command::Ask {
            session,
            number,
            forget_below: number.saturating_sub(30),
            ask: ask(dice, number),
            at,
        },
    }
}

/// Holders get along, queues have no gaps, and no session waits that need not.
fn assert_sound(coordination: &Coordination) {
    assert_eq!(coordination.flaw(), None);
    for (name, lock) in coordination.locks() {
        let modes: Vec<Mode> = lock.holders.values().map(|(_, mode)| *mode).collect();
        let alone = modes.iter().filter(|mode| **mode == Mode::Exclusive).count();
        assert!(alone == 0 || modes.len() == 1, "{name}: {modes:?}");
        assert!(lock.taken() <= lock.permits, "{name}: {modes:?}");
        assert!(
            !lock.holders.is_empty() || !lock.queue.is_empty(),
            "{name} is kept without a user"
        );
        let orders: Vec<u64> = lock
            .queue
            .iter()
            .map(|(id, number, _)| coordination.sessions()[id].requests[number].order)
            .collect();
        assert!(orders.is_sorted(), "{name}: not first come, first served: {orders:?}");
    }
    for (id, session) in coordination.sessions() {
        for request in session.requests.values() {
            let first = |want: &Want| coordination.locks()[&*want.name].place(*id) == Some(0);
            let fits = |want: &Want| {
                let lock = &coordination.locks()[&*want.name];
                let held: Vec<_> = lock.holders.values().map(|(_, mode)| *mode).collect();
                match want.mode {
                    Mode::Exclusive => held.is_empty(),
                    Mode::Shared => held.iter().all(|mode| *mode == Mode::Shared),
                    Mode::Permits { take, .. } => lock.taken() + take <= lock.permits,
                }
            };
            let could = request.wants.iter().all(|want| first(want) && fits(want));
            assert!(request.token.is_some() || !could, "{id} waits for nothing: {request:?}");
        }
    }
}

/// By the definition: let everybody go on who can, again and again; who is left is stuck.
fn stuck(coordination: &Coordination) -> BTreeSet<SessionId> {
    let mut left: BTreeSet<SessionId> = coordination.sessions().keys().copied().collect();
    loop {
        let can = |id: &SessionId| {
            let waiting =
                coordination.sessions()[id].requests.values().filter(|r| r.token.is_none());
            waiting.flat_map(|request| &request.wants).all(|want| {
                let lock = &coordination.locks()[&*want.name];
                let before = lock.queue.iter().take_while(|(other, ..)| other != id);
                let mut held = lock.holders.iter().filter(|(id, _)| left.contains(id));
                before.clone().all(|(other, ..)| !left.contains(other))
                    && match want.mode {
                        Mode::Exclusive => held.next().is_none(),
                        Mode::Shared => held.all(|(_, (_, mode))| *mode == Mode::Shared),
                        Mode::Permits { take, of } => {
                            let taken: u32 = held
                                .map(|(_, (_, mode))| match mode {
                                    Mode::Permits { take, .. } => *take,
                                    _ => 0,
                                })
                                .sum();
                            taken + take <= of
                        }
                    }
            })
        };
        let free: Vec<_> = left.iter().copied().filter(can).collect();
        if free.is_empty() {
            return left;
        }
        free.iter().for_each(|id| {
            left.remove(id);
        });
    }
}

#[test]
fn whatever_clients_do() {
    let (mut deadlocks, mut grants) = (0, 0);
    for seed in 0..RUNS {
        let mut dice = Dice(seed);
        let mut coordination = Coordination::default();
        let mut last = Token::default();
        let mut answered: BTreeMap<(SessionId, Number), u32> = BTreeMap::new();
        for number in 1..=COMMANDS {
            let sessions: Vec<_> = coordination.sessions().keys().copied().collect();
            let command = command(&mut dice, number, &sessions);
            for said in coordination.apply(&command) {
                match said {
                    Outcome::Answered(id, number, Ok(Answer::Granted(token))) => {
                        assert!(token > last, "seed {seed}: {token} after {last}");
                        (last, grants) = (token, grants + 1);
                        *answered.entry((id, number)).or_default() += 1;
                    }
                    Outcome::Answered(_, _, Ok(Answer::Leads(token))) => {
                        assert!(token > last, "seed {seed}: {token} after {last}");
                        last = token;
                    }
                    Outcome::Answered(id, number, Err(refusal)) => {
                        deadlocks += u64::from(matches!(refusal, Refusal::Deadlock(_)));
                        if !matches!(refusal, Refusal::NoSession(_)) {
                            *answered.entry((id, number)).or_default() += 1;
                        }
                    }
                    _ => {}
                }
            }
            assert_sound(&coordination);
            let stuck = stuck(&coordination);
            assert!(stuck.is_empty(), "seed {seed}: after {command:?} {stuck:?} are stuck");
        }
        assert!(answered.values().all(|times| *times == 1), "seed {seed}: {answered:?}");
        // When all have gone, nothing is left of who waited for whom.
        for session in coordination.sessions().keys().copied().collect::<Vec<_>>() {
            coordination.apply(&Command::End { session, why: Ending::Closed, at: COMMANDS });
        }
        assert!(format!("{coordination:?}").contains("edges: {}"), "seed {seed}: {coordination:?}");
    }
    assert!(deadlocks > RUNS / 10 && grants > RUNS * 10, "{deadlocks} deadlocks, {grants} grants");
}

#[test]
fn the_same_commands_give_the_same_state_over_a_journey_too() {
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let (mut here, mut there) = (Coordination::default(), Coordination::default());
        for number in 1..=COMMANDS {
            let sessions: Vec<_> = here.sessions().keys().copied().collect();
            let command = command(&mut dice, number, &sessions);
            // A member that joins has the state from another one.
            let bytes = serde_json::to_vec(&there).unwrap();
            there = serde_json::from_slice::<Coordination>(&bytes).unwrap().restored();
            assert_eq!(here.apply(&command), there.apply(&command), "seed {seed}");
            assert_eq!(here, there, "seed {seed}");
        }
    }
}
