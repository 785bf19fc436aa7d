//! Data folders.

use super::*;

const OTHER: Birth = Birth::new(77);

fn joined(one: &One) -> Vec<(Position, NodeId, Birth)> {
    let joined = |entry: &Arc<Entry<u8>>| match entry.payload {
        Payload::Joined { member, birth } => Some((entry.position, member, birth)),
        _ => None,
    };
    one.log.whole().unwrap().tail.iter().filter_map(joined).collect()
}

/// A leader of three, voted for by P2, that has admitted P3.
fn leader() -> One {
    let mut one = One::new(1);
    one.elect(2);
    one.ack(2);
    one.ack(3);
    one.fire(Timer::Write);
    one.ack(2);
    assert_eq!(one.log.roster().unwrap().births.len(), 3);
    one
}

#[test]
fn g10_an_emptied_folder_gets_another_birth() {
    let first = One::new(1);
    let mut later = One::new(1);
    later.pass(ms(1));
    later.log = Log::default();
    later.call(|log, cx| log.on_start(None, cx));
    assert!(first.log.birth() != later.log.birth());
    let before = later.log.birth();
    later.restart();
    assert_eq!(later.log.birth(), before);
}

#[test]
fn g10_an_ack_of_an_unknown_folder_counts_only_after_others_have_committed_it() {
    let mut one = One::new(1);
    one.elect(2);
    let effects = one.ack(3);
    assert!(said(&effects).contains(&Output::Joined(id(3))));
    one.fire(Timer::Write);
    one.ack(3);
    assert_eq!((one.log.commit(), one.log.serving(one.now)), (Position::ZERO, None));
    assert_eq!(joined(&one), [(at(1, 2), id(3), Birth::new(1))]);
    one.ack(2);
    assert_eq!(one.log.commit(), at(1, 2));
    one.propose(5);
    one.fire(Timer::Write);
    one.ack(3);
    assert_eq!(one.log.commit(), at(1, 3));
}

#[test]
fn g10_an_emptied_folder_counts_for_nothing_until_it_has_joined() {
    let mut one = leader();
    one.propose(5);
    one.fire(Timer::Write);
    one.pass(ms(10));
    let emptied = |one: &One| Msg::Ack(Ack { birth: OTHER, ..one.ack_of() });
    let msg = emptied(&one);
    one.get(3, msg);
    one.fire(Timer::Write);
    let msg = emptied(&one);
    one.get(3, msg);
    assert_eq!(one.log.commit(), at(1, 2));
    assert_eq!(joined(&one).last(), Some(&(at(1, 4), id(3), OTHER)));
    // Nor does the old one while that is under way.
    one.ack(3);
    assert_eq!(one.log.commit(), at(1, 2));
    one.ack(2);
    assert_eq!(one.log.commit(), at(1, 4));
    assert_eq!(one.log.roster().unwrap().births[&id(3)], OTHER);
}

#[test]
fn g10_two_folders_of_one_member_at_once_count_for_nothing() {
    let mut one = leader();
    one.propose(5);
    one.fire(Timer::Write);
    for birth in [OTHER, Birth::new(1), OTHER, Birth::new(1)] {
        one.pass(ms(10));
        let ack = Ack { birth, ..one.ack_of() };
        one.get(3, Msg::Ack(ack));
        one.fire(Timer::Write);
        assert_eq!(one.log.commit(), at(1, 2));
    }
}

#[test]
fn g10_a_vote_of_another_folder_does_not_count() {
    let mut one = leader();
    one.pass(ms(600));
    one.fire(Timer::Lapse);
    one.campaign();
    let vote = |birth| Msg::Vote { term: Term::new(2), sure: false, answer: YES, birth };
    one.get(3, vote(OTHER));
    assert_eq!(asks_sure(&one.log), None);
    one.get(3, vote(Birth::new(1)));
    assert_eq!(asks_sure(&one.log), Some(Term::new(2)));
    one.get(3, Msg::Vote { term: Term::new(2), sure: true, answer: YES, birth: OTHER });
    assert_eq!(one.log.leads(), None);
}

#[test]
fn g10_a_birth_in_an_uncommitted_entry_is_known_too() {
    let mut one = One::new(1);
    let payload = Payload::Joined { member: id(3), birth: OTHER };
    let entry = Arc::new(Entry { position: at(1, 1), payload });
    let beat = beat(1, at(1, 1), 0);
    one.get(2, Msg::Append { beat, prev: Position::ZERO, entries: vec![entry].into() });
    assert!(one.log.counts_vote(id(3), OTHER) && !one.log.counts_vote(id(3), Birth::new(1)));
    assert!(one.log.counts_vote(id(2), Birth::new(1)));
}

#[test]
fn g10_an_emptied_member_does_not_campaign_once_it_knows() {
    let mut one = One::new(1);
    let payload = Payload::Joined { member: id(1), birth: OTHER };
    let entry = Arc::new(Entry { position: at(1, 1), payload });
    let beat = beat(1, at(1, 1), 0);
    one.get(2, Msg::Append { beat, prev: Position::ZERO, entries: vec![entry].into() });
    one.pass(ms(600));
    assert!(said(&one.campaign()).contains(&Output::Stuck {
        heard: 0,
        needed: 2,
        may_probe: false
    }));
}

#[test]
fn g10_members_without_logs_give_the_others_a_round_to_object() {
    let mut one = One::new(1);
    one.campaign();
    let vote = |answer| Msg::Vote { term: Term::new(1), sure: false, answer, birth: Birth::new(1) };
    one.get(2, vote(YES));
    assert_eq!(asks_sure(&one.log), None);
    one.get(3, vote(Answer::Behind { last: at(4, 4) }));
    assert_eq!(asks_sure(&one.log), None);
    // All have answered and none objects.
    let mut one = One::new(1);
    one.campaign();
    one.get(2, vote(YES));
    one.get(3, vote(YES));
    assert_eq!(asks_sure(&one.log), Some(Term::new(1)));
}

#[test]
fn g10_the_votes_that_made_a_leader_are_enough_to_commit() {
    // A log whose births are not known to be committed.
    let mut one = One::new(1);
    let payload = Payload::Joined { member: id(2), birth: Birth::new(1) };
    let entry = Arc::new(Entry { position: at(1, 1), payload });
    let beat = beat(1, at(1, 1), 0);
    one.get(3, Msg::Append { beat, prev: Position::ZERO, entries: vec![entry].into() });
    one.pass(ms(600));
    one.elect(2);
    one.ack(2);
    assert_eq!(one.log.commit(), at(2, 2));
}
