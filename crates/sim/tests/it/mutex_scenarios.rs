//! What the language of scenarios has for critical sections, as `docs/scenarios.md` says.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::CATALOGUE;
use bellwether_algorithms::mutex::Tree;
use bellwether_sim::scenario::{Played, Scenario};
use std::time::Duration;

fn play(text: &str) -> Played {
    Scenario::parse(&CATALOGUE, text).unwrap_or_else(|error| panic!("{error}\nin\n{text}")).play()
}

/// The mismatches of a scenario with this cluster: their lines, and what happened instead.
fn mismatches(cluster: &str, commands: &str) -> Vec<(usize, String)> {
    let played = play(&format!("cluster {cluster}\n{commands}\n"));
    let by_hand = played.mismatches.into_iter().filter(|mismatch| mismatch.by_hand);
    by_hand.map(|mismatch| (mismatch.line, mismatch.happened)).collect()
}

/// A text, the line and column of its error, and a part of the message.
type Malformed = (&'static str, (usize, usize), &'static str);

const MALFORMED: &[Malformed] = &[
    ("cluster central 1..4 section=5", (1, 30), "'5' has no unit"),
    ("cluster central 1..4 section=9ms..1ms", (1, 30), "runs backwards; write 1ms..9ms"),
    ("cluster central 1..4 section=5ms section=6ms", (1, 34), "'section' is given twice"),
    ("cluster central 1..4 textbook=on", (1, 22), "expected coordinator="),
    ("cluster central 1..4 textbook textbook", (1, 31), "'textbook' is given twice"),
    ("cluster central 1..4 tree=star", (1, 22), "no setting of a cluster of central"),
    (
        "cluster central 1..4 colour=red",
        (1, 22),
        "section=, no-epochs, show=, textbook, keep-going or reorder",
    ),
    (
        "cluster raymond 1..4 colour=red",
        (1, 22),
        "section=, tree=, no-epochs, show=, textbook, keep-going or reorder",
    ),
    ("cluster raymond 1..4 tree=bush", (1, 27), "'bush' is no shape of a tree; expected line"),
    ("cluster raymond 1..4 tree=0", (1, 27), "at least 1"),
    ("cluster bully 1..4 textbook", (1, 20), "no setting of a cluster of bully"),
    ("cluster bully 1..4 section=5ms", (1, 20), "acknowledge=, show=, keep-going or reorder"),
    ("cluster bully 1..4\nrequest 1", (2, 1), "fire, suspect, start, run or expect"),
    ("cluster central 1..4\nask 1", (2, 1), "request, release, work, suspect, start, run or"),
    ("cluster central 1..4\nwork", (2, 6), "expected an id"),
    ("cluster central 1..4\nwork 5", (2, 6), "there is no process 5"),
    ("cluster central 1..4\nexpect inside", (2, 15), "expected an id"),
    ("cluster central 1..4\nexpect inside nobody", (2, 15), "'nobody' is no id"),
    ("cluster central 1..4\nexpect waiting 1,7", (2, 16), "there is no process 7"),
    ("cluster central 1..4\nexpect waiting none 1", (2, 21), "'1' is not expected here"),
    ("cluster central 1..4\nexpect entries", (2, 16), "expected a number"),
    ("cluster central 1..4\nexpect entries many", (2, 16), "'many' is not a whole number"),
    ("cluster central 1..4\nexpect refusals -1", (2, 17), "'-1' is not a whole number"),
    ("cluster central 1..4\nexpect peace", (2, 8), "inside, waiting, entries, regenerations, "),
    ("cluster bully 1..4\nexpect inside 1", (2, 8), "bully has no critical section, so 'inside'"),
    ("cluster ring 1..4\nexpect regenerations 0", (2, 8), "ring has no critical section"),
];

#[test]
fn what_is_malformed_is_refused_with_its_place() {
    for (text, place, fragment) in MALFORMED {
        let error = Scenario::parse(&CATALOGUE, text).expect_err(text);
        assert_eq!((error.line, error.column), *place, "{error}\nin\n{text}");
        assert!(error.message.contains(fragment), "{error}\nlacks\n{fragment}");
    }
}

#[test]
fn a_cluster_says_how_long_a_section_is_and_which_tree() {
    let settings = |text: &str| Scenario::parse(&CATALOGUE, text).unwrap().setup.settings();
    let ms = Duration::from_millis;
    let usual = settings("cluster raymond 1..4 timeout=70ms");
    assert_eq!(
        (usual.section, usual.tree, usual.textbook),
        ((ms(70), ms(70)), Tree::Arity(2), false)
    );
    let fixed = settings("cluster raymond 1..4 section=5ms tree=line textbook");
    assert_eq!((fixed.section, fixed.tree, fixed.textbook), ((ms(5), ms(5)), Tree::LINE, true));
    let drawn = settings("cluster raymond 1..4 section=1ms..9ms tree=star");
    assert_eq!((drawn.section, drawn.tree), ((ms(1), ms(9)), Tree::Star));
    assert_eq!(settings("cluster raymond 1..4 tree=3").tree, Tree::Arity(3));
}

