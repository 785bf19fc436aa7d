//! A counterexample as a scenario.

use super::{Replay, walk};
use crate::setup::Setup;
use crate::world;
use bellwether_sim::{Action, scenario, silent};
use std::fmt::Write;

/// Comments are no wider than this.
const WIDTH: usize = 100;

/// The scenario that plays this run: `what` was checked, as a comment, then what comes of it; the
/// run; and what it must show. The story is left for the tool to fill in.
pub fn scenario(replay: &Replay, what: &str) -> String {
    let outcome = silent::run(&replay.plan);
    let mut text = String::new();
    comment(&mut text, what);
    if let Some(violation) = &outcome.violation {
        comment(&mut text, &format!("What is broken: {violation}."));
    } else if !outcome.agreed
        && let Some(goal) = &replay.plan.algorithm.goal
    {
        comment(&mut text, &format!("What is missed: {}.", goal.text));
    }
    if let Some(from) = replay.loops_from {
        let ends = replay.ends;
        let around =
            format!("From {from} on it goes round: what happens until {ends} may happen for ever.");
        comment(&mut text, &around);
    }
    if replay.plan.script.iter().any(|scheduled| matches!(scheduled.action, Action::Calm)) {
        comment(&mut text, "`calm` calms nothing here: it keeps the run from ending at its goal.");
    }
    text.push_str(&scenario::write(&replay.plan));
    text.push('\n');
    let mut expect = |what: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "expect {what}");
    };
    if let Some(violation) = &outcome.violation {
        expect(&format!("violation {}", violation.name));
    }
    if !outcome.refusals.is_empty() {
        expect(&format!("refusals {}", outcome.refusals.len()));
    }
    if !outcome.agreed {
        expect("disagreement");
    }
    text
}

/// The last of these actions as commands of the scenario language, one for each that is more than the
/// passing of time: for a run that has come as far as the first `done` of them.
pub fn commands(setup: &Setup, actions: &[world::Action], done: usize) -> Vec<String> {
    let model = setup.model();
    let names = walk::names(&model, actions, &|input| setup.algorithm.verb(input).into_owned());
    names.into_iter().skip(done).flatten().collect()
}

/// Adds a comment, broken into lines.
fn comment(text: &mut String, what: &str) {
    for paragraph in what.lines() {
        let mut line = String::from("#");
        for word in paragraph.split_whitespace() {
            if line.len() + 1 + word.len() > WIDTH && line.len() > 1 {
                let _ = writeln!(text, "{line}");
                line.truncate(1);
            }
            line.push(' ');
            line.push_str(word);
        }
        let _ = writeln!(text, "{line}");
    }
}
