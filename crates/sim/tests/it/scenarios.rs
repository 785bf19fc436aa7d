//! Every file under `scenarios/` goes as it is written, and the language is what
//! `docs/scenarios.md` says.
//!
//! After a change that is meant to change stories, `UPDATE=1 cargo test -p bellwether-sim --test it
//! scenarios` rewrites them. What was written by hand stays as it is, and must hold.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::beyond::{Beyond, plan_beyond};
use crate::support::{CATALOGUE, listed};
use bellwether_core::{AnyProcess, NodeId, Time};
use bellwether_sim::chaos::random_plan;
use bellwether_sim::scenario::{Mismatch, Played, Scenario, write};
use bellwether_sim::{Action, Cut, CutKind, Fate, Outcome, Plan, Scheduled, Silent};
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root")
}

/// All scenarios of the catalogue's algorithms: the path from the root, and the text. Those of the
/// member are played by its own crate.
fn files() -> Vec<(String, String)> {
    fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && path.ends_with("scenarios/member") {
                continue;
            } else if path.is_dir() {
                collect(&path, found);
            } else if path.ends_with("scenarios/gallery.txt") {
                // A list of the others.
                continue;
            } else if path.extension().is_some_and(|extension| extension == "txt") {
                found.push(path);
            }
        }
    }
    let root = root();
    let mut paths = Vec::new();
    collect(&root.join("scenarios"), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "there are no scenarios in {}", root.display());
    let name = |path: &Path| path.strip_prefix(&root).expect("below it").display().to_string();
    let text = |path: &Path| fs::read_to_string(path).expect("a text");
    paths.iter().map(|path| (name(path), text(path))).collect()
}

fn play(text: &str) -> Played {
    match Scenario::parse(&CATALOGUE, text) {
        Ok(scenario) => scenario.play(),
        Err(error) => panic!("{error}\nin\n{text}"),
    }
}

#[test]
fn every_scenario_goes_as_written() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value != "0");
    let mut complaints = Vec::new();
    for (name, text) in files() {
        let scenario = match Scenario::parse(&CATALOGUE, &text) {
            Ok(scenario) => scenario,
            Err(error) => {
                complaints.push(format!("{name}:{error}"));
                continue;
            }
        };
        let played = scenario.play();
        if update && played.rewritten != text {
            fs::write(root().join(&name), &played.rewritten).unwrap();
        }
        let wrong = played.mismatches.iter().filter(|mismatch| mismatch.by_hand || !update);
        complaints.extend(wrong.map(|Mismatch { line, written, happened, .. }| {
            format!("{name}:{line}:\n  written:  {written}\n  happened: {happened}")
        }));
    }
    assert!(
        complaints.is_empty(),
        "{} lines are not as written:\n{}\nUPDATE=1 rewrites the stories, but no other line.",
        complaints.len(),
        complaints.join("\n")
    );
}

/// Tools may rely on it: an update of an up-to-date file changes nothing.
#[test]
fn writing_a_scenario_anew_changes_nothing_but_its_stories() {
    for (name, text) in files() {
        let once = play(&text).rewritten;
        assert_eq!(once, text, "{name}");
        // And without any story to begin with, the same comes out.
        let told = |line: &&str| !line.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let bare: String = text.lines().filter(told).flat_map(|line| [line, "\n"]).collect();
        assert_ne!(bare, text, "{name} tells no story");
        assert_eq!(play(&bare).rewritten, text, "{name}");
    }
}

#[test]
fn the_documentation_shows_what_really_happens() {
    let page = include_str!("../../../../docs/scenarios.md");
    let (example, _) = page.split_once("```text\n").unwrap().1.split_once("```").unwrap();
    assert_eq!(play(example).mismatches, []);
    let error =
        Scenario::parse(&CATALOGUE, "cluster bully 1..4\ncrash 1 9").unwrap_err().to_string();
    let shown: Vec<String> = error.lines().map(|line| format!("    {line}")).collect();
    let shown = shown.join("\n").replacen("    2:9", "    late.txt:2:9", 1);
    assert!(page.contains(&shown), "{shown}");
}

