//! P6 and P7: who takes over, and who stays out of it.

use super::*;
use bellwether_log::Roster;

#[test]
fn p6_a_stronger_follower_with_the_whole_log_takes_over_at_once() {
    let mut p3 = Node::at(3);
    let effects = p3.deliver(2, first(2));
    assert_eq!(news(&effects), [Event::Follows(id(2), term(1)), Event::Campaigning(term(2))]);
    let question = ask(2, Position::new(1, 1), false, None);
    let asked: Vec<_> = sent(effects).into_iter().filter(|(_, msg)| *msg == question).collect();
    assert_eq!(asked, to_all(question), "whether they would vote");
    assert_eq!(said(p3.deliver(2, heartbeat(1, 1))), [], "it follows meanwhile");
    p3.deliver(1, answer(1, 2, false, wait(2)));
    let effects = p3.deliver(4, answer(4, 2, false, wait(2)));
    assert_eq!(sent(effects), [(id(2), claim(2))]);
}

#[test]
fn p6_a_follower_that_lacks_entries_claims_nothing_until_it_has_them() {
    let mut p3 = Node::at(3);
    let behind = Heartbeat { commit: Index::new(4), last: Position::new(1, 4), ..beat(1, 4) };
    let entries = Arc::new([]);
    let letter = log::Msg::Append { beat: behind, prev: behind.last, entries };
    let effects = p3.deliver(2, Msg::Log(letter));
    assert_eq!(news(&effects), [Event::Follows(id(2), term(1))]);
    assert_eq!(sent_kind(&effects, "FETCH"), [id(2)]);
    let soon = [SetTimer(HOLD_OFF, exactly(ms(100)))];
    assert_eq!(p3.fire(HOLD_OFF), soon, "it looks again after a heartbeat");
}

#[test]
fn p6_a_weaker_follower_leaves_its_leader_alone() {
    let effects = Node::at(3).deliver(4, first(4));
    assert_eq!(sent(effects).len(), 1, "the ACK");
}

#[test]
fn p6_after_a_while_if_so_configured() {
    let mut p3 = started(3, preempting(Preempt::After(ms(2_000))));
    let effects = p3.deliver(2, first(2));
    assert!(effects.contains(&SetTimer(HOLD_OFF, exactly(ms(2_000)))));
    assert_eq!(said(effects), [Event::Follows(id(2), term(1))]);
    let effects = p3.deliver(2, heartbeat(1, 1));
    assert!(!effects.iter().any(|effect| matches!(effect, SetTimer(Timer::HoldOff, _))));
    assert_eq!(said(p3.fire(HOLD_OFF)), [Event::Campaigning(term(2))]);

    let mut other = started(3, preempting(Preempt::After(ms(2_000))));
    other.deliver(2, first(2));
    other.deliver(4, begin(4, 2, Position::new(1, 1)));
    assert!(is_silent(&other.fire(HOLD_OFF)), "P4 is stronger");
}

#[test]
fn p6_never_if_so_configured() {
    let mut p3 = started(3, preempting(Preempt::Never));
    let effects = p3.deliver(2, first(2));
    assert!(!effects.iter().any(|effect| matches!(effect, SetTimer(Timer::HoldOff, _))));
    assert_eq!(news(&effects), [Event::Follows(id(2), term(1))]);
    assert_eq!(sent(effects).len(), 1, "the ACK");
}

#[test]
fn p6_leaves_an_appointed_leader_alone() {
    for preempt in [Preempt::Always, Preempt::After(ms(2_000))] {
        let mut p3 = started(3, preempting(preempt));
        let appointed = Heartbeat { appointed: true, ..beat(1, 1) };
        let effects = p3.deliver(2, begun(2, appointed, Position::ZERO));
        assert_eq!(news(&effects), [Event::Follows(id(2), term(1))]);
        assert_eq!(sent(effects).len(), 1, "the ACK");
        assert!(is_silent(&p3.fire(HOLD_OFF)));
    }
}

