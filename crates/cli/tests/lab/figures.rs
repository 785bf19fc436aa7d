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

/// A figure of a table: with one digit if it has a fraction and is small.
fn cell(figure: &Value) -> String {
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
    for note in file["notes"].as_array().unwrap() {
        writeln!(text, "{}.", note.as_str().unwrap()).unwrap();
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
        let is = format!("{:.2}", aim["is"].as_f64().unwrap_or(f64::NAN));
        writeln!(text, "| {} | {is} | {asked} | {met} |", aim["what"].as_str().unwrap()).unwrap();
    }
    text
}

/// The page with the tables that the files give. A table stands between two comments, of which the first names
/// its file.
fn with_figures(page: &str, read: impl Fn(&str) -> String) -> String {
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").unwrap();
        let (_, rest) = rest.split_once(END).unwrap();
        let file: Value = serde_json::from_str(&read(name)).unwrap();
        write!(text, "{BEGIN}{name} -->\n\n{}\n{END}{rest}", shown(&file)).unwrap();
    }
    text
}

#[test]
fn the_page_has_the_figures_of_the_files() {
    let page = fs::read_to_string(PAGE).unwrap();
    assert!(page.contains(BEGIN), "docs/performance.md has no generated tables");
    let read = |name: &str| fs::read_to_string(format!("{FOLDER}/{name}.json")).unwrap();
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
fn a_missed_aim_is_bold_and_text_by_hand_stays() {
    let file = r#"{"command": "bench x", "day": "2026-11-18", "version": "v", "machine": "m", "notes": ["n"],
        "tables": {"t": {"title": "pairs", "columns": ["a", "b"], "lines": [["one", 12345.6, null]]}},
        "aims": [{"what": "w", "is": 0.5, "limit": {"at_least": 3.0}, "met": false}]}"#;
    let page = format!("by hand\n{BEGIN}x -->\nold\n{END}\nby hand, too\n");
    let right = with_figures(&page, |name| {
        assert_eq!(name, "x");
        file.to_owned()
    });
    let wanted = format!(
        "by hand\n{BEGIN}x -->\n\n`bench x`, 2026-11-18, v, m:\nn.\n\n| pairs | a | b |\n| --- | ---: | ---: |\n\
         | one | 12,346 |  |\n\n| aim | measured | asked | |\n| --- | ---: | ---: | --- |\n\
         | w | 0.50 | at least 3 | **missed** |\n\n{END}\nby hand, too\n"
    );
    assert_eq!(right, wanted);
    assert_eq!(with_figures(&right, |_| file.to_owned()), right, "written twice is written once");
}
