//! What whoever wants, has or gives up the mandate does: M1, M4, M6, M7, M9, M10, M11.

use super::*;
use bellwether_core::Group;

#[test]
fn m1_asks_everybody_in_an_epoch_above_all_that_it_has_seen() {
    let mut p3 = p3();
    vote(&mut p3, 2, 4);
    let mut expected = vec![Emit(Said::Asks(epoch(5)))];
    expected.extend(all_others(prepare(5)));
    expected.push(SetTimer(Timer::Retry, ms(100)..ms(200)));
    assert_eq!(p3.input(ASK), expected);
    assert_eq!(p3.process.durable().promised_to, Some(id(3)), "its own voter is the first");
}

#[test]
fn m1_an_epoch_that_was_only_heard_of_counts_as_seen() {
    let mut bound = following(5, 1);
    assert_eq!(vote(&mut bound, 4, 9), wait(9, Some(5)));
    assert_eq!(said(bound.input(ASK)), [Said::Asks(epoch(10))]);

    let mut told = p3();
    told.input(ASK);
    told.deliver(1, refuse(0, 20));
    told.input(Input::Desist);
    assert_eq!(said(told.input(ASK)), [Said::Asks(epoch(21))]);
}

#[test]
fn m1_asks_again_whoever_has_not_promised() {
    let mut p3 = p3();
    p3.input(ASK);
    assert_eq!(p3.deliver(1, promise(1, Version::default(), 0)), []);
    assert_eq!(
        p3.fire(Timer::Retry),
        [
            Emit(Said::TooFew { heard: 2, needed: 3 }),
            Send(id(2), prepare(1)),
            Send(id(4), prepare(1)),
            Send(id(5), prepare(1)),
            SetTimer(Timer::Retry, ms(100)..ms(200)),
        ]
    );
    assert_eq!(p3.input(Input::Desist), [Timer::Retry, Timer::Beat, Timer::Lapse].map(CancelTimer));
    assert_eq!(p3.fire(Timer::Retry), [], "not for ever");
}

#[test]
fn m1_a_refused_bid_goes_higher_at_once_but_not_twice_in_a_row() {
    let mut p3 = p3();
    p3.input(ASK);
    assert_eq!(said(p3.deliver(1, refuse(1, 6))), [Said::Asks(epoch(7))]);
    assert_eq!(p3.deliver(2, refuse(1, 6)), [], "an answer to the bid before");
    assert_eq!(p3.deliver(2, refuse(7, 9)), [], "that would be a race");
    assert_eq!(said(p3.fire(Timer::Retry)), [Said::Asks(epoch(10))]);
}

#[test]
fn m1_who_lost_a_race_for_an_epoch_lets_the_other_win_first() {
    let mut p3 = p3();
    p3.input(ASK);
    assert_eq!(p3.deliver(1, refuse(1, 1)), []);
    assert_eq!(said(p3.fire(Timer::Retry)), [Said::Asks(epoch(2))]);
}

#[test]
fn m3_a_mandate_of_its_own_binds_it_like_a_lease() {
    let mut p3 = leading();
    // Renewed, so that it lasts longer than the lease that its own voter gave at first.
    p3.pass(ms(300));
    let now = p3.now;
    p3.deliver(1, ack(1, now));
    p3.deliver(2, ack(1, now));
    p3.pass(ms(300));
    assert_eq!(p3.process.holds(p3.now), Some(epoch(1)));
    assert_eq!(vote(&mut p3, 5, 2), wait(2, Some(3)));
    p3.pass(ms(200));
    let effects = p3.fire(Timer::Lapse);
    assert_eq!(said(effects.clone()), [Said::Lost(epoch(1), Loss::Lapsed)]);
    assert_eq!(sent(effects), [(id(5), promise(2, version(1, 0), 0))]);
}

#[test]
fn m4_adopts_the_newest_copy_and_spreads_it() {
    let mut p3 = p3();
    vote(&mut p3, 4, 5);
    p3.input(ASK);
    p3.deliver(1, promise(6, version(3, 0), 30));
    let now = p3.now;
    let mut expected = vec![CancelTimer(Timer::Retry)];
    expected.extend(all_others(spread(6, now, version(6, 0), 30)));
    expected.push(SetTimer(Timer::Beat, exactly(ms(100))));
    assert_eq!(p3.deliver(2, promise(6, version(2, 9), 29)), expected);
    assert_eq!(p3.process.holds(now), None, "nobody has it yet");
}

#[test]
fn m4_wins_when_a_majority_has_the_state() {
    let mut p3 = installing();
    let asked = p3.now;
    p3.pass(ms(10));
    assert_eq!(p3.deliver(1, ack(1, asked)), []);
    assert_eq!(p3.deliver(1, ack(1, asked)), [], "P1 twice is no majority");
    assert_eq!(p3.process.holds(p3.now), None);
    assert_eq!(
        p3.deliver(2, ack(1, asked)),
        [SetTimer(Timer::Lapse, exactly(reliance() - ms(10))), Emit(Said::Won(epoch(1))),]
    );
    assert_eq!(p3.process.holds(p3.now), Some(epoch(1)));
}