#[test]
fn p6_a_leader_hands_over_to_the_stronger_one_that_claims() {
    let mut p3 = leading(config(), &[1, 2, 5]);
    assert_eq!(p3.deliver(2, claim(2)), [], "P2 is weaker");
    let effects = p3.deliver(5, claim(2));
    assert_eq!(sent(effects), [(id(5), yields(1, Some(5), false))]);
    assert_eq!(p3.process.serving(p3.now), None, "it has stopped serving");
    let last = p3.process.log.report().last;
    let events = said(p3.deliver(5, begin(5, 2, last)));
    let handed_over = Event::Lost(term(1), Loss::HandedOver(id(5)));
    assert_eq!(events, [handed_over, Event::Follows(id(5), term(2))]);
}

#[test]
fn p6_a_hand_over_that_fails_lets_the_old_leader_go_on() {
    let mut p3 = leading(config(), &[1, 2, 5]);
    p3.deliver(5, claim(2));
    p3.pass(ms(200));
    let effects = p3.fire(HAND_OVER);
    assert_eq!(news(&effects), [Event::HandOverFailed(id(5))]);
    assert_eq!(sent_kind(&effects, "HEARTBEAT").len(), 4);
    assert_eq!(said(acknowledged(&mut p3, &[1, 2])), [], "it served in this term before");
    assert_eq!(p3.process.serving(p3.now), Some(term(1)));
    assert_eq!(coordinator(&p3), Some(id(3)));
}

#[test]
fn p6_hands_over_to_the_strongest_that_it_hears_and_not_to_all_in_turn() {
    let mut p3 = leading(config(), &[1, 2, 4, 5]);
    assert_eq!(sent(p3.deliver(4, claim(2))), [(id(5), invite(1, false))]);
}

#[test]
fn p6_neither_a_witness_nor_a_drifting_member_gets_what_it_claims() {
    assert_eq!(leading(with_witness(5), &[1, 2, 5]).deliver(5, claim(2)), []);
    let mut p3 = leading(config(), &[1, 2]);
    answered_by_clocks(&mut p3, [(1, 0), (2, 0), (4, 50_000)]);
    assert_eq!(p3.deliver(4, claim(2)), []);
}

#[test]
fn p6_an_appointed_leader_stays() {
    let mut p3 = following(5);
    p3.deliver(5, yields(1, Some(3), true));
    elect(&mut p3, 2);
    acknowledged(&mut p3, &[1, 2, 5]);
    assert_eq!(p3.process.serving(p3.now), Some(term(2)));
    assert_eq!(p3.deliver(5, claim(3)), []);
}

#[test]
fn p7_a_witness_votes_and_follows_and_plays_dead_in_elections() {
    let mut p3 = started(3, with_witness(3));
    assert_eq!(p3.deliver(1, ELECTION), [], "no OK");
    assert_eq!(sent(p3.fire(PATIENCE)), []);
    assert_eq!(sent_kind(&p3.deliver(2, ask(1, Position::ZERO, true, None)), "VOTE"), [id(2)]);
    let events = said(p3.deliver(2, first(2)));
    assert_eq!(events, [Event::Follows(id(2), term(1))], "though P2 has the lower number");
    p3.pass(ms(300));
    assert!(is_silent(&p3.fire(SILENCE)));
    assert!(is_silent(&p3.recover()));
    assert!(!eligible(&p3));
}

#[test]
fn p7_a_member_that_is_about_to_stop_hands_over_and_plays_dead() {
    let mut p3 = leading(config(), &[1, 2, 4]);
    assert_eq!(sent(p3.input(Input::Resign)), [(id(4), invite(1, false))]);
    assert_eq!(sent(p3.deliver(4, claim(2))), [(id(4), yields(1, Some(4), false))]);
    assert_eq!(p3.deliver(1, ELECTION), []);
    let last = p3.process.log.report().last;
    p3.deliver(4, begin(4, 2, last));
    assert!(is_silent(&p3.fire(PATIENCE)));
    let vote = p3.deliver(4, ask(3, Position::new(2, 9), true, None));
    assert_eq!(sent_kind(&vote, "VOTE"), [id(4)], "but it votes");
}

