//! Members come and go.

use super::*;
use crate::{Body, Change, ChangeError, Members, Quorum, Roster, Saved, Suffrage};

fn founders(numbers: std::ops::RangeInclusive<u32>) -> Option<Arc<Members>> {
    Some(Arc::new(Members::founded(numbers.map(|number| (id(number), Arc::from(""))))))
}

/// A member of five that can be reached, of which the first three vote.
fn of_three(number: u32) -> One {
    One::of(5, number, Config { founders: founders(1..=3), ..config() })
}

fn add(number: u32) -> Change {
    let address = format!("host-{number}").into();
    Change::Add { id: id(number), address, learner: false, replaces: None }
}

impl One {
    fn change(&mut self, change: &Change) -> Result<u64, ChangeError> {
        let mut result = Ok(0);
        self.call(|log, cx| result = log.change(change, false, cx));
        self.fire(Timer::Write);
        result
    }

    fn list(&self) -> Members {
        (**self.log.members(&self.config).unwrap()).clone()
    }

    fn suffrage(&self, number: u32) -> Option<Suffrage> {
        self.list().seats.get(&id(number)).map(|seat| seat.suffrage)
    }

    /// All of these acknowledge everything, until nothing is left to write.
    fn settle(&mut self, from: &[u32]) -> Fx {
        let mut all = Vec::new();
        for _ in 0..4 {
            for follower in from {
                all.extend(self.ack(*follower));
                all.extend(self.fire(Timer::Write));
            }
        }
        all
    }

    /// A list comes as an entry of the leader P2, after a position.
    fn listed(&mut self, term: u64, prev: Position, list: Members) -> Fx {
        let at = at(term, prev.index.number() + 1);
        let entry = Arc::new(Entry { position: at, payload: Payload::Members(Arc::new(list)) });
        self.get(2, Msg::Append { beat: beat(term, at, 0), prev, entries: vec![entry].into() })
    }
}

/// P1 leads P2 and P3 and serves.
fn leader() -> One {
    let mut one = of_three(1);
    one.elect(2);
    one.settle(&[2, 3]);
    assert!(one.log.serving(one.now).is_some());
    one
}

fn asked(effects: &Fx) -> Vec<u32> {
    let asks = |(to, msg)| matches!(msg, Msg::RequestVote { .. }).then_some(to);
    sent(effects).into_iter().filter_map(asks).collect()
}

#[test]
fn g11_only_the_voters_of_its_list_are_asked_and_count() {
    let mut one = of_three(1);
    assert_eq!(asked(&one.campaign()), [2, 3]);
    one.fire(Timer::Ask);
    let vote = |sure| Msg::Vote { term: Term::new(1), sure, answer: YES, birth: Birth::new(1) };
    one.get(4, vote(false));
    one.get(5, vote(false));
    assert_eq!(asks_sure(&one.log), None);
    one.get(2, vote(false));
    assert_eq!(asks_sure(&one.log), Some(Term::new(1)));
    one.get(4, vote(true));
    one.get(5, vote(true));
    assert_eq!(one.log.leads(), None);
    one.get(2, vote(true));
    assert_eq!(one.log.leads(), Some(Term::new(1)));
}

#[test]
fn g11_the_newest_list_counts_before_it_is_committed_and_not_after_it_is_dropped() {
    let mut one = of_three(1);
    let five = (*founders(1..=5).unwrap()).clone();
    let effects = one.listed(1, Position::ZERO, Members { version: 1, ..five });
    assert!(matches!(&said(&effects)[..], [.., Output::Members { committed: false, .. }]));
    assert_eq!(one.log.needed(&one.group, &one.config), 3);
    one.pass(ms(600));
    assert_eq!(asked(&one.campaign()), [2, 3, 4, 5]);
    // A leader of a later term does not have that entry.
    let effects = one.append(3, beat(3, at(3, 1), 0), Position::ZERO, &[7]);
    assert!(said(&effects).iter().any(|output| matches!(
        output,
        Output::Members { members, committed: true } if members.version == 0
    )));
    assert_eq!(one.log.needed(&one.group, &one.config), 2);
    one.pass(ms(600));
    assert_eq!(asked(&one.campaign()), [2, 3]);
}

