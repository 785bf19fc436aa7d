//! `bellwether check`, seen from outside: verdicts, exit codes, and counterexamples that `sim` plays.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A command written as in a shell without quotes.
fn run_in(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    command.current_dir(folder).args(line.split(' ')).output().unwrap()
}

/// What it prints, if it ends with this code.
#[track_caller]
fn printed(output: Output, code: i32) -> String {
    let complaint = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(code), "{text}{complaint}");
    assert!(!complaint.contains("panicked"), "{complaint}");
    text.into_owned()
}

#[track_caller]
fn run(line: &str, code: i32) -> String {
    printed(run_in(Path::new("."), line), code)
}

#[track_caller]
fn json(line: &str, code: i32) -> Value {
    serde_json::from_str(&run(line, code)).unwrap()
}

/// Bully when time-outs lie: two coordinators.
const LIES: &str = "check bully --nodes 3 --crashes 1 --timing asynchronous --safety";

#[test]
fn a_proof_says_of_what_and_within_which_bounds() {
    let text = run("check bully --nodes 3 --crashes 1", 0);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("proved"), "{text}");
    for part in [
        "holds        one-coordinator, agreement",
        "bully, P1 P2 P3; P3 is the coordinator at first; detection on\n",
        "synchronous",
        "channels     reorder",
        "may happen   1 crash",
        "steps between them, depth",
        "states a second with",
        "bytes each",
    ] {
        assert!(text.contains(part), "no '{part}' in:\n{text}");
    }
    assert!(!text.contains("beyond"), "{text}");
    assert_eq!(run("check bully --nodes 3 --crashes 1 --quiet", 0), "proved\n");
}

#[test]
fn the_number_of_threads_changes_nothing_but_the_time() {
    let counts = |threads: u32| {
        let found = json(&format!("check bully --crashes 1 --threads {threads} --json"), 0);
        assert_eq!(found["threads"], threads);
        ["states", "steps", "depth", "local_states"].map(|key| found[key].as_u64().unwrap())
    };
    let [states, steps, depth, local] = counts(1);
    assert!(states > 10 && steps >= states - 1 && depth > 5 && local > 3);
    assert_eq!(counts(3), [states, steps, depth, local]);
}

#[test]
fn reduction_leaves_out_steps_and_no_states() {
    let counts = |reduction: &str| {
        let line = format!("check ricart-agrawala --safety --json --reduction {reduction}");
        let found = json(&line, 0);
        assert_eq!(found["reduction"], reduction == "on");
        ["states", "depth", "steps"].map(|key| found[key].as_u64().unwrap())
    };
    let ([states, depth, fewer], [all, deepest, steps]) = (counts("on"), counts("off"));
    assert_eq!((states, depth), (all, deepest));
    assert!(fewer < steps, "{fewer} of {steps}");
}

#[test]
fn json_says_all_of_it() {
    let found = json(
        "check ricart-agrawala --ids 4,2 --requests 1 --losses 1 --safety --json --max-memory 1GiB",
        0,
    );
    assert_eq!(found["verdict"], "proved");
    assert_eq!(found["algorithm"], "ricart-agrawala");
    assert_eq!(found["beyond"], serde_json::json!(["lost messages"]));
    let bounds = &found["bounds"];
    assert_eq!(bounds["ids"], serde_json::json!([4, 2]));
    assert_eq!(bounds["timing"], "synchronous");
    assert_eq!(bounds["channels"], "reorder");
    assert_eq!((&bounds["losses"], &bounds["crashes"]), (&1.into(), &0.into()));
    assert_eq!((&bounds["requests"], &bounds["liveness"]), (&1.into(), &false.into()));
    assert_eq!(found["counterexample"], Value::Null);
    for key in ["states", "steps", "depth", "memory_bytes", "bytes_per_state", "states_per_second"]
    {
        assert!(found[key].as_f64().unwrap() > 0.0, "{key}: {}", found[key]);
    }
}

#[test]
fn what_goes_beyond_the_contract_is_allowed_and_said() {
    let text = run(LIES, 1);
    assert!(text.starts_with("violated one-coordinator: "), "{text}");
    assert!(text.contains("beyond       what bully claims: time-outs that lie"), "{text}");
}

