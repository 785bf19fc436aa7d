//! A foreign process that panics: its run ends with what is known of it, and the
//! explorer's server goes on. And catalogues that are refused before anything runs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use axum::body::{Body, to_bytes};
use axum::http::Request;
use bellwether_lab::prelude::*;
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Once;
use tower::ServiceExt;

/// Cannot bear to be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Touchy;

#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Poke;

impl std::fmt::Display for Poke {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("POKE")
    }
}

impl Message for Poke {
    fn kind(&self) -> Kind {
        Kind::protocol("POKE")
    }
}

impl Process for Touchy {
    type Msg = Poke;
    type Timer = ();
    type Input = ();
    type Output = String;
    type Durable = ();
    type Config = ();
    const ASSUMES: Assumptions = Assumptions::faultless(Channels::Any);

    fn durable(&self) {}
    fn on_start(&mut self, _: Option<()>, _: &mut Context<'_, Self>) {}
    fn on_input(&mut self, (): (), cx: &mut Context<'_, Self>) {
        cx.others().for_each(|other| cx.send(other, Poke));
    }
    fn on_message(&mut self, _: NodeId, Poke: Poke, _: &mut Context<'_, Self>) {
        panic!("do not poke me");
    }
    fn on_timer(&mut self, (): (), _: &mut Context<'_, Self>) {}
}

impl Algorithm for Touchy {
    fn definition() -> Definition<Self> {
        let definition = Definition::<Self>::named("touchy").verbs(
            &["poke"],
            |verb| (verb == "poke").then_some(()),
            |()| "poke".into(),
        );
        if wants_a_flag() { definition.options(&NODES) } else { definition }
    }
}

/// `sim` and others have a flag of this name.
const NODES: [Opt; 1] = [Opt { name: "nodes", value: Some("N"), help: "how touchy it is" }];

/// Set where the process declares it.
const WANTS: &str = "TOUCHY_WANTS_A_FLAG";

fn wants_a_flag() -> bool {
    std::env::var_os(WANTS).is_some()
}

async fn run(scenario: &str) -> (u16, Value) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        bellwether_lab::install(catalogue().with::<Touchy>()).unwrap();
    });
    let request = Request::post("/v1/explore/run")
        .header("content-type", "application/json")
        .body(Body::from(json!({ "scenario": scenario }).to_string()))
        .unwrap();
    let answer = bellwether_lab::explorer::router(None).oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn a_panic_is_answered_and_the_server_goes_on() {
    let (status, body) = run("cluster touchy 1..2 seed=7\npoke 1\nrun\n").await;
    assert_eq!(status, 422, "{body}");
    let error = body["error"].as_str().unwrap();
    assert!(
        error.contains("P2 panicked while handling POKE from P1: do not poke me; seed 7"),
        "{error}"
    );
    let (status, _) = run("cluster touchy 1..2\nrun\n").await;
    assert_eq!(status, 200);
}

#[test]
fn a_second_catalogue_is_refused_and_so_is_a_bad_one() {
    let twice = catalogue().with::<Touchy>().with::<Touchy>();
    let refused = bellwether_lab::install(twice).unwrap_err().to_string();
    assert!(refused.contains("two algorithms are called 'touchy'"), "{refused}");
}

#[test]
fn an_option_called_like_a_flag_is_refused() {
    if wants_a_flag() {
        let refused = bellwether_lab::install(catalogue().with::<Touchy>()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "touchy declares the option 'nodes', but `sim` has a flag --nodes for all algorithms; \
             rename the option"
        );
        return;
    }
    // A program has one catalogue, so this takes a program of its own: this one, for this test.
    let name = "an_option_called_like_a_flag_is_refused";
    let mut itself = Command::new(std::env::current_exe().unwrap());
    let output = itself.args(["--exact", name]).env(WANTS, "yes").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
