//! What the parent of a local cluster serves, with a cluster that is only said to be there.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common::{EXTRA, Stream, call, call_with, exchange, extra, get, learn, post};
use bellwether_api::json::{Here, Problem, Serves, Up, UpDone};
use bellwether_node::operator::OperatorToken;
use bellwether_node::parent::{Complaint, Fault, Order, UpHandle, serve};
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

const MEMBER: &str = "127.0.0.1:7481";

struct Parent {
    address: SocketAddr,
    up: watch::Sender<Up>,
    orders: mpsc::Receiver<Order>,
}

impl Parent {
    async fn start() -> Parent {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (up, seen) = watch::channel(Up::default());
        let (sender, orders) = mpsc::channel(4);
        let folder = tempfile::TempDir::new().unwrap();
        let token = folder.path().join("operator.token");
        let operator = OperatorToken::read_or_make(&token).unwrap();
        learn(address, &token);
        let desk = UpHandle { up: seen, orders: sender, operator };
        tokio::spawn(async move { serve(listener, desk, [MEMBER], extra()).await });
        Parent { address, up, orders }
    }

    /// Answers the next command with this, and says what it was.
    async fn answer(&mut self, outcome: Result<UpDone, Complaint>) -> String {
        let Order { line, answer } = self.orders.recv().await.unwrap();
        answer.send(outcome).unwrap();
        line
    }
}

#[tokio::test]
async fn a_watcher_is_told_of_every_change() {
    let parent = Parent::start().await;
    let mut stream = Stream::open(parent.address, "/v1/up/watch", "").await;
    assert_eq!(stream.next::<Up>().await, Up::default());
    let split = Up { partition: vec![vec![1], vec![2, 3]], ..Up::default() };
    parent.up.send_replace(split.clone());
    assert_eq!(stream.next::<Up>().await, split);
    assert_eq!(get::<Up>(parent.address, "/v1/up").await, split);
}

#[tokio::test]
async fn a_command_is_passed_on_and_its_outcome_told() {
    let mut parent = Parent::start().await;
    let address = parent.address;
    let done = UpDone { done: "killed member 5".to_owned(), up: Up::default() };
    let body = "{\"command\": \"kill 5\"}";
    let ((code, told), line) = tokio::join!(
        post::<UpDone>(address, "/v1/up/command", body),
        parent.answer(Ok(done.clone()))
    );
    assert_eq!((code, told, line.as_str()), (200, done, "kill 5"));
    for (fault, expected) in [
        (Fault::Unreadable, 400),
        (Fault::NoSuchMember, 404),
        (Fault::Senseless, 409),
        (Fault::Failed, 502),
    ] {
        let (error, hint) = ("it is dead already".to_owned(), Some("revive it".to_owned()));
        let complaint = Complaint { fault, error: error.clone(), hint: hint.clone() };
        assert_eq!(complaint.to_string(), "it is dead already; revive it");
        let ((code, problem), _) = tokio::join!(
            post::<Problem>(address, "/v1/up/command", body),
            parent.answer(Err(complaint))
        );
        assert_eq!((code, problem.error, problem.hint), (expected, error, hint));
    }
}

#[tokio::test]
async fn what_is_no_command_never_reaches_the_cluster() {
    let mut parent = Parent::start().await;
    let long = format!("{{\"command\": \"{}\"}}", "x".repeat(5_000));
    for (request, body, code) in [
        ("POST /v1/up/command", "", 400),
        ("POST /v1/up/command", "{\"command\": ", 400),
        ("POST /v1/up/command", "{}", 422),
        ("POST /v1/up/command", "{\"command\": 5}", 422),
        ("POST /v1/up/command", "{\"command\": \"kill 5\", \"really\": true}", 422),
        ("POST /v1/up/command", &long, 413),
        ("GET /v1/up/command", "", 405),
        ("POST /v1/up", "", 405),
        ("GET /v1/down", "", 404),
    ] {
        let (found, _, answer) = call(parent.address, request, body).await;
        let problem: Problem = serde_json::from_str(&answer).unwrap();
        assert_eq!(found, code, "{request} {body}: {problem:?}");
        assert!(!problem.error.is_empty() && problem.hint.is_some(), "{problem:?}");
    }
    let body = "{\"command\": \"kill 5\"}";
    for origin in ["http://example.org", "null", &format!("http://{MEMBER}")] {
        let request = format!(
            "POST /v1/up/command HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            parent.address,
            body.len()
        );
        assert_eq!(exchange(parent.address, &request).await.0, 403, "{origin}");
    }
    assert!(parent.orders.try_recv().is_err(), "nothing was passed on");
}

#[tokio::test]
async fn a_members_page_may_look_on() {
    let parent = Parent::start().await;
    let origin = format!("Origin: http://{MEMBER}\r\n");
    let stream = Stream::open(parent.address, "/v1/up/watch", &origin).await;
    let allowed = format!("access-control-allow-origin: http://{MEMBER}");
    assert!(stream.head.contains(&allowed), "{}", stream.head);
    let stream = Stream::open(parent.address, "/v1/up/watch", "Origin: http://a.example\r\n").await;
    assert!(!stream.head.contains("access-control"), "{}", stream.head);
}

#[tokio::test]
async fn the_page_learns_who_answers_and_what_the_program_has_besides_is_there() {
    let parent = Parent::start().await;
    let here: Here = get(parent.address, "/v1/here").await;
    assert_eq!(here.serves, Serves::Up);
    let (code, _, body) = call(parent.address, &format!("GET {EXTRA}"), "").await;
    assert_eq!((code, body.as_str()), (200, "here"));
    let (code, head, _) = call(parent.address, "GET /", "").await;
    let allowed = format!("connect-src 'self' http://{MEMBER};");
    assert!(code == 200 && head.contains(&allowed), "{head}");
    let (_, _, document) = call(parent.address, "GET /openapi.json", "").await;
    for path in ["/v1/up/command", EXTRA] {
        assert!(document.contains(path), "{path}");
    }
}

#[tokio::test]
async fn a_cluster_that_has_ended_says_so() {
    let mut parent = Parent::start().await;
    parent.orders.close();
    let body = "{\"command\": \"kill 5\"}";
    let (code, problem): (_, Problem) = post(parent.address, "/v1/up/command", body).await;
    assert_eq!(code, 503, "{problem:?}");
    assert!(problem.hint.unwrap().contains("ended"));
}

#[tokio::test]
async fn a_command_without_the_operator_token_never_reaches_the_cluster() {
    let mut parent = Parent::start().await;
    let request = "POST /v1/up/command";
    for (secret, code, word) in
        [(None, 401, "no-operator-token"), (Some("0".repeat(32)), 403, "wrong-operator-token")]
    {
        let body = "{\"command\": \"kill 1\"}";
        let (found, head, answer) =
            call_with(parent.address, request, secret.as_deref(), body).await;
        let problem: Problem = serde_json::from_str(&answer).unwrap();
        assert_eq!((found, problem.code.as_deref()), (code, Some(word)));
        assert_eq!(head.to_lowercase().contains("www-authenticate: bearer"), code == 401, "{head}");
    }
    assert!(parent.orders.try_recv().is_err());
}
