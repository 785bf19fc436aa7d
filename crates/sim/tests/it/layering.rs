//! Which crate may reach which.
//!
//! An algorithm is worth simulating only if the simulator's run is the real one: nothing but the
//! contract may reach it. So dependencies point one way, and the pure crates reach no clock, no
//! socket, no thread and no random source, not even through a dependency. The tables
//! below say so; `cargo metadata` says what is. What tests and benchmarks use is their own affair,
//! except in the core.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod dependencies;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::Command;

/// One of our crates and what it uses of the others.
struct Layer {
    name: String,
    may_use: Vec<String>,
    /// Whether it must be the same on every machine and in every run.
    pure: bool,
}

/// The layers, as the table in ARCHITECTURE.md has them: name, purity, what it uses, what it is.
fn layers() -> Vec<Layer> {
    let page = include_str!("../../../../ARCHITECTURE.md");
    let table = page.lines().skip_while(|line| !line.starts_with("crate  ")).skip(1);
    let rows = table.take_while(|line| !line.starts_with("```"));
    let full = |name: &str| match name {
        "client" => "bellwether".to_owned(),
        "claimer" => name.to_owned(),
        name => format!("bellwether-{name}"),
    };
    let layer = |row: &str| {
        let mut cells = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        let (name, purity, uses) = (cells.next()?, cells.next()?, cells.next()?);
        let may_use = uses.split(' ').filter(|name| *name != "-").map(full).collect();
        Some(Layer { name: full(name), may_use, pure: purity == "pure" })
    };
    rows.filter_map(layer).collect()
}

/// The crate that all others depend on, and that therefore depends on none.
const CORE: &str = "bellwether-core";

/// But for this one, which is optional: derives on ids and times, so that they can travel.
const CORE_MAY_USE: &str = "serde";

/// What a pure crate must not reach, even indirectly, and why.
const IMPURE: &[(&str, &str)] = &[
    ("tokio", "a runtime decides who runs next; here the simulator does"),
    ("mio", "it waits for sockets; messages come through the contract"),
    ("socket2", "it opens sockets; messages come through the contract"),
    ("rand", "draws must be the same on every machine and in every version; use the simulator's"),
    ("getrandom", "it asks the system for entropy, which no seed repeats"),
    ("fastrand", "it seeds itself, which no seed repeats"),
    ("rayon", "threads finish in any order; sweeps over many runs belong to the command line"),
    ("chrono", "it reads the system's clock; ask the context for the time"),
    ("time", "it reads the system's clock; ask the context for the time"),
    ("libc", "it is the way to everything above; find out what needs it"),
];

/// What a dependency is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Normal,
    Build,
    Dev,
}

/// The packages and who depends on whom; a package is known by its id, which tells two versions
/// of one crate apart.
#[derive(Default)]
struct Graph {
    names: BTreeMap<String, String>,
    members: BTreeSet<String>,
    edges: BTreeMap<String, Vec<(String, Purpose)>>,
}

