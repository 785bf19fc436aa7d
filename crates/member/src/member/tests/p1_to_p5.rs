//! Elections, and what leaders and followers make of them.

use super::*;

#[test]
fn p1_listens_first_and_then_holds_an_election() {
    let mut p3 = Node::blank(3, config());
    assert_eq!(p3.start(None), [SetTimer(PATIENCE, ms(400)..ms(500))]);
    let effects = p3.fire(PATIENCE);
    assert_eq!(news(&effects), [Event::Electing(Reason::Alone)]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p1_a_member_that_hears_a_leader_in_time_holds_none() {
    let mut p3 = Node::at(3);
    let effects = p3.deliver(5, first(5));
    assert!(effects.contains(&CancelTimer(PATIENCE)));
    assert_eq!(said(effects), [Event::Follows(id(5), term(1))]);
    assert_eq!(p3.fire(PATIENCE), []);
}

#[test]
fn p1_a_member_that_comes_back_says_so_at_once() {
    let effects = Node::at(3).recover();
    assert_eq!(news(&effects), [Event::Electing(Reason::Recovered)]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p2_a_member_that_is_elected_campaigns() {
    let mut p3 = Node::at(3);
    p3.input(Input::Elect);
    let effects = p3.fire(ANSWER);
    assert_eq!(news(&effects), [Event::Elected(id(3)), Event::Campaigning(term(1))]);
    let question = ask(1, Position::ZERO, false, None);
    assert_eq!(sent(effects)[2..], to_all(question), "after two COORDINATORs");
    elect(&mut p3, 1);
    assert_eq!(p3.process.serving(p3.now), None, "nothing is committed");
    assert_eq!(said(acknowledged(&mut p3, &[1, 2])), [Event::Won(term(1))]);
}

#[test]
fn p2_a_member_that_elected_another_waits_for_it_and_not_for_ever() {
    let mut p3 = Node::at(3);
    let elected = [Emit(Event::Elected(id(5))), until_it_asks()];
    assert_eq!(p3.deliver(5, COORDINATOR), elected);
    assert_eq!(p3.deliver(5, COORDINATOR), elected[1..], "no news");
    assert_eq!(coordinator(&p3), Some(id(5)));
    assert_eq!(said(p3.fire(PATIENCE)), [Event::Electing(Reason::Absent(id(5)))]);
}

#[test]
fn p2_a_candidate_that_a_majority_would_vote_for_gets_more_time() {
    let mut p3 = Node::at(3);
    p3.deliver(5, COORDINATOR);
    let renewed = until_it_leads();
    let mut gives_time = |from, number, sure| {
        p3.deliver(from, ask(number, Position::ZERO, sure, None)).contains(&renewed)
    };
    assert!(!gives_time(5, 1, false), "it may be alone");
    assert!(gives_time(5, 1, true));
    assert!(!gives_time(4, 2, true), "P4 is not the one");
}

#[test]
fn p2_a_member_that_elects_waits_for_the_candidate_that_asks_for_its_vote() {
    let mut p3 = Node::at(3);
    p3.input(Input::Elect);
    assert!(p3.deliver(4, ask(1, Position::ZERO, true, None)).contains(&until_it_leads()));
    assert_eq!(coordinator(&p3), Some(id(4)));
    assert_eq!(said(p3.fire(PATIENCE)), [Event::Electing(Reason::Absent(id(4)))]);
}

#[test]
fn p2_a_candidate_that_votes_for_another_one_waits_for_it() {
    let mut p3 = campaigning(config());
    assert!(p3.deliver(4, ask(1, Position::ZERO, true, None)).contains(&until_it_leads()));
    assert_eq!((p3.process.log.asks(), coordinator(&p3)), (None, Some(id(4))));
}

#[test]
fn p2_a_candidate_that_has_asked_for_the_votes_goes_on_when_another_is_elected() {
    let mut p3 = campaigning(config());
    for voter in [1, 2] {
        p3.deliver(voter, answer(voter, 1, false, YES));
    }
    p3.fire(ASK);
    assert_eq!(p3.process.log.asks(), Some((term(1), true)));
    p3.deliver(5, COORDINATOR);
    assert_eq!(p3.process.log.asks(), Some((term(1), true)));
    for voter in [1, 2] {
        p3.deliver(voter, answer(voter, 1, true, YES));
    }
    assert_eq!(p3.process.log.leads(), Some(term(1)));
}

#[test]
fn p2_without_a_quorum_the_elected_one_leads_at_once() {
    let mut alone = config();
    alone.log.quorum = Quorum::None;
    let mut p3 = started(3, alone);
    p3.input(Input::Elect);
    p3.fire(ANSWER);
    // It asks whether another member has a log first.
    p3.fire(ASK);
    let number = p3.process.log.leads().unwrap();
    assert_eq!(said(p3.fire(WRITE)), [Event::Won(number)]);
}

#[test]
fn p3_a_leader_counts_more_than_an_election() {
    let mut p3 = following(4);
    assert_eq!(p3.deliver(5, COORDINATOR), [], "P5 was elected, and P4 leads");
    assert_eq!(coordinator(&p3), Some(id(4)));

    let mut waiting = Node::at(3);
    waiting.deliver(5, COORDINATOR);
    waiting.deliver(4, first(4));
    assert_eq!(coordinator(&waiting), Some(id(4)));
    assert_eq!(waiting.fire(PATIENCE), []);
}

#[test]
fn p3_a_candidate_stops_when_another_leads() {
    let mut p3 = campaigning(config());
    let events = said(p3.deliver(4, begin(4, 2, Position::ZERO)));
    assert_eq!(events, [Event::Follows(id(4), term(2))]);
    assert_eq!(p3.fire(ASK), []);
}

#[test]
fn p4_a_leader_that_is_silent_too_long_is_suspected() {
    let mut p3 = Node::at(3);
    let effects = p3.deliver(5, first(5));
    assert!(effects.contains(&SetTimer(SILENCE, exactly(ms(300)))));
    p3.pass(ms(200));
    assert_eq!(p3.fire(SILENCE), [SetTimer(SILENCE, exactly(ms(100)))], "not yet");
    p3.pass(ms(100));
    let effects = p3.fire(SILENCE);
    let reason = Reason::Silent(id(5), ms(300));
    assert_eq!(news(&effects), [Event::Electing(reason)]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p4_a_member_that_slept_itself_does_not_blame_the_leader() {
    let mut p3 = following(5);
    p3.pass(ms(5_000));
    assert_eq!(p3.fire(SILENCE), [SetTimer(SILENCE, exactly(ms(100)))]);
    p3.deliver(5, heartbeat(1, 1));
    p3.pass(ms(100));
    assert_eq!(said(p3.fire(SILENCE)), [], "the heartbeat was there all along");
    assert_eq!(coordinator(&p3), Some(id(5)));
}

#[test]
fn p4_a_broken_connection_shortens_the_wait() {
    let mut p3 = following(5);
    assert_eq!(p3.input(Input::Hint(id(4), Hint::Refused)), [], "that is not the leader");
    let hint = Input::Hint(id(5), Hint::Closed);
    assert_eq!(p3.input(hint), [SetTimer(SILENCE, exactly(ms(150)))]);
    p3.pass(ms(150));
    let reason = Reason::Broken(id(5), ms(150));
    assert_eq!(said(p3.fire(SILENCE)), [Event::Electing(reason)]);
    assert_eq!(p3.input(hint), [], "no member leads");
}

#[test]
fn p4_a_heartbeat_undoes_the_hint() {
    let mut p3 = following(5);
    p3.input(Input::Hint(id(5), Hint::Closed));
    p3.pass(ms(100));
    assert!(p3.deliver(5, heartbeat(1, 1)).contains(&SetTimer(SILENCE, exactly(ms(300)))));
    p3.pass(ms(150));
    assert_eq!(said(p3.fire(SILENCE)), []);
}

#[test]
fn p4_a_leader_that_gave_up_and_named_no_successor_is_replaced_by_election() {
    let mut p3 = following(5);
    let effects = p3.deliver(5, yields(1, None, false));
    assert_eq!(news(&effects), [Event::Electing(Reason::Resigned(id(5)))]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p4_the_one_that_was_named_asks_at_once_with_its_permit() {
    let mut named = following(5);
    let effects = named.deliver(5, yields(1, Some(3), false));
    assert_eq!(news(&effects), [Event::Campaigning(term(2))]);
    let permit = Some(Permit { leader: id(5), term: term(1), generation: 0 });
    assert_eq!(sent(effects), to_all(ask(2, Position::new(1, 1), false, permit)));
}

#[test]
fn p5_a_leader_whose_lease_ran_out_holds_an_election() {
    let mut p3 = leading(config(), &[1, 2]);
    p3.pass(ms(500));
    let effects = p3.fire(LAPSE);
    let lost = Event::Lost(term(1), Loss::Lapsed);
    assert_eq!(news(&effects), [lost, Event::Electing(Reason::Lapsed)]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p5_a_lease_that_runs_out_on_the_way_to_a_higher_term_calls_an_election_too() {
    let mut p3 = leading(config(), &[1, 2]);
    let refuse = log::Msg::Refuse { term: term(1), promised: term(7) };
    assert_eq!(said(p3.deliver(5, Msg::Log(refuse))), [Event::Campaigning(term(8))]);
    assert_eq!(p3.process.serving(p3.now), Some(term(1)), "it leads on meanwhile");
    p3.pass(ms(500));
    let lost = Event::Lost(term(1), Loss::Lapsed);
    assert_eq!(said(p3.fire(LAPSE)), [lost, Event::Electing(Reason::Lapsed)]);
}

#[test]
fn p5_a_leader_that_is_refused_goes_on_in_a_higher_term() {
    let mut p3 = leading(config(), &[1, 2]);
    let refuse = log::Msg::Refuse { term: term(1), promised: term(7) };
    p3.deliver(5, Msg::Log(refuse));
    for voter in [1, 2] {
        p3.deliver(voter, answer(voter, 8, false, YES));
    }
    assert_eq!(p3.process.serving(p3.now), None, "before it asks for votes (S4)");
    assert_eq!(p3.process.log.asks(), Some((term(8), true)), "and holds no election");
}
