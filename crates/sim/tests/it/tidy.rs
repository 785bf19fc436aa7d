//! What a reviewer would otherwise have to say every time.
//!
//! Each rule is about one file, sees its path and text, and names the lines that break it. The
//! words that are looked for are written in two halves, so that this file obeys its own rules.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The length at which a file has become two.
const LINES_MAX: usize = 600;

/// Leftovers that must not be merged into Rust code, and why.
const UNFINISHED_CODE: &[(&str, &str)] = &[
    (concat!("to", "do!("), "finish it, or return an error that says what is missing"),
    (concat!("unimpl", "emented!("), "finish it, or return an error that says what is missing"),
    (concat!("d", "bg!("), "a trace shows what happened, and stays"),
    (concat!("#[", "ignore"), "a test that does not run proves nothing: make it pass or remove it"),
    (concat!("```", "ignore"), "an example that is not compiled goes stale: use no_run at most"),
];

/// Leftovers that must not be merged anywhere.
const UNFINISHED_TEXT: &[(&str, &str)] = &[
    (concat!("FIX", "ME"), "fix it, or open an issue and name it"),
    (concat!("XX", "X"), "fix it, or open an issue and name it"),
];

/// Where people keep their files; what lies there is missing everywhere else.
const PRIVATE_DIRECTORIES: &[&str] =
    &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

/// The crates that must be the same on every machine and in every run.
const PURE_SOURCES: &[&str] = &[
    "crates/core/src/",
    "crates/algorithms/src/",
    "crates/svg/src/",
    "crates/sim/src/",
    "crates/linear/src/",
    "crates/check/src/",
    "crates/explorer/src/",
    "crates/coordination/src/",
    "crates/log/src/",
    "crates/member/src/",
];

/// The one pure file with threads: it finds the same with any number of them, and its tests say so.
const THREADED: &str = "crates/check/src/explore.rs";

/// The modules of `std` that a pure crate must not use, and why.
const IMPURE_MODULES: &[(&str, &str)] = &[
    ("thread", "the simulator decides who runs next, not the system"),
    ("net", "messages come and go through the contract"),
    ("fs", "the caller reads and writes files; take and give text"),
    ("env", "what a run depends on is in its settings and its seed"),
    ("process", "a library does not start or end programs; return an error"),
];

/// The sections of an algorithm's essay.
const SECTIONS: &[&str] = &["# Rules", "# Assumes", "# Costs"];

/// A line, counted from 1, and what is wrong with it.
type Finding = (usize, String);

/// All rules for one file. `path` is relative to the root, with slashes.
fn findings(path: &str, text: &str) -> Vec<Finding> {
    let rust = path.ends_with(".rs");
    let mut findings = Vec::new();
    findings.extend(words(text, UNFINISHED_TEXT));
    findings.extend(private_directories(text));
    if rust || path.ends_with(".md") {
        findings.extend(whitespace(text));
    }
    if rust {
        findings.extend(words(text, UNFINISHED_CODE));
        // Generated files are not read.
        if !path.contains("/generated/") {
            findings.extend(length(text));
        }
    }
    if rust && PURE_SOURCES.iter().any(|source| path.starts_with(source)) {
        findings.extend(impurities(path, text));
    }
    if rust && path.starts_with("crates/algorithms/src/") {
        findings.extend(essay(text));
    }
    findings.sort();
    findings
}

