//! Snapshots in parts: a state goes through them and is the same, and parts that do not fit are refused.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::random::{Dice, command};
use bellwether_coordination::{
    Answer, Ask, Command, Coordination, Cursor, Ending, Limits, Mode, Number, OfRole, OfSession,
    OnDeadlock, Outcome, Part, Policy, Refusal, Secret, SessionId, Subject, Token, WAITS_KEPT,
    Want,
};
use bellwether_core::{Machine, Unsound};

const BUDGETS: [usize; 4] = [1, 100, 10_000, usize::MAX];

/// A state that random clients have made.
fn grown(seed: u64, commands: u64, on_deadlock: OnDeadlock) -> Coordination {
    let mut dice = Dice(seed);
    let mut coordination = Coordination::default();
    coordination.apply(&Command::Begin { term: 3, limits: Limits::default(), on_deadlock });
    for number in 1..=commands {
        let sessions: Vec<_> = coordination.sessions().keys().copied().collect();
        coordination.apply(&command(&mut dice, number, &sessions));
    }
    coordination
}

/// All parts, cut with this budget.
fn cut(coordination: &Coordination, budget: usize) -> Vec<Part> {
    let (mut parts, mut cursor) = (Vec::new(), Some(Cursor::default()));
    while let Some(from) = cursor {
        let (some, next) = coordination.cut(&from, budget);
        assert!(!some.is_empty(), "a piece has at least one part");
        let bytes: usize = some.iter().map(Coordination::part_weight).sum();
        assert!(bytes <= budget || some.len() == 1, "{bytes} bytes for a budget of {budget}");
        assert!(next.as_ref().is_none_or(|next| *next > from), "{from:?}, then {next:?}");
        parts.extend(some);
        cursor = next;
    }
    parts
}

fn put_together(parts: Vec<Part>) -> Result<Coordination, Unsound> {
    let mut coordination = Coordination::default();
    coordination.absorb(parts)?;
    coordination.complete()
}

#[test]
fn a_state_goes_through_parts_of_any_size() {
    for seed in 0..300 {
        let on_deadlock = if seed % 2 == 0 { OnDeadlock::Abort } else { OnDeadlock::Report };
        let mut here = grown(seed, 20 + seed % 200, on_deadlock);
        for budget in BUDGETS {
            let parts = cut(&here, budget);
            let mut there = Coordination::default();
            for part in parts {
                there.absorb(vec![part]).unwrap();
            }
            let mut there = there.complete().unwrap();
            assert_eq!(here, there, "seed {seed}");
            assert_eq!(here.bytes(), there.bytes(), "seed {seed}");
            // What does not travel is there, too: both go on alike.
            if budget == 100 {
                let mut dice = Dice(seed);
                for number in 300..350 {
                    let sessions: Vec<_> = here.sessions().keys().copied().collect();
                    let command = command(&mut dice, number, &sessions);
                    assert_eq!(here.apply(&command), there.apply(&command), "seed {seed}");
                }
                assert_eq!(here, there, "seed {seed}");
            }
        }
    }
}

#[test]
fn a_snapshot_goes_on_at_any_cursor() {
    for seed in 0..20 {
        let coordination = grown(seed, 120, OnDeadlock::Abort);
        let parts = cut(&coordination, 1);
        assert_eq!(coordination.cut(&Cursor::default(), usize::MAX), (parts.clone(), None));
        for (place, part) in parts.iter().enumerate() {
            let rest = coordination.cut(&part.cursor(), usize::MAX);
            assert_eq!(rest, (parts[place..].to_vec(), None), "{:?}", part.cursor());
        }
        // Cursors are ordered as the parts are, and where nothing is the next part comes.
        assert!(parts.iter().map(Part::cursor).is_sorted());
        let id = SessionId(u64::MAX);
        for cursor in [
            Cursor::Deadlock(u32::MAX),
            Cursor::Session(SessionId(0), OfSession::Answer(u64::MAX)),
            Cursor::Session(id, OfSession::Itself),
            Cursor::Session(id, OfSession::Claim(u64::MAX)),
            Cursor::Role(String::new(), OfRole::Candidate(u32::MAX)),
            Cursor::Role("role 0".to_owned(), OfRole::Change(u32::MAX)),
            Cursor::Role("role 0".to_owned(), OfRole::Candidate(u32::MAX)),
            Cursor::Role("\u{10ffff}".to_owned(), OfRole::Itself),
        ] {
            let (rest, next) = coordination.cut(&cursor, usize::MAX);
            assert_eq!(next, None);
            let from = parts.iter().position(|part| part.cursor() >= cursor);
            assert_eq!(rest, parts[from.unwrap_or(parts.len())..], "{cursor:?}");
        }
    }
}