#[test]
fn a_counterexample_is_a_scenario_that_the_simulator_plays() {
    let folder = TempDir::new().unwrap();
    let line = format!("{LIES} --json --trace scenario --out lies.txt");
    let found: Value = serde_json::from_str(&printed(run_in(folder.path(), &line), 1)).unwrap();
    assert_eq!(found["verdict"], "violated");
    let example = &found["counterexample"];
    assert_eq!(example["property"], "one-coordinator");
    assert_eq!(example["confirmed"], true);
    assert_eq!(example["loops_from"], Value::Null);
    assert!(!example["steps"].as_array().unwrap().is_empty());

    let written = fs::read_to_string(folder.path().join("lies.txt")).unwrap();
    assert_eq!(example["scenario"].as_str(), Some(written.as_str()));
    // It says itself that it expects the violation, so that it goes as written.
    let played = printed(run_in(folder.path(), "sim lies.txt --json"), 0);
    let played: Value = serde_json::from_str(&played).unwrap();
    assert_eq!(played["violations"][0]["name"], "one-coordinator");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "something was left behind");
}

#[test]
fn all_start_makes_every_process_start_first() {
    let folder = TempDir::new().unwrap();
    let proved = run_in(folder.path(), "check chang-roberts --nodes 3 --all-start");
    let text = printed(proved, 0);
    assert!(text.starts_with("proved\n") && text.contains("no coordinator at first"), "{text}");
    let refused = run_in(folder.path(), "check two-generals --all-start");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no election to start"));
}

#[test]
fn a_run_in_which_nothing_happens_is_explained() {
    let folder = TempDir::new().unwrap();
    let line = "check bully --nodes 2 --coordinator none";
    let text = printed(run_in(folder.path(), line), 1);
    assert!(text.contains("in this run nothing happens"), "{text}");
    let text = printed(run_in(folder.path(), LIES), 1);
    assert!(!text.contains("in this run nothing happens"), "{text}");
}

#[test]
fn a_counterexample_is_shown_like_any_trace() {
    let folder = TempDir::new().unwrap();
    for (format, sign) in [
        ("text", "ELECTION"),
        ("json", "{\""),
        ("svg", "<svg"),
        ("mermaid", "sequenceDiagram"),
        ("plantuml", "@startuml"),
        ("shiviz", "P1"),
        ("scenario", "cluster bully"),
    ] {
        let output = run_in(folder.path(), &format!("{LIES} --trace {format}"));
        let verdict = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(verdict.contains("violated one-coordinator"), "{format}: {verdict}");
        let shown = printed(output, 1);
        assert!(shown.contains(sign), "{format}: {shown}");

        let line = format!("{LIES} --trace {format} --out {format}");
        let text = printed(run_in(folder.path(), &line), 1);
        assert!(text.starts_with("violated one-coordinator"), "{text}");
        assert_eq!(fs::read_to_string(folder.path().join(format)).unwrap(), shown, "{format}");
    }
}