#[test]
fn m4_half_of_the_members_is_no_majority() {
    let needed = |n| config().needed(&Group::numbered(n).unwrap());
    assert_eq!([1, 2, 3, 4, 5, 6, 7].map(needed), [1, 2, 2, 3, 3, 4, 4]);
}

#[test]
fn m4_its_own_voter_is_bound_like_everybodys_as_soon_as_it_spreads() {
    let mut p3 = installing();
    assert_eq!(vote(&mut p3, 5, 2), wait(2, Some(3)));
    p3.pass(ms(500));
    assert_eq!(vote(&mut p3, 5, 2), promise(2, version(1, 0), 0), "and no longer");
}

#[test]
fn m4_counts_only_promises_for_this_bid_and_each_voter_once() {
    let mut p3 = p3();
    vote(&mut p3, 4, 5);
    p3.input(ASK);
    for _ in 0..3 {
        assert_eq!(p3.deliver(1, promise(6, Version::default(), 0)), []);
    }
    assert_eq!(p3.deliver(2, promise(5, Version::default(), 0)), [], "another epoch's");
    assert_eq!(p3.deliver(4, wait(6, Some(5))), [], "a WAIT is no promise");
    assert_ne!(p3.deliver(2, promise(6, Version::default(), 0)), []);
}

#[test]
fn m4_a_majority_without_its_own_voter_is_not_enough() {
    let mut p3 = following(5, 1);
    p3.input(ASK);
    for voter in [1, 2, 4] {
        assert_eq!(p3.deliver(voter, promise(2, Version::default(), 0)), []);
    }
    p3.pass(ms(500));
    let effects = p3.fire(Timer::Free);
    assert_eq!(sent(effects).len(), 4, "now it spreads");
}

#[test]
fn m4_a_leader_gives_the_copy_to_whoever_lacks_it() {
    let mut p3 = p3();
    p3.input(ASK);
    p3.deliver(1, promise(1, version(0, 2), 8));
    p3.deliver(2, promise(1, Version::default(), 0));
    p3.pass(ms(20));
    let now = p3.now;
    let copy = spread(1, now, version(1, 0), 8);
    assert_eq!(p3.deliver(4, lack(1, None)), [Send(id(4), copy)]);
    assert_eq!(p3.deliver(4, lack(0, None)), [], "it leads in no such epoch");
}

#[test]
fn m4_a_clock_that_has_just_begun_proves_nothing() {
    let mut p3 = P3::blank(3, config());
    p3.now = Time::from_micros(1_000);
    p3.start(None);
    p3.input(ASK);
    p3.deliver(1, promise(1, Version::default(), 0));
    let effects = p3.deliver(2, promise(1, Version::default(), 0));
    assert_eq!(said(effects), [], "nobody has acknowledged anything");
    assert_eq!(p3.process.holds(p3.now), None);
}

#[test]
fn m5_a_leader_that_hears_a_higher_epoch_is_none_any_more() {
    let mut p3 = leading();
    let effects = p3.deliver(5, spread(2, THEIRS, version(2, 0), 0));
    assert_eq!(
        said(effects),
        [
            Said::Lost(epoch(1), Loss::Superseded(epoch(2))),
            Said::Heard { leader: id(5), epoch: epoch(2) },
        ]
    );
    assert_eq!(p3.process.holds(p3.now), None);
}

#[test]
fn m6_a_mandate_ends_by_the_clock_alone() {
    let mut p3 = leading();
    p3.pass(reliance() - Duration::from_micros(1));
    assert_eq!(p3.process.holds(p3.now), Some(epoch(1)));
    p3.pass(Duration::from_micros(1));
    assert_eq!(p3.process.holds(p3.now), None, "though no timer fired and nobody said anything");
    assert_eq!(p3.process.leading(), Some(epoch(1)), "it has not noticed");
    assert_eq!(said(p3.fire(Timer::Lapse)), [Said::Lost(epoch(1), Loss::Lapsed)]);
    assert_eq!(p3.process.leading(), None);
}

#[test]
fn m6_counts_from_when_it_asked_and_not_from_the_answer() {
    let mut p3 = installing();
    let asked = p3.now;
    p3.pass(ms(400));
    p3.deliver(1, ack(1, asked));
    p3.deliver(2, ack(1, asked));
    assert_eq!(p3.process.holds(asked + (reliance() - Duration::from_micros(1))), Some(epoch(1)));
    assert_eq!(p3.process.holds(asked + reliance()), None);
}

