//! The dashboard of `up` as a page meets it: real members, killed and cut off over HTTP.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{self, Up};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A guard against hanging, never reached when all is well.
const PATIENCE: Duration = Duration::from_secs(60);

fn send(address: &str, head: &str, body: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{head}\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    BufReader::new(stream)
}

/// Sends a request and returns the status code, the head and the body.
fn call(address: &str, head: &str, body: &str) -> (u16, String, Value) {
    let mut answer = String::new();
    send(address, head, body).read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, head.to_lowercase(), serde_json::from_str(body).unwrap())
}

fn get(address: &str, path: &str) -> Value {
    let (code, _, answer) = call(address, &format!("GET {path} HTTP/1.1"), "");
    assert_eq!(code, 200, "{path}: {answer}");
    answer
}

impl Up {
    /// Three members that have elected the third.
    fn of_three() -> Up {
        let mut up = Up::start("--nodes 3");
        up.until(&["member 3 is the coordinator in term"]);
        up
    }

    fn command(&self, line: &str) -> (u16, Value) {
        common::call(&self.dashboard, "POST", "/v1/up/command", &json!({ "command": line }))
            .unwrap()
    }

    /// Commands what must be done.
    fn order(&self, line: &str) -> Value {
        let (code, answer) = self.command(line);
        assert_eq!(code, 200, "{line}: {answer}");
        answer
    }
}

/// A stream of server-sent events.
struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Opens it as the page of the dashboard does.
    fn open(address: &str, path: &str, up: &Up) -> Stream {
        let origin = format!("http://{}", up.dashboard);
        let head = format!("GET {path} HTTP/1.1\r\nOrigin: {origin}");
        let mut stream = Stream(send(address, &head, ""));
        let mut allowed = address == up.dashboard;
        loop {
            let line = stream.line();
            allowed |= line == format!("access-control-allow-origin: {origin}");
            if line.is_empty() {
                assert!(allowed, "{path} of {address} is not for the dashboard's page");
                return stream;
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream has ended");
        line.trim_end().to_owned()
    }

    /// Reads on until what comes is as it should be.
    fn until(&mut self, fine: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.line();
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let value: Value = serde_json::from_str(data).unwrap();
            if fine(&value) {
                return value;
            }
        }
    }
}

fn led_by(id: u32) -> impl Fn(&Value) -> bool {
    move |glance| glance["status"]["mandate"]["leader"] == id
}

fn process(id: usize, state: &'static str) -> impl Fn(&Value) -> bool {
    move |up| up["members"][id - 1]["process"] == state
}

#[test]
fn a_page_kills_the_coordinator_and_sees_the_next() {
    let mut up = Up::of_three();
    assert_eq!(get(&up.dashboard, "/v1/here")["serves"], "up");
    for server in [&up.dashboard, &up.members[0]] {
        let catalogue = get(server, "/v1/explore/catalogue").to_string();
        assert!(catalogue.contains("\"bully\""), "the explorer is there, too: {catalogue}");
        assert!(get(server, "/openapi.json")["paths"]["/v1/explore/run"].is_object());
    }
    let mut member = Stream::open(&up.members[0], "/v1/watch", &up);
    let mut parent = Stream::open(&up.dashboard, "/v1/up/watch", &up);
    let glance = member.until(led_by(3));
    assert_eq!(glance["status"]["up"], up.dashboard);
    assert_eq!(glance["members"][1]["http"], up.members[1]);
    assert!(process(3, "running")(&get(&up.dashboard, "/v1/up")));

    let answer = up.order("kill 3");
    assert_eq!(answer["done"], "killed member 3");
    assert!(process(3, "dead")(&answer["up"]), "{answer}");
    assert_eq!(answer["up"]["members"][2]["pid"], Value::Null);
    assert!(!Up::lives(up.pids[2]), "it says so when it is so");
    member.until(led_by(2));
    let view =
        parent.until(|view| view["news"].to_string().contains("member 2 is the coordinator"));
    assert!(process(3, "dead")(&view), "{view}");
    // The terminal is told as well.
    up.until(&["killed member 3"]);
    up.until(&["member 2 is the coordinator in term"]);
    // And the page is told what is done there.
    up.say("revive 3");
    parent.until(process(3, "running"));
    member.until(led_by(3));
    up.say("quit");
    assert!(up.child.wait().unwrap().success());
    up.no_process_is_left();
}

#[test]
fn a_page_survives_the_member_that_it_talks_to() {
    let up = Up::of_three();
    let mut first = Stream::open(&up.members[2], "/v1/watch", &up);
    let glance = first.until(led_by(3));
    up.order("kill 3");
    // The end is seen at once: a browser's stream fails, and the page goes on with another.
    let mut rest = Vec::new();
    let _ = first.0.read_to_end(&mut rest);
    let next = glance["members"][0]["http"].as_str().unwrap();
    let mut second = Stream::open(next, "/v1/watch", &up);
    let glance = second.until(led_by(2));
    let changes = glance["changes"].as_array().unwrap().iter();
    let history = get(next, "/v1/history");
    let known = history["changes"].as_array().unwrap();
    assert!(changes.clone().all(|change| known.contains(change)), "{glance}");
}