#[test]
fn parts_that_are_shuffled_repeated_or_missing_are_refused() {
    for seed in 0..60 {
        let coordination = grown(seed, 120, OnDeadlock::Report);
        let parts = cut(&coordination, usize::MAX);
        let mut dice = Dice(seed);
        for place in 0..parts.len() {
            let mut missing = parts.clone();
            missing.remove(place);
            put_together(missing).unwrap_err();
            let mut repeated = parts.clone();
            repeated.insert(place, parts[place].clone());
            put_together(repeated).unwrap_err();
            let mut swapped = parts.clone();
            let other = dice.below(parts.len() as u64) as usize;
            swapped.swap(place, other);
            assert!(place == other || put_together(swapped).is_err(), "{place} and {other}");
        }
    }
    assert_eq!(put_together(Vec::new()), Err(Unsound("the head is missing")));
}

/// One field of one part is another one: that is refused, or makes a state that commands can go on with.
#[test]
fn parts_that_were_made_up_never_panic() {
    let (mut refused, mut taken) = (0, 0);
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let mut parts = cut(&grown(seed, 120, OnDeadlock::Abort), usize::MAX);
        for _ in 0..1 + dice.below(3) {
            let place = dice.below(parts.len() as u64) as usize;
            make_up(&mut parts[place], &mut dice);
        }
        let Ok(mut coordination) = put_together(parts) else {
            refused += 1;
            continue;
        };
        taken += 1;
        for number in 200..300 {
            let sessions: Vec<_> = coordination.sessions().keys().copied().collect();
            coordination.apply(&command(&mut dice, number, &sessions));
        }
        for session in coordination.sessions().keys().copied().collect::<Vec<_>>() {
            coordination.apply(&Command::End { session, why: Ending::Closed, at: 0 });
        }
    }
    assert!(refused > 100 && taken > 20, "{refused} refused, {taken} taken");
}

fn make_up(part: &mut Part, dice: &mut Dice) {
    let number = [0, 1, 3 << 32 | 1, u64::MAX][dice.below(4) as usize];
    match part {
        Part::Head { token, opened, asked, bytes, follow, .. } => match dice.below(5) {
            0 => *token = Token(number),
            1 => *opened = number,
            2 => *asked = number,
            3 => *bytes = number,
            _ => *follow = number,
        },
        Part::Deadlock { place, .. } => *place = number as u32,
        Part::Session { id, key, ttl_ms, forgotten, .. } => match dice.below(4) {
            0 => *id = SessionId(number),
            1 => *key = Secret(number.into()),
            2 => *ttl_ms = number,
            _ => *forgotten = number,
        },
        Part::Claim { session, number: by, claim } => match dice.below(7) {
            0 => *session = SessionId(number),
            1 => *by = number,
            2 => claim.wants = Vec::new().into(),
            3 => claim.order = number,
            4 => claim.token = Some(Token(number)),
            5 => claim.wants = [&claim.wants[..], &claim.wants[..1]].concat().into(),
            _ => {
                let mut wants = claim.wants.to_vec();
                wants[0].mode = Mode::Permits { take: number as u32, of: u32::MAX };
                claim.wants = wants.into();
            }
        },
        Part::Answer { number: by, .. } => *by = number,
        Part::Role { leader, policy, .. } => match dice.below(2) {
            0 => *leader = Some((SessionId(number), Token(number))),
            _ => *policy = Policy::FirstCome,
        },
        Part::Change { place, change } => match dice.below(2) {
            0 => *place = number as u32,
            _ => change.token = Some(Token(number)),
        },
        Part::Candidate { candidate, .. } => match dice.below(3) {
            0 => candidate.session = SessionId(number),
            1 => candidate.number = number,
            _ => candidate.priority = i32::MIN,
        },
    }
}

