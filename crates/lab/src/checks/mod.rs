//! `bellwether checks`: all checks of a list, for `make check-quick` and `make check-all`.
//!
//! Each is a process of its own, this very command: so each has the whole memory, and tells how
//! much it took.

mod list;
mod page;

use bellwether_shell::{Failure, Target, Verdict, complain, print};
use clap::Args;
use list::{List, Row};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Args)]
pub(crate) struct ChecksArgs {
    /// The list
    pub(crate) list: PathBuf,
    /// Only those that are over in a moment
    #[arg(long, conflicts_with = "out")]
    quick: bool,
    /// Write the page of the documentation to this file
    #[arg(long, value_name = "FILE", requires = "images")]
    out: Option<PathBuf>,
    /// Draw the pictures of the page into this folder
    #[arg(long, value_name = "FOLDER", requires = "out")]
    images: Option<PathBuf>,
}

/// A check and what came of it.
pub(crate) struct Done<'a> {
    pub(crate) row: &'a Row,
    /// What `check --json` says.
    pub(crate) found: Value,
}

pub(crate) fn run(args: &ChecksArgs) -> Result<Verdict, Failure> {
    let text = std::fs::read_to_string(&args.list)
        .map_err(|error| Failure::Read(args.list.clone(), error))?;
    let list = List::parse(&text)
        .map_err(|error| Failure::Input(format!("{}:{error}", args.list.display())))?;
    let target = args.out.as_deref().map(|path| Target::file("out", path)).transpose()?;
    let mut done = Vec::new();
    let mut wrong = String::new();
    for row in list.rows.iter().filter(|row| row.quick || !args.quick) {
        let found = one(row, args.images.as_deref())?;
        let verdict = verdict(&found);
        print(&format!(
            "{verdict:<26} {:>11} states {:>8.1} s  {}\n",
            found["states"].to_string(),
            found["wall_s"].as_f64().unwrap_or_default(),
            row.words.join(" ")
        ))?;
        if verdict != row.expect {
            // Writing to a string cannot fail.
            let _ = write!(
                wrong,
                "\n{}:{}: expected {}, found {verdict}: bellwether check {}",
                args.list.display(),
                row.line,
                row.expect,
                row.words.join(" ")
            );
        }
        done.push(Done { row, found });
    }
    if !wrong.is_empty() {
        complain(&format!("not as expected, so nothing is written:{wrong}"));
        return Ok(Verdict::Violated);
    }
    if let (Some(target), Some(images)) = (target, &args.images) {
        let folder = args.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let images = images.strip_prefix(folder).unwrap_or(images);
        target.write(&page::page(&done, images))?;
    }
    Ok(Verdict::Well)
}

/// Runs one check.
fn one(row: &Row, images: Option<&Path>) -> Result<Value, Failure> {
    let wrong = |what: &str| {
        Failure::Input(format!("bellwether check {}: {}", row.words.join(" "), what.trim()))
    };
    let program = std::env::current_exe().map_err(|error| wrong(&error.to_string()))?;
    let mut command = Command::new(program);
    command.arg("check").args(&row.words).args(["--json", "--quiet"]);
    if let (Some(images), Some(picture)) = (images, &row.picture) {
        command.args(["--trace", "svg", "--out"]).arg(images.join(picture_file(picture)));
    }
    let output = command.output().map_err(|error| wrong(&error.to_string()))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| wrong(&String::from_utf8_lossy(&output.stderr)))
}

/// The file of a picture of the gallery.
pub(crate) fn picture_file(name: &str) -> String {
    format!("check-{name}.svg")
}

/// What a check has found, in the words of the list.
pub(crate) fn verdict(found: &Value) -> String {
    let verdict = found["verdict"].as_str().unwrap_or("nothing");
    match found["counterexample"]["property"].as_str() {
        Some(property) => format!("{verdict} {property}"),
        None => verdict.to_owned(),
    }
}
