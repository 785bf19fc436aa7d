//! One test for each rule, and more where a rule has corners.
//!
//! Mostly seen from P3 of 1 to 5, with a bully election. Three must agree.

use super::*;
use crate::config::Quorum;
use crate::event::Decline;
use crate::mandate::{Sight, Version};
use crate::ranks::Ranks;
use crate::status::ClockStatus;
use crate::tests::{Fixture, config, exactly, id, ms, said, sent};
use bellwether_algorithms::election::{any, bully};
use bellwether_core::Effect::{CancelTimer, Emit, Send, SetTimer};
use bellwether_core::Group;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

type Node = Fixture<Member>;
type Letter = Msg;

const ANSWER: Timer = Timer::Election(any::Timer::Bully(bully::Timer::Answer));
const SILENCE: Timer = Timer::Silence;
const PATIENCE: Timer = Timer::Patience;
const HOLD_OFF: Timer = Timer::HoldOff;
const LAPSE: Timer = Timer::Mandate(mandate::Timer::Lapse);

const ELECTION: Letter = Msg::Election(any::Msg::Bully(bully::Msg::Election));
const COORDINATOR: Letter = Msg::Election(any::Msg::Bully(bully::Msg::Coordinator));

fn epoch(number: u64) -> Epoch {
    Epoch::new(number)
}

fn prepare(number: u64) -> Letter {
    Msg::Mandate(mandate::Msg::Prepare { epoch: epoch(number), version: Version::default() })
}

/// From one that has followed in epoch 1.
fn prepare_after_one(number: u64) -> Letter {
    let version = Version { epoch: epoch(1), sequence: 0 };
    Msg::Mandate(mandate::Msg::Prepare { epoch: epoch(number), version })
}

fn promise(number: u64) -> Letter {
    let (epoch, version) = (epoch(number), Version::default());
    Msg::Mandate(mandate::Msg::Promise { epoch, version, copy: None })
}

fn wait(number: u64, leader: u32) -> Letter {
    Msg::Mandate(mandate::Msg::Wait { epoch: epoch(number), leader: Some(id(leader)) })
}

fn ack(number: u64, sent: Time, clock: Time) -> Letter {
    Msg::Mandate(mandate::Msg::Ack { epoch: epoch(number), sent, clock, held: 0 })
}

fn claim() -> Letter {
    Msg::Mandate(mandate::Msg::Claim { epoch: epoch(2) })
}

fn spread(number: u64, appointed: bool) -> Letter {
    let (epoch, sent) = (epoch(number), Time::ZERO);
    let version = Version { epoch, sequence: 0 };
    let (copy, start) = (Arc::default(), None);
    Msg::Mandate(mandate::Msg::Spread { epoch, sent, version, copy, appointed, start })
}

fn beat(number: u64, view: Vec<Sight>) -> Letter {
    let (epoch, sent) = (epoch(number), Time::ZERO);
    Msg::Mandate(mandate::Msg::Beat { epoch, sent, appointed: false, view, sequence: 0 })
}

fn release(number: u64, to: Option<u32>, appointed: bool) -> Letter {
    let to = to.map(id);
    Msg::Mandate(mandate::Msg::Release { epoch: epoch(number), to, appointed })
}

/// To all others of P3.
fn to_all(letter: Letter) -> Vec<(NodeId, Letter)> {
    [1, 2, 4, 5].map(|to| (id(to), letter.clone())).to_vec()
}

fn patiently() -> std::ops::Range<Duration> {
    let patience = config().patience;
    patience..2 * patience
}

fn preempting(preempt: Preempt) -> Config {
    Config { preempt, ..config() }
}

fn with_witness(number: u32) -> Config {
    let group = Group::numbered(5).unwrap();
    let ranks = Ranks::new(&group, BTreeMap::new(), BTreeSet::from([id(number)]));
    Config { ranks, ..config() }
}

fn started(number: u32, config: Config) -> Node {
    let mut node = Node::blank(number, config);
    node.start(None);
    node
}

