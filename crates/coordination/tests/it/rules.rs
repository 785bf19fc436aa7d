//! The rules, one by one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_coordination::{
    Answer, Ask, Command, Coordination, Ending, Limits, Mode, Number, OnDeadlock, Outcome, Policy,
    Refusal, Secret, SessionId, Token, Want,
};

type Asked = (Number, Vec<Outcome>);

/// A state, and a client's view of it.
struct Rig {
    state: Coordination,
    number: Number,
}

impl Rig {
    fn new() -> Self {
        Rig::with(Limits::default(), OnDeadlock::Abort)
    }

    fn with(limits: Limits, on_deadlock: OnDeadlock) -> Self {
        let mut state = Coordination::default();
        assert!(state.apply(&Command::Begin { term: 7, limits, on_deadlock }).is_empty());
        Rig { state, number: 0 }
    }

    fn open(&mut self, key: u128) -> SessionId {
        let (key, client) = (Secret(key), format!("client {key}"));
        match &self.state.apply(&Command::Open { key, client, ttl_ms: 1_000, at: 0 })[..] {
            [Outcome::Opened(Ok(id), _)] => *id,
            other => unreachable!("{other:?}"),
        }
    }

    fn ask(&mut self, session: SessionId, ask: Ask) -> Asked {
        self.number += 1;
        let number = self.number;
        (number, self.again(session, number, ask))
    }

    fn again(&mut self, session: SessionId, number: Number, ask: Ask) -> Vec<Outcome> {
        self.state.apply(&Command::Ask { session, number, forget_below: 0, ask, at: number })
    }

    fn lock(&mut self, session: SessionId, wants: &[Want]) -> Asked {
        self.ask(session, Ask::Lock { wants: wants.into(), wait: true })
    }

    fn release(&mut self, session: SessionId, number: Number) -> Vec<Outcome> {
        self.ask(session, Ask::Release(number)).1
    }

    fn campaign(&mut self, session: SessionId, priority: i32, policy: Policy) -> Asked {
        let (role, value) = ("cron".to_owned(), format!("at {session}").into_bytes());
        self.ask(session, Ask::Campaign { role, priority, value, policy })
    }
}

fn want(name: &str, mode: Mode) -> Want {
    Want { name: name.into(), mode }
}

fn alone(name: &str) -> Want {
    want(name, Mode::Exclusive)
}

fn permits(name: &str, take: u32, of: u32) -> Want {
    want(name, Mode::Permits { take, of })
}

/// Who was granted something, in order.
fn granted(said: &[Outcome]) -> Vec<SessionId> {
    let grants = said.iter().filter_map(|said| match said {
        Outcome::Answered(id, _, Ok(Answer::Granted(_))) => Some(*id),
        _ => None,
    });
    grants.collect()
}

fn waits(said: &[Outcome], behind: u64) -> bool {
    matches!(said, [Outcome::Answered(_, _, Ok(Answer::Waits { behind: found }))] if *found == behind)
}

fn refused(said: &[Outcome]) -> &Refusal {
    let mut refusals = said.iter().filter_map(|said| match said {
        Outcome::Answered(_, _, result) => result.as_ref().err(),
        _ => None,
    });
    refusals.next().unwrap()
}

#[test]
fn s1_a_request_that_comes_twice_is_done_once() {
    let mut rig = Rig::new();
    let [a, b] = [rig.open(1), rig.open(2)];
    assert_eq!(rig.open(1), a, "the same key is the same session");
    let ask = Ask::Lock { wants: vec![alone("x")].into(), wait: true };
    let (number, first) = rig.ask(a, ask.clone());
    let before = rig.state.clone();
    assert_eq!(rig.again(a, number, ask.clone()), first);
    assert_eq!(rig.state, before);
    let (waiting, said) = rig.ask(b, ask.clone());
    assert!(waits(&said, 0));
    assert!(waits(&rig.again(b, waiting, ask), 0), "one that waits goes on waiting");
    assert_eq!(rig.state.locks()["x"].queue.len(), 1);
    let release = Ask::Release(number);
    let (twice, said) = rig.ask(a, release.clone());
    assert_eq!(granted(&said), [b]);
    assert!(granted(&rig.again(a, twice, release)).is_empty());
}

