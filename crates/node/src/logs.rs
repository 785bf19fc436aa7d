//! The log: lines for people or JSON for programs, on standard error.

use crate::config::{Log, LogFormat};
use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use tracing_subscriber::EnvFilter;

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
    EnvFilter::builder().parse(text).map(|_| ()).map_err(|_| format!("'{text}' is not {wanted}"))
}

/// Takes another level, if this process logs.
static LEVEL: OnceLock<Box<dyn Fn(EnvFilter) + Send + Sync>> = OnceLock::new();

/// Starts logging for the whole process. Only the first call in a process counts.
pub fn start(log: &Log) {
    let filter = EnvFilter::builder().parse_lossy(&log.level);
    let builder = tracing_subscriber::fmt().with_writer(io::stderr);
    // A second subscriber is refused; then the program that links this crate logs in its own way.
    match log.format {
        LogFormat::Text => {
            let builder = builder.with_ansi(io::stderr().is_terminal()).with_target(false);
            let builder = builder.with_env_filter(filter).with_filter_reloading();
            let handle = builder.reload_handle();
            keep(builder.try_init(), move |filter| drop(handle.reload(filter)));
        }
        LogFormat::Json => {
            let builder = builder.json().flatten_event(true);
            let builder = builder.with_env_filter(filter).with_filter_reloading();
            let handle = builder.reload_handle();
            keep(builder.try_init(), move |filter| drop(handle.reload(filter)));
        }
    }
}

/// Keeps the way to another level, if logging has started.
fn keep<E>(started: Result<(), E>, change: impl Fn(EnvFilter) + Send + Sync + 'static) {
    if started.is_ok() {
        let _ = LEVEL.set(Box::new(change));
    }
}

/// Logs from now on what this says, which [`check`] has found good.
pub(crate) fn change_level(level: &str) {
    if let Some(change) = LEVEL.get() {
        change(EnvFilter::builder().parse_lossy(level));
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
