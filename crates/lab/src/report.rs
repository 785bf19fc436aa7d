//! Summaries, for people and for programs.

use crate::host::record::Record;
use crate::sections;
use bellwether_core::{NodeId, Time};
use bellwether_sim::{FaultCounts, FaultKind, Outcome, Violation};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Beyond this many processes the summary does not list each one's coordinator.
const MOST_LISTED: usize = 10_000;

/// Runs with fewer events are over before one could time them.
const WORTH_TIMING: u64 = 100_000;

/// A run and what came of it.
pub(crate) struct Report<'a> {
    pub(crate) algorithm: &'a str,
    pub(crate) nodes: usize,
    pub(crate) outcome: &'a Outcome,
    /// How many jobs there were for live processes, if that is known.
    pub(crate) given: Option<u64>,
    pub(crate) world: World<'a>,
}

/// Where a run took place.
pub(crate) enum World<'a> {
    Simulated { seed: u64, cost: Cost },
    Real(&'a Record),
}

/// What a run took of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Setting the cluster up.
    pub(crate) setup_s: f64,
    /// From the first event to the last.
    pub(crate) wall_s: f64,
}

impl Report<'_> {
    pub(crate) fn json(&self) -> String {
        let outcome = self.outcome;
        let mut value = json!({
            "algorithm": self.algorithm,
            "nodes": self.nodes,
            "coordinator": coordinators(&outcome.coordinators),
            "agreed": outcome.agreed,
            "messages": outcome.tally.protocol(),
            "overhead": outcome.tally.overhead(),
            "faults": faults(&outcome.faults),
            "events": outcome.events,
            "warnings": warnings(&outcome.faults),
            "violations": outcome.violation.iter().map(violation).collect::<Vec<_>>(),
        });
        let more = match &self.world {
            World::Simulated { seed, cost } => json!({
                "seed": seed,
                "virtual_ms": milliseconds(outcome.now),
                "setup_s": cost.setup_s,
                "wall_s": cost.wall_s,
                "events_per_second": rate(outcome.events, cost.wall_s),
                "peak_rss_bytes": peak_rss_bytes(),
            }),
            World::Real(record) => json!({
                "real": true,
                "processes": record.processes(),
                "real_ms": milliseconds(record.length()),
            }),
        };
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            value.extend(more);
        }
        sections::add_json(&mut value, outcome);
        add_facts(&mut value, outcome);
        format!("{value:#}\n")
    }

    pub(crate) fn text(&self) -> String {
        let outcome = self.outcome;
        let mut text = String::new();
        let width = label_width(outcome);
        let mut line = |name: &str, value: String| {
            if !value.is_empty() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{name:<width$} {value}");
            }
        };
        let how = match &self.world {
            World::Simulated { seed, .. } => format!("seed {seed}"),
            World::Real(_) => "for real".to_owned(),
        };
        line("algorithm", format!("{}, {}, {how}", self.algorithm, several(self.nodes, "process")));
        for (name, value) in sections::lines(outcome, self.given) {
            line(name, value);
        }
        for fact in &outcome.facts {
            line(fact.name, indented(&fact.text, width));
        }
        line("coordinator", beliefs(outcome));
        let messages = counts(&outcome.tally.protocol());
        line("messages", if messages.is_empty() { "none".to_owned() } else { messages });
        line("overhead", counts(&outcome.tally.overhead()));
        line("faults", bitten(&outcome.faults));
        let events = several(outcome.events as usize, "event");
        match &self.world {
            World::Simulated { cost, .. } => {
                line("time", format!("{} virtual, {events}", outcome.now));
                if outcome.events > WORTH_TIMING {
                    let million = rate(outcome.events, cost.wall_s) / 1e6;
                    let speed = format!("{million:.1} million events a second");
                    line("speed", format!("{:.2} s, {speed}", cost.wall_s));
                }
                line("hint", hint(outcome));
            }
            World::Real(record) => {
                let seconds = record.length().as_micros() as f64 / 1e6;
                let started = several(record.processes() as usize, "operating-system process");
                line("time", format!("{seconds:.2} s on the clock, {events}, {started}"));
                if outcome.events == 0 && record.deeds.is_empty() {
                    let largest = largest(outcome);
                    line(
                        "hint",
                        format!("nothing happened; try --kill {largest}@500ms, or --help"),
                    );
                }
            }
        }
        for refused in sections::refused(outcome) {
            line("refused", refused);
        }
        for warning in warnings(&outcome.faults) {
            line("warning", warning);
        }
        text
    }
}

/// The largest id of the live processes.
fn largest(outcome: &Outcome) -> u32 {
    outcome.coordinators.iter().map(|(id, _)| id.number()).max().unwrap_or(1)
}

/// The faults that happened, for people.
pub(crate) fn bitten(faults: &FaultCounts) -> String {
    let each = faults.iter().map(|(kind, count)| format!("{} {count}", kind.name()));
    each.collect::<Vec<_>>().join(", ")
}

