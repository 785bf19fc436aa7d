//! Histories that are known to be linearizable or not, and random ones decided by trying all orders.

use super::locks::{History, Mode, Refused};
use super::{Object, Operation, Verdict, decide};

/// A number that is set, read, and set if it was another.
struct Register;

#[derive(Clone, Debug)]
enum Op {
    Set(u8),
    Reads(u8),
    /// From one to another; whether that was done, if it is known.
    Swap(u8, u8, Option<bool>),
}

impl Object for Register {
    type State = u8;
    type Op = Op;

    fn start(&self) -> u8 {
        0
    }

    fn step(&self, state: &u8, op: &Op) -> Option<u8> {
        match *op {
            Op::Set(number) => Some(number),
            Op::Reads(number) => (number == *state).then_some(number),
            Op::Swap(from, to, done) => {
                let does = from == *state;
                let fits = done.is_none_or(|done| done == does);
                fits.then_some(if does { to } else { *state })
            }
        }
    }

    fn only_looks(&self, op: &Op) -> bool {
        matches!(op, Op::Reads(_) | Op::Swap(_, _, Some(false)))
    }
}

fn op(op: Op, asked: u64, heard: u64) -> Operation<Op> {
    Operation { op, asked, heard: Some(heard) }
}

fn open(op: Op, asked: u64) -> Operation<Op> {
    Operation { op, asked, heard: None }
}

fn possible(history: &[Operation<Op>]) -> bool {
    match decide(&Register, history, 100_000).0 {
        Verdict::Possible { order } => {
            assert!(is_order(&Register, history, &order), "{history:?}: {order:?}");
            true
        }
        Verdict::Impossible { .. } => false,
        Verdict::Undecided => unreachable!("{history:?}"),
    }
}

/// Whether the operations can be done in this order, and all that have a result are.
fn is_order<O: Object>(object: &O, history: &[Operation<O::Op>], order: &[usize]) -> bool {
    let mut state = object.start();
    for (index, place) in order.iter().enumerate() {
        let operation = &history[*place];
        let late = |later: &usize| history[*later].heard.is_some_and(|at| at < operation.asked);
        if order[index..].iter().any(late) {
            return false;
        }
        match object.step(&state, &operation.op) {
            Some(next) => state = next,
            None => return false,
        }
    }
    let is_done = |place: &usize| history[*place].heard.is_none() || order.contains(place);
    (0..history.len()).all(|place| is_done(&place))
}

#[test]
fn h1_a_read_sees_what_was_set_before_it() {
    use Op::{Reads, Set};
    assert!(possible(&[]));
    assert!(possible(&[op(Set(1), 0, 10), op(Reads(1), 20, 30)]));
    assert!(!possible(&[op(Set(1), 0, 10), op(Reads(0), 20, 30)]));
    // Which of two that overlap was first is not known, but it was one of them for all.
    let sets = [op(Set(1), 0, 10), op(Set(2), 0, 10)];
    let reads = |one, other| [op(Reads(one), 20, 30), op(Reads(other), 40, 50)];
    assert!(possible(&[sets.clone(), reads(1, 1)].concat()));
    assert!(possible(&[sets.clone(), reads(2, 2)].concat()));
    assert!(!possible(&[sets.clone(), reads(1, 2)].concat()));
    assert!(!possible(&[sets, reads(0, 0)].concat()));
}

#[test]
fn h2_what_has_no_result_is_done_once_or_never() {
    use Op::{Reads, Set};
    assert!(possible(&[open(Set(1), 0), op(Reads(0), 10, 20), op(Reads(1), 30, 40)]));
    assert!(possible(&[open(Set(1), 0), op(Reads(0), 10, 20)]));
    assert!(!possible(&[open(Set(1), 15), op(Reads(1), 0, 10)]));
    // Not twice.
    let again = [op(Reads(1), 10, 20), op(Set(2), 30, 40), op(Reads(1), 50, 60)];
    assert!(!possible(&[vec![open(Set(1), 0)], again.to_vec()].concat()));
}

#[test]
fn h3_time_orders_what_does_not_overlap() {
    use Op::{Reads, Set, Swap};
    let during = |asked, heard| [op(Set(1), 0, 100), op(Reads(1), asked, heard)];
    assert!(possible(&during(10, 20)));
    // Two reads while it is being set: first the new, then the old.
    let back = [op(Set(1), 0, 100), op(Reads(1), 10, 20), op(Reads(0), 30, 40)];
    assert!(!possible(&back));
    let on = [op(Set(1), 0, 100), op(Reads(0), 10, 20), op(Reads(1), 30, 40)];
    assert!(possible(&on));
    // One that was refused must have had a reason at that time.
    assert!(!possible(&[op(Swap(0, 1, Some(false)), 0, 10)]));
    assert!(possible(&[op(Swap(0, 1, Some(false)), 0, 10), open(Set(3), 5)]));
    assert!(!possible(&[op(Swap(0, 1, Some(false)), 0, 10), open(Set(3), 15)]));
    // At equal moments they overlap.
    assert!(possible(&[op(Reads(1), 0, 10), op(Set(1), 10, 20)]));
}

