//! The public interface, as the sources declare it, beside the list of it that was reviewed.
//!
//! A change of the interface changes `interface.txt`, which a reviewer sees. `UPDATE=1 cargo test -p bellwether interface`
//! writes it.

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};

/// All sources, in the order of their names.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// One line for each public item of a source, with the `impl` or type that it is in.
fn public(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut within, mut of_enum) = (String::new(), false);
    let mut attributes = String::new();
    let mut lines = source.lines().take_while(|line| *line != "#[cfg(test)]");
    while let Some(line) = lines.next() {
        let text = line.trim();
        if line.starts_with("#[derive") || line.starts_with("#[non_exhaustive") {
            attributes += &format!("{line} ");
        }
        if text.is_empty() || text.starts_with("//") || text.starts_with('#') {
            continue;
        }
        let outer = !line.starts_with(' ');
        if outer && !text.starts_with("pub ") {
            attributes.clear();
        }
        if outer {
            (within, of_enum) = (String::new(), false);
        }
        let field = line.starts_with("    ") && !line.starts_with("     ");
        let variant = of_enum && !outer && text != "},";
        if !(text.starts_with("pub ") || outer && text.starts_with("impl") || variant && field) {
            // A field of a variant.
            if variant {
                found.push(format!("{within}: {}", text.trim_end_matches(',')));
            }
            continue;
        }
        let mut item = text.to_owned();
        while !item.ends_with(['{', ';', ',', '}'])
            && let Some(more) = lines.next()
        {
            item = format!("{item} {}", more.trim());
        }
        // Parameters on lines of their own.
        while item.matches('(').count() > item.matches(')').count()
            && let Some(more) = lines.next()
        {
            item = format!("{item} {}", more.trim());
        }
        while !item.ends_with(['{', ';', ',', '}'])
            && let Some(more) = lines.next()
        {
            item = format!("{item} {}", more.trim());
        }
        let item = item.trim_end_matches(['{', ';', ',', ' ']).to_owned();
        if outer {
            within = item.clone();
            of_enum = text.starts_with("pub enum");
            let own = |name: &str| {
                let defined = [format!("pub struct {name}"), format!("pub enum {name}")];
                defined.iter().any(|defined| source.contains(defined.as_str()))
            };
            // What has no trait is only there for what is in it.
            if text.starts_with("pub ") || item.split_once(" for ").is_some_and(|(_, of)| own(of)) {
                found.push(format!("{}{item}", mem::take(&mut attributes)));
            }
            attributes.clear();
        } else {
            found.push(format!("{within}: {item}"));
        }
    }
    found
}

#[test]
fn the_public_interface_is_the_one_that_was_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut listed = String::new();
    for source in sources(&folder.join("src")) {
        for item in public(&fs::read_to_string(&source).unwrap()) {
            listed += &(item + "\n");
        }
    }
    let golden = folder.join("interface.txt");
    if std::env::var("UPDATE").is_ok() {
        fs::write(&golden, &listed).unwrap();
    }
    let reviewed = fs::read_to_string(&golden).unwrap_or_default();
    let missing: Vec<_> =
        reviewed.lines().filter(|line| !listed.lines().any(|l| l == *line)).collect();
    let added: Vec<_> =
        listed.lines().filter(|line| !reviewed.lines().any(|l| l == *line)).collect();
    assert!(
        listed == reviewed,
        "the public interface changed; run again with UPDATE=1 if that is meant.\n\
         gone: {missing:#?}\nnew: {added:#?}"
    );
}

/// The list shows what it must, and nothing internal.
#[test]
fn the_list_has_functions_fields_and_variants() {
    let source = "
/// A.
#[derive(Debug)]
pub struct A {
    /// B.
    pub b: u32,
    c: u32,
}
impl A {
    pub(crate) fn hidden(&self) {}
    pub fn shown(
        &self,
        x: u32,
    ) -> u32 {
        self.b
    }
}
impl Clone for A {
    fn clone(&self) -> A {
        unreachable!()
    }
}
pub enum E {
    One,
    Two {
        /// Why.
        why: String,
    },
}
impl Clone for Hidden {}
fn private() {}
#[cfg(test)]
pub fn test() {}
";
    assert_eq!(
        public(source),
        [
            "#[derive(Debug)] pub struct A",
            "pub struct A: pub b: u32",
            "impl A: pub fn shown( &self, x: u32, ) -> u32",
            "impl Clone for A",
            "pub enum E",
            "pub enum E: One",
            "pub enum E: Two",
            "pub enum E: why: String",
        ]
    );
}

/// The examples in the documentation of all sources, as code.
fn examples() -> String {
    let mut all = String::new();
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let source = fs::read_to_string(path).unwrap();
        let mut inside = false;
        for line in source.lines().map(str::trim) {
            let text = line.strip_prefix("///").or(line.strip_prefix("//!"));
            inside &= text.is_some();
            let Some(text) = text.map(str::trim) else { continue };
            if text.starts_with("```") {
                inside = !inside;
            } else if inside {
                all += text;
                all.push('\n');
            }
        }
    }
    all
}

/// What a line of the list is the name of: a type, a constant or a module by itself, a function with its type.
fn names(line: &str) -> Vec<(Option<&str>, &str)> {
    let word =
        |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    if let Some((of, rest)) = line.strip_prefix("impl ").and_then(|line| line.split_once(": pub "))
    {
        let name = rest.trim_start_matches("async ").trim_start_matches("fn ");
        return vec![(Some(of), &name[..word(name)])];
    }
    if let Some((_, list)) = line.strip_prefix("pub use ").and_then(|line| line.rsplit_once("::")) {
        let list = list.trim_matches(['{', '}']).split(',').map(str::trim);
        return list.map(|name| (None, name)).collect();
    }
    let declared = ["pub struct ", "pub enum ", "pub trait ", "pub const ", "pub mod ", "pub fn "];
    let name = declared.iter().find_map(|kind| line.split_once(kind)).map(|(_, name)| name);
    // A field or a variant is shown with its type.
    let name = name.filter(|name| !name[word(name)..].starts_with(": ") || line.contains("const"));
    name.map(|name| (None, &name[..word(name)])).into_iter().collect()
}

#[test]
fn every_public_item_is_shown_in_an_example() {
    let examples = examples();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let shows = |of: Option<&str>, name: &str| {
        examples.match_indices(name).any(|(at, _)| {
            let (before, after) = (&examples[..at], &examples[at + name.len()..]);
            let whole = !before.ends_with(is_part) && !after.starts_with(is_part);
            let of_type = of.is_none_or(|of| {
                after.starts_with('(')
                    && (before.ends_with('.') || before.ends_with(&format!("{of}::")))
            });
            whole && of_type
        })
    };
    let list = include_str!("../../interface.txt");
    let all: Vec<_> = list.lines().flat_map(names).collect();
    assert!(all.len() > 100, "{}", all.len());
    let missing: Vec<_> = all.into_iter().filter(|(of, name)| !shows(*of, name)).collect();
    assert!(missing.is_empty(), "no example shows these: {missing:?}");
}
