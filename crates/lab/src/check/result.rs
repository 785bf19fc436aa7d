//! What came of a check, for people and for programs.

use super::example::Example;
use super::steps::steps;
use super::words;
use crate::replay;
use crate::report::{peak_rss_bytes, rate, several};
use bellwether_algorithms::definition::Topology;
use bellwether_check::{
    Counterexample, Limit, Limits, Model, Report, Setup, Timing, Verdict as Judgement, usual_verb,
};
use bellwether_core::AnyProcess;
use bellwether_shell::Verdict;
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};
use std::fmt::Write;

/// How many steps of a counterexample are shown to people.
const MOST_STEPS: usize = 200;

/// What was found, and in what.
pub(crate) struct Found<'a> {
    setup: &'a Setup,
    algorithm: &'static str,
    topology: Topology,
    /// What the algorithm calls what it was asked for.
    verb: Option<&'static str>,
    properties: Vec<&'static str>,
    /// Whether one of them is the goal.
    liveness: bool,
    /// What the algorithm does not claim to survive, of what it was given.
    beyond: Vec<&'static str>,
    limits: Limits,
    report: Report,
    wall_s: f64,
    /// What happens in the counterexample, if there is one.
    steps: Vec<String>,
    /// The same as a run of the simulator.
    pub(crate) example: Option<Example>,
}

impl<'a> Found<'a> {
    pub(crate) fn new(
        setup: &'a Setup,
        model: &Model<AnyProcess>,
        properties: Vec<&'static str>,
        limits: Limits,
        report: Report,
        wall_s: f64,
    ) -> Self {
        let algorithm = &setup.algorithm;
        let (steps, example) = match &report.verdict {
            Judgement::Violated(found) => {
                let steps =
                    steps(algorithm, model, &[found.stem.as_slice(), &found.cycle].concat());
                (steps, Some(Example::new(setup, found)))
            }
            _ => (Vec::new(), None),
        };
        Found {
            setup,
            algorithm: algorithm.name(),
            topology: algorithm.entry.topology,
            verb: usual_verb(algorithm),
            properties,
            liveness: model.goal.is_some(),
            beyond: setup.beyond(&algorithm.assumes),
            limits,
            report,
            wall_s,
            steps,
            example,
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        match self.report.verdict {
            Judgement::Proved => Verdict::Well,
            Judgement::Violated(_) => Verdict::Violated,
            Judgement::Unfinished(_) => Verdict::Unfinished,
        }
    }

    /// The verdict in a line.
    pub(crate) fn headline(&self) -> String {
        let progress = &self.report.progress;
        match &self.report.verdict {
            Judgement::Proved => "proved".to_owned(),
            Judgement::Violated(Counterexample { breach, missed, .. }) => {
                let by: Vec<String> = breach.by.iter().map(|id| id.to_string()).collect();
                let by =
                    if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
                let never = if *missed { "not every run comes to this: " } else { "" };
                format!("violated {}: {never}{}{by}", breach.name, breach.text)
            }
            Judgement::Unfinished(Limit::Memory) if progress.queue == 0 => format!(
                "unfinished: all states are explored and nothing is wrong in any, but {} are too \
                 little to tell whether runs come to their goal. Raise --max-memory, or give \
                 --safety",
                HumanBytes(self.limits.memory)
            ),
            Judgement::Unfinished(limit) => {
                // The last level may not have been looked at as a whole.
                let depth = several(progress.depth.saturating_sub(1) as usize, "step");
                let (what, fix) = match limit {
                    Limit::States => {
                        (format!("{} states", HumanCount(self.limits.states)), "--max-states")
                    }
                    Limit::Memory => (HumanBytes(self.limits.memory).to_string(), "--max-memory"),
                    Limit::Depth => (several(self.limits.depth as usize, "step"), "--max-depth"),
                };
                format!(
                    "unfinished: stopped at {what}; nothing wrong within {depth} of the \
                     beginning. Raise {fix}, or allow less to happen"
                )
            }
        }
    }

    pub(crate) fn text(&self, quiet: bool) -> String {
        let mut text = format!("{}\n", self.headline());
        if quiet {
            return text;
        }
        let mut line = |name: &str, value: String| {
            if !value.is_empty() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{name:<12} {value}");
            }
        };
        let progress = &self.report.progress;
        let proved = self.report.verdict == Judgement::Proved;
        line(if proved { "holds" } else { "looked for" }, self.properties.join(", "));
        line("in", format!("{}, {}", self.algorithm, words::cluster(self.setup, self.topology)));
        line("timing", words::timing(self.setup));
        line("channels", words::channels(self.setup.channels).to_owned());
        line("may happen", words::happenings(self.setup, self.verb));
        if !self.beyond.is_empty() {
            line("beyond", format!("what {} claims: {}", self.algorithm, self.beyond.join(", ")));
        }
        line("not checked", words::unchecked(self.setup, self.liveness));
        line(
            "states",
            format!(
                "{}, {} steps between them, depth {}, {} of single processes",
                HumanCount(progress.states),
                HumanCount(progress.steps),
                progress.depth,
                HumanCount(progress.local_states)
            ),
        );
        line(
            "took",
            format!(
                "{:.2} s, {} states a second with {}",
                self.wall_s,
                HumanCount(rate(progress.states, self.wall_s) as u64),
                several(self.limits.threads, "thread"),
            ),
        );
        let peak = peak_rss_bytes()
            .map_or(String::new(), |peak| format!("; {} of memory at most", HumanBytes(peak)));
        line(
            "memory",
            format!(
                "{} for states, {:.0} bytes each{peak}",
                HumanBytes(progress.memory),
                self.bytes_per_state(),
            ),
        );
        if progress.states <= 1 {
            line("hint", "nothing can happen; try --requests 1 or --crashes 1".to_owned());
        }
        if self.is_empty_run() {
            line(
                "note",
                "in this run nothing happens: what may happen need not, and without it the goal is \
                 missed. Give a coordinator, --all-start, or --safety"
                    .to_owned(),
            );
        }
        self.add_counterexample(&mut text);
        text
    }