impl Graph {
    fn read(metadata: &Value) -> Option<Graph> {
        let mut graph = Graph::default();
        let mut packages = BTreeMap::new();
        for package in metadata["packages"].as_array()? {
            graph.names.insert(text(&package["id"])?, text(&package["name"])?);
            packages.insert(text(&package["id"])?, package);
        }
        for member in metadata["workspace_members"].as_array()? {
            graph.members.insert(text(member)?);
        }
        for node in metadata["resolve"]["nodes"].as_array()? {
            let edges = graph.edges.entry(text(&node["id"])?).or_default();
            let package = packages.get(node["id"].as_str()?)?;
            for dependency in node["deps"].as_array()? {
                let name = graph.names.get(dependency["pkg"].as_str()?)?;
                for kind in dependency["dep_kinds"].as_array()? {
                    let purpose = match kind["kind"].as_str() {
                        Some("dev") => Purpose::Dev,
                        Some("build") => Purpose::Build,
                        _ => Purpose::Normal,
                    };
                    if purpose == Purpose::Dev || is_on(package, &node["features"], name) {
                        edges.push((text(&dependency["pkg"])?, purpose));
                    }
                }
            }
        }
        Some(graph)
    }

    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.get(id).map_or(id, String::as_str)
    }

    fn dependencies(&self, id: &str) -> &[(String, Purpose)] {
        self.edges.get(id).map_or(&[], Vec::as_slice)
    }

    /// The shortest chain of normal dependencies from `start` to each crate that it reaches.
    fn reached_from<'a>(&'a self, start: &'a str) -> Vec<Vec<&'a str>> {
        let mut seen = BTreeSet::from([start]);
        let mut open = VecDeque::from([(start, vec![self.name(start)])]);
        let mut chains = Vec::new();
        while let Some((id, chain)) = open.pop_front() {
            for (next, purpose) in self.dependencies(id) {
                if *purpose == Purpose::Normal && seen.insert(next) {
                    let longer = [&chain[..], &[self.name(next)]].concat();
                    open.push_back((next, longer.clone()));
                    chains.push(longer);
                }
            }
        }
        chains
    }

    /// Everything that is wrong, each with what to do about it.
    fn complaints(&self) -> Vec<String> {
        let layers = layers();
        let mut complaints = Vec::new();
        for member in &self.members {
            let name = self.name(member);
            match layers.iter().find(|layer| layer.name == name) {
                None => complaints.push(format!(
                    "{name} is in no layer: add it to the table in ARCHITECTURE.md, with what it \
                     uses"
                )),
                Some(layer) => {
                    self.check_members(member, layer, &mut complaints);
                    if layer.pure {
                        self.check_purity(member, &mut complaints);
                    }
                }
            }
            if name == CORE {
                let others = self.dependencies(member).iter();
                let others = others.filter(|(other, _)| self.name(other) != CORE_MAY_USE);
                for (dependency, purpose) in others {
                    complaints.push(format!(
                        "{name} -> {} ({purpose:?}): the core depends on nothing, not even in its \
                         tests, so that anybody can implement the contract; write the few lines \
                         by hand or move the code one layer up",
                        self.name(dependency)
                    ));
                }
            }
        }
        complaints
    }

    fn check_members(&self, member: &str, layer: &Layer, complaints: &mut Vec<String>) {
        for (dependency, purpose) in self.dependencies(member) {
            let (from, to) = (&layer.name, self.name(dependency));
            let ours = self.members.contains(dependency);
            if ours && *purpose != Purpose::Dev && !layer.may_use.iter().any(|name| name == to) {
                complaints.push(format!(
                    "{from} -> {to}: {from} may use {:?}; move what it needs into a lower layer, \
                     or its user into a higher one",
                    layer.may_use
                ));
            }
        }
    }

    fn check_purity(&self, member: &str, complaints: &mut Vec<String>) {
        for chain in self.reached_from(member) {
            let reason = IMPURE.iter().find(|(name, _)| Some(name) == chain.last());
            if let Some((name, reason)) = reason {
                complaints.push(format!(
                    "{}: {} must not reach {name}: {reason}. Switch off the feature that brings \
                     it, or move its user into a crate that is not pure",
                    chain.join(" -> "),
                    chain[0]
                ));
            }
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Whether a package with these features has this dependency. Cargo also lists optional ones that a
/// feature only mentions (`time?/std`) and that nothing switches on: they are never compiled.
fn is_on(package: &Value, features: &Value, name: &str) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let asks: Vec<Value> = list(features)
        .iter()
        .filter_map(Value::as_str)
        .flat_map(|feature| list(&package["features"][feature]))
        .collect();
    list(&package["dependencies"]).iter().any(|dependency| {
        let known_as = dependency["rename"].as_str().unwrap_or(name);
        let asked_for = |ask: &Value| {
            let ask = ask.as_str().unwrap_or_default();
            ask.strip_prefix("dep:") == Some(known_as)
                || ask.split_once('/').is_some_and(|(before, _)| before == known_as)
        };
        dependency["name"] == name
            && dependency["kind"] != "dev"
            && (dependency["optional"] != true || asks.iter().any(asked_for))
    })
}

/// What cargo says. It asks the registry only if it has to.
fn ask_cargo(arguments: &[&str]) -> Vec<u8> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut complaint = String::new();
    for network in [Some("--offline"), None] {
        let output = Command::new(&cargo)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(arguments)
            .arg("--locked")
            .args(network)
            .output()
            .expect("cargo should start: it started this test");
        if output.status.success() {
            return output.stdout;
        }
        complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    panic!("cargo {} failed; `cargo fetch` may help:\n{complaint}", arguments[0]);
}

/// What cargo knows about this workspace.
fn metadata() -> Value {
    let answer = ask_cargo(&["metadata", "--format-version", "1", "--all-features"]);
    serde_json::from_slice(&answer).expect("cargo metadata writes JSON")
}

#[test]
fn dependencies_point_one_way() {
    let graph = Graph::read(&metadata()).expect("cargo metadata has its documented fields");
    assert!(graph.members.iter().any(|member| graph.name(member) == CORE), "wrong workspace");
    let complaints = graph.complaints();
    assert!(complaints.is_empty(), "the layering is broken:\n  {}", complaints.join("\n  "));
}

/// The table shows what is: every crate of the workspace, in an order in which each uses only those
/// above it, and nothing that is not there.
#[test]
fn the_picture_of_the_layers_is_true() {
    let graph = Graph::read(&metadata()).expect("cargo metadata has its documented fields");
    let layers = layers();
    let members: BTreeSet<&str> = graph.members.iter().map(|id| graph.name(id)).collect();
    assert_eq!(layers.iter().map(|layer| layer.name.as_str()).collect::<BTreeSet<_>>(), members);
    for (place, layer) in layers.iter().enumerate() {
        let id = graph.members.iter().find(|id| graph.name(id) == layer.name).unwrap();
        let used = graph.dependencies(id).iter().filter(|(_, purpose)| *purpose != Purpose::Dev);
        let used: BTreeSet<&str> = used.map(|(id, _)| graph.name(id)).collect();
        for name in &layer.may_use {
            assert!(used.contains(name.as_str()), "{} does not use {name}", layer.name);
            let above = layers[..place].iter().any(|other| other.name == *name);
            assert!(above, "{} stands above {name}, which it uses", layer.name);
        }
    }
}

/// The names of the crates that are compiled for one of ours. This is about features too, which the
/// table of layers does not know.
fn compiled_for(package: &[&str]) -> BTreeSet<String> {
    let tree = ["tree", "-e", "normal,build", "--prefix", "none", "-p"];
    let tree = String::from_utf8(ask_cargo(&[&tree, package].concat())).unwrap();
    tree.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// An application compiles what it needs to talk to members, and no more.
#[test]
fn the_client_brings_neither_laboratory_nor_member() {
    let crates = compiled_for(&["bellwether"]);
    let ours: Vec<_> = crates.iter().filter(|name| name.starts_with("bellwether")).collect();
    let expected = [
        "bellwether",
        "bellwether-api",
        "bellwether-coordination",
        "bellwether-core",
        "bellwether-net",
    ];
    assert_eq!(ours, expected.iter().collect::<Vec<_>>());
    assert!(crates.len() <= 50, "{} crates are too many to read: {crates:?}", crates.len());
}

/// The program for operators has no laboratory in it.
#[test]
fn the_operators_program_brings_no_laboratory() {
    let crates = compiled_for(&["bellwether-cli", "--no-default-features", "--features", "node"]);
    assert!(crates.contains("bellwether-node"), "{crates:?}");
    for name in ["sim", "check", "linear", "lab", "torture"] {
        assert!(!crates.contains(&format!("bellwether-{name}")), "{name}");
    }
}

/// A workspace of these edges; our crates are its members.
fn workspace(edges: &[(&str, &str, Purpose)]) -> Graph {
    let mut graph = Graph::default();
    for (from, to, purpose) in edges {
        for name in [from, to] {
            graph.names.insert((*name).to_owned(), (*name).to_owned());
            if name.starts_with("bellwether") {
                graph.members.insert((*name).to_owned());
            }
        }
        graph.edges.entry((*from).to_owned()).or_default().push(((*to).to_owned(), *purpose));
    }
    graph
}

/// The edge that the only complaint about this workspace names.
fn only_complaint(edges: &[(&str, &str, Purpose)]) -> String {
    let complaints = workspace(edges).complaints();
    assert_eq!(complaints.len(), 1, "{complaints:?}");
    complaints[0].split(':').next().unwrap_or_default().to_owned()
}

#[test]
fn an_upward_dependency_is_named() {
    let edge = ("bellwether-algorithms", "bellwether-sim", Purpose::Normal);
    assert_eq!(only_complaint(&[edge]), "bellwether-algorithms -> bellwether-sim");
    assert!(workspace(&[(edge.0, edge.1, Purpose::Dev)]).complaints().is_empty());
}

#[test]
fn any_dependency_of_the_core_is_named() {
    let edge = ("bellwether-core", "proptest", Purpose::Dev);
    assert_eq!(only_complaint(&[edge]), "bellwether-core -> proptest (Dev)");
}

#[test]
fn an_impure_crate_is_found_behind_others() {
    let edges = [
        ("bellwether-sim", "wrapper", Purpose::Normal),
        ("bellwether-sim", "rand", Purpose::Dev),
        ("wrapper", "getrandom", Purpose::Normal),
        ("bellwether-cli", "rayon", Purpose::Normal),
    ];
    assert_eq!(only_complaint(&edges), "bellwether-sim -> wrapper -> getrandom");
}

#[test]
fn a_crate_without_a_layer_is_named() {
    let edge = ("bellwether-new", "bellwether-core", Purpose::Normal);
    assert!(only_complaint(&[edge]).starts_with("bellwether-new is in no layer"));
}
