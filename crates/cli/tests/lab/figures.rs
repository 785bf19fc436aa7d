//! The tables of docs/performance.md that stand between two comments are written from docs/figures.
//!
//! A benchmark writes a file there with `--figures FILE`. `UPDATE=1 cargo test -p bellwether-cli --test lab
//! figures` writes the tables; `make bench-report` measures first. The text around the tables is written by hand.

use serde_json::Value;
use std::fmt::Write;
use std::fs;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/performance.md");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/figures");
const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end of figures -->";

/// A figure of a table: a number, or the median, the least and the most of several rounds.
fn cell(figure: &Value) -> String {
    match figure.as_array().map(Vec::as_slice) {
        Some([median, least, most]) => {
            format!("{} ({}-{})", number(median), number(least), number(most))
        }
        _ => number(figure),
    }
}

/// With one digit if it has a fraction and is small.
fn number(figure: &Value) -> String {
    match figure.as_f64() {
        None => String::new(),
        Some(figure) if figure.fract() == 0.0 || figure.abs() >= 1_000.0 => {
            let digits = format!("{:.0}", figure.abs());
            let mut text = String::new();
            for (place, digit) in digits.chars().enumerate() {
                if place > 0 && (digits.len() - place).is_multiple_of(3) {
                    text.push(',');
                }
                text.push(digit);
            }
            if figure < 0.0 { format!("-{text}") } else { text }
        }
        Some(figure) => format!("{figure:.1}"),
    }
}

/// What an aim is about: with two digits, mostly a ratio.
fn ratio(figure: &Value) -> String {
    let text = |figure: &Value| format!("{:.2}", figure.as_f64().unwrap_or(f64::NAN));
    match figure.as_array().map(Vec::as_slice) {
        Some([median, least, most]) => {
            format!("{} ({}-{})", text(median), text(least), text(most))
        }
        _ => text(figure),
    }
}

/// A file as the page shows it: where and how it was measured, its tables, and its aims.
fn shown(file: &Value) -> String {
    let mut text = String::new();
    let said = |key: &str| file[key].as_str().unwrap().to_owned();
    writeln!(
        text,
        "`{}`, {}, {}, {}:",
        said("command"),
        said("day"),
        said("version"),
        said("machine")
    )
    .unwrap();
    let notes = file["notes"].as_array().unwrap();
    if notes.len() > 1 {
        text.push('\n');
    }
    for note in notes {
        let bullet = if notes.len() > 1 { "- " } else { "" };
        writeln!(text, "{bullet}{}.", note.as_str().unwrap()).unwrap();
    }
    for table in file["tables"].as_object().unwrap().values() {
        let columns = table["columns"].as_array().unwrap();
        let names: Vec<&str> = columns.iter().map(|column| column.as_str().unwrap()).collect();
        writeln!(text, "\n| {} | {} |", table["title"].as_str().unwrap(), names.join(" | "))
            .unwrap();
        writeln!(text, "| --- |{}", " ---: |".repeat(names.len())).unwrap();
        for line in table["lines"].as_array().unwrap() {
            let (name, figures) = line.as_array().unwrap().split_first().unwrap();
            let cells: Vec<String> = figures.iter().map(cell).collect();
            writeln!(text, "| {} | {} |", name.as_str().unwrap(), cells.join(" | ")).unwrap();
        }
    }
    let aims = file["aims"].as_array().unwrap();
    if !aims.is_empty() {
        text += "\n| aim | measured | asked | |\n| --- | ---: | ---: | --- |\n";
    }
    for aim in aims {
        let limit = &aim["limit"];
        let asked = match (limit["at_least"].as_f64(), limit["at_most"].as_f64()) {
            (Some(least), _) => format!("at least {least}"),
            (_, Some(most)) => format!("at most {most}"),
            _ => "no aim".to_owned(),
        };
        let met = if aim["met"] == true { "met" } else { "**missed**" };
        let met = if asked == "no aim" { "" } else { met };
        let is = ratio(&aim["is"]);
        writeln!(text, "| {} | {is} | {asked} | {met} |", aim["what"].as_str().unwrap()).unwrap();
    }
    text
}

