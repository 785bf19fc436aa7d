//! Critical sections on the command line: workloads, what the summary says of them, what a crash
//! does to them, and what cannot be asked for. In the simulator and between real processes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::lines::{said, summary};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The names of the algorithms of mutual exclusion, as the catalogue lists them.
fn family() -> Vec<String> {
    let (list, _) = said("algorithms --json", 0);
    let list: Vec<Value> = serde_json::from_str(&list).unwrap();
    let name = |entry: &Value| entry["name"].as_str().unwrap().to_owned();
    let names: Vec<_> = list.iter().filter(|e| e["family"] == "mutex").map(name).collect();
    assert!(names.len() >= 8, "{names:?}");
    names
}

/// The rest of the line that begins with this.
#[track_caller]
fn line<'a>(text: &'a str, name: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.strip_prefix(name));
    found.unwrap_or_else(|| panic!("no line '{name}' in\n{text}")).trim()
}

#[test]
fn without_any_flags_there_is_something_to_see() {
    for name in family() {
        let (text, _) = said(&format!("sim {name}"), 0);
        assert!(text.contains("enters the section (#1)"), "{text}");
        let entries = line(&text, "entries");
        assert!(entries.starts_with("10 of 10 requests, "), "{name}: {entries}");
        assert!(entries.ends_with(" messages each"), "{name}: {entries}");
        assert!(line(&text, "waiting").starts_with("p50 "), "{text}");
    }
}

#[test]
fn the_summary_has_all_that_there_is_to_know_of_sections() {
    let found = summary("sim ricart-agrawala --nodes 5 --requests 200 --load saturated", 0);
    assert_eq!(found["entries"], 200);
    assert_eq!(found["requests"], 200);
    // 2(n-1) messages, and one hop from a release to the next entry.
    assert_eq!(found["messages_per_entry"], 8.0);
    assert_eq!(found["sync_delay_hops"], 1.0);
    assert_eq!(found["sync_delay_ms"], 10.0);
    let wait = |key: &str| found["wait_ms"][key].as_f64().unwrap();
    assert!(0.0 < wait("p50") && wait("p50") <= wait("p99") && wait("p99") <= wait("max"));
    for (key, value) in [
        ("lost", json!(0)),
        ("token_regenerations", json!(0)),
        ("refusals", json!([])),
        ("violations", json!([])),
        ("agreed", json!(true)),
        // Nothing can fail, so no process watches another.
        ("overhead", json!({})),
    ] {
        assert_eq!(found[key], value, "{key}");
    }
    assert!(found["out_of_order"].is_u64());
    let (text, _) = said("sim ricart-agrawala --requests 200 --load saturated --quiet", 0);
    assert_eq!(line(&text, "entries"), "200 of 200 requests, 8.00 messages each");
    assert!(line(&text, "delay").starts_with("1.00 hops (10ms)"), "{text}");
    let none = summary("sim central --requests 0", 0);
    for key in ["messages_per_entry", "sync_delay_hops", "sync_delay_ms"] {
        assert_eq!(none[key], Value::Null, "{key}");
    }
    // An election's summary says nothing of sections.
    assert_eq!(summary("sim bully --crash 5", 0).get("entries"), None);
}

#[test]
fn every_load_asks_as_often_as_it_was_told_to() {
    for load in ["light", "saturated", "bursts", "skewed"] {
        for name in ["central", "suzuki-kasami"] {
            let command = format!("sim {name} --requests 43 --load {load} --section 1ms..9ms");
            let found = summary(&command, 0);
            assert_eq!(found["entries"], 43, "{command}");
            assert_eq!(found, drop_machine(summary(&command, 0), &found), "{command}");
            // Only under a light load no process waits for another.
            assert_eq!(found["sync_delay_ms"].is_null(), load == "light", "{command}: {found}");
        }
    }
    let random = summary("sim central --requests 50 --load saturated --section 1ms..9ms", 0);
    let fixed = summary("sim central --requests 50 --load saturated --section 9ms", 0);
    assert!(random["virtual_ms"].as_f64() < fixed["virtual_ms"].as_f64());
}

/// What is said about the machine itself is no part of the run.
fn drop_machine(mut summary: Value, other: &Value) -> Value {
    for key in ["setup_s", "wall_s", "events_per_second", "peak_rss_bytes"] {
        summary[key] = other[key].clone();
    }
    summary
}

