//! Asking for runs, over HTTP: what comes back, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use bellwether_algorithms::catalogue::catalogue;
use bellwether_lab::explorer::wire::{Run, RunRequest};
use bellwether_lab::explorer::{LIMITS, gallery, scenario, scenarios};
use bellwether_member::Member;
use serde_json::{Value, json};
use std::sync::Once;
use tower::ServiceExt;

const BULLY: &str = "election/bully-p1-to-p4.txt";

/// The catalogue of the command line.
fn with_member() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        bellwether_lab::install(catalogue().with::<Member>()).unwrap();
    });
}

async fn post(body: impl Into<String>) -> (StatusCode, Value) {
    with_member();
    let request = Request::post("/v1/explore/run")
        .header("content-type", "application/json")
        .body(Body::from(body.into()))
        .unwrap();
    let answer = bellwether_lab::explorer::router(None).oneshot(request).await.unwrap();
    let status = answer.status();
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

async fn ask(scenario: &str, branch: Option<(u64, &str)>) -> (StatusCode, Value) {
    let branch =
        branch.map(|(after_us, command)| json!({"after_us": after_us, "command": command}));
    post(json!({"scenario": scenario, "branch": branch}).to_string()).await
}

async fn run(scenario: &str, branch: Option<(u64, &str)>) -> Run {
    let (status, body) = ask(scenario, branch).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    serde_json::from_value(body).unwrap()
}

#[tokio::test]
async fn the_bullys_example_has_states_counts_and_formulas() {
    let run = run(scenario(BULLY).unwrap(), None).await;
    assert_eq!(run.header.states[&2]["election.phase.coordinator"], "P4");
    let asked = run.events.iter().find(|event| !event.state.is_empty() && event.node == Some(2));
    let state = &asked.unwrap().state;
    assert_eq!(state["election.phase"].as_deref(), Some("AwaitingAnswer"));
    assert_eq!(state["election.phase.coordinator"], None);
    let elections = run.outcome.messages.iter().find(|count| count.kind == "ELECTION").unwrap();
    let sent = run.events.iter().filter(|event| {
        serde_json::to_value(event).unwrap()["event"] == "send"
            && serde_json::to_value(event).unwrap()["kind"] == "ELECTION"
    });
    assert_eq!(elections.sent, sent.count() as u64);
    assert!(run.outcome.agreed && run.outcome.violation.is_none() && run.remarks.is_empty());
    assert!(run.outcome.costs.iter().any(|cost| cost.formula == "n^2-n-1" && cost.value == 11));
}

#[tokio::test]
async fn a_branch_is_a_scenario_of_its_own() {
    let text = scenario(BULLY).unwrap();
    let (first, other) = (run(text, None).await, run(text, Some((10_000, "cut 2<>3"))).await);
    assert!(other.scenario.contains("\ncut 2<>3 at=10.001ms\n"), "{}", other.scenario);
    let same = first.events.iter().take_while(|event| event.us <= 10_000).count();
    assert_eq!(first.events[..same], other.events[..same]);
    assert_ne!(first.events, other.events);
    let again = run(&other.scenario, None).await;
    assert_eq!(again.events, other.events);
    // There were two coordinators at 110 ms, which ended the run. Now it goes on.
    assert_eq!(other.outcome.violation.as_ref().unwrap().us, 110_000);
    let third = run(&other.scenario, Some((110_000, "heal cut 2<>3"))).await;
    assert!(third.scenario.contains(" keep-going\n"), "{}", third.scenario);
    assert!(third.scenario.contains("\nheal cut 2<>3 at=110.001ms\n"), "{}", third.scenario);
    assert!(third.outcome.agreed && third.outcome.us > 110_000);
}

#[tokio::test]
async fn a_tree_comes_with_its_edges() {
    let run = run("cluster raymond 1..4\nwork 4\nrun\n", None).await;
    assert_eq!(run.header.tree, [[1, 2], [1, 3], [2, 4]]);
    assert_eq!(run.header.states[&4]["algorithm.holder.neighbour"], "P2");
}

#[tokio::test]
async fn what_cannot_be_played_is_refused_with_what_to_do() {
    let endless = "cluster token-ring 1..20\nrun for=60m\n";
    let storm = "cluster member 1..64 latency=0ms timeout=1ms\nrun until=60m\n";
    let long = format!("cluster bully 1..3\n{}", "# so\n".repeat(14_000));
    let bully = scenario(BULLY).unwrap();
    for (text, branch, status, part) in [
        ("", None, 422, "line 1, column 1: a scenario needs a cluster"),
        ("cluster buly 1..4", None, 422, "line 1, column 9: no algorithm 'buly'"),
        ("cluster bully 1..4\ncrash 9\n", None, 422, "line 2, column 7: there is no process 9"),
        ("cluster bully 1..65\nrun\n", None, 422, "65 processes are too many"),
        ("cluster bully 1..9999999\nrun\n", None, 422, "too many"),
        (endless, None, 422, "the run "),
        (storm, None, 422, "the run "),
        (&long, None, 413, "too long"),
        (bully, Some((10_000, "crash 7")), 422, "`crash 7`: there is no process 7"),
        (bully, Some((10_000, "crash 1")), 422, "it is down already"),
        (bully, Some((10_000, "recover 2")), 422, "it is up"),
        (bully, Some((10_000, "heal")), 422, "no such cut"),
        (bully, Some((10_000, "crash 2\nrun")), 422, "does nothing to a run"),
        (bully, Some((10_000, "crash 2 at=5ms")), 422, "a time of its own"),
    ] {
        let (found, body) = ask(text, branch).await;
        let shown: String = text.chars().take(60).collect();
        assert_eq!(found.as_u16(), status, "{shown} {}", body["error"]);
        assert!(body["error"].as_str().unwrap().contains(part), "{shown} {body}");
        assert!(body["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{shown} {body}");
    }
    for body in ["", "{", "[]", "{\"scenario\":1}", "{\"scenario\":\"\",\"x\":1}"] {
        let (status, answer) = post(body).await;
        assert!(status.is_client_error() && answer["error"].is_string(), "{body}: {status}");
    }
}

#[tokio::test]
async fn every_exhibit_and_every_introduction_plays() {
    for exhibit in &gallery().exhibits {
        let run = run(&exhibit.scenario, None).await;
        assert!(run.remarks.is_empty(), "{}: {:?}", exhibit.id, run.remarks);
        assert!(run.events.len() > 1, "{} shows nothing", exhibit.id);
        assert_eq!(exhibit.algorithm, run.header.algorithm);
    }
    for algorithm in &bellwether_lab::explorer::catalogue().algorithms {
        run(&algorithm.scenario, None).await;
    }
}

/// In a daemon a panic would be the end of a member, so there must be none.
#[tokio::test]
async fn no_request_makes_it_panic() {
    let words = [
        "0",
        "1",
        "2",
        "99",
        "-1",
        "all",
        "none",
        "at=0",
        "at=9999999s",
        "at=1us",
        "0ms",
        "1>2",
        "1<>1",
        "|",
        "1|1",
        "run",
        "heal",
        "latency=0",
        "seed=18446744073709551615",
        "loss=1",
        "timeout=9999999s",
        "until=0ms",
        "for=9999999s",
        "section=0",
        "1..64",
        "textbook",
        "keep-going",
        "by=9999999s",
        "offset=-9999999s",
        "drift=-999999ppm",
        "duplicate=1",
        "reorder",
        "#",
        "---",
        "\u{1F411}",
    ];
    let mut draw = 7_u64;
    let mut next = move |below: usize| {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draw >> 33) as usize % below
    };
    for round in 0..600 {
        let (_, text) = scenarios()[next(scenarios().len())];
        let mut lines: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| !line.starts_with("expect") && !line.starts_with('#'))
            .map(|line| line.split(' ').collect())
            .collect();
        for _ in 0..=next(3) {
            let line = next(lines.len().min(6));
            let word = next(lines[line].len());
            lines[line][word] = words[next(words.len())];
        }
        let text: String = lines.iter().map(|line| line.join(" ") + "\n").collect();
        let command = format!(
            "{} {}",
            ["crash", "cut", "clock", "start", "slow"][next(5)],
            words[next(words.len())]
        );
        let after_us = [0, 10_000, 1 << 40, u64::MAX][next(4)];
        let branch = Some(bellwether_lab::explorer::wire::Branch { after_us, command });
        let request =
            RunRequest { scenario: text.clone(), branch: branch.filter(|_| round % 2 == 0) };
        let (status, body) = post(serde_json::to_string(&request).unwrap()).await;
        assert!(status != StatusCode::INTERNAL_SERVER_ERROR, "{body}\n{text}");
    }
    assert_eq!(LIMITS.nodes, 64);
}