#[test]
fn g11_a_member_that_does_not_vote_by_its_own_list_does_not_campaign() {
    let mut one = of_three(4);
    assert!(said(&one.campaign()).contains(&Output::Stuck {
        heard: 0,
        needed: 2,
        may_probe: false
    }));
    let joins = Config { founders: Some(Arc::default()), ..config() };
    let mut one = One::of(5, 5, joins);
    assert!(said(&one.campaign()).contains(&Output::Stuck {
        heard: 0,
        needed: 1,
        may_probe: false
    }));
    assert!(!one.log.campaigns());
}

/// P2 was removed and begins again with an empty folder. P1 has been down since before the first entry, and by
/// the list that the cluster was founded with it needs one of P2 and P3.
#[test]
fn g11_a_member_that_joins_does_not_vote_before_its_log_names_its_folder() {
    let ask =
        |last| Msg::RequestVote { term: Term::new(9), last, sure: true, permit: None, ended: None };
    let votes = |effects: &Fx| sent(effects).iter().any(|(_, msg)| matches!(msg, Msg::Vote { .. }));
    let mut one = One::of(5, 2, Config { founders: Some(Arc::default()), ..config() });
    assert!(!votes(&one.get(1, ask(Position::ZERO))));
    // It learns, by the log of P3 so far.
    let mut list = (*founders(1..=3).unwrap()).clone();
    list.version = 2;
    list.seats.get_mut(&id(2)).unwrap().suffrage = Suffrage::Joining;
    let entry = |index, payload| Arc::new(Entry { position: at(1, index), payload });
    let first = entry(1, Payload::Members(Arc::new(list)));
    let append = |prev, entry: Arc<Entry<u8>>| Msg::Append {
        beat: beat(1, entry.position, 0),
        prev,
        entries: vec![entry].into(),
    };
    one.get(3, append(Position::ZERO, first));
    one.fire(Timer::Write);
    one.pass(ms(600));
    assert!(!votes(&one.get(1, ask(at(1, 5)))));
    // A leader that promotes it has admitted its folder before, and may need its vote to commit that.
    let birth = one.log.hard().birth;
    one.get(3, append(at(1, 1), entry(2, Payload::Joined { member: id(2), birth })));
    one.fire(Timer::Write);
    one.pass(ms(600));
    assert!(votes(&one.get(1, ask(at(1, 5)))));
}

#[test]
fn g11_a_candidate_that_finds_itself_removed_in_a_newer_log_does_not_win() {
    let mut one = of_three(1);
    one.campaign();
    let behind = Answer::Behind { last: at(2, 1) };
    let (term, birth) = (Term::new(1), Birth::new(1));
    one.get(2, Msg::Vote { term, sure: false, answer: behind, birth });
    let without_me = (*founders(2..=3).unwrap()).clone();
    let payload = Payload::Members(Arc::new(Members { version: 1, ..without_me }));
    let entry = Arc::new(Entry { position: at(2, 1), payload });
    let body = Body::Entries { prev: Position::ZERO, entries: vec![entry].into() };
    one.get(2, Msg::Supply { beat: None, last: at(2, 1), body });
    for _ in 0..3 {
        for sure in [false, true] {
            for term in 1..5 {
                let msg = Msg::Vote { term: Term::new(term), sure, answer: YES, birth };
                one.get(2, msg.clone());
                one.get(3, msg);
            }
        }
        one.fire(Timer::Ask);
    }
    assert_eq!((one.log.leads(), asks_sure(&one.log)), (None, None));
}

#[test]
fn g11_a_voter_answers_every_process_that_asks() {
    let mut one = of_three(1);
    assert_eq!(one.asked(5, 1, Position::ZERO, true), YES);
}