#[test]
fn s1_answers_are_forgotten_when_the_client_has_them() {
    let mut rig = Rig::new();
    let a = rig.open(1);
    let (number, _) = rig.lock(a, &[alone("x")]);
    let ask = Ask::Release(number);
    let command =
        |number| Command::Ask { session: a, number, forget_below: 2, ask: ask.clone(), at: 0 };
    rig.state.apply(&command(2));
    let said = rig.state.apply(&command(1));
    assert_eq!(refused(&said), &Refusal::Forgotten(1));
}

#[test]
fn s1_what_holds_or_waits_is_answered_by_what_it_has_now() {
    let mut rig = Rig::new();
    let [a, b] = [rig.open(1), rig.open(2)];
    let ask = || Ask::Lock { wants: vec![alone("x")].into(), wait: true };
    let (held, _) = rig.ask(a, ask());
    let (waiting, _) = rig.ask(b, ask());
    // Its client knows that it waits, and all answers up to now.
    rig.number += 1;
    let (number, forget_below) = (rig.number, rig.number);
    let ask_nothing = Ask::Release(0);
    rig.state.apply(&Command::Ask { session: b, number, forget_below, ask: ask_nothing, at: 0 });
    assert!(waits(&rig.again(b, waiting, ask()), 0));
    rig.release(a, held);
    assert_eq!(granted(&rig.again(b, waiting, ask())), [b]);
    rig.release(b, waiting);
    let said = rig.again(b, waiting, ask());
    assert_eq!(refused(&said), &Refusal::Forgotten(waiting), "and is not done again");
    assert!(rig.state.locks().is_empty());
    // One that is over and not forgotten is not told of what it had.
    assert_eq!(refused(&rig.again(a, held, ask())), &Refusal::NotAsked(held));
    assert!(rig.state.locks().is_empty());
}

#[test]
fn s1_who_never_says_what_it_has_got_loses_its_oldest_answers() {
    let limits = Limits { requests: 2, ..Limits::default() };
    let mut rig = Rig::with(limits, OnDeadlock::Abort);
    let a = rig.open(1);
    let numbers: Vec<_> = (0..9).map(|_| rig.ask(a, Ask::Release(0)).0).collect();
    let answer = |number| rig.state.answered(a, number);
    assert_eq!(answer(numbers[4]), Some(Err(Refusal::Forgotten(numbers[4]))));
    assert_eq!(answer(numbers[5]), Some(Err(Refusal::NotAsked(0))));
}

#[test]
fn giving_up_ends_the_waiting_of_any_earlier_request() {
    let mut rig = Rig::new();
    let [a, b] = [rig.open(1), rig.open(2)];
    let (of_a, _) = rig.lock(a, &[alone("x")]);
    let (of_b, _) = rig.lock(b, &[alone("x")]);
    let (_, said) = rig.ask(b, Ask::GiveUp(of_b));
    assert_eq!(refused(&said), &Refusal::GaveUp);
    for number in [of_a, of_b] {
        let session = if number == of_a { a } else { b };
        let said = rig.ask(session, Ask::GiveUp(number)).1;
        assert_eq!(refused(&said), &Refusal::NotAsked(number), "it waits for nothing");
    }
    // A candidate, too.
    rig.campaign(a, 0, Policy::FirstCome);
    let (stands, _) = rig.campaign(b, 0, Policy::FirstCome);
    let (_, said) = rig.ask(b, Ask::GiveUp(stands));
    assert_eq!(refused(&said), &Refusal::GaveUp);
    assert_eq!(rig.state.roles()["cron"].candidates.len(), 1);
    // And one that comes late.
    let said = rig.state.apply(&Command::Ask {
        session: b,
        number: 100,
        forget_below: 0,
        ask: Ask::GiveUp(99),
        at: 0,
    });
    assert!(matches!(said[..], [Outcome::Answered(_, 100, Ok(Answer::Done))]), "{said:?}");
    let late = Ask::Lock { wants: vec![alone("free")].into(), wait: true };
    assert_eq!(refused(&rig.again(b, 99, late)), &Refusal::GaveUp);
    let said = rig.again(b, 101, Ask::GiveUp(200));
    assert_eq!(refused(&said), &Refusal::NotAsked(200));
}