/// A state with long names, large values and many answers.
fn large() -> Coordination {
    let mut coordination = grown(1, 120, OnDeadlock::Report);
    let mut ids = Vec::new();
    for key in 100..140 {
        let client = "c".repeat(1 + key as usize);
        let open = Command::Open { key: Secret(key << 100), client, ttl_ms: 60_000, at: 1 << 40 };
        match coordination.apply(&open).pop() {
            Some(Outcome::Opened(Ok(id), _)) => ids.push(id),
            other => unreachable!("{other:?}"),
        }
    }
    for (place, session) in ids.iter().copied().enumerate() {
        let (priority, policy) = (-(place as i32), Policy::Priority { preempt: true });
        let (role, value) = (format!("role of {}", place % 7), vec![b'v'; place * 90]);
        let campaign = Ask::Campaign { role, priority, value, policy };
        let name = |count: usize| format!("{}/{count}", "lock".repeat(place));
        let mode = Mode::Permits { take: 1, of: u32::MAX };
        let wants =
            (0..1 + place % 9).map(|count| Want { name: name(count).into(), mode }).collect();
        for (number, ask) in [
            (1_000, campaign),
            (1 << 20, Ask::Lock { wants, wait: false }),
            (1 << 30, Ask::Release(1 << 29)),
            (1 << 40, Ask::Resign { role: "none".to_owned() }),
        ] {
            coordination.apply(&Command::Ask {
                session,
                number,
                forget_below: 0,
                ask,
                at: 1 << 41,
            });
        }
    }
    coordination
}

/// Between nine tenths and one and a half of postcard's bytes is asked for. They are equal.
#[test]
fn weights_are_what_postcard_writes() {
    for coordination in
        [grown(2, 120, OnDeadlock::Abort), grown(3, 120, OnDeadlock::Report), large()]
    {
        for part in cut(&coordination, usize::MAX) {
            let bytes = postcard::to_allocvec(&part).unwrap();
            assert_eq!(Coordination::part_weight(&part), bytes.len(), "{part:?}");
            assert_eq!(postcard::from_bytes::<Part>(&bytes).as_ref(), Ok(&part));
            let bytes = postcard::to_allocvec(&part.cursor()).unwrap();
            assert_eq!(postcard::from_bytes::<Cursor>(&bytes), Ok(part.cursor()));
        }
    }
    let mut dice = Dice(1);
    for number in 1..2_000 {
        let mut command = command(&mut dice, number << (number % 50), &[SessionId(1 << 33)]);
        if let Command::Ask { ask: Ask::Campaign { priority, value, .. }, .. } = &mut command {
            (*priority, *value) = (-*priority * 1_000, vec![200; number as usize % 500]);
        }
        let bytes = postcard::to_allocvec(&command).unwrap();
        assert_eq!(Coordination::weight(&command), bytes.len(), "{command:?}");
    }
    let subject = Subject::Role("r".repeat(200));
    let stale = Err(Refusal::StaleToken(subject, Token(7)));
    let part = Part::Answer { session: SessionId(1), number: 300, answer: stale };
    assert_eq!(Coordination::part_weight(&part), postcard::to_allocvec(&part).unwrap().len());
}

#[test]
fn a_client_may_rely_on_its_session_for_its_ttl() {
    let mut coordination = Coordination::default();
    assert!(coordination.longest_ttl().is_zero());
    let open =
        |key, ttl_ms| Command::Open { key: Secret(key), client: "c".to_owned(), ttl_ms, at: 0 };
    coordination.apply(&open(1, 5_000));
    coordination.apply(&open(2, 3_000));
    assert_eq!(coordination.longest_ttl().as_millis(), 5_000);
    assert_eq!(Coordination::ttl_of(&open(3, 700)).as_millis(), 700);
    assert_eq!(Coordination::ttl_of(&open(3, u64::MAX)).as_secs(), 3_600, "it will be refused");
    assert_eq!(
        put_together(cut(&coordination, 1)).unwrap().longest_ttl(),
        coordination.longest_ttl()
    );
}

fn ask(
    coordination: &mut Coordination,
    session: SessionId,
    number: Number,
    ask: Ask,
) -> Vec<Outcome> {
    coordination.apply(&Command::Ask { session, number, forget_below: 0, ask, at: 0 })
}

fn lock(name: &str) -> Ask {
    let want = Want { name: name.into(), mode: Mode::Exclusive };
    Ask::Lock { wants: vec![want].into(), wait: true }
}

