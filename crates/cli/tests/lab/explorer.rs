//! The page's runs are those of the command line.

use bellwether_algorithms::catalogue::catalogue;
use bellwether_explorer::{Explorer, RUN};
use bellwether_member::Member;
use serde_json::json;
use std::fs;
use std::process::Command;

/// The same functions answer in the browser, where `web/tests/site.spec.ts` compares the same.
#[test]
fn every_exhibit_is_byte_for_byte_the_command_lines() {
    let explorer = Explorer::new(catalogue().with::<Member>());
    let folder = tempfile::tempdir().unwrap();
    let (scenario, trace) = (folder.path().join("run.txt"), folder.path().join("run.jsonl"));
    for exhibit in &explorer.gallery().exhibits {
        let request = json!({ "scenario": exhibit.scenario }).to_string();
        let answer = explorer.answer(RUN, request.as_bytes(), &|| true);
        assert_eq!(answer.status, 200, "{}", exhibit.id);
        fs::write(&scenario, &exhibit.scenario).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
        command.args(["sim", "--quiet", "--trace", "json", "--states", "--out"]);
        let done = command.arg(&trace).arg(&scenario).output().unwrap();
        // A run that breaks an invariant ends with 1, and is meant to.
        assert!(matches!(done.status.code(), Some(0 | 1)), "{}: {done:?}", exhibit.id);
        let written = fs::read_to_string(&trace).unwrap();
        let (header, events) = written.trim_end().split_once('\n').unwrap();
        let events = events.replace('\n', ",");
        let expected = format!(",\"header\":{header},\"events\":[{events}],\"outcome\":");
        let answer = String::from_utf8(answer.body).unwrap();
        assert!(answer.contains(&expected), "{} differs from the command line's", exhibit.id);
    }
}
