//! The README's tables of algorithms are written from the catalogue.
//!
//! `UPDATE=1 cargo test -p bellwether-cli --test lab readme` rewrites them.

use super::lines::said;
use serde_json::Value;
use std::fmt::Write;
use std::fs;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
const BEGIN: &str = "<!-- algorithms: ";
const END: &str = "<!-- end of algorithms -->";

/// The README with its tables as this catalogue has them; `algorithms --json` prints the catalogue.
/// A table stands between two comments, of which the first names its families.
pub(crate) fn with_tables(readme: &str, catalogue: &str) -> String {
    let catalogue: Value = serde_json::from_str(catalogue).unwrap();
    let mut parts = readme.split(BEGIN);
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
fn the_readme_has_the_algorithms_of_the_catalogue() {
    let readme = fs::read_to_string(README).unwrap();
    let right = with_tables(&readme, &said("algorithms --json", 0).0);
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(README, &right).unwrap();
    }
    assert!(
        right == readme,
        "README.md has other algorithms than the catalogue; rewrite its tables: \
         UPDATE=1 cargo test -p bellwether-cli --test lab readme"
    );
}
