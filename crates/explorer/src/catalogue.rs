//! What can be chosen, as the page is told.

use crate::essays::{about, rules};
use crate::scenarios::scenario;
use crate::wire::{Algorithm, Catalogue, Family, Limits, Setting};
use bellwether_algorithms::catalogue::{self, Listed};
use bellwether_algorithms::definition::OWN_FAMILY;
use bellwether_algorithms::options::Opt;

/// How large a run may be that a page asks for.
pub const LIMITS: Limits = Limits { nodes: 64, events: 50_000, scenario_bytes: 64 << 10 };

/// The families in the order in which they are taught: name, title, and what they are for.
const FAMILIES: &[[&str; 3]] = &[
    [
        "election",
        "Elections",
        "Processes agree which one of them coordinates, and on another one when it fails.",
    ],
    [
        "mutex",
        "Mutual exclusion",
        "One process at a time is in the critical section, and each that asks gets in.",
    ],
    ["time", "Clocks", "Messages with unknown delays set clocks that run apart."],
    ["order", "Order", "All processes deliver broadcasts in causal order, or in one order."],
    [
        "snapshot",
        "Snapshots",
        "The state of the whole while it runs, as it could have been at one moment.",
    ],
    ["deadlock", "Deadlocks", "A detector finds transactions that wait for each other in a cycle."],
    [
        "agreement",
        "Agreement",
        "What can be agreed on although messages are lost or some processes lie.",
    ],
    [
        "duty",
        "The coordinator's duties",
        "What a coordinator is elected for: here, to drive a device that obeys one process only.",
    ],
    [
        "member",
        "The member",
        "What runs in production: an election whose winner needs a majority's lease.",
    ],
];

/// All that can be chosen.
pub(crate) fn describe_all(known: &catalogue::Catalogue) -> Catalogue {
    let families = FAMILIES.iter().map(|[name, title, about]| Family {
        name: (*name).to_owned(),
        title: (*title).to_owned(),
        about: (*about).to_owned(),
    });
    let unlisted = |name: &&str| FAMILIES.iter().all(|[family, ..]| family != name);
    let others = known.families().into_iter().filter(unlisted).map(|name| Family {
        name: name.to_owned(),
        title: if name == OWN_FAMILY { "Your own".to_owned() } else { name.to_owned() },
        about: "Algorithms of this program.".to_owned(),
    });
    let families: Vec<Family> = families.chain(others).collect();
    let mut algorithms: Vec<Algorithm> = known.iter().map(describe).collect();
    algorithms.sort_by_key(|algorithm| {
        families.iter().position(|family| family.name == algorithm.family)
    });
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Catalogue { version, families, algorithms, limits: LIMITS }
}

fn describe(algorithm: &Listed) -> Algorithm {
    let entry = &algorithm.entry;
    let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let setting = |option: &Opt| Setting {
        name: option.name.to_owned(),
        value: option.value.map(str::to_owned),
        help: option.help.to_owned(),
    };
    let introduction = scenario(entry.example).map(str::to_owned);
    Algorithm {
        name: entry.name.to_owned(),
        title: entry.title.to_owned(),
        family: entry.family.to_owned(),
        source: entry.source.to_owned(),
        cost: entry.cost.to_owned(),
        topology: entry.topology.name().to_owned(),
        assumes: entry.assumes.to_string().split(", ").map(str::to_owned).collect(),
        about: about(algorithm),
        rules: rules(algorithm),
        verbs: strings(algorithm.verbs),
        options: algorithm.options.iter().map(setting).collect(),
        nodes: algorithm.nodes,
        has_section: algorithm.has_section(),
        scenario: introduction.unwrap_or_else(|| usual_scenario(algorithm)),
    }
}

/// What an algorithm without an example begins with: some processes, one of which is asked for
/// something.
fn usual_scenario(algorithm: &Listed) -> String {
    let nodes = algorithm.nodes.unwrap_or(3);
    let name = algorithm.name();
    match algorithm.verbs.iter().find(|verb| !verb.contains(':')) {
        Some(verb) => format!("cluster {name} 1..{nodes}\n{verb} 1\nrun\n"),
        None => format!("cluster {name} 1..{nodes}\nrun\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::with_member;
    use bellwether_sim::scenario::Scenario;

    #[test]
    fn every_algorithm_has_a_family_and_an_introduction_of_its_own() {
        let catalogue = describe_all(with_member());
        assert_eq!(catalogue.algorithms.len(), with_member().iter().count());
        for algorithm in &catalogue.algorithms {
            let family = catalogue.families.iter().find(|family| family.name == algorithm.family);
            assert!(family.is_some(), "{}", algorithm.name);
            let introduction = Scenario::parse(with_member(), &algorithm.scenario);
            assert_eq!(introduction.unwrap().setup.algorithm.name(), algorithm.name);
        }
    }
}
