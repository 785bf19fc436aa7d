//! One of everything that members say. The golden files have the bytes of it, so what is here stays:
//! whatever is new becomes an example of its own.

use super::of_log;
use bellwether_coordination::{
    Answer, Ask, Command, Coordination, Cursor, Deadlock, Ending, Limits, Mode, OnDeadlock, Policy,
    Refusal, Reply, Request, Secret, SessionId, Subject, Token, Wait, Want,
};
use bellwether_core::{NodeId, Time};
use bellwether_log::{
    Ack, Answer as Vote, Birth, Body, Entries, Entry, Heartbeat, Incarnation, Index, LeaseSettings,
    Machine, Msg as M, Payload, Permit, Place, Position, Roster, Term,
};
use bellwether_member::service::Msg;
use bellwether_member::{ClockStatus, Msg as Member, PeerView};
use std::sync::Arc;
use std::time::Duration;

/// A session of term 7.
pub(crate) fn session(count: u64) -> SessionId {
    SessionId(7 << 32 | count)
}

/// A lock, wanted by one alone.
pub(crate) fn alone(name: &str) -> Want {
    Want { name: name.into(), mode: Mode::Exclusive }
}

/// Messages of the log by name, at least one of each kind.
pub(crate) fn logs() -> Vec<(&'static str, Msg)> {
    let (term, node, birth) = (Term::new(7), NodeId::new(5), Birth::new(1 << 40));
    let (last, prev) = (Position::new(6, 300), Position::new(6, 299));
    let sent = Time::from_micros(1_234_567);
    let clock = Time::from_micros(7_654_321);
    let beat = Heartbeat {
        term,
        generation: 0,
        sent,
        commit: Index::new(298),
        last,
        appointed: false,
        welcome: None,
        incarnation: Incarnation::UNKNOWN,
        lease_us: 0,
    };
    let again = Heartbeat { generation: 2, appointed: true, welcome: Some(3), ..beat };
    let leased = Heartbeat { lease_us: 500_000, ..beat };
    let ack = Ack {
        term,
        sent,
        clock,
        matched: Index::new(300),
        holds: true,
        start: 1,
        lost: false,
        birth,
        lease_us: 0,
    };
    let permit = Permit { leader: node, term: Term::new(6), generation: 1 };
    let vote = |sure, answer| M::Vote { term, sure, answer, birth };
    let (parts, next) = state().cut(&Cursor::default(), 200);
    let at = Position::new(6, 290);
    let roster: Roster = [(node, birth), (NodeId::new(200), Birth::new(3))].into_iter().collect();
    let from = Cursor::default();
    let piece = |parts, next| Body::Parts {
        at,
        roster: Box::new(roster.clone()),
        from: from.clone(),
        parts,
        next,
    };
    let supply = |beat, body| M::Supply { beat, last, body };
    let all = vec![
        ("heartbeat", M::Append { beat, prev: last, entries: Arc::new([]) }),
        ("heartbeat-again", M::Append { beat: again, prev: last, entries: Arc::new([]) }),
        ("append", M::Append { beat, prev, entries: entries() }),
        ("append-first", M::Append { beat, prev: Position::ZERO, entries: entries() }),
        ("heartbeat-lease", M::Append { beat: leased, prev: last, entries: settings() }),
        ("ack", M::Ack(ack)),
        ("ack-lease", M::Ack(Ack { lease_us: leased.lease_us, ..ack })),
        ("ack-lost", M::Ack(Ack { matched: Index::ZERO, holds: false, lost: true, ..ack })),
        ("fetch", M::Fetch { place: Place::After(prev), budget: 4_096, ahead: 0 }),
        (
            "fetch-part",
            M::Fetch { place: Place::Part { at, cursor: from.clone() }, budget: 1 << 20, ahead: 0 },
        ),
        ("fetch-ahead", M::Fetch { place: Place::After(prev), budget: 4_096, ahead: 8_192 }),
        ("supply-entries", supply(Some(beat), Body::Entries { prev, entries: entries() })),
        ("supply-parts", supply(None, piece(parts, next.clone()))),
        ("supply-parts-last", supply(Some(again), piece(Vec::new(), None))),
        ("supply-mismatch", supply(None, Body::Mismatch { after: prev })),
        ("request-vote", M::RequestVote { term, last, sure: false, permit: None, ended: None }),
        (
            "request-vote-sure",
            M::RequestVote { term, last, sure: true, permit: Some(permit), ended: None },
        ),
        ("vote-yes", vote(true, Vote::Yes { after: Duration::ZERO })),
        ("vote-yes-after", vote(false, Vote::Yes { after: Duration::from_secs(60) })),
        (
            "vote-wait",
            vote(false, Vote::Wait { leader: Some(node), left: Duration::from_millis(400) }),
        ),
        ("vote-wait-restarted", vote(false, Vote::Wait { leader: None, left: Duration::ZERO })),
        ("vote-behind", vote(false, Vote::Behind { last })),
        ("vote-no", vote(true, Vote::No { promised: Term::new(9) })),
        ("refuse", M::Refuse { term, promised: Term::new(9) }),
        ("claim", M::Claim { term }),
        ("invite", M::Invite { term, appointed: true }),
        ("yield", M::Yield { term, generation: 1, to: Some(node), appointed: true }),
        ("yield-to-all", M::Yield { term, generation: 0, to: None, appointed: false }),
    ];
    all.into_iter().map(|(name, msg)| (name, of_log(msg))).collect()
}