#[test]
fn a_search_that_takes_too_long_says_so() {
    let history = [op(Op::Set(1), 0, 10), op(Op::Reads(0), 20, 30)];
    assert_eq!(decide(&Register, &history, 1).0, Verdict::Undecided);
    let (verdict, effort) = decide(&Register, &history, 100);
    let stuck = Verdict::Impossible { order: vec![0], state: 1, stuck: vec![1] };
    assert_eq!((verdict, effort.operations), (stuck, 2));
}

/// Whether any order at all will do: tries every one.
fn by_force<O: Object>(object: &O, history: &[Operation<O::Op>], order: &mut Vec<usize>) -> bool {
    if is_order(object, history, order) {
        return true;
    }
    for place in 0..history.len() {
        if !order.contains(&place) {
            order.push(place);
            if by_force(object, history, order) {
                return true;
            }
            order.pop();
        }
    }
    false
}

/// The pseudo-random numbers of Knuth's MMIX.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[test]
fn the_search_decides_as_trying_all_orders_does() {
    let (mut yes, mut no) = (0, 0);
    for seed in 0..20_000 {
        let mut dice = Dice(seed);
        let history: Vec<_> = (0..1 + dice.below(6))
            .map(|_| {
                let number = |dice: &mut Dice| dice.below(3) as u8;
                let op = match dice.below(4) {
                    0 | 1 => Op::Reads(number(&mut dice)),
                    2 => Op::Set(number(&mut dice)),
                    _ => {
                        let done = [None, Some(true), Some(false)][dice.below(3) as usize];
                        Op::Swap(number(&mut dice), number(&mut dice), done)
                    }
                };
                let asked = dice.below(20);
                let heard = (dice.below(4) > 0).then(|| asked + dice.below(12));
                Operation { op, asked, heard }
            })
            .collect();
        let forced = by_force(&Register, &history, &mut Vec::new());
        assert_eq!(possible(&history), forced, "seed {seed}: {history:?}");
        *(if forced { &mut yes } else { &mut no }) += 1;
    }
    assert!(yes > 3_000 && no > 3_000, "{yes} and {no}");
}

const ALONE: Mode = Mode::Exclusive;

/// Two sessions that want the lock 0, of which the first has it by token 1.
fn one_holds() -> (History, usize, usize) {
    let mut history = History::default();
    let first = history.asks(1, vec![(0, ALONE)], true, 1);
    history.granted(first, 1, 2);
    let second = history.asks(2, vec![(0, ALONE)], true, 3);
    (history, first, second)
}

fn fits(history: &History) -> bool {
    history.check(100_000).map_err(|wrong| assert!(!wrong.undecided)).is_ok()
}

#[test]
fn a_lock_is_handed_on_when_it_is_given_back() {
    let (mut history, first, second) = one_holds();
    let release = history.releases(first, 5);
    history.granted(second, 2, 6);
    assert!(fits(&history));
    history.answered(release, true, 7);
    assert!(fits(&history));

    let (mut early, first, second) = one_holds();
    early.granted(second, 2, 4);
    early.releases(first, 5);
    assert!(!fits(&early));
}

#[test]
fn tokens_grow() {
    let (mut history, first, second) = one_holds();
    history.releases(first, 5);
    history.granted(second, 1, 6);
    assert!(!fits(&history));
}

#[test]
fn a_session_may_end_once_no_client_believes_in_it() {
    let (mut history, _, second) = one_holds();
    history.granted(second, 2, 6);
    assert!(!fits(&history));
    history.believed(1, 2);
    assert!(fits(&history));
    history.believed(1, 7);
    assert!(!fits(&history));
}

#[test]
fn a_session_that_has_ended_holds_nothing_and_asks_for_nothing() {
    let (mut history, _, second) = one_holds();
    history.believed(1, 2);
    history.ended(1, 6);
    let third = history.asks(2, vec![(1, ALONE)], false, 7);
    history.granted(third, 3, 8);
    history.believed(2, 9);
    assert!(fits(&history));
    // It need not be told, but it has it.
    let other = history.asks(3, vec![(0, ALONE)], false, 10);
    history.refused(other, Refused::Busy(0), 11);
    assert!(fits(&history));
    history.refused(second, Refused::Deadlock, 12);
    assert!(!fits(&history));
}

