//! Voters come and go.

use super::*;
use bellwether_log::{Members, Seat, Suffrage};

fn list(voters: &[u32], learners: &[u32]) -> Arc<Members> {
    let mut list = Members::founded(voters.iter().map(|number| (id(*number), Arc::from(""))));
    for number in learners {
        list.seats.insert(id(*number), Seat { suffrage: Suffrage::Learner, ..Seat::voter("") });
    }
    Arc::new(Members { version: 1, ..list })
}

/// P3 follows P5, and both have this list, which is not known to be committed.
fn with(list: Arc<Members>) -> Node {
    let mut p3 = following(5);
    let (prev, payload) = (Position::new(1, 1), Payload::Members(list));
    let entries = Arc::new([Arc::new(Entry { position: Position::new(1, 2), payload })]);
    p3.deliver(5, Msg::Log(log::Msg::Append { beat: beat(1, 2), prev, entries }));
    p3
}

/// P3 follows P5, and P4 votes in its place.
fn replaced() -> Node {
    let mut list = (*list(&[3, 4, 5], &[])).clone();
    list.seats.insert(id(4), Seat { replaces: Some(id(3)), ..Seat::voter("") });
    with(Arc::new(list))
}

fn commit(member: &mut Node) {
    let beat = Heartbeat { commit: Index::new(2), ..beat(1, 2) };
    let (prev, entries) = (beat.last, Arc::new([]));
    member.deliver(5, Msg::Log(log::Msg::Append { beat, prev, entries }));
}

/// To whom it sends messages of an election.
fn electors(effects: Vec<Effect<Member>>) -> Vec<u32> {
    let of_election = |(to, msg): (NodeId, Letter)| match msg {
        Msg::Election(_) => Some(to.number()),
        _ => None,
    };
    sent(effects).into_iter().filter_map(of_election).collect()
}

#[test]
fn p11_an_election_is_held_among_the_voters() {
    assert_eq!(electors(with(list(&[1, 2, 3, 4, 5], &[])).input(Input::Elect)), [4, 5]);
    assert_eq!(electors(with(list(&[2, 3, 5], &[1, 4])).input(Input::Elect)), [5]);
    assert_eq!(electors(with(list(&[1, 2, 3], &[])).input(Input::Elect)), [1, 2]);
}

#[test]
fn p11_a_learner_plays_dead_and_follows() {
    let mut p3 = with(list(&[2, 5], &[3]));
    assert!(electors(p3.input(Input::Elect)).is_empty());
    assert!(electors(p3.deliver(2, ELECTION)).is_empty());
    let mut p3 = with(list(&[2, 5], &[3]));
    p3.pass(ms(1_000));
    assert!(electors(p3.fire(SILENCE)).is_empty());
    assert!(electors(p3.fire(PATIENCE)).is_empty());
}

#[test]
fn p11_what_an_election_says_of_those_who_are_not_in_it_is_ignored() {
    let mut p3 = with(list(&[2, 3, 5], &[]));
    p3.input(Input::Elect);
    assert!(electors(p3.deliver(1, ELECTION)).is_empty());
    assert_eq!(electors(p3.deliver(2, ELECTION)), [2], "it answers a weaker one");
}

#[test]
fn p11_a_member_whose_elections_fail_again_and_again_campaigns_by_itself() {
    let mut p3 = with(list(&[2, 3, 5], &[]));
    p3.pass(ms(1_000));
    p3.input(Input::Elect);
    let mut campaigned = Vec::new();
    for _ in 0..3 {
        p3.pass(ms(10_000));
        campaigned.push(news(&p3.fire(PATIENCE)).contains(&Event::Campaigning(term(2))));
    }
    assert_eq!(campaigned, [false, false, true]);
    // Where members have never changed an election is all that counts.
    let mut p3 = following(5);
    p3.pass(ms(1_000));
    p3.input(Input::Elect);
    for _ in 0..5 {
        p3.pass(ms(10_000));
        assert!(!news(&p3.fire(PATIENCE)).contains(&Event::Campaigning(term(2))));
    }
}

#[test]
fn p11_a_member_that_is_to_leave_plays_dead_once_that_is_committed() {
    let mut p3 = replaced();
    assert_eq!(electors(p3.input(Input::Elect)), [4, 5], "nobody else may know the list yet");
    let mut p3 = replaced();
    commit(&mut p3);
    assert!(electors(p3.input(Input::Elect)).is_empty());
}

#[test]
fn p11_a_member_that_is_to_leave_campaigns_if_no_other_one_leads() {
    let mut p3 = replaced();
    commit(&mut p3);
    p3.pass(ms(1_000));
    p3.input(Input::Elect);
    let mut campaigned = Vec::new();
    for _ in 0..3 {
        p3.pass(ms(10_000));
        let effects = p3.fire(PATIENCE);
        campaigned.push(news(&effects).contains(&Event::Campaigning(term(2))));
        assert!(electors(effects).is_empty());
    }
    assert_eq!(campaigned, [false, false, true]);
}