/// Entries of every kind.
fn entries() -> Entries<Coordination> {
    let (member, birth) = (NodeId::new(5), Birth::new(1 << 40));
    let mut payloads = vec![
        Payload::Begin { leader: member, births: vec![(member, birth), (NodeId::new(1), birth)] },
        Payload::Joined { member, birth },
    ];
    payloads.extend(commands().into_iter().map(Payload::Command));
    let entry = |(index, payload)| Arc::new(Entry { position: Position::new(7, index), payload });
    (300..).zip(payloads).map(entry).collect::<Vec<_>>().into()
}

/// An entry with settings of leases.
fn settings() -> Entries<Coordination> {
    let (heartbeat, lease) = (Duration::from_millis(100), Duration::from_millis(700));
    let leases = LeaseSettings { heartbeat, lease, drift_ppm: 500 };
    let payload = Payload::LeaseSettings(leases);
    Arc::new([Arc::new(Entry { position: Position::new(7, 301), payload })])
}

/// Messages of the member besides the election's and the log's.
pub(crate) fn members() -> Vec<(&'static str, Msg)> {
    let rate_ppb = Some(-40_000);
    let status = ClockStatus { offset_us: -1500, error_us: 250, rate_ppb, drifts: true };
    let node = NodeId::new(5);
    let peers = vec![
        PeerView { member: node, heard_ms: Some(0), clock: Some(status), behind: Some(0) },
        PeerView { member: NodeId::new(200), heard_ms: None, clock: None, behind: None },
        PeerView { member: NodeId::new(3), heard_ms: Some(80), clock: None, behind: Some(300) },
    ];
    let all = [("pass", Member::Pass), ("view", Member::View(peers))];
    all.into_iter().map(|(name, msg)| (name, Msg::Member(msg))).collect()
}

/// What members pass on for clients, by name.
pub(crate) fn clients() -> Vec<(&'static str, Msg)> {
    let refused =
        |refusal| Reply::Answered { session: session(1), number: 4, result: Err(refusal) };
    let numbered = |first: u64, all: Vec<Reply>| Msg::Replies {
        term: Term::new(7),
        commit: Index::new(300),
        replies: (first..).zip(all).collect(),
    };
    vec![
        ("requests-none", Msg::Requests(Vec::new())),
        ("requests", Msg::Requests((1 << 60..).zip(requests()).collect())),
        ("replies", numbered(300, replies())),
        ("replies-refusals", numbered(1, refusals().into_iter().map(refused).collect())),
        ("requests-checks", Msg::Requests((5..).zip(checks()).collect())),
        ("replies-checked", numbered(5, checked())),
        ("requests-at-once", Msg::Requests((5..).zip(at_once()).collect())),
        ("replies-told-first", numbered(5, told_first())),
        ("replies-denied", numbered(5, denied())),
    ]
}

/// Every kind of request.
pub(crate) fn requests() -> Vec<Request> {
    let mut requests = vec![
        Request::Open { key: KEY, client: "cron@web-1".to_owned(), ttl_ms: 10_000, sent: 300 },
        Request::KeepAlive { session: session(1), key: KEY, sent: 1 << 40 },
        Request::Close { session: session(2), key: KEY },
        Request::Died { session: session(3), key: KEY },
        force(false),
    ];
    requests.extend((2..).zip(asks()).map(|(number, ask)| Request::Ask {
        session: session(1),
        key: KEY,
        number,
        forget_below: number - 1,
        ask,
    }));
    requests
}

