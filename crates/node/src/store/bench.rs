//! Figures: `BELLWETHER_FIGURES=100 cargo test --release -p bellwether-node --lib store::bench -- --nocapture`
//! prints those of the folder for temporary files (`TMPDIR`).

use super::tests::{List, owner};
use super::*;
use bellwether_core::{Context, Group, Here, Time};
use bellwether_log::{Config, Input, Timer};
use std::time::Duration;
use tempfile::TempDir;

/// A cluster of one, which commits what it has written.
struct Single {
    log: Log<List>,
    store: LogStore<List>,
    config: Config,
    group: Group,
    now: Time,
}

impl Single {
    fn start(folder: &TempDir) -> (Single, Duration) {
        let begun = Clock::shared();
        let path = folder.path().join("test-1.log");
        let (store, saved) = LogStore::open(&path, owner(1), Durability::Disk).unwrap();
        let took = Clock::shared().since(begun);
        let config = Config::new(Duration::from_millis(100), Duration::from_millis(500), 500);
        let (group, now) = (Group::numbered(1).unwrap(), Time::from_micros(1_000_000));
        let mut single = Single { log: Log::default(), store, config, group, now };
        single.step(|log, cx| log.on_start(saved, cx));
        single.now = single.now + Duration::from_secs(1);
        single.step(|log, cx| log.on_input(Input::Campaign { claim: false, appointed: false }, cx));
        while single.log.serving(single.now).is_none() {
            single.now = single.now + Duration::from_millis(200);
            for timer in [Timer::Ask, Timer::Write, Timer::Heartbeat] {
                single.step(|log, cx| log.on_timer(timer, cx));
            }
        }
        (single, took)
    }

    fn step(&mut self, call: impl FnOnce(&mut Log<List>, &mut Context<'_, Log<List>>)) -> Duration {
        let here = Here::new(&self.group, 0, self.now, false);
        let mut effects = Vec::new();
        call(&mut self.log, &mut Context::new(&here, &self.config, &mut effects));
        match Store::is_dirty(&self.store, &self.log) {
            true => self.store.save(&self.log).unwrap().took,
            false => Duration::ZERO,
        }
    }

    /// Proposes commands and writes them; how long the save took.
    fn write(&mut self, commands: Vec<String>) -> Duration {
        self.step(|log, cx| assert!(log.propose(commands, cx)));
        self.step(|log, cx| log.on_timer(Timer::Write, cx))
    }
}

/// Without the variable it only sees that all of it works.
#[test]
fn figures() {
    let scale = std::env::var("BELLWETHER_FIGURES").ok().and_then(|text| text.parse().ok());
    let scale: u64 = scale.unwrap_or(1);
    let folder = TempDir::new().unwrap();
    let (mut single, _) = Single::start(&folder);
    let command = |n: u64| format!("{n:0140}");
    for per_save in [1, 8, 64] {
        let saves = 10 * scale;
        let mut times: Vec<_> = (0..saves)
            .map(|n| single.write((0..per_save).map(|m| command(n * per_save + m)).collect()))
            .collect();
        times.sort();
        let total: Duration = times.iter().sum();
        println!(
            "{per_save} entries a save: median {:?}, p99 {:?}, {:.0} entries/s",
            times[times.len() / 2],
            times[times.len() * 99 / 100],
            (saves * per_save) as f64 / total.as_secs_f64()
        );
    }
    for entries in [1_000 * scale, 1_500 * scale] {
        let before = single.log.report().last.index.number();
        for n in 0..entries.saturating_sub(before) / 100 {
            single.write((0..100).map(|m| command(n * 100 + m)).collect());
        }
        let last = single.log.report().last;
        let snapshot = single.store.snapshot.map_or(0, |(snapshot, _)| snapshot.bytes);
        drop(single);
        let (again, took) = Single::start(&folder);
        println!("a log up to {last} with a snapshot of {snapshot} bytes: opened in {took:?}");
        single = again;
    }
    let (at, state) = single.log.frozen().unwrap();
    let roster = single.log.roster().unwrap().clone();
    let begun = Clock::shared();
    let path = folder.path().join("written");
    std::fs::create_dir(&path).unwrap();
    let made = write(&path, &owner(1), at, &roster, &state).unwrap();
    println!("a snapshot of {} bytes written in {:?}", made.bytes, Clock::shared().since(begun));
}