#[test]
fn the_token_dies_with_its_holder_and_is_made_anew_unless_it_is_the_textbook_s() {
    let command = "sim suzuki-kasami --nodes 5 --requests 50 --load saturated --crash 3@100ms";
    let survived = summary(command, 0);
    assert_eq!(survived["token_regenerations"], 1);
    assert_eq!(survived["lost"], 1);
    assert_eq!(survived["agreed"], true);
    assert_eq!(
        survived["entries"].as_u64().unwrap() + 1,
        survived["requests"].as_u64().unwrap(),
        "{survived}"
    );
    let (text, _) = said(&format!("{command} --quiet"), 0);
    assert_eq!(line(&text, "tokens"), "1 lost and replaced");
    assert_eq!(line(&text, "lost"), "1 request died with its process");
    assert!(line(&text, "entries").ends_with(" more were never made"), "{text}");

    let stuck = summary(&format!("{command} --textbook"), 1);
    assert_eq!(stuck["violations"][0]["name"], "granted");
    assert_eq!(stuck["violations"][0]["by"], json!([1, 2, 4, 5]), "those who wait");
    assert_eq!(stuck["token_regenerations"], 0);
    assert_eq!(stuck["agreed"], false);
    let (text, _) = said(&format!("{command} --textbook --quiet"), 1);
    assert!(line(&text, "violated").ends_with("(here: P1, P2, P4, P5)"), "{text}");
    assert!(line(&text, "why").contains("without --textbook"), "{text}");
    // The papers have no elections.
    assert!(!text.contains("coordinator "), "{text}");
}

#[test]
fn all_survive_the_crash_of_the_coordinator_and_of_another_and_the_return_of_one() {
    for name in family() {
        let command = format!(
            "sim {name} --nodes 5 --requests 60 --load saturated --section 5ms --crash 5@80ms \
             --crash 2@100ms --recover 2@900ms"
        );
        let found = summary(&command, 0);
        assert_eq!(found["agreed"], true, "{name}");
        assert_eq!(found["coordinator"], json!({ "1": 4, "2": 4, "3": 4, "4": 4 }), "{name}");
        assert!(found["entries"].as_u64().unwrap() >= 36, "{name}: {found}");
    }
}

#[test]
fn views_come_from_scripted_elections_too() {
    let found = summary(
        "sim suzuki-kasami --nodes 4 --requests 8 --load saturated --crash 1@5ms --detect 3@200ms",
        0,
    );
    assert_eq!(found["token_regenerations"], 1, "{found}");
    // P1 has the token at first, and dies inside; the others have two jobs each.
    assert_eq!((&found["entries"], &found["lost"]), (&json!(7), &json!(1)), "{found}");
    assert_eq!(found["overhead"].get("WATCH"), None, "no process watches by itself: {found}");
}

#[test]
fn the_dead_are_given_no_jobs() {
    let found = summary("sim central --requests 50 --load saturated --crash 3", 0);
    assert_eq!((&found["requests"], &found["entries"]), (&json!(40), &json!(40)));
    let (text, _) = said("sim central --requests 50 --load saturated --crash 3 --quiet", 0);
    assert!(line(&text, "entries").starts_with("40 of 40 requests, "), "{text}");
}

#[test]
fn a_tree_has_a_shape() {
    // From end to end of a line of five and back, or from the middle of a star.
    let deeds = "--request 5 --release 5@200ms";
    let on = |tree: &str| summary(&format!("sim raymond --tree {tree} {deeds}"), 0);
    assert_eq!(on("line")["messages"], json!({ "REQUEST": 4, "PRIVILEGE": 4 }));
    assert_eq!(on("star")["messages"], json!({ "REQUEST": 1, "PRIVILEGE": 1 }));
    assert_eq!(on("3")["messages"], json!({ "REQUEST": 2, "PRIVILEGE": 2 }));
}

#[test]
fn a_saved_run_plays_the_same() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("run.txt");
    for (flags, code) in [
        ("raymond --load skewed --tree line --section 1ms..9ms --crash 2@70ms", 0),
        ("central --load saturated --section 4ms --textbook --seed 3", 0),
        ("singhal --request 4 --request 2@5ms --release 4@60ms --release 2@90ms", 0),
    ] {
        let saved = summary(&format!("sim {flags} --save {}", file.display()), code);
        let played = summary(&format!("sim {}", file.display()), code);
        for key in ["entries", "messages", "overhead", "wait_ms", "virtual_ms", "events"] {
            assert_eq!(saved[key], played[key], "{key} of {flags}");
        }
    }
}

