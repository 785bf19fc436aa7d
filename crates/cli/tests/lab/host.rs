//! Algorithms between real processes: the same as in the simulator, and no process is left behind.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(unix)]

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A command written as in a shell without quotes.
fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    command.args(line.split(' '));
    command
}

#[track_caller]
fn printed(output: Output, code: i32) -> String {
    let complaint = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{complaint}\n{text}");
    assert!(!complaint.contains("panicked"), "{complaint}");
    text
}

#[track_caller]
fn summary(line: &str, code: i32) -> Value {
    serde_json::from_str(&printed(command(line).output().unwrap(), code)).unwrap()
}

/// Plays a scenario in both worlds and compares what comes of it: who follows whom, and how many
/// messages of each kind that took. Returns the messages.
#[track_caller]
fn in_both_worlds(target: &str, faults: &str) -> Value {
    let virtually = faults.replace("--kill", "--crash").replace("--revive", "--recover");
    // Loopback's latency, and a time-out that a busy machine keeps.
    let line = format!("sim {target} {virtually} --latency 200us --timeout 300ms --json");
    let simulated = summary(&line, 0);
    let real = summary(&format!("host {target} {faults} --timeout 300ms --json"), 0);
    for key in ["coordinator", "agreed", "messages", "overhead", "faults", "violations"] {
        assert_eq!(simulated[key], real[key], "{key} of {target} {faults}");
    }
    assert_eq!(real["real"], true);
    real["messages"].clone()
}

#[test]
fn the_bully_of_the_textbook_is_the_same_in_both_worlds() {
    let messages = in_both_worlds("bully --nodes 4 --coordinator 4", "--kill 1,4 --detect 2");
    assert_eq!(messages, json!({ "ELECTION": 3, "OK": 1, "COORDINATOR": 2 }));
}

#[test]
fn a_ring_that_skips_the_dead_is_the_same_in_both_worlds() {
    in_both_worlds("ring --ids 3,5,0,1,4,6", "--kill 6 --detect 4");
}

#[test]
fn every_other_algorithm_is_the_same_in_both_worlds() {
    for name in ["active-list", "chang-roberts", "peterson"] {
        in_both_worlds(&format!("{name} --ids 3,5,1,4,2"), "--kill 5 --detect 1");
    }
}

#[test]
fn a_two_way_ring_comes_to_the_same_though_its_messages_race_each_other() {
    let target = "hirschberg-sinclair --ids 3,5,1,4,2";
    let simulated = summary(&format!("sim {target} --crash 5 --detect 1 --json"), 0);
    let real = summary(&format!("host {target} --kill 5 --detect 1 --timeout 300ms --json"), 0);
    assert_eq!(simulated["coordinator"], real["coordinator"]);
    assert_eq!(simulated["messages"]["ELECTED"], real["messages"]["ELECTED"]);
}

#[test]
fn many_processes_begin_together_without_suspecting_each_other() {
    let summary = summary("host bully --nodes 12 --timeout 500ms --for 1200ms --json", 0);
    assert_eq!(summary["messages"], json!({}));
    assert!(summary["overhead"]["RESPONSE"].as_u64().unwrap() >= 11, "{summary}");
    assert_eq!(summary["agreed"], true);
}

/// The trace of a run, one JSON value a line, without the first.
fn events(trace: &Path) -> Vec<Value> {
    let text = fs::read_to_string(trace).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["real"], true);
    lines[1..].to_vec()
}

/// When a process first said this, in microseconds.
#[track_caller]
fn said(events: &[Value], node: u32, text: &str) -> u64 {
    let says = |event: &&Value| event["node"] == node && event["text"] == text;
    let event = events.iter().find(says);
    event.unwrap_or_else(|| panic!("P{node} never {text}"))["us"].as_u64().unwrap()
}

