//! Stepping down, elections that do not end, and yielding.

use super::*;

#[test]
fn p8_steps_down_for_the_strongest_that_it_hears() {
    let mut p3 = leading(config(), &[1, 2, 4]);
    assert_eq!(sent(p3.input(Input::StepDown)), [(id(4), invite(1, true))]);
    assert_eq!(p3.process.serving(p3.now), Some(term(1)), "it leads until P4 can take over");
    assert_eq!(sent(p3.deliver(4, claim(2))), [(id(4), yields(1, Some(4), true))]);
    assert_eq!(p3.process.serving(p3.now), None);
}

#[test]
fn p8_the_one_that_is_invited_finds_out_first_whether_it_could_lead() {
    let mut p3 = following(5);
    let effects = p3.deliver(5, invite(1, true));
    assert_eq!(news(&effects), [Event::Campaigning(term(2))]);
    assert_eq!(sent(effects), to_all(ask(2, Position::new(1, 1), false, None)));
    p3.deliver(1, answer(1, 2, false, wait(5)));
    assert_eq!(sent(p3.deliver(2, answer(2, 2, false, wait(5)))), [(id(5), claim(2))]);
}

#[test]
fn p8_a_member_that_does_not_take_over_lets_the_leader_go_on() {
    let mut p3 = leading(config(), &[1, 2, 4]);
    p3.input(Input::StepDown);
    p3.pass(ms(200));
    let effects = p3.fire(HAND_OVER);
    assert!(matches!(effects[..], [Emit(Event::HandOverFailed(to))] if to == id(4)), "{effects:?}");
    assert_eq!(p3.process.serving(p3.now), Some(term(1)), "it has never left it");
    assert_eq!(sent(p3.input(Input::StepDown)).len(), 1, "it may be asked again");
}

#[test]
fn p8_a_member_that_has_not_answered_lately_is_not_chosen() {
    let mut p3 = leading(config(), &[1, 2, 4]);
    p3.pass(ms(300));
    acknowledged(&mut p3, &[1, 2]);
    p3.pass(ms(101));
    assert_eq!(sent(p3.input(Input::StepDown)), [(id(2), invite(1, true))]);
}

#[test]
fn p8_transfers_to_the_one_that_is_named() {
    let mut p3 = leading(config(), &[1, 2, 4]);
    assert_eq!(sent(p3.input(Input::Transfer(id(1)))), [(id(1), invite(1, true))]);
}

#[test]
fn p8_declines_what_cannot_be_done_and_says_why() {
    let declined = |node: &mut Node, input, why| {
        assert_eq!(node.input(input), [Emit(Event::Declined(why))]);
    };
    let transfer = |number| Input::Transfer(id(number));
    let mut p3 = leading(with_witness(2), &[1, 2]);
    declined(&mut p3, transfer(9), Decline::Unknown(id(9)));
    declined(&mut p3, transfer(3), Decline::Already(id(3)));
    declined(&mut p3, transfer(2), Decline::Witness(id(2)));
    declined(&mut p3, transfer(5), Decline::Silent(id(5)));
    p3.deliver(4, ack(&p3, 4, Some(0)));
    declined(&mut p3, transfer(4), Decline::Behind(id(4)));
    p3.pass(ms(450));
    declined(&mut p3, transfer(1), Decline::Silent(id(1)));
    declined(&mut p3, Input::StepDown, Decline::NoSuccessor);
    assert_eq!(p3.process.serving(p3.now), Some(term(1)), "it leads on");
    p3.pass(ms(50));
    declined(&mut p3, Input::StepDown, Decline::NotCoordinator(None));

    let mut follower = following(5);
    declined(&mut follower, Input::StepDown, Decline::NotCoordinator(Some(id(5))));
    declined(&mut follower, transfer(1), Decline::NotCoordinator(Some(id(5))));
    declined(&mut Node::at(3), transfer(1), Decline::NotCoordinator(None));
}

#[test]
fn p8_a_drifting_member_is_not_handed_anything() {
    let mut p3 = leading(config(), &[1, 2]);
    let events = said(answered_by_clocks(&mut p3, [(1, 0), (2, 0), (4, 50_000)]));
    let drifts =
        |event: &Event| matches!(event, Event::Drifting { member, .. } if *member == id(4));
    assert!(events.iter().any(drifts), "{events:?}");
    let declined = Event::Declined(Decline::Drifts(id(4)));
    assert_eq!(said(p3.input(Input::Transfer(id(4)))), [declined]);
    assert_eq!(sent(p3.input(Input::StepDown)), [(id(2), invite(1, true))]);
}

