//! What a summary says about critical sections, for people and for programs.

use crate::report::{milliseconds, several};
use bellwether_algorithms::catalogue::Listed;
use bellwether_algorithms::definition::Settings;
use bellwether_core::{AnyInput, Time};
use bellwether_shell::Failure;
use bellwether_sim::{Action, Outcome, Refused, Scheduled, Sections, units};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How many refused deeds are listed for people.
const MOST_LISTED: usize = 10;

/// Adds what there is to say to a summary in JSON. Without sections it stays as it is.
pub(crate) fn add_json(value: &mut Value, outcome: &Outcome) {
    let (Some(sections), Value::Object(object)) = (&outcome.sections, value) else { return };
    let ms = |span: Duration| milliseconds(Time::ZERO + span);
    let refusals: Vec<Value> = outcome.refusals.iter().map(refusal).collect();
    let waits = sections.waits;
    let more: [(&str, Value); 10] = [
        ("requests", json!(sections.requests)),
        ("entries", json!(sections.entries)),
        ("lost", json!(sections.lost)),
        ("messages_per_entry", json!(messages_per_entry(outcome, sections))),
        ("sync_delay_hops", json!(sections.sync_delay_hops)),
        ("sync_delay_ms", json!(sections.sync_delay.map(ms))),
        ("wait_ms", json!({ "p50": ms(waits.p50), "p99": ms(waits.p99), "max": ms(waits.max) })),
        ("out_of_order", json!(sections.out_of_order)),
        ("token_regenerations", json!(sections.token_regenerations)),
        ("refusals", Value::Array(refusals)),
    ];
    object.extend(
        more.map(|(key, value)| (key.to_owned(), value)).into_iter().collect::<Map<_, _>>(),
    );
}

fn refusal(Refused { at, node, why }: &Refused) -> Value {
    json!({ "node": node.number(), "at_ms": milliseconds(*at), "text": why.to_string() })
}

/// What the algorithm sent, divided by the entries; none if there were none.
fn messages_per_entry(outcome: &Outcome, sections: &Sections) -> Option<f64> {
    let messages: u64 = outcome.tally.protocol().values().sum();
    (sections.entries > 0).then(|| messages as f64 / sections.entries as f64)
}

/// The lines for people: a name and what there is to say. `given` is how many jobs there were for
/// live processes, where that is known.
pub(crate) fn lines(outcome: &Outcome, given: Option<u64>) -> Vec<(&'static str, String)> {
    let Some(sections) = &outcome.sections else { return Vec::new() };
    let mut lines = vec![("entries", entries(outcome, sections, given))];
    if sections.entries > 0 {
        let [p50, p99, max] =
            [sections.waits.p50, sections.waits.p99, sections.waits.max].map(units::show);
        lines.push(("waiting", format!("p50 {p50}, p99 {p99}, max {max}")));
    }
    if let Some(delay) = sections.sync_delay {
        let span = units::show(delay);
        let hops = sections.sync_delay_hops;
        let delay = hops.map_or(span.clone(), |hops| format!("{hops:.2} hops ({span})"));
        lines.push(("delay", format!("{delay} from one leaving to the next entering")));
    }
    if sections.entries > 1 {
        lines.push((
            "order",
            match sections.out_of_order {
                0 => "as they asked".to_owned(),
                1 => "1 entered before a process that had asked earlier".to_owned(),
                some => format!("{some} entered before a process that had asked earlier"),
            },
        ));
    }
    if sections.token_regenerations > 0 {
        lines.push(("tokens", format!("{} lost and replaced", sections.token_regenerations)));
    }
    lines.push((
        "lost",
        match sections.lost {
            0 => String::new(),
            1 => "1 request died with its process".to_owned(),
            some => format!("{some} requests died with their processes"),
        },
    ));
    lines
}

fn entries(outcome: &Outcome, sections: &Sections, given: Option<u64>) -> String {
    let Sections { entries, requests, .. } = sections;
    let mut text = format!("{entries} of {}", several(*requests as usize, "request"));
    if let Some(each) = messages_per_entry(outcome, sections) {
        text.push_str(&format!(", {each:.2} messages each"));
    }
    let made = requests + outcome.refusals.len() as u64;
    match given.map_or(0, |given| given.saturating_sub(made)) {
        0 => {}
        1 => text.push_str("; 1 more was never made"),
        unmade => text.push_str(&format!("; {unmade} more were never made")),
    }
    text
}

/// What was refused, a line each.
pub(crate) fn refused(outcome: &Outcome) -> Vec<String> {
    let all = outcome.refusals.len();
    let mut lines: Vec<String> = outcome.refusals.iter().take(MOST_LISTED).map(said).collect();
    if all > MOST_LISTED {
        lines.push(format!("... {} more", all - MOST_LISTED));
    }
    lines
}

fn said(Refused { at, node, why }: &Refused) -> String {
    format!("{node} at {at}: {why}")
}

/// A run in which something was refused was carried to its end, but not as it was asked for.
pub(crate) fn fail_if_refused(outcome: &Outcome) -> Result<(), Failure> {
    let Some(first) = outcome.refusals.first() else { return Ok(()) };
    let more = match outcome.refusals.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Err(Failure::Input(format!("refused: {}{more}; nothing was changed by it", said(first))))
}

/// Whom the processes follow, where the algorithm is about something else: nothing if none of
/// them knows of a coordinator.
pub(crate) fn followed(outcome: &Outcome) -> Option<String> {
    let mut whom = outcome.coordinators.iter().map(|(_, whom)| *whom);
    let first = whom.next()?;
    let live = outcome.coordinators.len();
    match first {
        _ if !whom.all(|other| other == first) => None,
        None => Some(String::new()),
        Some(id) if live == 1 => Some(format!("{id}, alone")),
        Some(id) => Some(format!("{id}, for all {live} live processes")),
    }
}

/// Whether this is what the algorithm must come to.
fn is_goal(algorithm: &Listed, name: &str) -> bool {
    algorithm.goal.as_ref().is_some_and(|goal| goal.name == name)
}

/// Why a run stands still, if one can tell: the papers' algorithms do after a crash, and a process that
/// was let in by `--request` stays until there is a `--release`.
pub(crate) fn why_stuck(
    algorithm: &Listed,
    settings: &Settings,
    script: &[Scheduled<AnyInput>],
    outcome: &Outcome,
) -> String {
    let stuck = outcome.sections.is_some()
        && outcome.violation.as_ref().is_some_and(|violation| is_goal(algorithm, violation.name));
    let Settings { textbook, detection, .. } = *settings;
    let faulty = outcome.faults.iter().any(|(_, count)| count > 0);
    let single = |scheduled: &Scheduled<AnyInput>| match &scheduled.action {
        Action::Input(_, input) => algorithm.verb(input) == "request",
        _ => false,
    };
    let text = if !stuck {
        return String::new();
    } else if faulty && textbook {
        "as in its paper, the algorithm does not survive this; it does without --textbook"
    } else if faulty && !detection {
        "no process looked for dead ones; try --detection on"
    } else if script.iter().any(single) {
        "who entered by --request stays inside until --release"
    } else {
        return String::new();
    };
    format!("why          {text}\n")
}