#[test]
fn a_full_state_grows_no_more_and_lets_go() {
    let limits = Limits { bytes: 64 << 10, ..Limits::default() };
    let full = Refusal::StateFull(limits.bytes);
    let on_deadlock = OnDeadlock::Abort;
    let mut coordination = Coordination::default();
    coordination.apply(&Command::Begin { term: 1, limits, on_deadlock });
    let open = |key| Command::Open { key: Secret(key), client: "c".to_owned(), ttl_ms: 500, at: 0 };
    let mut ids = Vec::new();
    let mut number = 0_u64;
    let campaign = |role: &str| Ask::Campaign {
        role: role.to_owned(),
        priority: 0,
        value: vec![7; 100],
        policy: Policy::FirstCome,
    };
    loop {
        match coordination.apply(&open(number.into())).pop() {
            Some(Outcome::Opened(Ok(id), _)) => ids.push(id),
            Some(Outcome::Opened(Err(refusal), _)) if refusal == full => break,
            other => unreachable!("{other:?}"),
        }
        let id = ids[ids.len() - 1];
        number += 1;
        ask(&mut coordination, id, 1, lock(&format!("lock {number}")));
        ask(&mut coordination, id, 2, campaign(&format!("role {number}")));
    }
    assert!(ids.len() > 10 && coordination.bytes() >= limits.bytes, "{} sessions", ids.len());
    assert!(coordination.bytes() < limits.bytes + 4_096, "{} bytes", coordination.bytes());
    let last = ids[ids.len() - 1];
    let refused = |said: Vec<Outcome>| match &said[..] {
        [Outcome::Answered(_, _, Err(refusal))] => refusal.clone(),
        other => unreachable!("{other:?}"),
    };
    let proclaim = Ask::Proclaim { role: "role 1".to_owned(), value: vec![8; 200] };
    assert_eq!(refused(ask(&mut coordination, ids[0], 10, lock("more"))), full);
    assert_eq!(refused(ask(&mut coordination, ids[0], 11, campaign("more"))), full);
    assert_eq!(refused(ask(&mut coordination, ids[0], 12, proclaim)), full);
    assert_eq!(
        refused(ask(&mut coordination, ids[0], 10, lock("more"))),
        full,
        "it is the same request"
    );
    // A client that asks on and on does not make it grow.
    let before = coordination.bytes();
    for number in 100..2_000 {
        ask(&mut coordination, last, number, lock("more"));
    }
    assert!(coordination.bytes() < before + 4_096, "{} bytes", coordination.bytes());
    assert_eq!(coordination.sessions()[&last].remembered(), 16);
    // Those who have something can give it back, and then there is room.
    for id in &ids[..ids.len() - 1] {
        let said = ask(&mut coordination, *id, 3_000, Ask::Release(1));
        assert!(matches!(said[..], [Outcome::Answered(_, _, Ok(Answer::Done))]), "{said:?}");
    }
    assert!(coordination.bytes() < limits.bytes);
    assert!(matches!(coordination.apply(&open(1 << 90))[..], [Outcome::Opened(Ok(_), _)]));
    for session in coordination.sessions().keys().copied().collect::<Vec<_>>() {
        coordination.apply(&Command::End { session, why: Ending::Closed, at: 0 });
    }
    assert_eq!(put_together(cut(&coordination, 1)), Ok(coordination));
}

#[test]
fn of_a_long_circle_the_first_waits_are_kept() {
    let mut coordination = Coordination::default();
    let on_deadlock = OnDeadlock::Abort;
    coordination.apply(&Command::Begin { term: 0, limits: Limits::default(), on_deadlock });
    let count = WAITS_KEPT as u64 + 100;
    for key in 1..=count {
        let client = String::from("c");
        coordination.apply(&Command::Open { key: Secret(key.into()), client, ttl_ms: 500, at: 0 });
        ask(&mut coordination, SessionId(key), 1, lock(&key.to_string()));
    }
    for key in 1..count {
        ask(&mut coordination, SessionId(key), 2, lock(&(key + 1).to_string()));
    }
    let said = ask(&mut coordination, SessionId(count), 2, lock("1"));
    let kept = coordination.deadlocks().next().unwrap();
    assert_eq!(kept.cycle.len(), WAITS_KEPT);
    assert_eq!(kept.aborted, Some(SessionId(count)));
    assert!(said.contains(&Outcome::Deadlocked(kept.clone())));
    assert_eq!(put_together(cut(&coordination, 10_000)), Ok(coordination));
}
