//! A program with a process of its own, and what it says when a part of that process panics, or when its
//! catalogue cannot be used. A program has one catalogue, so this one starts itself again for each
//! case; and `host` starts its processes as `PROGRAM host-process`, which libtest's `main` would not
//! understand. So it has a `main` of its own.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use axum::body::{Body, to_bytes};
use axum::http::Request;
use bellwether_lab::prelude::*;
use bellwether_sim::scenario::{COMMANDS, Scenario};
use serde_json::{Value, json};
use std::process::{Command, ExitCode, Output};
use tower::ServiceExt;

/// Set to the part of the process that panics, or to what is wrong with its definition.
const WRONG: &str = "TOUCHY_WRONG";

fn wrong() -> String {
    std::env::var(WRONG).unwrap_or_default()
}

/// Panics if this part is the wrong one.
fn touch(part: &str) {
    if wrong() == part {
        panic!("do not poke me");
    }
}

/// Passes a poke on for a while.
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
    fn on_start(&mut self, _: Option<()>, _: &mut Context<'_, Self>) {
        touch("start");
    }
    fn on_input(&mut self, (): (), cx: &mut Context<'_, Self>) {
        touch("input");
        cx.emit("ouch".to_owned());
        cx.others().for_each(|other| cx.send(other, Poke));
    }
    fn on_message(&mut self, _: NodeId, Poke: Poke, cx: &mut Context<'_, Self>) {
        touch("message");
        cx.set_timer((), std::time::Duration::from_millis(5));
    }
    fn on_timer(&mut self, (): (), _: &mut Context<'_, Self>) {
        touch("timer");
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Judge;

impl Referee<Touchy> for Judge {
    fn hears(&mut self, _: Time, _: NodeId, _: &String) -> Result<(), Breach> {
        touch("referee");
        Ok(())
    }
    fn claims(&self) -> Vec<&'static str> {
        Vec::new()
    }
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }
}

/// The options and verbs of a definition that is refused, and what the refusal says.
const REFUSED: [(&str, &str, &str); 9] = [
    ("nodes", "poke", "declares the option 'nodes', but `sim` has a flag --nodes"),
    ("target", "poke", "declares the option 'target', but `sim` has a flag --target"),
    ("length", "poke", "declares the option 'length', but `host` has a flag --length"),
    ("help", "poke", "declares the option 'help'"),
    ("show", "poke", "declares the option 'show', but scenarios have a setting show="),
    ("two words", "poke", "declares the option 'two words', which cannot be a flag"),
    ("nerve", "crash", "has the verb 'crash', which a scenario cannot tell from a command"),
    ("nerve", "go on", "has the verb 'go on'"),
    ("answers", "poke", "both declare the option 'answers', but only one of them with a value"),
];

impl Algorithm for Touchy {
    fn definition() -> Definition<Self> {
        let refused =
            REFUSED.iter().find(|(option, verb, _)| wrong() == format!("{option}/{verb}"));
        let (option, verb) =
            refused.map_or(("nerve", "poke"), |(option, verb, _)| (*option, *verb));
        let option = Opt { name: option, value: None, help: "how touchy it is" };
        Definition::<Self>::named("touchy")
            .options(Vec::from([option]).leak())
            .verbs(
                Vec::from([verb]).leak(),
                |verb| {
                    touch("verb");
                    (verb == "poke").then_some(())
                },
                |()| "poke".into(),
            )
            .invariant(Invariant::each("each", "nothing", |_, _| {
                touch("each");
                true
            }))
            .invariant(Invariant::whole("whole", "nothing", |_| {
                touch("whole");
                true
            }))
            .goal(Goal::new("goal", "nothing", |_| {
                touch("goal");
                true
            }))
            .referee(|_, _| Box::new(Judge))
            .costs(|n| {
                let messages = Expected::Exact(u64::from(n - 1));
                vec![Cost::new("a poke", "n-1", messages, [Script::of(n).ask(1, "poke")])]
            })
    }
}

fn touchy() -> Catalogue {
    catalogue().with::<Touchy>()
}

/// Starts this program again.
fn output(wrong: &str, line: &str) -> Output {
    let mut itself = Command::new(std::env::current_exe().unwrap());
    itself.args(line.split(' ')).env(WRONG, wrong).env("RUST_BACKTRACE", "0").output().unwrap()
}

/// Its exit code and its last line of errors.
fn run(wrong: &str, line: &str) -> (Option<i32>, String) {
    let output = output(wrong, line);
    let errors = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), errors.trim().lines().last().unwrap_or_default().to_owned())
}

const SIM: &str = "sim touchy --nodes 2 --seed 7 --ask 1=poke";
const CHECK: &str = "check touchy --nodes 2 --ask 1=poke";
const HOST: &str = "host touchy --nodes 2 --ask 1=poke";

