//! The template, driven as a user drives it: every command that README.md lists.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn claimer(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_claimer"));
    command.current_dir(folder).args(line.split_whitespace()).output().unwrap()
}

/// What it prints, if it ends with this code.
fn ends_with(code: i32, folder: &Path, line: &str) -> String {
    let output = claimer(folder, line);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "claimer {line}\n{text}\n{errors}");
    text + &errors
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn it_is_listed_beside_the_catalogue() {
    let list = ends_with(0, folder().path(), "algorithms --json");
    let list: Vec<Value> = serde_json::from_str(&list).unwrap();
    let names: Vec<&str> = list.iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names.first(), Some(&"bully"));
    assert_eq!(names.last(), Some(&"claimer"));
}

#[test]
fn one_claim_is_simulated_in_every_format() {
    let folder = folder();
    let story = ends_with(0, folder.path(), "sim claimer --nodes 3 --ask 1=claim");
    for line in ["P1 -> P2  CLAIM", "P3 -> P1  GRANT", "P1 holds it", "P1 is done"] {
        assert!(story.contains(line), "{line}: {story}");
    }
    for (format, part) in [
        ("text", "C4"),
        ("json", "\"CLAIM\""),
        ("svg", "<svg"),
        ("mermaid", "sequenceDiagram"),
        ("shiviz", "CLAIM"),
    ] {
        let line = format!("sim claimer --nodes 3 --ask 1=claim --trace {format}");
        assert!(ends_with(0, folder.path(), &line).contains(part), "{format}");
    }
}

#[test]
fn random_schedules_find_two_holders_and_shrink_them() {
    let text = ends_with(1, folder().path(), "sim claimer --chaos --seeds 300");
    assert!(text.contains("violated     one-holder"), "{text}");
    assert!(text.contains("replay       claimer sim claimer --chaos --seed"), "{text}");
    assert!(text.contains("cluster claimer"), "{text}");
}

#[test]
fn the_checker_finds_the_shortest_run_and_the_scenario_plays_it() {
    let folder = folder();
    let text = ends_with(1, folder.path(), "check claimer --nodes 2");
    assert!(text.contains("one-holder"), "{text}");
    let line = "check claimer --nodes 2 --trace scenario --out found.txt";
    ends_with(1, folder.path(), line);
    let scenario = std::fs::read_to_string(folder.path().join("found.txt")).unwrap();
    assert!(scenario.contains("expect violation one-holder"), "{scenario}");
    // It says what it expects, so playing it goes as written.
    ends_with(0, folder.path(), "sim found.txt");
    ends_with(0, folder.path(), "check claimer --nodes 2 --ask 1=claim");
}

/// What docs/your-own-process.md shows below a command. A line of three dots stands for the rest.
#[test]
fn it_prints_what_the_page_shows() {
    let page = include_str!("../../../docs/your-own-process.md");
    let blocks: Vec<&str> = page.split("```console\n").skip(1).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let mut lines = block.lines();
        let command = lines.next().and_then(|line| line.strip_prefix("$ cargo run --release -- "));
        let folder = folder();
        let printed = String::from_utf8(claimer(folder.path(), command.unwrap()).stdout).unwrap();
        let shown: Vec<&str> = lines.take_while(|line| *line != "...").collect();
        assert!(!shown.is_empty());
        assert_eq!(printed.lines().take(shown.len()).collect::<Vec<_>>(), shown);
    }
}

#[test]
fn its_costs_are_compared() {
    let text = ends_with(0, folder().path(), "compare own --nodes 2..8 --svg costs.svg");
    assert!(text.contains("every exact formula and every bound holds"), "{text}");
}

#[test]
fn it_runs_between_real_processes() {
    let text = ends_with(0, folder().path(), "host claimer --nodes 3 --ask 1=claim --trace text");
    assert!(text.contains("holds it") && text.contains("GRANT"), "{text}");
}

#[test]
fn snapshots_are_taken_of_it() {
    let line = "sim chandy-lamport --over claimer --nodes 3 --ask 1=claim --ask 2=snapshot@5ms";
    let story = ends_with(0, folder().path(), line);
    assert!(story.contains("P2#1") && story.contains("P1 -> P2  CLAIM"), "{story}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = folder();
    let unknown = ends_with(2, folder.path(), "sim claimr");
    assert!(unknown.contains("did you mean 'claimer'?"), "{unknown}");
    let verb = ends_with(2, folder.path(), "sim claimer --ask 1=dance");
    assert!(verb.contains("it knows: claim, work"), "{verb}");
}

/// The explorer, until it is dropped.
struct Explorer {
    process: Child,
    address: String,
}

impl Explorer {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_claimer"));
        command.current_dir(folder).args(["explore", "--listen", "127.0.0.1:0"]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        Explorer { process, address }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (host, length) = (&self.address, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        // In one piece or in chunks: the JSON is between the outermost braces.
        let json = &body[body.find('{').unwrap()..=body.rfind('}').unwrap()];
        (status, serde_json::from_str(json).unwrap_or(Value::Null))
    }
}

impl Drop for Explorer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_explorer_knows_it_plays_it_and_branches() {
    let folder = folder();
    let explorer = Explorer::start(folder.path());
    let (_, catalogue) = explorer.ask("GET", "/v1/explore/catalogue", "");
    let algorithms = catalogue["algorithms"].as_array().unwrap();
    let own = algorithms.iter().find(|algorithm| algorithm["name"] == "claimer").unwrap();
    assert_eq!(own["verbs"], json!(["claim", "work"]));
    let scenario = "cluster claimer 1..2\nclaim 1\nrun\n";
    assert!(own["scenario"].as_str().unwrap().starts_with("cluster claimer"), "{own}");

    let run = json!({ "scenario": scenario }).to_string();
    let (status, played) = explorer.ask("POST", "/v1/explore/run", &run);
    assert_eq!((status, &played["outcome"]["violation"]), (200, &Value::Null), "{played}");

    let branch = json!({ "after_us": 0, "command": "claim 2" });
    let other = json!({ "scenario": scenario, "branch": branch }).to_string();
    let (status, played) = explorer.ask("POST", "/v1/explore/run", &other);
    assert_eq!((status, &played["outcome"]["violation"]["name"]), (200, &json!("one-holder")));
}
