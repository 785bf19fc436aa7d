//! What the commands promise, seen from outside.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

use bellwether_algorithms::catalogue::catalogue;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const FORMATS: [&str; 6] = ["text", "json", "svg", "mermaid", "plantuml", "shiviz"];
const PARTITION: &str = "1,2|3,4,5@1s..2s";

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    command.args(words);
    command
}

/// A command written as in a shell without quotes.
fn run(line: &str) -> Output {
    command(&line.split(' ').collect::<Vec<_>>()).output().unwrap()
}

/// What it prints, if it ends with this code.
#[track_caller]
fn printed(output: Output, code: i32) -> String {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{complaint}");
    assert!(!complaint.contains("panicked"), "{complaint}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn json(line: &str, code: i32) -> Value {
    serde_json::from_str(&printed(run(line), code)).unwrap()
}

#[test]
fn seven_processes_of_which_the_largest_is_dead_and_the_smallest_notices() {
    let summary = json("sim bully --nodes 7 --crash 7 --detect 1 --json", 0);
    let messages = serde_json::json!({ "ELECTION": 21, "OK": 15, "COORDINATOR": 5 });
    assert_eq!(summary["messages"], messages);
    let coordinators: Vec<_> = summary["coordinator"].as_object().unwrap().iter().collect();
    assert_eq!(coordinators.len(), 6);
    for (id, coordinator) in coordinators {
        assert_eq!(coordinator, 6, "P{id}");
    }
    assert_eq!(summary["algorithm"], "bully");
    assert_eq!(summary["nodes"], 7);
    assert_eq!(summary["seed"], 0);
    assert_eq!(summary["agreed"], true);
    assert_eq!(summary["faults"], serde_json::json!({ "crash": 1 }));
    assert_eq!(summary["violations"], serde_json::json!([]));
    assert!(summary["overhead"].is_object());
    assert!(summary["virtual_ms"].as_f64().unwrap() > 0.0);
    // 42 messages, less the 7 that find P7 down, and the timers.
    assert!(summary["events"].as_u64().unwrap() >= 35);
    for key in ["wall_s", "events_per_second"] {
        assert!(summary[key].is_f64(), "{key}: {}", summary[key]);
    }
    let memory = &summary["peak_rss_bytes"];
    assert!(memory.is_null() || memory.as_u64().unwrap() > 100_000, "{memory}");
}

#[test]
fn the_same_seed_gives_the_same_trace_in_every_format() {
    let directory = TempDir::new().unwrap();
    for format in FORMATS {
        let trace = |seed: u64| {
            let line = format!(
                "sim chang-roberts --nodes 8 --crash 8@1s --latency 5ms..20ms --trace {format} \
                 --seed {seed}"
            );
            printed(run(&line), 0)
        };
        let first = trace(1);
        assert!(first.len() > 1_000, "{format}: {first}");
        assert_eq!(first, trace(1), "{format}");
        assert_ne!(first, trace(2), "{format}");

        let file = directory.path().join(format);
        let line = "sim chang-roberts --nodes 8 --crash 8@1s --latency 5ms..20ms --seed 1 --json";
        let output = command(&line.split(' ').collect::<Vec<_>>())
            .args(["--trace", format, "--out"])
            .arg(&file)
            .output();
        let summary: Value = serde_json::from_str(&printed(output.unwrap(), 0)).unwrap();
        assert_eq!(summary["agreed"], true);
        assert_eq!(fs::read_to_string(&file).unwrap(), first, "{format}");
    }
    let files = fs::read_dir(&directory).unwrap().count();
    assert_eq!(files, FORMATS.len(), "a temporary file was left behind");
}

#[test]
fn the_catalogue_lists_every_algorithm_and_the_member() {
    let entries = json("algorithms --json", 0);
    let names: Vec<&str> =
        entries.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    let catalogue = catalogue();
    let expected: Vec<&str> =
        catalogue.iter().map(|listed| listed.name()).chain(["member"]).collect();
    assert_eq!(names, expected);
    let table = printed(run("algorithms"), 0);
    for name in expected {
        assert!(table.contains(name), "{table}");
    }
}

#[test]
fn every_exact_formula_is_met() {
    let directory = TempDir::new().unwrap();
    let plot = directory.path().join("plot.svg");
    let output = command(&["compare", "election", "--nodes", "3..12", "--json", "--svg"])
        .arg(&plot)
        .output()
        .unwrap();
    let comparison: Value = serde_json::from_str(&printed(output, 0)).unwrap();
    assert_eq!(comparison["disagreeing"], 0);
    assert_eq!(comparison["nodes"], serde_json::json!({ "from": 3, "to": 12 }));
    assert!(comparison["cases"].as_array().unwrap().len() > 100);
    assert!(fs::read_to_string(plot).unwrap().starts_with("<svg"));
    let table = printed(run("compare election --nodes 3..5"), 0);
    assert!(table.contains("every exact formula and every bound holds"), "{table}");
}

/// The words that a shell makes of a line: only single quotes are special in what we print.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// The rest of the line that begins with this.
#[track_caller]
fn line<'a>(text: &'a str, name: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.strip_prefix(name));
    found.unwrap_or_else(|| panic!("no line '{name}' in\n{text}")).trim()
}

