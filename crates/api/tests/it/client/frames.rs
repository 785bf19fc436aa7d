//! Every frame, with every content, is the same after the journey.

use super::Draws;
use bellwether_api::client::{
    Announcement, LONGEST_CYCLE, LONGEST_TO_CLIENT, Leader, List, Listed, Observed, Page,
    RoleStatus, ToClient, ToMember, decode_to_client, decode_to_member, wire,
};
use bellwether_api::envelope::Message;
use bellwether_coordination::{
    Answer, Ask, Deadlock, Ending, Mode, Policy, Refusal, Reply, Request, Secret, SessionId,
    Subject, Token, Wait, Want,
};

fn session(draws: &mut Draws) -> SessionId {
    SessionId(draws.number())
}

fn key(draws: &mut Draws) -> Secret {
    Secret(u128::from(draws.number()) << 64 | u128::from(draws.number()))
}

/// The `kind`th of all kinds of requests, if there are that many.
pub(crate) fn to_member(kind: usize, draws: &mut Draws) -> Option<ToMember> {
    let request = match kind {
        0 => Request::Open {
            key: key(draws),
            client: draws.text(),
            ttl_ms: draws.number(),
            sent: draws.number(),
        },
        1 => Request::KeepAlive { session: session(draws), key: key(draws), sent: draws.number() },
        2 => Request::Close { session: session(draws), key: key(draws) },
        3 => Request::Force {
            lock: draws.text(),
            session: session(draws),
            by: draws.text(),
            now: draws.below(2) == 0,
        },
        4 => {
            let (session, key) = (session(draws), key(draws));
            return Some(ToMember::Watch { session, key, pid: draws.small() });
        }
        5 => return Some(ToMember::Observe { number: draws.number(), role: draws.text() }),
        6 => return Some(ToMember::Unobserve(draws.number())),
        7 => Request::Check {
            number: draws.number(),
            of: subject(draws),
            token: Token(draws.number()),
        },
        8 => return Some(ToMember::Ping),
        9 => {
            let list = match draws.below(3) {
                0 => List::Locks(draws.text()),
                1 => List::Roles(draws.text()),
                _ => List::Sessions(session(draws)),
            };
            return Some(ToMember::List { number: draws.number(), list });
        }
        kind => Request::Ask {
            session: session(draws),
            key: key(draws),
            number: draws.number(),
            forget_below: draws.number(),
            ask: ask(kind - 10, draws)?,
        },
    };
    Some(ToMember::Request(request))
}

fn ask(kind: usize, draws: &mut Draws) -> Option<Ask> {
    Some(match kind {
        0..=2 => {
            let want =
                |draws: &mut Draws| Want { name: draws.text().into(), mode: mode(kind, draws) };
            Ask::Lock { wants: draws.list(want).into(), wait: draws.below(2) == 0 }
        }
        3 => Ask::GiveUp(draws.number()),
        4 => Ask::Release(draws.number()),
        5..=7 => Ask::Campaign {
            role: draws.text(),
            priority: draws.small() as i32,
            value: draws.bytes(),
            policy: policy(kind - 5),
        },
        8 => Ask::Resign { role: draws.text() },
        9 => Ask::Proclaim { role: draws.text(), value: draws.bytes() },
        10 => Ask::HandOver { role: draws.text(), to: session(draws) },
        _ => return None,
    })
}

fn mode(kind: usize, draws: &mut Draws) -> Mode {
    match kind {
        0 => Mode::Exclusive,
        1 => Mode::Shared,
        _ => Mode::Permits { take: draws.small(), of: draws.small() },
    }
}

fn policy(kind: usize) -> Policy {
    match kind {
        0 => Policy::FirstCome,
        kind => Policy::Priority { preempt: kind == 1 },
    }
}