#[test]
fn g12_only_a_leader_with_a_committed_entry_of_its_term_changes_the_list() {
    let mut one = of_three(1);
    assert_eq!(one.change(&add(4)), Err(ChangeError::NotServing));
    one.elect(2);
    assert_eq!(one.change(&add(4)), Err(ChangeError::NotServing));
    one.ack(2);
    assert_eq!(one.change(&add(4)), Ok(1));
}

#[test]
fn g12_one_change_at_a_time() {
    let mut one = leader();
    assert_eq!(one.change(&add(4)), Ok(1));
    assert_eq!(one.change(&add(5)), Err(ChangeError::Busy));
    assert_eq!(one.change(&add(4)), Ok(1), "it is so already");
    one.settle(&[2]);
    assert_eq!(one.change(&add(5)), Ok(2));
}

#[test]
fn g12_a_hand_over_and_a_change_exclude_each_other() {
    let mut one = leader();
    one.input(Input::HandOver { to: id(2), appointed: false });
    one.propose(1);
    one.get(2, Msg::Claim { term: Term::new(2) });
    assert_eq!(one.change(&add(4)), Err(ChangeError::Busy));
}

#[test]
fn g12_entries_and_leases_count_by_the_new_list_at_once() {
    // Of one member, two: the second counts from the step in which it is promoted.
    let mut one = One::of(2, 1, Config { founders: founders(1..=1), ..config() });
    one.campaign();
    one.fire(Timer::Ask);
    one.fire(Timer::Write);
    assert!(one.log.serving(one.now).is_some());
    assert_eq!(one.change(&add(2)), Ok(1));
    assert!(!one.log.is_changing(), "one of one is enough");
    one.ack(2);
    one.fire(Timer::Write);
    one.ack(2);
    assert_eq!(one.suffrage(2), Some(Suffrage::Voter));
    one.fire(Timer::Write);
    assert!(one.log.is_changing(), "one of two is not");
    one.pass(ms(501));
    assert_eq!(one.log.serving(one.now), None, "nor is its own lease");
    let mut one = leader();
    one.change(&Change::Remove(id(3))).unwrap();
    let last = one.log.last();
    one.get(3, Msg::Ack(one.ack_of()));
    assert!(one.log.commit() < last, "P3 does not count any more");
    one.ack(2);
    assert_eq!(one.log.commit(), last);
}

#[test]
fn g12_a_leader_does_not_remove_itself() {
    let mut one = leader();
    assert_eq!(one.change(&Change::Remove(id(1))), Err(ChangeError::Leads(id(1))));
}

#[test]
fn g12_what_leaves_no_working_majority_is_refused_unless_forced() {
    let mut one = of_three(1);
    one.elect(2);
    one.settle(&[2]);
    let remove = Change::Remove(id(2));
    assert_eq!(one.change(&remove), Err(ChangeError::TooFewWork { working: 1, needed: 2 }));
    assert_eq!(one.change(&Change::Remove(id(3))), Ok(1));
    let mut one = of_three(1);
    one.elect(2);
    one.settle(&[2]);
    one.call(|log, cx| assert_eq!(log.change(&remove, true, cx), Ok(1)));
    assert!(!one.list().contains(id(2)));
}

#[test]
fn g12_only_voters_that_answer_what_is_sent_from_then_on_work_if_that_is_asked() {
    let mut one = leader();
    let asked = one.now + ms(1);
    let remove = Change::Remove(id(2));
    let may = |one: &mut One, since| {
        let mut result = Ok(0);
        one.call(|log, cx| {
            let may = log.may_change(&remove, false, since, cx.here(), cx.config());
            result = may.map(|(list, _)| list.version);
        });
        result
    };
    // P3 has answered within a lease. It may have ended since.
    assert_eq!(may(&mut one, Time::ZERO), Ok(1));
    let too_few = Err(ChangeError::TooFewWork { working: 1, needed: 2 });
    assert_eq!(may(&mut one, asked), too_few);
    let late = one.ack_of();
    one.now = one.now + ms(2);
    one.get(3, Msg::Ack(late));
    assert_eq!(may(&mut one, asked), too_few, "an answer to what was sent before");
    one.settle(&[3]);
    assert_eq!(may(&mut one, asked), Ok(1));
}

