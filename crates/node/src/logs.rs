//! The log: lines for people or JSON for programs, on standard error.

use crate::config::{Log, LogFormat};
use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use tracing::Subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// Whether a text says what to log: a level, or levels by module.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let wanted =
        format!("one of {}, or levels by module: \"info,bellwether_net=debug\"", LEVELS.join(", "));
    // The library takes any word for the name of a module and then logs nothing at all.
    let plain = text.split(',').filter(|part| !part.contains('='));
    for word in plain {
        if !LEVELS.contains(&word.trim().to_ascii_lowercase().as_str()) {
            return Err(format!("'{word}' is not a level; give {wanted}"));
        }
    }
    text.parse::<Targets>().map(|_| ()).map_err(|_| format!("'{text}' is not {wanted}"))
}

/// Takes another level, if this process logs.
static LEVEL: OnceLock<Box<dyn Fn(Targets) + Send + Sync>> = OnceLock::new();

/// What a text that [`check`] has found good says.
fn targets(level: &str) -> Targets {
    level.parse().unwrap_or_default()
}

/// Starts logging for the whole process. Only the first call in a process counts.
pub fn start(log: &Log) {
    let lines = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    let lines = lines.with_writer(io::stderr);
    match log.format {
        LogFormat::Text => {
            let colour = io::stderr().is_terminal();
            filter(lines.with_ansi(colour).with_target(false).finish(), &log.level);
        }
        LogFormat::Json => filter(lines.json().flatten_event(true).finish(), &log.level),
    }
}

/// Logs in this way, and keeps the way to another level.
fn filter(lines: impl Subscriber + Send + Sync, level: &str) {
    let (filter, handle) = reload::Layer::new(targets(level));
    // A second subscriber is refused; then the program that links this crate logs in its own way.
    if lines.with(filter).try_init().is_ok() {
        let _ = LEVEL.set(Box::new(move |level| drop(handle.reload(level))));
    }
}

/// Logs from now on what this says, which [`check`] has found good.
pub(crate) fn change_level(level: &str) {
    if let Some(change) = LEVEL.get() {
        change(targets(level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_checked() {
        for good in ["info", "off", "DEBUG", "info,bellwether_net=debug", "bellwether_net=trace"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["inof", "", "info,verbose", "bellwether_net=loud"] {
            assert!(check(bad).unwrap_err().contains("error, warn, info"), "{bad}");
        }
    }
}