#[test]
fn p7_a_member_that_is_about_to_stop_frees_all_if_the_hand_over_fails() {
    let mut p3 = leading(config(), &[1, 2, 4]);
    p3.input(Input::Resign);
    let effects = p3.fire(HAND_OVER);
    let given_up = Event::Lost(term(1), Loss::GivenUp);
    assert_eq!(news(&effects), [Event::HandOverFailed(id(4)), given_up]);
    assert_eq!(sent(effects), to_all(yields(1, None, false)));
}

#[test]
fn p7_a_member_that_is_about_to_stop_takes_nothing_over() {
    let mut p3 = following(5);
    assert_eq!(p3.input(Input::Resign), []);
    p3.deliver(5, yields(1, Some(3), false));
    assert!(!p3.process.log.campaigns());
    p3.deliver(5, invite(1, true));
    assert!(!p3.process.log.campaigns());
    let effects = p3.deliver(2, begin(2, 2, Position::new(1, 1)));
    assert_eq!(sent(effects).len(), 1, "no take-over either");
}

#[test]
fn p7_a_follower_learns_from_its_leader_that_its_clock_drifts() {
    let mut p3 = following(5);
    p3.deliver(4, view(true));
    assert!(eligible(&p3), "P4 does not lead");
    p3.deliver(5, view(true));
    assert!(!eligible(&p3));
    assert_eq!(p3.deliver(1, ELECTION), []);
    let effects = p3.deliver(2, begin(2, 2, Position::new(1, 1)));
    assert_eq!(sent(effects).len(), 1, "an ACK and no take-over");
    p3.deliver(2, view(false));
    assert!(eligible(&p3));
    assert_eq!(p3.deliver(1, ELECTION), [], "the leader has just been heard");
    p3.pass(ms(151));
    assert_ne!(p3.deliver(1, ELECTION), []);
}

/// P3 begins to receive a snapshot of P5's state.
fn filling() -> Node {
    let mut p3 = following(5);
    let far = Heartbeat { commit: Index::new(9), last: Position::new(1, 9), ..beat(1, 9) };
    let letter = log::Msg::Append { beat: far, prev: far.last, entries: Arc::new([]) };
    assert_eq!(sent_kind(&p3.deliver(5, Msg::Log(letter)), "FETCH"), [id(5)]);
    let (at, roster, parts) = (far.last, Roster::new(), Vec::new());
    // More parts follow.
    let body = Body::Parts { at, roster: Box::new(roster), from: (), parts, next: Some(()) };
    let piece = log::Msg::Supply { beat: Some(far), last: far.last, body };
    assert_eq!(said(p3.deliver(5, Msg::Log(piece))), [Event::Filling(id(5))]);
    p3
}

#[test]
fn p7_a_member_that_is_filling_plays_dead_but_follows() {
    let mut p3 = filling();
    assert!(!eligible(&p3));
    p3.pass(ms(300));
    assert!(is_silent(&p3.fire(SILENCE)), "it holds no election");
    assert_eq!(p3.deliver(1, ELECTION), [], "and takes part in none");
    p3.deliver(5, invite(1, true));
    assert!(!p3.process.log.campaigns(), "nor does it take over");
    let behind = p3.deliver(4, ask(2, Position::ZERO, true, None));
    let (_, Msg::Log(log::Msg::Vote { answer, .. })) = &sent(behind)[0] else { panic!() };
    assert_eq!(*answer, Answer::Behind { last: Position::new(1, 1) }, "it votes by what it had");
}

#[test]
fn p7_a_member_that_has_filled_takes_part_again() {
    let mut p3 = filling();
    let far = Heartbeat { commit: Index::new(9), last: Position::new(1, 9), ..beat(1, 9) };
    p3.deliver(5, heartbeat(1, 9));
    let (at, roster, parts) = (far.last, Roster::new(), Vec::new());
    let body = Body::Parts { at, roster: Box::new(roster), from: (), parts, next: None };
    let piece = log::Msg::Supply { beat: Some(far), last: far.last, body };
    assert_eq!(said(p3.deliver(5, Msg::Log(piece))), [Event::Recovered]);
    assert!(eligible(&p3));
}