#[test]
fn a_candidate_that_resigns_is_not_brought_back_by_an_old_request() {
    let mut rig = Rig::new();
    let [a, b] = [rig.open(1), rig.open(2)];
    let numbers = [a, b].map(|id| rig.campaign(id, 0, Policy::FirstCome).0);
    let resign = || Ask::Resign { role: "cron".to_owned() };
    let (_, said) = rig.ask(b, resign());
    assert_eq!(refused(&said), &Refusal::GaveUp, "its campaign is answered");
    rig.ask(a, resign());
    for (id, number) in [a, b].into_iter().zip(numbers) {
        let (role, policy) = ("cron".to_owned(), Policy::FirstCome);
        let again = Ask::Campaign { role, priority: 0, value: Vec::new(), policy };
        rig.again(id, number, again);
    }
    assert!(rig.state.roles()["cron"].candidates.is_empty());
}

#[test]
fn s2_an_ending_gives_everything_back() {
    let mut rig = Rig::new();
    let [a, b, c] = [rig.open(1), rig.open(2), rig.open(3)];
    rig.lock(a, &[alone("x")]);
    rig.campaign(a, 0, Policy::FirstCome);
    rig.campaign(c, 0, Policy::FirstCome);
    rig.lock(b, &[alone("x")]);
    rig.lock(c, &[alone("x"), alone("y")]);
    rig.state.apply(&Command::End { session: b, why: Ending::Died, at: 9 });
    let said = rig.state.apply(&Command::End { session: a, why: Ending::Expired, at: 10 });
    assert_eq!(granted(&said), [c]);
    let role = &rig.state.roles()["cron"];
    assert_eq!(role.leader.unwrap().0, c);
    assert!(role.history.back().unwrap().reason.contains("its TTL ran out"), "{:?}", role.history);
    assert_eq!(rig.state.sessions().len(), 1);
    let said = rig.lock(a, &[alone("z")]).1;
    assert_eq!(refused(&said), &Refusal::NoSession(a));
}

#[test]
fn l1_several_locks_are_had_together_or_not_at_all() {
    let mut rig = Rig::new();
    let [a, b, c] = [rig.open(1), rig.open(2), rig.open(3)];
    let (held, _) = rig.lock(a, &[alone("x")]);
    let (_, said) = rig.lock(b, &[alone("x"), alone("y")]);
    assert!(waits(&said, 0));
    assert!(rig.state.locks()["y"].holders.is_empty());
    let (_, said) = rig.lock(c, &[alone("y")]);
    assert!(waits(&said, 1), "y is free, but b was first");
    assert_eq!(granted(&rig.release(a, held)), [b]);
    let tried = Ask::Lock { wants: vec![alone("free"), alone("y")].into(), wait: false };
    let a_tries = rig.ask(a, tried).1;
    assert_eq!(refused(&a_tries), &Refusal::Busy("y".to_owned()));
    assert!(!rig.state.locks().contains_key("free"));
}

#[test]
fn l2_those_that_share_go_in_together_and_in_order() {
    let mut rig = Rig::new();
    let [a, b, c, d, e] = [1, 2, 3, 4, 5].map(|key| rig.open(key));
    let (first, _) = rig.lock(a, &[alone("x")]);
    rig.lock(b, &[want("x", Mode::Shared)]);
    rig.lock(c, &[want("x", Mode::Shared)]);
    let (_, said) = rig.lock(d, &[alone("x")]);
    assert!(waits(&said, 2));
    assert!(waits(&rig.lock(e, &[want("x", Mode::Shared)]).1, 3), "no request overtakes");
    assert_eq!(granted(&rig.release(a, first)), [b, c]);
}

