//! What the command `bellwether` measures of itself, as a page shows it: an idle cluster, hand-overs, the simulator.
//!
//! Each verb runs `bellwether bench` or `bellwether sim` with `--json`, several times where the figure depends on what
//! else the machine does.

use crate::Outcome;
use crate::args::{HandOverArgs, IdleArgs, SimulatorArgs, WhatArgs};
use crate::bare::Ring;
use crate::report::{Aim, Figure, Limit, Report, Table};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;
use tokio::process::Command;

/// In percent of a core, with the fast profile.
const COORDINATOR: f64 = 1.0;
const FOLLOWER: f64 = 0.3;
/// An idle member's resident memory, in MiB.
const MIB: f64 = 12.0;
/// A hand-over, at the median, in milliseconds.
const HAND_OVER_MS: f64 = 2.0;
/// Events a second and core, in millions; how many there are for one of the bare loop; and how many times as many
/// random schedules two cores play as one.
const MILLIONS: f64 = 15.0;
const TO_BARE: f64 = 0.5;
const CORES: f64 = 1.8;

/// Runs the command and reads what it prints. It ends with 1 if it misses an aim of its own.
async fn asked(program: &Path, line: &str) -> Outcome<Value> {
    answer(Command::new(program).args(line.split(' ')), line).await
}

async fn answer(command: &mut Command, line: &str) -> Outcome<Value> {
    eprintln!("bellwether {line}");
    let done = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
    let done = done.map_err(|error| format!("cannot run bellwether {line}: {error}"))?;
    if !matches!(done.status.code(), Some(0 | 1)) {
        let text = String::from_utf8_lossy(&done.stderr);
        return Err(format!("bellwether {line}: {}: {text}", done.status));
    }
    serde_json::from_slice(&done.stdout)
        .map_err(|error| format!("bellwether {line}: what it printed is no JSON: {error}"))
}

/// The numbers of a list.
fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn number(figures: &Value, key: &str) -> Outcome<f64> {
    figures[key].as_f64().ok_or_else(|| format!("there is no figure '{key}' in {figures}"))
}

fn publish(what: &WhatArgs, report: &Report) -> Outcome<bool> {
    report.publish(what)?;
    Ok(report.met())
}

/// An idle cluster with the fast profile.
pub(crate) async fn idle(args: &IdleArgs) -> Outcome<bool> {
    let program = &args.what.bellwether;
    let mut rows = Vec::new();
    let mut aims = Vec::new();
    for busy in [false, true] {
        let flag = if busy { " --busy" } else { "" };
        let line = format!("bench quiet --json --profile fast --for {}s{flag}", args.seconds);
        let figures = asked(program, &line).await?;
        let mut shares: Vec<f64> =
            numbers(&figures["cores"]).into_iter().map(|core| core * 100.0).collect();
        shares.sort_by(f64::total_cmp);
        let memory = numbers(&figures["memory_kib"]).into_iter().fold(0.0, f64::max) / 1_024.0;
        let changes = number(&figures, "elections")? + number(&figures, "terms")?;
        // The coordinator sends to all others and hears from all: it works most.
        let (Some(coordinator), Some(followers)) = (shares.pop(), shares.pop()) else {
            return Err(format!("bellwether {line}: no members"));
        };
        let name = if busy { "all cores busy" } else { "nothing else" };
        let row = [coordinator, followers, memory, changes].map(|figure| Some(figure.into()));
        rows.push((name.to_owned(), row.to_vec()));
        let aim = |what: &str, is: f64, most| {
            let what = format!("{name}: {what}");
            Aim { what, is: is.into(), limit: Limit::AtMost(most) }
        };
        if !busy {
            aims.push(aim("coordinator, % of a core", coordinator, COORDINATOR));
            aims.push(aim("busiest follower, % of a core", followers, FOLLOWER));
            aims.push(aim("memory of the largest member, MiB", memory, MIB));
        }
        aims.push(aim("false elections and new terms", changes, 0.0));
    }
    let columns = [
        "coordinator, % of a core",
        "busiest follower, % of a core",
        "largest member, MiB",
        "false elections and new terms",
    ];
    let table = Table {
        title: format!("five members, profile fast, idle for {} s each", args.seconds),
        key: "idle",
        rows_are: "beside it",
        columns: columns.map(str::to_owned).into(),
        rows,
        digits: 2,
    };
    publish(&args.what, &Report { tables: vec![table], aims, ..Report::default() })
}

