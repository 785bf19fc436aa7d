//! Sessions belong to those who opened them, and operators have a token, on real members.
//!
//! The version before answered such requests with 200.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "the logs are written by other processes")]

use crate::common::{Up, call, call_with, command};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// Asks with this secret, or with none: the status, and the answer.
fn asked(address: &str, request: &str, secret: Option<&str>, body: &Value) -> (u16, Value) {
    let (method, path) = request.split_once(' ').unwrap();
    call_with(address, method, path, secret, body).unwrap()
}

/// A session that holds the lock `db` by its request 1, and its key.
fn holder(address: &str) -> (String, String) {
    let body = json!({ "client": "owner", "ttl_ms": 60_000 });
    let (_, opened) = asked(address, "POST /v1/sessions", None, &body);
    let text = |field: &str| opened[field].as_str().unwrap().to_owned();
    let (session, key) = (text("session"), text("key"));
    let body = json!({ "locks": [{ "name": "db" }], "number": 1 });
    let locks = format!("POST /v1/sessions/{session}/locks");
    assert_eq!(asked(address, &locks, Some(&key), &body).0, 200);
    (session, key)
}

#[test]
fn nothing_is_done_in_a_session_without_its_key() {
    let mut up = Up::start("--nodes 3");
    up.until(&["member 3 is the coordinator in term"]);
    let address = up.members[0].clone();
    let (session, key) = holder(&address);
    let (session, key) = (session.as_str(), key.as_str());
    let locks = format!("POST /v1/sessions/{session}/locks");
    let wrong = "0".repeat(32);
    for (request, body) in [
        (format!("POST /v1/sessions/{session}/keep-alive"), &Value::Null),
        (locks, &json!({ "locks": [{ "name": "other" }] })),
        (format!("DELETE /v1/sessions/{session}/locks/1"), &Value::Null),
        ("POST /v1/roles/cron/campaign".to_owned(), &json!({ "session": session })),
        ("POST /v1/roles/cron/resign".to_owned(), &json!({ "session": session })),
        ("POST /v1/roles/cron/proclaim".to_owned(), &json!({ "session": session, "value": "x" })),
        ("POST /v1/roles/cron/hand-over".to_owned(), &json!({ "session": session, "to": session })),
        (format!("DELETE /v1/sessions/{session}"), &Value::Null),
    ] {
        for address in &up.members {
            let (code, said) = asked(address, &request, None, body);
            assert_eq!((code, &said["code"]), (401, &json!("no-key")), "{request}: {said}");
            let (code, said) = asked(address, &request, Some(&wrong), body);
            assert_eq!((code, &said["code"]), (403, &json!("wrong-key")), "{request}: {said}");
            assert!(!said.to_string().contains(key), "{said}");
        }
    }
    // It is listed as it was, and its key is not.
    let (_, all) = asked(&address, "GET /v1/coordination", None, &Value::Null);
    assert_eq!(all["locks"][0]["holders"][0]["session"], session, "{all}");
    assert!(!all.to_string().contains(key), "{all}");
    let close = format!("DELETE /v1/sessions/{session}");
    assert_eq!(asked(&up.members[2], &close, Some(key), &Value::Null).0, 200);
}

#[test]
fn only_an_operator_commands_members_and_force_releases() {
    let mut up = Up::start("--nodes 3");
    up.until(&["member 3 is the coordinator in term"]);
    let address = up.members[2].clone();
    let (session, key) = holder(&address);
    let (session, key) = (session.as_str(), key.as_str());
    let force = json!({ "session": session, "by": "mallory", "now": true });
    let dashboard = up.dashboard.clone();
    let end = format!("DELETE /v1/sessions/{session}?now=true");
    for (address, request, body) in [
        (&address, "POST /v1/locks/db/force", &force),
        (&address, end.as_str(), &Value::Null),
        (&address, "POST /v1/step-down", &Value::Null),
        (&address, "POST /v1/elect", &Value::Null),
        (&address, "POST /v1/transfer", &json!({ "to": 1 })),
        (&address, "POST /dev/partition", &json!({ "blocked": [1] })),
        (&dashboard, "POST /v1/up/command", &json!({ "command": "kill 1" })),
    ] {
        let (code, said) = asked(address, request, None, body);
        assert_eq!((code, &said["code"]), (401, &json!("no-operator-token")), "{request}: {said}");
        // A session's key is not an operator's token.
        let (code, said) = asked(address, request, Some(key), body);
        assert_eq!(
            (code, &said["code"]),
            (403, &json!("wrong-operator-token")),
            "{request}: {said}"
        );
    }
    let (_, all) = asked(&address, "GET /v1/coordination", None, &Value::Null);
    assert_eq!(all["locks"][0]["holders"][0]["session"], session, "{all}");
    assert_eq!(all["term"], 1, "{all}");
}