#[test]
fn l2_a_semaphore_admits_as_many_as_it_has_permits() {
    let mut rig = Rig::new();
    let [a, b, c, d] = [1, 2, 3, 4].map(|key| rig.open(key));
    let (first, said) = rig.lock(a, &[permits("pool", 2, 3)]);
    assert_eq!(granted(&said), [a]);
    assert!(waits(&rig.lock(b, &[permits("pool", 2, 3)]).1, 0));
    assert!(waits(&rig.lock(c, &[permits("pool", 1, 3)]).1, 1), "one is free, but b was first");
    assert_eq!(granted(&rig.release(a, first)), [b, c]);
    let other = refused(&rig.lock(d, &[permits("pool", 1, 4)]).1).clone();
    assert_eq!(other, Refusal::OtherPermits { lock: "pool".to_owned(), of: 3 });
    let none = refused(&rig.lock(d, &[alone("pool")]).1).clone();
    assert_eq!(none, Refusal::OtherPermits { lock: "pool".to_owned(), of: 3 });
    let bad = refused(&rig.lock(d, &[permits("other", 5, 4)]).1).clone();
    assert_eq!(bad, Refusal::InvalidPermits("other".to_owned()));
}

#[test]
fn l3_tokens_only_grow_over_epochs_too() {
    let mut rig = Rig::new();
    let a = rig.open(1);
    let mut last = Token::default();
    for term in [7, 8, 20] {
        let (limits, on_deadlock) = (Limits::default(), OnDeadlock::Abort);
        rig.state.apply(&Command::Begin { term, limits, on_deadlock });
        for _ in 0..3 {
            let (number, said) = rig.lock(a, &[alone("x")]);
            let [Outcome::Answered(_, _, Ok(Answer::Granted(token)))] = *said else {
                unreachable!("{said:?}")
            };
            assert!(token > last && token.term() == u64::from(term));
            last = token;
            rig.release(a, number);
        }
    }
}

#[test]
fn l4_the_last_edge_of_a_circle_is_aborted_with_its_name() {
    let mut rig = Rig::new();
    let [a, b, c] = [rig.open(1), rig.open(2), rig.open(3)];
    rig.lock(a, &[alone("x")]);
    rig.lock(b, &[alone("y")]);
    let (held, _) = rig.lock(c, &[alone("z")]);
    rig.lock(a, &[alone("y")]);
    rig.lock(b, &[alone("z")]);
    let (_, said) = rig.lock(c, &[alone("x")]);
    let Refusal::Deadlock(deadlock) = refused(&said).clone() else { unreachable!("{said:?}") };
    assert_eq!(deadlock.aborted, Some(c));
    let mut cycle: Vec<_> =
        deadlock.cycle.iter().map(|wait| (wait.session, wait.lock.as_str())).collect();
    cycle.sort();
    assert_eq!(cycle, [(a, "y"), (b, "z"), (c, "x")]);
    assert_eq!(rig.state.deadlocks().count(), 1);
    assert_eq!(granted(&rig.release(c, held)), [b], "the others go on");
}

#[test]
fn l4_a_circle_may_lead_through_a_queue() {
    let mut rig = Rig::new();
    let [a, b, c] = [rig.open(1), rig.open(2), rig.open(3)];
    rig.lock(a, &[want("x", Mode::Shared)]);
    rig.lock(b, &[alone("y")]);
    rig.lock(c, &[alone("x")]);
    rig.lock(b, &[want("x", Mode::Shared)]);
    let (_, said) = rig.lock(a, &[alone("y")]);
    assert!(
        matches!(refused(&said), Refusal::Deadlock(found) if found.cycle.len() == 3),
        "{said:?}"
    );
}

#[test]
fn l4_a_cycle_may_lead_past_a_request_that_blocks_none() {
    let mut rig = Rig::new();
    let [a, b, c, d] = [rig.open(1), rig.open(2), rig.open(3), rig.open(4)];
    rig.lock(a, &[want("x", Mode::Shared)]);
    rig.lock(b, &[alone("y")]);
    rig.lock(c, &[alone("z")]);
    // It shares x with a, and waits for y only.
    rig.lock(d, &[want("x", Mode::Shared), alone("y")]);
    rig.lock(c, &[alone("x")]);
    // When d has gone, c still waits for a.
    let (_, said) = rig.lock(a, &[alone("z")]);
    assert!(
        matches!(refused(&said), Refusal::Deadlock(found) if found.cycle.len() == 2),
        "{said:?}"
    );
}