    /// Whether the goal is missed only because nothing has to happen.
    fn is_empty_run(&self) -> bool {
        let missed = matches!(&self.report.verdict, Judgement::Violated(found) if found.missed);
        missed && self.steps.is_empty()
    }

    fn add_counterexample(&self, text: &mut String) {
        let Some(example) = &self.example else { return };
        if let Some((from, to)) = example.round {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "goes round   what happens from {from} to {to} may happen again and again, for ever"
            );
        }
        if !example.confirmed {
            text.push_str(
                "note         the simulator cannot do all of this; the checker's own steps follow\n",
            );
        }
        let bare = replay::bare();
        let _ = writeln!(
            text,
            "replay       {bare} --trace scenario --out FILE.txt; bellwether sim FILE.txt\n"
        );
        if example.confirmed {
            text.push_str(example.story().trim_end());
            text.push('\n');
            return;
        }
        for (number, step) in self.steps.iter().take(MOST_STEPS).enumerate() {
            let _ = writeln!(text, "{:>4}  {step}", number + 1);
        }
        let more = self.steps.len().saturating_sub(MOST_STEPS);
        if more > 0 {
            let _ = writeln!(text, "... {more} more (--json shows all)");
        }
    }

    fn bytes_per_state(&self) -> f64 {
        let progress = &self.report.progress;
        progress.memory as f64 / progress.states.max(1) as f64
    }

    pub(crate) fn json(&self) -> String {
        let Setup { group, settings, faults, requests, asks, horizon, .. } = self.setup;
        let progress = &self.report.progress;
        let tick = self.setup.timing.tick();
        let ms = |span: std::time::Duration| span.as_micros() as f64 / 1_000.0;
        let verdict = match &self.report.verdict {
            Judgement::Proved => "proved",
            Judgement::Violated(_) => "violated",
            Judgement::Unfinished(_) => "unfinished",
        };
        let limit = match self.report.verdict {
            Judgement::Unfinished(Limit::States) => Some("states"),
            Judgement::Unfinished(Limit::Memory) => Some("memory"),
            Judgement::Unfinished(Limit::Depth) => Some("depth"),
            _ => None,
        };
        let (delay, apart) = match self.setup.timing {
            Timing::Bounded { delay, .. } => (Some(delay), None),
            Timing::Drifting { apart, .. } => (None, Some(apart)),
            Timing::Asynchronous => (None, None),
        };
        let partition: Vec<Vec<u32>> = (self.setup.partition.iter())
            .map(|side| side.iter().map(|id| id.number()).collect())
            .collect();
        let value = json!({
            "algorithm": self.algorithm,
            "verdict": verdict,
            "says": self.headline(),
            "limit": limit,
            "properties": self.properties,
            "bounds": {
                "nodes": group.len(),
                "ids": group.ring().iter().map(|id| id.number()).collect::<Vec<_>>(),
                "coordinator": settings.coordinator.map(|id| id.number()),
                "detection": settings.detection,
                "acknowledge": settings.acknowledge,
                "textbook": settings.textbook,
                "options": settings.options.iter().collect::<std::collections::BTreeMap<_, _>>(),
                "timeout_ms": ms(settings.timeout),
                "crashes": faults.crashes,
                "recoveries": faults.recoveries,
                "losses": faults.losses,
                "duplicates": faults.duplicates,
                "requests": requests,
                "asks": asks.iter().map(|(id, verb)| json!({ "id": id.number(), "verb": verb }))
                    .collect::<Vec<_>>(),
                "partition": partition,
                "timing": words::timing_name(self.setup.timing),
                "tick_ms": tick.map(ms),
                "delay_ticks": delay,
                "apart_ticks": apart,
                "horizon_ticks": horizon,
                "channels": words::channels(self.setup.channels),
                "liveness": self.liveness,
            },
            "in_words": {
                "cluster": words::cluster(self.setup, self.topology),
                "timing": words::timing(self.setup),
                "may_happen": words::happenings(self.setup, self.verb),
                "not_checked": words::unchecked(self.setup, self.liveness),
            },
            "beyond": self.beyond,
            "states": progress.states,
            "steps": progress.steps,
            "depth": progress.depth,
            "queue": progress.queue,
            "local_states": progress.local_states,
            "threads": self.limits.threads,
            "reduction": self.limits.reduce && !self.liveness,
            "wall_s": self.wall_s,
            "states_per_second": rate(progress.states, self.wall_s),
            "memory_bytes": progress.memory,
            "bytes_per_state": self.bytes_per_state(),
            "peak_rss_bytes": peak_rss_bytes(),
            "counterexample": self.counterexample(),
        });
        format!("{value:#}\n")
    }

    fn counterexample(&self) -> Value {
        let Judgement::Violated(example) = &self.report.verdict else { return Value::Null };
        let loops_from = (!example.cycle.is_empty()).then_some(example.stem.len());
        json!({
            "property": example.breach.name,
            "text": example.breach.text,
            "by": example.breach.by.iter().map(|id| id.number()).collect::<Vec<_>>(),
            "missed": example.missed,
            "steps": self.steps,
            "loops_from": loops_from,
            "scenario": self.example.as_ref().map(|example| &example.scenario),
            "confirmed": self.example.as_ref().is_some_and(|example| example.confirmed),
        })
    }
}