#[test]
fn a_sweep_sums_up() {
    let found = summary("sim suzuki-kasami --load saturated --requests 30 --seeds 4", 0);
    assert_eq!(found["entries"], 120);
    assert_eq!(found["token_regenerations"], 0);
    let (text, _) = said("sim suzuki-kasami --chaos --seeds 50", 0);
    let entries = line(&text, "entries");
    assert!(entries.ends_with("tokens lost and replaced"), "{text}");
    let (text, complaint) = said("sim central --release 3@20ms --seeds 2", 2);
    assert!(text.contains("2 seeds"), "{text}");
    assert!(complaint.contains("P3 at 20ms"), "{complaint}");
}

#[test]
fn a_deed_that_is_refused_changes_nothing_and_ends_with_2() {
    for (flags, refused, entries) in [
        ("--release 3@20ms", "P3 at 20ms: it is not in the section, so it cannot leave it", 0),
        (
            "--request 3 --request 3@5ms --release 3@50ms",
            "P3 at 5ms: it has asked for the section already, and waits",
            1,
        ),
        (
            "--request 3 --request 3@30ms --release 3@50ms",
            "P3 at 30ms: it is in the section already, by entry #1",
            1,
        ),
    ] {
        let (text, complaint) = said(&format!("sim central {flags} --quiet"), 2);
        assert_eq!(line(&text, "refused"), refused);
        assert!(complaint.starts_with("error: refused: "), "{complaint}");
        assert!(complaint.contains(refused), "{complaint}");
        let found = summary(&format!("sim central {flags}"), 2);
        assert_eq!(found["refusals"].as_array().unwrap().len(), 1);
        assert_eq!(found["refusals"][0]["node"], 3);
        assert!(refused.ends_with(found["refusals"][0]["text"].as_str().unwrap()));
        assert_eq!(found["entries"], entries);
        assert_eq!(found["agreed"], true, "what was refused leaves no trace: {found}");
    }
}

