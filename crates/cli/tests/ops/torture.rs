//! `torture` as a script meets it: a short run in which everything goes wrong and nothing is wrong.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::print_stderr, reason = "it says what is skipped")]

use crate::common::{Up, command};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use tempfile::TempDir;

fn run(line: &str) -> Output {
    command(line).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn whatever_happens_to_members_and_clients_nothing_is_wrong() {
    let output = run("torture --members 3 --clients 4 --for 8s --seed 5 --json");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}\n{}", text(&output.stderr));
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["violations"], Value::Array(Vec::new()), "{said}");
    assert_eq!((&report["kept"], &report["seed"]), (&Value::Null, &Value::from(5)));
    for some in ["grants", "waited", "looks", "operations"] {
        assert!(report[some].as_u64() > Some(0), "{some}: {said}");
    }
    let faults = report["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 8);
    let sum = |what: &str| faults.iter().map(|fault| fault[what].as_u64().unwrap()).sum::<u64>();
    assert!(sum("bit") >= 4 && sum("happened") >= sum("bit"), "{said}");
}

#[test]
fn on_etcd_nothing_is_wrong_either() {
    let path = std::env::var_os("PATH").unwrap();
    if !std::env::split_paths(&path).any(|folder| folder.join("etcd").exists()) {
        eprintln!("skipped: no etcd here; apt-get install etcd-server installs it");
        return;
    }
    let output = run("torture --engine etcd --clients 4 --for 5s --seed 5 --json");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}\n{}", text(&output.stderr));
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&report["violations"], &report["engine"]),
        (&Value::Array(Vec::new()), &"etcd".into())
    );
    let faults = report["faults"].as_array().unwrap();
    let bit = faults.iter().map(|fault| fault["bit"].as_u64().unwrap()).sum::<u64>();
    assert!(bit >= 2 && report["grants"].as_u64() > Some(0), "{said}");
    let output = run("torture --engine etcd --namespaces");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

/// All processes of a run, by what the members' and clients' files say.
fn processes(folder: &Path, clients: usize) -> Vec<Pid> {
    let begun = |entry: &fs::DirEntry| {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let first: Value = serde_json::from_str(text.lines().next()?).ok()?;
        Pid::from_raw(i32::try_from(first["pid"].as_i64()?).ok()?)
    };
    // As long as it takes: the test's own time is bounded by the command's.
    loop {
        let entries: Vec<_> = fs::read_dir(folder).unwrap().flatten().collect();
        let pids: Vec<_> = entries.iter().filter_map(begun).collect();
        if pids.len() >= clients {
            return pids;
        }
        std::thread::yield_now();
    }
}

#[test]
fn it_leaves_no_process_behind_however_it_ends() {
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let folder = TempDir::new().unwrap();
        let keep = folder.path().join("kept");
        let line = "torture --clients 2 --for 60s --faults none --keep";
        let mut child = command(line)
            .arg(&keep)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !keep.join("members").exists() {
            std::thread::yield_now();
        }
        let pids = processes(&keep, 2);
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), code);
        let lives = |_: &u32| pids.iter().any(|pid| Up::lives(*pid));
        assert!(!(0..1_000_000).take_while(lives).any(|look| look == 999_999), "{signal:?}");
    }
}

#[test]
fn namespaces_come_and_go_as_root_and_are_refused_otherwise() {
    let line = "torture --namespaces --clients 2 --for 4s --seed 1 --faults partition,loss --json";
    let output = run(line);
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    if !rustix::process::geteuid().is_root() {
        assert_eq!(output.status.code(), Some(77), "{complaint}");
        assert!(complaint.contains("--namespaces needs root"), "{complaint}");
        return;
    }
    // A machine without TAP devices or without the tools says which.
    if output.status.code() == Some(2) {
        assert!(complaint.contains("--namespaces: cannot"), "{complaint}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{said}\n{complaint}");
    let report: Value = serde_json::from_str(&said).unwrap();
    assert!(report["grants"].as_u64() > Some(0), "{said}");
    assert!(report["faults"][0]["longest_without_leader_ms"].is_number(), "{said}");
    let mut left = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let ours = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("bw");
    assert!(!left.any(ours), "a namespace is left behind");
}

#[test]
fn a_slow_disk_is_felt_or_the_report_says_why_it_was_left_out() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let line = "torture --namespaces --clients 4 --for 6s --seed 1 --faults disk-slow,disk-read-only --json";
    let output = run(line);
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    // As above, a machine may lack what namespaces need.
    if output.status.code() == Some(2) {
        assert!(complaint.contains("--namespaces: cannot"), "{complaint}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{said}\n{complaint}");
    let report: Value = serde_json::from_str(&said).unwrap();
    let [slow, read_only] = [0, 1].map(|place| &report["faults"][place]);
    match slow["left_out"].as_str() {
        Some(why) => assert!(complaint.contains(why), "{complaint}"),
        None => assert!(slow["bit"].as_u64() > Some(0), "{said}"),
    }
    assert!(read_only["bit"].as_u64() > Some(0), "{said}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("precious"), "do not touch").unwrap();
    let full = format!("torture --keep {}", folder.path().display());
    for (line, fragment) in [
        ("torture --members 2", "--members: '2' is not a whole number from 3 to 9"),
        ("torture --members -3", "--members: '-3'"),
        ("torture --clients 0", "--clients: '0' is not a whole number from 1 to 64"),
        ("torture --for soon", "--for: "),
        ("torture --for 10ms", "--for: too short"),
        ("torture --seed x", "--seed: 'x' is not a whole number"),
        ("torture --faults kill,flood", "--faults: no fault 'flood'; there are kill, stop"),
        ("torture --locks 0", "--locks: '0'"),
        ("torture --faults star", "--faults: 'star' needs --namespaces"),
        ("torture --namespaces --sequence x", "--sequence: no sequence 'x'; there are a to j"),
        (full.as_str(), "it is not empty"),
    ] {
        let output = run(line);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {complaint}");
        assert!(complaint.contains(fragment) && output.stdout.is_empty(), "{line}: {complaint}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
