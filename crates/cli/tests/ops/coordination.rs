//! `sessions`, `roles`, `locks` and `deadlocks` as an operator meets them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Up, call, command};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Output, Stdio};
use tempfile::TempDir;

/// Commands something of a member; status and answer.
fn post(address: &str, path: &str, body: &Value) -> (u16, Value) {
    call(address, "POST", path, body).unwrap()
}

fn open(address: &str, client: &str) -> String {
    let (code, opened) =
        post(address, "/v1/sessions", &json!({ "client": client, "ttl_ms": 60_000 }));
    assert_eq!(code, 200, "{opened}");
    opened["session"].as_str().unwrap().to_owned()
}

fn lock(address: &str, session: &str, name: &str, wait_ms: u64) -> (u16, Value) {
    let body = json!({ "locks": [{ "name": name }], "wait_ms": wait_ms });
    post(address, &format!("/v1/sessions/{session}/locks"), &body)
}

fn ask(address: &str, line: &str) -> Output {
    command(&format!("{line} --address {address}")).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn shown(address: &str, line: &str, fragments: &[&str]) -> String {
    let output = ask(address, line);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "bellwether {line}\n{complaint}");
    let text = String::from_utf8(output.stdout).unwrap();
    for fragment in fragments {
        assert!(text.contains(fragment), "no '{fragment}' in: {line}\n{text}");
    }
    text
}

#[track_caller]
fn refused(address: &str, line: &str, code: i32, fragments: &[&str]) {
    let output = ask(address, line);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "bellwether {line}\n{complaint}");
    assert!(output.stdout.is_empty(), "bellwether {line}");
    for fragment in fragments {
        assert!(complaint.contains(fragment), "no '{fragment}' in: {line}\n{complaint}");
    }
}

#[test]
fn who_holds_what_and_who_waits_is_listed_watched_and_drawn() {
    let mut up = Up::start("--nodes 3");
    up.until(&["member 3 is the coordinator in term"]);
    let address = up.members[2].clone();
    let (a, b) = (open(&address, "first"), open(&address, "second"));
    assert_eq!(lock(&address, &a, "x", 0).0, 200);
    assert_eq!(lock(&address, &b, "y", 0).0, 200);
    let body = json!({ "session": a, "value": "here" });
    assert_eq!(post(&address, "/v1/roles/cron/campaign", &body).0, 200);
    shown(&address, "sessions", &[&a, "first", "60000 ms", "x", "cron", "the coordinator"]);
    shown(&address, "roles", &["cron", "first-come", &a, "here", "the first candidate"]);
    shown(&address, "locks", &["x", "held", &a, "exclusive", "second"]);
    shown(&address, "deadlocks", &["no deadlock was found lately", "no session waits"]);
    let text = shown(&address, "locks --json", &[]);
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(all["locks"][0]["holders"][0]["session"], a.as_str());
    assert_eq!(all["sessions"], json!([]));

    let mut watcher = command(&format!("locks --watch 10ms --json --address {address}"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(watcher.stdout.take().unwrap()).lines();
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert_eq!(lines.next().unwrap()["locks"][1]["queue"], json!([]));
    let waiting = std::thread::spawn({
        let (address, a) = (address.clone(), a.clone());
        move || lock(&address, &a, "y", 60_000)
    });
    let waits = lines.find(|all| all["locks"][1]["queue"] != json!([])).unwrap();
    assert_eq!(waits["locks"][1]["queue"][0]["session"], a.as_str());
    watcher.kill().unwrap();
    watcher.wait().unwrap();

    let (code, problem) = lock(&address, &b, "x", 60_000);
    assert_eq!((code, &problem["code"]), (409, &json!("deadlock")));
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("waits.svg");
    let line = format!("deadlocks --svg {}", file.display());
    let cycle = format!("{b} (second) waits for 'x' behind {a}");
    shown(&address, &line, &["2 sessions in a cycle", &cycle, "was aborted"]);
    let picture = fs::read_to_string(file).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains(&a), "{picture}");

    // By force, and only if it is meant.
    let force = format!("locks --release y --session {b}");
    refused(&address, &force, 2, &["--release", "add --yes"]);
    shown(
        &address,
        &format!("{force} --yes --now --reason stuck"),
        &["'y' was force-released from", "reject its token"],
    );
    assert_eq!(waiting.join().unwrap().0, 200);
    refused(&address, &format!("{force} --yes"), 72, &["409", "does not hold the lock 'y'"]);
    refused(&address, "locks --release y --session 5 --yes", 71, &["404", "no session '5'"]);
    refused(&address, &format!("{force} --watch --yes"), 2, &["--watch", "--release"]);
    refused(&address, "deadlocks --svg /dev/null/x", 2, &["--svg", "cannot write"]);

    // A token is good as long as something is held by it, and never again.
    let all: Value = serde_json::from_str(&shown(&address, "locks --json", &[])).unwrap();
    let token = &all["locks"][0]["holders"][0]["token"];
    let held = format!("'x' is held by {a} with token {token}");
    shown(&address, &format!("locks --check x --token {token}"), &[&held]);
    shown(&address, &format!("locks --check x --token {token} --json"), &["\"session\"", &a]);
    let all: Value = serde_json::from_str(&shown(&address, "roles --json", &[])).unwrap();
    let leads = format!("roles --check cron --token {}", all["roles"][0]["leader"]["token"]);
    shown(&address, &leads, &["'cron' is led by", &a]);
    let old = "locks --check x --token 1";
    refused(&address, old, 82, &["409", "not held by token 1 of term 0", "ask for it again"]);
    refused(&address, &format!("roles --check cron --token {token}"), 82, &["the role 'cron'"]);
    refused(&address, "locks --check x --token -5", 2, &["--token", "whole number"]);
    refused(&address, "locks --check x", 2, &["--token"]);
    refused(&address, &format!("{old} --watch"), 2, &["--watch", "--check"]);
    up.say("quit");
    assert!(up.child.wait().unwrap().success());
}

#[test]
fn a_member_that_does_not_answer_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for verb in [
        "sessions",
        "roles",
        "locks",
        "deadlocks",
        "locks --watch",
        "locks --release a --session s1.1 --yes",
    ] {
        refused(&free, verb, 69, &[&free, "connection refused", "BELLWETHER_HTTP"]);
    }
}