#[test]
fn m6_an_answer_that_comes_too_late_wins_nothing() {
    let mut p3 = installing();
    let asked = p3.now;
    p3.pass(reliance());
    p3.deliver(1, ack(1, asked));
    assert_eq!(p3.deliver(2, ack(1, asked)), []);
    assert_eq!(p3.process.holds(p3.now), None);
}

#[test]
fn m6_lasts_as_long_as_the_slowest_of_the_fastest_majority_allows() {
    let mut p3 = leading();
    let first = p3.now;
    let beats: Vec<Time> = (0..3)
        .map(|_| {
            p3.pass(ms(100));
            p3.now
        })
        .collect();
    // P1 answered the third heartbeat, P2 the first, P4 the second, P5 none.
    p3.deliver(1, ack(1, beats[2]));
    assert_eq!(p3.process.holds(first + reliance()), None, "one follower renews nothing");
    p3.deliver(2, ack(1, beats[0]));
    assert_eq!(p3.process.holds(beats[0] + reliance()), None);
    p3.deliver(4, ack(1, beats[1]));
    assert_eq!(p3.process.holds(beats[0] + reliance()), Some(epoch(1)));
    assert_eq!(p3.process.holds(beats[1] + reliance()), None);
    // What P4 had answered before, and says again late, takes nothing away.
    p3.deliver(4, ack(1, first));
    assert_eq!(p3.process.holds(beats[0] + reliance()), Some(epoch(1)));
}

#[test]
fn m6_an_answer_from_the_future_or_of_another_epoch_renews_nothing() {
    let mut p3 = leading();
    let until = p3.now + reliance();
    p3.pass(ms(100));
    let future = p3.now + Duration::from_micros(1);
    for follower in [1, 2, 4, 5] {
        assert_eq!(p3.deliver(follower, ack(1, future)), []);
        assert_eq!(p3.deliver(follower, ack(2, p3.now)), []);
    }
    assert_eq!(p3.process.holds(until), None);
}

#[test]
fn m6_a_renewed_mandate_does_not_lapse() {
    let mut p3 = leading();
    p3.pass(ms(300));
    let now = p3.now;
    p3.deliver(1, ack(1, now));
    p3.deliver(5, ack(1, now));
    p3.pass(ms(200));
    assert_eq!(p3.fire(Timer::Lapse), [SetTimer(Timer::Lapse, exactly(reliance() - ms(200)))]);
    assert_eq!(p3.process.leading(), Some(epoch(1)));
}

#[test]
fn m7_stops_first_and_then_gives_everybody_free() {
    let mut p3 = leading();
    let mut expected = [Timer::Retry, Timer::Beat, Timer::Lapse].map(CancelTimer).to_vec();
    expected.push(Emit(Said::Lost(epoch(1), Loss::HandedOver(id(4)))));
    expected.extend(all_others(release(1, Some(4))));
    let (by, to) = (id(3), Some(id(4)));
    expected.push(Emit(Said::Released { by, to, appointed: false }));
    assert_eq!(p3.input(Input::HandOver { to: Some(id(4)), appointed: false }), expected);
    assert_eq!(p3.process.holds(p3.now), None);
    assert_eq!(vote(&mut p3, 4, 2), promise(2, version(1, 0), 0), "its own voter is free, too");
}

#[test]
fn m7_gives_up_while_it_moves_to_a_higher_epoch() {
    let mut p3 = leading();
    p3.deliver(5, refuse(1, 7));
    let effects = p3.input(Input::HandOver { to: None, appointed: false });
    assert!(said(effects).contains(&Said::Lost(epoch(1), Loss::GivenUp)));
    assert_eq!(p3.process.holds(p3.now), None);
    assert!(p3.process.is_idle());
}

#[test]
fn m9_claims_when_a_majority_would_follow() {
    let mut p3 = following(1, 1);
    let effects = p3.input(Input::Ask { claim: true, appointed: false });
    let wish = Msg::Prepare { epoch: epoch(2), version: version(1, 0) };
    assert!(sent(effects).iter().all(|(_, msg)| *msg == wish));
    assert_eq!(p3.deliver(2, wait(2, Some(1))), [], "two of three");
    let claim = Msg::Claim { epoch: epoch(2) };
    assert_eq!(p3.deliver(4, wait(2, Some(1))), [Send(id(1), claim)]);
    assert_eq!(p3.deliver(5, wait(2, Some(1))), [], "once a round");
}

#[test]
fn m9_claims_nothing_if_it_was_not_told_to() {
    let mut p3 = following(1, 1);
    p3.input(ASK);
    p3.deliver(2, wait(2, Some(1)));
    assert_eq!(p3.deliver(4, wait(2, Some(1))), []);
}

