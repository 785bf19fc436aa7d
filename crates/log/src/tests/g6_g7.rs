//! Commit, leases, serving.

use super::*;
use crate::Loss;

/// A leader of three that was voted for by P2; nothing is acknowledged yet.
fn leader() -> One {
    let mut one = One::new(1);
    one.elect(2);
    one
}

/// Serving by P2's lease.
fn serving() -> One {
    let mut one = leader();
    one.ack(2);
    assert_eq!(one.log.serving(one.now), Some(Term::new(1)));
    one
}

#[test]
fn g6_a_majority_commits_and_only_then_is_it_applied_and_told() {
    let mut one = serving();
    one.propose(7);
    one.fire(Timer::Write);
    assert_eq!(one.log.state().unwrap().1.0, Vec::<u8>::new());
    assert_eq!(one.log.take_outcomes(one.now), []);
    one.ack(2);
    assert_eq!(one.log.state().unwrap().1.0, [7]);
    assert_eq!(one.log.take_outcomes(one.now), [7]);
}

#[test]
fn g6_the_leaders_own_log_must_be_written_too() {
    let mut one = serving();
    one.propose(7);
    one.ack(2);
    assert_eq!(one.log.commit(), at(1, 1));
    // What is not written does not survive; what is, does.
    assert!(
        matches!(one.log.durable().log, crate::Saved::Whole { tail, .. } if tail.last() == at(1, 1))
    );
    one.fire(Timer::Write);
    assert_eq!(one.log.commit(), at(1, 2));
}

#[test]
fn g6_entries_of_former_terms_are_committed_only_with_one_of_its_own() {
    let mut one = One::new(1);
    one.append(3, beat(1, at(1, 2), 0), Position::ZERO, &[1, 2]);
    one.pass(ms(600));
    one.elect(2);
    let old = Ack { matched: Index::new(2), ..one.ack_of() };
    one.get(2, Msg::Ack(old));
    assert_eq!(one.log.commit(), Position::ZERO);
    one.ack(2);
    assert_eq!(one.log.commit(), at(2, 3));
    // Their outcomes were another leader's to tell.
    assert_eq!(one.log.take_outcomes(one.now), []);
}

#[test]
fn g6_outcomes_are_told_only_while_serving() {
    let mut one = serving();
    one.propose(7);
    one.fire(Timer::Write);
    let late = one.ack_of();
    one.pass(ms(600));
    one.get(2, Msg::Ack(late));
    assert_eq!(one.log.commit(), at(1, 2));
    assert_eq!(one.log.take_outcomes(one.now), []);
}

#[test]
fn g6_nothing_is_proposed_out_of_office() {
    let mut one = leader();
    one.call(|log, cx| assert!(!log.propose(vec![1], cx)));
    let mut one = serving();
    one.pass(ms(500));
    one.call(|log, cx| assert!(!log.propose(vec![1], cx)));
}

#[test]
fn g7_a_leader_serves_when_begin_is_committed_and_leases_last() {
    let mut one = leader();
    let lease = Ack { matched: Index::ZERO, ..one.ack_of() };
    assert!(!said(&one.get(2, Msg::Ack(lease))).contains(&Output::Serving(Term::new(1))));
    assert_eq!(one.log.serving(one.now), None);
    let effects = one.ack(2);
    assert!(said(&effects).contains(&Output::Serving(Term::new(1))));
}

#[test]
fn g7_a_lease_counts_only_with_everything_that_is_committed() {
    let mut one = serving();
    one.pass(ms(300));
    let behind = Ack { holds: false, ..one.ack_of() };
    one.get(2, Msg::Ack(behind));
    one.pass(ms(250));
    assert_eq!(one.log.serving(one.now), None);
}

#[test]
fn g7_a_follower_says_whether_it_holds_what_is_committed() {
    let mut one = One::new(1);
    let effects = one.append(2, beat(1, at(1, 2), 2), Position::ZERO, &[1, 2]);
    assert!(acked(&effects).holds);
    let effects = one.beat(2, beat(1, at(1, 3), 3));
    assert!(!acked(&effects).holds);
    // It is bound all the same: the leader lives.
    assert!(matches!(one.asked(3, 2, at(1, 3), true), Answer::Wait { .. }));
    // A heartbeat that says no more than it has.
    let effects = one.beat(2, beat(1, at(1, 3), 2));
    assert!(acked(&effects).holds);
}

#[test]
fn g7_leases_are_counted_from_sending_and_shortened_by_drift() {
    let mut one = One::of(3, 1, Config::new(ms(100), ms(500), 100_000));
    one.elect(2);
    let ack = one.ack_of();
    one.pass(ms(200));
    one.get(2, Msg::Ack(ack));
    // 500 ms * 0.9 / 1.1 = 409 ms after sending.
    one.pass(ms(208));
    assert!(one.log.serving(one.now).is_some());
    one.pass(ms(2));
    assert_eq!(one.log.serving(one.now), None);
    assert!(
        said(&one.fire(Timer::Lapse)).contains(&Output::StoppedServing(Term::new(1), Loss::Lapsed))
    );
}