/// Asks without naming anybody, where clusters are looked for in this place.
fn unnamed(runtime: &TempDir, line: &str) -> (Option<i32>, String, String) {
    let mut asking = command(line);
    asking.env("XDG_RUNTIME_DIR", runtime.path()).env_remove("BELLWETHER_HTTP");
    let output = asking.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_cluster_of_up_is_found_and_of_several_one_has_to_be_named() {
    let runtime = TempDir::new().unwrap();
    let mut up = Up::start_in(runtime.path(), "--nodes 3");
    up.until(&["member 3 is the coordinator in term"]);
    let a = open(&up.members[2], "first");
    assert_eq!(lock(&up.members[2], &a, "x", 0).0, 200);
    for (line, fragment) in [
        ("sessions", a.as_str()),
        ("roles", "as seen by P"),
        ("locks --json", "\"name\": \"x\""),
        ("deadlocks", "no deadlock was found"),
        ("status", "up, 3 members"),
        ("members", "coordinator"),
    ] {
        let (code, said, complaint) = unnamed(&runtime, line);
        assert_eq!(code, Some(0), "{line}: {complaint}");
        assert!(said.contains(fragment), "no '{fragment}' in: {line}\n{said}");
    }
    // The member that is named is asked, not the one that was found.
    let elsewhere = unnamed(&runtime, "status --address 127.0.0.1:1");
    assert!(elsewhere.0 == Some(69) && elsewhere.2.contains("127.0.0.1:1"), "{elsewhere:?}");

    // One that is dead or stopped is passed over, and orders find their way, too.
    up.say("kill 1");
    up.until(&["killed"]);
    up.say("pause 2");
    up.until(&["paused"]);
    let (code, said, complaint) = unnamed(&runtime, "status");
    // Of three members one is left: it leads on until its lease is over.
    assert!(matches!(code, Some(0 | 70)) && said.contains("P3"), "{said}{complaint}");
    up.say("resume 2");
    let force = format!("locks --release x --session {a} --yes --now");
    let (code, said, complaint) = unnamed(&runtime, &force);
    assert!(code == Some(0) && said.contains("'x' was force-released"), "{said}{complaint}");

    let mut other = Up::start_in(runtime.path(), "--nodes 1");
    other.until(&["member 1 is the coordinator in term"]);
    let (code, said, complaint) = unnamed(&runtime, "sessions");
    assert_eq!((code, said.as_str()), (Some(2), ""), "{complaint}");
    for fragment in
        ["2 clusters of `bellwether up`", "--address", &up.members[0], &other.members[0]]
    {
        assert!(complaint.contains(fragment), "no '{fragment}' in {complaint}");
    }
    for mut cluster in [up, other] {
        cluster.say("quit");
        assert!(cluster.child.wait().unwrap().success());
    }
    // Nothing is left to be found, and an installed member is asked for.
    if TcpListener::bind("127.0.0.1:7480").is_ok() {
        let (code, _, complaint) = unnamed(&runtime, "sessions");
        assert!(code == Some(69) && complaint.contains("127.0.0.1:7480"), "{complaint}");
        assert!(complaint.contains("`bellwether up`"), "{complaint}");
    }
}
