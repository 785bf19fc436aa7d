//! Plays the scenarios of the member and compares their stories.
//!
//! `UPDATE=1 cargo test -p bellwether-member --test it scenarios` rewrites the stories; `expect`
//! lines are written by hand and never touched.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use bellwether_algorithms::catalogue::{Catalogue, catalogue};
use bellwether_algorithms::election::any::Choice;
use bellwether_member::Member;
use bellwether_sim::scenario::Scenario;
use std::fs;
use std::path::PathBuf;

fn with_member() -> Catalogue {
    catalogue().with::<Member>()
}

#[test]
fn every_scenario_of_the_member_goes_as_written() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/member");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are no scenarios");
    let update = std::env::var("UPDATE").is_ok();
    let mut complaints = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let scenario = Scenario::parse(&with_member(), &text).unwrap_or_else(|error| {
            panic!("{name}:{error}");
        });
        let played = scenario.play();
        if update && played.rewritten != text {
            fs::write(&path, &played.rewritten).unwrap();
        }
        let wrong = played.mismatches.iter().filter(|mismatch| mismatch.by_hand || !update);
        complaints.extend(wrong.map(|mismatch| format!("{name}, {mismatch}")));
        assert!(played.outcome.violation.is_none(), "{name}: {:?}", played.outcome.violation);
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_scenario_chooses_the_election() {
    let text = |name: &str| {
        format!("cluster member 1..3 election={name} latency=1ms timeout=100ms\nrun for=1s\n---\n")
    };
    for election in Choice::NAMES {
        let scenario = Scenario::parse(&with_member(), &text(election)).unwrap();
        let outcome = scenario.play().outcome;
        assert!(outcome.agreed, "{election}: {:?}", outcome.coordinators);
        // Only bully has this kind.
        assert_eq!(outcome.tally.protocol().contains_key("OK"), *election == "bully");
    }
    let error = Scenario::parse(&with_member(), &text("bulli")).unwrap_err().to_string();
    assert!(error.contains("there is no election 'bulli'; use bully, ring,"), "{error}");
}