/// P3 following that leader in epoch 1.
fn following(leader: u32) -> Node {
    let mut p3 = Node::at(3);
    let heard = said(p3.deliver(leader, spread(1, false)));
    assert_eq!(heard[0], Event::Follows(id(leader), epoch(1)));
    p3
}

/// P3 leading in epoch 1, acknowledged by these just now.
fn leading(config: Config, followers: &[u32]) -> Node {
    let mut p3 = started(3, config);
    p3.input(Input::Elect);
    p3.fire(ANSWER);
    win(&mut p3, 1, followers);
    p3
}

/// P1 and P2 promise, and these acknowledge.
fn win(p3: &mut Node, number: u64, followers: &[u32]) {
    p3.deliver(1, promise(number));
    p3.deliver(2, promise(number));
    acknowledged(p3, number, followers);
    assert_eq!(p3.process.holds(p3.now), Some(epoch(number)));
}

fn acknowledged(p3: &mut Node, number: u64, followers: &[u32]) {
    for follower in followers {
        p3.deliver(*follower, ack(number, p3.now, p3.now));
    }
}

/// Ten seconds of heartbeats that P1, P2 and P4 answer with clocks that gain so much.
fn answered_by_clocks(p3: &mut Node, gains_ppm: [(u32, u64); 3]) -> Vec<Event> {
    let mut heard = Vec::new();
    for tick in 0..100 {
        p3.pass(ms(100));
        for (follower, ppm) in gains_ppm {
            let clock = p3.now + Duration::from_micros(tick * ppm / 10);
            heard.extend(said(p3.deliver(follower, ack(1, p3.now, clock))));
        }
    }
    heard
}

fn eligible(node: &Node) -> bool {
    node.process.status(&node.here(), &node.config).eligible
}

fn coordinator(node: &Node) -> Option<NodeId> {
    node.process.status(&node.here(), &node.config).coordinator
}

/// A leader's word on P3's clock.
fn sight(drifts: bool) -> Vec<Sight> {
    let clock = Some(ClockStatus { drifts, ..ClockStatus::default() });
    vec![Sight { member: id(3), heard_ms: Some(1), clock }]
}

