//! What a voter does: M2, M3, M5, M8, and its side of M4, M7 and M10.

use super::*;

#[test]
fn m2_promises_an_epoch_once() {
    let mut p3 = p3();
    let promised = promise(1, Version::default(), 0);
    assert_eq!(
        p3.deliver(5, prepare(1)),
        [Emit(Said::Courted(id(5))), Send(id(5), promised.clone())]
    );
    assert_eq!(
        p3.process.durable(),
        Durable { incarnation: 1, promised: epoch(1), promised_to: Some(id(5)), reliance_ms: 0 }
    );
    assert_eq!(vote(&mut p3, 4, 1), refuse(1, 1), "it is P5's");
    assert_eq!(vote(&mut p3, 5, 1), promised, "the same promise, repeated");
    assert_eq!(vote(&mut p3, 4, 2), promise(2, Version::default(), 0), "nothing binds it yet");
    assert_eq!(vote(&mut p3, 5, 1), refuse(1, 2), "what was promised once is over");
    assert_eq!(p3.process.durable().promised_to, Some(id(4)));
}

#[test]
fn m2_promises_itself_no_epoch_that_is_anothers() {
    let mut p3 = p3();
    vote(&mut p3, 5, 1);
    p3.input(ASK);
    let durable =
        Durable { incarnation: 1, promised: epoch(2), promised_to: Some(id(3)), reliance_ms: 0 };
    assert_eq!(p3.process.durable(), durable);
    assert_eq!(vote(&mut p3, 5, 2), refuse(2, 2), "and nobody its own");
}

#[test]
fn m2_a_promise_survives_a_crash() {
    let mut p3 = p3();
    vote(&mut p3, 5, 4);
    p3.recover();
    let durable =
        Durable { incarnation: 2, promised: epoch(4), promised_to: Some(id(5)), reliance_ms: 0 };
    assert_eq!(p3.process.durable(), durable);
    assert_eq!(vote(&mut p3, 2, 4), refuse(4, 4));
    assert_eq!(vote(&mut p3, 2, 3), refuse(3, 4));
    assert_eq!(sent(p3.deliver(1, beat(3, THEIRS))), [(id(1), refuse(3, 4))]);
}

#[test]
fn m2_a_leader_of_an_epoch_that_is_over_is_told_what_was_promised() {
    let mut p3 = following(1, 1);
    p3.pass(ms(500));
    vote(&mut p3, 5, 4);
    for _ in 0..2 {
        assert_eq!(p3.deliver(1, beat(1, THEIRS)), [Send(id(1), refuse(1, 4))]);
    }
    let late = spread(1, THEIRS, version(1, 0), 0);
    assert_eq!(p3.deliver(1, late), [Send(id(1), refuse(1, 4))]);
    assert_eq!(vote(&mut p3, 4, 5), promise(5, version(1, 0), 0), "it did not bind itself");
}

#[test]
fn m3_keeps_a_request_and_answers_when_free() {
    let mut p3 = following(5, 1);
    p3.pass(ms(100));
    assert_eq!(
        p3.deliver(4, prepare(2)),
        [
            Emit(Said::Courted(id(4))),
            SetTimer(Timer::Free, exactly(ms(400))),
            Send(id(4), wait(2, Some(5))),
        ]
    );
    assert_eq!(p3.process.durable().promised, epoch(1));
    p3.pass(ms(400) - Duration::from_micros(1));
    let early = p3.fire(Timer::Free);
    assert_eq!(sent(early), [(id(4), wait(2, Some(5)))], "a microsecond too early");
    p3.pass(Duration::from_micros(1));
    assert_eq!(p3.fire(Timer::Free), [Send(id(4), promise(2, version(1, 0), 0))]);
    assert_eq!(p3.fire(Timer::Free), [], "once");
}