#[test]
fn without_a_counterexample_nothing_is_written() {
    let folder = TempDir::new().unwrap();
    let output = run_in(folder.path(), "check bully --crashes 1 --trace svg --out none.svg");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing was written"));
    assert!(printed(output, 0).starts_with("proved\n"));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_limit_that_comes_first_has_an_exit_code_of_its_own() {
    for (limit, flag) in [
        ("--max-states 100", "--max-states"),
        ("--max-depth 3", "--max-depth"),
        ("--max-memory 1KiB", "--max-memory"),
    ] {
        let line = format!("check bully --nodes 4 --crashes 2 {limit}");
        let text = run(&line, 3);
        let first = text.lines().next().unwrap();
        assert!(first.starts_with("unfinished: "), "{text}");
        assert!(first.contains("nothing wrong within"), "{text}");
        assert!(first.contains(&format!("Raise {flag}")), "{text}");
        let found = json(&format!("{line} --json"), 3);
        assert_eq!(found["verdict"], "unfinished");
        assert!(flag.ends_with(found["limit"].as_str().unwrap()), "{found}");
    }
}

#[test]
fn single_properties_can_be_chosen() {
    let line = "check bully --nodes 3 --crashes 1 --json --property";
    assert_eq!(
        json(&format!("{line} agreement"), 0)["properties"],
        serde_json::json!(["agreement"])
    );
    let found = json(&format!("{line} one-coordinator"), 0);
    assert_eq!(found["properties"], serde_json::json!(["one-coordinator"]));
    // A referee's claims are properties like any others.
    let line = "check causal-broadcast --nodes 2 --json --property no-duplicates";
    assert_eq!(json(line, 0)["properties"], serde_json::json!(["no-duplicates"]));
}

#[test]
fn a_list_of_checks_is_run_and_compared_with_what_it_expects() {
    let folder = TempDir::new().unwrap();
    let list = "heading Elections\n\ncheck chang-roberts --nodes 2\nexpect proved\nquick\n\n\
                check bully --nodes 3 --crashes 1 --timing asynchronous --safety\n\
                expect violated one-coordinator\npicture lies\ntitle When time-outs lie\n";
    fs::write(folder.path().join("list.txt"), list).unwrap();
    let text = printed(run_in(folder.path(), "checks list.txt --quick"), 0);
    assert_eq!(text.lines().count(), 1, "{text}");
    fs::create_dir_all(folder.path().join("docs/images")).unwrap();
    printed(run_in(folder.path(), "checks list.txt --out docs/page.md --images docs/images"), 0);
    let page = fs::read_to_string(folder.path().join("docs/page.md")).unwrap();
    for part in [
        "## Elections",
        "| `chang-roberts --nodes 2` | 2 | each process asked for suspect once | synchronous |",
        "**proved**",
        "### When time-outs lie",
        "(images/check-lies.svg)",
        "bellwether check bully --nodes 3",
    ] {
        assert!(page.contains(part), "no '{part}' in:\n{page}");
    }
    let picture = fs::read_to_string(folder.path().join("docs/images/check-lies.svg")).unwrap();
    assert!(picture.contains("<svg"));

    fs::remove_file(folder.path().join("docs/page.md")).unwrap();
    let wrong = list.replace("expect proved", "expect unfinished");
    fs::write(folder.path().join("list.txt"), wrong).unwrap();
    let output = run_in(folder.path(), "checks list.txt --out docs/page.md --images docs/images");
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.contains("list.txt:3: expected unfinished, found proved"), "{complaint}");
    printed(output, 1);
    assert!(!folder.path().join("docs/page.md").exists());
}

