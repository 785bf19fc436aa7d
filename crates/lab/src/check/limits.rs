//! How far a check may go, and how it is watched.

use super::args::CheckArgs;
use crate::args::Switch;
use bellwether_check::{Limits, Progress};
use bellwether_shell::{Failure, complain};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::thread;
use std::time::Duration;

/// What the states may take where the system does not tell how much there is.
const USUAL_MEMORY: u64 = 4 << 30;
/// More threads than this do not help.
const MOST_THREADS: usize = 1_024;

/// The limits that the flags set.
pub(crate) fn limits(args: &CheckArgs) -> Result<Limits, Failure> {
    let usual = Limits::default();
    let threads = match args.threads {
        Some(0) => {
            return Err(Failure::flag("threads", "0 threads explore nothing; give at least 1"));
        }
        Some(count) if count > MOST_THREADS => {
            let message = format!("{count} threads are too many; at most {MOST_THREADS}");
            return Err(Failure::flag("threads", message));
        }
        Some(count) => count,
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    if args.max_states == Some(0) {
        return Err(Failure::flag("max-states", "0 states explore nothing; give at least 1"));
    }
    let memory = match &args.max_memory {
        Some(text) => size(text).map_err(|message| Failure::flag("max-memory", message))?,
        None => free_memory().map_or(USUAL_MEMORY, |free| free / 4 * 3),
    };
    Ok(Limits {
        threads,
        states: args.max_states.unwrap_or(usual.states).min(usual.states),
        memory,
        depth: args.max_depth.unwrap_or(usual.depth),
        reduce: args.reduction != Some(Switch::Off),
        ..usual
    })
}

/// `8GiB`, `500MiB`, `1.5GB`.
fn size(text: &str) -> Result<u64, String> {
    let wanted = "a size such as 500MiB or 8GiB";
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let bytes: f64 = match unit {
        "KiB" | "K" => 1024.0,
        "MiB" | "M" => 1024.0 * 1024.0,
        "GiB" | "G" => 1024.0 * 1024.0 * 1024.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "" => return Err(format!("'{text}' has no unit; expected {wanted}")),
        _ => return Err(format!("'{text}' is not {wanted}")),
    };
    match number.parse::<f64>() {
        Ok(number) if number * bytes >= 1.0 => Ok((number * bytes) as u64),
        Ok(_) => Err(format!("'{text}' is no memory at all; expected {wanted}")),
        Err(_) => Err(format!("'{text}' is not {wanted}")),
    }
}

/// The memory that is free, of the machine or of what this process may have of it, where the system
/// tells.
fn free_memory() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = machine.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let number = |file: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse().ok()
    };
    let share = number("memory.max").zip(number("memory.current"));
    let share = share.map(|(most, current)| most.saturating_sub(current));
    Some((kib * 1024).min(share.unwrap_or(u64::MAX)))
}

/// Elsewhere than on a terminal, it says how far it has come this often.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows how far it has come: on a terminal in one line that changes, elsewhere in a line now and then.
pub(crate) struct Watcher {
    bar: ProgressBar,
    quiet: bool,
    /// How long it had taken at the last line.
    told: Cell<Duration>,
}

impl Watcher {
    pub(crate) fn new(quiet: bool) -> Self {
        let told = Cell::new(Duration::ZERO);
        if quiet {
            return Watcher { bar: ProgressBar::hidden(), quiet, told };
        }
        let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}");
        let bar = ProgressBar::new_spinner();
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        // The end of a check, when all states are there and runs are looked at, says nothing.
        bar.enable_steady_tick(Duration::from_millis(200));
        Watcher { bar, quiet, told }
    }

    pub(crate) fn tell(&self, progress: &Progress) {
        let passed = self.bar.elapsed();
        if !self.bar.is_hidden() {
            self.bar.set_message(words(progress, passed));
        } else if !self.quiet && passed >= self.told.get() + LINE_EVERY {
            self.told.set(passed);
            complain(&format!("{:.0} s: {}", passed.as_secs_f64(), words(progress, passed)));
        }
    }

    pub(crate) fn done(self) {
        self.bar.finish_and_clear();
    }
}

fn words(progress: &Progress, passed: Duration) -> String {
    let seconds = passed.as_secs_f64().max(1e-3);
    format!(
        "{} states, {} a second, depth {}, queue {}, {}",
        HumanCount(progress.states),
        HumanCount((progress.states as f64 / seconds) as u64),
        progress.depth,
        HumanCount(progress.queue),
        HumanBytes(progress.memory),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_states_rate_and_memory() {
        let progress =
            Progress { states: 1_000_000, memory: 3 << 20, depth: 7, ..Progress::default() };
        let said = words(&progress, Duration::from_secs(4));
        assert_eq!(said, "1,000,000 states, 250,000 a second, depth 7, queue 0, 3.00 MiB");
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(size("8GiB"), Ok(8 << 30));
        assert_eq!(size("1.5KiB"), Ok(1536));
        assert_eq!(size("2MB"), Ok(2_000_000));
        for wrong in ["8", "GiB", "-1GiB", "1e3MiB", "0GiB", "1.2.3MB", "8 GiB", "8TiBs"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