#[test]
fn g7_an_ack_from_the_future_or_of_another_term_does_not_count() {
    let mut one = leader();
    let future = Ack { sent: one.now + ms(1), ..one.ack_of() };
    one.get(2, Msg::Ack(future));
    let other = Ack { term: Term::new(2), ..one.ack_of() };
    one.get(2, Msg::Ack(other));
    assert_eq!(one.log.serving(one.now), None);
}

#[test]
fn g7_a_drifting_clock_does_not_count() {
    let mut one = leader();
    one.input(Input::Drifts(id(2), true));
    one.ack(2);
    // What it holds counts, its lease does not.
    assert_eq!((one.log.commit(), one.log.serving(one.now)), (at(1, 1), None));
    one.input(Input::Drifts(id(2), false));
    one.ack(2);
    assert!(one.log.serving(one.now).is_some());
}

#[test]
fn g7_a_leader_for_which_nothing_advances_gives_up() {
    let mut one = serving();
    one.propose(7);
    one.fire(Timer::Write);
    for _ in 0..9 {
        one.pass(ms(100));
        assert!(one.log.leads().is_some());
        one.fire(Timer::Heartbeat);
        // Heartbeats arrive, entries do not.
        let ack = Ack { matched: Index::new(1), ..one.ack_of() };
        one.get(2, Msg::Ack(ack));
    }
    one.pass(ms(100));
    let effects = one.fire(Timer::Heartbeat);
    assert!(said(&effects).contains(&Output::StoppedServing(Term::new(1), Loss::Stalled)));
}

#[test]
fn g7_an_idle_leader_does_not_give_up() {
    let mut one = serving();
    for _ in 0..30 {
        one.pass(ms(100));
        one.fire(Timer::Heartbeat);
        one.ack(2);
    }
    assert!(one.log.serving(one.now).is_some());
}

#[test]
fn g7_entries_are_pushed_only_to_followers_that_keep_up() {
    let mut one = serving();
    let pushed = |effects: &Fx| {
        let push = |(to, msg): &(u32, Msg<Words>)| {
            matches!(msg, Msg::Append { entries, .. } if !entries.is_empty()).then_some(*to)
        };
        sent(effects).iter().filter_map(push).collect::<Vec<_>>()
    };
    assert_eq!(pushed(&one.propose(1)), [2]);
    // It answers a later heartbeat without having the entry: it will fetch.
    one.pass(ms(100));
    let lost = Ack { matched: Index::new(1), ..one.ack_of() };
    one.get(2, Msg::Ack(lost));
    assert_eq!(pushed(&one.propose(2)), []);
    one.get(2, Msg::Fetch { place: Place::After(at(1, 1)), budget: 1_000, ahead: 0 });
    assert_eq!(pushed(&one.propose(3)), [2]);
}

#[test]
fn g6_what_is_committed_is_told_soon_though_no_entries_follow() {
    let mut one = One::new(1);
    one.elect(2);
    assert!(!beats_soon(&one.fire(Timer::Write)), "nothing is committed yet");
    assert!(beats_soon(&one.ack(2)));
    one.pass(ms(5));
    let told = sent(&one.fire(Timer::Heartbeat));
    let commit = one.log.commit().index;
    assert!(
        told.iter().all(|(_, m)| matches!(m, Msg::Append { beat, .. } if beat.commit == commit))
    );
}

fn beats_soon(effects: &Fx) -> bool {
    let soon = |effect: &Effect<Log<Words>>| matches!(effect, Effect::SetTimer(Timer::Heartbeat, delay) if delay.start <= ms(5));
    effects.iter().any(soon)
}

#[test]
fn g6_a_commit_index_that_comes_by_itself_counts_only_from_the_leader() {
    let mut one = One::new(1);
    one.append(2, beat(2, at(2, 3), 0), Position::ZERO, &[1, 2, 3]);
    let hear = |one: &mut One, from, term, commit| {
        one.call(|log, cx| log.hear_commit(id(from), Term::new(term), Index::new(commit), cx));
        one.log.commit().index
    };
    assert_eq!(hear(&mut one, 3, 2, 2), Index::ZERO, "of another member");
    assert_eq!(hear(&mut one, 2, 1, 2), Index::ZERO, "of another term");
    assert_eq!(hear(&mut one, 2, 2, 2), Index::new(2));
    assert_eq!(hear(&mut one, 2, 2, 9), Index::new(3), "not further than the logs match");
    one.pass(ms(600));
    assert_eq!(hear(&mut one, 2, 2, 9), Index::new(3));
}