#[test]
fn g12_a_leader_hands_over_only_if_it_may_be_removed() {
    let mut one = of_three(1);
    one.elect(2);
    one.settle(&[2]);
    let too_few = Err(ChangeError::TooFewWork { working: 1, needed: 2 });
    assert_eq!(one.change(&Change::Remove(id(1))), too_few);
    one.settle(&[2, 3]);
    assert_eq!(one.change(&Change::Remove(id(1))), Err(ChangeError::Leads(id(1))));
}

#[test]
fn g12_what_makes_no_sense_is_refused() {
    let mut one = leader();
    assert_eq!(one.change(&Change::Remove(id(5))), Err(ChangeError::Unknown(id(5))));
    assert_eq!(one.change(&Change::Promote(id(5))), Err(ChangeError::Unknown(id(5))));
    one.change(&add(4)).unwrap();
    one.settle(&[2]);
    let taken = Change::Add { id: id(5), address: "host-4".into(), learner: true, replaces: None };
    assert_eq!(one.change(&taken), Err(ChangeError::AddressTaken(id(4))));
    let unknown =
        Change::Add { id: id(5), address: "host-5".into(), learner: true, replaces: Some(id(9)) };
    assert_eq!(one.change(&unknown), Err(ChangeError::Unknown(id(9))));
    let mut one = One::of(2, 1, Config { founders: founders(1..=1), ..config() });
    one.campaign();
    one.fire(Timer::Ask);
    one.fire(Timer::Write);
    assert_eq!(one.change(&Change::Remove(id(1))), Err(ChangeError::LastVoter));
    for fixed in [
        Config { durability: Durability::Memory, ..config() },
        Config { quorum: Quorum::None, ..config() },
    ] {
        let mut one = One::of(1, 1, fixed);
        one.campaign();
        one.fire(Timer::Ask);
        one.fire(Timer::Write);
        assert!(one.log.serving(one.now).is_some());
        assert_eq!(one.change(&add(4)), Err(ChangeError::Fixed));
    }
}

#[test]
fn g13_a_learner_counts_for_nothing_until_it_has_caught_up() {
    let mut one = leader();
    one.change(&add(4)).unwrap();
    one.settle(&[2]);
    one.propose(1);
    one.fire(Timer::Write);
    let last = one.log.last();
    // It has that entry, and so has the leader: two of three that vote would be enough.
    one.ack(4);
    one.fire(Timer::Write);
    assert!(one.log.commit() < last);
    assert_eq!(one.suffrage(4), Some(Suffrage::Joining));
    // Its folder is admitted, and it holds what is committed.
    one.settle(&[2, 4]);
    assert_eq!(one.suffrage(4), Some(Suffrage::Voter));
    assert_eq!(one.log.needed(&one.group, &one.config), 3);
}

#[test]
fn g13_a_learner_that_lags_is_not_promoted() {
    let mut one = leader();
    one.change(&add(4)).unwrap();
    one.settle(&[2]);
    for _ in 0..5 {
        let ack = Ack { matched: Index::new(1), holds: false, ..one.ack_of() };
        one.get(4, Msg::Ack(ack));
        one.settle(&[2]);
    }
    assert_eq!(one.suffrage(4), Some(Suffrage::Joining));
    assert!(one.log.roster().unwrap().births.contains_key(&id(4)));
}

