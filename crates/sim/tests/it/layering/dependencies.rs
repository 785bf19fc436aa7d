//! What we may depend on: the rules of `deny.toml`, checked against `cargo metadata`.
//!
//! cargo-deny reads the same file and also knows published vulnerabilities, but it takes minutes to
//! compile. The rules that must always hold are checked here, with every run of the tests: licences,
//! sources, wildcard versions, and which crates may use another one directly.

use super::{Graph, Purpose, metadata, text};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Where every package comes from that is not a member of this workspace.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The part of `deny.toml` that is checked here.
#[derive(Deserialize)]
struct Policy {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

/// A crate that only its wrappers may use directly.
#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    #[serde(default)]
    wrappers: Vec<String>,
    reason: String,
}

impl Policy {
    fn read() -> Policy {
        let file = include_str!("../../../../../deny.toml");
        toml::from_str(file).expect("deny.toml has licences to allow and crates to deny")
    }

    /// Everything that breaks a rule, each with what to do about it; nothing if these are not
    /// cargo's metadata.
    fn complaints(&self, metadata: &Value) -> Option<Vec<String>> {
        let graph = Graph::read(metadata)?;
        let shipped = shipped(&graph);
        let mut complaints = Vec::new();
        for package in metadata["packages"].as_array()? {
            let (id, name) = (text(&package["id"])?, text(&package["name"])?);
            let ours = graph.members.contains(&id);
            match package["source"].as_str() {
                Some(CRATES_IO) => {}
                None if ours => {}
                other => complaints.push(format!(
                    "{name}: it comes from {}; use a version that crates.io has",
                    other.unwrap_or("a path outside the workspace")
                )),
            }
            // A test or a benchmark may use what it likes: it is not shipped.
            if !shipped.contains(id.as_str()) {
                continue;
            }
            let licence = package["license"].as_str().unwrap_or("no licence that has a name");
            if !allowed(licence, &self.licenses.allow) {
                complaints.push(format!(
                    "{name}: its licence is {licence}, and deny.toml does not allow it; use another \
                     crate, or discuss the licence first"
                ));
            }
            for dependency in package["dependencies"].as_array()? {
                let shipped = dependency["kind"].as_str() != Some("dev");
                if shipped && dependency["path"].is_null() && dependency["req"] == "*" {
                    let to = text(&dependency["name"])?;
                    complaints.push(format!(
                        "{name} -> {to}: any version would do; say which one it was tested with"
                    ));
                }
            }
            self.check_wrappers(&graph, &id, &mut complaints);
        }
        Some(complaints)
    }

    /// Who must not use the crates that `user` depends on.
    fn check_wrappers(&self, graph: &Graph, user: &str, complaints: &mut Vec<String>) {
        let from = graph.name(user);
        let used: BTreeSet<_> = graph
            .dependencies(user)
            .iter()
            .filter(|(_, purpose)| *purpose != Purpose::Dev)
            .map(|(dependency, _)| graph.name(dependency))
            .collect();
        for Ban { name, wrappers, reason } in &self.bans.deny {
            if used.contains(name.as_str()) && !wrappers.iter().any(|wrapper| wrapper == from) {
                complaints.push(format!(
                    "{from} -> {name}: {reason}. Only {wrappers:?} may use it; see deny.toml"
                ));
            }
        }
    }
}

/// The packages that reach a user: all but those that only tests and benchmarks need.
fn shipped(graph: &Graph) -> BTreeSet<&str> {
    let mut shipped: BTreeSet<&str> = graph.members.iter().map(String::as_str).collect();
    let mut open: Vec<&str> = shipped.iter().copied().collect();
    while let Some(id) = open.pop() {
        for (next, purpose) in graph.dependencies(id) {
            if *purpose != Purpose::Dev && shipped.insert(next) {
                open.push(next);
            }
        }
    }
    shipped
}

/// Whether an SPDX expression can be met with these licences alone. `AND` binds closer than `OR`;
/// a licence with an exception is a licence of its own. Old manifests write `/` for `OR`.
fn allowed(expression: &str, licences: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    any_of(&mut words, licences) == Some(true) && words.next().is_none()
}

type Words<'a, 'b> = &'a mut std::iter::Peekable<std::str::SplitWhitespace<'b>>;

fn any_of(words: Words<'_, '_>, licences: &BTreeSet<String>) -> Option<bool> {
    let mut met = all_of(words, licences)?;
    while words.next_if_eq(&"OR").is_some() {
        met |= all_of(words, licences)?;
    }
    Some(met)
}

fn all_of(words: Words<'_, '_>, licences: &BTreeSet<String>) -> Option<bool> {
    let mut met = one(words, licences)?;
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, licences)?;
    }
    Some(met)
}