/// Waits until the logs of the members have a line with all of these.
fn logged(up: &Up, fragments: &[&str]) -> String {
    for _ in 0..3_000 {
        let all: String = (1..=up.members.len())
            .map(|id| fs::read_to_string(up.folder.join(format!("member-{id}.log"))).unwrap())
            .collect();
        if all.lines().any(|line| fragments.iter().all(|part| line.contains(part))) {
            return all;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("no line has {fragments:?}");
}

#[test]
fn an_operator_that_force_releases_or_ends_is_logged() {
    let mut up = Up::start("--nodes 3");
    up.until(&["member 3 is the coordinator in term"]);
    let address = up.members[0].clone();
    let token = fs::read_to_string(up.folder.join("operator.token")).unwrap();
    let token = token.trim();
    let body = json!({ "client": "owner", "ttl_ms": 60_000 });
    let (_, opened) = asked(&address, "POST /v1/sessions", None, &body);
    let (session, key) = (opened["session"].as_str().unwrap(), opened["key"].as_str().unwrap());
    let body = json!({ "locks": [{ "name": "db" }] });
    let locks = format!("POST /v1/sessions/{session}/locks");
    assert_eq!(asked(&address, &locks, Some(key), &body).0, 200);

    let force = json!({ "session": session, "by": "anna: it hangs", "now": true });
    assert_eq!(asked(&address, "POST /v1/locks/db/force", None, &force).0, 401);
    logged(&up, &["WARN refused: POST /v1/locks/db/force by HTTP client at 127.0.0.1:"]);
    assert_eq!(asked(&address, "POST /v1/locks/db/force", Some(token), &force).0, 200);
    let taken =
        format!("'db' was force-released from {session} by anna: it hangs (operator at 127.0.0.1:");
    logged(&up, &["WARN", &taken, "through P1"]);

    let end = format!("DELETE /v1/sessions/{session}");
    assert_eq!(asked(&address, &end, Some(&"0".repeat(32)), &Value::Null).0, 403);
    logged(&up, &[&format!("WARN refused: {end} by HTTP client at 127.0.0.1:"), "wrong key"]);
    assert_eq!(asked(&address, &end, Some(token), &Value::Null).0, 200);
    let ended = format!("session {session} was ended by operator at 127.0.0.1:");
    let all = logged(&up, &["WARN", &ended, "through P1"]);
    assert!(!all.contains(key) && !all.contains(token), "{all}");
}

#[test]
fn a_command_finds_the_token_of_up_and_else_says_what_to_do() {
    let runtime = TempDir::new().unwrap();
    let mut up = Up::start_in(runtime.path(), "--nodes 3");
    up.until(&["member 3 is the coordinator in term"]);
    let address = up.members[0].clone();
    let token = up.folder.join("operator.token");
    assert_eq!(fs::metadata(&token).unwrap().mode() & 0o777, 0o600);
    let (_, opened) =
        call(&address, "POST", "/v1/sessions", &json!({ "client": "c", "ttl_ms": 60_000 }))
            .unwrap();
    let session = opened["session"].as_str().unwrap();
    let hold = || {
        let (body, path) =
            (json!({ "locks": [{ "name": "db" }] }), format!("/v1/sessions/{session}/locks"));
        assert_eq!(call(&address, "POST", &path, &body).unwrap().0, 200);
    };
    let release = |runtime: &Path, more: &str| {
        let line =
            format!("locks --release db --session {session} --yes --now --address {address}{more}");
        let output = command(&line).env("XDG_RUNTIME_DIR", runtime).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    // Another user does not see where `up` has left it.
    let elsewhere = TempDir::new().unwrap();
    hold();
    let (code, complaint) = release(elsewhere.path(), "");
    assert_eq!(code, Some(77), "{complaint}");
    assert!(complaint.contains("--operator-token or BELLWETHER_OPERATOR_TOKEN"), "{complaint}");
    let (code, complaint) = release(elsewhere.path(), " --operator-token /no/such/file");
    assert_eq!(code, Some(77), "{complaint}");
    assert!(complaint.contains("cannot read the operator token /no/such/file"), "{complaint}");
    let named = format!(" --operator-token {}", token.display());
    assert_eq!(release(elsewhere.path(), &named), (Some(0), String::new()));
    hold();
    assert_eq!(release(runtime.path(), ""), (Some(0), String::new()));
}