/// The `kind`th of all kinds of replies, if there are that many.
pub(crate) fn to_client(kind: usize, draws: &mut Draws) -> Option<ToClient> {
    const WHY: [Option<Ending>; 4] =
        [None, Some(Ending::Closed), Some(Ending::Expired), Some(Ending::Died)];
    let answered = |draws: &mut Draws, result| Reply::Answered {
        session: session(draws),
        number: draws.number(),
        result,
    };
    let reply = match kind {
        0 => {
            let result = Ok(session(draws));
            Reply::Opened { key: key(draws), result, sent: draws.number() }
        }
        1 => Reply::KeptAlive { session: session(draws), sent: draws.number() },
        2 => {
            let token = Token(draws.number());
            answered(draws, Ok(Answer::Granted(token)))
        }
        3 => {
            let token = Token(draws.number());
            answered(draws, Ok(Answer::Leads(token)))
        }
        4 => {
            let behind = draws.number();
            answered(draws, Ok(Answer::Waits { behind }))
        }
        5 => answered(draws, Ok(Answer::Done)),
        6 => Reply::Preempt { session: session(draws), role: draws.text() },
        7 => Reply::ForceReleased {
            session: session(draws),
            lock: draws.text(),
            number: draws.number(),
            by: draws.text(),
        },
        8 => Reply::Forced { lock: draws.text(), session: session(draws), result: Ok(()) },
        9..=12 => Reply::Ended { session: session(draws), why: WHY[kind - 9] },
        13 => Reply::NoCoordinator,
        14 => {
            let place = |draws: &mut Draws| (draws.small(), draws.text());
            return Some(ToClient::Announcement(Announcement {
                coordinator: draws.some(Draws::small),
                term: draws.number(),
                addresses: draws.list(place),
                drift_ppm: draws.some(Draws::small),
            }));
        }
        15 => {
            let (session, pid) = (session(draws), draws.small());
            return Some(ToClient::Watching { session, pid, refused: draws.some(Draws::text) });
        }
        16 => return Some(ToClient::Observed(observed(draws))),
        17 => Reply::Checked { number: draws.number(), result: Ok(session(draws)) },
        18 => Reply::Ending { session: session(draws), why: Ending::Closed },
        19 => Reply::Denied { session: session(draws), key: key(draws) },
        20 => return Some(ToClient::Listed(listed(draws))),
        kind => {
            let refusal = refusal(kind - 21, draws)?;
            match draws.below(6) {
                5 => {
                    let told = Listed { result: Err(refusal), ..listed(draws) };
                    return Some(ToClient::Listed(told));
                }
                4 => Reply::Checked { number: draws.number(), result: Err(refusal) },
                3 => {
                    let told = Observed { result: Err(refusal), ..observed(draws) };
                    return Some(ToClient::Observed(told));
                }
                0 => Reply::Opened { key: key(draws), result: Err(refusal), sent: draws.number() },
                1 => Reply::Forced {
                    lock: draws.text(),
                    session: session(draws),
                    result: Err(refusal),
                },
                _ => answered(draws, Err(refusal)),
            }
        }
    };
    Some(ToClient::Reply(reply))
}

fn subject(draws: &mut Draws) -> Subject {
    match draws.below(2) {
        0 => Subject::Lock(draws.text()),
        _ => Subject::Role(draws.text()),
    }
}

fn observed(draws: &mut Draws) -> Observed {
    let leader = |draws: &mut Draws| Leader {
        session: session(draws),
        client: draws.text(),
        token: Token(draws.number()),
        value: draws.bytes(),
        since: draws.number(),
    };
    let leader = draws.some(leader);
    let standing = RoleStatus { leader, reason: draws.text(), at: draws.number() };
    let version = (draws.number(), draws.number());
    Observed { number: draws.number(), version, result: Ok(standing) }
}

fn listed(draws: &mut Draws) -> Listed {
    let user = |draws: &mut Draws| wire::LockUser {
        session: draws.number(),
        client: draws.text(),
        shared: draws.below(2) == 0,
        permits: draws.small(),
        token: draws.number(),
        since_ms: draws.number(),
    };
    let lock = |draws: &mut Draws| wire::LockEntry {
        name: draws.text(),
        permits: draws.small(),
        holders: draws.list(user),
        held_by: draws.number(),
        queue: draws.list(user),
        waited_for_by: draws.number(),
    };
    let candidate = |draws: &mut Draws| wire::RoleCandidate {
        session: draws.number(),
        client: draws.text(),
        priority: draws.small() as i32,
        since_ms: draws.number(),
    };
    let leader = |draws: &mut Draws| wire::Leader {
        session: Some(draws.number()),
        client: draws.text(),
        token: draws.number(),
        value: draws.bytes(),
        since_ms: draws.number(),
    };
    let role = |draws: &mut Draws| wire::RoleEntry {
        name: draws.text(),
        leader: draws.some(leader),
        candidates: draws.list(candidate),
        campaigned_for_by: draws.number(),
    };
    let held = |draws: &mut Draws| wire::SessionEntry {
        session: draws.number(),
        client: draws.text(),
        ttl_ms: draws.number(),
        since_ms: draws.number(),
        holds: draws.list(Draws::text),
        waits_for: draws.list(Draws::text),
        leads: draws.list(Draws::text),
        campaigns_for: draws.list(Draws::text),
    };
    let page = Page {
        locks: draws.list(lock),
        roles: draws.list(role),
        sessions: draws.list(held),
        more: draws.below(2) == 0,
    };
    let version = (draws.number(), draws.number());
    Listed { number: draws.number(), version, result: Ok(page) }
}