fn force(now: bool) -> Request {
    let (lock, by) = ("disk".to_owned(), "ops".to_owned());
    Request::Force { lock, session: session(1), by, now }
}

/// What an operator does not wait for.
fn at_once() -> Vec<Request> {
    vec![force(true), Request::End { session: session(2), by: "ops".to_owned(), now: true }]
}

/// What a holder is told first.
fn told_first() -> Vec<Reply> {
    vec![Reply::Ending { session: session(2), why: Ending::Closed }]
}

/// What those are told who may not.
fn denied() -> Vec<Reply> {
    let (lock, result) = ("disk".to_owned(), Err(Refusal::NotOperator));
    vec![
        Reply::Denied { session: session(2), key: KEY },
        Reply::Forced { lock, session: session(1), result },
    ]
}

/// Tokens to check.
fn checks() -> Vec<Request> {
    let token = Token(7 << 32 | 300);
    let subjects = [Subject::Lock("disk".to_owned()), Subject::Role("cron".to_owned())];
    let check = |(number, of)| Request::Check { number, of, token };
    (300..).zip(subjects).map(check).collect()
}

/// What comes of that.
fn checked() -> Vec<Reply> {
    let stale = Refusal::StaleToken(Subject::Lock("disk".to_owned()), Token(7 << 32 | 300));
    vec![
        Reply::Checked { number: 300, result: Ok(session(1)) },
        Reply::Checked { number: 301, result: Err(stale) },
    ]
}

/// Something that clients draw.
const KEY: Secret = Secret(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210);

/// Everything that can be asked for.
fn asks() -> Vec<Ask> {
    let want = |name: &str, mode| Want { name: name.into(), mode };
    let role = "cron".to_owned();
    let stand = |policy| Ask::Campaign {
        role: "cron".to_owned(),
        priority: -3,
        value: vec![0, 255],
        policy,
    };
    vec![
        Ask::Lock { wants: vec![alone("disk")].into(), wait: false },
        Ask::Lock {
            wants: vec![
                want("table", Mode::Shared),
                want("pool", Mode::Permits { take: 2, of: 300 }),
            ]
            .into(),
            wait: true,
        },
        Ask::GiveUp(2),
        Ask::Release(1),
        stand(Policy::FirstCome),
        stand(Policy::Priority { preempt: true }),
        stand(Policy::Priority { preempt: false }),
        Ask::Resign { role: role.clone() },
        Ask::Proclaim { role: role.clone(), value: b"up".to_vec() },
        Ask::HandOver { role, to: session(2) },
    ]
}

/// Every kind of reply, but for refusals.
fn replies() -> Vec<Reply> {
    let (lock, role) = ("disk".to_owned(), "cron".to_owned());
    let answered =
        |number, answer| Reply::Answered { session: session(1), number, result: Ok(answer) };
    vec![
        Reply::Opened { key: KEY, result: Ok(session(1)), sent: 300 },
        Reply::Opened { key: Secret(1), result: Err(Refusal::TooManySessions(200_000)), sent: 0 },
        Reply::KeptAlive { session: session(1), sent: 1 << 40 },
        answered(1, Answer::Granted(Token(7 << 32 | 300))),
        answered(2, Answer::Leads(Token(7 << 32 | 301))),
        answered(3, Answer::Waits { behind: 20_000 }),
        answered(4, Answer::Done),
        Reply::Preempt { session: session(1), role },
        Reply::ForceReleased {
            session: session(1),
            lock: lock.clone(),
            number: 1,
            by: "ops".to_owned(),
        },
        Reply::Forced { lock: lock.clone(), session: session(1), result: Ok(()) },
        Reply::Forced {
            lock: lock.clone(),
            session: session(2),
            result: Err(Refusal::NotHolder(lock, session(2))),
        },
        Reply::Ended { session: session(1), why: None },
        Reply::Ended { session: session(1), why: Some(Ending::Closed) },
        Reply::Ended { session: session(1), why: Some(Ending::Expired) },
        Reply::Ended { session: session(1), why: Some(Ending::Died) },
        Reply::NoCoordinator,
    ]
}