#[test]
fn g13_one_that_is_to_stay_a_learner_stays_one_until_it_is_promoted() {
    let mut one = leader();
    let learner =
        Change::Add { id: id(4), address: "host-4".into(), learner: true, replaces: None };
    one.change(&learner).unwrap();
    one.settle(&[2, 4]);
    assert_eq!(one.suffrage(4), Some(Suffrage::Learner));
    assert_eq!(one.log.fits(id(4), one.now, &one.config), Err(crate::Misfit::Learns));
    one.change(&Change::Promote(id(4))).unwrap();
    one.settle(&[2, 4]);
    assert_eq!(one.suffrage(4), Some(Suffrage::Voter));
    assert_eq!(one.change(&learner), Err(ChangeError::Votes(id(4))));
}

#[test]
fn g13_a_learner_that_is_added_again_as_a_voter_or_replaces_another_is_promoted() {
    for replaces in [None, Some(id(3))] {
        let mut one = leader();
        let [learner, voter] = [true, false].map(|learner| {
            let replaces = replaces.filter(|_| !learner);
            Change::Add { id: id(4), address: "host-4".into(), learner, replaces }
        });
        one.change(&learner).unwrap();
        one.settle(&[2, 4]);
        one.change(&voter).unwrap();
        one.settle(&[2, 3, 4]);
        assert_eq!(one.suffrage(4), Some(Suffrage::Voter));
        assert_eq!(one.suffrage(3).is_none(), replaces.is_some());
    }
}

#[test]
fn g13_one_that_waits_to_vote_can_be_told_to_stay_a_learner() {
    let mut one = leader();
    one.change(&add(4)).unwrap();
    one.settle(&[2]);
    let learner =
        Change::Add { id: id(4), address: "host-4".into(), learner: true, replaces: None };
    one.change(&learner).unwrap();
    one.settle(&[2, 4]);
    assert_eq!(one.suffrage(4), Some(Suffrage::Learner));
}

#[test]
fn g13_a_member_that_is_replaced_leaves_when_the_other_votes() {
    let mut one = leader();
    let replace =
        Change::Add { id: id(4), address: "host-4".into(), learner: false, replaces: Some(id(3)) };
    one.change(&replace).unwrap();
    one.settle(&[2, 3]);
    assert_eq!(one.suffrage(3), Some(Suffrage::Voter));
    let effects = one.settle(&[2, 3, 4]);
    let voters: Vec<u32> = one.list().voters().map(NodeId::number).collect();
    assert_eq!(voters, [1, 2, 4]);
    assert!(sent(&effects).contains(&(3, Msg::Removed { birth: Birth::new(1) })));
}

#[test]
fn g13_a_leader_that_is_replaced_hands_over_first() {
    let mut one = leader();
    let replace =
        Change::Add { id: id(4), address: "host-4".into(), learner: false, replaces: Some(id(1)) };
    one.change(&replace).unwrap();
    let effects = one.settle(&[2, 3, 4]);
    assert!(said(&effects).contains(&Output::MustHandOver));
    assert!(one.list().is_voter(id(1)) && one.list().is_voter(id(4)));
}

#[test]
fn g14_a_removed_member_is_told_and_does_nothing_any_more() {
    let mut one = leader();
    one.change(&Change::Remove(id(3))).unwrap();
    assert!(!sent(&one.settle(&[])).iter().any(|(_, msg)| matches!(msg, Msg::Removed { .. })));
    let effects = one.settle(&[2]);
    assert!(sent(&effects).contains(&(3, Msg::Removed { birth: Birth::new(1) })));
    // It did not hear that, and asks for votes.
    one.pass(ms(600));
    let effects = one.get(
        3,
        Msg::RequestVote {
            term: Term::new(9),
            last: Position::ZERO,
            sure: false,
            permit: None,
            ended: None,
        },
    );
    assert!(sent(&effects).contains(&(3, Msg::Removed { birth: Birth::new(1) })));

    let mut gone = of_three(3);
    gone.get(1, Msg::Removed { birth: Birth::new(1) });
    assert!(!gone.log.is_removed(), "that is another folder");
    gone.campaign();
    let birth = gone.log.birth();
    assert_eq!(said(&gone.get(1, Msg::Removed { birth })), [Output::Removed]);
    assert!(gone.log.is_removed() && !gone.log.campaigns());
    assert!(gone.campaign().is_empty());
    assert!(gone.beat(1, beat(1, at(1, 1), 1)).is_empty());
}

