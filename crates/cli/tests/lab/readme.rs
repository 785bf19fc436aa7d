//! The tables of docs/algorithms.md are written from the catalogue.
//!
//! `UPDATE=1 cargo test -p bellwether-cli --test lab readme` rewrites them.

use super::lines::said;
use serde_json::Value;
use std::fmt::Write;
use std::fs;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/algorithms.md");
const BEGIN: &str = "<!-- algorithms: ";
const END: &str = "<!-- end of algorithms -->";

/// The page with its tables as this catalogue has them; `algorithms --json` prints the catalogue.
/// A table stands between two comments, of which the first names its families.
pub(crate) fn with_tables(page: &str, catalogue: &str) -> String {
    let catalogue: Value = serde_json::from_str(catalogue).unwrap();
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (families, rest) = part.split_once(" -->\n").unwrap();
        let (_, rest) = rest.split_once(END).unwrap();
        writeln!(text, "{BEGIN}{families} -->").unwrap();
        text += "| name | algorithm | messages | topology | channels | source |\n";
        text += "| --- | --- | --- | --- | --- | --- |\n";
        for family in families.split(", ") {
            let listed = catalogue.as_array().unwrap().iter();
            for entry in listed.filter(|entry| entry["family"] == family) {
                let cell = |key: &str| entry[key].as_str().unwrap();
                let channels = entry["assumes"]["channels"].as_str().unwrap();
                let [name, title, cost] = ["name", "title", "cost"].map(cell);
                let [topology, source] = ["topology", "source"].map(cell);
                writeln!(
                    text,
                    "| `{name}` | {title} | {cost} | {topology} | {channels} | {source} |"
                )
                .unwrap();
            }
        }
        text += END;
        text += rest;
    }
    text
}

#[test]
fn the_page_has_the_algorithms_of_the_catalogue() {
    let page = fs::read_to_string(PAGE).unwrap();
    let right = with_tables(&page, &said("algorithms --json", 0).0);
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(PAGE, &right).unwrap();
    }
    assert!(
        right == page,
        "docs/algorithms.md has other algorithms than the catalogue; rewrite its tables: \
         UPDATE=1 cargo test -p bellwether-cli --test lab readme"
    );
}