#[test]
fn p1_listens_first_and_then_holds_an_election() {
    let mut p3 = Node::blank(3, config());
    assert_eq!(p3.start(None), [SetTimer(PATIENCE, ms(400)..ms(500))]);
    let effects = p3.fire(PATIENCE);
    assert_eq!(said(effects.clone()), [Event::Electing(Reason::Alone)]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p1_who_hears_a_leader_in_time_holds_none() {
    let mut p3 = Node::at(3);
    let effects = p3.deliver(5, spread(1, false));
    assert!(effects.contains(&CancelTimer(PATIENCE)));
    assert_eq!(said(effects), [Event::Follows(id(5), epoch(1))]);
    assert_eq!(p3.fire(PATIENCE), []);
}

#[test]
fn p1_who_comes_back_says_so_at_once() {
    let effects = Node::at(3).recover();
    assert_eq!(said(effects.clone()), [Event::Electing(Reason::Recovered)]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p2_who_is_elected_asks_for_the_mandate() {
    let mut p3 = Node::at(3);
    p3.input(Input::Elect);
    let effects = p3.fire(ANSWER);
    assert_eq!(said(effects.clone()), [Event::Elected(id(3)), Event::Campaigning(epoch(1))]);
    assert_eq!(sent(effects)[2..], to_all(prepare(1)), "after two COORDINATORs");
    p3.deliver(1, promise(1));
    p3.deliver(2, promise(1));
    acknowledged(&mut p3, 1, &[1]);
    let won = p3.deliver(2, ack(1, p3.now, p3.now));
    assert_eq!(said(won), [Event::Won(epoch(1))]);
}

#[test]
fn p2_whoever_elected_another_waits_for_that_one_and_not_for_ever() {
    let mut p3 = Node::at(3);
    let elected = [Emit(Event::Elected(id(5))), SetTimer(PATIENCE, patiently())];
    assert_eq!(p3.deliver(5, COORDINATOR), elected);
    assert_eq!(p3.deliver(5, COORDINATOR), elected[1..], "no news");
    assert_eq!(coordinator(&p3), Some(id(5)));
    assert_eq!(said(p3.fire(PATIENCE)), [Event::Electing(Reason::Absent(id(5)))]);
}

#[test]
fn p2_the_one_that_asks_for_votes_is_given_time() {
    let mut p3 = Node::at(3);
    p3.deliver(5, COORDINATOR);
    let renewed = SetTimer(PATIENCE, patiently());
    assert!(p3.deliver(5, prepare(1)).contains(&renewed));
    assert!(!p3.deliver(4, prepare(2)).contains(&renewed), "P4 is not the one");
}

#[test]
fn p2_without_a_quorum_the_elected_one_leads_at_once() {
    let mut p3 = started(3, Config { quorum: Quorum::None, ..config() });
    p3.input(Input::Elect);
    let events = said(p3.fire(ANSWER));
    assert_eq!(events.last(), Some(&Event::Won(epoch(1))));
}

#[test]
fn p3_a_mandate_counts_more_than_an_election() {
    let mut p3 = following(4);
    assert_eq!(p3.deliver(5, COORDINATOR), [], "P5 was elected, and P4 has the mandate");
    assert_eq!(coordinator(&p3), Some(id(4)));

    let mut waiting = Node::at(3);
    waiting.deliver(5, COORDINATOR);
    waiting.deliver(4, spread(1, false));
    assert_eq!(coordinator(&waiting), Some(id(4)));
    assert_eq!(waiting.fire(PATIENCE), []);
}

#[test]
fn p3_who_campaigns_stops_when_another_has_won() {
    let mut p3 = Node::at(3);
    p3.input(Input::Elect);
    p3.fire(ANSWER);
    let events = said(p3.deliver(4, spread(2, false)));
    assert_eq!(events, [Event::Follows(id(4), epoch(2))]);
    assert_eq!(p3.fire(Timer::Mandate(mandate::Timer::Retry)), []);
}

#[test]
fn p4_a_leader_that_is_silent_too_long_is_suspected() {
    let mut p3 = Node::at(3);
    let effects = p3.deliver(5, spread(1, false));
    assert!(effects.contains(&SetTimer(SILENCE, exactly(ms(300)))));
    p3.pass(ms(200));
    assert_eq!(p3.fire(SILENCE), [SetTimer(SILENCE, exactly(ms(100)))], "not yet");
    p3.pass(ms(100));
    let effects = p3.fire(SILENCE);
    let reason = Reason::Silent(id(5), ms(300));
    assert_eq!(said(effects.clone()), [Event::Electing(reason)]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p4_who_slept_itself_does_not_blame_the_leader() {
    let mut p3 = following(5);
    p3.pass(ms(5_000));
    assert_eq!(p3.fire(SILENCE), [SetTimer(SILENCE, exactly(ms(100)))]);
    p3.deliver(5, beat(1, Vec::new()));
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
    assert_eq!(p3.input(hint), [], "nobody leads");
}

#[test]
fn p4_a_heartbeat_undoes_the_hint() {
    let mut p3 = following(5);
    p3.input(Input::Hint(id(5), Hint::Closed));
    p3.pass(ms(100));
    assert!(p3.deliver(5, beat(1, Vec::new())).contains(&SetTimer(SILENCE, exactly(ms(300)))));
    p3.pass(ms(150));
    assert_eq!(said(p3.fire(SILENCE)), []);
}

#[test]
fn p4_a_leader_that_gave_up_and_named_nobody_is_replaced_by_election() {
    let mut p3 = following(5);
    let effects = p3.deliver(5, release(1, None, false));
    assert_eq!(said(effects.clone()), [Event::Electing(Reason::Resigned(id(5)))]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p4_one_that_was_named_is_waited_for_and_asks_at_once() {
    let mut p3 = following(5);
    let effects = p3.deliver(5, release(1, Some(4), false));
    assert!(effects.contains(&SetTimer(PATIENCE, patiently())));
    assert_eq!((said(effects.clone()), sent(effects)), (vec![], vec![]));
    assert_eq!(coordinator(&p3), Some(id(4)));
    assert_eq!(said(p3.fire(PATIENCE)), [Event::Electing(Reason::Absent(id(4)))]);

    let mut named = following(5);
    let effects = named.deliver(5, release(1, Some(3), false));
    assert_eq!(said(effects.clone()), [Event::Campaigning(epoch(2))]);
    assert_eq!(sent(effects), to_all(prepare_after_one(2)));
}

#[test]
fn p5_a_leader_whose_mandate_ran_out_holds_an_election() {
    let mut p3 = leading(config(), &[1, 2]);
    p3.pass(ms(500));
    let effects = p3.fire(LAPSE);
    let lost = Event::Lost(epoch(1), Loss::Lapsed);
    assert_eq!(said(effects.clone()), [lost, Event::Electing(Reason::Lapsed)]);
    assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
}

#[test]
fn p5_what_runs_out_on_the_way_to_a_higher_epoch_calls_no_election() {
    let mut p3 = leading(config(), &[1, 2]);
    let refuse = mandate::Msg::Refuse { epoch: epoch(1), promised: epoch(7) };
    assert_eq!(said(p3.deliver(5, Msg::Mandate(refuse))), [Event::Campaigning(epoch(8))]);
    p3.pass(ms(500));
    assert_eq!(p3.fire(LAPSE), [Emit(Event::Lost(epoch(1), Loss::Lapsed))]);
}

#[test]
fn p6_a_stronger_follower_takes_over_at_once() {
    let mut p3 = Node::at(3);
    let effects = p3.deliver(2, spread(1, false));
    assert_eq!(
        said(effects.clone()),
        [Event::Follows(id(2), epoch(1)), Event::Campaigning(epoch(2))]
    );
    assert_eq!(sent(effects)[1..], to_all(prepare_after_one(2)), "after the ACK");
    assert_eq!(said(p3.deliver(2, beat(1, Vec::new()))), [], "it follows meanwhile");
    p3.deliver(1, wait(2, 2));
    assert_eq!(p3.deliver(4, wait(2, 2)), [Send(id(2), claim())]);
}

#[test]
fn p6_a_weaker_follower_leaves_its_leader_alone() {
    let effects = Node::at(3).deliver(4, spread(1, false));
    assert_eq!(sent(effects).len(), 1, "the ACK");
}

#[test]
fn p6_after_a_while_if_so_configured() {
    let mut p3 = started(3, preempting(Preempt::After(ms(2_000))));
    let effects = p3.deliver(2, spread(1, false));
    assert!(effects.contains(&SetTimer(HOLD_OFF, exactly(ms(2_000)))));
    assert_eq!(said(effects), [Event::Follows(id(2), epoch(1))]);
    let effects = p3.deliver(2, beat(1, Vec::new()));
    assert!(!effects.iter().any(|effect| matches!(effect, SetTimer(Timer::HoldOff, _))));
    assert_eq!(said(p3.fire(HOLD_OFF)), [Event::Campaigning(epoch(2))]);

    let mut other = started(3, preempting(Preempt::After(ms(2_000))));
    other.deliver(2, spread(1, false));
    assert!(other.deliver(4, spread(2, false)).contains(&CancelTimer(HOLD_OFF)));
    assert_eq!(other.fire(HOLD_OFF), [], "P4 is stronger");
}

#[test]
fn p6_never_if_so_configured() {
    let mut p3 = started(3, preempting(Preempt::Never));
    let effects = p3.deliver(2, spread(1, false));
    assert!(!effects.iter().any(|effect| matches!(effect, SetTimer(Timer::HoldOff, _))));
    assert_eq!(said(effects.clone()), [Event::Follows(id(2), epoch(1))]);
    assert_eq!(sent(effects).len(), 1, "the ACK");
}

#[test]
fn p6_leaves_an_appointed_leader_alone() {
    for preempt in [Preempt::Always, Preempt::After(ms(2_000))] {
        let mut p3 = started(3, preempting(preempt));
        let effects = p3.deliver(2, spread(1, true));
        assert_eq!(said(effects.clone()), [Event::Follows(id(2), epoch(1))]);
        assert_eq!(sent(effects).len(), 1, "the ACK");
        assert_eq!(p3.fire(HOLD_OFF), []);
    }
}

#[test]
fn p6_a_leader_hands_over_to_the_stronger_one_that_claims() {
    let mut p3 = leading(config(), &[1, 2]);
    assert_eq!(p3.deliver(2, claim()), [], "P2 is weaker");
    let effects = p3.deliver(5, claim());
    assert_eq!(said(effects.clone()), [Event::Lost(epoch(1), Loss::HandedOver(id(5)))]);
    assert_eq!(sent(effects), to_all(release(1, Some(5), false)));
    assert_eq!(coordinator(&p3), Some(id(5)));
}

#[test]
fn p6_hands_over_to_the_strongest_that_it_hears_and_not_to_all_in_turn() {
    let mut p3 = leading(config(), &[1, 2, 5]);
    assert_eq!(said(p3.deliver(4, claim())), [Event::Lost(epoch(1), Loss::HandedOver(id(5)))]);
}

#[test]
fn p6_neither_a_witness_nor_a_drifting_member_gets_what_it_claims() {
    assert_eq!(leading(with_witness(5), &[1, 2]).deliver(5, claim()), []);
    let mut p3 = leading(config(), &[1, 2]);
    answered_by_clocks(&mut p3, [(1, 0), (2, 0), (4, 50_000)]);
    assert_eq!(p3.deliver(4, claim()), []);
}

#[test]
fn p6_an_appointed_leader_stays() {
    let mut p3 = following(5);
    p3.deliver(5, release(1, Some(3), true));
    win(&mut p3, 2, &[1, 2]);
    assert_eq!(p3.deliver(5, claim()), []);
    assert_eq!(p3.process.holds(p3.now), Some(epoch(2)));
}

#[test]
fn p7_a_witness_votes_and_follows_and_plays_dead_in_elections() {
    let mut p3 = started(3, with_witness(3));
    assert_eq!(p3.deliver(1, ELECTION), [], "no OK");
    assert_eq!(sent(p3.fire(PATIENCE)), []);
    assert_eq!(sent(p3.deliver(2, prepare(1))), [(id(2), promise(1))]);
    let events = said(p3.deliver(2, spread(1, false)));
    assert_eq!(events, [Event::Follows(id(2), epoch(1))], "though P2 has the lower number");
    p3.pass(ms(300));
    let effects = p3.fire(SILENCE);
    assert_eq!((said(effects.clone()), sent(effects)), (vec![], vec![]));
    let effects = p3.recover();
    assert_eq!((said(effects.clone()), sent(effects)), (vec![], vec![]));
    assert!(!eligible(&p3));
}

#[test]
fn p7_who_is_about_to_stop_hands_over_and_plays_dead() {
    let mut p3 = leading(config(), &[1, 2, 4]);
    let effects = p3.input(Input::Resign);
    assert_eq!(said(effects.clone()), [Event::Lost(epoch(1), Loss::HandedOver(id(4)))]);
    assert_eq!(sent(effects), to_all(release(1, Some(4), false)));
    assert_eq!(p3.deliver(1, ELECTION), []);
    let effects = p3.fire(PATIENCE);
    assert_eq!((said(effects.clone()), sent(effects)), (vec![], vec![]));
    assert_eq!(sent(p3.deliver(4, prepare(2))).len(), 1, "but it votes");
}

#[test]
fn p7_who_is_about_to_stop_takes_nothing_over() {
    let mut p3 = following(5);
    assert_eq!(p3.input(Input::Resign), []);
    let effects = p3.deliver(5, release(1, Some(3), false));
    assert_eq!((said(effects.clone()), sent(effects)), (vec![], vec![]));
    assert_eq!(sent(p3.deliver(2, spread(2, false))).len(), 1, "no take-over either");
}

#[test]
fn p7_a_follower_learns_from_its_leader_that_its_clock_drifts() {
    let mut p3 = following(5);
    p3.deliver(5, beat(1, sight(true)));
    assert!(!eligible(&p3));
    assert_eq!(p3.deliver(1, ELECTION), []);
    assert_eq!(sent(p3.deliver(2, spread(2, false))).len(), 1, "an ACK and no take-over");
    p3.deliver(2, beat(2, sight(false)));
    assert!(eligible(&p3));
    assert_eq!(p3.deliver(1, ELECTION), [], "the leader has just been heard");
    p3.pass(ms(151));
    assert_ne!(p3.deliver(1, ELECTION), []);
}

#[test]
fn p8_steps_down_for_the_strongest_that_it_hears() {
    let mut p3 = leading(config(), &[1, 2, 4]);
    let effects = p3.input(Input::StepDown);
    assert_eq!(said(effects.clone()), [Event::Lost(epoch(1), Loss::HandedOver(id(4)))]);
    assert_eq!(sent(effects), to_all(release(1, Some(4), true)));
    assert_eq!(coordinator(&p3), Some(id(4)));
    assert_eq!(said(p3.fire(PATIENCE)), [Event::Electing(Reason::Absent(id(4)))]);
}

#[test]
fn p8_who_has_not_answered_lately_is_passed_over() {
    let mut p3 = leading(config(), &[1, 2, 4]);
    p3.pass(ms(300));
    acknowledged(&mut p3, 1, &[1, 2]);
    p3.pass(ms(101));
    assert_eq!(said(p3.input(Input::StepDown)), [Event::Lost(epoch(1), Loss::HandedOver(id(2)))]);
}

#[test]
fn p8_transfers_to_the_one_that_is_named() {
    let mut p3 = leading(config(), &[1, 2, 4]);
    let effects = p3.input(Input::Transfer(id(1)));
    assert_eq!(said(effects.clone()), [Event::Lost(epoch(1), Loss::HandedOver(id(1)))]);
    assert_eq!(sent(effects), to_all(release(1, Some(1), true)));
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
    p3.pass(ms(450));
    declined(&mut p3, transfer(1), Decline::Silent(id(1)));
    declined(&mut p3, Input::StepDown, Decline::NobodyElse);
    assert_eq!(p3.process.holds(p3.now), Some(epoch(1)), "it leads on");
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
    let events = answered_by_clocks(&mut p3, [(1, 0), (2, 0), (4, 50_000)]);
    assert!(matches!(events[..], [Event::Drifting { member, .. }] if member == id(4)));
    let declined = Event::Declined(Decline::Drifts(id(4)));
    assert_eq!(said(p3.input(Input::Transfer(id(4)))), [declined]);
    assert_eq!(said(p3.input(Input::StepDown)), [Event::Lost(epoch(1), Loss::HandedOver(id(2)))]);
}

#[test]
fn p8_a_leader_that_finds_its_own_clock_drifting_steps_down() {
    let mut p3 = leading(config(), &[1, 2]);
    let events = answered_by_clocks(&mut p3, [(1, 50_000), (2, 50_000), (4, 50_000)]);
    let handed_over = |to| Event::Lost(epoch(1), Loss::HandedOver(id(to)));
    assert!(
        matches!(&events[..], [Event::Drifting { member, rate_ppb }, lost]
            if *member == id(3) && *rate_ppb < 0 && *lost == handed_over(4)),
        "{events:?}"
    );
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
        assert_eq!(said(effects.clone()), [Event::Electing(Reason::Stuck)]);
        assert_eq!(sent(effects), [(id(4), ELECTION), (id(5), ELECTION)]);
        lives.push(p3.process.election.durable());
    }
    let anew: Vec<bool> = lives.windows(2).map(|pair| pair[0] != pair[1]).collect();
    assert_eq!(anew, [true, false, true, false]);
}