/// What stands for a file that no benchmark has written yet.
const NOT_MEASURED: &str = "Not measured yet; `make bench-report` writes this table.\n";

/// The page with the tables that the files give. A table stands between two comments, of which the first names
/// its file.
fn with_figures(page: &str, read: impl Fn(&str) -> Option<String>) -> String {
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").unwrap();
        let (_, rest) = rest.split_once(END).unwrap();
        let file = read(name).map(|file| shown(&serde_json::from_str(&file).unwrap()));
        let table = file.as_deref().unwrap_or(NOT_MEASURED);
        write!(text, "{BEGIN}{name} -->\n\n{table}\n{END}{rest}").unwrap();
    }
    text
}

#[test]
fn the_page_has_the_figures_of_the_files() {
    let page = fs::read_to_string(PAGE).unwrap();
    for file in fs::read_dir(FOLDER).unwrap() {
        let name = file.unwrap().file_name().to_string_lossy().into_owned();
        let begin = format!("{BEGIN}{} -->", name.trim_end_matches(".json"));
        assert!(page.contains(&begin), "docs/performance.md has no place for {name}: {begin}");
    }
    let read = |name: &str| fs::read_to_string(format!("{FOLDER}/{name}.json")).ok();
    let right = with_figures(&page, read);
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(PAGE, &right).unwrap();
    }
    assert!(
        right == page,
        "docs/performance.md has other figures than docs/figures; write its tables: \
         UPDATE=1 cargo test -p bellwether-cli --test lab figures"
    );
}

#[test]
fn a_median_is_shown_with_the_least_and_the_most() {
    let file = r#"{"command": "c", "day": "d", "version": "v", "machine": "m", "notes": ["n", "o"],
        "tables": {"t": {"title": "pairs", "columns": ["1"],
            "lines": [["one", [18692, 17000.5, 19000.0]], ["two", [0.25, 0.125, 3.0]], ["three", [7]]]}},
        "aims": [{"what": "w", "is": [3.33, 3.0, 4.0], "limit": {"at_least": 3.0}, "met": true}]}"#;
    let shown = shown(&serde_json::from_str(file).unwrap());
    assert!(shown.starts_with("`c`, d, v, m:\n\n- n.\n- o.\n\n| pairs | 1 |\n"), "{shown}");
    let wanted = "| one | 18,692 (17,000-19,000) |\n| two | 0.2 (0.1-3) |\n| three |  |\n\n\
                  | aim | measured | asked | |\n| --- | ---: | ---: | --- |\n\
                  | w | 3.33 (3.00-4.00) | at least 3 | met |\n";
    assert!(shown.ends_with(wanted), "{shown}");
}

#[test]
fn a_missed_aim_is_bold_and_text_by_hand_stays() {
    let file = r#"{"command": "bench x", "day": "2026-11-18", "version": "v", "machine": "m", "notes": ["n"],
        "tables": {"t": {"title": "pairs", "columns": ["a", "b"], "lines": [["one", 12345.6, null]]}},
        "aims": [{"what": "w", "is": 0.5, "limit": {"at_least": 3.0}, "met": false}]}"#;
    let page = format!("by hand\n{BEGIN}x -->\nold\n{END}\nby hand, too\n");
    let right = with_figures(&page, |name| {
        assert_eq!(name, "x");
        Some(file.to_owned())
    });
    let wanted = format!(
        "by hand\n{BEGIN}x -->\n\n`bench x`, 2026-11-18, v, m:\nn.\n\n| pairs | a | b |\n| --- | ---: | ---: |\n\
         | one | 12,346 |  |\n\n| aim | measured | asked | |\n| --- | ---: | ---: | --- |\n\
         | w | 0.50 | at least 3 | **missed** |\n\n{END}\nby hand, too\n"
    );
    assert_eq!(right, wanted);
    let again = with_figures(&right, |_| Some(file.to_owned()));
    assert_eq!(again, right, "written twice is written once");
    let without = with_figures(&right, |_| None);
    assert_eq!(without, format!("by hand\n{BEGIN}x -->\n\n{NOT_MEASURED}\n{END}\nby hand, too\n"));
}