/// The lines that contain one of these, not as part of a longer word.
fn words(text: &str, forbidden: &[(&str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in numbered(text) {
        for (word, reason) in forbidden {
            if contains_word(line, word) {
                findings.push((number, format!("`{word}`: {reason}")));
            }
        }
    }
    findings
}

fn private_directories(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in numbered(text) {
        for directory in PRIVATE_DIRECTORIES {
            let found = line.match_indices(directory).any(|(at, _)| {
                // Neither the middle of a longer path or address, nor the bare directory.
                let before = line[..at].chars().next_back();
                let after = line[at + directory.len()..].chars().next();
                !before.is_some_and(|c| c.is_alphanumeric() || "_-.~})".contains(c))
                    && after.is_some_and(|c| c.is_alphanumeric() || "_.".contains(c))
            });
            if found {
                findings.push((number, format!("a path below {directory}: it is yours alone")));
            }
        }
    }
    findings
}

fn whitespace(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in numbered(text) {
        if line.contains('\t') {
            findings.push((number, "a tab: indent with spaces".to_owned()));
        }
        if line.ends_with([' ', '\t', '\r']) {
            findings.push((number, "white space at the end of the line".to_owned()));
        }
    }
    findings
}

fn length(text: &str) -> Option<Finding> {
    let lines = text.lines().count();
    let advice = "find the second thing that it is about and move that";
    (lines > LINES_MAX)
        .then(|| (LINES_MAX + 1, format!("{lines} lines of at most {LINES_MAX}: {advice}")))
}

/// What ties a pure crate to the machine it runs on.
fn impurities(path: &str, text: &str) -> Vec<Finding> {
    let switched_off = concat!("clippy::disallow", "ed");
    let mut findings = Vec::new();
    for (number, line) in numbered(text) {
        if code(line).contains(switched_off) {
            let reason = "a pure crate has no exceptions; move the code to one that is not";
            findings.push((number, format!("`{switched_off}…`: {reason}")));
        }
    }
    for (number, module) in std_modules(text) {
        if path == THREADED && module == "thread" {
            continue;
        }
        if let Some((_, reason)) = IMPURE_MODULES.iter().find(|(name, _)| *name == module) {
            findings.push((number, format!("`std::{module}` in a pure crate: {reason}")));
        }
    }
    findings
}

/// Every module of `std` that the code names, `use std::{a, b::{c, d}}` being a and b.
fn std_modules(text: &str) -> Vec<(usize, String)> {
    let mut modules = Vec::new();
    let code: String = numbered(text).flat_map(|(_, line)| [code(line), "\n"]).collect();
    for (at, prefix) in code.match_indices("std::") {
        if code[..at].ends_with(is_word) {
            continue;
        }
        let mut depth = 0;
        let mut expected = true;
        let start = at + prefix.len();
        for (offset, c) in code[start..].char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => expected = true,
                c if expected && is_word(c) => {
                    let rest = &code[start + offset..];
                    let name = rest.split(|c| !is_word(c)).next().unwrap_or_default();
                    let line = code[..start + offset].matches('\n').count() + 1;
                    modules.push((line, name.to_owned()));
                    expected = false;
                }
                _ => {}
            }
            if depth <= 0 && !expected {
                break;
            }
        }
    }
    modules
}

/// An algorithm's file begins with its rules, what it assumes and what it costs. An adapter that
/// makes an algorithm of another one has none of its own.
fn essay(text: &str) -> Option<Finding> {
    let (number, _) = numbered(text).find(|(_, line)| {
        let Some((before, _)) = line.strip_prefix("impl").and_then(|rest| rest.split_once(" for "))
        else {
            return false;
        };
        let (parameters, name) = before.rsplit_once(' ').unwrap_or(("", before));
        let is_algorithm =
            |word| contains_word(word, "Election") || contains_word(word, "Algorithm");
        is_algorithm(name) && !is_algorithm(parameters)
    })?;
    let sections: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("//! ")).map(str::trim).collect();
    let missing: Vec<_> = SECTIONS.iter().filter(|name| !sections.contains(**name)).collect();
    (!missing.is_empty())
        .then(|| (number, format!("an algorithm whose module doc lacks the sections {missing:?}")))
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split('\n').enumerate().map(|(index, line)| (index + 1, line))
}

/// The line without its comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let begins = !(word.starts_with(is_word) && before.is_some_and(is_word));
        let ends = !(word.ends_with(is_word) && after.is_some_and(is_word));
        begins && ends
    })
}

/// The workspace's root: the directory above this crate that has the lock file.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().find(|directory| directory.join("Cargo.lock").is_file());
    root.expect("a workspace has a Cargo.lock").to_owned()
}

/// The files that belong to the project, relative to the root: what git tracks or would track; in
/// an unpacked archive, whatever is there.
fn files(root: &Path) -> Vec<String> {
    let git = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output();
    let tracked = match git {
        Ok(output) if output.status.success() => output.stdout,
        _ => Vec::new(),
    };
    let mut files: Vec<String> =
        String::from_utf8_lossy(&tracked).split_terminator('\0').map(str::to_owned).collect();
    if files.is_empty() {
        walk(root, "", &mut files);
    }
    files.sort();
    files
}

fn walk(root: &Path, below: &str, files: &mut Vec<String>) {
    let entries = fs::read_dir(root.join(below)).expect("a directory of the project is readable");
    for entry in entries {
        let entry = entry.expect("a directory of the project is readable");
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().expect("a file has a type");
        if kind.is_dir() && !["target", "out", ".git", "node_modules"].contains(&name.as_str()) {
            walk(root, &format!("{below}{name}/"), files);
        } else if kind.is_file() {
            files.push(format!("{below}{name}"));
        }
    }
}