#[test]
fn l4_a_semaphore_with_a_way_out_is_no_deadlock() {
    let mut rig = Rig::new();
    let [a, b, c] = [rig.open(1), rig.open(2), rig.open(3)];
    let pool = [permits("pool", 1, 2)];
    rig.lock(a, &pool);
    let (of_b, _) = rig.lock(b, &pool);
    let (lock, _) = rig.lock(c, &[alone("x")]);
    assert!(waits(&rig.lock(c, &pool).1, 0));
    assert!(waits(&rig.lock(a, &[alone("x")]).1, 0), "b can still give its permit back");
    assert_eq!(rig.state.deadlocks().count(), 0);
    // And now it cannot.
    let (_, said) = rig.lock(b, &[alone("x")]);
    assert!(matches!(refused(&said), Refusal::Deadlock(_)), "{said:?}");
    assert_eq!(granted(&rig.release(b, of_b)), [c]);
    assert_eq!(granted(&rig.release(c, lock)), [a]);
}

#[test]
fn l4_a_deadlock_may_be_left_to_people() {
    let mut rig = Rig::with(Limits::default(), OnDeadlock::Report);
    let [a, b] = [rig.open(1), rig.open(2)];
    rig.lock(a, &[alone("x")]);
    let (held, _) = rig.lock(b, &[alone("y")]);
    rig.lock(a, &[alone("y")]);
    let (_, said) = rig.lock(b, &[alone("x")]);
    assert!(matches!(&said[..], [_, Outcome::Deadlocked(found)] if found.aborted.is_none()));
    let force =
        Command::Force { lock: "y".to_owned(), session: b, by: "an operator".to_owned(), at: 1 };
    let said = rig.state.apply(&force);
    assert_eq!(granted(&said), [a]);
    let said = rig.state.apply(&force);
    assert!(
        matches!(said[..], [Outcome::Forced { done: Err(Refusal::NotHolder(..)), .. }]),
        "{said:?}"
    );
    assert_eq!(refused(&rig.release(b, held)), &Refusal::NotAsked(held));
}

#[test]
fn r1_first_come_and_by_priority() {
    let mut rig = Rig::new();
    let [a, b, c] = [rig.open(1), rig.open(2), rig.open(3)];
    let policy = Policy::Priority { preempt: false };
    rig.campaign(a, 1, policy);
    assert!(waits(&rig.campaign(b, 1, policy).1, 1));
    assert!(waits(&rig.campaign(c, 5, policy).1, 1), "before b, but the leader stays");
    let other = rig.open(4);
    let said = rig.campaign(other, 1, Policy::FirstCome).1;
    assert_eq!(refused(&said), &Refusal::OtherPolicy("cron".to_owned(), policy));
    assert_eq!(
        refused(&rig.campaign(b, 1, policy).1),
        &Refusal::AlreadyCampaigns("cron".to_owned())
    );
    rig.ask(a, Ask::Resign { role: "cron".to_owned() });
    let role = &rig.state.roles()["cron"];
    assert_eq!(role.leader.unwrap().0, c);
    assert_eq!(role.history.back().unwrap().value, b"at s7.3");
}

#[test]
fn r2_a_leader_yields_by_itself() {
    let mut rig = Rig::new();
    let [a, b, c] = [rig.open(1), rig.open(2), rig.open(3)];
    let policy = Policy::Priority { preempt: true };
    rig.campaign(a, 1, policy);
    let (_, said) = rig.campaign(b, 2, policy);
    let asked = Outcome::Preempt { session: a, role: "cron".to_owned() };
    assert_eq!(said.last(), Some(&asked));
    assert!(!rig.campaign(c, 3, policy).1.contains(&asked), "asked once");
    assert_eq!(rig.state.roles()["cron"].leader.unwrap().0, a);
    rig.ask(a, Ask::Resign { role: "cron".to_owned() });
    let role = &rig.state.roles()["cron"];
    assert_eq!(role.leader.unwrap().0, c);
    let why = &role.history.back().unwrap().reason;
    assert_eq!(*why, format!("session {a} yielded to a candidate with a higher priority"));
    rig.ask(c, Ask::Resign { role: "cron".to_owned() });
    let why = &rig.state.roles()["cron"].history.back().unwrap().reason;
    assert_eq!(*why, format!("session {c} resigned"), "no candidate asked it to");
}

