//! Runs that go another way: everything up to that moment is exactly as it was.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::CATALOGUE;
use bellwether_core::Time;
use bellwether_sim::render::json::{self, Event};
use bellwether_sim::scenario::{Branched, Played, Scenario, Staging, branch};
use std::fs;
use std::path::{Path, PathBuf};

/// All scenarios of the catalogue's algorithms, with their names.
fn scenarios() -> Vec<(String, String)> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"), &mut paths);
    paths.sort();
    let texts = paths.iter().map(|path| {
        (path.file_name().unwrap().display().to_string(), fs::read_to_string(path).unwrap())
    });
    // The gallery's list is no scenario, and the member is not in the catalogue.
    texts.filter(|(_, text)| Scenario::parse(&CATALOGUE, text).is_ok()).collect()
}

fn play(text: &str) -> Played {
    let scenario =
        Scenario::parse(&CATALOGUE, text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    scenario.stage(&Staging { states: true, ..Staging::default() })
}

/// The events, and those among them up to and including a microsecond.
struct Events(Vec<Event>);

impl Events {
    fn of(played: &Played) -> Self {
        Events(json::parts(&played.trace).1)
    }

    fn up_to(&self, after: Time) -> &[Event] {
        &self.0[..self.0.partition_point(|event| event.us <= after.as_micros())]
    }
}

fn at(us: u64) -> Time {
    Time::from_micros(us)
}

/// Times at which something happened, spread over the run, and one after it.
fn moments(played: &Played) -> Vec<Time> {
    let events = &played.trace.events;
    let pick = |part: usize| events.get(events.len() * part / 7).map(|event| event.at);
    let mut moments: Vec<Time> = (0..7).step_by(2).filter_map(pick).collect();
    moments.extend(played.runs.iter().map(|run| run.to));
    moments.push(played.outcome.now);
    moments.sort();
    moments.dedup();
    moments
}

/// Branches off, and says that the beginning is the same.
fn another_way(
    name: &str,
    text: &str,
    (played, events): (&Played, &Events),
    after: Time,
    command: &str,
) -> (String, Played, Events) {
    let Branched { text: other, line } = branch(&CATALOGUE, text, played, after, command)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let again = play(&other);
    let told = Events::of(&again);
    let (before, now) = (events.up_to(after), told.up_to(after));
    // At the end of everything it happens at once, and so in the same microsecond. So does what was
    // still to come when an invariant was broken.
    let at_once = played.runs.last().is_none_or(|run| run.to <= after);
    let same = now.len() >= before.len() && now[..before.len()] == *before;
    assert!(same && (at_once || now.len() == before.len()), "{name} {after} {command}:\n{other}");
    assert!(other.lines().nth(line - 1).unwrap().starts_with(command), "{name}:\n{other}");
    assert!(!other.contains("---") && !other.contains("\nexpect "), "{name}:\n{other}");
    (other, again, told)
}

#[test]
fn the_beginning_stays_the_same_in_every_scenario() {
    let mut branches = 0;
    for (index, (name, text)) in scenarios().into_iter().enumerate() {
        let played = play(&text);
        let events = Events::of(&played);
        let ring = &played.trace.header.ring;
        let (one, two) = (ring[0].number(), ring[ring.len() - 1].number());
        let commands = [
            format!("crash {two}"),
            format!("pause {one}"),
            format!("slow {two} by=3ms"),
            format!("clock {one} offset=+5ms drift=100ppm"),
            "calm".to_owned(),
            if ring.len() > 1 { format!("cut {one}<>{two}") } else { "calm".to_owned() },
        ];
        for (turn, after) in moments(&played).into_iter().enumerate() {
            let command = &commands[(index + turn) % commands.len()];
            let (other, again, told) =
                another_way(&name, &text, (&played, &events), after, command);
            branches += 1;
            // And from there another way again, later or earlier.
            let second = moments(&again)[turn % moments(&again).len()];
            another_way(&name, &other, (&again, &told), second, &format!("resume {one}"));
        }
    }
    assert!(branches > 500, "{branches}");
}

const STORY: &str = "\
# P4 coordinates and is cut off.
cluster bully 1..4 coordinator=4 latency=10ms timeout=100ms detection=on keep-going
partition 4 at=50ms   # alone
heal 1 at=900ms
run until=400ms
---
0ms whatever

expect coordinator 1 = 3
# And on.
crash 2 at=1500ms
run
";

#[test]
fn the_line_stands_with_the_run_that_it_is_in_and_later_heals_are_renumbered() {
    let played = play(STORY);
    let text =
        |after, command| branch(&CATALOGUE, STORY, &played, at(after), command).unwrap().text;
    assert_eq!(
        text(20_000, "cut 1>2"),
        "cluster bully 1..4 coordinator=4 latency=10ms timeout=100ms detection=on keep-going\n\
         cut 1>2 at=20.001ms\n\
         partition 4 at=50ms   # alone\n\
         heal 2 at=900ms\n\
         run until=400ms\n\n\
         crash 2 at=1500ms\n\
         run\n"
    );
    // Between the two that happen before and after it, so that the later heal is the later one.
    assert!(text(60_000, "heal").contains("# alone\nheal at=60.001ms\nheal 1 at=900ms\n"));
    assert!(text(60_000, "cut 1<>2").contains("\ncut 1<>2 at=60.001ms\nheal 1 at=900ms\n"));
    assert!(
        text(400_000, "crash 1").contains("\n\ncrash 1 at=400.001ms\ncrash 2 at=1500ms\nrun\n")
    );
    assert!(text(u64::MAX, "recover 2").ends_with("crash 2 at=1500ms\nrun\n\nrecover 2\nrun\n"));
}

#[test]
fn a_run_that_an_invariant_has_ended_goes_on() {
    let text =
        "cluster bully 1..4 timeout=30ms  # as usual\npartition 3|4\nstart 3\nrun\ncrash 1\nrun\n";
    let played = play(text);
    assert_eq!(played.broken, Some(at(30_000)));
    let healed = branch(&CATALOGUE, text, &played, at(40_000), "heal").unwrap().text;
    let expected = "cluster bully 1..4 timeout=30ms keep-going  # as usual\npartition 3|4\nstart 3\n\
                    heal at=30.001ms\nrun\ncrash 1\nrun\n";
    assert_eq!(healed, expected);
    let again = play(&healed);
    assert_eq!(again.outcome.violation.as_ref().unwrap().at, at(30_000), "it is not forgotten");
    assert!(again.outcome.now > at(30_001), "{}", again.outcome.now);
    assert_eq!(again.broken, None);
}

#[test]
fn a_cut_link_is_healed_by_its_own_words() {
    let text = "cluster bully 1..4\ncut 1<>2\npartition 3\nrun for=10ms\n";
    let played = play(text);
    let notes = |text: &str| -> Vec<String> {
        let (_, events) = json::parts(&play(text).trace);
        let note = |event: Event| match event.event {
            json::Kind::Note { text } => Some(text),
            _ => None,
        };
        events.into_iter().filter_map(note).collect()
    };
    let one = branch(&CATALOGUE, text, &played, at(5_000), "heal cut 1<>2").unwrap().text;
    assert_eq!(notes(&one), ["cut 1<>2", "partition 3", "heal cut 1<>2"]);
    let both = branch(&CATALOGUE, &one, &play(&one), at(7_000), "heal partition 3").unwrap().text;
    assert_eq!(notes(&both), ["cut 1<>2", "partition 3", "heal cut 1<>2", "heal"]);
    let all = branch(&CATALOGUE, text, &played, at(5_000), "heal").unwrap().text;
    assert_eq!(notes(&all), ["cut 1<>2", "partition 3", "heal cut 1<>2", "heal"]);
    let none = branch(&CATALOGUE, text, &played, at(5_000), "heal cut 1>2").unwrap();
    let mismatch = play(&none.text).mismatches.remove(0);
    assert_eq!((mismatch.line, mismatch.by_hand), (none.line, true));
    assert!(mismatch.happened.contains("no such cut"), "{mismatch}");
}

#[test]
fn a_command_that_makes_no_sense_is_refused_with_what_to_do() {
    let text = "cluster bully 1..4\nrun\n";
    let played = play(text);
    for (command, part) in [
        ("crash 9", "there is no process 9"),
        ("crsh 1", "no command 'crsh'"),
        ("crash 1 at=5ms", "a time of its own"),
        ("run", "does nothing to a run"),
        ("expect agreement", "does nothing to a run"),
        ("link 1->2 latency=5ms", "no command 'link'"),
        ("", "does nothing"),
        ("crash 1\ncrash 2", "does nothing"),
        ("# crash 1", "does nothing"),
        ("transfer:2:50 1", "no command"),
    ] {
        let error = branch(&CATALOGUE, text, &played, at(0), command).unwrap_err();
        assert!(error.to_string().contains(part), "{command}: {error}");
        assert!(!error.hint().is_empty());
    }
}