#[test]
fn the_tree_is_tidy() {
    let root = root();
    let files = files(&root);
    assert!(files.iter().any(|path| path == "crates/core/src/lib.rs"), "these are not our files");
    let mut complaints = Vec::new();
    for path in files {
        // A picture is not text, and a file deleted since the last commit is not there.
        let Ok(text) = fs::read_to_string(root.join(&path)) else { continue };
        for (line, complaint) in findings(&path, &text) {
            complaints.push(format!("{path}:{line}: {complaint}"));
        }
    }
    assert!(complaints.is_empty(), "please tidy up:\n  {}", complaints.join("\n  "));
}

/// No line breaks a rule.
const NONE: [usize; 0] = [];

/// The lines of this text that break a rule.
/// `make pictures` draws what the comment below a picture says.
#[test]
fn every_picture_has_a_page_that_says_how_it_is_drawn() {
    let root = root();
    let mut drawn = BTreeSet::new();
    for page in files(&root).iter().filter(|path| path.starts_with("docs/")) {
        if !page.ends_with(".md") {
            continue;
        }
        let text = fs::read_to_string(root.join(page)).unwrap();
        for (picture, command) in text.lines().zip(text.lines().skip(1)) {
            if command.starts_with("<!-- bellwether ") && command.ends_with(" -->") {
                let picture =
                    picture.split_once("](images/").and_then(|(_, end)| end.split_once(')'));
                let (picture, _) =
                    picture.unwrap_or_else(|| panic!("{page}: no picture: {command}"));
                assert!(drawn.insert(picture.to_owned()), "{page}: {picture} is drawn twice");
            }
        }
    }
    let names = fs::read_dir(root.join("docs/images")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // The checker draws its counterexamples itself.
    let svg = names.filter(|name| name.ends_with(".svg") && !name.starts_with("check-"));
    assert_eq!(drawn, svg.collect::<BTreeSet<String>>());
}

fn lines(path: &str, text: &str) -> Vec<usize> {
    findings(path, text).into_iter().map(|(line, _)| line).collect()
}

#[test]
fn finds_what_is_unfinished() {
    for (word, _) in UNFINISHED_CODE {
        assert_eq!(lines("a.rs", &format!("fn f() {{\n    {word}\n")), [2], "{word}");
        assert_eq!(lines("a.md", word), NONE, "{word} is about code");
    }
    for (word, _) in UNFINISHED_TEXT {
        assert_eq!(lines("Makefile", &format!("# {word}: later")), [1], "{word}");
        assert_eq!(lines("Makefile", &format!("{word}IV")), NONE, "{word} in a longer word");
    }
}

#[test]
fn finds_private_paths() {
    for directory in PRIVATE_DIRECTORIES {
        assert_eq!(lines("a.toml", &format!("\npath = \"{directory}me/x\"")), [2]);
        assert_eq!(lines("a.toml", &format!("url = \"https://example.org{directory}x\"")), NONE);
    }
}

#[test]
fn finds_stray_white_space_and_long_files() {
    assert_eq!(lines("a.md", "fine\ntrailing \n\ttab\n"), [2, 3]);
    assert_eq!(lines("Makefile", "all:\n\ttab\n"), NONE);
    assert_eq!(lines("a.rs", &"//\n".repeat(LINES_MAX)), NONE);
    assert_eq!(lines("a.rs", &"//\n".repeat(LINES_MAX + 1)), [LINES_MAX + 1]);
}

#[test]
fn finds_impurities_only_in_pure_crates() {
    let text = "// std::fs is only mentioned\n\
                use std::thread;\n\
                use std::{\n    collections::{BTreeMap, net},\n    env,\n};\n\
                fn f() { my_std::net(); std::fs::read(p) }\n\
                #[allow(clippy::disallowed_types)]\n";
    assert_eq!(lines("crates/core/src/a.rs", text), [2, 5, 7, 8]);
    assert_eq!(lines("crates/core/tests/a.rs", text), NONE);
    assert_eq!(lines("crates/cli/src/a.rs", text), NONE);
}

#[test]
fn finds_an_algorithm_without_its_essay() {
    let path = "crates/algorithms/src/election/a.rs";
    let essay = "//! # Rules\n//! # Assumes\n//! # Costs\n";
    for head in ["impl Election for A", "impl<M: Message> Algorithm for A<M>"] {
        assert_eq!(lines(path, &format!("//! # Rules\n{head} {{}}")), [2], "{head}");
        assert_eq!(lines(path, &format!("{essay}{head} {{}}")), NONE, "{head}");
    }
    assert_eq!(lines(path, "impl<E: Election> Algorithm for Watched<E> {}"), NONE);
}