#[test]
fn p8_a_leader_that_finds_its_own_clock_drifting_steps_down() {
    let mut p3 = leading(config(), &[1, 2]);
    let effects = answered_by_clocks(&mut p3, [(1, 50_000), (2, 50_000), (4, 50_000)]);
    let events = news(&effects);
    let drifts = |event: &Event| matches!(event, Event::Drifting { member, rate_ppb } if *member == id(3) && *rate_ppb < 0);
    assert!(events.iter().any(drifts), "{events:?}");
    assert_eq!(sent_kind(&effects, "INVITE"), [id(4)]);
    assert!(!eligible(&p3));
    assert_eq!(p3.deliver(1, ELECTION), [], "P7");
}

#[test]
fn p9_an_election_that_does_not_end_is_held_again_every_other_time_from_scratch() {
    let mut p3 = Node::at(3);
    p3.fire(PATIENCE);
    let mut lives = vec![p3.process.election.durable()];
    for _ in 0..4 {
        let effects = p3.fire(PATIENCE);
        assert!(effects.contains(&SetTimer(PATIENCE, patiently())));
        assert_eq!(news(&effects), [Event::Electing(Reason::Stuck)]);
        assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
        lives.push(p3.process.election.durable());
    }
    let from_scratch: Vec<bool> = lives.windows(2).map(|pair| pair[0] != pair[1]).collect();
    assert_eq!(from_scratch, [true, false, true, false]);
}

#[test]
fn p9_a_member_whose_election_takes_too_long_campaigns_as_soon_as_a_majority_would_vote_for_it() {
    let mut p3 = Node::at(3);
    let effects = p3.fire(PATIENCE);
    assert!(effects.contains(&SetTimer(PROBE, ms(900)..ms(1_400))));
    assert_eq!(sent_kind(&p3.fire(PROBE), "REQUEST-VOTE").len(), 4);
    p3.deliver(1, answer(1, 1, false, YES));
    let effects = p3.deliver(2, answer(2, 1, false, YES));
    assert_eq!(news(&effects), [Event::Elected(id(3)), Event::Campaigning(term(1))]);

    let mut follower = following(5);
    assert_eq!(follower.fire(PROBE), [], "it knows a leader");
}

#[test]
fn p10_a_candidate_that_too_few_answer_passes_after_two_rounds() {
    let mut p3 = campaigning(config());
    p3.deliver(1, answer(1, 1, false, YES));
    let effects = p3.fire(ASK);
    assert_eq!(news(&effects), [Event::TooFew { heard: 2, needed: 3 }]);
    let effects = p3.fire(ASK);
    assert_eq!(news(&effects), [Event::TooFew { heard: 1, needed: 3 }, Event::Passed]);
    assert_eq!(sent_kind(&effects, "PASS").len(), 4);
    assert!(effects.contains(&SetTimer(PASSED, patiently())));
}

#[test]
fn p10_a_member_that_passed_comes_back_as_soon_as_a_majority_would_vote_for_it() {
    let mut p3 = campaigning(config());
    p3.fire(ASK);
    let effects = p3.fire(ASK);
    assert_eq!(sent_kind(&effects, "REQUEST-VOTE").len(), 4, "it probes");
    assert_eq!(sent_kind(&p3.fire(ASK), "REQUEST-VOTE").len(), 4, "once a round");
    assert!(p3.deliver(1, answer(1, 1, false, YES)).is_empty(), "one is not enough");
    let effects = p3.deliver(2, answer(2, 1, false, YES));
    assert!(effects.contains(&CancelTimer(PASSED)));
    assert!(eligible(&p3));
    assert_eq!(news(&effects), [Event::Elected(id(3)), Event::Campaigning(term(1))]);
    assert_eq!(sent_kind(&effects, "REQUEST-VOTE").len(), 4);
    assert_eq!(sent_kind(&effects, "ELECTION"), [], "it has waited long enough");
}

