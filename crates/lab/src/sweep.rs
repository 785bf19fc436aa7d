//! `bellwether sim --seeds N`: the same flags under many seeds, on all cores.

use crate::args::SimArgs;
use crate::panics::caught;
use crate::report::{bitten, faults, peak_rss_bytes, rate, timed, warnings};
use crate::sim::explain;
use crate::{planning, replay, sections};
use bellwether_algorithms::catalogue::Listed;
use bellwether_shell::{Failure, Verdict, print};
use bellwether_sim::{FaultCounts, silent};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde_json::json;

/// How many failing seeds are listed for people.
const MOST_LISTED: usize = 20;

/// What many runs came to.
#[derive(Clone, Debug, Default)]
struct Total {
    events: u64,
    agreed: u64,
    faults: FaultCounts,
    failing: Vec<u64>,
    /// Seeds in which something was refused.
    refused: Vec<u64>,
    /// Only of algorithms with critical sections.
    entries: u64,
    token_regenerations: u64,
}

impl Total {
    fn add(mut self, other: Total) -> Total {
        self.events += other.events;
        self.agreed += other.agreed;
        self.faults.add(&other.faults);
        self.failing.extend(other.failing);
        self.refused.extend(other.refused);
        self.entries += other.entries;
        self.token_regenerations += other.token_regenerations;
        self
    }
}

pub(crate) fn run(algorithm: &Listed, args: &SimArgs, seeds: u64) -> Result<Verdict, Failure> {
    if args.output.trace.is_some() {
        return Err(Failure::Input(
            "--seeds and --trace contradict each other; trace one seed with --seed".into(),
        ));
    }
    if seeds == 0 {
        return Err(Failure::flag("seeds", "0 seeds would show nothing; give at least 1"));
    }
    let first = args.seed.unwrap_or(0);
    let Some(last) = first.checked_add(seeds - 1) else {
        return Err(Failure::flag("seeds", "there are not that many seeds above --seed"));
    };
    // What is wrong with the flags is wrong for every seed.
    let nodes = planning::plan(algorithm, args, first)?.group.len();
    let bar = progress(seeds, args.output.quiet);
    let (total, wall_s) = timed(|| {
        (first..=last)
            .into_par_iter()
            .map(|seed| {
                let total = one(algorithm, args, seed);
                bar.inc(1);
                total
            })
            .try_reduce(Total::default, |a, b| Ok(a.add(b)))
    });
    bar.finish_and_clear();
    let mut total = total?;
    total.failing.sort_unstable();
    if args.output.json {
        print(&as_json(algorithm, first, seeds, nodes, &total, wall_s))?;
    } else {
        print(&as_text(algorithm, seeds, &total, wall_s))?;
    }
    if let Some(seed) = total.failing.first() {
        let plan = planning::plan(algorithm, args, *seed)?;
        let outcome = silent::run(&plan);
        explain(args, &plan, &outcome)?;
    }
    if let Some(seed) = total.refused.iter().min() {
        let outcome = silent::run(&planning::plan(algorithm, args, *seed)?);
        sections::fail_if_refused(&outcome)?;
    }
    Ok(if total.failing.is_empty() { Verdict::Well } else { Verdict::Violated })
}

fn one(algorithm: &Listed, args: &SimArgs, seed: u64) -> Result<Total, Failure> {
    let plan = planning::plan(algorithm, args, seed)?;
    let explain = || format!("seed {seed}, repeat it: {}", replay::command(seed));
    let outcome = caught(|| silent::run(&plan), explain)?;
    let sections = outcome.sections.unwrap_or_default();
    Ok(Total {
        entries: sections.entries,
        token_regenerations: sections.token_regenerations,
        refused: outcome.refusals.first().map(|_| seed).into_iter().collect(),
        events: outcome.events,
        agreed: u64::from(outcome.agreed),
        faults: outcome.faults,
        failing: outcome.violation.map(|_| seed).into_iter().collect(),
    })
}

/// Shown on a terminal only; indicatif sees to that.
fn progress(seeds: u64, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let template = "{bar:40} {human_pos} of {human_len} seeds, {per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(seeds).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn as_text(algorithm: &Listed, seeds: u64, total: &Total, wall_s: f64) -> String {
    let mut text = format!(
        "{}: {seeds} seeds, {} agreed, {} failed; {} events in {wall_s:.2} s, {:.1} million a second\n",
        algorithm.name(),
        total.agreed,
        total.failing.len(),
        total.events,
        rate(total.events, wall_s) / 1e6,
    );
    if algorithm.has_section() {
        let made = total.token_regenerations;
        let tokens =
            if made > 0 { format!("; {made} tokens lost and replaced") } else { String::new() };
        text.push_str(&format!("entries      {}{tokens}\n", total.entries));
    }
    let faults = bitten(&total.faults);
    if !faults.is_empty() {
        text.push_str(&format!("faults       {faults}\n"));
    }
    for warning in warnings(&total.faults) {
        text.push_str(&format!("warning      {warning}\n"));
    }
    if !total.failing.is_empty() {
        let shown: Vec<String> =
            total.failing.iter().take(MOST_LISTED).map(u64::to_string).collect();
        let more = total.failing.len().saturating_sub(MOST_LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&format!("failing      {}{more}\n", shown.join(" ")));
        text.push_str("the first of them:\n");
    }
    text
}

fn as_json(
    algorithm: &Listed,
    first: u64,
    seeds: u64,
    nodes: usize,
    total: &Total,
    wall_s: f64,
) -> String {
    let mut value = json!({
        "algorithm": algorithm.name(),
        "nodes": nodes,
        "first_seed": first,
        "seeds": seeds,
        "agreed": total.agreed,
        "failing_seeds": total.failing,
        "replay": total.failing.first().map(|seed| replay::command(*seed)),
        "faults": faults(&total.faults),
        "events": total.events,
        "wall_s": wall_s,
        "events_per_second": rate(total.events, wall_s),
        "peak_rss_bytes": peak_rss_bytes(),
        "warnings": warnings(&total.faults),
    });
    if algorithm.has_section() {
        value["entries"] = json!(total.entries);
        value["token_regenerations"] = json!(total.token_regenerations);
    }
    format!("{value:#}\n")
}
