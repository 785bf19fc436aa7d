//! What can be chosen, as the page is told.

use crate::essays::{about, rules};
use crate::scenarios::scenario;
use crate::wire::{Algorithm, Catalogue, Family, Limits, Setting};
use bellwether_algorithms::catalogue::{self, Registry, Visitor};
use bellwether_member::WithMember;
use std::sync::LazyLock;

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
    ["time", "Clocks", "Clocks that run apart are set by messages whose delays nobody knows."],
    [
        "order",
        "Order",
        "Everybody delivers what was broadcast in an order that makes sense, or in the same one.",
    ],
    [
        "snapshot",
        "Snapshots",
        "The state of the whole while it runs, as it could have been at one moment.",
    ],
    ["deadlock", "Deadlocks", "Somebody finds out that processes wait for each other in a circle."],
    [
        "agreement",
        "Agreement",
        "What can be agreed on although messages are lost or some processes lie.",
    ],
    [
        "member",
        "The member",
        "What runs in production: an election whose winner needs a majority's lease.",
    ],
];

/// The scenario with which each algorithm is introduced.
const INTRODUCTIONS: &[(&str, &str)] = &[
    ("bully", "election/bully-p1-to-p4.txt"),
    ("ring", "election/ring-six-processes.txt"),
    ("active-list", "election/active-list-example-1.txt"),
    ("chang-roberts", "election/chang-roberts-all-start-worst.txt"),
    ("hirschberg-sinclair", "election/hirschberg-sinclair-worked-run.txt"),
    ("peterson", "election/peterson-worked-run.txt"),
    ("central", "mutex/central-request-denied-grant-release.txt"),
    ("lamport", "mutex/lamport-crossing-requests.txt"),
    ("ricart-agrawala", "mutex/ricart-agrawala-equal-timestamps.txt"),
    ("token-ring", "mutex/token-ring-textbook-bypass.txt"),
    ("ricart-agrawala-token", "mutex/ricart-agrawala-token-circular-search.txt"),
    ("suzuki-kasami", "mutex/suzuki-kasami-outdated-request.txt"),
    ("raymond", "mutex/raymond-pointers-turn-round.txt"),
    ("singhal", "mutex/singhal-staircase.txt"),
    ("cristian", "time/cristian-asks-the-server.txt"),
    ("berkeley", "time/berkeley-three-clocks.txt"),
    ("ntp", "time/ntp-falseticker.txt"),
    ("causal-broadcast", "order/causal-broadcast-question-and-answer.txt"),
    ("total-order-sequencer", "order/total-order-sequencer-two-senders.txt"),
    ("total-order-lamport", "order/total-order-lamport-same-time.txt"),
    ("deadlock-central", "deadlock/central-two-sites.txt"),
    ("deadlock-distributed", "deadlock/distributed-two-sites.txt"),
    ("deadlock-edge-chasing", "deadlock/edge-chasing-three-sites.txt"),
    ("reliable-link", "agreement/reliable-link-letter-lost.txt"),
    ("two-generals", "agreement/two-generals-last-messenger-lost.txt"),
    ("byzantine", "agreement/byzantine-four-one-traitor.txt"),
    ("chandy-lamport", "snapshot/bank-money-on-the-way.txt"),
    ("member", "member/take-over.txt"),
];

/// All that can be chosen.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
        let families = FAMILIES.iter().map(|[name, title, about]| Family {
            name: (*name).to_owned(),
            title: (*title).to_owned(),
            about: (*about).to_owned(),
        });
        let families: Vec<Family> = families.collect();
        let mut algorithms: Vec<Algorithm> = WithMember::entries()
            .iter()
            .filter_map(|entry| WithMember::visit(entry.name, Describe))
            .collect();
        algorithms.sort_by_key(|algorithm| {
            families.iter().position(|family| family.name == algorithm.family)
        });
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Catalogue { version, families, algorithms, limits: LIMITS }
    });
    &CATALOGUE
}

struct Describe;

impl Visitor for Describe {
    type Output = Algorithm;

    fn visit<A: catalogue::Algorithm>(self) -> Algorithm {
        let entry = A::ENTRY;
        let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let setting = |option: &bellwether_algorithms::options::Opt| Setting {
            name: option.name.to_owned(),
            value: option.value.map(str::to_owned),
            help: option.help.to_owned(),
        };
        let introduction = INTRODUCTIONS.iter().find(|(name, _)| *name == entry.name);
        let introduction = introduction.and_then(|(_, path)| scenario(path));
        Algorithm {
            name: entry.name.to_owned(),
            title: entry.title.to_owned(),
            family: entry.family.to_owned(),
            source: entry.source.to_owned(),
            cost: entry.cost.to_owned(),
            topology: entry.topology.name().to_owned(),
            assumes: entry.assumes.to_string().split(", ").map(str::to_owned).collect(),
            about: about(entry.name),
            rules: rules(entry.name),
            verbs: strings(A::VERBS),
            options: A::OPTIONS.iter().map(setting).collect(),
            nodes: A::NODES,
            has_section: A::default().section().is_some(),
            scenario: introduction.unwrap_or_default().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellwether_sim::scenario::Scenario;

    #[test]
    fn every_algorithm_has_a_family_and_an_introduction_of_its_own() {
        let catalogue = catalogue();
        assert_eq!(catalogue.algorithms.len(), WithMember::entries().len());
        for algorithm in &catalogue.algorithms {
            let family = catalogue.families.iter().find(|family| family.name == algorithm.family);
            assert!(family.is_some(), "{}", algorithm.name);
            let introduction = Scenario::parse_in::<WithMember>(&algorithm.scenario);
            assert_eq!(introduction.unwrap().setup.algorithm, algorithm.name);
        }
    }
}
