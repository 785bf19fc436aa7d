//! The page of the documentation that a list of checks becomes.

use super::list::Row;
use super::{Done, picture_file, verdict};
use indicatif::{HumanBytes, HumanCount};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

const INTRODUCTION: &str = "\
# What is proved, and what is not

After this page you can say which properties of the catalogue's algorithms are proved, in which clusters, and which
assumption each algorithm needs.

`make check-all` writes this page from the list in `docs/verification.txt`. [checking.md](checking.md) explains what a
proof says. Each row is a whole exploration: every order of messages, timers, requests and faults that the row allows.
Times and memory are those of the machine that wrote the page.
";

const GALLERY: &str = "
## Counterexamples without an assumption

An algorithm needs its assumptions: without one of them, some run goes wrong. The checker found these shortest runs, and
the simulator drew them.
";

/// The page; its pictures are in this folder.
pub(crate) fn page(done: &[Done<'_>], images: &Path) -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut heading = None;
    for Done { row, found } in done.iter().filter(|done| done.row.picture.is_none()) {
        if heading != Some(&row.heading) {
            heading = Some(&row.heading);
            // Writing to a string cannot fail.
            let _ = write!(page, "\n## {}\n\n{TABLE_HEAD}", row.heading);
        }
        page.push_str(&table_row(found, row));
    }
    page.push_str(GALLERY);
    for done in done {
        let Some(picture) = &done.row.picture else { continue };
        let file = images.join(picture_file(picture));
        page.push_str(&entry(done, &file.to_string_lossy().replace('\\', "/")));
    }
    page
}

const TABLE_HEAD: &str = "\
| `bellwether check` | processes | what may happen | timing | channels | states | time | memory | verdict |
| --- | ---: | --- | --- | --- | ---: | ---: | ---: | --- |
";

fn table_row(found: &Value, row: &Row) -> String {
    let Row { words: command, why, .. } = row;
    let words = &found["in_words"];
    let bounds = &found["bounds"];
    let beyond = match found["beyond"].as_array() {
        Some(beyond) if !beyond.is_empty() => " (beyond its claims)",
        _ => "",
    };
    let note = if why.is_empty() { String::new() } else { format!("; {why}") };
    let cells = [
        format!("`{}`", quoted(command)),
        bounds["nodes"].to_string(),
        format!("{}{beyond}", text(&words["may_happen"])),
        text(&bounds["timing"]),
        text(&bounds["channels"]),
        HumanCount(found["states"].as_u64().unwrap_or(0)).to_string(),
        format!("{:.1} s", found["wall_s"].as_f64().unwrap_or(0.0)),
        HumanBytes(found["peak_rss_bytes"].as_u64().unwrap_or(0)).to_string(),
        format!("{}{note}", told(found)),
    ];
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The verdict, and of what.
fn told(found: &Value) -> String {
    let properties: Vec<&str> =
        found["properties"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match verdict(found).as_str() {
        "proved" => format!("**proved**: {}", properties.join(", ")),
        other => format!("**{other}**"),
    }
}

fn entry(Done { row, found }: &Done<'_>, file: &str) -> String {
    let example = &found["counterexample"];
    let steps = example["steps"].as_array().map_or(0, Vec::len);
    let title = if row.title.is_empty() { row.words.join(" ") } else { row.title.clone() };
    let why = if row.why.is_empty() { String::new() } else { format!("{}\n\n", row.why) };
    format!(
        "\n### {title}\n\n{why}The run violates `{}`: {}. It has {steps} steps; the checker \
         explored {} states.\n\n\
         ```sh\nbellwether check {}\n```\n\n![{title}]({file})\n",
        text(&example["property"]),
        text(&example["text"]),
        HumanCount(found["states"].as_u64().unwrap_or(0)),
        quoted(&row.words),
    )
}

/// The words as a shell must be given them.
fn quoted(words: &[String]) -> String {
    words.iter().map(|word| crate::replay::quoted(word)).collect::<Vec<_>>().join(" ")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
