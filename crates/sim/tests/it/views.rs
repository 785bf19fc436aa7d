//! What is drawn of processes: traces with states carry it wherever it changes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::CATALOGUE;
use bellwether_algorithms::show::{Item, Mark, ProcessView};
use bellwether_core::{NodeId, Time};
use bellwether_sim::Trace;
use bellwether_sim::render::illustrated;
use bellwether_sim::scenario::{Played, Scenario, Staging};

fn play(text: &str) -> Played {
    let scenario = Scenario::parse(&CATALOGUE, text).unwrap();
    scenario.stage(&Staging { states: true, ..Staging::default() })
}

/// What is drawn of a process after all events of a time.
fn drawn(trace: &Trace, number: u32, at_ms: u64) -> ProcessView {
    let id = NodeId::new(number);
    let place = trace.header.ring.iter().position(|other| *other == id).unwrap();
    let until = Time::from_micros(at_ms * 1000);
    let events = trace.events.iter().take_while(|event| event.at <= until);
    let mine = events.filter(|event| event.node == Some(id));
    let last = mine.filter_map(|event| event.view.clone()).last();
    last.or_else(|| trace.header.views[place].clone()).unwrap()
}

fn row(view: &ProcessView, label: &str) -> Vec<String> {
    let words = |item: &Item| format!("{} {}", item.text, item.note).trim().to_owned();
    let row = view.rows.iter().find(|row| row.label == label);
    row.map_or_else(Vec::new, |row| row.items.iter().map(words).collect())
}

#[test]
fn lamports_queue_is_drawn_with_its_time_stamps() {
    let text = include_str!("../../../../scenarios/mutex/lamport-crossing-requests.txt");
    let trace = play(text).trace;
    for number in 1..=3 {
        let view = drawn(&trace, number, 30);
        assert_eq!(row(&view, "requests by time stamp"), ["P2 1", "P3 1", "P1 3"], "P{number}");
    }
    assert_eq!(drawn(&trace, 2, 30).phase, "in the section (#1)");
    assert_eq!(row(&drawn(&trace, 3, 30), "no later message from"), ["P2"]);
}

#[test]
fn raymonds_pointers_turn_with_the_token() {
    let text = include_str!("../../../../scenarios/mutex/raymond-pointers-turn-round.txt");
    let trace = play(text).trace;
    let towards = |number, at_ms| row(&drawn(&trace, number, at_ms), "token towards");
    assert_eq!(towards(2, 5), ["P1"]);
    assert_eq!(towards(2, 40), ["P5"]);
    assert_eq!(towards(5, 40), Vec::<String>::new());
    assert!(drawn(&trace, 5, 40).marks.contains(&Mark::Token));
}

#[test]
fn traitors_are_marked_and_what_was_told_is_a_tree() {
    let text = include_str!("../../../../scenarios/agreement/byzantine-four-one-traitor.txt");
    let trace = play(text).trace;
    assert_eq!(drawn(&trace, 3, 10).marks, [Mark::Traitor]);
    let told = row(&drawn(&trace, 1, 50), "was told");
    assert_eq!(told, ["P2 says: b", "P3 says: c", "P4 says: d"]);
    assert_eq!(row(&drawn(&trace, 1, 90), "decides on"), ["P1 a", "P2 b", "P3 d", "P4 d"]);
}

#[test]
fn pictures_have_the_processes_in_the_end_if_states_were_recorded() {
    let text = include_str!("../../../../scenarios/mutex/lamport-crossing-requests.txt");
    let played = play(text);
    let with = illustrated(&played.trace, &played.outcome.pictures);
    assert!(with.contains("The processes in the end"));
    assert!(with.contains("requests by time stamp: empty"));
    let plain = Scenario::parse(&CATALOGUE, text).unwrap().play();
    let without = illustrated(&plain.trace, &plain.outcome.pictures);
    assert!(!without.contains("The processes in the end"));
}