#[test]
fn m3_of_several_requests_the_highest_is_kept() {
    let mut p3 = following(5, 1);
    vote(&mut p3, 4, 2);
    vote(&mut p3, 1, 3);
    vote(&mut p3, 2, 2);
    p3.pass(ms(500));
    assert_eq!(p3.fire(Timer::Free), [Send(id(1), promise(3, version(1, 0), 0))]);
}

#[test]
fn m3_a_heartbeat_of_the_leader_ends_the_wait_until_somebody_asks_again() {
    let mut p3 = following(5, 1);
    vote(&mut p3, 4, 2);
    p3.pass(ms(300));
    p3.deliver(5, beat(1, THEIRS));
    p3.pass(ms(500));
    assert_eq!(p3.fire(Timer::Free), [], "who asked before may be gone");
    assert_eq!(vote(&mut p3, 4, 2), promise(2, version(1, 0), 0));
}

#[test]
fn m3_a_request_that_waited_gets_no_vote_from_one_that_follows_another() {
    // P3 leads in epoch 1, and P5 asks for epoch 3. Then nothing binds P3 any more, but before its
    // timers tell it so it hears of P4, who has won epoch 2.
    let mut p3 = leading();
    assert_eq!(vote(&mut p3, 5, 3), wait(3, Some(3)));
    p3.pass(ms(500));
    let now = sent(p3.deliver(4, spread(2, THEIRS, version(2, 0), 0)));
    assert_eq!(now, [(id(4), Msg::Ack { epoch: epoch(2), sent: THEIRS, clock: p3.now, held: 0 })]);
    let durable =
        Durable { incarnation: 1, promised: epoch(2), promised_to: Some(id(4)), reliance_ms: 0 };
    assert_eq!(p3.process.durable(), durable, "with a vote for P5 it would have gone back");
    assert_eq!(vote(&mut p3, 5, 3), wait(3, Some(4)));
}

#[test]
fn m3_of_two_requests_for_one_epoch_the_later_is_kept() {
    let mut p3 = following(5, 1);
    vote(&mut p3, 1, 2);
    vote(&mut p3, 4, 2);
    p3.pass(ms(500));
    assert_eq!(p3.fire(Timer::Free), [Send(id(4), promise(2, version(1, 0), 0))]);
}

#[test]
fn m4_who_has_no_copy_of_the_epoch_asks_for_it() {
    // A copy of epoch 1 is nothing in epoch 2.
    let mut p3 = following(5, 1);
    assert_eq!(p3.deliver(4, beat(2, THEIRS)), [Send(id(4), lack(2, None))]);
    assert_eq!(
        p3.deliver(4, spread(2, THEIRS, version(2, 0), 9)),
        [
            Send(id(4), Msg::Ack { epoch: epoch(2), sent: THEIRS, clock: p3.now, held: 0 }),
            Emit(Said::Heard { leader: id(4), epoch: epoch(2) }),
        ]
    );
    assert_eq!(sent(p3.deliver(4, beat(2, THEIRS))).len(), 1, "an ACK from now on");
}

#[test]
fn m4_a_later_leader_learns_the_state() {
    let mut p3 = p3();
    p3.deliver(5, spread(1, THEIRS, version(1, 0), 9));
    p3.pass(ms(500));
    assert_eq!(vote(&mut p3, 4, 2), promise(2, version(1, 0), 9));
}

#[test]
fn m4_an_old_copy_that_comes_late_does_not_replace_a_newer_one() {
    let mut p3 = p3();
    p3.deliver(5, spread(1, THEIRS, version(1, 3), 9));
    p3.deliver(5, spread(1, THEIRS, version(1, 0), 0));
    p3.pass(ms(500));
    assert_eq!(vote(&mut p3, 4, 2), promise(2, version(1, 3), 9));
}

