//! Running the command, for tests that do so with whole lines.

#![allow(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

use serde_json::Value;
use std::process::{Command, Output};

/// A command written as in a shell without quotes.
pub(crate) fn run(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bellwether")).args(line.split(' ')).output().unwrap()
}

/// What it prints and complains of, if it ends with this code.
#[track_caller]
pub(crate) fn said(line: &str, code: i32) -> (String, String) {
    let output = run(line);
    let text = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{line}\n{complaint}\n{text}");
    assert!(!complaint.contains("panicked"), "{complaint}");
    (text, complaint)
}

/// Its summary, if it ends with this code.
#[track_caller]
pub(crate) fn summary(line: &str, code: i32) -> Value {
    serde_json::from_str(&said(&format!("{line} --json"), code).0).unwrap()
}