#[test]
fn partitions_and_pauses_come_and_go() {
    let up = Up::of_three();
    let mut member = Stream::open(&up.members[0], "/v1/watch", &up);
    member.until(led_by(3));
    let mut messages = Stream::open(&up.members[2], "/v1/messages", &up);
    let answer = up.order("partition 3|1,2");
    assert_eq!(answer["up"]["partition"], json!([[1, 2], [3]]), "{answer}");
    assert_eq!(answer["up"]["members"][2]["cut_off_from"], json!([1, 2]));
    messages.until(|batch| batch["messages"].as_array().unwrap().iter().any(|m| m["cut"] == true));
    member.until(led_by(2));
    let answer = up.order("heal");
    assert_eq!(answer["up"]["partition"], json!([]), "{answer}");
    member.until(led_by(3));
    let answer = up.order("pause 3");
    assert!(process(3, "paused")(&answer["up"]), "{answer}");
    member.until(led_by(2));
    let answer = up.order("resume 3");
    assert!(process(3, "running")(&answer["up"]), "{answer}");
    member.until(led_by(3));
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let up = Up::of_three();
    let mut member = Stream::open(&up.members[0], "/v1/watch", &up);
    member.until(led_by(3));
    up.order("kill 1");
    up.order("pause 2");
    let state = |up: &Up| {
        let view = get(&up.dashboard, "/v1/up");
        (view["members"].clone(), view["partition"].clone())
    };
    let before = state(&up);
    for (line, code, error, hint) in [
        ("kill 9", 404, "there is no member '9'", "1 to 3"),
        ("kill 0", 404, "there is no member '0'", "1 to 3"),
        ("kill -1", 404, "there is no member '-1'", "1 to 3"),
        ("kill 99999999999999999999", 404, "there is no member", "1 to 3"),
        ("kill 1", 409, "dead already", "revive 1"),
        ("pause 1", 409, "member 1 is dead", "revive 1"),
        ("pause 2", 409, "member 2 is paused", "resume 2"),
        ("resume 1", 409, "member 1 is dead", "revive 1"),
        ("resume 3", 409, "member 3 is not paused", "pause 3"),
        ("revive 3", 409, "member 3 is not dead", "kill 3"),
        ("kill", 400, "needs the number", "kill 3"),
        ("kill 1 2", 400, "needs the number", "kill 3"),
        ("klil 3", 400, "no command 'klil'", "kill ID"),
        ("", 400, "no command ''", "kill ID"),
        ("partition 1,2,3", 400, "not a partition", "1,2|3"),
        ("partition 1,2|2,3", 400, "named twice", "one side"),
        ("partition 1|9", 404, "there is no member '9'", "1 to 3"),
        ("heal 3", 400, "takes no arguments", "leave out"),
        ("quit", 409, "cannot end", "Ctrl-C"),
    ] {
        let (found, problem) = up.command(line);
        assert_eq!(found, code, "{line}: {problem}");
        for (key, fragment) in [("error", error), ("hint", hint)] {
            let said = problem[key].as_str().unwrap();
            assert!(said.contains(fragment), "{line}: {problem}");
        }
    }
    let wanted = json!({ "command": "kill 3" }).to_string();
    let token = std::fs::read_to_string(up.folder.join("operator.token")).unwrap();
    for (head, body, code) in [
        ("POST /v1/up/command HTTP/1.1", "{\"command\": \"kill 3\"", 400),
        ("POST /v1/up/command HTTP/1.1", "{\"comand\": \"kill 3\"}", 422),
        ("POST /v1/up/command HTTP/1.1\r\nOrigin: http://example.org", &wanted, 403),
        ("POST /v1/up/command HTTP/1.1\r\nOrigin: null", &wanted, 403),
        (
            &format!("POST /v1/up/command HTTP/1.1\r\nOrigin: http://{}", up.members[0]),
            &wanted,
            403,
        ),
        ("GET /v1/up/command HTTP/1.1", &wanted, 405),
    ] {
        let head = format!("{head}\r\nAuthorization: Bearer {}", token.trim());
        let (found, _, problem) = call(&up.dashboard, &head, body);
        assert_eq!(found, code, "{problem}");
        assert!(problem["error"].is_string() && problem["hint"].is_string(), "{problem}");
    }
    // A member takes no commands from the dashboard's page either: the page may only read.
    let head = format!("POST /dev/partition HTTP/1.1\r\nOrigin: http://{}", up.dashboard);
    assert_eq!(call(&up.members[2], &head, "{\"blocked\": [1]}").0, 403);
    assert_eq!(state(&up), before);
}