#[track_caller]
fn happened(events: &[Value], node: u32, what: &str) -> u64 {
    let is = |event: &&Value| event["node"] == node && event["event"] == what;
    let event = events.iter().find(is);
    event.unwrap_or_else(|| panic!("no {what} of P{node}"))["us"].as_u64().unwrap()
}

#[test]
fn a_killed_coordinator_is_replaced_and_takes_over_again_when_it_is_revived() {
    let folder = TempDir::new().unwrap();
    let trace = folder.path().join("trace");
    let line = "host bully --nodes 3 --timeout 300ms --kill 3@300ms --revive 3@2500ms --json \
                --trace json --out";
    let output = command(line).arg(&trace).output().unwrap();
    let summary: Value = serde_json::from_str(&printed(output, 0)).unwrap();
    assert_eq!(summary["coordinator"], json!({ "1": 3, "2": 3, "3": 3 }));
    assert_eq!(summary["violations"], json!([]));
    assert_eq!(summary["faults"], json!({ "crash": 1, "recover": 1 }));
    assert_eq!(summary["processes"], 4);
    let events = events(&trace);
    let killed = happened(&events, 3, "crash");
    let revived = happened(&events, 3, "recover");
    let between = said(&events, 1, "elected P2");
    assert!(killed < between && between < revived, "{killed} {between} {revived}");
    // It takes over in the very step in which it comes back.
    assert_eq!(revived, said(&events, 3, "elected P3"));
}

#[test]
fn a_stopped_coordinator_breaks_the_textbook_s_assumption_and_the_trace_shows_it() {
    let folder = TempDir::new().unwrap();
    let trace = folder.path().join("trace");
    let line = "host bully --nodes 3 --timeout 300ms --stop 3@300ms..2500ms --json --trace json \
                --out";
    let output = command(line).arg(&trace).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    let summary: Value = serde_json::from_str(&printed(output, 1)).unwrap();
    assert!(complaint.contains("one-coordinator"), "{complaint}");
    // For a while there are two: the one that was elected and the one that stands still.
    assert_eq!(summary["violations"][0]["name"], "one-coordinator");
    assert_eq!(summary["violations"][0]["by"], json!([3, 2]));
    // In the end the larger one has its way.
    assert_eq!(summary["coordinator"], json!({ "1": 3, "2": 3, "3": 3 }));
    assert!(summary["faults"]["pause"].as_u64().unwrap() > 0, "{summary}");
    let events = events(&trace);
    let (stopped, continued) = (happened(&events, 3, "pause"), happened(&events, 3, "resume"));
    let between = said(&events, 2, "elected P2");
    assert!(stopped < between && between < continued, "{stopped} {between} {continued}");
    // A process that stands still does nothing.
    let deeds = |event: &&Value| {
        let us = event["us"].as_u64().unwrap();
        event["node"] == 3 && event["event"] != "drop" && stopped < us && us < continued
    };
    assert_eq!(events.iter().find(deeds), None);
}

#[test]
fn a_kept_run_can_be_told_again_and_a_damaged_one_is_refused() {
    let folder = TempDir::new().unwrap();
    let kept = folder.path().join("run");
    let line = "host ring --nodes 3 --detect 1 --trace json";
    let first = printed(command(line).arg("--keep").arg(&kept).output().unwrap(), 0);
    let again = |code| {
        let mut command = command("host ring --trace json --again");
        printed(command.arg(&kept).output().unwrap(), code)
    };
    assert_eq!(first, again(0));
    assert!(first.lines().count() > 5);

    let refused = |line: &str, complaint: &str| {
        let output = command(line).arg(&kept).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(complaint), "{text}");
    };
    refused("host bully --again", "holds a run of ring");
    refused("host ring --keep", "not empty");

    // A step that was being written when the process was killed had no effects.
    let journal = kept.join("journal-2.1");
    let whole = fs::read(&journal).unwrap();
    let torn = [&whole[..], &whole[8..15]].concat();
    fs::write(&journal, torn).unwrap();
    assert_eq!(first, again(0));
    // A step that is missing is noticed: P2 passed on what it was never told.
    fs::write(&journal, &whole[..whole.len() / 2]).unwrap();
    refused("host ring --again", "contradict each other");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    fs::write(&journal, flipped).unwrap();
    refused("host ring --again", "is damaged at byte");
}