fn one(words: Words<'_, '_>, licences: &BTreeSet<String>) -> Option<bool> {
    let word = words.next()?;
    if word == "(" {
        let met = any_of(words, licences)?;
        return words.next_if_eq(&")").map(|_| met);
    }
    let licence = match words.next_if_eq(&"WITH") {
        Some(with) => format!("{word} {with} {}", words.next()?),
        None => word.to_owned(),
    };
    Some(licences.contains(&licence))
}

#[test]
fn dependencies_obey_deny_toml() {
    let complaints = Policy::read().complaints(&metadata());
    let complaints = complaints.expect("cargo metadata has its documented fields");
    assert!(complaints.is_empty(), "deny.toml forbids this:\n  {}", complaints.join("\n  "));
}

/// A workspace of `bellwether-core` that uses one crate, which uses nothing.
fn uses(name: &str, source: Option<&str>, licence: Option<&str>, purpose: Option<&str>) -> Value {
    let core = "bellwether-core";
    json!({
        "packages": [
            { "id": core, "name": core, "source": null, "license": "MIT OR Apache-2.0",
              "dependencies": [{ "name": name, "req": "^1", "kind": purpose }] },
            { "id": name, "name": name, "source": source, "license": licence, "dependencies": [] },
        ],
        "workspace_members": [core],
        "resolve": { "nodes": [
            { "id": core, "deps": [{ "pkg": name, "dep_kinds": [{ "kind": purpose }] }] },
            { "id": name, "deps": [] },
        ] },
    })
}

/// What is wrong with a workspace.
fn refused(metadata: &Value) -> Vec<String> {
    Policy::read().complaints(metadata).expect("this is how metadata look")
}

#[test]
fn a_licence_that_is_not_allowed_is_refused() {
    assert!(refused(&uses("a", Some(CRATES_IO), Some("MIT"), None)).is_empty());
    for licence in [Some("GPL-3.0-only"), Some("MIT AND GPL-2.0-or-later"), None] {
        let complaints = refused(&uses("a", Some(CRATES_IO), licence, None));
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].starts_with("a: its licence is"), "{complaints:?}");
        let for_tests = uses("a", Some(CRATES_IO), licence, Some("dev"));
        assert!(refused(&for_tests).is_empty(), "it is not shipped");
    }
}

#[test]
fn a_source_other_than_crates_io_is_refused() {
    for source in [Some("git+https://example.org/a?rev=1#1"), Some("registry+x"), None] {
        for purpose in [None, Some("build"), Some("dev")] {
            let complaints = refused(&uses("a", source, Some("MIT"), purpose));
            assert_eq!(complaints.len(), 1, "{complaints:?}");
            assert!(complaints[0].starts_with("a: it comes from"), "{complaints:?}");
        }
    }
}

#[test]
fn a_wildcard_version_is_refused() {
    let mut metadata = uses("a", Some(CRATES_IO), Some("MIT"), None);
    let dependency = &mut metadata["packages"][0]["dependencies"][0];
    dependency["req"] = json!("*");
    dependency["path"] = json!("crates/a");
    assert!(refused(&metadata).is_empty(), "our crates have no versions between them");
    metadata["packages"][0]["dependencies"][0]["path"] = Value::Null;
    assert_eq!(refused(&metadata).len(), 1);
}

#[test]
fn a_crate_that_only_others_may_use_is_refused() {
    let complaints = refused(&uses("tokio", Some(CRATES_IO), Some("MIT"), None));
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    assert!(complaints[0].starts_with("bellwether-core -> tokio"), "{complaints:?}");
    assert!(refused(&uses("tokio", Some(CRATES_IO), Some("MIT"), Some("dev"))).is_empty());
}

#[test]
fn an_optional_dependency_counts_when_a_feature_asks_for_it() {
    for (ask, on) in [("dep:tokio", true), ("tokio/net", true), ("tokio?/net", false)] {
        let mut metadata = uses("tokio", Some(CRATES_IO), Some("MIT"), None);
        metadata["packages"][0]["dependencies"][0]["optional"] = json!(true);
        metadata["packages"][0]["features"] = json!({ "net": [ask], "other": ["dep:tokio"] });
        metadata["resolve"]["nodes"][0]["features"] = json!(["net"]);
        assert_eq!(!refused(&metadata).is_empty(), on, "{ask}");
    }
}

#[test]
fn licence_expressions_are_understood() {
    let licences = ["MIT", "ISC", "Apache-2.0"].map(str::to_owned).into();
    for expression in [
        "MIT",
        "GPL-3.0-only OR MIT",
        "GPL-3.0-only/MIT",
        "GPL-3.0-only AND ISC OR MIT",
        "(GPL-3.0-only OR MIT) AND ISC",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0",
    ] {
        assert!(allowed(expression, &licences), "{expression}");
    }
    for expression in [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "MIT AND (GPL-3.0-only OR BSL-1.0)",
        "Apache-2.0 WITH LLVM-exception",
        "MIT ISC",
        "(MIT",
        "MIT OR",
    ] {
        assert!(!allowed(expression, &licences), "{expression}");
    }
}