#[test]
fn g14_a_member_learns_of_its_removal_from_its_own_log() {
    let mut one = of_three(3);
    let birth = one.log.birth();
    let mut list = (*founders(1..=2).unwrap()).clone();
    list.version = 1;
    list.removed.insert(id(3), birth);
    one.listed(1, Position::ZERO, list);
    assert!(!one.log.is_removed(), "it is not committed");
    let effects = one.beat(2, beat(1, at(1, 1), 1));
    assert!(said(&effects).contains(&Output::Removed));
    one.restart();
    assert!(one.log.is_removed());
}

#[test]
fn g14_one_that_was_removed_can_come_back_with_another_folder() {
    let mut one = leader();
    one.change(&Change::Remove(id(3))).unwrap();
    one.settle(&[2]);
    assert_eq!(one.list().removed.get(&id(3)), Some(&Birth::new(1)));
    one.change(&add(3)).unwrap();
    one.settle(&[2]);
    assert!(one.list().removed.is_empty());
    for _ in 0..3 {
        let ack = Ack { birth: Birth::new(5), ..one.ack_of() };
        one.get(3, Msg::Ack(ack));
        one.fire(Timer::Write);
        one.settle(&[2]);
    }
    assert_eq!(one.suffrage(3), Some(Suffrage::Voter));
    assert_eq!(one.log.roster().unwrap().birth(id(3)), Some(Birth::new(5)));
}

#[test]
fn g11_a_restart_and_a_snapshot_keep_the_list() {
    let mut one = leader();
    one.change(&add(4)).unwrap();
    one.settle(&[2]);
    let list = one.list();
    let Saved::Whole { roster, .. } = one.log.durable().log else { panic!() };
    assert_eq!(roster.members.as_deref(), Some(&list));
    one.restart();
    assert_eq!(one.list(), list);

    let mut other = of_three(3);
    other.beat(2, beat(1, at(1, 9), 9));
    let roster = Box::new(Roster { members: Some(Arc::new(list.clone())), ..roster });
    let body = Body::Parts { at: at(1, 9), roster, from: 0, parts: vec![4], next: None };
    let last = at(1, 9);
    let effects = other.get(2, Msg::Supply { beat: Some(beat(1, last, 9)), last, body });
    assert!(said(&effects).iter().any(|output| matches!(
        output,
        Output::Members { members, committed: true } if **members == list
    )));
    assert_eq!(other.list(), list);
}

#[test]
fn g11_the_first_committed_entry_names_the_cluster_for_ever() {
    let mut one = leader();
    let config = one.config.clone();
    let named = one.log.cluster(&config).unwrap();
    one.change(&add(4)).unwrap();
    one.settle(&[2]);
    one.restart();
    assert_eq!(one.log.cluster(&config), Some(named), "it is on the disk");
    let others = Config { durability: Durability::Memory, ..config };
    assert_eq!(one.log.cluster(&others), None, "without a disk there may be several first entries");

    // An entry that is not committed names nothing; another founding gives another id.
    let founded = |birth: u64, committed: u64| {
        let mut other = of_three(3);
        let payload = Payload::Begin { leader: id(2), births: vec![(id(2), Birth::new(birth))] };
        let entry = Arc::new(Entry { position: at(1, 1), payload });
        let (beat, prev) = (beat(1, at(1, 1), committed), Position::ZERO);
        other.get(2, Msg::Append { beat, prev, entries: vec![entry].into() });
        other.log.cluster(&other.config)
    };
    assert_eq!(founded(1, 0), None);
    assert!(founded(1, 1).is_some() && founded(1, 1) != founded(2, 1));
    assert_eq!(founded(1, 1), founded(1, 1));
}