/// Every kind of refusal.
fn refusals() -> Vec<Refusal> {
    let (lock, role) = ("disk".to_owned(), "cron".to_owned());
    let wait = |count: u64, lock: &str| Wait {
        session: session(count),
        client: format!("client {count}"),
        lock: lock.to_owned(),
        number: count,
        since: 1_800_000_000_000,
    };
    let cycle = vec![wait(1, "b"), wait(2, "a")];
    let deadlock = Deadlock { cycle, aborted: Some(session(2)), at: 1_800_000_000_300 };
    vec![
        Refusal::NoSession(session(1)),
        Refusal::TooManySessions(1),
        Refusal::TooManyRequests(2),
        Refusal::TooManyWaiters(3),
        Refusal::TooManyWants(4),
        Refusal::NothingWanted,
        Refusal::InvalidName(256),
        Refusal::ValueTooLarge(4_096),
        Refusal::InvalidTtl(100, 60_000),
        Refusal::NamedTwice(lock.clone()),
        Refusal::AlreadyAsked(lock.clone()),
        Refusal::Busy(lock.clone()),
        Refusal::OtherPermits { lock: lock.clone(), of: 3 },
        Refusal::InvalidPermits(lock.clone()),
        Refusal::NotAsked(5),
        Refusal::Forgotten(6),
        Refusal::Deadlock(deadlock),
        Refusal::AlreadyCampaigns(role.clone()),
        Refusal::NotCandidate(role.clone()),
        Refusal::NotLeader(role.clone()),
        Refusal::NoSuchCandidate(role.clone(), session(2)),
        Refusal::OtherPolicy(role, Policy::Priority { preempt: true }),
        Refusal::NotHolder(lock, session(1)),
        Refusal::GaveUp,
        Refusal::StateFull(512 << 20),
    ]
}

/// When something happens in the examples, by the calendar.
const AT: u64 = 1_800_000_000_000;

/// Commands of every kind that make sense one after the other.
pub(crate) fn commands() -> Vec<Command> {
    let limits = Limits::default();
    let begin = |on_deadlock| Command::Begin { term: 7, limits, on_deadlock };
    let open = |key: u64, client: &str| {
        let key = KEY.0 + u128::from(key);
        let ttl_ms = 10_000 + key as u64 % 16;
        Command::Open { key: Secret(key), client: client.to_owned(), ttl_ms, at: AT }
    };
    let mut commands = vec![begin(OnDeadlock::Report), begin(OnDeadlock::Abort)];
    commands.extend([open(1, "web-1"), open(2, "web-2"), open(3, "web-3")]);
    let ask = |count, number, ask| Command::Ask {
        session: session(count),
        number,
        forget_below: 1,
        ask,
        at: AT + 300,
    };
    commands.extend((1..).zip(asks()).map(|(number, what)| ask(1, number, what)));
    let lock = |name| Ask::Lock { wants: vec![alone(name)].into(), wait: true };
    // Two that hold, each wants what the other has; and a third one behind them.
    commands.extend([ask(1, 20, lock("a")), ask(2, 1, lock("b")), ask(3, 1, lock("a"))]);
    commands.extend([ask(1, 21, lock("b")), ask(2, 2, lock("a"))]);
    let policy = Policy::FirstCome;
    let stand = |value: &[u8]| Ask::Campaign {
        role: "backup".to_owned(),
        priority: 5,
        value: value.to_vec(),
        policy,
    };
    commands.extend([ask(2, 3, stand(b"two")), ask(3, 2, stand(b"three"))]);
    commands.push(Command::Force {
        lock: "disk".to_owned(),
        session: session(1),
        by: "ops".to_owned(),
        at: AT + 600,
    });
    let end = |count, why| Command::End { session: session(count), why, at: AT + 900 };
    commands.extend([end(8, Ending::Died), end(9, Ending::Closed), end(9, Ending::Expired)]);
    commands
}

/// A state with something of everything in it: what comes of [`commands`].
pub(crate) fn state() -> Coordination {
    let mut state = Coordination::default();
    for command in commands() {
        state.apply(&command);
    }
    state
}