/// Nothing is run, nothing is printed, and the message says what to do.
#[track_caller]
fn refused(table: &[(&str, &[&str])]) {
    for (line, fragments) in table {
        let (text, complaint) = said(line, 2);
        assert_eq!(text, "", "{line}");
        assert!(complaint.starts_with("error: "), "{line}: {complaint}");
        for fragment in *fragments {
            assert!(complaint.contains(fragment), "no '{fragment}' in: {line}\n{complaint}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    refused(&[
        ("sim bully --requests 5", &["--requests: bully has no jobs to do", "leave"]),
        ("sim bully --textbook", &["--textbook: bully has no critical section"]),
        ("sim member --section 5ms", &["--section: member has no critical section"]),
        ("host bully --load light", &["--load: bully has no jobs to do"]),
        ("sim central --tree star", &["--tree: central is on no tree"]),
        ("sim raymond --tree bush", &["--tree: 'bush'", "line, binary, star"]),
        ("sim raymond --tree 0", &["--tree: '0'", "at least 1"]),
        ("sim raymond --tree -1", &["--tree: '-1'", "at least 1"]),
        ("host raymond --tree bush", &["--tree: 'bush'", "line, binary, star"]),
        ("sim central --load heavy", &["--load: 'heavy'", "light, saturated, bursts or skewed"]),
        ("sim central --section 9ms..1ms", &["--section: '9ms..1ms' runs backwards", "1ms..9ms"]),
        ("sim central --section 5", &["--section: '5' has no unit", "10ms"]),
        ("sim central --section -5ms", &["--section: '-5ms'"]),
        ("sim central --requests -1", &["--requests", "-1"]),
        ("sim central --requests many", &["--requests", "many"]),
        ("sim central --requests 99999999999", &["--requests: 99999999999", "at most 10000000"]),
        ("host central --requests 9999", &["--requests: 9999", "at most 2000"]),
        ("sim central --request 9", &["--request: there is no process 9", "1, 2, 3, 4, 5"]),
        ("sim central --release x", &["--release: 'x' is no id"]),
        ("sim central --request 3@2", &["--request: '2' has no unit"]),
        (
            "sim central --crash 3@1s --request 3@2s",
            &["--request 3@2s: P3 cannot ask for the section at 2000ms: it crashed at 1000ms"],
        ),
        (
            "sim central --crash 3@1s --release 3@2s",
            &["--release 3@2s: P3 cannot leave the section at 2000ms: it crashed at 1000ms"],
        ),
        (
            "host central --kill 3@1s --request 3@2s",
            &["--request 3@2s: P3 cannot ask for the section at 2000ms: it was killed at 1000ms"],
        ),
        ("sim central --request 2 --load light", &["--load", "give --requests too"]),
        ("sim central --textbook --detect 1", &["--textbook and --detect contradict"]),
        ("sim central --textbook --all-start", &["--textbook and --all-start contradict"]),
        ("sim central --textbook --detection on", &["--textbook and --detection on contradict"]),
        ("sim central --chaos --requests 5", &["--chaos", "leave out --requests"]),
        ("sim central --chaos --textbook", &["--chaos", "leave out --textbook"]),
        ("sim no-such.txt --requests 5", &["--requests: a scenario file says what happens"]),
        ("host central --again . --requests 5", &["--again", "cannot be used with", "--requests"]),
    ]);
}

#[test]
fn who_is_let_in_stays_until_it_is_told_to_leave() {
    let (text, _) = said("sim central --request 3 --request 4@5ms --quiet", 1);
    assert!(line(&text, "violated").starts_with("granted at "), "{text}");
    assert!(line(&text, "why").contains("until --release"), "{text}");
    let freed = "sim central --request 3 --request 4@5ms --release 3@50ms --release 4@90ms";
    assert_eq!(summary(freed, 0)["entries"], 2);
}

/// Between real processes.
#[cfg(unix)]
mod real {
    use super::*;

    #[test]
    fn real_processes_take_turns() {
        for name in ["central", "suzuki-kasami"] {
            let found = summary(&format!("host {name} --nodes 4 --requests 20"), 0);
            assert_eq!(found["real"], true);
            assert_eq!((&found["entries"], &found["requests"]), (&json!(20), &json!(20)));
            assert_eq!(found["violations"], json!([]));
            assert_eq!(found["overhead"], json!({}), "no process watches: nothing can fail");
            assert!(found["messages_per_entry"].as_f64().unwrap() > 0.0);
            assert!(found["wait_ms"]["max"].is_f64());
        }
    }

    #[test]
    fn all_ask_at_once_and_all_are_served() {
        let found = summary("host raymond --nodes 4 --requests 22 --load saturated --tree line", 0);
        assert_eq!(found["entries"], 22, "{found}");
        let (text, _) =
            said("host token-ring --nodes 3 --requests 9 --load bursts --section 2ms --quiet", 0);
        assert!(line(&text, "entries").starts_with("9 of 9 requests, "), "{text}");
    }

    #[test]
    fn a_killed_coordinator_is_replaced_and_all_others_go_on() {
        let found = summary(
            "host central --nodes 4 --requests 40 --load saturated --section 20ms --timeout 300ms \
             --kill 4@150ms",
            0,
        );
        assert_eq!(found["coordinator"], json!({ "1": 3, "2": 3, "3": 3 }), "{found}");
        assert!(found["entries"].as_u64().unwrap() >= 30, "{found}");
        assert_eq!(found["violations"], json!([]));
    }

    #[test]
    fn a_killed_holder_takes_the_token_with_it_unless_there_are_views() {
        // P2 is inside when it is killed.
        let command = "host suzuki-kasami --nodes 3 --timeout 300ms --request 2 --kill 2@300ms \
                       --request 1@400ms --release 1@2500ms";
        let found = summary(command, 0);
        assert_eq!(found["token_regenerations"], 1, "{found}");
        assert_eq!((&found["entries"], &found["lost"]), (&json!(2), &json!(1)), "{found}");
        let (text, _) = said(
            "host suzuki-kasami --nodes 3 --textbook --request 2 --kill 2@300ms --request 1@400ms \
             --quiet",
            1,
        );
        assert!(line(&text, "violated").ends_with("(here: P1)"), "{text}");
        assert!(line(&text, "why").contains("without --textbook"), "{text}");
    }

    #[test]
    fn what_a_real_process_refuses_ends_with_2() {
        let (text, complaint) = said("host central --nodes 3 --release 2@20ms --quiet", 2);
        assert!(line(&text, "refused").starts_with("P2 at "), "{text}");
        assert!(complaint.contains("it is not in the section"), "{complaint}");
    }
}