#[test]
fn m5_binds_itself_for_a_lease_on_its_own_clock() {
    let mut p3 = following(5, 1);
    p3.pass(ms(250));
    assert_eq!(
        p3.deliver(5, beat(1, THEIRS)),
        [
            Send(id(5), Msg::Ack { epoch: epoch(1), sent: THEIRS, clock: p3.now, held: 0 }),
            Emit(Said::Heard { leader: id(5), epoch: epoch(1) }),
        ]
    );
    p3.pass(ms(499));
    assert_eq!(vote(&mut p3, 4, 2), wait(2, Some(5)), "from the last heartbeat on");
    p3.pass(ms(1));
    assert_eq!(vote(&mut p3, 4, 2), promise(2, version(1, 0), 0));
}

#[test]
fn m5_a_higher_epoch_frees_it_from_a_lower_one() {
    let mut p3 = following(5, 1);
    let acked = sent(p3.deliver(4, spread(2, THEIRS, version(2, 0), 0)));
    assert_eq!(
        acked,
        [(id(4), Msg::Ack { epoch: epoch(2), sent: THEIRS, clock: p3.now, held: 0 })]
    );
    assert_eq!(p3.process.durable().promised, epoch(2));
    assert_eq!(p3.process.durable().promised_to, Some(id(4)));
    assert_eq!(sent(p3.deliver(5, beat(1, THEIRS))), [(id(5), refuse(1, 2))]);
    assert_eq!(vote(&mut p3, 5, 3), wait(3, Some(4)));
}

#[test]
fn m5_follows_the_winner_of_an_epoch_that_it_promised_to_another() {
    let mut p3 = p3();
    vote(&mut p3, 5, 1);
    assert_eq!(sent(p3.deliver(4, spread(1, THEIRS, version(1, 0), 0))).len(), 1);
    assert_eq!(p3.process.durable().promised_to, Some(id(4)));
    assert_eq!(vote(&mut p3, 5, 1), refuse(1, 1), "that promise was in vain");
}

#[test]
fn m7_whoever_was_bound_is_free_at_once_and_answers_who_waited() {
    let mut p3 = following(5, 1);
    vote(&mut p3, 4, 2);
    assert_eq!(
        p3.deliver(5, release(1, None)),
        [
            Send(id(4), promise(2, version(1, 0), 0)),
            Emit(Said::Released { by: id(5), to: None, appointed: false }),
        ]
    );
    assert_eq!(p3.deliver(5, release(1, None)), [], "a second time means nothing");
}

#[test]
fn m7_only_the_leader_of_that_epoch_gives_free() {
    let mut p3 = following(5, 2);
    assert_eq!(p3.deliver(4, release(2, None)), [], "P4 is not the leader");
    assert_eq!(p3.deliver(5, release(1, None)), [], "that was an earlier mandate");
    assert_eq!(vote(&mut p3, 4, 3), wait(3, Some(5)));
}

#[test]
fn m8_after_a_restart_it_neither_promises_nor_binds_itself() {
    let mut p3 = following(5, 1);
    p3.recover();
    assert_eq!(
        p3.deliver(4, prepare(2)),
        [
            Emit(Said::Courted(id(4))),
            SetTimer(Timer::Free, exactly(ms(500))),
            Send(id(4), wait(2, None)),
        ]
    );
    assert_eq!(p3.deliver(5, beat(1, THEIRS)), [Send(id(5), lost(1, 2))]);
    p3.pass(ms(499));
    assert_eq!(vote(&mut p3, 4, 2), wait(2, None));
    p3.pass(ms(1));
    assert_eq!(p3.fire(Timer::Free), [Send(id(4), promise(2, Version::default(), 0))]);
}

#[test]
fn m8_it_waits_for_itself_as_well() {
    let mut p3 = following(5, 1);
    p3.recover();
    p3.input(ASK);
    for voter in [1, 2, 4, 5] {
        p3.deliver(voter, promise(2, Version::default(), 0));
    }
    assert_eq!(p3.process.durable().promised, epoch(1));
    p3.pass(ms(500));
    assert_eq!(sent(p3.fire(Timer::Free)).len(), 4, "now it spreads");
    assert_eq!(p3.process.durable().promised, epoch(2));
}