/// Runs commands that must be refused with messages that contain all of these.
#[track_caller]
fn refused(table: &[(&str, &[&str])]) {
    let folder = TempDir::new().unwrap();
    for (line, fragments) in table {
        let output = run_in(folder.path(), &format!("check {line}"));
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        let context = format!("bellwether check {line}\n{complaint}");
        assert_eq!(output.status.code(), Some(2), "{context}");
        assert!(output.stdout.is_empty(), "{context}");
        assert!(complaint.starts_with("error: "), "{context}");
        assert!(!complaint.contains("panicked"), "{context}");
        for fragment in *fragments {
            assert!(complaint.contains(fragment), "no '{fragment}' in: {context}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "something was written");
}

#[test]
fn a_cluster_that_is_none_is_refused() {
    refused(&[
        ("bulli", &["no algorithm 'bulli'", "did you mean 'bully'?"]),
        ("bully --nodes 0", &["--nodes: 0 processes", "at least 1"]),
        ("bully --nodes -1", &["--nodes", "-1"]),
        ("bully --nodes 17", &["--nodes: 17 processes", "at most 16"]),
        ("bully --ids 1..17", &["--ids: 17 processes", "at most 16"]),
        ("bully --ids 1,2,2", &["--ids: id 2 appears twice"]),
        ("bully --ids 1,2 --nodes 2", &["--ids", "--nodes"]),
        ("bully --coordinator 9", &["--coordinator: there is no process 9", "1, 2, 3"]),
        ("bully --coordinator 1 --crashes 1", &["--coordinator: P1 is not the largest"]),
        ("bully --timeout 0", &["--timeout: T must be above 0"]),
        ("bully --textbook", &["--textbook", "no critical section"]),
        ("central --textbook --detection on", &["--textbook", "--detection on", "contradict"]),
        ("bully --section 5ms", &["--section", "no critical section"]),
        ("central --tree line", &["--tree", "on no tree"]),
        ("bully --traitors 1", &["--traitors", "bully has no such option", "byzantine"]),
        ("bully --partition 1,2,3", &["--partition", "all processes on one side"]),
        ("bully --partition 1|2,3@1s..2s", &["--partition", "write 1|2,3"]),
    ]);
}

#[test]
fn budgets_that_make_no_sense_are_refused() {
    refused(&[
        ("bully --crashes 256", &["--crashes: 256 are too many", "at most 255"]),
        ("bully --losses 1000", &["--losses: 1000 are too many"]),
        ("bully --crashes -1", &["--crashes", "-1"]),
        ("bully --recoveries 1", &["--recoveries", "give --crashes too"]),
        ("ricart-agrawala --requests 300", &["--requests: 300 are too many"]),
        ("two-generals --requests 1", &["--requests: two-generals cannot be asked"]),
        ("bully --ask 1=dance", &["--ask: bully cannot be asked for 'dance'", "suspect, start"]),
        ("bully --ask 9=start", &["--ask: there is no process 9"]),
        ("bully --ask start", &["--ask: 'start' does not say who", "ID=VERB"]),
        ("bully --ask 1=start@5ms", &["--ask", "any moment", "write 1=start"]),
        ("bully --threads 0", &["--threads: 0 threads", "at least 1"]),
        ("bully --max-states 0", &["--max-states: 0 states"]),
        ("bully --max-memory 8", &["--max-memory: '8' has no unit", "8GiB"]),
        ("bully --max-memory lots", &["--max-memory: 'lots' is not a size"]),
    ]);
}

#[test]
fn a_world_that_cannot_be_is_refused() {
    refused(&[
        ("bully --timing sometimes", &["--timing", "sometimes", "asynchronous"]),
        ("bully --channels leaky", &["--channels: 'leaky' is no order", "fifo, reorder or causal"]),
        ("bully --channels fifo --channels causal", &["--channels: it is given twice"]),
        ("bully --channels mesh", &["--channels: 'mesh' is no order"]),
        ("chandy-lamport --channels star", &["--channels", "star"]),
        ("bully --delay 10ms", &["--delay", "synchronous time", "--timing bounded"]),
        ("bully --timing bounded", &["--timing: bounded needs to know", "--delay 10ms..20ms"]),
        ("bully --timing bounded --delay 20ms..10ms", &["--delay", "runs backwards", "10ms..20ms"]),
        ("bully --timing bounded --delay soon", &["--delay", "'soon'"]),
        (
            "bully --timing bounded --delay 1us..1s --tick 1us --timeout 500us",
            &["--delay: that is more than 65535 ticks", "a larger --tick"],
        ),
        ("bully --apart 2", &["--apart", "--timing drifting"]),
        ("bully --timing drifting --apart 0", &["--apart", "at least 1"]),
        ("bully --timing asynchronous --tick 5ms", &["--tick", "no ticks"]),
        ("bully --tick 1us", &["--tick: T is more than 1000 ticks", "a larger one"]),
        ("bully --tick 0", &["--tick: a tick must be above 0"]),
        ("bully --until 1s", &["--until: bully does not look at clocks"]),
        ("bully --offset 1=+5ms", &["--offset: bully does not look at clocks"]),
        ("member --until 1ms", &["--until: 1ms is less than a tick"]),
        ("member --timing asynchronous", &["--timing: member looks at its clock", "drifting"]),
        ("chandy-lamport --over cristian", &["--over: cristian looks at clocks"]),
    ]);
}

#[test]
fn properties_that_are_not_there_are_refused() {
    refused(&[
        ("bully --property peace", &["--property: bully has no property 'peace'", "agreement"]),
        ("causal-broadcast --property peace", &["no-duplicates", "causal"]),
        ("bully --safety --property agreement", &["--safety", "--property agreement"]),
        ("member --property leader", &["--property", "--until", "leave it out"]),
        ("cristian", &["nothing to decide about cristian", "bellwether sim cristian"]),
    ]);
}

#[test]
fn output_that_contradicts_itself_is_refused() {
    refused(&[
        ("bully --out x.svg", &["--trace"]),
        ("bully --trace png", &["--trace", "png", "scenario"]),
        ("bully --trace svg --json", &["--json", "--trace", "--out FILE"]),
        ("bully --trace svg --quiet", &["--quiet", "--trace", "--out FILE"]),
        ("bully --trace svg --out nowhere/x.svg", &["--out: cannot write nowhere/x.svg"]),
    ]);
}