#[test]
fn m9_who_answered_an_earlier_round_is_not_counted_for_ever() {
    let mut p3 = following(1, 1);
    p3.input(Input::Ask { claim: true, appointed: false });
    p3.deliver(2, wait(2, Some(1)));
    p3.fire(Timer::Retry);
    assert_eq!(p3.deliver(4, wait(2, Some(1))), []);
    assert_ne!(p3.deliver(2, wait(2, Some(1))), []);
}

#[test]
fn m9_a_leader_hears_of_the_claim_and_nobody_else_does() {
    let claim = Msg::Claim { epoch: epoch(2) };
    assert_eq!(leading().deliver(5, claim.clone()), [Emit(Said::Claimed(id(5)))]);
    assert_eq!(following(1, 1).deliver(5, claim), []);
}

#[test]
fn m10_a_refused_leader_moves_to_a_higher_epoch_and_holds_on_meanwhile() {
    let mut p3 = leading();
    let began = p3.now;
    let effects = p3.deliver(5, refuse(1, 7));
    assert_eq!(said(effects), [Said::Asks(epoch(8))]);
    assert_eq!(p3.process.holds(p3.now), Some(epoch(1)));
    assert_eq!(vote(&mut p3, 4, 9), wait(9, Some(3)), "it votes for nobody else meanwhile");
    p3.deliver(1, promise(8, version(1, 0), 0));
    p3.deliver(2, promise(8, version(1, 0), 0));
    assert_eq!(p3.process.holds(p3.now), Some(epoch(1)), "also while it spreads the state");
    assert_eq!(p3.process.holds(began + reliance()), None, "but no longer than before");
    p3.pass(ms(50));
    let sent = began;
    p3.deliver(1, ack(8, sent));
    assert_eq!(said(p3.deliver(5, ack(8, sent))), [Said::Won(epoch(8))]);
    assert_eq!(p3.process.holds(p3.now), Some(epoch(8)));
}

#[test]
fn m10_what_it_held_runs_out_and_the_bid_goes_on() {
    let mut p3 = leading();
    p3.deliver(5, refuse(1, 7));
    p3.pass(ms(100));
    let left = exactly(reliance() - ms(100));
    assert_eq!(p3.fire(Timer::Lapse), [SetTimer(Timer::Lapse, left)]);
    p3.pass(ms(400));
    assert_eq!(p3.process.holds(p3.now), None);
    assert_eq!(p3.fire(Timer::Lapse), [Emit(Said::Lost(epoch(1), Loss::Lapsed))]);
    p3.deliver(1, promise(8, version(1, 0), 0));
    assert_ne!(p3.deliver(2, promise(8, version(1, 0), 0)), [], "it installs itself");
}

#[test]
fn m10_a_refusal_that_is_no_news_changes_nothing() {
    let mut p3 = leading();
    assert_eq!(p3.deliver(5, refuse(0, 7)), [], "of another epoch");
    assert_eq!(p3.deliver(5, refuse(1, 1)), [], "for the sake of this one");
    assert_eq!(p3.process.leading(), Some(epoch(1)));
}

/// Heartbeats for a while, each answered by P1, P2 and P4, whose clock gains that much.
fn beats_answered(p3: &mut P3, seconds: u64, p4_gains_ppm: u64) -> Vec<Said> {
    let mut heard = Vec::new();
    for tick in 0..seconds * 10 {
        p3.pass(ms(100));
        let sent = p3.now;
        let gained = Duration::from_micros(tick * p4_gains_ppm / 10);
        for (follower, clock) in [(1, sent), (2, sent), (4, sent + gained)] {
            let answer = Msg::Ack { epoch: epoch(1), sent, clock, held: 0 };
            heard.extend(said(p3.deliver(follower, answer)));
        }
    }
    heard
}

#[test]
fn m11_a_drifting_follower_does_not_count_for_a_lease() {
    let mut p3 = leading();
    let heard = beats_answered(&mut p3, 10, 50_000);
    assert!(matches!(heard[..], [Said::Drifts(member, _)] if member == id(4)), "{heard:?}");
    let last = p3.now;
    p3.pass(ms(100));
    let now = p3.now;
    p3.deliver(1, ack(1, now));
    p3.deliver(4, ack(1, now));
    assert_eq!(p3.process.holds(last + reliance()), None, "P1 and itself are two of three");
    p3.deliver(2, ack(1, now));
    assert_eq!(p3.process.holds(last + reliance()), Some(epoch(1)));
}

#[test]
fn m11_a_clock_within_the_bound_counts() {
    let mut p3 = leading();
    assert_eq!(beats_answered(&mut p3, 10, 400), []);
    let last = p3.now;
    p3.pass(ms(100));
    let now = p3.now;
    p3.deliver(1, ack(1, now));
    p3.deliver(4, ack(1, now));
    assert_eq!(p3.process.holds(last + reliance()), Some(epoch(1)));
}
