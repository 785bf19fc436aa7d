//! `up` as a script meets it: real members that are killed and cut off, and no process is left behind.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{Up, command};
use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
use std::process::{Output, Stdio};
use tempfile::TempDir;

#[test]
fn the_next_takes_over_from_a_killed_coordinator() {
    let mut up = Up::start("--nodes 3");
    up.until(&["member 3 is the coordinator in term"]);
    up.say("kill 3");
    up.until(&["killed member 3"]);
    let line = up.until(&["member 2 is the coordinator in term"]);
    assert!(line.contains("the process of P3 has ended"), "{line}");
    up.say("kill 3");
    up.until(&["error: member 3 is dead already"]);
    up.say("klil 3");
    up.until(&["error: there is no command 'klil'", "step-down, transfer ID"]);
    up.say("revive 3");
    up.until(&["member 3 is the coordinator in term"]);
    // The end of its input is not its end.
    up.say("status");
    drop(up.stdin.take());
    up.until(&["member 3 is the coordinator in term"]);
    assert!(Up::lives(up.pids[0]));
    kill_process(Pid::from_child(&up.child), Signal::INT).unwrap();
    assert!(up.child.wait().unwrap().success());
    up.no_process_is_left();
}

#[test]
fn a_minority_says_that_it_has_no_mandate_and_heals() {
    let mut up = Up::start("--nodes 3");
    up.until(&["member 3 is the coordinator in term"]);
    up.say("partition 3|1,2");
    // In either order: the majority has a coordinator, the minority knows that it has none.
    let (mut elected, mut bare) = (false, false);
    while !(elected && bare) {
        let line = up.line();
        elected |= line.contains("member 2 is the coordinator in term");
        bare |= line.contains("member 3 has no mandate: 1 of the 2 members needed agree");
    }
    up.say("heal");
    up.until(&["all members reach each other again"]);
    up.until(&["member 3 is the coordinator in term"]);
    up.say("quit");
    assert!(up.child.wait().unwrap().success());
    up.no_process_is_left();
}

#[test]
fn a_parent_that_is_killed_leaves_no_process_behind() {
    // A parent that is killed cannot remove a temporary directory.
    let directory = TempDir::new().unwrap();
    let mut up = Up::start(&format!("--nodes 3 --dir {}", directory.path().display()));
    up.until(&["member 3 is the coordinator in term"]);
    // Not even one that cannot hear of it.
    up.say("pause 1");
    up.until(&["paused member 1"]);
    assert_eq!(up.pids.iter().filter(|pid| Up::lives(**pid)).count(), 3);
    kill_process(Pid::from_child(&up.child), Signal::KILL).unwrap();
    up.child.wait().unwrap();
    up.no_process_is_left();
}

#[test]
fn a_directory_is_kept_and_used_again() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("cluster");
    let mut last = 0;
    for _ in 0..2 {
        let mut up = Up::start(&format!("--nodes 1 --dir {}", path.display()));
        let line = up.until(&["member 1 is the coordinator in term "]);
        let term = line.split("in term ").nth(1).unwrap().split(':').next().unwrap();
        let term: u64 = term.parse().unwrap();
        assert!(term > last, "terms only grow: {line}");
        last = term;
        up.say("quit");
        assert!(up.child.wait().unwrap().success());
    }
    for file in ["ca.pem", "member-1.toml", "member-1.log"] {
        assert!(path.join(file).exists(), "{file}");
    }
}

#[track_caller]
fn refused(line: &str, fragments: &[&str]) {
    let output: Output = command(line).stdin(Stdio::null()).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "bellwether {line}\n{complaint}");
    for fragment in fragments {
        assert!(complaint.contains(fragment), "no '{fragment}' in: {line}\n{complaint}");
    }
}

#[test]
fn bad_values_are_refused() {
    refused("up --nodes 0", &["--nodes", "from 1 to 64"]);
    refused("up --nodes -3", &["--nodes", "from 1 to 64"]);
    refused("up --election bulyl", &["--election", "bully, ring"]);
    refused("up --profile quick", &["--profile", "default, fast, wide"]);
    refused("up --preempt maybe", &["--preempt", "always, never"]);
    refused("up --for 10", &["--for", "has no unit"]);
    refused("up --http-port 65535", &["--http-port", "beyond 65535"]);
    refused("up --http-port x", &["--http-port", "not a port"]);
    refused("up --http 70000", &["--http", "not a port"]);
    refused("up --http -1", &["--http", "not a port"]);
    refused("up --dir /dev/null/x", &["--dir", "cannot write"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    refused(&format!("up --nodes 1 --http-port {port}"), &[&port.to_string(), "in use"]);
    refused(&format!("up --nodes 1 --http {port}"), &["--http", &port.to_string(), "in use"]);
    refused("bench failover --nodes 2", &["--nodes", "3 or more"]);
    refused("bench failover --trials 0", &["--trials"]);
    refused("bench quiet --for 1ms", &["--for", "at least 1s"]);
}
