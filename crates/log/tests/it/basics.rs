//! The worlds in which no lease binds, and those that ask for votes early: take-overs, restarts, snapshots in pieces,
//! members without disks, emptied folders.

use crate::worlds::{
    CAMPAIGN, CRASH, Flaw, Probe, in_memory, pairs, prove, refute, timed, timeless, two_campaign,
};
use bellwether_check::{Channels, Model};
use bellwether_core::Invariant;
use bellwether_log::{Birth, Entry};
use std::sync::Arc;

#[test]
fn a_take_over_loses_nothing() {
    prove("take-over", &Model { inputs: two_campaign(), ..timeless(3) });
}

#[test]
fn a_restart_from_disk_loses_nothing() {
    prove("restart", &Model { inputs: two_campaign(), faults: CRASH, ..timeless(3) });
}

/// P2 and P3 campaign for the second term. One of them may crash before its own vote is durable, and then
/// vote for the other one.
fn asks_early() -> Model<Probe> {
    let mut world = timeless(2);
    (world.config.asks_early, world.config.voted) = (true, &[]);
    world.invariants.push(Invariant::<Probe>::whole(
        "matching",
        "two logs with the same position have the same entry there",
        |cluster| {
            pairs(cluster).all(|(one, other)| {
                let (Some((_, one)), Some((_, other))) = (one.written(), other.written()) else {
                    return true;
                };
                let is_same = |entry: &Arc<Entry<u64>>| match other.get(entry.position.index) {
                    Some(there) => there.position != entry.position || there == entry,
                    None => true,
                };
                one.iter().all(is_same)
            })
        },
    ));
    let inputs = vec![vec![], vec![CAMPAIGN], vec![CAMPAIGN]];
    Model { inputs, faults: CRASH, ..world }
}

#[test]
fn a_candidate_may_ask_before_its_own_vote_is_durable() {
    prove("asks early", &asks_early());
}

#[test]
fn a_candidate_may_ask_again_after_a_crash_before_its_own_vote_was_durable() {
    let inputs = vec![vec![], vec![CAMPAIGN, CAMPAIGN], vec![]];
    prove("asks early and again", &Model { inputs, ..asks_early() });
}

#[test]
fn a_candidate_that_counts_votes_before_its_own_is_durable_makes_two() {
    let mut flawed = asks_early();
    flawed.config.flaw = Some(Flaw::CountsBeforeItsOwnVote);
    let breach = refute("counts before its own vote", &flawed);
    assert_eq!(
        breach, "matching",
        "P1 has the first entry of the second term from P2, and P3 has its own"
    );
}

#[test]
fn a_vote_for_an_older_log_loses_something() {
    let mut flawed = timeless(3);
    flawed.config.flaw = Some(Flaw::ClaimsANewLog);
    let breach = refute("older log", &Model { inputs: two_campaign(), ..flawed });
    assert!(["nothing-lost", "agreement"].contains(&breach), "{breach}");
}

#[test]
fn a_member_that_votes_at_once_after_a_restart_makes_two() {
    let mut flawed = timed(3, 0);
    flawed.config.flaw = Some(Flaw::VotesAtOnce);
    let breach =
        refute("votes at once", &Model { inputs: two_campaign(), faults: CRASH, ..flawed });
    assert_eq!(breach, "one-serving");
}

#[test]
fn without_disks_and_duplicates_a_restart_loses_nothing_that_clients_rely_on() {
    prove("memory, each message once", &Model { channels: Channels::Reorder, ..in_memory() });
}

#[test]
fn without_disks_a_vote_without_a_wait_loses_something() {
    let mut flawed = in_memory();
    flawed.config.flaw = Some(Flaw::VotesWithoutAWait);
    let breach = refute("vote without a wait", &flawed);
    assert!(["nothing-lost", "agreement"].contains(&breach), "{breach}");
}

/// Entries are not kept, and a piece is one part: who lacks something gets two pieces of a snapshot.
fn in_pieces() -> Model<Probe> {
    let mut model = timeless(3);
    model.config.commands = 0..2;
    (model.config.config.keep_bytes, model.config.config.piece) = (0, (1, 1));
    Model { inputs: two_campaign(), ..model }
}

#[test]
fn a_snapshot_in_pieces_loses_nothing() {
    prove("pieces", &in_pieces());
}

#[test]
fn j_an_emptied_folder_counts_for_nothing_where_messages_arrive_once() {
    if std::env::var_os("LONG").is_none() {
        return; // It takes some ten seconds: make check-all.
    }
    let mut world = timeless(3);
    world.config.wiped = Some(Birth::new(2));
    let (inputs, channels) = (two_campaign(), Channels::Reorder);
    prove("wiped, each message once", &Model { inputs, channels, faults: CRASH, ..world });
}

#[test]
fn j_an_emptied_folder_that_is_not_recognised_loses_something() {
    let mut flawed = timeless(3);
    flawed.config.wiped = Some(Birth::new(1));
    let flawed = Model { inputs: two_campaign(), faults: CRASH, ..flawed };
    let breach = refute("wiped, without births", &flawed);
    assert!(["nothing-lost", "agreement", "one-leader"].contains(&breach), "{breach}");
}