/// Runs the replay command that a report names and returns what it prints.
#[track_caller]
fn replayed(report: &str) -> String {
    let words = words(line(report, "replay"));
    assert_eq!(words[0], "bellwether");
    let output = Command::new(env!("CARGO_BIN_EXE_bellwether")).args(&words[1..]).output();
    printed(output.unwrap(), 1)
}

#[test]
fn a_violation_comes_with_what_is_needed_to_see_it_again() {
    let directory = TempDir::new().unwrap();
    let saved = directory.path().join("failing.txt");
    let output = command(&["sim", "bully", "--partition", PARTITION, "--seed", "3", "--quiet"])
        .args(["--latency", "5ms..15ms", "--save"])
        .arg(&saved)
        .output();
    let report = printed(output.unwrap(), 1);
    let violated = line(&report, "violated");
    assert!(violated.starts_with("one-coordinator at "), "{violated}");
    assert!(violated.ends_with("(here: P5, P2)"), "{violated}");

    // The command that repeats the run gives the very same violation.
    assert_eq!(line(&replayed(&report), "violated"), violated);

    // The scenario that is printed is the one that is saved, and it violates the same.
    assert!(line(&report, "shrunk").contains("as a scenario:"), "{report}");
    let scenario = fs::read_to_string(&saved).unwrap();
    for line in scenario.lines() {
        assert!(report.contains(&format!("    {line}\n")), "not in the report: {line}");
    }
    let played = printed(command(&["sim"]).arg(&saved).output().unwrap(), 1);
    let violated = line(&played, "violated");
    assert!(violated.starts_with("one-coordinator at "), "{violated}");
}

#[test]
fn a_violation_in_json_names_its_processes_and_is_explained_beside_it() {
    let output = command(&["sim", "bully", "--partition", PARTITION, "--json"]).output().unwrap();
    let explanation = String::from_utf8(output.stderr.clone()).unwrap();
    let summary: Value = serde_json::from_str(&printed(output, 1)).unwrap();
    assert_eq!(summary["violations"][0]["name"], "one-coordinator");
    assert_eq!(summary["violations"][0]["by"], serde_json::json!([5, 2]));
    assert!(summary["violations"][0]["at_ms"].as_f64().unwrap() > 1_000.0);
    assert_eq!(summary["agreed"], false);
    assert!(line(&explanation, "replay").starts_with("bellwether sim bully"), "{explanation}");
}