/// Hand-overs, and faults, of five members.
pub(crate) async fn hand_over(args: &HandOverArgs) -> Outcome<bool> {
    let program = &args.what.bellwether;
    let trials = args.trials;
    let mut rows = Vec::new();
    let mut aims = Vec::new();
    for profile in ["default", "fast"] {
        for faults in ["", " --step-down"] {
            let line =
                format!("bench failover --json --profile {profile} --trials {trials}{faults}");
            let figures = asked(program, &line).await?;
            let series = figures["series"].as_array().cloned().unwrap_or_default();
            for series in &series {
                let fault = series["fault"].as_str().unwrap_or_default();
                let name = format!("{fault}, profile {profile}");
                let keys = ["median_ms", "p99_ms", "min_ms", "max_ms"];
                let row: Outcome<Vec<_>> =
                    keys.iter().map(|key| number(series, key).map(|ms| Some(ms.into()))).collect();
                rows.push((name.clone(), row?));
                if fault == "step-down" {
                    let is = number(series, "median_ms")?.into();
                    let what = format!("{name}, median, ms");
                    aims.push(Aim { what, is, limit: Limit::AtMost(HAND_OVER_MS) });
                }
            }
        }
    }
    let table = Table {
        title: format!(
            "from the fault, or the request to step down, until all other members know the next coordinator, \
             {trials} trials each, ms"
        ),
        key: "hand-over",
        rows_are: "fault",
        columns: ["median", "p99", "least", "most"].map(str::to_owned).into(),
        rows,
        digits: 1,
    };
    publish(&args.what, &Report { tables: vec![table], aims, ..Report::default() })
}

/// Millions of events a second of the bare loop.
fn bare(ring: &[u32], seed: u64) -> f64 {
    let mut bare = Ring::new(ring.to_vec(), seed);
    let begun = Instant::now();
    let events = bare.elect();
    events as f64 / begun.elapsed().as_secs_f64() / 1e6
}

/// The numbers from 1 to n in a random order, the same for every run.
fn shuffled(n: u32) -> Vec<u32> {
    let mut ring: Vec<u32> = (1..=n).collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for last in (1..ring.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ring.swap(last, (state % (last as u64 + 1)) as usize);
    }
    ring
}

/// Chang-Roberts beside the bare loop, and a sweep of random schedules on one core and on two.
pub(crate) async fn simulator(args: &SimulatorArgs) -> Outcome<bool> {
    let program = &args.what.bellwether;
    let mut rows = Vec::new();
    let mut aims = Vec::new();
    for n in [1_000, 100_000, 1_000_000] {
        let ring = shuffled(n);
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for seed in 0..args.rounds {
            let line = format!(
                "sim chang-roberts --nodes {n} --all-start --order shuffled --latency 1ms..100ms --seed {seed} \
                 --quiet --json"
            );
            let figures = asked(program, &line).await?;
            ours.push(number(&figures, "events_per_second")? / 1e6);
            plain.push(bare(&ring, seed as u64));
        }
        let (ours, plain) = (Figure::median(ours), Figure::median(plain));
        let ratio = ours.per(&plain);
        if n != 100_000 {
            let aim = |what: &str, is: &Figure, least| {
                let what = format!("{n} processes: {what}");
                Aim { what, is: is.clone(), limit: Limit::AtLeast(least) }
            };
            aims.push(aim("million events a second", &ours, MILLIONS));
            aims.push(aim("to the bare loop", &ratio, TO_BARE));
        }
        rows.push((format!("{n} processes"), vec![Some(ours), Some(plain), Some(ratio)]));
    }
    let rings = Table {
        title: "Chang-Roberts, all processes start, latency 1 to 100 ms: million events a second and core"
            .to_owned(),
        key: "rings",
        rows_are: "",
        columns: ["simulator", "bare loop", "ratio"].map(str::to_owned).into(),
        rows,
        digits: 2,
    };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    let line = format!("sim bully --chaos --seeds {} --json", args.seeds);
    for _ in 0..args.rounds {
        let mut alone = Command::new("taskset");
        let alone = alone.args(["-c", "0"]).arg(program).args(line.split(' '));
        one.push(number(&answer(alone, &line).await?, "events_per_second")? / 1e6);
        two.push(number(&asked(program, &line).await?, "events_per_second")? / 1e6);
    }
    let (one, two) = (Figure::median(one), Figure::median(two));
    let ratio = two.per(&one);
    let what = "a sweep on all cores to one core".to_owned();
    aims.push(Aim { what, is: ratio.clone(), limit: Limit::AtLeast(CORES) });
    let sweeps = Table {
        title: format!("{} random schedules of bully, million events a second", args.seeds),
        key: "sweeps",
        rows_are: "",
        columns: ["one core", "all cores", "ratio"].map(str::to_owned).into(),
        rows: vec![("bully".to_owned(), vec![Some(one), Some(two), Some(ratio)])],
        digits: 2,
    };
    publish(&args.what, &Report { tables: vec![rings, sweeps], aims, ..Report::default() })
}