fn refusal(kind: usize, draws: &mut Draws) -> Option<Refusal> {
    Some(match kind {
        0 => Refusal::NoSession(session(draws)),
        1 => Refusal::TooManySessions(draws.small()),
        2 => Refusal::TooManyRequests(draws.small()),
        3 => Refusal::TooManyWaiters(draws.small()),
        4 => Refusal::TooManyWants(draws.small()),
        5 => Refusal::NothingWanted,
        6 => Refusal::InvalidName(draws.small()),
        7 => Refusal::ValueTooLarge(draws.small()),
        8 => Refusal::InvalidTtl(draws.number(), draws.number()),
        9 => Refusal::NamedTwice(draws.text()),
        10 => Refusal::AlreadyAsked(draws.text()),
        11 => Refusal::Busy(draws.text()),
        12 => Refusal::OtherPermits { lock: draws.text(), of: draws.small() },
        13 => Refusal::InvalidPermits(draws.text()),
        14 => Refusal::NotAsked(draws.number()),
        15 => Refusal::Forgotten(draws.number()),
        16 => Refusal::Deadlock(Deadlock {
            cycle: draws.list(wait),
            aborted: draws.some(session),
            at: draws.number(),
        }),
        17 => Refusal::AlreadyCampaigns(draws.text()),
        18 => Refusal::NotCandidate(draws.text()),
        19 => Refusal::NotLeader(draws.text()),
        20 => Refusal::NoSuchCandidate(draws.text(), session(draws)),
        21..=23 => Refusal::OtherPolicy(draws.text(), policy(kind - 21)),
        24 => Refusal::NotHolder(draws.text(), session(draws)),
        25 => Refusal::GaveUp,
        26 => Refusal::StaleToken(subject(draws), Token(draws.number())),
        27 => Refusal::StateFull(draws.number()),
        28 => Refusal::TooManyOfClient(draws.small()),
        29 => Refusal::NotOperator,
        _ => return None,
    })
}

fn wait(draws: &mut Draws) -> Wait {
    Wait {
        session: session(draws),
        client: draws.text(),
        lock: draws.text(),
        number: draws.number(),
        since: draws.number(),
    }
}

#[test]
fn every_frame_survives_the_journey() {
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    let mut kinds = (0, 0);
    for round in 0..500 {
        let mut kind = 0;
        while let Some(frame) = to_member(kind, &mut draws) {
            let bytes = wire::ToMember::from(frame.clone()).encode_to_vec();
            assert_eq!(decode_to_member(&bytes), Ok(frame), "round {round}");
            kind += 1;
        }
        kinds.0 = kind;
        kind = 0;
        while let Some(frame) = to_client(kind, &mut draws) {
            let bytes = wire::ToClient::from(frame.clone()).encode_to_vec();
            assert_eq!(decode_to_client(&bytes), Ok(frame), "round {round}");
            kind += 1;
        }
        kinds.1 = kind;
    }
    assert_eq!(kinds, (21, 51));
}

/// The compiler complains here when something can be said that the tests above do not say.
#[test]
fn nothing_is_left_out() {
    let (mut asks, mut refusals) = ([false; 7], [false; 28]);
    let mut draws = Draws(1);
    for kind in 0.. {
        match to_member(kind, &mut draws) {
            None => break,
            Some(ToMember::Request(Request::Ask { ask, .. })) => {
                asks[match ask {
                    Ask::Lock { .. } => 0,
                    Ask::GiveUp(_) => 1,
                    Ask::Release(_) => 2,
                    Ask::Campaign { .. } => 3,
                    Ask::Resign { .. } => 4,
                    Ask::Proclaim { .. } => 5,
                    Ask::HandOver { .. } => 6,
                }] = true;
            }
            Some(
                ToMember::Watch { .. }
                | ToMember::Observe { .. }
                | ToMember::Unobserve(_)
                | ToMember::Ping
                | ToMember::List { .. }
                | ToMember::Request(
                    Request::Open { .. }
                    | Request::KeepAlive { .. }
                    | Request::Close { .. }
                    | Request::Force { .. }
                    | Request::Check { .. },
                ),
            ) => {}
            Some(ToMember::Request(Request::Died { .. } | Request::End { .. })) => {
                panic!("only members say that, and to each other")
            }
        }
    }
    for kind in 0.. {
        let Some(refusal) = refusal(kind, &mut draws) else { break };
        refusals[match refusal {
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
            Refusal::TooManyOfClient(_) => 26,
            Refusal::NotOperator => 27,
        }] = true;
    }
    assert!(asks.iter().all(|seen| *seen), "{asks:?}");
    assert!(refusals.iter().all(|seen| *seen), "{refusals:?}");
}

#[test]
fn the_longest_deadlock_fits_into_a_frame() {
    let wait = Wait {
        session: SessionId(u64::MAX),
        client: "c".repeat(1_024),
        lock: "l".repeat(1_024),
        number: u64::MAX,
        since: u64::MAX,
    };
    let cycle = vec![wait; LONGEST_CYCLE + 1];
    let deadlock = Refusal::Deadlock(Deadlock { cycle, aborted: None, at: 1 });
    let reply = Reply::Answered { session: SessionId(1), number: 2, result: Err(deadlock) };
    let bytes = wire::ToClient::from(reply).encode_to_vec();
    assert!(bytes.len() <= LONGEST_TO_CLIENT, "{}", bytes.len());
    let Ok(ToClient::Reply(Reply::Answered { result: Err(Refusal::Deadlock(told)), .. })) =
        decode_to_client(&bytes)
    else {
        panic!("it was not understood");
    };
    assert_eq!(told.cycle.len(), LONGEST_CYCLE);
}
