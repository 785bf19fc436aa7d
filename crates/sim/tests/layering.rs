//! Which crate may reach which.
//!
//! An algorithm is worth simulating only if the simulator's run is the real one: nothing but the
//! contract may reach it. So dependencies point one way, and the pure crates reach no clock, no
//! socket, no thread and no random source, not even through somebody else's crate. The tables
//! below say so; `cargo metadata` says what is. What tests and benchmarks use is their own affair,
//! except in the core.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::Command;

/// One of our crates and what it may use of the others.
struct Layer {
    name: &'static str,
    may_use: &'static [&'static str],
    /// Whether it must be the same on every machine and in every run.
    pure: bool,
}

/// The layers, lowest first.
const LAYERS: &[Layer] = &[
    Layer { name: "bellwether-core", may_use: &[], pure: true },
    Layer { name: "bellwether-algorithms", may_use: &["bellwether-core"], pure: true },
    Layer {
        name: "bellwether-sim",
        may_use: &["bellwether-core", "bellwether-algorithms"],
        pure: true,
    },
    // A counterexample is a run of the simulator.
    Layer {
        name: "bellwether-check",
        may_use: &["bellwether-core", "bellwether-algorithms", "bellwether-sim"],
        pure: true,
    },
    // What a coordinator does for applications; who that is, is another matter.
    Layer {
        name: "bellwether-duties",
        may_use: &["bellwether-core", "bellwether-algorithms"],
        pure: true,
    },
    Layer {
        name: "bellwether-member",
        may_use: &["bellwether-core", "bellwether-algorithms", "bellwether-duties"],
        pure: true,
    },
    Layer {
        name: "bellwether-api",
        may_use: &[
            "bellwether-core",
            "bellwether-algorithms",
            "bellwether-duties",
            "bellwether-member",
        ],
        pure: false,
    },
    // It runs any process, and knows nothing of the member.
    Layer {
        name: "bellwether-net",
        may_use: &["bellwether-core", "bellwether-algorithms", "bellwether-api"],
        pure: false,
    },
    // The page, and the simulator behind it. It knows nothing of the network.
    Layer {
        name: "bellwether-web",
        may_use: &[
            "bellwether-core",
            "bellwether-algorithms",
            "bellwether-sim",
            "bellwether-member",
            "bellwether-api",
        ],
        pure: false,
    },
    Layer {
        name: "bellwether-node",
        may_use: &[
            "bellwether-core",
            "bellwether-algorithms",
            "bellwether-duties",
            "bellwether-member",
            "bellwether-api",
            "bellwether-net",
            "bellwether-web",
        ],
        pure: false,
    },
    // What an application links: it knows what is said to members, and nothing of what they are.
    Layer {
        name: "bellwether",
        may_use: &["bellwether-core", "bellwether-duties", "bellwether-api", "bellwether-net"],
        pure: false,
    },
    Layer {
        name: "bellwether-cli",
        may_use: &[
            "bellwether-core",
            "bellwether-algorithms",
            "bellwether-sim",
            "bellwether-check",
            "bellwether-duties",
            "bellwether-member",
            "bellwether-api",
            "bellwether-net",
            "bellwether-web",
            "bellwether-node",
            "bellwether",
        ],
        pure: false,
    },
];

/// The crate that everybody depends on, and that therefore depends on nobody.
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
        for package in metadata["packages"].as_array()? {
            graph.names.insert(text(&package["id"])?, text(&package["name"])?);
        }
        for member in metadata["workspace_members"].as_array()? {
            graph.members.insert(text(member)?);
        }
        for node in metadata["resolve"]["nodes"].as_array()? {
            let edges = graph.edges.entry(text(&node["id"])?).or_default();
            for dependency in node["deps"].as_array()? {
                for kind in dependency["dep_kinds"].as_array()? {
                    let purpose = match kind["kind"].as_str() {
                        Some("dev") => Purpose::Dev,
                        Some("build") => Purpose::Build,
                        _ => Purpose::Normal,
                    };
                    edges.push((text(&dependency["pkg"])?, purpose));
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
        let mut complaints = Vec::new();
        for member in &self.members {
            let name = self.name(member);
            match LAYERS.iter().find(|layer| layer.name == name) {
                None => complaints.push(format!(
                    "{name} is in no layer: add it to LAYERS in this test, with what it may use, \
                     and to ARCHITECTURE.md"
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
            let (from, to) = (layer.name, self.name(dependency));
            let ours = self.members.contains(dependency);
            if ours && *purpose != Purpose::Dev && !layer.may_use.contains(&to) {
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

/// What cargo knows about this workspace. It asks the registry only if it has to.
fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut complaint = String::new();
    for network in [Some("--offline"), None] {
        let output = Command::new(&cargo)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["metadata", "--format-version", "1", "--all-features", "--locked"])
            .args(network)
            .output()
            .expect("cargo should start: it started this test");
        if output.status.success() {
            return serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON");
        }
        complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    panic!("cargo metadata failed; `cargo fetch` may help:\n{complaint}");
}

#[test]
fn dependencies_point_one_way() {
    let graph = Graph::read(&metadata()).expect("cargo metadata has its documented fields");
    assert!(graph.members.iter().any(|member| graph.name(member) == CORE), "wrong workspace");
    let complaints = graph.complaints();
    assert!(complaints.is_empty(), "the layering is broken:\n  {}", complaints.join("\n  "));
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
