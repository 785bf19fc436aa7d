//! The state that members replicate: it survives its journey, with what is not sent because it
//! follows from the rest; and damaged ones do no harm, whatever is done with them afterwards.

use super::examples::{alone, commands, session, state};
use super::hostile::Draws;
use super::{of_log, raw, read};
use bellwether_coordination::{Answer, Ask, Command, Coordination, Cursor, Outcome, Secret};
use bellwether_log::{Body, Machine, Msg as M, Position, Roster};
use bellwether_member::Msg as Member;
use bellwether_member::service::Msg;
use bellwether_node::codec::encode;

/// A snapshot of this state in one piece.
fn supply(state: &Coordination) -> Vec<u8> {
    let (parts, next) = state.cut(&Cursor::default(), usize::MAX);
    let (at, last, roster) = (Position::new(7, 1), Position::new(7, 1), Roster::new());
    let body = Body::Parts { at, roster: Box::new(roster), from: Cursor::default(), parts, next };
    encode(&of_log(M::Supply { beat: None, last, body }))
}

/// The state in a message, if it is understood and sound.
fn unpack(bytes: &[u8]) -> Option<Coordination> {
    match read(bytes).ok()? {
        Msg::Member(Member::Log(M::Supply { body: Body::Parts { parts, .. }, .. })) => {
            let mut state = Coordination::default();
            state.absorb(parts).ok()?;
            state.complete().ok()
        }
        _ => None,
    }
}

fn edges(state: &Coordination) -> Vec<String> {
    state.waits_for().map(|edge| format!("{edge:?}")).collect()
}

#[test]
fn a_state_survives_the_journey_after_every_command() {
    let mut here = Coordination::default();
    let mut waited = 0;
    for command in commands() {
        here.apply(&command);
        let there = unpack(&supply(&here)).unwrap();
        assert_eq!(there, here, "after {command:?}");
        assert_eq!(edges(&there), edges(&here), "after {command:?}");
        waited += edges(&here).len();
    }
    assert!(waited > 0, "a request must wait");
}

/// Two hold a lock each and one of them waits for the other's. Then the state travels, and the
/// other comes to wait: the graph that finds the cycle was not sent.
#[test]
fn a_deadlock_that_closes_after_the_journey_is_found() {
    let open =
        |key| Command::Open { key: Secret(key), client: "a".to_owned(), ttl_ms: 10_000, at: 1 };
    let lock = |count, number, name: &str| {
        let ask = Ask::Lock { wants: vec![alone(name)].into(), wait: true };
        Command::Ask { session: session(count), number, forget_below: 0, ask, at: 2 }
    };
    let mut here = Coordination::default();
    here.apply(&commands().swap_remove(1));
    for command in [open(1), open(2), lock(1, 1, "a"), lock(2, 1, "b"), lock(1, 2, "b")] {
        here.apply(&command);
    }
    let mut there = unpack(&supply(&here)).unwrap();
    let (said, expected) = (there.apply(&lock(2, 2, "a")), here.apply(&lock(2, 2, "a")));
    assert!(
        matches!(&said[..], [Outcome::Deadlocked(found), ..] if found.cycle.len() == 2),
        "{said:?}"
    );
    assert_eq!((said, &there), (expected, &here));
    // And the session that waited goes on.
    let release = Command::Ask {
        session: session(2),
        number: 3,
        forget_below: 0,
        ask: Ask::Release(1),
        at: 3,
    };
    let said = there.apply(&release);
    let granted = |said: &Outcome| matches!(said, Outcome::Answered(id, 2, Ok(Answer::Granted(_))) if *id == session(1));
    assert!(said.iter().any(granted), "{said:?}");
    assert_eq!(said, here.apply(&release));
    assert_eq!(edges(&there), Vec::<String>::new());
}

/// What is damaged and still understood is a state that could be: whatever is asked of it is
/// answered, and it can travel on.
#[test]
fn a_damaged_state_does_no_harm() {
    let part = |content: &[u8], field| {
        let fields = raw::fields(content);
        let (_, bytes) = fields.into_iter().find(|(known, _)| *known == field).unwrap();
        raw::unblock(&bytes).1
    };
    let (kind, content) = raw::unblock(&supply(&state()));
    let piece = part(&content, 4);
    let packed = part(&piece, 4);
    let mut draws = Draws(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut understood) = (0, 0);
    for _ in 0..5_000 {
        let mut damaged = packed.clone();
        for _ in 0..=draws.below(3) {
            let at = draws.below(damaged.len() - 1) + 1;
            match draws.below(8) {
                0 => drop(damaged.remove(at)),
                1 => damaged.insert(at, draws.next() as u8),
                2 => damaged[at] = 0xff,
                3 => damaged[at] = 0,
                _ => damaged[at] ^= 1 << draws.below(8),
            }
        }
        let damaged = [piece.clone(), raw::block(4, &damaged)].concat();
        let bytes = raw::block(kind, &[content.clone(), raw::block(4, &damaged)].concat());
        let Some(mut there) = unpack(&bytes) else {
            refused += 1;
            continue;
        };
        understood += 1;
        for command in commands() {
            there.apply(&command);
        }
        for session in there.sessions().keys().copied().collect::<Vec<_>>() {
            let why = bellwether_coordination::Ending::Expired;
            there.apply(&Command::End { session, why, at: 9 });
        }
        assert!(there.sessions().is_empty() && there.locks().is_empty());
        assert_eq!(unpack(&supply(&there)), Some(there));
    }
    assert!(refused > 300 && understood > 300, "{refused} refused, {understood} understood");
}
