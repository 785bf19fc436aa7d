//! The summary of a real run.

use super::record::Record;
use crate::report::{
    add_facts, beliefs, coordinators, counts, faults, indented, label_width, milliseconds, several,
    violation, warnings,
};
use crate::sections;
use bellwether_core::Time;
use bellwether_sim::Outcome;
use serde_json::json;
use std::fmt::Write;

/// A run and what came of it.
pub(crate) struct Summary<'a> {
    pub(crate) outcome: &'a Outcome,
    pub(crate) record: &'a Record,
    /// How many jobs there were for live processes, if that is known.
    pub(crate) given: Option<u64>,
}

impl Summary<'_> {
    /// How long it took, from the moment when all had started.
    fn length(&self) -> Time {
        let began = Time::from_micros(self.record.began_us);
        let ended = self.record.ended_us.map_or(began, Time::from_micros);
        Time::ZERO + ended.since(began)
    }

    pub(crate) fn json(&self) -> String {
        let outcome = self.outcome;
        let mut value = json!({
            "algorithm": self.record.algorithm,
            "nodes": self.record.members.len(),
            "real": true,
            "processes": self.record.processes(),
            "coordinator": coordinators(&outcome.coordinators),
            "agreed": outcome.agreed,
            "messages": outcome.tally.protocol(),
            "overhead": outcome.tally.overhead(),
            "faults": faults(outcome),
            "real_ms": milliseconds(self.length()),
            "events": outcome.events,
            "warnings": warnings(&outcome.faults),
            "violations": outcome.violation.iter().map(violation).collect::<Vec<_>>(),
        });
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
        let nodes = several(self.record.members.len(), "process");
        line("algorithm", format!("{}, {nodes}, for real", self.record.algorithm));
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
        let bitten: Vec<String> =
            outcome.faults.iter().map(|(kind, count)| format!("{} {count}", kind.name())).collect();
        line("faults", bitten.join(", "));
        let events = several(outcome.events as usize, "event");
        let started = self.record.processes() as usize;
        line(
            "time",
            format!(
                "{} s on the clock, {events}, {}",
                seconds(self.length()),
                several(started, "operating-system process")
            ),
        );
        if outcome.events == 0 && self.record.deeds.is_empty() {
            let largest = outcome.coordinators.iter().map(|(id, _)| id.number()).max().unwrap_or(1);
            line("hint", format!("nothing happened; try --kill {largest}@500ms, or --help"));
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

fn seconds(span: Time) -> String {
    format!("{:.2}", span.as_micros() as f64 / 1e6)
}