#[test]
fn a_sweep_within_the_assumptions_finds_nothing() {
    for algorithm in ["bully", "peterson"] {
        let report = printed(run(&format!("sim {algorithm} --chaos --seeds 200")), 0);
        assert!(report.contains("200 seeds, 200 agreed, 0 failed"), "{report}");
    }
    let report = json("sim ring --chaos --seeds 50 --seed 1000 --json", 0);
    assert_eq!(report["agreed"], 50);
    assert_eq!(report["first_seed"], 1_000);
    assert_eq!(report["failing_seeds"], serde_json::json!([]));
    assert!(report["faults"]["crash"].as_u64().unwrap() > 10, "{report}");
}

#[test]
fn a_sweep_lists_the_seeds_that_fail_and_each_of_them_does() {
    let sweep = ["sim", "bully", "--partition", PARTITION, "--latency", "5ms..15ms"];
    let report =
        printed(command(&sweep).args(["--seeds", "5", "--seed", "10"]).output().unwrap(), 1);
    assert_eq!(line(&report, "failing"), "10 11 12 13 14");
    assert_eq!(line(&replayed(&report), "violated"), line(&report, "violated"));
    for seed in ["10", "14"] {
        let single = printed(command(&sweep).args(["--seed", seed]).output().unwrap(), 1);
        assert!(line(&single, "violated").starts_with("one-coordinator"), "{single}");
    }
    let output = command(&sweep).args(["--seeds", "5", "--seed", "10", "--json"]).output().unwrap();
    let summary: Value = serde_json::from_str(&printed(output, 1)).unwrap();
    assert_eq!(summary["failing_seeds"], serde_json::json!([10, 11, 12, 13, 14]));
    assert!(summary["replay"].as_str().unwrap().ends_with("--seed 10"));
}

#[test]
fn a_fault_that_never_happens_is_a_warning() {
    let line_of = "sim bully --crash 5 --loss 0.0001 --quiet";
    let report = printed(run(line_of), 0);
    assert!(line(&report, "warning").starts_with("loss was asked for and never"), "{report}");
    let summary = json(&format!("{line_of} --json"), 0);
    assert_eq!(summary["faults"], serde_json::json!({ "crash": 1, "loss": 0 }));
    assert_eq!(summary["warnings"].as_array().unwrap().len(), 1);
    let sweep = json(&format!("{line_of} --json --seeds 2"), 0);
    assert_eq!(sweep["warnings"].as_array().unwrap().len(), 1, "{sweep}");
    assert!(!printed(run("sim bully --crash 5 --quiet"), 0).contains("warning"));
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    // Far more than a pipe holds.
    let words = ["sim", "chang-roberts", "--nodes", "60", "--all-start", "--trace", "json"];
    let mut child = command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut beginning = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut beginning).unwrap();
    // The pipe is closed now.
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_file_is_replaced_as_a_whole_and_keeps_its_permissions() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("trace.txt");
    let write = |target: &Path| {
        let words = ["sim", "bully", "--crash", "5", "--trace", "text", "--out"];
        printed(command(&words).arg(target).output().unwrap(), 0);
    };
    fs::write(&file, "x".repeat(100_000)).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        write(&file);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    write(&file);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("ELECTION") && !text.contains("xxx"), "{text}");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_a_device_a_device() {
    let directory = TempDir::new().unwrap();
    let [file, link, null] = ["file", "link", "null"].map(|name| directory.path().join(name));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    std::os::unix::fs::symlink("/dev/null", &null).unwrap();
    for target in [&link, &null] {
        let words = ["sim", "bully", "--crash", "5", "--trace", "text", "--out"];
        printed(command(&words).arg(target).output().unwrap(), 0);
        assert!(fs::symlink_metadata(target).unwrap().is_symlink(), "{}", target.display());
    }
    assert!(fs::read_to_string(&file).unwrap().contains("ELECTION"));
    assert!(!fs::metadata(&null).unwrap().is_file());
}