/// Adds what a referee has to say to a summary in JSON.
fn add_facts(value: &mut Value, outcome: &Outcome) {
    if !outcome.facts.is_empty() {
        let facts = outcome.facts.iter().map(|fact| (fact.name.to_owned(), fact.value.clone()));
        value["facts"] = Value::Object(facts.collect::<Map<_, _>>());
    }
}

/// What to try if a run has not shown what it is about; empty if it has.
fn hint(outcome: &Outcome) -> String {
    let says_none =
        |name| outcome.facts.iter().any(|fact| fact.name == name && fact.text == "none");
    let nothing = outcome.now == Time::ZERO && outcome.tally.protocol().is_empty();
    if says_none("snapshots") {
        "no snapshot was asked for; try --requests 20 --ask 1=snapshot@50ms".to_owned()
    } else if says_none("deadlocks") {
        "no transactions waited in a cycle; try --requests 20 --load saturated".to_owned()
    } else if nothing && outcome.sections.is_some() {
        "nothing happened; try --requests 10, or --help".to_owned()
    } else if nothing && outcome.elects {
        format!("nothing happened; try --crash {}@100ms, or --help", largest(outcome))
    } else if nothing {
        "nothing happened; try without --until, or --help".to_owned()
    } else {
        String::new()
    }
}

/// How wide labels are: a fact may have a long name.
fn label_width(outcome: &Outcome) -> usize {
    outcome.facts.iter().map(|fact| fact.name.len()).max().unwrap_or(0).max(12)
}

/// A text of several lines beside a label.
fn indented(text: &str, width: usize) -> String {
    text.replace('\n', &format!("\n{:1$}", "", width + 1))
}

/// `1 process`, `2 processes`.
pub(crate) fn several(count: usize, thing: &str) -> String {
    match (count, thing.ends_with('s')) {
        (1, _) => format!("1 {thing}"),
        (_, true) => format!("{count} {thing}es"),
        (_, false) => format!("{count} {thing}s"),
    }
}

/// One violation for people.
pub(crate) fn violation_text(violation: &Violation) -> String {
    format!("violated     {violation}\n")
}

fn violation(violation: &Violation) -> Value {
    json!({
        "name": violation.name,
        "text": violation.text,
        "at_ms": milliseconds(violation.at),
        "by": violation.by.iter().map(|id| id.number()).collect::<Vec<_>>(),
    })
}

/// By process; for a very large cluster by how many follow whom.
fn coordinators(coordinators: &[(NodeId, Option<NodeId>)]) -> Value {
    let number = |id: &Option<NodeId>| id.map_or(Value::Null, |id| json!(id.number()));
    if coordinators.len() > MOST_LISTED {
        let first = coordinators.first().map(|(_, whom)| whom);
        let same = coordinators.iter().all(|(_, whom)| Some(whom) == first);
        return json!({ "all": if same { first.map_or(Value::Null, number) } else { Value::Null } });
    }
    let mut sorted: Vec<_> = coordinators.iter().collect();
    sorted.sort_unstable();
    let entries = sorted.iter().map(|(id, whom)| (id.number().to_string(), number(whom)));
    Value::Object(entries.collect::<Map<_, _>>())
}

pub(crate) fn faults(faults: &FaultCounts) -> Value {
    let counts = faults.iter().map(|(kind, count)| (kind.name().to_owned(), json!(count)));
    Value::Object(counts.collect::<Map<_, _>>())
}

/// A fault that never happened: the run did not test what it seems to.
pub(crate) fn warnings(faults: &FaultCounts) -> Vec<String> {
    let warn = |kind: FaultKind| {
        format!("{} was asked for and never happened; this run does not test it", kind.name())
    };
    faults.idle().map(warn).collect()
}

fn beliefs(outcome: &Outcome) -> String {
    let about_other = !outcome.elects;
    if let Some(followed) = sections::followed(outcome).filter(|_| about_other) {
        return followed;
    }
    let name = |id: Option<NodeId>| id.map_or("none".to_owned(), |id| id.to_string());
    let live = outcome.coordinators.len();
    match outcome.coordinators.first() {
        None => "no process is alive".to_owned(),
        Some((_, whom)) if outcome.agreed && !about_other => match live {
            1 => format!("{}, alone", name(*whom)),
            _ => format!("{}, for all {live} live processes", name(*whom)),
        },
        Some(_) => {
            let shown = outcome.coordinators.iter().take(16);
            let beliefs: Vec<String> =
                shown.map(|(id, whom)| format!("{id} follows {}", name(*whom))).collect();
            let more = if live > 16 { ", ..." } else { "" };
            format!("no agreement: {}{more}", beliefs.join(", "))
        }
    }
}

fn counts(counts: &BTreeMap<&'static str, u64>) -> String {
    let each: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let total: u64 = counts.values().sum();
    if each.len() > 1 { format!("{} ({total} in all)", each.join(", ")) } else { each.join(", ") }
}

pub(crate) fn milliseconds(at: Time) -> f64 {
    at.as_micros() as f64 / 1_000.0
}

pub(crate) fn rate(events: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { (events as f64 / seconds).round() } else { 0.0 }
}

/// The most memory that this process has ever had, where the system tells.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The wall clock: how long something took in seconds, for reports only.
#[expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "measures the tool itself")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = std::time::Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}