#[test]
fn p10_a_member_that_passed_looks_out_again_after_a_leader_or_a_candidate() {
    let mut p3 = campaigning(config());
    p3.fire(ASK);
    p3.fire(ASK);
    p3.deliver(4, ask(1, Position::ZERO, true, None));
    assert_eq!(p3.fire(ASK), [], "it has voted, and waits for P4");
    assert_eq!(sent_kind(&p3.fire(PATIENCE), "REQUEST-VOTE").len(), 4);
    p3.deliver(4, heartbeat(2, 1));
    assert_eq!(p3.fire(ASK), []);
    p3.pass(ms(500));
    assert_eq!(
        sent_kind(&p3.fire(SILENCE), "REQUEST-VOTE"),
        [],
        "D3: it gives P4 another heartbeat"
    );
    p3.pass(ms(101));
    assert_eq!(sent_kind(&p3.fire(SILENCE), "REQUEST-VOTE").len(), 4);
}

#[test]
fn p10_a_candidate_that_was_promised_votes_and_did_not_get_them_stays_out_for_the_whole_while() {
    let mut p3 = campaigning(config());
    for voter in [1, 2, 4, 5] {
        p3.deliver(voter, answer(voter, 1, false, YES));
    }
    assert_eq!(p3.process.log.asks(), Some((term(1), true)));
    p3.fire(ASK);
    let effects = p3.fire(ASK);
    assert_eq!(news(&effects).last(), Some(&Event::Passed));
    assert_eq!(sent_kind(&effects, "REQUEST-VOTE"), [], "it does not probe");
}

#[test]
fn p10_a_candidate_whose_log_is_older_passes_and_fetches() {
    let mut p3 = campaigning(config());
    for other in [1, 2, 5] {
        p3.deliver(other, answer(other, 1, false, YES));
    }
    let behind = Answer::Behind { last: Position::new(1, 4) };
    assert_eq!(sent_kind(&p3.deliver(4, answer(4, 1, false, behind)), "FETCH"), [id(4)]);
    let effects = p3.fire(ASK);
    assert_eq!(news(&effects), [Event::Passed]);
    assert_eq!(sent_kind(&effects, "PASS").len(), 4);
}

#[test]
fn p10_a_member_that_has_passed_stays_out_of_elections_for_a_while() {
    let mut p3 = campaigning(config());
    p3.fire(ASK);
    p3.fire(ASK);
    assert!(!eligible(&p3));
    assert_eq!(p3.deliver(1, ELECTION), []);
    assert!(is_silent(&p3.fire(PATIENCE)));
    let vote = p3.deliver(2, ask(2, Position::ZERO, true, None));
    assert_eq!(sent_kind(&vote, "VOTE"), [id(2)], "but it votes");
    assert_eq!(p3.fire(PASSED), []);
    assert!(eligible(&p3));
    assert_eq!(sent(p3.fire(PATIENCE)), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p10_a_member_that_waited_for_the_one_that_passes_holds_an_election_at_once() {
    let mut p3 = Node::at(3);
    p3.deliver(5, COORDINATOR);
    assert_eq!(p3.deliver(4, Msg::Pass), [], "it waits for P5");
    let effects = p3.deliver(5, Msg::Pass);
    assert_eq!(news(&effects), [Event::Electing(Reason::Passed(id(5)))]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
    assert_eq!(p3.deliver(5, Msg::Pass), [], "once");
}

#[test]
fn p10_a_leader_that_stalls_passes_and_its_followers_hold_an_election() {
    let mut p3 = leading(config(), &[1, 2]);
    let committed = p3.process.log.report().commit.index.number();
    p3.call(|member, cx| assert!(member.propose(vec![()], cx)));
    p3.fire(WRITE);
    // The followers get heartbeats and no entries.
    for _ in 0..10 {
        p3.pass(ms(100));
        for follower in [1, 2] {
            p3.deliver(follower, ack(&p3, follower, Some(committed)));
        }
    }
    assert_eq!(p3.process.serving(p3.now), Some(term(1)));
    let effects = p3.fire(HEARTBEAT);
    assert_eq!(news(&effects), [Event::Lost(term(1), Loss::Stalled), Event::Passed]);
    assert_eq!(sent(effects), to_all(Msg::Pass));

    let mut follower = following(5);
    let effects = follower.deliver(5, Msg::Pass);
    assert_eq!(said(effects), [Event::Electing(Reason::Passed(id(5)))]);
}