#[test]
fn work_is_one_job_for_each_line_and_takes_as_long_as_the_section() {
    let played = play("cluster central 1..3 section=7ms\nwork 3\nwork 3\nwork 1..2 at=50ms\nrun\n");
    assert_eq!(played.mismatches, []);
    let story: Vec<&str> = played.rewritten.lines().filter(|line| line.contains("P3 ")).collect();
    let wanted = [
        "0ms    P3 asks for the section",
        "0ms    P3 enters the section (#1)",
        "7ms    P3 leaves the section",
        "7ms    P3 asks for the section",
        "7ms    P3 enters the section (#2)",
        "14ms   P3 leaves the section",
    ];
    assert_eq!(story[..6], wanted);
    assert_eq!(played.outcome.sections.unwrap().entries, 4);
}

/// What does not hold, the line that says it holds, and how it is.
const WRONG: &[(&str, usize, &str)] = &[
    ("request 1\nrun\nexpect inside none", 4, "1"),
    ("request 1 2\nrun\nexpect inside 1,2", 4, "1"),
    ("request 1..3\nrun\nexpect waiting 2", 4, "2,3"),
    ("request 1\nrun\nexpect waiting 1", 4, "none"),
    ("request 4 1\nexpect inside 1", 3, "4"),
    ("work 1..3\nrun\nexpect entries 2", 4, "3 entries"),
    ("work 1\nrun\nexpect entries 0", 4, "1 entry"),
    ("expect regenerations 1", 2, "0 regenerations"),
    ("expect refusals 2", 2, "0 refusals"),
    (
        "request 1 2\nrun\nexpect agreement",
        4,
        "no agreement: P1: inside, P2: waiting, P3: idle, P4: idle",
    ),
    ("request 4 1\nrun", 3, "violation granted at 20ms: "),
    ("crash 1\nrequest 1", 3, "nothing at 0ms: P1 is down"),
];

#[test]
fn what_does_not_hold_is_said_with_its_line() {
    for (commands, line, happened) in WRONG {
        let cluster = "central 1..4 latency=10ms";
        // That a process is still inside when nothing is left to happen is no news here.
        let judged = format!("{commands}\nexpect violation granted");
        let mut found = mismatches(cluster, &judged);
        found.retain(|(line, _)| *line < 2 + commands.lines().count());
        if found.is_empty() {
            found = mismatches(cluster, commands);
        }
        let [(at, instead)] = &found[..] else { panic!("{commands}: {found:?}") };
        assert_eq!(at, line, "{commands}");
        assert!(instead.starts_with(happened), "{commands}: {instead}");
    }
}

/// What is refused, the line that asked for it, and why.
const REFUSED: &[(&str, usize, &str)] = &[
    ("release 1", 2, "P1 refuses at 0ms: it is not in the section, so it cannot leave it"),
    ("request 1\nrequest 1", 3, "P1 refuses at 0ms: it has asked for the section already"),
    ("request 4\nrequest 4", 3, "P4 refuses at 0ms: it is in the section already, by entry #1"),
    ("request 1\nrequest 1 at=5ms\nrun", 3, "P1 refuses at 5ms: it has asked"),
    ("request 1 at=5ms\nrequest 1 at=5ms\nrun", 3, "P1 refuses at 5ms: it has asked"),
    ("request 2 1\nrequest all", 3, "P1 refuses at 0ms: it has asked"),
    ("request 1\nrun\nrequest 1\nexpect refusals 1\nrelease 2", 6, "P2 refuses at 20ms: it is not"),
    ("pause 2\nrelease 2 at=3ms\nresume 2 at=9ms\nrun", 3, "P2 refuses at 9ms: it is not"),
];

#[test]
fn what_is_refused_must_be_expected() {
    for (commands, line, why) in REFUSED {
        let found = mismatches("central 1..4 latency=10ms", commands);
        assert!(
            found.iter().any(|(at, happened)| at == line && happened.starts_with(why)),
            "{commands}: {found:?}"
        );
        // That a process is still inside at the end is said of the last `run`.
        let granted = |happened: &String| happened.starts_with("violation granted");
        let others = found.iter().filter(|(at, happened)| at != line && !granted(happened));
        assert_eq!(others.count(), 0, "{commands}: {found:?}");
    }
    let expected = "release 1\nrequest 1 1\nrun\nexpect refusals 2\nrelease 1\nrun";
    assert_eq!(mismatches("central 1..4", expected), []);
}

/// A restless ring has no other end than its goal, and a stuck one none at all.
#[test]
fn a_token_ring_stops_when_all_have_what_they_want() {
    let ring = "token-ring 1..3 textbook latency=10ms section=5ms";
    assert_eq!(mismatches(ring, "work 1..3\nrun\nexpect entries 3\nexpect agreement"), []);
    let stuck = "request 2\nrun for=15ms\ncrash 2\nwork 1\nrun\nexpect waiting 1";
    let [(line, happened)] = &mismatches(ring, stuck)[..] else { panic!("it is not stuck") };
    assert!(*line == 6 && happened.starts_with("violation granted"), "{line}: {happened}");
}