fn a_panic_ends_the_run_with_the_part_the_event_and_the_seed() {
    let over = |part: &str| match part {
        "start" => "P1 panicked while handling its start",
        "input" => "P1 panicked while handling the input ()",
        "message" => "P2 panicked while handling POKE from P1",
        "timer" => "P2 panicked while handling the timer ()",
        "each" => "the invariant 'each' panicked while looking at P",
        "whole" => "the invariant 'whole' panicked",
        "goal" => "the goal 'goal' panicked",
        "referee" => "the referee panicked while hearing P1",
        _ => "the command panicked",
    };
    let repeat = "repeat it: own";
    for (part, line, then) in [
        ("start", SIM, "; seed 7, repeat it: "),
        ("input", SIM, "; seed 7, repeat it: "),
        ("message", SIM, "; seed 7, repeat it: "),
        ("timer", SIM, "; seed 7, repeat it: "),
        ("each", SIM, "; seed 7, repeat it: "),
        ("whole", SIM, "; seed 7, repeat it: "),
        ("goal", SIM, "; seed 7, repeat it: "),
        ("referee", SIM, "; seed 7, repeat it: "),
        ("message", "sim touchy --ask 1=poke --seed 3 --seeds 4", "; seed "),
        ("verb", SIM, "; repeat it: "),
        ("message", CHECK, "; repeat it: "),
        ("whole", CHECK, "; repeat it: "),
        ("referee", CHECK, "; repeat it: "),
        ("goal", CHECK, "; repeat it: "),
        ("message", "compare own --nodes 2", "; repeat it: "),
        ("message", HOST, "; between real processes, repeat it: "),
        ("timer", HOST, "; between real processes, repeat it: "),
        ("whole", HOST, "; between real processes, repeat it: "),
    ] {
        let (code, error) = run(part, line);
        let expected = format!("error: {}", over(part));
        assert!(error.starts_with(&expected) && error.contains(then), "{part}, {line}: {error}");
        assert!(error.contains("do not poke me") && error.contains(repeat), "{part}: {error}");
        assert_eq!(code, Some(1), "{part}, {line}: {error}");
    }
    assert_eq!(run("", SIM).0, Some(0));
    assert_eq!(run("", CHECK).0, Some(0));
}

fn a_definition_that_cannot_be_used_is_refused_before_anything_runs() {
    for (option, verb, why) in REFUSED {
        let (code, error) = run(&format!("{option}/{verb}"), "algorithms");
        assert_eq!(code, Some(2), "{option}/{verb}: {error}");
        assert!(error.starts_with("error: ") && error.contains(why), "{error}");
    }
    // All commands of scenarios are refused as verbs, and nothing else is.
    let unknown = |word: &str| {
        let scenario = format!("cluster touchy 1..2\n{word}\n");
        let mistake = Scenario::parse(&touchy(), &scenario).err().map(|error| error.message);
        mistake.filter(|message| message.starts_with("no command"))
    };
    COMMANDS.iter().for_each(|word| assert_eq!(unknown(word), None));
    let list = unknown("dance").unwrap();
    let (_, list) = list.split_once("expected ").unwrap();
    let known = list.replace(" or ", ", ");
    let known = known.split(", ").filter(|word| *word != "poke");
    known.for_each(|word| assert!(COMMANDS.contains(&word), "{word}"));
    let twice = touchy().with::<Touchy>();
    let refused = bellwether_lab::install(twice).unwrap_err().to_string();
    assert!(refused.contains("two algorithms are called 'touchy'"), "{refused}");
}

fn snapshots_over_it_are_asked_for_what_it_is_asked_for() {
    let output = output("", "sim chandy-lamport --over touchy --nodes 2 --ask 1=poke");
    let story = String::from_utf8(output.stdout).unwrap();
    assert!(story.contains("P1 -> P2  POKE"), "{story}");
}

async fn ask(path: &str, body: Value) -> (u16, Value) {
    let request = Request::post(format!("/v1/explore/{path}"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    let answer = bellwether_lab::explorer::router(None).oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

/// Asks the explorer of this program, whose process panics in the part that the environment says.
#[tokio::main(flavor = "current_thread")]
async fn explore() {
    let poked = "cluster touchy 1..2 seed=7 latency=10ms\npoke 1\nrun\n";
    let (status, body) = ask("run", json!({ "scenario": poked })).await;
    assert_eq!(status, 422, "{body}");
    let error = body["error"].as_str().unwrap();
    let what = match wrong().as_str() {
        "message" => "P2 panicked while handling POKE from P1: ",
        _ => "the invariant 'whole' panicked: ",
    };
    assert!(error.starts_with(what) && error.ends_with("; seed 7"), "{error}");
    // The run ends before the message arrives; the search goes on from there.
    let begun = "cluster touchy 1..2 seed=7 latency=10ms\npoke 1\nrun until=5ms\n";
    let (status, body) = ask("wrong", json!({ "scenario": begun, "after_us": 0 })).await;
    assert_eq!(status, 422, "{body}");
    assert!(body["error"].as_str().unwrap().starts_with(what), "{body}");
    let (status, body) = ask("run", json!({ "scenario": "cluster bully 1..2\nrun\n" })).await;
    assert_eq!(status, 200, "{body}");
}

fn a_panic_is_answered_and_the_server_goes_on() {
    for part in ["message", "whole"] {
        let (code, error) = run(part, "ask-the-explorer");
        assert_eq!(code, Some(0), "{part}: {error}");
    }
}

fn main() -> ExitCode {
    let commands = ["algorithms", "sim", "check", "compare", "host", "host-process"];
    match std::env::args().nth(1).as_deref() {
        Some("ask-the-explorer") => {
            bellwether_lab::install(touchy()).unwrap();
            explore();
        }
        Some(word) if commands.contains(&word) => return bellwether_lab::main(touchy()),
        // Whatever else libtest would understand.
        _ => {
            a_panic_ends_the_run_with_the_part_the_event_and_the_seed();
            a_definition_that_cannot_be_used_is_refused_before_anything_runs();
            a_panic_is_answered_and_the_server_goes_on();
            snapshots_over_it_are_asked_for_what_it_is_asked_for();
        }
    }
    ExitCode::SUCCESS
}