#[test]
fn who_finds_a_lock_busy_has_a_reason() {
    let mut history = History::default();
    let first = history.asks(1, vec![(0, ALONE)], false, 1);
    history.refused(first, Refused::Busy(0), 5);
    assert!(!fits(&history));
    // Another client may have had it meanwhile, if it has told no other; but only if it could end.
    let other = history.asks(2, vec![(0, ALONE)], false, 4);
    assert!(fits(&history));
    history.granted(other, 1, 6);
    assert!(fits(&history));
    let later = history.asks(3, vec![(0, ALONE)], false, 7);
    history.granted(later, 2, 8);
    assert!(!fits(&history));
    history.believed(2, 6);
    assert!(fits(&history));
}

#[test]
fn those_who_wait_are_served_in_the_order_of_coming() {
    let (mut history, first, second) = one_holds();
    history.waits(second, 4);
    let third = history.asks(3, vec![(0, ALONE)], true, 5);
    history.releases(first, 6);
    history.granted(third, 2, 7);
    assert!(!fits(&history));
    history.gives_up(second, 6);
    assert!(fits(&history));
}

#[test]
fn who_gave_up_does_not_hold_and_who_holds_did_not_give_up() {
    let (mut history, first, second) = one_holds();
    let gives_up = history.gives_up(second, 4);
    history.answered(gives_up, true, 5);
    history.refused(second, Refused::GivenUp, 5);
    history.releases(first, 6);
    assert!(fits(&history));
    history.granted(second, 2, 7);
    assert!(!fits(&history));

    let (mut history, first, second) = one_holds();
    let gives_up = history.gives_up(second, 4);
    history.answered(gives_up, false, 8);
    assert!(fits(&history), "it may not have come yet");
    history.waits(second, 3);
    assert!(!fits(&history));
    history.releases(first, 7);
    assert!(fits(&history));
}

#[test]
fn several_are_had_at_once_or_not_at_all() {
    let mut history = History::default();
    let both = history.asks(1, vec![(0, ALONE), (1, ALONE)], true, 1);
    history.granted(both, 1, 2);
    let second = history.asks(2, vec![(1, ALONE), (2, ALONE)], true, 3);
    history.waits(second, 4);
    // The lock 2 is free, but a request waits for it.
    let third = history.asks(3, vec![(2, ALONE)], false, 5);
    history.refused(third, Refused::Busy(2), 6);
    assert!(fits(&history));
    let fourth = history.asks(4, vec![(2, ALONE)], false, 7);
    history.granted(fourth, 2, 8);
    assert!(!fits(&history));
}

#[test]
fn some_share_and_permits_are_counted() {
    let mut history = History::default();
    let mut token = 0;
    let mut grant = |history: &mut History, session, lock, mode| {
        token += 1;
        let request = history.asks(session, vec![(lock, mode)], false, token * 10);
        history.granted(request, token, token * 10 + 1);
    };
    let permits = |take| Mode::Permits { take, of: 3 };
    for session in 1..4 {
        grant(&mut history, session, 0, Mode::Shared);
        grant(&mut history, session, 1, permits(1));
    }
    assert!(fits(&history));
    let mut one_more = history.clone();
    grant(&mut one_more, 4, 1, permits(1));
    assert!(!fits(&one_more));
    grant(&mut history, 4, 0, ALONE);
    assert!(!fits(&history));
}

#[test]
fn locks_that_have_nothing_to_do_with_each_other_are_judged_one_by_one() {
    let mut history = History::default();
    // Each has only to be compared with its own.
    for lock in 0..40 {
        for session in 0..3 {
            let request = history.asks(session * 100 + lock, vec![(lock as usize, ALONE)], true, 1);
            history.granted(request, 1 + session, 1_000);
            let release = history.releases(request, 1_001);
            history.answered(release, true, 2_000);
        }
    }
    assert!(!fits(&history), "no client gave it back before all had it");
    let mut history = History::default();
    for lock in 0..40 {
        for session in 0..3 {
            let at = 100 * session;
            let request =
                history.asks(session * 100 + lock, vec![(lock as usize, ALONE)], true, at);
            history.granted(request, 1 + session, at + 10);
            let release = history.releases(request, at + 10);
            history.answered(release, true, at + 150);
        }
    }
    let (effort, longest) = history.check(1_000).unwrap();
    assert_eq!(effort.operations, 40 * 3 * 3);
    assert!(longest < 40, "{longest}");
}

#[test]
fn a_token_is_good_while_its_request_holds() {
    let (mut history, first, _) = one_holds();
    let check = |history: &mut History, held, at| {
        let check = history.checks(first, at);
        history.checked(check, held, at + 1);
        history.checked(check, !held, at + 1);
    };
    check(&mut history, true, 30);
    assert!(fits(&history));
    let release = history.releases(first, 40);
    let mut stale = history.clone();
    check(&mut stale, false, 34);
    assert!(!fits(&stale), "it was not given back yet");
    history.answered(release, true, 50);
    check(&mut history, false, 60);
    assert!(fits(&history));
    check(&mut history, true, 70);
    assert!(!fits(&history), "not twice");
}