#[test]
fn r3_a_role_is_handed_over_to_a_candidate() {
    let mut rig = Rig::new();
    let [a, b, c] = [rig.open(1), rig.open(2), rig.open(3)];
    let role = || "cron".to_owned();
    for id in [a, b] {
        rig.campaign(id, 0, Policy::FirstCome);
    }
    let said = rig.ask(b, Ask::HandOver { role: role(), to: a }).1;
    assert_eq!(refused(&said), &Refusal::NotLeader(role()));
    let said = rig.ask(a, Ask::HandOver { role: role(), to: c }).1;
    assert_eq!(refused(&said), &Refusal::NoSuchCandidate(role(), c));
    let first = rig.state.roles()["cron"].leader.unwrap().1;
    rig.ask(a, Ask::HandOver { role: role(), to: b });
    let (leader, token) = rig.state.roles()["cron"].leader.unwrap();
    assert!(leader == b && token > first);
    rig.ask(b, Ask::Proclaim { role: role(), value: b"new".to_vec() });
    assert_eq!(rig.state.roles()["cron"].history.back().unwrap().value, b"new");
}

/// Campaigns for a role and resigns.
fn pass_through(rig: &mut Rig, session: SessionId, role: &str) {
    let (role, policy) = (role.to_owned(), Policy::FirstCome);
    let stand = Ask::Campaign { role: role.clone(), priority: 0, value: Vec::new(), policy };
    rig.ask(session, stand);
    rig.ask(session, Ask::Resign { role });
}

#[test]
fn r5_a_role_that_was_left_long_ago_is_forgotten() {
    const KEPT: usize = 256;
    let mut rig = Rig::new();
    let [a, b] = [rig.open(1), rig.open(2)];
    rig.campaign(b, 0, Policy::FirstCome);
    let name = |n: usize| format!("role {n}");
    (0..KEPT).for_each(|n| pass_through(&mut rig, a, &name(n)));
    assert_eq!(rig.state.roles().len(), KEPT + 1);
    // Stood for again, it was left last; one that is stood for does not count.
    pass_through(&mut rig, a, &name(0));
    assert_eq!(rig.state.roles()[name(0).as_str()].history.len(), 4);
    let stand =
        Ask::Campaign { role: name(1), priority: 0, value: Vec::new(), policy: Policy::FirstCome };
    rig.ask(a, stand);
    (0..3).for_each(|n| pass_through(&mut rig, a, &format!("other {n}")));
    let roles = rig.state.roles();
    assert_eq!(roles.len(), KEPT + 2);
    for (role, kept) in [("cron", true), ("role 0", true), ("role 1", true)].into_iter().chain([
        ("role 2", false),
        ("role 3", false),
        ("role 4", true),
        ("other 2", true),
    ]) {
        assert_eq!(roles.contains_key(role), kept, "{role}");
    }
    assert_eq!(roles["cron"].leader.unwrap().0, b);
    // It begins again, and nothing is lost that matters: tokens go on growing.
    let before = roles["cron"].leader.unwrap().1;
    let stand =
        Ask::Campaign { role: name(2), priority: 0, value: Vec::new(), policy: Policy::FirstCome };
    rig.ask(a, stand);
    let role = &rig.state.roles()[name(2).as_str()];
    assert!(role.leader.unwrap().1 > before && role.history.len() == 1);
}

#[test]
fn r5_a_copy_forgets_the_same_roles() {
    let limits = Limits { requests: 10_000, ..Limits::default() };
    let mut here = Rig::with(limits, OnDeadlock::Abort);
    let a = here.open(1);
    let bytes = serde_json::to_vec(&here.state).unwrap();
    let there = serde_json::from_slice::<Coordination>(&bytes).unwrap().restored();
    let mut there = Rig { state: there, number: here.number };
    for n in 0..600 {
        let role = format!("role {}", n * 7 % 400);
        pass_through(&mut here, a, &role);
        pass_through(&mut there, a, &role);
        if n % 50 == 0 {
            let bytes = serde_json::to_vec(&there.state).unwrap();
            there.state = serde_json::from_slice::<Coordination>(&bytes).unwrap().restored();
        }
        assert_eq!(here.state, there.state, "after {n}");
    }
    assert_eq!(here.state.flaw(), None);
}

