//! `bellwether compare mutex`, seen from outside.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_algorithms::catalogue::catalogue;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};
use tempfile::TempDir;

fn run(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bellwether")).args(line.split(' ')).output().unwrap()
}

/// What it prints, if it ends well.
#[track_caller]
fn printed(line: &str) -> String {
    let output = run(line);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{complaint}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn json(line: &str) -> Value {
    serde_json::from_str(&printed(line)).unwrap()
}

#[test]
fn every_exact_formula_is_met() {
    let directory = TempDir::new().unwrap();
    let plot = directory.path().join("plot.svg");
    let line = format!("compare mutex --nodes 2..9 --json --svg {}", plot.display());
    let comparison = json(&line);
    assert_eq!(comparison["family"], "mutex");
    assert_eq!(comparison["disagreeing"], 0);
    assert_eq!(comparison["nodes"], serde_json::json!({ "from": 2, "to": 9 }));
    assert!(comparison["load"].is_null());
    let cases = comparison["cases"].as_array().unwrap();
    let names: BTreeSet<_> = cases.iter().map(|case| case["algorithm"].as_str().unwrap()).collect();
    let catalogue = catalogue();
    let listed = catalogue.iter().filter(|listed| listed.entry.family == "mutex");
    assert_eq!(names, listed.map(|listed| listed.name()).collect());
    let raymond = cases
        .iter()
        .find(|case| case["nodes"] == 4 && case["case"] == "line, all ask always")
        .unwrap();
    assert_eq!(raymond["algorithm"], "raymond");
    assert_eq!((&raymond["expected"], &raymond["measured"]), (&3.into(), &3.into()));
    assert_eq!(raymond["judged"], "exact");
    assert_eq!(raymond["load"], "saturated");
    assert_eq!(raymond["delay"]["formula"], "2(n-1)/n T");
    assert_eq!(raymond["delay"]["expected_hops"], 1.5);
    assert_eq!(raymond["delay"]["measured_hops"], 1.5);
    assert_eq!(raymond["agrees"], true);
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
}

#[test]
fn the_table_shows_messages_and_delays() {
    let table = printed("compare mutex --nodes 5");
    assert!(table.contains("every exact formula and every bound holds"), "{table}");
    let row = |algorithm: &str, case: &str| {
        let row = table.lines().find(|line| line.contains(algorithm) && line.contains(case));
        let words = row.unwrap().split_whitespace().map(str::to_owned);
        words.rev().take(8).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("lamport", "all ask always"), "3(n-1) 12 12 exact T 1 1 agrees");
    assert_eq!(row("token-ring", "the last one asks"), "n-1 4 4 exact (n-1)T 4 4 agrees");
    assert!(row("singhal", "average requester").ends_with("2.80 2.80 exact agrees"));
}

#[test]
fn one_load_can_be_asked_for_and_one_process_is_enough() {
    for load in ["light", "saturated"] {
        let comparison = json(&format!("compare mutex --nodes 1..3 --load {load} --json"));
        assert_eq!(comparison["load"], load);
        let cases = comparison["cases"].as_array().unwrap();
        assert!(cases.iter().all(|case| case["load"] == load));
        assert!(cases.iter().any(|case| case["nodes"] == 1));
    }
}

#[test]
fn bad_input_is_refused() {
    for (line, says) in [
        ("compare clocks", "no family 'clocks' to compare; there are: election, mutex"),
        ("compare mutex --load heavy", "--load: 'heavy' is no load; expected light"),
        ("compare mutex --load bursts", "--load: no formula says what bursts cost"),
        ("compare election --load light", "--load: only mutual exclusion knows loads"),
        ("compare mutex --nodes 9..2", "--nodes: '9..2' runs backwards; write 2..9"),
        ("compare mutex --nodes 0..2", "mutual exclusion needs at least 1 process"),
        ("compare mutex --nodes two", "--nodes: 'two' is no range; expected for example 2..64"),
        ("compare mutex --nodes 2..129", "--nodes: at most 128 processes can be compared"),
        ("compare mutex --nodes 2 --svg missing/x.svg", "--svg: cannot write missing/x.svg"),
    ] {
        let output = run(line);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {complaint}");
        assert!(complaint.contains(says), "{line}: {complaint}");
        assert!(output.stdout.is_empty(), "{line}");
    }
}