/// Every algorithm has the cases that its family asks for.
#[test]
fn every_algorithm_meets_the_same_troubles() {
    let names: Vec<String> = files().into_iter().map(|(name, _)| name).collect();
    for entry in CATALOGUE.iter().map(|listed| &listed.entry) {
        let start = format!("scenarios/{}/{}-", entry.family, entry.name);
        let own: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix(&start)).collect();
        if entry.family == "mutex" {
            // As the paper has it a process waits for ever; with views the same crash is survived.
            let twice = own.iter().filter_map(|name| name.strip_prefix("textbook-"));
            let mut survived = twice.filter(|name| name.contains("dies") && own.contains(name));
            assert!(survived.next().is_some(), "no scenario {start}textbook-...dies and its twin");
            continue;
        }
        if !entry.elects() {
            let cluster = format!("\ncluster {} ", entry.name);
            let played = files().iter().filter(|(_, text)| text.contains(&cluster)).count();
            assert!(played > 1, "{played} scenarios of {}", entry.name);
            continue;
        }
        for what in ["all-detect", "dies", "highest-recovers", "only-lowest-alive", "alone"] {
            assert!(own.iter().any(|name| name.contains(what)), "no scenario {start}{what}");
        }
    }
}

#[derive(Debug, PartialEq)]
struct Summary {
    now: Time,
    events: u64,
    messages: Vec<(&'static str, u64)>,
    overhead: Vec<(&'static str, u64)>,
    coordinators: Vec<(NodeId, Option<NodeId>)>,
    violation: Option<&'static str>,
}

impl From<&Outcome> for Summary {
    fn from(outcome: &Outcome) -> Self {
        Summary {
            now: outcome.now,
            events: outcome.events,
            messages: outcome.tally.protocol().into_iter().collect(),
            overhead: outcome.tally.overhead().into_iter().collect(),
            coordinators: outcome.coordinators.clone(),
            violation: outcome.violation.as_ref().map(|violation| violation.name),
        }
    }
}

/// Beyond its assumptions an algorithm may never come to rest. Hardly any other run has as many events.
const EVENTS_MAX: u64 = 200_000;

/// Plays a plan as it is and as a scenario. A run that is cut off is not compared: a scenario, which is there
/// to be read, is cut off elsewhere.
fn assert_same_when_written(plan: &Plan<AnyProcess>) -> Option<Played> {
    let text = write(plan);
    let mut sim = plan.set_up(Silent);
    sim.stop_after(EVENTS_MAX);
    let outcome = plan.finish(&mut sim);
    if outcome.violation.as_ref().is_some_and(|violation| violation.name == "storm") {
        assert!(Scenario::parse(&CATALOGUE, &text).is_ok(), "{text}");
        return None;
    }
    let played = play(&text);
    assert_eq!(Summary::from(&played.outcome), Summary::from(&outcome), "{text}");
    Some(played)
}

#[test]
fn a_plan_that_is_written_down_plays_the_same() {
    let mut cut_off = 0;
    for algorithm in CATALOGUE.iter() {
        let plan = |seed| random_plan(algorithm, seed);
        for seed in 0..40 {
            let played = assert_same_when_written(&plan(seed)).expect("within its assumptions");
            // All that the story lacks is the story. A random plan may have jobs for the dead.
            let wrong = |m: &&Mismatch| m.by_hand && !m.happened.ends_with(" is down");
            let wrong: Vec<_> = played.mismatches.iter().filter(wrong).collect();
            assert!(wrong.is_empty(), "{}, seed {seed}: {wrong:#?}", algorithm.name());
            let until = Some(Time::from_micros(seed * 20_000));
            assert!(assert_same_when_written(&Plan { until, ..plan(seed) }).is_some());
            for beyond in [Beyond::Partition, Beyond::Delay, Beyond::Pause, Beyond::Loss] {
                let plan = plan_beyond(algorithm, seed, beyond);
                if !plan.script.iter().any(|scheduled| cuts_nothing(&scheduled.action)) {
                    cut_off += u32::from(assert_same_when_written(&plan).is_none());
                }
            }
        }
    }
    assert!(cut_off < 5, "{cut_off} runs were cut off and not compared");
}

/// Whether this is a partition with all processes on the same side, which cannot be written down.
fn cuts_nothing<I>(action: &Action<I>) -> bool {
    let Action::Cut(Cut { kind: CutKind::Partition(sides), .. }) = action else { return false };
    sides.len() < 2
}

/// What is given of single messages and timers comes back as it was, to the microsecond.
#[test]
fn given_messages_and_timers_are_written_down() {
    let mut changed = 0;
    for seed in 0..10 {
        let usual = random_plan(listed("bully"), seed);
        let (before, Silent) = usual.run(Silent);
        let mut plan = usual;
        let [first, second] = [0, 1].map(|index| plan.group.ring()[index]);
        plan.network.fates.insert((first, second, 1), Fate::Twice(1, 70_000_001));
        for number in 0..4 {
            plan.network.timers.insert((second, number), u64::from(number) * 1_001);
        }
        let played = assert_same_when_written(&plan).expect("within its assumptions");
        let read = Scenario::parse(&CATALOGUE, &write(&plan)).unwrap().setup.network;
        assert_eq!((read.fates, read.timers), (plan.network.fates, plan.network.timers));
        changed += u32::from(Summary::from(&played.outcome) != Summary::from(&before));
    }
    assert!(changed > 0, "timers that lie make no difference");
}

/// Two cuts that overlap must be mended one by one.
#[test]
fn cuts_are_mended_by_number() {
    let mut plan = random_plan(listed("bully"), 3);
    let id = |index: usize| plan.group.ring()[index % plan.group.len()];
    let kinds = [
        CutKind::OneWay(vec![id(0)], vec![id(1)]),
        CutKind::Partition(vec![vec![id(0)], vec![id(2)]]),
    ];
    let at = |ms: u64, action| Scheduled { at: Time::from_micros(ms * 1_000), action };
    let cut = |name, kind: &CutKind| Action::Cut(Cut { name, kind: kind.clone() });
    plan.script = vec![
        at(10, cut(7, &kinds[0])),
        at(20, cut(5, &kinds[1])),
        at(300, Action::Heal(7)),
        at(600, Action::Heal(5)),
    ];
    assert!(assert_same_when_written(&plan).is_some());
    let text = write(&plan);
    assert!(text.contains("heal 1 at=300ms\nheal 2 at=600ms\n"), "{text}");
}

/// A text, the line and column of its error, and a part of the message.
type Malformed = (&'static str, (usize, usize), &'static str);

const MALFORMED: &[Malformed] = &[
    ("", (1, 1), "needs a cluster"),
    ("# only a comment\n", (1, 1), "needs a cluster"),
    ("crash 1\ncluster bully 1..4", (1, 1), "expected `cluster ALGORITHM IDS` before 'crash'"),
    ("cluster bully 1..4\n\ncluster ring 1..4", (3, 1), "there is a cluster already"),
    ("cluster", (1, 9), "expected an algorithm's name"),
    ("cluster bulli 1..4", (1, 9), "no algorithm 'bulli'; expected bully, ring"),
    ("cluster bully", (1, 15), "expected ids such as 1..4"),
    ("cluster bully 1,2,1", (1, 15), "id 1 appears twice"),
    ("cluster bully 4..1", (1, 15), "runs backwards; write 1..4"),
    ("cluster bully 1..4 latency=10", (1, 28), "'10' has no unit"),
    ("cluster bully 1..4 timeout=", (1, 28), "expected a value after '='"),
    ("cluster bully 1..4 timeout=0ms", (1, 28), "T must be above 0"),
    ("cluster bully 1..4 latency=1ms latency=2ms", (1, 32), "'latency' is given twice"),
    (
        "cluster bully 1..4 colour=red",
        (1, 20),
        "no setting of a cluster of bully; expected coordinator=",
    ),
    ("cluster bully 1..4 reorder=yes", (1, 20), "no setting of a cluster"),
    ("cluster bully 1..4 coordinator=5", (1, 32), "there is no process 5; the members are 1, 2"),
    ("cluster bully 1..4 loss=2", (1, 25), "not a probability"),
    ("cluster bully 1..4 detection=maybe", (1, 30), "'maybe' is not 'on' or 'off'"),
    ("cluster bully 1..4 seed=x", (1, 25), "'x' is no seed"),
    ("cluster bully 1..4\nlink 1-2 latency=5ms", (2, 6), "'1-2' is no link; write 1->2"),
    ("cluster bully 1..4\nlink 1->2", (2, 11), "expected latency=10ms"),
    ("cluster bully 1..4\nfate 1->2 lost", (2, 6), "write 1->2#0"),
    ("cluster bully 1..4\nfate 1->2#0 gone", (2, 13), "'gone' is not a duration"),
    ("cluster bully 1..4\nfate 1->2#0 lost\nfate 1->2#0 5ms", (3, 6), "given twice"),
    ("cluster bully 1..4\ntimer", (2, 7), "expected a timer such as 3#0"),
    ("cluster bully 1..4\ntimer 3 5ms", (2, 7), "'3' is no timer; write 3#0 for the first"),
    ("cluster bully 1..4\ntimer 9#0 5ms", (2, 7), "there is no process 9"),
    ("cluster bully 1..4\ntimer 3#-1 5ms", (2, 7), "'-1' is not a whole number"),
    ("cluster bully 1..4\ntimer 3#0", (2, 11), "expected when it fires"),
    ("cluster bully 1..4\ntimer 3#0 lost", (2, 11), "'lost' is not a duration"),
    ("cluster bully 1..4\ntimer 3#0 5ms,9ms", (2, 11), "'5ms,9ms' is not a duration"),
    ("cluster bully 1..4\ntimer 3#0 5ms at=1ms", (2, 15), "'at=1ms' is not expected here"),
    ("cluster bully 1..4\ntimer 3#0 5ms\ntimer 3#0 9ms", (3, 7), "3#0 is given twice"),
    ("cluster bully 1..4\nrun\ntimer 3#0 5ms", (3, 1), "before the first command"),
    ("cluster bully 1..4\nrun\nlink 1->2 latency=5ms", (3, 1), "before the first command"),
    ("cluster bully 1..4\n  explode 3", (2, 3), "no command 'explode'; expected crash, recover"),
    ("cluster bully 1..4\ncrash", (2, 7), "expected an id"),
    ("cluster bully 1..4\ncrash 1 9", (2, 9), "there is no process 9"),
    ("cluster bully 1..4\ncrash 3..5", (2, 7), "there is no process 5"),
    ("cluster bully 1..4\ncrash all", (2, 7), "'all' is no id"),
    ("cluster bully 1..4\ncrash 1 at=soon", (2, 12), "'soon' is not a duration"),
    ("cluster bully 1..4\ncrash 1 at=1ms 2", (2, 16), "'2' is not expected here"),
    ("cluster bully 1..4\ncrash 1 sending", (2, 17), "expected a kind of message"),
    ("cluster bully 1..4\ncrash 1 sending after=2", (2, 17), "expected a kind of message"),
    ("cluster bully 1..4\ncrash 1 sending OK after=4294967296", (2, 26), "not a whole number"),
    ("cluster bully 1..4\nslow 1 at=1ms", (2, 15), "expected by=10ms"),
    ("cluster bully 1..4\nclock 1", (2, 9), "expected offset=+200ms or drift=50ppm"),
    ("cluster bully 1..4\nclock 1 drift=fast", (2, 15), "'fast' is no drift"),
    ("cluster bully 1..4\npartition 1,2|2,3", (2, 11), "process 2 is on two sides"),
    ("cluster bully 1..4\ncut 1-2", (2, 5), "is no cut"),
    ("cluster bully 1..4\nheal one", (2, 6), "'one' is not a whole number"),
    ("cluster bully 1..4\nrun for=1 s", (2, 9), "'1' has no unit"),
    ("cluster bully 1..4\nrun for 1s", (2, 5), "'for' is not expected here"),
    ("cluster bully 1..4\nexpect", (2, 8), "expected what to expect"),
    ("cluster bully 1..4\nexpect peace", (2, 8), "cannot expect 'peace'; expected coordinator"),
    ("cluster bully 1..4\nexpect coordinator 1 2 = ", (2, 26), "expected an id or none"),
    ("cluster bully 1..4\nexpect coordinator 1 2 3", (2, 26), "expected ="),
    ("cluster bully 1..4\nexpect members 1 2,3", (2, 18), "expected '=' instead of '2,3'"),
    ("cluster bully 1..4\nexpect members 1 = 2,7", (2, 20), "there is no process 7"),
    ("cluster bully 1..4\nexpect messages", (2, 17), "expected counts such as ELECTION=3, or none"),
    ("cluster bully 1..4\nexpect messages OK", (2, 17), "expected OK=NUMBER"),
    ("cluster bully 1..4\nexpect messages OK=1 OK=2", (2, 22), "OK is given twice"),
    ("cluster bully 1..4\nexpect messages ÖK=viele", (2, 20), "'viele' is not a whole number"),
    (
        "cluster bully 1..4\nrun for=50ms\ncrash 1 at=20ms",
        (3, 12),
        "20ms is past: by now it is 50ms",
    ),
    ("cluster bully 1..4\nrun for=50ms\nrun until=20ms", (3, 11), "20ms is past"),
    ("---\n0ms    P1 crashes", (1, 1), "expected commands before their story"),
];

#[test]
fn a_malformed_scenario_is_refused_with_its_place() {
    for (text, place, fragment) in MALFORMED {
        match Scenario::parse(&CATALOGUE, text) {
            Ok(_) => panic!("accepted: {text}"),
            Err(error) => {
                assert_eq!((error.line, error.column), *place, "{error}\nin\n{text}");
                assert!(error.message.contains(fragment), "{error}\nlacks\n{fragment}");
                let source = text.lines().nth(error.line - 1).unwrap_or_default();
                assert_eq!(error.source, source.trim_end());
            }
        }
    }
}

#[test]
fn a_syntax_error_points_at_the_word() {
    let error = Scenario::parse(&CATALOGUE, "# x\ncluster bully 1..4\n\ncrash 1 9\n").unwrap_err();
    let expected =
        "4:9: there is no process 9; the members are 1, 2, 3, 4\n  crash 1 9\n          ^";
    assert_eq!(error.to_string(), expected);
}

/// What is well written but cannot be done, the line that says so, and what happened instead.
const IMPOSSIBLE: &[(&str, usize, &str)] = &[
    ("recover 1", 2, "P1 cannot recover at 0ms: it is up"),
    ("crash 1\nrecover 1\nrecover 1", 4, "P1 cannot recover at 0ms: it is up"),
    ("crash 1 1", 2, "P1 cannot crash at 0ms: it is down already"),
    ("crash 1 at=5ms\ncrash 1 at=9ms\nrun", 3, "P1 cannot crash at 9ms: it is down already"),
    ("crash 1\nsuspect 1", 3, "nothing at 0ms: P1 is down"),
    ("crash 1 at=0ms\nrun\ncrash 1 at=0ms\nrun", 4, "P1 cannot crash at 0ms: it is down already"),
    ("crash 1 at=0ms", 2, "nothing: the scenario is over at 0ms, before that"),
    ("crash 1 at=5ms\nsuspect 1 at=6ms\nrun", 3, "nothing at 6ms: P1 is down"),
    ("crash 1\npause 1", 3, "nothing at 0ms: P1 is down"),
    ("pause 1\npause 1", 3, "P1 is paused already"),
    ("resume 1", 2, "P1 cannot resume at 0ms: it is not paused"),
    ("heal", 2, "nothing: there is no such cut"),
    ("partition 1,2\nheal 2", 3, "nothing: there is no such cut"),
    ("partition 1,2\nheal\nheal", 4, "nothing: there is no such cut"),
    ("start 4\nrun\ncrash 1 at=20ms", 4, "nothing: it is 30ms already"),
    ("start 4\nrun\nrun until=20ms", 4, "it is 30ms already"),
    ("crash 1 at=20ms\nrun for=10ms", 2, "nothing: the scenario is over at 10ms, before that"),
    ("crash 4 sending COORDINTOR\nstart 4\nrun", 2, "P4 sent no more of these; it is up"),
    ("expect coordinator 2 3 = 3", 2, "P2 takes P4 for the coordinator"),
    ("crash 2\nexpect coordinator 2 = 4", 3, "P2 is down"),
    ("crash 2\nexpect members 2 = none", 3, "P2 is down"),
    ("start 4\nrun\nexpect messages OK=1", 4, "COORDINATOR=3"),
    ("expect messages OK=1", 2, "none"),
    ("expect disagreement", 2, "agreement: P1: P4, P2: P4, P3: P4, P4: P4"),
    ("expect violation agreement", 2, "violation none"),
];

#[test]
fn what_cannot_be_done_or_does_not_hold_is_said_with_its_line() {
    for (commands, line, happened) in IMPOSSIBLE {
        let text = format!("cluster bully 1..4\n{commands}\n");
        let played = play(&text);
        let found: Vec<_> = played.mismatches.iter().filter(|m| m.by_hand).collect();
        let written = text.lines().nth(line - 1).unwrap();
        let expected = Mismatch {
            line: *line,
            written: written.to_owned(),
            happened: (*happened).to_owned(),
            by_hand: true,
        };
        assert_eq!(found, [&expected], "{text}");
    }
}

#[test]
fn a_wrong_story_is_said_with_its_line() {
    let text = "# a comment\ncluster bully 1..4\n\ncrash 4\n---\n0ms    P3 crashes\n";
    let played = play(text);
    assert_eq!(played.mismatches.len(), 1);
    assert_eq!(
        played.mismatches[0].to_string(),
        "line 6:\n  written:  0ms    P3 crashes\n  happened: 0ms    P4 crashes"
    );
    assert_eq!(played.rewritten, text.replace("P3", "P4"));
}

/// Otherwise an update could bless it.
#[test]
fn a_violation_must_be_expected() {
    let text = "cluster bully 1..4\npartition 1,2\nsuspect 1\nrun\n";
    let [mismatch] = &play(text).mismatches[..] else { panic!("one mismatch") };
    assert!(mismatch.by_hand && mismatch.line == 4, "{mismatch}");
    assert!(mismatch.happened.starts_with("violation one-coordinator at 40ms"), "{mismatch}");
    let expected = format!("{text}expect violation one-coordinator\n");
    assert_eq!(play(&expected).mismatches, []);
}

/// As `--save` writes it.
#[test]
fn a_scenario_without_a_story_claims_none() {
    let text = "cluster bully 1..4\n\ncrash 4\n\nsuspect 1\nrun\n";
    let played = play(text);
    assert_eq!(played.mismatches, []);
    assert_eq!(played.rewritten.matches("---").count(), 2);
    let half = played.rewritten.replace("---\n0ms    P4 crashes\n", "");
    assert_eq!(play(&half).mismatches[0].written, "(nothing)");
}

#[test]
fn time_passes_as_long_as_the_scenario_says() {
    let now = |commands: &str| play(&format!("cluster bully 1..4 {commands}\n")).outcome.now;
    let ms = |ms: u64| Time::from_micros(ms * 1_000);
    assert_eq!(now("\nrun"), ms(0), "nothing is left to happen");
    assert_eq!(now("\nrun for=1s"), ms(1_000), "also when nothing happens");
    assert_eq!(now("detection=on\nrun for=1s\nrun for=2s"), ms(3_000), "or all agree");
    assert_eq!(now("detection=on\nrun until=1s"), ms(0), "but this is only a limit");
    assert_eq!(now("timeout=100ms\ncrash 4\nsuspect 3\nrun until=30ms"), ms(30));
    assert_eq!(now("timeout=100ms\ncrash 4\nsuspect 3\nrun"), ms(200));
}

#[test]
fn a_run_without_end_is_ended() {
    let played = play("cluster bully 1..4 timeout=9us latency=1us detection=on\nrun for=2m\n");
    let [mismatch] = &played.mismatches[..] else { panic!("{:?}", played.mismatches) };
    assert!(mismatch.by_hand);
    assert_eq!(mismatch.line, 2);
    assert!(mismatch.happened.starts_with("no end: more than"), "{mismatch}");
}

/// A small random generator, the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Deletes, doubles, swaps or replaces a character or a line.
fn mutate(text: &str, dice: &mut Dice) -> String {
    if dice.below(3) == 0 {
        let mut lines: Vec<&str> = text.lines().collect();
        let (a, b) = (dice.below(lines.len()), dice.below(lines.len()));
        match dice.below(3) {
            _ if lines.is_empty() => {}
            0 => drop(lines.remove(a)),
            1 => lines.insert(a, lines[b]),
            _ => lines.swap(a, b),
        }
        return lines.join("\n");
    }
    let mut chars: Vec<char> = text.chars().collect();
    let index = dice.below(chars.len().saturating_sub(1));
    let odd: Vec<char> = "0123456789 \n\t=#-.,>|:_ämsuµ\u{3000}".chars().collect();
    match dice.below(4) {
        _ if chars.len() < 2 => {}
        0 => drop(chars.remove(index)),
        1 => chars.insert(index, chars[index]),
        2 => chars.swap(index, index + 1),
        _ => chars[index] = odd[dice.below(odd.len())],
    }
    chars.into_iter().collect()
}

#[test]
fn no_text_makes_it_panic() {
    let everything = "cluster chang-roberts 2,1,3 latency=1ms..20ms timeout=60ms seed=7 loss=0.1 \
                      duplicate=0.1 detection=on acknowledge=on show=all coordinator=none reorder\n\
                      link 1->2 latency=exp:10ms\nfate 1->3#0 lost\nfate 1->3#1 10ms,30ms\ntimer 2#1 5ms\n\
                      slow 1 by=5ms at=1ms\nclock 2 offset=-200ms drift=50ppm\npause 3\nresume 3\n\
                      partition 1|2,3 at=5ms\ncut 1>2\nheal 1 at=90ms\nheal\n\
                      crash 3 sending ELECTION after=1\nstart all\nrun for=300ms\n\
                      recover 3\nrun until=2s\nexpect overhead ACK=1\n";
    let mut sources: Vec<String> = files().into_iter().map(|(_, text)| text).collect();
    sources.extend(std::iter::repeat_n(everything.to_owned(), 20));
    let mut dice = Dice(1);
    let mut played = 0;
    for source in &sources {
        for _ in 0..150 {
            let edits = 1 + dice.below(4);
            let text = (0..edits).fold(source.clone(), |text, _| mutate(&text, &mut dice));
            let outcome = catch_unwind(|| match Scenario::parse(&CATALOGUE, &text) {
                Err(error) => {
                    assert!(error.line >= 1 && error.column >= 1);
                    error.to_string();
                    0
                }
                Ok(scenario) if scenario.setup.group.len() > 100 => 0,
                Ok(scenario) => {
                    scenario.play();
                    1
                }
            });
            played += outcome.unwrap_or_else(|_| panic!("it panics with\n{text}"));
        }
    }
    assert!(played > 1_000, "only {played} were played");
}