#[test]
fn a_role_remembers_its_last_changes_only() {
    let mut rig = Rig::new();
    let a = rig.open(1);
    rig.campaign(a, 0, Policy::FirstCome);
    for n in 0..100 {
        let value = format!("{n}").into_bytes();
        rig.ask(a, Ask::Proclaim { role: "cron".to_owned(), value });
    }
    let history = &rig.state.roles()["cron"].history;
    assert!(history.len() == 32 && history.back().unwrap().value == b"99", "{history:?}");
}

#[test]
fn what_is_too_much_is_refused_and_changes_nothing() {
    let limits = Limits {
        sessions: 2,
        requests: 2,
        waiters: 1,
        wants: 2,
        name: 8,
        value: 4,
        ttl_min_ms: 100,
        ttl_max_ms: 1_000,
        bytes: 1 << 20,
    };
    let mut rig = Rig::with(limits, OnDeadlock::Abort);
    let [a, b] = [rig.open(1), rig.open(2)];
    for (ttl_ms, client, refusal) in
        [(500, "late", Refusal::TooManySessions(2)), (500, "late", Refusal::TooManySessions(2))]
    {
        let open = Command::Open { key: Secret(3), client: client.to_owned(), ttl_ms, at: 0 };
        assert_eq!(rig.state.apply(&open), [Outcome::Opened(Err(refusal), Secret(3))]);
    }
    let before = rig.state.locks().clone();
    for (wants, refusal) in [
        (vec![], Refusal::NothingWanted),
        (vec![alone("a"), alone("b"), alone("c")], Refusal::TooManyWants(2)),
        (vec![alone("")], Refusal::InvalidName(8)),
        (vec![alone("a\u{1b}[2J")], Refusal::InvalidName(8)),
        (vec![alone("a\nb")], Refusal::InvalidName(8)),
    ] {
        let ask = Ask::Lock { wants: wants.into(), wait: true };
        rig.number += 1;
        let command =
            Command::Ask { session: a, number: rig.number, forget_below: rig.number, ask, at: 0 };
        assert_eq!(refused(&rig.state.apply(&command)), &refusal);
    }
    assert_eq!(rig.state.locks(), &before);
    rig.lock(a, &[alone("x")]);
    rig.lock(a, &[alone("y")]);
    assert_eq!(refused(&rig.lock(a, &[alone("w")]).1), &Refusal::TooManyRequests(2));
    let twice = rig.lock(b, &[alone("z"), alone("z")]).1;
    assert_eq!(refused(&twice), &Refusal::NamedTwice("z".to_owned()));
}

#[test]
fn l4_the_graph_shows_each_waiter_behind_the_one_before_it() {
    let mut rig = Rig::new();
    let [a, b, c, d] = [1, 2, 3, 4].map(|key| rig.open(key));
    assert_eq!(rig.state.waits_for().count(), 0);
    for session in [a, b] {
        rig.lock(session, &[want("table", Mode::Shared)]);
    }
    rig.lock(c, &[alone("table")]);
    rig.lock(d, &[want("table", Mode::Shared)]);
    let edges: Vec<_> = rig.state.waits_for().collect();
    assert_eq!(edges, [(c, a, "table"), (c, b, "table"), (d, c, "table")]);
    // A copy that came over the network shows the same.
    let text = serde_json::to_string(&rig.state).unwrap();
    let copy = serde_json::from_str::<Coordination>(&text).unwrap().restored();
    assert_eq!(copy.waits_for().collect::<Vec<_>>(), edges);
}

#[test]
fn a_session_that_was_is_told_from_one_that_never_was() {
    let mut rig = Rig::new();
    let (a, b) = (rig.open(1), rig.open(2));
    rig.state.apply(&Command::End { session: a, why: Ending::Closed, at: 5 });
    assert!(rig.state.has_been(a) && rig.state.has_been(b));
    assert!(!rig.state.has_been(SessionId(b.0 + 1)) && !rig.state.has_been(SessionId(0)));
}
