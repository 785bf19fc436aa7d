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