#[test]
fn m8_it_waits_as_long_as_somebody_may_rely_on_what_it_forgot() {
    let mut p3 = following(5, 1);
    p3.config.amnesia = ms(300);
    p3.recover();
    p3.pass(ms(799));
    assert_eq!(vote(&mut p3, 4, 2), wait(2, None));
    p3.pass(ms(1));
    assert_eq!(vote(&mut p3, 4, 2), promise(2, Version::default(), 0));
}

#[test]
fn m8_a_copy_from_a_leader_ends_the_wait() {
    let mut p3 = following(5, 1);
    p3.recover();
    let effects = p3.deliver(5, spread_to(Some(2), 1, THEIRS, version(1, 4), 9));
    assert_eq!(said(effects), [Said::Heard { leader: id(5), epoch: epoch(1) }]);
    assert_eq!(vote(&mut p3, 4, 2), wait(2, Some(5)), "bound by a lease again, and no more");
    p3.deliver(5, release(1, None));
    assert_eq!(p3.process.durable().promised_to, Some(id(4)));
}

#[test]
fn m8_a_copy_that_may_be_older_than_what_it_forgot_does_not_end_the_wait() {
    let mut p3 = following(5, 1);
    p3.deliver(5, append(1, THEIRS, 0, &[9]));
    p3.recover();
    // It was sent before the crash, and comes late or once more.
    let late = spread(1, THEIRS, version(1, 0), 0);
    assert_eq!(p3.deliver(5, late.clone()), [Send(id(5), lost(1, 2))]);
    assert_eq!(p3.process.copy(), None);
    assert_eq!(vote(&mut p3, 4, 2), wait(2, None), "it has acknowledged a change");
    // It was asked for by an earlier start.
    p3.recover();
    let earlier = spread_to(Some(2), 1, THEIRS, version(1, 0), 0);
    assert_eq!(p3.deliver(5, earlier), [Send(id(5), lost(1, 3))]);
    // Whatever leads in an epoch that it has not promised has what it forgot.
    p3.deliver(4, spread(2, THEIRS, version(2, 0), 9));
    assert_eq!(p3.process.copy(), Some((version(2, 0), &Word(9))));
    // When nobody relies on what it forgot any longer, any copy will do.
    p3.recover();
    p3.pass(ms(500 + 16_384));
    p3.deliver(4, spread(2, THEIRS, version(2, 0), 9));
    assert_eq!(p3.process.copy(), Some((version(2, 0), &Word(9))));
}

#[test]
fn m8_a_first_start_waits_for_nothing() {
    assert_eq!(vote(&mut p3(), 5, 1), promise(1, Version::default(), 0));
}

#[test]
fn m8_it_does_not_repeat_a_promise_whose_copy_it_has_forgotten() {
    let mut p3 = p3();
    p3.deliver(5, spread(1, THEIRS, version(1, 0), 9));
    p3.pass(ms(500));
    assert_eq!(vote(&mut p3, 4, 2), promise(2, version(1, 0), 9));
    p3.recover();
    assert_eq!(vote(&mut p3, 4, 2), wait(2, None), "its copy may be the only new one");
}

#[test]
fn m10_a_follower_promises_its_own_leader_and_stays_bound_to_it() {
    let mut p3 = following(5, 1);
    p3.pass(ms(100));
    assert_eq!(vote(&mut p3, 5, 2), promise(2, version(1, 0), 0), "its own leader need not wait");
    p3.pass(ms(399));
    assert_eq!(vote(&mut p3, 4, 3), wait(3, Some(5)), "the leader still relies on the lease");
    p3.pass(ms(1));
    assert_eq!(vote(&mut p3, 4, 3), promise(3, version(1, 0), 0));
}