/// The compiler complains here when there is something new: it needs an example of its own above,
/// and a line of its own in the golden files.
#[test]
fn there_is_an_example_of_everything() {
    let commands = commands().into_iter().map(|command| match command {
        Command::Begin { .. } => 0,
        Command::Open { .. } => 1,
        Command::Ask { .. } => 2,
        Command::End { .. } => 3,
        Command::Force { .. } => 4,
    });
    let requests =
        requests().into_iter().chain(checks()).chain(at_once()).map(|request| match request {
            Request::Open { .. } => 0,
            Request::KeepAlive { .. } => 1,
            Request::Ask { ask, .. } => match ask {
                Ask::Lock { .. } => 2,
                Ask::GiveUp(_) => 3,
                Ask::Release(_) => 4,
                Ask::Campaign { .. } => 5,
                Ask::Resign { .. } => 6,
                Ask::Proclaim { .. } => 7,
                Ask::HandOver { .. } => 8,
            },
            Request::Close { .. } => 9,
            Request::Died { .. } => 10,
            Request::Force { .. } => 11,
            Request::Check { .. } => 12,
            Request::End { .. } => 13,
        });
    let stale = |reply: &Reply| match reply {
        Reply::Checked { result, .. } => result.clone().err(),
        _ => None,
    };
    let stale: Vec<_> = checked().iter().filter_map(stale).collect();
    let replies =
        replies().into_iter().chain(checked()).chain(told_first()).chain(denied()).map(|reply| {
            match reply {
                Reply::Opened { .. } => 0,
                Reply::KeptAlive { .. } => 1,
                Reply::Answered { result, .. } => match result.unwrap() {
                    Answer::Granted(_) => 2,
                    Answer::Leads(_) => 3,
                    Answer::Waits { .. } => 4,
                    Answer::Done => 5,
                },
                Reply::Preempt { .. } => 6,
                Reply::ForceReleased { .. } => 7,
                Reply::Forced { .. } => 8,
                Reply::Ended { .. } => 9,
                Reply::NoCoordinator => 10,
                Reply::Checked { .. } => 11,
                Reply::Ending { .. } => 12,
                Reply::Denied { .. } => 13,
            }
        });
    let refusals =
        refusals().into_iter().chain(stale).chain([Refusal::NotOperator]).map(|refusal| {
            match refusal {
                Refusal::NoSession(_) => 0,
                Refusal::TooManySessions(_) => 1,
                Refusal::TooManyRequests(_) => 2,
                Refusal::TooManyWaiters(_) => 3,
                Refusal::TooManyWants(_) => 4,
                Refusal::NothingWanted => 5,
                Refusal::InvalidName(_) => 6,
                Refusal::ValueTooLarge(_) => 7,
                Refusal::InvalidTtl(..) => 8,
                Refusal::NamedTwice(_) => 9,
                Refusal::AlreadyAsked(_) => 10,
                Refusal::Busy(_) => 11,
                Refusal::OtherPermits { .. } => 12,
                Refusal::InvalidPermits(_) => 13,
                Refusal::NotAsked(_) => 14,
                Refusal::Forgotten(_) => 15,
                Refusal::Deadlock(_) => 16,
                Refusal::AlreadyCampaigns(_) => 17,
                Refusal::NotCandidate(_) => 18,
                Refusal::NotLeader(_) => 19,
                Refusal::NoSuchCandidate(..) => 20,
                Refusal::OtherPolicy(..) => 21,
                Refusal::NotHolder(..) => 22,
                Refusal::GaveUp => 23,
                Refusal::StaleToken(..) => 24,
                Refusal::StateFull(_) => 25,
                Refusal::NotOperator => 26,
                // A member says it to its own clients, and no other member hears it.
                Refusal::TooManyOfClient(_) => unreachable!("it is not passed on"),
            }
        });
    let all: [(&str, Vec<usize>, usize); 4] = [
        ("commands", commands.collect(), 5),
        ("requests", requests.collect(), 14),
        ("replies", replies.collect(), 14),
        ("refusals", refusals.collect(), 27),
    ];
    for (what, seen, kinds) in all {
        let missing: Vec<usize> = (0..kinds).filter(|kind| !seen.contains(kind)).collect();
        assert!(missing.is_empty(), "{what}: {missing:?}");
    }
    let state = state();
    assert_eq!(state.sessions().len(), 3);
    assert!(state.deadlocks().count() == 1 && !state.roles().is_empty());
    assert!(state.locks().values().any(|lock| !lock.queue.is_empty()), "a request waits");
}
