//! Every run of small clusters whose members change, within bounds: a cluster of one grows to three; one of
//! three is replaced. A message may be lost, repeated and late, a member may crash and come back from its
//! disk, and another member campaigns. Learners have their folders admitted and hold the log at the
//! beginning: how they get it is the matter of G5 and G10, which have worlds of their own.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::worlds::{
    CAMPAIGN, CRASH, Flaw, Probe, Wish, id, prove, refute, timed, timeless, without_fetching,
};
use bellwether_check::{Channels, Model};
use bellwether_core::{Group, NodeId};
use bellwether_log::{Members, Payload, Seat, Suffrage};
use std::sync::Arc;

/// These vote, and these learn and are to vote; the last of them replaces a member.
fn list(voters: &[u32], joining: &[u32], replaces: Option<NodeId>) -> Members {
    let mut list = Members::founded(voters.iter().map(|number| (id(*number), Arc::from(""))));
    for number in joining {
        let seat = Seat { suffrage: Suffrage::Joining, address: "".into(), replaces };
        list.seats.insert(id(*number), seat);
    }
    Members { version: 1, ..list }
}

fn world(base: Model<Probe>, size: u32, list: Members, voted: &'static [u32]) -> Model<Probe> {
    let mut model = base;
    model.group = Group::numbered(size).unwrap();
    (model.config.list, model.config.voted) = (Some(Arc::new(list)), voted);
    model.inputs = vec![Vec::new(); size as usize];
    model
}

/// P1 leads alone; P2 and P3 are to vote.
fn growing(base: Model<Probe>) -> Model<Probe> {
    world(base, 3, list(&[1], &[2, 3], None), &[])
}

/// P1 leads P2 and P3; P4 is to vote in the place of P3.
fn replacing(base: Model<Probe>) -> Model<Probe> {
    world(base, 4, list(&[1, 2, 3], &[4], Some(id(3))), &[2])
}

fn with_candidate(mut model: Model<Probe>, number: u32) -> Model<Probe> {
    model.inputs[number as usize - 1] = vec![CAMPAIGN];
    model
}

#[test]
fn one_grows_to_three_while_another_campaigns() {
    let world = || with_candidate(growing(timeless(3)), 2);
    prove("grow, each message once", &Model { channels: Channels::Reorder, ..world() });
    prove("grow", &world());
}

#[test]
fn one_grows_to_three_while_a_member_crashes() {
    let world = with_candidate(growing(timeless(3)), 2);
    prove("grow, crash", &Model { faults: CRASH, ..world });
}

#[test]
fn one_serves_while_one_grows_to_three() {
    prove("grow, clocks", &without_fetching(with_candidate(growing(timed(3, 1)), 2)));
}

#[test]
fn one_of_three_is_replaced_while_another_campaigns() {
    prove("replace", &without_fetching(with_candidate(replacing(timeless(3)), 2)));
}

#[test]
fn one_of_three_is_replaced_while_it_campaigns() {
    let world = with_candidate(replacing(timeless(3)), 3);
    prove("replace, the old one campaigns", &without_fetching(world));
}

/// P4 is made a voter.
fn promoting() -> Model<Probe> {
    without_fetching(with_candidate(world(timeless(3), 4, list(&[1, 2, 3], &[4], None), &[2]), 2))
}

/// P4 votes already, and P3 is removed.
fn leaving() -> Model<Probe> {
    let mut list = list(&[1, 2, 3, 4], &[], None);
    list.seats.get_mut(&id(4)).unwrap().replaces = Some(id(3));
    without_fetching(with_candidate(world(timeless(3), 4, list, &[2, 4]), 2))
}

#[test]
fn one_of_three_is_replaced_while_a_member_crashes() {
    if std::env::var_os("LONG").is_some() {
        prove("promote, crash", &Model { faults: CRASH, ..promoting() });
        prove("remove the replaced one, crash", &Model { faults: CRASH, ..leaving() });
    }
    for (name, world) in [("promote", promoting()), ("remove the replaced one", leaving())] {
        prove(name, &world);
        let mut flawed = Model { faults: CRASH, ..world };
        flawed.config.flaw = Some(Flaw::LosesEntries);
        let breach = refute(name, &flawed);
        assert!(["nothing-lost", "agreement"].contains(&breach), "{name}: {breach}");
    }
}

/// P1 and P4 are a majority of the new list, P2 and P3 of the old one.
#[test]
fn one_of_three_that_is_replaced_by_one_list_loses_something() {
    let mut flawed = without_fetching(with_candidate(replacing(timeless(3)), 2));
    flawed.inputs[0] = vec![Wish::Plant(&[1, 2, 4])];
    let breach = refute("replace by one list", &flawed);
    assert!(["nothing-lost", "agreement"].contains(&breach), "{breach}");
}

/// Three members, and then one: P1.
#[test]
fn two_removed_one_after_the_other_lose_nothing() {
    let mut model = with_candidate(world(timeless(3), 3, list(&[1, 2, 3], &[], None), &[2]), 2);
    model.inputs[0] = vec![Wish::Remove(id(3)), Wish::Remove(id(2))];
    prove("two removals", &model);
}

#[test]
fn two_removed_at_once_lose_something() {
    let mut model = with_candidate(world(timeless(3), 3, list(&[1, 2, 3], &[], None), &[2]), 2);
    model.inputs[0] = vec![Wish::Plant(&[1])];
    let breach = refute("two removals at once", &model);
    assert!(["nothing-lost", "agreement"].contains(&breach), "{breach}");
}

/// P4 led before, and has told only P5 that P5 votes, too. P1 leads since, by the votes of P2 and P3, and
/// removes P4, which campaigns.
fn with_an_older_list(removal: Wish) -> Model<Probe> {
    let mut model = world(timeless(3), 5, list(&[1, 2, 3, 4], &[], None), &[2, 3]);
    let older = Members { version: 2, ..list(&[1, 2, 3, 4, 5], &[], None) };
    model.config.pending = Some((Payload::Members(Arc::new(older)), &[4, 5]));
    model.inputs[0] = vec![removal];
    without_fetching(with_candidate(model, 4))
}

#[test]
fn a_change_after_an_entry_of_the_own_term_loses_nothing() {
    prove("2015", &with_an_older_list(Wish::Remove(id(4))));
}

/// Ongaro's correction of 2015.
#[test]
fn a_change_before_an_entry_of_the_own_term_loses_something() {
    let breach = refute("2015, flawed", &with_an_older_list(Wish::Plant(&[1, 2, 3])));
    assert!(["nothing-lost", "agreement"].contains(&breach), "{breach}");
}

#[test]
fn a_learner_that_counts_loses_something() {
    let mut list = list(&[1, 2, 3], &[4], None);
    list.seats.get_mut(&id(4)).unwrap().suffrage = Suffrage::Learner;
    let mut model = with_candidate(world(timeless(3), 4, list, &[2]), 2);
    prove("a learner", &model);
    model.config.counts_learner = Some(id(4));
    let breach = refute("a learner that counts", &model);
    assert!(["nothing-lost", "agreement"].contains(&breach), "{breach}");
}