/// The processes that this one has started, as the kernel sees them.
fn children(parent: &Child) -> Vec<Pid> {
    let pid = parent.id();
    let path = PathBuf::from(format!("/proc/{pid}/task/{pid}/children"));
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// Waits for something, but not for ever.
#[track_caller]
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        #[expect(clippy::disallowed_methods, reason = "waits for other processes")]
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what} did not happen");
}

/// Ends a parent by a signal while its children run, and waits until they are gone.
fn no_process_is_left(signal: Signal) -> Output {
    let folder = TempDir::new().unwrap();
    let mut parent = command("host bully --nodes 4 --stop 2@50ms..50s --for 60s");
    let parent = parent.env("TMPDIR", folder.path());
    let parent = parent.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pids = Vec::new();
    let stopped = |pid: &Pid| {
        let status = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        status.unwrap_or_default().contains(") T ")
    };
    eventually("the run", || {
        pids = children(&parent);
        pids.len() == 4 && pids.iter().any(stopped)
    });
    kill_process(Pid::from_child(&parent), signal).unwrap();
    let output = parent.wait_with_output().unwrap();
    eventually("the end of all processes", || {
        pids.iter().all(|pid| test_kill_process(*pid).is_err())
    });
    if signal != Signal::KILL {
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
    output
}

#[test]
fn ctrl_c_leaves_no_process_and_no_file_and_shows_what_happened() {
    let text = printed(no_process_is_left(Signal::INT), 0);
    assert!(text.contains("P2 pauses"), "{text}");
    assert!(text.contains("4 operating-system processes"), "{text}");
}

#[test]
fn a_polite_end_is_like_ctrl_c() {
    assert!(printed(no_process_is_left(Signal::TERM), 0).contains("P2 pauses"));
}

#[test]
fn not_even_a_parent_that_is_killed_leaves_a_process() {
    assert_eq!(no_process_is_left(Signal::KILL).status.code(), None);
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_started() {
    for (line, complaint) in [
        ("host bulli", "did you mean 'bully'"),
        ("host bully --nodes 0", "give at least 1"),
        ("host bully --nodes 65", "at most 64 processes"),
        ("host bully --nodes 4000000000", "at most 64 processes"),
        ("host bully --ids 1,2,1", "appears twice"),
        ("host bully --timeout 0", "T must be above 0"),
        ("host bully --coordinator 3", "not the largest"),
        ("host bully --kill 9", "9"),
        ("host bully --kill 3,3", "P3 cannot be killed at 0ms: it was killed at 0ms"),
        ("host bully --revive 3", "needs a time"),
        ("host bully --revive 3@1s", "P3 cannot be revived at 1000ms"),
        ("host bully --stop 3@1s", "needs a beginning and an end"),
        ("host bully --stop 3@2s..1s", "not after its beginning"),
        ("host bully --kill 3@2s --for 1s", "the run ends before that"),
        ("host bully --json --trace text", "both want standard output"),
        ("host bully --again no-such-directory", "cannot read no-such-directory"),
        ("host bully --again . --nodes 3", "cannot be used with"),
        ("host bully --out x.svg", "--trace"),
    ] {
        let output = command(line).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{line}: {text}");
        assert!(text.contains(complaint), "{line}: {text}");
        assert!(output.stdout.is_empty(), "{line}");
    }
}

#[test]
fn a_process_without_a_parent_ends_at_once() {
    let mut orphan = command("host-process bully 0");
    let output = orphan.stdin(Stdio::piped()).output().unwrap();
    assert!(printed(output, 0).starts_with("{\"Port\":"));
}
