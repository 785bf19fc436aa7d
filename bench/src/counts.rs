//! `bellwether-bench counts`: instructions and allocations of the members for a pair of lock and unlock.
//!
//! The members run under valgrind's callgrind. Its counts do not depend on how busy the machine is,
//! so they show small changes that times do not. The counters are set to zero when the cluster has settled,
//! and read after the pairs; heartbeats meanwhile are counted, too.

use crate::Outcome;
use crate::args::CountsArgs;
use crate::bellwether::{Bellwether, Launch, Way};
use crate::load;
use crate::report::{Report, Table};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tokio::process::Command;

/// Starts valgrind in a way in which the members can run under it.
const UNDER_VALGRIND: &str = include_str!("../under-valgrind.py");
/// Functions of the C library that hand out memory.
const ALLOCATE: [&str; 5] = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"];

/// What a process did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    instructions: u64,
    allocations: u64,
}

/// Reads a file of callgrind: the sum of instructions, and how often memory was asked for.
fn read(text: &str) -> Counts {
    let mut counts = Counts::default();
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut callee = "";
    for line in text.lines() {
        let (key, rest) = line.split_once(['=', ':']).unwrap_or((line, ""));
        match key {
            "fn" | "cfn" => {
                // "(12) malloc" names it for the first time, and "(12)" again.
                let (id, name) = rest.split_once(' ').unwrap_or((rest, ""));
                if !name.is_empty() {
                    names.insert(id, name);
                }
                if key == "cfn" {
                    callee = names.get(id).copied().unwrap_or_default();
                }
            }
            "calls" if ALLOCATE.contains(&callee) => {
                let count = rest.split(' ').next().and_then(|count| count.parse().ok());
                counts.allocations += count.unwrap_or(0_u64);
            }
            "totals" | "summary" => {
                counts.instructions = rest.trim().parse().unwrap_or(counts.instructions);
            }
            _ => {}
        }
    }
    counts
}

/// Runs a cluster under callgrind, and counts.
pub(crate) async fn run(args: &CountsArgs) -> Outcome<bool> {
    let folder = args.what.folder()?;
    let script = folder.path().join("under-valgrind.py");
    fs::write(&script, UNDER_VALGRIND)
        .map_err(|error| format!("cannot write {}: {error}", script.display()))?;
    let script = script.display().to_string();
    let under = ["python3", &script, "--callgrind-out-file=calls-{id}", "--"];
    let under = under.map(str::to_owned).to_vec();
    let launch = Launch { under, profile: "wide", ..Launch::default() };
    let program = &args.what.bellwether;
    let cluster = Bellwether::launch(program, folder.path(), &args.durability, launch).await?;
    let mut rows = Vec::new();
    for count in &args.clients {
        let mut clients = Vec::new();
        for place in 0..*count {
            let client = cluster.client(Way::Unix, &format!("bench/{place}")).await?;
            clients.push(load::Client::Bellwether(client));
        }
        let clients = load::some_pairs(clients, args.pairs / 10 + 1).await?;
        for id in cluster.process_ids() {
            control("--zero", id).await?;
        }
        let each = (args.pairs / count).max(1);
        let clients = load::some_pairs(clients, each).await?;
        for id in cluster.process_ids() {
            control("--dump", id).await?;
        }
        for client in clients {
            client.close().await?;
        }
        let coordinator = cluster.coordinator_place();
        for place in 0..cluster.process_ids().len() {
            let who = if place == coordinator { "coordinator" } else { "follower" };
            let counts = newest(cluster.folder(), &format!("calls-{}", place + 1))?;
            let pairs = (each * count) as f64;
            let name = format!("{count} clients, {who} P{}", place + 1);
            let row = [counts.instructions as f64 / pairs, counts.allocations as f64 / pairs];
            rows.push((name, row.map(|figure| Some(figure.into())).to_vec()));
        }
    }
    cluster.end().await;
    let table = Table {
        title: format!("for a pair of lock and unlock, durability \"{}\"", args.durability),
        key: "counts",
        rows_are: "member",
        columns: ["instructions", "allocations"].map(str::to_owned).into(),
        rows,
        digits: 1,
    };
    let notes = vec![format!(
        "under valgrind's callgrind, with the time-outs of the profile wide: {} pairs",
        args.pairs
    )];
    Report { notes, tables: vec![table], ..Report::default() }.publish(&args.what)?;
    Ok(true)
}

/// Tells callgrind in this process what to do.
async fn control(what: &str, id: u32) -> Outcome<()> {
    let output =
        Command::new("callgrind_control").args([what, &id.to_string()]).output().await.map_err(
            |error| format!("cannot start callgrind_control: {error}; install valgrind"),
        )?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "callgrind_control {what} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// The counts of the newest dump with this name: `calls-1.2` is newer than `calls-1.1`.
fn newest(folder: &Path, name: &str) -> Outcome<Counts> {
    let failed = |error| format!("cannot read the dumps of callgrind: {error}");
    let mut newest = None;
    for entry in fs::read_dir(folder).map_err(failed)?.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let number = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        let number = number.and_then(|number| number.parse::<u32>().ok());
        newest = newest.max(number.map(|number| (number, entry.path())));
    }
    let (_, path) = newest.ok_or_else(|| format!("callgrind has left no {name}"))?;
    Ok(read(&fs::read_to_string(path).map_err(failed)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_has_a_sum_and_calls() {
        let text = "events: Ir\nfn=(1) main\n1 5\ncfn=(2) malloc\ncalls=3 0\n1 30\ncfn=(3) free\n\
                    calls=2 0\n1 9\nfn=(4) other\ncfn=(2)\ncalls=4 0\n1 40\nsummary: 83\n";
        assert_eq!(read(text), Counts { instructions: 83, allocations: 7 });
    }
}
